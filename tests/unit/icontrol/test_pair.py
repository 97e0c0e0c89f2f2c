"""pair.py: which of several units is chosen, and what is reported where none can be."""

import threading

import pytest

from f5router.icontrol.failover import FailoverState
from f5router.icontrol.own_addresses import PeerAddresses
from f5router.icontrol.pair import Pair
from f5router.model.errors import AuthFailed, BigIPError, LoginRefused, NotReady, Standby, Unreachable
from tests.waiting import DEADLINE_S, until

GROUP = "/Common/traffic-group-1"
ACTIVE = FailoverState("ACTIVE", frozenset({GROUP}))
OTHER_GROUP = FailoverState("ACTIVE", frozenset({"/Common/traffic-group-2"}))
STANDBY = FailoverState("STANDBY")
UNREADABLE = FailoverState(unreadable="Forbidden")
DOWN = Unreachable("GET", "/x", "no connection within the time-out")
REFUSED = LoginRefused("GET", "/x", "no", status=401)
FORBIDDEN = AuthFailed("POST", "/x", "no", status=403)


class Failover:
    """State of a unit as a test sets it; an error stands for no answer."""

    def __init__(self, answer: FailoverState | BigIPError, traffic_group: str):
        self.answer, self.state, self.error = answer, FailoverState(), None
        self.traffic_group, self.checks = traffic_group, 0

    def check(self) -> None:
        self.checks += 1
        if isinstance(self.answer, BigIPError):
            self.error = self.answer
            raise self.answer
        self.state, self.error = self.answer, None

    def obstacle(self) -> str:
        return self.state.obstacle(self.traffic_group)


class Unit:
    """A unit whose client only records what is done to it."""

    def __init__(self, name: str, answer: FailoverState | BigIPError, traffic_group: str = GROUP):
        self.name, self.failover = name, Failover(answer, traffic_group)
        self.client = self.dispatcher = self.nodes = self
        self.done: list[str] = []
        self.is_quiet = True
        self.addresses = PeerAddresses(name, self)

    def look(self, path: str, *, timeout_s: float) -> dict:
        return {}

    def abandon(self) -> None:
        self.done.append("abandon")

    def resume(self) -> None:
        self.done.append("resume")

    def take_over(self, nodes: "Unit") -> None:
        self.done.append(f"nodes of {nodes.name}")


@pytest.fixture
def make_pair():
    pairs = []

    def make(*answers, traffic_group: str = GROUP) -> tuple[Pair, list[Unit]]:
        units = [Unit(name, answer, traffic_group) for name, answer in zip("ab", answers, strict=False)]
        pairs.append(Pair(units, period_s=60.0, look_s=DEADLINE_S))
        return pairs[-1], units

    yield make
    for pair in pairs:
        pair.close()


def choose(pair: Pair) -> Unit:
    return pair.choose(pair.look(), lambda unit: GROUP)


@pytest.mark.parametrize(("answers", "traffic_group", "chosen"), [
    pytest.param((ACTIVE, STANDBY), GROUP, "a", id="the first"),
    pytest.param((STANDBY, ACTIVE), GROUP, "b", id="the other"),
    pytest.param((DOWN, ACTIVE), GROUP, "b", id="one is down"),
    pytest.param((ACTIVE, REFUSED), GROUP, "a", id="one refuses the login"),
    pytest.param((UNREADABLE, ACTIVE), GROUP, "b", id="one cannot be read"),
    pytest.param((OTHER_GROUP, ACTIVE), GROUP, "b", id="another traffic group"),
    pytest.param((OTHER_GROUP, ACTIVE), "", "b", id="the traffic group is read first"),
])
def test_the_active_unit_is_chosen(make_pair, answers, traffic_group, chosen):
    pair, units = make_pair(*answers, traffic_group=traffic_group)
    unit = choose(pair)
    assert (unit.name, pair.obstacle(), pair.active(), pair.may_choose()) == (chosen, "", True, True)
    if chosen == "b":
        assert "abandon" in units[0].done
        assert units[1].done[:2] == ["nodes of a", "resume"]
    assert pair.rival(unit) == ""


