"""Every variable of OpenShift's routers, and what becomes of it.

Sources: openshift/router, pkg/cmd/infra/router/router.go and template.go (controller),
images/router/haproxy/conf/haproxy-config.template (template);
openshift/origin v3.11.0, pkg/cmd/infra/router/f5.go (f5.go).
"""

import re
from pathlib import Path

import pytest

from f5router.config import config, front_end_options, ignored_variables, options, placement_options
from f5router.config.options import OPTIONS
from f5router.model.errors import ConfigError
from tests.builders import identity
from tests.rows import rows

ONE = identity()
HOST = "ROUTER_EXTERNAL_HOST_"
ENV = {HOST + "HOSTNAME": "b", HOST + "USERNAME": "u", HOST + "PASSWORD": "word"}
ALWAYS = config.load({}, ENV).warnings
HONOURED, MEANINGLESS, REFUSED = "honoured", "without meaning", "refused"
ON_DEVICE, INEXACT = "on a virtual server", "not exact on a BIG-IP"
DOCS = Path(options.__file__).parents[2] / "docs"

ROWS = [
    # source, variable, what becomes of it, a text
    ("controller", "ROUTER_SERVICE_NAME", HONOURED, "x"),
    ("controller", "ROUTER_SERVICE_NAMESPACE", MEANINGLESS, "default"),
    ("controller", "ROUTER_CANONICAL_HOSTNAME", HONOURED, "a.b"),
    ("controller", "ROUTER_UPDATE_STATUS", HONOURED, "false"),
    ("controller", "ROUTER_SUBDOMAIN", HONOURED, "$name.a"),
    ("controller", "ROUTER_OVERRIDE_HOSTNAME", HONOURED, "true"),
    ("controller", "ROUTER_OVERRIDE_DOMAINS", HONOURED, "a.b"),
    ("controller", "ROUTER_DOMAIN", HONOURED, "a.b"),
    ("controller", "ROUTE_LABELS", HONOURED, "a=b"),
    ("controller", "ROUTE_FIELDS", HONOURED, "metadata.name=a"),
    ("controller", "NAMESPACE_LABELS", HONOURED, "a=b"),
    ("controller", "PROJECT_LABELS", HONOURED, "a=b"),
    ("controller", "ROUTER_ALLOWED_DOMAINS", HONOURED, "a.b"),
    ("controller", "ROUTER_DENIED_DOMAINS", HONOURED, "a.b"),
    ("controller", "ROUTER_ALLOW_WILDCARD_ROUTES", HONOURED, "true"),
    ("controller", "ROUTER_DISABLE_NAMESPACE_OWNERSHIP_CHECK", HONOURED, "true"),
    ("controller", "EXTENDED_VALIDATION", HONOURED, "false"),
    ("controller", "ROUTER_ENABLE_EXTERNAL_CERTIFICATE", HONOURED, "false"),
    ("controller", "UPGRADE_VALIDATION", MEANINGLESS, "false"),
    ("controller", "DEBUG_UPGRADE_VALIDATION_FORCE_ADD_CONDITION", MEANINGLESS, "true"),
    ("controller", "DEBUG_UPGRADE_VALIDATION_FORCE_REMOVE_CONDITION", MEANINGLESS, "true"),
    ("controller", "ROUTER_WATCH_ENDPOINTS", HONOURED, "true"),
    ("controller", "RELOAD_INTERVAL", MEANINGLESS, "5s"),
    ("controller", "COMMIT_INTERVAL", MEANINGLESS, "1h"),
    ("controller", "RESYNC_INTERVAL", MEANINGLESS, "10m"),
    ("controller", "ROUTER_PROXY_PROTOCOL_TRUSTED_SOURCE", MEANINGLESS, "10.0.0.0/8"),
    ("controller", "ROUTER_SERVICE_503_SERVER_PORT", MEANINGLESS, "8443"),
    ("controller", "ROUTER_SERVICE_INTERNAL_PASSTHROUGH_PORT", MEANINGLESS, "8444"),
    ("controller", "ROUTER_USE_HTTP2", MEANINGLESS, "true"),
    ("controller", "ROUTER_BIND_PORTS_AFTER_SYNC", MEANINGLESS, "true"),
    ("controller", "DEFAULT_CERTIFICATE", HONOURED, ONE.certificate + ONE.key),
    ("controller", "DEFAULT_CERTIFICATE_PATH", HONOURED, None),
    ("controller", "DEFAULT_CERTIFICATE_DIR", HONOURED, None),
    ("controller", "DEFAULT_DESTINATION_CA_PATH", HONOURED, None),
    ("controller", "STATS_PORT", HONOURED, "1937"),
    ("controller", "STATS_USERNAME", HONOURED, None),
    ("controller", "STATS_PASSWORD", HONOURED, None),
    ("controller", "STATS_USERNAME_FILE", HONOURED, None),
    ("controller", "STATS_PASSWORD_FILE", HONOURED, None),
    ("controller", "ROUTER_LISTEN_ADDR", HONOURED, "10.0.0.1:1936"),
    ("controller", "ROUTER_METRICS_TYPE", REFUSED, "nginx"),
    ("controller", "ROUTER_METRICS_HAPROXY_TIMEOUT", MEANINGLESS, "5s"),
    ("controller", "ROUTER_METRICS_HAPROXY_BASE_SCRAPE_INTERVAL", MEANINGLESS, "5s"),
    ("controller", "ROUTER_METRICS_HAPROXY_SERVER_THRESHOLD", MEANINGLESS, "500"),
    ("controller", "ROUTER_METRICS_HAPROXY_EXPORTED", MEANINGLESS, "2,4"),
    ("controller", "ROUTER_METRICS_HAPROXY_SCRAPE_URI", MEANINGLESS, "unix:/x"),
    ("controller", "ROUTER_METRICS_HAPROXY_PID_FILE", MEANINGLESS, "/pid"),
    ("controller", "ROUTER_METRICS_READY_HTTP_URL", MEANINGLESS, "http://localhost"),
    ("controller", "ROUTER_METRICS_TLS_CERT_FILE", HONOURED, None),
    ("controller", "ROUTER_METRICS_TLS_KEY_FILE", HONOURED, None),
    ("controller", "ROUTER_METRICS_TLS_CIPHERS", HONOURED, None),
    ("controller", "ROUTER_METRICS_TLS_MIN_VERSION", HONOURED, None),
    ("controller", "ROUTER_METRICS_TLS_CURVES", MEANINGLESS, "x"),
    ("controller", "ROUTER_METRICS_AUTHENTICATOR_CA_FILE", MEANINGLESS, "/ca"),
    ("controller", "ROUTER_BIND_PORTS_BEFORE_SYNC", MEANINGLESS, "true"),
    ("controller", "ROUTER_GRACEFUL_SHUTDOWN_DELAY", MEANINGLESS, "45s"),
    ("controller", "ROUTER_MAX_SHUTDOWN_TIMEOUT", MEANINGLESS, "1h"),
    ("controller", "TEMPLATE_FILE", MEANINGLESS, "/x"),
    ("controller", "RELOAD_SCRIPT", MEANINGLESS, "/x"),
    ("controller", "MAX_RELOAD_WAIT_TIME", MEANINGLESS, "30"),
    ("controller", "ROUTER_HAPROXY_CONFIG_MANAGER", MEANINGLESS, "true"),
    ("controller", "ROUTER_BLUEPRINT_ROUTE_NAMESPACE", MEANINGLESS, "x"),
    ("controller", "ROUTER_BLUEPRINT_ROUTE_LABELS", MEANINGLESS, "x"),
    ("controller", "ROUTER_BLUEPRINT_ROUTE_POOL_SIZE", MEANINGLESS, "10"),
    ("controller", "ROUTER_MAX_DYNAMIC_SERVERS", MEANINGLESS, "5"),
    ("controller", "KUBERNETES_MASTER", HONOURED, "https://m"),
    ("controller", "OPENSHIFT_PROFILE", MEANINGLESS, "web"),
    ("controller", "OPENSHIFT_ON_PANIC", MEANINGLESS, "x"),
    ("upstream, extended_validator.go", "ROUTER_DISABLE_ENDPOINT_ADDRESS_VALIDATION", REFUSED, "true"),
    ("f5.go", HOST + "HOSTNAME", HONOURED, "c"),
    ("f5.go", HOST + "USERNAME", HONOURED, "v"),
    ("f5.go", HOST + "PASSWORD", HONOURED, "another"),
    ("f5.go", HOST + "HTTP_VSERVER", HONOURED, "v"),
    ("f5.go", HOST + "HTTPS_VSERVER", HONOURED, "v"),
    ("f5.go", HOST + "PRIVKEY", HONOURED, None),
    ("f5.go", HOST + "INSECURE", HONOURED, "true"),
    ("f5.go", HOST + "PARTITION_PATH", HONOURED, "/p"),
    ("f5.go", HOST + "INTERNAL_ADDRESS", HONOURED, None),
    ("f5.go", HOST + "VXLAN_GW_CIDR", HONOURED, None),
    ("template", "ROUTER_SERVICE_HTTP_PORT", HONOURED, None),
    ("template", "ROUTER_SERVICE_HTTPS_PORT", HONOURED, None),
    ("template", "ROUTER_SERVICE_SNI_PORT", MEANINGLESS, "10444"),
    ("template", "ROUTER_SERVICE_NO_SNI_PORT", MEANINGLESS, "10443"),
    ("template", "ROUTER_IP_V4_V6_MODE", ON_DEVICE, "v4v6"),
    ("template", "ROUTER_USE_PROXY_PROTOCOL", HONOURED, "true"),
    ("template", "ROUTER_MAX_CONNECTIONS", HONOURED, None),
    ("template", "ROUTER_THREADS", MEANINGLESS, "4"),
    ("template", "ROUTER_CIPHERS", HONOURED, "modern"),
    ("template", "ROUTER_CIPHERSUITES", HONOURED, "TLS_AES_128_GCM_SHA256"),
    ("template", "ROUTER_CURVES", ON_DEVICE, "X25519:P-256"),
    ("template", "SSL_MIN_VERSION", HONOURED, "TLSv1.2"),
    ("template", "SSL_MAX_VERSION", HONOURED, "TLSv1.2"),
    ("template", "ROUTER_STRICT_SNI", HONOURED, "true"),
    ("template", "ROUTER_DISABLE_HTTP2", MEANINGLESS, "true"),
    ("template", "ROUTER_ENABLE_HTTP2", MEANINGLESS, "true"),
    ("template", "ROUTER_MUTUAL_TLS_AUTH", HONOURED, "required"),
    ("template", "ROUTER_MUTUAL_TLS_AUTH_CA", HONOURED, None),
    ("template", "ROUTER_MUTUAL_TLS_AUTH_CRL", HONOURED, None),
    ("template", "ROUTER_MUTUAL_TLS_AUTH_FILTER", HONOURED, "^/CN=x"),
    ("template", "ROUTER_MUTUAL_TLS_HEADER_FILTER", MEANINGLESS, "false"),
    ("template", "ROUTER_LOAD_BALANCE_ALGORITHM", HONOURED, "leastconn"),
    ("template", "ROUTER_TCP_BALANCE_SCHEME", HONOURED, "random"),
    ("template", "ROUTER_BACKEND_CHECK_INTERVAL", HONOURED, "5000ms"),
    ("template", "ROUTER_BACKEND_PROCESS_ENDPOINTS", MEANINGLESS, "shuffle"),
    ("template", "ROUTER_DEFAULT_CONNECT_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_DEFAULT_CLIENT_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_DEFAULT_SERVER_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_CLIENT_FIN_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_DEFAULT_SERVER_FIN_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_DEFAULT_TUNNEL_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_SLOWLORIS_TIMEOUT", HONOURED, None),
    ("template", "ROUTER_SLOWLORIS_HTTP_KEEPALIVE", HONOURED, None),
    ("template", "ROUTER_INSPECT_DELAY", HONOURED, None),
    ("template", "ROUTER_HARD_STOP_AFTER", MEANINGLESS, "1h"),
    ("template", "ROUTER_ENABLE_COMPRESSION", HONOURED, "true"),
    ("template", "ROUTER_COMPRESSION_MIME", HONOURED, "text/html"),
    ("template", "ROUTER_SYSLOG_ADDRESS", HONOURED, None),
    ("template", "ROUTER_LOG_LEVEL", HONOURED, "debug"),
    ("template", "ROUTER_LOG_FACILITY", HONOURED, None),
    ("template", "ROUTER_LOG_MAX_LENGTH", INEXACT, "1024"),
    ("template", "ROUTER_SYSLOG_FORMAT", HONOURED, None),
    ("template", "ROUTER_DONT_LOG_NULL", MEANINGLESS, "true"),
    ("template", "ROUTER_HTTP_IGNORE_PROBES", MEANINGLESS, "true"),
    ("template", "ROUTER_CAPTURE_HTTP_REQUEST_HEADERS", INEXACT, "Host:15"),
    ("template", "ROUTER_CAPTURE_HTTP_RESPONSE_HEADERS", INEXACT, "Host:15"),
    ("template", "ROUTER_CAPTURE_HTTP_COOKIE", INEXACT, "a:1"),
    ("template", "ROUTER_UNIQUE_ID_FORMAT", HONOURED, "%rt"),
    ("template", "ROUTER_UNIQUE_ID_HEADER_NAME", HONOURED, "x"),
    ("template", "ROUTER_SET_FORWARDED_HEADERS", HONOURED, "replace"),
    ("template", "ROUTER_H1_CASE_ADJUST", MEANINGLESS, "Host"),
    ("template", "ROUTER_HTTP_REQUEST_HEADERS", HONOURED, "a:b:Set"),
    ("template", "ROUTER_HTTP_RESPONSE_HEADERS", HONOURED, "a:b:Set"),
    ("template", "ROUTER_ERRORFILE_503", HONOURED, None),
    ("template", "ROUTER_ERRORFILE_404", HONOURED, None),
    ("template", "ROUTER_BUF_SIZE", HONOURED, None),
    ("template", "ROUTER_MAX_REWRITE_SIZE", HONOURED, None),
    ("earlier f5router", "ROUTER_F5_POLICY_MODEL", MEANINGLESS, "draft"),
    ("template", "ROUTER_ABORT_ON_CLOSE", MEANINGLESS, "true"),
    ("template", "ROUTER_IDLE_CLOSE_ON_RESPONSE", MEANINGLESS, "true"),
    ("template", "ROUTER_HAPROXY_CONTSTATS", MEANINGLESS, "true"),
    ("template", "ROUTER_HAPROXY_ADMIN_UNIX_SOCKET", MEANINGLESS, "/x"),
]
NEEDS = {"ROUTER_COMPRESSION_MIME": {"ROUTER_ENABLE_COMPRESSION": "true"},
         "ROUTER_UNIQUE_ID_FORMAT": {"ROUTER_UNIQUE_ID_HEADER_NAME": "x"},
         "ROUTER_OVERRIDE_HOSTNAME": {"ROUTER_SUBDOMAIN": "$name.a"},
         "ROUTER_OVERRIDE_DOMAINS": {"ROUTER_SUBDOMAIN": "$name.a"}}

