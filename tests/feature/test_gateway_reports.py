"""Events and metrics of Gateways and their routes: what is refused, and what is not served as asked."""

from contextlib import ExitStack, closing
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from f5router.kube.settings import WatchTiming
from f5router.model.limits import Backoff
from tests import manifests
from tests.feature.conftest import Lab
from tests.gateways import EVERYWHERE, backend, gateway, gateway_class, http_route, listener, parent, rule
from tests.waiting import until

SHORT = Backoff(first_s=0.01, limit_s=0.05)
FLAGS = {"sources": "routes,gateway", "f5_vserver_address": "203.0.113.10"}
OBJECTS = (
    *manifests.service("infra", "web", pods=("10.1.1.1",)),
    gateway_class(), gateway_class("other", "example.com/other"),
    gateway("web", listener(namespaces=EVERYWHERE),
            listener("bad", 443, "HTTPS", hostname="bad.example.com", secret="none")),
    gateway("theirs", class_name="other"),
    http_route("app", rule(backend("web")), hostnames=("a.example.com",)),
    http_route("lost", rule(backend("none")), hostnames=("l.example.com",)),
    http_route("odd", rule(backend("web"), timeouts={"request": "1s"}), hostnames=("o.example.com",)),
    http_route("stranger", rule(backend("none")), parents=(parent("theirs"),)))


@pytest.fixture
def lab(tmp_path):
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path, gateway_api="v1.6")
        lab.apply(*OBJECTS)
        yield lab


def events(lab) -> dict[tuple[str, str], set[str]]:
    """Reasons of Events by kind and name of their objects."""
    reasons: dict[tuple[str, str], set[str]] = {}
    for event in lab.kube.list("Event"):
        about = event["involvedObject"]
        reasons.setdefault((about["kind"], about["name"]), set()).add(event["reason"])
    return reasons


def counts(router) -> dict[tuple[str, str], float]:
    page = router.monitor.metrics.page("")[0].decode()
    samples = (sample for family in text_string_to_metric_families(page)
               for sample in family.samples if sample.name == "f5router_gateway_objects")
    return {(each.labels["kind"], each.labels["state"]): each.value for each in samples if each.value}


def test_what_is_wrong_is_reported(lab):
    """Once each, with the reason of the condition; objects of other controllers get no Event."""
    router = lab.router(**FLAGS)
    assert lab.converge(router) == []
    wanted = {("Gateway", "web"): {"InvalidCertificateRef"}, ("HTTPRoute", "lost"): {"BackendNotFound"},
              ("HTTPRoute", "odd"): {"UnsupportedValue"}}
    until(lambda: events(lab) == wanted)
    assert {event["count"] for event in lab.kube.list("Event")} == {1}
    (about,) = (event for event in lab.kube.list("Event") if event["involvedObject"]["kind"] == "Gateway")
    assert about["message"] == "listener bad: tls.certificateRefs[0]: Secret 'none' not found"
    assert counts(router) == {("Gateway", "degraded"): 1, ("HTTPRoute", "ok"): 1,
                              ("HTTPRoute", "degraded"): 1, ("HTTPRoute", "refused"): 1}
    router.close()


def test_the_numbers_follow(lab):
    """Objects that go, or become another controller's, are no longer counted."""
    router = lab.router(**FLAGS)
    assert lab.converge(router) == []
    lab.apply(http_route("odd", rule(backend("web")), hostnames=("o.example.com",)),
              http_route("app", rule(backend("web")), parents=(parent("theirs"),)))
    lab.kube.delete("HTTPRoute", "infra", "lost")
    until(lambda: lab.converge(router) == [] and counts(router) == {
        ("Gateway", "degraded"): 1, ("HTTPRoute", "ok"): 1})
    router.close()


def test_without_the_gateway_api_there_are_no_series(lab):
    router = lab.router(sources="routes", f5_vserver_address="203.0.113.10")
    assert b"f5router_gateway_objects" not in router.monitor.metrics.page("")[0]
    router.close()


def supported(lab) -> list[list[str]]:
    """The kinds of routes of each listener of a Gateway, in its status."""
    status = (lab.kube.get("Gateway", "infra", "web") or {}).get("status") or {}
    return [[kind["kind"] for kind in each["supportedKinds"]] for each in status.get("listeners", ())]


def test_listeners_do_not_support_kinds_that_the_cluster_does_not_have(lab):
    """As without the CRD of TCPRoutes, which may come and go while the router runs."""
    crd = "tcproutes.gateway.networking.k8s.io"
    lab.timing = replace(lab.timing, watch=WatchTiming(absent_s=0.1, watch_s=(0.3, 0.6), backoff=SHORT))
    lab.kube.withdraw(crd)
    lab.apply(gateway("web", listener("db", 5432, "TCP"), listener()))
    with closing(lab.router(**FLAGS, gateway_addresses="10.9.0.0/28")) as router:
        assert lab.converge(router) == []
        until(lambda: supported(lab) == [[], ["HTTPRoute"]])
        lab.kube.serve(crd)
        until(lambda: lab.settle(router) or supported(lab) == [["TCPRoute"], ["HTTPRoute"]])
        lab.kube.withdraw(crd)
        until(lambda: lab.settle(router) or supported(lab) == [[], ["HTTPRoute"]])
