"""Changes of a Plan that may be sent, and when.

Longer than other modules: each reason to send a Change, or to wait, has its test, on the same states.
"""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.model import names
from f5router.model.client_tls import TLSProperties
from f5router.model.errors import InUse, Refused, Unconfirmed
from f5router.model.ltm import (
    Attachment,
    CertFile,
    ClientSSL,
    ClientSSLParent,
    DataGroup,
    Forward,
    IRule,
    KeyFile,
    Policy,
    Pool,
    PoolMember,
    Record,
    Rule,
)
from f5router.model.ltm_nodes import Incomplete
from f5router.model.objects import Ref
from f5router.model.route_options import TCPMonitor
from f5router.model.tls_names import DEFAULT_CLIENTSSL
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Change
from f5router.reconcile.rollout import UNDER_WAY, Obstacles, Rollout
from f5router.reconcile.row import OVERTAKEN_AFTER, HoldReason, RowState
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers

REFUSED, UNCONFIRMED = Refused(text="no", status=400), Unconfirmed(text="time-out")
SECURE, INSECURE = "/Common/openshift_secure_routes", "/Common/openshift_insecure_routes"
PASSTHROUGH = "/Common/ssl_passthrough_servername_dg"
DRAIN_S, PATIENCE_S, NOW = 3.0, 1.0, 100.0
CHECK = TCPMonitor("/Common/openshift_monitor_tcp_5", 5, 16)


def pool(name: str, *addresses: str, monitor: str = "") -> Pool:
    return Pool(f"/Common/openshift_shop_{name}", monitor, frozenset(PoolMember(at, 80) for at in addresses))


def rule(name: str, to: Pool, policy: str = INSECURE, host: str = "") -> Rule:
    return Rule(policy, f"openshift_route_shop_{name}", 1, frozenset(), Forward(to.path),
                hosts=frozenset({host or f"{name}.com"}))


A, B = pool("a", "10.1.1.1"), pool("b", "10.1.1.2")
POLICIES = [Policy(SECURE), Policy(INSECURE), DataGroup(PASSTHROUGH)]


def create(obj, **more) -> AnyChange:
    return Change(CREATE, None, obj, **more)


def update(obj, old=None) -> AnyChange:
    return Change(UPDATE, old or obj, obj)


def delete(obj, **more) -> AnyChange:
    return Change(DELETE, obj, None, **more)


class Bench:
    """A Rollout; the test carries out what it sends."""

    def __init__(self, *plan: AnyChange, there: Iterable = (), errors: Mapping = MappingProxyType({}),
                 attempts: int = 1, held: Iterable[Ref] = (), sent: Iterable[Ref] = (),
                 wanted: Iterable = (), **obstacles):
        """Args:
        errors: of objects that were refused before, in so many attempts; held, sent: objects with such rows.
        wanted: objects that no Change of the Plan writes.
        """
        self.now, self.sent = NOW, []
        self.observed = {obj.ref: obj for obj in (*POLICIES, *there,
                                                  *(change.old for change in plan if change.old))}

        def group(change: AnyChange) -> str:
            return getattr(change.obj, "policy", "") or getattr(change.obj, "group", "")

        unit = SimpleNamespace(sender=SimpleNamespace(group=group, uncertain=None))
        self.desired = dict.fromkeys(errors) | {obj.ref: obj for obj in wanted} | {
            change.ref: change.new for change in plan if change.new}
        device = SimpleNamespace(unit=unit, observed=self.observed, drain_s=DRAIN_S,
                                 desired=lambda: self.desired)
        self.table = table = Table(lambda: (self.desired, self.observed), Timers(), lambda: self.now)
        table.touch(change.ref for change in plan)
        for ref, error in errors.items():
            for _ in range(attempts):
                table.refuse(ref, error)
        for ref in held:
            table.hold(ref, HoldReason.SUCCESSOR)
        for ref in sent:
            table.send(ref)
        self.rollout = Rollout(plan, device, table, Obstacles(**obstacles), now=NOW, patience_s=PATIENCE_S)
        self.uncertain = unit.sender.uncertain

    def next(self) -> list[str]:
        """Return the names of what is sent together next."""
        changes = self.rollout.next(self.now) or []
        if changes:
            self.sent.append(changes)
        for change in changes:
            self.table.send(change.ref)
        return [name(change) for change in changes]

    def all(self) -> list[list[str]]:
        """Send what may be sent at once."""
        sent = []
        while names := self.next():
            sent.append(names)
        return sent

    def end(self, error=None) -> bool:
        """Take the reply about what was sent first; False if nobody waited for it."""
        changes = self.sent.pop(0)
        for change in changes:
            if error is not None:
                self.table.refuse(change.ref, error)
                continue
            if change.new is None:
                self.observed.pop(change.ref, None)
            else:
                self.observed[change.ref] = change.new
            self.table.confirm(change.ref)
        return self.rollout.ended(changes, changes if error is None else ())

    def states(self) -> dict[str, RowState]:
        """Return the states of the rows, by the ends of names."""
        return {ref.path.rpartition("_")[2]: row.state for ref, row in self.table.rows.items()}

    def held(self) -> set[str]:
        """Return what is held, by the ends of names."""
        return {ref.path.rpartition("_")[2] for ref in self.table.held_for(*HoldReason)}

    def run(self) -> list[list[str]]:
        """Carry out the rest, and return what was sent."""
        sent = []
        while not self.rollout.is_over:
            if names := self.next():
                sent.append(names)
                self.end()
            else:
                at = self.rollout.wakes_at(self.now)
                assert self.rollout.is_over or at < math.inf, "nothing wakes it"
                self.now = max(self.now, at)
        return sent


