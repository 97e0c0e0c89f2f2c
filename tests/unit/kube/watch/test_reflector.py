"""reflector.py: when a kind is listed, watched, and waited for; the API server is a script."""

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from f5router.kube.api.counts import WatchCounts
from f5router.kube.api.documents import Document
from f5router.kube.settings import WatchTiming
from f5router.kube.watch.reflector import HEALTHY_S, TRIES_WITH_VERSION, Listener, Reflector
from f5router.kube.watch.sources import ROUTES, SERVICES, Source
from f5router.kube.watch.store import Store
from f5router.model.cluster import Key
from f5router.model.errors import (
    KubeForbidden,
    KubeInvalid,
    KubeUnreachable,
    ResourceExpired,
    ResourceUnavailable,
)
from f5router.model.limits import Backoff
from tests.unit.kube import objects

LASTS_S = 300.0
TIMING = WatchTiming(watch_s=(LASTS_S, LASTS_S), resync_s=3600.0, confirm_s=7.0, backoff=Backoff(1.0, 64.0))
AWAY = KubeUnreachable("no reply")


@dataclass
class Listed:
    """A list of Services."""

    version: str
    names: Iterable[str] = ()
    token: str = ""

    def documents(self) -> Iterator[Document]:
        for name in self.names:
            yield Document(json.dumps(objects.service(name)).encode())


@dataclass
class Watched:
    """A watch: its events, how long it lasts, and how it breaks."""

    events: list[dict] = field(default_factory=list)
    lasts_s: float = LASTS_S
    error: Exception | None = None


def event(kind: str, name: str, version: str) -> dict:
    obj = objects.service(name)
    obj["metadata"]["resourceVersion"] = version
    return {"type": kind, "object": obj}


class Outages:
    """Reports of the reflector about the API server."""

    def __init__(self, log: list):
        self._log = log

    def failed(self, user: str, exc: KubeUnreachable) -> None:
        self._log.append("outage")

    def answered(self, user: str) -> None:
        if self._log[-1] != "answered":
            self._log.append("answered")


class Bench:
    """A reflector, the API server that it follows, and the log of what happens."""

    def __init__(self, clock, *answers, source: Source = SERVICES, served: bool = True):
        self.log: list = []
        self.problem = ""
        self.outages, self.watch_counts = Outages(self.log), WatchCounts()
        self.store, self.clock, self._served = Store(), clock, served
        self._answers = list(answers)
        self.reflector = Reflector(
            self, source, self.store, namespace=None, selectors={}, timing=TIMING, clock=clock,
            sleep=self._sleep, listener=Listener(on_problem=self._problem))
        self.reflector.run()

    def page(self, path, query, accept):
        self.log.append("list")
        return self._answer()

    def request(self, method, path, *, stream=False, query=None, **options):
        if not stream:
            self.log.append("discovery")
            kinds = ("routes", "services") if self._served else ()
            return {"resources": [{"name": kind} for kind in kinds]}
        self.log.append(f"watch {query['resourceVersion']}")
        watched = self._answer()
        return self._stream(watched)

    def _stream(self, watched: Watched):
        bench = self

        class Stream:
            def documents(self):
                bench.clock.now += watched.lasts_s
                yield from (Document(json.dumps(each).encode()) for each in watched.events)
                if watched.error:
                    raise watched.error

            def close(self):
                pass

        return Stream()

    def _answer(self):
        """The next answer; the reflector ends with the script."""
        if not self._answers:
            self.log.append("end")
            self.reflector.stop()
            raise AWAY
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _sleep(self, seconds: float) -> None:
        self.log.append("confirm" if seconds == TIMING.confirm_s else "wait")
        self.clock.now += seconds

    def _problem(self, text: str) -> None:
        if text:
            self.log.append("problem")
            self.problem = text

    def steps(self) -> list[str]:
        """The log without discovery and reports about the API server."""
        return [step for step in self.log if step not in ("discovery", "outage", "answered", "end")]

    def names(self) -> set[str]:
        names = {"a", "b", "c", *(f"s{number}" for number in range(20))}
        return {name for name in names if self.store.get("services", Key("shop", name))}


