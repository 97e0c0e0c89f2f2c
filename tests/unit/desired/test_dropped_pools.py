"""Pools that no Route wants any more: what is known of them, also after a restart."""

from dataclasses import replace

import pytest

from f5router.admission.certificates import CheckQueue
from f5router.desired.engine import Engine
from f5router.desired.pools import PoolKey
from f5router.model import names, tls_names
from f5router.model.cluster import Backend, Key, Route
from f5router.model.delta import Delta
from f5router.model.ltm import Pool, PoolMember
from f5router.model.route_options import RouteOptions
from tests.builders import FACTS, Settings, endpoints, route, service
from tests.unit.desired.test_engine import delta

LONG = "x" * 63
SHARED = PoolKey(Key("shop", "web"), "", "")
TIMEOUT = RouteOptions(timeout_ms=5000)
OWN = {"route": "a"}
TWO = {"weight": 50, "alternates": (Backend("canary", 50),)}
LISTED = {"options": RouteOptions(sources=("10.0.0.1/32",))}
LONG_NAMES = {"service": Key(LONG, LONG), "port": "8080"}
LONG_ROUTE = {"service": LONG, "target_port": "8080"}
PODS = {"web": "10.1.1.1", "canary": "10.1.2.1", LONG: "10.1.3.1"}


def cluster_with(*routes: Route, namespace: str, checks: CheckQueue | None = None) -> Engine:
    engine = Engine(Settings(), checks)
    engine.set_facts(FACTS)
    engine.apply(delta(*((obj, True) for obj in routes), *(
        (obj, True) for name, address in PODS.items()
        for obj in (service(name, namespace=namespace),
                    endpoints(address, service=name, namespace=namespace)))))
    return engine


def observed(key: PoolKey) -> Pool:
    """A pool that an earlier router left, with a member whose pod is gone."""
    members = frozenset(PoolMember(address, 8080) for address in ("10.9.9.9", PODS["canary"]))
    return Pool(names.pool("/Common", *key), "", members)


def services_of(engine: Engine, pool: Pool) -> set[str]:
    """Names of the Services whose pods are members, and addresses of no pod."""
    by_address = {address: name for name, address in PODS.items()}
    return {by_address.get(member.address, member.address) for member in engine.members(pool)}


@pytest.mark.parametrize(("key", "present", "services"), [
    pytest.param({}, {}, {"web"}, id="shared"),
    pytest.param({}, None, {"web"}, id="shared, without Routes"),
    pytest.param(OWN, {}, {"web"}, id="own, without options now"),
    pytest.param(OWN | {"ending": names.LIMITED}, {"options": TIMEOUT}, {"web"}, id="own, no list now"),
    pytest.param(OWN | {"ending": names.RATED}, {"options": TIMEOUT}, {"web"}, id="own, without rates now"),
    pytest.param(OWN, LISTED, {"web"}, id="own, with a limit now"),
    pytest.param(OWN | {"tls": "0" * 16, "port": "http"}, {}, {"web"}, id="own, other port and TLS"),
    pytest.param(OWN, TWO | LISTED, {"web", "canary"}, id="two Services"),
    pytest.param(OWN, {"service": "canary"}, {"web"}, id="another Service now"),
    pytest.param(OWN, None, {"canary"}, id="own, its Route is gone: pods that are there stay"),
    pytest.param(OWN | LONG_NAMES, LONG_ROUTE, {LONG}, id="shortened name"),
    pytest.param(OWN | LONG_NAMES | {"ending": names.LIMITED}, LONG_ROUTE, {LONG},
                 id="shortened name, without a limit now"),
    pytest.param(OWN | LONG_NAMES | {"ending": names.RATED}, LONG_ROUTE, {LONG},
                 id="shortened name, without rates now"),
    pytest.param(OWN | LONG_NAMES | {"tls": "0" * 16}, LONG_ROUTE, {"canary"},
                 id="shortened name with other TLS: pods that are there stay"),
    pytest.param(OWN | LONG_NAMES | {"tls": tls_names.pod_tls_by_service((LONG, "canary"), LONG)},
                 LONG_ROUTE | TWO | LISTED, {LONG, "canary"}, id="shortened name, TLS by Service"),
])
def test_a_pool_from_before_a_restart(key, present, services):
    """Its members follow the Services that its name or its Route shows."""
    full = PoolKey(**({"service": Key("shop", "web"), "port": "", "tls": ""} | key))
    namespace = full.service.namespace
    routes = [] if present is None else [replace(route("a", namespace=namespace), **present)]
    engine, pool = cluster_with(*routes, namespace=namespace), observed(full)
    engine.set_dropped_pools({pool.ref} - engine.objects.keys())
    assert services_of(engine, pool) == services


def test_a_pool_of_a_route_whose_certificate_is_not_checked():
    own = replace(route("a", kind="edge", certificate="PEM"), options=TIMEOUT)
    engine = cluster_with(own, namespace="shop", checks=CheckQueue(at_once_s=0.0, clock=lambda: 0.0))
    pool = observed(PoolKey(Key("shop", "web"), "", "", "a"))
    assert engine.pending(own.key)
    engine.set_dropped_pools({pool.ref})
    assert services_of(engine, pool) == {"web"}


def test_a_pool_is_forgotten_when_it_is_gone_or_wanted_again():
    """Each known pool costs memory, and a look at each change of its Services."""
    web, own = Key("shop", "web"), replace(route("a"), options=TIMEOUT)
    engine = cluster_with(own, namespace="shop")
    ref = next(ref for ref in engine.objects if ref.path == names.pool("/Common", web, "", "", "a"))
    drop = Delta(routes={own.key: None})
    for forget in (lambda: engine.forget_pool(ref), lambda: engine.set_dropped_pools(()),
                   lambda: engine.apply(Delta(routes={own.key: own}))):
        engine.apply(Delta(routes={own.key: own}))
        assert list(engine.dropped_pools(web)) == []
        engine.apply(drop)
        assert list(engine.dropped_pools(web)) == [ref]
        forget()
        assert list(engine.dropped_pools(web)) == []


def test_a_dropped_pool_keeps_its_services():
    """The pool has those of the version that wanted it last, whatever its Route names now."""
    two = replace(route("a"), **TWO)
    engine = cluster_with(two, namespace="shop")
    pool = next(obj for obj in engine.objects.values() if isinstance(obj, Pool) and len(obj.members) == 2)
    engine.apply(Delta(routes={two.key: replace(route("a"), **LISTED)}))
    assert pool.ref not in engine.objects
    assert services_of(engine, pool) == {"web", "canary"}
    for name in ("web", "canary"):
        assert list(engine.dropped_pools(Key("shop", name))) == [pool.ref]


@pytest.mark.parametrize(("numbers", "services"), [((0, 0), {"web"}), ((2, 1), {"canary"})],
                         ids=["all equal", "in an order of their own"])
def test_a_pool_whose_numbers_nothing_shows(numbers, services):
    """Where its members had some, they keep them: only those whose pods are gone leave."""
    engine = cluster_with(namespace="shop")
    addresses = sorted(member.address for member in observed(SHARED).members)
    pool = replace(observed(SHARED), members=frozenset(
        PoolMember(address, 8080, priority_group=number)
        for address, number in zip(addresses, numbers, strict=True)))
    engine.set_dropped_pools({pool.ref})
    assert services_of(engine, pool) == services
