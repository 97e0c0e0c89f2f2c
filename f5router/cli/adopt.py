"""The command `f5router adopt`: takes the place of the original router, then removes what it left.

The takeover is a pass of the running router, so the Routes are served at every step. Objects that only the
original needed are removed after it, when everything is in place and the connections that began with the
original's iRule have had their time. Every step can be repeated: after a crash the next run goes on.
"""

import dataclasses
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from f5router.app import once
from f5router.app.controller import Controller
from f5router.app.launch import build_controller, require_alone
from f5router.app.timing import DEFAULT, Timing
from f5router.app.wiring import settled
from f5router.cli import adopted_servers, preflight
from f5router.config.config import Config
from f5router.icontrol import surroundings as io
from f5router.icontrol.prepared_servers import Prepared
from f5router.icontrol.rest.client import Client
from f5router.icontrol.writers.writer import delete
from f5router.kube.api.connection import connect
from f5router.logs.log_output import PersistentLog
from f5router.model import names, original_names
from f5router.model.errors import BigIPError, ConfigError, Refused
from f5router.model.ltm import Attachment, IRule, Policy, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.model.texts import number_of, plain_table
from f5router.plan import adoption, changes
from f5router.plan.adoption import CHANGED, CREATED, KEPT, LEFT, REMOVED, REPLACED, TAKEN_OVER, Leftover
from f5router.plan.change import DELETE, UPDATE, Plan

log = logging.getLogger(__name__)

DRAIN_S = 30.0
"""Time that connections have which began with the original's iRule, and need its server SSL profiles."""

FOLLOW_S = 0.5
"""Time between two looks at what changes in the cluster meanwhile."""

_WHY = {
    TAKEN_OVER: "it keeps its name and place",
    REPLACED: "this router has an object of its own for it",
    REMOVED: "no Route needs it any more",
    LEFT: "something else may need it",
    CHANGED: "the settings differ",
    KEPT: "the router leaves it alone",
    CREATED: "it is not there yet",
}
"""Reasons where an object has none of its own, in the order of the total."""

_TAKEN = (Policy.KIND, Rule.KIND, Pool.KIND, IRule.KIND, Record.KIND)


def adopt(config: Config, *, dry_run: bool, stop: threading.Event, drain_s: float = DRAIN_S,
          virtual_servers: bool = False, timing: Timing = DEFAULT) -> int:
    """Show what happens to each object that the original router left, and do it; returns the exit status.

    Args: virtual_servers: take over virtual servers that an administrator has made, too.
    Raises: ConfigError: the settings ask for an election, or for no virtual server of the router's own.
    """
    if virtual_servers and not config.listeners:
        raise ConfigError(["--virtual-servers: the router has virtual servers of its own with "
                           "--f5-vserver-address / ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS only"])
    if not dry_run:
        require_alone(config, "adopt")
    config = settled(config, connect(config.kube), timing.watch)
    with ExitStack() as stack:
        preview, device = preflight.look(config, stack)
        if preview.plan is None:
            PersistentLog("found beforehand").update(map(str, preview.problems), preview.warnings)
            return 1
        try:
            servers = adopted_servers.look(config, preview.plan, device) if virtual_servers else []
            leftovers = _leftovers(config, device.client, {})
        except BigIPError as exc:
            log.error("BIG-IP not readable", extra={"bigip": config.bigip_names, "error": str(exc)})
            return 1
        taken = _taken_over(preview.plan) if leftovers or device.facts.original.irule else []
        refused = adopted_servers.refused(servers, device.facts)
        PersistentLog("found beforehand").update(
            adopted_servers.others(preview.problems, servers), preview.warnings)
        rows = refused or (
            adopted_servers.rows(servers, preview.plan, config.folder) if virtual_servers else [])
        print(_table([*rows, *taken, *_replaced(leftovers, preview.plan)]))
        if preview.lost:
            print(changes.as_lost(preview.lost))
    if dry_run or refused:
        return 1 if refused else 0
    return _carry_out(config, servers, stop, drain_s, timing)


