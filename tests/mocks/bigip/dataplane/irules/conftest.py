"""Pods, pools and virtual servers for iRules."""

from __future__ import annotations

import pytest

from tests.builders import identity
from tests.mocks.bigip.dataplane.conftest import Net


@pytest.fixture(scope="module")
def shared():
    net = Net()
    for number, name in enumerate(("one", "two"), 1):
        net.pod(f"10.1.0.{number}", name=name)
        net.pool(name, f"10.1.0.{number}:8080")
    net.pool("none")
    pair = identity("pod.example")
    net.pod("10.1.0.9", 443, name="tls", tls=(pair.certificate.encode(), pair.key.encode()))
    net.pool("tls", "10.1.0.9:443")
    net.front = net.client_ssl("front")
    yield net
    net.close()


@pytest.fixture
def net(shared: Net):
    shared.big.errors.clear()
    shared.store.irule_log.clear()
    yield shared
    assert shared.errors() == []
    shared.quiet()


def with_rule(net: Net, *texts: str, tls: bool = False, more: tuple[str, ...] = (), **fields) -> str:
    """A virtual server with these iRules, pool one unless told otherwise."""
    number = net.store.next_number("test rule")
    rules = [net.rule(f"r{number}-{at}", text) for at, text in enumerate(texts)]
    profiles = ["/Common/tcp", "/Common/http", *([net.front] if tls else []), *more]
    fields = {"pool": "/P/one", "profiles": profiles, **fields}
    return net.virtual(f"v{number}", rules=rules, **fields)


def logged(net: Net) -> list[str]:
    return [line.removeprefix("local0.info ") for line in net.store.irule_log]