@pytest.mark.parametrize(("answers", "error", "words"), [
    pytest.param((STANDBY, STANDBY), Standby, "a: the unit is STANDBY; b: the unit is STANDBY", id="standby"),
    pytest.param((ACTIVE, ACTIVE), Standby, "a and b are both active: they do not hear each other",
                 id="both"),
    pytest.param((DOWN, STANDBY), Standby, "a: no connection within the time-out; b: the unit is STANDBY",
                 id="down and standby"),
    pytest.param((UNREADABLE, STANDBY), Standby, "a: the failover state cannot be read (Forbidden)",
                 id="not readable"),
    pytest.param((OTHER_GROUP, STANDBY), Standby, "a: the unit is not active for", id="other group"),
    pytest.param((DOWN, NotReady("GET", "/x", "starting")), Unreachable, "b: starting", id="down"),
    pytest.param((REFUSED, REFUSED), LoginRefused, "a: no; b: no", id="login refused"),
    pytest.param((REFUSED, FORBIDDEN), AuthFailed, "a: no; b: no", id="login refused, forbidden"),
    pytest.param((REFUSED, DOWN), Unreachable, "a: no; b: no connection", id="login refused, down"),
])
def test_none_is_chosen(make_pair, answers, error, words):
    pair, _ = make_pair(*answers)
    with pytest.raises(error) as caught:
        choose(pair)
    assert type(caught.value) is error
    assert words in caught.value.text
    assert words in pair.obstacle()
    assert (pair.active(), pair.may_choose()) == (False, False)


def test_a_unit_with_requests_of_an_earlier_term_waits_for_their_end(make_pair):
    """They could still be carried out after the reading that follows."""
    pair, (first, second) = make_pair(STANDBY, ACTIVE)
    second.is_quiet = False
    with pytest.raises(Standby, match="still under way"):
        choose(pair)
    second.is_quiet = True
    assert choose(pair) is second
    first.is_quiet = False
    assert choose(pair) is second


def test_a_takeover_ends_the_requests_to_the_other_unit(make_pair):
    """Also while the loop waits for one of them."""
    pair, (first, second) = make_pair(ACTIVE, STANDBY)
    assert choose(pair) is first
    noticed = threading.Event()
    pair.on_change = noticed.set
    first.done.clear()
    second.failover.answer = ACTIVE
    pair.look()
    assert noticed.wait(DEADLINE_S)
    assert (first.done, pair.rival(first)) == ([], "b is active too")  # nobody knows which one is right
    first.failover.answer = DOWN
    pair.look()
    until(lambda: "abandon" in first.done)
    assert choose(pair) is second


def test_a_unit_that_was_not_asked_yet_is_not_given_up(make_pair):
    """At the start its answer may come late: then both are active, and none is chosen."""
    pair, (first, second) = make_pair(ACTIVE, ACTIVE)
    answer, asked = first.failover.check, threading.Event()
    first.failover.check = lambda: asked.wait(DEADLINE_S) and answer()
    pair.on_change = asked.set  # the other one has answered
    with pytest.raises(Standby, match="both active"):
        choose(pair)
    assert first.done == second.done == []


def test_a_refused_login_is_not_repeated(make_pair):
    """Passes ask again and again, but accounts are locked after a few attempts."""
    pair, (_, second) = make_pair(ACTIVE, REFUSED)
    for _ in range(3):
        choose(pair)
    until(lambda: second.failover.checks == 1)
    assert pair.states() == {"a": True, "b": None}


def test_one_address_has_no_threads():
    unit = Unit("a", ACTIVE)
    before = threading.active_count()
    pair = Pair([unit])
    assert (threading.active_count(), pair.look(), pair.states(), pair.is_several) == (before, [], {}, False)
    assert (pair.rival(unit), unit.failover.checks) == ("", 0)