RELOAD = ignored_variables.WITHOUT_MEANING["RELOAD_INTERVAL"]
HAPROXY = ignored_variables.WITHOUT_MEANING["ROUTER_THREADS"]
NO_DIRECTORY = ("--default-certificate-dir / DEFAULT_CERTIFICATE_DIR: cannot read "
                "'/etc/pki/tls/private/tls.crt': No such file or directory")
MEANING = "without meaning on a BIG-IP"
SERVICE = f"ROUTER_SERVICE_NAMESPACE: {MEANING}: the router does not look for its own Service"
METRICS = {"ROUTER_METRICS_TLS_CERT_FILE": "{folder}/tls.crt",
           "ROUTER_METRICS_TLS_KEY_FILE": "{folder}/tls.key", "ROUTER_METRICS_TYPE": "haproxy"}
MIGRATED = [
    pytest.param({
        "DEFAULT_CERTIFICATE_DIR": "/etc/pki/tls/private", "EXTENDED_VALIDATION": "true",
        "ROUTER_CIPHERS": "",
        HOST + "INSECURE": "false", HOST + "PRIVKEY": "/etc/secret-volume/router.pem",
        "ROUTER_LISTEN_ADDR": "0.0.0.0:1936", "ROUTER_SERVICE_HTTPS_PORT": "443",
        "ROUTER_SERVICE_HTTP_PORT": "80",
        "ROUTER_SERVICE_NAME": "router", "ROUTER_SERVICE_NAMESPACE": "default", "ROUTER_SUBDOMAIN": "",
        "ROUTER_THREADS": "0", "STATS_PASSWORD": "metrics-word", "STATS_PORT": "1936",
        "STATS_USERNAME": "admin", **METRICS,
    }, [
        "--f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY: '/etc/secret-volume/router.pem' does not exist; "
        "SSH is not used",
        NO_DIRECTORY,
        SERVICE,
        f"ROUTER_THREADS: {MEANING}: {HAPROXY}",
    ], id="OpenShift 3.11, oc adm router"),
    pytest.param({
        "DEFAULT_CERTIFICATE_DIR": "/etc/pki/tls/private", "DEFAULT_DESTINATION_CA_PATH": "{folder}/ca.crt",
        "RELOAD_INTERVAL": "5s", "ROUTER_ALLOW_WILDCARD_ROUTES": "false",
        "ROUTER_CANONICAL_HOSTNAME": "router-default.apps.example.com",
        "ROUTER_CIPHERS": "ECDHE-RSA-AES128-GCM-SHA256",
        "ROUTER_CIPHERSUITES": "TLS_AES_128_GCM_SHA256", "ROUTER_DISABLE_HTTP2": "true",
        "ROUTER_DISABLE_NAMESPACE_OWNERSHIP_CHECK": "false", "ROUTER_DOMAIN": "apps.example.com",
        "ROUTER_LOAD_BALANCE_ALGORITHM": "random", "ROUTER_SERVICE_NAME": "default",
        "ROUTER_SERVICE_NAMESPACE": "openshift-ingress", "ROUTER_SET_FORWARDED_HEADERS": "append",
        "ROUTER_TCP_BALANCE_SCHEME": "source", "ROUTER_THREADS": "4", "SSL_MIN_VERSION": "TLSv1.2",
        "STATS_PASSWORD_FILE": "{folder}/statsPassword", "STATS_PORT": "1936",
        "STATS_USERNAME_FILE": "{folder}/statsUsername", **METRICS,
    }, [
        NO_DIRECTORY,
        SERVICE,
        f"RELOAD_INTERVAL: {MEANING}: {RELOAD}",
        f"ROUTER_DISABLE_HTTP2: {MEANING}: clients are served by HTTP/1.1, see limits.md",
        f"ROUTER_THREADS: {MEANING}: {HAPROXY}",
    ], id="OpenShift 4, ingress operator"),
]
"""Variables of a router's Deployment, and what is told at start. Sources: a DeploymentConfig that
`oc adm router` of OpenShift 3.11 made; desiredRouterDeployment of cluster-ingress-operator."""


