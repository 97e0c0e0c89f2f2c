"""One candidate in tables; several of them, with any delays, lost replies and clocks."""

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.kube.lease.elector import (
    NO_LEASE,
    UNKNOWN,
    Elector,
    Lease,
    LeaseRecord,
    Read,
    Write,
    decode,
    encode,
    micro_time,
)
from f5router.kube.settings import ElectionTiming
from tests.examples import examples

TIMING = ElectionTiming(15.0, 10.0, 2.0)
OTHERS = Lease(LeaseRecord("other", 15.0, "then", "then", 3), "7", "u")
FREE = Lease(LeaseRecord("", 1.0, "then", "then", 3), "7", "u")


def candidate() -> Elector:
    elector = Elector("me", TIMING)
    elector.stand()
    return elector


def reply(request: Write, version: str) -> Lease:
    """Answer of the API server to a write."""
    return Lease(request.record, version, "u")


def leader(now: float = 100.0) -> Elector:
    elector = candidate()
    elector.request(now, "w")
    elector.received(FREE, now)
    elector.confirmed(reply(elector.request(now, "w"), "8"), sent_at=now, now=now)
    assert elector.leads(now)
    return elector


def test_a_free_lease_is_taken_at_once():
    elector = candidate()
    assert isinstance(elector.request(100.0, "w"), Read)
    elector.received(FREE, 100.5)
    request = elector.request(100.5, "now")
    assert request == Write(LeaseRecord("me", 15, "now", "now", 4), FREE)
    elector.confirmed(reply(request, "8"), sent_at=100.5, now=103.0)
    assert elector.leads_until == 110.5, "counted from before the request was sent"


def test_a_renewal_keeps_the_time_of_the_acquisition():
    elector = leader()
    assert elector.request(101.9, "later") is None
    request = elector.request(102.0, "later")
    assert request.record == LeaseRecord("me", 15, "w", "later", 4)
    elector.confirmed(reply(request, "9"), sent_at=102.0, now=102.1)
    assert elector.leads_until == 112.0


@pytest.mark.parametrize("result", ["failed", "conflicted", "late"])
def test_leadership_ends_by_itself(result):
    """It does so unless a renewal is confirmed in time; nothing is asked at the deadline."""
    elector = leader()
    request = elector.request(102.0, "w")
    if result == "failed":
        elector.failed()
    elif result == "conflicted":
        elector.conflicted(102.1)
        assert isinstance(elector.request(102.1, "w"), Read), "at once"
        elector.failed()
    else:
        elector.confirmed(reply(request, "9"), sent_at=102.0, now=112.0)
    assert elector.leads(109.9)
    assert not elector.leads(110.0)
    assert not isinstance(elector.request(200.0, "w"), Write), "it does not stand before its work has ended"
    elector.received(OTHERS, 200.1)
    elector.stand()
    assert elector.request(215.0, "w") is not None
    assert not elector.leads(215.0)


def test_another_holder_ends_it_at_once():
    elector = leader()
    elector.request(102.0, "w")
    elector.conflicted(102.1)
    elector.request(102.1, "w")
    elector.received(OTHERS, 102.2)
    assert not elector.leads(102.2)


def test_a_lost_reply_may_have_been_an_acquisition():
    """The Lease names this candidate: it writes again, and leads once that is confirmed."""
    elector = candidate()
    elector.request(100.0, "w")
    elector.received(FREE, 100.0)
    request = elector.request(100.0, "w")
    elector.failed()
    assert isinstance(elector.request(102.0, "w"), Read)
    elector.received(reply(request, "8"), 102.1)
    assert not elector.leads(102.1)
    elector.confirmed(reply(elector.request(104.0, "w"), "9"), sent_at=104.0, now=104.1)
    assert elector.leads_until == 114.0


