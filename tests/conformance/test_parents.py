"""Extended tests of what an HTTPRoute names: ports of listeners, and its own rules.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/httproute-named-rule.go,
httproute-invalid-parentref-not-matching-listener-port.go and
httproute-invalid-parentref-section-name-not-matching-port.go, and their manifests.
"""

from tests.conformance.cluster import INFRA, route
from tests.conformance.suite import extended
from tests.conformance.test_core import ACCEPTED, RESOLVED, V1, V2, ready
from tests.gateways import backend, gateway, listener, parent, rule


@extended("HTTPRouteNamedRule")
def test_named_rule(cluster):
    ready(cluster)
    cluster.apply(route("http-named-rules", rule(backend(V1), paths=("/named",), name="named-rule"),
                        rule(backend(V2), paths=("/unnamed",))))
    cluster.wait_route("http-named-rules", ACCEPTED | RESOLVED)
    cluster.wait_answer("/named", V1)
    cluster.wait_answer("/unnamed", V2)


@extended("HTTPRouteInvalidParentRefNotMatchingListenerPort")
def test_parent_without_the_port(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend(V1)), parents=(parent("same-namespace", port=81),)))
    cluster.wait_route("r", {"Accepted": ("False", "NoMatchingParent")} | RESOLVED)
    cluster.wait_attached("same-namespace", http=0)


@extended("HTTPRouteInvalidParentRefSectionNameNotMatchingPort")
def test_section_with_another_port(cluster):
    cluster.apply(gateway("g", listener(), namespace=INFRA),
                  route("r", rule(backend(V1)), parents=(parent("g", sectionName="http", port=81),)))
    cluster.wait_route("r", {"Accepted": ("False", "NoMatchingParent")})
    cluster.wait_attached("g", http=0)
