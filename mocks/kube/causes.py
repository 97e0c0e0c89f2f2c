"""Faults of an object, worded as the API server words them.

Reasons and texts of k8s.io/apimachinery: pkg/util/validation/field/errors.go and
pkg/util/validation/validation.go.
"""

import json
import re
from collections.abc import Iterable

Cause = tuple[str, str, str]
"""(reason, message, field)"""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PORT_NAME = re.compile(r"[-a-z0-9]+")

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
DNS_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def required(where: str, why: str = "") -> Cause:
    return "FieldValueRequired", f"Required value: {why}" if why else "Required value", where


def invalid(where: str, value: object, why: str) -> Cause:
    return "FieldValueInvalid", f"Invalid value: {_shown(value)}: {why}", where


def unsupported(where: str, value: object, supported: Iterable[str]) -> Cause:
    listed = ", ".join(f'"{value}"' for value in supported)
    return "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {listed}", where


def duplicate(where: str, value: object) -> Cause:
    return "FieldValueDuplicate", f"Duplicate value: {_shown(value)}", where


def forbidden(where: str, why: str) -> Cause:
    return "FieldValueForbidden", f"Forbidden: {why}", where


def too_many(where: str, count: int, most: int) -> Cause:
    return "FieldValueTooMany", f"Too many: {count}: must have at most {most} items", where


def too_long(where: str, most: int) -> Cause:
    return "FieldValueTooLong", f"Too long: must have at most {most} bytes", where


def immutable(where: str, value: object) -> Cause:
    return invalid(where, value, "field is immutable")


def label_rules(text: str) -> list[str]:
    """The rules of a DNS label (RFC 1123) that a text breaks."""
    return _rules(text, _LABEL, LABEL_RULE, 63)


def subdomain_rules(text: str) -> list[str]:
    """The rules of a DNS subdomain (RFC 1123) that a text breaks."""
    return _rules(text, _SUBDOMAIN, SUBDOMAIN_RULE, 253)


def dns_1035_rules(text: str) -> list[str]:
    """The rules of a DNS label of RFC 1035 that a text breaks."""
    return _rules(text, _DNS_1035, DNS_1035_RULE, 63)


def qualified_name_rules(text: str) -> list[str]:
    """The rules that ``example.com/name`` breaks; the prefix may be left out."""
    prefix, slash, name = text.rpartition("/")
    broken = [f"prefix part {rule}" for rule in subdomain_rules(prefix)] if slash else []
    if not name:
        broken.append("name part must be non-empty")
    elif len(name) > 63:
        broken.append("name part must be no more than 63 characters")
    return broken if _QUALIFIED.fullmatch(name) else [*broken, QUALIFIED_RULE]


def port_rules(port: object) -> list[str]:
    """The rules of the number or name of a port that a value breaks."""
    if isinstance(port, int):
        return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]
    text = str(port or "")
    broken = [] if len(text) <= 15 else ["must be no more than 15 characters"]
    if not _PORT_NAME.fullmatch(text):
        broken.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        broken.append("must contain at least one letter (a-z)")
    if "--" in text:
        broken.append("must not contain consecutive hyphens")
    if text[:1] == "-" or text[-1:] == "-":
        broken.append("must not begin or end with a hyphen")
    return broken


def _rules(text: str, pattern: re.Pattern[str], rule: str, most: int) -> list[str]:
    broken = [] if len(text) <= most else [f"must be no more than {most} characters"]
    return broken if pattern.fullmatch(text) else [*broken, rule]


def _shown(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else "null" if value is None else str(value)
