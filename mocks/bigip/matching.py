"""LTM policies as they judge a request: conditions, strategies, actions (bigip-behaviour.md B4).

`traffic.decide` and the data plane share it. A policy is compiled once per change of it, and only what
changed; Rules that name a Host are found by it, so that a request costs what its Host has, not what the
policy has. Anything unknown to this module raises Unsupported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import names, policies
from mocks.bigip.operands import OPERANDS, OPERATORS
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Store


class Unsupported(Exception):
    """The configuration has something that the fake does not know how to carry out."""


@dataclass(frozen=True)
class Request:
    """host: Host header, with port if it has one. sni: server name of the ClientHello. query: None without a
    question mark."""

    host: str
    path: str = "/"
    sni: str | None = None
    tls: bool = False
    query: str | None = None
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return self.path if self.query is None else f"{self.path}?{self.query}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled Rule. place: its rank in the policy."""

    name: str
    place: int
    conditions: tuple[Condition, ...]
    actions: tuple[dict[str, Any], ...]
    sources: tuple[dict[str, Any], ...]
    """Its source objects; the same ones mean the same Rule."""

    def holds(self, store: Store, request: Request) -> bool:
        return all(condition.holds(store, request) for condition in self.conditions)

    @property
    def weight(self) -> tuple[int, int]:
        """Rank under best-match, an approximation: number of conditions, then length of values
        (bigip-behaviour.md B4)."""
        return len(self.conditions), sum(condition.longest for condition in self.conditions)


class Policy:
    """A compiled policy. before: the same policy earlier, whose unchanged Rules are kept."""

    def __init__(self, store: Store, item: Item, before: Policy | None = None) -> None:
        self.path = item.path
        self.item = item
        self.strategy = item.fields["strategy"].rsplit("/", 1)[1]
        kind = store.kinds[policies.RULES]
        ordered = kind.in_order(store.children(policies.RULES, item.key))
        old = before.rules if before else {}
        self.rules = {
            item_.name: _rule(store, item_, place, old.get(item_.name)) for place, item_ in enumerate(ordered)
        }
        self._by_host: dict[tuple[str, str], list[Rule]] = {}
        self._others: list[Rule] = []
        for rule in self.rules.values():
            hosts = next((condition.hosts for condition in rule.conditions if condition.hosts), None)
            if hosts is None:
                self._others.append(rule)
            else:
                for host in hosts:
                    self._by_host.setdefault(host, []).append(rule)

    def matching(self, store: Store, request: Request) -> list[Rule]:
        """Rules whose actions happen, in their order; first-match and best-match give at most one."""
        fitting = (rule for rule in self.candidates(store, request) if rule.holds(store, request))
        if self.strategy == "first-match":
            rule = next(fitting, None)
            return [rule] if rule else []
        if self.strategy == "best-match":
            return sorted(fitting, key=lambda rule: rule.weight, reverse=True)[:1]
        return list(fitting)

    def candidates(self, store: Store, request: Request) -> Iterator[Rule]:
        by_place = {rule.place: rule for rule in self._others}
        for selector in ("host", "all"):
            value = _host(store, request, selector).lower()
            for rule in self._by_host.get((selector, value), ()):
                by_place[rule.place] = rule
        for place in sorted(by_place):
            yield by_place[place]


def compiled(store: Store, path: str) -> Policy:
    """The policy with a full path, compiled again only after a change of it."""
    kept: dict[str, Policy] = store.kept.setdefault("policies", {})
    item, policy = store.get("ltm/policy", path), kept.get(path)
    if policy is None or policy.item is not item:
        policy = kept[path] = Policy(store, item, policy)
    return policy


def _rule(store: Store, item: Item, place: int, old: Rule | None) -> Rule:
    conditions = [item_.fields for item_ in store.children(policies.CONDITIONS, item.key).values()]
    actions = [item_.fields for item_ in store.children(policies.ACTIONS, item.key).values()]
    sources = (item.fields, *conditions, {}, *actions)
    if old is not None and old.place == place and _same(old.sources, sources):
        return old
    return Rule(item.name, place, tuple(map(Condition, conditions)), tuple(actions), sources)


def _same(left: tuple[dict, ...], right: tuple[dict, ...]) -> bool:
    """Return True if they are the very same objects; the empty one that stands between does not count."""
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(a is b or not (a or b) for a, b in pairs)


# -- conditions ------------------------------------------------------------------------------------

_TESTS = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
    "equals": str.__eq__,
}
_NUMERIC = {
    "less": float.__lt__,
    "lessOrEqual": float.__le__,
    "greater": float.__gt__,
    "greaterOrEqual": float.__ge__,
}
_HEADERS = {"httpUserAgent": "user-agent", "httpReferer": "referer"}


