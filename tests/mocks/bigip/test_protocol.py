"""Protocol: authentication, tokens, roles, queries, uploads, transactions (bigip-behaviour.md A1 to A8)."""

from __future__ import annotations

import pytest

from mocks.bigip.uploads import FOLDER

LOGIN = "/mgmt/shared/authn/login"
TOKENS = "/mgmt/shared/authz/tokens"


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def login(client, user=None, password=None):
    body = {
        "username": user or client.big.username,
        "password": password or client.big.password,
        "loginProviderName": "tmos",
    }
    token = client.ok("POST", LOGIN, body)["token"]
    client.session.auth = None
    client.session.headers["X-F5-Auth-Token"] = token["token"]
    return token


def test_token(device):
    clock = Clock()
    client = device(clock=clock)[1]
    token = login(client)
    assert len(token["token"]) == 26
    assert token["expirationMicros"] - token["lastUpdateMicros"] == 1_200_000_000
    client.ok("GET", "sys/version")
    clock.now += 1000
    assert client.ok("PATCH", f"{TOKENS}/{token['name']}", {"timeout": "36000"})["timeout"] == 36000
    clock.now += 34_999
    client.ok("GET", "sys/version")
    clock.now += 1
    assert client.refused("GET", "sys/version") == (401, "X-F5-Auth-Token has expired.")


def test_token_is_refused(device):
    client = device()[1]
    token = login(client)
    assert client.refused("PATCH", f"{TOKENS}/{token['name']}", {"timeout": 36001})[0] == 406
    client.ok("DELETE", f"{TOKENS}/{token['name']}")
    assert client.refused("GET", "sys/version") == (401, "X-F5-Auth-Token does not exist.")
    del client.session.headers["X-F5-Auth-Token"]
    login(client)
    client.big.expire_tokens()
    assert client.refused("GET", "sys/version")[1] == "X-F5-Auth-Token has expired."
    del client.session.headers["X-F5-Auth-Token"]
    login(client)
    client.big.restart()
    assert client.refused("GET", "sys/version")[1] == "X-F5-Auth-Token does not exist."


def test_tokens_of_others(client):
    client.big.add_user("bob", "pw")
    mine = login(client)["name"]
    del client.session.headers["X-F5-Auth-Token"]
    login(client, "bob", "pw")
    assert client.refused("GET", f"{TOKENS}/{mine}")[0] == 400
    assert len(client.ok("GET", TOKENS)["items"]) == 1
    client.ok("DELETE", TOKENS)
    assert client.refused("GET", TOKENS)[0] == 401


def test_basic_authentication(client):
    client.session.auth = ("admin", "wrong")
    reply = client.call("GET", "sys/version")
    assert (reply.status_code, reply.reason) == (401, "F5 Authorization Required")
    assert reply.headers["WWW-Authenticate"] == 'Basic realm="Enterprise Manager"'
    client.session.auth = None
    assert client.call("GET", "sys/version").status_code == 401


@pytest.mark.parametrize(
    ("version", "role", "read", "write"),
    [
        ("14.1.2.1", "admin", 200, 200),
        ("14.1.2.1", "manager", 200, 200),
        ("14.1.2.1", "guest", 200, 400),
        ("14.1.2.1", "operator", 200, 400),
        ("13.0.0", "guest", 401, 401),
    ],
)
def test_roles(device, version, role, read, write):
    client = device(version)[1]
    client.big.add_user("bob", "pw", role)
    client.session.auth = ("bob", "pw")
    assert client.call("GET", "ltm/pool").status_code == read
    reply = client.call("POST", "ltm/pool", {"name": "p", "partition": "P"})
    assert reply.status_code == write
    if write == 400:
        assert reply.json()["message"].startswith("01070822:3: Access Denied: user (bob)")


def test_tokens_of_11_6_change_nothing(device):
    client = device("11.6.0")[1]
    login(client)
    client.ok("GET", "ltm/pool")
    assert client.refused("POST", "ltm/pool", {"name": "p"})[0] == 401


@pytest.mark.parametrize("version", ["11.3.0", "10.2.4"])
def test_no_rest_below_11_4(device, version):
    reply = device(version)[1].call("GET", "sys/version")
    assert (reply.status_code, reply.headers["Server"]) == (404, "Apache")
    assert "<title>404 Not Found</title>" in reply.text


def test_ready_from_13_1_on(device):
    assert device("13.0.0")[1].refused("GET", "sys/ready")[0] == 400
    client = device("13.1.0")[1]
    client.ok("GET", "sys/ready")
    client.big.set_ready(False)
    entries = client.ok("GET", "sys/ready")["entries"]
    assert next(iter(entries.values()))["nestedStats"]["entries"]["configReady"] == {"description": "no"}


def test_apierror_from_12_1_on(device):
    for version, present in (("11.6.0", False), ("12.0.0", False), ("12.1.0", True)):
        body = device(version)[1].call("GET", "ltm/pool/~P~x").json()
        assert ("apiError" in body) is present