def told(env) -> list[str]:
    """Warnings at start besides those of every start."""
    return [text for text in config.load({}, ENV | env).warnings if text not in ALWAYS]


@pytest.mark.parametrize(("section", "name", "what", "text"), ROWS, ids=[row[1] for row in ROWS])
def test_every_variable(section, name, what, text):
    env = NEEDS.get(name, {})
    if what == HONOURED:
        assert [option.env for option in OPTIONS.values() if option.env == name] == [name]
        if text is not None:  # the others need files or each other: test_config
            assert config.load({}, ENV | env | {name: text}) != config.load({}, ENV | env)
        return
    if what == REFUSED:
        with pytest.raises(ConfigError) as caught:
            config.load({}, ENV | {name: text})
        (problem,) = caught.value.problems
        assert re.search(rf"\b{name}: \w+ \w+", problem)
        return
    (warning,) = told({name: text})
    words = {MEANINGLESS: r"without meaning on a BIG-IP: \w+ \w+",
             INEXACT: r"has no effect: a template of request logging (cannot|has) ",
             ON_DEVICE: r"has no effect; on the BIG-IP, set [a-z0-9-]+.* of .*(profile|virtual server)"}
    assert re.match(f"{name}: {words[what]}", warning)
    assert told({name: ""}) == []


