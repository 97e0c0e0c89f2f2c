"""Settings of the virtual servers that the router creates, rows of the table in options.py."""

import ipaddress
import re

from f5router.config import parsers
from f5router.config.option import VIRTUAL_SERVERS, Option, boolean
from f5router.model import texts
from f5router.model.virtual_server import AUTOMAP, LONGEST_CONNECT_MS, UNTRANSLATED

MOST_ADDRESSES = 16


def addresses(text: str) -> tuple[str, ...]:
    """Read addresses on which clients are served, in canonical form. Raises: ValueError."""
    read = tuple(_address(item.strip()) for item in text.split(","))
    if len(read) > MOST_ADDRESSES:
        raise ValueError(f"there are more than {MOST_ADDRESSES} addresses")
    if len(set(read)) < len(read):
        raise ValueError("one address is there twice")
    return read


def _address(text: str) -> str:
    if "%" in text:
        raise ValueError(f"{text!r} may not name a route domain: that of the partition is used")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address") from None
    is_mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    if is_mapped or address.is_unspecified or address.is_loopback or address.is_multicast or (
            address.is_link_local):
        raise ValueError(f"{text!r} is no address on which clients can be served")
    return str(address)


def connections(text: str) -> int:
    """Read a number of connections; "auto" is HAProxy's, which has no limit either. Raises: ValueError."""
    return 0 if text == "auto" else parsers.integer(0, 2_000_000)(text)


def seconds(text: str) -> int:
    """Read a time; returns whole seconds, rounded up. Raises: ValueError."""
    return texts.parse_seconds(texts.parse_milliseconds(text))


def connect_time(text: str) -> int:
    """Read a time; returns milliseconds. Raises: ValueError: a BIG-IP cannot wait so long."""
    time_ms = texts.parse_milliseconds(text)
    if time_ms > LONGEST_CONNECT_MS:
        raise ValueError(f"{text!r} is longer than a BIG-IP can wait for a connection, "
                         f"{LONGEST_CONNECT_MS // 1000}s")
    return time_ms


_POOL = re.compile(r"(?:/[A-Za-z0-9_.-]+){2,}")


def translation(text: str) -> str:
    """Read a source address translation. Raises: ValueError."""
    if text not in (AUTOMAP, UNTRANSLATED) and not _POOL.fullmatch(text):
        raise ValueError(f"{text!r} is neither {AUTOMAP}, {UNTRANSLATED}, nor the full path of a SNAT pool")
    return text


OPTIONS = (
    Option("f5-vserver-address", "ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS", "", VIRTUAL_SERVERS,
           "Addresses, IPv4 or IPv6, on which the router creates virtual servers, and keeps them. Default: "
           "it uses those that an administrator has created.", "ADDRESS,...", addresses, repeats=True),
    Option("front-ends", "ROUTER_FRONT_ENDS", "", VIRTUAL_SERVERS,
           "File with several front ends, in YAML or JSON: a list of entries, each with a name, settings of "
           "its virtual servers by the names of flags, and what it serves. Default: one front end, of these "
           "flags.", "FILE"),
    Option("service-http-port", "ROUTER_SERVICE_HTTP_PORT", "80", VIRTUAL_SERVERS,
           "Port of the HTTP virtual servers that the router creates.", "PORT", parsers.integer(1, 65535)),
    Option("service-https-port", "ROUTER_SERVICE_HTTPS_PORT", "443", VIRTUAL_SERVERS,
           "Port of the HTTPS virtual servers that the router creates.", "PORT", parsers.integer(1, 65535)),
    Option("f5-vserver-snat", "ROUTER_F5_VSERVER_SNAT", AUTOMAP, VIRTUAL_SERVERS,
           "Source address translation of the virtual servers that the router creates: automap, the full "
           "path of a SNAT pool, or none, where the BIG-IP is the gateway of the pods.", "SNAT",
           translation),
    Option("max-connections", "ROUTER_MAX_CONNECTIONS", "0", VIRTUAL_SERVERS,
           "Maximum number of connections to each virtual server that the router creates; further ones are "
           "refused. 0 or auto: no limit.", "N", connections),
    Option("client-fin-timeout", "ROUTER_CLIENT_FIN_TIMEOUT", "", VIRTUAL_SERVERS,
           "How long a connection to a client may be half closed. Default: 5 s, and 300 s while the client "
           "keeps its side open.", "TIME", seconds),
    Option("default-server-fin-timeout", "ROUTER_DEFAULT_SERVER_FIN_TIMEOUT", "", VIRTUAL_SERVERS,
           "The same for connections to pods.", "TIME", seconds),
    Option("default-client-timeout", "ROUTER_DEFAULT_CLIENT_TIMEOUT", "", VIRTUAL_SERVERS,
           "How long a connection of a client may be silent. Default: 300 s.", "TIME", seconds),
    Option("default-server-timeout", "ROUTER_DEFAULT_SERVER_TIMEOUT", "", VIRTUAL_SERVERS,
           "How long a pod may be silent before its response begins, where the Route has no time-out. "
           "Default: 300 s, or --default-client-timeout if that is shorter.", "TIME", seconds),
    Option("default-tunnel-timeout", "ROUTER_DEFAULT_TUNNEL_TIMEOUT", "", VIRTUAL_SERVERS,
           "How long a connection may be silent that was upgraded or is passed through, where the Route has "
           "no time-out. Default: 300 s, or --default-client-timeout if that is shorter.", "TIME", seconds),
    Option("slowloris-http-keepalive", "ROUTER_SLOWLORIS_HTTP_KEEPALIVE", "", VIRTUAL_SERVERS,
           "How long a connection of a client may be silent after a response. Default: "
           "--default-client-timeout.", "TIME", seconds),
    Option("slowloris-timeout", "ROUTER_SLOWLORIS_TIMEOUT", "", VIRTUAL_SERVERS,
           "How long the headers of the first request of a connection may take, from its beginning. Default: "
           "no limit.", "TIME", texts.parse_milliseconds),
    Option("inspect-delay", "ROUTER_INSPECT_DELAY", "", VIRTUAL_SERVERS,
           "How long the ClientHello of a connection may take. Default: no limit.", "TIME",
           texts.parse_milliseconds),
    Option("default-connect-timeout", "ROUTER_DEFAULT_CONNECT_TIMEOUT", "", VIRTUAL_SERVERS,
           "How long an attempt to connect to a pod may take; then the next pod is tried. Default: 45 s.",
           "TIME", connect_time),
    Option("buf-size", "ROUTER_BUF_SIZE", "", VIRTUAL_SERVERS,
           "Bytes for a request's headers and what the router adds to them; --max-rewrite-size of them stay "
           "free. A request with longer headers is reset. Default: 32768 bytes for the headers.", "BYTES",
           parsers.integer(16384, 1_048_576)),
    Option("max-rewrite-size", "ROUTER_MAX_REWRITE_SIZE", "", VIRTUAL_SERVERS,
           "Bytes of --buf-size for what the router adds. Default: 8192.", "BYTES",
           parsers.integer(4096, 1_048_576)),
    Option("max-header-count", "ROUTER_MAX_HEADER_COUNT", "64", VIRTUAL_SERVERS,
           "Maximum number of headers of a request. A request with more is reset.", "N",
           parsers.integer(16, 4096)),
    boolean("repair-disabled", "ROUTER_REPAIR_DISABLED", "false", VIRTUAL_SERVERS,
            "Enable a virtual server that the router created and somebody has disabled. By default it stays "
            "disabled, and findings tell so."),
)
