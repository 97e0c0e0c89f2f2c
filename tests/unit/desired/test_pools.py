"""Which Routes share a pool, and the members and properties of one that belongs to a Route."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.desired import pools
from f5router.desired.engine import Engine
from f5router.desired.pools import PoolBuilder, PoolKey, PoolSettings, Share, Target
from f5router.model import names, ownership, tls_names
from f5router.model.cluster import Backend, Key, Origin
from f5router.model.delta import Delta
from f5router.model.ltm import PoolMember
from f5router.model.route_options import BalancingDefaults, RouteOptions
from f5router.model.virtual_server import FrontEnd, FrontEndLimits
from f5router.network.pool_members import LeftOut, ServiceEndpoints
from tests.builders import FACTS, Settings, endpoints, route, service

SHARED = PoolSettings()
"""Those of a pool that Routes share."""

WEB, API = Key("shop", "web"), Key("shop", "api")
ALL = PoolKey(WEB, "", "")
OWN = PoolKey(WEB, "", "", "a")


def weighted(port="", **weights):
    """Return the Services of a pool, by name with their weights."""
    return tuple((Target(name, port), weight) for name, weight in weights.items())


def view_of(**addresses):
    """Return a view of Services, made of the addresses of each one's pods."""
    return lambda key: ServiceEndpoints(
        service(key.name), (endpoints(*addresses.get(key.name, ()), service=key.name),))


def built(settings, most=1000, **addresses):
    return PoolBuilder(view_of(**addresses), Settings(max_pool_members=most)).build(OWN, settings)


@pytest.mark.parametrize(("change", "key", "settings"), [
    pytest.param({}, ALL, SHARED, id="nothing asked for"),
    pytest.param({"weight": 100}, ALL, SHARED, id="a single weight"),
    pytest.param({"weight": 0}, OWN, PoolSettings(weighted(web=0)), id="weight 0"),
    pytest.param({"options": RouteOptions(balance="roundrobin")}, ALL, SHARED,
                 id="the default by name"),
    pytest.param({"options": RouteOptions(balance="random")}, ALL, SHARED,
                 id="random is turns"),
    pytest.param({"options": RouteOptions(balance="leastconn")}, OWN,
                 PoolSettings((), "leastconn"), id="leastconn"),
    pytest.param({"options": RouteOptions(balance="source")}, OWN, PoolSettings(persistence="source"),
                 id="source"),
    pytest.param({"options": RouteOptions(disable_cookies=True)}, OWN, PoolSettings(persistence="off"),
                 id="no cookie"),
    pytest.param({"options": RouteOptions(cookie_name="a-b")}, OWN, PoolSettings(persistence="cookie/a-b"),
                 id="name of the cookie"),
    pytest.param({"options": RouteOptions(same_site="Lax")}, OWN, PoolSettings(persistence="cookie//Lax"),
                 id="SameSite"),
    pytest.param({"options": RouteOptions(cookie_name="c", same_site="Strict")}, OWN,
                 PoolSettings(persistence="cookie/c/Strict"), id="name and SameSite"),
    pytest.param({"options": RouteOptions(pod_connections=7)}, OWN, PoolSettings((), "", 7),
                 id="a limit"),
    pytest.param({"weight": 3, "alternates": (Backend("api", 1), Backend("b"))}, OWN,
                 PoolSettings(weighted(web=3, api=1, b=1)), id="alternates"),
    pytest.param({"weight": 3, "alternates": (Backend("api", 1), Backend("api", 300))}, OWN,
                 PoolSettings(weighted(web=3, api=256)), id="the last weight counts"),
    pytest.param({"weight": 3, "alternates": (Backend("web", 0),)}, OWN, PoolSettings(weighted(web=0)),
                 id="spec.to again"),
    pytest.param({"weight": 3, "alternates": (Backend("web", 2),)}, ALL, SHARED,
                 id="spec.to again, with some weight"),
])
def test_of_route(change, key, settings):
    assert pools.of_route(replace(route("a"), **change), "edge", "", BalancingDefaults()) == (key, settings)


