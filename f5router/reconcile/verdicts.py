"""Verdicts on Routes, and the problems that keep Routes from being served."""

from collections.abc import Collection, Set

from f5router.admission.condition import PENDING, Verdict
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.model.cluster import Key
from f5router.model.errors import NO_RIGHT, BigIPError, Unconfirmed
from f5router.model.findings import CAUSES_OF_EMPTY_POOLS, DEVICE_REJECTED, EXTERNAL
from f5router.model.ltm import Object, Pool, ServerSSL
from f5router.model.ltm_nodes import Incomplete
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.placement import FloatingAddress, References
from f5router.model.texts import SECRET_NOT_READ, Findings
from f5router.model.virtual_server import Listening, VirtualServer
from f5router.network import static_routes, vxlan
from f5router.plan.change import Stage, stage
from f5router.plan.changes import GroupedProblem, grouped
from f5router.reconcile.certificate_warnings import CertificateWarnings
from f5router.reconcile.table import Table

_NO_POOL = Ref(Pool.KIND, "")
_OF_SERVERS = (VirtualServer.KIND, References.KIND, FloatingAddress.KIND)
"""Kinds of the properties of virtual servers."""


def _place(obj: Object | None) -> tuple[str, int] | None:
    return (obj.address, obj.port) if isinstance(obj, VirtualServer) else None


