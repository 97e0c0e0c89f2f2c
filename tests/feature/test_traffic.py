"""Where requests go, at the end and after every single write in between."""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f5router.app import wiring
from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import EndpointSlice, Key, Route, Secret
from f5router.model.delta import Delta
from f5router.plan.rule_order import Ordinals
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.row import FOR_SERVING
from mocks.bigip.traffic import Request, decide
from tests import pump, strategies
from tests.builders import endpoints, identity, route
from tests.examples import examples

VIRTUALS = {False: "/Common/ose-vserver", True: "/Common/https-ose-vserver"}
ONE, TWO, CA = identity(serial=1), identity(serial=2), identity().issuer
PODS = endpoints("10.1.1.1"), endpoints("10.1.9.1", service="api", name="api-1")


@dataclass
class Direct:
    """Engine and device without a Kubernetes API: events are Deltas."""

    lab: object
    reconciler: Reconciler
    clock: Callable[[], float] = time.monotonic
    seen: list = field(default_factory=list)
    advance: Callable[[float], None] = lambda seconds: None
    """Moves a clock that stands still."""
    unread: frozenset[str] = frozenset()
    """Kinds of objects that are not known."""

    def change(self, *objects, gone=()) -> None:
        """Events, then passes as the running router makes them."""
        kinds: dict[type, dict] = {Route: {}, EndpointSlice: {}, Secret: {}}
        for obj in objects:
            kinds[type(obj)][obj.key] = obj
        for obj in gone:
            kinds[type(obj)][obj.key] = None
        self.reconciler.apply(Delta(routes=kinds[Route], slices=kinds[EndpointSlice], secrets=kinds[Secret],
                                    sources_unread=self.unread))
        pump.settle(self.reconciler, self.clock, self.advance)
        device = self.reconciler.device
        assert device.ordinals.counts == Ordinals(device.observed.values()).counts, "kept with each write"

    def ask(self, host: str, path: str = "/", *, tls: bool = False, sni: str | None = None):
        """Return what the BIG-IP would do with a request now."""
        request = Request(host, path, sni=(sni or host) if tls else None, tls=tls)
        return decide(self.lab.bigip.store, VIRTUALS[tls], request)

    def watch(self, *probes) -> list:
        """From now on, the decision on each probe after every write."""
        self.seen.clear()
        self.lab.bigip.on_write = lambda _: self.seen.append([self.ask(**probe) for probe in probes])
        return self.seen


def _speaks_tls(pool: str) -> bool:
    """True if TLS goes to the pods of a pool: openshift_<namespace>_<service>_<port>_<tls>_<route>."""
    return bool([*pool.rsplit("/", 1)[1].split("_"), "", ""][4])


@pytest.fixture
def direct(lab):
    with ExitStack() as stack:
        config = lab.config()
        device = wiring.build_device(config, stack)
        reconciler = Reconciler(Engine(config), device, folder=config.folder, clock=time.monotonic)
        reconciler.patience_s = math.inf  # a loaded machine, whose writes are slow, is not what is tested
        site = Direct(lab, reconciler)
        site.change(*PODS)
        yield site
        lab.bigip.on_write = None


FORMS = (
    "www.example.com",
    "WWW.Example.COM",
    "www.example.com.",
    "www.example.com:80",
    "www.example.com.:8080",
)


def test_host_in_every_form(direct):
    direct.change(route("a"))
    assert {direct.ask(host).pool for host in FORMS} == {"/Common/openshift_shop_web"}


def test_host_where_the_device_keeps_the_port(make_lab):
    """bigip-behaviour.md B12.5: right under either behaviour, for the port of the virtual server."""
    lab = make_lab(quirks=frozenset({"host-keeps-port"}))
    lab.virtuals()
    with ExitStack() as stack:
        config = lab.config()
        device = wiring.build_device(config, stack)
        site = Direct(lab, Reconciler(Engine(config), device, folder=config.folder, clock=time.monotonic))
        site.change(route("a"), *PODS)
        assert {site.ask(host).pool for host in FORMS[:4]} == {"/Common/openshift_shop_web"}


