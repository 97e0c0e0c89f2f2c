"""Claims of Routes, Ingresses and IngressRoutes to the same Hosts."""

from dataclasses import replace

import pytest

from f5router.admission import admission, host_claims
from f5router.admission.admission import AdmissionPolicy, Naming
from f5router.kube.api import decode_ingress
from f5router.model import names
from f5router.model.cluster import Key, PathMatch, RouteTLS
from f5router.model.ingress import TERMINATION
from f5router.sources import ingress_conversion
from tests import manifests
from tests.builders import Identity, route, secret, virtual
from tests.unit.sources.contour_objects import entry, ingress_route, service, source

ROOT = Key("shop", "root")
EXACT, TEXT = PathMatch.EXACT, PathMatch.TEXT
HOST = "www.example.com"


def root_of(name, *routes, created="2000-01-01T00:00:00Z", **more):
    return ingress_route(name, *routes, fqdn=HOST, created=created, **more)


def verdicts(*routes, ownership=True):
    checked = [admission.check(each, AdmissionPolicy(wildcards=True)) for each in routes]
    results = host_claims.resolve(checked, ownership=ownership).verdicts
    return [results[each.key] and results[each.key].message for each in routes]


def held(*routes, ownership=True):
    return [message is None for message in verdicts(*routes, ownership=ownership)]


@pytest.mark.parametrize(("older", "younger", "message"), [
    pytest.param(route("a"), virtual(route("b", age=1)),
                 "spec.rules[0].host: route a already exposes www.example.com and is older",
                 id="Route, Ingress"),
    pytest.param(virtual(route("a")), route("b", age=1),
                 "spec.host: ingress a already exposes www.example.com and is older", id="Ingress, Route"),
    pytest.param(virtual(route("a"), "IngressRoute"), virtual(route("a", age=1)),
                 "spec.rules[0].host: ingressroute a already exposes www.example.com and is older",
                 id="IngressRoute, Ingress of the same name"),
    pytest.param(virtual(route("a")), route("b", namespace="bank", path="/b", age=1),
                 "spec.host: an ingress in another namespace holds www.example.com and is older than b",
                 id="Ingress of another namespace"),
    pytest.param(route("a"), virtual(route("b", namespace="bank", age=1)),
                 "spec.rules[0].host: a route in another namespace holds www.example.com and is older than b",
                 id="Route of another namespace"),
    pytest.param(virtual(route("v", namespace="bank"), "IngressRoute", root=ROOT), route("b", age=1),
                 "spec.host: an ingressroute in another namespace holds www.example.com and is older than b",
                 id="the own Host, with a path that another namespace serves"),
])
def test_the_oldest_claim_wins_across_kinds(older, younger, message):
    assert verdicts(younger, older) == [message, None]


def vertex(namespace, path, *, root=ROOT, **more):
    return virtual(route("v", namespace=namespace, path=path, **more), "IngressRoute", root=root)


def test_a_host_belongs_to_the_namespace_of_its_root():
    """It may give paths to others, who get no others by that; the root's namespace may have more."""
    given, own, more = vertex("bank", "/v"), vertex("shop", "/"), route("more", path="/more", age=3)
    grab = route("grab", namespace="bank", path="/w", age=1)
    assert held(own, given, grab, more) == [True, True, False, True]
    assert held(given, grab, more) == [True, False, True]


def test_an_older_host_is_not_taken_by_a_delegation():
    mine = route("mine", path="/x")
    assert held(mine, vertex("shop", "/", root=Key("bank", "root"), age=1)) == [True, False]
    assert held(mine, vertex("bank", "/", age=1)) == [True, True]


@pytest.mark.parametrize("mine", [
    pytest.param(route("mine", path="/x"), id="a Route"),
    pytest.param(vertex("shop", "/x"), id="another root"),
])
def test_a_root_that_lost_its_host_takes_no_other_down(mine):
    """Roots of other namespaces compete as Routes do: one that is older than a root, but not than the first
    object of that root's namespace, gets nothing, and costs it nothing."""
    ours = root_of("shop/r", entry("/", "web"), created="2026-01-04T00:00:00Z")
    theirs = root_of("bank/r", entry("/", "web"), created="2026-01-03T00:00:00Z")
    loaded, _ = source(service("shop/web"), service("bank/web"), theirs, ours)
    assert {graph.objects[key] for key, graph in loaded.graphs.items()} == {""}
    virtual_routes = [loaded.graphs[each.key].routes.values() for each in (theirs, ours)]
    claims = [mine, *(next(iter(routes)) for routes in virtual_routes)]
    assert held(*claims) == [True, False, True]
    assert verdicts(*claims)[1] == (
        f"spec.virtualhost.fqdn: {_THEY[mine.subject.kind]} in another namespace holds {HOST} and is older "
        "than r")


_THEY = {"Route": "a route", "IngressRoute": "an ingressroute"}


def test_a_wildcard_is_lost_to_hosts_of_other_roots_only():
    given = vertex("bank", "/", host="a.x.y")
    assert held(given, route("w", host="any.x.y", wildcard=True, age=1)) == [True, True]
    assert held(given, route("w", host="any.x.y", wildcard=True, namespace="bank", age=1)) == [True, False]


@pytest.mark.parametrize(("first", "second", "rivals"), [
    (("/a", EXACT), ("/a", TEXT), False), (("/a", EXACT), ("/a", EXACT), True),
    (("/a", TEXT), ("/a", PathMatch.SEGMENTS), True), (("", EXACT), ("/", EXACT), True),
    (("", PathMatch.SEGMENTS), ("/", PathMatch.SEGMENTS), False)])
