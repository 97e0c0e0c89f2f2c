"""Texts of iRules, taken apart into what runs at which event; and what can go wrong with them."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from mocks.bigip import tcl
from mocks.bigip.tmm import operators

DEFAULT_PRIORITY = 500
"""tmsh reference, ltm rule command priority: 0 to 1000, lower numbers first."""


class TclError(Exception):
    """A command of TMM failed: an error in the rule, which `catch` sees."""


class Unsupported(TclError):
    """A command, or a form of it, that the fake does not know: ends the event whatever the rule catches."""


class RuleError(Exception):
    """An event did not end as it should: TMM resets the connection then.

    Attributes: rule: full path. event: its name. message: what Tcl said, or that the rule ran away, or
    what the fake does not know.
    """

    def __init__(self, rule: str, event: str, message: str) -> None:
        super().__init__(f"TCL error: {rule} <{event}> - {message}")
        self.rule, self.event, self.message = rule, event, message


@dataclass(frozen=True, slots=True)
class Handler:
    event: str
    priority: int
    body: str


@dataclass(frozen=True, slots=True)
class Procedure:
    name: str
    arguments: str
    body: str


@functools.lru_cache(maxsize=512)
def parse(text: str) -> tuple[tuple[Handler, ...], tuple[Procedure, ...]]:
    """Handlers and procedures of a rule's text, in its order.

    `priority` and `timing` stand alone, for all that follows, or between the event and the body; timing
    changes nothing here. The bodies were checked when the rule was written.
    Raises: tcl.SyntaxRefusal.
    """
    handlers, procedures, priority = [], [], DEFAULT_PRIORITY
    for words in tcl.commands(text):
        name, *rest = [word.text for word in words]
        if name == "priority":
            priority = int(rest[0])
        elif name == "when":
            options = dict(zip(rest[1:-1:2], rest[2:-1:2], strict=True))
            handlers.append(Handler(rest[0], int(options.get("priority", priority)), _body(words)))
        elif name == "proc":
            procedures.append(Procedure(rest[0], rest[1], _body(words)))
        elif name != "timing":
            raise tcl.SyntaxRefusal(words[0].line, f"undefined procedure: {name}")
    return tuple(handlers), tuple(procedures)


def _body(words: list[tcl.Word]) -> str:
    return operators.rewritten(words[-1].text, words[-1].line)
