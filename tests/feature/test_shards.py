"""Two routers on two partitions of one BIG-IP: each does its own work, and nothing to the other's.

Longer than other modules: all tests need the two shards and the fence between them.
"""

import random
import threading
import time
from dataclasses import replace

import pytest

from f5router.kube.api import decode
from f5router.model import names
from f5router.model.cluster import Key
from mocks.bigip.store import Store
from mocks.bigip.traffic import Request, decide
from tests import manifests, pump
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.reference.full_build import snapshot_of
from tests.waiting import DEADLINE_S, until

CERTIFICATES = [identity(serial=serial, algorithm="ec").tls for serial in (1, 2)]
PODS = ("10.1.1.1", "10.1.1.2", "10.1.2.1", "10.1.2.2")
BY_HAND = "/Common/10.1.1.1"
SHARED = {"f5_node_partition": "/Common"}


class Shard:
    """A router, its partition, and which Routes it takes."""

    def __init__(self, lab, partition: str, address: str, takes=lambda route: True, **flags: str):
        self.lab, self.partition, self.takes = lab, partition, takes
        self.clock = flags.get("clock", time.monotonic)
        if f"{partition}/{HTTP}" not in lab.paths("ltm/virtual"):
            lab.virtuals(partition=partition, address=address)
        flags = {"f5_partition_path": partition, "name": partition.strip("/"), **flags}
        self.router = lab.router(**flags)
        self.engine = self.router.reconciler.engine
        self.router.device.observe()
        # Else the engine knows nothing of the cluster before the first reading.
        self.router.reconciler.take_facts(self.router.device.facts)
        self.router.reconciler.must_read("of the test")

    def catch_up(self) -> None:
        """Take events until all that the API server has is known."""
        def known() -> bool:
            pump.take_events(self.router)
            seen = snapshot_of(self.engine)
            slices = {key: slice_ for parts in seen.slices.values() for key, slice_ in parts.items()}
            return seen.routes == self.wanted() and slices == self.slices()

        until(known)

    def wanted(self) -> dict:
        # Labels are kept where a front end selects by them.
        selected = (replace(decode.route(obj), labels=()) for obj in self.lab.kube.list("Route")
                    if self.takes(obj))
        return {route.key: route for route in selected}

    def slices(self) -> dict:
        slices = map(decode.endpoint_slice, self.lab.kube.list("EndpointSlice"))
        return {slice_.key: slice_ for slice_ in slices}

    def bring_in_step(self) -> None:
        """Passes until nothing is left to write, and none is due."""
        self.catch_up()
        reconciler = self.router.reconciler
        self.router.reconciler.run_until_idle()
        while (
                (due := pump.next_retry(reconciler)) is not None and due <= self.clock()) or (
                # On a loaded machine, a reply may come after the time for which a pass waits.
                any(map(reconciler.table.is_sent, reconciler.failures))):
            self.router.reconciler.run_until_idle()

    def ask(self, host: str, path: str = "/", *, tls: bool = False) -> str:
        virtual = f"{self.partition}/{HTTPS if tls else HTTP}"
        request = Request(host, path, sni=host if tls else None, tls=tls)
        return decide(self.lab.bigip.store, virtual, request).pool

    def check_serving(self) -> None:
        """Every admitted Route is served from its own pods, by pools of this partition."""
        assert self.router.reconciler.failures == {}
        for key, checked in self.engine.routes().items():
            route = checked.route
            if self.engine.rejection(key):
                continue
            pool = self.ask(route.host, route.path or "/", tls=bool(checked.termination))
            assert pool.startswith(f"{self.partition}/openshift_{key.namespace}_{route.service}"), (key, pool)
            parts = snapshot_of(self.engine).slices.get(Key(key.namespace, route.service), {}).values()
            pods = {f"{address}:8080" for slice_ in parts for address in slice_.addresses}
            assert members(self.lab, pool) == pods


def api(*pods: str) -> dict:
    return manifests.endpoints("shop", "api", pods)


