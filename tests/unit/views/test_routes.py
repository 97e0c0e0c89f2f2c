"""Views of Routes: what is shown of each, and what is broken."""

import datetime
from dataclasses import fields, replace

import pytest

from f5router.admission.condition import Verdict
from f5router.model import header_actions, http_edge
from f5router.model.cluster import Key, Origin
from f5router.model.errors import Refused
from f5router.model.findings import Link
from f5router.model.limits import finish
from f5router.model.ltm import Pool, Rule
from f5router.model.net import FDBRecord
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions
from f5router.network.vxlan import VxlanConfig
from f5router.views import certificates, nodes, records, routes, snapshots
from f5router.views.nodes import Locator
from f5router.views.records import Known
from f5router.views.requests import State
from f5router.views.route_view import DISABLED, DOWN, UP, RouteState, Status
from tests import builders
from tests.builders import Settings, endpoints, host_subnet, identity, node, route, service
from tests.unit.views.bench import Bench

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
A, POOL = Key("shop", "a"), Ref(Pool.KIND, "/Common/openshift_shop_web")
PODS = (service(), endpoints("10.129.0.5", "10.129.0.6"))
VXLAN = Settings(vxlan=(VxlanConfig("10.3.89.213", "10.131.0.5/14"),))


def view(bench: Bench, key: Key = A, known: Known | None = None, health=None, *, now=NOW):
    located = Locator(map(nodes.view, finish(snapshots.nodes(bench))))
    return routes.view(snapshots.route(bench, key, known), now, located, health)


def test_all_of_a_served_route():
    pair = identity("www.example.com")
    own = route("a", kind="edge", path="/shop", insecure="Redirect",
                certificate=pair.certificate, key=pair.key)
    shown = view(Bench(own, *PODS), known=Known(Verdict(True), 0.0))
    assert (shown.namespace, shown.id, shown.kind, shown.name) == ("shop", "a", "Route", "a")
    assert (shown.host, shown.path, shown.termination, shown.insecure) == (
        "www.example.com", "/shop", "edge", "Redirect")
    assert (shown.status, shown.reason, shown.since) == (Status.ADMITTED, "", "1970-01-01T00:00:00Z")
    assert [server.port for server in shown.virtual_servers] == [443, 80]
    assert {rule.action for rule in shown.rules} == {f"pool {POOL.path}", "redirect 302 to https"}
    assert {rule.conditions for rule in shown.rules} == {
        "host is www.example.com, path begins with /shop, path segment 1 is shop"}
    assert [(member.address, member.state) for member in shown.pool.members] == [
        ("10.129.0.5", State.IN_PLACE), ("10.129.0.6", State.IN_PLACE)]
    assert shown.certificate.names == ("www.example.com",)
    assert [service.name for service in shown.services] == ["web"]
    assert shown.problems == ()
    assert any(each.kind == "ltm/profile/client-ssl" for each in shown.objects)


def test_a_passthrough_route_and_its_record():
    shown = view(Bench(route("a", kind="passthrough"), *PODS))
    (rule,) = shown.rules
    assert (rule.conditions, rule.action) == ("server name is www.example.com", f"pool {POOL.path}")
    assert (shown.certificate, shown.problems) == (None, ())


def test_the_source_object_of_a_virtual_route():
    virtual = replace(route("-i-0123.a"), origin=Origin("Ingress", A, "spec.rules[0]"))
    shown = view(Bench(virtual, *PODS), virtual.key)
    assert (shown.kind, shown.name, shown.field, shown.id) == ("Ingress", "a", "spec.rules[0]", "-i-0123.a")


@pytest.mark.parametrize(("spoil", "link", "text"), [
    pytest.param(lambda b: b.device.observed.pop(b.rule(A)), Link.RULE, "not on the BIG-IP", id="no rule"),
    pytest.param(lambda b: b.refuse(b.rule(A), Refused(text="no", status=400)), Link.ROUTE, "DeviceRejected",
                 id="a refused rule"),
    pytest.param(lambda b: b.device.observed.pop(POOL), Link.POOL, "not on the BIG-IP", id="no pool"),
    pytest.param(lambda b: b.device.observed.update({POOL: replace(b.engine.objects[POOL], members=frozenset(
        list(b.engine.objects[POOL].members)[:1]))}), Link.MEMBER, "not on the BIG-IP", id="no member"),
])
def test_the_first_broken_link(spoil, link, text):
    bench = Bench(route("a"), *PODS)
    assert view(bench).problems == ()
    spoil(bench)
    problem = view(bench).problems[0]
    assert problem.link == link
    assert text in problem.text


