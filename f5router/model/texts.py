"""Texts for people: made safe to show, problems with their reasons, tables, times, and what a typo means.

Whoever may write an object chooses its texts. On a terminal an escape sequence moves the cursor or sets the
title, a line break begins a line that nobody wrote, and a character such as U+202E turns the order of what
follows. Every text that goes to a terminal, a log, a status or an Event passes through here.

The reasons below are those of warnings: they keep nothing from being served. Each is also the reason of an
Event; Kubernetes asks for a short UpperCamelCase word (API reference, Event v1, reason).

Times are as HAProxy's router takes them: 300ms, 5s, 1h; milliseconds without a unit. Source:
openshift/router, pkg/router/template/util/haproxytime: ParseDuration, and template_helper.go:
clipHAProxyTimeoutValue.
"""

import io
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from typing import NamedTuple

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text


def printable(text: object) -> str:
    r"""Return a text on one line, with escapes such as \x1b, \n or \u202e for unprintable characters.

    Printable are those of str.isprintable and the blank. Escaped are control characters of both sets,
    separators of lines, marks of direction and other invisible characters, lone surrogates.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def bounded(text: object, most: int) -> str:
    """Return a text as printable does, of at most so many bytes in UTF-8; "..." stands for what is cut."""
    shown = printable(str(text)[:most + 1])
    data = shown.encode()
    if len(data) <= most:
        return shown
    return data[:most - 3].decode(errors="ignore") + "..."


WARNING = "Warning"
"""A warning without a reason of its own."""
SERVICE_NOT_FOUND = "ServiceNotFound"
PORT_NOT_FOUND = "ServicePortNotFound"
NO_NODE_PORT = "NoNodePort"
NO_ENDPOINTS = "NoEndpoints"
SERVICE_IDLED = "ServiceIdled"
EXTERNAL_NAME = "ExternalNameService"
ALL_WEIGHTS_ZERO = "AllWeightsZero"
ADDRESSES_REFUSED = "AddressesRefused"
"""Addresses of a Service that may be no pool members."""
PODS_NOT_REACHED = "PodsNotReached"
"""Pods outside of every Node's network, or on another Node than the way of the BIG-IP leads to."""
TOO_MANY_ENDPOINTS = "TooManyEndpoints"
UNSUPPORTED_PROTOCOL = "UnsupportedProtocol"
UNSUPPORTED_ANNOTATION = "UnsupportedAnnotation"
TRANSLATED = "AnnotationTranslated"
"""An annotation of another controller that is in effect."""
INVALID_OPTION = "InvalidOption"
"""An option whose value cannot be used."""
OPTION_WITHOUT_EFFECT = "OptionWithoutEffect"
UNVERIFIED_PODS = "UnverifiedPods"
CERTIFICATE_NOT_USED = "CertificateNotUsed"
SECRET_NOT_READ = "SecretNotRead"
CERTIFICATE_EXPIRED = "CertificateExpired"
CERTIFICATE_NOT_YET_VALID = "CertificateNotYetValid"
CERTIFICATE_NAME_MISMATCH = "CertificateNameMismatch"
UNUSED_TLS_HOST = "UnusedTLSHost"
"""A host of an Ingress's spec.tls that no rule has."""
UNUSED_ANNOTATION = "UnusedAnnotation"
PATH_IS_TEXT = "PathIsText"
"""A path of an Ingress that looks like a regular expression."""

WARNINGS = frozenset({
    WARNING, SERVICE_NOT_FOUND, PORT_NOT_FOUND, NO_NODE_PORT, NO_ENDPOINTS, SERVICE_IDLED, EXTERNAL_NAME,
    ALL_WEIGHTS_ZERO, ADDRESSES_REFUSED, PODS_NOT_REACHED, TOO_MANY_ENDPOINTS, UNSUPPORTED_PROTOCOL,
    UNSUPPORTED_ANNOTATION, TRANSLATED, INVALID_OPTION, OPTION_WITHOUT_EFFECT, UNVERIFIED_PODS,
    CERTIFICATE_NOT_USED, SECRET_NOT_READ, CERTIFICATE_EXPIRED, CERTIFICATE_NOT_YET_VALID,
    CERTIFICATE_NAME_MISMATCH,
    UNUSED_TLS_HOST, UNUSED_ANNOTATION, PATH_IS_TEXT,
})


