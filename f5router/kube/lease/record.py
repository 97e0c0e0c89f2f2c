"""The record of a Lease (coordination.k8s.io/v1): its holder, and for how long others wait for it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from f5router.kube.api import fields


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """Content of a Lease. Its times are for people: no router compares them with a clock of its own."""

    holder: str = ""
    """Identity of the leader; "" if nobody holds it."""
    duration_s: float = 0.0
    """Time for which others wait after the last change that they saw."""
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease as the API server returned it."""

    record: LeaseRecord
    version: str = ""
    """Its resourceVersion, the condition of the next write; "" if there is no Lease."""
    uid: str = ""


def decode(obj: object) -> Lease:
    """Read a Lease; what is missing or malformed counts as not given."""
    spec = fields.mapping(fields.mapping(obj).get("spec"))
    texts = [text if isinstance(text := spec.get(name), str) else ""
             for name in ("holderIdentity", "acquireTime", "renewTime")]
    holder, acquired, renewed = texts
    return Lease(
        LeaseRecord(holder, float(fields.integer(spec.get("leaseDurationSeconds")) or 0), acquired, renewed,
                    fields.integer(spec.get("leaseTransitions")) or 0),
        fields.resource_version(obj), fields.uid(obj))


def encode(record: LeaseRecord, name: str, namespace: str, replaced: Lease) -> dict[str, Any]:
    """Return the Lease to send, on the condition that it replaces another one, or that there is none.

    The uid is a condition too: a PUT of a Lease that was deleted meanwhile would create it
    (k8s.io/kubernetes/pkg/registry/coordination/lease/strategy.go: AllowCreateOnUpdate).
    """
    metadata = {"name": name, "namespace": namespace}
    if replaced.version:
        metadata |= {"resourceVersion": replaced.version, "uid": replaced.uid}
    spec = {
        "holderIdentity": record.holder, "leaseDurationSeconds": int(record.duration_s),
        "acquireTime": record.acquired, "renewTime": record.renewed, "leaseTransitions": record.transitions}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def micro_time(seconds: float) -> str:
    """Return seconds since the epoch as a MicroTime.

    Six digits, always: API servers refuse times with fewer (kubernetes #141204).
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
