"""A StatusWriter at a fake API server."""

from types import SimpleNamespace

import pytest

from f5router.kube.settings import StatusSettings, StatusTiming
from f5router.kube.status.status_writer import StatusWriter
from f5router.model.cluster import Key
from tests.unit.kube.conftest import taken
from tests.unit.kube.status.writing import AT_S, HOST, YES, Known


@pytest.fixture
def write(kube, connection):
    """Makes a StatusWriter and the ClusterWatcher that it reads; both in one value."""
    writers = []

    def make(*, observing=True, **options):
        cluster = Known(kube, observing=observing)
        options = {"router_name": "public", "rate_per_s": 1000, "first_per_s": 1000, "forbidden_s": 0.05,
                   "repair_s": 0.02, "wall": lambda: AT_S} | options
        writers.append(StatusWriter(connection, cluster, taken(StatusSettings, options),
                                    timing=taken(StatusTiming, options), **options))
        cluster.heard = writers[-1].route_updated

        def submit(name="a", verdict=YES, host=HOST, uid=None):
            key = Key("shop", name)
            writers[-1].submit(key, uid or cluster.route(key).uid, verdict, host)

        return SimpleNamespace(writer=writers[-1], cluster=cluster, submit=submit,
                               flush=writers[-1].flush)

    yield make
    for writer in writers:
        writer.stop()
