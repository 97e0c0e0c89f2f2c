"""Operands of policy conditions and targets of policy actions: what exists, with which words.

Source: the tables of bigip-behaviour.md B4. A word that is not here is refused as an unknown property, so
that a client cannot use an operand which the traffic evaluator would not understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mocks.bigip import refusals
from mocks.bigip.quirks import Quirk
from mocks.bigip.schema import IDENTITY
from mocks.bigip.store import Store

EVENTS = frozenset(
    (
        "request",
        "response",
        "proxyRequest",
        "proxyConnect",
        "proxyResponse",
        "sslClientHello",
        "sslServerHello",
        "sslServerHandshake",
        "clientAccepted",
        "wsRequest",
        "wsResponse",
        "classificationDetected",
    )
)
OPERATORS = frozenset(
    (
        "equals",
        "startsWith",
        "endsWith",
        "contains",
        "exists",
        "matches",
        "less",
        "lessOrEqual",
        "greater",
        "greaterOrEqual",
    )
)
_CASE = frozenset(("caseInsensitive", "caseSensitive"))
_MARKS = frozenset(("not", "external", "internal", "present", "missing", "remote", "local"))
_VALUES = frozenset(("index", "values", "tmName", "datagroup", "normalized"))

_HTTP = ("request", "proxyRequest")
_TCP = (
    "request",
    "response",
    "proxyRequest",
    "clientAccepted",
    "sslClientHello",
    "sslServerHello",
    "proxyConnect",
    "proxyResponse",
    "wsRequest",
    "wsResponse",
)


@dataclass(frozen=True)
class Operand:
    """selectors: parts of the operand, the first is the default. events: where it is available."""

    selectors: tuple[str, ...]
    events: tuple[str, ...]


OPERANDS = {
    "httpHost": Operand(("all", "host", "port"), _HTTP),
    "httpUri": Operand(
        (
            "all",
            "path",
            "pathSegment",
            "host",
            "scheme",
            "extension",
            "queryString",
            "queryParameter",
            "port",
            "unnamedQueryParameter",
        ),
        _HTTP,
    ),
    "httpHeader": Operand(("all",), (*_HTTP, "response", "proxyResponse")),
    "httpCookie": Operand(("all",), _HTTP),
    "httpSetCookie": Operand(("all",), ("response", "proxyResponse")),
    "httpMethod": Operand(("all",), _HTTP),
    "httpVersion": Operand(("all", "protocol", "major", "minor"), (*_HTTP, "response")),
    "httpReferer": Operand(
        (
            "all",
            "path",
            "pathSegment",
            "host",
            "scheme",
            "extension",
            "queryString",
            "queryParameter",
            "port",
        ),
        _HTTP,
    ),
    "httpUserAgent": Operand(("all",), _HTTP),
    "httpStatus": Operand(("all", "code", "text"), ("response",)),
    "sslExtension": Operand(("serverName", "alpn", "npn"), ("sslClientHello", "sslServerHello")),
    "tcp": Operand(("address", "port", "vlan", "vlanId", "mss", "rtt", "routeDomain"), _TCP),
}
_SELECTORS = frozenset(name for operand in OPERANDS.values() for name in operand.selectors)

TARGETS: dict[str, frozenset[str]] = {
    "forward": frozenset(("select", "reset")),
    "httpReply": frozenset(("redirect",)),
    "httpHeader": frozenset(("insert", "replace", "remove")),
    "httpCookie": frozenset(("insert", "remove")),
    "httpSetCookie": frozenset(("insert", "remove")),
    "httpReferer": frozenset(("insert", "replace", "remove")),
    "httpUri": frozenset(("replace",)),
    "httpHost": frozenset(("replace",)),
    "serverSsl": frozenset(("enable", "disable")),
    "persist": frozenset(
        (
            "cookieInsert",
            "cookiePassive",
            "cookieRewrite",
            "cookieHash",
            "sourceAddress",
            "destinationAddress",
            "hash",
            "universal",
            "carp",
            "disable",
        )
    ),
    "http": frozenset(("enable", "disable")),
    "asm": frozenset(("enable", "disable")),
    "cache": frozenset(("enable", "disable")),
    "compress": frozenset(("enable", "disable")),
    "decompress": frozenset(("enable", "disable")),
    "websocket": frozenset(("enable", "disable")),
    "avr": frozenset(("enable", "disable")),
    "log": frozenset(("write",)),
    "tcl": frozenset(("setVariable",)),
}
"""Target -> verbs, of which an action has exactly one."""
_VERBS = frozenset(verb for verbs in TARGETS.values() for verb in verbs)
_PARAMETERS = frozenset(
    (
        "pool",
        "node",
        "virtual",
        "snat",
        "snatpool",
        "clonePool",
        "vlan",
        "fallbackPool",
        "location",
        "tmName",
        "value",
        "path",
        "queryString",
        "expression",
        "message",
        "policy",
        "facility",
        "priority",
        "scheme",
        "host",
        "cookieName",
        "cookieExpiry",
    )
)
_FORWARDED_TO = frozenset(("pool", "node", "virtual", "snat", "snatpool", "vlan", "clonePool"))
_NUMBERS = ("code", "expirySecs", "length", "offset", "port", "status", "timeout", "vlanId")
_NUMBERS_11 = ("code", "port", "status", "vlanId")
REFERENCES = {
    "pool": "ltm/pool",
    "clonePool": "ltm/pool",
    "fallbackPool": "ltm/pool",
    "node": "ltm/node",
    "virtual": "ltm/virtual",
    "snatpool": "ltm/snatpool",
}


def condition(store: Store, policy: str, rule: str, body: dict[str, Any]) -> dict[str, Any]:
    """A condition as it is stored and read. Raises: Refusal: see bigip-behaviour.md B4."""
    flags, rest = _flags(
        store, body, EVENTS | OPERATORS | _CASE | _MARKS | _SELECTORS | set(OPERANDS) | {"normalized"}
    )
    for name in rest:
        if name not in _VALUES:
            raise refusals.unknown_property(name)
    names = sorted(flags & set(OPERANDS))
    if not names:
        raise refusals.mcpd("01071706", f"Policy '{policy}', rule '{rule}'; missing operand.")
    name = _one(names)
    operand = OPERANDS[name]
    selector = _one(sorted(flags & _SELECTORS)) or operand.selectors[0]
    if selector not in operand.selectors:
        raise refusals.unknown_property(selector)
    event = _one(sorted(flags & EVENTS)) or operand.events[0]
    if event not in operand.events:
        raise refusals.mcpd(
            "010716ff",
            f"Policy '{policy}', rule '{rule}'; operand '{_word(name)}' is not available "
            f"during event '{_word(event)}'.",
        )
    operator = _one(sorted(flags & OPERATORS)) or "equals"
    properties = {name: True, selector: True, event: True, operator: True, "index": 0}
    properties |= dict.fromkeys(flags & _MARKS, True) | _implied(flags, name, selector)
    properties |= {key: value for key, value in rest.items() if value is not None}
    if "normalized" in flags:
        properties["normalized"] = True
    _check_values(properties, selector, operator)
    return properties


def _implied(flags: set[str], name: str, selector: str) -> dict[str, Any]:
    """Flags that are always returned (bigip-behaviour.md B4): strings carry a case, all carry external,
    present, remote."""
    properties: dict[str, Any] = {}
    if "internal" not in flags:
        properties["external"] = True
    if "missing" not in flags:
        properties["present"] = True
    if "local" not in flags:
        properties["remote"] = True
    if name != "tcp" or selector == "vlan":
        properties["caseSensitive" if "caseSensitive" in flags else "caseInsensitive"] = True
    if flags >= _CASE:
        raise refusals.may_not("case-insensitive", "case-sensitive")
    return properties


def _check_values(properties: dict[str, Any], selector: str, operator: str) -> None:
    values = properties.get("values")
    if values is not None:
        properties["values"] = [str(value) for value in (values if isinstance(values, list) else [values])]
    if "datagroup" in properties and values:
        raise refusals.may_not("datagroup", "values")
    properties["index"] = int(properties["index"])
    if selector == "pathSegment" and properties["index"] < 1 and operator != "exists":
        # segments count from 1 (bigip-behaviour.md B4); what the device says to 0 is not known
        raise refusals.invalid_value("index", properties["index"])


def action(store: Store, policy: str, rule: str, body: dict[str, Any]) -> dict[str, Any]:
    """An action as it is stored and read. Raises: Refusal: see bigip-behaviour.md B4."""
    flags, rest = _flags(store, body, EVENTS | set(TARGETS) | _VERBS | {"shutdown", "connection"})
    for name in rest:
        if name not in _PARAMETERS and name not in _NUMBERS:
            raise refusals.unknown_property(name)
    if flags & {"shutdown", "connection"} and (store.version < (13, 1) or "reset" not in flags):
        if "select" in flags:
            raise refusals.may_not("select", "connection")
        raise refusals.unknown_property("connection" if "connection" in flags else "shutdown")
    if "forward" in flags and not flags & _VERBS and rest.keys() & _FORWARDED_TO:
        # what f5-cccl has always sent (f5_cccl/resource/ltm/policy/action.py)
        flags.add("select")
    verbs = sorted(flags & _VERBS, key=_verb_order)
    if len(verbs) > 1:
        raise refusals.may_not(verbs[0], verbs[1])
    targets = [name for name in sorted(flags & set(TARGETS)) if verbs and verbs[0] in TARGETS[name]]
    if len(targets) != 1 or flags & set(TARGETS) != set(targets):
        raise refusals.mcpd("0107186c", f"Policy '{policy}', rule '{rule}'; missing or invalid target.")
    event = _one(sorted(flags & EVENTS)) or "request"
    numbers = _NUMBERS if store.version >= (12,) else _NUMBERS_11
    properties: dict[str, Any] = dict.fromkeys(numbers, 0) | {targets[0]: True, verbs[0]: True, event: True}
    properties |= dict.fromkeys(flags & {"shutdown", "connection"}, True)
    properties |= {key: value for key, value in rest.items() if value is not None}
    _check_parameters(store, policy, rule, properties, verbs[0])
    return properties


def _check_parameters(store: Store, policy: str, rule: str, properties: dict[str, Any], verb: str) -> None:
    if verb == "redirect":
        _check_redirect(store, policy, rule, properties)
    elif "location" in properties:
        raise refusals.may_not("location", verb)
    if verb == "select" and not properties.keys() & _FORWARDED_TO:
        raise refusals.mcpd("0107186c", f"Policy '{policy}', rule '{rule}'; missing or invalid target.")
    for name in _NUMBERS:
        if name in properties:
            properties[name] = int(properties[name])


def _check_redirect(store: Store, policy: str, rule: str, properties: dict[str, Any]) -> None:
    """`code` is understood from 14.0 on; below it is read 0, or refused (bigip-behaviour.md B4, B12.6)."""
    if not properties.get("location"):
        raise refusals.mcpd("0107186c", f"Policy '{policy}', rule '{rule}'; missing or invalid target.")
    code = int(properties.get("code") or 0)
    if store.version < (14,) and code:
        if store.has(Quirk.REDIRECT_CODE_REFUSED):
            raise refusals.unknown_property("code")
        properties["code"] = 0
    elif code and not 300 <= code <= 399:
        raise refusals.invalid_value("code", code)


def _flags(
    store: Store, body: dict[str, Any], words: set[str] | frozenset[str]
) -> tuple[set[str], dict[str, Any]]:
    """(words that are true, other keys) of a body; `path` and the like are flags only when boolean."""
    flags, rest = set(), {}
    for name, value in body.items():
        if name in IDENTITY or name.endswith("Reference"):
            continue
        if name in words and isinstance(value, bool):
            if value:
                flags.add(name)
            elif store.has(Quirk.FALSE_FLAGS_REFUSED):
                raise refusals.tmsh(f'"{refusals.dashed(name)}" invalid value "false"')
        elif name in words and name not in _PARAMETERS and name not in _NUMBERS:
            raise refusals.tmsh(f'"{refusals.dashed(name)}" invalid value "{value}"')
        else:
            rest[name] = value
    return flags, rest


def _verb_order(verb: str) -> tuple[int, str]:
    """The order in which messages name two verbs: enable, disable; select, replace
    (bigip-behaviour.md B4)."""
    order = ("enable", "disable", "select", "reset", "redirect", "insert", "replace", "remove")
    return (order.index(verb) if verb in order else len(order), verb)


def _one(given: list[str]) -> str:
    if len(given) > 1:
        raise refusals.may_not(refusals.dashed(given[0]), refusals.dashed(given[1]))
    return given[0] if given else ""


def _word(name: str) -> str:
    return refusals.dashed(name)


ASPECTS = ("http", "client-ssl")


def needed_profiles(fields: dict[str, Any]) -> set[str]:
    """Return those of ASPECTS that a virtual server must have for a stored condition or action."""
    kinds = set()
    if "request" in fields or any(name.startswith("http") for name in fields):
        kinds.add("http")
    if "sslClientHello" in fields or "sslExtension" in fields:
        kinds.add("client-ssl")
    return kinds
