"""Settings of VxLAN, static routes, node ports, LTM nodes and domains."""

import pytest

from f5router.config.options import OPTIONS
from f5router.network import node_ports
from f5router.network.vxlan import VxlanConfig
from tests.unit.config.loading import HOST, config, problems

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
    assert config().vxlan == ()
    settings = config(f5_internal_address="192.0.2.1", f5_vxlan_gateway_cidr="10.131.0.5/14")
    assert settings.vxlan == (VxlanConfig("192.0.2.1", "10.131.0.5/14"),)
    assert settings.redacted()["vxlan"] == ({"internal_address": "192.0.2.1", "gateway": "10.131.0.5/14"},)
    mixed = config({HOST + "INTERNAL_ADDRESS": "192.0.2.9", HOST + "VXLAN_GW_CIDR": "10.131.0.5/14"},
                   f5_internal_address="192.0.2.1")
    assert mixed.vxlan[0].internal_address == "192.0.2.1"


def test_vxlan_and_a_pair():
    """Each unit has an address and a gateway of its own, in the order of the hosts."""
    both = {"f5_internal_address": "192.0.2.1, 192.0.2.2",
            "f5_vxlan_gateway_cidr": "10.131.0.5/14,10.130.2.5/14"}
    assert config(**both, f5_host="a,b").vxlan == (
        VxlanConfig("192.0.2.1", "10.131.0.5/14"), VxlanConfig("192.0.2.2", "10.130.2.5/14"))
    for flags in (VXLAN, VXLAN | {"f5_internal_address": both["f5_internal_address"]}):
        (problem,) = problems(**flags, f5_host="a,b")
        assert "each of the 2 units of --f5-host has an address and a gateway of its own" in problem
    (problem,) = problems(**both, f5_host="a")
    assert "there are more than one, and one address in --f5-host" in problem


@pytest.mark.parametrize("flags", [
    {"f5_internal_address": "192.0.2.1,192.0.2.1"}, {"f5_vxlan_gateway_cidr": "10.131.0.5/14,10.131.0.5/15"}])
def test_units_share_no_address(flags):
    (problem,) = problems(**VXLAN | flags, f5_host="a,b")
    assert problem.endswith("one address is there twice")


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


def test_networks_of_gateways():
    networks = {"static_route_node_networks": "10.4.0.0/14,fd00::/8"}
    assert config().static_route_networks == ()
    chosen = config(f5_static_routes="true", **networks)
    assert chosen.static_route_networks == ("10.4.0.0/14", "fd00::/8")
    assert chosen.warnings == ()
    (warning,) = config(**networks).warnings
    assert "not used: it is part of --f5-static-routes" in warning
    (problem,) = problems(f5_static_routes="true", static_route_node_networks="10.4.0.1")
    assert "has no prefix length" in problem


NODEPORT = {"pool_member_type": "nodeport"}


def test_nodeport():
    """Selector in one spelling, states in one order; nothing of it with pods as members."""
    assert config().nodeport is None
    settings = config(node_label_selector=" b == c, a in (y,x) ", nodeport_exclude="unschedulable, not-ready",
                      **NODEPORT)
    assert settings.nodeport == node_ports.NodePortConfig(
        "b == c, a in (y,x)", ("not-ready", "unschedulable"))
    assert settings.redacted()["nodeport"] == {"selector": "b == c, a in (y,x)",
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
    """A domain that matches no host is refused at start: otherwise a denied host would be served."""
    option = OPTIONS[name]
    (problem,) = problems(**{name: text}, **({"hostname-template": "$name.a"} if "override" in name else {}))
    assert problem.startswith(f"{option.label}: ")
    assert words in problem
