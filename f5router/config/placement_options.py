"""Settings of the network around the router's virtual servers, rows of the table in options.py."""

import ipaddress
import re
from dataclasses import dataclass

from f5router.config import parsers
from f5router.config.option import VIRTUAL_SERVERS, Option
from f5router.model import access_log
from f5router.model.placement import EVERYWHERE

MOST_REFERENCES = 32
"""Most objects that one setting names."""

_PATH = re.compile(r"(?:/[A-Za-z0-9_.-](?:[A-Za-z0-9_. -]*[A-Za-z0-9_.-])?){2,}")
"""Names of objects may have blanks, as "Log all requests" has."""


def path(text: str) -> str:
    """Check the full path of an object on the BIG-IP. Raises: ValueError."""
    if not _PATH.fullmatch(text):
        raise ValueError(f"{text!r} is not the full path of an object, such as /Common/name")
    return text


def paths(text: str) -> tuple[str, ...]:
    """Read full paths, in their order. Raises: ValueError."""
    read = tuple(path(item.strip()) for item in text.split(","))
    if len(read) > MOST_REFERENCES:
        raise ValueError(f"there are more than {MOST_REFERENCES} names")
    if len(set(read)) < len(read):
        raise ValueError("one name is there twice")
    return read


def tcp_profiles(text: str) -> tuple[str, ...]:
    """Read one profile for both sides, or one for each. Raises: ValueError."""
    read = paths(text)
    if len(read) > 2:
        raise ValueError("there are more than two profiles: one for clients, and one for pods")
    return read


def vlans(text: str) -> frozenset[str]:
    """Read VLANs and tunnels; `all` for every one. Raises: ValueError."""
    return EVERYWHERE if text == "all" else frozenset(paths(text))


SYSLOG_PORT = 514
MOST_LOG_SERVERS = 8


@dataclass(frozen=True, slots=True)
class LogServers:
    """Log servers of a setting, as far as the BIG-IP can reach them."""

    servers: tuple[tuple[str, int], ...]
    over_tcp: bool = False
    unreachable: str = ""
    """A socket or a host name, which the BIG-IP cannot have in a pool; "" for none."""


def log_servers(text: str) -> LogServers:
    """Read addresses of log servers. Raises: ValueError."""
    protocol, _, rest = text.rpartition("@")
    if protocol not in ("", "udp", "tcp"):
        raise ValueError(f"{protocol!r} is neither udp nor tcp")
    items = [item.strip() for item in rest.split(",")]
    if len(items) > MOST_LOG_SERVERS:
        raise ValueError(f"there are more than {MOST_LOG_SERVERS} addresses")
    servers = []
    for item in items:
        address, port = _host_and_port(item)
        try:
            servers.append((str(ipaddress.ip_address(address)), port))
        except ValueError:
            if not _HOST.fullmatch(address) and not address.startswith("/"):
                raise ValueError(f"{item!r} is not an address, with an optional port") from None
            return LogServers((), unreachable=item)
    if len(set(servers)) < len(servers):
        raise ValueError("one address is there twice")
    return LogServers(tuple(servers), protocol == "tcp")


_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def _host_and_port(text: str) -> tuple[str, int]:
    """Split at the port. Raises: ValueError."""
    match = re.fullmatch(r"\[([^]]*)\](?::(.*))?|([^:]*)(?::([^:]*))?", text)
    if match is None:  # IPv6 without brackets, and so without a port
        return text, SYSLOG_PORT
    address, port = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
    return address, SYSLOG_PORT if port is None else parsers.integer(1, 65535)(port)


def log_format(text: str) -> tuple[str, tuple[str, ...]]:
    """Read a format; returns the template, and fields without a counterpart. Raises: ValueError."""
    if len(text) > MOST_FORMAT:
        raise ValueError(f"{len(text)} characters; there may be {MOST_FORMAT}")
    if re.search(r"[^ -~]", text):
        raise ValueError("it is not printable ASCII")
    return access_log.template(text)


MOST_FORMAT = 900
"""Most characters of a format: one template of the BIG-IP, with a head, holds about 1,000 for certain."""