@pytest.mark.parametrize(("changes_at", "taken_at"), [((), 115.0), ((108.0, 114.0), 129.0)])
def test_takeover(changes_at, taken_at):
    """A Lease is taken over when no change was seen for the holder's duration."""
    elector, now, version = candidate(), 100.0, 7
    elector.request(now, "w")
    elector.received(OTHERS, now)
    changes = list(changes_at)
    while not isinstance(request := elector.request(now, "w"), Write):
        if isinstance(request, Read):
            if changes and now >= changes[0]:
                changes.pop(0)
                version += 1
            elector.received(Lease(OTHERS.record, str(version), "u"), now)
        now = elector.due_at()
    assert (now, request.record.transitions) == (taken_at, 4)


def test_a_missing_lease_is_created_and_waited_for():
    """Its holder may not have noticed."""
    elector = candidate()
    elector.request(100.0, "w")
    elector.missing()
    request = elector.request(100.1, "w")
    assert request == Write(LeaseRecord(UNKNOWN, 15, "w", "w"), NO_LEASE)
    elector.confirmed(reply(request, "1"), sent_at=100.1, now=100.2)
    assert not elector.leads(100.2)
    while not isinstance(request := elector.request(now := elector.due_at(), "w"), Write):
        elector.received(Lease(LeaseRecord(UNKNOWN, 15.0), "1", "u"), now)
    assert (now, request.record.holder) == (115.2, "me")


def wait_for(elector: Elector, lease: Lease, now: float) -> float:
    """Return when a Lease that nobody changes any more is taken over."""
    elector.received(lease, now)
    while not isinstance(elector.request(now := max(now, elector.due_at()), "w"), Write):
        elector.received(lease, now)
    return now


@pytest.mark.parametrize("record", [
    LeaseRecord("other", 0.0), LeaseRecord("other", 1.0), LeaseRecord("other", -5.0), LeaseRecord("", 15.0),
    LeaseRecord(), LeaseRecord("somebody", 1.0)], ids=str)
def test_an_edit_by_hand_does_not_shorten_the_wait(record):
    """The leader may lead until its deadline; it learns of the edit with its next renewal only."""
    elector = candidate()
    elector.request(100.0, "w")
    elector.received(OTHERS, 100.0)
    elector.request(102.0, "w")
    assert wait_for(elector, Lease(record, "8", "v"), 102.0) == 117.0
    assert wait_for(elector, Lease(replace(record, transitions=9), "9", "v"), 117.0) == 132.0, "edited again"


def test_a_longer_wait_is_kept():
    """The leader may have another setting. It undoes an edit with its next renewal."""
    elector = candidate()
    elector.request(100.0, "w")
    assert wait_for(elector, Lease(LeaseRecord("other", 200.0), "7", "u"), 100.0) == 300.0
    elector = leader()
    elector.request(102.0, "w")
    elector.conflicted(102.0)
    elector.request(102.0, "w")
    elector.received(Lease(LeaseRecord("me", 1e6), "9", "u"), 102.0)
    assert elector.request(104.0, "w").record.duration_s == 15


def test_a_leader_whose_lease_is_deleted_does_not_lead():
    elector = leader()
    elector.request(102.0, "w")
    elector.conflicted(102.0)
    elector.request(102.0, "w")
    elector.missing()
    assert not elector.leads(102.1)


def test_release():
    elector = leader()
    request = elector.release(101.0, "end")
    assert request.record == LeaseRecord("", 1.0, "end", "end", 4)
    assert not elector.leads(101.0)
    assert elector.release(101.0, "end") is None
    other = candidate()
    other.request(101.0, "w")
    other.received(Lease(request.record, "9", "u"), 101.1)
    assert isinstance(other.request(101.1, "w"), Write)


def test_encode():
    record = LeaseRecord("me", 15.0, micro_time(0.0), micro_time(1.5), 2)
    obj = encode(record, "f5router", "routers", Lease(record, "7", "u"))
    assert obj["metadata"] == {"name": "f5router", "namespace": "routers", "resourceVersion": "7", "uid": "u"}
    assert obj["spec"]["acquireTime"] == "1970-01-01T00:00:00.000000Z"
    assert decode(obj) == Lease(record, "7", "u")
    assert encode(record, "a", "b", Lease(record))["metadata"] == {"name": "a", "namespace": "b"}
    assert decode({"spec": {"holderIdentity": 5, "leaseDurationSeconds": "x"}}) == Lease(LeaseRecord())


