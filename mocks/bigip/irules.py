"""iRules (bigip-behaviour.md B5)."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from mocks.bigip import refusals, rulecheck
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.store import Item, Key, Ref, Store

MAX_TEXT = 65535
"""Characters of a string in a message of mcpd (bigip-behaviour.md B10, inferred for iRules)."""

NEEDS_PROFILE = "01071912"
_SSL_COMMANDS = frozenset(
    ("SSL::disable", "SSL::enable", "SSL::renegotiate", "SSL::extensions", "SSL::profile")
)


@functools.lru_cache(maxsize=256)
def facts(text: str) -> rulecheck.Facts:
    return rulecheck.check(text)


class IRule(Kind):
    url = "ltm/rule"
    word = "iRule"

    def references(self, item: Item) -> Iterable[Ref]:
        """A rule that calls `/P/x::proc` by name holds the rule /P/x (bigip-behaviour.md B5)."""
        text = item.fields.get("apiAnonymous", "")
        if "call " not in text:
            return ()
        called = {command.rsplit("::", 1)[0] for command in text.replace("]", " ").split() if "::" in command}
        return [("rule", name) for name in sorted(called) if name.startswith("/") and name != item.path]

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        text = fields.get("apiAnonymous")
        if text is None or not str(text).strip():
            return {name: value for name, value in fields.items() if name != "apiAnonymous"}
        text = str(text).strip()
        if text.startswith("{"):
            # the text goes to tmsh without outer braces (bigip-behaviour.md B5)
            raise refusals.unknown_property("{")
        if len(text) > MAX_TEXT:
            raise refusals.mcpd(
                "01020057", f"The string with more than {MAX_TEXT} characters cannot be stored in a message."
            )
        try:
            facts(text)
        except rulecheck.SyntaxRefusal as wrong:
            raise self._refusal(store, key[0], text, wrong) from None
        return {**fields, "apiAnonymous": text}

    def _refusal(
        self, store: Store, path: str, text: str, wrong: rulecheck.SyntaxRefusal
    ) -> refusals.Refusal:
        lines = text.splitlines() or [""]
        line = lines[min(wrong.line, len(lines)) - 1].strip()
        if store.version < (12,):
            return refusals.mcpd(
                "01070151", f"Rule [{path}] error: \nline {wrong.line}: [{wrong.reason}] [{line}]"
            )
        return refusals.mcpd(
            "01070151", f"Rule [{path}] error: {path}:{wrong.line}: error: [{wrong.reason}][{line}]"
        )

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        for kind, key in store.users("rule", item.path):
            if kind == "ltm/virtual":
                store.kinds["ltm/virtual"].check_later(store, key[0])

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("rule", item.path):
            by = "virtual server" if kind == "ltm/virtual" else "rule"
            raise refusals.in_use("rule", item.path, f"{by} ({key[0]})")


def refuse_escapes(store: Store, path: str, raw: bytes) -> None:
    r"""The device does not decode `\uXXXX` in the text of an iRule
    (bigip-behaviour.md A2.1). raw: the body as sent."""
    at = raw.find(b"\\u")
    while at >= 0:
        # `\\u` is an escaped backslash before a u
        slashes = len(raw[:at]) - len(raw[:at].rstrip(b"\\"))
        if slashes % 2 == 0:
            raise refusals.mcpd(
                "01070151",
                f"Rule [{path}] error: {path}:1: error: "
                f"[undefined procedure: u{raw[at + 2 : at + 6].decode('latin-1')}]",
            )
        at = raw.find(b"\\u", at + 1)


def check_profiles(
    rule: str, virtual: str, text: str, types: set[str], code: str = NEEDS_PROFILE
) -> None:
    """An iRule on a virtual server needs the profiles of its events
    (bigip-behaviour.md B5). Raises: Refusal: code."""
    rule_facts = facts(text)
    server = "virtual-server" if code == NEEDS_PROFILE else "virtual server"
    for event in rule_facts.events:
        if event.startswith("HTTP_") and not types & {"http", "fasthttp"}:
            raise refusals.mcpd(
                code,
                f"{event} event in rule ({rule}) requires an associated HTTP or FASTHTTP "
                f"profile on the {server} ({virtual}).",
            )
        if event.startswith("CLIENTSSL_") and "client-ssl" not in types:
            raise refusals.mcpd(
                code,
                f"{event} event in rule ({rule}) requires an associated CLIENTSSL "
                f"profile on the {server} ({virtual}).",
            )
        if event.startswith("SERVERSSL_") and "server-ssl" not in types:
            raise refusals.mcpd(
                code,
                f"{event} event in rule ({rule}) requires an associated SERVERSSL "
                f"profile on the {server} ({virtual}).",
            )
    for command in sorted(rule_facts.commands & _SSL_COMMANDS):
        if not types & {"client-ssl", "server-ssl", "persist"}:
            raise refusals.mcpd(
                code,
                f"{command} in rule ({rule}) requires an associated SERVERSSL or CLIENTSSL "
                f"or PERSIST profile on the {server} ({virtual}).",
            )
    for command in sorted(rule_facts.commands):
        if command.startswith("HTTP::") and not types & {"http", "fasthttp"}:
            raise refusals.mcpd(
                code,
                f"{command} in rule ({rule}) requires an associated HTTP or FASTHTTP "
                f"profile on the {server} ({virtual}).",
            )
