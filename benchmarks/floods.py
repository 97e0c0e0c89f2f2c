"""How late endpoints of one tenant are programmed while another tenant, or the device, keeps the router busy.

    python -m benchmarks.floods [--seconds S] [--most S] [--only NAME] [--router FOLDER]

The fakes and the router are processes of their own. While each flood goes on, the address of the other
tenant's only pod changes again and again: the delay is from the change in the API server to the end of the
write on the BIG-IP; the next change follows a moment after it. The load of the machine is its average over
the last minute. Seconds are of this machine.
"""

import json
import multiprocessing
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
import tabulate

from tests import manifests

HEADERS = ("meanwhile", "changes", "median ms", "90% ms", "longest ms", "load", "router CPU s")
PAUSE_S = 0.3
"""Between the end of a change and the next one."""
GIVEN_UP_S = 60.0
LEAST = 20
"""Changes at least that a row is about, if the time allows it."""
CROWD = "crowd"
"""Namespace of the tenant that floods."""


@dataclass(frozen=True)
class Flood:
    """One row of the table."""

    name: str
    objects: Callable[[], list[dict]] = list
    """Objects that are applied when the flood begins."""
    before: Callable[[], list[dict]] = list
    """Objects that are there before the router starts."""
    per_s: float = 0.0
    """Objects are applied at this rate; 0: as fast as possible."""
    faults: tuple[dict, ...] = ()
    seconds: float = 0.0
    """How long it is looked at, at least; 0: as the command line says."""
    flags: tuple[str, ...] = ()
    """Flags of the router."""


def routes(count: int, **fields: Callable[[int], str]) -> list[dict]:
    """Routes of the tenant that floods. Args: fields: of each, by its number."""
    return [manifests.route(f"r{number}", namespace=CROWD, service="crowd",
                            **{name: make(number) for name, make in fields.items()})
            for number in range(count)]


def crowd() -> list[dict]:
    """The Service of these Routes."""
    return list(manifests.service(CROWD, "crowd", pods=("10.66.0.1",)))


def churn() -> list[dict]:
    """3,000 changes of 500 Routes and of 100 Services' endpoints in turn."""
    events = []
    for number in range(1500):
        service, pod = f"s{number % 100}", f"10.67.{number % 100}.{number % 250 + 1}"
        events.append(manifests.route(f"r{number % 500}", namespace=CROWD, service=service,
                                      host=f"h{number % 500}.crowd.test", path=f"/{number}"))
        events.append(manifests.endpoints(CROWD, service, (pod,)))
    return events


def services(count: int, pods: int) -> list[dict]:
    """Services of so many pods each, with a Route for each."""
    events = []
    for number in range(count):
        addresses = tuple(f"10.68.{number}.{pod + 1}" for pod in range(pods))
        events += manifests.service(CROWD, f"s{number}", pods=addresses)
        events.append(manifests.route(f"r{number}", namespace=CROWD, service=f"s{number}",
                                      host=f"h{number}.crowd.test"))
    return events


# Tidying up and saving begin 60 s after the first write where writes never end, as here.
REFUSED = {"kind": "refuse", "times": None, "method": "POST", "path": "/rules$", "message": "01070151:3: no"}
SLOW_SAVE = {"kind": "delay", "times": None, "method": "POST", "path": "sys/config", "seconds": 15.0}
FLOODS = (
    Flood("nothing"),
    Flood("5,000 paths on one Host", before=crowd, objects=lambda: routes(
        5000, host=lambda _: "big.crowd.test", path="/p{}".format)),
    Flood("100 changes a second for 30 s", before=lambda: services(100, 1), objects=churn, per_s=100.0,
          seconds=30.0),
    Flood("10,000 Routes at once", before=crowd,
          objects=lambda: routes(10_000, host="h{}.crowd.test".format)),
    Flood("10,000 Routes at once, whose Host is another's", before=crowd,
          objects=lambda: routes(10_000, host=lambda _: "web.shop.test", path="/p{}".format)),
    Flood("400 rules that the device refuses", before=crowd, faults=(REFUSED,),
          objects=lambda: routes(400, host="h{}.crowd.test".format)),
    Flood("a save of 15 s, again and again", before=crowd, faults=(SLOW_SAVE,), seconds=90.0,
          objects=lambda: routes(1, host="h{}.crowd.test".format)),
    Flood("10,000 Routes, one reading after the other", flags=("--f5-resync-interval=1s",), seconds=90.0,
          before=lambda: crowd() + routes(10_000, host="h{}.crowd.test".format)),
    Flood("5,000 orphaned LTM nodes", before=lambda: services(25, 200), seconds=90.0,
          objects=lambda: [manifests.endpoints(CROWD, f"s{number}", ()) for number in range(25)]),
)