# -- Several candidates


@dataclass
class Machine:
    """A candidate with a clock of its own, and its request that is under way."""

    elector: Elector
    offset_s: float
    rate: float
    request: Read | Write | None = None
    sent_at: float = 0.0
    answer: object = None
    """Answer of the server that the network has not delivered yet; None before."""

    def time(self, now: float) -> float:
        return self.offset_s + self.rate * now


@dataclass
class Server:
    """A Lease as the API server keeps it."""

    lease: Lease | None = None
    version: int = 0
    lingering: list[Write] = field(default_factory=list)
    """Writes whose sender has given up, and which may be carried out yet."""

    def serve(self, request: Read | Write) -> object:
        if isinstance(request, Read):
            return self.lease or "missing"
        if (self.lease.version if self.lease else "") != request.replaced.version:
            return "conflict"
        self.version += 1
        uid = self.lease.uid if self.lease else f"u{self.version}"
        self.lease = Lease(request.record, str(self.version), uid)
        return self.lease


ACTIONS = ("ask",) * 12 + ("answer late", "answer late", "serve late", "lose", "drop", "stand", "release",
                           "delete", "linger")
DELAYS_S = (0.0, 0.1, 1.0, 2.0, 2.0, 4.0, 6.0, 11.0)


@settings(max_examples=examples(100), deadline=None)
@given(seed=st.integers(0, 1 << 32), count=st.integers(2, 3),
       rates=st.lists(st.floats(0.85, 1.2), min_size=3, max_size=3))
def test_there_are_never_two_leaders(seed, count, rates):
    """With any delays, lost requests and replies, clocks that differ by hours, and rates by a third.

    The steps are not hypothesis's own, so that a history may be long: a takeover takes many of them.
    """
    server, now, dice = Server(Lease(LeaseRecord("", 1.0), "0", "u0")), 1000.0, Random(seed)
    machines = [Machine(Elector(f"m{number}", TIMING), 10_000.0 * number, rates[number])
                for number in range(count)]
    for machine in machines:
        machine.elector.stand()
    for _ in range(300):
        act(dice.choice(machines), server, dice.choice(ACTIONS), now)
        assert sum(each.elector.leads(each.time(now)) for each in machines) <= 1
        now += dice.choice(DELAYS_S)
        assert sum(each.elector.leads(each.time(now)) for each in machines) <= 1


def act(machine: Machine, server: Server, action: str, now: float) -> None:
    elector, time = machine.elector, machine.time(now)
    if action == "stand":
        if not elector.leads(time):
            elector.stand()
    elif action == "delete":
        server.lease = None
    elif action == "linger":
        if server.lingering:
            server.serve(server.lingering.pop())
    elif action == "release":
        if machine.request is None and (request := elector.release(time, "w")) is not None:
            server.serve(request)
    else:
        if machine.request is None:
            machine.request, machine.sent_at, machine.answer = elector.request(time, "w"), time, None
            if machine.request is None or action == "serve late":
                return
        if action == "drop" and machine.answer is None:
            elector.failed()
            if isinstance(machine.request, Write):
                server.lingering.append(machine.request)
            machine.request = None
            return
        if machine.answer is None:
            machine.answer = server.serve(machine.request)
            if action == "answer late":
                return
        if action == "lose":
            elector.failed()
            machine.request = None
        else:
            deliver(machine, time)


def deliver(machine: Machine, now: float) -> None:
    elector, request, answer = machine.elector, machine.request, machine.answer
    machine.request = None
    if answer == "missing":
        elector.missing()
    elif answer == "conflict":
        elector.conflicted(now)
    elif isinstance(request, Read):
        elector.received(answer, now)
    else:
        elector.confirmed(answer, sent_at=machine.sent_at, now=now)