class Verdicts:
    """Reads engine, device and refusals; changes nothing."""

    def __init__(self, engine: Engine, device: Device, table: Table, *, certificates: CertificateWarnings):
        self._engine, self._device, self._table = engine, device, table
        self._certificates = certificates

    def verdict(self, key: Key, needed: Set[Ref] | None = None) -> Verdict | None:
        """Return the verdict for a Route's status; None while it is not yet known.

        Args: needed: all that the Route needs, if the caller knows it.
        """
        engine = self._engine
        if rejection := engine.rejection(key):
            return Verdict(False, rejection.reason, rejection.message + self._left_open(engine.closing(key)))
        if fault := engine.fault_status(key):
            return Verdict(False, fault.reason, fault.message + self._left_open(engine.uses(key)))
        needed = self._serving(engine.closure(engine.uses(key)) if needed is None else needed)
        if self._table.is_in_doubt(needed):
            return PENDING  # the last write may have been done
        if (ref := self._refused_object(needed)) is not None:
            error = self._table.error(ref)
            return PENDING if isinstance(error, Unconfirmed) else Verdict(
                False, DEVICE_REJECTED, f"{ref}: {error.text}")
        profiles = (Ref(ServerSSL.KIND, path) for path in self._device.facts.missing_profiles)
        if missing := sorted(needed & set(profiles)):
            return Verdict(False, DEVICE_REJECTED, f"{missing[0]} is not there")  # nobody refused a write
        if (secret := engine.pending_secret(key)) is not None and secret.forbidden:
            return self._without_right(key, needed)
        if not self._table.is_settled(needed):
            return None
        known = not engine.pending_secret(key) and not engine.pending(key)
        served = known and needed <= self._device.observed.keys()
        return Verdict(True, message=self._message(key, needed)) if served else None

    def _serving(self, needed: Set[Ref]) -> Set[Ref]:
        """Return what a Route needs without refused changes of virtual servers that serve clients as before.

        One that is refused another place is not left out: clients look for it there.
        """
        refused = {ref for ref in needed & self._table.failures.keys() if ref.kind in _OF_SERVERS}
        observed, wanted = self._device.observed, self._engine.objects
        if not refused or not all(ref in observed for ref in needed if ref.kind == Listening.KIND):
            return needed
        return needed - {ref for ref in refused if _place(observed.get(ref)) == _place(wanted.get(ref))}

    def _left_open(self, closing: Collection[Ref]) -> str:
        """Return what a Route's text adds while the BIG-IP refuses what keeps its requests from others."""
        ref = self._refused_object(self._engine.closure(closing)) if closing else None
        error = None if ref is None else self._table.error(ref)
        return "" if error is None or isinstance(error, Unconfirmed) else (
            f"; others may get its requests, as the BIG-IP refuses {ref}: {error.text}")

    def _without_right(self, key: Key, needed: Set[Ref]) -> Verdict:
        """Return the verdict for a Route whose Secret may not be read: what was served before stays."""
        text = self._unread(key)
        if needed <= self._device.observed.keys():
            return Verdict(True, message=f"{text}; it is served as before")
        return Verdict(False, EXTERNAL, text)

    def _unread(self, key: Key) -> str:
        return "; ".join(each.message for each in self._engine.own_warnings(key)
                         if each.reason == SECRET_NOT_READ)

    def _message(self, key: Key, needed: Set[Ref]) -> str:
        """Return what the status of an admitted Route has for its team; "" for nothing."""
        route = self._engine.route(key)
        texts = (*self._left_out(needed).values(), *(route.option_problems if route else ()),
                 self._unread(key), *(text for _, text in self._certificates.of(key)),
                 *self._causes_of_empty_pool(key))
        return "; ".join(filter(None, texts))

    def _causes_of_empty_pool(self, key: Key) -> list[str]:
        """Return why no pod gets the requests of a Route; [] if one does."""
        pool = self._engine.objects.get(self._engine.pool_of(key) or _NO_POOL)
        if not isinstance(pool, Pool) or any(member.state == "enabled" for member in pool.members):
            return []
        return [text for reason, text in self._engine.warnings(key) if reason in CAUSES_OF_EMPTY_POOLS]

    def _left_out(self, needed: Set[Ref]) -> dict[Ref, str]:
        """Return the pools of a Route that the BIG-IP has without some of their members, and why."""
        texts = {}
        for ref in sorted(needed & self._table.failures.keys()):
            error = self._table.error(ref)
            if isinstance(error, Incomplete) and ref == error.applied.ref:
                texts[ref] = left_out(ref, self._engine.objects.get(ref), error)
        return texts

    def waits_for(self, key: Key) -> str:
        """Return what an admitted Route waits for before its objects can be written; "" for nothing."""
        if (secret := self._engine.pending_secret(key)) and not secret.forbidden:
            return f"Secret {secret.key.name} is not read yet"
        return "its certificates are not checked yet" if self._engine.pending(key) else ""

    def _refused_object(self, needed: Set[Ref]) -> Ref | None:
        """Return the first object of a Route that was refused, not one that needs it; None if none was.

        A pool without some of its members does not count, unless previous objects stay because of it.
        """
        failures = self._table.failures
        failed = {ref for ref in needed & failures.keys()
                  if failures[ref].blocked or not isinstance(failures[ref].error, Incomplete)}
        return min(failed, key=lambda ref: (stage(self._engine.objects[ref]), ref), default=None)

    def unserved(self, *, written: bool = True) -> dict[Key, str]:
        """Return the admitted Routes that the device does not serve, with the reason.

        Args: written: False before a pass; then a Route that only waits for it is left out.
        """
        reasons = {}
        for key in self._engine.routes():
            needed = self._engine.closure(self._engine.uses(key))
            verdict, secret = self.verdict(key, needed), self._engine.pending_secret(key)
            if secret is not None and secret.forbidden:
                continue  # its team has the reason
            if waits_for := self.waits_for(key):
                reasons[key] = waits_for
            elif verdict is None or verdict == PENDING:
                if written:
                    reasons[key] = "not yet programmed"
            elif not verdict.admitted and self._engine.rejection(key) is None:
                reasons[key] = verdict.message
            elif verdict.admitted:
                without = (text for ref, text in self._left_out(needed).items() if self._is_empty(ref))
                reasons.update((key, text) for text in without)
        return reasons

    def _is_empty(self, ref: Ref) -> bool:
        pool = self._device.observed.get(ref)
        return isinstance(pool, Pool) and not pool.members

    def problems(self, *, written: bool = True) -> list[GroupedProblem]:
        """Return why anything is not in place: refused objects, whoever needs them, and unserved Routes.

        The network to the pods is left to `network_findings`.

        Args: written: see `unserved`.
        """
        refused = self._refused_texts()
        unserved = self.unserved(written=written)
        for key in unserved:
            ref = self._refused_object(self._engine.closure(self._engine.uses(key)))
            if ref is not None:
                unserved[key] = refused.get(ref, unserved[key])
        blocked = {ref for ref, failure in self._table.failures.items() if failure.blocked}
        return grouped(refused, unserved, blocked)

    def _refused_texts(self) -> dict[Ref, str]:
        """Return the refused objects with the cause, in the order in which they would be written.

        A right that is missing is one cause, whatever the objects on which it is.
        """
        errors = {ref: self._table.error(ref) for ref, row in self._table.failures.items()
                  if row.is_in_use or ref.kind not in (*vxlan.KINDS, StaticRoute.KIND)}
        texts, denied = {}, ""
        for ref in sorted(errors, key=lambda ref: (self._stage(ref), ref)):
            text = errors[ref].text if ref in self._engine.objects else f"not deleted: {errors[ref].text}"
            if errors[ref].code == NO_RIGHT:
                text = denied = denied or text
            texts[ref] = text
        return texts

    def _stage(self, ref: Ref) -> Stage:
        obj = self._engine.objects.get(ref) or self._device.observed.get(ref)
        return stage(obj) if obj is not None else Stage.POOL

    def virtual_server_findings(self) -> Findings:
        """Return which settings have no effect because of what is on a virtual server."""
        return self._engine.virtual_server_findings()

    def network_findings(self) -> Findings:
        """Return what keeps the BIG-IP from reaching pods, and network objects that it refused."""
        failures = {ref for ref, row in self._table.failures.items() if not row.is_in_use}
        refused: dict[BigIPError, Ref] = {}
        # An object that needs a refused one has the same error: report the first in the order of writes.
        for ref in sorted((ref for ref in failures if ref.kind in vxlan.KINDS),
                          key=lambda ref: (vxlan.KINDS.index(ref.kind), ref)):
            refused.setdefault(self._table.error(ref), ref)
        texts = tuple(vxlan.refusal(ref, error) for error, ref in refused.items())
        routes = {ref: self._table.error(ref) for ref in failures if ref.kind == StaticRoute.KIND}
        return self._engine.network_findings() + Findings(texts) + static_routes.refusals(
            routes, self._engine.objects)


def left_out(ref: Ref, wanted: Object | None, error: Incomplete) -> str:
    """Say that a pool serves without some of its members."""
    all_of = {(m.address, m.port) for m in wanted.members} if isinstance(wanted, Pool) else set()
    missing = all_of - {(member.address, member.port) for member in error.applied.members}
    return f"{ref}: {len(missing)} of {len(all_of)} pods are not in the pool: {error.text}"
