"""endpoint_pace.py: endpoints of a quiet Service at once, what follows together, never a Service too late."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.app.debounce import EventSignal
from f5router.app.endpoint_pace import EndpointPace
from f5router.model.cluster import Key
from tests.unit.conftest import Clock

HOLD_OFF_S = 0.1
WEB, API = Key("shop", "web"), Key("shop", "api")


def test_the_first_change_is_programmed_at_once_and_the_next_ones_together(clock):
    signal = EventSignal(clock)
    pace = EndpointPace(signal, hold_off_s=HOLD_OFF_S, clock=clock)
    signal.notify()
    assert not pace.begin()
    assert not pace.is_held(WEB)
    pace.record({WEB})
    clock.now += 0.01
    signal.notify()
    assert not pace.begin()
    assert (pace.is_held(WEB), pace.is_held(API)) == (True, False)
    clock.now += HOLD_OFF_S
    assert pace.begin(), "a Service that has changed itself has waited for the hold-off"
    assert not pace.is_held(WEB)
    pace.end(pending=False)
    assert not pace.begin(), "no event is left"


def test_a_change_that_waited_for_its_service_as_well_waits_no_longer(clock):
    """The hold-off from the event ends just before that of its Service: what is left is not forgotten."""
    signal = EventSignal(clock)
    pace = EndpointPace(signal, hold_off_s=HOLD_OFF_S, clock=clock)
    signal.notify()
    clock.now += 0.001
    pace.record({WEB})
    clock.now += HOLD_OFF_S - 0.001
    assert pace.begin()
    assert pace.is_held(WEB)
    pace.end(pending=True)
    due = pace.due_at(pending=True)
    assert due is not None
    assert due <= clock.now + 0.002
    clock.now = due
    assert pace.begin()
    assert not pace.is_held(WEB)


def test_when_the_next_drain_is_due(clock):
    signal = EventSignal(clock)
    pace = EndpointPace(signal, hold_off_s=HOLD_OFF_S, clock=clock)
    assert pace.due_at(pending=False) is None
    pace.record({WEB})
    held_until = clock.now + HOLD_OFF_S
    assert pace.due_at(pending=False) is None, "nothing waits for the Service"
    clock.now += 0.02
    signal.notify()
    assert pace.due_at(pending=False) is None, "what came is no change of endpoints"
    assert pace.due_at(pending=True) == held_until
    pace.record({Key("shop", "other")})
    clock.now = held_until
    assert pace.begin() is False
    assert pace.due_at(pending=True) == held_until + 0.02


def test_nothing_is_remembered_of_services_that_were_quiet_since(clock):
    """A follower takes all changes, and begins no drain."""
    pace = EndpointPace(EventSignal(clock), hold_off_s=HOLD_OFF_S, clock=clock)
    pace.record({WEB})
    clock.now += HOLD_OFF_S
    pace.record({API})
    assert not pace.is_held(WEB)
    assert pace.is_held(API)


@given(st.lists(st.tuples(st.sampled_from([WEB, API]), st.integers(0, 150)), max_size=60))
def test_it_keeps_the_pace_and_nothing_waits_longer_than_the_hold_off(changes):
    """The loop wakes at each event and when a drain is due."""
    clock = Clock()
    signal = EventSignal(clock)
    pace = EndpointPace(signal, hold_off_s=HOLD_OFF_S, clock=clock)
    waiting: dict[Key, float] = {}
    programmed: dict[Key, float] = {}

    def drain() -> None:
        pace.begin()
        ready = {service for service in waiting if not pace.is_held(service)}
        for service in ready:
            assert clock.now <= waiting.pop(service) + HOLD_OFF_S + 1e-6
            assert service not in programmed or clock.now >= programmed[service] + HOLD_OFF_S - 1e-6
            programmed[service] = clock.now
        pace.record(ready)

    def sleep_until(end: float) -> None:
        while (due := pace.due_at(pending=bool(waiting))) is not None and due <= end:
            clock.now = max(clock.now, due)
            drain()
        clock.now = max(clock.now, end)

    for service, pause_ms in changes:
        sleep_until(clock.now + pause_ms / 1000)
        waiting.setdefault(service, clock.now)
        signal.notify()
        drain()
    sleep_until(clock.now + 1)
    assert not waiting
