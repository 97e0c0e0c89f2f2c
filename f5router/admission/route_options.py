"""The table of annotations that set options of a Route, and their parsing.

A value that is not valid has no effect, as in openshift/router, and gets a sentence for its team.
Sources: openshift/router, images/router/haproxy/conf/haproxy-config.template; OpenShift documentation,
Route-specific annotations; clouddocs, Container Ingress Services, Route annotations.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from f5router.admission import allowed_objects, health
from f5router.model import route_options, texts
from f5router.model.hostnames import quote
from f5router.model.route_options import DEFAULTS, RouteOptions

HAPROXY = "haproxy.router.openshift.io/"
ROUTER = "router.openshift.io/"
CIS = "virtual-server.f5.com/"
"""Annotations of F5's Container Ingress Services."""

LIMITS = f"{HAPROXY}rate-limit-connections"
"""The switch for the annotations that begin with it and a dot."""

HEALTH = f"{CIS}health"
PROFILE = f"{CIS}serverssl"
APP_ROOT = f"{CIS}rewrite-app-root"
SECURE = f"{CIS}secure-serverssl"
"""True: a re-encrypt Route without verification of its pods is not served."""

ALL = frozenset({"", "edge", "reencrypt", "passthrough"})
"""Terminations; "" for a Route without TLS."""

HTTP, TLS = ALL - {"passthrough"}, frozenset({"edge", "reencrypt"})

TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""Words that switch something on: those of Go's strconv.ParseBool."""
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})

MAX_COUNT = 2**31 - 1

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class RouteOption:
    """A row of the table."""

    key: str
    field: str
    """Field of RouteOptions."""
    parse: Callable[[str], Any]
    """Raises: ValueError: the value is not valid."""
    expected: str
    """Description of a valid value, which follows "must be"."""
    terminations: frozenset[str] = ALL
    unless: str = ""
    """Key of the annotation that goes before this one; "" for none."""


def parse_count(text: str) -> int:
    """Parse an integer of 0 or more. Raises: ValueError."""
    if _INTEGER.fullmatch(text) is None or not 0 <= int(text) <= MAX_COUNT:
        raise ValueError(text)
    return int(text)


def parse_positive(text: str) -> int:
    """Parse an integer of 1 or more. Raises: ValueError."""
    number = parse_count(text)
    if not number:
        raise ValueError(text)
    return number


def parse_limit(text: str) -> int:
    """Parse an integer of 2 or more: the connection that reaches it is refused. Raises: ValueError."""
    limit = parse_count(text)
    if limit < 2:
        raise ValueError(text)
    return limit


def one_of(*words: str) -> Callable[[str], str]:
    """Return a parser of the given words, which raises ValueError for any other word."""
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text
    return parse


def parse_boolean(text: str) -> bool:
    """Parse a boolean. Raises: ValueError. Source: Go's strconv.ParseBool."""
    if text not in TRUE | FALSE:
        raise ValueError(text)
    return text in TRUE


def parse_method(text: str) -> str:
    """Parse a load balancing method of the BIG-IP. Raises: ValueError: unknown, or not supported."""
    if text not in route_options.BALANCING_METHODS:
        raise ValueError(text)
    return route_options.BALANCING_METHODS[text]


def parse_same_site(text: str) -> str:
    """Parse the SameSite of a cookie; "" for the default. Raises: ValueError."""
    if text not in route_options.SAME_SITE:
        raise ValueError(text)
    return text if text != route_options.DEFAULT_SAME_SITE else ""


_HSTS_TOKEN = "(?:includeSubDomains|preload)"
_HSTS = re.compile(rf"(?:{_HSTS_TOKEN}[ \t]*;[ \t]*)*max-age[ \t]*=[ \t]*(?:[0-9]+|\"[0-9]+\")"
                   rf"(?:[ \t]*;[ \t]*{_HSTS_TOKEN})*", re.ASCII | re.IGNORECASE)
MOST_HSTS = 200
"""Characters of the header; a sensible one has less than 60."""


def parse_hsts(text: str) -> str:
    """Parse the header Strict-Transport-Security. Raises: ValueError."""
    if len(text) > MOST_HSTS or _HSTS.fullmatch(text) is None:
        raise ValueError(text)
    return text


_COUNT_TEXT = f"a whole number, 0 to {MAX_COUNT}"
_POSITIVE_TEXT = f"a whole number, 1 to {MAX_COUNT}"
_LIMIT_TEXT = f"a whole number, 2 to {MAX_COUNT}, for 0 and 1 would let nobody in"

