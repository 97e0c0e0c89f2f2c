"""The access log: a line for each response, which the BIG-IP sends to log servers.

Sources: HAProxy, Configuration Manual, "Custom log format" (what the fields mean), "HTTP log format" (their
order), and "log" (facilities); F5, "BIG-IP Acceleration: Concepts", "Using the Request Logging Profile" (the
words of templates); RFC 3164, section 4 (the head of a line).
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from f5router.model.objects import NamedObject, Ref

POOL, PROFILE = "openshift_syslog", "openshift_request-log-profile"
"""Names of the pool of log servers and of the profile. That of a Service's pool has two components or more
after "openshift_"."""
FACILITIES = (
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "auth2", "ftp", "ntp",
    "audit", "alert", "cron2", *(f"local{number}" for number in range(8)))
"""By number. Source: HAProxy, Configuration Manual, "log"."""
INFO = 6
"""Severity of a line: HAProxy's of a request, and RFC 3164's number."""

DEFAULT_FORMAT = ('%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc '
                  '%sq/%bq %{+Q}r')
"""HAProxy's format for HTTP, without captured headers."""

_DATE = "$DATE_DD/$DATE_MON/$DATE_YYYY:$TIME_HMS"
_WORDS = {
    "ci": "$CLIENT_IP", "cp": "$CLIENT_PORT", "fi": "$VIRTUAL_IP", "fp": "$VIRTUAL_PORT",
    "f": "$VIRTUAL_NAME", "ft": "$VIRTUAL_NAME", "b": "$VIRTUAL_POOL_NAME",
    "s": "$SERVER_IP:$SERVER_PORT", "si": "$SERVER_IP", "sp": "$SERVER_PORT",
    "bi": "$SNAT_IP", "bp": "$SNAT_PORT", "H": "$BIGIP_HOSTNAME",
    "t": f"{_DATE}.$TIME_MSECS", "tr": f"{_DATE}.$TIME_MSECS", "Ts": "$TIME_UNIX",
    **dict.fromkeys(("T", "Tl", "trg", "trl"), f"{_DATE} $TIME_OFFSET"),
    "Ta": "$RESPONSE_MSECS", "Tt": "$RESPONSE_MSECS", "ST": "$HTTP_STATCODE", "B": "$RESPONSE_SIZE",
    "r": "$HTTP_REQUEST", "HM": "$HTTP_METHOD", "HP": "$HTTP_PATH", "HPO": "$HTTP_PATH", "HQ": "$HTTP_QUERY",
    "HU": "$HTTP_URI", "HV": "$HTTP_VERSION",
}
_PLACEHOLDERS = {
    **dict.fromkeys(("TR", "Tw", "Tc", "Tr", "Td", "Th", "Ti", "Tq", "Tu"), "-1"),
    **dict.fromkeys(("ac", "fc", "bc", "sc", "rc", "sq", "bq"), "0"), "tsc": "----", "ts": "--",
}
"""Text of HAProxy in the place of a field that it does not know; "-" for others."""

_FIELD = re.compile(
    r"%(?:%|(?:\([^)]*\))?(?:\{(?P<flags>[^}]*)\})?(?:\[(?P<sample>[^\]]*)\]|(?P<name>[A-Za-z]+)))")
_HEADER = re.compile(r"(?:req|capture\.req)\.f?hdr\(([A-Za-z0-9_-]+)(?:,-?[0-9]+)?\)")


@dataclass(frozen=True, slots=True)
class AccessLog:
    """Where lines are sent, and what is in them."""

    servers: tuple[tuple[str, int], ...]
    """Address in canonical form, and port."""
    template: str
    """In the language of the BIG-IP."""
    over_tcp: bool = False


@dataclass(frozen=True, slots=True)
class RequestLog(NamedObject):
    """The profile that sends a line for each response; it has everything else from its parent."""

    KIND: ClassVar[str] = "ltm/profile/request-log"
    pool: str
    """Full path of the pool of log servers."""
    template: str
    over_tcp: bool = False
    parent: str = "/Common/request-log"
    as_ours: bool = True
    """True if it logs each response, and no request."""

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref("ltm/pool", self.pool),)


def head(facility: str) -> str:
    """Return what stands before a line, as HAProxy sends it. Args: facility: one of FACILITIES."""
    priority = FACILITIES.index(facility) * 8 + INFO
    return f"<{priority}>$DATE_MON $DATE_DD $TIME_HMS $BIGIP_HOSTNAME f5router: "


def _plain(text: str) -> str:
    """Return a format without the quotes and backslashes that HAProxy's configuration asks for."""
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    inner = text[1:-1] if is_quoted else text
    return inner if is_quoted and text[0] == "'" else re.sub(r"\\([\\ \"'#])", r"\1", inner)


def template(text: str) -> tuple[str, tuple[str, ...]]:
    """Convert a format of HAProxy's to a template of the BIG-IP.

    Words of the BIG-IP itself, such as ${User-agent}, stay as they are.

    Returns: the template, and the fields that have no counterpart, in whose place it has what HAProxy writes
    where it does not know them.
    """
    missing: dict[str, None] = {}
    always_quoted = False

    def word(match: re.Match[str]) -> str:
        nonlocal always_quoted
        if match[0] == "%%":
            return "%"
        flags, name = {flag.strip() for flag in (match["flags"] or "").split(",")}, match["name"] or ""
        if name == "o":  # sets the flags of all that follow
            always_quoted = "+Q" in flags
            return ""
        header = _HEADER.fullmatch((match["sample"] or "").strip())
        counterpart = f"${{{header[1]}}}" if header and not header[1].isdecimal() else _WORDS.get(name)
        if counterpart is None:
            missing[match[0]] = None
        shown = counterpart or _PLACEHOLDERS.get(name, "-")
        is_quoted = "+Q" in flags or (always_quoted and "-Q" not in flags)
        return f'"{shown}"' if is_quoted else shown

    return _FIELD.sub(word, _plain(text)), tuple(missing)
