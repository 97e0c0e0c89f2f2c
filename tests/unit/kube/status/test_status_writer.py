"""status_writer.py: status of Routes, written to the fake API server over HTTPS."""

import logging
import time
from types import SimpleNamespace

import pytest

from f5router.kube.api import decode
from f5router.kube.settings import StatusSettings
from f5router.kube.status import status_writer
from f5router.kube.status.status_writer import StatusWriter
from f5router.kube.timing import StatusTiming
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from f5router.model.selection import Selection
from f5router.status.condition import PENDING, Verdict, own, same
from tests.unit.kube import objects
from tests.unit.kube.conftest import LIMIT_S, taken

A = Key("shop", "a")
HOST = "www.example.com"
YES = Verdict(True)
NO = Verdict(False, "HostAlreadyClaimed", "route shop/b has this host")
OTHER = {"host": HOST, "routerName": "haproxy", "conditions": [], "wildcardPolicy": "None"}
AT_S = 1_770_000_000.9


class Known:
    """What a ClusterWatcher knows of Routes; without observing it is one whose watch is far behind."""

    def __init__(self, kube, *, observing=True):
        self._kube, self._observing = kube, observing
        self.routes = {}
        self.read()

    def read(self):
        for obj in self._kube.list("Route"):
            self.observe(decode.route(obj), always=True)

    def route(self, key):
        return self.routes.get(key)

    def route_source(self):
        return ROUTES

    def observe(self, route, *, always=False):
        if self._observing or always:
            old, self.routes[route.key] = self.routes.get(route.key), route
            if old and old.uid == route.uid:
                self.heard(old, route)

    heard = staticmethod(lambda old, new: None)


@pytest.fixture
def write(kube, connection):
    """Makes a StatusWriter and the ClusterWatcher that it reads; both in one value."""
    writers = []

    def make(*, observing=True, **options):
        cluster = Known(kube, observing=observing)
        options = {"router_name": "public", "rate_per_s": 1000, "forbidden_s": 0.05, "repair_s": 0.02,
                   "wall": lambda: AT_S} | options
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


def ingress(kube, name="a"):
    return kube.get("Route", "shop", name).get("status", {}).get("ingress", [])


def verdicts(kube, name="a"):
    """Router name and Admitted status of each entry."""
    return [(entry["routerName"], *(item["status"] for item in entry["conditions"]))
            for entry in ingress(kube, name)]


def writes(kube):
    return [(entry.method, entry.status) for entry in kube.log if entry.method != "GET"]


def test_admitted(kube, write):
    """One patch; the entry has what oc describe shows."""
    kube.apply(objects.route("a", ingress=[OTHER]))
    status = write(canonical_hostname="router.example.com")
    status.submit()
    assert status.flush(LIMIT_S)
    assert ingress(kube) == [OTHER, {
        "host": HOST, "routerName": "public", "wildcardPolicy": "None",
        "routerCanonicalHostname": "router.example.com",
        "conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": "2026-02-02T02:40:00Z"}]}]
    assert writes(kube) == [("PATCH", 200)]


def test_refused(kube, write):
    kube.apply(objects.route("a"))
    status = write()
    status.submit(verdict=NO)
    assert status.flush(LIMIT_S)
    (condition,) = ingress(kube)[0]["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "False", NO.reason, NO.message)


def test_nothing_to_write(kube, write, caplog):
    """What is said already costs no request, and neither does a Route that is gone or another one."""
    kube.apply(objects.route("a"))
    status = write()
    status.submit()
    assert status.flush(LIMIT_S)
    kube.clear_log()
    status.submit()
    status.submit(uid="of a deleted one", verdict=NO)
    status.submit("unknown", uid="x")
    assert status.flush(LIMIT_S)
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
        assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "False")]


def test_entry_of_another_router_meanwhile(kube, write):
    """Both routers wrote at the same time: a conflict, then both entries."""
    kube.apply(objects.route("a"))
    status = write()
    kube.apply(objects.route("a", ingress=[OTHER]))
    status.submit()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]
    assert writes(kube) == [("PATCH", 409), ("PATCH", 200)]


