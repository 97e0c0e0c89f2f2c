"""Generations that own readings and writes explain, and those that only somebody else can have made."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.icontrol.generations import Look, Replies, parts
from f5router.model.ltm import DataGroup, Forward, Policy, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from f5router.reconcile.explained import Explained

POLICY, GROUP = Policy("/P/openshift_insecure_routes"), DataGroup("/P/openshift_limits_dg")
POOLS = [Pool(f"/P/{name}") for name in "ab"]
NAMES = ["openshift_route_shop_a", "openshift_route_shop_b", "openshift_route_shop_c"]


def rule(name: str) -> Rule:
    return Rule(POLICY.path, name, 1, ("a.example.com",), "/", Forward("/P/a"))


def record(name: str) -> Record:
    return Record(GROUP.path, name, "x")


@dataclass
class Site:
    """A device with generations, and a router that changes it and looks at it."""

    replies_are_right: bool = True
    draft_shows: str = "before"
    generation: int = 1
    there: dict[Ref, int] = field(default_factory=dict)
    parts: set[Ref] = field(default_factory=set)
    writing: set[Ref] = field(default_factory=set)

    def __post_init__(self):
        self.replies, self.observed = Replies(), set()
        self.explained = Explained(self.writing.__contains__, lambda: self.observed, lambda: self.replies)
        for obj in (POLICY, GROUP, *POOLS):
            self.there[obj.ref] = 1
        self.read()

    def read(self) -> None:
        self.explained.begin_reading()
        self.observed = self.there.keys() | self.parts
        self.explained.take_reading(dict(self.there))

    def touch(self, ref: Ref) -> int:
        self.generation += 1
        self.there[ref] = self.generation
        return self.generation

    def write_pool(self, pool: Pool) -> None:
        self.apply_pool(pool)
        self.explained.record(Change(UPDATE, pool, pool))

    def apply_pool(self, pool: Pool) -> None:
        path = pool.path.replace("/", "~")
        reply = {"generation": self.touch(pool.ref) - (not self.replies_are_right)}
        self.replies.note("PATCH", f"ltm/pool/{path}", reply)

    def write_rule(self, name: str, *, delete: bool = False) -> None:
        self.apply_rule(name, delete=delete)
        self.confirm_rule(name, delete=delete)

    def apply_rule(self, name: str, *, delete: bool = False) -> None:
        before = self.there[POLICY.ref]
        shown = {"before": before, "new": self.touch(POLICY.ref), "none": None}[self.draft_shows]
        self.replies.opened(POLICY.path, {"generation": shown})
        self.touch(POLICY.ref)
        self.parts = self.parts - {rule(name).ref} if delete else self.parts | {rule(name).ref}

    def confirm_rule(self, name: str, *, delete: bool = False) -> None:
        change = Change(DELETE, rule(name), None) if delete else Change(CREATE, None, rule(name))
        self.observed = self.observed - {rule(name).ref} if delete else self.observed | {rule(name).ref}
        self.explained.record(change)

    def begin(self, *, whole: bool = True):
        """Begin a look; returns what it has read."""
        extent = self.explained.begin_look(whole=whole)
        listed = parts(self.parts, extent.holders)
        return extent, Look({ref: number for ref, number in self.there.items() if ref.kind in extent.kinds},
                            {holder: frozenset(listed[holder]) for holder in extent.holders})

    def look(self, *, whole: bool = True) -> set[Ref]:
        """Return what somebody else has changed, by a look and by replies to requests for drafts."""
        return self.explained.compare(*self.begin(whole=whole))[0] | self.explained.take_opened_changed()


def test_own_writes_are_explained():
    """A reply that shows the generation explains it at once; another write is explained by a look."""
    site = Site()
    site.write_pool(POOLS[0])
    assert not site.explained.has_unknown
    site.write_rule(NAMES[0])
    assert site.explained.has_unknown
    assert site.look(whole=False) == set()
    assert not site.explained.has_unknown
    assert site.look() == set()


def test_a_change_after_an_own_write_is_found():
    site = Site()
    site.write_pool(POOLS[0])
    site.touch(POOLS[0].ref)
    assert site.look() == {POOLS[0].ref}
    assert site.look() == set(), "once"


def test_a_deleted_object():
    """By the router or by somebody else, also one whose generation is not known."""
    site = Site()
    del site.there[POOLS[0].ref]
    site.explained.record(Change(DELETE, POOLS[0], None))
    assert site.look() == set()
    site.explained.record(Change(CREATE, None, POOLS[0]))
    assert site.look() == {POOLS[0].ref}
    del site.there[POOLS[1].ref]
    assert site.look() == {POOLS[1].ref}
    assert site.look() == set()


def test_rules_are_compared_by_name():
    """Somebody takes one away before or after an own write of another, before anybody looks."""
    for first in (True, False):
        site = Site(draft_shows="none")
        site.write_rule(NAMES[0])
        site.look()
        if first:
            site.parts.discard(rule(NAMES[0]).ref)
        site.write_rule(NAMES[1])
        if not first:
            site.parts.discard(rule(NAMES[1]).ref)
        assert site.look(whole=False) == {POLICY.ref}


def test_records_are_compared_by_name():
    site = Site()
    site.observed = site.observed | {record("x").ref, record("y").ref}
    site.parts |= {record("y").ref}
    site.replies.note("PATCH", "ltm/data-group/internal/~P~openshift_limits_dg",
                      {"generation": site.touch(GROUP.ref)})
    site.explained.record(Change(CREATE, None, record("y")))
    assert site.look() == {GROUP.ref}


def test_a_policy_that_was_edited_before_an_own_draft():
    """Where a reply to a request for a draft once had the known generation, another one tells of others."""
    site = Site()
    site.write_rule(NAMES[0])
    site.look()
    site.touch(POLICY.ref)  # edited in place: its Rules have the same names
    site.write_rule(NAMES[1])
    assert site.look() == {POLICY.ref}
    assert site.look() == set()


def test_replies_that_do_not_show_the_generation():
    """They are of no use from the first wrong hint on."""
    site = Site(replies_are_right=False)
    site.write_pool(POOLS[0])
    assert site.explained.compare(*site.begin()) == ({POOLS[0].ref}, True)
    site.explained.distrust_replies()
    site.write_pool(POOLS[0])
    assert site.explained.has_unknown
    assert site.look(whole=False) == set()


def test_writes_while_one_looks():
    """Neither a write under way, nor one that was confirmed since the look began, is judged by it."""
    site = Site()
    begun = site.begin()
    site.write_pool(POOLS[0])
    site.apply_rule(NAMES[0])
    site.writing.add(POLICY.ref)
    assert site.explained.compare(*begun)[0] == set()
    begun = site.begin()
    assert site.explained.compare(*begun)[0] == set(), "the reply to the write has not come yet"
    site.writing.clear()
    site.confirm_rule(NAMES[0])
    assert site.look() == set()


def test_another_unit():
    site = Site()
    site.write_rule(NAMES[0])
    site.explained.start_over()
    assert not site.explained.has_unknown
    site.there = dict.fromkeys(site.there, 7)
    site.read()
    assert site.look() == set()


STEPS = st.lists(st.tuples(st.sampled_from(
    ["pool", "rule", "delete", "look", "follow", "read", "foreign pool", "foreign rule", "begin", "end"]),
    st.integers(0, 2)), max_size=25)


class Story:
    """Steps, and what others have done since the last reading of everything."""

    def __init__(self, site: Site):
        self.site, self.begun = site, None
        self.pools: set[Ref] = set()
        """Pools that others changed after the last own write."""
        self.gone: set[Ref] = set()
        """Rules that others took away."""
        self.policy: set[Ref] = set()
        """The policy, once others have changed it."""

    def take(self, step: str, number: int) -> None:
        site, pool, name = self.site, POOLS[number % 2], NAMES[number]
        is_there = rule(name).ref in site.parts
        if step == "pool":
            site.write_pool(pool)
            self.pools.discard(pool.ref)
        elif step == "rule" and not is_there:
            site.write_rule(name)
            self.gone.discard(rule(name).ref)
        elif step == "delete" and is_there:
            site.write_rule(name, delete=True)
        elif step == "foreign pool":
            site.touch(pool.ref)
            self.pools.add(pool.ref)
        elif step == "foreign rule" and is_there:
            site.parts.discard(rule(name).ref)
            site.touch(POLICY.ref)
            self.gone.add(rule(name).ref)
            self.policy.add(POLICY.ref)
        elif step == "begin" and self.begun is None:
            self.begun = site.begin(whole=bool(number))
        elif step == "end" and self.begun is not None:
            differing, self.begun = site.explained.compare(*self.begun)[0], None
            self.judge(differing | site.explained.take_opened_changed())
        elif step in ("look", "follow") and self.begun is None:
            self.judge(site.look(whole=step == "look"), complete=step == "look")
        elif step == "read" and self.begun is None:
            self.judge(set())
            self.read()

    def judge(self, differing: set[Ref], *, complete: bool = False) -> None:
        assert differing <= self.pools | self.policy
        if complete:
            assert differing >= self.pools | (self.policy if self.gone else set())
        if differing:
            self.read()

    def read(self) -> None:
        self.site.read()
        for books in (self.pools, self.gone, self.policy):
            books.clear()


@settings(max_examples=150)
@given(steps=STEPS, shows=st.sampled_from(["before", "new", "none"]))
def test_others_are_found_and_nothing_own_is_reported(steps, shows):
    """Rules that others take away, and pools that they change, are found by the next look at everything."""
    story = Story(Site(draft_shows=shows))
    for step, number in steps:
        story.take(step, number)


def test_several_own_writes_before_a_look():
    site = Site()
    for name in NAMES:
        site.write_rule(name)
    assert site.look() == set()


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_writes_while_everything_is_read(is_confirmed):
    """A reading may be older than a write, and newer than one whose reply has not come yet."""
    site = Site()
    site.write_rule(NAMES[2])
    site.explained.begin_reading()
    older = dict(site.there)
    site.write_pool(POOLS[0])
    site.apply_rule(NAMES[0])
    if is_confirmed:
        site.confirm_rule(NAMES[0])
        site.explained.take_reading(older)
    else:
        site.writing.add(POLICY.ref)
        site.explained.take_reading(site.there | {POOLS[0].ref: older[POOLS[0].ref]})
        site.writing.clear()
        site.confirm_rule(NAMES[0])
    assert site.look() == set()


def test_a_first_write_while_everything_is_read():
    """Its generation is learned by a look, even if it is refused in the end."""
    site = Site()
    site.explained.start_over()
    site.explained.begin_reading()
    site.writing.add(POLICY.ref)
    site.explained.take_reading(dict(site.there))
    site.touch(POLICY.ref)
    site.writing.clear()
    assert site.explained.has_unknown
    assert site.look() == set()


def test_a_reading_leaves_nothing_to_be_learned():
    site = Site()
    site.write_rule(NAMES[0])
    site.parts.discard(rule(NAMES[0]).ref)
    site.read()
    assert not site.explained.has_unknown
    assert not site.explained.begin_look(whole=True).holders
    site.touch(POLICY.ref)
    assert site.look() == {POLICY.ref}


def test_a_draft_that_was_given_up():
    """The reply to the request for it is older than the look that follows."""
    site = Site()
    site.write_rule(NAMES[0])
    site.look()
    site.replies.opened(POLICY.path, {"generation": site.there[POLICY.ref]})
    site.touch(POLICY.ref)
    assert site.look() == {POLICY.ref}
    site.write_rule(NAMES[1])
    assert site.look() == set()


def test_a_write_without_a_generation_after_one_with_it():
    """Such as one of a part of the object: the earlier reply is of no use any more."""
    site = Site()
    site.write_pool(POOLS[0])
    site.look()
    site.touch(POOLS[0].ref)
    site.explained.record(Change(UPDATE, POOLS[0], POOLS[0]))
    assert site.look() == set()
    assert not site.explained.begin_look(whole=False).kinds


def test_a_write_while_parts_are_read():
    """Its policy is compared by name again."""
    site = Site(draft_shows="none")
    site.write_rule(NAMES[0])
    begun = site.begin()
    site.write_rule(NAMES[1])
    site.parts.discard(rule(NAMES[1]).ref)
    assert site.explained.compare(*begun)[0] == set()
    assert site.look() == {POLICY.ref}
