"""Costs of the Secrets of N Routes: threads, connections, CPU, and the time that other tenants wait.

    python -m benchmarks.secrets [--missing N] [--existing N] [--seconds S]

The fake API server is a process of its own. Seconds are of this machine.
"""

import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
import tabulate

from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, WatchSettings
from f5router.model.cluster import Key

HEADERS = ("Secrets", "threads", "descriptors", "RSS MiB", "CPU s", "API server CPU s", "start s",
           "all known s", "other Route s", "other Secret s")
PER_NAMESPACE = 100
"""Existing Secrets of a namespace; the missing ones are all of one."""
OTHER = "other"
"""Namespace of the tenant whose changes are timed."""
EVENT_S = 1.0
"""From one event of another tenant to the next."""


def route(namespace: str, name: str, secret: str, host: str) -> dict:
    """An edge Route with a Secret."""
    return {"apiVersion": "route.openshift.io/v1", "kind": "Route",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"host": host, "to": {"kind": "Service", "name": "web", "weight": 100},
                     "tls": {"termination": "edge", "externalCertificate": {"name": secret}}}}


def secret(namespace: str, name: str, size: int = 4000) -> dict:
    """A Secret of the size of a certificate with its chain."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name},
            "type": "kubernetes.io/tls", "data": {"tls.crt": "QUFB" * (size // 4), "tls.key": "QUFB" * 400}}


def serve(pipe, missing: int, existing: int) -> None:
    """The body of the API server's process; each message is an object to apply, None the end."""
    from mocks.kube import FakeKube

    with FakeKube() as kube, tempfile.TemporaryDirectory() as folder:
        kube.forbid("secrets", ("watch",), None)  # as usual: rights on single Secrets
        for number in range(missing):
            kube.apply(route("crowd", f"r{number}", f"s{number}", f"m{number}.example.com"))
        for number in range(existing):
            namespace = f"ns{number // PER_NAMESPACE}"
            kube.apply([route(namespace, f"r{number}", f"s{number}", f"e{number}.example.com"),
                        secret(namespace, f"s{number}")])
        path = Path(folder) / "kubeconfig"
        kube.write_kubeconfig(path)
        pipe.send(str(path))
        while (obj := pipe.recv()) is not None:
            kube.apply(obj)
            pipe.send(time.monotonic())


@dataclass
class Server:
    """The API server's process."""

    pid: int
    kubeconfig: str
    pipe: object

    def apply(self, obj: dict | list[dict]) -> float:
        """Apply an object; returns when that was done."""
        self.pipe.send(obj)
        return self.pipe.recv()


@contextmanager
def api_server(missing: int, existing: int) -> Iterator[Server]:
    """A fake API server with so many Routes that name Secrets."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there, missing, existing))
    process.start()
    try:
        yield Server(process.pid, here.recv(), here)
    finally:
        here.send(None)
        process.join(10)


@dataclass
class Seen:
    """Changes that the drains of a ClusterWatcher told, and when."""

    cluster: ClusterWatcher
    changed: threading.Event
    at: dict[tuple[str, Key], float] = field(default_factory=dict)
    threads: int = 0
    descriptors: int = 0

    def until(self, condition: Callable[[], bool], limit_s: float) -> None:
        """Drain until the condition holds, or for limit_s."""
        end = time.monotonic() + limit_s
        while not condition() and time.monotonic() < end:
            self.changed.wait(0.02)
            self.changed.clear()
            delta = self.cluster.drain()
            now = time.monotonic()
            for kind in ("routes", "secrets"):
                for key in getattr(delta, kind):
                    self.at.setdefault((kind, key), now)
            self.threads = max(self.threads, threading.active_count())
            self.descriptors = max(self.descriptors, len(os.listdir("/proc/self/fd")))

    def all_after(self, begin: float, count: int) -> str:
        """Seconds until so many Secrets were known, or known to be missing; those of OTHER do not count."""
        times = [at for (kind, key), at in self.at.items() if kind == "secrets" and key.namespace != OTHER]
        return f"{max(times, default=begin) - begin:.1f}" if len(times) >= count else "-"


def cpu_s(pid: int) -> float:
    """CPU seconds of a process since its start."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def other_tenant(server: Server, seen: Seen, number: int) -> tuple[float, float]:
    """Seconds until a Route of another tenant is known, and until its Secret is."""
    key, name = Key(OTHER, f"r{number}"), Key(OTHER, f"s{number}")
    server.apply(secret(name.namespace, name.name))
    begin = server.apply(route(key.namespace, key.name, name.name, f"o{number}.example.com"))
    seen.until(lambda: ("secrets", name) in seen.at and ("routes", key) in seen.at, 120.0)
    missing = float("inf")
    return tuple(seen.at.get(what, missing) - begin for what in (("routes", key), ("secrets", name)))


def measure(name: str, missing: int, existing: int, seconds: float) -> tuple:
    """A row of the table: a ClusterWatcher runs for so many seconds."""
    with api_server(missing, existing) as server:
        changed = threading.Event()
        cluster = ClusterWatcher(
            connect(KubeSettings(kubeconfig=server.kubeconfig)), WatchSettings(secrets=True),
            on_change=changed.set)
        seen = Seen(cluster, changed)
        before, there = time.process_time(), cpu_s(server.pid)
        begin = time.monotonic()
        cluster.start()
        try:
            seen.until(cluster.synced, 120.0)
            start_s, waits = time.monotonic() - begin, []
            while time.monotonic() < begin + seconds:
                waits.append(other_tenant(server, seen, len(waits)))
                seen.until(lambda: False, EVENT_S)
            routes, secrets = zip(*waits, strict=True)
            return (name, seen.threads, seen.descriptors, f"{rss_mib():.0f}",
                    f"{time.process_time() - before:.1f}", f"{cpu_s(server.pid) - there:.1f}",
                    f"{start_s:.1f}", seen.all_after(begin, missing + existing),
                    f"{max(routes):.2f}", f"{max(secrets):.2f}")
        finally:
            cluster.stop()


@click.command()
@click.option("--missing", default=1500, show_default=True, help="Routes of one namespace without a Secret.")
@click.option("--existing", default=2000, show_default=True, help="Routes of others, each with its Secret.")
@click.option("--seconds", default=60.0, show_default=True, help="How long to look at each.")
def main(missing: int, existing: int, seconds: float) -> None:
    """Print what Secrets cost."""
    rows = []
    for name, counts in (("none", (0, 0)), (f"{missing} missing", (missing, 0)),
                         (f"{existing} existing", (0, existing))):
        # A process for each, so that memory and threads are its own.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            rows.append(pool.submit(measure, name, *counts, seconds).result())
    print(tabulate.tabulate(rows, headers=HEADERS, tablefmt="plain", colalign=("left",) + ("right",) * 9))
    print(f"\nover {seconds:.0f} s each; of threads, descriptors and the other tenant's waits the most")


if __name__ == "__main__":
    main()
