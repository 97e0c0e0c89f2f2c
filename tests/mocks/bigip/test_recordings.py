"""The fake makes the objects of recorded replies, and then answers as the device did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mocks.bigip import DiskFile, FakeBigIP, names, profiles
from mocks.bigip.kinds import GROUPS
from tests.mocks.bigip import material
from tests.rows import rows

FOLDER = Path(__file__).parents[2] / "recordings"

READ_ONLY = frozenset(("kind", "selfLink", "generation", "fullPath", "lastModified", "status", "references"))
NOT_COMPARED = frozenset(
    ("generation", "lastModified", "creationTime", "lastModifiedTime", "vsIndex", "ifIndex")
)
"""Counters, moments and numbers that the device chose."""

STATES = ("state", "session")
"""The fake's monitors find everything up."""


def skipped(item: dict[str, Any]) -> bool:
    """True if the fake lacks it: system iRules, and profiles of protocols that a router has no use for."""
    if "apiRawValues" in item or item["name"] in ("http-explicit", "http-transparent"):
        return True
    attached = item.get("profilesReference", {}).get("items", [])
    odd = any(entry["name"] in ("dhcpv4", "diameter", "fasthttp", "udp", "diametersession")
              for entry in attached)
    return odd or "internal" in item or "stateless" in item


def recordings(*collections: str) -> list[Any]:
    params = []
    for collection in collections:
        for path in sorted((FOLDER / collection).glob("*.json")):
            params.append(pytest.param(path, id=str(path.relative_to(FOLDER))))
    return params


def items(path: Path) -> list[dict[str, Any]]:
    """The objects of a recording, parents of profiles first."""
    doc = json.loads(path.read_text())
    listed = doc.get("items", [doc] if "name" in doc else [])
    parents = {item.get("defaultsFrom") for item in listed}
    return sorted(listed, key=lambda item: item["fullPath"] not in parents)


def version_of(path: Path) -> str:
    return path.name.split("--")[0]


def collection_of(path: Path) -> str:
    return str(path.relative_to(FOLDER).parent)


class Replay:
    """A device of the recording's version, with what the recorded objects refer to."""

    def __init__(self, path: Path) -> None:
        self.big = FakeBigIP(tmos_version=version_of(path), partitions=("Common",))
        self.collection = collection_of(path)

    def make(self, item: dict[str, Any]) -> None:
        folder = names.folder_of(item["fullPath"]) if item["fullPath"].startswith("/") else "/Common"
        self.folder(folder)
        for name, value in item.items():
            self.reference(name, value)
        body = self.body(item)
        if self.big.store.get(self.collection, item["fullPath"]) is None:
            self.big.put_object(self.collection, body)

    def folder(self, path: str) -> None:
        with self.big.store.atomic():
            self.big.store.kinds["sys/folder"].make(self.big.store, path)

    def reference(self, name: str, value: Any) -> None:
        """Create what a property refers to."""
        if name == "gw" and not self.big.store.all("net/self"):
            # A gateway is reached by a self IP.
            address = f"{value.rpartition('.')[0]}.254/24"
            self.big.put_object("net/self", {"name": "/Common/near", "address": address, "vlan": "internal"})
        if isinstance(value, list):
            for target in value:
                self.reference(name, target)
        elif isinstance(value, dict):
            for inner, target in value.items():
                self.reference(inner if name != "sourceAddressTranslation" else f"snat {inner}", target)
        elif isinstance(value, str) and value.startswith(("/", "min ")):
            for path in value.replace("{", " ").replace("}", " ").split():
                if path.startswith("/"):
                    self.ensure(name, path)

    def ensure(self, name: str, path: str) -> None:
        bodies = {
            "pool": ("ltm/pool", {}),
            "snat pool": ("ltm/snatpool", {"members": []}),
            "rules": ("ltm/rule", {"apiAnonymous": "when CLIENT_ACCEPTED { }"}),
            "vlan": ("net/vlan", {}),
            "vlans": ("net/vlan", {}),
            "tmInterface": ("net/vlan", {}),
            "monitor": ("ltm/monitor/http", {}),
            "profile": ("net/tunnels/vxlan", {}),
            "defaultsFrom": (self.collection, {}),
        }
        if name in ("cert", "key", "chain", "caFile") and self.collection.endswith("-ssl"):
            self.file(path, "ssl-key" if name == "key" else "ssl-cert")
        if name not in bodies or path.endswith("/none"):
            return
        kind, body = bodies[name]
        group = next((kinds for kinds in GROUPS.values() if kind in kinds), (kind,))
        if any(self.big.store.get(kind, path) for kind in group):
            return
        self.folder(names.folder_of(path))
        self.big.put_object(kind, {"name": path, **body})

    def file(self, path: str, kind: str) -> None:
        if self.big.store.get(f"sys/file/{kind}", path) is None:
            self.big.install(path, material.pair("x")[kind == "ssl-key"])

    def attach(self, item: dict[str, Any], body: dict[str, Any]) -> None:
        """Profiles and policies of a virtual server, from its expanded sub-collections."""
        for name in ("profiles", "policies"):
            listed = item.get(f"{name}Reference", {}).get("items", [])
            body[name] = [
                {key: entry[key] for key in ("name", "partition", "context") if key in entry}
                for entry in listed
            ]
            for entry in listed:
                if name == "policies":
                    rules = [{"name": "r"}]
                    self.big.put_object(
                        "ltm/policy", {"name": entry["fullPath"], "strategy": "first-match", "rules": rules}
                    )
                elif profiles.type_of(self.big.store, entry["fullPath"]) is None:
                    kind = entry["nameReference"]["link"].split("/tm/")[1].rsplit("/", 1)[0]
                    self.big.put_object(kind, {"name": entry["fullPath"]})

    def body(self, item: dict[str, Any]) -> dict[str, Any]:
        body = {
            name: value
            for name, value in item.items()
            if name not in READ_ONLY and not name.endswith("Reference")
        }
        body["name"] = item["fullPath"]
        kind = self.big.store.kinds[self.collection]
        for name in kind.ignored:
            body.pop(name, None)
        if body.get("inheritCertkeychain") == "true":
            body.pop("certKeyChain", None)
        if "certKeyChain" in item:
            for name in ("cert", "key", "chain"):
                body.pop(name, None)
        for name in ("state", "session"):
            if name in body and not str(body[name]).startswith("user-"):
                del body[name]
        if "tmName" in (item.get("fqdn") or {}):
            del body["address"]
        if self.collection == "ltm/virtual":
            self.attach(item, body)
        if self.collection == "net/vlan":
            body["interfaces"] = item["interfacesReference"].get("items", [])
        body.pop("inheritCertkeychain", None)
        return body

    def shown(self, item: dict[str, Any]) -> dict[str, Any]:
        return self.big.get(f"{self.collection}/{names.encode_segment(item['fullPath'])}")


