"""Comparison of clocks that show whole seconds."""

from f5router.cli.doctor.report import Fix, compare_clocks
from tests.rows import rows

BEGIN, END = 1000.4, 1002.9
FIX = Fix("let both follow the same time servers")


@rows(("time", "state", "words"), [
    (1000, "ok", "within 30 s"),
    (1002, "ok", "within 30 s"),
    (970, "ok", "within 30 s"),
    (1032, "ok", "within 30 s"),
    (968, "warning", "31 s behind this machine"),
    (1034, "warning", "31 s ahead of this machine"),
    (4601, "warning", "3598 s ahead of this machine, or it shows the time of another zone"),
    (1000 - 5 * 3600, "warning", "behind this machine, or it shows the time of another zone"),
    (1000 - 5 * 3600 - 400, "warning", "18399 s behind this machine"),
])
def test_compare(time, state, words):
    check = compare_clocks("area", "the BIG-IP", time, BEGIN, END, FIX)
    assert check.state == state
    assert words in check.message
    assert ("zone" in check.message) is ("zone" in words)
    assert check.fix == (None if state == "ok" else FIX)
