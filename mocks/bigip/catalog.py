"""All kinds of the fake device, and the objects of a new one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from mocks.bigip import (
    cm,
    files,
    monitors,
    network,
    policies,
    pools,
    profiles,
    profiles_http,
    routes,
    security,
    snat,
    system,
    system_kinds,
    versions,
    virtual_addresses,
    virtuals,
)
from mocks.bigip.attachments import VirtualPolicies, VirtualProfiles
from mocks.bigip.data_groups import InternalDataGroup
from mocks.bigip.folders import Folder, Partition
from mocks.bigip.irules import IRule
from mocks.bigip.kinds import GROUPS, Kind
from mocks.bigip.policies import ACTIONS, CONDITIONS
from mocks.bigip.store import Store
from mocks.bigip.users import Account
from mocks.bigip.versions import Version


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Kind by its URL. Kinds keep no state, so all devices of a process share them."""
    return {kind.url: kind for kind in (*_ltm(), *_sys(), *_net())}


@functools.cache
def organizing(version: Version) -> Mapping[str, list[str]]:
    """Names below the URL of each organizing collection, such as ltm or ltm/monitor
    (bigip-behaviour.md A1)."""
    own = {url for url, kind in kinds().items() if kind.parent is None and kind.since <= version}
    urls = {*own, *system.readable(version), *system.COMMANDS, *(f"cm/{name}" for name in cm.NAMES)}
    below: dict[str, set[str]] = {}
    for url in urls:
        parts = url.split("/")
        for count in range(1, len(parts)):
            below.setdefault("/".join(parts[:count]), set()).add(parts[count])
    return {url: sorted(names) for url, names in below.items() if url not in urls}


def _ltm() -> list[Kind]:
    return [
        pools.Pool(),
        pools.Members(),
        pools.Node(),
        *(monitors.Monitor(url.rsplit("/", 1)[1]) for url in GROUPS["monitor"]),
        policies.Policy(),
        policies.Rules(),
        policies.Parts(CONDITIONS, "policy condition"),
        policies.Parts(ACTIONS, "policy action"),
        InternalDataGroup(),
        IRule(),
        profiles.ClientSSL(),
        profiles.ServerSSL(),
        profiles_http.HTTP(),
        profiles_http.RequestLog(),
        *(profiles.Profile(name) for name in profiles.FACTORY if name not in profiles.OWN_CLASS),
        profiles.Persistence("cookie", "cookie"),
        profiles.Persistence("source-addr", "source_addr"),
        virtuals.Virtual(),
        VirtualProfiles(),
        VirtualPolicies(),
        virtual_addresses.VirtualAddress(),
        snat.SnatPool(),
        snat.SnatTranslation(),
        *security.kinds(),
    ]


def _sys() -> list[Kind]:
    return [
        files.SSLFile(files.CERT, "Certificate File", "cert"),
        files.SSLFile(files.KEY, "Certificate Key File", "key"),
        files.SSLFile(files.CRL, "Certificate Revocation List File", "crl"),
        files.Crypto("sys/crypto/cert", files.CERT, ".crt", "Certificate File"),
        files.Crypto("sys/crypto/key", files.KEY, ".key", "Certificate Key File"),
        Folder(),
        Partition(),
        Account(),
        system_kinds.Provision(),
        system_kinds.Database(),
        system_kinds.ApplicationService(),
    ]


def _net() -> list[Kind]:
    return [
        network.Vxlan(),
        network.Tunnel(),
        network.FDBTunnel(),
        network.FDBRecords(),
        network.SelfIP(),
        routes.Route(),
        network.Vlan(),
        network.VlanInterfaces(),
        network.RouteDomain(),
        network.Arp(),
    ]


def furnish(store: Store, partitions: Iterable[str]) -> None:
    """Put what a new device has into an empty store, and the partitions; then save it."""
    every = store.kinds
    folder = every["sys/folder"]
    store.put(
        "sys/folder",
        ("/",),
        {**folder.initial(store, ("/",)), "inheritedDevicegroup": "false", "inheritedTrafficGroup": "false"},
    )
    folder.make(store, "/Common")
    if store.version >= versions.DRAFTS:
        folder.make(store, "/Common/Drafts")
    text = "Repository for system objects and shared objects."
    store.put("auth/partition", ("Common",), {"defaultRouteDomain": 0, "description": text})
    for partition in partitions:
        folder.make(store, "/" + partition.strip("/"))
    _furnish_monitors(store)
    cert, key = files.factory_pair()
    for name in ("default.crt", "ca-bundle.crt"):
        every[files.CERT].store_content(
            store, (f"/Common/{name}",), cert, {"systemPath": f"/config/ssl/ssl.crt/{name}"}
        )
    every[files.KEY].store_content(
        store, ("/Common/default.key",), key, {"systemPath": "/config/ssl/ssl.key/default.key"}
    )
    for kind, factory in profiles.FACTORY.items():
        present = factory if store.version >= every[f"ltm/profile/{kind}"].since else ()
        for index, name in enumerate(present):
            fields = {} if index == 0 else {"defaultsFrom": f"/Common/{factory[0]}"}
            fields |= profiles.FACTORY_FIELDS.get(name, {})
            store.put(f"ltm/profile/{kind}", (f"/Common/{name}",), fields)
    store.put("ltm/persistence/cookie", ("/Common/cookie",), {})
    store.put("ltm/persistence/source-addr", ("/Common/source_addr",), {})
    for group in ("images",):
        records = dict.fromkeys((".bmp", ".gif", ".jpg"), "")
        store.put("ltm/data-group/internal", (f"/Common/{group}",), {"type": "string", "records": records})
    _furnish_network(store)
    _furnish_system(store)
    store.save()


def _furnish_system(store: Store) -> None:
    modules = system_kinds.MODULES_16 if store.version >= (16,) else system_kinds.MODULES
    for url, names in (("sys/provision", modules), ("sys/db", system_kinds.VARIABLES)):
        for name in names:
            store.put(url, (name,), store.kinds[url].initial(store, (name,)))


def _furnish_monitors(store: Store) -> None:
    for url in GROUPS["monitor"]:
        kind = store.kinds[url]
        store.put(url, (kind.factory,), kind.initial(store, (kind.factory,)))


def _furnish_network(store: Store) -> None:
    vxlan = store.kinds["net/tunnels/vxlan"]
    root = vxlan.initial(store, ("/Common/vxlan",))
    store.put(vxlan.url, ("/Common/vxlan",), root)
    store.put(
        vxlan.url,
        ("/Common/vxlan-multipoint",),
        {**root, "defaultsFrom": "/Common/vxlan", "floodingType": "multipoint"},
    )
    domain = store.kinds["net/route-domain"]
    store.put(domain.url, ("/Common/0",), {**domain.initial(store, ("/Common/0",)), "id": 0})
    tunnel = store.kinds["net/tunnels/tunnel"]
    for name, owner in (("http-tunnel", "http-explicit"), ("socks-tunnel", "socks")):
        body = {"profile": "/Common/tcp-forward", "description": f"Tunnel for {owner} profile"}
        tunnel.create(store, (), {"name": f"/Common/{name}", **body})
    vlan = store.kinds["net/vlan"]
    for tag, name in ((4094, "internal"), (4093, "external")):
        store.put(vlan.url, (f"/Common/{name}",), {**vlan.initial(store, (f"/Common/{name}",)), "tag": tag})
