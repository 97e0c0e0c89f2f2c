"""Waiting for the SDN master, with a clock of its own."""

import pytest

from f5router.logs.progress import Fields, Progress
from f5router.model.errors import KubeForbidden, KubeUnreachable, ResourceExpired
from ghost_hostsubnet import manifest
from ghost_hostsubnet.wait import NotAssigned, Waiter

ASKED = manifest.build("f5", "10.3.89.213", "v1") | {"metadata": {
    "name": "f5", "uid": "old", "annotations": {manifest.ASSIGN: "true", manifest.FIXED_VNID: "0"}}}
GIVEN = ASKED | {"subnet": "10.131.0.0/23", "metadata": {
    "name": "f5", "uid": "new", "annotations": {manifest.FIXED_VNID: "0"}}}
OTHER = GIVEN | {"metadata": {"name": "other", "uid": "x"}}
DOWN = KubeUnreachable("no route to host")


class Script:
    """A SDNClient that answers from two lists; an exception is raised, a number is a time that passes.

    Without more events a watch ends in time.
    """

    def __init__(self, lists: list, watches: list = ()):
        self.now = 0.0
        self.lists, self.watches = list(lists), list(watches)
        self.asked: list[str] = []
        self.slept: list[float] = []
        self.told: list[str] = []

    def hostsubnets(self):
        self.asked.append("list")
        answer = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        if isinstance(answer, Exception):
            raise answer
        return answer, "10"

    def watch(self, version, *, lasts_s):
        self.asked.append(f"watch {version}")
        for event in self.watches.pop(0) if self.watches else [lasts_s]:
            if isinstance(event, Exception):
                raise event
            if isinstance(event, tuple):
                yield event
            else:
                self.now += event

    def plugin(self):
        return ""

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def run(self, *, uid: str = "old", timeout_s: float = 60) -> dict:
        def still_waiting(fields: Fields) -> None:
            self.told.append(f"{fields['waited']}: {fields['state']}")

        with Progress("", still_waiting, clock=lambda: self.now) as progress:
            return Waiter(self, "f5", uid=uid, timeout_s=timeout_s, report=self.told.append,
                          progress=progress, clock=lambda: self.now, sleep=self.sleep).run()


@pytest.mark.parametrize("uid", ["old", ""])
@pytest.mark.parametrize("script", [
    pytest.param(Script([[OTHER, GIVEN]]), id="in the first list"),
    pytest.param(Script([[ASKED]], [[(True, ASKED, "11"), (False, OTHER, "12"), (False, GIVEN, "13")]]),
                 id="in the watch"),
    pytest.param(Script([[]], [[(False, GIVEN, "11")]]), id="between deletion and creation"),
    pytest.param(Script([[ASKED]], [[5], [5], [(False, GIVEN, "11")]]), id="third watch"),
    pytest.param(Script([DOWN, DOWN, [ASKED]], [[(False, GIVEN, "11")]]), id="list fails"),
    pytest.param(Script([[ASKED], [GIVEN]], [[ResourceExpired("too old")]]), id="watch too old"),
    pytest.param(Script([[ASKED], [GIVEN]], [[1, DOWN]]), id="watch broken"),
])
def test_found(script, uid):
    assert Script(script.lists, script.watches).run(uid=uid) == GIVEN


def test_goes_on_from_where_it_was():
    """A watch starts behind the last change that was seen; no list between two that ended in time."""
    script = Script([[ASKED]], [[(True, ASKED, "11"), 5], [(False, GIVEN, "12")]])
    script.run()
    assert script.asked == ["list", "watch 10", "watch 11"]
    assert script.told == [
        "the HostSubnet waits for the SDN master",
        "the SDN master has deleted it and not created it again yet",
        "5 s of 60 s: the SDN master has deleted it and not created it again yet",
        "the SDN master has given it 10.131.0.0/23",
    ]


def test_a_watch_that_ends_at_once():
    """Not asked again and again without a pause."""
    script = Script([[ASKED]], [[]] * 1000)
    with pytest.raises(NotAssigned):
        script.run()
    assert len(script.asked) < 60
    assert max(script.slept) > 2


@pytest.mark.parametrize(("script", "words"), [
    pytest.param(Script([[ASKED]]), "after 60 s the HostSubnet waits for the SDN master; is the SDN master "
                 "running", id="nothing happens"),
    pytest.param(Script([[ASKED]], [[(True, ASKED, "11"), 5]]), "after 60 s the SDN master has deleted it "
                 "and not created it again yet; the log", id="deleted"),
    pytest.param(Script([DOWN]), "after 60 s the API server did not answer", id="no API server"),
    pytest.param(Script([[GIVEN | {"metadata": {"name": "f5", "uid": "old"}}]]),
                 "was not created again by the SDN", id="same object"),
])
def test_in_vain(script, words):
    """It ends in time, a few seconds for the last watch aside, and says why."""
    with pytest.raises(NotAssigned) as caught:
        script.run()
    assert words in str(caught.value)
    assert script.now <= 61


def test_a_missing_right_ends_it():
    with pytest.raises(KubeForbidden):
        Script([[ASKED]], [[KubeForbidden("no")]]).run()


def test_annotated_again_is_not_ready():
    """A subnet under the annotation is about to change."""
    applied = GIVEN | {"metadata": {"name": "f5", "uid": "x", "annotations": {manifest.ASSIGN: "true"}}}
    assert Script([[applied]], [[(False, GIVEN, "12")]]).run(uid="x") == GIVEN