OPTIONS = (
    RouteOption(f"{HAPROXY}balance", "balance", one_of(*route_options.ALGORITHMS),
                "roundrobin, leastconn, random or source"),
    RouteOption(f"{HAPROXY}pod-concurrent-connections", "pod_connections", parse_count, _COUNT_TEXT),
    RouteOption(f"{LIMITS}.concurrent-tcp", "most_connections", parse_limit, _LIMIT_TEXT),
    RouteOption(f"{LIMITS}.rate-tcp", "connection_rate", parse_limit, _LIMIT_TEXT),
    RouteOption(f"{LIMITS}.rate-http", "request_rate", parse_positive, _POSITIVE_TEXT, HTTP),
    RouteOption(f"{HAPROXY}timeout", "timeout_ms", texts.parse_milliseconds, texts.TIME_TEXT),
    RouteOption(f"{HAPROXY}timeout-tunnel", "tunnel_timeout_ms", texts.parse_milliseconds, texts.TIME_TEXT),
    RouteOption(f"{HAPROXY}disable_cookies", "disable_cookies", parse_boolean, "true or false", HTTP),
    RouteOption(f"{ROUTER}cookie_name", "cookie_name", route_options.parse_cookie_name,
                route_options.COOKIE_NAME_TEXT,
                HTTP),
    RouteOption(f"{ROUTER}cookie-same-site", "same_site", parse_same_site, "Lax, Strict or None", TLS),
    RouteOption(f"{HAPROXY}set-forwarded-headers", "forwarded", one_of(*route_options.FORWARDED_POLICIES),
                "append, replace, if-none or never", HTTP),
    RouteOption(f"{HAPROXY}hsts_header", "hsts", parse_hsts,
                "max-age=SECONDS with includeSubDomains and preload before or behind it, semicolons between "
                "them", TLS),
    RouteOption(f"{HAPROXY}rewrite-target", "rewrite", route_options.parse_rewrite,
                route_options.REWRITE_TEXT, HTTP),
    RouteOption(f"{ROUTER}haproxy.health.check.interval", "check_interval_ms", texts.parse_milliseconds,
                texts.TIME_TEXT),
    RouteOption(f"{CIS}balance", "balance", parse_method,
                f"one of {', '.join(route_options.BALANCING_METHODS)}",
                unless=f"{HAPROXY}balance"),
    RouteOption(f"{CIS}pod-concurrent-connections", "pod_connections", parse_count, _COUNT_TEXT,
                unless=f"{HAPROXY}pod-concurrent-connections"),
    RouteOption(f"{CIS}rewrite-target-url", "rewrite", route_options.parse_url_rewrite,
                "a path that begins with /; another host is not supported", HTTP,
                unless=f"{HAPROXY}rewrite-target"),
    RouteOption(APP_ROOT, "app_root", route_options.parse_app_root, "a path below /", HTTP),
    RouteOption(HEALTH, "health", health.parse, health.EXPECTED,
                unless=f"{ROUTER}haproxy.health.check.interval"),
    RouteOption(PROFILE, "server_profile", allowed_objects.parse_path, "a full path such as /Common/name",
                frozenset({"reencrypt"})),
    RouteOption(SECURE, "verify_pods", parse_boolean, "true or false", frozenset({"reencrypt"})),
)

KEYS = frozenset({LIMITS, *(option.key for option in OPTIONS)})
"""Annotations whose values are read."""


def parse(annotations: Mapping[str, object], termination: str) -> tuple[RouteOptions, tuple[str, ...]]:
    """Read the options of a Route.

    Args:
        annotations: by key; those without a row, and empty ones, are passed over.
        termination: of spec.tls; "" without TLS.
    Returns: the options, and for each that has no effect a sentence with the reason.
    """
    if KEYS.isdisjoint(annotations):
        return DEFAULTS, ()
    options, problems = DEFAULTS, list(_switch_problems(annotations))
    for option in OPTIONS:
        text = annotations.get(option.key)
        if not isinstance(text, str) or not text:
            continue
        if option.key.startswith(f"{LIMITS}.") and annotations.get(LIMITS) not in TRUE:
            problems.append(f'metadata.annotations: {option.key} has no effect without {LIMITS}: "true"')
            continue
        if termination not in option.terminations:
            kind = f"with termination {quote(termination)}" if termination else "without TLS"
            problems.append(f"metadata.annotations: {option.key} has no effect on a Route {kind}")
            continue
        if annotations.get(option.unless):
            problems.append(f"metadata.annotations: {option.key} has no effect beside {option.unless}")
            continue
        try:
            options = replace(options, **{option.field: option.parse(text)})
        except health.InvalidCheck as exc:
            problems.append(f"metadata.annotations: {option.key}: {exc}; the default applies")
        except ValueError:
            problems.append(f"metadata.annotations: {option.key} is {quote(text)} but must be "
                            f"{option.expected}; the default applies")
    return options, tuple(problems)


def _switch_problems(annotations: Mapping[str, object]) -> Iterator[str]:
    """Yield why the switch for limits of clients has no effect."""
    text = annotations.get(LIMITS)
    if not isinstance(text, str) or not text:
        return
    if text not in TRUE | FALSE:
        yield (f"metadata.annotations: {LIMITS} is {quote(text)} but must be true or false; "
               "the default applies")
    elif text in TRUE and not any(annotations.get(key) for key in KEYS if key.startswith(f"{LIMITS}.")):
        yield (f"metadata.annotations: {LIMITS} has no effect without {LIMITS}.concurrent-tcp, .rate-tcp or "
               ".rate-http")
