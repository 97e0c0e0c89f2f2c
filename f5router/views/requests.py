"""The answer of the BIG-IP to a request, by what is on the device; Rules and other objects in words.

The Rules of the router's policies are compared in their order, as a policy with the strategy first-match
does, and the records of passthrough as openshift_passthrough_irule looks them up. The objects of others are
not looked at. Health counts as far as the caller has read it.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import merge
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import urlsplit

from f5router.model import http_edge, names, sni_records
from f5router.model.cluster import Key
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.front_end_names import named
from f5router.model.http_edge import DeviceAnswer
from f5router.model.ltm import (
    Attachment,
    CheckedRedirect,
    Condition,
    Foreign,
    Forward,
    Object,
    Policy,
    Pool,
    Record,
    Redirect,
    Rule,
    record_ref,
)
from f5router.model.objects import Ref
from f5router.model.request_match import RequestMatch

Down = Mapping[str, Collection[tuple[str, int]]]
"""Address and port of members that the BIG-IP sends nothing, by full path of their pool."""
NOBODY: Down = {}

HTTP, HTTPS = "http", "https"
SCHEMES = (HTTP, HTTPS)


_GET = RequestMatch("GET")


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a client."""

    scheme: str
    host: str
    """In lower case, without port and trailing dot; it is the server name of TLS, too."""
    path: str
    """Without query."""
    port: int = 0
    """0 for that of the virtual server."""
    has: RequestMatch = _GET
    """Its method, "" for one that no Rule names, its headers and its query parameters."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request, and the reasons for it."""

    steps: tuple[str, ...]
    """The decisions, in order; the last one is the outcome."""
    matched: Ref | None = None
    """The Rule or record that leads the request; None if none does."""
    pool: Pool | None = None
    """The pool that gets it, as it is on the device; None for a redirect, or if nothing serves it."""
    served: bool = False
    """True if a member of a pool gets the request, or a redirect is the answer."""
    doubt: str = ""
    """Something that was not evaluated and may change the outcome; "" for nothing."""
    status: int = 0
    """Status of the answer that the BIG-IP gives in the place of pods, for an HTTPRoute; 0 for none."""


def parse(url: str) -> Request:
    """Return the request for a URL. Raises: ValueError: it is no URL of http or https with a host."""
    parts = urlsplit(url if "://" in url else f"{HTTPS}://{url}")
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ValueError(f"{url!r} must be http://HOST/PATH or https://HOST/PATH")
    query = tuple(pair.partition("=")[::2] for pair in parts.query.split("&") if pair)
    return Request(parts.scheme, parts.hostname.lower().rstrip("."), parts.path or "/", parts.port or 0,
                   _GET._replace(query=query))


def host_of(text: str) -> str:
    """Return the Host that a text means: a Host, one with a port or a final dot, or a URL."""
    host = text.partition("://")[2] or text
    host = re.split("[/?#]", host, maxsplit=1)[0].lower()
    return re.sub(r":[0-9]*\Z", "", host).removesuffix(".")