def test_conflict_without_the_right_to_get(kube, write):
    """The role system:router may list and watch only."""
    kube.forbid("routes", ["get"])
    kube.apply(objects.route("a"))
    status = write()
    kube.apply(objects.route("a", ingress=[OTHER]))
    status.submit()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]


def test_conflict_until_the_watch_catches_up(kube, write):
    kube.apply(objects.route("a"))
    status = write(observing=False)
    kube.apply(objects.route("a", ingress=[OTHER]))
    status.submit()
    assert kube.wait_for(lambda: writes(kube).count(("PATCH", 409)) >= 2)
    assert not status.flush(0)
    status.cluster.read()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]


@pytest.mark.parametrize("gone", [
    pytest.param(("404", {"message": "not here", "text": '{"details": {"name": "a"}}'}), id="404"),
    pytest.param(None, id="deleted"),
])
def test_deleted_route(kube, write, gone, caplog):
    """There is nothing to write, and nothing to say."""
    kube.apply(objects.route("a"))
    status = write()
    if gone:
        kube.inject(gone[0], **gone[1])
    else:
        kube.delete("Route", "shop", "a")
    status.submit()
    assert status.flush(LIMIT_S)
    assert writes(kube) == [("PATCH", 404)]
    assert caplog.records == []


def test_recreated_route(kube, write):
    """Another object of the same name is judged anew."""
    kube.apply(objects.route("a"))
    status = write()
    kube.delete("Route", "shop", "a")
    kube.apply(objects.route("a"))
    status.submit(verdict=NO)
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == []


def test_unservable_status(kube, write, caplog):
    """422 is told once per Route and text, and not tried in a loop."""
    kube.apply(objects.route("a"))
    kube.inject("422", times=3)
    status = write()
    for _ in range(3):
        status.submit()
        assert status.flush(LIMIT_S)
    assert writes(kube) == [("PATCH", 422)] * 3
    assert [record.message for record in caplog.records] == ["status refused"]
    status.submit()
    assert status.flush(LIMIT_S)
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
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]
    assert verdicts(kube, "b") == [("public", "False")]
    assert kube.get("Route", "shop", "a")["spec"]["tls"] == tls
    assert writes(kube) == [("PATCH", 403), ("PUT", 200), ("PUT", 200)]
    assert "SECRET" not in caplog.text


def test_update_conflict(kube, write):
    kube.forbid("routes/status", ["patch"])
    kube.apply(objects.route("a"))
    kube.inject("409", method="PUT")
    status = write()
    status.submit()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]


def test_forbidden(kube, write, caplog):
    """One message with the needed right; everything is written once it is granted."""
    kube.forbid("routes/status", ["patch", "update"])
    kube.apply([objects.route("a"), objects.route("b")])
    status = write()
    status.submit()
    status.submit("b")
    assert kube.wait_for(lambda: len(writes(kube)) >= 6)
    assert not status.flush(0)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.message for record in errors] == ["status cannot be written"]
    assert "system:router -z router -n default" in errors[0].error
    kube.allow("routes/status")
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == verdicts(kube, "b") == [("public", "True")]


@pytest.mark.parametrize("fault", ["429", "500", "503", "drop"])
def test_trouble(kube, write, fault):
    """Tried again, later; the others are not lost."""
    kube.apply([objects.route("a"), objects.route("b")])
    kube.inject(fault, method="PATCH", **({"retry_after": 0} if fault == "429" else {}))
    status = write()
    status.submit()
    status.submit("b")
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == verdicts(kube, "b") == [("public", "True")]


def test_lost_reply(kube, write):
    """The write was done although it seemed to fail: no second entry."""
    kube.apply(objects.route("a"))
    kube.inject("drop", method="PATCH", applied=True)
    status = write()
    status.submit()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]