def name(change: AnyChange) -> str:
    mark = {CREATE: "+", UPDATE: "=", DELETE: "-"}[change.verb]
    return mark + change.ref.path.rpartition("_")[2]


def test_stages_go_one_after_another():
    """A stage opens when nothing of the one before is in flight, even if something of that is not sent."""
    bench = Bench(create(A), create(B), create(rule("x", A)), create(rule("y", B)), delete(pool("old")))
    assert bench.next() == ["+a"]
    assert bench.rollout.may_send
    assert bench.all() == [["+b"]]
    assert not bench.rollout.may_send
    bench.end()
    assert bench.all() == []
    bench.end()
    assert bench.all() == [["+x", "+y"]]
    assert not bench.rollout.is_over
    bench.end()
    assert bench.run() == [["-old"]]
    assert bench.rollout.is_over
    assert bench.table.rows == {}
    assert (bench.rollout.has_written, bench.rollout.has_deleted) == (True, True)


def test_groups_of_a_stage_go_one_after_another():
    """Each together, in the order of the Plan."""
    other = DataGroup("/Common/other_dg")
    bench = Bench(*(create(Record(group, host, A.path)) for group, host in (
        (PASSTHROUGH, "b.com"), (other.path, "x.com"), (PASSTHROUGH, "a.com"))), there=[A, other])
    assert len(bench.next()) == 1
    assert bench.rollout.in_groups
    assert (bench.next(), bench.rollout.may_send) == ([], False)
    bench.end()
    bench.next()
    assert [change.obj.name for change in bench.sent[0]] == ["b.com", "a.com"]


def test_it_wakes_without_a_message_only_where_it_pauses():
    bench = Bench(create(A), create(B))
    assert bench.rollout.wakes_at(NOW) == math.inf
    bench.all()
    assert bench.rollout.wakes_at(NOW) == math.inf


def unsent(bench: Bench) -> dict[str, tuple]:
    """Return errors of the Rules that were not sent, and what they wait for."""
    return {ref.path.rpartition("_")[2]: (row.error, row.on) for ref, row in bench.table.failures.items()
            if ref.kind == Rule.KIND}