SERVED_FROM = {
    "/": "root",
    "/x": "root",
    "/a": "a",
    "/a/": "slash",
    "/a/c": "slash",
    "/ab": "root",
    "/A": "root",
    "/a/b": "b",
    "/a/b/c": "b",
    "/a/bc": "slash",
    "/odd//x": "odd",
    "/odd//x/y": "odd",
    "/odd//xy": "root",
    "/%61": "root",
    '/q"{$x}': "quote",
    '/q"{$x}/y': "quote",
}


def test_longest_path_wins(direct):
    """Whatever the age of the Routes."""
    paths = {"a": "/a", "root": "", "slash": "/a/", "b": "/a/b", "odd": "/odd//x", "quote": '/q"{$x}'}
    for age, (name, spec) in enumerate(paths.items()):
        direct.change(
            route(name, path=spec, service=name, age=age), endpoints("10.1.1.1", service=name, name=name)
        )
    pools = {path: direct.ask("www.example.com", path).pool for path in SERVED_FROM}
    assert pools == {path: f"/Common/openshift_shop_{service}" for path, service in SERVED_FROM.items()}


@pytest.mark.parametrize(
    ("kind", "insecure", "plain", "secure"),
    [
        ("", "", "pool", "unavailable"),
        ("edge", "", "unavailable", "pool"),
        ("edge", "Allow", "pool", "pool"),
        ("edge", "Redirect", "redirect", "pool"),
        ("reencrypt", "", "unavailable", "pool"),
        ("reencrypt", "Allow", "pool", "pool"),
        ("reencrypt", "Redirect", "redirect", "pool"),
        ("passthrough", "", "unavailable", "passthrough"),
        ("passthrough", "Redirect", "redirect", "passthrough"),
    ],
)
@pytest.mark.parametrize("foreign", [False, True], ids=["", "with the administrator's server SSL profile"])
def test_kinds(direct, kind, insecure, plain, secure, foreign):
    """Both ports, and TLS towards pods for re-encrypt Routes only."""
    if foreign:
        direct.lab.change(
            "POST",
            "ltm/virtual/~Common~https-ose-vserver/profiles",
            {"name": "/Common/serverssl", "context": "serverside"},
        )
        direct.reconciler.must_read("of the test")
    direct.change(route("a", kind=kind, insecure=insecure), *PODS)
    for tls, expected in ((False, plain), (True, secure)):
        decision = direct.ask("www.example.com", "/p", tls=tls)
        assert decision.kind == expected
        if expected == "redirect":
            assert decision.location == "https://www.example.com/p"
        if expected == "pool":
            assert decision.members == ("10.1.1.1:8080",)
            assert bool(decision.server_ssl_profile) == (kind == "reencrypt")


