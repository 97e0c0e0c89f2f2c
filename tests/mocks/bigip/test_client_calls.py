"""Clients that were written for a device get from the fake what they need: their calls are in a table."""

from __future__ import annotations

from typing import Any

import pytest

from mocks.bigip import DiskFile
from tests.mocks.bigip import client_calls, material
from tests.mocks.bigip.client_calls import Call


def make(client: Any, calls: list[Call]) -> None:
    """Make the calls in their order; each has to have its status."""
    for number, call in enumerate(calls):
        path = call.path.replace("{p}", "~Common")
        reply = client.call(call.method, path, call.body)
        assert reply.status_code == call.status, f"{number}: {call.method} {path}: {reply.text}"


@pytest.mark.parametrize(
    ("version", "calls"),
    [
        pytest.param("11.6.0", client_calls.ROUTER, id="11.6"),
        pytest.param("12.1.2", client_calls.ROUTER_VXLAN, id="12.1-vxlan"),
        pytest.param("14.1.2.1", client_calls.ROUTER_VXLAN, id="14.1-vxlan"),
    ],
)
def test_router_of_openshift_3(device, version, calls):
    big, client = device(version, partitions=("Common",))
    big.put_object("ltm/profile/client-ssl", {"name": "first", "sniDefault": "true"})
    for body in client_calls.VIRTUALS:
        profiles = [name.replace("/clientssl", "/first") for name in body["profiles"]]
        big.put_object("ltm/virtual", {**body, "profiles": profiles})
    certificate, key = material.pair("www.example.com")
    for file in client_calls.FILES:
        content = key if file.endswith(".key") else certificate
        big.store.disk[f"/var/tmp/{file}"] = DiskFile(content)
    make(client, calls)
    assert client.ok("GET", "ltm/rule/~Common~openshift_passthrough_irule")["apiAnonymous"].count("\n") > 10


def test_router_needs_a_legacy_policy_from_12_1_on(device):
    """Without VXLAN the router asks for none and does not start there (openshift/origin#12462)."""
    _, client = device("12.1.2", partitions=("Common",))
    post = next(call for call in client_calls.ROUTER if call.path == "ltm/policy")
    status, message = client.refused("POST", post.path, post.body)
    assert (status, message[:8]) == (400, "01071abb")


@pytest.mark.parametrize("version", ["11.6.0", "12.1.2", "14.1.2.1", "16.0.0"])
def test_f5_sdk(device, version):
    policies = [call for call in client_calls.SDK if "/policy" not in call.path]
    make(device(version)[1], policies if version.startswith("11") else client_calls.SDK)


@pytest.mark.parametrize("version", ["12.1.2", "14.1.2.1", "16.0.0"])
def test_f5_cccl(device, version):
    make(device(version)[1], client_calls.CCCL)


def upto(calls: list[Call], path: str) -> list[Call]:
    """The calls until the first DELETE of a path."""
    return calls[: calls.index(Call("DELETE", path))]


def test_what_f5_cccl_makes(device):
    """Nothing of what it sends is dropped."""
    client = device()[1]
    make(client, upto(client_calls.CCCL, "ltm/virtual/~P~virtual"))
    pool = client.ok("GET", "ltm/pool/~P~pool?expandSubcollections=true")
    assert "monitor" not in pool
    assert [item["name"] for item in pool["membersReference"]["items"]] == ["10.0.0.1%0:80", "10.0.0.2%0:80"]
    assert [item["address"] for item in pool["membersReference"]["items"]] == ["10.0.0.1", "10.0.0.2"]
    assert client.ok("GET", "ltm/node/~P~10.0.0.2%250")["address"] == "10.0.0.2"
    policy = client.ok("GET", "ltm/policy/~P~policy?expandSubcollections=true")
    first, second = policy["rulesReference"]["items"]
    assert [item["values"] for item in first["conditionsReference"]["items"]] == [["a.example"], ["x"]]
    (action,) = first["actionsReference"]["items"]
    assert (action["forward"], action["select"], action["pool"]) == (True, True, "/P/pool")
    assert second["actionsReference"]["items"][0]["redirect"]
    virtual = client.ok("GET", "ltm/virtual/~P~virtual?expandSubcollections=true")
    assert (virtual["destination"], virtual["source"]) == ("/P/10.0.0.5:80", "0.0.0.0/0")
    assert virtual["rules"] == ["/P/rule"]
    assert [item["name"] for item in virtual["policiesReference"]["items"]] == ["policy"]
    assert {item["name"] for item in virtual["profilesReference"]["items"]} == {"http", "tcp"}
    assert client.ok("GET", "ltm/virtual-address/~P~10.0.0.5")["address"] == "10.0.0.5"
    assert "records" not in client.ok("GET", "ltm/data-group/internal/~P~dg")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_was_read_can_be_written_back(device, method):
    """Sub-collections of a reply that was expanded (f5_cccl/bigip.py detaches policies so)."""
    client = device()[1]
    make(client, upto(client_calls.CCCL, "ltm/virtual/~P~virtual"))
    url = "ltm/virtual/~P~virtual"
    body = client.ok("GET", f"{url}?expandSubcollections=true")
    body["policiesReference"]["items"] = []
    shown = client.ok(method, url, body)
    assert shown["policiesReference"].keys() == {"link", "isSubcollection"}
    shown = client.ok("GET", f"{url}?expandSubcollections=true")
    assert "items" not in shown["policiesReference"]
    assert {item["name"] for item in shown["profilesReference"]["items"]} == {"http", "tcp"}


