"""Hosts for which a certificate is valid, and its dates."""

import datetime
from dataclasses import dataclass

from f5router.model.printable import bounded
from f5router.model.problem import (
    CERTIFICATE_EXPIRED,
    CERTIFICATE_NAME_MISMATCH,
    CERTIFICATE_NOT_YET_VALID,
    Problem,
)

SHOWN = 3
"""Names of a certificate that a problem with a Host shows."""

LONGEST = 256
"""Bytes that are shown of a name in a certificate; a DNS name has at most 253 (RFC 1035, 2.3.4)."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The part of a certificate that clients compare with the host and the time."""

    names: tuple[str, ...]
    """Its subject alternative names; clients look at no others (RFC 9525, 6.3)."""
    begin: datetime.datetime
    """Aware; likewise end."""
    end: datetime.datetime

    def problems(self, host: str, now: datetime.datetime) -> tuple[Problem, ...]:
        """Return why clients of a Host refuse the certificate at a time; () if they do not."""
        return (*self.date_problems(now), *self.name_problems(host))

    def date_problems(self, now: datetime.datetime) -> tuple[Problem, ...]:
        """Return what is wrong with the dates at a time."""
        if now > self.end:
            return (Problem(CERTIFICATE_EXPIRED, f"it expired on {timestamp(self.end)}"),)
        if now < self.begin:
            return (Problem(CERTIFICATE_NOT_YET_VALID, f"it is not valid before {timestamp(self.begin)}"),)
        return ()

    def name_problems(self, host: str) -> tuple[Problem, ...]:
        """Return that the certificate is for other hosts."""
        if any(matches(name, host) for name in self.names):
            return ()
        names = ", ".join(bounded(name, LONGEST) for name in self.names[:SHOWN])
        more = f" and {len(self.names) - SHOWN} more" if len(self.names) > SHOWN else ""
        return (Problem(CERTIFICATE_NAME_MISMATCH,
                        f"it is not for {bounded(host, LONGEST)}" + (f" but for {names}{more}" if names else
                                                   ": it has no subject alternative names")),)


def matches(name: str, host: str) -> bool:
    """True if a name of a certificate stands for a Host. Source: RFC 9525, 6.3: "*" is one whole label."""
    name, host = name.lower(), host.lower()
    if name.startswith("*."):
        return host == name or ("." in host and host.partition(".")[2] == name[2:])
    return name == host


def timestamp(time: datetime.datetime) -> str:
    """Return a time in UTC as RFC 3339 has it, in whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