@pytest.mark.parametrize(("defaults", "options", "termination", "balance", "source", "shared"), [
    # what the operator set, what the Route has, its termination; the pool
    pytest.param(("leastconn", ""), "", "edge", "leastconn", False, True, id="the default"),
    pytest.param(("leastconn", ""), "roundrobin", "edge", "", False, False, id="another"),
    pytest.param(("leastconn", ""), "", "passthrough", "leastconn", False, True, id="passthrough, too"),
    pytest.param(("leastconn", "source"), "", "passthrough", "leastconn", False, True, id="for new clients"),
    pytest.param(("leastconn", "random"), "", "passthrough", "", False, False, id="passthrough, another"),
    pytest.param(("", ""), "", "passthrough", "", False, True, id="passthrough is source by default"),
    pytest.param(("", ""), "leastconn", "passthrough", "leastconn", False, False, id="leastconn there"),
    pytest.param(("source", ""), "", "edge", "", True, True, id="source is the default"),
    pytest.param(("source", ""), "random", "edge", "", False, False, id="off by one Route"),
    pytest.param(("source", ""), "random", "passthrough", "", True, True, id="passthrough has a record"),
])
def test_defaults_of_the_router(defaults, options, termination, balance, source, shared):
    """A Route shares the pool of its Service if it asks for what the router does by default."""
    asking = replace(route("a"), options=RouteOptions(balance=options))
    key, settings = pools.of_route(asking, termination, "", BalancingDefaults(*defaults))
    assert (settings.balance, settings.persistence == "source", key == ALL) == (balance, source, shared)
    assert shared == (settings == pools.shared(BalancingDefaults(*defaults)))


@pytest.mark.parametrize(("options", "termination", "wanted"), [
    (RouteOptions(), "edge", ALL), (RouteOptions(same_site="Lax"), "edge", ALL),
    (RouteOptions(disable_cookies=True), "edge", OWN), (RouteOptions(session_cookie=True), "edge", OWN),
    (RouteOptions(disable_cookies=True, balance="source"), "edge", OWN),
    (RouteOptions(disable_cookies=True), "passthrough", ALL),
])
def test_pools_of_a_router_without_cookies(options, termination, wanted):
    """A Route that says how its clients stay has a pool of its own."""
    asking = replace(route("a"), options=options)
    assert pools.of_route(asking, termination, "", BalancingDefaults(cookies=False))[0] == wanted


@pytest.mark.parametrize(("annotation", "defaults", "alternates", "http", "tcp"), [
    ("", ("", ""), 0, "random", "source"),
    ("", ("leastconn", ""), 0, "leastconn", "leastconn"),
    ("", ("leastconn", "random"), 0, "leastconn", "random"),
    ("", ("", "roundrobin"), 0, "random", "roundrobin"),
    ("", ("leastconn", ""), 5, "roundrobin", "roundrobin"),
    ("", ("", "source"), 5, "roundrobin", "roundrobin"),
    ("", ("", ""), 5, "roundrobin", "roundrobin"),
    ("source", ("leastconn", "random"), 5, "source", "source"),
])
def test_which_algorithm_applies(annotation, defaults, alternates, http, tcp):
    """The annotation, then several Services, then the router's settings. Source: haproxy-config.template."""
    asking = replace(route("a"), options=RouteOptions(balance=annotation),
                     alternates=(Backend("api", alternates),))
    assert pools.algorithm(asking, "edge", BalancingDefaults(*defaults)) == http
    assert pools.algorithm(asking, "passthrough", BalancingDefaults(*defaults)) == tcp


def test_a_passthrough_route_has_no_pods_of_weight_0():
    two = replace(route("a"), weight=0, alternates=(Backend("api", 5),))
    assert pools.of_route(two, "passthrough", "", BalancingDefaults()) == (OWN, PoolSettings(weighted(api=5)))
    two = replace(route("a"), weight=100, alternates=(Backend("api", 0),))
    assert pools.of_route(two, "passthrough", "", BalancingDefaults()) == (OWN,
                                                                           PoolSettings(weighted(web=100)))
    two = replace(route("a"), weight=0)
    assert pools.of_route(two, "passthrough", "", BalancingDefaults()) == (OWN, PoolSettings(weighted(web=0)))


