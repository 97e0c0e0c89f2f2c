"""A whole router between a fake Kubernetes API and a fake BIG-IP, over real HTTPS and SSH."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from f5router.app import launch, once
from f5router.app.controller import Controller
from f5router.app.timing import Timing
from f5router.config import config
from f5router.model.cluster import Key
from f5router.model.limits import Backoff
from f5router.reconcile.row import RETRY_MOST_S
from mocks.bigip import FakeBigIP
from mocks.bigip.server import State
from mocks.bigip.store import DiskFile
from mocks.kube import FakeKube
from tests import manifests, pump
from tests.e2e.nursery import Forked
from tests.feature.running import Running
from tests.reference.full_build import snapshot_of
from tests.waiting import DEADLINE_S, until

HTTP, HTTPS = "ose-vserver", "https-ose-vserver"

QUICK = Timing(
    drain_s=0.0, passthrough_drain_s=0.0, backoff=Backoff(first_s=0.05, limit_s=1.0), confirm_s=0.2,
    servers_s=3600.0, api_look_s=3600.0)
"""No request is under way, so previous objects go at once; tests/traffic has requests. Nothing has to recover
that takes its time."""


START = "from f5router.cli.main import main; main(prog_name='f5router')"


class Lab:
    """Both fakes and, as often as wanted, a router on them."""

    def __init__(self, stack: ExitStack, folder: Path, *, partition: str = "/Common",
                 gateway_api: str = "none", **bigip):
        """Args: gateway_api: release of the Gateway API that the cluster has; bigip: of the fake BIG-IP."""
        self.stack, self._folder, self.partition = stack, folder, partition
        self._marks = 0
        self._ahead_s = 0.0
        self.timing = QUICK
        self.read_file = config.read_text
        self.kube = stack.enter_context(FakeKube(gateway_api=gateway_api))
        self.bigip = stack.enter_context(FakeBigIP(**bigip))
        self._administrator = stack.enter_context(requests.Session())
        self._administrator.trust_env = False
        self._administrator.auth = self.bigip.username, self.bigip.password
        self._administrator.verify = str(self.bigip.ca_file)
        self.kubeconfig = folder / "kubeconfig"
        self.kube.write_kubeconfig(str(self.kubeconfig))

    def virtuals(
        self, *, http: bool = True, https: bool = True, partition: str = "", address: str = "10.0.0.1",
        **https_fields,
    ) -> None:
        """Create the virtual servers as docs/guide.md asks for."""
        partition = partition or self.partition
        separator = "." if ":" in address else ":"
        if http:
            self.bigip.add_virtual(f"{partition}/{HTTP}", f"{address}{separator}80")
        if https:
            profiles = https_fields.pop(
                "profiles", ("/Common/tcp", "/Common/http", "/Common/clientssl-default")
            )
            if "/Common/clientssl-default" not in self.paths("ltm/profile/client-ssl"):
                self.bigip.put_object(
                    "ltm/profile/client-ssl",
                    {
                        "name": "clientssl-default",
                        "partition": "Common",
                        "defaultsFrom": "/Common/clientssl",
                        "sniDefault": "true",
                    },
                )
            self.bigip.add_virtual(
                f"{partition}/{HTTPS}", f"{address}{separator}443", profiles=profiles, **https_fields
            )

    def flags(self, **flags: str) -> dict[str, str]:
        """Flags for these fakes, by their names; those given with _ for -."""
        return {
            "f5-host": self.bigip.address,
            "f5-username": self.bigip.username,
            "f5-password": self.bigip.password,
            "f5-ca-bundle": str(self.bigip.ca_file),
            "f5-partition-path": self.partition,
            "config": str(self.kubeconfig),
            "hold-off": "10ms",
            "default-destination-ca-path": "none",
            "sources": "routes",  # fewer watches; tests of other sources name these
            "f5-drift-interval": "1h",  # never: tests wait for one reading or the other
            **{name.replace("_", "-"): value for name, value in flags.items()},
        }

    def config(self, *, retry_s: float | None = None, **flags: str) -> config.Config:
        """Return a Config for these fakes.

        Args: retry_s: how long a failed read is repeated, 0 for never; flags: as in `flags`.
        """
        loaded = config.load(self.flags(**flags), {}, self.read_file)
        return loaded if retry_s is None else replace(loaded, bigip=replace(loaded.bigip, retry_s=retry_s))

    def command(self, *arguments: str, **flags: str) -> list[str]:
        """Command line of a router of its own on these fakes."""
        given = [f"--{name}={value}" for name, value in self.flags(**flags).items()]
        return [sys.executable, "-m", "f5router", "run", *arguments, *given]

    def process(self, *arguments: str, **flags: str) -> Forked:
        """Start a router of its own on these fakes: a process that need not import it."""
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with open(os.devnull, "wb") as nowhere:
            return Forked(START, self.command(*arguments, **flags)[3:], first=environment,
                          environment=environment, output=nowhere)

    def ssh_flags(self) -> dict[str, str]:
        """Flags for uploads over SSH with a key and a known host key."""
        path = self._folder / "router.pem"
        if not path.exists():
            key = ed25519.Ed25519PrivateKey.generate()
            path.write_bytes(
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.OpenSSH,
                    serialization.NoEncryption(),
                )
            )
            self.bigip.ssh_server.authorize(
                key.public_key()
                .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
                .decode()
            )
        return {
            "f5_private_key": str(path),
            "f5_ssh_port": str(self.bigip.ssh_port),
            "f5_ssh_host_key": self.bigip.ssh_server.host_key_fingerprint,
        }

    def router(self, *, clock: Callable[[], float] | None = None, **flags) -> Controller:
        """A running router: watchers started, nothing written yet. Its clock follows `later` by default.

        Args: flags: as in `config`.
        """
        stack = self.stack.enter_context(ExitStack())
        started = launch.build_controller(
            self.config(**flags), stack, timing=self.timing, clock=clock or self.clock)
        started.close = stack.close
        return started

    def clock(self) -> float:
        """The time of the routers."""
        return time.monotonic() + self._ahead_s

    def later(self, seconds: float = RETRY_MOST_S) -> None:
        """Let the routers' time run ahead: by default until every back-off of an object has ended."""
        self._ahead_s += seconds

    def converge(self, router: Controller | None = None, **flags: str) -> list[str]:
        """Run a pass as `f5router run --once` does; returns its reasons.

        Args: router: None for a new one, which ends afterwards: each that stays sees all that follows.
        """
        if router is not None:
            return once.converge(router, threading.Event(), sync_timeout_s=DEADLINE_S, timing=self.timing)
        router = self.router(**flags)
        try:
            return self.converge(router)
        finally:
            router.close()

    def break_off(self, at: int, **flags: str) -> bool:
        """Let a router run until its connection breaks off at a write; returns True if it made that many.

        Args: at: number of the write, from 1.
        """
        seen = []

        def cut(entry) -> None:
            seen.append(entry)
            if len(seen) == at:
                self.bigip.inject("drop-request", times=None)

        self.bigip.on_write = cut
        router = self.router(retry_s=0.0, **flags)
        self.converge(router)
        router.close()
        self.bigip.on_write = None
        self.bigip.clear_faults()
        return len(seen) >= at

    def each_end(self, least: int, **flags: str) -> Iterator[int]:
        """Let a router write; then have the fakes as it leaves them if it ends after a write, for each write.

        Yields the number of the write. No request is under way then, so no router waits for one to end.
        Args: least: number of writes that there must be.
        """
        self.timing = replace(self.timing, drain_s=0.0, passthrough_drain_s=0.0)
        routes, states = self.routes(), []
        self.bigip.on_write = lambda _: states.append(self.bigip.state())
        router = self.router(**flags)
        self.converge(router)
        router.close()
        self.bigip.on_write = None
        assert len(states) >= least
        for number, state in enumerate(states, start=1):
            self.apply(*routes)
            self.bigip.put_back(state)
            yield number

    def routes(self) -> list[dict]:
        """Return the Routes as they are, for `apply`: one without a status gets an empty one."""
        return [{"status": {}} | route for route in self.kube.list("Route")]

    def settle(self, router: Controller) -> None:
        """Let a running router see all that the API server has, and reconcile it.

        A marker Route comes through the same watch after everything else.
        """
        self._marks += 1
        self.apply(manifests.route("marker", namespace="marks", host=f"Mark-{self._marks}"))
        for kind in ("Service", "EndpointSlice"):
            mark = manifests.service("marks", f"mark-{self._marks}", pods=("10.255.0.1",))
            self.apply(next(obj for obj in mark if obj["kind"] == kind))
        key, slice_key = Key("marks", f"mark-{self._marks}"), Key("marks", f"mark-{self._marks}-1")

        def seen() -> bool:
            router.reconcile_once()
            route = router.reconciler.engine.route(Key("marks", "marker"))
            snapshot = snapshot_of(router.reconciler.engine)
            return (route is not None and route.host == f"Mark-{self._marks}" and key in snapshot.services
                    and slice_key in snapshot.slices.get(key, {}))

        until(seen, "the router did not see the newest objects")
        router.reconcile_once()
        retried: set = set()
        while pump.retry_after_slow_writes(router.reconciler.table, retried):
            router.reconcile_once()
        assert router.reporter.statuses.flush(DEADLINE_S)

    def converge_events(self, router: Controller, *, seen: tuple[str, str] | None = None) -> None:
        """Wait until the first lists are complete and, if given, a Route is known; writes nothing."""
        assert router.cluster.wait_synced(DEADLINE_S)
        if seen:
            until(lambda: router.cluster.route(Key(*seen)) is not None)

    def apply(self, *objects: dict) -> None:
        """Create or replace objects in the cluster."""
        for obj in objects:
            self.kube.seed(obj)

    def admitted(self, namespace: str, name: str) -> dict:
        """The Admitted condition that the router wrote, {} for none."""
        route = self.kube.get("Route", namespace, name)
        entries = (route.get("status") or {}).get("ingress") or []
        own = [entry for entry in entries if entry["routerName"] == "public"]
        return own[0]["conditions"][0] if own else {}

    def pending(self, *names: str) -> bool:
        """True if the status of a Route in the namespace shop has said that it waits for the BIG-IP."""
        conditions = [self.admitted("shop", name) for name in names]
        return all((condition.get("status"), condition.get("reason")) == ("Unknown", "DevicePending")
                   for condition in conditions)

    def writes(self) -> list[tuple[str, str]]:
        """Method and path of each configuration write since the last `clear`."""
        return [(entry.method, entry.path) for entry in self.bigip.writes()]

    def change(self, method: str, path: str, body: dict | None = None) -> None:
        """Do what an administrator does to the BIG-IP by hand, over REST."""
        reply = self._administrator.request(
            method, f"{self.bigip.url}/mgmt/tm/{path}", json=body, timeout=DEADLINE_S)
        assert reply.status_code == 200, reply.text

    def install(self, kind: str, name: str, text: str) -> None:
        """Copy a certificate or key to the BIG-IP's disk and install it. Args: kind: cert or key."""
        path = f"/var/tmp/{name}.{kind}"
        self.bigip.store.disk[path] = DiskFile(text.encode())
        body = {"command": "install", "name": name, "from-local-file": path}
        self.change("POST", f"sys/crypto/{kind}", body)
        del self.bigip.store.disk[path]

    def content(self, path: str) -> str:
        """Return what is in an installed certificate or key file."""
        kind = "sys/file/ssl-key" if path.endswith(".key") else "sys/file/ssl-cert"
        item = next(item for item in self.bigip.items(kind) if item.path == path)
        return item.hidden["data"].decode()

    def paths(self, kind: str) -> set[str]:
        """Full paths of the BIG-IP's objects of a kind."""
        return {item.path for item in self.bigip.items(kind)}

    def pools(self) -> set[str]:
        """Return the pools of Services; one without members is always there."""
        return {path for path in self.paths("ltm/pool") if not path.endswith("/openshift_nowhere")}

    def clear(self) -> None:
        self.bigip.clear_log()


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> State:
    """State of a BIG-IP for which a router with the settings of `Lab.flags` has found no Route yet."""
    with ExitStack() as stack:
        first_lab = Lab(stack, tmp_path_factory.mktemp("baseline"))
        first_lab.virtuals()
        assert first_lab.converge() == []
        return first_lab.bigip.state()