def comparable(item: Any) -> Any:
    """An item without what no two devices share, and without the query of its links."""
    if isinstance(item, dict):
        return {k: comparable(v) for k, v in item.items() if k not in NOT_COMPARED}
    if isinstance(item, list):
        return [comparable(inner) for inner in item]
    if isinstance(item, str) and item.startswith("https://localhost/"):
        return item.partition("?")[0]
    return item


def expanded(item: dict[str, Any]) -> bool:
    return any("items" in value for value in item.values() if isinstance(value, dict))


def collapsed(shown: dict[str, Any]) -> dict[str, Any]:
    """As if it had been read without expandSubcollections."""
    return {
        name: {k: v for k, v in value.items() if k != "items"} if isinstance(value, dict) else value
        for name, value in shown.items()
    }


def without_states(item: dict[str, Any]) -> dict[str, Any]:
    if str(item.get("state", "user-")).startswith("user-"):
        return item
    return {name: value for name, value in item.items() if name not in STATES}


@rows(
    "path",
    recordings(
        "ltm/pool",
        "ltm/node",
        "ltm/monitor/http",
        "ltm/monitor/https",
        "ltm/monitor/tcp",
        "ltm/monitor/icmp",
        "ltm/monitor/tcp-half-open",
        "ltm/virtual",
        "ltm/virtual-address",
        "ltm/data-group/internal",
        "ltm/rule",
        "ltm/snatpool",
        "ltm/snat-translation",
        "ltm/profile/http",
        "ltm/profile/tcp",
        "ltm/profile/udp",
        "ltm/profile/fastl4",
        "ltm/profile/one-connect",
        "ltm/profile/client-ssl",
        "ltm/profile/server-ssl",
        "ltm/persistence/cookie",
        "ltm/persistence/source-addr",
        "net/self",
        "net/route",
        "net/arp",
        "net/tunnels/vxlan",
        "net/vlan",
        "auth/partition",
        "auth/user",
        "sys/folder",
    ),
)
def test_objects(path):
    """Made from its own properties, an object reads as it was recorded."""
    replay = Replay(path)
    try:
        for item in items(path):
            if skipped(item):
                continue
            replay.make(item)
            shown = replay.shown(item)
            if not expanded(item):
                shown = collapsed(shown)
            assert without_states(comparable(shown)) == without_states(comparable(item))
    finally:
        replay.big.close()


def parent_of(item: dict[str, Any]) -> tuple[str, str]:
    """(URL of the parent object, name of the sub-collection) from an item's selfLink."""
    path = item["selfLink"].split("/tm/")[1].partition("?")[0]
    parent, sub, _ = path.rsplit("/", 2)
    return parent, sub


