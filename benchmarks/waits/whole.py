"""CPU, memory and calls that a router as a process needs for a load, a restart and a change."""

import os
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from benchmarks.waits import crowd
from benchmarks.waits.site import TENANT, Row, Settings, Site, rule, site, stop
from tests import manifests
from tests.builders import identity

ROUTES = 10_000
TRIES = 30
STILL_S = 5.0
IDLE = 0.03
"""A router is done when it has used no more than this part of a core for so long: after it is ready it checks
certificates, for one."""
DONE_LIMIT_S = 300.0
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


def _started(place: Site, case: str) -> Generator[Row, None, subprocess.Popen]:
    """Yield what a router needs until all is done; returns its process, which goes on."""
    authority = place.folder / "service-ca.crt"  # without one, each re-encrypt Route has a warning
    authority.write_text(identity().issuer)
    place.device.calls()
    begin = time.monotonic()
    child = place.start(default_destination_ca_path=str(authority))
    ready_s, ready_cpu_s = time.monotonic() - begin, cpu_s(child.pid)
    used_s = _when_done(child.pid)
    calls = place.device.calls()
    reads = calls.pop("GET", 0)
    writes = sum(calls.values())
    yield Row(case, "ready after", [ready_s])
    yield Row(case, "CPU until ready", [ready_cpu_s], unit="CPU s")
    yield Row(case, "CPU until all is done", [used_s], unit="CPU s")
    yield Row(case, "writes", [writes], unit="calls")
    yield Row(case, "reads", [reads], unit="calls")
    if writes:
        yield Row(case, "CPU for each write", [1000 * used_s / writes], unit="CPU ms")
    yield Row(case, "memory at most", [most_mib(child.pid)], unit="MiB")
    return child


def _when_done(pid: int) -> float:
    """CPU seconds once the router idles."""
    end, used_s = time.monotonic() + DONE_LIMIT_S, -STILL_S
    while (now_s := cpu_s(pid)) - used_s > IDLE * STILL_S and time.monotonic() < end:
        used_s = now_s
        time.sleep(STILL_S)
    return now_s


def _secured(place: Site, child: subprocess.Popen, tries: int) -> Iterator[Row]:
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
