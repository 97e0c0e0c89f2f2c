"""Order of Changes, and what is left alone.

Longer than other modules: each rule of the order has its test, on the same states.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission.admission import AdmissionPolicy
from f5router.model import names, ownership, tls_names
from f5router.model.cluster import Route, RouteTLS
from f5router.model.device_facts import OriginalFacts
from f5router.model.ltm import (
    Attachment,
    CertFile,
    IRule,
    Policy,
    Pool,
    PoolMember,
    Record,
    Redirect,
    Rule,
    ServerSSL,
    attachment_ref,
    record_ref,
)
from f5router.model.objects import Ref
from f5router.model.route_options import HTTPSMonitor
from f5router.network.vxlan import VxlanConfig
from f5router.plan.change import CREATE, DELETE, UPDATE, Change, Plan
from f5router.plan.diff import diff, with_early_deletes
from f5router.reconcile.undetermined import Undetermined
from tests import strategies
from tests.builders import FACTS, Settings, endpoints, identity, route, snapshot
from tests.examples import examples
from tests.reference.full_build import build
from tests.serving import Request, answer

POLICY = "/Common/openshift_secure_routes"


def owns(obj):
    return ownership.owns("/Common", obj)


def built(*objects, config=None, facts=FACTS):
    """Desired of a cluster that holds these objects."""
    return dict(build(snapshot(*objects), config or Settings(), facts).objects)


def applied(state: dict, changes: Plan) -> dict:
    """The state after a Plan, as a device that refuses nothing has it."""
    after = dict(state)
    for change in changes:
        if change.verb == DELETE:
            del after[change.ref]
        else:
            after[change.ref] = change.new
    return after


CLUSTERS = st.lists(
    st.one_of(strategies.any_routes(), strategies.any_routes(), strategies.slices(), strategies.nodes(),
              strategies.secrets()),
    max_size=10, unique_by=lambda o: (type(o), o.key),
)
WILD, FREE = AdmissionPolicy(wildcards=True), AdmissionPolicy(wildcards=True, ownership=False)
CONFIGS = st.sampled_from([
    Settings(admission=WILD, vxlan=(VxlanConfig("10.3.89.213", "10.131.0.5/14"),), manage_snat=True),
    Settings(admission=WILD), Settings(admission=FREE), Settings(),
])


def step(state: dict, cluster, config) -> tuple[dict, Plan]:
    """Return a desired state and the plan that leads to it; objects that wait for Secrets are left out."""
    built = build(snapshot(*cluster), config, FACTS)
    changes = diff(built.objects, state, owns)
    return built.objects, Undetermined.of(built.undetermined, built.objects, state).split(changes, state)[0]


@settings(max_examples=examples(150), deadline=None)
@given(CLUSTERS, CLUSTERS, CONFIGS)
def test_a_plan_leads_to_desired_and_never_breaks_references(before, after, config):
    """At every intermediate step each object finds what it needs, and the second Plan is empty.

    An object that stays as it is may need something else afterwards than before, as a redirect whose Route
    becomes passthrough: either is enough. While a Secret is awaited, objects may only be found to be unused
    when the first Plan is through: the second Plan deletes them.
    """
    state = applied({}, step({}, before, config)[1])
    wanted, changes = step(state, after, config)
    for change in changes:
        state = applied(state, (change,))
        for obj in state.values():
            forms = [obj, wanted[obj.ref]] if wanted.get(obj.ref) == obj else [obj]
            missing = [[ref for ref in form.dependencies if ref not in state] for form in forms]
            assert [] in missing, (change, obj, missing)
    second = step(state, after, config)[1]
    if build(snapshot(*after), config, FACTS).undetermined:
        assert all(change.verb == DELETE for change in second)
        second = step(applied(state, second), after, config)[1]
    else:
        assert state == wanted
    assert not second


ASKED = ("www.example.com", "api.example.com", "x.example.com", "a.b", "x.b", "a.www.example.com", "x.y.b")
REQUESTS = [Request(host, path, tls) for host in ASKED for path in ("/", "/a", "/a/b", "/A")
            for tls in (False, True)]


def holders(cluster, config) -> dict[str, set[str]]:
    """By host that requests are for: namespaces that hold it, or its wildcard."""
    rejections = build(snapshot(*cluster), config, FACTS).rejections
    held: dict[str, set[str]] = {}
    for obj in cluster:
        if isinstance(obj, Route) and obj.key not in rejections:
            host = f"*.{obj.host.partition('.')[2]}" if obj.wildcard_policy == "Subdomain" else obj.host
            held.setdefault(host, set()).add(obj.key.namespace)
    return {host: held.get(host, set()) | held.get(f"*.{host.partition('.')[2]}", set())
            for host in ASKED}


def answers(state: dict) -> dict:
    return {request: answer(state, request) for request in REQUESTS}


@st.composite
def www(draw):
    """A host or the wildcard that covers it, of few names, so that both meet often."""
    wildcard = draw(st.booleans())
    return route(
        draw(strategies.choice("r1", "r2")), host="any.example.com" if wildcard else "www.example.com",
        wildcard=wildcard, kind=draw(strategies.choice("edge", "passthrough")), age=draw(st.integers(0, 4)),
        service=draw(strategies.choice("web", "api")), namespace=draw(strategies.NAMESPACES))


@st.composite
def changes(draw):
    """Routes before and after some of them came, went, or changed all but what requests they are for."""
    # "" and "/" are the same requests, but two Routes may hold them: either may answer.
    anyone = strategies.any_routes().map(lambda obj: replace(obj, path="") if obj.path == "/" else obj)
    routes = st.lists(st.one_of(anyone, www()), max_size=6, unique_by=lambda obj: obj.key)
    before = draw(routes)
    known = {obj.key: obj for obj in before}
    after = []
    for new in draw(routes):
        old = known.get(new.key)
        if old and new.tls and new.tls.termination == "passthrough" and old.path:
            continue
        after.append(replace(new, host=old.host, path=old.path, path_match=old.path_match,
                             wildcard_policy=old.wildcard_policy, created=old.created) if old else new)
    return before, after


@settings(max_examples=examples(100), deadline=None)
@given(changes(), CONFIGS, st.data())
def test_a_plan_never_leads_a_request_astray(clusters, config, data):
    """After every write, and after every write of the Plan that follows a crash in between: who is served
    before and after is served, in the same way if that is so; and nobody by a namespace that does not hold
    the host.
    """
    before, after = clusters
    begin = applied({}, step({}, before, config)[1])
    _, planned = step(begin, after, config)
    first, last = answers(begin), answers(applied(begin, planned))
    held = [holders(cluster, config) for cluster in clusters]

    def follow(state: dict, on_the_way: Plan) -> dict:
        for change in on_the_way:
            state = applied(state, (change,))
            for request, now in answers(state).items():
                seen = first[request], now, last[request]
                assert now or not (first[request] and last[request]), (change, request, seen)
                assert now == first[request] or first[request] != last[request], (change, request, seen)
                if now.removeprefix("passthrough ").startswith("/"):
                    allowed = held[0][request.host] | held[1][request.host]
                    assert names.pool_namespace(now) in allowed, (change, request, seen)
        return state

    follow(begin, planned)
    half = applied(begin, planned[:data.draw(st.integers(0, len(planned)))])
    end = follow(half, step(half, after, config)[1])
    assert answers(end) == last


def test_only_what_is_ours_is_deleted():
    ours = Pool("/Common/openshift_a_b")
    others = Pool("/Common/web"), Pool("/Common/sub/openshift_a_b")
    rule = Rule(POLICY, "maintenance", 1, frozenset(), Redirect("x"))
    observed = {obj.ref: obj for obj in (ours, *others, rule)}
    assert [(c.verb, c.ref) for c in diff({}, observed, owns)] == [(DELETE, ours.ref)]


def test_refs_bound_the_comparison():
    pool, other = Pool("/Common/openshift_a_b"), Pool("/Common/openshift_a_c")
    wanted = {obj.ref: obj for obj in (pool, other)}
    assert [c.ref for c in diff(wanted, {}, owns, [pool.ref])] == [pool.ref]


def test_members_come_before_everything_else():
    """A pod's address may belong to another tenant's pod a moment later."""
    pool = Pool("/Common/openshift_shop_web", "/Common/tcp", frozenset({PoolMember("10.9.9.9", 1)}))
    state = applied({}, diff(built(endpoints("10.1.1.1"), route("a")), {}, owns)) | {pool.ref: pool}
    wanted = built(endpoints("10.1.1.1"), route("a"), route("b", host="b.com", kind="edge", **identity().tls))
    changes = list(diff(wanted, state, owns))
    assert (changes[0].verb, changes[0].ref) == (UPDATE, pool.ref)


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        pytest.param(
            {"kind": "edge"},
            {"kind": ""},
            [(CREATE, "insecure"), (DELETE, "secure")],
            id="edge to unsecured: port 80 first",
        ),
        pytest.param(
            {"kind": ""},
            {"kind": "edge"},
            [(CREATE, "secure"), (DELETE, "insecure")],
            id="unsecured to edge: port 443 first",
        ),
        pytest.param(
            {"kind": ""},
            {"kind": "edge", "insecure": "Redirect"},
            [(CREATE, "secure"), (UPDATE, "insecure")],
            id="redirect only to what is served",
        ),
        pytest.param(
            {"kind": "edge", "insecure": "Redirect"},
            {"kind": ""},
            [(UPDATE, "insecure"), (DELETE, "secure")],
            id="redirect goes before its target",
        ),
        pytest.param(
            {"kind": "edge"},
            {"kind": "passthrough"},
            [(CREATE, "passthrough"), (DELETE, "secure")],
            id="edge to passthrough",
        ),
        pytest.param(
            {"kind": "passthrough", "insecure": "Redirect"},
            {"kind": "edge", "insecure": "Redirect"},
            [(CREATE, "secure"), (DELETE, "passthrough")],
            id="passthrough to edge",
        ),
        pytest.param(
            {"kind": "edge"}, {"kind": "edge", "path": "/a"}, [(UPDATE, "secure")], id="path in one write"
        ),
        pytest.param(
            {"kind": "edge"},
            {"kind": "edge", "host": "other.example.com"},
            [(UPDATE, "secure")],
            id="host in one write",
        ),
        pytest.param(
            {"kind": "edge", "path": "/a"},
            {"kind": "edge", "path": "/a//b"},
            [(UPDATE, "secure"), (CREATE, "secure")],
            id="one rule to two",
        ),
    ],
)
def test_a_changed_route_is_always_served(before, after, order):
    """Objects that route its requests, in the order of its writes."""
    pods = endpoints("10.1.1.1")
    state = applied({}, diff(built(route("a", **before), pods), {}, owns))
    changes = diff(built(route("a", **after), pods), state, owns)
    writes = [(c.verb, _entrance(c)) for c in changes if _entrance(c)]
    assert sorted(writes) == sorted(order)
    assert [verb == DELETE for verb, _ in writes] == [verb == DELETE for verb, _ in order]
    assert [e for v, e in writes if v != DELETE] == [e for v, e in order if v != DELETE]


TAKER = {"host": "www.example.com", "namespace": "bank", "age": 2}
MOVES = {
    "to another host": (route("r", path="/a", age=1), replace(route("r", path="/a", age=1), host="b.org"), 1),
    "to another path": (route("r", path="/a", age=1), route("r", path="/b", age=1), 0),
    "out of a subdomain": (route("r", age=1), route("r", host="www.example.org", age=1), 1),
}


@pytest.mark.parametrize(("old", "new", "taken"), MOVES.values(), ids=MOVES)
def test_a_rule_that_moves_leaves_its_requests_to_nobody_who_goes_too(old, new, taken):
    """The oldest Route moves away, and its namespace loses the Host: nobody gets what was for /a."""
    less = route("all", host="any.example.com", wildcard=True, age=3) if old.path == "" else route("w", age=3)
    before = [old, less, route("k", **TAKER, path="/x")]
    after = [new, *([less] if taken and less.wildcard_policy == "None" else []), before[2]]
    config, asked = Settings(admission=WILD), Request("www.example.com", "/a/c", False)
    state = applied({}, step({}, before, config)[1])
    plan = step(state, after, config)[1]
    first, last = answer(state, asked), answer(applied(state, plan), asked)
    assert (first, last) == ("/Common/openshift_shop_web", "")
    assert any(change.early for change in plan)
    for change in plan:
        state = applied(state, (change,))
        assert answer(state, asked) in (first, last)
        if change.verb == UPDATE and change.ref.path.endswith("_r"):
            first = last  # nobody has it from now on


def test_a_redirect_ends_before_its_target_goes_with_a_rule_that_moves():
    """Else clients who follow it would find nothing: their Route is no longer encrypted."""
    above, below = route("a", path="/a", kind="edge"), route("w", kind="edge", insecure="Redirect", age=1)
    state = applied({}, step({}, [above, below], Settings())[1])
    plan = step(state, [replace(above, host="new.example.com"), replace(below, tls=None)], Settings())[1]
    assert [change.obj.name for change in plan if change.early] == [names.rule(below.key)]
    for change in plan:
        state = applied(state, (change,))
        if answer(state, Request("www.example.com")) == "redirect":
            assert answer(state, Request("www.example.com", tls=True))
    assert answer(state, Request("www.example.com")) == "/Common/openshift_shop_web"


COVER = route("all", host="any.example.com", kind="passthrough", wildcard=True)
ENDED, PASSED = route("www", kind="edge", age=1), route("www", kind="passthrough", age=1)


@pytest.mark.parametrize(("before", "after", "order"), [
    pytest.param([COVER], [COVER, ENDED], ["create rule", "create www"], id="covered till then"),
    pytest.param([COVER, ENDED], [COVER], ["delete www", "delete rule"], id="covered from then on"),
    pytest.param([ENDED], [COVER, ENDED], ["create www", "create all"], id="the wildcard comes"),
    pytest.param([COVER, ENDED], [ENDED], ["delete all", "delete www"], id="the wildcard goes"),
    pytest.param([], [COVER, ENDED], ["create www", "create all", "create rule"], id="both come"),
    pytest.param([COVER, ENDED], [], ["delete rule", "delete all", "delete www"], id="both go"),
    pytest.param([COVER, PASSED], [COVER, ENDED], ["create rule", "update www"], id="TLS ends from now on"),
    pytest.param([COVER, ENDED], [COVER, PASSED], ["update www", "delete rule"], id="TLS passes from now on"),
])
def test_a_host_and_a_passthrough_wildcard(before, after, order):
    config = Settings(admission=WILD)
    state = applied({}, step({}, before, config)[1])
    names_of = {"www.example.com": "www", ".example.com": "all", "openshift_route_shop_www": "rule"}
    texts = [f"{change.verb} {names_of[change.obj.name]}" for change in step(state, after, config)[1]
             if getattr(change.obj, "name", "") in names_of]
    assert texts == order


def test_a_wildcard_that_comes_waits_for_the_hosts_which_it_must_not_take():
    """One that is there does not: such a Host is as much its own as before."""
    config, excluded = Settings(admission=WILD), record_ref(
        f"/Common/{names.PASSTHROUGH_GROUP}", "www.example.com")
    for before, verb in ([ENDED], CREATE), ([COVER, ENDED], UPDATE):
        state = applied({}, step({}, before, config)[1])
        (wildcard,) = (change for change in step(state, [replace(COVER, service="api"), ENDED], config)[1]
                       if getattr(change.obj, "name", "") == ".example.com")
        assert wildcard.verb == verb
        assert (excluded in wildcard.new.dependencies) == (verb == CREATE)


def test_a_refusal_of_unknown_names_that_comes_waits_for_all_names():
    """One that is there has them, whatever else of it changes."""
    group = f"/Common/{names.SERVER_NAME_GROUP}"
    known, strict = Record(group, "a.example.com", names.CERTIFICATE), Record(group, names.STRICT, "on")
    for observed, needs in (
            ({}, {known.ref}), ({strict.ref: replace(strict, data="off")}, set())):
        *_, last = diff({obj.ref: obj for obj in (known, strict)}, observed, owns)
        assert last.ref == strict.ref
        assert last.new.extra_dependencies == needs


NARROW = [route("www", host="www.example.com", age=1),
          route("path", host="www.example.com", path="/a", age=2)]
WIDE = [route("all", host="any.example.com", wildcard=True)]


@pytest.mark.parametrize(("kind", "before", "after", "order"), [
    pytest.param("", [], WIDE + NARROW, ["create path", "create www", "create all"], id="rules come"),
    pytest.param("", WIDE + NARROW, [], ["delete all", "delete www", "delete path"], id="rules go"),
    pytest.param("", WIDE, [replace(WIDE[0], service="api"), *NARROW],
                 ["create path", "create www", "update all"], id="a wildcard changes as others come"),
    pytest.param("passthrough", [], [*WIDE, NARROW[0]], ["create www", "create all"], id="records come"),
    pytest.param("passthrough", [*WIDE, NARROW[0]], [], ["delete all", "delete www"], id="records go"),
])
def test_what_is_for_fewer_requests_comes_first(kind, before, after, order):
    """No request is led by a wildcard, or a shorter path, while what is meant for it is not there."""
    tls = RouteTLS(termination=kind) if kind else None
    before, after = ([replace(route, tls=tls) for route in routes] for routes in (before, after))
    state = applied({}, step({}, before, Settings(admission=WILD))[1])
    texts = [f"{change.verb} {change.obj.name}" for change in step(state, after, Settings(admission=WILD))[1]
             if isinstance(change.obj, Rule | Record)]
    short = {"openshift_route_shop_": "", "www.example.com": "www", ".example.com": "all"}
    for long, name in short.items():
        texts = [text.replace(long, name) for text in texts]
    assert texts == order


def _entrance(change) -> str:
    if isinstance(change.obj, Rule):
        return "secure" if change.obj.policy == POLICY else "insecure"
    return (
        "passthrough"
        if "passthrough_servername" in change.ref.path and "/records/" in change.ref.path
        else ""
    )


def test_what_is_more_specific_than_a_rule_that_moves_goes_last():
    """Else the Rule would get its requests, where each write takes effect at once."""
    moved, below = route("r", path="/a"), route("below", path="/a/b", age=1)
    state = applied({}, diff(built(moved, below), {}, owns))
    plan = diff(built(replace(moved, host="new.example.com")), state, owns)
    rules = [(change.verb, change.early) for change in plan if isinstance(change.obj, Rule)]
    assert rules == [(UPDATE, False), (DELETE, False)]


def test_early_deletes_are_first_of_their_stage():
    rules = [Rule(POLICY, f"openshift_route_a_{name}", 1, frozenset(), Redirect("https://x"))
             for name in "ab"]
    insecure = replace(rules[0], policy="/Common/openshift_insecure_routes")
    pool = Pool("/Common/openshift_a_b")
    late = Change(DELETE, replace(insecure, name="openshift_route_a_c"), None)
    lost = Change(DELETE, rules[1], None)
    early = Change(DELETE, rules[0], None, early=True)
    irule = f"/Common/{names.CLIENT_CERTIFICATE_IRULE}"
    check = Change(DELETE, Attachment("/Common/v", "rules", irule, IRule.KIND), None)
    assert [change.is_late_delete for change in (late, early, check)] == [True, False, True]
    for plan, place in (
        ((Change(CREATE, None, pool), early, Change(CREATE, None, insecure), late), 1),
        ((check, Change(CREATE, None, pool), late), 2), ((check,), 1),
        ((Change(CREATE, None, pool), Change(CREATE, None, rules[0]), late), 1),
        ((Change(CREATE, None, pool), Change(CREATE, None, insecure), late), 1),
        ((Change(CREATE, None, pool), late), 1), ((late,), 0), ((), 0),
    ):
        changes = with_early_deletes(plan, [lost])
        assert (changes.index(replace(lost, early=True)), len(changes)) == (place, len(plan) + 1)


def test_a_policy_changes_strategy_after_its_rules():
    """An original's best-match policy becomes first-match when default_noop is last."""
    pods = endpoints("10.1.1.1")
    wanted = built(route("a", kind="edge"), pods)
    old = replace(wanted[Policy(POLICY).ref], strategy="best-match", noop=False)
    *_, last = (change for change in diff(wanted, {old.ref: old}, owns)
                if isinstance(change.obj, Policy | Rule))
    assert (last.verb, last.ref) == (UPDATE, old.ref)


