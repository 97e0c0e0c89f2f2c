"""Settings: where a value comes from, what it becomes, and what is refused."""

from dataclasses import FrozenInstanceError, fields

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from f5router.config import parsers
from f5router.config.config import Config, load
from f5router.config.options import LATER, OPTIONS
from f5router.model.errors import ConfigError
from f5router.network import node_ports

HOST = "ROUTER_EXTERNAL_HOST_"
ENV = {HOST + "HOSTNAME": "bigip.example.com", HOST + "USERNAME": "admin", HOST + "PASSWORD": "s3cr3t-word"}
CERT = """-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUR1kXFMVZ4J0q8w4wJ8lJ3m0mF3AwCgYIKoZIzj0EAwIw
-----END CERTIFICATE-----
"""


def files(**texts):
    """read_file over a dict; keys are given as keyword arguments with "_" for every "/"."""
    by_path = {"/" + name.replace("_", "/"): text for name, text in texts.items()}

    def read(path):
        found = by_path.get(path)
        if any(each.startswith(f"{path}/") for each in by_path):
            raise IsADirectoryError(21, "Is a directory", path)
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if isinstance(found, Exception):
            raise found
        return found

    return read


def config(env=(), read_file=None, /, **flags) -> Config:
    """Config of a good environment, changed by env (None removes), and flags with "_" for "-"."""
    environ = {name: text for name, text in {**ENV, **dict(env)}.items() if text is not None}
    given = {name.replace("_", "-"): text for name, text in flags.items()}
    return load(given, environ, read_file or files())


def problems(env=(), read_file=None, /, **flags) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        config(env, read_file, **flags)
    return caught.value.problems


def reach(found: Config, path: str):
    for name in path.split("."):
        found = getattr(found, name)
    return found


def pem(key, form=PrivateFormat.PKCS8, encryption=None) -> str:
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


ED25519 = ed25519.Ed25519PrivateKey.generate()
KEY = pem(ED25519, PrivateFormat.OpenSSH)


