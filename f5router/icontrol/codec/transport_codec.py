"""Conversion of the TCP and HTTP profiles of the router's virtual servers to and from iControl REST JSON.

Properties that no setting sets come from the parent, and are neither written nor compared.
"""

from typing import Any

from f5router.model.json_types import JSON
from f5router.model.virtual_server import HTTPProfile, TCPProfile

_HALF_CLOSED = ("finWaitTimeout", "finWait_2Timeout", "closeWaitTimeout")


def tcp_changes(profile: TCPProfile) -> dict[str, Any]:
    """Encode a PATCH."""
    return {"defaultsFrom": profile.parent, **dict(zip(_HALF_CLOSED, profile.half_closed_s, strict=True))}


def decode_tcp(path: str, obj: JSON) -> TCPProfile:
    """Decode a profile; a limit that is no number, such as `indefinite`, equals none that is wanted."""
    first, second, third = map(_number, map(obj.get, _HALF_CLOSED))
    return TCPProfile(path, str(obj.get("defaultsFrom")), (first, second, third))


def http_changes(profile: HTTPProfile) -> dict[str, Any]:
    """Encode a PATCH. Parts of `enforcement` that are left out stay (f5-ansible, bigip_profile_http)."""
    return {"defaultsFrom": profile.parent, "enforcement": {"maxHeaderSize": profile.header_bytes}}


def decode_http(path: str, obj: JSON) -> HTTPProfile:
    """Decode a profile."""
    return HTTPProfile(path, str(obj.get("defaultsFrom")),
                       _number((obj.get("enforcement") or {}).get("maxHeaderSize")))


def _number(value: object) -> int:
    return int(text) if (text := str(value)).isdecimal() else -1
