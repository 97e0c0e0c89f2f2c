"""Conversion of the router's TCP, HTTP and request-log profiles to and from iControl REST JSON.

Properties that no setting can set come from the parent, and are neither written nor compared. Those of
FROM_PARENT do so unless they are set, which the description says: a value of the parent is never replaced.
A device without descriptions of profiles shows no more than values.
"""

from collections.abc import Mapping
from typing import Any

from f5router.model.access_log import RequestLog
from f5router.model.json_types import JSON
from f5router.model.virtual_server import FROM_PARENT, SETS, HTTPProfile, TCPProfile

_HALF_CLOSED = ("finWaitTimeout", "finWait_2Timeout", "closeWaitTimeout")


def tcp_changes(profile: TCPProfile) -> dict[str, Any]:
    """Encode a PATCH."""
    return {"defaultsFrom": profile.parent, **dict(zip(_HALF_CLOSED, profile.half_closed_s, strict=True)),
            **profile.times}


def decode_tcp(path: str, obj: JSON) -> TCPProfile:
    """Decode a profile; a limit that is no number, such as `indefinite`, equals none that is wanted."""
    first, second, third = map(_number, map(obj.get, _HALF_CLOSED))
    return TCPProfile(path, str(obj.get("defaultsFrom")), (first, second, third),
                      *(_set(obj, obj, name) for name in TCPProfile(path).times))


def http_changes(profile: HTTPProfile) -> dict[str, Any]:
    """Encode a PATCH. Parts of `enforcement` that are left out stay (f5-ansible, bigip_profile_http)."""
    return {"defaultsFrom": profile.parent, "enforcement": {
        "maxHeaderSize": profile.header_bytes, "maxHeaderCount": profile.header_count}}


def decode_http(path: str, obj: JSON) -> HTTPProfile:
    """Decode a profile."""
    limits = obj.get("enforcement") or {}
    return HTTPProfile(path, str(obj.get("defaultsFrom")), _number(limits.get("maxHeaderSize")),
                       _set(obj, limits, "maxHeaderCount"))


def _set(obj: JSON, values: JSON, name: str) -> int:
    """Return a property that a setting has set; else the value that stands for that of the parent."""
    description = str(obj.get("description") or "none")
    if description != "none" and name not in description.partition(SETS)[2].split():
        return FROM_PARENT[name]
    return _number(values.get(name))


def without_inherited(body: dict[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request without properties that come from the parent.

    Args: before: body of a PATCH for the profile as it is; {} if it is not known. A property that is given up
        gets the BIG-IP's own value: no request is documented that lets it follow the parent again.
    """
    return {name: without_inherited(value, before.get(name, {})) if isinstance(value, dict) else value
            for name, value in body.items()
            if FROM_PARENT.get(name) != value or before.get(name, value) != value}


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
