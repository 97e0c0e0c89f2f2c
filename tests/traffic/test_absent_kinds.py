"""Kinds that the API server does not serve, or that the router may not read: what it goes on serving.

One row for each object: its kind and termination, and what becomes of it. Whatever is missing, an object that
can be read and is deleted goes, an edited one moves, and no other is touched; of a kind that cannot be read
everything stays as it is.
"""

import base64
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from mocks.kube import FakeKube
from tests import manifests
from tests.builders import identity
from tests.manifests import forward, ingress_route
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import until

SITE = identity("*.example.com", serial=71)
TERMINATION = "route.openshift.io/termination"
TERMINATIONS = ("plain", "edge", "reencrypt", "passthrough")
KINDS = {"Route": "routes", "Ingress": "ingresses", "IngressRoute": "ingressroutes"}
COMPANIONS = {"Ingress": "ingressclasses", "IngressRoute": "tlscertificatedelegations"}
ACTIONS = ("deleted", "edited", "left")
GROUPS = {"ingresses": "networking.k8s.io", "ingressroutes": "contour.heptio.com"}
"""The resources of the kinds besides Routes, with their API groups."""


@dataclass(frozen=True)
class Case:
    """One object with a host of its own."""

    kind: str
    termination: str
    action: str

    @property
    def name(self) -> str:
        return f"{self.action}-{self.termination}"

    def host(self, *, edited: bool = False) -> str:
        return f"{self.name}-{self.kind.lower()}{'-edited' if edited else ''}.example.com"

    def obj(self, *, edited: bool = False, api: str = "networking.k8s.io/v1", by_annotation: bool) -> dict:
        """Return the object. Args: by_annotation: an Ingress names its class by the annotation."""
        host, tls, secure = self.host(edited=edited), self.termination, self.termination != "plain"
        service, port = ("tls", 8443) if tls in ("reencrypt", "passthrough") else ("web", 8080)
        if self.kind == "Route":
            pair = {"certificate": SITE.certificate, "key": SITE.key} if tls in ("edge", "reencrypt") else {}
            authority = {"destinationCACertificate": PODS.issuer} if tls == "reencrypt" else {}
            return manifests.route(self.name, host=host, service=service, kind=tls if secure else "",
                                   **pair, **authority)
        if self.kind == "IngressRoute":
            named = {"plain": None, "passthrough": {"passthrough": True}}.get(tls, {"secretName": "pair"})
            target = {"name": service, "port": port}
            if tls == "passthrough":
                return ingress_route(self.name, fqdn=host, tls=named, tcpproxy={"services": [target]})
            return ingress_route(self.name, forward("/", target), fqdn=host, tls=named)
        annotations = {TERMINATION: tls} if tls in ("reencrypt", "passthrough") else {}
        annotations |= {"kubernetes.io/ingress.class": "f5router"} if by_annotation else {}
        ingress = manifests.ingress(
            self.name, (host, "/", service, port), annotations=annotations,
            ingress_class=None if by_annotation else "f5router",
            tls=(((host,), "pair"),) if tls in ("edge", "reencrypt") else ())
        if api != "networking.k8s.io/v1":
            ingress["apiVersion"] = api
            ingress["spec"]["rules"] = [{"host": host, "http": {"paths": [
                {"path": "/", "backend": {"serviceName": service, "servicePort": port}}]}}]
        return ingress


def secret() -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "shop", "name": "pair"},
            "data": {f"tls.{kind}": base64.b64encode(text.encode()).decode()
                     for kind, text in (("crt", SITE.certificate), ("key", SITE.key))}}