_HOST = {"name": "0", "httpHost": True, "host": True, "values": ["a.example"], "partition": ""}
_FORWARD = {"name": "0", "forward": True, "pool": "/P/pool", "partition": None}
_RULE = {"name": "r", "conditionsReference": {"items": [_HOST]}, "actionsReference": {"items": [_FORWARD]}}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize(
    ("kind", "body", "items"),
    [
        ("ltm/pool", {}, {"members": [{"name": "10.0.0.1:80", "partition": ""}, {"name": "10.0.0.2:80"}]}),
        ("ltm/policy", {"strategy": "first-match", "legacy": True}, {"rules": [_RULE, {"name": "r2"}]}),
        ("ltm/virtual", {"destination": "10.0.0.7:80"}, {
            "profiles": [{"name": "tcp", "partition": None}, {"name": "http", "partition": "Common"}],
            "policies": [{"name": "given", "partition": "P"}]}),
    ],
    ids=["pool", "policy", "virtual"],
)  # fmt: skip
def test_items_of_a_reference_are_made(client, method, kind, body, items):
    """Also inside items, and then none is left out."""
    client.ok("POST", "ltm/pool", {"name": "pool", "partition": "P"})
    client.ok("POST", "ltm/policy", {"name": "given", "partition": "P", "strategy": "first-match",
                                     "legacy": True, "rules": [{"name": "r"}]})  # fmt: skip
    body = {"name": "x", "partition": "P", **body}
    if method != "POST":
        client.ok("POST", kind, body)
    for name, sent in items.items():
        body[f"{name}Reference"] = {"isSubcollection": True, "items": sent}
    client.ok(method, kind if method == "POST" else f"{kind}/~P~x", body)
    parent = client.ok("GET", f"{kind}/~P~x?expandSubcollections=true")
    for name, sent in items.items():
        shown = parent[f"{name}Reference"]["items"]
        assert {item["name"] for item in shown} == {item["name"] for item in sent}
        for item in shown:
            if item["name"] == "r":
                (condition,) = item["conditionsReference"]["items"]
                (action,) = item["actionsReference"]["items"]
                assert (condition["values"], action["pool"]) == (["a.example"], "/P/pool")


def test_items_of_a_reference_are_checked(client):
    """They are refused as the same list would be."""
    body = {"name": "p", "partition": "P", "membersReference": {"items": [{"name": "nobody:80"}]}}
    assert client.refused("POST", "ltm/pool", body)[0] == 404
    assert client.refused("GET", "ltm/pool/~P~p")[0] == 404
    body["membersReference"]["items"] = [{"name": "10.0.0.1:80", "colour": "red"}]
    assert client.refused("POST", "ltm/pool", body)[0] == 400
    policy = {"name": "q", "partition": "P", "strategy": "first-match", "legacy": True}
    rule = {"name": "r", "conditionsReference": {"items": [{"name": "0", "httpHost": True, "values": ["a"]}]},
            "actionsReference": {"items": [{"name": "0", "forward": True, "pool": "/P/none"}]}}  # fmt: skip
    assert client.refused("POST", "ltm/policy", {**policy, "rulesReference": {"items": [rule]}})[0] == 400
    rule["actionsReference"] = {"items": [{"name": "0", "forward": True}]}
    status, message = client.refused("POST", "ltm/policy", {**policy, "rulesReference": {"items": [rule]}})
    assert (status, message[:8]) == (400, "0107186c")


@pytest.mark.parametrize("items", ["x", 3, {"name": "r"}, ["r"], [None]])
def test_items_of_the_wrong_type(client, items):
    body = {"name": "q", "partition": "P", "strategy": "first-match", "legacy": True}
    assert client.refused("POST", "ltm/policy", {**body, "rulesReference": {"items": items}})[0] == 400
    assert client.refused("POST", "ltm/policy", {**body, "rules": items})[0] == 400


def test_interfaces_of_a_vlan_can_be_written_back(client):
    client.ok("POST", "net/vlan", {"name": "v", "partition": "P", "interfaces": [{"name": "1.1"}]})
    body = client.ok("GET", "net/vlan/~P~v?expandSubcollections=true")
    client.ok("PUT", "net/vlan/~P~v", body)
    body["interfacesReference"]["items"] = [{"name": "1.2"}]
    client.ok("PATCH", "net/vlan/~P~v", body)
    assert [item["name"] for item in client.ok("GET", "net/vlan/~P~v/interfaces")["items"]] == ["1.2"]


def test_a_virtual_address_by_another_name(client):
    """A virtual server takes the address that its partition has, whatever it is called."""
    client.ok("POST", "ltm/virtual-address", {"name": "mine", "partition": "P", "address": "10.0.0.9%0"})
    virtual = {"name": "v", "partition": "P", "destination": "10.0.0.9:80"}
    client.ok("POST", "ltm/virtual", virtual)
    assert [item["name"] for item in client.ok("GET", "ltm/virtual-address")["items"]] == ["mine"]
    assert client.refused("DELETE", "ltm/virtual-address/~P~mine")[1].startswith("01070344")
    twice = client.refused("POST", "ltm/virtual-address", {"name": "10.0.0.9%0", "partition": "P"})
    assert twice[1].startswith("0107176c")
    moved = client.refused("PATCH", "ltm/virtual-address/~P~mine", {"address": "10.0.0.8"})
    assert moved[0] == 400
    client.ok("PATCH", "ltm/virtual-address/~P~mine", {"arp": "disabled", "address": "10.0.0.9%0"})