@pytest.mark.parametrize(("errors", "old", "sent"), [
    pytest.param({A.ref: REFUSED}, None, False, id="refused"),
    pytest.param({A.ref: UNCONFIRMED}, None, False, id="in doubt"),
    pytest.param({A.ref: Incomplete(REFUSED, A)}, None, True, id="usable"),
    pytest.param({A.ref: Incomplete(REFUSED, pool("a"))}, None, True, id="new, of a pool without members"),
    pytest.param({A.ref: Incomplete(REFUSED, pool("a"))}, B, False, id="turned to a pool without members"),
    pytest.param({A.ref: Incomplete(REFUSED, pool("a"))}, A, True, id="has that pool already"),
    pytest.param({B.ref: REFUSED}, None, True, id="another object"),
    pytest.param({CHECK.ref: REFUSED}, None, True, id="a monitor"),
])
def test_what_needs_a_refused_object(errors, old, sent):
    new = rule("x", A)
    change = create(new) if old is None else update(new, rule("x", old))
    bench = Bench(change, create(rule("z", B)), there=[A, B, CHECK], errors=errors)
    names = [each for group in bench.run() for each in group]
    assert (name(change) in names) == sent
    if not sent:
        (error,) = errors.values()
        assert unsent(bench) == {"x": (error, A.ref)}
        assert names == ["+z"]


def test_what_needs_an_object_that_this_plan_could_not_write():
    bench = Bench(create(A), create(B), create(rule("x", A)), create(rule("y", B)))
    bench.all()
    bench.end(REFUSED)
    bench.end()
    assert bench.all() == [["+y"]]
    assert unsent(bench) == {"x": (REFUSED, A.ref)}


def test_dependencies_on_the_device_count_too():
    """A Rule of a policy that is there, whose own update is refused."""
    bench = Bench(create(rule("x", A)), there=[A], errors={Policy(INSECURE).ref: REFUSED})
    assert bench.all() == []
    assert unsent(bench) == {"x": (REFUSED, Policy(INSECURE).ref)}
    assert bench.rollout.is_over


def test_what_needs_an_object_that_is_not_there():
    """Nothing of this Plan creates it: the object backs off by itself."""
    bench = Bench(create(rule("x", A)))
    assert bench.all() == []
    ((error, on),) = unsent(bench).values()
    assert (str(error), on) == (f"{A.ref} is not there", None)
    assert bench.states() == {"x": RowState.REFUSED}


def test_what_needs_an_object_whose_write_hangs_waits_for_it():
    """Nobody has refused anything: a certificate that is uploaded slowly must not turn a status False."""
    bench = Bench(create(rule("x", A)), sent=[A.ref])
    assert bench.all() == []
    assert unsent(bench) == {"x": (UNDER_WAY, A.ref)}


PARENT = ClientSSLParent("/Common/openshift_routes-parent", "/Common/clientssl", TLSProperties())
PROFILE = ClientSSL("/Common/openshift_a-profile", "a.com", "/Common/a.crt", "/Common/a.key")
CHECK_IRULE = IRule(f"/Common/{names.CLIENT_CERTIFICATE_IRULE}", "when CLIENTSSL_HANDSHAKE {}")
CHECKING = Attachment("/Common/https", "rules", CHECK_IRULE.path, IRule.KIND)
SHOWING = Attachment("/Common/https", "profiles", PROFILE.path, ClientSSL.KIND)
FILES = [CertFile("/Common/a.crt", ""), KeyFile("/Common/a.key", "")]


@pytest.mark.parametrize("asking", [PARENT, PROFILE, SHOWING])
@pytest.mark.parametrize(("errors", "sent", "goes"), [
    ((), True, False), ((UNCONFIRMED,), False, False), ((REFUSED,), False, True)])
def test_clients_are_checked_once_they_are_asked(asking, errors, sent, goes):
    """Not while a profile is under way, but where one is refused: then nobody is to get in."""
    bench = Bench(create(CHECKING), there=[CHECK_IRULE, PARENT, PROFILE, *FILES],
                  sent=[asking.ref] * sent, errors=dict.fromkeys([asking.ref] * len(errors), *errors))
    bench.desired[asking.ref] = asking
    assert bench.all() == ([["+irule"]] if goes else [])
    assert (bench.table.rows[CHECKING.ref].on == asking.ref) is not goes


@pytest.mark.parametrize(("sent", "errors", "goes"), [
    (True, {}, False), (False, {CHECKING.ref: UNCONFIRMED}, False), (False, {CHECKING.ref: REFUSED}, True)])