class Cluster:
    """A site with all objects, and requests to each of their hosts."""

    def __init__(self, site: Site, kinds: tuple[str, ...], *, api: str = "networking.k8s.io/v1"):
        self.site, self._api = site, api
        self._by_annotation = api != "networking.k8s.io/v1"
        self.cases = [Case(kind, termination, action) for kind in kinds for termination in TERMINATIONS
                      for action in ACTIONS]
        site.serve("web", "10.1.1.1")
        site.serve("tls", "10.1.1.2", port=8443, tls=PODS)
        annotated = site.kube.get("Service", "shop", "tls")
        annotated["metadata"]["annotations"] = {"contour.heptio.com/upstream-protocol.tls": "8443"}
        site.apply(annotated, secret(), *(self._obj(case) for case in self.cases))
        if api == "networking.k8s.io/v1":
            site.apply(manifests.ingress_class())

    def _obj(self, case: Case, *, edited: bool = False) -> dict:
        return case.obj(edited=edited, api=self._api, by_annotation=self._by_annotation)

    def change(self, *kinds: str) -> None:
        """Delete and edit what is to be. Args: kinds: none for all."""
        for case in self.cases:
            if kinds and case.kind not in kinds:
                continue
            if case.action == "deleted":
                self.site.kube.delete(case.kind, "shop", case.name)
            elif case.action == "edited":
                self.site.apply(self._obj(case, edited=True))
        self.site.apply(manifests.route("marker", host="marker.example.com")
                        if "Route" in {case.kind for case in self.cases} else
                        manifests.ingress("marker", ("marker.example.com", "/", "web", 8080)))

    def is_served(self, case: Case, *, edited: bool = False) -> bool:
        host, service = case.host(edited=edited), "web" if case.termination in ("plain", "edge") else "tls"
        seen = (clients.plain(self.site.http, host) if case.termination == "plain"
                else clients.python(self.site.https, host))
        pod = seen.pod.get("pod", "").rpartition("-")[0]
        assert pod in ("", service), f"{host}: {seen}"
        shown = {"edge": "*.example.com", "reencrypt": "*.example.com", "passthrough": "pods.example.com"}
        assert not pod or seen.certificate == shown.get(case.termination, ""), f"{host}: {seen}"
        return bool(pod)

    def served(self, *kinds: str) -> set[Case]:
        """Return which objects are served on their first host."""
        return {case for case in self.cases if case.kind in (kinds or KINDS) and self.is_served(case)}

    def of(self, *kinds: str, actions: tuple[str, ...] = ACTIONS) -> set[Case]:
        return {case for case in self.cases if case.kind in kinds and case.action in actions}

    def expect_served(self, served: set[Case], *kinds: str, edited: bool = False) -> None:
        """Wait until exactly these objects are served on their first host.

        Args: kinds: those that are looked at; none for all. edited: edited ones on their new host, too.
        """
        wanted = {(case, False): case in served for case in self.cases if case.kind in (kinds or KINDS)}
        if edited:
            wanted |= {(case, True): True for case in self.of(*kinds, actions=("edited",))}
        others: list[tuple[Case, bool]] = []

        def is_other(each: tuple[Case, bool]) -> bool:
            return self.is_served(each[0], edited=each[1]) != wanted[each]

        def as_wanted() -> bool:
            """One that is not so is looked at alone, until it is."""
            if not any(map(is_other, others[:1])):
                others[:] = filter(is_other, wanted)
            return not others

        until(as_wanted, lambda: f"{kinds}: not as wanted: {others}")

    def expect(self, *kinds: str) -> None:
        """Wait until all objects of these kinds are as they should be."""
        self.expect_served(self.of(*kinds, actions=("left",)), *kinds, edited=True)

    def expect_stays(self, *kinds: str) -> None:
        """All objects of these kinds are served as before."""
        assert self.served(*kinds) == self.of(*kinds)
        assert not any(self.is_served(case, edited=True) for case in self.of(*kinds, actions=("edited",)))


@pytest.fixture
def cluster(tmp_path):
    """Makes a cluster; starts routers on it."""
    with ExitStack() as stack:
        site = Site(stack, tmp_path)

        def make(*kinds: str, api: str = "networking.k8s.io/v1", withdrawn: tuple[str, ...] = ()) -> Cluster:
            if api != "networking.k8s.io/v1":
                site.kube = stack.enter_context(FakeKube(ingress_api=api))
                site.kube.write_kubeconfig(str(site.kubeconfig))
            town = Cluster(site, kinds or tuple(KINDS), api=api)
            site.kube.withdraw(*withdrawn)
            return town

        yield make
        assert site.faults() == []


@pytest.fixture
def start(cluster):
    """Starts a router on a site; it stops at the end."""
    started = []

    def begin(town: Cluster):
        for running in started[-1:]:
            running.stop()
        started.append(town.site.run(sources="routes,ingress,ingressroutes", allow_mass_delete="true"))
        return started[-1]

    yield begin
    started[-1].stop()


