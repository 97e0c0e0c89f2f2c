"""Texts of settings and what they mean: one parser per form.

Every parser takes the text as the operator wrote it, returns the value, and raises ValueError with
words that follow "--flag / VARIABLE: ". Sources: openshift/origin v3.11.0,
pkg/cmd/infra/router/f5.go: F5Router.Bind, Validate; openshift/router, pkg/cmd/infra/router/router.go.
"""

import ipaddress
import posixpath
import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from f5router.model import client_tls

TRUE_WORDS = ("1", "t", "T", "true", "TRUE", "True")
FALSE_WORDS = ("0", "f", "F", "false", "FALSE", "False")

LOG_LEVELS = {
    "debug": "debug",
    "info": "info", "notice": "info",
    "warning": "warning", "warn": "warning",
    "error": "error", "err": "error",
    "critical": "critical", "crit": "critical", "alert": "critical", "emerg": "critical",
    "panic": "critical",
}
"""Word, one of syslog's too, to the level of ours that shows at least as much."""

_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|μs|ms|s|m|h)")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_INTEGER = re.compile(r"\+?[0-9]{1,9}")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_HOST_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_BIGIP_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_MONITOR = re.compile(r"(?:/[A-Za-z0-9_.-]+)+")
_MIN_OF = re.compile(r"min\s+([0-9]+)\s+of\s+(?:\{\s*([^{}]*?)\s*\}|([^{}]*))")
_SHA256 = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_MD5 = re.compile(r"(?:[0-9a-f]{2}:){15}[0-9a-f]{2}")
_TLS_VERSION = re.compile(r"(?:VersionTLS|TLSv)?(1)\.?([0-3])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Host(NamedTuple):
    """Address of the BIG-IP's management interface."""

    netloc: str
    """As in a URL: "bigip.example.com", "192.0.2.1:8443", "[2001:db8::1]:8443"."""
    bare: str
    """Without port and brackets."""


class Address(NamedTuple):
    """Address on which a server listens."""

    host: str
    """"" for all addresses, IPv4 and IPv6."""
    port: int
    """0 for any free one."""


def boolean(text: str) -> bool:
    """A word of Go's ParseBool, as flags take it."""
    if text in TRUE_WORDS:
        return True
    if text in FALSE_WORDS:
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def lenient_boolean(text: str) -> bool:
    """A boolean variable: a true word of ParseBool; anything else is false, without complaint."""
    return text in TRUE_WORDS


def duration(low_s: float) -> Callable[[str], float]:
    """Parser of a Go duration ("1m30s", "250ms") of at least low_s; returns seconds."""

    def parse(text: str) -> float:
        if text == "0":
            value_s = 0.0
        elif _DURATION.fullmatch(text):
            value_s = sum(float(count) * _UNIT_S[unit] for count, unit in _DURATION_PART.findall(text))
        else:
            raise ValueError(f"{text!r} is not a duration such as 5m, 1m30s or 100ms")
        if value_s < low_s:
            raise ValueError(f"{text!r} is less than {low_s:g}s")
        return value_s

    return parse


def number(what: str, low: float, high: float) -> Callable[[str], float]:
    """Parser of a decimal number within low..high; `what` names the unit in messages."""

    def parse(text: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{text!r} is not a number of {what}")
        if not low <= float(text) <= high:
            raise ValueError(f"{text!r} is not between {low:g} and {high:g} {what}")
        return float(text)

    return parse


def integer(low: int, high: int) -> Callable[[str], int]:
    """Parser of a whole number within low..high."""

    def parse(text: str) -> int:
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number between {low} and {high}")
        return int(text)

    return parse


def choice(*words: str) -> Callable[[str], str]:
    """Return a parser that accepts one of the words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text

    return parse


def several(*words: str) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of some of the words, separated by commas; it returns each once, in this order."""

    def parse(text: str) -> tuple[str, ...]:
        given = [word.strip() for word in text.split(",")]
        if unknown := [word for word in given if word not in words]:
            raise ValueError(f"{text!r}: {unknown[0]!r} is not one of {', '.join(words)}")
        return tuple(word for word in words if word in given)

    return parse


def tls_version(text: str) -> str:
    """Version of TLS, "1.0" to "1.3": of TLSv1.2, HAProxy's form, VersionTLS12, OpenShift's, or 1.2."""
    if not (match := _TLS_VERSION.fullmatch(text)):
        raise ValueError(f"{text!r} is not one of TLSv1.0, TLSv1.1, TLSv1.2, TLSv1.3")
    return ".".join(match.groups())


def client_tls_version(text: str) -> str:
    """Version of TLS for clients, a key of client_tls.VERSIONS, of HAProxy's form."""
    version = next((key for key, name in client_tls.VERSIONS.items() if name == text), "")
    if not version:
        raise ValueError(f"{text!r} is not one of {', '.join(client_tls.VERSIONS.values())}")
    return version


def regular_expression(text: str) -> str:
    """Check a regular expression of Tcl by parsing it as Python's."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        raise ValueError(f"{text!r} is not a regular expression") from None
    return text


def log_level(text: str) -> str:
    """debug, info, warning, error or critical; syslog's words, in any case, are mapped to these."""
    level = LOG_LEVELS.get(text.lower())
    if level is None:
        raise ValueError(f"{text!r} is not one of {', '.join(LOG_LEVELS)}")
    return level


def username(text: str) -> str:
    """A user name that HTTP basic authentication can carry."""
    if ":" in text or _CONTROL.search(text):
        raise ValueError("a user name may hold neither a colon nor control characters")
    return text


def password(text: str) -> str:
    """Any text of one line."""
    if _CONTROL.search(text):
        raise ValueError("a password may not hold control characters")
    return text


def host(text: str) -> Host:
    """Host name or IP address, optionally with https:// before it and a port behind it.

    The message never repeats a part that could be a user name or password.
    """
    if "@" in text:
        raise ValueError("user name and password do not belong here")
    scheme, separator, rest = text.rpartition("://")
    if separator and scheme.lower() != "https":
        raise ValueError(f"{text!r} begins with {scheme}://; only https is supported")
    rest = rest.removesuffix("/")
    if "/" in rest:
        raise ValueError(f"{text!r} has a path; give HOST or HOST:PORT")
    bare, port = _split_port(rest, text)
    if port is not None and not (port.isascii() and port.isdigit() and 1 <= int(port[:9]) <= 65535):
        raise ValueError(f"{text!r} has a port that is not between 1 and 65535")
    shown = f"[{bare}]" if ":" in bare else bare
    return Host(shown if port is None else f"{shown}:{int(port)}", bare)


def _split_port(rest: str, text: str) -> tuple[str, str | None]:
    """Address without brackets, and port if there is one. Raises ValueError quoting `text`."""
    if rest.startswith("["):
        inside, bracket, after = rest[1:].partition("]")
        if not bracket or (after and not after.startswith(":")) or not _is_ip(inside, 6):
            raise ValueError(f"{text!r} is not an IPv6 address in brackets")
        return inside, after[1:] if after else None
    if rest.count(":") > 1:
        if not _is_ip(rest, 6):
            raise ValueError(f"{text!r} is neither a host name nor an IP address")
        return rest, None
    bare, colon, port = rest.partition(":")
    if re.fullmatch(r"[0-9.]+", bare):
        good = _is_ip(bare, 4)
    else:
        good = len(bare) <= 253 and all(_HOST_LABEL.fullmatch(label) for label in bare.split("."))
    if not good:
        raise ValueError(f"{text!r} is neither a host name nor an IP address")
    return bare, port if colon else None


def _is_ip(text: str, version: int | None = None) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and version in (None, address.version)


def internal_address(text: str) -> str:
    """An IPv4 address that a host may have: openshift-sdn takes no other as hostIP."""
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv4 address") from None
    if address.is_unspecified or address.is_loopback or address.is_multicast or address.is_reserved:
        raise ValueError(f"{text!r} is no address that Nodes can send to")
    return str(address)


def listen(text: str) -> Address | None:
    """Address and port to listen on, as Go's net.Listen takes them; ":1936" for all addresses.

    "none" becomes None: not to listen.
    """
    if text == "none":
        return None
    port: str | None
    if text.startswith(":"):
        bare, port = "", text[1:]
    else:
        bare, port = _split_port(text, text)
    if port is None:
        raise ValueError(f"{text!r} has no port; write it like 0.0.0.0:1936, [::]:1936 or :1936")
    if not (port.isascii() and port.isdigit() and int(port[:9]) <= 65535):
        raise ValueError(f"{text!r} has a port that is not between 0 and 65535")
    return Address(bare, int(port))


def gateway(text: str) -> str:
    """An IPv4 host address, "/" and the length of its network's prefix."""
    address, slash, prefix = text.partition("/")
    if not (slash and prefix.isascii() and prefix.isdigit() and len(prefix) <= 2 and _is_ip(address, 4)):
        raise ValueError(f"{text!r} is not an IPv4 address with a prefix length, such as 10.131.0.5/14")
    bits = int(prefix)
    if not 1 <= bits <= 30:
        raise ValueError(f"{text!r}: the prefix length must be that of the cluster network, from 1 to 30")
    network = ipaddress.IPv4Network((address, bits), strict=False)
    if ipaddress.IPv4Address(address) in (network.network_address, network.broadcast_address):
        raise ValueError(f"{text!r} is the network or broadcast address of {network}, not one of a host")
    return f"{address}/{bits}"


def partition_path(text: str) -> str:
    """Folder, rooted and cleaned as Go's path.Join("/", text) does; "" stays "".

    ".." is refused, not resolved: it would lead to a folder that nobody wrote down.
    """
    if not text:
        return ""
    names = [name for name in text.split("/") if name not in ("", ".")]
    if not names:
        raise ValueError(f"{text!r} names no partition")
    if ".." in names:
        raise ValueError(f"{text!r} may not contain ..")
    for name in names:
        if not _BIGIP_NAME.fullmatch(name):
            raise ValueError(f"{text!r} may hold letters, digits, '_', '.', '-' and '/' only")
    return posixpath.join("/", *names)


def partition(text: str) -> str:
    """A partition, with its slash."""
    path = partition_path(text)
    if path.count("/") > 1:
        raise ValueError(f"{text!r} must be a partition, not a folder in one")
    return path


def virtual_server(text: str) -> str:
    """Name of a virtual server, without its folder; "" for none."""
    if "/" in text:
        raise ValueError(f"{text!r} must be a name without a folder; the folder is --f5-partition-path")
    if text and not _BIGIP_NAME.fullmatch(text):
        raise ValueError(f"{text!r} may hold letters, digits, '_', '.' and '-' only")
    return text


def pool_monitor(text: str) -> str:
    """Monitors of a pool, as the device reads them back (bigip-behaviour.md B3).

    "/Common/a,/Common/b" and "/Common/a and /Common/b" become the latter; "min 1 of /Common/a
    /Common/b", with or without braces, becomes "min 1 of { /Common/a /Common/b }"; "none" and ""
    become "".
    """
    text = text.strip()
    if text in ("", "none"):
        return ""
    if text.startswith("min "):
        return _min_of(text)
    return " and ".join(_monitors(re.split(r"\s*,\s*|\s+and\s+", text), text))


def _min_of(text: str) -> str:
    match = _MIN_OF.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not of the form: min 1 of /Common/http /Common/https")
    names = _monitors(re.split(r"\s*,\s*|\s+", match[2] or match[3] or ""), text)
    if not 1 <= int(match[1]) <= len(names):
        raise ValueError(f"{text!r} asks for {int(match[1])} of {len(names)} monitors")
    return f"min {int(match[1])} of {{ {' '.join(names)} }}"


def _monitors(names: list[str], text: str) -> list[str]:
    for name in names:
        if not _MONITOR.fullmatch(name):
            raise ValueError(f"{text!r}: {name!r} is not the full path of a monitor, such as /Common/tcp")
    if len(set(names)) < len(names):
        raise ValueError(f"{text!r} names a monitor twice")
    return names


def host_key(text: str) -> str:
    """Fingerprints of SSH host keys, separated by commas, each in its normal form.

    Shape: "SHA256:" and base64, as `ssh-keygen -l` prints it, or MD5 in hexadecimal with colons, as
    the ssh-keygen of old TMOS does.
    """
    return ",".join(_fingerprint(fingerprint.strip()) for fingerprint in text.split(","))


def _fingerprint(text: str) -> str:
    sha256, md5 = text.rstrip("="), text.removeprefix("MD5:").lower()
    if _SHA256.fullmatch(sha256):
        return sha256
    if _MD5.fullmatch(md5):
        return md5
    raise ValueError(f"{text!r} is not the fingerprint of a host key, such as SHA256:<43 characters>")


def namespace(text: str) -> str:
    """Name of a namespace."""
    if not _LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of a namespace")
    return text


def namespaces(text: str) -> frozenset[str]:
    """Names of namespaces separated by commas; blanks around them and empty items are dropped."""
    return frozenset(namespace(item.strip()) for item in text.split(",") if item.strip())


def canonical_hostname(text: str) -> str:
    """A DNS-1123 subdomain that is no IP address."""
    if _is_ip(text):
        raise ValueError(f"{text!r} is an IP address; it must be a DNS name")
    if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in text.split(".")):
        raise ValueError(f"{text!r} is not a DNS name in lower case")
    return text


def url(text: str) -> str:
    """URL of an API server, with https:// where no scheme stands; never repeated in the message."""
    full = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(full)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or "@" in full or re.search(r"\s", full):
        raise ValueError("this is not the URL of an API server, such as https://master.example.com:8443")
    return full
