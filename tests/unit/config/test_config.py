"""Settings: where a value comes from, what it becomes, and what is refused."""

from dataclasses import FrozenInstanceError, fields

import pytest

from f5router.config import cluster_settings, front_end_options, placement_options
from f5router.config.config import Config, load
from f5router.config.options import OPTIONS
from f5router.model.address_range import parse
from f5router.model.http_edge import UniqueID
from f5router.network import node_ports
from tests.rows import rows
from tests.unit.config.loading import ENV, HOST, LOGIN, config, files, problems


def reach(settings: Config, path: str):
    for name in path.split("."):
        settings = getattr(settings, name)
    return settings


IDS = OPTIONS["unique-id-format"].parse(OPTIONS["unique-id-format"].default)

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
    ("f5-pool-monitor", "pool_monitor", "/Common/tcp", "/Common/http", "/Common/http", "none", ""),
    ("backend-check-interval", "check_interval_s", 0, "1500ms", 2, "5s", 5),
    ("repair-disabled", "repair_disabled", False, "true", True, "false", False),
    ("tls-health-checks", "tls_checks", False, "true", True, "false", False),
    ("load-balance-algorithm", "balancing.http", "", "leastconn", "leastconn", "source", "source"),
    ("tcp-balance-scheme", "balancing.tcp", "", "random", "random", "roundrobin", "roundrobin"),
    ("set-forwarded-headers", "forwarded_headers", "append", "never", "never", "if-none", "if-none"),
    ("set-delete-http-request-header", "request_actions", (), "a:Delete", ("delete.61",), "a:b:Set",
     ("set.61.t_62",)),
    ("set-delete-http-response-header", "response_actions", (), "a:Delete", ("delete.61",),
     "a:Delete,b:c:Set", ("delete.61", "set.62.t_63")),
    ("hsts-header", "edge.hsts", "", "max-age=1", "max-age=1", "max-age=2;preload", "max-age=2;preload"),
    ("disable-cookies", "balancing.cookies", True, "true", False, "false", True),
    ("use-proxy-protocol", "proxy_protocol", False, "true", True, "false", False),
    ("unique-id-header-name", "unique_id", None, "X-ID", UniqueID("X-ID", IDS), "a", UniqueID("a", IDS)),
    ("cookie-name", "cookie_name", "", "a-b", "a-b", "c", "c"),
    ("enable-compression", "edge.compressed_types", (), "true", ("text/html", "text/plain", "text/css"),
     "false", ()),
    ("strict-sni", "strict_sni", False, "true", True, "false", False),
    ("ssl-min-version", "client_tls.minimum", "", "TLSv1.0", "1.0", "SSLv3", "ssl3"),
    ("ssl-max-version", "client_tls.maximum", "", "TLSv1.2", "1.2", "TLSv1.3", "1.3"),
    ("mutual-tls-auth", "client_tls.client_certificates", "", "optional", "optional", "required", "required"),
    ("ciphers", "client_tls.ciphers", (), "AES128-SHA", ("AES128-SHA",), "AES256-SHA", ("AES256-SHA",)),
    ("f5-manage-snat", "manage_snat", False, "true", True, "false", False),
    ("f5-503-page", "unavailable_page", True, "false", False, "true", True),
    ("f5-static-routes", "static_routes", False, "true", True, "false", False),
    ("static-route-node-networks", "static_route_networks", (), "10.0.0.0/8", ("10.0.0.0/8",), "fd00::/8",
     ("fd00::/8",)),
    ("pool-member-type", "nodeport", None, "nodeport", node_ports.NodePortConfig(), "cluster", None),
    ("max-pool-members", "max_pool_members", 1000, "1", 1, "10000", 10_000),
    ("f5-config-sync", "config_sync", "check", "off", "off", "push", "push"),
    ("allow-mass-delete", "allow_mass_delete", False, "true", True, "false", False),
    ("f5-save-config", "save_config", True, "false", False, "true", True),
    ("f5-drift-interval", "drift_interval_s", 45, "1m30s", 90, "10s", 10),
    ("f5-statistics-interval", "statistics_interval_s", 60, "1m30s", 90, "0", 0),
    ("f5-statistics-pools", "statistics_pools", 500, "0", 0, "7", 7),
    ("f5-statistics-members", "statistics_members", 0, "2000", 2000, "7", 7),
    ("f5-resync-interval", "observe_interval_s", 300, "1m30s", 90, "10s", 10),
    ("hold-off", "hold_off_s", 0.1, "1s", 1, "0", 0),
    ("hold-off-limit", "hold_off_limit_s", 2, "3s", 3, "4s", 4),
    ("name", "status.router_name", "public", "one", "one", "two", "two"),
    ("router-canonical-hostname", "status.canonical_hostname", "", "a.example.com", "a.example.com", "b",
     "b"),
    ("update-status", "status.enabled", True, "false", False, "true", True),
    ("clean-status", "status.clean", True, "false", False, "true", True),
    ("status-rate", "status.rate_per_s", 100, "5", 5, "0.5", 0.5),
    ("disable-namespace-ownership-check", "admission.ownership", True, "true", False, "false", True),
    ("allow-wildcard-routes", "admission.wildcards", False, "true", True, "false", False),
    ("extended-validation", "admission.extended", True, "false", False, "true", True),
    ("allow-external-certificates", "admission.external", True, "false", False, "true", True),
    ("max-secrets", "watch.secret_limits.total", 5000, "1", 1, "100000", 100_000),
    ("max-secrets-per-namespace", "watch.secret_limits.per_namespace", 2000, "1", 1, "20", 20),
    ("allowed-domains", "admission.allowed", frozenset(), " a.b, ,c", {"a.b", "c"}, "d", {"d"}),
    ("allowed-policies", "admission.waf_policies", {}, "/P/a=x,y", {"/P/a": {"x", "y"}}, "/P/b=*",
     {"/P/b": {"*"}}),
    ("allowed-profiles", "allowed_profiles", {}, "/P/a=x /P/b=*", {"/P/a": {"x"}, "/P/b": {"*"}}, "/P/b=y",
     {"/P/b": {"y"}}),
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
    ("leader-elect", "lease", None, "no", None, "false", None),
    # Without a variable:
    ("resync-interval", "resync_s", 1800, None, None, "1h", 3600),
    ("context", "kube.context", None, None, None, "c", "c"),
    ("namespace", "watch.selection.namespace", None, None, None, "ns", "ns"),
    # Which Routes are served:
    ("namespace-labels", "watch.selection.namespace_labels", "", "a=b", "a=b", " !c ", "!c"),
    ("project-labels", "watch.selection.project_labels", "", "*", "*", "a in (b,c)", "a in (b,c)"),
    ("sources", "watch.sources.kinds", ("Route", "Ingress", "IngressRoute"), "routes", ("Route",), "ingress",
     ("Ingress",)),
    ("ingress-class", "watch.sources.classes.name", "f5router", "a", "a", "b.c", "b.c"),
    ("gateway-addresses", "watch.sources.gateways.ranges", (), "10.0.0.1", parse("10.0.0.1"),
     "a=10.0.0.0/24", parse("a=10.0.0.0/24")),
    ("gateway-addresses-per-namespace", "watch.sources.gateways.most_addresses", 0, "1", 1, "20", 20),
    ("gateway-controller", "watch.sources.gateways.controller", "f5router.io/gateway", "a.b/c", "a.b/c",
     "d.e/f", "d.e/f"),
    ("ingress-controller", "watch.sources.classes.controller", "f5router.io/ingress", "a.b/c", "a.b/c",
     "d.e/f", "d.e/f"),
    ("ignore-annotations", "watch.sources.ingresses.ignored_annotations", frozenset(),
     "nginx.org/policies,konghq.com/*", frozenset({"nginx.org/policies", "konghq.com/*"}),
     "konghq.com/plugins", frozenset({"konghq.com/plugins"})),
    ("ingress-insecure-policy", "watch.sources.ingresses.insecure_policy", "Redirect", "Allow", "Allow",
     "Redirect", "Redirect"),
    ("default-backend-namespaces", "watch.sources.ingresses.default_backend_namespaces", frozenset(),
     "a, b,", frozenset({"a", "b"}), " *", frozenset({"*"})),
    ("root-namespaces", "watch.sources.ingress_routes.root_namespaces", frozenset(), "a, b,",
     frozenset({"a", "b"}), "c", frozenset({"c"})),
    ("ingressroute-class", "watch.sources.ingress_routes.ingress_class", "", "a", "a", "b.c", "b.c"),
    ("labels", "watch.selection.labels", "", "a=b", "a=b", "a>1", "a>1"),
    ("fields", "watch.selection.fields", "", "spec.host=a", "spec.host=a", "metadata.name!=b",
     "metadata.name!=b"),
]
FILES = {"default-certificate", "default-certificate-path", "default-certificate-dir", "ciphersuites",
         *cluster_settings.LEASE_TIMES, "leader-elect-resource-name", "leader-elect-resource-namespace",
         "mutual-tls-auth-ca", "mutual-tls-auth-crl", "mutual-tls-auth-filter",
           # checked in tests of their own
    "f5-username-file", "f5-password-file", "f5-credentials-dir", "f5-ca-bundle", "f5-private-key",
    "f5-ssh-known-hosts", "default-destination-ca-path", "config",
    "f5-internal-address", "f5-vxlan-gateway-cidr", "node-label-selector", "nodeport-exclude",
    "override-hostname", "override-domains", "compression-mime", "errorfile-503", "errorfile-404",
    "unique-id-format", "stats-user", "stats-password", "stats-user-file", "stats-password-file",
    "metrics-tls-cert-file", "metrics-tls-key-file", "metrics-tls-min-version", "metrics-tls-ciphers",
}