# --- the fakes -----------------------------------------------------------------------------


def serve_cluster(pipe, folder: str, name: str) -> None:
    """The body of the API server's process. A message is an object to apply, "flood", or None at the end."""
    import threading

    from mocks.kube import FakeKube

    flood = next(each for each in FLOODS if each.name == name)
    with FakeKube(history=60_000) as kube:
        kube.apply(victim(0))
        for obj in flood.before():
            kube.apply(obj)
        objects = flood.objects()
        kube.write_kubeconfig(Path(folder) / "kubeconfig")
        pipe.send("ready")
        stop = threading.Event()

        def run() -> None:
            begin = time.monotonic()
            for number, obj in enumerate(objects):
                if stop.wait(max(0.0, begin + number / flood.per_s - time.monotonic()) if flood.per_s else 0):
                    return
                kube.apply(obj)

        flooding = threading.Thread(target=run)
        while (message := pipe.recv()) is not None:
            if message == "flood":
                flooding.start()
            else:
                kube.apply(message)
            pipe.send(time.monotonic())
        stop.set()
        if flooding.ident:
            flooding.join()


def serve_device(pipe, writes, faults: tuple[dict, ...]) -> None:
    """The body of the BIG-IP's process; it tells each write of the other tenant's pool."""
    from mocks.bigip import FakeBigIP

    def written(entry) -> None:
        if "openshift_shop_web" in entry.path or (entry.body or {}).get("name") == "openshift_shop_web":
            writes.put((time.monotonic(), json.dumps(entry.body)))

    with FakeBigIP() as big:
        big.put_object("ltm/profile/client-ssl", {
            "name": "default", "partition": "Common", "defaultsFrom": "/Common/clientssl",
            "sniDefault": "true",
        })
        big.add_virtual("/Common/ose-vserver", "10.0.0.1:80")
        big.add_virtual("/Common/https-ose-vserver", "10.0.0.1:443",
                        profiles=("/Common/tcp", "/Common/http", "/Common/default"))
        big.on_write = written
        pipe.send((big.address, big.username, big.password, str(big.ca_file)))
        while pipe.recv() is not None:
            for fault in faults:
                big.inject(**fault)


@contextmanager
def process(target: Callable, *args: object) -> Iterator:
    """The pipe of a process that ends with this context."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=target, args=(there, *args))
    child.start()
    try:
        yield here
    finally:
        here.send(None)
        child.join(10)
        if child.is_alive():
            child.terminate()


# --- the other tenant ----------------------------------------------------------------------


def address(number: int) -> str:
    """That of the only pod after so many changes."""
    return f"10.77.{number // 250}.{number % 250 + 1}"


def victim(number: int) -> list[dict]:
    """Service and Route of the other tenant."""
    return [*manifests.service("shop", "web", pods=(address(number),)),
            manifests.route("web", host="web.shop.test", created="2025-01-01T00:00:00Z")]


@dataclass
class Site:
    """The cluster's pipe and what the device tells."""

    cluster: object
    writes: object
    delays: list[float] = field(default_factory=list)

    def apply(self, obj: object) -> float:
        """Apply an object, or begin the flood; returns when that was done."""
        self.cluster.send(obj)
        return self.cluster.recv()

    def await_write(self, number: int, limit_s: float) -> float | None:
        """When the address was written; None if it was not in time."""
        end = time.monotonic() + limit_s
        while (left := end - time.monotonic()) > 0:
            try:
                at, body = self.writes.get(timeout=left)
            except queue.Empty:
                return None
            if f"{address(number)}:" in body:
                return at
        return None

    def change(self, number: int) -> None:
        """Change the address, and take the delay; what takes too long counts as long as it was waited for."""
        begin = self.apply(manifests.endpoints("shop", "web", (address(number),)))
        at = self.await_write(number, GIVEN_UP_S)
        self.delays.append((at if at is not None else time.monotonic()) - begin)


