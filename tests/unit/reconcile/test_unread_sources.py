"""Objects that serve for Ingresses and IngressRoutes stay while these are not known."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import Key, RouteTLS
from f5router.model.ltm import Rule
from f5router.model.ownership import is_passthrough
from f5router.reconcile.reconciler import Reconciler
from tests import strategies
from tests.builders import Settings, endpoints, identity, route, secret, service, virtual
from tests.unit.desired.test_engine import delta
from tests.unit.plan.test_diff import WILD, answers
from tests.unit.reconcile.test_reconciler import Clock, Faulty, passes

ALL = frozenset({"Route", "Ingress", "IngressRoute"})
BOTH = ALL - {"Route"}
CONFIG = Settings(admission=WILD, strict_sni=True)
PODS = (service(), endpoints("10.1.1.1"), service("api"), endpoints("10.1.1.2", service="api"),
        service(namespace="bank"), endpoints("10.1.2.1", namespace="bank"))


class Router:
    """A router, and the device that stays when it restarts."""

    def __init__(self, config=CONFIG):
        self.config, self.device, self.clock = config, Faulty(0), Clock()
        self.device.sender.well = True

    def restart(self, *objects, **unknown) -> dict:
        """Begin with a cluster; return the objects of the device then. Args: unknown: as in `apply`."""
        self.device.observe()
        self.reconciler = Reconciler(Engine(self.config), self.device, folder="/Common", clock=self.clock)
        self.reconciler.guard.allow = True
        return self.apply(*PODS, *objects, **unknown)

    def apply(self, *objects, gone=(), unread=frozenset(), undecided=frozenset()) -> dict:
        changes = delta(*((obj, True) for obj in objects), *((obj, False) for obj in gone))
        self.reconciler.apply(replace(changes, sources_unread=unread, undecided=undecided))
        self.reconciler.must_read("of the test")
        passes(self.reconciler, self.clock)
        return dict(self.device.sender.there)

    @property
    def wanted(self) -> dict:
        return self.reconciler.engine.objects


EDGE = {"kind": "edge", "insecure": "Redirect"}
CASES = {
    "plain": virtual(route("a")),
    "edge": virtual(route("a", **EDGE, **identity().tls)),
    "Secret": replace(virtual(route("a", **EDGE)), tls_secret=Key("shop", "tls"), tls=RouteTLS("edge")),
    "reencrypt": virtual(route("a", kind="reencrypt", destination_ca_certificate=identity().issuer)),
    "passthrough": virtual(route("a", kind="passthrough")),
    "delegated": virtual(route("a", path="/a"), "IngressRoute", root=Key("bank", "root")),
    "beside a passthrough wildcard": virtual(route("a", host="a.x.y", **EDGE)),
}
CLUSTER = (secret(identity=identity()), route("w", host="w.x.y", wildcard=True, kind="passthrough"))


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def started(request):
    """A restart while the source is not known: the Route, the objects before, and those afterwards."""
    router = Router()
    before = router.restart(*CLUSTER, request.param)
    return router, request.param, before, router.restart(*CLUSTER, unread=BOTH)


def test_all_stays_until_it_is_known(started):
    router, obj, before, after = started
    assert after == before
    assert router.reconciler.retention.of_unread
    again = router.apply(obj)
    assert again == before == router.wanted
    assert not router.reconciler.retention.of_unread


@pytest.mark.parametrize("obj", CASES.values(), ids=CASES)
def test_a_source_that_is_switched_off_or_empty_leaves_nothing(obj):
    router = Router()
    router.restart(*CLUSTER, obj)
    assert router.restart(*CLUSTER) == router.wanted
    router.restart(*CLUSTER, obj)
    router.restart(*CLUSTER, unread=BOTH)
    assert router.apply() == router.wanted


@pytest.mark.parametrize("obj", [CASES["plain"], CASES["Secret"], CASES["passthrough"]], ids=str)
def test_another_namespace_takes_the_host(obj):
    router = Router()
    router.restart(*CLUSTER, obj)
    theirs = route("t", namespace="bank", age=9, **{**EDGE, "insecure": "Allow"})
    after = router.restart(*CLUSTER, theirs, unread=BOTH)
    served = {request: now for request, now in answers(after).items() if request.host == "www.example.com"}
    assert set(served.values()) == {"/Common/openshift_bank_web"}


PASSTHROUGH = route("p", host="p.example.com", kind="passthrough")
FROM_INGRESS = virtual(route("i", host="i.example.com", kind="passthrough"))


def hosts(objects: dict) -> set[str]:
    """Return the Hosts whose TLS is passed through."""
    return {obj.name for obj in objects.values() if is_passthrough(obj)}


def without_owners(router: Router) -> None:
    """Leave the device as a release did that recorded no owners."""
    there = router.device.sender.there
    for ref in [ref for ref in there if names.OWNER_GROUP in ref.path]:
        del there[ref]


@pytest.mark.parametrize("unread", [BOTH, frozenset({"Ingress"})])
def test_a_route_that_is_gone_holds_nothing_for_other_kinds(unread):
    """Neither while the router runs, nor after a restart."""
    router = Router()
    router.restart(PASSTHROUGH, FROM_INGRESS)
    assert hosts(router.restart(PASSTHROUGH, unread=unread)) == {"p.example.com", "i.example.com"}
    assert hosts(router.apply(gone=[PASSTHROUGH], unread=unread)) == {"i.example.com"}
    router.restart(PASSTHROUGH, FROM_INGRESS)
    assert hosts(router.restart(unread=unread)) == {"i.example.com"}


def test_what_an_earlier_release_left_stays_until_all_is_read():
    """It recorded no owners: only what this router saw a Route have is the Route's."""
    router = Router()
    router.restart(PASSTHROUGH, FROM_INGRESS)
    without_owners(router)
    assert hosts(router.restart(PASSTHROUGH, unread=BOTH)) == {"p.example.com", "i.example.com"}
    assert router.reconciler.retention.unread()
    assert hosts(router.apply(gone=[PASSTHROUGH], unread=BOTH)) == {"i.example.com"}
    assert hosts(router.apply(FROM_INGRESS)) == {"i.example.com"}
    assert router.apply() == router.wanted
    assert hosts(router.restart(unread=BOTH)) == {"i.example.com"}
    assert hosts(router.restart()) == set()


