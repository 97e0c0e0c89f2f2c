"""Statuses and Routes of IngressRoutes, and that a change gives what the whole cluster gives."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.model.cluster import Key, PathMatch
from f5router.sources import delegation_walk
from tests.examples import examples
from tests.unit.sources.contour_objects import (
    HOST,
    LATER,
    OK,
    Source,
    bad,
    delegation,
    delta,
    entry,
    ingress_route,
    root,
    secret,
    service,
    service_of,
    source,
    statuses,
)

WEB = service()


def test_root_namespaces():
    """A root outside of them has no effect, and does not take the host of another one down.

    The former is in projectcontour/contour v1.5.1, internal/dag/status_test.go; there it takes the host down.
    """
    ingress_routes, routes = source(WEB, root(entry("/", "web")), root(entry("/", "web"), name="bad/other"),
                          root_namespaces=frozenset({"shop"}))
    assert statuses(ingress_routes) == {
        "shop/root": OK, "bad/other": bad("root IngressRoute cannot be defined in this namespace")}
    assert list(routes) == [(HOST, "")]


@pytest.mark.parametrize(("name", "annotations", "taken"), [
    ("", {}, True),
    ("", {"contour.heptio.com/ingress.class": "contour"}, True),
    ("", {"contour.heptio.com/ingress.class": ""}, True),
    ("", {"contour.heptio.com/ingress.class": "f5"}, False),
    ("f5", {}, False),
    ("f5", {"kubernetes.io/ingress.class": "f5"}, True),
    ("f5", {"kubernetes.io/ingress.class": "f5", "projectcontour.io/ingress.class": "x"}, False),
])
def test_classes(name, annotations, taken):
    """Source: projectcontour/contour v1.5.1, internal/annotation/annotations_test.go."""
    ingress_routes, _ = source(WEB, root(entry("/", "web"), annotations=annotations), ingress_class=name)
    assert (ingress_routes.status(Key("shop", "root")) is not None) == taken


def test_route_of_an_entry():
    """The Route has the age of its root, and the certificate, redirect and version of TLS of it."""
    ingress_routes, routes = source(
        service("bank/pay", 8443), secret(),
        root(entry("/pay", to="bank/v"), fqdn="WWW.example.com",
             tls={"secretName": "tls", "minimumProtocolVersion": "1.2"}),
        ingress_route("bank/v", entry("/pay", "pay:8443"),
                      entry("/pay/plain", "pay:8443", permitInsecure=True), created="2020-01-01T00:00:00Z"))
    route, plain = routes[HOST, "/pay"], routes[HOST, "/pay/plain"]
    assert (route.key.namespace, route.uid, route.created) == ("bank", "uid-root", "2026-01-01T00:00:00Z")
    assert route.claim_namespace == "shop"
    assert route.origin.key == Key("bank", "v")
    assert (route.path_match, route.service, route.target_port) == (PathMatch.TEXT, "pay", "http")
    assert (route.tls.termination, route.tls.insecure_policy, route.redirect_status) == (
        "edge", "Redirect", 301)
    assert route.secret == Key("shop", "tls")
    assert route.minimum_tls == "1.2"
    assert plain.tls.insecure_policy == "Allow"
    assert ingress_routes.roots(Key("bank", "v")) == [Key("shop", "root")]


def test_passthrough_and_plain_routes():
    """Routes beside a tcpproxy are for port 80, without a redirect, as its Host's TLS is not ended."""
    _made, routes = source(WEB, root(entry("/a", "web"), tls={"passthrough": True},
                                    tcpproxy={"services": [service_of("web")]}))
    assert routes[HOST, ""].tls.termination == "passthrough"
    assert routes[HOST, "/a"].tls is None


def test_what_has_no_effect_in_a_tcpproxy():
    asking = service_of("web", validation={"caSecret": "ca", "subjectName": "a.b"}, healthCheck={"path": "/"})
    ingress_routes, _ = source(WEB, root(tls={"passthrough": True}, tcpproxy={"services": [asking]}))
    assert ingress_routes.warnings(Key("shop", "root")) == (
        "tcpproxy: healthCheck has no effect: the pods are not asked over HTTP",
        "tcpproxy: validation has no effect: it is for clients to verify the pods")


