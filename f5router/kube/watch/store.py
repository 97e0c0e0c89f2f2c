"""The newest known value of every watched object, and which of them changed.

One Store is shared by the watchers, which write, and the controller, which drains.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, get_args

from f5router.model.cluster import (
    ClusterNetwork,
    HostSubnet,
    Key,
    Namespace,
    Node,
    PodNetworks,
    Route,
    Secret,
    Service,
)
from f5router.model.cluster import EndpointSlice as Slice
from f5router.model.delta import Delta
from f5router.model.gateway import (
    BackendTLSPolicy,
    Gateway,
    GatewayClass,
    HTTPRoute,
    LabelledNamespace,
    ReferenceGrant,
    TCPRoute,
    TLSRoute,
)
from f5router.model.ingress import CertificateDelegation, Ingress, IngressClass, IngressRoute

Value = (Route | Service | Slice | Namespace | Node | HostSubnet | ClusterNetwork | PodNetworks | Secret
         | Ingress | IngressClass | IngressRoute | CertificateDelegation
         | GatewayClass | Gateway | HTTPRoute | TLSRoute | TCPRoute | BackendTLSPolicy
         | ReferenceGrant | LabelledNamespace)

FIELDS = (
    "routes", "services", "slices", "namespaces", "nodes", "host_subnets", "cluster_networks",
    "block_affinities", "cilium_nodes", "secrets",
    "ingresses", "ingress_classes", "ingress_routes", "delegations",
    "gateway_classes", "gateways", "http_routes", "tls_routes", "tcp_routes", "backend_policies",
    "grants", "labelled_namespaces")
"""Fields of a Delta."""

_NOT_COMPARED = {kind: tuple(each.name for each in fields(kind) if not each.compare)
                 for kind in get_args(Value)}
"""Fields that do not matter to `==`, such as resource_version."""

_NUMBER = re.compile(r"[0-9]{1,20}")
"""A resourceVersion, of 64 bits."""


class Kind:
    """Values of one kind by the object that they came from.

    An object has one value, none when it cannot be used, or several: the subsets of Endpoints.
    """

    def __init__(self) -> None:
        self.values: dict[Key, Value] = {}
        self._value_keys: dict[Key, tuple[Key, ...]] = {}
        self._before: dict[Key, Value | None] = {}

    def put(self, obj: Key, values: tuple[Value, ...]) -> bool:
        """Set the values of an object; return True if any differs from the one before."""
        new = {value.key: value for value in values}
        old = self._value_keys.get(obj) or ((obj,) if obj in self.values else ())
        changed = [self._set(key, None) for key in old if key not in new]
        changed += [self._set(key, value) for key, value in new.items()]
        if new.keys() <= {obj}:  # the common case takes no memory
            self._value_keys.pop(obj, None)
        else:
            self._value_keys[obj] = tuple(new)
        return any(changed)

    def replace(self, objects: Mapping[Key, tuple[Value, ...]]) -> bool:
        """Set all objects; missing ones are removed. Returns True if anything changed."""
        owned = {key for keys in self._value_keys.values() for key in keys}
        known = (self.values.keys() - owned) | self._value_keys.keys()
        changed = [self.put(obj, ()) for obj in known - objects.keys()]
        changed += [self.put(obj, values) for obj, values in objects.items()]
        return any(changed)

    def missing(self, objects: Mapping[Key, tuple[Value, ...]]) -> tuple[int, int]:
        """Count the objects that `replace` would remove, and all objects with a value."""
        owned = {key for keys in self._value_keys.values() for key in keys}
        known = (self.values.keys() - owned) | {obj for obj, keys in self._value_keys.items() if keys}
        return len(known - objects.keys()), len(known)

    def drain(self, is_ready: Callable[[Any, Any], bool] = lambda old, new: True) -> dict[Key, Any]:
        """Return the values that differ from those at the last drain; None for a removed one.

        Args: is_ready: False for a value, given as it was and as it is, that stays for another drain.
        """
        before = self._before
        self._before = {key: old for key, old in before.items() if not is_ready(old, self.values.get(key))}
        return {key: new for key, old in before.items()
                if key not in self._before and (new := self.values.get(key)) != old}

    def convert(self, change: Callable[[Value], Value]) -> None:
        """Replace all values, also those at the last drain: this is no change."""
        self.values = {key: change(value) for key, value in self.values.items()}
        self._before = {key: value and change(value) for key, value in self._before.items()}

    def pending(self) -> int:
        """Count the values that may differ at the next drain."""
        return len(self._before)

    def is_pending(self, key: Key) -> bool:
        """True for a value that may differ at the next drain."""
        return key in self._before

    def _set(self, key: Key, value: Value | None) -> bool:
        old = self.values.get(key)
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value if value != old else _shared(value, old)
        if value == old:
            return False
        self._before.setdefault(key, old)
        return True


class Store:
    """All kinds behind one lock, so that a drain is consistent."""

    def __init__(self, *, keeps_labels: bool = False):
        """Args: keeps_labels: True if front ends may select by labels; otherwise a change of them is none."""
        self._lock, self._keeps_labels = threading.Lock(), keeps_labels
        self._kinds = {field: Kind() for field in FIELDS}
        self._gone: dict[Key, Value] = {}
        """Routes removed since the last drain. If one returns before the next drain, nobody notices its
        absence, so a status that changed meanwhile must be reported."""
        self._forgets_addresses = False
        self.on_route: Callable[[Route, Route], None] = lambda old, new: None
        """Called without the lock when a Route is replaced by a newer reading of the same object."""

    def put(self, field: str, obj: Key, values: tuple[Value, ...]) -> bool:
        """See Kind.put; field is one of FIELDS.

        A Route older than the one that refresh_route stored is ignored: the watch will deliver that one too.
        """
        with self._lock:
            values = self._kept(values)
            kind = self._kinds[field]
            known = kind.values.get(obj)
            for value in values:
                if (isinstance(known, Route) and isinstance(value, Route) and known.uid == value.uid
                        and _older(value, known)):
                    return False
            changed = kind.put(obj, values)
            if field == "routes":
                known = self._previous(obj, known, gone=not values)
        for value in values:
            self._notify(known, value)
        return changed

    def replace(self, field: str, objects: Mapping[Key, tuple[Value, ...]]) -> bool:
        """See Kind.replace."""
        with self._lock:
            if self._forgets_addresses or field in _LABELLED:
                objects = {obj: self._kept(values) for obj, values in objects.items()}
            kind = self._kinds[field]
            known = dict(kind.values) if field == "routes" else {}
            changed = kind.replace(objects)
            before = {obj: self._previous(obj, known.get(obj), gone=not objects.get(obj))
                      for obj in (known.keys() | self._gone.keys() if field == "routes" else ())}
        for obj, values in objects.items():
            for value in values:
                self._notify(before.get(obj), value)
        return changed

    def missing(self, field: str, objects: Mapping[Key, tuple[Value, ...]]) -> tuple[int, int]:
        """See Kind.missing."""
        with self._lock:
            return self._kinds[field].missing(objects)

    def forget_addresses(self) -> None:
        """Keep only the Nodes of pods from now on: a pod that starts or ends is no change then."""
        with self._lock:
            self._forgets_addresses = True
            self._kinds["slices"].convert(_without_addresses)

    def _kept(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        if self._forgets_addresses:
            values = tuple(map(_without_addresses, values))
        return values if self._keeps_labels else tuple(map(_without_labels, values))

    def drain(self) -> Delta:
        """See Kind.drain."""
        with self._lock:
            self._gone.clear()
            drained: dict[str, Any] = {field: kind.drain() for field, kind in self._kinds.items()}
            return Delta(**drained)

    def drain_slices(self, is_held: Callable[[Key], bool], *, settled: bool) -> Delta:
        """Drain endpoints alone: they do not wait for other changes.

        Args:
            is_held: True for a Service whose endpoints stay for another drain.
            settled: leave those of a Service that has changed itself, and a slice that has lost its last
                address: another change may belong to it.
        """
        changed = self._kinds["services"]

        def is_ready(old: Slice | None, new: Slice | None) -> bool:
            services = {Key(value.key.namespace, value.service) for value in (old, new) if value is not None}
            if any(map(is_held, services)):
                return False
            return not settled or not (any(map(changed.is_pending, services)) or (
                _has_pods(old) and not _has_pods(new)))

        with self._lock:
            return Delta(slices=self._kinds["slices"].drain(is_ready))

    def has_slices(self) -> bool:
        """True if endpoints may differ at the next drain."""
        with self._lock:
            return self._kinds["slices"].pending() > 0

    def pending(self) -> int:
        """See Kind.pending."""
        with self._lock:
            return sum(kind.pending() for kind in self._kinds.values())

    def refresh_route(self, route: Route) -> bool:
        """Store a Route that is newer than the known one, such as the reply to a write.

        An unknown one is ignored: it may be deleted already. Returns True if its value changed.
        """
        with self._lock:
            routes = self._kinds["routes"]
            known = routes.values.get(route.key)
            if not isinstance(known, Route) or known.uid != route.uid or not _older(known, route):
                return False
            changed = routes.put(route.key, self._kept((route,)))
        self._notify(known, route)
        return changed

    def get(self, field: str, key: Key) -> Value | None:
        """Return the newest value."""
        with self._lock:
            return self._kinds[field].values.get(key)

    def _previous(self, key: Key, known: Value | None, *, gone: bool) -> Value | None:
        """Return the reading before, since the last drain. Args: known: the stored one; gone: removed now."""
        if gone and known is not None:
            self._gone[key] = known
        return known if gone or known is not None else self._gone.pop(key, None)

    def _notify(self, old: Value | None, new: Value) -> None:
        if isinstance(old, Route) and isinstance(new, Route) and old.uid == new.uid:
            self.on_route(old, new)


def _shared(value: Any, known: Any) -> Any:
    """Return a value made of the parts of a known one that is equal, of which others hold parts, too.

    So each status that is written, and each new list, leaves one copy of all texts in memory. Fields that
    are not compared, such as resource_version, are the new ones.
    """
    newer = {name: new for name in _NOT_COMPARED[type(value)]
             if (new := getattr(value, name)) != getattr(known, name)}
    return replace(known, **newer) if newer else known


def _older(route: Route, other: Route) -> bool:
    """True if a Route was read before the other; False if that cannot be known.

    Source: Kubernetes API concepts, resource versions: those of one resource compare as integers.
    """
    versions = route.resource_version, other.resource_version
    return all(_NUMBER.fullmatch(version) for version in versions) and int(versions[0]) < int(versions[1])


_LABELLED = frozenset({"routes", "ingresses", "ingress_routes", "namespaces"})
"""Kinds with objects that front ends select by their labels."""


def _without_labels(value: Value) -> Value:
    if not isinstance(value, Route | Ingress | IngressRoute | Namespace) or not value.labels:
        return value
    return replace(value, labels=())


def _without_addresses(value: Value) -> Value:
    return value.without_addresses() if isinstance(value, Slice) else value


def _has_pods(endpoints: Slice | None) -> bool:
    return endpoints is not None and bool(endpoints.addresses or endpoints.nodes)
