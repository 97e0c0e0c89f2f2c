"""An answer of the BIG-IP, or of what answers in its place; nothing in it is taken for granted.

A body that is not what iControl REST sends is as good as none: too deep, too long a number, none that is
finite, cut off, not in UTF-8, or another service's. The last one of equal keys counts.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from f5router.model.json_types import JSON

ROOT = "/mgmt/tm/"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of any status.

    Attributes:
        location: scheme and host of a redirect's target, else "".
    """

    status: int
    body: bytes = field(repr=False, default=b"")
    location: str = ""

    def json(self) -> dict[str, Any] | None:
        """Return the body, or None if it is not a JSON object, or cannot be decoded."""
        try:
            value = _DECODER.decode(self.body.decode("utf-8-sig"))
        except (ValueError, RecursionError):  # the latter if it is nested too deep
            return None
        return value if isinstance(value, dict) else None

    def text(self) -> str:
        """Return the message of a JSON body, any other body whole, "" for JSON without a message.

        Other keys, such as originalRequestBody, may echo the request and are left out.
        """
        content = self.json()
        if content is not None:
            return str(content.get("message") or "")
        try:
            return self.body.decode()
        except UnicodeDecodeError:  # Apache's pages are ISO-8859-1
            return self.body.decode("latin-1")


def unusable(path: str, content: JSON) -> str:
    """Return why the JSON of a successful reply does not answer a read; "" if it may.

    Each object and collection below /mgmt/tm has a `kind` that begins with its module, such as
    "tm:ltm:pool:poolcollectionstate"; what `$select` leaves of it is recorded nowhere. An empty collection
    has no items, so that a reply of something else would count as one.

    Args: path: of the request, absolute.
    Source: bigip-behaviour.md A1; F5Networks/f5-common-python, f5/bigip/resource.py (KindTypeMismatch).
    """
    items, entries, kind = content.get("items"), content.get("entries"), content.get("kind")
    if items is not None and not (isinstance(items, list) and all(isinstance(each, dict) for each in items)):
        return "the items of the reply are of an unknown form"
    if entries is not None and not isinstance(entries, dict):
        return "the entries of the reply are of an unknown form"
    if path.startswith(ROOT) and not (kind is None and (items or entries)):
        module = path.removeprefix(ROOT).partition("/")[0]
        if not str(kind).startswith(f"tm:{module}:"):
            return f"the reply is about something else than {module}"
    return ""


def target(headers: Mapping[str, str]) -> str:
    """Return scheme and host of a redirect's target; "" if there is none or it cannot be parsed."""
    try:
        url = urlsplit(headers.get("Location", ""))
        return f"{url.scheme}://{url.hostname}" if url.hostname else ""
    except ValueError:
        return ""


def _finite(text: str) -> float:
    """Return a number. Raises: ValueError: it is too large, or NaN or Infinity, which JSON does not have."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is not finite")
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
