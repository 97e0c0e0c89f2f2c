"""The pods of the example cluster: a stand-in for every endpoint, as long as there is one."""

import threading
from collections.abc import Iterator, Mapping

import requests

from mocks.bigip.dataplane import Pods
from mocks.demo.api import Api
from mocks.demo.certificates import Authority

SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
ROUTES = "/apis/route.openshift.io/v1/routes"
SERVICE = "kubernetes.io/service-name"
TLS_PORTS = ("https",)
"""Names of the ports on which pods speak TLS."""
LOOK_S = 0.3

Where = tuple[str, int]
Who = tuple[str, str, bool]
"""Namespace, Service, whether it speaks TLS."""


class PodKeeper:
    """Starts and ends stand-ins as the EndpointSlices say; a context manager.

    Args: authority: issues the pods' certificates: for their Service, and for the hosts of its
        passthrough Routes.
    """

    def __init__(self, cluster: Api, pods: Pods, authority: Authority):
        self._cluster, self._pods, self._authority = cluster, pods, authority
        self._running: dict[Where, Who] = {}
        self._pairs: dict[tuple[str, ...], tuple[bytes, bytes]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pods", daemon=True)

    def __enter__(self) -> "PodKeeper":
        self._refresh()
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_S):
            try:
                self._refresh()
            except requests.RequestException:  # the cluster has ended; so does the demo
                continue

    def _refresh(self) -> None:
        """Raises: requests.RequestException."""
        slices = self._cluster.get(SLICES)["items"]
        wanted = {where: who for slice_ in slices for where, who in _endpoints(slice_)}
        hosts = _passthrough_hosts(self._cluster.get(ROUTES)["items"])
        for where in self._running.keys() - wanted.keys():
            self._pods.stop(*where)
        for where, who in wanted.items():
            if self._running.get(where) != who:
                namespace, service, tls = who
                pair = self._pair(service, namespace, *hosts.get((namespace, service), ())) if tls else None
                self._pods.start(*where, f"{service}-{where[0]}", namespace=namespace, tls=pair)
        self._running = wanted

    def _pair(self, service: str, namespace: str, *hosts: str) -> tuple[bytes, bytes]:
        names = (f"{service}.{namespace}.svc", *hosts)
        if names not in self._pairs:
            certificate, key = self._authority.issue(*names)
            self._pairs[names] = certificate.encode(), key.encode()
        return self._pairs[names]


def _endpoints(slice_: Mapping) -> Iterator[tuple[Where, Who]]:
    metadata = slice_["metadata"]
    for endpoint in slice_.get("endpoints") or ():
        for port in slice_.get("ports") or ():
            who = (metadata["namespace"], metadata["labels"][SERVICE], port.get("name") in TLS_PORTS)
            yield (endpoint["addresses"][0], port["port"]), who


def _passthrough_hosts(routes: list[dict]) -> dict[tuple[str, str], list[str]]:
    """By namespace and Service."""
    by_name: dict[tuple[str, str], list[str]] = {}
    for route in routes:
        spec = route["spec"]
        if spec.get("tls", {}).get("termination") == "passthrough" and spec.get("host"):
            by_name.setdefault((route["metadata"]["namespace"], spec["to"]["name"]), []).append(spec["host"])
    return by_name
