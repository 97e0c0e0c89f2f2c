"""The chain of a Route, step by step, and the first broken one."""

import dataclasses

from f5router.model import findings, texts
from f5router.model.findings import Link, finding
from f5router.views import chain
from f5router.views.nodes import NodeView, WayView
from f5router.views.requests import State
from f5router.views.route_view import (
    DOWN,
    UP,
    MemberView,
    PoolView,
    RouteView,
    RuleView,
    ServiceView,
    Status,
    VirtualServerView,
)
from tests.rows import rows


def member(number: int, health: str = UP, **fields) -> MemberView:
    return MemberView(**{"address": f"10.1.1.{number}", "port": 80, "ratio": 1, "session": "enabled",
                         "health": health, "state": State.IN_PLACE, **fields})


CODES = {Link.ROUTE: findings.CLAIMED, Link.VIRTUAL_SERVER: findings.SERVER_MISSING,
         Link.RULE: findings.RULE_NOT_IN_PLACE, Link.POOL: texts.NO_ENDPOINTS,
         Link.MEMBER: findings.MEMBER_NOT_IN_PLACE, Link.NODE: findings.NODE_NOT_REACHED}


POOL = PoolView("/Common/p", "round-robin", "/Common/tcp", (member(1), member(10)), State.IN_PLACE)
ROUTE = RouteView(
    "shop", "a", "Route", "a", "", "a.com", "", "segments", "", "Allow", Status.ADMITTED, "", "", "", "",
    (ServiceView("web", "", 100),), (), (), (VirtualServerView("/Common/v", "10.0.0.1", 80, exists=True),),
    None, (RuleView("r", "/Common/policy", "host is a.com", "pool /Common/p", State.IN_PLACE),
           RuleView("r-1", "/Common/policy", "", "pool /Common/p", State.IN_PLACE)), POOL, (), (), ())


def view(*problems: tuple[Link, str, str], **fields) -> RouteView:
    """Args: problems: link, object of the link, and text."""
    listed = tuple(finding(link, CODES[link], text, at=at) for link, at, text in problems)
    return dataclasses.replace(ROUTE, problems=listed, **fields)


def test_steps():
    steps = chain.steps(ROUTE)
    assert [step.name for step in steps] == [
        "object", "admission", "virtual server", "rule", "rule", "pool", "member", "member"]
    assert steps[4].text == "r-1 in /Common/policy: every request -> pool /Common/p"
    assert chain.first_broken(steps) is None
    assert chain.to_do(ROUTE) == ""


@rows(("path", "match", "text"), [
    ("", "segments", "all paths"), ("/", "text", "all paths"), ("/", "exact", "path / alone"),
    ("/api", "segments", "path /api and all below"), ("/api", "text", "paths that begin with /api"),
    ("/api", "exact", "path /api alone"),
])
def test_paths(path, match, text):
    first, *_ = chain.steps(view(path=path, path_match=match))
    assert first.text == f"Route shop/a, host a.com, {text}"


def test_a_rule_that_leads_nowhere_on_purpose():
    rule = RuleView("r", "/Common/openshift_insecure_routes", "", "pool /Common/openshift_nowhere",
                    State.IN_PLACE)
    (step,) = [step for step in chain.steps(view(rules=(rule,))) if step.name == "rule"]
    assert step.text.endswith("openshift_nowhere, 503 on purpose: this Route is not served over HTTP")


@rows(("problem", "number", "to_do"), [
    ((Link.ROUTE, "", "X: y"), 1, "use another host"),
    ((Link.VIRTUAL_SERVER, "/Common/v", "/Common/v is not there"), 2, "--f5-http-vserver"),
    ((Link.RULE, "r in /Common/policy", "r in /Common/policy: it differs on the BIG-IP"), 3, "kubectl logs"),
    ((Link.RULE, "r-1 in /Common/policy", "it differs on the BIG-IP"), 4, "kubectl logs"),
    ((Link.POOL, "/Common/p", "/Common/p has no members"), 5, "-n shop"),
    ((Link.MEMBER, "10.1.1.1 port 80", "10.1.1.1 port 80 is not on the BIG-IP"), 6, "writes it at once"),
])
def test_a_problem_stands_at_its_step(problem, number, to_do):
    """Once: 10.1.1.1 is not 10.1.1.10, nor is the Rule r the Rule r-1."""
    route = view(problem)
    steps = chain.steps(route)
    assert [at for at, step in enumerate(steps) if step.problems] == [number] == [chain.first_broken(steps)]
    assert to_do in chain.to_do(route)


def test_what_to_do():
    """A finding that loses requests comes first; the page has more of it."""
    problems = ((Link.MEMBER, "10.1.1.1 port 80", "down"), (Link.ROUTE, "", "HostAlreadyClaimed: taken"))
    assert chain.to_do(view(*problems)) == (
        "use another host or path, or have the other object removed (docs/findings.md#hostalreadyclaimed)")


def test_fewer_pods_break_nothing():
    route = view((Link.MEMBER, "10.1.1.1 port 80", "10.1.1.1 port 80 is not on the BIG-IP"))
    assert route.is_served
    assert [step.is_broken for step in chain.steps(route)] == [False] * 8


def test_the_first_of_several():
    route = view((Link.RULE, "r in /Common/policy", "gone"), (Link.POOL, "/Common/p", "gone"))
    assert chain.first_broken(chain.steps(route)) == 3
    assert "kubectl logs" in chain.to_do(route)


def test_a_rejected_route_ends_there():
    route = view((Link.ROUTE, "", "HostAlreadyClaimed: x"), status=Status.REJECTED,
                 reason="HostAlreadyClaimed", message="x", pool=None, rules=())
    assert [(step.name, step.text) for step in chain.steps(route)][-1] == ("admission", "rejected")


def test_members_are_bounded_and_broken_ones_come_first():
    members = (*(member(number) for number in range(1, 31)), member(40, DOWN))
    steps = chain.steps(view((Link.MEMBER, "10.1.1.40 port 80", "10.1.1.40 port 80 is down"),
                             pool=dataclasses.replace(POOL, members=members)))
    listed = [step for step in steps if step.name == "member"]
    assert len(listed) == chain.MOST_MEMBERS + 1
    assert (listed[0].text, listed[0].problems[0].text) == (
        "10.1.1.40 port 80, down", "10.1.1.40 port 80 is down")
    assert listed[-1].text == "and 11 more"


def test_a_node_of_members():
    pool = dataclasses.replace(POOL, members=(member(1, node="n1", node_problem="the Node is not ready"),))
    steps = chain.steps(view((Link.NODE, "n1", "n1: the Node is not ready"), pool=pool))
    assert [(step.name, step.text, step.problems[0].text) for step in steps if step.problems] == [
        ("Node", "n1", "n1: the Node is not ready")]


@rows(("state", "problems"), [
    (State.IN_PLACE, ()), (State.MISSING, ("it is not on the BIG-IP",)),
    (State.DIFFERS, ("it differs on the BIG-IP",)), (State.REFUSED, ("it is refused",))])
def test_the_way_to_a_node(state, problems):
    node = NodeView("n1", ("10.0.0.1",), True, True, "", ("10.1.0.0/24",),
                    (WayView("static route", "10.1.0.0/24", "10.0.0.1", state),))
    steps = chain.of_node(node)
    assert [step.name for step in steps] == ["Node", "pods", "static route"]
    assert tuple(problem.text for problem in steps[-1].problems) == problems