def test_rivals_for_a_path(first, second, rivals):
    claims = [replace(virtual(route(name, path=path, age=number)), path_match=match)
              for number, (name, (path, match)) in enumerate((("a", first), ("b", second)))]
    assert held(*claims, ownership=False) == [True, not rivals]


def test_the_log_names_the_holder():
    checked = [admission.check(each, AdmissionPolicy()) for each in (
        virtual(route("a")), route("b", age=1, namespace="bank"))]
    rejection = host_claims.resolve(checked, ownership=True).verdicts[Key("bank", "b")]
    assert names.label(rejection.holder) == "Ingress shop/a"
    assert "shop" not in rejection.message


@pytest.mark.parametrize(("override", "host", "expected"), [
    (True, "w.d", "a-shop.apps"), (False, "", "a-shop.apps"), (False, "w.d", "w.d")])
def test_a_generated_host_has_the_name_of_the_object(override, host, expected):
    naming = Naming(template="${name}-${namespace}.apps", override=override)
    policy = AdmissionPolicy(naming=naming)
    for each in (virtual(route("a", host=host)),
                 virtual(route("v", host=host, namespace="bank"), "IngressRoute", root=Key("shop", "a"))):
        assert admission.check(each, policy).route.host == expected


@pytest.mark.parametrize(("changes", "message"), [
    ({"path": "a"}, "spec.rules[0].http.paths[0]: 'a' must begin with '/'"),
    ({"service": ""}, "spec.rules[0].http.paths[0]: '' is not the name of a Service"),
    ({"host": "a_b"}, "spec.rules[0].host: 'a_b': "),
])
def test_messages_name_the_field_of_the_object(changes, message):
    rejection = admission.check(virtual(route("a", **changes)), AdmissionPolicy()).rejection
    assert rejection.message.startswith(message)


@pytest.mark.parametrize("unusable", [
    secret(problem="the router may not read tls; oc create role read-tls"), secret(type="Opaque"),
    secret(name="NO NAME"), secret(identity=Identity("no PEM", "no key")), secret()])
def test_a_team_learns_nothing_of_the_secret_of_the_host_it_serves(unusable):
    theirs = replace(vertex("bank", "/v"), tls=RouteTLS("edge"), tls_secret=unusable.key)
    for each in (theirs, replace(theirs, key=Key("bank", names.virtual_route("IngressRoute", "w", "")))):
        rejection = admission.check(each, AdmissionPolicy(), {unusable.key: unusable}).rejection
        assert rejection.message == "spec.rules[0].http.paths[0]: the certificate of the host cannot be used"
        assert str(unusable.key.name) in rejection.claimant_message or "tls.crt" in rejection.claimant_message


def test_problems_of_a_path_beside_those_of_the_secret_of_its_host():
    unusable = secret(identity=Identity("no PEM", "no key"))
    theirs = replace(vertex("bank", "no-slash"), tls=RouteTLS("edge"), tls_secret=unusable.key)
    rejection = admission.check(theirs, AdmissionPolicy(), {unusable.key: unusable}).rejection
    place = "spec.rules[0].http.paths[0]"
    assert rejection.message == (
        f"{place}: 'no-slash' must begin with '/'; {place}: the certificate of the host cannot be used")
    assert rejection.claimant_message.endswith("tls.crt: it is not PEM")
    own = replace(theirs, origin=replace(theirs.origin, claimant=None, tls_field="spec.tls[1].secretName"),
                  tls_secret=Key("bank", "tls"))
    rejection = admission.check(own, AdmissionPolicy(), {own.tls_secret: unusable}).rejection
    assert rejection.message.endswith("; spec.tls[1].secretName: tls.crt: it is not PEM")
    assert not rejection.claimant_message


def test_labels():
    assert names.label(Key("shop", "web")) == "shop/web"
    assert names.label(Key("shop", "web"), "Route") == "Route shop/web"
    assert names.label(virtual(route("a.b")).key, "Route") == "Ingress shop/a.b"
    assert names.label(virtual(route("a"), "IngressRoute").key) == "IngressRoute shop/a"


@pytest.mark.parametrize("objects", [
    pytest.param([root_of("shop/r", entry("/", "none"))], id="no Service"),
    pytest.param([root_of("shop/r", entry("/", to="shop/none"))], id="no target of its delegation"),
    pytest.param([root_of("shop/r", entry("/", "none"), strategy=1)], id="a field of a wrong type"),
    pytest.param([root_of("shop/r", entry("/", "none")),
                  root_of("bank/r", entry("/", "none"), created="2099-01-01T00:00:00Z")], id="a rival"),
])
def test_an_ingressroute_that_is_not_served_keeps_its_host(objects):
    """Not a path of it: other objects of its namespace may serve any."""
    claims = [*source(*objects)[0].holding.values(),
              route("thief", namespace="bank", age=30), route("own", age=31)]
    assert held(*claims)[-2:] == [False, True]


@pytest.mark.parametrize(("paths", "more"), [
    pytest.param([(HOST, "/", "none", 80)], {}, id="no Service"),
    pytest.param([(HOST, "/", "none", 80)], {"annotations": {TERMINATION: "x"}}, id="a termination"),
    pytest.param([(HOST, f"/{number}", "none", 80) for number in range(1001)], {}, id="too many paths"),
])
def test_an_ingress_that_is_not_served_keeps_its_host(paths, more):
    ingress = decode_ingress.ingress(manifests.ingress("site", *paths, **more))
    ingress = replace(ingress, created="2000-01-01T00:00:00Z")
    claims = [*ingress_conversion.convert(ingress, {}).routes.values(),
              route("thief", namespace="bank", age=30), route("own", age=31)]
    assert held(*claims) == [False, False, True]