def test_names_in_urls(client):
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "Common"})
    for path in (
        "ltm/pool/~Common~p",
        "ltm/pool/~Common~p/",
        "ltm/pool/%7ECommon%7Ep",
        "ltm/pool/%2FCommon%2Fp",
    ):
        assert client.ok("GET", path)["fullPath"] == "/Common/p"
    bare = client.ok("GET", "ltm/pool/p")
    assert (bare["fullPath"], bare.get("partition")) == ("p", None)
    assert bare["selfLink"] == "https://localhost/mgmt/tm/ltm/pool/p?ver=14.1.2.1"
    for name in ("1example.com", "a b", "example"):
        assert client.refused("POST", "ltm/pool", {"name": name, "partition": "P"})[0] == 400
    assert client.refused("POST", "ltm/pool", {"partition": "P"})[0] == 400


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("ltm/pools", 400),
        ("ltm/pool/~P~p/member", 400),
        ("lt", 400),
        ("/mgmt/guess", 404),
        ("/mgmt/shared/guess", 404),
    ],
)
def test_unknown_paths(client, path, status):
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "P"})
    assert client.refused("GET", path)[0] == status


def test_bodies(client):
    head = {"Content-Type": "application/octet-stream"}
    status, message = client.refused("POST", "ltm/pool", data=b"{}", headers=head)
    assert (status, "The received content-type is application/octet-stream" in message) == (415, True)
    head = {"Content-Type": "application/json"}
    for data in (b"{", b"[]", b"1"):
        assert client.refused("POST", "ltm/pool", data=data, headers=head)[0] == 400
    body = {"name": "p", "partition": "P", "guess": 1}
    assert client.refused("POST", "ltm/pool", body) == (400, '"guess" unknown property')
    body = {"name": "p", "partition": "P", "loadBalancingMode": "leastconnection"}
    assert client.refused("POST", "ltm/pool", body)[1] == (
        'invalid property value "load-balancing-mode":"leastconnection"'
    )
    shown = client.ok("POST", "ltm/pool", {"name": "p", "partition": "P", "slow-ramp-time": "20"})
    assert shown["slowRampTime"] == 20


def test_queries(client):
    for name in ("b", "a"):
        client.ok("POST", "ltm/pool", {"name": name, "partition": "P", "members": ["10.0.0.1:80"]})
    client.ok("POST", "ltm/pool", {"name": "c", "partition": "Common"})
    shown = client.ok("GET", "ltm/pool?$filter=partition eq P&expandSubcollections=true")
    assert [item["name"] for item in shown["items"]] == ["b", "a"]
    assert shown["items"][0]["membersReference"]["items"][0]["name"] == "10.0.0.1:80"
    assert shown["selfLink"].endswith("/pool?$filter=partition+eq+P&expandSubcollections=true&ver=14.1.2.1")
    selected = client.ok("GET", "ltm/pool?$select=name,fullPath")["items"][0]
    assert selected == {"name": "b", "fullPath": "/P/b"}
    assert client.refused("GET", "ltm/pool?$filter=partition eq none")[0] == 400
    assert client.refused("GET", "ltm/pool?$filter=name eq a")[0] == 400
    assert client.ok("GET", "ltm/pool/~P~a/stats")["kind"] == "tm:ltm:pool:poolstats"
    assert len(client.ok("GET", "ltm/pool/stats")["entries"]) == 3


def test_filter_takes_off_the_route_domain(client):
    """SDK#1559: the %id of the partition's default route domain (bigip-behaviour.md A3)."""
    client.ok("POST", "net/route-domain", {"name": "5", "partition": "Common", "id": 5})
    client.ok("POST", "auth/partition", {"name": "R", "defaultRouteDomain": 5})
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "R", "members": ["10.0.0.1:80"]})
    client.ok("POST", "ltm/virtual", {"name": "v", "partition": "R", "destination": "10.0.0.9:80"})
    assert client.ok("GET", "ltm/node/~R~10.0.0.1")["address"] == "10.0.0.1%5"
    assert client.ok("GET", "ltm/node?$filter=partition eq R")["items"][0]["address"] == "10.0.0.1"
    assert client.ok("GET", "ltm/virtual/~R~v")["destination"] == "/R/10.0.0.9%5:80"
    assert (
        client.ok("GET", "ltm/virtual?$filter=partition eq R")["items"][0]["destination"] == "/R/10.0.0.9:80"
    )


def test_generation_grows(client):
    first = client.ok("POST", "ltm/pool", {"name": "p", "partition": "P"})["generation"]
    client.ok("POST", "ltm/pool/~P~p/members", {"name": "10.0.0.1:80"})
    assert client.ok("GET", "ltm/pool/~P~p")["generation"] == first + 1


def test_a_refused_request_changes_nothing(client):
    members = ["10.0.0.1:80", "10.0.0.2:bad"]
    assert client.refused("POST", "ltm/pool", {"name": "p", "partition": "P", "members": members})[0] == 400
    assert client.big.get("ltm/pool/~P~p") is None
    assert client.ok("GET", "ltm/node")["items"] == []


