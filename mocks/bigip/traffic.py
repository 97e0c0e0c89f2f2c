"""What a virtual server would do with a request: a pure evaluation of the stored configuration.

It knows what the documents tell of LTM policies, SNI and the two data-group iRules of the router; iRules
are recognised by name, not executed. Anything else raises Unsupported. Source: `bigip-rest.md` B4, B11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import attachments, names, policies, pools
from mocks.bigip.operands import OPERANDS, OPERATORS
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Store

PASSTHROUGH_RULE, PASSTHROUGH_GROUP = "openshift_passthrough_irule", "ssl_passthrough_servername_dg"
REENCRYPT_RULE, REENCRYPT_GROUP = "openshift_reencrypt_irule", "ssl_reencrypt_serverssl_dg"
PLAIN = "plain"
"""Data of a virtual server's record: its server-ssl profile is not for every pool."""


class Unsupported(Exception):
    """The configuration has something that this evaluator does not know."""


@dataclass(frozen=True)
class Request:
    """host: Host header, with port if it has one. sni: server name of the ClientHello."""

    host: str
    path: str = "/"
    sni: str | None = None
    tls: bool = False
    query: str = ""
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


@dataclass(frozen=True)
class Decision:
    """kind: pool, redirect, reset, none or passthrough. members: those that may get the request.

    "pool" with no members is what a client sees as a reset at the request (B11).
    """

    kind: str
    pool: str | None = None
    members: tuple[str, ...] = ()
    location: str | None = None
    client_ssl_profile: str | None = None
    certificate_file: str | None = None
    server_ssl_profile: str | None = None
    rule: str | None = None
    """Full path of the policy and name of the rule that decided."""


def decide(store: Store, virtual_path: str, request: Request) -> Decision:
    """Raises: KeyError: no such virtual server. Unsupported: see the class."""
    with store.lock:
        virtual = store.get("ltm/virtual", virtual_path)
        if virtual is None:
            raise KeyError(virtual_path)
        if "disabled" in virtual.fields:
            return Decision("none")
        if request.tls:
            passthrough = _passthrough(store, virtual, request)
            if passthrough is not None:
                return passthrough
        return _Evaluation(store, virtual, request).decide()


def _passthrough(store: Store, virtual: Item, request: Request) -> Decision | None:
    rule = _rule(virtual, PASSTHROUGH_RULE)
    if rule is None or not request.sni:
        return None
    pool = _records(store, rule, PASSTHROUGH_GROUP).get(request.sni.lower().removesuffix("."))
    if not pool:
        return None
    pool = names.full_path(pool, names.folder_of(rule))
    return Decision("passthrough", pool, members(store, pool))


def _rule(virtual: Item, ending: str) -> str | None:
    return next((rule for rule in virtual.fields.get("rules", ()) if rule.endswith(ending)), None)


def _records(store: Store, rule: str, group: str) -> dict[str, str]:
    item = store.get("ltm/data-group/internal", f"{names.folder_of(rule)}/{group}")
    return item.fields["records"] if item else {}


def members(store: Store, pool: str) -> tuple[str, ...]:
    """Names of the members that take new connections: enabled and not forced down."""
    if store.get("ltm/pool", pool) is None:
        return ()
    found = []
    for member in store.children("ltm/pool/members", (pool,)).values():
        node = store.get("ltm/node", pools.node_and_port(member.name)[0])
        parts = (member.fields, node.fields if node else {})
        if all(one.get("session", "user-enabled") == "user-enabled" for one in parts) and all(
            one.get("state", "user-up") == "user-up" for one in parts
        ):
            found.append(member.name.rsplit("/", 1)[1])
    return tuple(sorted(found))


