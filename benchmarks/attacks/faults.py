"""A fault of the device at one of the router's calls or SSH commands; the router has to recover by itself."""

import itertools
import random
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from benchmarks.attacks.drill import Drill, Point, Reference
from mocks.bigip.listener import Outcome
from mocks.bigip.requests import Request

WAIT_S = 60.0
GONE_S = 3.0
SLOW_S = 3.0
"""Longer than the router waits for a reply."""


@dataclass(frozen=True)
class Fault:
    """Fault that is injected.

    Attributes: rest: faults of the fake's REST by name, with options, that the next calls meet in turn.
    path: only calls of such a path. ssh: fault of its sshd for the next command.
    act: what is done at the call itself.
    """

    rest: tuple[tuple[str, Mapping[str, object]], ...] = ()
    path: str | None = None
    ssh: str = ""
    act: Callable[[Drill], None] | None = field(default=None, repr=False)


def _restart(drill: Drill) -> None:
    drill.site.bigip.restart()


def _restart_unsaved(drill: Drill) -> None:
    drill.outage = True
    material = drill.site.material
    defaults = {ssl.PEM_cert_to_DER_cert(pair.certificate) for pair in (material.default, material.site)}
    for target in drill.site.load.targets:
        if target.certificates:
            target.certificates.update(defaults)
    drill.site.bigip.restart(lose_unsaved=True)


def _cut_ssh(drill: Drill) -> None:
    drill.site.bigip.ssh_server.drop_connections()


def _one(name: str, **options: object) -> Fault:
    return Fault(((name, options),))


STARTING = (("503-html", {}),) * 4 + (("404-not-registered", {}),) * 3
"""Answers of a device that has been restarted."""

FAULTS: Mapping[str, Fault] = {
    "reply lost": _one("drop-reply"),
    "request lost": _one("drop-request"),
    "slow reply": _one("delay", seconds=SLOW_S),
    "401": _one("401"),
    "token expired": _one("token-expired"),
    "403": _one("refuse", status=403, message="Operation is not supported", code="01070822"),
    "404": _one("404-bogus"),
    "409": _one("refuse", status=409, message="The requested object already exists", code="01020066"),
    "400": _one("refuse", status=400, message="refused for a while", code="01070734"),
    "503 page": _one("503-html"),
    "503 busy": _one("503-async"),
    "500 mcpd": _one("500-mcpd"),
    "500 page": _one("timeout-html"),
    "200 page": _one("html-200"),
    "truncated": _one("truncated-json"),
    "unlink refused": Fault((("refuse", {"status": 403, "message": "not allowed"}),), path="unix-rm"),
    "late upload": Fault((("delay", {"seconds": SLOW_S}),), path="file-transfer/uploads"),
    "late install": Fault((("delay", {"seconds": SLOW_S}),), path="sys/(file|crypto)"),
    "restart": Fault(STARTING, act=_restart),
    "restart, unsaved lost": Fault(STARTING, act=_restart_unsaved),
    "gone for a while": Fault(),
    "sshd restarts": Fault(act=_cut_ssh, ssh="drop-mid-transfer"),
    "ssh command killed": Fault(ssh="killed"),
    "ssh login refused": Fault(ssh="refuse-auth", act=_cut_ssh),
    "ssh disk full": Fault(ssh="disk-full"),
    "ssh rm fails": Fault(ssh="rm-fails"),
}
SSH = frozenset(name for name, fault in FAULTS.items() if fault.ssh)
UPLOADS = frozenset(("unlink refused", "late upload", "late install"))
WITH_FILES = ("load", "certificates")
LOGIN = 4
"""The first call that is no login or question about the device: after a refused login comes a pause."""


def points(references: Mapping[tuple[str, bool], Reference], seed: int) -> Iterator[Point]:
    """Lose, delay, refuse or spoil the n-th call or SSH command, or restart the BIG-IP there.

    Points without end: each fault in turn, at a call that is drawn.
    """
    chance, phases = random.Random(seed), sorted({phase for phase, _ in references})
    for name in itertools.cycle(FAULTS):
        ssh = name in SSH or (name not in UPLOADS and chance.random() < 0.3)
        with_files = [phase for phase in WITH_FILES if phase in phases] if name in SSH | UPLOADS else phases
        if not with_files:
            continue
        phase = chance.choice(with_files)
        reference = references[phase, ssh]
        last = reference.commands if name in SSH else reference.writes if name in UPLOADS else reference.calls
        first = LOGIN if phase == "load" and name not in SSH else 1
        yield Point(
            "faults", phase, ssh, name, chance.randint(min(first, last), last), chance.randrange(2**32)
        )


def attack(drill: Drill) -> None:
    """Let the fault happen at its call."""
    point, fault, met = drill.point, FAULTS[drill.point.kind], threading.Event()
    big = drill.site.bigip

    def happen() -> None:
        met.set()
        for name, options in fault.rest:
            big.inject(name, path=fault.path, **options)
        if fault.ssh:
            big.ssh_server.inject(fault.ssh)
        if fault.act:
            fault.act(drill)

    def on_call(request: Request, perform: Callable[[], Outcome]) -> Outcome | None:
        if point.kind in SSH or met.is_set() or drill.calls.calls < point.number:
            return None
        done = perform()
        happen()
        return done

    def on_command(text: str, run: Callable[[], int]) -> None:
        if point.kind in SSH and not met.is_set() and drill.calls.commands >= point.number:
            happen()

    drill.calls.on_call, drill.calls.on_command = on_call, on_command
    drill.change()
    drill.result.reached = met.wait(WAIT_S)
    if point.kind == "gone for a while":
        big.stop()
        threading.Event().wait(GONE_S)
        big.start()