@pytest.mark.parametrize(("weight", "balance"), [(0, "least-connections-node"), (5, "")])
def test_a_method_without_weights(weight, balance):
    asking = replace(route("a"), alternates=(Backend("api", weight),),
                     options=RouteOptions(balance="least-connections-node"))
    assert pools.of_route(asking, "", "", BalancingDefaults())[1].balance == balance
    assert pools.ignores_weights(asking) == (not balance)


@pytest.mark.parametrize(("balance", "weights", "mode"), [
    ("", (1,), "round-robin"), ("", (3, 1), "ratio-member"), ("", (3, 0), "round-robin"),
    ("leastconn", (1,), "least-connections-member"),
    ("leastconn", (3, 1), "ratio-least-connections-member"),
    ("least-connections-node", (1,), "least-connections-node"),
])
def test_load_balancing(balance, weights, mode):
    services = {f"s{number}": weight for number, weight in enumerate(weights)}
    settings = PoolSettings(weighted(**services), balance)
    assert settings.load_balancing == mode


def test_weights_become_ratios():
    """75 to 25, with one and two pods: each of the two gets a sixth of what the one gets."""
    result = built(PoolSettings(weighted(web=75, api=25)), web=("10.1.1.1",), api=("10.1.2.1", "10.1.2.2"))
    assert result.pool.members == {PoolMember("10.1.1.1", 8080, 6), PoolMember("10.1.2.1", 8080, 1),
                                   PoolMember("10.1.2.2", 8080, 1)}
    assert result.shares == {Target("web", ""): Share(1), Target("api", ""): Share(2)}


def test_each_service_has_a_port_of_its_own():
    """A virtual Route may name one Service with two ports, and weights beyond those of a Route."""
    virtual = replace(route("a"), origin=Origin("IngressRoute", WEB), target_port="http", weight=500,
                      alternates=(Backend("web", 1000, port="admin"), Backend("api", 500, port="")))
    key, settings = pools.of_route(virtual, "", "", BalancingDefaults())
    assert key == PoolKey(WEB, "http", "", "a")
    assert settings.weights == ((Target("web", "http"), 500), (Target("web", "admin"), 1000),
                                (Target("api", ""), 500))
    ports = (("http", 8080), ("admin", 9090))
    pool = PoolBuilder(lambda of: ServiceEndpoints(service(of.name, ports=ports), (
        endpoints(f"10.1.{1 + (of == API)}.1", service=of.name, ports=ports),)), Settings())
    assert pool.build(key, settings).pool.members == {
        PoolMember("10.1.1.1", 8080, 2), PoolMember("10.1.1.1", 9090, 4),
        PoolMember("10.1.2.1", 8080, 1), PoolMember("10.1.2.1", 9090, 1)}


def test_pods_of_weight_0_keep_their_sessions():
    result = built(PoolSettings(weighted(web=0, api=5)), web=("10.1.1.1",), api=("10.1.2.1",))
    assert result.pool.members == {PoolMember("10.1.1.1", 8080, state="disabled"),
                                   PoolMember("10.1.2.1", 8080)}


def test_a_pod_that_ends_loses_its_persistent_clients_too():
    """Unless another Service has it as a ready one."""
    def view(key):
        ready = ("10.1.1.1",) if key.name == "web" else ("10.1.1.2", "10.1.2.1")
        leaving = frozenset({"10.1.1.2", "10.1.1.3"} if key.name == "web" else ())
        return ServiceEndpoints(service(key.name), (
            replace(endpoints(*ready, service=key.name), draining=leaving),))

    pool = PoolBuilder(view, Settings()).build(OWN, PoolSettings(weighted(web=1, api=1))).pool
    assert {member.address: member.state for member in pool.members} == {
        "10.1.1.1": "enabled", "10.1.1.2": "enabled", "10.1.1.3": "forced_offline", "10.1.2.1": "enabled"}


def test_a_pod_of_two_services_has_both_shares():
    """They select the same pod; 3 of 4 go to it by one, and half of the rest by the other."""
    result = built(PoolSettings(weighted(web=3, api=1)), web=("10.1.1.1",), api=("10.1.1.1", "10.1.2.2"))
    assert result.pool.members == {PoolMember("10.1.1.1", 8080, 7), PoolMember("10.1.2.2", 8080, 1)}
    both = built(PoolSettings(weighted(web=0, api=1)), web=("10.1.1.1",), api=("10.1.1.1",))
    assert both.pool.members == {PoolMember("10.1.1.1", 8080)}