@pytest.fixture(scope="module")
def ca() -> str:
    """A self-signed certificate, PEM."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ca")])
    now = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    cert = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, SHA256())
    )
    return cert.public_bytes(Encoding.PEM).decode()


# Option; field of Config; value of the default; text of a variable, its value; text of a flag, its value.
# The flags of openshift/origin v3.11.0, F5Router.Bind and RouterSelection.Bind, and our own settings.
PRECEDENCE = [
    ("f5-host", "bigip.host", None, "a:8443", "a:8443", "b", "b"),
    ("f5-username", "bigip.username", None, "u1", "u1", "u2", "u2"),
    ("f5-password", "bigip.password", None, "pw-one", "pw-one", "pw-two", "pw-two"),
    ("f5-http-vserver", "http_virtual", "/Common/ose-vserver", "v1", "/Common/v1", "v2", "/Common/v2"),
    ("f5-https-vserver", "https_virtual", "/Common/https-ose-vserver", "v1", "/Common/v1", "v2",
     "/Common/v2"),
    ("f5-insecure", "bigip.verify", True, "1", False, "false", True),
    ("f5-partition-path", "folder", "/Common", "/a/b", "/a/b", "c", "/c"),
    ("f5-node-partition", "node_partition", None, "/Common", "/Common", "Common/", "/Common"),
    ("f5-auth", "bigip.auth", "token", "basic", "basic", "token", "token"),
    ("f5-connect-timeout", "bigip.connect_timeout_s", 10, "5", 5, "2.5", 2.5),
    ("f5-timeout", "bigip.timeout_s", 60, "5", 5, "90", 90),
    ("f5-max-in-flight", "bigip.max_in_flight", 4, "1", 1, "32", 32),
    ("f5-ssh-port", "ssh.port", 22, "2222", 2222, "65535", 65535),
    ("f5-ssh-host-key", "ssh.host_key_fingerprint", None, "SHA256:" + "a" * 43, "SHA256:" + "a" * 43,
     "SHA256:" + "b" * 43 + "=", "SHA256:" + "b" * 43),
    ("f5-ssh-insecure", "ssh.insecure_host_key", False, "true", True, "false", False),
    ("f5-policy-model", "policy_model", "auto", "plain", "plain", "draft", "draft"),
    ("f5-pool-monitor", "pool_monitor", "/Common/tcp", "/Common/http", "/Common/http", "none", ""),
    ("f5-manage-snat", "manage_snat", False, "true", True, "false", False),
    ("f5-503-page", "unavailable_page", True, "false", False, "true", True),
    ("f5-static-routes", "static_routes", False, "true", True, "false", False),
    ("pool-member-type", "nodeport", None, "nodeport", node_ports.NodePortConfig(), "cluster", None),
    ("max-pool-members", "max_pool_members", 1000, "1", 1, "10000", 10_000),
    ("f5-config-sync", "config_sync", "check", "off", "off", "push", "push"),
    ("allow-mass-delete", "allow_mass_delete", False, "true", True, "false", False),
    ("f5-save-config", "save_config", True, "false", False, "true", True),
    ("f5-resync-interval", "observe_interval_s", 300, "1m30s", 90, "10s", 10),
    ("hold-off", "hold_off_s", 0.1, "1s", 1, "0", 0),
    ("hold-off-limit", "hold_off_limit_s", 2, "3s", 3, "4s", 4),
    ("name", "status.router_name", "public", "one", "one", "two", "two"),
    ("router-canonical-hostname", "status.canonical_hostname", "", "a.example.com", "a.example.com", "b",
     "b"),
    ("update-status", "status.enabled", True, "false", False, "true", True),
    ("clean-status", "status.clean", True, "false", False, "true", True),
    ("status-rate", "status.rate_per_s", 20, "5", 5, "0.5", 0.5),
    ("disable-namespace-ownership-check", "admission.ownership", True, "true", False, "false", True),
    ("allow-wildcard-routes", "admission.wildcards", False, "true", True, "false", False),
    ("extended-validation", "admission.extended", True, "false", False, "true", True),
    ("allow-external-certificates", "admission.external", True, "false", False, "true", True),
    ("max-secrets", "watch.secret_limits.total", 5000, "1", 1, "100000", 100_000),
    ("max-secrets-per-namespace", "watch.secret_limits.per_namespace", 2000, "1", 1, "20", 20),
    ("allowed-domains", "admission.allowed", frozenset(), " a.b, ,c", {"a.b", "c"}, "d", {"d"}),
    ("denied-domains", "admission.denied", frozenset(), " a.b, ,c", {"a.b", "c"}, "d", {"d"}),
    ("hostname-template", "admission.naming.template", "", "${name}.a", "${name}.a", '"$name.b"', "$name.b"),
    ("router-domain", "admission.naming.domain", "", "a.b", "a.b", "c", "c"),
    ("watch-endpoints", "watch.use_endpoints", False, "t", True, "F", False),
    ("master", "kube.master", None, "https://m:8443", "https://m:8443", "http://n", "http://n"),
    ("log-level", "log_level", "info", "debug", "debug", "err", "error"),
    ("log-format", "log_format", "text", "json", "json", "text", "text"),
    ("cert-upload", "cert_upload", "rest", "rest", "rest", "auto", "rest"),
    ("listen-addr", "listen", ("", 1936), "[::1]:80", ("::1", 80), "none", None),
    ("stats-port", "listen", ("", 1936), "1937", ("", 1937), "0", ("", 0)),
    # Without a variable:
    ("resync-interval", "resync_s", 1800, None, None, "1h", 3600),
    ("context", "kube.context", None, None, None, "c", "c"),
    ("namespace", "watch.selection.namespace", None, None, None, "ns", "ns"),
    # Which Routes are served:
    ("namespace-labels", "watch.selection.namespace_labels", "", "a=b", "a=b", " !c ", "!c"),
    ("project-labels", "watch.selection.project_labels", "", "*", "*", "a in (b,c)", "a in (b,c)"),
    ("labels", "watch.selection.labels", "", "a=b", "a=b", "a>1", "a>1"),
    ("fields", "watch.selection.fields", "", "spec.host=a", "spec.host=a", "metadata.name!=b",
     "metadata.name!=b"),
]
FILES = {  # checked in tests of their own
    "f5-username-file", "f5-password-file", "f5-credentials-dir", "f5-ca-bundle", "f5-private-key",
    "f5-ssh-known-hosts", "default-destination-ca-path", "config", "enable-ingress",
    "f5-internal-address", "f5-vxlan-gateway-cidr", "node-label-selector", "nodeport-exclude",
    "override-hostname", "override-domains",
    "stats-user", "stats-password", "stats-user-file", "stats-password-file",
    "metrics-tls-cert-file", "metrics-tls-key-file", "metrics-tls-min-version", "metrics-tls-ciphers",
}


def test_every_option_has_a_row():
    """No option is left out of the tables here."""
    later = {option.name for option in OPTIONS.values() if option.group == LATER}
    assert {row[0] for row in PRECEDENCE} | FILES | later == OPTIONS.keys()


@pytest.mark.parametrize("row", PRECEDENCE, ids=lambda row: row[0])
def test_precedence(row):
    """A flag goes before its variable, a variable before the default; an empty variable is none."""
    name, field, default, variable, from_variable, flag, from_flag = row
    env = OPTIONS[name].env
    if default is not None:
        assert reach(config({env: None} if env else {}), field) == default
        if env:
            assert reach(config({env: ""}), field) == default
    elif name not in ("f5-host", "f5-username", "f5-password"):
        assert reach(config({env: ""} if env else {}), field) is None
    if env:
        assert reach(config({env: variable}), field) == from_variable
        assert reach(config({env: variable}, **{name: flag}), field) == from_flag
    assert reach(config(**{name: flag}), field) == from_flag


def test_unknown_flag():
    """A misspelt name in the program is no setting of the operator."""
    with pytest.raises(ValueError, match="f5-hots"):
        load({"f5-hots": "a"}, ENV)


# ---- Problems


@pytest.mark.parametrize(("env", "problem"), [
    ({HOST + "HOSTNAME": ""}, "--f5-host / ROUTER_EXTERNAL_HOST_HOSTNAME: F5 host must be specified"),
    ({HOST + "USERNAME": None},
     "--f5-username / ROUTER_EXTERNAL_HOST_USERNAME: F5 username must be specified"),
    ({HOST + "PASSWORD": ""},
     "--f5-password / ROUTER_EXTERNAL_HOST_PASSWORD: F5 password must be specified"),
], ids=["host", "username", "password"])
def test_required(env, problem):
    """What must be there, in the words of the original."""
    assert problems(env) == (problem,)


@pytest.mark.parametrize("name", ["f5-host", "f5-username", "f5-password"])
def test_required_blanked(name):
    """An empty flag goes before the variable, and is nothing."""
    assert problems(**{name: ""}) == (
        f"{OPTIONS[name].label}: F5 {name.removeprefix('f5-')} must be specified",)


def test_both_vservers_blank():
    """At least one virtual server; blank ones come from flags only."""
    assert problems(f5_http_vserver="", f5_https_vserver="") == (
        "--f5-http-vserver / ROUTER_EXTERNAL_HOST_HTTP_VSERVER, "
        "--f5-https-vserver / ROUTER_EXTERNAL_HOST_HTTPS_VSERVER: "
        "F5 HTTP and HTTPS vservers cannot both be blank",)


@pytest.mark.parametrize(("blank", "other"), [("http", "https"), ("https", "http")])
def test_one_vserver_blank(blank, other):
    """One blank virtual server is no path, and a warning."""
    found = config(**{f"f5-{blank}-vserver": ""})
    assert getattr(found, f"{blank}_virtual") is None
    assert getattr(found, f"{other}_virtual") is not None
    assert any(f"nothing is served over {blank.upper()}" in warning for warning in found.warnings)


VXLAN = {"f5_internal_address": "192.0.2.1", "f5_vxlan_gateway_cidr": "10.131.0.5/14"}


@pytest.mark.parametrize("name", VXLAN)
def test_vxlan_both_or_none(name):
    """The original's message, also when one of them is of a variable."""
    message = (
        "--f5-internal-address / ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS, "
        "--f5-vxlan-gateway-cidr / ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR: "
        "For VxLAN setup, both internal-address and gateway-cidr must be specified"
    )
    assert problems(**{name: VXLAN[name]}) == (message,)
    assert problems({OPTIONS[name.replace("_", "-")].env: VXLAN[name]}) == (message,)