@pytest.mark.parametrize(("kinds", "api", "withdrawn"), [
    pytest.param(tuple(KINDS), "extensions/v1beta1", ("tlscertificatedelegations.contour.heptio.com",),
                 id="companions, as in OpenShift 3.11"),
    pytest.param(("Ingress", "IngressRoute"), "networking.k8s.io/v1", ("route.openshift.io",), id="Routes"),
    pytest.param(("Route",), "networking.k8s.io/v1", ("networking.k8s.io", "contour.heptio.com"),
                 id="all other kinds"),
])
def test_not_served(cluster, start, kinds, api, withdrawn):
    town = cluster(*kinds, api=api, withdrawn=withdrawn)
    start(town)
    town.expect_served(town.of(*kinds))
    town.change()
    town.expect(*kinds)


@pytest.mark.parametrize("api", ["networking.k8s.io/v1", "extensions/v1beta1"])
def test_forbidden_from_the_start(cluster, start, api):
    """As with the role of a stock OpenShift: what was never read holds nothing of other kinds."""
    town = cluster(api=api)
    for resource in ("ingresses", "ingressclasses", "ingressroutes", "tlscertificatedelegations"):
        town.site.kube.forbid(resource)
    town.site.serve("gone", "10.1.1.3", port=8443, tls=PODS)
    town.site.apply(manifests.route("gone", host="gone.example.com", kind="passthrough", service="gone"))
    running = start(town)
    town.expect_served(town.of("Route"))
    until(lambda: "/Common/openshift_shop_gone" in town.site.pools())
    town.change()
    town.site.kube.delete("Route", "shop", "gone")
    town.expect("Route")
    until(lambda: "/Common/openshift_shop_gone" not in town.site.pools(), "a pool stays")
    assert running.router.cluster.degraded()
    for resource in ("ingresses", "ingressclasses", "ingressroutes", "tlscertificatedelegations"):
        town.site.kube.allow(resource)
    town.expect(*KINDS)


@pytest.mark.parametrize("restarted", [False, True], ids=["later", "before a restart"])
@pytest.mark.parametrize("how", ["forbidden", "not served"])
def test_not_readable(cluster, start, how, restarted):
    """Objects of a kind that cannot be read any more stay; all others change."""
    town = cluster()
    running, kube = start(town), town.site.kube
    town.expect_served(town.of(*KINDS))
    if restarted:
        running.stop()
    for resource, group in GROUPS.items():
        if how == "forbidden":
            kube.forbid(resource)
        else:
            kube.withdraw(f"{resource}.{group}")
    if not restarted:
        kube.restart()  # ends the watches, which would go on with the right that they began with
    if how == "forbidden":
        town.change()
    else:
        town.change("Route")
    if restarted:
        start(town)
    town.expect("Route")
    town.expect_stays("Ingress", "IngressRoute")
    town.site.apply(manifests.route("again", host="again.example.com"))
    until(lambda: clients.plain(town.site.http, "again.example.com").pod)
    town.expect_stays("Ingress", "IngressRoute")
    for resource, group in GROUPS.items():
        kube.allow(resource)
        kube.serve(f"{resource}.{group}")
    if how == "forbidden":
        town.expect(*KINDS)
    else:
        town.change("Ingress", "IngressRoute")
        start(town)  # a running router looks for the kind only each half minute
        town.expect(*KINDS)


@pytest.mark.parametrize("restarted", [False, True], ids=["later", "before a restart"])
def test_forbidden_companions(cluster, start, restarted):
    """Classes that were read are remembered. After a restart the Ingresses that need one stay as they are."""
    town = cluster()
    running = start(town)
    town.expect_served(town.of(*KINDS))
    if restarted:
        running.stop()
    for resource in COMPANIONS.values():
        town.site.kube.forbid(resource)
    town.change()
    if restarted:
        running = start(town)
    else:
        town.site.kube.restart()
    town.expect("Route", "IngressRoute")
    if restarted:
        town.expect_served(town.of("Ingress", actions=("left", "edited")), "Ingress")
        assert not any(town.is_served(case, edited=True) for case in town.of("Ingress", actions=("edited",)))
        for resource in COMPANIONS.values():
            town.site.kube.allow(resource)
    town.expect(*KINDS)
