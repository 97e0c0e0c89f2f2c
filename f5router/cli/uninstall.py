"""The command `f5router uninstall`: removes everything of this router from the BIG-IP, and its statuses.

Each run reads what is there and deletes it in a safe order, so a run that was killed is finished by the next.
Statuses go first: what sends clients to a Route by its status stops before the Route does. With leader
election the Lease is held meanwhile. A router that runs without one shows itself only by what it writes: if
the objects change while they are shown, nothing is removed; if they come back, the exit status is 1.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from f5router.app.ingress_reporter import load_balancer_entries
from f5router.app.settling import Settling
from f5router.app.timing import DEFAULT, Timing
from f5router.app.wiring import build_campaign, build_device, build_syncer, write_permit
from f5router.cli import clear_status
from f5router.config.config import Config
from f5router.icontrol.device import Device
from f5router.kube.lease.campaign import Campaign
from f5router.kube.lease.elector import UNKNOWN
from f5router.logs.progress import Figures, Progress, counted
from f5router.model.errors import BigIPError, Standby
from f5router.model.objects import Ref
from f5router.model.selection import Selection
from f5router.model.texts import plain_table
from f5router.model.virtual_server import VirtualServer
from f5router.plan.adoption import GIVEN_BACK, Removal, removal
from f5router.plan.change import AnyChange, Plan, of_kind
from f5router.reconcile.rollout import carry_out

log = logging.getLogger(__name__)

TRIES = 5
"""Attempts to remove everything; each begins with a reading."""

RUNNING = "a router with this folder is probably running; stop it, and run this again"


def uninstall(config: Config, *, dry_run: bool, confirm: Callable[[str], bool],
              stopping: Callable[[], AbstractContextManager[threading.Event]],
              timing: Timing = DEFAULT) -> int:
    """Show the objects to remove, ask, and remove them; returns the exit status.

    Args:
        confirm: asks a question; True if the answer is yes.
        stopping: yields the event that ends the removal early.
    """
    with ExitStack() as stack:
        campaign = None if dry_run else build_campaign(config, stack)
        device = build_device(config, stack, timing=timing, permit=write_permit(config, campaign),
                              everything=True)
        try:
            shown = _look(device, config.folder)
        except BigIPError as exc:
            log.error("BIG-IP not readable", extra={"bigip": config.bigip_names, "error": str(exc)})
            return 1
        print(_table(shown, config))
        statuses = _statuses(config)
        if dry_run:
            return 0 if _clear(config, statuses, device, dry_run=True) else 1
        if campaign is not None and (reason := _lead(campaign, config)):
            log.error("nothing removed", extra={"reason": reason})
            return 1
        if not confirm(_question(shown, config, statuses)):
            print("Nothing is removed.")
            return 1
        with stopping() as stop:
            cleared = _clear(config, statuses, device, dry_run=False)
            reasons = [] if cleared else ["statuses are left"]
            reasons += _Removing(config, device, stop, timing).run(shown.plan)
        for reason in reasons:
            log.error("not everything removed", extra={"reason": reason})
        return 1 if reasons else 0


def _look(device: Device, folder: str) -> Removal:
    device.observe(create_folder=False)
    return removal(device.observed, folder)


def _statuses(config: Config) -> clear_status.ClearConfig | None:
    """Return the settings with which statuses are cleared; None if this router writes none."""
    if not config.status.enabled:
        return None
    return clear_status.ClearConfig(
        router_name=config.status.router_name, scope=Selection(config.watch.selection.namespace),
        kube=config.kube, rate_per_s=config.status.rate_per_s,
        log_level=config.log_level, log_format=config.log_format)


def _clear(config: Config, statuses: clear_status.ClearConfig | None, device: Device, *,
           dry_run: bool) -> bool:
    """Clear the statuses of all kinds, or list them; returns True if none is left."""
    if statuses is None:
        return True
    virtuals = (device.facts.http, device.facts.https, *device.facts.further)
    entries = load_balancer_entries(config.status.canonical_hostname, filter(None, virtuals))
    codes = [*(clear_status.run(replace(statuses, router_name=each.router_name), dry_run=dry_run)
               for each in config.route_statuses.values()),
             clear_status.run_objects(statuses, config.watch, entries, dry_run=dry_run)]
    return not any(codes)


def _table(shown: Removal, config: Config) -> str:
    adopted = {change.obj.path for change in of_kind(shown.plan, VirtualServer) if change.obj.is_adopted}
    rows = [("removed", change.ref.kind, change.ref.path, "") for change in shown.plan
            if change.ref.path not in adopted]
    rows += [(GIVEN_BACK, VirtualServer.KIND, path, "an administrator made it") for path in sorted(adopted)]
    rows += [("left", ref.kind, ref.path, why) for ref, why in sorted(shown.stays.items())]
    if not rows:
        return f"Nothing of this router is in {config.folder} of BIG-IP {config.bigip_names}."
    return plain_table(("what happens", "kind", "object", "why"), rows)


def _question(shown: Removal, config: Config, statuses: clear_status.ClearConfig | None) -> str:
    also = f", and the statuses of router {statuses.router_name}" if statuses else ""
    return (f"Remove {len(shown.plan):,} objects in {config.folder} from BIG-IP {config.bigip_names}{also}? "
            "Its Routes are no longer served.")


def _lead(campaign: Campaign, config: Config) -> str:
    """Wait for the Lease; returns why this process does not get it: another one renews it, for instance."""
    assert config.lease is not None
    timing, seen, changed = config.lease.timing, set[str](), threading.Event()
    campaign.on_change = changed.set
    end = time.monotonic() + 2 * timing.duration_s
    campaign.stand()
    with Progress.logged(log, "waiting for the Lease") as progress:
        while not campaign.leads():
            if campaign.refusal():
                return campaign.refusal()
            if campaign.holder not in ("", campaign.identity, UNKNOWN):
                seen.add(f"{campaign.holder} {campaign.version}")
            if len(seen) > 1 or time.monotonic() >= end:
                return f"{campaign.holder or 'another router'} holds the Lease: stop all routers first"
            progress.update(lambda: Figures(fields={"holder": campaign.holder or "unknown"}))
            changed.wait(timing.retry_s / 4)
    return ""


class _Removing:
    """Removes everything of ours from one BIG-IP."""

    def __init__(self, config: Config, device: Device, stop: threading.Event, timing: Timing):
        self._config, self._device, self._stop, self._timing = config, device, stop, timing
        syncer = build_syncer(config, device, timing=timing.sync, clock=time.monotonic)
        self._settling = Settling(device, syncer, save=config.save_config, timing=timing,
                                  clock=time.monotonic)
        self._gone: set[Ref] = set()

    def run(self, shown: Plan) -> list[str]:
        """Remove, tidy and save; returns why something is left. Args: shown: what was confirmed."""
        self._device.watch_stop(self._stop)
        # A run before this one may have ended between a write and its saving.
        self._settling.record_write()
        reasons = self._remove({change.ref for change in shown})
        self._device.remove_drafts()
        self._device.remove_files(self._device.installed_files())
        self._settling.finish()
        if self._settling.syncer.due_at() is not None:
            self._settling.syncer.step()
        return reasons

    def _remove(self, shown: set[Ref]) -> list[str]:
        reasons: list[str] = []
        for attempt in range(TRIES):
            if reasons and self._stop.wait(self._timing.backoff.delay_s(attempt)):
                return ["stopped before everything was removed"]
            try:
                left = _look(self._device, self._config.folder)
                refs = {change.ref for change in left.plan}
                if not refs:
                    return [f"{ref}: {why}" for ref, why in sorted(left.stays.items())]
                if foreign := (refs & self._gone) | (refs - shown) | (shown - refs if not attempt else set()):
                    return [f"{_some(foreign)} changed in the meantime: {RUNNING}"]
                reasons = self._pass(left.plan)
            except BigIPError as exc:
                reasons = [f"BIG-IP {self._config.bigip_names}: {exc}"]
                if isinstance(exc, Standby) or self._stop.is_set():
                    break
        return reasons

    def _pass(self, plan: Plan) -> list[str]:
        """Carry out a Plan; returns what was refused, or waits for that. Raises: BigIPError."""
        done = 0
        with Progress.logged(log, "removing") as progress:
            def record(change: AnyChange) -> None:
                nonlocal done
                done += 1
                self._gone.add(change.ref)
                self._settling.record_write()
                progress.update(lambda: Figures(done, len(plan), {"changes": counted(done, len(plan))}))

            refused = carry_out(plan, self._device, record)
        return [f"{ref} stays: {error}" for ref, error in sorted(refused.items())]


def _some(refs: Iterable[Ref]) -> str:
    some = sorted(map(str, refs))
    return some[0] + (f" and {len(some) - 1:,} others" if len(some) > 1 else "")
