"""Memory that a watcher of Routes takes: print what is held, and the most that the list cost.

    python -m benchmarks.memory [--routes N] [--kilobytes K] [--field unknown]

Each Route carries K kB in an annotation, or with --field unknown in a field that the API server keeps without
knowing it. The fake API server runs in a process of its own.
"""

import multiprocessing
import os
import resource
import tempfile
import threading
from pathlib import Path

import click

from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, WatchSettings
from mocks.kube import FakeKube

SERVED_S = 600.0


def main_of_the_fake(path: str, count: int, size: int, field: str, ready, ended) -> None:
    """Serve the Routes until told to end."""
    with FakeKube() as kube:
        for number in range(count):
            route = {
                "apiVersion": "route.openshift.io/v1", "kind": "Route",
                "metadata": {"namespace": f"ns{number // 10}", "name": f"route{number}"},
                "spec": {"host": f"h{number}.example.com", "to": {"kind": "Service", "name": "web"}},
            }
            place = route["spec"] if field == "unknown" else route["metadata"].setdefault("annotations", {})
            place["note"] = f"{number}" + "x" * size
            kube.apply(route)
        kube.write_kubeconfig(path)
        ready.set()
        ended.wait(SERVED_S)


def held_kib() -> int:
    """Resident memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


@click.command()
@click.option("--routes", "count", default=400, show_default=True, help="Routes of the cluster.")
@click.option("--kilobytes", default=255, show_default=True, help="Ballast of each Route.")
@click.option("--field", type=click.Choice(["annotation", "unknown"]), default="annotation",
              show_default=True, help="Where it stands.")
def main(count: int, kilobytes: int, field: str) -> None:
    """Print what the list of Routes costs."""
    context = multiprocessing.get_context("spawn")
    ready, ended = context.Event(), context.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "kubeconfig")
        fake = context.Process(
            target=main_of_the_fake, args=(path, count, kilobytes * 1000, field, ready, ended))
        fake.start()
        try:
            ready.wait(SERVED_S)
            changed = threading.Event()
            cluster = ClusterWatcher(
                connect(KubeSettings(kubeconfig=path)), WatchSettings(), on_change=changed.set)
            before = held_kib()
            cluster.start()
            cluster.wait_synced(SERVED_S)
            routes = cluster.drain().routes
            after = held_kib()
            cluster.stop()
        finally:
            ended.set()
            fake.join()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{len(routes)} Routes of {kilobytes} kB: {(after - before) / 1024:.0f} MiB more are held, "
          f"{(most - before) / 1024:.0f} MiB more at most")


if __name__ == "__main__":
    main()