@contextmanager
def router(folder: Path, source: str, device: tuple[str, ...],
           flags: tuple[str, ...]) -> Iterator[subprocess.Popen]:
    """A router between the fakes. Args: source: folder of the checkout that it runs from."""
    where, username, password, ca_file = device
    command = [sys.executable, "-m", "f5router", "run", f"--f5-host={where}", f"--f5-username={username}",
               f"--f5-ca-bundle={ca_file}", f"--config={folder / 'kubeconfig'}", "--listen-addr=127.0.0.1:0",
               *flags]
    environment = {**os.environ, "ROUTER_EXTERNAL_HOST_PASSWORD": password}
    with open(folder / "router.log", "wb") as log:
        child = subprocess.Popen(command, cwd=source or None, env=environment, stdout=log, stderr=log)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def cpu_s(pid: int) -> float:
    """CPU seconds of a process since its start."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(flood: Flood, seconds: float, most_s: float, source: str) -> tuple:
    """A row of the table."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        writes = multiprocessing.get_context("spawn").Queue()
        device = stack.enter_context(process(serve_device, writes, flood.faults))
        cluster = stack.enter_context(process(serve_cluster, str(folder), flood.name))
        cluster.recv()
        child = stack.enter_context(router(folder, source, device.recv(), flood.flags))
        site = Site(cluster, writes)
        if site.await_write(0, GIVEN_UP_S) is None:
            raise click.ClickException((folder / "router.log").read_text()[-2000:])
        site.change(1)  # the first load is over
        site.delays.clear()
        device.send("faults")
        used, begin = cpu_s(child.pid), site.apply("flood")
        number, least_s = 2, max(seconds, flood.seconds)
        while time.monotonic() < begin + (least_s if len(site.delays) >= LEAST else most_s):
            site.change(number)
            number += 1
            time.sleep(PAUSE_S)
        delays, used = sorted(site.delays), cpu_s(child.pid) - used
    shown = (delays[len(delays) // 2], delays[len(delays) * 9 // 10], delays[-1])
    return (flood.name, len(delays), *(f"{1000 * delay:.0f}" for delay in shown),
            f"{os.getloadavg()[0]:.0f}", f"{used:.1f}")


@click.command()
@click.option("--seconds", default=25.0, show_default=True, help="How long to look at each flood, at least.")
@click.option("--most", "most_s", default=170.0, show_default=True, help="The same, at most.")
@click.option("--only", default="", help="Floods whose name has this text.")
@click.option("--router", "source", default="", help="Folder of another checkout, whose router is measured.")
def main(seconds: float, most_s: float, only: str, source: str) -> None:
    """Print how late another tenant's endpoints are programmed during each flood."""
    rows = []
    for flood in FLOODS:
        if only in flood.name:
            rows.append(measure(flood, seconds, most_s, source))
            click.echo("  ".join(map(str, rows[-1])), err=True)
    print(tabulate.tabulate(rows, headers=HEADERS, tablefmt="plain", colalign=("left",) + ("right",) * 6))


if __name__ == "__main__":
    main()
