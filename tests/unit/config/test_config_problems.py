"""Settings that are missing, contradict each other or cannot be read."""

import re

import pytest

from f5router.config import parsers
from f5router.config.options import OPTIONS
from f5router.model.errors import ConfigError
from tests.rows import rows
from tests.unit.config.loading import HOST, LOGIN, config, problems

MISSING = "is missing; it may also come from --f5-credentials-dir"


@pytest.mark.parametrize(("env", "problem"), [
    ({HOST + "HOSTNAME": ""},
     f"--f5-host / ROUTER_EXTERNAL_HOST_HOSTNAME: the BIG-IP's management address {MISSING}"),
    ({HOST + "USERNAME": None},
     f"--f5-username / ROUTER_EXTERNAL_HOST_USERNAME: the user name {MISSING}"),
    ({HOST + "PASSWORD": ""},
     f"--f5-password / ROUTER_EXTERNAL_HOST_PASSWORD: the password {MISSING}"),
], ids=["host", "username", "password"])
def test_required(env, problem):
    """Required settings, and where else they may be."""
    assert problems(env) == (problem,)


@pytest.mark.parametrize(("name", "what"), [
    ("f5-host", "the BIG-IP's management address"), ("f5-username", "the user name"),
    ("f5-password", "the password")])
def test_required_blanked(name, what):
    """An empty flag takes precedence over the variable, and is nothing."""
    assert problems(**{name: ""}) == (f"{OPTIONS[name].label}: {what} {MISSING}",)


def test_both_vservers_blank():
    """At least one virtual server; blank ones come from flags only."""
    assert problems(f5_http_vserver="", f5_https_vserver="") == (
        "--f5-http-vserver / ROUTER_EXTERNAL_HOST_HTTP_VSERVER, "
        "--f5-https-vserver / ROUTER_EXTERNAL_HOST_HTTPS_VSERVER: "
        "F5 HTTP and HTTPS vservers cannot both be blank",)


@pytest.mark.parametrize(("blank", "other"), [("http", "https"), ("https", "http")])
def test_one_vserver_blank(blank, other):
    """One blank virtual server is no path, and a warning."""
    settings = config(**{f"f5-{blank}-vserver": ""})
    assert getattr(settings, f"{blank}_virtual") is None
    assert getattr(settings, f"{other}_virtual") is not None
    assert any(f"nothing is served over {blank.upper()}" in warning for warning in settings.warnings)


def test_all_problems_at_once():
    """One start shows everything that is wrong, the original's checks in the original's order."""
    refusals = problems(
        {HOST + "HOSTNAME": "", HOST + "USERNAME": "", HOST + "PASSWORD": "",
         HOST + "INTERNAL_ADDRESS": "x", "ROUTER_F5_TIMEOUT": "soon"},
        f5_http_vserver="", f5_https_vserver="", f5_partition_path="/a/../b", namespace="A",
    )
    kept = [problem.rpartition(": ")[2] for problem in refusals]
    assert [text for text in kept if re.search("missing|must|both", text)] == [
        f"the BIG-IP's management address {MISSING}", f"the user name {MISSING}", f"the password {MISSING}",
        "F5 HTTP and HTTPS vservers cannot both be blank",
        "For VxLAN setup, both internal-address and gateway-cidr must be specified",
    ]
    assert len(refusals) == 9
    for name in ("f5-internal-address", "f5-timeout", "f5-partition-path", "namespace"):
        assert any(problem.startswith(OPTIONS[name].label + ": ") for problem in refusals), name


