"""Extended tests of BackendTLSPolicies.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/backendtlspolicy.go,
backendtlspolicy-conflict-resolution.go, -invalid-ca-certificate-ref.go, -invalid-kind.go and
-observed-generation-bump.go, and their manifests. A pod whose certificate has another name than the policy
gets no request: the status is 5xx with --tls-health-checks alone, which finds such pods to be down.
"""

from collections.abc import Iterator

import pytest

from tests import manifests
from tests.builders import identity
from tests.conformance.cluster import INFRA, Conformance, route
from tests.conformance.conftest import router
from tests.conformance.suite import extended
from tests.conformance.test_core import ACCEPTED, RESOLVED, ready
from tests.gateways import backend, backend_policy, rule
from tests.traffic.conftest import PODS

NAMES = ("pods.example.com", "other.example.com")
OTHER = identity(NAMES[1], ca="Pod CA", serial=5)
SERVICE = "secure"
REF = {"group": "", "kind": "ConfigMap", "name": "tls-checks-ca-certificate"}
LATE = "2026-01-02T00:00:00Z"
CONFLICTED = {"Accepted": ("False", "Conflicted")}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, tmos_version: str) -> Iterator[Conformance]:
    with router(tmp_path_factory.mktemp("site"), tmos_version, tls_health_checks="true") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def pods(running: Conformance) -> None:
    """A pod with a certificate for each of two ports, of one authority."""
    for port, pair in ((443, PODS), (8443, OTHER)):
        running.site.pod("10.9.7.1", SERVICE, namespace=INFRA, port=port,
                         tls=(pair.certificate.encode(), pair.key.encode()))
    running.apply(*manifests.service(INFRA, SERVICE, pods=("10.9.7.1",),
                                     ports=(("https-1", 443), ("https-2", 8443))))


@pytest.fixture
def prepared(cluster: Conformance, pods: None) -> Conformance:
    """A Gateway, and an HTTPRoute to both ports by paths."""
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": PODS.issuer},
                   "metadata": {"namespace": INFRA, "name": REF["name"]}})
    ready(cluster)
    cluster.apply(route("r", *(rule(backend(SERVICE, port), paths=(f"/{port}",)) for port in (443, 8443))))
    return cluster


def policy(name: str, section: str = "", ref: dict | None = None, hostname: str = NAMES[0], **more) -> dict:
    return backend_policy(name, SERVICE, ref or REF, section=section, hostname=hostname, namespace=INFRA,
                          **more)


@extended("BackendTLSPolicy")
def test_policy(prepared, tmos_version):
    """A pod with the name of the policy answers; one with another name gets no request: status 5xx, where
    health checks can find that: not below TMOS 13.1."""
    prepared.apply(policy("normative-test-backendtlspolicy"))
    prepared.wait_policy("normative-test-backendtlspolicy", ACCEPTED | RESOLVED)
    prepared.wait_route("r", ACCEPTED | RESOLVED)
    prepared.wait_answer("/443", SERVICE)
    prepared.wait_answer("/8443", 503 if tmos_version >= "13.1" else 0)


@extended("BackendTLSPolicyConflictResolution")
@pytest.mark.parametrize("section", ["", "https-1"], ids=["all ports", "one port"])
def test_conflict(prepared, section):
    """The older one of two with one target counts."""
    prepared.apply(policy("second", section, hostname=NAMES[1], created=LATE), policy("first", section))
    prepared.wait_policy("first", ACCEPTED | RESOLVED)
    prepared.wait_policy("second", CONFLICTED)
    prepared.wait_answer("/443", SERVICE)


@extended("BackendTLSPolicyConflictResolution")
def test_a_port_and_all(prepared):
    """No conflict: the policy of a port goes before."""
    prepared.apply(policy("all", hostname=NAMES[1]), policy("port", "https-1", created=LATE))
    for name in ("all", "port"):
        prepared.wait_policy(name, ACCEPTED | RESOLVED)
    for path in ("/443", "/8443"):
        prepared.wait_answer(path, SERVICE)


@extended("BackendTLSPolicyInvalidCACertificateRef")
@pytest.mark.parametrize("name", ["nonexistent", "malformed"])
def test_invalid_ca_certificate_ref(prepared, name):
    prepared.apply({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": "no certificate"},
                    "metadata": {"namespace": INFRA, "name": "malformed"}},
                   policy("invalid", ref={**REF, "name": name}))
    prepared.wait_policy("invalid", {"Accepted": ("False", "NoValidCACertificate"),
                                     "ResolvedRefs": ("False", "InvalidCACertificateRef")})
    prepared.wait_answer("/443", 500)


@extended("BackendTLSPolicyInvalidKind")
def test_invalid_kind(prepared):
    prepared.apply(policy("invalid-kind", ref={"group": "wrong.group.company.io", "kind": "WrongKind",
                                               "name": "wrong-kind"}))
    prepared.wait_policy("invalid-kind", {"Accepted": ("False", "NoValidCACertificate"),
                                          "ResolvedRefs": ("False", "InvalidKind")})
    prepared.wait_answer("/443", 500)


@extended("BackendTLSPolicyObservedGenerationBump")
def test_observed_generation_bump(prepared):
    for hostname, generation in ((NAMES[0], 1), ("foo.example.com", 2)):
        prepared.apply(policy("observed-generation-bump", hostname=hostname))
        entry = prepared.wait_policy("observed-generation-bump", ACCEPTED | RESOLVED)
        assert {each["observedGeneration"] for each in entry["conditions"]} == {generation}
