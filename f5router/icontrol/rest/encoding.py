"""Encoding of what iControl REST is sent: paths, queries and bodies."""

import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote

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
