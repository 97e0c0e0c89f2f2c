"""Objects that cannot be read, and parts of objects that nothing reads."""

from dataclasses import replace

import pytest

from f5router.kube.watch.reflector import decode_object
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from tests.unit.kube import objects
from tests.unit.kube.conftest import watches

A = Key("shop", "a")


def test_object_without_a_meaning(kube, follow):
    """It counts as absent, in a list and in a watch, and the others go on."""
    kube.apply([objects.route("bad", tls="edge"), objects.route("a")])
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    kube.apply(objects.route("a", tls="edge"))
    follower.until(lambda: not follower.names())
    kube.apply(objects.route("bad", tls={"termination": "edge"}))
    follower.until(lambda: follower.names() == {"bad"})


HOSTILE = {
    "deep": b"[" * 3000 + b"]" * 3000, "infinite": b"1e999999", "digits": b"1" * 100_000, "nan": b"NaN",
    "surrogate": b'"\\ud800"',
}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("make", [objects.route, objects.service], ids=["routes", "services"])
def test_what_nobody_can_read_costs_one_object(kube, follow, caplog, make, text):
    """An unknown field, kept by the API server, nested 3,000 deep: it ended watch and lists for good."""
    kind = f"{make.__name__}s"
    kube.spell("@hostile", HOSTILE[text])
    kube.apply([make("bad", unknown="@hostile"), make("good")])
    follower = follow()
    follower.until(lambda: follower.names(kind) == {"good"})
    kube.apply([make("worse", unknown="@hostile"), make("better")])
    follower.until(lambda: follower.names(kind) == {"good", "better"})
    kube.apply(make("good", unknown="@hostile"))
    follower.until(lambda: follower.names(kind) == {"better"})
    kube.apply(make("good"))
    follower.until(lambda: follower.names(kind) == {"good", "better"})
    kube.delete(make("worse")["kind"], "shop", "worse")
    told = [record for record in caplog.records if record.message == "object ignored"]
    assert {record.object for record in told} == {"shop/bad", "shop/worse", "shop/good"}
    assert {record.kind for record in told} == {kind}
    assert not [record for record in caplog.records if record.exc_info]
    assert len(watches(kube, kind)) == 1


def test_names_that_no_object_can_have(kube, follow, caplog):
    """They are left out by name, in a list and in a watch."""
    kube.apply([objects.route(name) for name in ("a\ud800", "B", "b")])
    follower = follow()
    follower.until(lambda: follower.names() == {"b"})
    kube.apply([objects.route("c\n"), objects.route("d")])
    follower.until(lambda: follower.names() == {"b", "d"})
    told = {record.object for record in caplog.records if record.message == "object ignored"}
    assert told == {"without a name", "shop/B", r"'c\n'"}


def annotated(obj: dict, **annotations: str) -> dict:
    return obj | {"metadata": {**obj["metadata"], "annotations": annotations, "labels": annotations}}


UNSUPPORTED = "virtual-server.f5.com/unknown"


def test_annotations_that_nothing_reads_are_no_change(kube, follow):
    """Nobody is woken for them, nor for the value of one whose presence alone is reported."""
    kube.apply([annotated(objects.route("a"), **{UNSUPPORTED: "5s"}), objects.service("web")])
    follower = follow()
    follower.until(lambda: follower.names() and follower.names("services"))
    kube.apply([annotated(objects.route("a"), note="new", **{UNSUPPORTED: "6s"}),
                annotated(objects.service("web"), note="new")])
    kube.apply([objects.route("z"), objects.service("z")])
    follower.until(lambda: "z" in follower.names() & follower.names("services"))
    assert follower.drained.count(("routes", Key("shop", "a"))) == 1
    assert follower.drained.count(("services", Key("shop", "web"))) == 1


def test_an_annotation_that_is_read_is_a_change(kube, follow):
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names())
    kube.apply(annotated(objects.route("a"), **{UNSUPPORTED: "5s"}))
    follower.until(lambda: follower.state["routes"][A].unsupported == (UNSUPPORTED,))
    assert follower.drained.count(("routes", A)) == 2


def test_a_fault_of_a_decoder(kube, caplog):
    """Whatever goes wrong with one object costs this object only."""
    def decode(obj):
        return (1 // obj["spec"]["divisor"],)

    kube.apply([objects.route("a", divisor=0), objects.route("b", divisor=1), objects.route("c")])
    source = replace(ROUTES, decode=decode)
    values = dict(decode_object(source, obj) for obj in kube.list("Route"))
    assert values == {Key("shop", "a"): (), Key("shop", "b"): (1,), Key("shop", "c"): ()}
    assert {record.object for record in caplog.records if record.exc_info} == {"shop/a", "shop/c"}