def test_clients_are_asked_until_nobody_checks(sent, errors, goes):
    """A profile that does not ask any more waits while the iRule is being detached."""
    bench = Bench(update(PROFILE, replace(PROFILE, parent="/Common/other")),
                  there=[CHECK_IRULE, CHECKING, *FILES], sent=[CHECKING.ref] * sent)
    for ref, error in errors.items():
        bench.table.refuse(ref, error)
    assert bool(bench.all()) is goes


@pytest.mark.parametrize("serves", [True, False])
def test_the_check_of_clients_goes_before_a_rule_that_hangs(serves):
    """Profiles cease to ask whatever becomes of the Rule, and the iRule would refuse everybody then.

    But where nothing is to be served any more, it stays as long as the Rule.
    """
    policy = Attachment("/Common/https", "policies", SECURE, Policy.KIND)
    served = replace(rule("a", A, SECURE), protection=frozenset({CHECKING.ref}))
    bench = Bench(delete(CHECKING), update(PARENT), there=[A, served, CHECK_IRULE], sent=[served.ref],
                  wanted=[policy] if serves else [], hanging=lambda: {served.ref})
    if serves:
        assert bench.next() == ["-irule"]
        bench.end()
    assert bench.next() == ["=routes-parent"]


OTHER_CHECK = replace(CHECKING, virtual="/Common/https__b", target=f"{CHECK_IRULE.path}__b")


@pytest.mark.parametrize(("asking", "waits"), [
    (PROFILE, False), (SHOWING, False), (replace(PARENT, path=f"{PARENT.path}__c"), False), (PARENT, True),
    (replace(PARENT, path=f"{PARENT.path}__b"), True), (replace(PROFILE, path=f"{PROFILE.path}__b"), True),
    (replace(SHOWING, virtual="/Common/https__b"), True)])
def test_checks_and_profiles_of_different_front_ends_do_not_wait_for_each_other(asking, waits):
    """Parents without the name of one may be for both."""
    bench = Bench(create(OTHER_CHECK), there=[replace(CHECK_IRULE, path=OTHER_CHECK.target)],
                  wanted=[asking], sent=[asking.ref])
    assert bool(bench.all()) is not waits
    bench = Bench(update(asking), there=[OTHER_CHECK, PROFILE, *FILES], sent=[OTHER_CHECK.ref])
    assert bool(bench.all()) is not waits


@pytest.mark.parametrize(("front_end", "waits"), [("", True), ("__b", False)])
def test_tls_is_passed_through_once_it_can_end_here(front_end, waits):
    """A BIG-IP refuses SSL::disable on a virtual server without a profile for clients."""
    irule = IRule(f"/Common/{names.PASSTHROUGH_IRULE}", "when CLIENT_ACCEPTED {}")
    default = replace(PROFILE, path=f"/Common/{DEFAULT_CLIENTSSL}{front_end}")
    bench = Bench(create(Attachment("/Common/https", "rules", irule.path, IRule.KIND)), there=[irule],
                  wanted=[default, PROFILE], sent=[default.ref, PROFILE.ref])
    assert bool(bench.all()) is not waits


def test_many_profiles_beside_many_rules_in_doubt():
    """The time of one look at each Rule for each profile would be a minute."""
    profiles = [replace(PROFILE, path=f"/Common/openshift_{number}-profile") for number in range(2000)]
    rules = [rule(f"r{number}", A, SECURE) for number in range(5000)]
    bench = Bench(*map(update, profiles), there=[A, *FILES], wanted=rules,
                  errors={each.ref: UNCONFIRMED for each in rules})
    begin = time.process_time()
    bench.next()
    assert time.process_time() - begin < 2.0


STRATEGY = update(Policy(SECURE), Policy(SECURE, "best-match"))
TAKEN_OVER = update(IRule(f"/Common/{names.PASSTHROUGH_IRULE}", "new"),
                    IRule(f"/Common/{names.PASSTHROUGH_IRULE}", "old"))