def test_newest_wish_wins(kube, write):
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH")
    status = write()
    for number in range(50):
        status.submit(verdict=Verdict(False, "InvalidHost", str(number)))
    status.submit()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]
    assert len(writes(kube)) <= 4


def test_flush_gives_up(kube, write):
    kube.apply(objects.route("a"))
    kube.inject("503", times=None, method="PATCH")
    status = write()
    status.submit()
    assert status.flush(0.05) is False


def test_stop_is_prompt(kube, write):
    """Whatever still waits."""
    kube.apply(objects.route("a"))
    kube.inject("429", times=None, method="PATCH", retry_after=600)
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube))
    started = time.monotonic()
    status.writer.stop()
    assert time.monotonic() - started < 1


def test_a_refusal_of_one_route(kube, write, caplog):
    """Such as a webhook's: told once, tried again, and no other Route waits for it."""
    kube.apply([objects.route("a"), *(objects.route(f"r{number}") for number in range(5))])
    kube.inject("403", times=None, path="/a/status")
    status = write(forbidden_s=0.2)
    status.submit()
    assert kube.wait_for(lambda: len(writes(kube)) == 2)
    for number in range(5):
        status.submit(f"r{number}")
    assert kube.wait_for(lambda: all(verdicts(kube, f"r{number}") for number in range(5)), 0.15)
    assert kube.wait_for(lambda: writes(kube)[2:].count(("PUT", 403)) == 2)
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "status cannot be written"]
    kube.clear_faults()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]


DENIED = 'admission webhook "policy.example.com" denied the request: no owner'
BAD = tuple("abcdef")


@pytest.mark.parametrize(("fault", "options"), [
    pytest.param("403", {"message": DENIED}, id="403 of a webhook"),
    pytest.param("404", {}, id="404"),
    pytest.param("409", {}, id="409"),
    pytest.param("422", {}, id="422"),
    pytest.param("500", {}, id="500"),
])
def test_refusals_of_some_routes(kube, write, fault, options):
    """One after the other, again and again: no other Route waits for them to end."""
    kube.apply([objects.route(name) for name in (*BAD, "good")])
    for name in BAD:
        kube.inject(fault, times=None, path=f"/{name}/status", **options)
    status = write(forbidden_s=60)
    for name in (*BAD, "good"):
        status.submit(name)
    assert kube.wait_for(lambda: verdicts(kube, "good"), LIMIT_S)
    assert not any(verdicts(kube, name) for name in BAD)


def test_a_webhook_that_denies(kube, write, caplog):
    """Told with its words, once for each Route; nobody is asked to grant a right, nor is a PUT tried."""
    kube.apply([objects.route(name) for name in "ab"])
    kube.inject("403", times=None, path="/status", message=DENIED)
    status = write()
    for _ in range(2):
        for name in "ab":
            status.submit(name)
        assert status.flush(LIMIT_S)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [(record.message, record.route) for record in errors] == [
        ("status refused", "shop/a"), ("status refused", "shop/b")]
    assert all(DENIED in record.error and "grant" not in record.error for record in errors)
    assert writes(kube) == [("PATCH", 403)] * 4


@pytest.mark.parametrize(("fault", "options", "most"), [
    pytest.param("403", {}, 4, id="403: of all"),
    pytest.param("403", {"message": DENIED}, 6, id="403 of a webhook: each once"),
    pytest.param("404", {}, 6, id="404: each once"),
    pytest.param("409", {}, 6 * 8, id="409: each by itself"),
    pytest.param("422", {}, 6, id="422: each once"),
    pytest.param("429", {"retry_after": 60}, 1, id="429: what the server asked for"),
    pytest.param("500", {}, 4, id="500: a quarter of a second"),
    pytest.param("503", {}, 3, id="503: of all"),
])
def test_no_loop(kube, write, fault, options, most):
    """Requests for six Routes in less than a second, at a rate of a thousand."""
    kube.apply([objects.route(f"r{number}") for number in range(6)])
    kube.inject(fault, times=None, path="/status", **options)
    status = write(forbidden_s=60)
    for number in range(6):
        status.submit(f"r{number}")
    assert kube.wait_for(lambda: writes(kube))
    status.flush(0.7)
    assert len(writes(kube)) <= most


