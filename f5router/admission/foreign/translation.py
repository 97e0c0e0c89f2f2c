"""Translates the annotations of other controllers on an Ingress, or says why it must not be served.

An annotation that asks for a protection is translated exactly, or refuses the Ingress: without it everybody
would get in.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from f5router.admission import allowlist, annotations, route_options
from f5router.admission.allowlist import Allowlist
from f5router.admission.annotations import AnnotatedOptions
from f5router.admission.foreign import readers, tables
from f5router.admission.foreign.readers import Draft
from f5router.admission.foreign.tables import TABLE
from f5router.model.hostnames import quote
from f5router.model.route_options import DEFAULTS

_ONLY_WITH_AFFINITY = ("session-cookie-name", "session-cookie-samesite", "session-cookie-same-site")
_ASK = "remove it, or ask the administrator to have it ignored (--ignore-annotations)"
_FIELD = "metadata.annotations: "


@dataclass(slots=True)
class Translation:
    """The result for one Ingress."""

    draft: Draft = field(default_factory=Draft)
    problems: list[str] = field(default_factory=list)
    """Sentences about values that have no effect."""
    refusals: list[str] = field(default_factory=list)
    """Sentences about why the Ingress must not be served."""
    without_effect: list[str] = field(default_factory=list)
    """Annotations."""
    translated: list[str] = field(default_factory=list)
    """Annotations that are in effect."""
    ignored: list[str] = field(default_factory=list)
    """Annotations that the administrator lets be ignored."""

    @property
    def refusal(self) -> str:
        """Why the Ingress must not be served; "" if it may be."""
        if not self.refusals:
            return ""
        more = len(self.refusals) - 1
        return self.refusals[0] + (f"; {more} more annotation{'s' * (more > 1)} refuse{'s' * (more == 1)} it"
                                   if more else "")


def translate(given: Mapping[str, str], ignored: Collection[str]) -> Translation:
    """Translate the annotations of an Ingress.

    Args:
        given: all that are for an ingress controller and not blank.
        ignored: annotations that the administrator lets be ignored, or DOMAIN/*.
    """
    result = Translation()
    rest = {key: text for key, text in given.items() if key not in annotations.READ}
    for key in [key for key in rest if _is_ignored(key, ignored)]:
        result.ignored.append(key)
        del rest[key]
    for key, row in TABLE.items():
        if (text := rest.pop(key, None)) is None:
            continue
        try:
            row.read(result.draft, key, text)
            result.translated.append(key)
        except ValueError:
            said = f"{_FIELD}{key} is {quote(text)} but must be {row.expected}"
            if row.protects:
                result.refusals.append(f"{said}; the Ingress is not served without what it asks for")
            else:
                result.problems.append(f"{said}; it has no effect")
    for key in sorted(rest):
        _read_other(result, key, rest[key])
    _drop_unused(result)
    _check_pods(result)
    return result


def _is_ignored(key: str, ignored: Collection[str]) -> bool:
    return key in ignored or f"{tables.domain_of(key)}/*" in ignored


def _read_other(result: Translation, key: str, text: str) -> None:
    """Handle an annotation that is not translated."""
    if tables.is_snippet(key) and not key.endswith(("/auth-snippet", "/modsecurity-snippet")):
        haproxy = tables.domain_of(key).startswith("haproxy")
        if readers.restricts(text, haproxy=haproxy):
            result.refusals.append(f"{_FIELD}{key} may keep clients away, or change what pods trust, and "
                                   f"this router cannot carry it out; {_ASK}")
            return
    elif tables.protects(key, text):
        hint = annotations.hint(key) if key.startswith(tables.PREFIXES) else ""
        result.refusals.append(f"{_FIELD}{key} asks for a protection that this router does not have, and "
                               f"without it everybody would get in; {_ASK}{hint}")
        return
    result.without_effect.append(key)


def _drop_unused(result: Translation) -> None:
    """Remove options that only have an effect beside another annotation."""
    draft = result.draft
    for name, key in list(draft.origins.items()):
        if key.endswith(_ONLY_WITH_AFFINITY) and "session_cookie" not in draft.options:
            del draft.options[name], draft.origins[name]
            result.translated.remove(key)
            result.without_effect.append(key)
    if "redirect_to" in draft.options:
        temporal = draft.origins["redirect_to"].endswith(("/temporal-redirect", "/redirect-to"))
        draft.options["redirect_code"] = draft.code or (302 if temporal else 301)
        draft.origins["redirect_code"] = draft.origins["redirect_to"]


def _check_pods(result: Translation) -> None:
    """Check annotations about pods' certificates, which only count if pods expect TLS."""
    draft = result.draft
    key, name = draft.authority
    if not draft.pods_tls or (draft.needs_pod_name and not draft.verify):
        if name:
            result.translated.remove(key)
            result.without_effect.append(key)
        draft.authority = ("", "")
        return
    if draft.verify and not (name and draft.pod_name):
        result.refusals.append(f"{_FIELD}proxy-ssl-verify is on, which needs proxy-ssl-secret and "
                               "proxy-ssl-name: nothing else says which certificate pods must have")


_TERMINATIONS = {option.field: option.terminations for option in route_options.OPTIONS} | {
    "redirect_to": route_options.HTTP, "redirect_code": route_options.HTTP,
    "session_cookie": route_options.HTTP}


def merged(own: AnnotatedOptions, translation: Translation, termination: str) -> AnnotatedOptions:
    """Return the options of a Route, including options by other controllers' annotations.

    Args: termination: of the Route; "" without TLS.
    """
    problems, values = list(translation.problems), dict[str, Any]()
    for name, value in translation.draft.options.items():
        key = translation.draft.origins[name]
        if getattr(own.options, name) != getattr(DEFAULTS, name):
            problems.append(f"metadata.annotations: {key} has no effect beside one of this router")
        elif termination not in _TERMINATIONS[name]:
            kind = f"with termination {termination}" if termination else "without TLS"
            problems.append(f"metadata.annotations: {key} has no effect {kind}")
        else:
            values[name] = value
    clients = allowlist.narrowed(Allowlist(own.options.sources), translation.draft.lists)
    options = replace(own.options, **values, sources=clients.sources)
    return own._replace(
        options=options, option_problems=(*own.option_problems, *dict.fromkeys(problems)),
        option_refusal=own.option_refusal or translation.refusal or clients.refusal)


def parse_ignored(text: str) -> frozenset[str]:
    """Parse annotations, or DOMAIN/*, with commas or blanks between them.

    Raises: ValueError: one is no annotation of a controller that is known, or this router carries it out.
    """
    entries = frozenset(filter(None, re.split(r"[,\s]+", text)))
    for entry in sorted(entries):
        known = tables.is_foreign(entry) or entry.startswith(tables.PREFIXES)
        if not known or entry in annotations.READ or "*" in entry.removesuffix("/*"):
            raise ValueError(f"{entry!r} is neither an annotation of another controller, such as "
                             "nginx.ingress.kubernetes.io/auth-url, nor all of one: DOMAIN/*")
    return entries
