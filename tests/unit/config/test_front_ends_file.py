"""The file of several front ends: what its entries set, and what is wrong with them."""

import json
from pathlib import Path

import pytest

from f5router.config import front_ends_file
from f5router.config.config import load
from f5router.config.option import VIRTUAL_SERVERS
from f5router.config.options import OPTIONS
from f5router.model.errors import ConfigError
from f5router.model.label_selector import Requirement
from f5router.model.virtual_server import listeners
from f5router.sources.settings import INGRESS, ROUTE
from tests.rows import rows

FLAGS = {"f5-host": "bigip", "f5-username": "admin", "f5-password": "secret", "f5-insecure": "true",
         "name": "public", "front-ends": "/front-ends.yaml"}
OUT = {"name": "default", "f5-vserver-address": ["203.0.113.10", "2001:db8::1"]}
IN = {"name": "in", "f5-vserver-address": "10.0.0.10"}


def loaded(*entries, text: str | None = None, **flags: str):
    """The Config of a file with these entries."""
    def read(path: str) -> str:
        if path != FLAGS["front-ends"]:
            raise FileNotFoundError(path)
        return json.dumps(entries) if text is None else text

    return load({**FLAGS, **{name.replace("_", "-"): value for name, value in flags.items()}}, {}, read)


def problems(*entries, text: str | None = None, **flags: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        loaded(*entries, text=text, **flags)
    return list(raised.value.problems)


def test_entries():
    config = loaded(OUT, {**IN, "max-connections": 100, "service-http-port": 8080, "labels": "zone in (a, b)",
                          "namespace-labels": "team=gold", "sources": ["routes", "ingress"],
                          "ingress-classes": ["x", "y"], "router-canonical-hostname": "in.example.com"},
                    max_connections="7", router_canonical_hostname="out.example.com")
    (out,), (inside,) = config.front_ends, config.further_front_ends
    assert (out.name, out.addresses, out.limits.connections) == ("", tuple(OUT["f5-vserver-address"]), 7)
    assert (inside.name, inside.limits.connections, inside.http_port) == ("in", 100, 8080)
    assert [each.virtual for each in listeners(config.further_front_ends)] == [
        "/Common/openshift_http__in", "/Common/openshift_https__in"]
    first, second = config.watch.front_ends
    assert (first.name, first.is_selective, second.name) == ("", False, "in")
    assert second.labels == (Requirement("zone", "in", frozenset("ab")),)
    assert second.namespace_labels == (Requirement("team", "in", frozenset({"gold"})),)
    assert (second.kinds, second.ingress_classes) == ({ROUTE, INGRESS}, {"x", "y"})
    assert {name: (each.router_name, each.canonical_hostname)
            for name, each in config.route_statuses.items()} == {
        "": ("public", "out.example.com"), "in": ("public-in", "in.example.com")}
    assert config.cleans


def test_the_order_of_the_entries_means_nothing():
    forth, back = loaded(OUT, IN), loaded(IN, OUT)
    assert (forth.front_ends, forth.further_front_ends) == (back.front_ends, back.further_front_ends)


def test_yaml():
    config = loaded(text="- name: default\n- name: in\n  f5-vserver-address:\n  - 10.0.0.10\n"
                         "  f5-http-vserver: ''\n")
    assert config.front_ends == ()
    assert [each.virtual for each in config.listeners] == ["/Common/openshift_https__in"]


LABEL = "--front-ends / ROUTER_FRONT_ENDS: "


@rows(("entries", "expected"), [
    ([IN], [f"{LABEL}no entry is named default: it has the virtual servers of --f5-http-vserver and "
            "--f5-https-vserver"]),
    ([OUT, {**IN, "name": "In"}], [f"{LABEL}entry 2 needs a field name: at most 32 small letters, digits and "
                                   "-, beginning and ending with a letter or digit"]),
    ([OUT, IN, IN], [f"{LABEL}two entries are named in"]),
    ([OUT, {**IN, "colour": "red"}], [f"{LABEL}entry in: there is no field 'colour'"]),
    ([OUT, {"name": "in"}], [f"{LABEL}entry in, f5-vserver-address: an address is needed"]),
    ([OUT, {**IN, "f5-vserver-address": "here"}], [
        f"{LABEL}entry in, f5-vserver-address: 'here' is not an IP address",
        f"{LABEL}entry in, f5-vserver-address: an address is needed"]),
    ([OUT, {**IN, "max-connections": "many"}], [
        f"{LABEL}entry in, max-connections: 'many' is not a whole number between 0 and 2000000"]),
    ([OUT, {**IN, "service-http-port": 443}], [
        f"{LABEL}entry in, service-http-port, service-https-port: HTTP and HTTPS cannot have one port"]),
    ([OUT, {**IN, "labels": "a=b=c"}], [f"{LABEL}entry in, labels: 'a=b=c' is none of key, !key, key=value, "
                                        "key!=value, key in (a,b), key notin (a,b), key>1 and key<1"]),
    ([OUT, {**IN, "sources": "pods"}], [
        f"{LABEL}entry in, sources: 'pods': 'pods' is not one of routes, ingress, ingressroutes"]),
    ([OUT, {**IN, "ingress-classes": "A_"}], [f"{LABEL}entry in, ingress-classes: 'A_' is no name of an "
                                              "IngressClass"]),
    ([OUT, {**IN, "f5-vserver-address": "2001:db8::1"}], [
        f"{LABEL}entries default and in have the same address and port: 2001:db8::1 port {port}"
        for port in (80, 443)]),
    ([OUT, {**IN, "router-name": "public"}], [
        f"{LABEL}entries default and in have the same router-name: public"]),
    ([OUT, {**IN, "labels": {"zone": "in"}}], [
        f"{LABEL}entry in, labels: it is neither a text, a number, nor a list"]),
    ([], [f"{LABEL}it must be a list of 1 to 50 entries"]),
])
def test_problems(entries, expected):
    assert problems(*entries) == expected


def test_no_yaml():
    assert problems(text="- name: [") == [f"{LABEL}it is not YAML: line 1"]


def test_addresses_are_in_one_place():
    assert problems(OUT, f5_vserver_address="10.0.0.1")[0] == (
        "--front-ends / ROUTER_FRONT_ENDS, --f5-vserver-address / ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS: the "
        "addresses are in the file")


def test_the_example_of_the_page():
    page = (Path(__file__).parents[3] / "docs" / "front-ends.md").read_text()
    config = loaded(text=page.partition("```yaml\n")[2].partition("```")[0])
    assert [each.name for each in config.watch.front_ends] == ["", "internal"]
    assert config.further_front_ends[0].translation == "none"


def test_the_page_names_every_field():
    page = (Path(__file__).parents[3] / "docs" / "front-ends.md").read_text()
    own = front_ends_file.FIELDS - {option.name for option in OPTIONS.values()
                                    if option.group == VIRTUAL_SERVERS}
    assert [field for field in own if f"`{field}`" not in page] == []


def test_every_setting_of_virtual_servers_is_a_field():
    assert {name for name, option in OPTIONS.items() if option.group == VIRTUAL_SERVERS} - (
        front_ends_file.FIELDS) == {"front-ends", "repair-disabled"}


def test_each_entry_has_the_network_of_its_own():
    config = loaded(OUT, {**IN, "f5-vserver-vlans": ["/Common/inside"], "f5-vserver-mirroring": "enabled"})
    (out,), (inside,) = config.front_ends, config.further_front_ends
    assert (out.placement.reach.vlans, out.placement.reach.mirrored) == (None, None)
    assert (inside.placement.reach.vlans, inside.placement.reach.mirrored) == ({"/Common/inside"}, True)


ADDRESSES = {"f5-vserver-address": "203.0.113.10"}


@rows(("default", "flags", "on_demand"), [
    (ADDRESSES, {}, True),
    ({}, {}, False),
    (ADDRESSES, {"sources": "routes,ingress,ingressroutes"}, False),
    (ADDRESSES, {"sources": "routes,gateway"}, False),
    (ADDRESSES, {"gateway_addresses": "203.0.113.32/28"}, False),
    (ADDRESSES, {"fields": "metadata.name=a"}, False)])
def test_where_a_gateway_class_decides(default, flags, on_demand):
    """Where its Gateways would have an address, that of the entry default, and nothing else decides."""
    config = loaded({"name": "default", **default}, {"name": "more", "f5-vserver-address": "203.0.113.20"},
                    **flags)
    assert config.watch.sources.on_demand is on_demand


def test_settings_are_loaded_again_with_their_files():
    entry = {"name": "default", **ADDRESSES}
    config = loaded(entry)
    del entry["f5-vserver-address"]
    assert config.front_ends
    assert not config.again().front_ends
    entry["name"] = 5
    with pytest.raises(ConfigError):
        config.again()
