"""Recorded exchanges: the same requests in the same order get the same answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mocks.bigip.test_recordings import comparable

FOLDER = Path(__file__).parents[2] / "recordings" / "exchanges"


def steps(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def test_folder(device):
    client = device("11.6.0")[1]
    for step in steps("folder-create-delete--11.6.0"):
        request, recorded = step["request"], step["response"]
        reply = client.call(request["method"], request["path"], request.get("body"))
        assert reply.status_code == recorded["status"]
        assert reply.headers["Content-Type"].startswith("application/json")
        document = reply.json() if reply.content else ""
        assert comparable(document) == comparable(recorded["body"])


def test_single_records_of_a_data_group(client):
    """The last three steps: add, modify and delete of one record."""
    *_, add, modify, delete = steps("data-group-internal--17.1.2.1")
    sent = [{"name": "key2", "data": "value2"}, {"name": "key3", "data": "value3,value31,value32"}]
    body = {"name": "my-datagroup", "partition": "Common", "type": "string", "records": sent}
    client.ok("POST", "ltm/data-group/internal", body)
    for step in (add, modify, delete):
        request, recorded = step["request"], step["response"]["body"]
        document = client.ok(request["method"], request["path"], request["body"])
        assert comparable(document) == comparable(recorded)
        assert document["selfLink"].replace("14.1.2.1", "17.1.2.1") == recorded["selfLink"]


def test_tunnel_self_route_and_save(device):
    """A tunnel with an IPsec profile stands for a VXLAN one."""
    big, client = device("12.1.2")
    big.put_object("net/tunnels/vxlan", {"name": "comcast-xre-vpn", "partition": "Common"})
    for step in steps("tunnel-self-route-virtual-save--12.1.2"):
        request, recorded = step["request"], step["response"]["body"]
        document = client.ok(request["method"], request["path"], request["body"])
        link = "profileReference"
        assert comparable({k: v for k, v in document.items() if k != link}) == comparable(
            {k: v for k, v in recorded.items() if k != link}
        )


@pytest.mark.parametrize(
    ("name", "version"), [("transaction--12.1.2", "12.1.2"), ("transaction-list-empty--11.6.0", "11.6.0")]
)
def test_transaction(device, name, version):
    first = steps(name)[0]
    request, recorded = first["request"], first["response"]["body"]
    document = device(version)[1].ok(request["method"], request["path"], request.get("body"))
    varying = ("transId", "selfLink") if "transId" in recorded else ()
    assert {k: v for k, v in document.items() if k not in varying} == {
        k: v for k, v in recorded.items() if k not in varying
    }


def test_login(client):
    recorded = steps("login--13.1.0.8")[0]["response"]["body"]
    body = {"username": client.big.username, "password": client.big.password, "loginProviderName": "tmos"}
    document = client.ok("POST", "/mgmt/shared/authn/login", body)
    assert document.keys() == recorded.keys()
    assert document["token"].keys() == recorded["token"].keys()
    assert {k: type(v) for k, v in document["token"].items()} == {
        k: type(v) for k, v in recorded["token"].items()
    }


def test_upload(client):
    step = steps("file-upload")[0]
    head = {"Content-Range": "0-1298/1299", "Content-Type": "application/octet-stream"}
    document = client.call("POST", step["request"]["path"], data=b"x" * 1299, headers=head).json()
    recorded = step["response"]["body"]
    assert {**document, "lastUpdateMicros": 0} == {**recorded, "lastUpdateMicros": 0}


def test_a_post_that_lies(device):
    """12.1.1: the policy is attached, the answer 404."""
    step = steps("virtual-policies-post-12.1.1")[0]
    big, client = device("12.1.1", partitions=("Common", step["request"]["body"]["partition"]))
    partition, policy = (step["request"]["body"][name] for name in ("partition", "name"))
    body = {"strategy": "first-match", "legacy": True, "rules": [{"name": "r"}]}
    big.put_object("ltm/policy", {"name": policy, "partition": partition, **body})
    virtual = step["request"]["path"].split("/")[-2].replace("~", "/")
    big.add_virtual(virtual, "10.0.0.1:80")
    reply = client.call("POST", step["request"]["path"], step["request"]["body"])
    assert (reply.status_code, reply.json()) == (404, step["response"]["body"])
    attached = big.get(f"ltm/virtual/{virtual.replace('/', '~')}")["policiesReference"]["items"]
    assert [item["name"] for item in attached] == [policy]