def members(lab, pool: str) -> set[str]:
    fields = lab.bigip.get(f"ltm/pool/{pool.replace('/', '~')}")
    return {item["name"] for item in fields["membersReference"].get("items", [])}


def outside(store: Store, partition: str) -> dict:
    """All that a router of this partition must leave alone."""
    others = {}
    for url in store.kinds:
        for item in store.all(url):
            ours = item.key[0].startswith((f"{partition}/", partition))
            node_of_ours = url == "ltm/node" and item.fields.get("description") == names.NODE_DESCRIPTION
            if not ours and not node_of_ours and item.key[0] != partition.strip("/"):
                others[url, item.key] = dict(item.fields)
    return others


class Fence:
    """Looks after every write whether the router whose turn it is stayed on its side."""

    def __init__(self, lab):
        self.lab = lab
        self.shard: Shard | None = None
        self.before: dict = {}
        self.writes = 0
        lab.bigip.on_write = self._look

    def turn(self, shard: Shard) -> None:
        self.shard, self.before = shard, outside(self.lab.bigip.store, shard.partition)

    def _look(self, request) -> None:
        self.writes += 1
        if self.shard:
            assert outside(self.lab.bigip.store, self.shard.partition) == self.before, request


def front(obj: dict) -> bool:
    return (obj["metadata"].get("labels") or {}).get("tier") == "front"


def west(lab):
    """Takes Routes of namespaces in the west, and needs not be told when they move."""
    def takes(obj: dict) -> bool:
        space = lab.kube.get("Namespace", None, obj["metadata"]["namespace"])
        return ((space or {"metadata": {}})["metadata"].get("labels") or {}).get("zone") == "west"

    return takes


def event(rng: random.Random, lab) -> None:
    """Something that happens in a cluster."""
    space, name = rng.choice(("shop", "bank")), rng.choice(("r1", "r2", "r3"))
    happens = rng.randrange(10)
    if happens < 5:
        kind = rng.choice(("", "edge", "reencrypt", "passthrough"))
        tls = rng.choice(CERTIFICATES) if kind in ("edge", "reencrypt") and rng.random() < 0.5 else {}
        path = "" if kind == "passthrough" else rng.choice(("", "/a", "/b"))
        route = manifests.route(
            name, namespace=space, host=rng.choice(("x.com", "y.com", "z.com")), path=path, kind=kind,
            service=rng.choice(("web", "api")), created=f"2026-01-01T00:00:0{rng.randrange(9)}Z",
            insecure=rng.choice(("", "Redirect")) if kind else "", **tls)
        route["metadata"]["labels"] = {"tier": rng.choice(("front", "back"))}
        lab.apply(route)
    elif happens < 7:
        if lab.kube.get("Route", space, name):
            lab.kube.delete("Route", space, name)
    elif happens < 9:
        pods = tuple(pod for pod in PODS if rng.random() < 0.5)
        lab.apply(manifests.endpoints(space, rng.choice(("web", "api")), pods))
    else:
        lab.apply(labelled_namespace(space, rng.choice(("west", "east"))))


def labelled_namespace(name: str, zone: str) -> dict:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"zone": zone}}}


def shards(lab, kind: str) -> list[Shard]:
    """Two routers whose parts overlap, do not overlap, or are told by namespace."""
    if kind == "traditional":
        chosen = [({"labels": "tier=front"}, front), ({"labels": "tier!=front"}, lambda obj: not front(obj))]
    elif kind == "namespaces":
        takes = west(lab)
        chosen = [({"namespace_labels": "zone=west"}, takes),
                  ({"namespace_labels": "zone notin (west)"}, lambda obj: not takes(obj))]
    else:
        chosen = [({}, lambda obj: True), ({"labels": "tier=front"}, front)]
    return [Shard(lab, f"/P{n}", f"10.0.0.{n}", takes, **flags, **SHARED)
            for n, (flags, takes) in enumerate(chosen, 1)]


