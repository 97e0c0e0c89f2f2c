"""FakeKube: the fake API server as tests and the demo use it."""

from __future__ import annotations  # FakeKube.list hides the builtin in its own annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from .access import Access
from .api import Api
from .calls import Logged
from .certificates import Certificates
from .faults import STREAM_FAULTS, Fault, Faults
from .kinds import INGRESS_APIS, KINDS, kind_named, served_kinds
from .manifests import ManifestError, read_manifests
from .objects import Clock, InvalidObject, Objects, utc_now
from .sdn import SdnMaster
from .server import Server
from .store import Record, Store

TOKEN = "fake-kube-token"

POLL_S = 0.1
"""Between two evaluations of a condition that nothing on the server announces."""

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class FakeKube:
    """A Kubernetes API server on a loopback port, with TLS and a bearer token.

    ``with FakeKube() as kube:`` starts and stops it; start and stop may also be called, the objects stay.

    Args: port: 0 takes any free one and keeps it. openshift, slices: whether OpenShift's API groups and
    EndpointSlices are served; objects of an unserved kind may be stored, no client sees them. history:
    changes a watch can go back. bookmark_s: seconds between bookmarks. clock: time of new objects.
    network_api: where HostSubnet, ClusterNetwork and NetNamespace are served, see kinds.NETWORK_APIS.
    route_api: where Routes are, see kinds.ROUTE_APIS. ingress_api: the version of Ingresses, see
    kinds.INGRESS_APIS. gateway_api: the release of the Gateway API, see kinds.GATEWAY_APIS. sdn: play the
    SDN's master while started, see sdn.SdnMaster. sdn_delay_s: its time for each step.
    """

    def __init__(
        self,
        port: int = 0,
        openshift: bool = True,
        slices: bool = True,
        history: int = 10_000,
        *,
        token: str = TOKEN,
        host: str = "127.0.0.1",
        bookmark_s: float = 1.0,
        clock: Clock = utc_now,
        network_api: str = "group",
        route_api: str = "group",
        ingress_api: str = INGRESS_APIS[0],
        gateway_api: str = "none",
        sdn: bool = False,
        sdn_delay_s: float = 0.1,
    ):
        self._host = host
        self._port = port
        self._certificates = own = Certificates()
        self.ca_file = str(own.ca)
        self._store = Store(history, network_api)
        self._objects = Objects(self._store, clock)
        self._access = Access(self._store, token)
        kinds = served_kinds(openshift=openshift, slices=slices, network_api=network_api,
                             route_api=route_api, ingress_api=ingress_api,
                             gateway_api=gateway_api)  # fmt: skip
        self._plays_sdn = sdn
        self._sdn = SdnMaster(self._objects, kinds, delay_s=sdn_delay_s)
        self._kinds, self._api = kinds, Api(self._store, self._objects, self._access, kinds)
        self._server = Server(self._api, self._store, self._access, own.tls, bookmark_s=bookmark_s)
        for name in NAMESPACES:
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def __enter__(self) -> FakeKube:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
        self._certificates.remove()

    # -- the server

    def start(self) -> None:
        """Listen. Raises: OSError: the port is in use."""
        if not self._server.running:
            self._port = self._server.start(self._host, self._port)
            if self._plays_sdn:
                self._sdn.start()

    def start_sdn(self) -> None:
        """Start the SDN's master on what is stored by now; it stops with the server."""
        self._sdn.start()

    def stop(self) -> None:
        """Close all connections and stop listening; objects, history and faults stay."""
        self._sdn.stop()
        self._server.stop()

    def restart(self, new_history: bool = True) -> None:
        """Stop and start on the same port; with new_history the watch history is lost, as in reality."""
        self.stop()
        if new_history:
            self.compact()
        self.start()

    @property
    def lock(self) -> threading.RLock:
        """While it is held no client sees a change; clients see all changes of the time at once."""
        return self._store.lock

    @property
    def url(self) -> str:
        """Base URL; the port is known once started."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"https://{host}:{self._port}"

    @property
    def token(self) -> str:
        """The bearer token that allows everything; assign another to make the old one fail with 401."""
        return self._access.token

    @token.setter
    def token(self, token: str) -> None:
        self._access.token = token

    @property
    def anonymous(self) -> bool:
        """True if requests without a token are those of system:anonymous, and get 403; else they get 401."""
        return self._access.anonymous

    @anonymous.setter
    def anonymous(self, allowed: bool) -> None:
        self._access.anonymous = allowed

    def token_for(self, namespace: str, account: str) -> str:
        """A new token of a ServiceAccount, who may do what stored Roles and ClusterRoles grant, no more.

        Raises: KeyError: there is no such ServiceAccount.
        """
        return self._access.token_for(namespace, account)

    def write_kubeconfig(self, path: str | Path) -> None:
        """Kubeconfig with the authority and the token inside. Start first: it holds the URL.

        It is JSON, which is YAML too and much faster to write.
        """
        authority = base64.b64encode(Path(self.ca_file).read_bytes()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "fake", "cluster": {"server": self.url, "certificate-authority-data": authority}}
            ],
            "users": [{"name": "router", "user": {"token": self.token}}],
            "contexts": [
                {"name": "fake", "context": {"cluster": "fake", "user": "router", "namespace": "default"}}
            ],
            "current-context": "fake",
        }
        Path(path).touch(mode=0o600)
        Path(path).write_text(json.dumps(config, indent=1), encoding="utf-8")

    # -- objects

    def load(self, path: str | Path) -> None:
        """Apply every object of a YAML file, all or none.

        Raises: ManifestError: names the file and the document; OSError.
        """
        manifests = list(read_manifests(path))
        with self._store.lock:
            for where, obj in manifests:
                try:
                    self._objects.check(obj)
                except (InvalidObject, LookupError) as exc:
                    raise ManifestError(f"{where}: {exc}") from exc
            for _, obj in manifests:
                self._objects.seed(obj)

    def apply(self, obj: Mapping | Sequence[Mapping]) -> dict | list[dict]:
        """Create or replace objects as given: no validation, no defaults. Returns them as stored.

        Args: obj: one object, a ``List``, or a sequence of objects.
        Raises: UnknownKind, InvalidObject.
        """
        if isinstance(obj, Mapping) and obj.get("kind") != "List":
            with self._store.lock:
                return self._objects.seed(obj).copy()
        objects = obj["items"] if isinstance(obj, Mapping) else obj
        with self._store.lock:
            return [self._objects.seed(obj).copy() for obj in objects]

    def seed(self, obj: Mapping) -> None:
        """As `apply` of one object, without making a copy of it to return."""
        with self._store.lock:
            self._objects.seed(obj)

    def spell(self, text: str, raw: bytes) -> None:
        """Send `raw` in place of a string in objects applied from now on; it may be no good JSON."""
        with self._store.lock:
            self._store.raw[text] = raw

    def delete(self, kind: str, namespace: str | None, name: str) -> None:
        """Delete an object, finalizers or not. Raises: KeyError: there is none."""
        with self._store.lock:
            record = self._find(kind, namespace, name)
            if record is None:
                raise KeyError(f"no {kind} {namespace}/{name}")
            self._objects.purge(record)

    def get(self, kind: str, namespace: str | None, name: str) -> dict | None:
        """Return an object, whichever version of its API it was stored in; None if there is none."""
        with self._store.lock:
            record = self._find(kind, namespace, name)
        return record.copy() if record else None

    def list(self, kind: str, namespace: str | None = None) -> list[dict]:
        """Objects of a kind by namespace and name."""
        with self._store.lock:
            records = list(self._store.records(kind_named(kind, self._kinds)))
        return [record.copy() for record in records if namespace is None or record.key[0] == namespace]

    def _find(self, kind: str, namespace: str | None, name: str) -> Record | None:
        rows = [row for row in KINDS if row.kind == kind and row.api_version in INGRESS_APIS]
        for row in (kind_named(kind, self._kinds), *rows):
            place = (namespace or "default") if row.namespaced else ""
            if (record := self._store.get(row, place, name)) is not None:
                return record
        return None

    # -- what clients did

    @property
    def log(self) -> list[Logged]:
        """Requests answered so far, a watch from its start on."""
        with self._store.lock:
            return list(self._server.log)

    def clear_log(self) -> None:
        with self._store.lock:
            self._server.log.clear()

    @property
    def watches(self) -> list[str]:
        """Paths of the running watches."""
        with self._store.lock:
            return sorted(self._server.watches.values())

    def wait_for(self, condition: Callable[[], object], timeout_s: float = 240.0) -> bool:
        """Wait until a condition holds: evaluated on each change, request and watch, and every 0.1 s.

        Returns whether it held within timeout_s.
        """
        deadline = time.monotonic() + timeout_s
        with self._store.changed:
            while not (holds := bool(condition())) and (left := deadline - time.monotonic()) > 0:
                self._store.changed.wait(min(left, POLL_S))
        return holds

    @property
    def subnets(self) -> set[str]:
        """Subnets that the SDN's master has given away."""
        return self._sdn.subnets

    # -- what goes wrong

    def inject(
        self,
        kind: str,
        *,
        times: int | None = 1,
        method: str | None = None,
        path: str | None = None,
        **options,
    ) -> int:
        """Inject a fault; see faults.Fault. Returns how many running watches a stream fault met.

        Raises: ValueError: no such fault.
        """
        fault = Fault(kind, times, method, path, options)
        with self._store.lock:
            met = self._server.fail_watches(fault) if kind in STREAM_FAULTS else 0
            if not met and kind != "drop-watch":
                self._server.faults.add(fault)
            return met

    def set_ahead(self, seconds: float) -> None:
        """Let the server's clock be ahead: the header Date alone shows it."""
        self._server.ahead_s = seconds

    def release(self) -> None:
        """Let requests with the fault `hold` go."""
        self._server.release()

    @property
    def held(self) -> int:
        """Number of requests that the fault `hold` has held back so far."""
        return self._server.held

    @property
    def faults(self) -> Faults:
        """Faults that were asked for, and what draws others."""
        return self._server.faults

    def clear_faults(self) -> None:
        """Forget faults that still wait for a request."""
        with self._store.lock:
            self._server.faults.clear()

    def compact(self) -> None:
        """Forget the watch history: watches from an older resourceVersion and begun lists get 410."""
        with self._store.lock:
            self._store.forget()

    def withdraw(self, *names: str) -> None:
        """Stop serving API groups or resources, as before their definition; running watches go on.

        Args: names: of a group, or of a resource with its group, such as routes.route.openshift.io.
        """
        with self._store.lock:
            self._api.kinds = tuple(
                kind for kind in self._api.kinds if not {kind.group, kind.resource} & set(names))

    def serve(self, *names: str) -> None:
        """Serve groups or resources again that were withdrawn."""
        with self._store.lock:
            served = set(self._api.kinds)
            self._api.kinds = tuple(kind for kind in self._kinds
                                    if kind in served or {kind.group, kind.resource} & set(names))

    def forbid(
        self, resource: str, verbs: Collection[str] = ("list", "watch"), namespace: str | None = None,
        name: str | None = None,
    ) -> None:
        """Refuse verbs on a resource (``routes``, ``routes/status``) with 403, in one namespace or all, and
        for one object, asked for by its name, or all."""
        with self._store.lock:
            self._access.forbid(resource, verbs, namespace, name)

    def allow(self, resource: str) -> None:
        """Take back all that was forbidden on a resource."""
        with self._store.lock:
            self._access.allow(resource)