def test_the_later_entry_of_a_match_counts():
    ingress_routes, routes = source(
        service("shop/web", 80, 81, 82, 83),
        root(entry("/a", "web:80"), entry("/a", to="v"), entry("/b", to="v"), entry("/a", to="w")),
        ingress_route("v", entry("/a", "web:81")), ingress_route("w", entry("/a", "web:82"),
                                                                 entry("/a", "web:83")))
    assert routes[HOST, "/a"].target_port == "p83"
    assert ingress_routes.warnings(Key("shop", "w")) == (
        'route "/a": not served: another entry of IngressRoute shop/w has the same match and comes later',)


def test_warnings():
    ingress_routes, _ = source(
        WEB, root(entry("/a", to="bank/v"), entry("/b", "web", retryPolicy={"count": 2})))
    assert ingress_routes.warnings(Key("shop", "root")) == (
        'route "/a": delegates to IngressRoute bank/v, which does not exist',
        'route "/b": retryPolicy has no effect: a request is sent once')


def test_warnings_of_younger_roots_come_last():
    """Roots that anybody adds do not drive out those of the first one."""
    ingress_routes, _ = source(
        WEB, service("aaa/web"), root(entry("/v", to="v")),
        ingress_route("v", entry("/v", "web"), entry("/v/x")),
        root(entry("/v", to="shop/v"), entry("/v", "web"), name="aaa/r", fqdn="a.example.com", created=LATER),
        root(entry("/b", to="shop/v"), name="aaa/s", fqdn="b.example.com", created=LATER))
    assert ingress_routes.warnings(Key("shop", "v")) == (
        'route "/v/x": neither services nor delegate: it serves nothing',
        'route "/v": not served: another entry of IngressRoute aaa/r has the same match and comes later',
        'not served below root aaa/s: the path prefix "/v" does not match the parent\'s path prefix "/b"')


def test_pods_with_tls_below_a_root_without():
    """They are asked over TLS, as by Contour, also beside a tcpproxy; others are not."""
    pods = service("shop/pods", 443, upstream_protocol="tls")
    for more in ({}, {"tls": {"passthrough": True}, "tcpproxy": {"services": [service_of("pods:443")]}}):
        ingress_routes, routes = source(WEB, pods, root(entry("/a", "pods:443"), entry("/b", "web"), **more))
        asked = {path: (routes[HOST, path].tls, routes[HOST, path].pods_speak_tls) for path in ("/a", "/b")}
        assert asked == {"/a": (None, True), "/b": (None, False)}
        assert ingress_routes.warnings(Key("shop", "root")) == ()
    assert not routes[HOST, ""].pods_speak_tls


def test_validation_below_a_root_without_tls():
    """Its authorities verify the pods, as below a root with TLS."""
    pods = service("shop/pods", 443, upstream_protocol="tls")
    asking = entry("/a", service_of("pods:443", validation={"caSecret": "ca", "subjectName": "a.b"}))
    for more, secrets in (({}, ("ca",)), ({"tls": {"secretName": "tls"}}, ("tls", "ca"))):
        _, routes = source(pods, secret(), root(asking, **more))
        assert routes[HOST, "/a"].secrets == tuple(Key("shop", name) for name in secrets)
        assert routes[HOST, "/a"].pod_authority.names == (("pods", "a.b"),)
        assert not routes[HOST, "/a"].option_refusal


def test_prefixes_of_one_object():
    """Two objects of N routes must not cost N * N checks: the first prefixes of one object count."""
    prefixes = ["/a" * number for number in range(1, 101)]
    loaded, _ = source(WEB, root(*(entry(prefix, to="v") for prefix in prefixes)),
                       ingress_route("v", entry(prefixes[-1] + "/x", "web")))
    errors = list(loaded.graphs[Key("shop", "root")].visits.values())
    assert sum(not error for error in errors) <= 17
    assert statuses(loaded)["shop/v"][0] == "invalid"


