"""A Route as people see it: from its host through Rule and pool to the pods and their Nodes.

`view` is pure: it may run in any thread, on a record that the control loop, or a command, has given.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from f5router.admission.admission import DEVICE_REJECTED, EvaluatedRoute
from f5router.admission.condition import PENDING, Verdict
from f5router.desired import pools
from f5router.model import names
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import VirtualFacts
from f5router.model.ltm import (
    Pool,
    PoolMember,
    Record,
    Rule,
)
from f5router.views import certificates, requests
from f5router.views.certificates import CertificateView, OptionView, options_in_force
from f5router.views.nodes import Locator, NodeView
from f5router.views.records import Known, RouteRecord
from f5router.views.requests import NeededObject, State

Connections = tuple[int, int]
"""Connections of a pool that are open, and that were opened so far."""
Health = Mapping[tuple[str, int], str]
"""Health of the members of a pool by address and port: UP, DOWN or UNCHECKED, as the BIG-IP reports it."""
UP, DOWN, UNCHECKED = "up", "down", "unchecked"


class Status(StrEnum):
    """Status of a Route, by the words of the metric f5router_routes."""

    ADMITTED = "admitted"
    REJECTED = "rejected"
    """For what is in it, or because another object holds its host."""
    DEVICE_REJECTED = "device_rejected"
    PENDING = "pending"


class Link(StrEnum):
    """A link of the chain from a client to a pod."""

    ROUTE = "route"
    VIRTUAL_SERVER = "virtual server"
    CERTIFICATE = "certificate"
    RULE = "rule"
    POOL = "pool"
    MEMBER = "member"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A broken link, and why."""

    link: Link
    text: str


@dataclass(frozen=True, slots=True)
class VirtualServerView:
    """A virtual server that the Route is on."""

    path: str
    address: str
    port: int
    """0 for any."""
    exists: bool


@dataclass(frozen=True, slots=True)
class RuleView:
    """A Rule of a policy, or the record of a passthrough Route, which leads requests."""

    name: str
    container: str
    """Full path of the policy or data-group."""
    conditions: str
    """"host is www.example.com, path begins with /shop"."""
    action: str
    """"pool /Common/...", or "redirect 302 to https"."""
    state: State
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MemberView:
    """A pool member, wanted or on the device."""

    address: str
    port: int
    ratio: int
    session: str
    """enabled, disabled or forced_offline."""
    health: str
    """UP, DOWN or UNCHECKED; "" if it was not asked for, or the BIG-IP does not report it."""
    state: State
    node: str = ""
    """Name of its Node; "" if it is not known."""
    node_problem: str = ""
    vtep: str = ""


@dataclass(frozen=True, slots=True)
class PoolView:
    """The pool of a Route."""

    path: str
    load_balancing: str
    monitor: str
    members: tuple[MemberView, ...]
    state: State
    problem: str = ""
    connections: int | None = None
    """Open connections to its members; None if nobody has asked the BIG-IP."""
    opened: int | None = None
    """Connections opened so far."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A Service of a Route with its share."""

    name: str
    port: str
    weight: int


@dataclass(frozen=True, slots=True)
class ObjectView:
    """Another object that requests need: a profile, an iRule, a record."""

    kind: str
    path: str
    state: State
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RouteView:
    """Route, possibly one of the Routes that an Ingress or IngressRoute stands for."""

    namespace: str
    id: str
    """Name by which it is addressed; unique in its namespace."""
    kind: str
    """Kind of the source object: Route, Ingress or IngressRoute."""
    name: str
    """Name of the source object."""
    field: str
    """Part of the source object; "" for all of it."""
    host: str
    path: str
    path_match: str
    """segments, text or exact."""
    termination: str
    """"" for HTTP alone, edge, reencrypt or passthrough."""
    insecure: str
    """Policy of port 80: None, Allow or Redirect."""
    status: Status
    reason: str
    message: str
    since: str
    """When the status changed last, RFC 3339 in UTC; "" if that is not known."""
    created: str
    services: tuple[ServiceView, ...]
    options: tuple[OptionView, ...]
    warnings: tuple[str, ...]
    virtual_servers: tuple[VirtualServerView, ...]
    certificate: CertificateView | None
    """None where the virtual server's own certificate answers, and without TLS."""
    rules: tuple[RuleView, ...]
    pool: PoolView | None
    """None for a Route that is not served."""
    objects: tuple[ObjectView, ...]
    """All other objects that it needs."""
    problems: tuple[BrokenLink, ...]
    """Broken links in the order from the client to the pods; () if none is known."""


