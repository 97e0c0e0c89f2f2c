"""Virtual servers that `f5router adopt` takes over from an administrator, and gives back.

Both are one write for each virtual server, which answers clients all the time. All of them are looked at
before the first is written to: a refusal of one stops the command. Where nothing serves afterwards, which is
on further addresses and front ends, all that is the router's leaves a virtual server before it is given back.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from f5router.app.controller import Controller
from f5router.app.launch import require_alone
from f5router.app.settling import Settling
from f5router.app.timing import DEFAULT, Timing
from f5router.app.wiring import build_device, build_syncer
from f5router.config.config import Config
from f5router.icontrol import prepared_servers
from f5router.icontrol.device import Device
from f5router.icontrol.prepared_servers import Prepared
from f5router.icontrol.writers.virtual_servers import foreign
from f5router.icontrol.writers.writer import delete
from f5router.model.access_log import RequestLog
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import BigIPError, Refused
from f5router.model.front_end_names import front_end_of
from f5router.model.ltm import Attachment
from f5router.model.ownership import describer
from f5router.model.texts import plain_table
from f5router.model.virtual_server import HTTPProfile, TCPProfile, VirtualServer
from f5router.plan.adoption import CREATED, GIVEN_BACK, LEFT, NESTED, REMOVED, Leftover, departure
from f5router.plan.change import CREATE, Plan, of_kind
from f5router.reconcile.rollout import carry_out

log = logging.getLogger(__name__)


def look(config: Config, plan: Plan, device: Device) -> list[Prepared]:
    """Read the virtual servers of somebody else where a Plan creates the router's. Raises: BigIPError."""
    wanted = [change.new for change in of_kind(plan, VirtualServer)
              if change.new is not None and change.new.path in device.facts.foreign]
    facts = (device.facts.http, device.facts.https, *device.facts.further)
    return prepared_servers.read(
        device.client, wanted, {each.virtual: each for each in config.listeners},
        {each.path: each for each in facts if each})


def rows(prepared: Iterable[Prepared], plan: Plan, folder: str) -> list[Leftover]:
    """Return what happens to the virtual servers, and to everything on them."""
    taken = {each.wanted.path for each in prepared}
    created = [Leftover(change.ref, CREATED, f"on {change.obj.address} port {change.obj.port}")
               for change in of_kind(plan, VirtualServer) if change.verb == CREATE
               and change.obj.path not in taken]
    return [*(row for each in prepared for row in each.rows(folder)), *created]


def refused(prepared: Iterable[Prepared], facts: DeviceFacts) -> list[Leftover]:
    """Return which virtual servers cannot be taken over, and why."""
    return [Leftover(each.wanted.ref, LEFT, text) for each in prepared
            if (text := each.refusal(facts.version))]


def others(problems: Iterable[object], prepared: Iterable[Prepared]) -> list[str]:
    """Return the problems of a Preview without those that the takeover solves."""
    solved = [foreign(each.wanted.path).text for each in prepared]
    return [text for text in map(str, problems) if not any(each in text for each in solved)]


def take(config: Config, router: Controller, prepared: Iterable[Prepared]) -> list[str]:
    """Mark virtual servers as the router's; returns why they are not. Raises: BigIPError."""
    device = router.device
    device.turn_to(device.active_unit())
    now, version = prepared_servers.again(device.client, prepared), device.client.version()
    if reasons := [text for each in now if (text := each.refusal(version))]:
        return reasons
    describe = describer(config.status.router_name, config.status.canonical_hostname or "", config.folder)
    for each in now:
        device.failover.require_active()
        prepared_servers.take(device.client, each, describe)
        router.settling.record_write()
        log.info("virtual server taken over", extra={"virtual": each.wanted.path})
    return []