@pytest.mark.parametrize(("change", "other", "waits"), [
    (STRATEGY, rule("a", A, SECURE), True), (STRATEGY, rule("a", A, INSECURE), False), (STRATEGY, A, False),
    (TAKEN_OVER, Record("/Common/ssl_reencrypt_serverssl_dg", "a.com", "x"), True), (TAKEN_OVER, A, False),
])
def test_what_replaces_another_makers_waits_for_what_it_needs(change, other, waits):
    """Until then the strategy of a policy, or the iRule of the original router, is right as it is."""
    for sent, errors, goes in (([other.ref], {}, not waits), ([], {other.ref: UNCONFIRMED}, not waits),
                               ([], {other.ref: REFUSED}, True)):
        bench = Bench(change, there=[A], sent=sent, errors=errors)
        bench.desired[other.ref] = other
        assert bool(bench.all()) is goes


@pytest.mark.parametrize("error", [UNDER_WAY, UNCONFIRMED])
def test_a_strategy_and_a_rule_do_not_wait_for_each_other(error):
    """The Rule has waited since the strategy's write hung, or got no reply; it goes first."""
    other = rule("a", A, SECURE)
    bench = Bench(STRATEGY, there=[A])
    bench.desired[other.ref] = other
    bench.table.block(other.ref, error, STRATEGY.ref)
    assert bench.all() == []
    assert bench.table.rows[STRATEGY.ref].on == other.ref
    assert bench.table.rows[other.ref].state is RowState.DUE
    bench.observed[other.ref] = other
    bench.table.confirm(other.ref)
    assert bench.table.rows[STRATEGY.ref].state is RowState.DUE


def test_a_pool_is_created_without_a_monitor_that_is_not_there():
    bench = Bench(create(replace(A, monitor=CHECK.path)), update(replace(B, monitor=CHECK.path), B))
    assert bench.all() == [["+a"], ["=b"]]
    assert [change.new.monitor for (change,) in bench.sent] == ["", ""]


def test_a_less_specific_rule_waits_for_one_in_doubt():
    """It backs off by itself: no other object brings it back."""
    specific, general = rule("x", A, host="a.com"), replace(rule("y", A, host="a.com"), priority_band=2)
    for recent in (True, False):
        bench = Bench(create(A), create(specific), create(general))
        bench.all()
        for _ in range(1 if recent else OVERTAKEN_AFTER):
            bench.table.refuse(specific.ref, UNCONFIRMED)
        bench.table.retry(specific.ref)
        bench.uncertain.note(create(specific), UNCONFIRMED)
        bench.end()
        sent = bench.all()
        assert sent == ([["+x"]] if recent else [["+x", "+y"]])
        assert ("y" in unsent(bench)) == recent
        assert unsent(bench).get("y", (UNCONFIRMED, None)) == (UNCONFIRMED, None)


@pytest.mark.parametrize(("error", "attempts", "waits"), [
    (UNCONFIRMED, 1, True), (UNCONFIRMED, OVERTAKEN_AFTER, False), (REFUSED, 1, False)])
def test_a_less_specific_rule_waits_for_one_that_is_in_no_plan(error, attempts, waits):
    """It backs off, as its write got no reply, or that of something which it needs."""
    specific, general = rule("x", A, host="a.com"), replace(rule("y", A, host="a.com"), priority_band=2)
    bench = Bench(create(general), there=[A], wanted=[specific], errors={specific.ref: error},
                  attempts=attempts)
    assert bench.all() == ([] if waits else [["+y"]])


def test_pools_are_sent_as_they_are_by_now():
    """A pool that is written beside it, or needs nothing any more, is left out."""
    newer = {A.ref: create(pool("a", "10.1.1.9")), B.ref: None}
    third = pool("c")
    bench = Bench(create(A), create(B), create(third), newest=lambda change: newer[change.ref],
                  sent=[third.ref])
    assert bench.all() == [["+a"]]
    assert bench.sent[0][0].new.members == {PoolMember("10.1.1.9", 80)}
    assert bench.states() == {"a": RowState.SENT, "c": RowState.SENT}
    assert not bench.table.rows[third.ref].again
    bench.end()
    assert bench.rollout.is_over