def test_a_route_that_changes_all_the_time(kube, write):
    """It costs its own status a delay, not that of others: nobody writes our entry."""
    kube.apply([objects.route("a"), *(objects.route(f"r{number}") for number in range(5))])
    kube.inject("409", times=None, path="/a/status")
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube).count(("PATCH", 409)) >= 4)
    for number in range(5):
        status.submit(f"r{number}")
    assert kube.wait_for(lambda: all(verdicts(kube, f"r{number}") for number in range(5)))
    assert not status.flush(0)
    kube.clear_faults()
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]
    assert status.writer.counts["written"] == 6


UNKNOWN = {"host": HOST, "routerName": "public", "wildcardPolicy": "None", "conditions": [
    {"type": "Admitted", "status": "Unknown", "reason": PENDING.reason, "message": PENDING.message,
     "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
SERVED = UNKNOWN | {"conditions": [
    {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}


@pytest.mark.parametrize(("ingress", "verdict", "new", "expected"), [
    pytest.param([], PENDING, True, [("public", "Unknown")], id="no status"),
    pytest.param([OTHER], PENDING, True, [("haproxy",), ("public", "Unknown")], id="another router's"),
    pytest.param([UNKNOWN], NO, True, [("public", "False")], id="pending, and then refused"),
    pytest.param([SERVED], PENDING, False, [("public", "True")], id="old statuses stay"),
    pytest.param([SERVED], NO, False, [("public", "True")], id="whatever is wrong now"),
])
def test_only_where_nothing_was_said(kube, write, ingress, verdict, new, expected):
    kube.apply(objects.route("a", ingress=ingress))
    status = write()
    assert status.writer.submit_new(A, status.cluster.route(A).uid, verdict, HOST) is new
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == expected


def test_pending_is_written_once(kube, write):
    kube.apply(objects.route("a"))
    status = write()
    for _ in range(3):
        assert status.writer.submit_new(A, status.cluster.route(A).uid, PENDING, HOST)
        assert status.flush(LIMIT_S)
    assert writes(kube) == [("PATCH", 200)]


def test_what_was_judged_is_not_new(kube, write):
    """Its status waits to be written, perhaps for minutes."""
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH", retry_after=0)
    status = write()
    status.submit()
    assert status.writer.submit_new(A, status.cluster.route(A).uid, PENDING, HOST) is False
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]


def test_another_replica_was_quicker(kube, write):
    """It reaches the BIG-IP, we do not: its answer stays, also when ours was asked for before."""
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH", retry_after=0)
    status = write()
    assert status.writer.submit_new(A, status.cluster.route(A).uid, PENDING, HOST)
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 503)])
    kube.apply(objects.route("a", ingress=[SERVED]))
    assert status.flush(LIMIT_S)
    assert ingress(kube) == [SERVED]


@pytest.mark.parametrize("wrong", [
    pytest.param([], id="removed"),
    pytest.param([OTHER, UNKNOWN], id="changed"),
    pytest.param([OTHER], id="removed beside another's"),
    pytest.param([SERVED | {"routerCanonicalHostname": "x.example.com"}], id="another canonical name"),
])
def test_an_entry_that_somebody_changed(kube, write, wrong, caplog):
    """Set right once, as upstream's router does after clear-route-status; not a second time so soon."""
    kube.apply(objects.route("a"))
    status = write(canonical_hostname="r.example.com")
    status.submit()
    assert status.flush(LIMIT_S)
    right = ingress(kube)
    kube.apply(objects.route("a", ingress=wrong))
    status.cluster.read()
    assert status.flush(LIMIT_S)
    assert same(own(ingress(kube), "public"), right[0])
    assert (status.writer.contended(), caplog.records) == (0, [])
    kube.apply(objects.route("a", ingress=wrong))
    status.cluster.read()
    assert status.flush(LIMIT_S)
    assert ingress(kube) == wrong
    assert status.writer.contended() == 1
    (told,) = caplog.records
    assert "another router of the same name" in told.message


def test_contention_is_logged_without_the_lock(kube, write, unlocked):
    """Every worker and watch takes it."""
    kube.apply(objects.route("a"))
    status = write()
    logged = unlocked(status_writer.log, status.writer.contended)
    status.submit()
    assert status.flush(LIMIT_S)
    for _ in range(2):
        kube.apply(objects.route("a", ingress=[OTHER]))
        status.cluster.read()
        assert status.flush(LIMIT_S)
    assert logged == {"another router of the same name writes other statuses; give each a name of its own "
                      "(--name)": True}


def test_a_route_that_was_away_just_then(kube, write):
    """It left the selection and came back between two passes, which saw no change: it has its status."""
    kube.apply(objects.route("a"))
    status = write()
    route = status.cluster.routes.pop(A)
    status.submit(uid=route.uid)
    assert status.flush(LIMIT_S)
    assert writes(kube) == []
    status.cluster.routes[A] = route
    status.writer.route_updated(route, route)
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "True")]
    kube.clear_log()
    status.writer.route_updated(route, route)
    assert status.flush(LIMIT_S)
    assert writes(kube) == []


