"""Names in URLs and bodies: `~` ids, percent-encoding, partitions and folders (bigip-behaviour.md A1)."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from mocks.bigip.refusals import Refusal, mcpd, rest

_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SAFE = "-_.~:"
_CIDR = re.compile(r"/(\d+(\.\d+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*)(%\d+)?/\d+$")
_ADDRESS = re.compile(r"^[0-9a-fA-F.:%*]+$|^any6?$")


def decode_segment(segment: str) -> str:
    """A segment of a URL path in clear text: percent-decoded, `~` as `/`. Raises: Refusal: a bare `%`."""
    if "%" in segment:
        if _BAD_PERCENT.search(segment):
            raise Refusal(400, "Found invalid URI path encoding.", 1)
        segment = unquote(segment)
    return segment.replace("~", "/")


def encode_segment(name: str) -> str:
    """The form of a name in `selfLink`: `/` as `~`, the rest percent-encoded."""
    if name.isalnum():
        return name
    return quote(name.replace("/", "~"), safe=_SAFE)


def split(path: str) -> tuple[str, str, str]:
    """(partition, sub-path, name) of a full path: /P/a/b/n -> (P, a/b, n)."""
    folder = folder_of(path)
    _, partition, *sub_path = folder.split("/", 2)
    return partition, "".join(sub_path), path[len(folder) :].lstrip("/")


def folder_of(path: str) -> str:
    """The folder of a full path; `/` for a partition. A self IP's name may be `10.1.0.5/14`."""
    match = _CIDR.search(path)
    return (path[: match.start()] if match else path.rpartition("/")[0]) or "/"


def partition_of(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""


def full_path(name: str, folder: str) -> str:
    """A reference as a full path: a bare name lies in folder, a path without `/` in front is rooted."""
    if name.startswith("/"):
        return name
    return f"{folder.rstrip('/')}/{name}"


def from_body(body: dict, *, default: str = "Common") -> str:
    """Full path of the object of a POST: name with partition and subPath, or a full path as name."""
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise mcpd("01070734", "Configuration error: configuration identifiers must be provided")
    if name.startswith("/"):
        return name
    partition = str(body.get("partition") or body.get("tmPartition") or default).strip("/")
    sub_path = str(body.get("subPath") or "").strip("/")
    return "/" + "/".join(segment for segment in (partition, sub_path, name) if segment)


def check(path: str) -> None:
    """Refuse a name that no object may have: a digit in front, a blank
    (bigip-behaviour.md B1). Addresses pass."""
    name = path.rsplit("/", 1)[1]
    if name == "example":
        raise rest("example is a reserved keyword and must not be used as resource name")
    odd = not name or len(name) > 255 or " " in name or (name[0].isdigit() and not _addresslike(name))
    if odd:
        raise mcpd("01070088", f"The requested object name ({path}) is invalid.")


def _addresslike(name: str) -> bool:
    return bool(_ADDRESS.match(name))