def _carry_out(config: Config, servers: list[Prepared], stop: threading.Event, drain_s: float,
               timing: Timing) -> int:
    with ExitStack() as stack:
        # --dry-run has shown what goes; the original's objects would look like a mass of deletes.
        router = build_controller(dataclasses.replace(config, allow_mass_delete=True), stack, timing=timing)
        router.device.watch_stop(stop, router.inbox.wake)
        reasons: list[str] = []
        try:
            reasons += adopted_servers.take(config, router, servers) if servers else ()
            if not reasons:
                reasons += once.converge(router, stop)
                reasons += _clean(config, router, stop, drain_s)
        except BigIPError as exc:
            reasons.append(f"BIG-IP {config.bigip_names}: {exc}")
        for reason in dict.fromkeys(reasons):
            log.error("not converged", extra={"reason": reason})
        return 1 if reasons else 0


def _clean(config: Config, router: Controller, stop: threading.Event,
           drain_s: float) -> list[str]:
    """Remove objects that nothing needs; returns why some were not removed. Raises: BigIPError."""
    if problem := once.unconverged_reason(router):
        return [f"nothing of the original router is removed: {problem}"]
    if any(leftover.fate == REMOVED for leftover in _leftovers(config, router.device.client, {})) and _drain(
            router, stop, drain_s):
        return ["stopped before everything was removed"]
    waiting = {name: f"{names.label(route.key, 'Route')} is not served yet: {reason}"
               for route, reason in once.unserved(router)
               for name in (original_names.stem_of(route.key), route.host)}
    leftovers = _leftovers(config, router.device.client, waiting)
    going = [leftover.ref for leftover in leftovers if leftover.fate == REMOVED]
    reasons = [f"{leftover.ref}: {leftover.why}" for leftover in leftovers
               if leftover.fate == LEFT and leftover.why in waiting.values()]
    if not going:
        return reasons
    router.device.failover.require_active()
    if config.https_virtual:
        io.detach_original(router.device.client, config.https_virtual, {ref.path for ref in going})
        router.settling.record_write()
    refused = _remove(router, going)
    router.reconciler.must_read("the original router's objects were adopted")
    return [*reasons, *refused, *once.converge(router, stop)]


def _drain(router: Controller, stop: threading.Event, drain_s: float) -> bool:
    """Follow the cluster for a while: pools must not wait. True if stopped. Raises: BigIPError."""
    end = time.monotonic() + drain_s
    while (left_s := end - time.monotonic()) > 0:
        if stop.wait(min(left_s, FOLLOW_S)):
            return True
        router.reconcile_once()
    return False


def _remove(router: Controller, going: Iterable[Ref]) -> list[str]:
    """Delete objects in their order; returns why some stay. Raises: BigIPError."""
    refused = []
    for ref in going:
        router.device.failover.require_active()
        try:
            delete(router.device.client, ref)
        except Refused as exc:
            refused.append(f"{ref} stays: {exc.text}")
            continue
        log.info("removed", extra={"object": str(ref)})
        router.settling.record_write()
    return refused


def _leftovers(config: Config, client: Client, unserved: Mapping[str, str]) -> list[Leftover]:
    return adoption.classify(io.original_inventory(client, config.folder), https_virtual=config.https_virtual,
                          unserved=unserved)


def _taken_over(plan: Plan) -> list[Leftover]:
    """Return the objects that keep their name and place."""
    fates = {UPDATE: TAKEN_OVER, DELETE: REMOVED}
    return [Leftover(change.ref, fates[change.verb]) for change in plan
            if change.verb in fates and change.ref.kind in _TAKEN]


def _replaced(leftovers: Iterable[Leftover], plan: Plan) -> list[Leftover]:
    """Name the replacement of each removed profile."""
    by = {change.new.replaces: change.new.target for change in plan
          if isinstance(change.new, Attachment) and change.new.replaces}
    return [Leftover(leftover.ref, REPLACED, f"by {by[leftover.ref.path]}")
            if leftover.fate == REMOVED and leftover.ref.path in by else leftover for leftover in leftovers]


def _table(leftovers: Iterable[Leftover]) -> str:
    rows = [(leftover.fate, leftover.ref.kind, changes.shown_path(leftover.ref),
             leftover.why or _WHY[leftover.fate]) for leftover in leftovers]
    if not rows:
        return "Nothing of the original router is left."
    counts = Counter(fate for fate, *_ in rows)
    total = ", ".join(f"{counts[fate]} {fate}" for fate in _WHY if counts[fate])
    number = number_of(len(rows), "object")
    return f"{plain_table(('what happens', 'kind', 'object', 'why'), rows)}\n\n{number}: {total}."