def test_vxlan():
    """Both together are one group of Config; without them there is none."""
    assert config().vxlan is None
    found = config(f5_internal_address="192.0.2.1", f5_vxlan_gateway_cidr="10.131.0.5/14")
    assert (found.vxlan.internal_address, found.vxlan.gateway) == ("192.0.2.1", "10.131.0.5/14")
    assert found.redacted()["vxlan"] == {"internal_address": "192.0.2.1", "gateway": "10.131.0.5/14"}
    mixed = config({HOST + "INTERNAL_ADDRESS": "192.0.2.9", HOST + "VXLAN_GW_CIDR": "10.131.0.5/14"},
                   f5_internal_address="192.0.2.1")
    assert mixed.vxlan.internal_address == "192.0.2.1"


@pytest.mark.parametrize("text", [
    "192.0.2", "bigip", "2001:db8::1", "0.0.0.0", "127.0.0.1", "224.0.0.1", "192.0.2.1/24"])
def test_bad_internal_address(text):
    (problem,) = problems(**{**VXLAN, "f5_internal_address": text})
    assert problem.startswith("--f5-internal-address / ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS: ")
    assert repr(text) in problem


@pytest.mark.parametrize(("text", "words"), [
    ("10.131.0.5", "such as 10.131.0.5/14"), ("10.131.0.5/33", "from 1 to 30"),
    ("10.131.0.5/31", "from 1 to 30"),
    ("10.131.0.5/0", "from 1 to 30"), ("10.131.0.5/255.0.0.0", "such as"), ("x/8", "such as"),
    ("10.131.0.5/-1", "such as"), ("2001:db8::1/64", "such as"), ("10.128.0.0/14", "network or broadcast"),
    ("10.131.255.255/14", "network or broadcast"),
])
def test_bad_gateway(text, words):
    (problem,) = problems(**{**VXLAN, "f5_vxlan_gateway_cidr": text})
    assert problem.startswith("--f5-vxlan-gateway-cidr / ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR: ")
    assert repr(text) in problem
    assert words in problem


def test_vxlan_addresses_differ():
    (problem,) = problems(f5_internal_address="10.131.0.5", f5_vxlan_gateway_cidr="10.131.0.5/14")
    assert "same address" in problem


def test_manage_snat_without_vxlan():
    """It does nothing then, and says so."""
    (warning,) = config(f5_manage_snat="true").warnings
    assert warning.startswith("--f5-manage-snat / ROUTER_F5_MANAGE_SNAT: not used")
    assert config(f5_manage_snat="true", **VXLAN).warnings == ()
    assert config(f5_manage_snat="true", **VXLAN).manage_snat


def test_static_routes():
    """Off unless asked for; not beside VxLAN, whole or half."""
    assert not config().static_routes
    assert config(f5_static_routes="true").static_routes
    assert config({"ROUTER_F5_STATIC_ROUTES": "1"}).static_routes
    message = ("--f5-static-routes / ROUTER_F5_STATIC_ROUTES, --f5-internal-address / "
               "ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS, --f5-vxlan-gateway-cidr / "
               "ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR: pods are reached by static routes or by VxLAN, not by "
               "both")
    assert problems(f5_static_routes="true", **VXLAN) == (message,)
    assert message in problems(f5_static_routes="true", f5_internal_address="192.0.2.1")
    assert config(f5_static_routes="false", **VXLAN).vxlan


NODEPORT = {"pool_member_type": "nodeport"}


