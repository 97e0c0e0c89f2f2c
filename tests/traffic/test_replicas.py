"""Requests go on while the leader of two replicas is killed, and the next one serves a new Route."""

import signal
import subprocess
import time

from tests import manifests
from tests.feature.test_replicas import LEASE, holder
from tests.traffic.conftest import Site
from tests.traffic.load import Load, Target
from tests.waiting import until

TIMES = {"leader_elect_lease_duration": "4s", "leader_elect_renew_deadline": "3s",
         "leader_elect_retry_period": "500ms"}
TAKEOVER_S = 5.0
"""Limit from the kill to the first write of the next leader, with these times."""


def test_a_killed_leader(site: Site, tmp_path, record_property):
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "f5router-public", "namespace": "default"}})
    site.apply(manifests.route("a", host="a.example.com"))
    processes = []
    target = Target("a", site.http, "a.example.com", right=site.right("web"))
    try:
        for number in range(2):
            flags = LEASE | TIMES | {"listen_addr": "none"}
            with (tmp_path / f"log{number}").open("w") as log:
                processes.append(subprocess.Popen(site.command(**flags), stdout=log, stderr=log))
            until(lambda: site.admitted("shop", "a").get("status") == "True")
        until(lambda: "following" in (tmp_path / "log1").read_text())
        with Load(target, clients=3) as load:
            first = holder(site)
            written: list[float] = []
            site.bigip.on_write = lambda entry: written.append(time.monotonic())
            processes[0].send_signal(signal.SIGKILL)
            killed = time.monotonic()
            site.apply(manifests.route("b", host="b.example.com"))
            until(lambda: site.admitted("shop", "b").get("status") == "True")
            until(load.more(50))
        assert holder(site) != first
        record_property("takeover_s", written[0] - killed)
        print(f"kill to first write: {written[0] - killed:.2f} s; {load.report}")
        assert written[0] - killed < TAKEOVER_S
        assert (load.report.failed, load.report.wrong) == ([], [])
    finally:
        for process in processes:
            process.kill()
            process.wait()
