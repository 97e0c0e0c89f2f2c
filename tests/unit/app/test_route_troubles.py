"""Rejections that rise."""

from types import SimpleNamespace

from f5router.app.route_troubles import WINDOW_S, RouteTroubles
from tests.rows import rows


@rows(("routes", "steps", "expected"), [
    (10, [(0, 0)], ""), (10, [(0, 7), (60, 7)], ""), (10, [(0, 0), (60, 2)], ""),
    (10, [(0, 1), (60, 4)], "4 Routes are rejected, 3 more than within the last hour"),
    (1000, [(0, 0), (60, 9)], ""), (1000, [(0, 0), (60, 10)], "10 Routes are rejected, 10 more than"),
    (10, [(0, 0), (60, 5), (WINDOW_S + 50, 5)], "5 Routes are rejected, 5 more"),  # there were none at 50 s
    (10, [(0, 0), (60, 5), (WINDOW_S + 60, 5)], ""),
    (10, [(0, 5), (60, 0), (120, 5)], "5 Routes are rejected, 5 more"),
    (10, [(0, 0), (60, 5), (120, 0)], ""),
])
def test_rise(routes, steps, expected):
    now = [0.0]
    troubles = RouteTroubles(SimpleNamespace(routes=lambda: dict.fromkeys(range(routes))), lambda: now[0])
    for at, rejected in steps:
        now[0] = at
        troubles.record_rejections(rejected)
    assert [each.text[:len(expected)] for each in troubles.findings()] == ([expected] if expected else [])
