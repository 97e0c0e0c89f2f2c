"""Virtual servers that `f5router adopt` takes over from an administrator, and gives back.

Both are one write for each virtual server, which answers clients all the time. All of them are looked at
before the first is written to: a refusal of one stops the command.
"""

import logging
import time
from collections.abc import Iterable
from contextlib import ExitStack

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
from f5router.model.ownership import describer
from f5router.model.texts import plain_table
from f5router.model.virtual_server import HTTPProfile, TCPProfile, VirtualServer
from f5router.plan.adoption import CREATED, GIVEN_BACK, LEFT, REMOVED, Leftover
from f5router.plan.change import CREATE, Plan, of_kind

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
            rows, problems = _fates(config, device)
            print(_table(rows))
            for problem in problems:
                log.error("nothing is given back", extra={"reason": problem})
            if not problems and not dry_run:
                _carry_out(config, device, rows, timing)
        except BigIPError as exc:
            log.error("not everything is given back",
                      extra={"reason": f"BIG-IP {config.bigip_names}: {exc}"})
            return 1
    return 1 if problems else 0


def _fates(config: Config, device: Device) -> tuple[list[Leftover], list[str]]:
    """Return what happens to the virtual servers and their profiles, and why nothing may."""
    servers = sorted((obj for obj in device.observed.values() if isinstance(obj, VirtualServer)),
                     key=lambda server: server.path)
    adopted = [server for server in servers if server.is_adopted]
    rows = []
    for server in servers:
        back = ", ".join(prepared_servers.restored(device.client, server.path)) if server.is_adopted else ""
        rows.append(Leftover(server.ref, GIVEN_BACK, f"with {back}" if back else "as it is")
                    if server.is_adopted else
                    Leftover(server.ref, LEFT, "the router created it, and leaves it as it is"))
    if len(adopted) == len(servers):
        rows += [Leftover(obj.ref, REMOVED, "no virtual server needs it any more")
                 for obj in sorted(device.observed.values(), key=lambda obj: obj.ref)
                 if isinstance(obj, TCPProfile | HTTPProfile | RequestLog)]
    named = (config.http_virtual, config.https_virtual)
    front_ends = {each.virtual: each.front_end for each in config.listeners}
    problems = [f"virtual server {server.path} is of front end {name}, where nothing keeps it without its "
                "entry: run the router without the entry, which gives it back"
                if (name := front_ends.get(server.path, "")) else
                f"virtual server {server.path} is on a further address, where nothing keeps it without "
                "--f5-vserver-address: run the router with the first address alone before"
                for server in servers if adopted and server.path not in named]
    return rows, problems


def _carry_out(config: Config, device: Device, rows: Iterable[Leftover], timing: Timing) -> None:
    """Write; what the BIG-IP refuses to delete stays. Raises: BigIPError."""
    settling = Settling(device, build_syncer(config, device, timing=timing.sync, clock=time.monotonic),
                        save=config.save_config, timing=timing, clock=time.monotonic)
    settling.record_write()  # a run before this one may have ended between a write and its saving
    for row in rows:
        if row.fate == LEFT:
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


def _table(rows: Iterable[Leftover]) -> str:
    cells = [(row.fate, row.ref.kind, row.ref.path, row.why) for row in rows]
    if not cells:
        return "No virtual server was taken over."
    return plain_table(("what happens", "kind", "object", "why"), cells)
