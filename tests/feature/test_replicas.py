"""Several replicas of a router: one writes, the others follow and take over."""

import logging
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

import pytest

from f5router.app import launch
from f5router.app.controller import Controller
from f5router.icontrol.rest.client import Client
from f5router.kube.api.connection import connect
from f5router.kube.lease.campaign import running_clock
from f5router.model.errors import ConfigError, KubeNotLeader, NotLeader
from f5router.model.limits import WritePermit
from mocks.bigip.requests import logged
from tests import manifests
from tests.feature.test_loop import pool
from tests.waiting import DEADLINE_S, until

LEASE = {"leader_elect": "true", "leader_elect_lease_duration": "2s",
         "leader_elect_renew_deadline": "1500ms", "leader_elect_retry_period": "200ms",
         "leader_elect_resource_namespace": "default"}


class Forwarder:
    """Passes connections on to a server, until it is cut off from it."""

    def __init__(self, address: tuple[str, int]):
        self._address, self._sockets, self._cut = address, [], threading.Event()
        self._frozen: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._address)
                self._sockets += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._cut.is_set() or source in self._frozen or target.sendall(data)

    def freeze(self) -> None:
        """Swallow what comes over the connections that there are, as a firewall that has forgotten them."""
        self._frozen = set(self._sockets)

    def cut(self) -> None:
        """Swallow everything: nobody gets an answer, nor an end of a connection."""
        self._cut.set()

    def close(self) -> None:
        for each in (self._listener, *self._sockets):
            each.close()


class Replica:
    """A router in a thread of its own."""

    def __init__(self, lab, **flags: str):
        self.stopping, self._stack = threading.Event(), ExitStack()
        self.router: Controller = launch.build_controller(
            lab.config(**LEASE | flags), self._stack, timing=lab.timing)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with self._stack:
            self.router.run(self.stopping)

    @property
    def campaign(self):
        return self.router.replica.campaign

    def leads(self) -> bool:
        return self.campaign.leads()

    def problems(self) -> dict[str, str]:
        return {check.name: check.problem for check in self.router.monitor.health.ready() if check.problem}

    def is_ready(self) -> bool:
        return not self.problems()

    def notes(self) -> dict[str, str]:
        return {check.name: check.note for check in self.router.monitor.health.ready()}

    def writes(self) -> int:
        counts = self.router.device.client.counts
        return sum(counts[method] for method in ("POST", "PATCH", "PUT", "DELETE"))

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()


@pytest.fixture
def replicas(lab) -> Iterator:
    """Start replicas; the Lease is there, as docs/deploy has it."""
    lab.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
               "metadata": {"name": "f5router-public", "namespace": "default"}})
    started: list[Replica] = []

    def start(**flags: str) -> Replica:
        started.append(Replica(lab, **flags))
        return started[-1]

    yield start
    for replica in started:
        replica.stop()


def holder(lab) -> str:
    return lab.kube.get("Lease", "default", "f5router-public")["spec"].get("holderIdentity", "")


def admitted(lab, name: str) -> bool:
    return lab.admitted("shop", name).get("status") == "True"


def test_a_leader_that_ends_hands_over_at_once(lab, replicas):
    """The follower is ready, writes nothing, and writes nothing again at its takeover.

    Not even members of which it has the newest, and an old reading of the BIG-IP.
    """
    lab.apply(manifests.route("a"))
    long = {"leader_elect_lease_duration": "200s", "leader_elect_renew_deadline": "100s"}
    first = replicas(**long)
    until(lambda: admitted(lab, "a"))
    second = replicas(**long)
    until(second.is_ready)
    assert first.is_ready()
    assert first.notes()["leader-election"] == "leader"
    assert second.notes()["leader-election"] == f"follower of {first.campaign.identity}"
    lab.apply(manifests.route("b", host="b.example.com"))
    until(lambda: admitted(lab, "b"))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.4",)))
    until(lambda: pool(lab) == {"10.1.1.4:8080"})
    assert second.writes() == 0
    until(lambda: second.router.cluster.pending() == 0)
    lab.clear()
    stopped_at = running_clock()
    first.stop()
    until(second.leads)
    print(f"hand-over: {running_clock() - stopped_at:.2f} s")
    assert running_clock() < stopped_at + 100, "it does not wait for the lease to expire"
    until(second.is_ready)
    assert [path for _, path in lab.writes() if not path.endswith("sys/config")] == []
    lab.apply(manifests.route("c", host="c.example.com"))
    until(lambda: admitted(lab, "c"))
    assert holder(lab) == second.campaign.identity
    assert second.is_ready()


