"""The cluster of the conformance suite: its namespaces and Services, and what its tests look at."""

import base64
from contextlib import ExitStack
from pathlib import Path

from mocks.kube import FakeKube
from tests import gateways, manifests
from tests.builders import identity
from tests.gateways import EVERYWHERE, gateway, listener
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import until

INFRA, APP, WEB = (f"gateway-conformance-{name}" for name in ("infra", "app-backend", "web-backend"))
LABELS = {INFRA: "infra", APP: "backend", WEB: "backend"}
PORT = 8080
FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway"}
TMOS = ("14.1.2.1", "12.1.5", "17.1.1")
"""Versions; all tests run on the first one."""
SPEED = 20
"""A second of the device is a twentieth, where health checks count."""
TLS_SERVICES = ("tls-backend", "tls-backend-2")
"""In INFRA; their pods have the same certificate."""
SERVICES = {INFRA: ("infra-backend-v1", "infra-backend-v2", "infra-backend-v3"),
            APP: ("app-backend-v1", "app-backend-v2"), WEB: ("web-backend",)}
CERTIFICATE = identity("example.org")
NAMES = {"same-namespace": listener(), "all-namespaces": listener(namespaces=EVERYWHERE),
         "backend-namespaces": listener(namespaces={
             "from": "Selector", "selector": {"matchLabels": {"gateway-conformance": "backend"}}})}


def base(name: str) -> dict:
    """One of the Gateways that the suite has for all tests."""
    return gateway(name, NAMES[name], namespace=INFRA)


