"""Validation of label and field selectors before they are sent to the API server, which applies them.

Every parser takes the text of a setting and returns it without blanks around it, or raises ValueError with a
text that follows "--flag / VARIABLE: ". No selector is refused that the server accepts; only the server knows
the fields of a kind. Sources: k8s.io/apimachinery pkg/labels/selector.go,
pkg/fields/selector.go and pkg/util/validation/validation.go.
"""

import re

EVERYTHING = "*"
"""Value of PROJECT_LABELS for every project that the account may see."""

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
    """Parse a label selector: requirements separated by commas, all of which must hold."""
    if text.strip(_BLANK):
        for requirement in _COMMA.split(text):
            _check_requirement(requirement)
    return text.strip(_BLANK)


def project_labels(text: str) -> str:
    """Parse a label selector, or EVERYTHING."""
    return text if text == EVERYTHING else labels(text)


def fields(text: str) -> str:
    r"""Parse a field selector: name=value and name!=value separated by commas.

    In a value \, \= and \\ stand for the character itself.
    """
    for term in re.findall(r"(?:[^\\,]|\\.|\\\Z)+", text, re.DOTALL):
        match = _TERM.fullmatch(term)
        if not match:
            raise ValueError(f"{term!r} is neither name=value nor name!=value")
        if not _ESCAPED.fullmatch(match["value"]):
            raise ValueError(f"{term!r}: in a value, '=', ',' and '\\' must stand behind a '\\', and "
                             "nothing else may")
    return text.strip(_BLANK)


def _check_requirement(requirement: str) -> None:
    if not requirement.strip(_BLANK):
        raise ValueError("there is nothing before or after a comma")
    match = _REQUIREMENT.fullmatch(requirement)
    shown = requirement.strip(_BLANK)
    if not match or (match["absent"] and (match["operator"] or match["values"] is not None)):
        raise ValueError(f"{shown!r} is none of {_FORMS}")
    if not _is_key(match["key"]):
        raise ValueError(f"{match['key']!r} is not the key of a label, such as zone or example.com/zone")
    value = match["value"] or ""
    if match["operator"] in ("<", ">") and not (_INTEGER.fullmatch(value) and int(value) < 2**63):
        raise ValueError(f"{shown!r}: {value!r} is not a whole number")
    for name in [value, *(text.strip(_BLANK) for text in (match["values"] or "").split(","))]:
        if name and not _is_name(name):
            raise ValueError(f"{shown!r}: {name!r} is not the value of a label: at most 63 letters, digits, "
                             "'-', '_' or '.', beginning and ending with a letter or digit")


def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _is_name(name) and (not slash or (len(prefix) <= 253 and _PREFIX.fullmatch(prefix) is not None))


def _is_name(text: str) -> bool:
    return len(text) <= 63 and _NAME.fullmatch(text) is not None