ORIGINAL = replace(
    FACTS, original=OriginalFacts(True, frozenset({("r.com", "/Common/openshift_shop_tls")})),
    https=replace(FACTS.https, original_server_ssl=("/Common/openshift_route_shop_r-server-ssl-profile",)))


def test_the_originals_irule_is_replaced_between_our_attachments_and_rules():
    """It decides about TLS towards pods until then; records of its pools are there before ours do."""
    routes = [route("r", host="r.com", service="tls", kind="reencrypt"),
              route("e", host="e.com", kind="edge"), route("x", host="x.w.com", kind="edge"),
              route("w", host="any.w.com", kind="passthrough", wildcard=True)]
    config = Settings(admission=WILD)
    wanted = build(snapshot(*routes), config, ORIGINAL).objects
    irule = Ref(IRule.KIND, f"/Common/{names.PASSTHROUGH_IRULE}")
    attached = attachment_ref(config.https_virtual, "rules", irule.path)
    there = {irule: replace(wanted[irule], text="when CLIENT_DATA { }"), attached: wanted[attached]}
    kinds = [(change.verb, change.ref.kind, change.ref.path.rsplit("/", 1)[1])
             for change in diff(wanted, there, lambda obj: True)]
    place = {(verb, kind, name): number for number, (verb, kind, name) in enumerate(kinds)}
    here = place[UPDATE, IRule.KIND, names.PASSTHROUGH_IRULE]
    for kind, name in ((Record.KIND, "openshift_shop_tls"), (Attachment.KIND, names.REENCRYPT_IRULE),
                       (Attachment.KIND, names.REQUEST_IRULE),
                       (Attachment.KIND, tls_names.DEFAULT_SERVERSSL)):
        assert place[CREATE, kind, name] < here, name
    for kind, name in ((Record.KIND, "x.w.com"), (Record.KIND, ".w.com"),
                       (Rule.KIND, "openshift_route_shop_r"), (Rule.KIND, "openshift_route_shop_e")):
        assert place[CREATE, kind, name] > here, name
    assert place[CREATE, Record.KIND, "x.w.com"] < place[CREATE, Record.KIND, ".w.com"]
    for obj in wanted.values():
        if isinstance(obj, Rule) and obj.policy.endswith(names.SECURE_POLICY):
            assert attached in obj.dependencies, "a Rule would work against the original's iRule"
    tls = attachment_ref(config.https_virtual, "rules", f"/Common/{names.REENCRYPT_IRULE}")
    assert {tls, record_ref(f"/Common/{names.REENCRYPT_GROUP}", "/Common/openshift_shop_tls")} <= set(
        wanted[irule].dependencies), "a portion of a Plan would replace it too early"


# --- monitors that verify ----------------------------------------------------------------


def test_what_a_monitor_verifies_by_comes_before_it():
    """And goes after it; a profile that no monitor of the Plan has keeps its place."""
    ca, other = CertFile("/Common/ca.crt", "-"), CertFile("/Common/other.crt", "-")
    profile = ServerSSL("/Common/openshift_tls_1-server-ssl-profile", ca.path)
    apart = ServerSSL("/Common/openshift_tls_2-server-ssl-profile", other.path)
    monitor = HTTPSMonitor(f"/Common/{HTTPSMonitor.STEM}tls_1", 5, 16, ssl_profile=profile.path)
    pool = Pool("/Common/openshift_shop_web", monitor.path)
    objects = {obj.ref: obj for obj in (pool, monitor, apart, profile, other, ca)}
    assert [change.obj for change in diff(objects, {}, lambda obj: True)] == [
        ca, profile, monitor, pool, other, apart]
    assert [change.obj for change in diff({}, objects, lambda obj: True)] == [
        apart, other, pool, monitor, profile, ca]