BAD = {
    "ssl-min-version": "VersionTLS12", "ssl-max-version": "TLSv1.4",
    "mutual-tls-auth": "yes", "mutual-tls-auth-filter": "(",
    "f5-host": "http://bigip", "f5-username": "a:b", "f5-password": "a\nb", "f5-auth": "Token",
    "f5-partition-path": "/a/../b", "f5-http-vserver": "/Common/v", "f5-https-vserver": "a b",
    "f5-node-partition": "/Common/x",
    "f5-connect-timeout": "10s", "f5-timeout": "0", "f5-max-in-flight": "33", "f5-ssh-port": "0",
    "f5-ssh-host-key": "ssh-rsa AAAA", "f5-config-sync": "force",
    "cert-upload": "scp",
    "load-balance-algorithm": "fastest", "tcp-balance-scheme": "Source",
    "set-delete-http-request-header": "Host:x:Set", "set-delete-http-response-header": "a:b",
    "unique-id-header-name": "Host", "unique-id-format": "%[uuid()]", "cookie-name": "a b",
    "compression-mime": "(a)", "set-forwarded-headers": "Append",
    "f5-pool-monitor": "tcp", "backend-check-interval": "1m30s",
    "f5-vserver-address": "203.0.113", "service-http-port": "0", "service-https-port": "65536",
    "f5-vserver-snat": "snat", "f5-vserver-vlans": "external", "f5-vserver-traffic-group": "1",
    "f5-vserver-mirroring": "yes", "f5-http-profile": "http",
    "f5-tcp-profile": "/Common/a,/Common/b,/Common/c",
    "f5-irules": "/Common/a,", "f5-oneconnect-profile": "oneconnect", "f5-bot-defense-profile": "/bots",
    "f5-dos-profile": "dos", "f5-firewall-policy": "/Common/", "f5-security-log-profiles": "/Common/a /b,c",
    "syslog-address": "tls@10.9.9.9", "syslog-format": "\t", "log-facility": "local8",
    "max-connections": "many", "client-fin-timeout": "1m30s",
    "default-server-fin-timeout": "soon",
    "buf-size": "1", "max-rewrite-size": "1", "max-header-count": "15",
    "default-client-timeout": "0", "default-server-timeout": "1.5s", "default-tunnel-timeout": "1h30m",
    "default-connect-timeout": "30d", "slowloris-timeout": "0", "slowloris-http-keepalive": "-1s",
    "inspect-delay": "soon", "hsts-header": "forever",
    "f5-drift-interval": "45", "f5-resync-interval": "5",
    "f5-statistics-interval": "1", "f5-statistics-pools": "-1",
    "f5-statistics-members": "2001", "resync-interval": "1d", "hold-off": "-1s",
    "leader-elect-lease-duration": "15", "leader-elect-renew-deadline": "x",
    "leader-elect-retry-period": "-1s", "leader-elect-resource-name": "A",
    "leader-elect-resource-namespace": "a.b",
    "hold-off-limit": "x", "status-rate": "0", "router-canonical-hostname": "10.0.0.1", "namespace": "A",
    "master": "ftp://m", "log-level": "loud", "log-format": "JSON",
    "pool-member-type": "pods", "node-label-selector": "a in b", "nodeport-exclude": "notready",
    "max-pool-members": "10001", "static-route-node-networks": "10.0.0.0",
    "listen-addr": "localhost", "stats-port": "http", "stats-user": "a:b", "stats-password": "a\nb",
    "metrics-tls-min-version": "SSLv3", "max-secrets": "0", "max-secrets-per-namespace": "many",
    "sources": "pods", "ingress-class": "A", "ingress-controller": "a b",
    "gateway-controller": "a b", "gateway-addresses": "10.0.0.1/24",
    "gateway-addresses-per-namespace": "0",
    "ingress-insecure-policy": "redirect",
    "ignore-annotations": "auth-url",
    "default-backend-namespaces": "a,*", "root-namespaces": "a,B", "ingressroute-class": "A",
    "labels": "a b", "fields": "a", "namespace-labels": ",a", "project-labels": "a in b",
    "allowed-policies": "/Common/a", "allowed-profiles": "a=*",
    "allowed-domains": "a b", "denied-domains": "A", "hostname-template": "$x", "router-domain": "a:80",
}


def test_a_bad_hsts_header():
    """The problem says what a right one is."""
    (problem,) = problems(hsts_header="forever")
    assert problem.startswith("--hsts-header / ROUTER_HSTS_HEADER: must be max-age=SECONDS with")


@rows("name", BAD)
def test_bad_text(name):
    """A text that does not parse is one problem, by flag and by variable; test_values has the texts."""
    option, text = OPTIONS[name], BAD[name]
    for refusals in [problems(LOGIN, **{name: text})] + (
            [problems(LOGIN | {option.env: text})] if option.env else []):
        assert len(refusals) == 1
        assert refusals[0].startswith(option.label + ": ")


@rows("name", [option.name for option in OPTIONS.values() if option.boolean])
@rows("text", ["yes", ""], ids=["yes", "empty"])
def test_bad_boolean_flag(name, text):
    """A bad word on the command line is an error."""
    assert problems(**{name: text}) == (f"{OPTIONS[name].label}: {text!r} is neither true nor false",)


def test_every_parser_has_a_bad_text():
    """No checked option is left out."""
    # test_bad_internal_address, test_bad_gateway, test_bad_domains
    elsewhere = {"f5-internal-address", "f5-vxlan-gateway-cidr", "override-domains"}
    checked = {o.name for o in OPTIONS.values() if o.parse is not str and not o.boolean}
    assert checked - elsewhere == BAD.keys()