class Lookup:
    """Answers to requests, by the router's objects on the device; each Rule is sorted in once."""

    def __init__(self, objects: Mapping[Ref, Object], facts: DeviceFacts, folder: str, front_end: str = ""):
        """Args: facts: as the front end has them; folder: the router's."""
        self._objects, self._facts = objects, facts
        self._group = names.full_path(folder, named(names.PASSTHROUGH_GROUP, front_end))
        self._options = names.full_path(folder, named(names.HTTP_GROUP, front_end))
        self._policies: dict[str, list[str]] = {}
        """Full paths of the policies by virtual server, in order."""
        rules: dict[str, list[Rule]] = {}
        for obj in objects.values():
            if isinstance(obj, Rule):
                rules.setdefault(obj.policy, []).append(obj)
            elif isinstance(obj, Attachment) and obj.target_kind == Policy.KIND:
                self._policies.setdefault(obj.virtual, []).append(obj.target)
        self._rules = {policy: _SortedRules(each) for policy, each in rules.items()}

    def has(self, scheme: str) -> bool:
        """True if the settings name a virtual server for a scheme."""
        return (self._facts.https if scheme == HTTPS else self._facts.http) is not None

    def answer(self, request: Request, down: Down = NOBODY) -> Answer:
        """Return the outcome of a request. Args: down: as far as it was read already."""
        virtual = self._facts.https if request.scheme == HTTPS else self._facts.http
        if virtual is None or not virtual.exists:
            which = virtual.path if virtual else f"for {request.scheme}"
            return Answer((f"virtual server {which} is not there: nobody answers",))
        if not virtual.enabled:
            return Answer((f"virtual server {virtual.path} is disabled: nobody answers",))
        if virtual.disabled_address:
            return Answer((f"virtual address {virtual.disabled_address} of virtual server {virtual.path} is "
                           "disabled: nobody answers",))
        if request.port and virtual.port not in (0, request.port):
            return Answer((f"virtual server {virtual.path} has port {virtual.port}: the router has none for "
                           f"port {request.port}",))
        steps = [f"virtual server {virtual.path}, {virtual.address or '*'} port {virtual.port or '*'}"]
        if request.scheme == HTTPS and (
                passed := _passthrough(request, self._objects, self._group, steps, down)):
            return passed
        return self._by_policy(request, virtual, steps, down)

    def _by_policy(self, request: Request, virtual: VirtualFacts, steps: list[str], down: Down) -> Answer:
        policies = sorted(self._policies.get(virtual.path, ()))
        if not policies:
            steps.append(f"no policy of the router is attached to {virtual.path}: its default pool answers, "
                         "if there is one")
            return Answer(tuple(steps))
        doubts: list[str] = []
        for policy in policies:
            rules = self._rules.get(policy, _NO_RULES)
            strategy = self._objects.get(Ref(Policy.KIND, policy))
            if isinstance(strategy, Policy) and strategy.strategy != "first-match":
                doubts.append(f"policy {policy} has the strategy {strategy.strategy}")
            doubts += [f"rule {rule.name} of {policy} has a form that is not evaluated"
                       for rule in rules.odd]
            if (first := rules.first(request)) is not None:
                number, rule = first
                steps.append(f"policy {policy}, rule {number + 1} of {len(rules)}: {rule.name} matches")
                reply = reply_to(rule, self._objects.get(record_ref(self._options, _record_name(rule))))
                return _carried_out(request, rule, self._objects, steps, down, "; ".join(doubts[:1]), reply)
            steps.append(f"policy {policy}: none of {len(rules)} rules matches")
        steps.append(f"no Route has this host and path over {request.scheme.upper()}: the answer is 503, or "
                     "the router's page for this")
        return Answer(tuple(steps), doubt="; ".join(doubts[:1]))


class _SortedRules:
    """The Rules of a policy in their order, found by the Host that they name."""

    def __init__(self, rules: Iterable[Rule]):
        ordered = sorted(rules, key=lambda rule: rule.ordinal)
        self.odd = [rule for rule in ordered if isinstance(rule.conditions, Foreign)]
        """Rules of a form that is not evaluated."""
        self._length = len(ordered)
        self._by_host: dict[str, list[tuple[int, Rule]]] = {}
        self._other: list[tuple[int, Rule]] = []
        """Rules for more than one Host, such as those of wildcards."""
        for number, rule in enumerate(ordered):
            for host in _exact_hosts(rule) or ():
                self._by_host.setdefault(host, []).append((number, rule))
            if not _exact_hosts(rule):
                self._other.append((number, rule))

    def __len__(self) -> int:
        return self._length

    def first(self, request: Request) -> tuple[int, Rule] | None:
        """Return the first Rule that matches a request, with its number from 0."""
        candidates = merge(self._by_host.get(request.host, ()), self._other, key=itemgetter(0))
        return next(((number, rule) for number, rule in candidates
                     if not isinstance(rule.conditions, Foreign)
                     and all(_matches(condition, request) for condition in rule.conditions)), None)


_NO_RULES = _SortedRules(())


