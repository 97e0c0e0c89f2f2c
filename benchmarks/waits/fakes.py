"""The fakes as their processes have them. Times are of time.monotonic, which all processes share."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import requests

from benchmarks.device import add_virtuals
from mocks.bigip import FakeBigIP, LoggedRequest
from mocks.kube import FakeKube

POLICIES = ("openshift_insecure_routes", "openshift_secure_routes")
MAPPING = "ltm/data-group/internal/~Common~ssl_passthrough_servername_dg"
Objects = Callable[..., Iterable[dict]]
"""A function of a module, so that its name can be sent."""


class Cluster:
    """The API server. Args: kubeconfig: file to write."""

    def __init__(self, stack: ExitStack, kubeconfig: Path):
        self._kube = stack.enter_context(FakeKube(history=60_000))
        self._kube.write_kubeconfig(kubeconfig)
        self._stop = threading.Event()
        self._flood: threading.Thread | None = None
        stack.callback(self.end)

    def apply(self, *objects: dict) -> float:
        """Apply objects; returns when that began."""
        begin = time.monotonic()
        for obj in objects:
            self._kube.seed(obj)
        return begin

    def delete(self, kind: str, namespace: str, name: str) -> float:
        """Delete an object; returns when that began."""
        begin = time.monotonic()
        self._kube.delete(kind, namespace, name)
        return begin

    def fill(self, objects: Objects, *arguments: Any) -> None:
        """Apply all objects that a function returns."""
        for obj in objects(*arguments):
            self._kube.seed(obj)

    def begin(self, objects: Objects, *arguments: Any, per_s: float = 0.0) -> float:
        """Apply one object after the other, until all are or `end` is called; returns when that began.

        Args: per_s: how many a second; 0 as fast as possible.
        """
        self._stop.clear()
        begin = time.monotonic()
        ready = objects(*arguments)

        def run() -> None:
            for number, obj in enumerate(ready):
                due_s = begin + number / per_s - time.monotonic() if per_s else 0.0
                if self._stop.wait(due_s) if due_s > 0 else self._stop.is_set():
                    return
                self._kube.seed(obj)

        self._flood = threading.Thread(target=run, daemon=True)
        self._flood.start()
        return begin

    def end(self) -> None:
        """Apply no more."""
        self._stop.set()
        if self._flood is not None:
            self._flood.join()

    def statuses(self) -> int:
        """Count the statuses that were written since the last call of this."""
        count = sum(entry.path.endswith("/status") for entry in self._kube.log)
        self._kube.clear_log()
        return count

    def holder(self) -> tuple[str, float]:
        """Return the leader, and when this was looked at."""
        lease = self._kube.get("Lease", "default", "f5router-public")
        return (lease["spec"].get("holderIdentity") or "") if lease else "", time.monotonic()

    def new_holder(self, before: str, limit_s: float) -> float | None:
        """When somebody else leads; None if nobody does in time."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            name, now = self.holder()
            if name not in ("", before):
                return now
            time.sleep(0.005)
        return None