@pytest.fixture
def lab(make_lab):
    """Partitions P1 and P2, Services with pods, and a node that an administrator made."""
    new_lab = make_lab(partitions=("Common", "P1", "P2"))
    new_lab.bigip.put_object("ltm/node", {"name": "10.1.1.1", "partition": "Common", "address": "10.1.1.1"})
    for space in ("shop", "bank"):
        new_lab.apply(labelled_namespace(space, "west"))
        for service in ("web", "api"):
            new_lab.apply(*manifests.service(space, service, pods=PODS[:2]))
    yield new_lab
    new_lab.bigip.on_write = None
    assert new_lab.bigip.errors == []


@pytest.mark.parametrize("kind", ["overlapping", "traditional", "namespaces"])
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_happens(lab, kind, seed):
    """Random events; the routers take turns, and tidy up, in random order."""
    rng = random.Random(f"{kind} {seed}")
    both, fence = shards(lab, kind), Fence(lab)
    for _ in range(25):
        for _ in range(rng.randrange(1, 4)):
            event(rng, lab)
        for shard in rng.sample(both, rng.randrange(1, 3)):
            fence.turn(shard)
            shard.bring_in_step()
            shard.check_serving()
            if rng.random() < 0.3:
                shard.router.settling.finish()
    for obj in lab.kube.list("Route"):
        lab.kube.delete("Route", obj["metadata"]["namespace"], obj["metadata"]["name"])
    for shard in both:
        fence.turn(shard)
        shard.bring_in_step()
    for shard in both:
        shard.router.settling.finish()
    assert fence.writes > 50
    assert lab.paths("ltm/node") == {BY_HAND}
    assert lab.pools() == set()


def test_one_route_on_both(lab):
    """Served by each, told by each in its own entry; each goes by itself."""
    lab.apply(manifests.route("a"))
    first, two = shards(lab, "overlapping")
    lab.apply(manifests.route("a") | {"metadata": {
        "namespace": "shop", "name": "a", "labels": {"tier": "front"}}})
    for shard in (first, two):
        shard.bring_in_step()
        shard.check_serving()
        assert shard.router.reporter.statuses.flush(DEADLINE_S)
    entries = lab.kube.get("Route", "shop", "a")["status"]["ingress"]
    assert {(entry["routerName"], entry["conditions"][0]["status"]) for entry in entries} == {
        ("P1", "True"), ("P2", "True")}
    assert lab.paths("ltm/node") == {BY_HAND, "/Common/10.1.1.2"}
    lab.apply(manifests.route("a"))
    two.bring_in_step()
    two.router.settling.finish()
    assert [bool(shard.ask("www.example.com")) for shard in (first, two)] == [True, False]
    assert lab.paths("ltm/node") == {BY_HAND, "/Common/10.1.1.2"}
    first.check_serving()


def _quiet(lab) -> bool:
    """True if nobody writes to the BIG-IP for a while: a pass that is stopped cannot be ended here."""
    before = len(lab.bigip.writes())
    time.sleep(0.5)
    return len(lab.bigip.writes()) == before


def test_both_at_once(lab):
    """Two loops that run, many events; both are in step in the end, without an error on the way."""
    both = shards(lab, "overlapping")
    stop = threading.Event()
    threads = [threading.Thread(target=shard.router.run, args=(stop,)) for shard in both]
    for thread in threads:
        thread.start()
    try:
        rng = random.Random(7)
        for _ in range(60):
            event(rng, lab)
        lab.apply(manifests.route("last", host="last.com") | {"metadata": {
            "namespace": "shop", "name": "last", "labels": {"tier": "front"}}})

        def in_step() -> bool:
            return all(shard.ask("last.com") and shard.engine.routes().keys() == shard.wanted().keys()
                       for shard in both) and _quiet(lab)

        until(in_step)
    finally:
        stop.set()
        for thread in threads:
            thread.join(DEADLINE_S)
    assert not any(thread.is_alive() for thread in threads)
    for shard in both:
        shard.bring_in_step()
        shard.check_serving()