def _exact_hosts(rule: Rule) -> frozenset[str]:
    """Return the Hosts, in lower case, that a condition of a Rule names in full; empty if none does."""
    conditions = () if isinstance(rule.conditions, Foreign) else rule.conditions
    return next((frozenset(value.lower() for value in condition.values) for condition in conditions
                 if condition.selector == "host" and condition.operator == "equals"), frozenset())


# --- passthrough -------------------------------------------------------------------------


def _passthrough(request: Request, objects: Mapping[Ref, Object], group: str, steps: list[str],
                 down: Down) -> Answer | None:
    """Look up the server name as the iRule does; None if the BIG-IP looks at requests."""
    for name in sni_records.deciding(request.host):
        record = objects.get(record_ref(group, name))
        if not isinstance(record, Record):
            continue
        if record.data == names.EXCLUSION:
            steps.append(f"server name {request.host}: record {name} of {group} excepts it, TLS ends here")
            return None
        pool = record.data.removeprefix(names.ENDED)
        does = "passes TLS through" if pool == record.data else "ends TLS, and looks for no requests in it"
        steps.append(f"server name {request.host}: record {name} of {group} {does}")
        return _to_pool(HTTPS, record.ref, pool, objects, steps, down)
    steps.append(f"server name {request.host}: no record of {group}, TLS ends here")
    return None


# --- policies ----------------------------------------------------------------------------


def _matches(condition: Condition, request: Request) -> bool:
    """Compare as LTM policies do: the host without its port, segments of the path counted from 1."""
    if condition.selector == "host":
        text = request.host
    elif condition.selector == "pathSegment":
        segments = request.path.split("/")[1:]
        text = segments[condition.index - 1] if condition.index <= len(segments) else ""
    elif condition.operand == "httpMethod":
        text = request.has.method
    elif condition.name:
        pairs = request.has.headers if condition.operand == "httpHeader" else request.has.query
        text = dict(pairs).get(condition.name, "")
    else:
        text = request.path
    values: Iterable[str] = condition.values
    if not condition.case_sensitive:
        text, values = text.lower(), {value.lower() for value in values}
    match condition.operator:
        case "equals":
            return text in values
        case "startsWith":
            return text.startswith(tuple(values))
    return text.endswith(tuple(values))


def reply_to(rule: Rule, record: Object | None) -> DeviceAnswer | None:
    """Return the answer of the BIG-IP in the place of pods. Args: record: the one that the Rule names."""
    named_by_rule = isinstance(record, Record) and record.name == _record_name(rule) != ""
    return http_edge.reply_of(record.data) if named_by_rule and isinstance(record, Record) else None


def _record_name(rule: Rule) -> str:
    return rule.action.http if isinstance(rule.action, Forward) else ""


def _carried_out(request: Request, rule: Rule, objects: Mapping[Ref, Object], steps: list[str],
                 down: Down, doubt: str, reply: DeviceAnswer | None) -> Answer:
    """Return the outcome of a Rule. An iRule lets a wildcard have one label only."""
    if rule.suffix and not _is_one_label(request.host, rule.suffix):
        steps.append(f"{request.host} has more than one label before {rule.suffix}: the answer is 503")
        return Answer(tuple(steps), rule.ref, doubt=doubt)
    if reply is not None:
        of = "" if reply.share == 1 else f" to {reply.share:.1%} of the requests"
        steps.append(f"the answer is {reply.text}{of}")
        if not of:
            return Answer(tuple(steps), rule.ref, served=bool(reply.target), doubt=doubt, status=reply.status)
    match rule.action:
        case Forward(pool=pool):
            return _to_pool(request.scheme, rule.ref, pool, objects, steps, down, doubt)
        case Redirect(location=location, status=status):
            where = "the same address with https" if location.startswith("tcl:") else location
            steps.append(f"the answer is {status}, to {where}")
        case CheckedRedirect():
            steps.append("the answer is 302, to the same address with https")
        case Foreign(text=text):
            steps.append("its action has a form that is not evaluated")
            return Answer(tuple(steps), rule.ref, doubt=text)
    return Answer(tuple(steps), rule.ref, served=True, doubt=doubt)


