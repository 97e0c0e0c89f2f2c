"""The network around the router's virtual servers, of the settings in placement_options.py."""

from collections.abc import Iterable

from f5router.config.options import OPTIONS
from f5router.config.placement_options import LogServers
from f5router.config.reader import Reader
from f5router.model.access_log import AccessLog, head
from f5router.model.placement import (
    FIREWALL,
    LOG_PROFILES,
    PROFILES,
    RULES,
    Placement,
    Reach,
    Reference,
    TransportProfiles,
    in_order,
)

SET_BY_HAND = {
    "f5-vserver-vlans": "vlans and vlans-enabled of both virtual servers",
    "f5-vserver-traffic-group": "traffic-group of their virtual addresses",
    "f5-vserver-mirroring": "mirror of both virtual servers",
    "f5-http-profile": "profiles of both virtual servers",
    "f5-tcp-profile": "profiles of both virtual servers",
    "f5-irules": "rules of both virtual servers",
    "f5-oneconnect-profile": "profiles of both virtual servers",
    "f5-bot-defense-profile": "profiles of both virtual servers",
    "f5-dos-profile": "profiles of both virtual servers",
    "f5-firewall-policy": "fw-enforced-policy of both virtual servers",
    "f5-security-log-profiles": "security-log-profiles of both virtual servers",
    "syslog-address": "response-log-pool of a request logging profile",
    "syslog-format": "response-log-template of a request logging profile",
    "log-facility": "response-log-template of a request logging profile",
}
"""Setting to what an administrator who has created the virtual servers sets instead."""


_IN_HTTP_PROFILE = ("buf-size", "max-rewrite-size", "max-header-count")
_IN_TCP_PROFILE = ("client-fin-timeout", "default-server-fin-timeout", "default-client-timeout",
                   "default-connect-timeout")
"""Settings of profiles in whose place a profile of the administrator may be."""
_ELSEWHERE = {"default-connect-timeout": "the wait for a pod at its limit"}
"""Use of such a setting beside the profile."""
_REFERENCES = {
    "f5-irules": RULES, "f5-oneconnect-profile": PROFILES, "f5-bot-defense-profile": PROFILES,
    "f5-dos-profile": PROFILES, "f5-firewall-policy": FIREWALL, "f5-security-log-profiles": LOG_PROFILES,
}
"""Setting to the property of virtual servers that has the objects."""


def load(reader: Reader, folder: str) -> Placement:
    """Return the settings; None and "" stand for what an administrator sets on the BIG-IP.

    Args: folder: of the virtual servers.
    """
    vlans, mirrored = reader.value("f5-vserver-vlans"), reader.value("f5-vserver-mirroring")
    return Placement(Reach(None if vlans == "" else vlans, None if mirrored == "" else mirrored == "enabled"),
                     _access_log(reader), _transport(reader, folder),
                     reader.value("f5-vserver-traffic-group"), _references(reader, folder),
                     reader.text("f5-oneconnect-profile"))  # `_references` has checked it


def _transport(reader: Reader, folder: str) -> TransportProfiles:
    http, tcp = reader.value("f5-http-profile"), reader.value("f5-tcp-profile") or ()
    for name, paths, replaced in (("f5-http-profile", tuple(filter(None, (http,))), _IN_HTTP_PROFILE),
                                  ("f5-tcp-profile", tcp, _IN_TCP_PROFILE)):
        _check_partition(reader, name, folder, paths)
        for other in replaced if paths else ():
            if reader.is_set(other):
                used = f"only used for {_ELSEWHERE[other]}" if other in _ELSEWHERE else "not used"
                reader.warn(f"{used}: the profile of --{name} decides", other)
    return TransportProfiles(http, *tcp, *tcp[:2 - len(tcp)])


def _references(reader: Reader, folder: str) -> tuple[Reference, ...]:
    references: list[Reference] = []
    for name, kind in _REFERENCES.items():
        paths = reader.value(name)
        paths = tuple(filter(None, (paths,))) if isinstance(paths, str) else paths
        _check_partition(reader, name, folder, paths)
        references += (Reference(kind, path) for path in paths)
    return in_order(dict.fromkeys(references))


def _check_partition(reader: Reader, name: str, folder: str, paths: Iterable[str]) -> None:
    """Source: mcpd's 01070726; a virtual server refers to its own partition and to /Common only."""
    for path in paths:
        if path.split("/")[1] not in ("Common", folder.split("/")[1]):
            reader.problem(f"a virtual server in {folder} cannot refer to {path}: only to objects of its own "
                           "partition and of /Common", name)


def _access_log(reader: Reader) -> AccessLog | None:
    where, facility = reader.value("syslog-address"), reader.value("log-facility")
    template, missing = reader.value("syslog-format")
    if not isinstance(where, LogServers):
        return None
    if where.unreachable:
        reader.warn(f"{where.unreachable!r} is no IP address: the BIG-IP sends the lines itself, and reaches "
                    "no socket or name of the pod; there is no access log", "syslog-address")
        return None
    if missing and reader.text("syslog-format") != OPTIONS["syslog-format"].default:
        reader.warn(f"the BIG-IP does not know {' '.join(missing)}; the lines have a placeholder there",
                    "syslog-format")
    end = "\n" if where.over_tcp else ""
    return AccessLog(where.servers, f"{head(facility)}{template}{end}", where.over_tcp)
