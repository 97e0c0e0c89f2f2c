"""CPU, memory and calls that a router as a process needs for a load, a restart and a change."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.waits import crowd
from benchmarks.waits.site import TENANT, Row, Settings, Site, rule, site, stop
from tests import manifests

ROUTES = 10_000
TRIES = 30
STILL_S = 5.0
"""A router is done when nothing has been written for so long: statuses, tidying up and saving are over."""
APART_S = 1.0


def cpu_s(pid: int) -> float:
    """CPU seconds of a process since its start, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_mib(pid: int) -> float:
    """Resident memory of a process at most."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) / 1024


def whole(settings: Settings) -> Iterator[Row]:
    """A load, a restart, and then Routes with a certificate, one by one."""
    count = settings.count(ROUTES)
    with site(settings, latency_s=0.0) as place:
        place.cluster.fill(crowd.mixed, count)
        child = yield from _started(place, f"load of {count:,} mixed Routes")
        stop(child)
        child = yield from _started(place, f"restart with {count:,} mixed Routes")
        yield from _secured(place, child, settings.times(TRIES))


def _started(place: Site, case: str) -> Iterator[Row]:
    """Yield what a router needs until all is done; returns its process, which goes on."""
    place.device.calls()
    begin = time.monotonic()
    child = place.start()
    ready_s = time.monotonic() - begin
    place.device.quiet(STILL_S, 60.0)
    calls, used_s = place.device.calls(), cpu_s(child.pid)
    reads = calls.pop("GET", 0)
    writes = sum(calls.values())
    yield Row(case, "ready after", [ready_s])
    yield Row(case, "CPU of the process", [used_s], unit="CPU s")
    yield Row(case, "writes", [writes], unit="calls")
    yield Row(case, "reads", [reads], unit="calls")
    if writes:
        yield Row(case, "CPU for each write", [1000 * used_s / writes], unit="CPU ms")
    yield Row(case, "memory at most", [most_mib(child.pid)], unit="MiB")
    return child


def _secured(place: Site, child: subprocess.Popen, tries: int) -> Iterator[Row]:
    begin_s = cpu_s(child.pid)
    time.sleep(tries * APART_S / 2)
    idle_s = 2 * (cpu_s(child.pid) - begin_s)
    begin_s = cpu_s(child.pid)
    for number in range(tries):
        name = f"own{number}"
        place.device.expect(rule(TENANT, name))
        place.cluster.apply(manifests.route(name, host=f"{name}.shop.test", kind="edge",
                                            **crowd.pair(f"{name}.shop.test", number)))
        place.device.seen(rule(TENANT, name), APART_S * 10)
        time.sleep(APART_S)
    used_s = cpu_s(child.pid) - begin_s
    case = "Route with a certificate added, with all of them there"
    yield Row(case, f"mean of {tries}", [1000 * used_s / tries], unit="CPU ms")
    yield Row(case, "of which an idle router needs, at most", [1000 * idle_s / tries], unit="CPU ms")