def test_a_rejected_route_has_its_reason_and_no_other_problem():
    bench = Bench(route("a"), route("b", age=9, namespace="other"), *PODS)
    shown = view(bench, Key("other", "b"))
    assert (shown.status, shown.reason, shown.pool) == (Status.REJECTED, "HostAlreadyClaimed", None)
    assert [problem.link for problem in shown.problems] == [Link.ROUTE]


def test_no_pods_and_health_of_members():
    assert [problem.link for problem in view(Bench(route("a"), service())).problems] == [Link.POOL]
    shown = view(Bench(route("a"), *PODS), health={("10.129.0.5", 8080): DOWN, ("10.129.0.6", 8080): UP})
    assert [member.health for member in shown.pool.members] == [DOWN, UP]
    assert [problem.link for problem in shown.problems] == [Link.MEMBER]


@pytest.mark.parametrize(("name", "problem"), [
    pytest.param("other.example.com", "not for www.example.com", id="another name"),
    pytest.param("*.example.com", "", id="a wildcard"),
    pytest.param("*.com", "not for", id="a wildcard is one label"),
])
def test_names_of_the_certificate(name, problem):
    pair = identity(name)
    own = route("a", kind="edge", certificate=pair.certificate, key=pair.key)
    shown = view(Bench(own, *PODS))
    assert problem in shown.certificate.problem
    assert [each.link for each in shown.problems] == ([Link.CERTIFICATE] if problem else [])


def test_validity_of_the_certificate():
    pair = identity("www.example.com")
    bench = Bench(route("a", kind="edge", certificate=pair.certificate, key=pair.key), *PODS)
    late, early = (view(bench, now=NOW.replace(year=year)).certificate for year in (2099, 1999))
    assert "expired" in late.problem
    assert late.days_left < 0
    assert "not valid before" in early.problem


def test_the_node_of_a_member():
    bench = Bench(route("a"), *PODS, node("n1", "192.168.1.1"), host_subnet("n1", "192.168.1.1"),
                  config=VXLAN)
    shown = view(bench)
    assert {member.node for member in shown.pool.members} == {"n1"}
    assert {member.vtep for member in shown.pool.members} == {"192.168.1.1"}
    bench.device.observed.pop(bench.ref(FDBRecord.KIND))
    assert [problem.link for problem in view(bench).problems] == [Link.NODE]
    assert "FDB record 0a:0a:c0:a8:01:01" in view(bench).problems[0].text


def test_a_route_that_waits():
    shown = view(Bench(route("a", kind="edge", external_certificate="tls"), *PODS))
    assert (shown.status, shown.reason) == (Status.PENDING, "DevicePending")
    assert "Secret tls" in shown.message


def test_known_verdicts_are_taken_and_gone_routes_left_out():
    bench = Bench(route("a"), route("b", path="/b"), *PODS)
    known = {A: Known(Verdict(False, "Word", "text"), 1.0)}
    taken = finish(snapshots.routes(bench, [A, Key("shop", "b"), Key("shop", "gone")], known))
    assert [routes.view(record, NOW).status for record in taken] == [Status.REJECTED, Status.PENDING]
    assert snapshots.route(bench, Key("shop", "gone")) is None


def test_options_have_words_and_no_values_of_headers():
    of_no_team = {"unbound_by_rules"}
    assert set(certificates.OPTION_FIELDS.values()) == {
        field.name for field in fields(RouteOptions)} - of_no_team
    action = header_actions.encode_set("X-Token", "hush", side=header_actions.REQUEST)
    chosen = RouteOptions(timeout_ms=5000, check_interval_ms=1500, disable_cookies=True,
                          sources=("10.0.0.0/8", "::1/128"), request_actions=(action,),
                          reply=http_edge.encode_redirect(301, "https", "", 0))
    shown = dict(certificates.options_in_force(replace(route("a"), options=chosen)))
    assert shown == {"timeout": "5 s", "check interval": "1500 ms", "session cookies off": "yes",
                     "allowed clients": "10.0.0.0/8, ::1/128", "request headers": "set X-Token",
                     "answer of the BIG-IP": "301, to https on the same host"}
    assert certificates.options_in_force(route("a")) == ()


