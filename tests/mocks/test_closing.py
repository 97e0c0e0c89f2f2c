"""The end of a fake's web server: nothing is left open, whatever its clients still hold."""

import gc
import warnings

import pytest
import requests

from mocks.bigip import FakeBigIP
from mocks.bigip.dataplane.control import Control
from mocks.kube import FakeKube


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
