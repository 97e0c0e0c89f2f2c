"""Verdict of a virtual server on a request: a pure evaluation of the stored configuration.

It knows what the documents tell of LTM policies, SNI and the three iRules of the router; iRules are
recognised by name, not executed (the data plane executes them). Anything else raises Unsupported.
Source: bigip-behaviour.md B4, B11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mocks.bigip import matching, names, selection, virtual_addresses
from mocks.bigip.matching import Request, Unsupported
from mocks.bigip.store import Item, Store

__all__ = ["Decision", "Request", "Unsupported", "decide", "expand"]

PASSTHROUGH_RULE, PASSTHROUGH_GROUP = "openshift_passthrough_irule", "ssl_passthrough_servername_dg"
REENCRYPT_RULE, REENCRYPT_GROUP = "openshift_reencrypt_irule", "ssl_reencrypt_serverssl_dg"
UNAVAILABLE_RULE = "openshift_unavailable_irule"
REQUEST_RULE, WILDCARD_VARIABLE = "openshift_request_irule", "f5router_wildcard"
REDIRECT_VARIABLE = "f5router_redirect"
EVERY = ".._"
"""Record for all names, which the text of the iRule for wildcards of any depth looks up."""
TERMINATE = "terminate"
"""Data of a passthrough record: TLS of the name ends here."""

PLAIN = "plain"
"""Data of a virtual server's record: its server-ssl profile is not for every pool."""


@dataclass(frozen=True)
class Decision:
    """kind: pool, redirect, reset, none, unavailable, passthrough or ended. members: those that may get the
    request.

    "pool" with no members, and "none", are what a client sees as a reset at the request
    (bigip-behaviour.md B11);
    "unavailable" is the same behind the iRule that answers 503: pool tells which.
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
        if "disabled" in virtual.fields or not virtual_addresses.answers(store, virtual):
            return Decision("none")
        if request.tls:
            passthrough = _passthrough(store, virtual, request)
            if passthrough is not None:
                return passthrough
        return _evaluate(store, virtual, request)


def _passthrough(store: Store, virtual: Item, request: Request) -> Decision | None:
    rule = _rule(virtual, PASSTHROUGH_RULE)
    if rule is None:
        return None
    records, name = _records(store, rule, PASSTHROUGH_GROUP), (request.sni or "").lower().removesuffix(".")
    text = str(store.get("ltm/rule", rule).fields.get("apiAnonymous"))
    pool = next(filter(None, map(records.get, _looked_up(text, name))), None)
    if not pool or pool == TERMINATE:
        return None
    ended = pool.startswith(f"{TERMINATE}/")
    if ended and f"{TERMINATE}/" not in text:
        return Decision("reset")  # no pool has such a name
    pool = names.full_path(pool.removeprefix(TERMINATE), names.folder_of(rule))
    profile = selection.client_ssl(store, virtual.path, request.sni) if ended else None
    return Decision("ended" if ended else "passthrough", pool, selection.members(store, pool),
                    client_ssl_profile=profile)


def _looked_up(text: str, name: str) -> Iterator[str]:
    """The names of records that the iRule looks up for a server name, in their order. Args: text: its own."""
    any_depth = EVERY in text
    if name and not name.startswith("."):
        yield name
        domain = name.partition(".")[2]
        if domain:
            yield f".{domain}"
        while any_depth and domain:
            yield f"..{domain}"
            domain = domain.partition(".")[2]
    if any_depth:
        yield EVERY


def _rule(virtual: Item, ending: str) -> str | None:
    return next((rule for rule in virtual.fields.get("rules", ()) if rule.endswith(ending)), None)


def _records(store: Store, rule: str, group: str) -> dict[str, str]:
    item = store.get("ltm/data-group/internal", f"{names.folder_of(rule)}/{group}")
    return item.fields["records"] if item else {}


def _evaluate(store: Store, virtual: Item, request: Request) -> Decision:
    """A request on a virtual server, behind the passthrough iRule."""
    ends_tls = store.is_used("profile type", f"{virtual.path} client-ssl")
    profile = selection.client_ssl(store, virtual.path, request.sni) if request.tls and ends_tls else None
    if ends_tls != request.tls or (ends_tls and profile is None):
        # clear text where TLS is expected, TLS where nothing ends it, or no profile for the name
        return Decision("reset")
    effect = matching.judge(store, virtual, request)
    if guard := _guard(virtual, effect, request):
        text = str(store.get("ltm/rule", guard).fields.get("apiAnonymous"))
        kind = "unavailable" if "HTTP::respond 503" in text else "reset"
        return Decision(kind, client_ssl_profile=profile, rule=effect.rule)
    if REDIRECT_VARIABLE in effect.variables and _rule(virtual, REQUEST_RULE):
        host = request.host.partition(":")[0].lower().removesuffix(".")
        location = f"https://{host}{request.uri}"
        return Decision("redirect", location=location, client_ssl_profile=profile, rule=effect.rule)
    pool = effect.pool if effect.kind == "pool" else virtual.fields.get("pool") if not effect.kind else None
    location = expand(effect.location, request) if effect.location is not None else None
    cert = str(selection.profile_fields(store, profile).get("cert", "none")) if profile else None
    kind = effect.kind or ("pool" if pool else "none")
    members = selection.members(store, pool) if pool else ()
    if kind in ("none", "pool") and not members and _answers_503(virtual, pool):
        kind = "unavailable"
    server_ssl = _server_ssl(store, virtual, pool) if kind == "pool" else None
    return Decision(kind, pool, members, location, profile, cert, server_ssl, effect.rule)


def _answers_503(virtual: Item, pool: str | None) -> bool:
    """Return True if the third iRule answers 503, for what goes nowhere or to a pool of the router's."""
    rule = _rule(virtual, UNAVAILABLE_RULE)
    return rule is not None and (pool is None or pool.startswith(f"{names.folder_of(rule)}/openshift_"))


