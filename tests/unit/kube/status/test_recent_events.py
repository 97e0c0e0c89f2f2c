"""The last Events of each object, without an API server."""

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.kube.status.recent_events import RecentEvent, RecentEvents
from f5router.model.cluster import Key, Subject
from tests.examples import examples
from tests.rows import rows


def event(reason: str, *, at: float = 0.0, count: int = 1) -> RecentEvent:
    return RecentEvent(at, "Warning", reason, f"text of {reason}", count)


def route(name: str, namespace: str = "shop") -> Subject:
    return Subject("Route", Key(namespace, name))


@rows(("reasons", "kept"), [
    ("", ""), ("a", "a"), ("ab", "ba"), ("aba", "ab"), ("abcd", "dcb"), ("abcda", "adc"),
])
def test_the_last_three_of_an_object(reasons, kept):
    """The newest is first; one that is repeated is there once, with its new count."""
    recent = RecentEvents(most_of_one=3)
    for number, reason in enumerate(reasons):
        recent.record(route("a"), "u", event(reason, at=number, count=reasons[:number + 1].count(reason)))
    assert recent.of(route("a")) == tuple(
        event(reason, at=reasons.rindex(reason), count=reasons.count(reason)) for reason in kept)
    assert recent.revision == len(reasons)


def test_another_object_of_the_name_has_its_own():
    recent = RecentEvents()
    recent.record(route("a"), "old", event("x"))
    assert recent.of(route("a"), "new") == ()
    recent.record(route("a"), "new", event("y"))
    assert [each.reason for each in recent.of(route("a"))] == ["y"]
    assert recent.of(route("a"), "old") == ()
    assert recent.of(Subject("Ingress", Key("shop", "a"))) == ()


def test_no_namespace_crowds_out_others():
    recent = RecentEvents(most_objects=5)
    for name in ("a", "b"):
        recent.record(route(name, "small"), name, event("x"))
    for number in range(100):
        recent.record(route(f"r{number}", "large"), str(number), event("x"))
    assert all(recent.of(route(name, "small")) for name in ("a", "b"))
    assert [number for number in range(100) if recent.of(route(f"r{number}", "large"))] == [97, 98, 99]


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.sampled_from("mno"), st.sampled_from("abcdef"), st.sampled_from("xyz")),
                max_size=60))
def test_the_bound_holds_and_the_newest_is_there(drawn):
    recent, objects = RecentEvents(most_objects=4, most_of_one=2), set[Subject]()
    for namespace, name, reason in drawn:
        about = route(name, namespace)
        objects.add(about)
        recent.record(about, name, event(reason))
        assert recent.of(about)[0].reason == reason
        kept = [recent.of(each) for each in objects if recent.of(each)]
        assert len(kept) == min(len(objects), 4)
        assert max(map(len, kept)) <= 2