@pytest.fixture
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """Fakes with both virtual servers and one Service with two pods.

    An earlier router has written its baseline, unless the test is marked `bare`: a test of a first load, of
    the order or the number of its writes, or of another baseline.
    """
    with ExitStack() as stack:
        new_lab = Lab(stack, tmp_path)
        if request.node.get_closest_marker("bare"):
            new_lab.virtuals()
        else:
            new_lab.bigip.put_back(request.getfixturevalue("baseline"))
        new_lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")))
        yield new_lab


@pytest.fixture
def make_lab(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Fakes without anything, of any version and with any quirks."""
    with ExitStack() as stack:
        yield lambda **options: Lab(stack, tmp_path, **options)


@pytest.fixture
def running(lab: Lab) -> Iterator[Callable[..., Running]]:
    """Start a router that runs; stopped at the end."""
    routers: list[Running] = []

    def start(**flags: str) -> Running:
        routers.append(Running(lab, **flags))
        return routers[-1]

    yield start
    for router in routers:
        router.stop()


@pytest.fixture
def serving(lab: Lab, running: Callable[..., Running]) -> Iterator[Callable[..., Running]]:
    """Start a router that serves Route a; what is held back is let go at the end."""
    def start(**flags: str) -> Running:
        lab.apply(manifests.route("a"))
        router = running(**flags)
        router.wait(lambda: lab.admitted("shop", "a").get("status") == "True")
        return router

    yield start
    lab.bigip.clear_faults()
    lab.bigip.release()
