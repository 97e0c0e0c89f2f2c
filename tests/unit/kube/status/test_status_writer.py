"""status_writer.py: status of Routes, written to the fake API server over HTTPS."""

import logging
import threading
import time

from f5router.admission.condition import Verdict
from f5router.kube.settings import StatusSettings
from f5router.kube.status.status_writer import StatusWriter
from tests.unit.kube import objects
from tests.unit.kube.status.writing import HOST, NO, OTHER, YES, A, ingress, verdicts, writes
from tests.waiting import DEADLINE_S


def test_admitted(kube, write):
    """One patch; the entry has what oc describe shows."""
    kube.apply(objects.route("a", ingress=[OTHER]))
    status = write(canonical_hostname="router.example.com")
    status.submit()
    assert status.flush(DEADLINE_S)
    assert ingress(kube) == [OTHER, {
        "host": HOST, "routerName": "public", "wildcardPolicy": "None",
        "routerCanonicalHostname": "router.example.com",
        "conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": "2026-02-02T02:40:00Z"}]}]
    assert writes(kube) == [("PATCH", 200)]


def test_refused(kube, write):
    kube.apply(objects.route("a"))
    status = write()
    status.submit(verdict=NO)
    assert status.flush(DEADLINE_S)
    (condition,) = ingress(kube)[0]["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "False", NO.reason, NO.message)


def test_nothing_to_write(kube, write, caplog):
    """An entry that is there already costs no request, nor does a Route that is gone or another one."""
    kube.apply(objects.route("a"))
    status = write()
    status.submit()
    assert status.flush(DEADLINE_S)
    kube.clear_log()
    status.submit()
    status.submit(uid="of a deleted one", verdict=NO)
    status.submit("unknown", uid="x")
    assert status.flush(DEADLINE_S)
    assert kube.log == []
    assert caplog.records == []


def test_disabled(kube, write):
    kube.apply(objects.route("a"))
    status = write(enabled=False)
    status.submit()
    assert status.flush(0)
    assert kube.log == []


def test_back_to_the_first_wish(kube, write):
    """The watch has not told of the first write yet: the second must not be taken for needless."""
    kube.apply(objects.route("a", ingress=[]))
    status = write()
    for verdict in (NO, YES, NO):
        status.submit(verdict=verdict)
        assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "False")]


def test_unservable_status(kube, write, caplog):
    """422 is logged once per Route and text, and not tried in a loop."""
    kube.apply(objects.route("a"))
    kube.inject("422", times=3)
    status = write()
    for _ in range(3):
        status.submit()
        assert status.flush(DEADLINE_S)
    assert writes(kube) == [("PATCH", 422)] * 3
    assert [record.message for record in caplog.records] == ["status refused"]
    status.submit()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]


def test_update_where_patch_is_forbidden(kube, write, caplog):
    """OpenShift 3's system:router has the right to update only. The rest of the object stays."""
    caplog.set_level(logging.DEBUG)
    kube.forbid("routes/status", ["patch"])
    kube.forbid("routes", ["get"])
    tls = {"termination": "edge", "certificate": "PUBLIC", "key": "SECRET"}
    kube.apply([objects.route("a", ingress=[OTHER], tls=tls), objects.route("b")])
    status = write()
    status.submit()
    status.submit("b", NO)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]
    assert verdicts(kube, "b") == [("public", "False")]
    assert kube.get("Route", "shop", "a")["spec"]["tls"] == tls
    assert writes(kube) == [("PATCH", 403), ("PUT", 200), ("PUT", 200)]
    assert "SECRET" not in caplog.text


def test_newest_wish_wins(kube, write):
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH")
    status = write()
    for number in range(50):
        status.submit(verdict=Verdict(False, "InvalidHost", str(number)))
    status.submit()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]
    assert len(writes(kube)) <= 4


def test_flush_gives_up(kube, write):
    kube.apply(objects.route("a"))
    kube.inject("503", times=None, method="PATCH")
    status = write()
    status.submit()
    assert status.flush(0.05) is False


def test_stop_is_prompt(kube, write):
    """It does not wait until the API server may be asked again."""
    kube.apply(objects.route("a"))
    kube.inject("429", times=None, method="PATCH", retry_after=3600)
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube))
    stopping = threading.Thread(target=status.writer.stop)
    stopping.start()
    stopping.join(DEADLINE_S)
    assert not stopping.is_alive()


def test_several_workers(kube, write):
    kube.apply([objects.route(f"r{number}") for number in range(30)])
    status = write(workers=4)
    for number in range(30):
        status.submit(f"r{number}")
    assert status.flush(DEADLINE_S)
    assert all(verdicts(kube, f"r{number}") == [("public", "True")] for number in range(30))
    assert len(writes(kube)) == 30


def test_rate(kube, write):
    kube.apply([objects.route(f"r{number}") for number in range(5)])
    status = write(rate_per_s=50)
    started = time.monotonic()
    for number in range(5):
        status.submit(f"r{number}")
    assert status.flush(DEADLINE_S)
    assert time.monotonic() - started >= 0.08


def test_with_a_cluster(kube, follow, connection):
    """The own write comes back by the watch and is no change."""
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    writer = StatusWriter(connection, follower.cluster, StatusSettings(router_name="public"))
    writer.submit(A, follower.cluster.route(A).uid, YES, HOST)
    assert writer.flush(DEADLINE_S)
    assert len(follower.cluster.route(A).status_ingress) == 1
    kube.apply(objects.service("marker"))
    follower.until(lambda: follower.names("services") == {"marker"})
    assert [kind for kind, _ in follower.drained] == ["routes", "services"]
    writer.stop()