def test_each_is_told_once():
    """A line for each, whatever is set."""
    env = {name: text for _, name, what, text in ROWS if what in (MEANINGLESS, ON_DEVICE, INEXACT)}
    assert sorted(line.partition(":")[0] for line in told(env)) == sorted(env)


@pytest.mark.parametrize(("env", "lines"), MIGRATED)
def test_a_deployment_that_is_migrated(tmp_path, env, lines):
    """It starts as it is; what its operator reads, besides what this router needs, is a line for each."""
    env = {name: text.format(folder=tmp_path) for name, text in env.items()}
    files = {"statsUsername": "admin", "statsPassword": "metrics-word", "ca.crt": ONE.certificate,
             "tls.crt": ONE.certificate, "tls.key": ONE.key}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    settings = config.load({}, ENV | env)
    assert [text for text in settings.warnings if text not in ALWAYS] == lines
    assert settings.metrics_login == ("admin", "metrics-word")
    assert settings.metrics_tls.cert_file == f"{tmp_path}/tls.crt"


@pytest.mark.parametrize(("text", "words"), [
    ("yes", "'yes' counts as false; only 1 t T true TRUE True are true"),
    (" true", "' true' counts as false"), ("TRUE", None), ("F", None), ("0", None),
])
def test_a_word_that_is_neither_true_nor_false(text, words):
    """Upstream's reading, but not in silence."""
    settings = told({"ROUTER_ALLOW_WILDCARD_ROUTES": text})
    assert [line.partition(": ")[0] for line in settings] == (
        ["--allow-wildcard-routes / ROUTER_ALLOW_WILDCARD_ROUTES"] if words else [])
    assert words is None or words in settings[0]