@pytest.mark.parametrize("case", ["a conflict", "an update", "a removal"])
def test_a_route_that_left_just_then(kube, write, case):
    """What a reply says of it is not served: it may be for another router's BIG-IP only."""
    def labelled(shard: str, host: str) -> dict:
        obj = objects.route("a", host=host, ingress=[SERVED])
        obj["metadata"]["labels"] = {"shard": shard}
        return obj

    kube.apply(labelled("blue", HOST))
    status = write(selection=Selection(labels="shard=blue"))
    known = status.cluster.route(A)
    if case == "a removal":
        status.submit()
        assert status.flush(LIMIT_S)
    kube.apply(labelled("green", "internal.example.com"))
    if case == "an update":
        kube.forbid("routes/status", ["patch"])
    if case == "a removal":
        status.writer.route_removed(known, remove=True)
    else:
        status.submit(verdict=NO)
    assert kube.wait_for(lambda: any("routes?" in f"{entry.path}?" for entry in kube.log))
    status.flush(0.2)
    assert status.cluster.route(A) == known
    assert verdicts(kube) == ([] if case == "a removal" else [("public", "True")])


def test_an_entry_is_not_repaired_where_nothing_is_wished(kube, write):
    kube.apply(objects.route("a", ingress=[SERVED]))
    status = write()
    kube.apply(objects.route("a"))
    status.cluster.read()
    assert status.flush(0)
    assert writes(kube) == []


@pytest.mark.parametrize(("meanwhile", "expected"), [
    pytest.param(None, [("haproxy",)], id="as we wrote it"),
    pytest.param([OTHER, SERVED | {"host": "b.example.com"}], [("haproxy",), ("public", "True")],
                 id="another router of the name has taken over"),
    pytest.param([OTHER], [("haproxy",)], id="removed already"),
])
def test_left(kube, write, meanwhile, expected):
    """Our entry goes, nothing else."""
    kube.apply(objects.route("a", ingress=[OTHER]))
    status = write()
    status.submit()
    assert status.flush(LIMIT_S)
    route = status.cluster.route(A)
    if meanwhile is not None:
        kube.apply(objects.route("a", ingress=meanwhile))
    kube.clear_log()
    status.writer.route_removed(route, remove=True)
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == expected
    assert len(writes(kube)) == (meanwhile is None)
    assert not status.writer.is_requested(A, route.uid)


