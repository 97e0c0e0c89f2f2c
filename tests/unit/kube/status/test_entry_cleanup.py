"""entry_cleanup.py: entries that a router left in Routes outside its selection, on the fake API server."""

import threading
from types import SimpleNamespace

import pytest

from f5router.admission.condition import Verdict
from f5router.kube.api import decode
from f5router.kube.settings import StatusSettings
from f5router.kube.status.entry_cleanup import FOREIGN, PROBE_S, PROBES, EntryCleanup
from f5router.kube.status.status_writer import StatusWriter
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from tests.unit.kube import objects
from tests.unit.kube.conftest import lists
from tests.unit.kube.status.test_owned_entries import OTHER, OURS
from tests.waiting import DEADLINE_S


@pytest.fixture
def cleanup(kube, connection):
    """Makes an EntryCleanup; its writer knows no Routes but those that are submitted."""
    started = []

    def make(*, selected=(), wait=lambda seconds: False, **options):
        known = {}
        cluster = SimpleNamespace(
            route=known.get, observe=lambda route: None, route_source=lambda: ROUTES)
        writer = StatusWriter(
            connection, cluster, StatusSettings(router_name="public", rate_per_s=1000))
        subject = EntryCleanup(connection, writer, router_name="public", wait=wait,
                           **{"namespace": None, "page_size": 3} | options)
        subject.statuses, subject.known = writer, known
        started.append(subject)
        subject.start(frozenset(Key("shop", name) for name in selected))
        return subject

    yield make
    for subject in started:
        subject.stop()
        subject.statuses.stop()


def end(subject: EntryCleanup) -> None:
    assert subject.join(DEADLINE_S)


def left(kube) -> set[str]:
    """Routes with an entry of ours."""
    return {obj["metadata"]["name"] for obj in kube.list("Route")
            for entry in (obj.get("status") or {}).get("ingress") or [] if entry["routerName"] == "public"}


def writes(kube) -> int:
    return sum(entry.method != "GET" for entry in kube.log)


def test_what_was_left_is_removed(kube, cleanup):
    """Not what is selected, and nothing of other routers."""
    kube.apply([objects.route(f"r{number}", ingress=[OTHER, OURS]) for number in range(12)])
    kube.apply(objects.route("other", ingress=[OTHER]))
    subject = cleanup(selected=("r0", "r1"))
    end(subject)
    assert left(kube) == {"r0", "r1"}
    assert kube.get("Route", "shop", "r5")["status"]["ingress"] == [OTHER]
    assert writes(kube) == subject.statuses.counts["removed"] == 10


def test_nothing_to_do(kube, cleanup):
    """One list, in pages."""
    kube.apply([objects.route(f"r{number}", ingress=[OTHER]) for number in range(9)])
    end(cleanup())
    assert (len(kube.log), len(lists(kube))) == (3, 3)


def test_one_namespace(kube, cleanup):
    """With --namespace: others may not even be read."""
    kube.apply([objects.route("a", ingress=[OURS]), objects.route("b", namespace="till", ingress=[OURS])])
    end(cleanup(namespace="till"))
    assert left(kube) == {"a"}


def test_another_router_keeps_them(kube, cleanup, caplog):
    """It restores a removed entry: the others stay, and the log says so once."""
    kube.apply([objects.route(f"r{number}", ingress=[OURS]) for number in range(20)])
    waited = []

    def wait(seconds):
        waited.append((seconds, len(left(kube))))
        removed = {obj["metadata"]["name"] for obj in kube.list("Route")} - left(kube)
        kube.apply(objects.route(max(removed), ingress=[OURS | {"routerCanonicalHostname": "green"}]))
        return False

    end(cleanup(wait=wait))
    assert waited == [(PROBE_S, 20 - PROBES)]
    assert len(left(kube)) == 20 - PROBES + 1
    assert [record.message for record in caplog.records] == [FOREIGN]