OPTIONS = (
    Option("f5-vserver-vlans", "ROUTER_F5_VSERVER_VLANS", "", VIRTUAL_SERVERS,
           "Full paths of the VLANs and tunnels on which the virtual servers that the router creates answer "
           "clients, or all. Default: as it is set on the BIG-IP, which is all for new ones.",
           "VLANS", vlans, repeats=True),
    Option("f5-vserver-traffic-group", "ROUTER_F5_VSERVER_TRAFFIC_GROUP", "", VIRTUAL_SERVERS,
           "Full path of the traffic group of the addresses of the virtual servers that the router creates, "
           "which says on which unit of a pair they are. Default: that of the partition.", "GROUP", path),
    Option("f5-vserver-mirroring", "ROUTER_F5_VSERVER_MIRRORING", "", VIRTUAL_SERVERS,
           "Mirror the connections of the virtual servers that the router creates to the other unit of a "
           "pair, so that they survive a failover: enabled or disabled. Default: as it is set on the BIG-IP.",
           "enabled|disabled", parsers.choice("enabled", "disabled")),
    Option("f5-http-profile", "ROUTER_F5_HTTP_PROFILE", "", VIRTUAL_SERVERS,
           "Full path of an administrator's HTTP profile for the virtual servers that the router creates, in "
           "place of the router's own.", "PROFILE", path),
    Option("f5-tcp-profile", "ROUTER_F5_TCP_PROFILE", "", VIRTUAL_SERVERS,
           "Full path of an administrator's TCP profile for both sides of these virtual servers, or two with "
           "a comma: towards clients, and towards pods.", "PROFILE[,PROFILE]", tcp_profiles),
    Option("f5-irules", "ROUTER_F5_IRULES", "", VIRTUAL_SERVERS,
           "Full paths of an administrator's iRules that the router puts on these virtual servers, in this "
           "order and before its own.", "IRULE,...", paths, repeats=True),
    Option("f5-oneconnect-profile", "ROUTER_F5_ONECONNECT_PROFILE", "", VIRTUAL_SERVERS,
           "Full path of a OneConnect profile for these virtual servers: clients share connections to pods. "
           "Default: none.", "PROFILE", path),
    Option("f5-bot-defense-profile", "ROUTER_F5_BOT_DEFENSE_PROFILE", "", VIRTUAL_SERVERS,
           "Full path of a bot defense profile for these virtual servers.", "PROFILE", path),
    Option("f5-dos-profile", "ROUTER_F5_DOS_PROFILE", "", VIRTUAL_SERVERS,
           "Full path of a DoS protection profile for these virtual servers.", "PROFILE", path),
    Option("f5-firewall-policy", "ROUTER_F5_FIREWALL_POLICY", "", VIRTUAL_SERVERS,
           "Full path of a firewall policy that these virtual servers enforce.", "POLICY", path),
    Option("f5-security-log-profiles", "ROUTER_F5_SECURITY_LOG_PROFILES", "", VIRTUAL_SERVERS,
           "Full paths of security log profiles for these virtual servers.", "PROFILE,...", paths,
           repeats=True),
    Option("syslog-address", "ROUTER_SYSLOG_ADDRESS", "", VIRTUAL_SERVERS,
           "IP addresses of syslog servers to which the BIG-IP sends a line for each response, by UDP, or by "
           "TCP with tcp@ in front. Default port: 514. Default: no access log.", "[tcp@]ADDRESS[:PORT],...",
           log_servers),
    Option("syslog-format", "ROUTER_SYSLOG_FORMAT", access_log.DEFAULT_FORMAT, VIRTUAL_SERVERS,
           "Format of these lines, as in HAProxy's configuration; words of the BIG-IP's request logging may "
           "be in it, too.", "FORMAT", log_format),
    Option("log-facility", "ROUTER_LOG_FACILITY", "local1", VIRTUAL_SERVERS,
           "Syslog facility of these lines; their severity is info.", "FACILITY",
           parsers.choice(*access_log.FACILITIES)),
)