def test_a_leader_without_the_api_server_stops_before_the_next_one_starts(lab, replicas):
    """It goes on as a follower once it has the API server again."""
    lab.apply(manifests.route("a"))
    host, _, port = lab.kube.url.removeprefix("https://").rpartition(":")
    with closing(Forwarder((host, int(port)))) as forwarder:
        first = replicas(master=f"https://127.0.0.1:{forwarder.port}")
        until(lambda: admitted(lab, "a"))
        second = replicas()
        until(second.is_ready)
        forwarder.cut()
        before = first.writes()
        both = []

        def taken_over() -> bool:
            new, old = second.leads(), first.leads()  # in this order: the old one ends first
            both.append(new and old)
            return new

        until(taken_over)
        assert not any(both)
        lab.apply(manifests.route("b", host="b.example.com"))
        until(lambda: admitted(lab, "b"))
        assert first.writes() == before
        until(lambda: not first.router.replica.leads)
        first.stopping.set()


def test_a_leader_that_loses_the_lease_amid_writes_may_lead_again(lab, replicas):
    """The rollout that it has begun is over then, and does not keep it from reading the BIG-IP."""
    first = replicas()
    lab.apply(manifests.route("a"))
    until(lambda: admitted(lab, "a"))
    lab.bigip.inject("hold", method="POST", path="/ltm/pool$")
    lab.apply(*manifests.service("shop", "api", pods=("10.1.2.1",)),
              manifests.route("b", host="b.example.com", service="api"))
    until(lambda: lab.bigip.held == 1)
    lease = lab.kube.get("Lease", "default", "f5router-public")
    lab.apply(lease | {"spec": lease["spec"] | {"holderIdentity": "somebody", "leaseDurationSeconds": 1}})
    until(lambda: not first.router.replica.leads)
    lab.bigip.release()
    until(lambda: admitted(lab, "b"))


def test_the_end_of_a_write_of_a_term_that_is_over_is_no_failure(lab, replicas, caplog):
    """Nothing was sent after the loss of the lease. The reading of the follower counts."""
    first = replicas()
    lab.apply(manifests.route("a"))
    until(lambda: admitted(lab, "a") and not first.router.reconciler.leftovers)
    lab.bigip.inject("hold", method="POST", path="/rules$")
    lab.bigip.inject("hold", method="GET", path="ltm/virtual/~Common~ose-vserver")
    lab.apply(manifests.route("b", host="b.example.com"))
    until(lambda: lab.bigip.held == 1)
    lease = lab.kube.get("Lease", "default", "f5router-public")
    lab.apply(lease | {"spec": lease["spec"] | {"holderIdentity": "somebody", "leaseDurationSeconds": 1000}})
    until(lambda: lab.bigip.held == 2)
    assert not first.router.replica.leads
    lab.bigip.release()
    until(first.is_ready)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("flags", [
    pytest.param({}, id="as usual"),
    pytest.param({"hold_off": "60s", "hold_off_limit": "60s"}, id="events wait longer than a reading takes"),
])
def test_a_follower_whose_watches_have_died_lists_again_before_it_writes(lab, replicas, flags):
    """With its old view it would take a newer Route off the BIG-IP, and a pod out of its pool."""
    lab.apply(manifests.route("a"))
    host, _, port = lab.kube.url.removeprefix("https://").rpartition(":")
    with closing(Forwarder((host, int(port)))) as forwarder:
        first = replicas()
        until(lambda: admitted(lab, "a"))
        second = replicas(master=f"https://127.0.0.1:{forwarder.port}", **flags)
        until(second.is_ready)
        forwarder.freeze()
        lab.apply(manifests.route("b", host="b.example.com"), *(
            obj for number in range(9)
            for obj in manifests.service("idle", f"s{number}", pods=("10.1.7.1",))))
        lab.apply(*manifests.service("shop", "web", pods=("10.1.1.3",)))
        until(lambda: admitted(lab, "b"))
        until(lambda: pool(lab) == {"10.1.1.3:8080"})
        lab.clear()
        first.stop()
        until(second.leads)
        reconciler = second.router.reconciler
        until(lambda: second.router.replica.leads and reconciler.has_read and reconciler.is_idle)
        assert [path for _, path in lab.writes() if not path.endswith("sys/config")] == []
        second.stopping.set()