class Problem(NamedTuple):
    """A reason, for the Events and the status of the object."""

    reason: str
    """UpperCamelCase word for programs."""
    message: str
    """Text for its team; it begins with the field."""


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 pool", "2,000 pools"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def rfc3339(seconds: float | None) -> str:
    """Return a time in seconds since the epoch as RFC 3339 in UTC, in whole seconds; "" for None."""
    return "" if seconds is None else datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


NARROWEST = 40
"""Least width of a text beside its indentation, in characters."""

WIDE = 10_000
"""Columns of plain text: lines are as long as they are."""


def table(headers: Sequence[str], rows: Iterable[Iterable[RenderableType]],
          right: Collection[int] = ()) -> Table:
    """Return a table; cells that do not fit a terminal are continued below.

    Args: headers: one for each column, "" for none; right: numbers of columns that are aligned to the right.
    """
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    result.show_header = any(headers)
    for number, header in enumerate(headers):
        result.add_column(header, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


def as_text(renderable: RenderableType) -> str:
    """Return something that rich renders as plain text, with whole lines and no blanks at their ends."""
    output = io.StringIO()
    Console(file=output, width=WIDE, highlight=False, markup=False, emoji=False,
            color_system=None).print(renderable)
    return "\n".join(line.rstrip() for line in output.getvalue().rstrip("\n").split("\n"))


def plain_table(headers: Sequence[str], rows: Iterable[Iterable[object]],
                right: Collection[int] = ()) -> str:
    """Return a table of values as plain text. Args: right: see `table`."""
    return as_text(table(headers, ([Text(printable(cell)) for cell in row] for row in rows), right))


def hanging(text: str, indent: int, width: int) -> str:
    """Break a text into lines of a width, all but the first indented by so many blanks."""
    lines = textwrap.wrap(printable(text), max(width - indent, NARROWEST), break_long_words=False,
                          break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


MAX_MS = 2**31 - 1
"""Longer times count as this one."""

TIME_TEXT = "a whole number above 0 with a unit: us, ms, s, m, h or d"
"""Description of a valid time, which follows "must be"."""

_TIME = re.compile(r"([1-9][0-9]{0,18})(us|ms|s|m|h|d)?")
_MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


def parse_milliseconds(text: str) -> int:
    """Parse a time into milliseconds, rounded up, from 1 to MAX_MS. Raises: ValueError."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {TIME_TEXT}")
    microseconds = int(match[1]) * _MICROSECONDS[match[2] or "ms"]
    return min(-(-microseconds // 1000), MAX_MS)


def parse_seconds(time_ms: int) -> int:
    """Return whole seconds, rounded up."""
    return -(-time_ms // 1000)


@dataclass(frozen=True, slots=True)
class Findings:
    """Sentences, each once, in a fixed order. Problems keep pods from being reached, warnings may."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(self.problems + other.problems, self.warnings + other.warnings)


CUTOFF = 0.65
"""Least similarity of a name that is perhaps meant, as difflib measures it."""

MOST_NAMES = 1000
"""Names that are compared: each takes about 20 µs."""


def did_you_mean(wanted: str, known: Iterable[str], *, cutoff: float = CUTOFF) -> str:
    """Return "; did you mean NAME?" for the nearest of at most MOST_NAMES names.

    If no name is near, return "", or that names were left out of the comparison.
    """
    names = list(islice(known, MOST_NAMES + 1))
    if near := get_close_matches(wanted, names[:MOST_NAMES], n=1, cutoff=cutoff):
        return f"; did you mean {near[0]}?"
    return f"; only the first {MOST_NAMES:,} names were compared with it" if len(names) > MOST_NAMES else ""
