"""Rules of a draft in lists: what is written, and with how many requests."""

import json
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.icontrol.codec import policy_codec
from f5router.icontrol.rest.readiness import Blame
from f5router.icontrol.writers.policies import PolicyWriter
from f5router.icontrol.writers.rule_list import FIRST, LEAST, SHARE
from f5router.model import names
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import Conflict, DeviceTimeout, NotFound, Refused, Unconfirmed
from f5router.model.ltm import Condition, Forward, Policy, Rule
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from tests.examples import examples

POLICY = Policy("/Common/openshift_secure_routes")
DRAFT = "/Common/Drafts/openshift_secure_routes"


class Device:
    """A policy and its draft behind the client's methods; seconds that its lists take on `clock`."""

    def __init__(self, rules=(), *, bad=(), longest=10**6, merges=False, seconds_a_rule=0.0):
        self.published = {names.NOOP_RULE: {}}
        self.published |= {rule.name: policy_codec.encode_rule(rule) for rule in rules}
        self.draft = None
        self.bad, self.longest, self.merges = set(bad), longest, merges
        self.seconds_a_rule = seconds_a_rule
        self.now = 0.0
        self.error = None
        self.lists: list[int] = []
        self.singles = 0
        self.publishes = 0

    @property
    def writes(self) -> int:
        return len(self.lists) + self.singles

    def clock(self) -> float:
        return self.now

    def patch(self, path, body):
        name = self._name(path)
        if body == {"createDraft": True}:
            self.draft = dict(self.published)
        elif name:
            self.single(name, body)
        else:
            self._list({rule["name"]: rule for rule in json.loads(body)["rules"]})

    def _list(self, rules):
        self.lists.append(len(rules))
        self.now += len(rules) * self.seconds_a_rule
        if self.error:
            raise self.error
        if len(rules) > self.longest or self.bad & rules.keys():
            raise Refused(text="no", status=400)
        self.draft = {**self.draft, **rules} if self.merges else rules

    def single(self, name, body):
        self.singles += 1
        if name in self.bad:
            raise Refused(text="no", status=400)
        self.draft[name] = body

    def post(self, path, body):
        if body.get("command") == "publish":
            assert body["name"] == DRAFT
            self.published, self.draft = self.draft, None
            self.publishes += 1
            return
        if body["name"] in self.draft:
            raise Conflict(text="exists", status=409)
        self.single(body["name"], body)

    def delete(self, path):
        if not (name := self._name(path)):
            self.draft = None
            return
        self.singles += 1
        if self.draft.pop(name, None) is None:
            raise NotFound(text="not found", status=404)

    def get(self, path):
        assert path.endswith("/rules")
        return {"items": [
            {"name": name, "ordinal": rule.get("ordinal")} for name, rule in self.draft.items()]}

    @staticmethod
    def _name(path) -> str:
        return unquote(path.partition("/rules/")[2])


def rule(number: int, pool: str = "/Common/a") -> Rule:
    host = f"h{number}.com"
    condition = Condition("httpHost", "host", "equals", frozenset({host}))
    return Rule(POLICY.path, f"openshift_route_ns_r{number}", 1, frozenset({condition}), Forward(pool),
                ordinal=1000 + number, hosts=frozenset({host}))


def create(count: int, *, start: int = 0) -> list[Change[Rule]]:
    return [Change(CREATE, None, rule(start + number)) for number in range(count)]


def writer(device: Device, known=(), *, enough=lambda: False, obstacle=lambda change: None) -> PolicyWriter:
    blame = Blame(lambda: None)
    policies = PolicyWriter(
        device, checkpoint=lambda: None, enough=enough, obstacle=obstacle,
        attempt=lambda change, write: obstacle(change) or blame.attempt(change.ref, write),
        contents=lambda path: (POLICY, list(known)), clock=device.clock,
        describe=lambda obj: "")
    policies.update_from(SimpleNamespace(facts=DeviceFacts((12, 1)), legacy=(), drafts=()))
    return policies


def failed(results) -> set[str]:
    return {change.obj.name for change, error in results if error is not None}


@st.composite
def situations(draw):
    there = draw(st.integers(0, 20))
    old = [rule(number) for number in range(there)]
    gone = draw(st.sets(st.integers(0, there - 1))) if there else set()
    changed = (draw(st.sets(st.integers(0, there - 1))) if there else set()) - gone
    changes = [
        *(Change(UPDATE, old[n], rule(n, "/Common/b")) for n in sorted(changed)),
        *create(draw(st.integers(1, 60)), start=100),
        *(Change(DELETE, old[n], None) for n in sorted(gone)),
    ]
    bad = draw(st.sets(st.sampled_from([c.obj.name for c in changes if c.verb == CREATE]), max_size=8))
    return old, changes, bad, draw(st.integers(1, 120)), draw(st.booleans())