@dataclass(frozen=True, slots=True)
class RouteSummary:
    """A line of a list of all Routes, and what it is searched by."""

    key: Key
    kind: str
    name: str
    host: str
    path: str
    service: str
    termination: str
    status: Status
    reason: str
    is_warned: bool
    """True if there are warnings about it."""
    text: str
    """Text that a search looks in, in lower case."""


def status_of(verdict: Verdict | None) -> Status:
    """Return the status of a verdict; without one the Route is pending."""
    if verdict is None or verdict.admitted is None:
        return Status.PENDING
    if verdict.admitted:
        return Status.ADMITTED
    return Status.DEVICE_REJECTED if verdict.reason == DEVICE_REJECTED else Status.REJECTED


def summary(key: Key, evaluated: EvaluatedRoute, known: Known) -> RouteSummary:
    """Build the summary of a Route."""
    (kind, name), route, host = _source(evaluated.route), evaluated.route, evaluated.host
    verdict = known.verdict
    reason = verdict.reason if verdict else ""
    text = f"{key.namespace}/{name}\n{host}{route.path}\n{route.service}\n{kind}\n{reason}".lower()
    return RouteSummary(key, kind, name, host, route.path, route.service, evaluated.termination,
                        status_of(verdict), reason, known.is_warned, text)


def view(record: RouteRecord, now: datetime.datetime, locator: Locator | None = None,
         health: Health | None = None, connections: Connections | None = None) -> RouteView:
    """Build the view of a Route.

    Args:
        locator: finds the Nodes of members; None if nobody asks.
        health: of the members of its pool; None if it was not asked for.
        connections: of its pool; None if they were not asked for.
    """
    evaluated, known = record.evaluated, record.known
    route = evaluated.route
    kind, name = _source(route)
    verdict = known.verdict or replace(PENDING, message=record.waits_for or "waiting for the BIG-IP")
    pool = _pool(record, locator or Locator(()), health or {})
    if pool is not None and connections is not None:
        pool = replace(pool, connections=connections[0], opened=connections[1])
    shown = RouteView(
        namespace=route.key.namespace, id=route.key.name, kind=kind, name=name,
        field=route.origin.field if route.origin else "",
        host=evaluated.host, path=route.path, path_match=route.path_match.value,
        termination=evaluated.termination, insecure=evaluated.insecure, status=status_of(known.verdict),
        reason=verdict.reason, message=verdict.message, since=_time(known.since), created=route.created,
        services=tuple(ServiceView(target.service, target.port, weight)
                       for target, weight in pools.backends(route).items()),
        options=options_in_force(route), warnings=record.warnings,
        virtual_servers=tuple(_virtual(facts) for facts in _virtuals(record)),
        certificate=(certificates.view(record.certificate, evaluated.host, now)
                     if record.certificate else None),
        rules=tuple(_rule(needed) for needed in record.objects if _leads(needed)), pool=pool,
        objects=tuple(ObjectView(needed.ref.kind, needed.ref.path, needed.state, needed.refusal)
                      for needed in record.objects
                      if needed.desired is not None and not _leads(needed) and needed.ref != record.pool),
        problems=())
    return replace(shown, problems=tuple(_problems(shown)))


def place(route: Route) -> tuple[str, str, str]:
    """Return the place of a Route in a list: by namespace and name of the object that people know it by."""
    return route.key.namespace, _source(route)[1], route.key.name


def _source(route: Route) -> tuple[str, str]:
    """Return kind and name of the object that people know a Route by."""
    return (route.origin.kind, route.origin.key.name) if route.origin else ("Route", route.key.name)