def test_a_pool_whose_members_are_being_written_is_not_deleted():
    bench = Bench(delete(A), delete(B), sent=[A.ref])
    assert bench.run() == [["-b"]]
    assert bench.table.rows[A.ref].again


def test_what_a_pool_needs_stays_while_its_members_are_being_written():
    checked = replace(A, monitor=CHECK.path)
    bench = Bench(delete(checked), delete(CHECK), sent=[A.ref])
    assert bench.run() == []
    assert bench.table.rows[CHECK.ref].hold is HoldReason.NEEDED


def retained(previous):
    """Retain one object."""
    return lambda obj: HoldReason.SUCCESSOR if obj == previous else None


@pytest.mark.parametrize(("obstacles", "sent"), [
    pytest.param({}, ["-x", "-a", "-b"], id="nothing stays"),
    pytest.param({"should_retain": lambda failed: retained(rule("x", A))}, ["-b"], id="retained"),
    pytest.param({"should_retain": lambda failed: retained(B)}, ["-x", "-a"], id="a pool"),
    pytest.param({"held": {rule("y", B).ref}}, ["-x", "-a"], id="needed by what is not deleted now"),
])
def test_deletes_that_wait(obstacles, sent):
    """The dependencies of an object that stays, stay with it."""
    bench = Bench(delete(rule("x", A)), delete(A), delete(B), there=[rule("y", B)], **obstacles)
    assert [each for group in bench.run() for each in group] == sent
    assert bench.held() - {"y"} == {"x", "a", "b"} - {each[1:] for each in sent}


def test_what_a_refused_object_needs_is_not_deleted():
    bench = Bench(update(rule("x", B), rule("x", A)), delete(A), there=[B])
    bench.all()
    bench.end(REFUSED)
    assert bench.all() == []
    assert bench.held() == {"a"}


@pytest.mark.parametrize(("error", "asked"), [
    pytest.param(REFUSED, {A.ref, B.ref}, id="now"),
    pytest.param(Incomplete(REFUSED, A), {B.ref}, id="usable"),
    pytest.param(None, {B.ref}, id="before alone"),
])
def test_retention_is_asked_with_what_could_not_be_written(error, asked):
    """In this Plan or before it. What is in use serves nobody in the place of others."""
    told, used = [], pool("used")

    def should_retain(failed):
        told.append(set(failed))
        return lambda obj: None

    bench = Bench(create(A), delete(rule("x", B)), there=[B, used], should_retain=should_retain,
                  errors={B.ref: REFUSED, used.ref: InUse(text="used", status=400)})
    bench.all()
    bench.end(error)
    bench.all()
    assert told == [asked]


def test_what_was_refused_before_counts_until_it_is_tried_again():
    """And no more while its turn in the Plan is still to come, nor after it was written."""
    bench = Bench(create(A), create(rule("x", A)), create(rule("y", B)), there=[B], errors={
        A.ref: REFUSED, B.ref: REFUSED})
    assert bench.run() == [["+a"], ["+x"]]
    assert unsent(bench) == {"y": (REFUSED, B.ref)}


def test_what_is_touched_by_an_event_right_after_its_refusal_counts_as_refused():
    bench = Bench(update(replace(A, monitor=""), pool("a", "10.1.1.9")), update(rule("x", A), rule("x", B)),
                  there=[B])
    bench.all()
    bench.table.touch([A.ref])
    bench.end(REFUSED)
    assert bench.states()["a"] is RowState.DUE
    assert bench.all() == []
    assert unsent(bench) == {"x": (REFUSED, A.ref)}


def test_what_hangs_counts_as_refused():
    hanging = {A.ref}
    bench = Bench(update(rule("x", A), rule("x", B)), there=[A, B], sent=[A.ref],
                  hanging=lambda: hanging)
    bench.desired[A.ref] = A
    assert bench.all() == []
    assert unsent(bench) == {"x": (UNDER_WAY, A.ref)}


