"""Last line and exit status of a preflight."""

import json

import pytest

from f5router.model.cluster import Key
from f5router.model.ltm import Pool
from f5router.plan import changes
from f5router.plan.change import Change
from f5router.plan.changes import GroupedProblem, Preview, RejectedRoute

ONE, TWO = Pool("/Common/one"), Pool("/Common/two")
CREATE, UPDATE, DELETE = Change("create", None, ONE), Change("update", ONE, ONE), Change("delete", TWO, None)
ROUTE = RejectedRoute(Key("shop", "a"), "HostAlreadyClaimed", "taken")
PROBLEM = GroupedProblem("it is missing")
NOTHING, SOME = (), (CREATE, CREATE, UPDATE, DELETE)


@pytest.mark.parametrize(("preview", "plain", "detailed"), [
    pytest.param(Preview(NOTHING), 0, 0, id="nothing to do"),
    pytest.param(Preview(SOME), 0, 2, id="changes"),
    pytest.param(Preview(NOTHING, rejected=(ROUTE,)), 0, 0, id="rejected Routes"),
    pytest.param(Preview(SOME, rejected=(ROUTE,)), 0, 2, id="changes and rejected Routes"),
    pytest.param(Preview(NOTHING, warnings=("x",)), 0, 0, id="warnings"),
    pytest.param(Preview(NOTHING, (PROBLEM,)), 1, 1, id="problem"),
    pytest.param(Preview(SOME, (PROBLEM,)), 1, 1, id="changes and a problem"),
    pytest.param(Preview(None, (PROBLEM,)), 1, 1, id="no plan"),
])
def test_exit_status(preview, plain, detailed):
    assert (preview.exit_status(), preview.exit_status(detailed=True)) == (plain, detailed)


@pytest.mark.parametrize(("preview", "expected"), [
    pytest.param(Preview(NOTHING),
                 "Plan: 0 to create, 0 to change, 0 to delete; 0 Routes rejected; 0 problems.",
                 id="nothing"),
    pytest.param(Preview(SOME, (PROBLEM,), (ROUTE, ROUTE)),
                 "Plan: 2 to create, 1 to change, 1 to delete; 2 Routes rejected; 1 problem.",
                 id="everything"),
    pytest.param(Preview(None, (PROBLEM, PROBLEM)), "No plan; 2 problems.", id="nothing known"),
    pytest.param(Preview(None, (PROBLEM, PROBLEM), (ROUTE,)), "No plan; 1 Route rejected; 2 problems.",
                 id="no plan"),
])
def test_summary(preview, expected):
    assert changes.summary(preview) == expected
    assert changes.as_text(preview).plain.splitlines()[-1] == expected


@pytest.mark.parametrize(("preview", "says"), [
    pytest.param(Preview(NOTHING), "Nothing to do: the BIG-IP is in step with the cluster.", id="in step"),
    pytest.param(Preview(NOTHING, (PROBLEM,)), "No changes.", id="nothing that could be done"),
    pytest.param(Preview(NOTHING, rejected=(ROUTE,)), "Nothing to do: ", id="a team's mistake"),
])
def test_an_empty_plan(preview, says):
    """Only what is in step says so."""
    assert changes.as_text(preview).plain.startswith(says)


def test_no_empty_parts():
    """A part without anything has no heading."""
    assert changes.as_text(Preview(NOTHING)).plain.splitlines()[1:-1] == [""]
    assert "warning" not in changes.as_text(Preview(SOME, (PROBLEM,), (ROUTE,))).plain


def test_a_route_refers_to_its_problem():
    """A text that concerns many Routes is shown once."""
    keys = tuple(Key("shop", f"r{n}") for n in range(5))
    problem = GroupedProblem("an http profile is missing", (), keys)
    rejected = tuple(RejectedRoute(key, "DeviceRejected", problem.text) for key in keys)
    table = changes.as_text(Preview(SOME, (PROBLEM, problem), rejected)).plain
    assert table.count(problem.text) == 1
    assert [line.split() for line in table.splitlines() if "DeviceRejected" in line] == [
        [str(key), "DeviceRejected", "problem", "2"] for key in keys]


def test_json():
    """Everything that the table has."""
    shown = json.loads(changes.as_json(Preview(SOME, (PROBLEM,), (ROUTE,), {ROUTE.key: "gone"}, ("hm",))))
    assert [change["change"] for change in shown.pop("changes")] == ["create", "create", "update", "delete"]
    assert shown == {
        "lost": [{"route": "shop/a", "reason": "gone"}],
        "rejected": [{"route": "shop/a", "reason": "HostAlreadyClaimed", "message": "taken"}],
        "problems": [{"text": "it is missing", "objects": [], "routes": []}],
        "warnings": ["hm"],
        "summary": {"create": 2, "change": 1, "delete": 1, "rejected": 1, "problems": 1},
    }
