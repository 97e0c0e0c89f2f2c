"""What TMM's Tcl has and has not: the core of 8.4 without what F5 disabled (`bigip-rest.md` B5).

The names that are disabled: F5's wiki page "Disabled Tcl commands", as quoted by landro/TesTcl
(disabled_commands.tcl); `command is disabled: "namespace"` was recorded (B5).
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEWER = _names(
    "apply chan coroutine dict lassign lmap lrepeat lreverse tailcall throw try unload yield yieldto zlib"
)
"""Commands of Tcl 8.5 and 8.6."""

DISABLED = _names(
    """
    auto_execok auto_import auto_load auto_mkindex auto_mkindex_old auto_qualify auto_reset bgerror cd close
    encoding eof exec exit fblocked fconfigure fcopy file fileevent filename flush gets glob http interp load
    memory namespace open package pid pkg::create pkg_mkIndex puts pwd read rename seek socket source
    tcl_findLibrary tell time unknown update uplevel upvar vwait
    """
)
"""Commands of Tcl 8.4 that TMM has not. `proc` is one too, but for the outermost level of a rule."""

KEPT_FROM_RULES = frozenset(("proc", "after", "trace"))
"""What would work otherwise in stock Tcl than in TMM, or not at all. TMM's `after` is the data plane's."""

NEWER_FUNCTIONS = frozenset(("bool", "entier", "isqrt", "max", "min"))
"""Functions of expressions, from Tcl 8.5."""