def test_nodeport():
    """Selector in one spelling, states in one order; nothing of it with pods as members."""
    assert config().nodeport is None
    found = config(node_label_selector=" b == c, a in (y,x) ", nodeport_exclude="unschedulable, not-ready",
                   **NODEPORT)
    assert found.nodeport == node_ports.NodePortConfig("b == c, a in (y,x)", ("not-ready", "unschedulable"))
    assert found.redacted()["nodeport"] == {"selector": "b == c, a in (y,x)",
                                            "exclude": ("not-ready", "unschedulable")}
    assert config({"ROUTER_POOL_MEMBER_TYPE": "nodeport", "ROUTER_NODE_LABEL_SELECTOR": "a",
                   "ROUTER_NODEPORT_EXCLUDE": "not-ready"}).nodeport == node_ports.NodePortConfig("a",
                           ("not-ready",))


@pytest.mark.parametrize("name", ["node-label-selector", "nodeport-exclude"])
def test_nodeport_settings_without_it(name):
    (warning,) = config(**{name.replace("-", "_"): "not-ready"}).warnings
    assert warning.startswith(f"{OPTIONS[name].label}: not used")
    assert "--pool-member-type=nodeport" in warning


@pytest.mark.parametrize("other", [VXLAN, {"f5_static_routes": "true"}], ids=["VxLAN", "static routes"])
def test_nodeport_and_ways_to_pods(other):
    (problem,) = problems(**NODEPORT, **other)
    labels = ", ".join(OPTIONS[name].label for name in (
        "pool-member-type", *(name.replace("_", "-") for name in other)))
    assert problem == f"{labels}: with node ports pods are not addressed, so no way to them is made"


def test_all_problems_at_once():
    """One start shows everything that is wrong, the original's checks in the original's order."""
    found = problems(
        {HOST + "HOSTNAME": "", HOST + "USERNAME": "", HOST + "PASSWORD": "",
         HOST + "INTERNAL_ADDRESS": "x", "ROUTER_F5_TIMEOUT": "soon"},
        f5_http_vserver="", f5_https_vserver="", f5_partition_path="/a/../b", namespace="A",
    )
    kept = [problem.rpartition(": ")[2] for problem in found]
    assert [text for text in kept if "must" in text or "both" in text] == [
        "F5 host must be specified", "F5 username must be specified", "F5 password must be specified",
        "F5 HTTP and HTTPS vservers cannot both be blank",
        "For VxLAN setup, both internal-address and gateway-cidr must be specified",
    ]
    assert len(found) == 9
    for name in ("f5-internal-address", "f5-timeout", "f5-partition-path", "namespace"):
        assert any(problem.startswith(OPTIONS[name].label + ": ") for problem in found), name


BAD = {
    "f5-host": "http://bigip", "f5-username": "a:b", "f5-password": "a\nb", "f5-auth": "Token",
    "f5-partition-path": "/a/../b", "f5-http-vserver": "/Common/v", "f5-https-vserver": "a b",
    "f5-node-partition": "/Common/x",
    "f5-connect-timeout": "10s", "f5-timeout": "0", "f5-max-in-flight": "33", "f5-ssh-port": "0",
    "f5-ssh-host-key": "ssh-rsa AAAA", "f5-policy-model": "drafts", "f5-config-sync": "force",
    "cert-upload": "scp",
    "f5-pool-monitor": "tcp", "f5-resync-interval": "5", "resync-interval": "1d", "hold-off": "-1s",
    "hold-off-limit": "x", "status-rate": "0", "router-canonical-hostname": "10.0.0.1", "namespace": "A",
    "master": "ftp://m", "log-level": "loud", "log-format": "JSON",
    "pool-member-type": "pods", "node-label-selector": "a in b", "nodeport-exclude": "notready",
    "max-pool-members": "10001",
    "listen-addr": "localhost", "stats-port": "http", "stats-user": "a:b", "stats-password": "a\nb",
    "metrics-tls-min-version": "SSLv3", "max-secrets": "0", "max-secrets-per-namespace": "many",
    "labels": "a b", "fields": "a", "namespace-labels": ",a", "project-labels": "a in b",
    "allowed-domains": "a b", "denied-domains": "A", "hostname-template": "$x", "router-domain": "a:80",
}
LOGIN = {"STATS_USERNAME": "prometheus", "STATS_PASSWORD": "gauge-word"}
"""Both or none: a bad one is told beside a good one."""


@pytest.mark.parametrize("name", BAD)
def test_bad_text(name):
    """A text that does not parse is one problem, by flag and by variable; test_values has the texts."""
    option, text = OPTIONS[name], BAD[name]
    for found in [problems(LOGIN, **{name: text})] + (
            [problems(LOGIN | {option.env: text})] if option.env else []):
        assert len(found) == 1
        assert found[0].startswith(option.label + ": ")


@pytest.mark.parametrize("name", [option.name for option in OPTIONS.values() if option.boolean])
@pytest.mark.parametrize("text", ["yes", ""], ids=["yes", "empty"])
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


def test_router_name():
    """A name is needed as long as the status is written."""
    (problem,) = problems(name="")
    assert problem.startswith("--name / ROUTER_SERVICE_NAME: ")
    assert config(name="", update_status="false").status.router_name == ""


@pytest.mark.parametrize(("name", "text"), [
    ("include-udp-endpoints", "true"),
])
def test_not_yet_supported(name, text):
    """Refused by flag and by variable; the default, an empty variable and an empty flag pass."""
    option = OPTIONS[name]
    assert problems(**{name: text}) == (f"{option.label}: not yet supported",)
    if option.env:
        assert problems({option.env: text}) == (f"{option.label}: not yet supported",)
        config({option.env: ""})
        config({option.env: text}, **{name: option.default})
    config(**{name: option.default})


