"""kill -9 of the router at one of its writes, before or after the device carries it out."""

import random
import threading
from collections.abc import Callable, Iterator

from benchmarks.attacks.drill import Drill, Point, Reference
from mocks.bigip.listener import Outcome
from mocks.bigip.requests import Request, logged

BEFORE, AFTER = "before", "after"
WAIT_S = 15.0


def points(references: dict[tuple[str, bool], Reference], seed: int) -> Iterator[Point]:
    """Kill the router with SIGKILL at its n-th write or SSH command, before or after it is carried out.

    Points without end, spread over phases and ways of upload.
    """
    chance, places = random.Random(seed), sorted(references)
    while True:
        phase, ssh = place = chance.choice(places)
        last = _steps(references[place], ssh=ssh)
        yield Point(
            "kills",
            phase,
            ssh,
            chance.choice((BEFORE, AFTER)),
            chance.randint(1, last),
            chance.randrange(2**32),
        )


def _steps(reference: Reference, *, ssh: bool) -> int:
    return reference.writes + (reference.commands if ssh else 0)


def attack(drill: Drill) -> None:
    """Kill at the write, start again."""
    point, calls, killed = drill.point, drill.calls, threading.Event()
    lock, count = threading.Lock(), 0

    def step(perform: Callable[[], object]) -> object | None:
        """Kill where it is due; None if it is not."""
        nonlocal count
        with lock:
            count += 1
            if count != point.number or killed.is_set():
                return None
            done = perform() if point.kind == AFTER else None
            drill.site.kill()
            killed.set()
            return done or 1

    def on_call(request: Request, perform: Callable[[], Outcome]) -> Outcome | None:
        if not logged(request, 0).changes:
            return None
        return Outcome(None) if step(perform) else None

    calls.on_call = on_call
    calls.on_command = lambda text, run: None if step(run) is None else 1
    drill.change()
    drill.result.reached = killed.wait(WAIT_S)
    if not drill.result.reached:
        with lock:
            killed.set()  # the next router is not to be killed
        drill.site.kill()
    drill.site.start()