def test_nothing_secret_is_in_a_view():
    pair = identity("www.example.com")
    own = route("a", kind="edge", certificate=pair.certificate, key=pair.key)
    assert "PRIVATE" not in repr(view(Bench(own, *PODS)))


def test_addresses_are_found_in_their_networks():
    taken = [builders.node("n1", "192.168.1.1", "fc00::1", pod_cidrs=("10.1.0.0/24", "fd00::/64")),
             builders.node("n2", "192.168.1.2", pod_cidrs=("10.1.1.0/24", "wrong"))]
    locator = Locator(nodes.view(records.NodeRecord(each, None)) for each in taken)
    nodes_of = [locator.node_of(address) for address in (
        "10.1.0.9", "10.1.1.255", "10.1.2.0", "fd00::9", "fd01::", "192.168.1.2", "text", "0.0.0.0")]
    assert [each.name if each else "" for each in nodes_of] == ["n1", "n2", "", "n1", "", "n2", "", ""]


@pytest.mark.parametrize(("given", "state"), [
    pytest.param({}, RouteState.SERVED, id="all is well"),
    pytest.param({"health": {("10.129.0.5", 8080): DOWN}}, RouteState.WARNED, id="one of two is down"),
    pytest.param({"health": {("10.129.0.5", 8080): DOWN, ("10.129.0.6", 8080): DISABLED}},
                 RouteState.UNANSWERED, id="one is down, the other disabled"),
    pytest.param({"active": 0}, RouteState.UNANSWERED, id="none is active"),
    pytest.param({"active": 1}, RouteState.SERVED, id="one is active"),
    pytest.param({"server": {"enabled": False}}, RouteState.UNANSWERED, id="disabled virtual server"),
    pytest.param({"server": {"exists": False}}, RouteState.UNANSWERED, id="no virtual server"),
    pytest.param({"without": Rule.KIND}, RouteState.FAILING, id="a rule is missing"),
    pytest.param({"without": Pool.KIND}, RouteState.FAILING, id="the pool is missing"),
    pytest.param({"verdict": Verdict(False, "HostAlreadyClaimed", "x")}, RouteState.REJECTED, id="rejected"),
    pytest.param({"verdict": Verdict(False, "DeviceRejected", "x")}, RouteState.DEVICE_REJECTED,
                 id="refused"),
    pytest.param({"verdict": Verdict(None, "DevicePending", "x")}, RouteState.PENDING, id="pending")])
def test_the_state_of_a_route(given, state):
    """Served, and nothing answers, is a state of its own: everything that the router writes is in place."""
    bench = Bench(route("a"), *PODS)
    bench.device.observed = {ref: obj for ref, obj in bench.device.observed.items()
                             if ref.kind != given.get("without")}
    record = snapshots.route(bench, A, Known(given.get("verdict", Verdict(True)), 0.0))
    record = replace(record, http=replace(record.http, **given.get("server", {})))
    shown = routes.view(record, NOW, health=given.get("health"), active=given.get("active"))
    assert shown.state is state
    assert routes.summary(shown).state is state
    assert shown.is_served == (state in (RouteState.SERVED, RouteState.WARNED))


def test_an_object_of_another_namespace_than_its_services():
    """It is named as people know it: an HTTPRoute by its own namespace."""
    served = replace(route("a"), origin=Origin("HTTPRoute", Key("infra", "web"), claimant=Key("infra", "gw")))
    bench = Bench(served, *PODS)
    record = snapshots.route(bench, A)
    assert record is not None
    shown = routes.view(record, NOW)
    assert (shown.label, shown.source, shown.claimant) == ("infra/web", Key("infra", "web"), "infra/gw")
    assert routes.summary(shown).source == Key("infra", "web")