@pytest.mark.parametrize("name", ["f5-host", "master"])
def test_problem_shows_no_credentials(name):
    """User name and password in a URL are refused, not printed."""
    assert "geheim" not in "".join(problems(**{name: "https://admin:geheim@bigip"}))


@pytest.mark.parametrize(("text", "value"), [
    *[(word, True) for word in ("1", "t", "T", "true", "TRUE", "True")],
    *[(word, False) for word in ("0", "f", "F", "false", "FALSE", "False")],
    *[(word, False) for word in ("yes", "on", " true", "tRUE", "garbage")],
])
def test_boolean_variable(text, value):
    """Go's ParseBool; anything else is silently false, also where the default is true."""
    assert config({"ROUTER_WATCH_ENDPOINTS": text}).watch.use_endpoints is value
    assert config({"ROUTER_UPDATE_STATUS": text}).status.enabled is value


@pytest.mark.parametrize(("text", "value"), [
    *[(word, True) for word in parsers.TRUE_WORDS], *[(word, False) for word in parsers.FALSE_WORDS],
])
def test_boolean_flag(text, value):
    """The same words on the command line; others are in BAD."""
    assert config(watch_endpoints=text).watch.use_endpoints is value


def test_hold_off_above_limit():
    """The limit may not be below the hold-off."""
    (problem,) = problems(hold_off="3s")
    assert problem.startswith(f"{OPTIONS['hold-off'].label}, {OPTIONS['hold-off-limit'].label}: ")
    assert config(hold_off="2s").hold_off_s == 2


PAIRS = [("project-labels", "namespace"), ("namespace-labels", "project-labels"),
         ("namespace-labels", "namespace")]


@pytest.mark.parametrize(("setting", "other"), PAIRS)
def test_one_way_to_tell_namespaces(setting, other):
    """Source: openshift/router pkg/cmd/infra/router/router.go, RouterSelection.Complete."""
    given = {"namespace": "shop", "namespace-labels": "a=b", "project-labels": "*"}
    assert problems(**{name: given[name] for name in (setting, other)}) == (
        f"{OPTIONS[setting].label}, {OPTIONS[other].label}: only one of them may be used",)
    config(**{setting: given[setting]}, **{other: ""})


def test_all_ways_to_tell_namespaces():
    """One of them as a variable; the selectors of Routes go with each."""
    refusals = problems({"NAMESPACE_LABELS": "a=b", "PROJECT_LABELS": "a"}, namespace="shop", labels="a=b")
    assert len(refusals) == 3
    config({"NAMESPACE_LABELS": "a=b", "ROUTE_LABELS": "a=b", "ROUTE_FIELDS": "spec.host=x"})


def test_partition_path_empty():
    """An explicitly empty path: a warning, and /Common."""
    settings = config(f5_partition_path="")
    assert settings.folder == "/Common"
    assert any(warning.startswith("--f5-partition-path / ") for warning in settings.warnings)
    assert config({HOST + "PARTITION_PATH": ""}).warnings == ()


@pytest.mark.parametrize(("sources", "served", "is_problem"), [
    pytest.param(None, ("Route",), False, id="a router from before"),
    pytest.param("routes", ("Route",), False, id="as it must be"),
    pytest.param("routes,ingress", None, True, id="what nobody can select"),
])
def test_fields_select_routes_alone(sources, served, is_problem):
    flags = {"ROUTE_FIELDS": "spec.host=x"} | ({"ROUTER_SOURCES": sources} if sources else {})
    if is_problem:
        with pytest.raises(ConfigError, match="--sources must be routes"):
            config(flags)
    else:
        assert config(flags).watch.sources.kinds == served
        assert any("--fields" in text for text in config(flags).warnings) == (sources is None)


@pytest.mark.parametrize(("more", "served", "is_told"), [
    ({}, ("Route", "Ingress", "IngressRoute", "Gateway"), False),
    ({"ROUTER_SOURCES": "routes,gateway"}, ("Route", "Gateway"), False),
    ({"ROUTER_SOURCES": "routes"}, ("Route",), True),
    ({"ROUTE_FIELDS": "spec.host=x"}, ("Route",), True),
])
def test_addresses_for_gateways_serve_them(more, served, is_told):
    """Kinds that somebody has named stay as they are, with a warning."""
    settings = config({"ROUTER_GATEWAY_ADDRESSES": "203.0.113.32/28", **more})
    assert settings.watch.sources.kinds == served
    assert bool(settings.warnings) == is_told