def _guard(virtual: Item, effect: matching.Effect, request: Request) -> str | None:
    """The request iRule, if it refuses: what has not one label before the domain of the policy's rule."""
    domain = effect.variables.get(WILDCARD_VARIABLE)
    first, dot, rest = request.host.partition(":")[0].lower().removesuffix(".").partition(".")
    if domain is None or (first and f"{dot}{rest}" == domain):
        return None
    return _rule(virtual, REQUEST_RULE)


def _server_ssl(store: Store, virtual: Item, pool: str) -> str | None:
    own = selection.server_ssl(store, virtual.path)
    rule = _rule(virtual, REENCRYPT_RULE)
    if rule is None:
        return own
    records = _records(store, rule, REENCRYPT_GROUP)
    if pool in records:
        return records[pool]
    ours = pool.rsplit("/", 1)[1].startswith("openshift_")
    return None if ours or records.get(virtual.path) == PLAIN else own


_COMMAND = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"^string range (\S+) (\d+) end$")
_GETFIELD = re.compile(r'^getfield (\S+) (?:"([^"]*)"|(\S+)) (\d+)$')


def expand(location: str, request: Request) -> str:
    """The location of a redirect; what follows `tcl:` has commands in brackets (bigip-behaviour.md B4).

    Raises: Unsupported: a command other than HTTP::host, HTTP::uri, HTTP::path, HTTP::query, getfield,
    string tolower, string range.
    """
    if not location.startswith("tcl:"):
        return location
    text = location.removeprefix("tcl:")
    values: list[str] = []
    while True:
        match = _COMMAND.search(text)
        if match is None:
            break
        values.append(_command(match[1], request, values))
        text = f"{text[: match.start()]}\0{len(values) - 1}\0{text[match.end() :]}"
    return _filled(text, values)


def _filled(text: str, values: list[str]) -> str:
    return re.sub("\0(\\d+)\0", lambda match: values[int(match[1])], text)


def _command(text: str, request: Request, values: list[str]) -> str:
    simple = {
        "HTTP::host": request.host,
        "HTTP::uri": request.uri,
        "HTTP::path": request.path,
        "HTTP::query": request.query or "",
    }
    if text in simple:
        return simple[text]
    match = _GETFIELD.match(text)
    if match:
        parts = _filled(match[1], values).split(match[2] or match[3])
        number = int(match[4])
        return parts[number - 1] if number <= len(parts) else ""
    if match := _RANGE.match(text):
        return _filled(match[1], values)[int(match[2]) :]
    if text.startswith("string tolower "):
        return _filled(text.removeprefix("string tolower "), values).lower()
    raise Unsupported(f"command in a location: [{text}]")