OF_FRONT_ENDS = {option.name for option in (
    *front_end_options.OPTIONS, *placement_options.OPTIONS)} - {"repair-disabled"}
"""Settings of one value together: test_front_ends.py and test_placement.py."""


def test_every_option_has_a_row():
    """No option is left out of the tables here."""
    assert {row[0] for row in PRECEDENCE} | FILES | OF_FRONT_ENDS == OPTIONS.keys()


@rows("row", PRECEDENCE, ids=lambda row: row[0])
def test_precedence(row):
    """Precedence: flag, then variable, then default. An empty variable counts as unset."""
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


@rows(("name", "field"), [
    ("f5-drift-interval", "drift_interval_adapts"),
    ("f5-resync-interval", "observe_interval_adapts"),
])
def test_intervals_that_are_set_do_not_adapt(name, field):
    """Not even one that is set to the default."""
    option = OPTIONS[name]
    assert reach(config(), field) is True
    assert reach(config({option.env: option.default}), field) is False
    assert reach(config(**{name.replace("-", "_"): option.default}), field) is False


def test_unknown_flag():
    """A misspelt name in the program is no setting of the operator."""
    with pytest.raises(ValueError, match="f5-hots"):
        load({"f5-hots": "a"}, ENV)


def test_router_name():
    """A name is needed as long as the status is written."""
    (problem,) = problems(name="")
    assert problem.startswith("--name / ROUTER_SERVICE_NAME: ")
    assert config(name="", update_status="false").status.router_name == ""