def _time(since: float | None) -> str:
    if since is None:
        return ""
    return datetime.datetime.fromtimestamp(since, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- parts -------------------------------------------------------------------------------


def _virtuals(record: RouteRecord) -> list[VirtualFacts]:
    """Return the virtual servers on which requests of the Route are answered."""
    evaluated = record.evaluated
    wanted = [record.https if evaluated.termination else None,
              record.http if evaluated.insecure != "None" else None]
    return [facts for facts in wanted if facts is not None]


def _virtual(facts: VirtualFacts) -> VirtualServerView:
    return VirtualServerView(facts.path, facts.address, facts.port, facts.exists)


def _leads(needed: NeededObject) -> bool:
    """True for what leads requests to the pool or elsewhere."""
    wanted = needed.desired
    return isinstance(wanted, Rule) or (
        isinstance(wanted, Record) and wanted.group.endswith(f"/{names.PASSTHROUGH_GROUP}")
        and wanted.data != names.EXCLUSION)


def _rule(needed: NeededObject) -> RuleView:
    wanted = needed.desired
    if isinstance(wanted, Record):
        return RuleView(wanted.name, wanted.group, f"server name is {names.passthrough_host(wanted.name)}",
                        f"pool {wanted.data}", needed.state, needed.refusal)
    assert isinstance(wanted, Rule), "_leads chooses Rules and Records"
    return RuleView(wanted.name, wanted.policy, requests.conditions(wanted), requests.action(wanted),
                    needed.state, needed.refusal)


def _pool(record: RouteRecord, locator: Locator, health: Health) -> PoolView | None:
    needed = next((needed for needed in record.objects if needed.ref == record.pool), None)
    if needed is None or not isinstance(needed.desired, Pool):
        return None
    wanted, there = needed.desired, needed.observed if isinstance(needed.observed, Pool) else None
    members = tuple(_members(wanted, there, locator, health))
    return PoolView(
        wanted.path, wanted.load_balancing, wanted.monitor, members, needed.state, needed.refusal)


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
    return MemberView(
        shown.address, shown.port, shown.ratio, shown.state, health if there else "", state,
        node.name if node else "", node.problem if node else "", node.vtep if node and node.ways else "")


# --- problems ----------------------------------------------------------------------------


def _problems(shown: RouteView) -> list[BrokenLink]:
    """Return the broken links in the order from the client to the pods."""
    broken = []
    if shown.status in (Status.REJECTED, Status.DEVICE_REJECTED):
        broken.append(BrokenLink(Link.ROUTE, f"{shown.reason}: {shown.message}"))
    if shown.status == Status.REJECTED:
        return broken  # nothing of it is on the device
    broken += [BrokenLink(Link.VIRTUAL_SERVER, f"{server.path} is not there")
              for server in shown.virtual_servers if not server.exists]
    if shown.certificate and shown.certificate.problem:
        broken.append(BrokenLink(Link.CERTIFICATE, shown.certificate.problem))
    broken += [BrokenLink(Link.RULE, f"{rule.name} in {rule.container}: {_why(rule.state, rule.problem)}")
              for rule in shown.rules if rule.state != State.IN_PLACE]
    return broken + (_pool_problems(shown.pool) if shown.pool else [])


def _why(state: State, problem: str) -> str:
    return problem or {State.MISSING: "it is not on the BIG-IP",
                       State.DIFFERS: "it differs on the BIG-IP"}.get(state, state.value)


def _pool_problems(pool: PoolView) -> list[BrokenLink]:
    broken = []
    if pool.state in (State.MISSING, State.REFUSED):
        broken.append(BrokenLink(Link.POOL, f"{pool.path}: {_why(pool.state, pool.problem)}"))
    elif not pool.members:
        broken.append(BrokenLink(Link.POOL, f"{pool.path} has no members: no pod of its Services is ready"))
    for member in pool.members:
        name = f"{member.address} port {member.port}"
        if member.state == State.MISSING:
            broken.append(BrokenLink(Link.MEMBER, f"{name} is not on the BIG-IP"))
        elif member.health == DOWN:
            broken.append(BrokenLink(Link.MEMBER, f"{name} is down for the BIG-IP's monitor"))
    faulty = {member.node: member.node_problem for member in pool.members if member.node_problem}
    return broken + [BrokenLink(Link.NODE, f"{node}: {problem}") for node, problem in faulty.items()]