@pytest.mark.parametrize(("plan", "pauses"), [
    pytest.param([update(rule("x", B), rule("x", A)), delete(A)], True, id="a pool that lost its requests"),
    pytest.param([delete(rule("x", A)), delete(A)], True, id="a Rule went"),
    pytest.param([delete(A)], False, id="nothing was routed"),
    pytest.param([create(rule("x", B))], False, id="nothing is deleted"),
])
def test_requests_that_were_just_routed_have_time(plan, pauses):
    bench = Bench(*plan, there=[A, B])
    for _ in range(len(plan) - (1 if pauses else 0)):
        assert bench.next()
        bench.end()
    assert bench.all() == []
    if not pauses:
        assert (bench.rollout.is_over, bench.rollout.paused_until) == (True, -math.inf)
        return
    assert bench.rollout.paused_until == bench.rollout.wakes_at(NOW) == NOW + DRAIN_S
    assert not bench.rollout.is_over
    bench.now += DRAIN_S - 0.1
    assert bench.all() == []
    bench.now += 0.1
    assert bench.all() == [["-a"]]


class UnderWay(Bench):
    """A Rollout one of whose Rules needs a pool that is being written."""

    def __init__(self):
        self.pools = {A.ref}
        super().__init__(create(rule("x", A)), create(rule("y", B)), delete(pool("old")), there=[A, B],
                         sent=[A.ref],
                         pools_under_way=lambda change: self.pools & set(change.obj.dependencies))


def test_a_stage_waits_for_pools_that_are_being_written():
    bench = UnderWay()
    assert (bench.all(), bench.rollout.wakes_at(NOW)) == ([], NOW + PATIENCE_S)
    bench.now += PATIENCE_S / 2
    assert (bench.all(), bench.rollout.wakes_at(bench.now)) == ([], NOW + PATIENCE_S)
    bench.pools.clear()
    assert bench.all() == [["+x", "+y"]]
    assert bench.rollout.wakes_at(bench.now) == math.inf
    assert unsent(bench) == {}


def test_a_stage_goes_on_without_what_needs_a_pool_that_hangs():
    bench = UnderWay()
    bench.all()
    bench.now += PATIENCE_S
    assert bench.all() == [["+y"]]
    assert unsent(bench) == {"x": (UNDER_WAY, A.ref)}
    bench.end()
    assert bench.run() == [["-old"]]


def test_a_group_of_which_a_write_hangs_is_left_alone():
    """Two writers of one policy would get in each other's way."""
    other = rule("other", A).ref
    bench = Bench(create(rule("x", A)), create(rule("y", B, SECURE)), there=[A, B], sent=[other],
                  group_under_way=lambda change: other if change.obj.policy == INSECURE else None)
    assert bench.run() == [["+y"]]
    assert unsent(bench) == {"x": (UNDER_WAY, other)}


def test_deletes_of_a_group_of_which_a_write_hangs_wait_for_it():
    """The pools that they need stay as long."""
    other, old = rule("other", A).ref, rule("x", A)
    bench = Bench(delete(old), delete(rule("y", B, SECURE)), delete(A), delete(B), there=[A, B],
                  sent=[other], group_under_way=lambda change: (
                      other if getattr(change.obj, "policy", "") == INSECURE else None))
    assert bench.run() == [["-y"], ["-b"]]
    assert unsent(bench) == {"x": (UNDER_WAY, other)}
    assert bench.held() == {"a"}


def test_deletes_wait_for_requests_that_an_earlier_rollout_routed():
    """Its Rules were written later than it ended."""
    bench = Bench(create(A), delete(B), there=[B], routed_at=lambda: NOW - 1)
    bench.next()
    bench.end()
    assert (bench.all(), bench.rollout.wakes_at(NOW)) == ([], NOW - 1 + DRAIN_S)
    bench.now += DRAIN_S
    assert bench.all() == [["-b"]]


@pytest.mark.parametrize("replies", [0, 1])
def test_it_can_be_dropped_at_any_moment(replies):
    """Requests in flight end; nothing more is sent, and the rest is due still."""
    bench = Bench(create(A), create(B), create(rule("x", A)))
    bench.next()
    for _ in range(replies):
        bench.end()
    bench.rollout.drop()
    assert (bench.all(), bench.rollout.may_send, bench.rollout.is_over) == ([], False, replies == 1)
    if not replies:
        bench.end()
    assert bench.rollout.is_over
    assert bench.states() == {"b": RowState.DUE, "x": RowState.DUE}