CHANGES = {
    "path": ({"kind": "edge", "path": "/a"}, {"kind": "edge", "path": "/a/b"}),
    "to an odd path": ({"kind": "edge", "path": "/a"}, {"kind": "edge", "path": "/a//b"}),
    "shorter path": ({"kind": "edge", "path": "/a/b"}, {"kind": "edge"}),
    "service": ({"kind": "edge"}, {"kind": "edge", "service": "api"}),
    "certificate": ({"kind": "edge", **ONE.tls}, {"kind": "edge", **TWO.tls}),
    "certificate gained": ({"kind": "edge"}, {"kind": "edge", **ONE.tls}),
    "certificate lost": ({"kind": "edge", **ONE.tls}, {"kind": "edge"}),
    "chain": ({"kind": "edge", **ONE.tls}, {"kind": "edge", **ONE.tls, "ca_certificate": CA}),
    "edge to reencrypt": ({"kind": "edge", **ONE.tls}, {"kind": "reencrypt", **ONE.tls}),
    "reencrypt to edge": ({"kind": "reencrypt"}, {"kind": "edge"}),
    "destination CA": ({"kind": "reencrypt"}, {"kind": "reencrypt", "destination_ca_certificate": CA}),
    "edge to passthrough": ({"kind": "edge", **ONE.tls}, {"kind": "passthrough"}),
    "passthrough to edge": ({"kind": "passthrough"}, {"kind": "edge", **ONE.tls}),
    "passthrough to reencrypt": (
        {"kind": "passthrough", "insecure": "Redirect"},
        {"kind": "reencrypt", "insecure": "Redirect"},
    ),
    "Allow to Redirect": ({"kind": "edge", "insecure": "Allow"}, {"kind": "edge", "insecure": "Redirect"}),
    "host": ({"kind": "edge", "host": "old.example.com"}, {"kind": "edge", "host": "www.example.com"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_has_no_gap(direct, name):
    """Between two versions of a Route no write leaves it unserved, wrongly served or half encrypted."""
    before, after = CHANGES[name]
    direct.change(route("a", **before))
    host = before.get("host", "www.example.com") if name == "host" else "www.example.com"
    path = "/a/b" if before.get("path") != "/a" or "odd" not in name else "/a"
    probe = {"host": host, "path": path, "tls": True}
    if name in ("host", "to an odd path"):
        # Served under its old name before, under the new one after; one write between.
        probes = [probe, {"host": "www.example.com", "path": "/a//b" if "odd" in name else "/", "tls": True}]
    else:
        probes = [probe]
    first = direct.ask(**probe)
    seen = direct.watch(*probes)
    direct.change(route("a", **after))
    assert seen
    shown = {first.certificate_file}
    for decisions in seen:
        assert any(d.kind in ("pool", "passthrough") and d.members for d in decisions), (name, decisions)
        for d in decisions:
            if d.kind == "pool":
                assert bool(d.server_ssl_profile) == _speaks_tls(d.pool), d
            if d.kind in ("pool", "passthrough"):
                assert "_shop_" in d.pool
                shown.add(d.certificate_file)
    if "certificate" in name or name == "chain":
        assert len(shown) <= 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"kind": ""}, {"kind": "edge", "insecure": "Redirect"}),
        ({"kind": "edge", "insecure": "Redirect"}, {"kind": ""}),
        ({"kind": ""}, {"kind": "passthrough", "insecure": "Redirect"}),
        ({"kind": "edge", "insecure": "Allow"}, {"kind": "edge", "insecure": "Redirect"}),
    ],
)
def test_port_80_never_redirects_to_nothing(direct, before, after):
    direct.change(route("a", **before))
    seen = direct.watch({"host": "www.example.com"}, {"host": "www.example.com", "tls": True})
    direct.change(route("a", **after))
    for plain, secure in seen:
        assert plain.kind in ("pool", "redirect")
        assert plain.kind != "redirect" or secure.kind in ("pool", "passthrough")


def test_members_join_before_others_leave(direct):
    direct.change(route("a"))
    seen = direct.watch({"host": "www.example.com"})
    direct.change(endpoints("10.1.1.7", "10.1.1.8"))
    assert [decision.members for [decision] in seen] == [("10.1.1.7:8080", "10.1.1.8:8080")]


def test_a_host_is_handed_over_in_one_write(direct):
    """The oldest Route goes, the next one takes over host and certificate."""
    direct.change(
        route("old", kind="edge", **ONE.tls), route("new", kind="edge", service="api", age=1, **TWO.tls)
    )
    seen = direct.watch({"host": "www.example.com", "tls": True})
    direct.change(gone=[route("old")])
    pools = [decision.pool for [decision] in seen]
    assert set(pools) == {"/Common/openshift_shop_web", "/Common/openshift_shop_api"}
    assert pools == sorted(pools, reverse=True)
    files = [decision.certificate_file for [decision] in seen]
    assert None not in files
    assert len(set(files)) == 2


