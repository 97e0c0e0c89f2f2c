"""A data plane with two virtual servers, their policies, pools and pods; one per module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mocks.bigip import FakeBigIP
from mocks.bigip.dataplane import Pod, Served
from mocks.bigip.matching import Unsupported
from tests.builders import identity
from tests.mocks.bigip.dataplane.client import Answer, Client
from tests.waiting import until

HTTP, HTTPS = "/P/http", "/P/https"


class DeviceClock:
    """The device's time of day, which stands still between a test's steps."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Net:
    """A fake BIG-IP that only carries traffic, and short ways to configure it."""

    def __init__(self, **options: Any) -> None:
        plane = {"speed": options.pop("speed", 1.0)}
        self.big = FakeBigIP(partitions=("Common", "P"), **options)
        self.plane = self.big.start_dataplane(**plane)
        self.store = self.big.store

    def close(self) -> None:
        self.big.close()

    # -- configuration -----------------------------------------------------------------------------

    def put(self, kind: str, name: str, **fields: Any) -> None:
        """Create an object in /P."""
        self.big.put_object(kind, {"name": name, "partition": "P", **fields})

    def change(self, method: str, path: str, body: dict | None = None, **query: str) -> None:
        """PATCH, POST or DELETE without HTTP."""
        self.big.request(method, path, query, body)

    def pod(self, address: str, port: int = 8080, name: str = "", **options: Any) -> Pod:
        return self.big.pods.start(address, port, name or f"pod-{address.rsplit('.', 1)[1]}", **options)

    def pool(self, name: str, *members: str, **fields: Any) -> str:
        self.put("ltm/pool", name, members=list(members), **fields)
        return f"/P/{name}"

    def policy(self, name: str, *rules: dict, strategy: str = "first-match") -> str:
        """A legacy policy, which can be changed in place."""
        numbered = [{"name": f"r{at}", "ordinal": at, **rule} for at, rule in enumerate(rules)]
        self.put("ltm/policy", name, strategy=strategy, legacy=True, rules=numbered)
        return f"/P/{name}"

    def rule(self, name: str, text: str) -> str:
        """An iRule."""
        self.put("ltm/rule", name, apiAnonymous=text)
        return f"/P/{name}"

    def client_ssl(self, name: str, host: str = "", **fields: Any) -> str:
        """A profile with a certificate for its host."""
        pair = identity(host or f"{name}.default", algorithm="ec")
        self.big.install(f"/P/{name}.crt", pair.certificate.encode())
        self.big.install(f"/P/{name}.key", pair.key.encode())
        more = {"serverName": host} if host else {"sniDefault": "true"}
        pair_of = {"cert": f"/P/{name}.crt", "key": f"/P/{name}.key"}
        self.put("ltm/profile/client-ssl", name, **{**more, **pair_of, **fields})
        return f"/P/{name}"

    def virtual(self, name: str, **fields: Any) -> str:
        """On the next free address."""
        number = self.store.next_number("test address", 10)
        fields.setdefault("profiles", ["/Common/tcp", "/Common/http"])
        self.big.add_virtual(f"/P/{name}", f"10.9.0.{number}:80", **fields)
        return f"/P/{name}"

    # -- traffic -----------------------------------------------------------------------------------

    def connect(self, virtual: str, **options: Any) -> Client:
        return Client(self.big.endpoint(virtual), **options)

    def ask(self, virtual: str, target: str = "/", *, sni: str | None = None, **options: Any) -> Answer:
        """One request on a connection of its own."""
        with self.connect(virtual, sni=sni) as client:
            return client.ask(target, **options)

    def last(self) -> Served:
        """The newest record that is complete."""
        return until(lambda: self.plane.log and self.plane.log[-1].outcome and self.plane.log[-1])

    def quiet(self) -> None:
        """Wait until no connection is left."""
        until(lambda: not any(self.plane.counters().values()), f"open: {self.plane.counters()}")

    def errors(self) -> list[str]:
        """Return what went wrong so far, and forget it."""
        errors = [str(error) for error in self.big.errors]
        self.big.errors.clear()
        return errors


@pytest.fixture
def make_net() -> Iterator[Callable[..., Net]]:
    """A data plane of its own for one test."""
    nets: list[Net] = []

    def make(**options: Any) -> Net:
        nets.append(Net(**options))
        return nets[-1]

    yield make
    for net in nets:
        net.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Net]:
    """/P/http, with a pool of one pod and no policy; one for the module."""
    net = Net()
    net.pod("10.1.0.1", name="web", namespace="shop")
    net.pool("web", "10.1.0.1:8080")
    net.virtual("http", pool="/P/web")
    yield net
    net.close()


@pytest.fixture
def net(shared: Net) -> Iterator[Net]:
    """The module's; every test leaves it without errors and without connections."""
    shared.big.errors.clear()
    yield shared
    assert shared.errors() == []
    shared.quiet()


def forward(pool: str, **condition: Any) -> dict[str, Any]:
    """A Rule; condition: fields of its only condition, none for always."""
    return rule({"forward": True, "select": True, "pool": pool}, **condition)


def rule(*actions: dict[str, Any], **condition: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"actions": [{"name": str(at), **action} for at, action in enumerate(actions)]}
    if condition:
        fields["conditions"] = [{"name": "0", **condition}]
    return fields


def host(*names: str) -> dict[str, Any]:
    return {"httpHost": True, "host": True, "values": list(names)}


__all__ = ["Net", "Unsupported", "forward", "host", "rule", "until"]
