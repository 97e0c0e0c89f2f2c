"""Times as HAProxy's router takes them: 300ms, 5s, 1h; milliseconds without a unit.

Source: openshift/router, pkg/router/template/util/haproxytime: ParseDuration, and template_helper.go:
clipHAProxyTimeoutValue.
"""

import re

MAX_MS = 2**31 - 1
"""Longer times count as this one."""

TEXT = "a whole number above 0 with a unit: us, ms, s, m, h or d"
"""Description of a valid time, which follows "must be"."""

_TIME = re.compile(r"([1-9][0-9]{0,18})(us|ms|s|m|h|d)?")
_MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


def milliseconds(text: str) -> int:
    """Parse a time into milliseconds, rounded up, from 1 to MAX_MS. Raises: ValueError."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {TEXT}")
    microseconds = int(match[1]) * _MICROSECONDS[match[2] or "ms"]
    return min(-(-microseconds // 1000), MAX_MS)


def seconds(time_ms: int) -> int:
    """Return whole seconds, rounded up."""
    return -(-time_ms // 1000)
