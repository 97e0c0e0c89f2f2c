"""Requests that a device refused are refused by the fake in the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mocks.bigip import DiskFile, FakeBigIP
from tests.mocks.bigip import material
from tests.mocks.bigip.conftest import Client

FOLDER = Path(__file__).parents[2] / "recordings" / "errors"

VARYING = frozenset(("referer", "restOperationId", "errorStack", "originalRequestBody"))


@dataclass
class Case:
    """body: where the recording has none. text: recorded words and what the fake says instead."""

    prepare: Callable[[FakeBigIP], None] = lambda big: None
    body: Any = None
    text: tuple[tuple[str, str], ...] = ()
    version: str = "14.1.2.1"
    headers: dict[str, str] = field(default_factory=dict)


def put(kind: str, name: str, **fields: Any) -> Callable[[FakeBigIP], None]:
    """Creates an object and its folder."""

    def make(big: FakeBigIP) -> None:
        with big.store.atomic():
            big.store.kinds["sys/folder"].make(big.store, name.rpartition("/")[0] or "/Common")
        big.put_object(kind, {"name": name, **fields})

    return make


def every(*steps: Callable[[FakeBigIP], Any]) -> Callable[[FakeBigIP], None]:
    def make(big: FakeBigIP) -> None:
        for step in steps:
            step(big)

    return make


def pool(name: str, *members: str) -> Callable[[FakeBigIP], None]:
    return put("ltm/pool", name, members=list(members))


def group(name: str, **records: str) -> Callable[[FakeBigIP], None]:
    sent = [{"name": key, "data": value} for key, value in records.items()]
    return put("ltm/data-group/internal", name, type="string", records=sent)


def policy(name: str, **fields: Any) -> Callable[[FakeBigIP], None]:
    body = {"strategy": "first-match", "rules": [{"name": "r"}], **fields}
    return put("ltm/policy", name, **body)


def published(big: FakeBigIP) -> None:
    policy("/Common/Drafts/published-policy16")(big)
    big.put_object("ltm/policy", {"command": "publish", "name": "/Common/Drafts/published-policy16"})


def virtual(name: str, destination: str = "10.0.0.1:80", **fields: Any) -> Callable[[FakeBigIP], Any]:
    return lambda big: big.add_virtual(name, destination, **fields)


def pair_of(name: str, profile: str) -> Callable[[FakeBigIP], None]:
    """A client-ssl profile with the files /Common/<name>.crt and .key; another key lies on the disk."""

    def make(big: FakeBigIP) -> None:
        cert, key = material.pair("x")
        big.install(f"/Common/{name}.crt", cert)
        big.install(f"/Common/{name}.key", key)
        big.put_object(
            "ltm/profile/client-ssl",
            {"name": profile, "cert": f"/Common/{name}.crt", "key": f"/Common/{name}.key"},
        )
        big.store.disk["/var/config/rest/downloads/HOSTNAMEHERE.key"] = DiskFile(material.pair("y", 2)[1])

    return make


def file(path: str) -> Callable[[FakeBigIP], None]:
    cert, key = material.pair("x")

    def make(big: FakeBigIP) -> None:
        big.install(path, key if path.endswith(".key") else cert)
        big.store.disk["/var/tmp/f"] = DiskFile(key if path.endswith(".key") else cert)

    return make


_CFMAP = "f5-vxlan-test_f5-vxlan-test-cfmap-https"
LONG_IN_USE = f"/f5-vxlan-test/{_CFMAP}.app/{_CFMAP}"

ELECTRODE = "/Common/cos_vs_electrode_storefront_beta"
PROJECT = "/Project_19fb201047d3468d9a3514e4689a9cba/Project_0963bb1f-f78e-4c96-933e-9e0ffebd01ab"
CASES = {
    "400--bad-json": Case(group("/Common/my-datagroup")),
    "400--clientssl-cert-and-chain": Case(
        put("sys/folder", "/partition"),
        {"name": "/partition/profile_5601", "cert": "/Common/default.crt", "certKeyChain": []},
    ),
    "400--clientssl-in-use": Case(
        every(
            put("ltm/profile/client-ssl", f"{LONG_IN_USE}_clientssl_1"),
            virtual(f"{LONG_IN_USE}_vs", profiles=["/Common/tcp", f"{LONG_IN_USE}_clientssl_1"]),
        )
    ),
    "400--crypto-key-mismatch": Case(pair_of("HOSTNAMEHEREkey", "/Common/HOSTNAMEHERE")),
    "400--data-group-type-change": Case(group("/mypartition/https_redirect_dg", a="b"), {"type": "ip"}),
    "400--data-group-value-too-long": Case(
        body={"name": "a", "type": "string", "records": [{"name": "k", "data": "x" * 65529}]}
    ),
    "400--fdb-tunnel-delete": Case(put("net/tunnels/tunnel", "/Common/k8s-tunnel", profile="vxlan")),
    "400--html-tag-like": Case(pool("/Common/test_5679"), {"name": "<name>:80"}),
    "400--local-file-missing": Case(
        body={"command": "install", "name": "x", "from-local-file": "/etc/ssl/certs/company.com.chain"}
    ),
    "400--member-folder-missing": Case(body={"name": "10.200.1.137:80"}, text=((" http)", " 80)"),)),
    "400--member-node-same-address": Case(
        every(
            pool("/Common/pl_ANS01_01"), put("ltm/node", "/Common/nd_192-168-1-241", address="192.168.1.241")
        ),
        {"name": "192.168.1.241:80"},
    ),
    "400--monitor-in-use": Case(
        every(
            put("ltm/monitor/http", "/Common/monitor_default_pool"),
            put("ltm/pool", "/Common/p", monitor="/Common/monitor_default_pool"),
        )
    ),
    "400--no-properties": Case(pool("/PART/POOL"), {}),
    "400--node-address-exists": Case(
        put("ltm/node", "/Common/a", address="107.23.182.171"), {"name": "b", "address": "107.23.182.171"}
    ),
    "400--node-in-use": Case(
        pool(
            "/f51-namespace/f51-namespace_http.iapp.app/f51-namespace_http.iapp_pool",
            "/f51-namespace/10.244.1.143:80",
        )
    ),
    "400--node-referenced": Case(
        every(
            put("ltm/node", "/Common/intra2", address="10.0.0.1"),
            pool("/Common/intraPool", "/Common/intra2:80"),
        )
    ),
    "400--policy-draft-exists-published": Case(
        published, {"name": "published-policy16", "subPath": "Drafts", "strategy": "first-match"}
    ),
    "400--policy-enable-disable": Case(
        policy("/f5-part/Drafts/f5-policy"),
        {"rules": [{"name": "r", "actions": [{"name": "0", "asm": True, "enable": True, "disable": True}]}]},
    ),
    "400--policy-in-use-11.6": Case(
        every(
            policy("/Project_61345078b7414f9cad738455e6042c2e/wrapper_policy"),
            virtual("/Project_61345078b7414f9cad738455e6042c2e/vs",
                    policies=["/Project_61345078b7414f9cad738455e6042c2e/wrapper_policy"]),
        ),
        version="11.6.0",
    ),
    "400--policy-missing-operand": Case(
        body={
            "name": "pool-policy",
            "subPath": "Drafts",
            "strategy": "first-match",
            "rules": [{"name": "route-pool", "conditions": [{"name": "0", "values": ["x"]}]}],
        },
        text=(("<poolname>", "pool"),),
    ),
    "400--policy-needs-profile": Case(
        every(policy("/Common/asmpolicy", controls=["asm"], legacy=True), virtual(PROJECT)),
        {
            "destination": "10.0.0.1:80",
            "ipProtocol": "tcp",
            "profiles": ["/Common/tcp", "/Common/http"],
            "policies": ["/Common/asmpolicy"],
        },
    ),
    "400--policy-option-conflict": Case(
        policy("/Common/Drafts/policy1"),
        {
            "rules": [
                {
                    "name": "r",
                    "actions": [
                        {"name": "0", "forward": True, "httpHeader": True, "select": True, "replace": True}
                    ],
                }
            ]
        },
    ),
    "400--policy-published-direct": Case(
        body={"name": "ltm_policy_w_asm_linux_high-Vip1", "partition": "Common", "strategy": "first-match"}
    ),
    "400--pool-create-folder-missing": Case(body={"name": "a", "partition": "nonExistent"}),
    "400--route-domain-default": Case(
        every(
            put("net/route-domain", "/Common/1", id=1),
            put("auth/partition", "Project_8e9b22cab67040689dcf86f74275a911", defaultRouteDomain=1),
        )
    ),
    "400--ssl-source-unreadable": Case(body={"name": "a.key", "sourcePath": "file:/var/tmp/none"}),
    "400--traffic-group-missing": Case(
        put("sys/folder", "/Tenant1A"),
        {
            "name": "s",
            "partition": "Tenant1A",
            "address": "10.0.0.1/24",
            "vlan": "/Common/internal",
            "trafficGroup": "traffic-group-local-only",
        },
    ),
    "400--unexpected-uri": Case(),
    "400--unknown-property": Case(body={"name": "a", "apiAnonymous": "{ when HTTP_REQUEST { } }"}),
    "400--version-not-supported": Case(version="16.0.0"),
    "400--virtual-address-exists": Case(
        put("ltm/virtual-address", "/Common/10.181.34.1%4"),
        {"name": "x", "address": "10.181.34.1%4"},
        version="12.0.0",
    ),
    "400--virtual-address-in-use": Case(virtual("/k8s/vs", "10.214.2.205:80")),
    "400--virtual-shares-destination": Case(
        virtual("/Common/server1"),
        {"name": "server2", "destination": "10.0.0.1:80", "ipProtocol": "tcp", "profiles": ["/Common/tcp"]},
    ),
    "400--virtual-source-family": Case(
        virtual(ELECTRODE, "10.3.5.143:80"),
        {"destination": "10.3.5.143:80", "source": "::/0", "ipProtocol": "tcp", "profiles": ["/Common/tcp"]},
    ),
    "404--clientssl-missing": Case(),
    "404--data-group-delete-missing": Case(),
    "404--data-group-put-missing": Case(),
    "404--data-group-record-missing": Case(group("/Common/my-datagroup")),
    "404--folder-missing-11.6": Case(version="11.6.0"),
    "404--irule-missing": Case(),
    "404--member-delete-missing": Case(pool("/PART/POOL")),
    "404--member-get-missing": Case(pool("/Common/test_5679")),
    "404--member-patch-pool-missing": Case(body={"ratio": 2}),
    "404--member-post-pool-missing": Case(body={"name": "10.200.1.137:80"}),
    "404--monitor-missing-by-type": Case(put("ltm/monitor/http", "/tenant/app/testMonitor")),
    "404--node-name-missing-11.6": Case(pool("/Common/mypool"), {"name": "m1:80"}, version="11.6.0"),
    "404--pool-missing": Case(),
    "404--virtual-address-missing": Case(),
    "404--virtual-missing": Case(),
    "409--data-group-exists": Case(group("/Common/my-datagroup")),
    "409--data-group-record-exists": Case(group("/Common/my-datagroup", key1="x")),
    "409--ssl-cert-exists": Case(
        file("/Common/SITE.crt"), {"name": "SITE.crt", "sourcePath": "file:/var/tmp/f"}
    ),
    "409--ssl-key-exists": Case(
        file("/Common/SITE.key"), {"name": "SITE.key", "sourcePath": "file:/var/tmp/f"}
    ),
    "500--mcpd-lost": Case(lambda big: big.inject("500-mcpd")),
    "503--async-task-get": Case(lambda big: big.inject("503-async")),
    "404--uri-not-registered": Case(lambda big: big.inject("404-not-registered")),
    "401--token-expired": Case(lambda big: big.inject("token-expired")),
    "401--no-auth-detected": Case(lambda big: big.inject("401"), text=(("10.145.74.44", "127.0.0.1"),)),
    "401--token-missing": Case(headers={"X-F5-Auth-Token": "AAAA"}, version="13.1.0.2"),
    "401--basic-auth-html": Case(headers={"Authorization": "Basic eDp5"}),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_refusal(device, name):
    """Status, message and keys of the body are the recorded ones."""
    case, doc = CASES[name], json.loads((FOLDER / f"{name}.json").read_text())
    big, client = device(case.version)
    case.prepare(big)
    request = doc["request"]
    path = request["path"].replace("$filter=partition+eq+Common", "")
    body = request.get("body", case.body)
    if isinstance(body, str):
        more: dict[str, Any] = {"data": body, "headers": {"Content-Type": "application/json"}}
    else:
        more = {"headers": dict(case.headers)}
    client.session.auth = None if case.headers else client.session.auth
    reply = client.call(request["method"], path, None if isinstance(body, str) else body, **more)
    assert reply.status_code == doc["response"]["status"]
    recorded = doc["response"]["body"]
    if isinstance(recorded, str):
        assert reply.text == recorded
        return
    document = reply.json()
    for old, new in case.text:
        recorded = {k: v.replace(old, new) if isinstance(v, str) else v for k, v in recorded.items()}
    if doc["tmos"].startswith(("unknown", "11")) and "apiError" not in recorded:
        document.pop("apiError", None)
    if name == "400--virtual-address-exists":
        assert "apiError" not in document
    assert {k: v for k, v in document.items() if k not in VARYING} == {
        k: v for k, v in recorded.items() if k not in VARYING
    } | ({"kind": ":resterrorresponse"} if name == "401--token-missing" else {})


@pytest.mark.parametrize("name", ["401--login-failed-with-headers", "401--login-failed"])
def test_wrong_password(client: Client, name):
    doc = json.loads((FOLDER / f"{name}.json").read_text())
    sent = {"username": "admin", "password": "wrong", "loginProviderName": "tmos"}
    client.session.auth = None
    reply = client.call("POST", "/mgmt/shared/authn/login", sent)
    assert (reply.status_code, reply.json()["message"]) == (401, doc["response"]["body"]["message"])
    assert reply.json()["kind"] == ":resterrorresponse"


def test_login_before_11_6(device):
    doc = json.loads((FOLDER / "404--rest-worker-uri-not-found-11.5.json").read_text())
    reply = device("11.5.2")[1].call("POST", "/mgmt/shared/authn/login", {})
    assert (reply.status_code, reply.json()["message"]) == (404, doc["response"]["body"]["message"])


def test_role_refused_for_an_upload(device):
    doc = json.loads((FOLDER / "401--role-refused.json").read_text())
    big, client = device()
    big.add_user("svc.k8sbigipcert", "pw", "certificate-manager")
    client.session.auth = ("svc.k8sbigipcert", "pw")
    reply = client.call("POST", doc["request"]["path"], data=b"x")
    recorded = re.sub(r"\d+\.\d+\.\d+\.\d+", "127.0.0.1", doc["response"]["body"]["message"])
    assert (reply.status_code, reply.json()["message"]) == (401, recorded)


def test_pages_of_apache_and_jetty(client: Client):
    restarting = json.loads((FOLDER / "503--restarting-html-13.json").read_text())["response"]["body"]
    client.big.inject("503-html")
    reply = client.call("GET", "sys/version")
    assert (reply.status_code, reply.content.decode("iso-8859-1")[:400]) == (503, restarting[:400])
    client.big.inject("timeout-html")
    reply = client.call("GET", "sys/version")
    assert (reply.status_code, "AsyncContext timeout" in reply.text) == (500, True)


def test_token_limit(client: Client):
    """100 live tokens of a user; the next login is refused (K44237337)."""
    doc = json.loads((FOLDER / "400--login-token-limit.json").read_text())
    sent = {"username": client.big.username, "password": client.big.password, "loginProviderName": "tmos"}
    for _ in range(100):
        client.ok("POST", "/mgmt/shared/authn/login", sent)
    status, message = client.refused("POST", "/mgmt/shared/authn/login", sent)
    pattern = doc["response"]["body"]["message"].replace(
        "bfd47ab5-b430-323c-83ea-0d7b87b6e244", "21232f29-7a57-35a7-8389-4a0e4a801fc3"
    )
    assert (status, message) == (400, pattern)
    client.big.expire_tokens()
    client.ok("POST", "/mgmt/shared/authn/login", sent)
