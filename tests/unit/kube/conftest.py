"""A fake API server per test, and clients of it that are stopped at the end."""

import threading
import time
from collections.abc import Callable
from dataclasses import fields

import pytest

from f5router.kube.api.connection import Connection, connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, SecretPace, WatchSettings, WatchTiming
from f5router.model.limits import Backoff
from f5router.sources.settings import SourceSettings
from mocks.kube import FakeKube
from tests.waiting import DEADLINE_S

AT_ONCE = Backoff(0.01, 0.05)

ROUTES_ALONE = SourceSettings(("Route",))

HURRY = SecretPace(again_per_s=1000, refresh_s=0.1, hasten_s=0.0, absent=AT_ONCE, failed=AT_ONCE,
             probe=AT_ONCE, timeout_s=2.0)


@pytest.fixture(autouse=True)
def _no_credentials_of_the_developer(monkeypatch, tmp_path):
    for name in ("KUBECONFIG", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def kube():
    # As fast as a test needs it: a real server sends one a minute.
    with FakeKube(bookmark_s=0.2) as server:
        yield server


@pytest.fixture
def kubeconfig(kube, tmp_path) -> str:
    path = tmp_path / "kubeconfig"
    kube.write_kubeconfig(path)
    return str(path)


@pytest.fixture
def connection(kubeconfig) -> Connection:
    return connect(KubeSettings(
        kubeconfig=kubeconfig, connect_timeout_s=DEADLINE_S, read_timeout_s=DEADLINE_S))


def taken(kind: type, options: dict):
    """An object of the options that are its fields, which are removed."""
    return kind(**{each.name: options.pop(each.name) for each in fields(kind) if each.name in options})


class Follower:
    """A ClusterWatcher, and everything that its drains told."""

    def __init__(self, connection: Connection, **options):
        self.state: dict[str, dict] = {kind: {} for kind in (
            "routes", "services", "slices", "nodes", "secrets")}
        self.drained: list[tuple[str, object]] = []
        """Kind and key of each change that was drained, in order."""
        self.drains: list[set[tuple[str, object]]] = []
        """The same, by drain."""
        self.changed = threading.Event()
        options = {"backoff": AT_ONCE, "secret_pace": HURRY, "sources": ROUTES_ALONE} | options
        self.cluster = ClusterWatcher(
            connection, taken(WatchSettings, options), timing=taken(WatchTiming, options),
            on_change=self.changed.set, **options)
        self.cluster.start()

    def until(self, condition: Callable[[], object]) -> None:
        """Drain until the condition holds; the test fails if it never does."""
        end = time.monotonic() + DEADLINE_S
        while True:
            self.changed.clear()
            self.drain()
            if condition():
                return
            assert time.monotonic() < end, "the condition never held"
            self.changed.wait(0.05)

    def drain(self) -> None:
        delta = self.cluster.drain().whole()
        before = len(self.drained)
        for kind, known in self.state.items():
            for key, value in getattr(delta, kind).items():
                self.drained.append((kind, key))
                if value is None:
                    known.pop(key, None)
                else:
                    known[key] = value
        self.drains.append(set(self.drained[before:]))

    def names(self, kind: str = "routes") -> set[str]:
        return {key.name for key in self.state[kind]}


@pytest.fixture
def follow(connection):
    """Makes Followers; keywords are those of ClusterWatcher, and fields of its settings and timing."""
    followers = []

    def make(**options) -> Follower:
        followers.append(Follower(**{"connection": connection} | options))
        return followers[-1]

    yield make
    for follower in followers:
        follower.cluster.stop()


def lists(kube: FakeKube, resource: str = "routes") -> list:
    """List requests for a resource that the server answered."""
    return [entry for entry in kube.log
            if entry.method == "GET" and entry.path.endswith(f"/{resource}") and "watch" not in entry.query]


def watches(kube: FakeKube, resource: str = "routes") -> list:
    """Watch requests for a resource that the server answered."""
    return [entry for entry in kube.log
            if entry.path.endswith(f"/{resource}") and "watch" in entry.query]


def watching(kube: FakeKube, resource: str = "routes") -> bool:
    return any(path.endswith(f"/{resource}") for path in kube.watches)
