"""Routes that Ingresses and IngressRoutes stand for, on a BIG-IP: who is served, and what stays meanwhile."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from f5router.app import once
from f5router.model import names
from f5router.model.cluster import Backend, Key, PathMatch, RouteTLS
from f5router.model.ltm import ClientSSL, Rule
from tests.builders import endpoints, identity, route, secret, virtual
from tests.feature.conftest import Lab
from tests.feature.hand import Hand

ROOT = Key("shop", "root")
BOTH = frozenset({"Ingress", "IngressRoute"})
TWO_PORTS = (("http", 8080), ("admin", 9090))
PODS = (endpoints("10.1.1.1", ports=TWO_PORTS), endpoints("10.1.9.1", service="api", name="api-1"),
        endpoints("10.2.1.1", namespace="bank"))
EDGE = {"kind": "edge", "insecure": "Redirect"}


def exact(name, path, **more):
    return replace(virtual(route(name, path=path, **more)), path_match=PathMatch.EXACT)


def text(name, path, namespace="shop", **more):
    """A path of an IngressRoute, which its root has given to a namespace."""
    plain = route(name, path=path, namespace=namespace, **more)
    return replace(virtual(plain, "IngressRoute", root=ROOT), path_match=PathMatch.TEXT)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Paths of all kinds on one Host, beside a Route of the Host without a path."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("mixed"))
        lab.virtuals()
        site = Hand(lab, stack)
        site.change(*PODS, route("all"), exact("e", "/a", service="api"), text("t", "/a", "bank"),
                    virtual(route("s", path="/b", service="api")), exact("f", "/b/c"),
                    text("u", "/b/c/", "bank"))
        yield site


def service_of(decision) -> str:
    return "/".join(decision.pool.rsplit("/", 1)[1].split("_")[1:3])


@pytest.mark.parametrize(("path", "service"), [
    ("/", "shop/web"), ("/A", "shop/web"), ("/a", "shop/api"), ("/a/", "bank/web"), ("/ab", "bank/web"),
    ("/b", "shop/api"), ("/bc", "shop/web"), ("/b/x", "shop/api"), ("/b/c", "shop/web"),
    ("/b/cd", "shop/api"), ("/b/c/", "bank/web"), ("/b/c/d", "bank/web")])
def test_the_most_specific_path_serves(mixed, path, service):
    assert service_of(mixed.ask(path=path, tls=False)) == service


def test_each_service_has_its_own_port(lab):
    with ExitStack() as stack:
        site = Hand(lab, stack)
        site.change(*PODS, replace(virtual(route("a", port="admin")), alternates=(
            Backend("api", 1, port="http"),)))
        assert set(site.ask(tls=False).members) == {"10.1.1.1:9090", "10.1.9.1:8080"}


def served(site) -> dict:
    hosts = ("www.example.com", "pass.example.com", "re.example.com", "own.example.com")
    probes = [(host, path, tls) for host in hosts for path in ("/", "/v") for tls in (True, False)]
    return {probe: replace(site.ask(*probe[:2], tls=probe[2]), members=()) for probe in probes}


def test_what_serves_stays_until_the_sources_are_known(lab):
    """After a restart; also their certificates, TLS towards pods, and pools of their own."""
    with ExitStack() as stack:
        site = Hand(lab, stack)
        known = (*PODS, secret(identity=identity()), route("own", host="own.example.com"))
        unknown = (
            replace(virtual(route("a", **EDGE)), tls=RouteTLS("edge", "Redirect"), redirect_status=301,
                    tls_secret=Key("shop", "tls"), minimum_tls="1.2"),
            text("v", "/v", "bank", **EDGE), virtual(route("p", host="pass.example.com", kind="passthrough")),
            virtual(route("r", host="re.example.com", kind="reencrypt",
                          destination_ca_certificate=identity().issuer, **identity("re.example.com").tls)))
        site.change(*known, *unknown)
        before, objects = served(site), paths(lab)
        site.restart()
        site.direct.unread = BOTH
        site.direct.change(*known)
        assert served(site) == before
        assert paths(lab) == objects
        assert site.direct.reconciler.retention.unread_kinds == BOTH
        site.direct.unread = frozenset()
        site.direct.change(*unknown)
        assert served(site) == before
        assert paths(lab) == objects
        site.restart()
        site.direct.change(*known)
        assert paths(lab) < objects
        assert {host for (host, *_), decision in served(site).items() if decision.pool} == {"own.example.com"}


def paths(lab) -> set[str]:
    kinds = ("ltm/pool", ClientSSL.KIND, "ltm/profile/server-ssl", "sys/file/ssl-cert", "sys/file/ssl-key")
    return {path for kind in kinds for path in lab.paths(kind) if "/openshift_" in path}


def test_a_redirect_has_its_status(lab):
    """The BIG-IP of the lab knows `code`."""
    with ExitStack() as stack:
        site = Hand(lab, stack)
        site.change(*PODS, replace(virtual(route("a", **EDGE)), redirect_status=301))
        device = site.direct.reconciler.device
        device.observe()
        assert [obj.action.status for obj in device.observed.values()
                if isinstance(obj, Rule) and obj.policy.endswith(names.INSECURE_POLICY)] == [301]
        assert once.is_converged(site.direct.reconciler)