def release(config: Config, *, dry_run: bool, timing: Timing = DEFAULT) -> int:
    """Return to the administrator what the router took over; returns the exit status.

    Raises: ConfigError: the settings ask for an election.
    """
    if not dry_run:
        require_alone(config, "adopt --release")
    with ExitStack() as stack:
        device = build_device(config, stack, timing=timing, everything=True)
        try:
            device.observe(create_folder=False)
            fates = _fates(config, device)
            print(_table(fates.rows))
            for problem in fates.problems:
                log.error("nothing is given back", extra={"reason": problem})
            if fates.problems or dry_run:
                return 1 if fates.problems else 0
            refused = _carry_out(config, device, fates, timing)
        except BigIPError as exc:
            refused = [f"BIG-IP {config.bigip_names}: {exc}"]
        for reason in refused:
            log.error("not everything is given back", extra={"reason": reason})
    return 1 if refused else 0


@dataclass(frozen=True, slots=True)
class _Fates:
    """Fates of virtual servers that an administrator made, and of what is on them."""

    rows: Sequence[Leftover]
    departure: Plan
    """Deletes of what only virtual servers need on which nothing serves afterwards."""
    problems: Sequence[str]
    """Why nothing may be given back."""


def _fates(config: Config, device: Device) -> _Fates:
    """Decide what happens. Raises: BigIPError."""
    kept = tuple(filter(None, (config.http_virtual, config.https_virtual)))
    front_ends = {each.virtual: each.front_end for each in config.listeners} | {
        obj.virtual: front_end_of(obj.target) for obj in device.observed.values()
        if isinstance(obj, Attachment)}
    leaving = departure(device.observed, config.folder, kept, front_ends)
    servers = sorted((obj for obj in device.observed.values() if isinstance(obj, VirtualServer)),
                     key=lambda server: server.path)
    rows = [_fate(server, device) for server in servers]
    rows += [Leftover(change.ref, REMOVED, "its front end goes") for change in leaving
             if not isinstance(change.obj, VirtualServer | NESTED)]
    first = [server for server in servers if not front_ends.get(server.path, front_end_of(server.path))]
    created = [server for server in first if not server.is_adopted]
    if not created:
        rows += [Leftover(obj.ref, REMOVED, "no virtual server needs it any more")
                 for obj in sorted(device.observed.values(), key=lambda obj: obj.ref)
                 if isinstance(obj, TCPProfile | HTTPProfile | RequestLog) and not front_end_of(obj.ref.path)]
    problems = [f"virtual server {server.path} is on a further address, where nothing keeps it without "
                "--f5-vserver-address: run the router with the first address alone before"
                for server in created if len(created) < len(first) and server.path not in kept]
    return _Fates(rows, leaving, problems)


def _fate(server: VirtualServer, device: Device) -> Leftover:
    """Return what happens to a virtual server. Raises: BigIPError."""
    if not server.is_adopted:
        return Leftover(server.ref, LEFT, "the router created it, and leaves it as it is")
    back = ", ".join(prepared_servers.restored(device.client, server.path))
    return Leftover(server.ref, GIVEN_BACK, f"with {back}" if back else "as it is")


def _carry_out(config: Config, device: Device, fates: _Fates, timing: Timing) -> list[str]:
    """Write, and return what is refused; profiles that are in use stay. Raises: BigIPError."""
    settling = Settling(device, build_syncer(config, device, timing=timing.sync, clock=time.monotonic),
                        save=config.save_config, timing=timing, clock=time.monotonic)
    settling.record_write()  # a run before this one may have ended between a write and its saving
    refused = carry_out(fates.departure, device, lambda change: settling.record_write())
    left = {change.ref for change in fates.departure}
    for row in fates.rows:
        if row.fate == LEFT or row.ref in left:
            continue
        device.failover.require_active()
        if row.fate == GIVEN_BACK:
            device.unit.virtual_servers.give_back(row.ref.path)
        else:
            try:
                delete(device.client, row.ref)
            except Refused as exc:
                log.info("object stays", extra={"object": str(row.ref), "error": exc.text})
        settling.record_write()
    settling.finish()
    if settling.syncer.due_at() is not None:
        settling.syncer.step()
    return [f"{ref}: {error}" for ref, error in sorted(refused.items())]


def _table(rows: Iterable[Leftover]) -> str:
    cells = [(row.fate, row.ref.kind, row.ref.path, row.why) for row in rows]
    if not cells:
        return "No virtual server was taken over."
    return plain_table(("what happens", "kind", "object", "why"), cells)