def test_a_watch_begins_where_the_list_or_the_last_one_ended(clock):
    """Bookmarks count, too; a watch that the server ends after its time is followed at once."""
    bench = Bench(
        clock, Listed("5", ["a"]), Watched([event("ADDED", "b", "6"), event("DELETED", "a", "7")]),
        Watched([event("BOOKMARK", "c", "9")]))
    assert bench.steps() == ["list", "watch 5", "watch 7", "watch 9"]
    assert bench.names() == {"b"}


@pytest.mark.parametrize(("answers", "steps"), [
    pytest.param([ResourceExpired("410")], ["list", "watch 2"], id="410: list at once"),
    pytest.param([ResourceExpired("410"), ResourceExpired("410"), Listed("3")],
                 ["list", "wait", "list", "watch 3"], id="410 again: wait"),
    pytest.param([Watched([{"type": "ERROR", "object": {"code": 410}}], 0.0)], ["list", "watch 2"],
                 id="410 as an event"),
    pytest.param([KubeInvalid("400")], ["wait", "list", "watch 2"], id="refused: a list may help"),
    pytest.param([KubeForbidden("403")], ["problem", "wait", "list", "watch 2"], id="forbidden"),
    pytest.param([AWAY], ["wait", "watch 1"], id="unreachable: the version is kept"),
    pytest.param([AWAY] * TRIES_WITH_VERSION,
                 [*["wait", "watch 1"] * (TRIES_WITH_VERSION - 1), "wait", "list", "watch 2"],
                 id="unreachable again and again: perhaps the version is not known"),
    pytest.param([Watched(lasts_s=0.0)], ["watch 1"], id="ended at once: tried again at once"),
    pytest.param([Watched(lasts_s=0.0), Watched(lasts_s=0.0)], ["watch 1", "wait", "watch 1"],
                 id="ended at once twice: wait"),
    pytest.param([Watched([{"type": "NONSENSE"}], 0.0)], ["wait", "watch 1"], id="no event"),
    pytest.param([Watched(error=AWAY)], ["wait", "watch 1"], id="broken after its time"),
])
def test_after_a_failed_watch(clock, answers, steps):
    """The steps that follow the first watch."""
    bench = Bench(clock, Listed("1"), *answers, Listed("2"))
    assert bench.steps()[2:][:len(steps)] == steps


@pytest.mark.parametrize(("error", "steps"), [
    (KubeForbidden("403"), ["list", "problem", "wait", "list"]),
    (KubeInvalid("400"), ["list", "problem", "wait", "list"]),
    (ResourceUnavailable("404"), ["list", "problem", "wait", "list"]),
    (AWAY, ["list", "wait", "list"]),
])
def test_after_a_failed_list(clock, error, steps):
    """A failure that lasts until an administrator acts is reported; the list is tried again all the same."""
    assert Bench(clock, error, Listed("1")).steps()[:len(steps)] == steps


@pytest.mark.parametrize(("answers", "steps", "names"), [
    pytest.param([Listed("", ["a", "b"]), Listed("", ["b"])], ["list", "wait", "list", "wait", "list"], {"b"},
                 id="a list has no version"),
    pytest.param([KubeForbidden("403"), Listed("1", ["a"])],
                 ["list", "problem", "wait", "list", "wait", "list"], {"a"}, id="forbidden"),
    pytest.param([Listed("1", ["a"]), KubeInvalid("400")],
                 ["list", "wait", "list", "problem", "wait", "list"], {"a"}, id="refused later"),
    pytest.param([Listed("1", ["a"]), AWAY], ["list", "wait", "list", "wait", "list"], {"a"},
                 id="unreachable"),
])
def test_a_kind_that_cannot_be_watched_is_read_again(clock, answers, steps, names):
    """Known objects stay while the kind cannot be read."""
    begin = clock.now
    bench = Bench(clock, *answers, source=replace(SERVICES, period_s=30.0))
    assert bench.steps() == steps
    assert bench.names() == names
    assert clock.now - begin >= 30.0 * sum(isinstance(answer, Listed) for answer in answers)