def make_parent(replay: Replay, url: str) -> None:
    """The object that holds a sub-collection, with the objects above it."""
    kind, _, name = url.rpartition("/")
    if replay.big.get(url) is not None:
        return
    path = names.decode_segment(name)
    if path.startswith("/"):
        replay.folder(names.folder_of(path))
    bodies = {
        "ltm/virtual": {"destination": "10.9.9.9:80", "profiles": ["/Common/tcp"]},
        "ltm/policy": {"strategy": "first-match", "legacy": True},
        "net/tunnels/tunnel": {"profile": "/Common/vxlan"},
    }
    if kind.endswith("/rules"):
        make_parent(replay, kind.removesuffix("/rules"))
    kind = {"net/fdb/tunnel": "net/tunnels/tunnel"}.get(kind, kind)
    body = {"name": path, **bodies.get(kind, {})}
    if replay.big.store.version < (12, 1):
        body.pop("legacy", None)
    replay.big.put_object(kind, body)


def prepare_sub(replay: Replay, item: dict[str, Any]) -> dict[str, Any]:
    """The body of a POST that makes an item of a sub-collection; what it needs is created."""
    body = {k: v for k, v in item.items() if k not in READ_ONLY and not k.endswith("Reference")}
    if replay.collection == "ltm/pool/members":
        node = item["fullPath"].rsplit(":", 1)[0]
        if replay.big.store.get("ltm/node", node) is None:
            replay.folder(names.folder_of(node))
            replay.big.put_object("ltm/node", {"name": node, "address": item["address"]})
        for name in ("state", "session", "profiles", "address", "fqdn", "ephemeral"):
            if not str(body.get(name)).startswith("user-"):
                body.pop(name, None)
    for name in ("conditions", "actions"):
        body_of = item.get(f"{name}Reference", {}).get("items", [])
        if body_of:
            body[name] = [{k: v for k, v in entry.items() if k not in READ_ONLY} for entry in body_of]
            for entry in body[name]:
                replay.reference("pool", entry.get("pool"))
                replay.reference("vlan", entry.get("vlan"))
    replay.reference("pool", body.get("pool"))
    replay.reference("monitor", body.get("monitor"))
    return body


@pytest.mark.parametrize(
    "path",
    recordings(
        "ltm/pool/members",
        "ltm/policy/rules",
        "ltm/policy/rules/actions",
        "ltm/policy/rules/conditions",
        "net/fdb/tunnel/records",
    ),
)
def test_items_of_sub_collections(path):
    replay = Replay(path)
    try:
        for item in items(path):
            by_name = "tmName" in item.get("fqdn", {})
            if by_name or "profiles" in item or item.get("address", "").startswith("x"):
                continue
            parent, sub = parent_of(item)
            make_parent(replay, parent)
            body = prepare_sub(replay, item)
            replay.big.put_object(f"{parent}/{sub}", body)
            shown = replay.big.get(f"{parent}/{sub}/{names.encode_segment(item['fullPath'])}")
            if not expanded(item):
                shown = collapsed(shown)
            shown, item = comparable(shown), comparable(item)
            for name in ("nameReference",) if replay.collection == "ltm/pool/members" else ():
                item.pop(name, None)
            assert without_states(shown) == without_states(item)
    finally:
        replay.big.close()


@pytest.mark.parametrize("path", recordings("sys/version", "sys/ready", "sys/mcp-state", "sys/clock"))
def test_singletons(path):
    """Same keys; builds and dates are of two versions only."""
    big = FakeBigIP(tmos_version=version_of(path))
    shown = big.get(collection_of(path))
    assert shape(shown) == shape(json.loads(path.read_text()))
    big.close()


def shape(value: Any) -> Any:
    """Keys and types of a reply."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


SOMETIMES = frozenset(
    [
        "bundleCertificatesReference",
        "certValidatorsReference",
        "certOrderManagerReference",
        "sourcePath",
        "systemPath",
        "serialNumber",
        "passphrase",
        "issuerCert",
        "issuerCertReference",
        "certValidationOptions",
        "emailAddress",
        "email",
        "city",
        "state",
        "organization",
        "ou",
        "country",
    ]
)
"""Keys that depend on the file, and sub-collections of certificates that the fake leaves out."""


@pytest.mark.parametrize(
    "path", recordings("sys/file/ssl-cert", "sys/file/ssl-key", "sys/crypto/cert", "sys/crypto/key")
)
def test_files(path):
    """A file of a new device and an installed one have the keys of the recorded ones."""
    big = FakeBigIP(tmos_version=version_of(path))
    certificate, key = material.pair("x")
    big.store.disk["/var/tmp/x"] = DiskFile(key if collection_of(path).endswith("key") else certificate)
    collection = collection_of(path).replace("crypto/", "file/ssl-")
    big.put_object(collection, {"name": "/Common/x.crt", "sourcePath": "file:/var/tmp/x"})
    shown = big.get(f"{collection_of(path)}/~Common~x.crt")
    for item in items(path):
        assert set(item) - set(shown) <= SOMETIMES
        assert set(shown) - set(item) <= SOMETIMES
        both = set(item) & set(shown)
        assert {key: shape(item[key]) for key in both} == {key: shape(shown[key]) for key in both}
    big.close()
