"""A fake BIG-IP and a client that speaks plain REST to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
import requests

from mocks.bigip import FakeBigIP
from tests.waiting import DEADLINE_S


class Client:
    """Requests with basic authentication; paths are below /mgmt/tm."""

    def __init__(self, big: FakeBigIP) -> None:
        self.big = big
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = big.ca_file
        self.session.auth = (big.username, big.password)

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> requests.Response:
        if body is not None:
            more["json"] = body
        url = path if path.startswith("/mgmt") else f"/mgmt/tm/{path}"
        return self.session.request(method, self.big.url + url, timeout=DEADLINE_S, allow_redirects=False,
                                    **more)

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        reply = self.call(method, path, body, **more)
        assert reply.status_code == 200, reply.text
        return reply.json() if reply.content else None

    def refused(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, str]:
        """(status, message) of a refusal."""
        reply = self.call(method, path, body, **more)
        assert reply.status_code >= 400, reply.text
        return reply.status_code, reply.json()["message"]


Device = Callable[..., tuple[FakeBigIP, Client]]


@pytest.fixture
def device() -> Iterator[Device]:
    """Makes devices; the arguments are those of FakeBigIP. Their own faults fail the test."""
    with ExitStack() as stack:
        devices: list[FakeBigIP] = []

        def make(tmos_version: str = "14.1.2.1", **more: Any) -> tuple[FakeBigIP, Client]:
            more.setdefault("partitions", ("Common", "P"))
            big = stack.enter_context(FakeBigIP(tmos_version=tmos_version, **more))
            devices.append(big)
            return big, Client(big)

        yield make
        assert [error for big in devices for error in big.errors] == []


@pytest.fixture
def client(device: Device) -> Client:
    return device()[1]


@pytest.fixture
def make() -> Iterator[Callable[..., FakeBigIP]]:
    """Makes devices that nobody asks over the network, with two partitions."""
    with ExitStack() as stack:
        yield lambda version="16.1.0", **more: stack.enter_context(
            closing(FakeBigIP(tmos_version=version, partitions=("Common", "P", "Q"), **more)))


@pytest.fixture
def big(make) -> FakeBigIP:
    return make()