HOSTS = ("www.example.com", "api.example.com", "a.b")
EVENTS = st.lists(
    st.tuples(st.one_of(strategies.routes(), strategies.slices()), st.booleans()), min_size=1, max_size=4
)


def test_nothing_is_left_of_a_host_that_another_namespace_gets(direct):
    """Its new Rule would wait for a Secret; the old one goes, and what it needed with it."""
    old = {"namespace": "bank", "kind": "reencrypt", "age": 4}
    direct.change(route("r2", host="www.example.com", port="http", **old))
    direct.change(route("r1", host="www.example.com", kind="passthrough", service="api", age=1),
                  route("r2", host="a.b", service="api", external_certificate="tls", **old))
    assert list(pump.whole_plan(direct.reconciler)) == []


def test_nothing_is_left_of_a_record_that_another_route_gets(direct):
    """The previous objects of a Route that waits; its Host is another Route's next."""
    direct.change(route("r3", host="a.b", kind="passthrough", insecure="Redirect"))
    direct.change(route("r3", host="www.example.com", kind="reencrypt", insecure="Redirect",
                        external_certificate="tls"))
    direct.change(route("r1", host="a.b", kind="passthrough", service="api"))
    assert list(pump.whole_plan(direct.reconciler)) == []


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EVENTS, min_size=1, max_size=5))
def test_no_request_reaches_another_namespace(direct, batches):
    """After every write: a Host's requests go to the namespace that owns it, before or after the event.

    One that nobody owns any more may still go to the namespace whose Route waits for a Secret elsewhere.
    """
    direct.lab.bigip.on_write = None
    engine = direct.reconciler.engine
    direct.change(gone=[checked.route for checked in engine.routes().values()])
    probes = [
        {"host": host, "path": path, "tls": tls}
        for host in HOSTS
        for path in ("/", "/a/b", "/ab", "/%61")
        for tls in (False, True)
    ]
    for batch in batches:
        before = _allowed(engine)
        latest = {(type(obj), obj.key): (obj, present) for obj, present in batch}.values()
        steps = direct.watch(*probes)
        direct.change(
            *(o for o, present in latest if present), gone=[o for o, present in latest if not present]
        )
        direct.lab.bigip.on_write = None
        after = _allowed(engine)
        for decisions in [*steps, [direct.ask(**probe) for probe in probes]]:
            for probe, decision in zip(probes, decisions, strict=True):
                if decision.pool and not decision.pool.endswith(names.NOWHERE_POOL):
                    allowed = before[probe["host"]] | after[probe["host"]]
                    assert decision.pool.split("_")[1] in allowed, (probe, decision)
                    wants_tls = decision.kind == "pool" and _speaks_tls(decision.pool)
                    assert bool(decision.server_ssl_profile) == wants_tls
        # In step, but for what waits for a Secret that nobody has read.
        reconciler = direct.reconciler
        left = {change.ref for change in pump.whole_plan(reconciler)}
        assert left <= reconciler.table.held_for(*FOR_SERVING)
        assert not reconciler.failures


def _allowed(engine) -> dict[str, set[str]]:
    """Namespaces whose Routes are admitted, by Host; where there are none, those that wait for a Secret."""
    routes = {key: evaluated for key, evaluated in engine.routes().items() if engine.rejection(key) is None}
    waiting = {key.namespace for key, evaluated in routes.items() if evaluated.pending_secret}
    owners = {host: {key.namespace for key, evaluated in routes.items() if evaluated.host == host}
              for host in HOSTS}
    return {host: owners[host] or waiting for host in HOSTS}


def test_pool_names_tell_their_namespace():
    """The test above relies on this."""
    path = names.pool("/C", Key("bank", "web"), "http", "0" * 16, "a")
    assert path.split("_")[1] == "bank"
    assert _speaks_tls(path)
    assert not _speaks_tls(names.pool("/C", Key("bank", "web"), "http", "", "a"))
