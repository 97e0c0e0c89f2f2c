"""Checks of label and field selectors before the API server, which applies them, is asked.

Every parser takes the text of a setting and returns it without blanks around it; it raises ValueError
with words that follow "--flag / VARIABLE: ". What the server takes is never refused. Which fields a
kind has, the server alone knows. Sources: k8s.io/apimachinery pkg/labels/selector.go,
pkg/fields/selector.go and pkg/util/validation/validation.go.
"""

import re

EVERYTHING = "*"
"""As PROJECT_LABELS: every project that the account may see."""

_BLANK = " \t\r\n"
_WORD = rf"[^{_BLANK}=!(),<>]++"
_REQUIREMENT = re.compile(
    rf"[{_BLANK}]*(?P<absent>!)?[{_BLANK}]*(?P<key>{_WORD})[{_BLANK}]*"
    rf"(?:(?P<operator>==|!=|=|<|>)[{_BLANK}]*(?P<value>{_WORD})?"
    rf"|(?:in|notin)[{_BLANK}]*\((?P<values>[^()]*)\))?[{_BLANK}]*")
_COMMA = re.compile(r",(?![^()]*\))")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_INTEGER = re.compile(r"[0-9]{1,19}")
_FORMS = "key, !key, key=value, key!=value, key in (a,b), key notin (a,b), key>1 and key<1"
_TERM = re.compile(r".*?(?:!=|==|=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"(?:[^\\,=]|\\[\\,=])*")


def labels(text: str) -> str:
    """A label selector: requirements separated by commas, all of which must hold."""
    if text.strip(_BLANK):
        for part in _COMMA.split(text):
            _check_requirement(part)
    return text.strip(_BLANK)


def project_labels(text: str) -> str:
    """The same, or EVERYTHING."""
    return text if text == EVERYTHING else labels(text)


def fields(text: str) -> str:
    r"""A field selector: name=value and name!=value separated by commas; in a value \, \= and \\ stand
    for the character itself."""
    for part in re.findall(r"(?:[^\\,]|\\.|\\\Z)+", text, re.DOTALL):
        found = _TERM.fullmatch(part)
        if not found:
            raise ValueError(f"{part!r} is neither name=value nor name!=value")
        if not _ESCAPED.fullmatch(found["value"]):
            raise ValueError(f"{part!r}: in a value, '=', ',' and '\\' must stand behind a '\\', and "
                             "nothing else may")
    return text.strip(_BLANK)


def _check_requirement(part: str) -> None:
    if not part.strip(_BLANK):
        raise ValueError("there is nothing before or after a comma")
    found = _REQUIREMENT.fullmatch(part)
    shown = part.strip(_BLANK)
    if not found or (found["absent"] and (found["operator"] or found["values"] is not None)):
        raise ValueError(f"{shown!r} is none of {_FORMS}")
    if not _is_key(found["key"]):
        raise ValueError(f"{found['key']!r} is not the key of a label, such as zone or example.com/zone")
    value = found["value"] or ""
    if found["operator"] in ("<", ">") and not (_INTEGER.fullmatch(value) and int(value) < 2**63):
        raise ValueError(f"{shown!r}: {value!r} is not a whole number")
    for one in [value, *(text.strip(_BLANK) for text in (found["values"] or "").split(","))]:
        if one and not _is_name(one):
            raise ValueError(f"{shown!r}: {one!r} is not the value of a label: at most 63 letters, digits, "
                             "'-', '_' or '.', beginning and ending with a letter or digit")


def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _is_name(name) and (not slash or (len(prefix) <= 253 and _PREFIX.fullmatch(prefix) is not None))


def _is_name(text: str) -> bool:
    return len(text) <= 63 and _NAME.fullmatch(text) is not None
