"""Objects that every device has: organizing collections, modules, tunnels, hardware."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mocks.bigip.test_recordings import comparable

FOLDER = Path(__file__).parents[2] / "recordings"


def recorded(path: str) -> tuple[str, dict[str, Any]]:
    """(version, reply) of a recording."""
    return path.rsplit("/", 1)[1].partition("--")[0], json.loads((FOLDER / path).read_text())


def linked(reply: dict[str, Any]) -> set[str]:
    return {item["reference"]["link"] for item in reply["items"]}


@pytest.mark.parametrize("url", ["net/fdb", "net/tunnels", "ltm/monitor", "sys/crypto", "sys/file"])
def test_organizing_collections(device, url):
    """The fake has fewer collections than the device, and none that the device has not."""
    version, want = recorded(f"{url}/14.1.2.1--collection.json")
    document = device(version)[1].ok("GET", url)
    assert {name: document[name] for name in ("kind", "selfLink")} == {
        name: want[name] for name in ("kind", "selfLink")
    }
    assert document.keys() == want.keys()
    assert linked(document) <= linked(want)


@pytest.mark.parametrize("url", ["sys", "sys/", "ltm", "net", "auth", "cm", "util", "ltm/data-group"])
def test_links_lead_somewhere(client, url):
    """Each link of an organizing collection can be read, down to the collections."""
    document = client.ok("GET", url)
    name = url.strip("/").replace("/", ":")
    assert document["kind"] == f"tm:{name}:{name.rsplit(':', 1)[-1]}collectionstate"
    assert document["selfLink"] == f"https://localhost/mgmt/tm/{url.strip('/')}?ver=14.1.2.1"
    assert document["items"]
    commands = ("util/", "sys/config")
    for link in linked(document):
        path = link.removeprefix("https://localhost").partition("?")[0]
        if not path.removeprefix("/mgmt/tm/").startswith(commands):
            client.ok("GET", path)


def test_organizing_collections_are_only_read(client):
    for method in ("POST", "PATCH", "PUT", "DELETE"):
        assert client.refused(method, "ltm", {})[0] == 400
    assert client.refused("GET", "ltm/pools")[0] == 400


def test_a_version_has_only_its_own_links(device):
    links = linked(device("12.1.2")[1].ok("GET", "sys"))
    assert not any("/sys/ready" in link for link in links)


@pytest.mark.parametrize("version", ["14.1.2.1", "16.0.0"])
def test_provision(device, version):
    want = recorded(f"sys/provision/{version}--collection.json")[1]
    client = device(version)[1]
    document = client.ok("GET", "sys/provision")
    assert document["kind"] == want["kind"]
    levels = {item["name"]: item.pop("level") for item in document["items"]}
    assert levels.pop("ltm") == "nominal"
    assert set(levels.values()) == {"none"}
    for item in want["items"]:
        del item["level"]
    assert [comparable(item) for item in document["items"]] == [comparable(item) for item in want["items"]]
    assert client.ok("GET", "sys/provision/ltm")["fullPath"] == "ltm"
    assert client.ok("PATCH", "sys/provision/asm", {"level": "nominal"})["level"] == "nominal"
    assert client.refused("PATCH", "sys/provision/asm", {"level": "much"})[0] == 400
    for method, path in (("POST", "sys/provision"), ("DELETE", "sys/provision/ltm")):
        assert client.refused(method, path, {"name": "x"})[0] == 400


def parts(reply: dict[str, Any]) -> dict[str, set[str]]:
    """Keys of each part of sys/hardware."""
    by_name = {}
    for url, entry in reply["entries"].items():
        (inner,) = entry["nestedStats"]["entries"].items()
        assert inner[0] == f"{url}/0"
        by_name[url.rsplit("/", 1)[1]] = set(inner[1]["nestedStats"]["entries"])
    return by_name


@pytest.mark.parametrize("version", ["14.1.2.1", "16.0.0"])
def test_hardware(device, version):
    want = recorded(f"sys/hardware/{version}--get.json")[1]
    document = device(version)[1].ok("GET", "sys/hardware")
    assert (document["kind"], document["selfLink"]) == (want["kind"], want["selfLink"])
    want["entries"].pop("https://localhost/mgmt/tm/sys/hardware/hardware-version")
    assert parts(document) == parts(want)


def test_database(client):
    document = client.ok("GET", "sys/db/systemauth.disablebash")
    assert comparable(document) == {
        "kind": "tm:sys:db:dbstate", "name": "systemauth.disablebash", "fullPath": "systemauth.disablebash",
        "selfLink": "https://localhost/mgmt/tm/sys/db/systemauth.disablebash",
        "defaultValue": "false", "scfConfig": "true", "value": "false", "valueRange": "false true",
    }  # fmt: skip
    assert client.ok("PATCH", "sys/db/systemauth.disablebash", {"value": True})["value"] == "true"
    assert client.ok("PUT", "sys/db/icrd.timeout", {"value": 120})["value"] == "120"
    assert client.refused("PATCH", "sys/db/icrd.timeout", {"value": "long"})[0] == 400
    assert client.refused("PATCH", "sys/db/systemauth.disablebash", {"value": "maybe"})[0] == 400
    assert client.refused("GET", "sys/db/nothing")[0] == 404
    assert "sys/db/icrd.timeout" in str(client.ok("GET", "sys/db"))


@pytest.mark.parametrize("path", ["14.1.0.3--http-tunnel.json", "14.1.2.1--collection.json"])
def test_factory_tunnels(device, path):
    version, want = recorded(f"net/tunnels/tunnel/{path}")
    client = device(version)[1]
    for item in want.get("items", [want]):
        document = client.ok("GET", f"net/tunnels/tunnel/~Common~{item['name']}")
        assert comparable(document) == comparable(item)


@pytest.mark.parametrize("version", ["11.6.0", "14.1.2.1"])
def test_fdb_of_factory_tunnels(device, version):
    want = recorded(f"net/fdb/tunnel/{version}--collection.json")[1]
    assert comparable(device(version)[1].ok("GET", "net/fdb/tunnel")) == comparable(want)


def test_iapps(client):
    document = client.ok("GET", "sys/application/service?$filter=partition+eq+P")
    assert (document["kind"], document["items"]) == ("tm:sys:application:service:servicecollectionstate", [])
    body = {"name": "a", "partition": "P", "template": "/Common/f5.http"}
    assert client.refused("POST", "sys/application/service", body)[0] == 404
    assert client.refused("POST", "sys/application/service", {"name": "a", "partition": "P"})[0] == 400
    assert client.refused("GET", "sys/application/service/~P~a.app~a")[0] == 404