class Condition:
    """One condition of a Rule. hosts: (selector, Host) pairs of which one must be the request's."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.operand = next(operand for operand in OPERANDS if operand in fields)
        self.selector = next(selector for selector in OPERANDS[self.operand].selectors if selector in fields)
        self.operator = next(operator for operator in OPERATORS if operator in fields)
        self.negated = "not" in fields
        self.exact = "caseSensitive" in fields
        tls = self.operand == "sslExtension" and "sslClientHello" in fields
        self.known_event = tls or "request" in fields
        self.index, self.parameter = fields["index"], str(fields.get("tmName", ""))
        self.header = self.parameter.lower()
        self.group = fields.get("datagroup")
        values = fields.get("values") or []
        self.longest = max(map(len, values), default=0)
        self.values = values if self.exact else [value.lower() for value in values]
        self.hosts: list[tuple[str, str]] | None = None
        indexed = self.operand == "httpHost" and self.selector in ("host", "all")
        if indexed and self.operator == "equals" and not (self.negated or self.exact or self.group):
            self.hosts = [(self.selector, value) for value in self.values]

    def holds(self, store: Store, request: Request) -> bool:
        """Raises: Unsupported."""
        value = self._value(store, request)
        if value is None:
            return self.negated and not _negates_absent_wrongly(store)
        return self._compare(store, value) != self.negated

    def _value(self, store: Store, request: Request) -> str | None:
        """The compared part of the request; None: the request has none."""
        operand, selector = self.operand, self.selector
        if not self.known_event:
            raise Unsupported(f"event of a condition on {operand}")
        if operand == "httpHost":
            return _host(store, request, selector)
        if operand == "httpUri" and selector == "pathSegment":
            segments = request.path.split("/")[1:]
            return segments[self.index - 1] if self.index <= len(segments) else None
        if operand == "httpUri" and selector in ("all", "path", "queryString"):
            return {"all": request.uri, "path": request.path, "queryString": request.query or ""}[selector]
        if operand == "httpUri" and selector == "queryParameter":
            pairs = (pair.partition("=") for pair in (request.query or "").split("&"))
            return next((value for name, _, value in pairs if name == self.parameter), None)
        if operand == "httpMethod":
            return request.method
        if operand in ("httpHeader", *_HEADERS) and selector == "all":
            wanted = _HEADERS.get(operand, self.header)
            return next((v for k, v in request.headers.items() if k.lower() == wanted), None)
        if operand == "sslExtension" and selector == "serverName":
            return request.sni if request.tls else None
        raise Unsupported(f"operand {operand} {selector}")

    def _compare(self, store: Store, value: str) -> bool:
        if self.operator == "exists":
            return True
        wanted = self.values
        if self.group:
            group = store.get("ltm/data-group/internal", names.full_path(self.group, "/Common"))
            wanted = list(group.fields["records"]) if group else []
            wanted = wanted if self.exact else [text.lower() for text in wanted]
        if self.operator in _NUMERIC:
            return any(_NUMERIC[self.operator](float(value), float(bound)) for bound in wanted)
        if self.operator not in _TESTS:
            raise Unsupported(f"operator {self.operator}")
        value, test = value if self.exact else value.lower(), _TESTS[self.operator]
        return any(test(value, text) for text in wanted)


def _negates_absent_wrongly(store: Store) -> bool:
    """A negated condition on a missing operand fails before 14.1.2.5 and 15.0.1.1 (ID795261,
    bigip-behaviour.md B4)."""
    version = store.version
    return version < (14, 1, 2, 5) or (15,) <= version < (15, 0, 1, 1)


def _host(store: Store, request: Request, selector: str) -> str:
    host, colon, port = request.host.rpartition(":")
    if not colon or "]" in port:
        host, port = request.host, ""
    if selector == "all" or (selector == "host" and store.has(Quirk.HOST_KEEPS_PORT)):
        return request.host
    if selector == "host":
        return host
    return port or ("443" if request.tls else "80")


# -- actions ---------------------------------------------------------------------------------------


@dataclass
class Effect:
    """Effect of policies on a request. kind: pool, redirect, reset, or "" where no Rule decided."""

    kind: str = ""
    pool: str | None = None
    location: str | None = None
    """As configured; code: 0 for the device's own."""
    code: int = 0
    rule: str | None = None
    """Full path of the policy and name of the Rule that decided."""
    edits: list[dict[str, Any]] = field(default_factory=list)
    """Actions on header and URI, in their order."""
    persist: dict[str, Any] | None = None
    server_ssl: bool | None = None
    messages: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """Variables that iRules find set, as the text stands (bigip-behaviour.md B4; recorded on 16.0.0)."""


_EDITS = frozenset(("httpHeader", "httpUri", "httpHost"))


def judge(store: Store, virtual: Item, request: Request) -> Effect:
    """All policies of a virtual server on one request. Raises: Unsupported."""
    effect = Effect()
    for path in store.children("ltm/virtual/policies", virtual.key):
        for rule in compiled(store, path).matching(store, request):
            for action in rule.actions:
                _act(effect, action, f"{path} {rule.name}")
    return effect


def _act(effect: Effect, fields: dict[str, Any], where: str) -> None:
    event = next(event for event in ("request", "response", "other") if event in fields or event == "other")
    if event == "other" or (event == "response" and "httpHeader" not in fields):
        raise Unsupported(f"event of an action of {where}: {sorted(fields)}")
    if "forward" in fields and "select" in fields:
        if "pool" not in fields:
            raise Unsupported(f"forward without pool: {where}")
        _decide(effect, "pool", where, pool=fields["pool"])
    elif "forward" in fields and "reset" in fields:
        _decide(effect, "reset", where)
    elif "httpReply" in fields:
        _decide(effect, "redirect", where, location=fields["location"], code=fields.get("code", 0))
    elif fields.keys() & _EDITS:
        effect.edits.append(fields)
    elif "persist" in fields:
        effect.persist = fields
    elif "serverSsl" in fields:
        effect.server_ssl = "enable" in fields
    elif "setVariable" in fields:
        effect.variables[str(fields["tmName"])] = str(fields.get("expression", ""))
    elif "log" in fields:
        effect.messages.append(str(fields.get("message", "")))
    else:
        raise Unsupported(f"action of {where}: {sorted(fields)}")


def _decide(effect: Effect, kind: str, where: str, **more: Any) -> None:
    """The first Rule that decides does so (all-match: an approximation)."""
    if not effect.kind:
        effect.kind, effect.rule = kind, where
        for name, value in more.items():
            setattr(effect, name, value)
