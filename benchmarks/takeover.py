"""How long nobody writes when the leader of two replicas is killed, or ends by SIGTERM, while clients ask.

    python -m benchmarks.takeover [--routes N]

Routers are processes of their own, with a lease of 4 s; the fakes and the clients are in this one. As the
leader goes, a pod of a Service leaves and a Route is added: times are from the signal until the pool of the
one is right on the BIG-IP, and until the other has its Rule. "Election" is from the signal until the Lease
has another holder. Seconds are of this machine.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import tabulate

from benchmarks.waits.site import free_address, is_ready
from tests import manifests
from tests.feature.test_replicas import LEASE, holder
from tests.traffic.conftest import Site
from tests.traffic.load import Load, Target
from tests.traffic.test_replicas import TIMES

HEADERS = ("signal", "Routes", "election s", "pool s", "new Route s", "other writes", "requests", "failed",
           "wrong", "load")
LIMIT_S = 900.0
POLICY = "/~Common~openshift_insecure_routes"
SAMPLES = 5
"""Routes that clients ask for."""
PODS = {signal.SIGKILL: "10.1.2.8", signal.SIGTERM: "10.1.2.9"}
"""Address that a Service gets as the leader goes."""


def wait(condition, limit_s: float = LIMIT_S) -> None:
    """Wait until something holds. Raises: ClickException: it does not in time."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() >= end:
            raise click.ClickException("not in time")
        time.sleep(0.05)


@contextmanager
def replica(site: Site, log: Path) -> Iterator[subprocess.Popen]:
    """A router that takes part in the election, once it is ready; killed at the end."""
    address = free_address()
    with log.open("w") as text:
        process = subprocess.Popen(site.command(**LEASE | TIMES | {"listen_addr": address}), stdout=text,
                                   stderr=text)
    try:
        wait(lambda: is_ready(address))
        yield process
    finally:
        process.kill()
        process.wait()


def takeover(site: Site, leader: subprocess.Popen, how: signal.Signals, count: int) -> tuple:
    """Return a row: the leader goes while clients ask."""
    new, pod = f"new-{how.name.lower()}", PODS[how]
    first, moved, programmed, others = holder(site), [], [], []

    def written(entry) -> None:
        text = str(entry.body)
        if pod in text:
            moved.append(time.monotonic())
        elif new in text:
            programmed.append(time.monotonic())
        elif not entry.path.endswith(POLICY) and (entry.body or {}).get("command") != "publish":
            others.append(entry)

    right = site.right("web")
    targets = [Target(f"r{number}", site.http, f"h{number}.example.com", right=right)
               for number in range(0, count, max(1, count // SAMPLES))]
    with Load(*targets, clients=2) as load:
        wait(load.more(5))
        site.bigip.on_write = written
        begin = time.monotonic()
        leader.send_signal(how)
        site.apply(manifests.endpoints("shop", "moving", (pod,)))
        site.apply(manifests.route(new, host=f"{new}.example.com"))
        wait(lambda: holder(site) not in (first, ""))
        elected = time.monotonic()
        wait(lambda: programmed and moved)
        wait(load.more(5))
    site.bigip.on_write = None
    report = load.report
    seconds = [f"{end - begin:.1f}" for end in (elected, moved[0], programmed[-1])]
    return (how.name, count, *seconds, len(others),
            report.sent.total(), len(report.failed), len(report.wrong), f"{os.getloadavg()[0]:.0f}")


@click.command()
@click.option("--routes", "count", default=10_000, show_default=True, help="Routes of the cluster.")
def main(count: int) -> None:
    """Print how long it takes until the next leader writes."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = Site(stack, folder)
        site.serve("web", "10.1.1.1", "10.1.1.2")
        site.serve("moving", "10.1.2.7")
        site.apply(manifests.route("moving", host="moving.example.com", service="moving"))
        site.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": "f5router-public", "namespace": "default"}})
        for number in range(count):
            site.apply(manifests.route(f"r{number}", host=f"h{number}.example.com"))
        logs = [folder / f"{number}.log" for number in range(3)]
        first = stack.enter_context(replica(site, logs[0]))
        pending = [f"r{number}" for number in range(count)]
        while pending:
            wait(lambda: site.admitted("shop", pending[-1]))
            pending.pop()
        second = stack.enter_context(replica(site, logs[1]))
        click.echo("the Routes are loaded, and both replicas are ready", err=True)
        rows = [takeover(site, first, signal.SIGKILL, count)]
        stack.enter_context(replica(site, logs[2]))
        rows.append(takeover(site, second, signal.SIGTERM, count))
    print(tabulate.tabulate(rows, headers=HEADERS, tablefmt="plain"))


if __name__ == "__main__":
    main()
