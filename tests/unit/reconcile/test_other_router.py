"""Signs of another router that writes to the same folder."""

import pytest

from f5router.model.ltm import Forward, Pool, Record, Rule
from f5router.reconcile.other_router import CALM_S, OtherRouter


def rule(name: str) -> Rule:
    return Rule("/P/openshift_insecure_routes", f"openshift_route_{name}", 1, ("a.example.com",), "/",
                Forward("/P/openshift_shop_web"))


OURS, THEIRS, FOREIGN_POOL = rule("shop_a"), rule("b_r"), Pool("/P/openshift_b_web")
OTHERS_RULE = Rule("/P/openshift_insecure_routes", "by-hand", 1, ("a.example.com",), "/", Forward("/P/x"))
TEXT = "another router, or other automation, writes to the same partition: "


class Site:
    """A router that reads a device on which others write, too."""

    def __init__(self, clock):
        self.clock, self.others = clock, OtherRouter(clock)
        self.before = {OURS.ref: OURS}
        self.read(OURS)

    def read(self, *objects, written=()) -> str:
        """Return the problem after a reading. Args: written: objects that this router wrote meanwhile."""
        there = {obj.ref: obj for obj in objects}
        self.others.begin_reading()
        for obj in written:
            self.others.written(obj.ref)
        self.others.compare(self.before, there, {OURS.ref: OURS})
        self.before = {OURS.ref: OURS}
        return self.others.problem


@pytest.mark.parametrize(("objects", "told"), [
    pytest.param((OURS,), "", id="nothing"),
    pytest.param((), "", id="ours is gone"),
    pytest.param((THEIRS,), TEXT + "it wrote rule openshift_route_b_r", id="theirs in place of ours"),
    pytest.param((FOREIGN_POOL,), TEXT + "it wrote ltm/pool openshift_b_web", id="a pool in place of ours"),
    pytest.param((OURS, THEIRS), "", id="theirs beside ours"),
    pytest.param((OTHERS_RULE, Pool("/P/openshift_nowhere"), Record("/P/openshift_limits_dg", "x", "y")), "",
                 id="what others make"),
])
def test_one_reading(clock, objects, told):
    assert Site(clock).read(*objects) == told


def test_what_appears_twice(clock):
    """The first time it may be a late write of this router's own."""
    site = Site(clock)
    assert site.read(OURS, THEIRS) == ""
    assert site.read(OURS, THEIRS).startswith(TEXT)
    clock.now += CALM_S - 1
    assert site.read(OURS) != ""
    clock.now += 1
    assert site.read(OURS) == ""
    assert site.read(OURS, THEIRS) == "", "it begins anew"


def test_own_writes_while_everything_is_read(clock):
    """The reading is older than what this router deleted, or put elsewhere."""
    site = Site(clock)
    for _ in range(3):
        assert site.read(THEIRS, OURS, written=[THEIRS]) == ""
        assert site.read(written=[OURS]) == ""


@pytest.mark.parametrize("cause", ["another replica led", "nothing was known"])
def test_nothing_to_compare_with(clock, cause):
    site = Site(clock)
    for _ in range(3):
        if cause == "another replica led":
            site.others.start_over()
        else:
            site.before = {}
        assert site.read(THEIRS) == ""


def test_repeated_repairs(clock):
    """The same object three times in ten minutes; not different ones, and not rarely."""
    others = OtherRouter(clock)
    for number in range(9):
        others.repair(rule(f"shop_{number}").ref)
    for _ in range(5):
        clock.now += CALM_S / 2
        others.repair(OURS.ref)
    assert others.problem == ""
    for _ in range(3):
        others.repair(FOREIGN_POOL.ref)
    assert others.problem == TEXT + "it undoes ltm/pool openshift_b_web"
