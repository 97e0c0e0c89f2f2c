"""The failover state of a unit, and how often it is read."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f5router.icontrol import failover
from f5router.icontrol.failover import Failover, FailoverState, parse
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest import session
from f5router.model.errors import AuthFailed, Busy, NotReady, Refused, Standby, Unreachable

RECORDINGS = Path(__file__).parents[2] / "recordings" / "cm" / "failover-status"
GROUP = "/Common/traffic-group-1"


def reply(status: str, *details: str) -> dict:
    lines = {f"https://localhost/mgmt/tm/cm/failoverStatus/0/details/{n}": {
        "nestedStats": {"entries": {"details": {"description": text}}}} for n, text in enumerate(details)}
    entries = {"color": {"description": "gray"}, "status": {"description": status},
               "https://localhost/mgmt/tm/cm/failoverStatus/0/details": {"nestedStats": {"entries": lines}}}
    url = "https://localhost/mgmt/tm/cm/failover-status/0"
    return {"entries": {url: {"nestedStats": {"entries": entries}}}}


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_recorded(path):
    state = parse(json.loads(path.read_text()))
    assert state == FailoverState("ACTIVE", frozenset({GROUP}))
    assert state.obstacle(GROUP) == ""


@pytest.mark.parametrize(("answer", "traffic_group", "expected"), [
    pytest.param(reply("ACTIVE"), GROUP, "", id="a version that lists no groups"),
    pytest.param(reply("ACTIVE", f"active for {GROUP}"), "", "", id="folder not read yet"),
    pytest.param(reply("ACTIVE", "active for /Common/b"), "none", "", id="folder of no group"),
    pytest.param(reply("ACTIVE", "active for /Common/b"), "/Common/traffic-group-local-only", "",
                 id="local"),
    pytest.param(reply("ACTIVE", "active for /Common/b"), GROUP, f"the unit is not active for {GROUP}",
                 id="another group"),
    pytest.param(reply("ACTIVE", "active for /Common/b", f"active for {GROUP}"), GROUP, "",
                 id="both"),
    pytest.param(reply("STANDBY"), GROUP, "the unit is STANDBY", id="standby"),
    pytest.param(reply("standby "), GROUP, "the unit is STANDBY", id="other spelling"),
    pytest.param(reply("FORCED OFFLINE"), GROUP, "the unit is FORCED OFFLINE", id="forced offline"),
    pytest.param({}, GROUP, "", id="nothing"),
    pytest.param(reply(""), GROUP, "", id="no status"),
])
def test_obstacle(answer, traffic_group, expected):
    assert parse(answer).obstacle(traffic_group) == expected


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["entries", "nestedStats", "status", "description"]), inner),
                    max_leaves=12)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["entries", "kind"]), JSON))
def test_any_reply_is_a_state(answer):
    state = parse(answer)
    assert bool(state.status) != bool(state.unreadable)


class Client:
    """Answers with what it is given, in turn; the last one again and again."""

    def __init__(self, *answers, ready: bool = True):
        self.answers, self.asked, self._ready = list(answers), 0, ready

    def get_once(self, path: str) -> dict:
        assert path == failover.PATH
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    get = get_once

    def ready(self) -> bool:
        return self._ready


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_is_good_for_a_while():
    """Many writes within FRESH_S cost one question."""
    clock, client = Clock(), Client(reply("ACTIVE"), reply("STANDBY"))
    unit = Failover(client, clock=clock)
    for _ in range(100):
        unit.require_active()
    assert client.asked == 1
    clock.now += failover.FRESH_S
    with pytest.raises(Standby, match="the unit is STANDBY"):
        unit.require_active()
    assert (client.asked, unit.active()) == (2, False)


def test_a_device_that_stands_alone_is_not_asked_before_each_write():
    """Until a reading shows that it trusts another one."""
    clock, client = Clock(), Client(reply("ACTIVE"))
    unit = Failover(client, clock=clock)
    unit.require_active()
    unit.update_from(Observation(stands_alone=True))
    clock.now = failover.ALONE_S - 0.1
    unit.require_active()
    assert client.asked == 1
    clock.now = failover.ALONE_S
    unit.require_active()
    assert client.asked == 2
    clock.now += failover.FRESH_S
    unit.require_active()
    assert client.asked == 2
    unit.update_from(Observation())
    unit.require_active()
    assert client.asked == 3


def test_a_device_that_stands_alone_may_be_put_offline():
    """The state that was read last counts, whoever asked for it."""
    clock, client = Clock(), Client(reply("ACTIVE"), reply("FORCED OFFLINE"))
    unit = Failover(client, clock=clock)
    unit.update_from(Observation(stands_alone=True))
    unit.require_active()
    unit.check()
    with pytest.raises(Standby, match="the unit is FORCED OFFLINE"):
        unit.require_active()


@pytest.mark.parametrize("error", [
    AuthFailed("GET", failover.PATH, "Forbidden", status=403),
    AuthFailed("GET", failover.PATH, "01070822:3: Access Denied", status=400),
    AuthFailed("GET", failover.PATH, "Authorization failed: user=https://localhost/mgmt/u", status=401),
    Refused("GET", failover.PATH, "Found unexpected URI", status=400),
    NotReady("GET", failover.PATH, "not registered", status=404),
], ids=["403", "code", "role", "uri", "404"])
def test_a_device_that_does_not_tell(error):
    """It counts as active, and is asked again soon, then ever more rarely: most of these refusals pass."""
    clock, client = Clock(), Client(*[error] * 10, reply("STANDBY"))
    unit = Failover(client, clock=clock)
    unit.require_active()
    for asked, wait_s in enumerate((1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0), start=1):
        clock.now += wait_s - 0.1
        unit.require_active()
        assert (client.asked, unit.active(), unit.obstacle()) == (asked, None, "")
        assert error.text in unit.remarks()[0]
        clock.now += 0.1
        unit.check()
    assert (client.asked, unit.state.status) == (11, "STANDBY")


def test_the_back_off_begins_anew():
    """A state that was read in between ends it."""
    error = Refused("GET", failover.PATH, "Found unexpected URI", status=400)
    clock, client = Clock(), Client(error, error, reply("ACTIVE"), error, error, reply("STANDBY"))
    unit = Failover(client, clock=clock)
    unit.check()
    for wait_s in (1.0, 2.0):
        clock.now += wait_s
        unit.check()
    assert unit.state.status == "ACTIVE"
    with pytest.raises(NotReady):
        unit.check()
    assert unit.check().unreadable
    clock.now += 1.0
    assert unit.check().status == "STANDBY"


@pytest.mark.parametrize("error", [
    AuthFailed("GET", failover.PATH, "Forbidden", status=403),
    Refused("GET", failover.PATH, "Found unexpected URI", status=400),
    NotReady("GET", failover.PATH, "404 Not Found", status=404),
], ids=["403", "uri", "404"])
def test_a_state_that_is_refused_once(error):
    """After good replies one refusal is no answer; only a second one counts as a right that was lost."""
    clock, client = Clock(), Client(reply("STANDBY"), error, reply("STANDBY"), error, error)
    unit = Failover(client, clock=clock)
    unit.check()
    with pytest.raises(NotReady):
        unit.check()
    assert (unit.state.status, unit.error is None) == ("STANDBY", False)
    assert unit.check().status == "STANDBY"
    with pytest.raises(NotReady):
        unit.check()
    assert unit.check().unreadable == error.text
    unit.require_active()


@pytest.mark.parametrize("error", [
    AuthFailed("GET", failover.PATH, "Authentication failed.", status=401),
    AuthFailed("POST", session.LOGIN, "Forbidden", status=403),
    NotReady("POST", session.LOGIN, "not registered", status=404),
    Unreachable("GET", failover.PATH, "refused"),
    Busy("GET", failover.PATH, "There is an active asynchronous task executing.", status=503),
    NotReady("GET", failover.PATH, "starting", status=503),
], ids=["password", "forbidden login", "no login", "unreachable", "busy", "starting"])
def test_no_answer_is_no_permission(error):
    """The state before is kept, and the caller hears the error."""
    clock, client = Clock(), Client(reply("ACTIVE"), error)
    unit = Failover(client, clock=clock)
    unit.check()
    clock.now += failover.FRESH_S
    with pytest.raises(type(error)):
        unit.require_active()
    assert unit.state == FailoverState("ACTIVE")
    assert client.asked == 2, "writes wait for the answer, so it is not repeated"


def test_a_starting_device_is_no_old_one():
    """The same 404 while its daemons start."""
    with pytest.raises(NotReady):
        Failover(Client(NotReady("GET", failover.PATH, "not registered", status=404), ready=False)).check()