class _Evaluation:
    """One request on one virtual server, behind the passthrough iRule."""

    def __init__(self, store: Store, virtual: Item, request: Request) -> None:
        self.store, self.virtual, self.request = store, virtual, request
        self.attached = store.children(attachments.PROFILES, virtual.key)

    def decide(self) -> Decision:
        client_ssl = [path for path, one in self.attached.items() if one.fields["type"] == "client-ssl"]
        profile = self._by_sni(client_ssl) if self.request.tls else None
        if bool(client_ssl) != self.request.tls or (client_ssl and profile is None):
            # clear text where TLS is expected, TLS where nothing ends it, or no profile for the name
            return Decision("reset")
        found = self._routed()
        cert = self._profile_field(profile, "client-ssl", "cert") if profile else None
        server_ssl = self._server_ssl(found.pool) if found.kind == "pool" else None
        return Decision(
            found.kind, found.pool, found.members, found.location, profile, cert, server_ssl, found.rule
        )

    # -- TLS ---------------------------------------------------------------------------------------

    def _profile_field(self, path: str, kind: str, name: str) -> str:
        url = f"ltm/profile/{kind}"
        fields = self.store.kinds[url].effective(self.store, self.store.get(url, path))
        return str(fields.get(name, "none"))

    def _by_sni(self, profiles: list[str]) -> str | None:
        """Exact name, wildcard, else the default profile; a single profile is its own default (B11)."""
        sni = (self.request.sni or "").lower().removesuffix(".")
        hosts = {self.attached[path].fields.get("serverName"): path for path in profiles}
        if sni and sni in hosts:
            return hosts[sni]
        wildcard = f"*.{sni.partition('.')[2]}"
        if sni and wildcard in hosts:
            return hosts[wildcard]
        default = [path for path in profiles if self.attached[path].fields.get("sniDefault")]
        chosen = default[0] if default else profiles[0] if len(profiles) == 1 else None
        if chosen and self._profile_field(chosen, "client-ssl", "sniRequire") == "true" and sni:
            return None
        if chosen and self._profile_field(chosen, "client-ssl", "mode") == "disabled":
            return None
        return chosen

    def _server_ssl(self, pool: str | None) -> str | None:
        own = next((path for path, one in self.attached.items() if one.fields["type"] == "server-ssl"), None)
        rule = _rule(self.virtual, REENCRYPT_RULE)
        if rule is None or pool is None:
            return own
        records = _records(self.store, rule, REENCRYPT_GROUP)
        if pool in records:
            return records[pool]
        ours = pool.rsplit("/", 1)[1].startswith("openshift_")
        return None if ours or records.get(self.virtual.path) == PLAIN else own

    # -- policies ----------------------------------------------------------------------------------

    def _routed(self) -> Decision:
        for name in self.store.children(attachments.POLICIES, self.virtual.key):
            for rule in self._matching(self.store.get("ltm/policy", name)):
                decision = self._act(rule)
                if decision is not None:
                    return decision
        pool = self.virtual.fields.get("pool")
        return self._to_pool(pool, None) if pool else Decision("none")

    def _to_pool(self, pool: str, rule: str | None) -> Decision:
        return Decision("pool", pool, members(self.store, pool), rule=rule)

    def _matching(self, policy: Item) -> Iterator[Item]:
        """Rules whose actions happen, in their order; first-match and best-match give one."""
        strategy = policy.fields["strategy"].rsplit("/", 1)[1]
        kind = self.store.kinds[policies.RULES]
        ordered = kind.in_order(self.store.children(policies.RULES, policy.key))
        fitting = (rule for rule in ordered if all(self._holds(one) for one in self._conditions(rule)))
        if strategy == "first-match":
            rule = next(fitting, None)
            yield from [rule] if rule else []
        elif strategy == "best-match":
            # an approximation: number of conditions, then length of their values (B4)
            yield from sorted(fitting, key=self._weight, reverse=True)[:1]
        else:
            yield from fitting

    def _conditions(self, rule: Item) -> list[dict[str, Any]]:
        return [one.fields for one in self.store.children(policies.CONDITIONS, rule.key).values()]

    def _weight(self, rule: Item) -> tuple[int, int]:
        conditions = self._conditions(rule)
        return len(conditions), sum(max(map(len, one.get("values", [""]))) for one in conditions)

    def _act(self, rule: Item) -> Decision | None:
        where = f"{rule.path} {rule.name}"
        for action in self.store.children(policies.ACTIONS, rule.key).values():
            fields = action.fields
            if "forward" in fields and "select" in fields:
                if "pool" not in fields:
                    raise Unsupported(f"forward without pool: {where}")
                return self._to_pool(fields["pool"], where)
            if "forward" in fields and "reset" in fields:
                return Decision("reset", rule=where)
            if "httpReply" in fields:
                return Decision("redirect", location=expand(fields["location"], self.request), rule=where)
            if not fields.keys() & {"httpHeader", "log", "persist"}:
                raise Unsupported(f"action of {where}: {sorted(fields)}")
        return None

    # -- conditions --------------------------------------------------------------------------------

    def _holds(self, fields: dict[str, Any]) -> bool:
        value = self._operand(fields)
        negated = "not" in fields
        if value is None:
            if negated and self._negates_absent_wrongly():
                return False
            return negated
        return self._compare(fields, value) != negated

    def _negates_absent_wrongly(self) -> bool:
        """A negated condition on a missing operand fails before 14.1.2.5 and 15.0.1.1 (ID795261, B4)."""
        version = self.store.version
        return version < (14, 1, 2, 5) or (15,) <= version < (15, 0, 1, 1)

    def _operand(self, fields: dict[str, Any]) -> str | None:
        """The compared part of the request; None: the request has none."""
        name = next(one for one in OPERANDS if one in fields)
        selector = next(one for one in OPERANDS[name].selectors if one in fields)
        request = self.request
        if name == "httpHost":
            return self._host(selector)
        if name == "httpUri" and selector == "pathSegment":
            segments = request.path.split("/")[1:]
            return segments[fields["index"] - 1] if fields["index"] <= len(segments) else None
        if name == "httpUri" and selector in ("all", "path", "queryString"):
            return {"all": request.uri, "path": request.path, "queryString": request.query}[selector]
        if name == "httpMethod":
            return request.method
        if name in ("httpHeader", "httpUserAgent", "httpReferer") and selector == "all":
            wanted = {"httpUserAgent": "User-Agent", "httpReferer": "Referer"}.get(
                name, fields.get("tmName", "")
            )
            return next((v for k, v in request.headers.items() if k.lower() == wanted.lower()), None)
        if name == "sslExtension" and selector == "serverName":
            return request.sni if request.tls else None
        raise Unsupported(f"operand {name} {selector}")

    def _host(self, selector: str) -> str:
        host, colon, port = self.request.host.rpartition(":")
        if not colon or "]" in port:
            host, port = self.request.host, ""
        if selector == "all" or (selector == "host" and self.store.has(Quirk.HOST_KEEPS_PORT)):
            return self.request.host
        if selector == "host":
            return host
        return port or ("443" if self.request.tls else "80")

    def _compare(self, fields: dict[str, Any], value: str) -> bool:
        operator = next(one for one in OPERATORS if one in fields)
        if operator == "exists":
            return True
        wanted = fields.get("values")
        if wanted is None and "datagroup" in fields:
            group = self.store.get("ltm/data-group/internal", names.full_path(fields["datagroup"], "/Common"))
            wanted = list(group.fields["records"]) if group else []
        wanted = wanted or []
        if operator in ("less", "lessOrEqual", "greater", "greaterOrEqual"):
            return any(_ordered(operator, value, one) for one in wanted)
        if "caseSensitive" not in fields:
            value, wanted = value.lower(), [one.lower() for one in wanted]
        tests = {"equals": str.__eq__, "startsWith": str.startswith, "endsWith": str.endswith,
                 "contains": str.__contains__}  # fmt: skip
        if operator not in tests:
            raise Unsupported(f"operator {operator}")
        return any(tests[operator](value, one) for one in wanted)


