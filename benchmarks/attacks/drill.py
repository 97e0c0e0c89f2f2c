"""One attack from beginning to end: serve, change, disturb, recover, compare with an undisturbed run."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.attacks import client
from benchmarks.attacks.cluster import Material
from benchmarks.attacks.contents import difference
from benchmarks.attacks.phases import PHASES
from benchmarks.attacks.site import AttackError, Site
from mocks.bigip.listener import Outcome
from mocks.bigip.requests import Request, logged

QUIET_S = 1.5
LIMIT_S = 240.0
"""For what has to come: after a refusal the router waits, after a few longer."""
LEFT_S = 15.0
"""For files on the device's disk, once all else is as it should be."""
NODES = "ltm/node "
"""Removed some seconds after the last write, or at the end of the router; see docs/bigip-objects.md."""


@dataclass(frozen=True)
class Reference:
    """State that an undisturbed run leaves, and how many calls of the phase it took."""

    state: dict[str, str]
    statuses: dict[str, list]
    writes: int
    calls: int
    commands: int


@dataclass(frozen=True)
class Point:
    """Where an attack meets the router.

    Attributes: number: counts from 1 within the phase. kind: what happens then.
    """

    attack: str
    phase: str
    ssh: bool
    kind: str
    number: int
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} {self.phase} #{self.number}{' ssh' if self.ssh else ''}"


@dataclass
class Result:
    """Result of a point."""

    point: Point
    problems: list[str] = field(default_factory=list)
    reached: bool = True
    """False: the run ended before the call of this number."""
    recovered_s: float = 0.0
    took_s: float = 0.0
    asked: int = 0
    wrong: int = 0
    failed: int = 0
    nodes_left: int = 0
    """LTM nodes that nobody needs."""
    log: str = ""
    """The end of the router's log, where something does not hold."""


class Calls:
    """Counts requests and SSH commands, and lets an attack act on one of them."""

    def __init__(self, site: Site):
        self.writes = self.calls = self.commands = 0
        self.armed = False
        self.on_call: Callable[[Request, Callable[[], Outcome]], Outcome | None] = lambda request, perform: (
            None
        )
        """None: the request is performed as usual."""
        self.on_command: Callable[[str, Callable[[], int]], int | None] = lambda text, run: None
        site.bigip.intercept = self._request
        if site.ssh:
            site.bigip.ssh_server.intercept = self._command

    def _request(self, request: Request, perform: Callable[[], Outcome]) -> Outcome:
        if not self.armed:
            return perform()
        self.calls += 1
        self.writes += logged(request, 0).changes
        outcome = self.on_call(request, perform)
        return perform() if outcome is None else outcome

    def _command(self, text: str, run: Callable[[], int]) -> int:
        if not self.armed:
            return run()
        self.commands += 1
        status = self.on_command(text, run)
        return run() if status is None else status


def undisturbed(material: Material, phase: str, ssh: bool) -> Reference:
    """Raises: AttackError: even this is not as it should be."""
    with Site(material, ssh=ssh) as site:
        if phase != "load":
            site.change(PHASES["load"](material))
            site.start()
            until_quiet(site)
        calls = Calls(site)
        calls.armed = True
        site.change(PHASES[phase](material))
        if phase == "load":
            site.start()
        until_quiet(site)
        calls.armed = False
        site.stop()
        differences = [*at_rest(site), *site.leftovers(), *difference(site.foreign, site.state(ours=False))]
        if differences:
            raise AttackError(f"the undisturbed run of {phase!r} is not as it should be: {differences}")
        return Reference(site.state(), site.statuses(), calls.writes, calls.calls, calls.commands)


def until_quiet(site: Site) -> None:
    """Until each Route has a status and nothing was written for a while."""
    seen, since = -1, time.monotonic()

    def quiet() -> bool:
        nonlocal seen, since
        if seen != (count := len(site.bigip.log)):
            seen, since = count, time.monotonic()
        return bool(count) and time.monotonic() - since > QUIET_S and all(site.statuses().values())

    site.until(quiet, LIMIT_S, lambda: "the router goes on writing")


def at_rest(site: Site) -> list[str]:
    """Return what clients get now that they should not."""
    return client.problems(site.targets(site.objects, steady=True))


