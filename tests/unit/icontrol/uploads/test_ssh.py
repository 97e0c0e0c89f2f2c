"""The time limit of an SSH connection."""

import threading
from types import SimpleNamespace

import pytest

from f5router.icontrol.uploads.ssh import within
from tests.waiting import DEADLINE_S


def test_the_limit_ends_a_connection_whose_channel_is_just_being_opened():
    """paramiko fails then, before it has closed the socket."""
    closed = threading.Event()

    def close() -> None:
        raise AttributeError("'NoneType' object has no attribute '_unlink_channel'")

    transport = SimpleNamespace(close=close, sock=SimpleNamespace(close=closed.set))
    with pytest.raises(TimeoutError), within(transport, 0.0, "bigip"):
        assert closed.wait(DEADLINE_S)