def test_members_carry_the_number_of_their_service():
    """By its name, whatever the weights; a pod of two Services has that of the first one with a weight."""
    def groups(*weights, **pods):
        pool = built(PoolSettings(weighted(**dict(weights)), by_service=True), **pods).pool
        return {member.address: member.priority_group for member in pool.members}

    pods = {"web": ("10.1.1.1",), "api": ("10.1.2.1",)}
    assert groups(("web", 1), ("api", 1), **pods) == groups(("api", 0), ("web", 1), **pods) == {
        "10.1.1.1": 2, "10.1.2.1": 1}
    both = {"web": ("10.1.1.1",), "api": ("10.1.1.1",)}
    assert [groups(*weights, **both)["10.1.1.1"] for weights in (
        (("web", 1), ("api", 1)), (("web", 0), ("api", 1)), (("web", 1), ("api", 0)))] == [2, 1, 2]


@pytest.mark.parametrize(("services", "by_service"), [
    pytest.param(("web", "api"), True, id="its Services"), pytest.param(("web", "old"), False, id="others"),
])
def test_the_digest_of_tls_shows_by_which_names(services, by_service):
    asking = replace(route("a", kind="reencrypt"), weight=1, alternates=(Backend("api", 1),))
    tls = tls_names.pod_tls_by_service(services, "shop")
    assert pools.of_route(asking, "reencrypt", tls, BalancingDefaults())[1].by_service == by_service


def test_the_limit_of_connections_is_that_of_each_pod():
    pool = built(PoolSettings((), "", 7), web=("10.1.1.1",)).pool
    assert pool.members == {PoolMember("10.1.1.1", 8080, connection_limit=7)}
    assert pool.queue_ms == 5000
    assert built(PoolSettings(weighted(web=1)), web=("10.1.1.1",)).pool.queue_ms == 0


def test_a_connection_waits_for_a_pod_as_long_as_the_front_end_says():
    front_end = FrontEnd(("203.0.113.10",), "/Common/a", None, limits=FrontEndLimits(queue_ms=2000))
    builder = PoolBuilder(view_of(web=("10.1.1.1",)), Settings(front_ends=(front_end,)))
    assert [builder.build(OWN, PoolSettings(weighted(web=1), connection_limit=most)).pool.queue_ms
            for most in (0, 9)] == [0, 2000]


def test_several_services_share_the_room_of_a_pool():
    pods = {name: tuple(f"10.{number}.1.{last}" for last in range(1, 31))
            for number, name in enumerate(("web", "api"), start=1)}
    result = built(PoolSettings(weighted(web=1, api=1)), most=10, **pods)
    assert [member.address[:4] for member in sorted(result.pool.members)] == ["10.1"] * 5 + ["10.2"] * 5
    assert result.shares == {Target(name, ""): Share(5, LeftOut(total=30)) for name in ("web", "api")}
    alone = built(PoolSettings(weighted(web=1, api=1)), most=30, web=pods["web"])
    assert len(alone.pool.members) == 30


@pytest.mark.parametrize(("web", "api", "most", "sizes"), [
    pytest.param((9, 0), (1, 0), 10, (9, 1), id="all have room"),
    pytest.param((10, 0), (1, 0), 10, (9, 1), id="one pod more"),
    pytest.param((30, 0), (3, 0), 10, (7, 3), id="a small Service keeps all"),
    pytest.param((30, 0), (20, 0), 11, (6, 5), id="large ones have equal parts"),
    pytest.param((8, 2), (2, 9), 10, (8, 2), id="pods that end take no place of others"),
    pytest.param((6, 9), (2, 1), 10, (7, 3), id="pods that end have the rest"),
])
def test_the_room_that_each_service_has(web, api, most, sizes):
    """A Service has so many ready pods, and so many that end."""
    def view(key):
        number, (ready, ending) = (1, web) if key.name == "web" else (2, api)
        pods = [f"10.{number}.1.{last}" for last in range(ready + ending)]
        return ServiceEndpoints(service(key.name), (
            replace(endpoints(*pods[:ready], service=key.name), draining=frozenset(pods[ready:])),))

    members = PoolBuilder(view, Settings(max_pool_members=most)).build(
        OWN, PoolSettings(weighted(web=9, api=0))).pool.members
    assert tuple(sum(member.address.startswith(f"10.{number}.") for member in members)
                 for number in (1, 2)) == sizes


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 50), min_size=1), st.integers(1, 60),
       st.sampled_from("abcd"))