def upload(client, data, span, name="x"):
    head = {"Content-Range": span, "Content-Type": "application/octet-stream"}
    return client.call("POST", f"/mgmt/shared/file-transfer/uploads/{name}", data=data, headers=head)


def test_upload(client):
    assert upload(client, b"abcd", "0-3/6").json()["remainingByteCount"] == 2
    assert client.big.store.disk.keys() == {f"{FOLDER}/tmp/x"}
    last = upload(client, b"ef", "4-5/6")
    assert last.json()["usedChunks"] == {"0": 4, "4": 2}
    assert last.headers["Content-Range"] == "4-5/6"
    assert {path: file.data for path, file in client.big.store.disk.items()} == {f"{FOLDER}/x": b"abcdef"}


@pytest.mark.parametrize("span", ["0-2/4", "", "0-3", "0-3/3", "4-7/8"])
def test_refused_uploads(client, span):
    assert upload(client, b"abcd", span).status_code == 400


def test_transaction(client):
    number = client.ok("POST", "transaction", {})["transId"]
    inside = {"headers": {"X-F5-REST-Coordination-Id": str(number)}}
    command = client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"}, **inside)
    assert (command["commandId"], command["kind"]) == (1, "tm:transaction:commandsstate")
    client.ok("POST", "ltm/pool/~P~a/members", {"name": "10.0.0.1:80"}, **inside)
    assert client.big.get("ltm/pool/~P~a") is None
    assert len(client.ok("GET", f"transaction/{number}/commands")["items"]) == 2
    assert client.ok("PATCH", f"transaction/{number}", {"state": "VALIDATING"})["state"] == "COMPLETED"
    assert client.big.get("ltm/pool/~P~a")["membersReference"]["items"]
    assert client.refused("PATCH", f"transaction/{number}", {"state": "VALIDATING"})[0] == 404


def test_a_failed_transaction_does_nothing(client):
    number = client.ok("POST", "transaction", {})["transId"]
    inside = {"headers": {"X-F5-REST-Coordination-Id": str(number)}}
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"}, **inside)
    client.ok("DELETE", "ltm/pool/~P~none", **inside)
    reply = client.call("PATCH", f"transaction/{number}", {"state": "VALIDATING"})
    assert (reply.status_code, reply.json()["apiError"]) == (400, 2)
    assert reply.json()["message"].startswith("transaction failed:01020036:3:")
    assert client.big.get("ltm/pool/~P~a") is None


def test_validate_only(client):
    number = client.ok("POST", "transaction", {})["transId"]
    inside = {"headers": {"X-F5-REST-Coordination-Id": str(number)}}
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"}, **inside)
    client.ok("PATCH", f"transaction/{number}", {"state": "VALIDATING", "validateOnly": True})
    assert client.big.get("ltm/pool/~P~a") is None
    client.ok("PATCH", f"transaction/{number}", {"state": "VALIDATING"})
    assert client.big.get("ltm/pool/~P~a") is not None


def test_order_and_end_of_a_transaction(device):
    clock = Clock()
    client = device(clock=clock)[1]
    number = client.ok("POST", "transaction", {})["transId"]
    inside = {"headers": {"X-F5-REST-Coordination-Id": str(number)}}
    client.ok("POST", "ltm/pool/~P~a/members", {"name": "10.0.0.1:80"}, **inside)
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"}, **inside)
    client.ok("PATCH", f"transaction/{number}/commands/1", {"evalOrder": 3})
    client.ok("PATCH", f"transaction/{number}", {"state": "VALIDATING"})
    assert client.refused("POST", "util/bash", {}, **inside)[0] == 404
    number = client.ok("POST", "transaction", {})["transId"]
    assert client.refused("PATCH", f"transaction/{number}", {"state": "VALIDATING"})[0] == 404
    inside = {"headers": {"X-F5-REST-Coordination-Id": str(number)}}
    assert client.refused("POST", "util/bash", {"command": "run"}, **inside)[0] == 400
    clock.now += 121
    assert client.refused("GET", f"transaction/{number}")[0] == 404


def test_a_snatpool_freed_in_the_same_transaction_is_still_referenced(client):
    """E:400--transaction-commit-failed-snatpool: two commits are needed."""
    client.ok("POST", "ltm/snatpool", {"name": "mysnatpool", "partition": "P", "members": ["10.1.1.1"]})
    client.big.add_virtual(
        "/P/v", "10.0.0.1:80", sourceAddressTranslation={"type": "snat", "pool": "/P/mysnatpool"}
    )
    number = client.ok("POST", "transaction", {})["transId"]
    inside = {"headers": {"X-F5-REST-Coordination-Id": str(number)}}
    client.ok("PATCH", "ltm/virtual/~P~v", {"sourceAddressTranslation": {"type": "none"}}, **inside)
    client.ok("DELETE", "ltm/snatpool/~P~mysnatpool", **inside)
    assert client.refused("PATCH", f"transaction/{number}", {"state": "VALIDATING"})[1] == (
        "transaction failed:01070320:3: Snatpool mysnatpool is still referenced by a virtual server."
    )