def test_a_route_that_enters_meanwhile(kube, cleanup):
    """It is judged by the router now: no business of ours."""
    kube.apply([objects.route(f"r{number}", ingress=[OURS]) for number in range(PROBES + 1)])
    entered = []

    def wait(seconds):
        entered.extend(left(kube))
        key = Key("shop", entered[0])
        uid = kube.get("Route", key.namespace, key.name)["metadata"]["uid"]
        subject.statuses.submit(key, uid, Verdict(True), "www.example.com")
        return False

    subject = cleanup(wait=wait)
    end(subject)
    assert left(kube) == set(entered)
    assert len(entered) == 1


def test_statuses_go_first(kube, connection, cleanup):
    """Nothing is removed while one waits to be written."""
    kube.apply(objects.route("a", ingress=[OURS]))
    subject = cleanup()
    end(subject)
    assert left(kube) == set()
    kube.apply(objects.route("a", ingress=[OURS]))
    kube.clear_log()
    busy = threading.Event()
    subject.statuses.flush = lambda timeout_s, unless_forbidden: busy.wait(0.05)
    again = EntryCleanup(connection, subject.statuses, router_name="public", namespace=None)
    again.start(frozenset())
    assert kube.wait_for(lambda: lists(kube))
    assert not kube.wait_for(lambda: writes(kube), 0.2)
    busy.set()
    assert kube.wait_for(lambda: left(kube) == set())
    again.stop()


def test_a_status_that_is_refused_is_not_waited_for(kube, connection, cleanup):
    """It is tried again every minute, for ever."""
    obj = kube.apply(objects.route("bad"))
    kube.apply(objects.route("a", ingress=[OURS]))
    kube.inject("403", times=None, path="/bad/status")
    subject = cleanup(selected=("a", "bad"))
    end(subject)
    key = Key("shop", "bad")
    subject.known[key] = decode.route(obj)
    subject.statuses.submit(key, obj["metadata"]["uid"], Verdict(True), "www.example.com")
    assert kube.wait_for(lambda: writes(kube) == 2)
    again = EntryCleanup(connection, subject.statuses, router_name="public", namespace=None)
    again.start(frozenset())
    assert kube.wait_for(lambda: left(kube) == set())
    again.stop()


@pytest.mark.parametrize(("fault", "path", "remaining", "said"), [
    pytest.param("409", "/r1/status", set(), [], id="a conflict"),
    pytest.param("422", "/r1/status", {"r1"}, ["status not removed"], id="one is refused"),
    pytest.param("404", "/r1/status", {"r1"}, [], id="one is deleted just then"),
])
def test_trouble_with_one(kube, cleanup, caplog, fault, path, remaining, said):
    kube.apply([objects.route(f"r{number}", ingress=[OURS]) for number in range(3)])
    kube.inject(fault, method="PATCH", path=path, text='{"details": {"name": "r1"}}')
    end(cleanup())
    assert left(kube) == remaining
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == said


@pytest.mark.parametrize("what", ["list", "write", "server"])
def test_trouble_with_all(kube, cleanup, caplog, what):
    """Told once, with the way out; the next start tries again."""
    kube.apply([objects.route(f"r{number}", ingress=[OURS]) for number in range(8)])
    if what == "server":
        kube.inject("503", times=None, method="PATCH")
    else:
        kube.forbid(*{"list": ("routes", ["list"]),
                      "write": ("routes/status", ["patch", "update"])}[what])
    end(cleanup())
    assert len(left(kube)) == 8
    (told,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert told.remedy == "f5router status clear"
    assert writes(kube) <= 2


def test_stop_is_prompt(kube, cleanup):
    """In the wait after the first ones; the others stay."""
    kube.apply([objects.route(f"r{number}", ingress=[OURS]) for number in range(20)])
    subject = cleanup(wait=None)
    assert kube.wait_for(lambda: writes(kube) == PROBES)
    subject.stop()
    end(subject)
    assert len(left(kube)) == 20 - PROBES