def test_one_more_pod_takes_no_room_away(wanted, most, grown):
    rooms = pools.share_room(wanted, most)
    assert sum(rooms.values()) == min(most, sum(wanted.values()))
    assert all(room <= wanted[name] for name, room in rooms.items())
    after = pools.share_room({**wanted, grown: wanted.get(grown, 0) + 1}, most)
    assert sum(after.values()) >= sum(rooms.values())
    assert all(after[name] >= rooms[name] - 1 for name in rooms)


def test_what_pools_have_in_common_is_computed_once():
    """Thousands of Routes to one Service may each have a pool of their own."""
    seen, view = [], view_of(web=("10.1.1.1", "10.1.1.2"), api=("10.1.2.1",))
    builder = PoolBuilder(lambda key: seen.append(key) or view(key), Settings())
    settings = [PoolSettings(timeout_s=5), PoolSettings(weighted(web=1, api=1)),
                PoolSettings(weighted(web=2, api=1)), PoolSettings((), "", 7), PoolSettings((), "", 8)]
    computed = []
    for number in range(20):
        key = PoolKey(WEB, "", "", f"r{number}")
        for chosen in settings:
            result = builder.build(key, chosen)
            assert result.pool == PoolBuilder(view, Settings()).build(key, chosen).pool
            computed.append(result.computed)
    assert sorted(seen) == [API, WEB]
    assert computed == [2, 3, 3, 2, 2] + 19 * [0, 0, 0, 0, 0]


@given(st.dictionaries(
    st.sampled_from("abcd"), st.tuples(st.integers(0, 256), st.integers(0, 9)), min_size=1))
def test_members_are_what_a_device_takes(services):
    """Each is there once; a pod that gets new clients has a ratio of 1 to 100."""
    settings = PoolSettings(weighted(**{name: weight for name, (weight, _) in services.items()}))
    pods = {name: tuple(f"10.{number}.1.{last}" for last in range(count))
            for number, (name, (_, count)) in enumerate(services.items())}
    members = built(settings, **pods).pool.members
    assert len({member.name for member in members}) == len(members) == sum(
        count for _, count in services.values())
    assert all(1 <= member.ratio <= 100 for member in members)
    for number, (weight, _) in enumerate(services.values()):
        own = [member for member in members if member.address.startswith(f"10.{number}.")]
        assert all(member.state == ("enabled" if weight else "disabled") for member in own)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", "http"]),
                          st.sampled_from(["", "0" * 16]), st.sampled_from(["", "a", "b", "x" * 253])),
                min_size=2, max_size=2, unique=True))
def test_no_two_pools_have_one_name(keys):
    paths = [names.pool("/Common", Key("shop", name), port, tls, own) for name, port, tls, own in keys]
    assert paths[0] != paths[1]
    for (*_, own), path in zip(keys, paths, strict=True):
        assert ownership.owns_path("/Common", "ltm/pool", path)
        assert names.pool_namespace(path) == "shop"
        assert (names.pool_key("/Common", path) is None) == bool(own)
        assert (names.own_pool_key("/Common", path) is None) == (not own)


def test_options_need_no_further_object():
    """A Route that alone uses its Service has one pool, with options or without."""
    def objects(*options: RouteOptions) -> int:
        engine = Engine(Settings())
        engine.set_facts(FACTS)
        routes = [replace(route(f"r{number}", host=f"h{number}.com", service=f"s{number}"),
                          options=options[number % len(options)]) for number in range(40)]
        engine.apply(Delta(routes={obj.key: obj for obj in routes}))
        return len(engine.objects)

    assert objects(RouteOptions()) == objects(
        RouteOptions(), RouteOptions(balance="leastconn"), RouteOptions(pod_connections=5))
