"""The end of a fake: by a signal; and nothing is left open, whatever clients of its web server still hold."""

import gc
import signal
import warnings

import pytest
import requests

from mocks.bigip import FakeBigIP
from mocks.bigip.dataplane.control import Control
from mocks.closing import stop_event
from mocks.kube import FakeKube
from tests.signals import signal_in_wait
from tests.waiting import DEADLINE_S


def ask_bigip(session: requests.Session) -> None:
    with FakeBigIP() as big:
        url = f"{big.url}/mgmt/tm/sys/version"
        assert session.get(url, auth=(big.username, big.password), verify=big.ca_file).ok


def ask_control(session: requests.Session) -> None:
    with FakeBigIP(dataplane=True) as big, Control(big.dataplane) as control:
        assert session.get(f"{control.url}/listeners").ok


def ask_kube(session: requests.Session) -> None:
    with FakeKube() as kube:
        assert session.get(f"{kube.url}/version", verify=str(kube.ca_file)).ok


@pytest.mark.parametrize("ask", [ask_bigip, ask_control, ask_kube])
def test_connections_that_clients_keep_are_closed(ask):
    """Else asyncio warns when the garbage is collected, in whatever test runs then."""
    gc.collect()
    with requests.Session() as session, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        ask(session)
        gc.collect()
    assert [str(each.message) for each in told] == []


NUMBERS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def restored():
    before = {number: signal.getsignal(number) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("number", NUMBERS)
def test_while_the_waiting_thread_holds_the_lock(number):
    """A signal may come between two lines of Event.wait(), which has the lock there."""
    assert signal_in_wait(stop_event(), number, timeout_s=DEADLINE_S)