def test_without_a_shared_partition(lab):
    """The second has no pod, and says what to do; the first is not touched."""
    shard = Shard(lab, "/P1", "10.0.0.1")
    lab.apply(api("10.1.1.7", "10.1.1.8"), manifests.route("a", service="api"))
    shard.bring_in_step()
    fence, two = Fence(lab), Shard(lab, "/P2", "10.0.0.2")
    fence.turn(two)
    two.bring_in_step()
    assert two.router.reporter.statuses.flush(DEADLINE_S)
    (entry,) = (entry for entry in lab.kube.get("Route", "shop", "a")["status"]["ingress"]
                if entry["routerName"] == "P2")
    assert entry["conditions"][0]["status"] == "True"
    assert entry["conditions"][0]["message"] == (
        "ltm/pool /P2/openshift_shop_api: 2 of 2 pods are not in the pool: LTM node /P1/10.1.1.7 has the "
        "address 10.1.1.7; pools of /P2 cannot use a node of /P1. Controllers that share pods need their "
        "nodes in /Common (--f5-node-partition; CIS: --share-nodes)")
    assert two.router.reconciler.verdicts.unserved().keys() == {Key("shop", "a")}
    shard.check_serving()
    shard.router.close()
    two.router.close()


@pytest.fixture
def taken(lab):
    """Another partition has the node of 10.1.1.7; one router, whose clock is moved by hand."""
    lab.change("POST", "ltm/node", {"name": "web", "partition": "P2", "address": "10.1.1.7"})
    lab.apply(api("10.1.1.7"), manifests.route("a", service="api"))
    now = [0.0]
    shard = Shard(lab, "/P1", "10.0.0.1", clock=lambda: now[0], **SHARED)
    shard.now = now
    shard.bring_in_step()
    return shard


def retry(shard: Shard) -> None:
    shard.now[0] = pump.next_retry(shard.router.reconciler)
    shard.lab.clear()
    shard.bring_in_step()


def test_no_pod_can_be_served(lab, taken):
    """A new Route leads to a pool without members; one that served before keeps its pool."""
    assert taken.ask("www.example.com") == "/P1/openshift_shop_api"
    assert members(lab, "/P1/openshift_shop_api") == set()
    retry(taken)
    assert lab.writes() == []
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.8",)), manifests.route("a", service="web"))
    taken.bring_in_step()
    assert taken.ask("www.example.com") == "/P1/openshift_shop_web"
    lab.apply(manifests.route("a", service="api"))
    taken.bring_in_step()
    assert taken.ask("www.example.com") == "/P1/openshift_shop_web"
    lab.change("DELETE", "ltm/node/~P2~web")
    while taken.router.reconciler.failures:
        retry(taken)
    taken.check_serving()


def test_one_pod_of_two_can_be_served(lab, taken):
    """It is, and that is saved; one write is enough. The Route's status names the other."""
    lab.apply(api("10.1.1.7", "10.1.1.9"))
    taken.bring_in_step()
    retry(taken)
    assert taken.ask("www.example.com") == "/P1/openshift_shop_api"
    assert members(lab, "/P1/openshift_shop_api") == {"10.1.1.9:8080"}
    verdicts = taken.router.reconciler.verdicts
    assert verdicts.unserved() == {}
    assert verdicts.verdict(Key("shop", "a")).message.startswith(
        "ltm/pool /P1/openshift_shop_api: 1 of 2 pods are not in the pool: LTM node /P2/web has the address "
        "10.1.1.7;")
    taken.router.settling.finish()
    retry(taken)
    assert lab.writes() == []
    assert taken.router.settling.settles_at() is None
    lab.apply(api("10.1.1.7", "10.1.1.8"))
    taken.bring_in_step()
    assert members(lab, "/P1/openshift_shop_api") == {"10.1.1.8:8080"}
    assert taken.router.settling.settles_at() is not None
    lab.change("DELETE", "ltm/node/~P2~web")
    retry(taken)
    taken.check_serving()


def replaced(lab, router, partition: str, *pods: str) -> None:
    """Give the Service other pods, and wait until a router's pool has them."""
    lab.apply(api(*pods))
    wanted = {f"{pod}:8080" for pod in pods}
    until(lambda: router.reconcile_once() and members(lab, f"{partition}/openshift_shop_api") == wanted)