class Conformance:
    """A running router, pods, and statuses as the suite reads them."""

    def __init__(self, stack: ExitStack, folder: Path, *, tmos_version: str = TMOS[0],
                 **flags: str):
        """Args: flags: beside FLAGS."""
        self.site = Site(stack, folder, address="", gateway_api="v1.6", tmos_version=tmos_version)
        if "tls_health_checks" in flags:
            self.site.change("PATCH", "sys/db/bigd.tmm", {"value": "enable"})
            self.site.bigip.dataplane.clock.speed = SPEED
        for number, (namespace, services) in enumerate(SERVICES.items(), 1):
            self.site.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": namespace, "labels": {"gateway-conformance": LABELS[namespace]}}})
            for count, service in enumerate(services, 1):
                self.site.serve(service, f"10.{number}.{count}.1", f"10.{number}.{count}.2",
                                namespace=namespace)
        for count, service in enumerate(TLS_SERVICES, 1):
            self.site.serve(service, f"10.8.{count}.1", namespace=INFRA, port=443, tls=PODS)
        self._running = self.site.run(**FLAGS, **flags)

    @property
    def kube(self) -> FakeKube:
        return self.site.kube

    def stop(self) -> None:
        self._running.stop()

    def clear(self) -> None:
        """Delete all objects of the Gateway API, and Secrets."""
        for kind in ("HTTPRoute", "TLSRoute", "TCPRoute", "BackendTLSPolicy", "Gateway", "ReferenceGrant",
                     "GatewayClass", "Secret", "ConfigMap"):
            for obj in self.kube.list(kind):
                metadata = obj["metadata"]
                self.kube.delete(kind, metadata.get("namespace"), metadata["name"])

    def apply(self, *objects: dict) -> None:
        self.site.apply(*objects)

    def secret(self, name: str, namespace: str = INFRA, *,
               certificate: str = CERTIFICATE.certificate) -> None:
        data = {"tls.crt": certificate, "tls.key": CERTIFICATE.key}
        self.apply({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
                    "metadata": {"namespace": namespace, "name": name},
                    "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}})

    def _status(self, kind: str, name: str, namespace: str) -> tuple[int, dict]:
        obj = self.kube.get(kind, namespace, name) or {"metadata": {}}
        return obj["metadata"].get("generation", 0), obj.get("status") or {}

    def wait_gateway(self, name: str, wanted: dict, *, namespace: str = INFRA, **listeners: dict) -> dict:
        """Wait for conditions of a Gateway and of its listeners, of its generation; returns its status."""
        def holds() -> bool:
            generation, status = self._status("Gateway", name, namespace)
            named = {each["name"]: each for each in status.get("listeners", ())}
            return (_has(status.get("conditions"), wanted, generation)
                    and all(_has(named.get(each, {}).get("conditions"), more, generation)
                            for each, more in listeners.items()))
        until(holds)
        return self._status("Gateway", name, namespace)[1]

    def wait_route(self, name: str, wanted: dict, *, namespace: str = INFRA, kind: str = "HTTPRoute") -> dict:
        """Wait for conditions in the only entry of a route; returns that entry."""
        return self._wait_entry(kind, name, namespace, "parents", wanted)

    def wait_policy(self, name: str, wanted: dict) -> dict:
        """Wait for conditions in the only entry of a BackendTLSPolicy; returns that entry."""
        return self._wait_entry("BackendTLSPolicy", name, INFRA, "ancestors", wanted)

    def _wait_entry(self, kind: str, name: str, namespace: str, field: str, wanted: dict) -> dict:
        def holds() -> bool:
            generation, status = self._status(kind, name, namespace)
            entries = status.get(field, ())
            return len(entries) == 1 and _has(entries[0]["conditions"], wanted, generation)
        until(holds)
        return self._status(kind, name, namespace)[1][field][0]

    def attached(self, name: str, namespace: str = INFRA) -> dict[str, int]:
        """attachedRoutes by listener."""
        return {each["name"]: each["attachedRoutes"]
                for each in self._status("Gateway", name, namespace)[1].get("listeners", ())}

    def wait_attached(self, name: str, **counts: int) -> None:
        until(lambda: self.attached(name) == counts)

    def ask(self, path: str = "/", host: str = "example.com", **how) -> clients.Seen:
        return clients.plain(self.site.http, host, path, **how)

    def wait_answer(self, path: str, answer: int | str, host: str = "example.com", **how) -> None:
        """Wait for a status, or for a pod of a Service."""
        def holds() -> bool:
            seen = self.ask(path, host, **how)
            return seen.status == answer or seen.pod.get("pod", "").rpartition("-")[0] == answer
        until(holds)

    def address(self, name: str) -> str:
        """First address of a Gateway, as its status has it."""
        listed = self._status("Gateway", name, INFRA)[1].get("addresses") or [{}]
        return listed[0].get("value", "")

    def seen_at(self, name: str, path: str, *, port: int = 80, host: str = "example.com") -> clients.Seen:
        """Return the answer at the address of a Gateway with addresses of its own; port 443 has TLS."""
        place = self.site.bigip.listeners().get(f"{self.address(name)}:{port}")
        if place is None:
            return clients.Seen()
        return (clients.python if port == 443 else clients.plain)(place, host, path)

    def wait_answer_of(self, name: str, path: str, answer: int | str, *, port: int = 80,
                       host: str = "example.com") -> None:
        """Wait for a status, or for a pod of a Service, as `seen_at` has it."""
        def holds() -> bool:
            seen = self.seen_at(name, path, port=port, host=host)
            return seen.status == answer or seen.pod.get("pod", "").rpartition("-")[0] == answer
        until(holds)

    def _secure(self, gateway: str) -> tuple[str, int] | None:
        """Where a Gateway is asked over TLS. Args: gateway: "" for one on the router's own front end."""
        return self.site.https if not gateway else self.site.bigip.listeners().get(
            f"{self.address(gateway)}:443")

    def passed_to(self, host: str, gateway: str = "") -> str | None:
        """Service of the pod that ends TLS, or the certificate of the BIG-IP; "" if it is rejected.

        Args: gateway: as of _secure. Returns: None if it is not there.
        """
        if (place := self._secure(gateway)) is None:
            return None
        seen = clients.python(place, host)
        if seen.certificate not in ("", "pods.example.com"):
            return seen.certificate
        return seen.pod["pod"].rpartition("-")[0] if seen.status == 200 else ""

    def wait_passed(self, host: str, service: str, gateway: str = "") -> None:
        """Wait until connections come to a Service; "" for those that are rejected."""
        until(lambda: self.passed_to(host, gateway) == service)

    def wait_reset(self, host: str, gateway: str) -> None:
        """Wait until the answer to a ClientHello is the end of the connection, and not a byte before."""
        def holds() -> bool:
            place = self._secure(gateway)
            return place is not None and clients.after_hello(place, host) == b""
        until(holds)


def route(name: str, *rules: dict, **more) -> dict:
    """An HTTPRoute in the namespace of the suite's Gateways."""
    more.setdefault("parents", (gateways.parent("same-namespace"),))
    return gateways.http_route(name, *rules, **{"namespace": INFRA, **more})


def service(namespace: str, name: str, pods: tuple[str, ...], **spec) -> list[dict]:
    """A Service with its EndpointSlice."""
    of, endpoints = manifests.service(namespace, name, pods=pods)
    of["spec"] |= spec
    return [of, endpoints]


def _has(conditions: list[dict] | None, wanted: dict, generation: int) -> bool:
    """True if conditions are among those wanted, and all of them are of the generation."""
    known = conditions or []
    return (gateways.conditions(known).items() >= wanted.items()
            and all(each.get("observedGeneration") == generation for each in known))