def test_partition_path():
    """It places the virtual servers; its first component is the partition."""
    settings = config(f5_partition_path="a//b/")
    assert (settings.folder, settings.partition) == ("/a/b", "a")
    assert (settings.http_virtual, settings.https_virtual) == ("/a/b/ose-vserver", "/a/b/https-ose-vserver")


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
    ({"STATS_USERNAME": "a"}, "--stats-password / STATS_PASSWORD: the password for the metrics is missing"),
    (LOGIN | {"STATS_PASSWORD_FILE": "/word"},
     "--stats-password-file / STATS_PASSWORD_FILE, --stats-password / STATS_PASSWORD: their values differ"),
    ({"STATS_PASSWORD": "a"}, "--stats-user / STATS_USERNAME: the user for the metrics is missing"),
    (LOGIN | {"STATS_PASSWORD_FILE": "/none"}, "--stats-password-file / STATS_PASSWORD_FILE: cannot read"),
], ids=["user only", "two passwords", "password only", "no file"])
def test_half_a_metrics_login(env, label):
    """A setting that protects the metrics is never dropped silently."""
    (problem,) = problems(env, files(word="filed-word"))
    assert problem.startswith(label)


def test_metrics_password_is_a_secret():
    settings = config(LOGIN)
    assert {"gauge-word", "cHJvbWV0aGV1czpnYXVnZS13b3Jk"} <= set(settings.secrets)
    assert "gauge-word" not in repr(settings) + str(settings.redacted())
    assert settings.redacted()["metrics_login"] == "***"


def test_installed_by_oc_adm_router():
    """The environment that `oc adm router --type=f5-router` makes, with its empty variables, starts."""
    settings = config({
        HOST + "HTTP_VSERVER": "ose-vserver", HOST + "HTTPS_VSERVER": "https-ose-vserver",
        HOST + "PRIVKEY": "/etc/secret-volume/router.pem", HOST + "INSECURE": "false",
        HOST + "PARTITION_PATH": "", HOST + "INTERNAL_ADDRESS": "", HOST + "VXLAN_GW_CIDR": "",
        "ROUTER_SERVICE_NAME": "router", "ROUTER_SERVICE_NAMESPACE": "default", "ROUTER_SUBDOMAIN": "",
        "ROUTER_CIPHERS": "", "STATS_PORT": "1936", "STATS_USERNAME": "admin", "STATS_PASSWORD": "x",
    })
    assert (settings.status.router_name, settings.cert_upload, settings.folder) == (
        "router", "rest", "/Common")


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
    settings = config()
    for shown in (repr(settings), str(settings.redacted()), repr(settings.bigip)):
        assert "s3cr3t-word" not in shown
    assert settings.redacted()["bigip"]["password"] == "***"


def test_secrets():
    """The password, and what an Authorization header makes of it."""
    assert config().secrets == ("s3cr3t-word", "YWRtaW46czNjcjN0LXdvcmQ=")


def test_redacted_shows_the_rest():
    """Every field is there but the warnings, and what is a function."""
    shown = config().redacted()
    assert shown.keys() == {field.name for field in fields(Config)} - {
        "warnings", "reload_front_ends", "again"}
    assert shown["bigip"]["host"] == "bigip.example.com"