def _ordered(operator: str, value: str, wanted: str) -> bool:
    left, right = float(value), float(wanted)
    return {"less": left < right, "lessOrEqual": left <= right, "greater": left > right,
            "greaterOrEqual": left >= right}[operator]  # fmt: skip


_COMMAND = re.compile(r"\[([^\[\]]*)\]")
_GETFIELD = re.compile(r'^getfield (\S+) (?:"([^"]*)"|(\S+)) (\d+)$')


def expand(location: str, request: Request) -> str:
    """The location of a redirect; what follows `tcl:` has commands in brackets (B4).

    Raises: Unsupported: a command other than HTTP::host, HTTP::uri, HTTP::path, HTTP::query, getfield,
    string tolower.
    """
    if not location.startswith("tcl:"):
        return location
    text = location.removeprefix("tcl:")
    values: list[str] = []
    while True:
        found = _COMMAND.search(text)
        if found is None:
            break
        values.append(_command(found[1], request, values))
        text = f"{text[: found.start()]}\0{len(values) - 1}\0{text[found.end() :]}"
    return _filled(text, values)


def _filled(text: str, values: list[str]) -> str:
    return re.sub("\0(\\d+)\0", lambda found: values[int(found[1])], text)


def _command(text: str, request: Request, values: list[str]) -> str:
    simple = {
        "HTTP::host": request.host,
        "HTTP::uri": request.uri,
        "HTTP::path": request.path,
        "HTTP::query": request.query,
    }
    if text in simple:
        return simple[text]
    found = _GETFIELD.match(text)
    if found:
        parts = _filled(found[1], values).split(found[2] or found[3])
        number = int(found[4])
        return parts[number - 1] if number <= len(parts) else ""
    if text.startswith("string tolower "):
        return _filled(text.removeprefix("string tolower "), values).lower()
    raise Unsupported(f"command in a location: [{text}]")
