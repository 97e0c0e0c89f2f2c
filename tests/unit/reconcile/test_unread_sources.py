"""Objects that serve for Ingresses and IngressRoutes stay while these are not known."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired.engine import Engine
from f5router.model.cluster import Key, RouteTLS
from f5router.reconcile.reconciler import Reconciler
from tests import strategies
from tests.builders import Settings, endpoints, identity, route, secret, service, virtual
from tests.unit.desired.test_engine import delta
from tests.unit.plan.test_diff import WILD, answers
from tests.unit.reconcile.test_reconciler import Clock, Faulty, passes

BOTH = frozenset({"Ingress", "IngressRoute"})
CONFIG = Settings(admission=WILD, strict_sni=True)
PODS = (service(), endpoints("10.1.1.1"), service("api"), endpoints("10.1.1.2", service="api"),
        service(namespace="bank"), endpoints("10.1.2.1", namespace="bank"))


class Router:
    """A router, and the device that stays when it restarts."""

    def __init__(self, config=CONFIG):
        self.config, self.device, self.clock = config, Faulty(0), Clock()
        self.device.sender.well = True

    def restart(self, *objects, unread=frozenset()) -> dict:
        """Begin with a cluster; return the objects of the device then."""
        self.device.observe()
        self.reconciler = Reconciler(Engine(self.config), self.device, folder="/Common", clock=self.clock)
        self.reconciler.guard.allow = True
        return self.apply(*PODS, *objects, unread=unread)

    def apply(self, *objects, unread=frozenset()) -> dict:
        self.reconciler.apply(replace(delta(*((obj, True) for obj in objects)), sources_unread=unread))
        self.reconciler.run(full=True)
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
