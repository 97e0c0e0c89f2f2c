"""Questions of commands to a router: whether it has converged, and why not. `run --once` waits for it."""

import logging
import math
import threading

from f5router.app.controller import Controller
from f5router.app.first_load import REFUSED_S, SYNC_S, wait_synced
from f5router.app.timing import DEFAULT, Timing
from f5router.model.cluster import Route
from f5router.model.errors import UNCERTAIN_ERRORS, BigIPError, LoginRefused, Standby, Unsupported
from f5router.plan.change import DELETE
from f5router.plan.diff import diff
from f5router.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)

TRIES = 5
"""Attempts, with a growing back-off between them. A refused password has one: each counts towards a locked
account; so has a version of TMOS that is too old, and a unit that is a standby."""
EVENTS_S = 10.0
"""How long the one pass of `--once` waits for its Events, which go at a bounded rate."""


def converge(
    controller: Controller, stop: threading.Event, *, sync_timeout_s: float = SYNC_S,
    refused_s: float = REFUSED_S, flush_s: float = 30.0, timing: Timing = DEFAULT,
) -> list[str]:
    """Converge, write the statuses, and return why anything has not converged."""
    if not wait_synced(controller.cluster, sync_timeout_s, refused_s=refused_s, stop=stop):
        return [*controller.cluster.missing()]
    controller.reconciler.patience_s = math.inf  # there are no others that a request could hold up
    with controller.first_load.progress:
        reason = _make_passes(controller, stop, timing)
    if not reason and controller.held_deletes.wait(stop, sync_timeout_s):
        reason = _make_passes(controller, stop, timing)
    if reason:
        controller.reporter.flush(timing.exit_s / 2)
        return [reason]
    settling = controller.settling
    settling.finish()
    if settling.syncer.due_at() is not None:
        settling.syncer.step()
    reasons = [str(problem) for problem in controller.reconciler.verdicts.problems()]
    reasons += [f"way to the pods: {text}" for text in network_problems(controller)]
    reasons += filter(None, (controller.held_deletes.reason(), controller.held_deletes.kept()))
    if problem := controller.reporter.flush_all(flush_s, events_s=EVENTS_S):
        reasons.append(problem)
    return reasons


def _make_passes(controller: Controller, stop: threading.Event, timing: Timing) -> str:
    """Make passes until nothing is left to do, or to be tried at once; returns why that fails."""
    for attempt in range(TRIES):
        last, delay_s = attempt == TRIES - 1, timing.backoff.delay_s(attempt + 1)
        try:
            report = controller.reconcile_once()
        except BigIPError as exc:
            reason = f"BIG-IP {controller.config.bigip_names}: {exc}"
            if exc.may_have_applied:
                controller.settling.record_write()
            final = isinstance(exc, LoginRefused | Unsupported) or (
                isinstance(exc, Standby) and not controller.device.pair.may_choose())
            if last or final or stop.wait(delay_s):
                return reason
            log.error("BIG-IP not programmed", extra={"error": reason})
            continue
        table, counts = controller.reconciler.table, report.counts
        uncertain = any(isinstance(row.error, UNCERTAIN_ERRORS) for row in table.failures.values())
        if uncertain and not last and not stop.wait(delay_s):
            table.retry_uncertain()
        elif not counts.writes or counts.refused:
            break
    return ""


def unserved(controller: Controller) -> list[tuple[Route, str]]:
    """Return admitted Routes that the BIG-IP does not serve, with the reason."""
    reconciler = controller.reconciler
    return [(route, reason) for key, reason in reconciler.verdicts.unserved().items()
            if (route := reconciler.engine.route(key)) is not None]


def unconverged_reason(controller: Controller) -> str:
    """Read the BIG-IP, and return what should have been left differently; "" for nothing.

    Objects that the BIG-IP refused, and their dependents, are left to `unserved`. Raises: BigIPError.
    """
    if not controller.cluster.synced():
        return "the cluster has not been read"
    controller.device.observe()
    if not is_converged(controller.reconciler):
        return "not everything is in place on the BIG-IP"
    return "its iRule is still there" if controller.device.facts.original.irule else ""


def network_problems(controller: Controller) -> list[str]:
    """Return why pods may not be reached although their Routes are programmed."""
    nodes = controller.cluster.nodes_problem()
    findings = controller.reconciler.verdicts.network_findings()
    return [*((nodes,) if nodes else ()), *findings.problems]


def is_converged(reconciler: Reconciler) -> bool:
    """True if all that is desired is on the device, apart from refused objects; after an observation."""
    reconciler.engine.set_facts(reconciler.device.facts)
    reconciler.rebuild_all()
    changes = diff(reconciler.engine.objects, reconciler.device.observed, reconciler.retention.owns,
                   ordinals=reconciler.device.ordinals)
    return all(change.verb == DELETE or change.ref in reconciler.failures
               for change in reconciler.retention.determine(changes).plan)
