"""A change costs what it concerns, and leaves what a cluster without a history has."""

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.model.gateway import GATEWAY, HTTP_ROUTE
from tests.examples import examples
from tests.gateways import (
    EVERYWHERE,
    backend,
    gateway,
    grant,
    http_route,
    listener,
    parent,
    redirect,
    rule,
)
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite, certificate

SELECTED = {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}}
GATEWAYS = (
    gateway("web", listener("any"), listener("own", hostname="a.test", namespaces=SELECTED)),
    gateway("web", listener("any", namespaces=EVERYWHERE), listener("wide", hostname="*.test")),
    gateway("web", listener("tls", 443, "HTTPS", hostname="a.test", secret="tls"), listener("own")),
    gateway("web", listener("a"), listener("b")),
    gateway("old", listener("any", namespaces=EVERYWHERE), created="2025-01-01T00:00:00Z"),
)
PARENTS = ((parent("web", namespace="infra"),),
           (parent("web", namespace="infra", sectionName="own"), parent("old", namespace="infra")))
RULES = (rule(backend("v1"), paths=("/a", "/b")), rule(backend("v2"), exact=("/a",)),
         rule(backend("v1", namespace="infra", weight=3), backend("missing"), paths=("/a",)),
         rule(filters=(redirect(hostname="b.test"),)))
namespaces = st.sampled_from(["infra", "shop"])
routes = st.builds(
    http_route, st.sampled_from("pqr"), st.sampled_from(RULES), st.sampled_from(RULES),
    parents=st.sampled_from(PARENTS), namespace=namespaces,
    hostnames=st.sampled_from([(), ("a.test",), ("a.test", "b.test"), ("*.a.test",)]),
    created=st.sampled_from(["2025-06-01T00:00:00Z", "2026-06-01T00:00:00Z"]))
others = st.sampled_from([
    *GATEWAYS, grant("g", "infra", ("HTTPRoute", "shop"), ("", "Service", "")),
    {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}},
    {"kind": "Namespace", "metadata": {"name": "shop"}}])
gone = st.sampled_from([("HTTPRoute", "p"), ("HTTPRoute", "q"), ("Gateway", "web"), ("Gateway", "old"),
                        ("ReferenceGrant", "g")])


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.one_of(routes, others, gone, st.booleans()), min_size=1, max_size=12))
def test_any_order_of_changes_leaves_what_a_new_router_finds(changes):
    """It finds statuses, too, which say who has the front end."""
    site, last, secret = GatewaySite(), {}, None
    for change in changes:
        if isinstance(change, bool):
            secret = certificate() if change else certificate(problem="it is gone")
            site.put(secrets=(secret,))
        elif isinstance(change, tuple):
            last.pop((change[0], "infra", change[1]), None)
            site.put(gone=(change,))
        else:
            metadata = change["metadata"]
            last[change["kind"], metadata.get("namespace", ""), metadata["name"]] = change
            site.put(change)
    new = GatewaySite()
    new.put(*(each | {"status": site.gateway(name)} if kind == GATEWAY else each
              for (kind, _, name), each in last.items()), secrets=(secret,) if secret else ())
    assert site.routes == new.routes
    assert site.source.evaluated.keys() == new.source.evaluated.keys()
    for kind, namespace, name in last:
        if kind == GATEWAY:
            assert site.gateway(name) == new.gateway(name)
        elif kind == HTTP_ROUTE:
            assert site.parents(name, namespace) == new.parents(name, namespace)
            key = Key(namespace, name)
            assert sorted(site.source.routes_of(key)) == sorted(new.source.routes_of(key))


def _site() -> GatewaySite:
    """Three HTTPRoutes, one of them of another namespace."""
    site = GatewaySite(
        gateway("web", listener("any", namespaces=SELECTED),
                listener("tls", 443, "HTTPS", hostname="a.test", secret="certs/tls")),
        grant("tls", "certs", ("Gateway", "infra"), ("", "Secret", "tls")),
        {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}},
        http_route("r", rule(backend("v1")), hostnames=("r.test",)),
        http_route("s", rule(backend("v2")), hostnames=("s.test",)),
        http_route("t", rule(backend("v1", namespace="infra")), hostnames=("t.test",), namespace="shop",
                   parents=PARENTS[0]))
    site.put(secrets=(certificate(namespace="certs"),))
    site.source.take_changed()
    return site


WEB = Key("infra", "web")


@rows(("change", "wanted"), [
    (http_route("r", rule(backend("v2")), hostnames=("r.test",)), {WEB, Key("infra", "r")}),
    (http_route("r", rule(backend("v1")), hostnames=("r.test",)), {Key("infra", "r")}),
    (grant("g", "infra", ("HTTPRoute", "shop"), ("", "Service", "")), {WEB, Key("shop", "t")}),
    (grant("g", "elsewhere", ("HTTPRoute", "shop"), ("", "Service", "")), set()),
    ({"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop", "a": "b"}}}, set()),
    ({"kind": "Namespace", "metadata": {"name": "shop"}}, {WEB, Key("shop", "t")}),
    (certificate(namespace="certs", certificate="renewed"), set()),
    (certificate(namespace="elsewhere"), set()),
    (Key("infra", "v1"), {WEB, Key("infra", "r")}),
    (Key("infra", "unused"), set()),
])
def test_a_change_concerns_only_what_it_changes(change, wanted):
    site = _site()
    before = dict(site.source.evaluated)
    if isinstance(change, dict):
        site.put(change)
    elif isinstance(change, Key):
        site.services.pop(change, None)
        site.source.apply(Delta(services={change: None}))
    else:
        site.put(secrets=(change,))
    assert site.source.has_changed == bool(wanted)
    assert site.source.take_changed() == wanted
    assert site.source.evaluated == before, "the Gateway was not evaluated anew"
    assert not site.source.has_changed
