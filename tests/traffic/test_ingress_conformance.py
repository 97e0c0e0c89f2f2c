"""Checks of Kubernetes' conformance suite for Ingress controllers, by requests to virtual servers of the
router's own.

Source: kubernetes-sigs/ingress-controller-conformance, features/default_backend.feature, host_rules.feature,
path_rules.feature, ingress_class.feature and load_balancing.feature. Each of its scenarios, and each example
of an outline, is one test, so that a run counts them: 6, 6, 15, 1 and 1; it has one path rule twice.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import Site

ADDRESS = "203.0.113.10"
FLAGS = {"f5_vserver_address": ADDRESS, "sources": "ingress", "allow_wildcard_routes": "true",
         "ingress_insecure_policy": "Allow", "default_backend_namespaces": "*"}
CERTIFICATE = identity("foo.bar.com", serial=61)

HOST_RULES = (("*.foo.com", "/", "wildcard-foo-com", 8080), ("foo.bar.com", "/", "foo-bar-com", "http"))
PATH_RULES = (
    ("exact-path-rules", "/foo", "foo-exact", 8080, "Exact"),
    ("prefix-path-rules", "/foo", "foo-prefix", 8080),
    ("prefix-path-rules", "/aaa/bbb", "aaa-slash-bbb-prefix", 8080),
    ("prefix-path-rules", "/aaa", "aaa-prefix", 8080),
    ("mixed-path-rules", "/foo", "foo-prefix", 8080),
    ("mixed-path-rules", "/foo", "foo-exact", 8080, "Exact"),
    ("trailing-slash-path-rules", "/aaa/bbb/", "aaa-slash-bbb-slash-prefix", 8080),
    ("trailing-slash-path-rules", "/foo/", "foo-slash-exact", 8080, "Exact"),
)
OTHER_CLASS = ("ingress-class", "/", "foo-prefix", 8080)
SERVICES = sorted({rule[2] for rule in (*HOST_RULES, *PATH_RULES)})


def tls_secret() -> dict:
    """The Secret with the certificate of one host."""
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "shop", "name": "conformance-tls"},
            "data": {f"tls.{kind}": base64.b64encode(text.encode()).decode()
                     for kind, text in (("crt", CERTIFICATE.certificate), ("key", CERTIFICATE.key))}}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("rules"), address="")
        for number, service in enumerate(SERVICES, 1):
            site.serve(service, f"10.1.1.{number}")
        site.apply(manifests.ingress_class(), tls_secret(),
                   manifests.ingress("host-rules", *HOST_RULES, tls=[(("foo.bar.com",), "conformance-tls")]),
                   manifests.ingress("path-rules", *PATH_RULES),
                   manifests.ingress("class", OTHER_CLASS, ingress_class="some-invalid-class-name"))
        assert site.converge(**FLAGS) == []
        yield site
        assert site.faults() == []


def addresses(site: Site, name: str) -> list[dict]:
    status = site.kube.get("Ingress", "shop", name).get("status") or {}
    return (status.get("loadBalancer") or {}).get("ingress") or []


def check(site: Site, host: str, path: str, service: str) -> None:
    """A request comes to its Service as it was sent; what no Ingress matches gets 404."""
    reply = clients.plain(site.http, host, path)
    assert reply.status == (200 if service else 404)
    if service:
        assert reply.pod["pod"].rpartition("-")[0] == service
        assert (reply.pod["target"], dict(reply.pod["headers"])["Host"]) == (path, host)


@pytest.mark.parametrize(("host", "service"), [
    ("foo.bar.com", "foo-bar-com"),
    ("subdomain.bar.com", ""),
    ("bar.foo.com", "wildcard-foo-com"),
    ("baz.bar.foo.com", ""),
    ("foo.com", ""),
])
def test_host_rules(site, host, service):
    assert addresses(site, "host-rules") == [{"ip": ADDRESS}]
    check(site, host, "/", service)


def test_host_rules_over_tls(site):
    """The certificate is that of the host, by the authority that a client trusts."""
    reply = clients.python(site.https, "foo.bar.com")
    assert (reply.status, reply.certificate) == (200, "foo.bar.com")
    assert reply.pod["pod"].rpartition("-")[0] == "foo-bar-com"
    assert dict(reply.pod["headers"])["Host"] == "foo.bar.com"


@pytest.mark.parametrize(("host", "path", "service"), [
    ("exact-path-rules", "/foo", "foo-exact"),
    ("exact-path-rules", "/foo/", ""),
    ("exact-path-rules", "/FOO", ""),
    ("exact-path-rules", "/bar", ""),
    ("prefix-path-rules", "/foo", "foo-prefix"),
    ("prefix-path-rules", "/foo/", "foo-prefix"),
    ("prefix-path-rules", "/FOO", ""),
    ("prefix-path-rules", "/aaa/bbb", "aaa-slash-bbb-prefix"),
    ("prefix-path-rules", "/aaa/bbb/ccc", "aaa-slash-bbb-prefix"),
    ("prefix-path-rules", "/aaa/ccc", "aaa-prefix"),
    ("prefix-path-rules", "/aaaccc", ""),
    ("mixed-path-rules", "/foo", "foo-exact"),
    ("trailing-slash-path-rules", "/aaa/bbb", "aaa-slash-bbb-slash-prefix"),
    ("trailing-slash-path-rules", "/aaa/bbb/", "aaa-slash-bbb-slash-prefix"),
    ("trailing-slash-path-rules", "/foo", ""),
])
def test_path_rules(site, host, path, service):
    assert addresses(site, "path-rules") == [{"ip": ADDRESS}]
    check(site, host, path, service)


def test_ingress_class(site):
    """One of a class that does not exist has no address and no requests."""
    assert addresses(site, "class") == []
    check(site, "ingress-class", "/", "")


PODS = [f"10.1.2.{number}" for number in range(1, 11)]


@pytest.fixture(scope="module")
def default(tmp_path_factory) -> Iterator[Site]:
    """An Ingress with nothing but a default backend of ten pods."""
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("default"), address="")
        site.serve("echo-service", *PODS)
        backend = {"service": {"name": "echo-service", "port": {"number": 8080}}}
        site.apply(manifests.ingress_class(), manifests.ingress("default-backend", defaultBackend=backend))
        assert site.converge(**FLAGS) == []
        yield site
        assert site.faults() == []


@pytest.mark.parametrize(("method", "host", "path"), [
    ("GET", "my-host", "/"), ("GET", "my-host", "/sub-path"), ("POST", "some-host", "/"),
    ("PUT", ADDRESS, "/resource"), ("DELETE", "some-host", "/resource"), ("PATCH", "my-host", "/resource"),
])
def test_default_backend(default, method, host, path):
    """All requests come to it as they were sent, also those with the address in the place of a host."""
    agent = "Go-http-client/1.1"
    reply = clients.plain(default.http, host, path, method=method, headers=[f"User-Agent: {agent}"])
    assert (reply.status, reply.pod["pod"].rpartition("-")[0]) == (200, "echo-service")
    assert [reply.pod[name] for name in ("method", "target", "protocol")] == [method, path, "HTTP/1.1"]
    assert dict(reply.pod["headers"])["User-Agent"] == agent
    assert addresses(default, "default-backend") == [{"ip": ADDRESS}]


def test_load_balancing(default):
    """Each pod gets some of 100 requests."""
    seen = [clients.plain(default.http, "load-balancing") for _ in range(100)]
    assert {reply.status for reply in seen} == {200}
    assert {reply.pod["pod"] for reply in seen} == {f"echo-service-{pod}" for pod in PODS}
