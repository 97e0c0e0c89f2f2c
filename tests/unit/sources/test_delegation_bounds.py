"""Bounds on the routes that roots of IngressRoutes publish by delegation: whose routes are cut.

Contour has no such bound: nothing of this is upstream's.
"""

import pytest

from f5router.model.cluster import Key
from f5router.sources import settings
from f5router.sources.delegation_graph import NO_ROOT
from tests.unit.sources.contour_objects import (
    LATER,
    OK,
    bad,
    delta,
    entry,
    ingress_route,
    root,
    service,
    source,
    statuses,
)


def cut(roots, tenant):
    return bad(f"the roots of namespace {roots} have more than 2 routes by delegation to namespace {tenant}")


def vertices(*names, match="/a"):
    """Vertices of one route each, and their Service."""
    return [*(ingress_route(name, entry(match, "web")) for name in names),
            *(service(f"{name}/web") for name in {name.split("/")[0] for name in names})]


BOUNDS = {  # two routes for all roots of a namespace by delegation to one namespace
    "roots of another namespace: its youngest one pays, even if all are older than that of the owner": (
        [*(root(entry("/a", to="shop/v"), name=f"evil/{name}", fqdn=f"{name}.example.com", created=created)
           for name, created in (("x", LATER), ("y", ""), ("z", "1"))),
         root(entry("/a", to="v"), created=LATER), *vertices("shop/v")],
        {"evil/x": OK, "evil/y": OK, "evil/z": OK, "shop/root": OK, "shop/v": OK},
        ["www", "y", "z"]),
    "an older root of others has nothing left for an object: it does not decide about the status": (
        [root(*(entry("/a", to=f"shop/{name}") for name in "uwv"), name="evil/x", created=""),
         root(entry("/a", to="v"), fqdn="own.example.com"), *vertices("shop/u", "shop/w", "shop/v")],
        {"evil/x": OK, "shop/root": OK, "shop/u": OK, "shop/v": OK, "shop/w": OK}, ["own", "www"]),
    "a tenant who grows: no other one below the same root pays": (
        [root(*(entry("/a", to=f"evil/{name}") for name in "abc"), entry("/a/b", to="bank/v")),
         *vertices("evil/a", "evil/b", "evil/c"), *vertices("bank/v", match="/a/b")],
        {"shop/root": OK, "evil/a": OK, "evil/b": OK, "evil/c": cut("shop", "evil"), "bank/v": OK},
        ["www", "www"]),
    "a tenant who delegates to others pays for them, who stay where they have a delegation of their own": (
        [root(entry("/", to="evil/all"), entry("/a", to="bank/v")),
         ingress_route("evil/all", *(entry("/", to=f"bank/{name}") for name in "xyzv")),
         *vertices("bank/v", "bank/x", "bank/y", "bank/z")],
        {"shop/root": OK, "evil/all": OK, "bank/v": OK, "bank/x": OK, "bank/y": OK,
         "bank/z": cut("shop", "evil")}, ["www"]),
    "a tenant with too many prefixes for another one": (
        [root(entry("/", to="evil/all"), entry("/a/s", to="bank/v")),
         ingress_route("evil/all", *(entry("/a" + "/x" * at, to="bank/v") for at in range(1, 21))),
         *vertices("bank/v", match="/a/s")],
        {"shop/root": OK, "evil/all": OK,
         "bank/v": bad('the path prefix "/a/s" does not match the parent\'s path prefix "/a/x"')}, ["www"]),
    "an object counts once with all prefixes, one that is too large leaves room for smaller ones": (
        [root(entry("/", to="v"), entry("/a", to="v"), entry("/a", to="large"), entry("/a", to="w")),
         *vertices("shop/v", "shop/w"), ingress_route("large", entry("/a", "web"), entry("/a/b", "web"))],
        {"shop/root": OK, "shop/v": OK, "shop/w": OK, "shop/large": cut("shop", "shop")}, ["www"]),
    "routes of the roots themselves do not count": (
        [root(*(entry(f"/{name}", "web") for name in "abcd")), *vertices("shop/v")],
        {"shop/root": OK, "shop/v": ("orphaned", NO_ROOT)}, ["www"] * 4),
}


@pytest.mark.parametrize("case", BOUNDS.values(), ids=BOUNDS.keys())
def test_bounds_of_routes_by_delegation(case):
    """The bound is for each pair of a namespace of roots and one that it delegates to."""
    objects, expected, hosts = case
    loaded, routes = source(*objects, most_routes=2)
    assert statuses(loaded) == expected
    assert sorted(host.partition(".")[0] for host, _ in routes) == hosts


def test_the_bound_of_routes_by_delegation():
    """An object beyond it has an Event where an older root has what is left."""
    given = [root(entry("/a", to="shop/v"), name=f"evil/{name}", fqdn=f"{name}.example.com")
             for name in "xyz"]
    loaded, routes = source(*given, *vertices("shop/v"), most_routes=2)
    reason = f"not served below root evil/z: {cut('evil', 'shop')[1]}"
    assert loaded.warnings(Key("shop", "v")) == (reason,)
    assert [host for host, _ in routes] == ["x.example.com", "y.example.com"]
    changes = loaded.apply(delta(gone=[given[0]]))
    assert loaded.warnings(Key("shop", "v")) == ()
    assert [route and route.host for route in changes.values()] == [None, "z.example.com"]
    older = root(entry("/a", to="shop/v"), name="evil/w", fqdn="w.example.com", created="")
    changes = loaded.apply(delta(older))
    assert sorted(route.host if route else "" for route in changes.values()) == ["", "w.example.com"]


def test_100_roots_of_an_object_of_1000_routes():
    """A hundred small objects make a bounded number of Routes, and cost no checks beyond it."""
    routes = [entry(f"/{number}", "web") for number in range(1000)]
    loaded, all_routes = source(service(), ingress_route("v", *routes), *(
        root(entry("/", to="shop/v"), name=f"evil/{number}", fqdn=f"x{number}.example.com")
        for number in range(100)))
    assert len(all_routes) == settings.MOST_ROUTES
    asked = []
    loaded.entries = lambda key, entries=loaded.entries: asked.append(key) or entries(key)
    loaded.apply(delta(ingress_route("v", *routes[1:])))
    assert asked.count(Key("shop", "v")) < 10 * 1000 + 100
