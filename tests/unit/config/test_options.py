"""The table of options."""

import re

from f5router.config.option import GROUPS
from f5router.config.options import OPTIONS
from tests.rows import rows

HOST = "ROUTER_EXTERNAL_HOST_"


@rows(("name", "env", "default"), [
    ("f5-host", HOST + "HOSTNAME", ""),
    ("f5-username", HOST + "USERNAME", ""),
    ("f5-password", HOST + "PASSWORD", ""),
    ("f5-http-vserver", HOST + "HTTP_VSERVER", "ose-vserver"),
    ("f5-https-vserver", HOST + "HTTPS_VSERVER", "https-ose-vserver"),
    ("f5-private-key", HOST + "PRIVKEY", ""),
    ("f5-insecure", HOST + "INSECURE", "false"),
    ("f5-partition-path", HOST + "PARTITION_PATH", "/Common"),
    ("f5-internal-address", HOST + "INTERNAL_ADDRESS", ""),
    ("f5-vxlan-gateway-cidr", HOST + "VXLAN_GW_CIDR", ""),
    ("name", "ROUTER_SERVICE_NAME", "public"),
    ("router-canonical-hostname", "ROUTER_CANONICAL_HOSTNAME", ""),
    ("update-status", "ROUTER_UPDATE_STATUS", "true"),
    ("resync-interval", "", "30m"),
    ("hostname-template", "ROUTER_SUBDOMAIN", ""),
    ("override-hostname", "ROUTER_OVERRIDE_HOSTNAME", "false"),
    ("override-domains", "ROUTER_OVERRIDE_DOMAINS", ""),
    ("labels", "ROUTE_LABELS", ""),
    ("sources", "ROUTER_SOURCES", "routes,ingress,ingressroutes"),
    ("ingress-class", "ROUTER_INGRESS_CLASS", "f5router"),
    ("ingress-controller", "ROUTER_INGRESS_CONTROLLER", "f5router.io/ingress"),
    ("ignore-annotations", "ROUTER_IGNORE_ANNOTATIONS", ""),
    ("root-namespaces", "ROUTER_ROOT_NAMESPACES", ""),
    ("ingressroute-class", "ROUTER_INGRESSROUTE_CLASS", ""),
    ("fields", "ROUTE_FIELDS", ""),
    ("project-labels", "PROJECT_LABELS", ""),
    ("namespace-labels", "NAMESPACE_LABELS", ""),
    ("namespace", "ROUTER_NAMESPACE", ""),
    ("config", "", ""),
    ("master", "KUBERNETES_MASTER", ""),
    ("denied-domains", "ROUTER_DENIED_DOMAINS", ""),
    ("allowed-domains", "ROUTER_ALLOWED_DOMAINS", ""),
    ("allow-wildcard-routes", "ROUTER_ALLOW_WILDCARD_ROUTES", "false"),
    ("disable-namespace-ownership-check", "ROUTER_DISABLE_NAMESPACE_OWNERSHIP_CHECK", "false"),
    ("extended-validation", "EXTENDED_VALIDATION", "true"),
    ("listen-addr", "ROUTER_LISTEN_ADDR", ""),
    ("stats-port", "STATS_PORT", "1936"),
    ("stats-user", "STATS_USERNAME", ""),
    ("stats-password", "STATS_PASSWORD", ""),
    ("stats-user-file", "STATS_USERNAME_FILE", ""),
    ("stats-password-file", "STATS_PASSWORD_FILE", ""),
], ids=lambda text: text or "none")
def test_original_names(name, env, default):
    """Names and defaults of openshift/origin v3.11.0, F5Router.Bind and RouterSelection.Bind.

    There --namespace had no variable.
    """
    assert (OPTIONS[name].env, OPTIONS[name].default) == (env, default)


def test_defaults_parse():
    """Every default is a good text of its own option, and every option is in a group."""
    for option in OPTIONS.values():
        if option.default:
            option.parse(option.default)
        assert option.group in GROUPS, option.name


def test_help_says_what_a_setting_does_and_then_its_default():
    """Sentences that end, with the words of the command line: `Default: ...`, `Takes precedence over`."""
    for option in OPTIONS.values():
        assert option.help.endswith("."), option.name
        assert not re.search(r"without it\b|without both|goes before|those of", option.help,
                             re.IGNORECASE), option.name
        assert "Default:" not in option.help or not option.default, option.name