def test_the_oldest_root_of_an_fqdn():
    """A younger one changes no other status, whatever its name; here without ownership of namespaces."""
    mine = root(entry("/", "web"), name="n/mine", created="2026-01-02T00:00:00Z")
    loaded, routes = source(service("n/web"), mine, ownership=False)
    loaded.take_changed()
    younger = [root(entry("/", "web"), name=f"{space}/r", created=f"2026-01-{day}T00:00:00Z")
               for space, day in (("a", "03"), ("z", "04"))]
    loaded.apply(delta(*younger))
    assert loaded.take_changed() == {each.key for each in younger}
    assert statuses(loaded) == {"n/mine": OK, **{
        f"{space}/r": bad(f'fqdn "{HOST}" is used in multiple IngressRoutes: {names}')
        for space, names in (("a", "a/r, one in another namespace"), ("z", "z/r, one in another namespace"))}}
    loaded.apply(delta(gone=[mine]))
    assert loaded.take_changed() == {mine.key, younger[0].key}
    assert loaded.status(younger[0].key).description.startswith("Service [web:80]")
    loaded.apply(delta(mine, gone=[younger[0]]))
    assert statuses(loaded) == {"n/mine": OK, "z/r": bad(
        f'fqdn "{HOST}" is used in multiple IngressRoutes: z/r, one in another namespace')}
    assert [route.path for route in routes.values()] == [""]


def test_a_long_chain_and_a_lattice():
    """A chain has a limit; a lattice of 60 levels has 2^60 paths, and costs its edges."""
    chain = [ingress_route(f"v{number}", entry("/", to=f"v{number + 1}")) for number in range(300)]
    ingress_routes, _ = source(root(entry("/", to="v0")), *chain)
    last = Key("shop", f"v{delegation_walk.MOST_DEPTH - 2}")
    assert ingress_routes.status(last).description == (
        f"more than {delegation_walk.MOST_DEPTH} IngressRoutes delegate one to another")
    assert ingress_routes.status(Key("shop", "v200")).current == "valid"
    lattice = [ingress_route(f"{side}{level}", *(entry("/", to=f"{to}{level + 1}") for to in "ab"))
               for level in range(60) for side in "ab"]
    ingress_routes, routes = source(WEB, root(entry("/", to="a0"), entry("/", to="b0")), *lattice,
                          ingress_route("a60", entry("/", "web")), ingress_route("b60", entry("/x", "web")))
    assert {path for _, path in routes} == {"", "/x"}


def test_a_root_of_5000():
    """A change of one vertex changes its Route alone, and a bad one costs the others nothing."""
    groups = [ingress_route(f"g{group}", *(entry(f"/{group}/{number}", to=f"v{group}-{number}")
                                           for number in range(1000))) for group in range(5)]
    vertices = [ingress_route(f"v{group}-{number}", entry(f"/{group}/{number}", "web"))
                for group in range(5) for number in range(1000)]
    loaded, routes = source(WEB, root(*(entry(f"/{group}", to=f"g{group}") for group in range(5))),
                            *groups, *vertices)
    assert len(routes) == 5000
    loaded.take_changed()
    assert len(loaded.apply(delta(ingress_route("v1-1", entry("/1/1", "gone"))))) == 1
    assert loaded.take_changed() == {Key("shop", "v1-1")}
    assert loaded.status(Key("shop", "v1-1")).current == "invalid"
    assert loaded.status(Key("shop", "v1-2")).current == "valid"


def test_a_target_that_is_no_root_any_more():
    """An object that delegated to a root becomes valid when the target becomes a vertex."""
    other = root(entry("/", "web"), name="other", fqdn="other.example.com")
    loaded, _ = source(WEB, root(entry("/", to="other")), other)
    assert loaded.status(Key("shop", "root")).description == delegation_walk.TO_ROOT
    loaded.take_changed()
    loaded.apply(delta(ingress_route("other", entry("/", "web"))))
    assert statuses(loaded) == {"shop/root": OK, "shop/other": OK}
    assert loaded.take_changed() == {Key("shop", "root"), Key("shop", "other")}