def test_the_shared_partition_comes_later(lab):
    """Nothing moves and nothing breaks; as pods are replaced, their nodes are shared."""
    lab.apply(api("10.1.1.7", "10.1.1.8"))
    lab.apply(manifests.route("a", service="api"))
    before = lab.router(f5_partition_path="/P1")
    lab.virtuals(partition="/P1")
    assert lab.converge(before) == []
    before.close()
    assert "/P1/10.1.1.7" in lab.paths("ltm/node")
    lab.clear()
    lab.bigip.on_write = None
    router = lab.router(f5_partition_path="/P1", **SHARED)
    assert lab.converge(router) == []
    assert lab.writes() == []
    two = Shard(lab, "/P2", "10.0.0.2", **SHARED)
    two.bring_in_step()
    text = str(next(iter(two.router.reconciler.failures.values())).error)
    assert "need their nodes in /Common (--f5-node-partition" in text
    replaced(lab, router, "/P1", "10.1.1.8", "10.1.1.9")
    two.catch_up()
    assert two.router.reconcile_once()
    assert members(lab, "/P2/openshift_shop_api") == {"10.1.1.9:8080"}
    replaced(lab, router, "/P1", "10.1.1.9", "10.1.1.10")
    router.settling.finish()
    two.bring_in_step()
    two.check_serving()
    assert {path for path in lab.paths("ltm/node") if path != BY_HAND} == {
        "/Common/10.1.1.9", "/Common/10.1.1.10"}


def test_separate_route_domains(lab):
    """The other way: the same addresses in two route domains, each with its nodes."""
    lab.bigip.put_object("net/route-domain", {"name": "5", "partition": "Common", "id": 5})
    lab.change("PATCH", "auth/partition/P2", {"defaultRouteDomain": 5})
    lab.apply(manifests.route("a"))
    first, two = Shard(lab, "/P1", "10.0.0.1"), Shard(lab, "/P2", "10.0.0.2")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.7",)))
    for shard in (first, two):
        shard.bring_in_step()
        shard.check_serving()
    addresses = {lab.bigip.shown(item)["address"] for item in lab.bigip.items("ltm/node")}
    assert addresses == {"10.1.1.1", "10.1.1.7", "10.1.1.7%5"}


@pytest.mark.parametrize("quirk", ["member-makes-no-shared-node", "sub-post-404"])
def test_devices_that_differ(make_lab, quirk):
    """Nodes are made on purpose, so it does not matter what comes with a member."""
    lab = make_lab(partitions=("Common", "P1", "P2"), quirks=frozenset({quirk}))
    lab.apply(*manifests.service("shop", "web", pods=PODS[:2]), manifests.route("a"))
    for number in (1, 2):
        shard = Shard(lab, f"/P{number}", f"10.0.0.{number}", **SHARED)
        shard.bring_in_step()
        shard.check_serving()


def test_what_it_costs(lab):
    """One write more for each new pod; none for those that stay, nor at a restart."""
    lab.apply(manifests.route("a", service="api"))
    lab.apply(api("10.1.1.7", "10.1.1.8"))
    shard = Shard(lab, "/P1", "10.0.0.1", **SHARED)
    shard.bring_in_step()
    lab.clear()
    lab.apply(api("10.1.1.8", "10.1.1.9"))
    shard.bring_in_step()
    assert lab.writes() == [("POST", "/mgmt/tm/ltm/node"),
                            ("PATCH", "/mgmt/tm/ltm/pool/~P1~openshift_shop_api")]
    shard.router.close()
    lab.clear()
    again = Shard(lab, "/P1", "10.0.0.1", **SHARED)
    again.bring_in_step()
    assert lab.writes() == []
    lab.apply(api("10.1.1.8", "10.1.1.10"))
    again.bring_in_step()
    assert lab.writes() == [("POST", "/mgmt/tm/ltm/node"),
                            ("PATCH", "/mgmt/tm/ltm/pool/~P1~openshift_shop_api")]
