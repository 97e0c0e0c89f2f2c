"""More routes by delegation than the roots of a namespace may have: a whole router."""

from contextlib import ExitStack

from tests import manifests
from tests.feature.test_same_for_all_kinds import INGRESS_ROUTE, PODS, YOUNG, Site

OLD = "2025-01-01T00:00:00Z"


def test_a_tenant_with_too_many_routes_costs_no_other_one(tmp_path):
    """Objects of the namespace evil grow below the roots of shop, which have a tenant bank, too.

    A Route has the Host of the older root, so that the BIG-IP gets none of the 10,000 routes.
    """
    with ExitStack() as stack:
        site = Site(stack, tmp_path)
        site.serve(
            *manifests.service("evil", "web", pods=tuple(PODS)),
            manifests.route("held", namespace="bank", host="held.example.com", created=OLD),
            *(manifests.ingress_route(
                f"v{at}", *(manifests.forward(f"/e/{at}/{number}", "web") for number in range(1000)),
                namespace="evil") for at in range(11)),
            manifests.ingress_route(
                "older", *(manifests.delegate("/e", f"v{at}", "evil") for at in range(11)),
                fqdn="held.example.com"),
            manifests.ingress_route("small", manifests.forward("/b", "web"), namespace="bank"),
            manifests.ingress_route("younger", manifests.delegate("/e", "v0", "evil"),
                                    manifests.delegate("/b", "small", "bank"),
                                    fqdn="other.example.com", created=YOUNG))
        text = "the roots of namespace shop have more than 10000 routes by delegation to namespace evil"
        assert text in site.reasons(INGRESS_ROUTE, "v10", "evil")
        assert f"not served below root shop/younger: {text}" in site.reasons(INGRESS_ROUTE, "v0", "evil")
        assert site.reasons(INGRESS_ROUTE, "small", "bank") == ""
        assert [site.namespace_of("other.example.com", path) for path in ("/b", "/e/0/1")] == ["bank", ""]
