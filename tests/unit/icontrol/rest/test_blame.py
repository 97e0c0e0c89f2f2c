"""Which failed writes blame their object, and which the device."""

import pytest

from f5router.icontrol.rest.readiness import Blame, blames_object
from f5router.model.errors import (
    AuthFailed,
    Busy,
    DeviceTimeout,
    Forbidden,
    NotReady,
    Refused,
    Standby,
    Unconfirmed,
    Unreachable,
)
from f5router.model.objects import Ref

A, B, C = (Ref("ltm/pool", f"/Common/{name}") for name in "abc")


def may_have_applied(kind, **how):
    return kind("PATCH", "ltm/pool/x", "words", may_have_applied=True, **how)


class Answering:
    """A device whose reads succeed until one is to fail."""

    error: Exception | None = None
    reads = 0

    def __call__(self) -> None:
        self.reads += 1
        if self.error is not None:
            raise self.error


def fails(blame: Blame, ref: Ref, error: Exception) -> Exception | None:
    def write() -> None:
        raise error

    return blame.attempt(ref, write)


UNCLEAR = [
    pytest.param(lambda: may_have_applied(DeviceTimeout, status=500), id="time-out of the device"),
    pytest.param(lambda: may_have_applied(NotReady, status=200), id="no JSON"),
    pytest.param(lambda: may_have_applied(NotReady, status=500), id="an error of the server"),
    pytest.param(lambda: may_have_applied(Unreachable), id="no reply"),
    pytest.param(lambda: KeyError("fullPath"), id="unforeseen"),
]


@pytest.mark.parametrize("make", UNCLEAR)
def test_one_object_is_to_blame(make):
    """The device answers a read, and nothing else failed; also when the same object fails again."""
    blame = Blame(Answering())
    for _ in range(3):
        error = fails(blame, A, make())
        assert isinstance(error, Unconfirmed)
        assert blames_object(error)
        assert error.may_have_applied


@pytest.mark.parametrize("make", UNCLEAR)
def test_the_device_is_to_blame_when_it_answers_nothing(make):
    """The error stays what it was."""
    read, error = Answering(), make()
    read.error = Unreachable("GET", "sys/version", "no reply")
    assert fails(Blame(read), A, error) is error
    assert not blames_object(error)


def test_the_device_is_to_blame_when_a_second_object_fares_likewise():
    """Until it answers another write, be it by a refusal."""
    blame = Blame(Answering())
    assert fails(blame, A, may_have_applied(DeviceTimeout)).alone
    assert not fails(blame, B, may_have_applied(DeviceTimeout)).alone
    assert not fails(blame, C, may_have_applied(Unreachable)).alone
    assert not blames_object(fails(blame, B, may_have_applied(DeviceTimeout)))
    assert blame.attempt(C, lambda: None) is None
    assert fails(blame, B, may_have_applied(DeviceTimeout)).alone
    assert isinstance(fails(blame, C, Refused("PATCH", "x", "no", status=400)), Refused)
    assert fails(blame, A, may_have_applied(DeviceTimeout)).alone


def test_a_403_costs_its_object_until_another_one_gets_it_too():
    """The client has asked for a read already. A write that is answered otherwise ends the suspicion."""
    read = Answering()
    blame, error = Blame(read), Forbidden("PATCH", "ltm/pool/x", "no")
    assert not blames_object(error)
    assert blames_object(fails(blame, A, error))
    assert blames_object(fails(blame, A, error))
    assert not blames_object(fails(blame, B, error))
    assert blame.attempt(C, lambda: None) is None
    assert blames_object(fails(blame, B, error))
    assert read.reads == 0


@pytest.mark.parametrize("error", [
    Busy("PATCH", "x", "There is an active asynchronous task executing.", status=503),
    Unreachable("PATCH", "x", "refused"),
    DeviceTimeout("GET", "x", "time-out", status=500),
    AuthFailed("PATCH", "x", "no", status=401),
    Standby("GET", "x", "the unit is STANDBY"),
    Refused("PATCH", "x", "no", status=400),
    Unconfirmed("PATCH", "x", "no"),
], ids=lambda error: type(error).__name__)
def test_what_was_certainly_not_done_stays_what_it_is(error):
    """No read is asked for either."""
    read = Answering()
    assert fails(Blame(read), A, error) is error
    assert read.reads == 0


def test_the_words_of_something_unforeseen_stay_out():
    """They may hold what was sent."""
    error = fails(Blame(Answering()), A, ValueError("-----BEGIN PRIVATE KEY-----"))
    assert "PRIVATE" not in str(error)
    assert "ValueError" in str(error)