PAIRS = [("project-labels", "namespace"), ("namespace-labels", "project-labels"),
         ("namespace-labels", "namespace")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_one_way_to_tell_namespaces(one, other):
    """Source: openshift/router pkg/cmd/infra/router/router.go, RouterSelection.Complete."""
    given = {"namespace": "shop", "namespace-labels": "a=b", "project-labels": "*"}
    assert problems(**{name: given[name] for name in (one, other)}) == (
        f"{OPTIONS[one].label}, {OPTIONS[other].label}: only one of them may be used",)
    config(**{one: given[one]}, **{other: ""})


def test_all_ways_to_tell_namespaces():
    """One of them as a variable; the selectors of Routes go with each."""
    found = problems({"NAMESPACE_LABELS": "a=b", "PROJECT_LABELS": "a"}, namespace="shop", labels="a=b")
    assert len(found) == 3
    config({"NAMESPACE_LABELS": "a=b", "ROUTE_LABELS": "a=b", "ROUTE_FIELDS": "spec.host=x"})


@pytest.mark.parametrize(("folder", "wanted", "expected"), [
    ("/openshift/zone1", "/Common", "/Common"), ("/openshift/zone1", "openshift", "/openshift"),
    ("/Common", "/Common", "/Common"),
])
def test_node_partition(folder, wanted, expected):
    """The two that pools may refer to."""
    assert config(f5_partition_path=folder, f5_node_partition=wanted).node_partition == expected


@pytest.mark.parametrize(("folder", "words"), [
    ("/openshift/zone1", "a pool in /openshift cannot have LTM nodes in /other; set /Common or /openshift"),
    ("/Common", "a pool in /Common cannot have LTM nodes in /other; set /Common"),
])
def test_no_node_partition(folder, words):
    assert problems(f5_partition_path=folder, f5_node_partition="/other") == (
        f"{OPTIONS['f5-node-partition'].label}: {words}",)


@pytest.mark.parametrize(("name", "text", "field", "value"), [
    ("override-hostname", "true", "override", True),
    ("override-domains", "a.b,c", "override_domains", {"a.b", "c"}),
])
def test_override(name, text, field, value):
    """Source: openshift/router, RouterSelection.Complete: both need a template."""
    option, template = OPTIONS[name], OPTIONS["hostname-template"]
    needs = f"{option.label}, {template.label}: it requires a template"
    assert problems(**{name: text}) == (needs,)
    assert problems({option.env: text}) == (needs,)
    assert getattr(config({option.env: text}, hostname_template="${name}.x").admission.naming, field) == value
    assert getattr(config().admission.naming, field) in (False, frozenset())


@pytest.mark.parametrize(("name", "text", "words"), [
    ("allowed-domains", "a.b, https://c.d", "must be a domain, not a URL"),
    ("denied-domains", "a.b:443", "must be a domain without a port"),
    ("denied-domains", "a.b,*.c.d", "write it without '*'"),
    ("override-domains", "A.b", "upper-case letters are not allowed"),
    ("hostname-template", "${name}.${zone}.a", "${zone} is unknown"),
    ("router-domain", "a b", "is not a domain"),
])
def test_bad_domains(name, text, words):
    """What can match no host is told at start, not found out when a denied host is served."""
    option = OPTIONS[name]
    (problem,) = problems(**{name: text}, **({"hostname-template": "$name.a"} if "override" in name else {}))
    assert problem.startswith(f"{option.label}: ")
    assert words in problem


def test_enable_ingress():
    """A no-op of the original: accepted with a warning."""
    assert "--enable-ingress: deprecated; it has no effect" in config(enable_ingress="true").warnings
    assert config(enable_ingress="false").warnings == ()


def test_partition_path():
    """It places the virtual servers; its first component is the partition."""
    found = config(f5_partition_path="a//b/")
    assert (found.folder, found.partition) == ("/a/b", "a")
    assert (found.http_virtual, found.https_virtual) == ("/a/b/ose-vserver", "/a/b/https-ose-vserver")


def test_partition_path_empty():
    """An explicitly empty path: a warning, and /Common."""
    found = config(f5_partition_path="")
    assert found.folder == "/Common"
    assert any(warning.startswith("--f5-partition-path / ") for warning in found.warnings)
    assert config({HOST + "PARTITION_PATH": ""}).warnings == ()


# ---- Files


@pytest.mark.parametrize(("env", "flags", "texts", "expected"), [
    pytest.param({"USERNAME": None, "USERNAME_FILE": "/u"}, {}, {"u": "file"}, "file", id="file alone"),
    pytest.param({"USERNAME": None, "CREDENTIALS_DIR": "/d"}, {}, {"d_username": "dir\n"}, "dir",
                 id="directory alone"),
    pytest.param({"CREDENTIALS_DIR": "/d"}, {}, {"d_username": "admin\n"}, "admin", id="the same twice"),
    pytest.param({"CREDENTIALS_DIR": "/d"}, {}, {"d_password": ENV[HOST + "PASSWORD"]}, "admin",
                 id="not in the directory"),
    pytest.param({"USERNAME_FILE": "/u"}, {"f5_username": "flag"}, {"u": "file"}, "flag",
                 id="flag before file of a variable"),
    pytest.param({"USERNAME_FILE": "/u"}, {"f5_credentials_dir": "/d"}, {"u": "file", "d_username": "dir"},
                 "dir", id="directory of a flag before file of a variable"),
    pytest.param({}, {"f5_username": "flag", "f5_username_file": "/u"}, {"u": "file"}, "flag",
                 id="the flag itself before a file"),
    pytest.param({}, {"f5_username": "flag", "f5_credentials_dir": "/d"}, {"d_username": "dir"}, "flag",
                 id="the flag itself before the directory"),
])
def test_username_source(env, flags, texts, expected):
    """The flag itself, then a file that a flag names, then variables."""
    found = config({HOST + name: text for name, text in env.items()}, files(**texts), **flags)
    assert found.bigip.username == expected


@pytest.mark.parametrize(("env", "flags", "texts", "names"), [
    pytest.param({"USERNAME_FILE": "/u"}, {}, {"u": "file"}, ["f5-username-file", "f5-username"],
                 id="variables: file and text"),
    pytest.param({"CREDENTIALS_DIR": "/d"}, {}, {"d_username": "dir"},
                 ["f5-credentials-dir", "f5-username"],
                 id="variables: directory and text"),
    pytest.param({}, {"f5_username_file": "/u", "f5_credentials_dir": "/d"},
                 {"u": "file", "d_username": "dir"}, ["f5-username-file", "f5-credentials-dir"],
                 id="flags: file and directory"),
])
def test_sources_that_contradict_each_other(env, flags, texts, names):
    """Which one is right cannot be known: nothing is sent to a BIG-IP that may be the wrong one."""
    (problem,) = problems({HOST + name: text for name, text in env.items()}, files(**texts), **flags)
    labels = ", ".join(OPTIONS[name].label for name in names)
    assert problem == f"{labels}: their values differ; set only one of them"


def test_credentials_directory():
    """A bigip-login Secret alone is enough."""
    environ = {HOST + "CREDENTIALS_DIR": "/d"}
    found = load({}, environ, files(d_username="u\n", d_password=" p w \n", d_url="https://b:8443\n"))
    assert (found.bigip.username, found.bigip.password) == ("u", " p w ")
    assert found.bigip.base_url == "https://b:8443"
    assert found.warnings == ()


def test_credentials_directory_incomplete():
    """What neither the directory nor a setting has is missing, and both are named."""
    with pytest.raises(ConfigError) as caught:
        load({}, {HOST + "CREDENTIALS_DIR": "/d", HOST + "HOSTNAME": "a"}, files(d_username="u"))
    assert caught.value.problems == (
        f"{OPTIONS['f5-password'].label}, {OPTIONS['f5-credentials-dir'].label}: "
        "F5 password must be specified",)


def test_host_and_url_of_the_directory():
    """The host of a flag is programmed, whatever an old Secret says; a contradiction is refused."""
    texts = files(d_url="https://other")
    assert config({}, texts, f5_host="a", f5_credentials_dir="/d").bigip.host == "a"
    assert problems({HOST + "CREDENTIALS_DIR": "/d"}, texts) == (
        f"{OPTIONS['f5-credentials-dir'].label}, {OPTIONS['f5-host'].label}: their values differ; "
        "set only one of them",)


def test_directory_is_not_unused():
    """A directory that another setting goes before is no warning: it may serve for its other files."""
    environ = {HOST + "CREDENTIALS_DIR": "/d"}
    read = files(u="u", d_username="x", d_password="p w", d_url="b")
    found = load({"f5-username-file": "/u"}, environ, read)
    assert (found.bigip.username, found.warnings) == ("u", ())


def test_a_directory_that_is_not_there():
    """The mount that is missing is named, not only what it would have held."""
    found = problems({HOST + "CREDENTIALS_DIR": "/d"}, files(d="a file"))
    assert found == (f"{OPTIONS['f5-credentials-dir'].label}: '/d' is not a directory",)
    found = problems({HOST + "CREDENTIALS_DIR": "/nowhere"})
    assert found == (f"{OPTIONS['f5-credentials-dir'].label}: the directory '/nowhere' does not exist",)


@pytest.mark.parametrize(("texts", "word"), [
    pytest.param({}, "No such file", id="missing"),
    pytest.param({"p": PermissionError(13, "Permission denied")}, "Permission denied", id="forbidden"),
    pytest.param({"p": "\n"}, "empty", id="empty"),
    pytest.param({"p": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")}, "UTF-8", id="binary"),
    pytest.param({"p": "a\nb\n"}, "control characters", id="two lines"),
])
def test_bad_password_file(texts, word):
    """One problem, that does not show the path: it may be the password, put into the wrong setting."""
    (problem,) = problems({HOST + "PASSWORD_FILE": "/p"}, files(**texts))
    assert problem.startswith("--f5-password-file / ROUTER_EXTERNAL_HOST_PASSWORD_FILE: ")
    assert word in problem
    assert "/p" not in problem.partition(": ")[2]


@pytest.mark.parametrize("name", ["f5-ca-bundle", "default-destination-ca-path", "f5-ssh-known-hosts",
                                  "config", "f5-username-file"])
def test_unreadable_file(name):
    """A file that is named must be readable."""
    (problem,) = problems(**{name: "/nowhere"})
    assert problem == f"{OPTIONS[name].label}: cannot read '/nowhere': No such file or directory"


def test_content_instead_of_path():
    """A key in place of its path is refused and not printed."""
    (problem,) = problems({HOST + "PRIVKEY": KEY})
    assert "path" in problem
    assert KEY.splitlines()[1] not in problem


def test_files_that_are_named():
    """known_hosts and kubeconfig are passed on as paths."""
    found = config({}, files(k="host key", c="apiVersion: v1"), f5_ssh_known_hosts="/k", config="/c")
    assert (found.ssh.known_hosts, found.kube.kubeconfig) == ("/k", "/c")


def test_read_text(tmp_path):
    """Without read_file, files are those of the file system."""
    (tmp_path / "password").write_text("from-a-file\n")
    found = load({"f5-password-file": str(tmp_path / "password")}, {**ENV, HOST + "PASSWORD": ""})
    assert found.bigip.password == "from-a-file"
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load({"f5-password-file": str(tmp_path / "binary")}, ENV)
    with pytest.raises(ConfigError, match="cannot read"):
        load({"f5-password-file": str(tmp_path)}, ENV)


# ---- TLS


def test_verify(ca):
    """True, a path, or False with a warning."""
    assert config().bigip.verify is True
    assert config({}, files(ca=ca), f5_ca_bundle="/ca").bigip.verify == "/ca"
    found = config({}, files(ca=ca), f5_ca_bundle="/ca", f5_insecure="true")
    assert found.bigip.verify is False
    assert [w.split(" ")[0] for w in found.warnings] == ["--f5-insecure", "--f5-ca-bundle"]


@pytest.mark.parametrize("name", ["f5-ca-bundle", "default-destination-ca-path"])
@pytest.mark.parametrize("text", ["", "no PEM", CERT], ids=["empty", "no PEM", "broken"])
def test_bad_certificates(name, text):
    """A bundle without a good certificate is a problem."""
    (problem,) = problems({}, files(ca=text), **{name: "/ca"})
    assert problem.startswith(OPTIONS[name].label + ": ")


def test_default_destination_ca(ca):
    """The certificates alone: neither the text around them nor a key."""
    key = pem(ED25519)
    found = config({"DEFAULT_DESTINATION_CA_PATH": "/ca"}, files(ca=f"# note\n{ca}\n{key}{ca}"))
    assert found.default_destination_ca == ca + ca
    assert found.redacted()["default_destination_ca"] == "2 certificates"
    assert config().default_destination_ca == ""


# ---- Upload


@pytest.mark.parametrize(("key", "upload", "expected"), [
    ("none", None, "rest"), ("missing", None, "rest"), ("present", None, "ssh"),
    ("present", "auto", "ssh"), ("present", "ssh", "ssh"), ("present", "rest", "rest"),
    ("none", "rest", "rest"), ("missing", "rest", "rest"),
])
def test_cert_upload(key, upload, expected):
    """auto is ssh where the key is configured and present."""
    env = {} if key == "none" else {HOST + "PRIVKEY": "/etc/secret-volume/router.pem"}
    read = files(**{"etc_secret-volume_router.pem": KEY}) if key == "present" else files()
    found = config(env, read, cert_upload=upload)
    assert found.cert_upload == expected
    assert (found.ssh.private_key is not None) is (key == "present")


def test_missing_key_warns():
    """`oc adm router` names a key file always (openshift/origin v3.11.0,
    pkg/oc/cli/admin/router/router.go)."""
    found = config({HOST + "PRIVKEY": "/etc/secret-volume/router.pem"})
    assert found.ssh.private_key is None
    (warning,) = found.warnings
    assert warning.startswith("--f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY: ")


@pytest.mark.parametrize("env", [{}, {HOST + "PRIVKEY": "/missing"}], ids=["none", "missing"])
def test_ssh_needs_a_key(env):
    """ssh by name cannot do without."""
    (problem,) = problems(env, cert_upload="ssh")
    assert problem.startswith("--cert-upload / ROUTER_CERT_UPLOAD, --f5-private-key / ")


GOOD_KEYS = {
    "rsa pem": pem(rsa.generate_private_key(65537, 2048), PrivateFormat.TraditionalOpenSSL),
    "ec pkcs8": pem(ec.generate_private_key(ec.SECP256R1())),
    "ed25519 openssh": KEY,
    "ed25519 pkcs8": pem(ED25519),
}
BAD_KEYS = {
    "empty": "", "text": "not a key",
    "cut": KEY[:80],
    "passphrase": pem(ED25519, encryption=BestAvailableEncryption(b"x")),
    "openssh passphrase": pem(ED25519, PrivateFormat.OpenSSH, BestAvailableEncryption(b"x")),
    "dsa": pem(dsa.generate_private_key(1024)),
    "forbidden": PermissionError(13, "Permission denied"),
}


@pytest.mark.parametrize("text", GOOD_KEYS.values(), ids=GOOD_KEYS)
def test_private_key(text):
    """The kinds and forms that icontrol.ssh reads."""
    assert config({}, files(key=text), f5_private_key="/key").ssh.private_key == "/key"


@pytest.mark.parametrize("text", BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_private_key(text):
    """A key that is there and cannot be used is a problem that tells nothing of it."""
    (problem,) = problems({}, files(key=text), f5_private_key="/key")
    assert problem.startswith("--f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY: ")
    assert "\n" not in problem
    assert "BEGIN" not in problem


@pytest.mark.parametrize(("flags", "words"), [
    pytest.param({}, "no SSH host key is accepted", id="nothing to check it against"),
    pytest.param({"f5_ssh_insecure": "true"}, "host key is not verified", id="insecure"),
    pytest.param({"f5_ssh_host_key": "SHA256:" + "a" * 43}, None, id="fingerprint"),
    pytest.param({"f5_ssh_known_hosts": "/known"}, None, id="known_hosts"),
    pytest.param({"cert_upload": "rest"}, None, id="no ssh"),
])
def test_host_key_warning(flags, words):
    """Whether the SSH host key can be checked is said at start."""
    warnings = config({}, files(key=KEY, known="b ssh-rsa A"), f5_private_key="/key", **flags).warnings
    assert [words in warning for warning in warnings] == ([True] if words else [])


# ---- Metrics and health


@pytest.mark.parametrize(("env", "flags", "expected"), [
    pytest.param({}, {"listen_addr": ""}, ("", 1936), id="an empty flag is the default"),
    pytest.param({"STATS_PORT": "1937"}, {"listen_addr": ""}, ("", 1937), id="with the port"),
    pytest.param({"ROUTER_LISTEN_ADDR": "10.0.0.1:80"}, {"stats_port": "1937"}, ("10.0.0.1", 80),
                 id="the address goes before the port"),
    pytest.param({"ROUTER_LISTEN_ADDR": "none", "STATS_PORT": "1937"}, {}, None, id="none"),
])
def test_listen(env, flags, expected):
    """As upstream ROUTER_LISTEN_ADDR wins over STATS_PORT; what is empty is the default."""
    assert config(env, **flags).listen == expected


@pytest.mark.parametrize(("env", "flags", "expected"), [
    pytest.param({}, {}, None, id="none"),
    pytest.param(LOGIN, {}, ("prometheus", "gauge-word"), id="variables"),
    pytest.param(LOGIN, {"stats_user": "", "stats_password": ""}, None, id="blanked by flags"),
    pytest.param({"STATS_USERNAME_FILE": "/user", "STATS_PASSWORD_FILE": "/word"}, {},
                 ("filed", "filed-word"), id="files"),
    pytest.param({"STATS_USERNAME": "prometheus", "STATS_PASSWORD_FILE": "/word"}, {},
                 ("prometheus", "filed-word"), id="one file"),
    pytest.param({"STATS_PASSWORD_FILE": "/word"}, {"stats_user": "x", "stats_password": "y"}, ("x", "y"),
                 id="flags before files of variables"),
])
def test_metrics_login(env, flags, expected):
    """User and password, as those of the BIG-IP."""
    read = files(user="filed\n", word="filed-word\n")
    assert config(env, read, **flags).metrics_login == expected


@pytest.mark.parametrize(("env", "label"), [
    ({"STATS_USERNAME": "a"}, "--stats-password / STATS_PASSWORD: the password for the metrics must be"),
    (LOGIN | {"STATS_PASSWORD_FILE": "/word"},
     "--stats-password-file / STATS_PASSWORD_FILE, --stats-password / STATS_PASSWORD: their values differ"),
    ({"STATS_PASSWORD": "a"}, "--stats-user / STATS_USERNAME: the user for the metrics must be"),
    (LOGIN | {"STATS_PASSWORD_FILE": "/none"}, "--stats-password-file / STATS_PASSWORD_FILE: cannot read"),
], ids=["user only", "two passwords", "password only", "no file"])
def test_half_a_metrics_login(env, label):
    """What is meant to protect the metrics is never dropped silently."""
    (problem,) = problems(env, files(word="filed-word"))
    assert problem.startswith(label)


def test_metrics_password_is_a_secret():
    found = config(LOGIN)
    assert {"gauge-word", "cHJvbWV0aGV1czpnYXVnZS13b3Jk"} <= set(found.secrets)
    assert "gauge-word" not in repr(found) + str(found.redacted())
    assert found.redacted()["metrics_login"] == "***"


# ---- Config itself


def test_installed_by_oc_adm_router():
    """The environment that `oc adm router --type=f5-router` makes, with its empty variables, starts."""
    found = config({
        HOST + "HTTP_VSERVER": "ose-vserver", HOST + "HTTPS_VSERVER": "https-ose-vserver",
        HOST + "PRIVKEY": "/etc/secret-volume/router.pem", HOST + "INSECURE": "false",
        HOST + "PARTITION_PATH": "", HOST + "INTERNAL_ADDRESS": "", HOST + "VXLAN_GW_CIDR": "",
        "ROUTER_SERVICE_NAME": "router", "ROUTER_SERVICE_NAMESPACE": "default", "ROUTER_SUBDOMAIN": "",
        "ROUTER_CIPHERS": "", "STATS_PORT": "1936", "STATS_USERNAME": "admin", "STATS_PASSWORD": "x",
    })
    assert (found.status.router_name, found.cert_upload, found.folder) == ("router", "rest", "/Common")


def test_equal_settings_equal_config():
    """Config is a value."""
    assert config() == config()
    assert config() != config(name="other")


def test_frozen():
    """Nothing changes a setting after the start."""
    with pytest.raises(FrozenInstanceError):
        config().folder = "/x"


def test_no_secret_in_repr():
    """repr and the dict for the log do not hold the password."""
    found = config()
    for shown in (repr(found), str(found.redacted()), repr(found.bigip)):
        assert "s3cr3t-word" not in shown
    assert found.redacted()["bigip"]["password"] == "***"


def test_secrets():
    """The password, and what an Authorization header makes of it."""
    assert config().secrets == ("s3cr3t-word", "YWRtaW46czNjcjN0LXdvcmQ=")


def test_redacted_shows_the_rest():
    """Every field but the warnings is there."""
    shown = config().redacted()
    assert shown.keys() == {field.name for field in fields(Config)} - {"warnings"}
    assert shown["bigip"]["host"] == "bigip.example.com"