def _is_one_label(host: str, suffix: str) -> bool:
    return host.endswith(suffix) and "." not in host.removesuffix(suffix) and host != suffix


def _to_pool(scheme: str, matched: Ref, path: str, objects: Mapping[Ref, Object], steps: list[str],
             down: Down, doubt: str = "") -> Answer:
    pool = objects.get(Ref(Pool.KIND, path))
    if not isinstance(pool, Pool):
        steps.append(f"pool {path} is not there: the answer is a reset connection or 503")
        return Answer(tuple(steps), matched, doubt=doubt)
    if path.endswith(f"/{names.NOWHERE_POOL}"):
        steps.append(f"pool {path} has no members on purpose: the Route is not served over "
                     f"{scheme.upper()} or for this path, or waits for its Secret; the answer is 503, or a "
                     "reset connection")
        return Answer(tuple(steps), matched, pool, doubt=doubt)
    enabled = [member for member in pool.members if member.state == "enabled"]
    usable = [each for each in enabled if (each.address, each.port) not in down.get(path, ())]
    unfit = len(enabled) - len(usable)
    steps.append(f"pool {path}, {len(usable)} of {len(pool.members)} members take requests"
                 + (f", {unfit} {'is' if unfit == 1 else 'are'} down or disabled" if unfit else "")
                 + ("" if usable else ": the answer is 503, or a reset connection"))
    return Answer(tuple(steps), matched, pool, served=bool(usable), doubt=doubt)


def owner(matched: Ref) -> Key | None:
    """Return the Route of a Rule by its name; None if that was shortened, or it is a record."""
    return names.route_key(matched.path.rsplit("/", 1)[1]) if matched.kind == Rule.KIND else None


class State(StrEnum):
    """State of an object on the device."""

    IN_PLACE = "in place"
    MISSING = "missing"
    DIFFERS = "differs"
    """It is there, but not as it is wanted."""
    REFUSED = "refused"
    """The device refused its last write, or that of an object that it needs."""


class NeededObject(NamedTuple):
    """An object that requests need."""

    ref: Ref
    desired: Object | None
    """None for an object of the administrator's."""
    observed: Object | None
    """None if it is not on the device."""
    refusal: str = ""
    """Why the device refused its last write; "" if it did not."""
    left_out: bool = False
    """True for a pool that is written without the members that the device refused."""

    @property
    def state(self) -> State:
        """State of the object on the device."""
        if self.refusal:
            return State.REFUSED
        if self.observed is None:
            return State.MISSING
        return State.IN_PLACE if self.observed == self.desired else State.DIFFERS


_NAMED = {"httpHeader": "header", "httpUri": "query parameter"}
_OPERATORS = {"equals": "is", "startsWith": "begins with", "endsWith": "ends with"}


def conditions(rule: Rule) -> str:
    """Return the conditions of a Rule in words."""
    if isinstance(rule.conditions, Foreign):
        return rule.conditions.text
    return ", ".join(sorted(map(_condition, rule.conditions))) or "every request"


def _condition(condition: Condition) -> str:
    """Return a condition in words; a host without its forms with a port or a final dot."""
    what = f"path segment {condition.index}" if condition.index else (
        f"{_NAMED[condition.operand]} {condition.name}" if condition.name else
        "method" if condition.operand == "httpMethod" else condition.selector)
    is_host = condition.selector == "host"
    values = " or ".join(sorted({_bare(value) if is_host else value for value in condition.values}))
    return f"{what} {_OPERATORS.get(condition.operator, condition.operator)} {values}"


def _bare(host: str) -> str:
    return host.partition(":")[0].removesuffix(".")


def action(rule: Rule, reply: DeviceAnswer | None = None) -> str:
    """Return the action of a Rule in words. Args: reply: as reply_to returns it."""
    if reply is not None and reply.share == 1:
        return f"answer {reply.text}"
    match rule.action:
        case Forward(pool=pool):
            return f"pool {pool}"
        case Redirect(status=status):
            return f"redirect {status} to https"
        case CheckedRedirect():
            return "redirect 302 to https"
    return rule.action.text