def test_a_list_without_a_version_is_no_list(clock):
    """A watch from it would miss changes."""
    bench = Bench(clock, Listed("", ["a"]), Listed("1", ["b"]))
    assert bench.steps()[:4] == ["list", "wait", "list", "watch 1"]
    assert bench.names() == {"b"}


def test_a_list_is_due_after_the_resync_interval(clock):
    """The last watch before it is shorter."""
    watches = int(TIMING.resync_s / LASTS_S)
    bench = Bench(clock, Listed("1"), *[Watched() for _ in range(watches)], Listed("2"))
    assert bench.steps() == ["list", *["watch 1"] * watches, "list", "watch 2"]


MANY = [f"s{number}" for number in range(20)]


@pytest.mark.parametrize(("second", "expected"), [
    pytest.param(MANY, set(MANY), id="the second list has them"),
    pytest.param(["a"], {"a"}, id="the second list confirms it"),
])
def test_most_objects_missing_in_a_list(clock, caplog, second, expected):
    """They are kept until a second list, after a pause."""
    caplog.set_level(logging.WARNING)
    bench = Bench(clock, Listed("1", MANY), ResourceExpired("410"), Listed("2", ["a"]), Listed("3", second))
    assert bench.steps() == ["list", "watch 1", "list", "confirm", "list", "watch 3"]
    assert bench.names() == expected
    assert [record.missing for record in caplog.records] == [len(MANY)]


@pytest.mark.parametrize(("first", "steps"), [
    pytest.param(["a", "b"], ["confirm", "list", "watch 3"], id="all are missing"),
    pytest.param(["a", "b", "c"], ["watch 2"], id="one is left"),
    pytest.param([], ["watch 2"], id="none was known"),
])
def test_all_objects_missing_in_a_list(clock, first, steps):
    """However few they are: a list of one kind decides about objects of others."""
    second = first[2:]
    bench = Bench(clock, Listed("1", first), ResourceExpired("410"), Listed("2", second), Listed("3", second))
    assert bench.steps()[3:][:len(steps)] == steps
    assert bench.names() == set(second)


def test_a_kind_that_is_no_longer_served_is_looked_up_again(clock):
    """An upgrade may have moved it; where neither API serves it, the preferred one is tried."""
    bench = Bench(clock, ResourceUnavailable("404"), Listed("1"), source=ROUTES)
    assert [step for step in bench.log if step in ("discovery", "list")] == [
        "discovery", "list", "discovery", "list"]
    assert bench.reflector.source is ROUTES
    gone = Bench(clock, KubeForbidden("403"), source=ROUTES, served=False)
    assert gone.reflector.source is ROUTES
    assert "does not serve routes" in gone.problem


def test_an_outage_is_over_when_a_watch_works(clock):
    """That a watch is accepted proves nothing if the last one broke soon: an event, or its time, does."""
    soon = Watched(lasts_s=HEALTHY_S / 2, error=AWAY)
    works = Watched([event("ADDED", "a", "2")])
    bench = Bench(clock, Listed("1"), soon, Watched(lasts_s=0.0, error=AWAY), works)
    assert bench.log == ["list", "watch 1", "answered", "outage", "wait", "watch 1", "outage", "wait",
                         "watch 1", "answered", "watch 2", "end"]


def test_counts(clock):
    """One list, two watches that the server accepted, one of which broke; metrics show them."""
    bench = Bench(clock, Listed("1"), Watched(error=AWAY), Watched())
    assert bench.watch_counts.counts() == {
        ("lists", "services"): 1, ("watches", "services"): 2, ("failures", "services"): 1}


def test_relist(clock):
    """True once a list is complete that began after the request."""
    bench = Bench(clock, Listed("1"))
    assert bench.reflector.relisted
    bench.reflector.relist()
    assert not bench.reflector.relisted