class Drill:
    """The course of a point; attacks say what happens between change and recovery."""

    def __init__(
        self, site: Site, point: Point, base: Reference, wanted: Reference, *, left_s: float = LEFT_S
    ):
        self.site, self.point, self._base, self._wanted = site, point, base, wanted
        self._left_s = left_s
        self.calls = Calls(site)
        self.result = Result(point)
        self.outage = False
        """True: the attack itself takes away what is served."""

    def begin(self) -> None:
        """Serve the base, if the phase is a change of it, with clients that ask. Raises: AttackError."""
        site, material = self.site, self.site.material
        if self.point.phase != "load":
            site.change(PHASES["load"](material))
            site.start()
            self._until_equal(self._base)
        before = site.objects
        after = PHASES[self.point.phase](material).to(before)
        steady, changing = (site.targets(before, after, steady=steady) for steady in (True, False))
        # Before the first load nobody answers with 503 either.
        self._steady = [] if self.point.phase == "load" else steady
        site.ask([*steady, *changing], seed=self.point.seed)

    def change(self) -> None:
        """Make the change that the router has to follow."""
        self.calls.armed = True
        self.site.change(PHASES[self.point.phase](self.site.material))
        if self.point.phase == "load":
            self.site.start()

    def recover(self) -> None:
        """Wait until all is as in the undisturbed run, and the router ready. Raises: AttackError: in vain."""
        begin = time.monotonic()
        self._until_equal(self._wanted)
        self.site.until(self.site.ready, LIMIT_S, lambda: "the router is not ready")
        self.result.recovered_s = time.monotonic() - begin
        try:
            self.site.until(lambda: not self._left(), self._left_s, lambda: "left")
        except AttackError:
            if self.site.crashed():
                raise  # else end() tells of them

    def _until_equal(self, wanted: Reference) -> None:
        self.site.until(lambda: not self._unequal(wanted), LIMIT_S, lambda: "; ".join(self._unequal(wanted)))

    def _unequal(self, wanted: Reference) -> list[str]:
        now = {name: text for name, text in self.site.state().items() if not name.startswith(NODES)}
        then = {name: text for name, text in wanted.state.items() if not name.startswith(NODES)}
        return [*difference(then, now), *difference(wanted.statuses, self.site.statuses())]

    def unequal_statuses(self) -> list[str]:
        """Statuses that are not those of the undisturbed run, whatever is on the device."""
        return difference(self._wanted.statuses, self.site.statuses())

    def _left(self) -> list[str]:
        """Leftovers; iRules of open connections may miss what the device itself has lost."""
        return [
            line for line in self.site.leftovers() if not (self.outage and line.startswith("fake: RuleError"))
        ]

    def end(self) -> None:
        """Stop the router and the clients, and look at what is there then. Raises: AttackError."""
        site, result = self.site, self.result
        self.calls.armed = False
        report = site.load.stop()
        result.asked = report.sent.total()
        steady = {target.name for target in self._steady if not self.outage}
        failed = [text for text in report.failed if any(text.startswith(f"{name}: ") for name in steady)]
        result.wrong, result.failed = len(report.wrong), len(failed)
        result.problems += [f"wrong: {text}" for text in report.wrong[:3]]
        result.problems += [f"failed: {text}" for text in failed[:3]]
        result.problems += at_rest(site)
        site.stop()
        now = site.state()
        nodes = [name for name in now if name.startswith(NODES) and name not in self._wanted.state]
        result.nodes_left = len(nodes)
        if site.killed or self.outage:
            now = {name: text for name, text in now.items() if name not in nodes}
        result.problems += [
            *difference(self._wanted.state, now),
            *difference(self._wanted.statuses, site.statuses()),
            *difference(site.foreign, site.state(ours=False)),
            *self._left(),
        ]


def run(
    point: Point, material: Material, base: Reference, wanted: Reference, attack: Callable[[Drill], None],
    *, left_s: float = LEFT_S,
) -> Result:
    """A point with one attack; a problem that ends it is in its result.

    Args: left_s: how long files may stay on the device's disk once all else is as it should be.
    """
    begin = time.monotonic()
    with Site(material, ssh=point.ssh) as site:
        drill = Drill(site, point, base, wanted, left_s=left_s)
        try:
            drill.begin()
            attack(drill)
            drill.recover()
            drill.end()
        except AttackError as error:
            drill.result.problems.append(str(error))
        if drill.result.problems:
            drill.result.log = site.tail(60)
    drill.result.took_s = time.monotonic() - begin
    return drill.result