def test_no_variable_is_in_two_tables():
    tables = [*ignored_variables.WITHOUT_MEANING, *ignored_variables.REFUSED,
              *(option.env for option in OPTIONS.values() if option.env)]
    assert len(tables) == len(set(tables))
    known = {*ignored_variables.WITHOUT_MEANING, *ignored_variables.REFUSED}
    assert known <= {row[1] for row in ROWS}


@pytest.mark.parametrize(("name", "text"), [
    ("ROUTER_METRICS_TYPE", "haproxy"), ("ROUTER_DISABLE_ENDPOINT_ADDRESS_VALIDATION", "false"),
])
def test_what_is_refused_may_say_what_is_done(name, text):
    assert told({name: text}) == []


@rows("name", ignored_variables.FLAGS)
def test_every_flag_without_effect(name):
    """A Deployment that has one starts as it is, whatever the value, and the log has the reason."""
    for text in ("true", "false", "", "anything"):
        assert [line for line in config.load({name: text}, ENV).warnings if line not in ALWAYS] == [
            f"--{name}: has no effect: {ignored_variables.FLAGS[name]}"]
    assert config.load({name: None}, ENV).warnings == ALWAYS
    assert name not in OPTIONS


def test_documentation():
    """docs/haproxy-settings.md has each flag and variable once, with its reason, in its own section."""
    text = (DOCS / "haproxy-settings.md").read_text()
    sections = dict(re.findall(r"^## (.+)\n((?:(?!^##).*\n)*)", text, re.MULTILINE))
    rows = {}
    for names, why in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.+) \|$",
                                 sections["Without meaning on a BIG-IP"], re.MULTILINE):
        rows |= dict.fromkeys(re.findall(r"`(\w+)`", names), why)
    assert rows == ignored_variables.WITHOUT_MEANING
    flags = re.findall(r"^\| `--([a-z0-9-]+)` \| (.+) \|$", sections["Flags without effect"], re.MULTILINE)
    assert dict(flags) == ignored_variables.FLAGS
    instead = re.findall(r"^\| `(\w+)` \| (.+) \|$", sections["Set on the virtual servers"],
                         re.MULTILINE)
    assert dict(instead) == ignored_variables.PROFILES
    inexact = re.findall(r"^\| `(\w+)` \| (.+) \|$", sections["Access log"], re.MULTILINE)
    assert dict(inexact) == ignored_variables.INEXACT
    refused = re.findall(r"^\| `(\w+)`", sections["Refused"], re.MULTILINE)
    assert set(refused) == set(ignored_variables.REFUSED)


