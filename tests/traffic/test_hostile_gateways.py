"""Objects of the Gateway API that nobody sane writes beside good ones, which are served all the time."""

import base64
import io

import pytest

from f5router.logs import log_output
from tests import hostile, manifests
from tests.builders import identity
from tests.feature.test_hostile import check_names
from tests.gateways import (
    EVERYWHERE,
    PASSTHROUGH,
    backend,
    backend_policy,
    conditions,
    gateway,
    gateway_class,
    http_route,
    listener,
    rule,
    tls_route,
)
from tests.traffic import clients
from tests.traffic.conftest import PODS
from tests.waiting import until

OWN = identity("own.good.test")
REF = {"group": "", "kind": "Secret", "name": "ca"}
FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway"}


def secret(name: str, kind: str, **data: str) -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"namespace": "infra", "name": name},
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}}


GOOD = (
    secret("own", "kubernetes.io/tls", **{"tls.crt": OWN.certificate, "tls.key": OWN.key}),
    secret("ca", "Opaque", **{"ca.crt": PODS.issuer}), gateway_class(),
    gateway("web", listener(namespaces=EVERYWHERE),
            listener("own", 443, "HTTPS", hostname="own.good.test", secret="own"),
            listener("passed", **PASSTHROUGH, hostname="*.good.test", namespaces=EVERYWHERE)),
    http_route("plain", rule(backend("plain")), hostnames=("plain.good.test",)),
    http_route("own", rule(backend("tls", 8443)), hostnames=("own.good.test",)),
    tls_route("passed", backend("tls", 8443), hostnames=("passed.good.test",)),
    backend_policy("good", "tls", REF))


@pytest.mark.parametrize(("seed", "flags"), [(1, {}), (2, {"gateway_addresses": "10.9.0.0/28"})],
                         ids=["front end of the router", "addresses of their own"])
def test_good_ones_are_served(site_of, seed, flags):
    """In the first list, and through the watches; nothing is shown or sent as it is."""
    stream = io.StringIO()
    log_output.setup("info", "text", stream=stream)
    site = site_of(address="", gateway_api="v1.6")
    for text, raw in hostile.RAW.items():
        site.kube.spell(text, raw)
    site.serve("plain", "10.1.1.1", namespace="infra")
    site.serve("tls", "10.1.1.2", namespace="infra", port=8443, tls=PODS)
    site.apply(*manifests.service("shop", "a", pods=("10.1.2.1",)), *GOOD,
               *hostile.objects(seed, 96, of_gateways=True))
    router = site.router(**FLAGS, **flags)
    assert site.converge(router) == []

    def answers() -> tuple[str, ...]:
        status = (site.kube.get("Gateway", "infra", "web") or {}).get("status") or {}
        if conditions(status.get("conditions", ())).get("Programmed") != ("True", "Programmed"):
            return ()
        address = status["addresses"][0]["value"]
        places = [site.bigip.listeners().get(f"{address}:{port}") for port in (80, 443)]
        seen = (clients.plain(places[0], "plain.good.test"), clients.python(places[1], "own.good.test"),
                clients.python(places[1], "passed.good.test"))
        return tuple(each.pod.get("pod", str(each.status)) for each in seen)

    served = ("plain-10.1.1.1", "tls-10.1.1.2", "tls-10.1.1.2")
    until(lambda: router.reconcile_once() and answers() == served)
    wave = list(hostile.objects(seed + 100, 40, of_gateways=True))
    site.apply(*wave)
    site.settle(router)
    assert answers() == served
    for kind, *key in {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
                       for obj in wave[:20]}:
        site.kube.delete(kind, *key)
    site.settle(router)
    assert answers() == served
    check_names(site)
    check_texts(site, stream.getvalue())


def check_texts(site, log: str) -> None:
    """In the log, in statuses and in Events; and the log reports no fault of the router's."""
    assert "Traceback" not in log
    texts = [*log.splitlines(), *(event["message"] for event in site.kube.list("Event"))]
    for kind in ("Gateway", "HTTPRoute", "TLSRoute", "BackendTLSPolicy"):
        for obj in site.kube.list(kind):
            status = obj.get("status") if isinstance(obj.get("status"), dict) else {}
            entries = [status, *(status.get("listeners") or ()), *(status.get("parents") or ()),
                       *(status.get("ancestors") or ())]
            texts += [str(condition.get("message", "")) for entry in entries if isinstance(entry, dict)
                      for condition in entry.get("conditions") or () if isinstance(condition, dict)]
    assert len(texts) > 100
    assert [text for text in texts if not text.isprintable()] == []
