"""Objects that nobody sane writes, by the hundred, beside the Routes that change; these are served."""

import contextlib
import random
from collections.abc import Iterator, Mapping

from benchmarks.attacks.drill import LIMIT_S, Drill, Point, Reference, at_rest
from tests import hostile

COUNT = 600
"""Objects of a point: half of them come before the change, half after it."""


def points(references: Mapping[tuple[str, bool], Reference], seed: int) -> Iterator[Point]:
    """Flood the API server with hostile objects of every kind, before and after a change, then delete them.

    Points without end: each has objects of its own. The number is how many there are.
    """
    chance, places = random.Random(seed), sorted(references)
    while True:
        phase, ssh = chance.choice(places)
        yield Point("hostile", phase, ssh, "hostile objects", COUNT, chance.randrange(2**32))


def attack(drill: Drill) -> None:
    """The changed Routes have to be served while the others are there; nothing of those may stay."""
    site, seed = drill.site, drill.point.seed
    for text, raw in hostile.RAW.items():
        site.kube.spell(text, raw)
    first, second = (list(hostile.objects(each, drill.point.number // 2)) for each in (seed, seed + 1))
    _apply(drill, first)
    drill.change()
    site.until(lambda: not drill.unequal_statuses(), LIMIT_S, lambda: "; ".join(drill.unequal_statuses()))
    _apply(drill, second)
    site.until(lambda: not at_rest(site), LIMIT_S, lambda: "; ".join(at_rest(site)))
    for key in {_key(obj) for obj in (*first, *second)}:
        with contextlib.suppress(KeyError):  # it went with its namespace
            site.kube.delete(*key)


def _apply(drill: Drill, objects: list[dict]) -> None:
    for obj in objects:
        drill.site.kube.apply(obj)


def _key(obj: dict) -> tuple[str, str | None, str]:
    return obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]
