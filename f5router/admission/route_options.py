"""Options of a Route by its annotations and by spec.httpHeaders: the table of annotations, and their parsing.

A value that is not valid has no effect, as in openshift/router, and gets a sentence for its team.
Sources: openshift/router, images/router/haproxy/conf/haproxy-config.template; OpenShift documentation,
Route-specific annotations; clouddocs, Container Ingress Services, Route annotations.

OpenShift's API server refuses a Route with header actions that are not valid; a cluster without that
validation serves it without the action. Source: openshift/library-go, pkg/route/validation/validation.go.

Teams name objects of the administrator on the BIG-IP in annotations of Container Ingress Services, each
allowed for some namespaces. Whatever is not allowed counts as not there: a profile on the device may be
another team's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from f5router.admission import health
from f5router.model import header_actions, route_options, texts
from f5router.model.header_actions import DELETE, MOST_ACTIONS, MOST_TOGETHER, REQUEST, RESPONSE, SET
from f5router.model.hostnames import quote
from f5router.model.route_options import DEFAULTS, RouteOptions

WAF = "virtual-server.f5.com/waf"
"""A protection: a Route that has it is not served without it."""

EVERY = "*"
"""Stands for all namespaces."""

MOST_PATH = 255
_PATH = re.compile(r"(?:/[A-Za-z0-9][A-Za-z0-9_.-]*){2,}")
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

Allowed = Mapping[str, frozenset[str]]
"""Namespaces, or EVERY, by full path."""


def parse_path(text: str) -> str:
    """Parse the full path of an object of the BIG-IP. Raises: ValueError."""
    if len(text) > MOST_PATH or _PATH.fullmatch(text) is None:
        raise ValueError(f"{quote(text)} is not a full path such as /Common/name")
    return text


def parse_allowed(text: str) -> Allowed:
    """Parse a setting: entries PATH=NAMESPACE,NAMESPACE with blanks between them. Raises: ValueError."""
    allowed: dict[str, frozenset[str]] = {}
    for entry in text.split():
        path, equals, listed = entry.partition("=")
        namespaces = frozenset(listed.split(","))
        if not equals or not all(name == EVERY or _NAMESPACE.fullmatch(name) for name in namespaces):
            raise ValueError(f"{quote(entry)} is not PATH=NAMESPACE[,NAMESPACE], or PATH=* for all of them")
        allowed[parse_path(path)] = allowed.get(path, frozenset()) | namespaces
    return allowed


def is_allowed(allowed: Allowed, path: str, namespace: str) -> bool:
    """True if Routes of a namespace may name an object."""
    return not allowed.get(path, frozenset()).isdisjoint({EVERY, namespace})


def waf_refusal(waf: str, namespace: str, termination: str, allowed: Allowed) -> str:
    """Return why a Route with this WAF policy must not be served; "" if it may be.

    Args: waf: the annotation WAF, "" without it.
    """
    if not waf:
        return ""
    reason = "for it" if termination != "passthrough" else "on a Route with termination passthrough"
    if termination != "passthrough" and is_allowed(allowed, waf, namespace):
        return ""
    return (f"metadata.annotations: this router does not enforce {WAF} {quote(waf)} {reason}; without it "
            "everybody would get in. Remove it to have the Route served to everybody")


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
_HSTS_TEXT = ("max-age=SECONDS with includeSubDomains and preload before or behind it, semicolons between "
              "them")


def parse_hsts(text: str) -> str:
    """Parse the header Strict-Transport-Security. Raises: ValueError."""
    if len(text) > MOST_HSTS or _HSTS.fullmatch(text) is None:
        raise ValueError(f"must be {_HSTS_TEXT}")
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
    RouteOption(f"{HAPROXY}hsts_header", "hsts", parse_hsts, _HSTS_TEXT, TLS),
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
    RouteOption(PROFILE, "server_profile", parse_path, "a full path such as /Common/name",
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


HEADERS_FIELD = "spec.httpHeaders"
MOST_LISTED = 5
"""Sentences about one Route's actions."""


class HeaderActions(NamedTuple):
    """The actions of a Route, each in the form of a record."""

    request: tuple[str, ...] = ()
    response: tuple[str, ...] = ()


NO_ACTIONS = HeaderActions()


def parse_headers(headers: object, termination: str) -> tuple[HeaderActions, tuple[str, ...]]:
    """Read spec.httpHeaders.

    Args: termination: of spec.tls; "" without TLS.
    Returns: the actions, and a sentence for each that has no effect.
    """
    actions = headers.get("actions") if isinstance(headers, Mapping) else None
    lists = {name: items for name in ("request", "response")
             if isinstance(actions, Mapping) and isinstance(items := actions.get(name), list) and items}
    if not lists:
        return NO_ACTIONS, ()
    if termination == "passthrough":
        return NO_ACTIONS, (f"{HEADERS_FIELD} has no effect on a Route with termination 'passthrough'",)
    problems: list[str] = []
    request = _parse_list("request", lists.get("request", ()), REQUEST, MOST_TOGETHER, problems)
    room = MOST_TOGETHER - sum(len(text) // 2 for text in request)
    response = _parse_list("response", lists.get("response", ()), RESPONSE, room, problems)
    more = len(problems) - MOST_LISTED
    texts = problems[:MOST_LISTED] + ([f"{HEADERS_FIELD}: {more} more have no effect"] if more > 0 else [])
    return HeaderActions(request, response), tuple(texts)


def _parse_list(
    name: str, items: Iterable[object], side: str, room: int, problems: list[str],
) -> tuple[str, ...]:
    """Return the valid actions of one list. Args: room: bytes that they may have together."""
    place = f"{HEADERS_FIELD}.actions.{name}"
    actions: dict[str, str] = {}
    for number, item in enumerate(islice(items, MOST_ACTIONS + 1)):
        if number == MOST_ACTIONS:
            problems.append(f"{place}: there are more than {MOST_ACTIONS} actions; the first ones count")
            break
        try:
            header, text = _parse_action(item, side)
            if header in actions:
                raise ValueError(f"{quote(header)} stands there twice")
            actions[header] = text
        except ValueError as exc:
            problems.append(f"{place}[{number}]: {exc}; this action has no effect")

    def refuse(reason: str) -> None:
        problems.append(f"{place}: {reason}; this action has no effect")
    return header_actions.bounded(actions.items(), room, refuse)


def _parse_action(item: object, side: str) -> tuple[str, str]:
    """Return the name of a header and the form of the action on it. Raises: ValueError: a reason."""
    name = item.get("name") if isinstance(item, Mapping) else None
    action = item.get("action") if isinstance(item, Mapping) else None
    if not isinstance(name, str) or not isinstance(action, Mapping):
        raise ValueError("an action has a name and an action")
    to_set = action.get("set")
    if action.get("type") == DELETE and to_set is None:
        return name, header_actions.encode_delete(name)
    value = to_set.get("value") if isinstance(to_set, Mapping) else None
    if action.get("type") != SET or not isinstance(value, str):
        raise ValueError(f"the action on {quote(name)} must be of type Set with a value, or of type Delete")
    return name, header_actions.encode_set(name, value, side=side)