def test_services_and_secrets_come_and_go():
    ingress_routes, routes = source(root(entry("/", "web"), tls={"secretName": "tls"}))
    key = Key("shop", "root")
    assert ingress_routes.status(key).current == "invalid"
    assert not routes
    [user] = ingress_routes.take_secret_users().values()
    assert user.tls_secret == Key("shop", "tls")
    [route] = ingress_routes.apply(delta(WEB)).values()
    assert ingress_routes.take_changed() == {key}
    assert ingress_routes.status(key).current == "valid"
    assert ingress_routes.apply(delta(service("shop/web", 80, 81))) == {}
    assert ingress_routes.apply(delta(secret(certificate=""))) == {route.key: None}
    assert ingress_routes.take_changed() == {key}
    assert ingress_routes.apply(delta(secret())) == {route.key: route}
    assert ingress_routes.apply(delta(gone=[root()])) == {route.key: None}
    assert ingress_routes.status(key) is None
    assert list(ingress_routes.take_secret_users().values()) == [None]


def test_delegations_and_vertices_come_and_go():
    given = root(entry("/a", to="v"), tls={"secretName": "bank/tls"})
    ingress_routes, _ = source(WEB, given)
    key, vertex = Key("shop", "root"), ingress_route("v", entry("/a", "web"))
    ingress_routes.take_changed()
    assert ingress_routes.apply(delta(delegation("bank", "tls", "shop"))) == {}
    assert ingress_routes.take_changed() == {key}
    assert ingress_routes.status(key).current == "valid"
    assert len(ingress_routes.warnings(key)) == 1
    [(name, route)] = ingress_routes.apply(delta(vertex)).items()
    assert ingress_routes.take_changed() == {key, vertex.key}
    assert ingress_routes.warnings(key) == ()
    later = root(entry("/a", to="v"), tls={"secretName": "bank/tls"}, created="2026-02-01T00:00:00Z")
    assert ingress_routes.apply(delta(later))[name].created == later.created
    changed = ingress_routes.apply(delta(ingress_route("v", entry("/a/b", "web"))))
    assert changed.pop(name) is None
    assert [route.path for route in changed.values()] == ["/a/b"]
    ingress_routes.take_changed()
    ingress_routes.apply(delta(gone=[vertex]))
    assert ingress_routes.take_changed() == {key, vertex.key}
    assert ingress_routes.apply(delta(vertex)) == {name: replace(route, created=later.created)}


NAMES = st.sampled_from(["a", "b", "c", "d", "bank/e"])
MATCHES = st.sampled_from(["/", "/a", "/a/b", "/ab"])
ENTRIES = st.builds(
    lambda match, to, port: entry(match, to=to) if to else entry(match, f"web:{port}"),
    MATCHES, st.one_of(st.none(), NAMES), st.sampled_from([80, 80, 81]))
OBJECTS = st.one_of(
    st.builds(lambda name, routes, fqdn, tls, created: ingress_route(
        name, *routes, fqdn=fqdn, tls=tls, created=created), NAMES,
              st.lists(ENTRIES, max_size=3), st.sampled_from([None, None, HOST, "other.example.com"]),
              st.sampled_from([None, {"secretName": "tls"}, {"secretName": "bank/tls"}]),
              st.sampled_from([LATER, "2026-01-01T00:00:00Z"])),
    st.sampled_from([service("shop/web", 80), service("shop/web", 80, 81), service("bank/web", 80),
                     secret("shop/tls"), secret("shop/tls", certificate=""), secret("bank/tls"),
                     delegation("bank", "tls", "shop"), delegation("bank", "tls", "other")]))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(OBJECTS, st.booleans()), max_size=14), st.booleans(),
       st.sampled_from([1, 3, 10_000]))
def test_changes_give_what_the_whole_cluster_gives(events, ownership, most_routes):
    ingress_routes, routes, known = Source(ownership=ownership, most_routes=most_routes), {}, {}
    told = {}
    for obj, deleted in events:
        pair = type(obj), obj.key
        known.pop(pair, None)
        if not deleted:
            known[pair] = obj
        routes |= ingress_routes.apply(delta(*([] if deleted else [obj]), gone=[obj] if deleted else []))
        told |= {key: (ingress_routes.status(key), ingress_routes.warnings(key))
                 for key in ingress_routes.take_changed()}
    whole = Source(ownership=ownership, most_routes=most_routes)
    expected = whole.apply(delta(*known.values()))
    assert {key: route for key, route in routes.items() if route is not None} == expected
    assert {key: value for key, value in told.items() if value[0] is not None} == {
        key: (whole.status(key), whole.warnings(key)) for key in whole.objects}