def test_an_empty_plan_is_over():
    assert Bench().rollout.is_over


def test_the_last_stages_correct_what_stays():
    """Whatever was refused, or stays, before: it is tried once."""
    old, excluded = rule("x", A), Record(PASSTHROUGH, "p.com", "exclusion")
    bench = Bench(create(B), there=[A, old], errors={A.ref: REFUSED, old.ref: REFUSED}, held=[A.ref],
                  should_retain=lambda failed: retained(old))
    bench.run()
    assert bench.rollout.correct((create(excluded), delete(old)), NOW + 5)
    assert (bench.rollout.corrects, bench.rollout.began, bench.rollout.is_over) == (True, NOW + 5, False)
    sent = bench.run()
    assert [each[0][0] for each in sent] == ["+", "-"]
    assert bench.rollout.is_over


def test_what_is_corrected_leaves_a_group_alone_of_which_a_write_hangs():
    old, secure = rule("x", A), rule("y", A, SECURE)
    bench = Bench(there=[A, old, secure],
                  group_under_way=lambda change: secure.ref if change.obj.policy == INSECURE else None)
    bench.rollout.correct((delete(old), delete(secure)), NOW)
    assert bench.run() == [["-y"]]
    assert bench.table.rows.keys() <= {secure.ref}


def test_corrections_do_not_wait_for_what_hangs():
    """Its reply is nothing that the rollout goes on from."""
    old = rule("x", B)
    bench = Bench(create(A), create(rule("y", A)), there=[B, old])
    bench.next()
    bench.rollout.drop()
    assert bench.rollout.correct((delete(old),), NOW)
    assert bench.next() == ["-x"]
    assert not bench.end()
    assert not bench.rollout.is_over
    assert bench.end()
    assert bench.rollout.is_over


def test_nothing_to_correct():
    bench = Bench()
    assert not bench.rollout.correct((), NOW)
    assert bench.rollout.is_over


OBJECTS = [A, B, pool("c"), rule("x", A, SECURE), rule("y", B, SECURE), rule("z", A),
           Record(PASSTHROUGH, "p.com", B.path)]
PLANS = st.sets(st.sampled_from(range(len(OBJECTS)))).flatmap(lambda numbers: st.tuples(*(
    st.sampled_from([create, update, delete]).map(lambda make, number=number: make(OBJECTS[number]))
    for number in sorted(numbers))))


@settings(max_examples=100, deadline=None)
@given(PLANS, st.lists(st.sampled_from([None, REFUSED, UNCONFIRMED]), min_size=7, max_size=7), st.randoms())
def test_each_change_ends_once_and_after_what_it_needs(plan, replies, order):
    """Sent, or not with a reason; whatever is refused, and in whatever order the replies come."""
    plan = tuple(sorted(plan, key=lambda change: (change.verb == DELETE,
                                                  -change.stage if change.verb == DELETE else change.stage)))
    bench, done, stages = Bench(*plan), [], []
    while not bench.rollout.is_over:
        bench.all()
        if not bench.sent:
            at = bench.rollout.wakes_at(bench.now)
            assert bench.rollout.is_over or at < math.inf, "nothing wakes it"
            bench.now = max(bench.now, min(at, NOW + 9 * DRAIN_S))
            continue
        order.shuffle(bench.sent)
        in_flight = {change.stage for changes in bench.sent for change in changes}
        assert len(in_flight) == 1
        stages += [(change.is_late_delete, change.stage) for change in bench.sent[0]]
        done += [change.ref for change in bench.sent[0]]
        bench.end(replies.pop())
    failures = bench.table.failures
    left = [ref for ref in {change.ref for change in plan} - set(done)
            if ref in failures or ref in bench.table.held_for(*HoldReason)]
    assert sorted(done + left) == sorted(change.ref for change in plan)
    order_of_plan = [(change.is_late_delete, change.stage) for change in plan]
    assert stages == [each for each in dict.fromkeys(order_of_plan) for _ in range(stages.count(each))]
    assert all(row.on is None or row.on in failures for row in failures.values())
