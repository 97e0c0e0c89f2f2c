"""Tests of HTTPS listeners, and of client certificates, at a Gateway with an address of its own.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/httproute-https-listener.go,
gateway-with-clientcertificate-validation.go, gateway-with-clientcertificate-validation-insecure-fallback.go,
gateway-with-invalid-clientcertificate-validation.go and
gateway-invalid-default-frontend-client-certificate-validation.go, and their manifests.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID

from tests import gateways
from tests.builders import identity
from tests.conformance.cluster import APP, INFRA, Conformance, route
from tests.conformance.conftest import router
from tests.conformance.suite import core, extended
from tests.gateways import backend, gateway, listener, parent, rule
from tests.traffic import client_certificates, clients
from tests.traffic.client_certificates import Client
from tests.waiting import until

YES = "True"
READY = {"Accepted": (YES, "Accepted"), "Programmed": (YES, "Programmed")}
NAME, SECRET = "same-namespace-with-https-listener", "tls-validity-checks-certificate"
SERVICE, V1, V2 = "infra-backend-v1", "infra-backend-v1", "infra-backend-v2"
HOSTNAMES = {"https": "", "https-with-hostname": "second-example.org",
             "https-with-wildcard-hostname": "*.wildcard.org",
             "https-with-hostname-matching-wildcard": "fourth-example.wildcard.org"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, tmos_version: str) -> Iterator[Conformance]:
    with router(tmp_path_factory.mktemp("site"), tmos_version, gateway_addresses="10.50.0.0/24") as cluster:
        yield cluster


@core("HTTPRouteHTTPSListener")
def test_https_listener(cluster):
    """Four listeners on one port with one certificate, the first one without a hostname."""
    cluster.secret(SECRET)
    cluster.apply(
        gateway(NAME, *(listener(name, 443, "HTTPS", hostname=hostname, secret=f"{INFRA}/{SECRET}")
                        for name, hostname in HOSTNAMES.items()), namespace=INFRA),
        route("httproute-https-test", rule(backend(SERVICE)), parents=(parent(NAME),),
              hostnames=("example.org",)),
        route("httproute-https-test-no-hostname", rule(backend(SERVICE)),
              parents=(parent(NAME, sectionName="https-with-hostname"),)))
    cluster.wait_gateway(NAME, READY)
    for name in ("httproute-https-test", "httproute-https-test-no-hostname"):
        cluster.wait_route(name, {"Accepted": (YES, "Accepted"), "ResolvedRefs": (YES, "ResolvedRefs")})
    for host in ("example.org", "second-example.org"):
        cluster.wait_answer_of(NAME, "/", SERVICE, port=443, host=host)
    place = cluster.site.bigip.listeners()[f"{cluster.address(NAME)}:443"]
    seen = clients.python(place, "unknown-example.org")
    assert (seen.status, seen.certificate) == (404, "example.org")


def authority_of(name: str, ca: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": INFRA, "name": name},
            "data": {"ca.crt": identity(ca=ca).issuer}}


def validation(name: str, mode: str = "AllowValidOnly", kind: str = "ConfigMap", **more: str) -> dict:
    return {"validation": {"mode": mode, "caCertificateRefs": [{
        "group": "", "kind": kind, "name": name, **more}]}}


def asked(mode: str) -> dict:
    """A Gateway with two ports, whose clients have certificates of an authority each."""
    ca, per_port = "tls-validity-checks-ca-certificate", "tls-validity-checks-per-port-ca-certificate"
    return gateway("validating", listener("https", 443, "HTTPS", secret=SECRET), listener(
        "https-with-hostname", 8443, "HTTPS", hostname="second-example.org", secret=SECRET),
        namespace=INFRA, tls={"frontend": {"default": validation(ca, mode), "perPort": [
            {"port": 8443, "tls": validation(per_port, mode)}]}})


PORTS = ((443, "example.org", V1), (8443, "second-example.org", V2))


def answers(cluster: Conformance, client: Client | None) -> list[str]:
    """Service of the pod that answers a client on each port, or the status."""
    places = (cluster.site.bigip.listeners()[f"{cluster.address('validating')}:{port}"] for port, *_ in PORTS)
    seen = [client_certificates.ask(place, host, client)
            for place, (_, host, _) in zip(places, PORTS, strict=True)]
    return [each.pod["pod"].rpartition("-")[0] if each.status == 200 else str(each.status) for each in seen]


def validating(cluster: Conformance, folder: Path, mode: str) -> tuple[Client, Client]:
    """Wait for such a Gateway; returns a client of each authority."""
    cluster.secret(SECRET)
    authorities = "Client CA", "Per port CA"
    cluster.apply(
        authority_of("tls-validity-checks-ca-certificate", authorities[0]),
        authority_of("tls-validity-checks-per-port-ca-certificate", authorities[1]), asked(mode),
        route("test", rule(backend(V1)), parents=(parent("validating"),), hostnames=("example.org",)),
        route("test-no-hostname", rule(backend(V2)),
              parents=(parent("validating", sectionName="https-with-hostname"),)))
    cluster.wait_gateway("validating", READY)
    names = [(NameOID.COMMON_NAME, "client")]
    clients_of = tuple(client_certificates.make(folder, names, ca=ca) for ca in authorities)
    until(lambda: [answers(cluster, each)[number] for number, each in enumerate(clients_of)] == [V1, V2])
    return clients_of


@extended("GatewayFrontendClientCertificateValidation")
def test_client_certificates(cluster, tmp_path):
    first, second = validating(cluster, tmp_path, "AllowValidOnly")
    assert [answers(cluster, each) for each in (first, second, None)] == [
        [V1, "0"], ["0", V2], ["0", "0"]]
    status = cluster.wait_gateway("validating", READY)
    assert "InsecureFrontendValidationMode" not in gateways.conditions(status["conditions"])


@extended("GatewayFrontendClientCertificateValidationInsecureFallback")
def test_insecure_fallback(cluster, tmp_path):
    first, second = validating(cluster, tmp_path, "AllowInsecureFallback")
    cluster.wait_gateway("validating", {"InsecureFrontendValidationMode": (YES, "ConfigurationChanged")})
    assert [answers(cluster, each) for each in (first, second, None)] == [[V1, V2]] * 3


@extended("GatewayInvalidFrontendClientCertificateValidation")
def test_invalid_validation_of_a_port(cluster):
    """It concerns the listeners of its port alone."""
    cluster.secret(SECRET)
    bad = {8443: ("https-unresolved", validation("missing"), "InvalidCACertificateRef"),
           8444: ("https-invalid-kind", validation("ca", kind="Secret"), "InvalidCACertificateKind"),
           8445: ("https-grant-missing", validation("ca", namespace=APP), "RefNotPermitted")}
    cluster.apply(authority_of("ca", "Client CA"), gateway("invalid", listener(
        "https", 443, "HTTPS", secret=SECRET), *(
        listener(name, port, "HTTPS", secret=SECRET) for port, (name, *_) in bad.items()), namespace=INFRA,
        tls={"frontend": {"default": validation("ca"), "perPort": [
            {"port": port, "tls": each} for port, (_, each, _) in bad.items()]}}))
    cluster.wait_gateway("invalid", {"Accepted": (YES, "ListenersNotValid")}, **{
        "https": {"Accepted": (YES, "Accepted"), "ResolvedRefs": (YES, "ResolvedRefs"),
                  "Programmed": (YES, "Programmed")},
        **{name: {"Accepted": ("False", "NoValidCACertificate"), "ResolvedRefs": ("False", reason),
                  "Programmed": ("False", "Invalid")} for name, _, reason in bad.values()}})


@extended("GatewayFrontendInvalidDefaultClientCertificateValidation")
def test_invalid_default_validation(cluster):
    """Listeners without TLS are served; nobody gets an answer with TLS."""
    cluster.secret(SECRET)
    cluster.apply(
        gateway("invalid", listener(), listener("https", 443, "HTTPS", secret=SECRET), namespace=INFRA,
                tls={"frontend": {"default": validation("missing")}}),
        route("test", rule(backend(V1)), parents=(parent("invalid"),), hostnames=("example.org",)))
    cluster.wait_gateway("invalid", {"Accepted": (YES, "ListenersNotValid")}, http={
        "Accepted": (YES, "Accepted"), "Programmed": (YES, "Programmed")}, https={
        "Accepted": ("False", "NoValidCACertificate"), "ResolvedRefs": ("False", "InvalidCACertificateRef"),
        "Programmed": ("False", "Invalid")})
    cluster.wait_answer_of("invalid", "/", V1, host="example.org")
    assert f"{cluster.address('invalid')}:443" not in cluster.site.bigip.listeners()