def test_a_leader_that_was_stopped_writes_nothing_when_it_wakes(lab, replicas, tmp_path):
    """SIGSTOP and SIGCONT, as a machine that is suspended; its watch brings it the same events."""
    lab.apply(manifests.route("a"))
    tokens: list[str] = []
    """Who has made each change."""
    lab.bigip.faults.draw = lambda request: (
        tokens.append(request.headers["X-F5-Auth-Token"]) if logged(request, 0).changes else None)
    command = [*lab.command(**LEASE, listen_addr="127.0.0.1:0"), "--log-format=json"]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stderr=log, stdout=log) as process:
        try:
            until(lambda: admitted(lab, "a"), lambda: (tmp_path / "log").read_text())
            first = holder(lab)
            second = replicas()
            until(second.is_ready)
            process.send_signal(signal.SIGSTOP)
            tokens.clear()
            lab.apply(*manifests.service("shop", "web", pods=("10.1.1.3",)))
            until(second.leads)
            assert holder(lab) != first
            until(lambda: second.writes() > 0)
            lab.apply(manifests.route("b", host="b.example.com"))
            until(lambda: admitted(lab, "b"))
            (own,) = set(tokens)
            process.send_signal(signal.SIGCONT)
            until(lambda: "no longer leading" in (tmp_path / "log").read_text())
            lab.apply(manifests.route("c", host="c.example.com"))
            until(lambda: admitted(lab, "c"))
            assert set(tokens) == {own}
        finally:
            process.kill()


def test_writes_need_permission(lab):
    """It is asked for when the connection is there, for headers and body; readings and the login need none.

    What was sent, and has not reached the BIG-IP, is given up by the kernel.
    """
    left = [1.0, 1.0, 1.0]

    def permitted() -> float:
        return left.pop(0) if left else 0.0

    config = lab.config()
    with Client(config.bigip, permit=WritePermit(permitted, 5.0)) as client:
        client.post("ltm/pool", {"name": "one"})
        client.delete("ltm/pool/one")
        lab.clear()
        for left[:] in ([], [1.0]):
            with pytest.raises(NotLeader):
                client.post("ltm/pool", {"name": "two"})
        assert lab.writes() == []
        assert client.get("sys/folder/~Common")["name"] == "Common"
        assert not left
    connection = connect(config.kube, WritePermit(lambda: 0.0))
    with pytest.raises(KubeNotLeader):
        connection.request("POST", "/api/v1/namespaces/default/events", body={})
    assert connection.request("GET", "/api/v1/namespaces")["items"]


@pytest.mark.parametrize("verbs", [("get",), ("update",)], ids=str)
def test_a_router_without_the_right_to_the_lease_is_not_ready(lab, replicas, caplog, verbs):
    """It writes nothing, logs once how to grant the right, and goes on when it is granted."""
    lab.apply(manifests.route("a"))
    lab.kube.forbid("leases", verbs)
    router = replicas()
    until(lambda: f'cannot {verbs[0]} resource "leases"' in router.problems().get("leader-election", ""))
    until(lambda: sum(entry.path.endswith("/leases/f5router-public") for entry in lab.kube.log) > 5)
    (problem,) = [record.problem for record in caplog.records if record.message == "leader election"]
    assert problem.endswith("as docs/deploy/replicas/10-lease.yaml does")
    assert router.writes() == 0
    lab.kube.allow("leases")
    until(lambda: admitted(lab, "a"))
    until(router.is_ready)


def test_one_pass_does_not_stand_for_election(lab):
    with pytest.raises(ConfigError, match="--once"):
        launch.run(lab.config(**LEASE), once=True, stop=threading.Event())
