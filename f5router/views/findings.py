"""Findings about a Route, from the client to the pods, and the requests that prove them.

Pure functions of what is wanted, what is on the device, and what was refused. `explain`, `get`, the status
page and documents show the same findings.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from f5router.admission.admission import EvaluatedRoute
from f5router.model import findings, hostnames, http_edge
from f5router.model.cluster import PathMatch
from f5router.model.findings import CATALOGUE, CAUSES_OF_EMPTY_POOLS, Finding, Link, finding
from f5router.model.meanings import Effect
from f5router.model.objects import Ref
from f5router.model.request_match import ANY_REQUEST
from f5router.model.texts import Problem
from f5router.views.requests import HTTP, HTTPS, NOBODY, Answer, Down, Lookup, Request, State
from f5router.views.route_view import (
    DISABLED,
    DOWN,
    Health,
    MemberView,
    PoolView,
    RequestView,
    RouteView,
    Status,
)

SERVER_ERROR = 500
PROBE = "f5router-probe"
"""Label that stands for any name below a wildcard, and for any path below a path."""


def probes(evaluated: EvaluatedRoute, uses: Collection[Ref], lookup: Lookup,
           down: Down = NOBODY) -> tuple[RequestView, ...]:
    """Look up one request for each port on which a Route is served.

    Args: uses: its objects; down: members of its pool that the BIG-IP sends nothing, as far as it was read.
    """
    result = []
    for scheme in filter(lookup.has, _schemes(evaluated)):
        request = Request(scheme, _name(evaluated.host), evaluated.route.path or "/",
                          has=evaluated.route.match or ANY_REQUEST)
        answer = lookup.answer(request, down)
        if answer.matched not in uses and evaluated.route.path_match is not PathMatch.EXACT:
            # Another Route may have the path itself, as an Ingress with pathType Exact, and not those below.
            below = replace(request, path=f"{request.path.rstrip('/')}/{PROBE}")
            if (answer_below := lookup.answer(below, down)).matched in uses:
                request, answer = below, answer_below
        own = answer.matched is not None and answer.matched in uses
        outcome = answer.steps[-1] if own or answer.matched is None else (
            f"{answer.matched} of another Route leads it")
        served = answer.served or is_wanted(answer, evaluated)
        result.append(RequestView(f"{scheme}://{request.host}{request.path}", served and own, outcome))
    return tuple(result)


def is_wanted(answer: Answer, evaluated: EvaluatedRoute) -> bool:
    """True for an answer of the BIG-IP that a Route asks for: 404 where no HTTPRoute has the request."""
    wanted = http_edge.reply_of(evaluated.route.options.reply)
    return wanted is not None and wanted.status == answer.status < SERVER_ERROR


def _schemes(evaluated: EvaluatedRoute) -> Iterator[str]:
    if evaluated.termination:
        yield HTTPS
    if evaluated.insecure != "None":
        yield HTTP


def _name(host: str) -> str:
    if host == hostnames.ANY:
        return PROBE
    return f"{PROBE}.{host.removeprefix('*.')}" if host.startswith("*.") else host


def of_route(shown: RouteView, warnings: Iterable[Problem], waits_for: str = "") -> tuple[Finding, ...]:
    """Return what is wrong with a Route, in the order from the client to the pods.

    Args:
        shown: the view of the Route, without findings.
        warnings: those of its Services tell why a pool has no members.
        waits_for: why its objects cannot be written yet; "" if they can.
    """
    broken = list(_of_admission(shown, waits_for))
    if shown.status is Status.REJECTED:
        return tuple(broken)  # nothing of it is on the device
    broken += _of_the_way(shown)
    broken += _of_pool(shown.pool, list(warnings)) if shown.pool else ()
    if shown.pool and shown.pool.health_problem:
        broken.append(finding(Link.POOL, findings.HEALTH_NOT_READ,
                              f"health of members not read: {shown.pool.health_problem}", at=shown.pool.path))
    broken += [finding(Link.REQUEST, findings.NOT_ANSWERED, probe.outcome, at=probe.url)
               for probe in shown.requests if not probe.served]
    return tuple(broken)


def of_object(problems: Iterable[Problem], *, effect: Effect | None = None) -> tuple[Finding, ...]:
    """Return why parts of an Ingress or IngressRoute become no Route. Args: effect: that of all of them."""
    return tuple(finding(Link.ROUTE, problem.reason if problem.reason in CATALOGUE else findings.INVALID,
                         problem.message, effect=effect) for problem in problems)


def _of_admission(shown: RouteView, waits_for: str) -> Iterator[Finding]:
    text = f"{shown.reason}: {shown.message}"
    if shown.status in (Status.REJECTED, Status.DEVICE_REJECTED):
        known = shown.reason in CATALOGUE
        yield finding(Link.ROUTE, shown.reason if known else findings.NOT_ADMITTED, text)
    elif waits_for:
        yield finding(Link.ROUTE, findings.DEVICE_PENDING, waits_for)


def _of_the_way(shown: RouteView) -> Iterator[Finding]:
    """Yield what is wrong between the client and the pool."""
    for server in shown.virtual_servers:
        if not server.exists:
            yield finding(Link.VIRTUAL_SERVER, findings.SERVER_MISSING, f"{server.path} is not there",
                          at=server.path)
        elif not server.enabled:
            yield finding(Link.VIRTUAL_SERVER, findings.SERVER_DISABLED, f"{server.path} is disabled",
                          at=server.path)
        elif server.disabled_address:
            yield finding(Link.VIRTUAL_SERVER, findings.ADDRESS_DISABLED,
                          f"{server.disabled_address}, the virtual address of {server.path}, is disabled",
                          at=server.disabled_address)
    if shown.certificate and shown.certificate.problem:
        yield finding(Link.CERTIFICATE, shown.certificate.code, shown.certificate.problem)
    is_proved = bool(shown.requests) and all(request.served for request in shown.requests)
    for rule in shown.rules:
        if rule.state is not State.IN_PLACE:
            at = f"{rule.name} in {rule.container}"
            yield finding(Link.RULE, _code(rule.state, findings.RULE_NOT_IN_PLACE),
                          f"{at}: {_why(rule.state, rule.problem)}", at=at,
                          effect=Effect.NONE if is_proved and rule.state is State.DIFFERS else None)
    for obj in shown.objects:
        if obj.state is not State.IN_PLACE:
            at = f"{obj.kind} {obj.path}"
            yield finding(Link.RULE, _code(obj.state, findings.OBJECT_NOT_IN_PLACE),
                          f"{at}: {_why(obj.state, obj.problem)}", at=at,
                          effect=Effect.NONE if obj.state is State.DIFFERS else None)


def _code(state: State, code: str) -> str:
    return findings.DEVICE_REJECTED if state is State.REFUSED else code


def _why(state: State, problem: str) -> str:
    return problem or {State.MISSING: "it is not on the BIG-IP",
                       State.DIFFERS: "it differs on the BIG-IP"}.get(state, state.value)


def _of_pool(pool: PoolView, warnings: Sequence[Problem]) -> Iterator[Finding]:
    usable = [member for member in pool.members if takes_requests(member)]
    if pool.state in (State.MISSING, State.REFUSED):
        code = findings.MEMBER_LEFT_OUT if pool.left_out else _code(pool.state, findings.POOL_NOT_IN_PLACE)
        yield finding(Link.POOL, code, f"{pool.path}: {_why(pool.state, pool.problem)}", at=pool.path,
                      effect=None if usable else Effect.LOST)
    elif not usable:
        yield from _of_empty(pool, warnings)
    elif pool.active == 0:
        yield finding(Link.POOL, findings.NO_MEMBER_UP, f"{pool.path}: the BIG-IP sends requests to none of "
                      f"its {len(usable)} members: they are down, or disabled", at=pool.path)
    yield from _of_members(pool.members, is_lost=not usable)
    nodes = {member.node: member for member in pool.members if member.node_problem}
    is_cut_off = bool(usable) and not any(member.is_reached for member in usable)
    for node, member in nodes.items():
        yield finding(Link.NODE, findings.NODE_NOT_REACHED, f"{node}: {member.node_problem}", at=node,
                      effect=Effect.LOST if is_cut_off else None)


def takes_requests(member: MemberView) -> bool:
    """True for a member that is on the device, and neither disabled nor down as far as that is known."""
    return (member.state is not State.MISSING and member.session == "enabled"
            and member.health not in (DOWN, DISABLED))


def _of_empty(pool: PoolView, warnings: Sequence[Problem]) -> Iterator[Finding]:
    """Yield the causes of a pool without a member that takes requests."""
    causes = [each for each in warnings if each.reason in CAUSES_OF_EMPTY_POOLS]
    for cause in causes:
        yield finding(Link.POOL, cause.reason, f"no member takes requests: {cause.message}", at=pool.path,
                      effect=Effect.LOST)
    if not causes and not any(map(_is_faulty, pool.members)):
        yield finding(Link.POOL, findings.NO_MEMBERS, "no member takes requests", at=pool.path)


def down_of(pool: Ref | None, health: Health | None) -> Down:
    """Return the members of a pool that the BIG-IP sends nothing. Args: health: None if it was not read."""
    if pool is None or not health:
        return NOBODY
    return {pool.path: {place for place, word in health.items() if word in (DOWN, DISABLED)}}


def _is_faulty(member: MemberView) -> bool:
    return member.state is State.MISSING or member.health in (DOWN, DISABLED)


def _of_members(members: Iterable[MemberView], *, is_lost: bool) -> Iterator[Finding]:
    effect = Effect.LOST if is_lost else None
    for member in members:
        at = f"{member.address} port {member.port}"
        if member.state is State.MISSING:
            yield finding(Link.MEMBER, findings.MEMBER_NOT_IN_PLACE, f"{at} is not on the BIG-IP", at=at,
                          effect=effect)
        elif member.health == DOWN:
            yield finding(Link.MEMBER, findings.MEMBER_DOWN, f"{at} is down for the BIG-IP's monitor", at=at,
                          effect=effect)
        elif member.health == DISABLED:
            yield finding(Link.MEMBER, findings.MEMBER_DISABLED,
                          f"{at}: an administrator has disabled it, or its LTM node", at=at, effect=effect)