def test_left_and_came_back(kube, write):
    """The newest wish wins over the removal, and sets right what it did."""
    kube.apply(objects.route("a"))
    status = write()
    status.submit()
    assert status.flush(LIMIT_S)
    route = status.cluster.route(A)
    status.writer.route_removed(route, remove=True)
    status.submit(verdict=NO)
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("public", "False")]
    assert status.writer.is_requested(A, route.uid)


def test_left_before_it_was_written(kube, write):
    """The ClusterWatcher may know the Route still: one of a namespace that is not selected any more."""
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH", retry_after=0)
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 503)])
    status.writer.route_removed(status.cluster.route(A), remove=False)
    assert status.flush(LIMIT_S)
    assert ingress(kube) == []


@pytest.mark.parametrize(("meanwhile", "expected"), [
    pytest.param(None, [("haproxy",)], id="nobody"),
    pytest.param([OTHER, SERVED | {"host": "b.example.com"}], [("haproxy",), ("public", "True")],
                 id="another router of the name has taken over"),
])
def test_left_before_an_old_entry_was_set_right(kube, write, meanwhile, expected):
    """One of a former run, as when ten thousand others are written first: it goes too."""
    kube.apply([objects.route("a", ingress=[OTHER, SERVED]), objects.route("b")])
    status = write()
    kube.inject("503", method="PATCH", retry_after=1)
    status.submit("b")
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 503)])
    status.submit(verdict=NO)
    if meanwhile is not None:
        kube.apply(objects.route("a", ingress=meanwhile))
    status.writer.route_removed(status.cluster.route(A), remove=True)
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == expected


@pytest.mark.parametrize("fault", ["409", "503"])
def test_left_with_trouble(kube, write, fault):
    kube.apply(objects.route("a", ingress=[OTHER]))
    status = write()
    status.submit()
    assert status.flush(LIMIT_S)
    kube.inject(fault, method="PATCH", times=2)
    status.writer.route_removed(status.cluster.route(A), remove=True)
    assert status.flush(LIMIT_S)
    assert verdicts(kube) == [("haproxy",)]


@pytest.mark.parametrize("case", ["kept", "deleted", "recreated", "never written", "switched off"])
def test_left_without_a_removal(kube, write, case):
    kube.apply(objects.route("a", ingress=[SERVED]))
    status = write(enabled=case != "switched off")
    route = status.cluster.route(A)
    if case != "never written":
        status.submit(verdict=NO)
        assert status.flush(LIMIT_S)
    if case in ("deleted", "recreated"):
        kube.delete("Route", "shop", "a")
    if case == "recreated":
        kube.apply(objects.route("a", ingress=[SERVED]))
    kube.clear_log()
    status.writer.route_removed(route, remove=case != "kept")
    assert status.flush(LIMIT_S)
    assert writes(kube) == []


def test_several_workers(kube, write):
    kube.apply([objects.route(f"r{number}") for number in range(30)])
    status = write(workers=4)
    for number in range(30):
        status.submit(f"r{number}")
    assert status.flush(LIMIT_S)
    assert all(verdicts(kube, f"r{number}") == [("public", "True")] for number in range(30))
    assert len(writes(kube)) == 30


def test_rate(kube, write):
    kube.apply([objects.route(f"r{number}") for number in range(5)])
    status = write(rate_per_s=50)
    started = time.monotonic()
    for number in range(5):
        status.submit(f"r{number}")
    assert status.flush(LIMIT_S)
    assert time.monotonic() - started >= 0.08


def test_with_a_cluster(kube, follow, connection):
    """The own write comes back by the watch and is no change."""
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    writer = StatusWriter(connection, follower.cluster, StatusSettings(router_name="public"))
    writer.submit(A, follower.cluster.route(A).uid, YES, HOST)
    assert writer.flush(LIMIT_S)
    assert len(follower.cluster.route(A).status_ingress) == 1
    kube.apply(objects.service("marker"))
    follower.until(lambda: follower.names("services") == {"marker"})
    assert [kind for kind, _ in follower.drained] == ["routes", "services"]
    writer.stop()