def test_owners_are_known_at_once_where_nothing_was_passed_through():
    """A cluster on which Ingresses are forbidden for good, as with a stock role."""
    router = Router()
    assert router.restart(PASSTHROUGH, unread=BOTH) == router.wanted
    assert hosts(router.restart(unread=BOTH)) == set()


@pytest.mark.parametrize("obj", [PASSTHROUGH, route("a"), route("a", **EDGE, **identity().tls)], ids=str)
def test_routes_that_are_not_served_stay(obj):
    """As an API server of OpenShift that has not registered them yet, at a restart."""
    router = Router()
    before = router.restart(obj)
    assert router.restart(unread=ALL) == before
    assert router.restart() == router.wanted


def test_an_object_of_which_the_class_is_not_known():
    """It stays; another one of its kind, which is gone, does not."""
    kept, gone = (virtual(route(name, host=f"{name}.example.com", kind=kind))
                  for name, kind in (("kept", "passthrough"), ("gone", "passthrough")))
    plain = virtual(route("plain", host="plain.example.com"))
    router = Router()
    before = router.restart(kept, gone, plain)
    undecided = frozenset({("Ingress", kept.origin.key), ("Ingress", plain.origin.key)})
    after = router.restart(undecided=undecided)
    assert hosts(after) == {"kept.example.com"}
    rules = {ref for ref, obj in before.items() if isinstance(obj, Rule) and "plain.example.com" in obj.hosts}
    assert rules
    assert rules <= after.keys()
    assert router.apply() == router.wanted


@settings(max_examples=40, deadline=None)
@given(st.lists(strategies.any_routes(), max_size=5, unique_by=lambda obj: obj.key),
       st.sampled_from([BOTH, frozenset({"Ingress"})]))
def test_routes_are_served_beside_what_is_not_known(routes, unread):
    """Nobody's requests go astray: each is answered as before, or as it would be without the unknown ones."""
    router = Router()
    routes = [replace(each, path="") if each.path == "/" else each for each in routes if not each.secrets]
    known = [each for each in routes if each.origin is None or each.origin.kind not in unread]
    before = router.restart(*CLUSTER, *routes)
    after = answers(router.restart(*CLUSTER, *known, unread=unread))
    alone = answers(router.wanted)
    for request, was in answers(before).items():
        assert after[request] in (was, alone[request]), request
    router.apply(*routes)
    assert router.apply() == before == router.wanted