class Device:
    """The BIG-IP. Args: latency_s: what each call takes besides; dataplane: it carries traffic."""

    def __init__(self, stack: ExitStack, latency_s: float = 0.0, *, dataplane: bool = False):
        self._big = stack.enter_context(FakeBigIP(dataplane=dataplane))
        add_virtuals(self._big)
        self._latency_s = latency_s
        self._noted = threading.Condition()
        self._written_at = 0.0
        self._pools: list[tuple[float, str]] = []
        self._expected: dict[str, bool] = {}
        self._seen: dict[str, float] = {}
        self._first: float | None = None
        self._big.on_write = self._note
        self.respond()

    def where(self) -> tuple[str, str, str, str]:
        """Address, user, password, and file of the authority."""
        return self._big.address, self._big.username, self._big.password, str(self._big.ca_file)

    # --- traffic ---------------------------------------------------------------------------

    def listener(self) -> tuple[str, int]:
        """Where the virtual server for HTTP listens."""
        return self._big.endpoint("/Common/ose-vserver")

    def start_pods(self, *addresses: str) -> None:
        """Pods that answer with their address as name."""
        for address in addresses:
            self._big.pods.start(address, 8080, f"pod-{address}", namespace="shop")

    # --- what happened ---------------------------------------------------------------------

    def _note(self, entry: LoggedRequest) -> None:
        now = time.monotonic()
        with self._noted:
            self._first = self._first or now
            self._written_at = now
            if "/ltm/pool" in entry.path:
                self._pools.append((now, str(entry.body)))
            if "/ltm/policy" in entry.path or "/data-group" in entry.path:
                for name, there in self._expected.items():
                    if name not in self._seen and self._serves(name) == there:
                        self._seen[name] = now
            self._noted.notify_all()

    def _serves(self, name: str) -> bool:
        """Args: name: name of a rule, or a host of the data group for passthrough."""
        if "." in name:
            group = self._big.get(MAPPING) or {}
            return any(record["name"] == name for record in group.get("records", ()))
        return any(self._big.get(f"ltm/policy/~Common~{policy}/rules/{name}") for policy in POLICIES)

    def pool_written(self, address: str, limit_s: float) -> float | None:
        """When a pool got a member of this address, which none had before; None if not in time."""
        return self._wait(limit_s, lambda: next(
            (at for at, text in self._pools if f"{address}:" in text), None))

    def expect(self, *names: str, gone: tuple[str, ...] = ()) -> None:
        """Note from now on when these rules, or hosts of passthrough Routes, are there or are gone."""
        now = time.monotonic()
        with self._noted:
            self._first = None
            self._expected = dict.fromkeys(names, True) | dict.fromkeys(gone, False)
            self._seen = {name: now for name, there in self._expected.items()
                          if self._serves(name) == there}

    def seen(self, name: str, limit_s: float) -> float | None:
        """When this was so first; None if not in time."""
        return self._wait(limit_s, lambda: self._seen.get(name))

    def first_write(self) -> float | None:
        """When the first write after `expect` came, whatever it was for."""
        return self._first

    def _wait(self, limit_s: float, time_of: Callable[[], float | None]) -> float | None:
        end = time.monotonic() + limit_s
        with self._noted:
            while (at := time_of()) is None and (left_s := end - time.monotonic()) > 0:
                self._noted.wait(left_s)
            self._pools.clear()
        return at

    def rules(self) -> int:
        """How many rules of Routes are published."""
        return sum(item["name"].startswith("openshift_route_") for policy in POLICIES
                   for item in (self._big.get(f"ltm/policy/~Common~{policy}/rules") or {}).get("items", ()))

    def calls(self) -> dict[str, int]:
        """Requests by method since the last call of this, without log-ins, saves and lists of a folder."""
        entries = list(self._big.log)
        self._big.clear_log()
        return dict(Counter(entry.method for entry in entries if entry.changes or entry.method == "GET"))

    def last_write(self) -> float:
        """When something was written last."""
        return self._written_at

    def cpu_s(self) -> float:
        """CPU seconds of the process."""
        return time.process_time()

    def quiet(self, still_s: float, limit_s: float) -> None:
        """Wait until nothing has been written for so long."""
        end = time.monotonic() + limit_s
        with self._noted:
            while self._noted.wait(still_s) and time.monotonic() < end:
                pass

    # --- what fails ------------------------------------------------------------------------

    def respond(self) -> None:
        """Take the time of each call, and have no other faults."""
        self._big.clear_faults()
        self._big.release()
        if self._latency_s:
            self._big.inject("delay", times=None, seconds=self._latency_s)

    def fail(self, kind: str, **options: Any) -> None:
        """Have a fault of mocks.bigip.faults before all others."""
        self._big.clear_faults()
        self._big.inject(kind, **options)
        if self._latency_s:
            self._big.inject("delay", times=None, seconds=self._latency_s)

    def held(self) -> int:
        """How many requests the fault `hold` has held so far."""
        return self._big.held

    def delete_rule(self, policy: str, name: str) -> float:
        """Do what an administrator does by hand, over REST; returns when that was published."""
        base, draft = f"{self._big.url}/mgmt/tm/ltm/policy", f"~Common~Drafts~{policy}"
        with requests.Session() as session:
            session.trust_env = False
            session.auth = self._big.username, self._big.password
            session.verify = str(self._big.ca_file)
            for method, path, body in (
                    ("PATCH", f"/~Common~{policy}", {"createDraft": True}),
                    ("DELETE", f"/{draft}/rules/{name}", None),
                    ("POST", "", {"command": "publish", "name": f"/Common/Drafts/{policy}"})):
                session.request(method, base + path, json=body, timeout=60).raise_for_status()
        return time.monotonic()
