"""Conversion of the router's TCP, HTTP and request-log profiles to and from iControl REST JSON.

Properties that no setting can set come from the parent, and are neither written nor compared. A new profile
has the others from its parent too, as far as they are not set, which FACTORY has.
"""

from typing import Any

from f5router.model.access_log import RequestLog
from f5router.model.json_types import JSON
from f5router.model.virtual_server import HTTPProfile, TCPProfile

_HALF_CLOSED = ("finWaitTimeout", "finWait_2Timeout", "closeWaitTimeout")
_TIMES = ("idleTimeout", "synRtoBase", "synMaxRetrans")
FACTORY: dict[str, Any] = {"idleTimeout": 300, "synRtoBase": 3000, "synMaxRetrans": 3, "maxHeaderCount": 64}
"""Properties that a new profile gets only where their value is another one."""


def tcp_changes(profile: TCPProfile) -> dict[str, Any]:
    """Encode a PATCH."""
    return {"defaultsFrom": profile.parent, **dict(zip(_HALF_CLOSED, profile.half_closed_s, strict=True)),
            **dict(zip(_TIMES, (profile.idle_s, profile.syn_ms, profile.syn_retries), strict=True))}


def decode_tcp(path: str, obj: JSON) -> TCPProfile:
    """Decode a profile; a limit that is no number, such as `indefinite`, equals none that is wanted."""
    first, second, third = map(_number, map(obj.get, _HALF_CLOSED))
    return TCPProfile(path, str(obj.get("defaultsFrom")), (first, second, third),
                      *map(_number, map(obj.get, _TIMES)))


def http_changes(profile: HTTPProfile) -> dict[str, Any]:
    """Encode a PATCH. Parts of `enforcement` that are left out stay (f5-ansible, bigip_profile_http)."""
    return {"defaultsFrom": profile.parent, "enforcement": {
        "maxHeaderSize": profile.header_bytes, "maxHeaderCount": profile.header_count}}


def decode_http(path: str, obj: JSON) -> HTTPProfile:
    """Decode a profile."""
    limits = obj.get("enforcement") or {}
    return HTTPProfile(path, str(obj.get("defaultsFrom")), _number(limits.get("maxHeaderSize")),
                       _number(limits.get("maxHeaderCount")))


def without_factory(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a POST without the properties that are those of a BIG-IP."""
    return {name: without_factory(value) if isinstance(value, dict) else value
            for name, value in body.items() if FACTORY.get(name) != value}


def request_log_changes(profile: RequestLog) -> dict[str, Any]:
    """Encode a PATCH. A line for each request would come before its response is known."""
    return {
        "defaultsFrom": profile.parent, "requestLogging": "disabled", "responseLogging": "enabled",
        "responseLogPool": profile.pool, "responseLogTemplate": profile.template,
        "responseLogProtocol": "mds-tcp" if profile.over_tcp else "mds-udp",
    }


def decode_request_log(path: str, obj: JSON) -> RequestLog:
    """Decode a profile."""
    return RequestLog(
        path, str(obj.get("responseLogPool")), str(obj.get("responseLogTemplate")),
        obj.get("responseLogProtocol") == "mds-tcp", str(obj.get("defaultsFrom")),
        as_ours=obj.get("responseLogging") == "enabled" and obj.get("requestLogging") == "disabled")


def _number(value: object) -> int:
    return int(text) if (text := str(value)).isdecimal() else -1
