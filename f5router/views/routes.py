"""A Route as people see it: from its host through Rule and pool to the pods and their Nodes.

`view` is pure: it may run in any thread, on a record that the control loop, or a command, has given.
"""

import datetime
from dataclasses import replace

from f5router.admission.condition import PENDING, Verdict
from f5router.desired import pools
from f5router.model import names, sni_records
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import VirtualFacts
from f5router.model.findings import DEVICE_REJECTED, worst
from f5router.model.front_end_names import base_name
from f5router.model.ltm import (
    Pool,
    PoolMember,
    Record,
    Rule,
)
from f5router.model.ownership import is_of_service
from f5router.model.texts import rfc3339
from f5router.model.virtual_server import DefaultPool
from f5router.views import certificates, findings, requests
from f5router.views.certificates import options_in_force
from f5router.views.nodes import Locator, NodeView
from f5router.views.records import RouteRecord
from f5router.views.requests import NeededObject, State
from f5router.views.route_view import (
    DISABLED,
    Connections,
    Health,
    MemberView,
    ObjectView,
    PoolView,
    RequestView,
    RouteSummary,
    RouteView,
    RuleView,
    ServiceView,
    Status,
    VirtualServerView,
)


def status_of(verdict: Verdict | None) -> Status:
    """Return the status of a verdict; without one the Route is pending."""
    if verdict is None or verdict.admitted is None:
        return Status.PENDING
    if verdict.admitted:
        return Status.ADMITTED
    return Status.DEVICE_REJECTED if verdict.reason == DEVICE_REJECTED else Status.REJECTED


def summary(shown: RouteView) -> RouteSummary:
    """Build the summary of a Route."""
    problem, certificate = worst(shown.problems), shown.certificate
    services = tuple(service.name for service in shown.services)
    text = "\n".join((shown.label, f"{shown.host}{shown.path}", *services, shown.kind,
                      shown.reason, problem.code if problem else "")).lower()
    return RouteSummary(
        Key(shown.namespace, shown.id, shown.front_end), shown.kind, shown.name, shown.host, shown.path,
        shown.termination,
        shown.status, shown.state, shown.reason, shown.since, services,
        len(shown.pool.members) if shown.pool else 0, len(shown.warnings), problem,
        certificate.not_after if certificate else "", certificate.days_left if certificate else None, text,
        shown.source_namespace)


def view(record: RouteRecord, now: datetime.datetime, locator: Locator | None = None,
         health: Health | None = None, connections: Connections | None = None,
         looked_up: tuple[RequestView, ...] = (), health_problem: str = "",
         active: int | None = None) -> RouteView:
    """Build the view of a Route.

    Args:
        locator: finds the Nodes of members; None if nobody asks.
        health: of the members of its pool; None if it was not asked for.
        connections: of its pool; None if they were not asked for.
        looked_up: requests for it; () if nobody asks.
        health_problem: why the health of its members is not known; "" if it is, or nobody asks.
        active: members of its pool that take connections, as the BIG-IP counts them; None if nobody asks.
    """
    evaluated, known = record.evaluated, record.known
    route = evaluated.route
    kind, source = route.subject
    verdict = known.verdict or replace(PENDING, message=record.waits_for or "waiting for the BIG-IP")
    pool = _pool(record, locator or Locator(()), health or {})
    if pool is not None:
        pool = replace(pool, health_problem=health_problem, active=active)
        if connections is not None:
            pool = replace(pool, connections=connections[0], opened=connections[1])
    shown = RouteView(
        namespace=route.key.namespace, id=route.key.name, kind=kind, name=source.name,
        field=route.origin.field if route.origin else "",
        host=evaluated.host, path=route.path, path_match=route.path_match.value,
        termination=names.ENDED if evaluated.is_ended else evaluated.termination,
        insecure=evaluated.insecure, status=status_of(known.verdict),
        reason=verdict.reason, message=verdict.message, since=rfc3339(known.since), created=route.created,
        services=tuple(ServiceView("/".join(filter(None, (target.namespace, target.service))), target.port,
                                   weight)
                       for target, weight in pools.backends(route).items()),
        options=options_in_force(route), warnings=tuple(text for _, text in record.warnings),
        virtual_servers=tuple(_virtual(facts) for facts in _virtuals(record)),
        certificate=(certificates.view(record.certificate, evaluated.host, now)
                     if record.certificate else None),
        rules=tuple(_rule(needed, record) for needed in record.objects if _leads(needed)), pool=pool,
        objects=tuple(ObjectView(needed.ref.kind, needed.ref.path, needed.state, needed.refusal)
                      for needed in record.objects
                      if needed.desired is not None and not _leads(needed) and needed.ref != record.pool),
        requests=looked_up, problems=(), front_end=route.key.front_end,
        source_namespace="" if source.namespace == route.key.namespace else source.namespace,
        claimant=str(route.origin.claimant) if route.origin and route.origin.claimant else "")
    return replace(shown, problems=findings.of_route(shown, record.warnings, record.waits_for))


