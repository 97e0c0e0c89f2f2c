"""The command `after` of iRules (tmsh reference, ltm rule command after; clouddocs, after)."""

from __future__ import annotations

from mocks.bigip.dataplane.commands_connection import Result, text
from mocks.bigip.dataplane.connection import Script
from mocks.bigip.tmm import TclError, Unsupported


def after(rules: Script, args: list[bytes]) -> Result:
    """`after MILLISECONDS SCRIPT`, `after cancel ID ...`. Delays of the rule itself, timers that come again
    and `after info` are not known here."""
    match [text(arg) for arg in args]:
        case ["cancel", first, *others] if first != "-current":
            for timer in (first, *others):
                rules.forget(timer)
            return ""
        case [milliseconds, script] if milliseconds not in ("info", "cancel"):
            if not milliseconds.isdecimal():
                raise TclError(f'bad argument "{milliseconds}": must be cancel, info, or a number')
            return rules.later(int(milliseconds), script)
        case words:
            raise Unsupported(f"after {' '.join(words)}")


COMMANDS = {"after": after}