@settings(max_examples=examples(60), deadline=None)
@given(situations())
def test_whatever_is_refused_the_rest_is_written(situation):
    """However long a list may be, and whether it replaces the Rules or is merged into them."""
    old, changes, bad, longest, merges = situation
    device = Device(old, bad=bad, longest=longest, merges=merges)
    results = writer(device, old).write(changes)
    assert {change.ref for change, _ in results} == {change.ref for change in changes}
    assert failed(results) == bad
    wanted = {obj.name: policy_codec.encode_rule(obj) for obj in old}
    for change in changes:
        wanted.pop(change.obj.name, None)
        if change.new and change.obj.name not in bad:
            wanted[change.obj.name] = policy_codec.encode_rule(change.new)
    written = {name: {"name": name, **body} for name, body in device.published.items()}
    assert {name: written[name] for name in written if name != names.NOOP_RULE} == wanted
    assert device.draft is None
    # What a merge leaves is deleted alone.
    deletes = sum(change.verb == DELETE for change in changes)
    assert device.writes <= len(changes) + len(changes).bit_length() + 1 + merges * deletes


@pytest.mark.parametrize(("count", "bad", "longest", "most"), [
    (1000, [], 10**6, 2), (1000, [700], 10**6, 30), (1000, [0], 10**6, 30), (1000, [999], 10**6, 30),
    (1000, [100, 500, 900], 10**6, 80), (1000, [], 10, 1011), (1000, [], 300, 750),
    (1000, range(1000), 10**6, 1011), (9000, [], 10**6, 5),
], ids=["none", "one", "first", "last", "three", "short lists", "lists of 300", "all", "many"])
def test_requests_of_a_load(count, bad, longest, most):
    """Beside the draft and its publishing."""
    device = Device(bad={rule(number).name for number in bad}, longest=longest)
    assert len(failed(writer(device).write(create(count)))) == len(list(bad))
    assert device.writes <= most, (device.lists, device.singles)
    assert device.publishes == min(count - len(list(bad)), 1)
    assert len(device.published) == 1 + count - len(list(bad))


@pytest.mark.parametrize(("count", "there"), [(1, 0), (LEAST - 1, 0), (LEAST, SHARE * LEAST)])
def test_few_changes_go_alone(count, there):
    old = [rule(10_000 + number) for number in range(there)]
    device = Device(old)
    writer(device, old).write(create(count))
    assert (device.lists, device.singles) == ([], count)


def test_lists_of_a_slow_device_are_short():
    """It would stop waiting after a minute: none takes as long."""
    device = Device(seconds_a_rule=0.02)
    policies = writer(device)
    assert failed(policies.write(create(4000))) == set()
    assert max(device.lists) == FIRST  # 20 s
    assert device.singles > 3000
    assert len(device.published) == 4001


def test_a_list_without_a_usable_reply():
    """The draft goes, and nothing is confirmed; the next time the Rules are written alone."""
    device = Device()
    policies = writer(device)
    device.error = DeviceTimeout(text="time-out", status=500)
    device.error.may_have_applied = True
    (change, error), = policies.write(create(20))
    assert error is device.error
    assert device.draft is None
    assert (change.obj.name, device.publishes) == ("openshift_route_ns_r0", 0)
    device.error = None
    assert failed(policies.write(create(20))) == set()
    assert (device.lists, device.singles, len(device.published)) == ([21], 20, 21)


def test_a_list_that_comes_late():
    """One whose reply was lost takes effect in the next draft: what it undoes is written again."""
    device = Device()
    policies = writer(device)
    device.error = DeviceTimeout(text="time-out", status=500)
    device.error.may_have_applied = True
    policies.write(create(20))
    device.error = None
    late = {rule["name"]: rule for rule in map(policy_codec.encode_rule, (c.obj for c in create(10)))}
    on_time = device.single

    def overtaken(name, body):
        on_time(name, body)
        if name.endswith("_r15"):
            device.draft, device.single = dict(late), on_time

    device.single = overtaken
    assert failed(policies.write(create(20))) == set()
    assert set(device.published) >= {change.obj.name for change in create(20)}


@pytest.mark.parametrize("unknown", ["a rule of somebody else", "one of ours is gone"])
def test_no_list_unless_all_rules_are_known(unknown):
    """It would remove what others have put there since the last reading."""
    old = [rule(1), rule(2)]
    device = Device(old)
    if unknown.startswith("a rule"):
        device.published["mine"] = {"ordinal": 5}
    else:
        del device.published[rule(2).name]
    before = set(device.published)
    writer(device, old).write(create(20, start=10))
    assert (device.lists, device.singles) == ([], 20)
    assert set(device.published) >= before


def test_a_publish_that_is_refused():
    """Both halves are written; the list of the second one has the first."""
    device = Device()
    policies, post = writer(device), device.post
    bad = rule(17).name

    def refusing(path, body):
        if body.get("command") == "publish" and bad in device.draft:
            raise Refused(text="no", status=400)
        return post(path, body)

    device.post = refusing
    assert failed(policies.write(create(40))) == {bad}
    assert len(device.published) == 1 + 39


def test_an_overtaking_rule_is_left_out():
    device, blocked = Device(), rule(5).name
    error = Unconfirmed(text="before it")
    policies = writer(device, obstacle=lambda change: error if change.obj.name == blocked else None)
    results = policies.write(create(20))
    assert failed(results) == {blocked}
    assert device.lists == [20]
    assert blocked not in device.published


def test_enough():
    """Rules that were sent are published; the rest is not in the results."""
    device = Device(longest=500)
    policies = writer(device, enough=lambda: bool(device.draft and len(device.draft) > 400))
    results = policies.write(create(1000))
    assert failed(results) == set()
    assert 400 < len(results) < 600
    assert len(device.published) == 1 + len(results)
