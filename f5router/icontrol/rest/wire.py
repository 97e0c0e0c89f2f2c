"""The wire format of iControl REST: encoding of paths, queries and bodies, and answers.

Nothing in an answer of the BIG-IP, or of what answers in its place, is taken for granted. A body that is not
what iControl REST sends is as good as none: too deep, too long a number, none that is finite, cut off, not in
UTF-8, or another service's. The last one of equal keys counts.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from f5router.model.json_types import JSON


def item_path(collection: str, full_path: str, *sub: str) -> str:
    """Return the path of an object below /mgmt/tm.

    "ltm/pool", "/Common/x", "members", "/Common/10.1.1.1%1:80" gives
    "ltm/pool/~Common~x/members/~Common~10.1.1.1%251:80".

    Raises: ValueError: a name is empty; a DELETE would then address the whole collection.
    Source: bigip-behaviour.md A1.
    """
    segments = []
    for name in (full_path, *sub):
        if not name.strip("/") or name in (".", ".."):
            raise ValueError(f"{name!r} is no name of an object of {collection}")
        segments.append(quote(name.replace("/", "~"), safe="~:"))
    return "/".join((collection.rstrip("/"), *segments))


def encode_query(params: Mapping[str, str] | None) -> str:
    """Encode a query as in the recordings: blanks as %20, "$" as it is."""
    pairs = (params or {}).items()
    return "&".join(f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in pairs)


def encode_body(body: JSON) -> bytes:
    r"""Encode a body as the device reads it: UTF-8, with < > & as they are, and without \uXXXX.

    Old TMOS keeps the latter as text.
    Raises: ValueError: a text is no valid Unicode, or a number is not finite.
    """
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as exc:
        reason = exc.reason
    raise ValueError(f"the body cannot be sent: {reason}")  # without exc, which holds the body


def encode_list(member: str, items: Iterable[bytes]) -> bytes:
    """Encode an object whose only member is a list. Args: items: results of encode_body."""
    return b'{"%s": [%s]}' % (member.encode(), b", ".join(items))


ROOT = "/mgmt/tm/"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of any status.

    Attributes:
        location: scheme and host of a redirect's target, else "".
        date: header Date, None without one.
    """

    status: int
    body: bytes = field(repr=False, default=b"")
    location: str = ""
    date: str | None = None

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