UNKNOWN = "unknown variable, it has no effect"


@pytest.mark.parametrize(("env", "lines"), [
    pytest.param({HOST + "PARTITON_PATH": "/a"}, [
        f"{HOST}PARTITON_PATH: {UNKNOWN}; did you mean {HOST}PARTITION_PATH?"], id="typo"),
    pytest.param({"ROUTER_XYZZY": "1"}, [f"ROUTER_XYZZY: {UNKNOWN}"], id="nothing near"),
    pytest.param({HOST + "PARTITON_PATH": "", "ROUTE_LABEL": "a"}, [],
                 id="empty, and not the router's prefix"),
    pytest.param({
        "ROUTER_SERVICE_HOST": "172.30.0.9", "ROUTER_SERVICE_PORT": "80", "ROUTER_SERVICE_PORT_HTTP": "80",
        "ROUTER_PORT": "tcp://172.30.0.9:80", "ROUTER_PORT_80_TCP": "tcp://172.30.0.9:80",
        "ROUTER_PORT_80_TCP_ADDR": "172.30.0.9", "ROUTER_INTERNAL_DEFAULT_SERVICE_HOST": "172.30.0.8",
        "ROUTER_INTERNAL_DEFAULT_PORT": "tcp://172.30.0.8:80",
    }, [], id="links to Services"),
    pytest.param({"ROUTER_WEB_PORT": "1"}, [f"ROUTER_WEB_PORT: {UNKNOWN}"],
                 id="a port without a Service"),
])
def test_an_unknown_variable(env, lines):
    """A misspelt variable must not be a default in silence; the kubelet's own are no mistakes."""
    assert told(env) == lines


OTHER_VALUE = {"DEFAULT_CERTIFICATE_DIR", "ROUTER_CANONICAL_HOSTNAME", "ROUTER_EXTERNAL_HOST_PRIVKEY",
               "ROUTER_SERVICE_NAME", "ROUTER_USE_PROXY_PROTOCOL",
               *(option.env for option in (*front_end_options.OPTIONS, *placement_options.OPTIONS))}
"""Settings that are left out in a move, or get a value of their own."""


@pytest.mark.parametrize("page", ["from-haproxy.md", "from-original-router.md"])
def test_tables_of_moves(page):
    """A variable that is taken has an effect; one that is left out has none, or another value is wanted."""
    table = re.findall(r"\| `([A-Z0-9_]+)` \| ([a-z ]+) \|", (DOCS / page).read_text())
    assert len(table) == len(dict(table)) > 20
    options = {option.env for option in OPTIONS.values()}
    ignored = {*ignored_variables.WITHOUT_MEANING, *ignored_variables.PROFILES, *ignored_variables.INEXACT}
    for name, what in table:
        if what == "leave out":
            assert name in ignored | OTHER_VALUE, name
        else:
            assert what in ("take", "take with its volume")
            assert name in options | ignored_variables.REFUSED.keys(), name
