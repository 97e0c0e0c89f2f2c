"""A Rule or record does not get the requests of a more specific one whose write is not confirmed."""

from dataclasses import replace

import pytest

from f5router.model import names
from f5router.model.errors import NotFound, Refused, Unconfirmed
from f5router.model.ltm import Pool, Record, Redirect, Rule
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from f5router.plan.rule_order import UncertainWrites
from tests.rows import rows

ERROR = Unconfirmed("POST", "/x", "no reply")
GROUP = "/Common/ssl_passthrough_servername_dg"


def rule(host: str, path: str = "", *, policy: str = "p", name: str = "r") -> Rule:
    wildcard = host.startswith("*")
    band = names.priority_band(path, labels=host.count(".") if wildcard else 0)
    return Rule(policy, name, band, frozenset(), Redirect("https://x"), hosts=frozenset({host}),
                suffix=host[1:] if wildcard else "")


def record(name: str, group: str = GROUP) -> Record:
    return Record(group, name, "/Common/pool")


def create(obj) -> Change:
    return Change(CREATE, None, obj)


OVERTAKES = [
    (rule("a.com", "/api"), rule("a.com", "/api/v2"), True),
    (rule("a.com"), rule("a.com", "/api"), True),
    (rule("a.com", "/api/v2"), rule("a.com", "/api"), False),
    (rule("a.com", "/api", name="q"), rule("a.com", "/api"), False),
    (rule("a.com"), rule("b.com", "/api"), False),
    (rule("a.com", policy="q"), rule("a.com", "/api"), False),
    (rule("*.a.com"), rule("x.a.com"), True),
    (rule("*.a.com"), rule("x.a.com", "/api"), True),
    (rule("*.a.com"), rule("a.com"), False),
    (rule("*.a.com"), rule("xa.com"), False),
    (rule("x.a.com"), rule("*.a.com"), False),
    (rule("*.com"), rule("*.a.com"), True),
    (rule("*.a.com"), rule("*.a.com", "/api"), True),
    (rule("*.a.com"), rule("*.com"), False),
    (rule("*"), rule("a.com", "/api"), True),
    (rule("a.com", "/api"), rule("*"), False),
    (record(".a.com"), record("x.a.com"), True),
    (record(".com"), record(".a.com"), True),
    (record(".a.com"), record(".a.com"), False),
    (record(".a.com"), record("a.com"), False),
    (record("x.a.com"), record(".a.com"), False),
    (record("y.a.com"), record("x.a.com"), False),
    (record(".a.com", "other"), record("x.a.com"), False),
    (rule("*.a.com"), record("x.a.com"), False),
    (rule("a.com"), Pool("/Common/p"), False),
    (Pool("/Common/p"), rule("a.com"), False),
]


@rows(("obj", "doubted", "overtakes"), OVERTAKES)
def test_what_waits(obj, doubted, overtakes):
    known = UncertainWrites()
    known.note(create(doubted), ERROR)
    assert (known.obstacle(create(obj)) is ERROR) == overtakes


def test_of_several_the_most_specific_counts():
    known = UncertainWrites()
    known.note(create(rule("a.com", "/api")), ERROR)
    known.note(create(rule("a.com", "/api/v2")), ERROR)
    assert known.obstacle(create(rule("a.com", "/api"))) is ERROR
    assert known.obstacle(create(rule("a.com", "/api/v2/x"))) is None


@pytest.mark.parametrize(("change", "error"), [
    (create(rule("a.com", "/api")), Refused("POST", "/x", "no")),
    (create(rule("a.com", "/api")), None),
    (Change(UPDATE, rule("a.com", "/api"), rule("a.com", "/api")), ERROR),
    (Change(DELETE, rule("a.com", "/api"), None), ERROR),
])
def test_nothing_waits_for_what_is_decided_or_there(change, error):
    known = UncertainWrites()
    known.note(change, error)
    assert known.obstacle(create(rule("a.com"))) is None


def test_an_object_that_is_said_not_to_be_there():
    known, error = UncertainWrites(), NotFound("POST", "/x", "not found")
    known.note(create(rule("a.com", "/api")), error)
    assert known.obstacle(create(rule("a.com"))) is error


def test_only_what_is_new_waits():
    known = UncertainWrites()
    known.note(create(rule("a.com", "/api")), ERROR)
    assert known.obstacle(Change(UPDATE, rule("a.com"), rule("a.com"))) is None


def test_nothing_waits_for_what_was_tried_often():
    known = UncertainWrites(soon=lambda ref: False)
    known.note(create(rule("a.com", "/api")), ERROR)
    assert known.obstacle(create(rule("a.com"))) is None


LEFT = [
    (rule("a.com"), "a.com", True),
    (rule("*.com"), "a.com", True),
    (rule("*.com"), "*.a.com", True),
    (rule("b.com"), "a.com", False),
    (rule("a.com", policy="q"), "a.com", False),
]


@pytest.mark.parametrize(("stays", "host", "waits"), LEFT)
def test_what_leaves_waits_for_a_rule_that_could_not_be_deleted(stays, host, waits):
    known, old = UncertainWrites(), rule(host, "/api")
    move = Change(UPDATE, old, replace(old, suffix=".org"))
    known.note(Change(DELETE, stays, None), ERROR)
    assert known.obstacle(move) is None  # a late delete comes after it
    known.note(Change(DELETE, stays, None, early=True), ERROR)
    assert (known.obstacle(move) is ERROR) == waits
    assert known.obstacle(Change(UPDATE, old, replace(old, action=Redirect("https://y")))) is None