def place(route: Route) -> tuple[str, str, str, str]:
    """Return the place of a Route in a list: by namespace and name of the object that people know it by."""
    source = route.subject.key
    return source.namespace, source.name, route.key.name, route.key.front_end


# --- parts -------------------------------------------------------------------------------


def _virtuals(record: RouteRecord) -> list[VirtualFacts]:
    """Return the virtual servers on which requests of the Route are answered."""
    evaluated = record.evaluated
    wanted = [record.https if evaluated.termination else None,
              record.http if evaluated.insecure != "None" else None]
    return [facts for facts in wanted if facts is not None]


def _virtual(facts: VirtualFacts) -> VirtualServerView:
    return VirtualServerView(facts.path, facts.address, facts.port, facts.exists, facts.enabled,
                             facts.disabled_address)


def _leads(needed: NeededObject) -> bool:
    """True for what leads requests to the pool or elsewhere."""
    wanted = needed.desired
    return isinstance(wanted, Rule | DefaultPool) or (
        isinstance(wanted, Record) and base_name(wanted.group) == names.PASSTHROUGH_GROUP
        and wanted.data != names.EXCLUSION)


def _rule(needed: NeededObject, record: RouteRecord) -> RuleView:
    wanted = needed.desired
    if isinstance(wanted, Record):
        pool = wanted.data.removeprefix(names.ENDED)
        how = "" if pool == wanted.data else ", TLS ends here"
        return RuleView(wanted.name, wanted.group, f"server name is {sni_records.host_of(wanted.name)}{how}",
                        f"pool {pool}", needed.state, needed.refusal)
    if isinstance(wanted, DefaultPool):
        does = f"pool {wanted.pool}" if is_of_service(wanted.pool) else "reset"
        return RuleView("pool", wanted.virtual, "every connection", does, needed.state, needed.refusal)
    assert isinstance(wanted, Rule), "_leads chooses these"
    replies = (requests.reply_to(wanted, each.desired) for each in record.objects)
    reply = next(filter(None, replies), None)
    return RuleView(wanted.name, wanted.policy, requests.conditions(wanted), requests.action(wanted, reply),
                    needed.state, needed.refusal)


def _pool(record: RouteRecord, locator: Locator, health: Health) -> PoolView | None:
    needed = next((needed for needed in record.objects if needed.ref == record.pool), None)
    if needed is None or not isinstance(needed.desired, Pool):
        return None
    wanted, there = needed.desired, needed.observed if isinstance(needed.observed, Pool) else None
    members = tuple(_members(wanted, there, locator, health))
    return PoolView(
        wanted.path, wanted.load_balancing, wanted.monitor, members, needed.state, needed.refusal,
        needed.left_out)


def _members(wanted: Pool, there: Pool | None, locator: Locator, health: Health) -> list[MemberView]:
    """Return the members that are wanted and those that are on the device, by address."""
    desired = {(member.address, member.port): member for member in wanted.members}
    observed = {(member.address, member.port): member for member in there.members} if there else {}
    return [_member(desired.get(place), observed.get(place), locator.node_of(place[0]), health.get(place, ""))
            for place in sorted(desired.keys() | observed.keys())]


def _member(wanted: PoolMember | None, there: PoolMember | None, node: NodeView | None,
            health: str) -> MemberView:
    shown = wanted or there
    assert shown is not None, "a member is wanted or there"
    state = State.MISSING if there is None else State.IN_PLACE if there == wanted else State.DIFFERS
    if there and wanted and wanted.state == "enabled" != there.state:
        health = DISABLED
    return MemberView(
        shown.address, shown.port, shown.ratio, (there or shown).state, health if there else "", state,
        node.name if node else "", node.problem if node else "", node.vtep if node and node.ways else "",
        is_reached=node is None or node.is_reached)
