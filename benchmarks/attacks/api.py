"""Faults of the API server while Routes change, after which the router has to follow by itself."""

import itertools
import random
import threading
from collections.abc import Callable, Iterator, Mapping

from benchmarks.attacks.drill import Drill, Point, Reference
from mocks.kube import FakeKube

AWAY_S = 2.0
"""How long what lasts for a while lasts."""
LISTED = ("routes", "services", "endpointslices")
STATUS = "/status"


def _watch(kind: str, **options: object) -> Callable[[FakeKube], None]:
    """A fault of every watch that runs."""
    return lambda kube: kube.inject(kind, times=None, **options) and kube.clear_faults()


def _list(code: str, times: int = 4, **options: object) -> Callable[[FakeKube], None]:
    """Watches end, and the lists that follow are refused."""

    def happen(kube: FakeKube) -> None:
        for resource in LISTED:
            kube.inject(code, times=times, method="list", path=resource, **options)
        kube.compact()
        kube.inject("drop-watch", times=None)

    return happen


def _status(code: str, times: int = 5, **options: object) -> Callable[[FakeKube], None]:
    """Writes of statuses are refused."""
    return lambda kube: kube.inject(code, times=times, path=STATUS, **options)


def _forbid(*resources: str) -> Callable[[FakeKube], None]:
    def happen(kube: FakeKube) -> None:
        for resource in resources:
            kube.forbid(resource, ("list", "watch", "get", "patch", "update"))
        kube.inject("drop-watch", times=None)

    return happen


def _compact(kube: FakeKube) -> None:
    kube.compact()
    kube.inject("drop-watch", times=None)


# A status that is refused with 422 is not among them: it waits for the next full pass (docs/operations.md).
FAULTS: Mapping[str, Callable[[FakeKube], None]] = {
    "watch closed": _watch("drop-watch"),
    "watch cut": _watch("drop-watch", abrupt=True),
    "watch says 410": _watch("error-event", code=410),
    "watch says 500": _watch("error-event", code=500),
    "watch truncated": _watch("truncated"),
    "history gone": _compact,
    "list 500": _list("500"),
    "list 503": _list("503"),
    "list 504": _list("504"),
    "list 410": _list("410"),
    "list 429": _list("429", retry_after=1),
    "list 401": _list("401"),
    "list lost": _list("drop"),
    "list slow": _list("delay", 1, seconds=3),
    "status 409": _status("409"),
    "status 429": _status("429", retry_after=1),
    "status 500": _status("500"),
    "status lost": _status("drop"),
    "status lost, done": _status("drop", applied=True),
    "status slow": _status("delay", 2, seconds=3),
    "Routes forbidden": _forbid("routes"),
    "endpoints forbidden": _forbid("endpointslices"),
    "all forbidden": _forbid(*LISTED),
    "statuses forbidden": _forbid("routes/status"),
    "restart": lambda kube: kube.restart(),
    "restart with history": lambda kube: kube.restart(new_history=False),
    "away": lambda kube: kube.stop(),
}


def points(references: Mapping[tuple[str, bool], Reference], seed: int) -> Iterator[Point]:
    """End watches, refuse lists and statuses, take rights away, restart the API server.

    Points without end: each fault in turn, before or after a change that is drawn.
    """
    chance, phases = random.Random(seed), sorted({phase for phase, _ in references})
    for name in itertools.cycle(FAULTS):
        yield Point("api", chance.choice(phases), False, name, chance.randint(0, 1), chance.randrange(2**32))


def attack(drill: Drill) -> None:
    """The fault comes right before the change (0) or right after it (1); what lasts ends after a while."""
    kube = drill.site.kube
    if drill.point.number == 0:
        FAULTS[drill.point.kind](kube)
    drill.change()
    if drill.point.number == 1:
        FAULTS[drill.point.kind](kube)
    threading.Event().wait(AWAY_S)
    for resource in (*LISTED, "routes/status"):
        kube.allow(resource)
    kube.start()
