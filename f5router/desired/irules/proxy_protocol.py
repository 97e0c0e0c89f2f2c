"""Commands of the iRules that read the PROXY protocol, with which a load balancer names its clients.

No command reads the payload again after a part of it was replaced: the header stays in front of what was
collected until the connection is decided, and is removed in the event that releases the rest. That this works
is documented (tmsh reference, ltm rule command TCP collect: release forwards "collected or modified payload
data"; DevCentral CodeShare, "Proxy Protocol Receiver"); what a later iRule or event sees in between is not.
A header of version 2 may have 4,096 bytes behind its first 16; HAProxy takes what fits into its buffer.
Sources: HAProxy, doc/proxy-protocol.txt; HAProxy, src/connection.c, conn_recv_proxy (UNKNOWN and LOCAL
keep the addresses of the connection; the ports are those of the header; other protocols are refused).
"""


STRIP = """binary scan $f5r_data @${f5r_skip}a* f5r_data"""
"""Command that removes the header from a copy of the payload."""

REMOVE = """if { $f5r_state ne "collect" && [catch { TCP::payload replace 0 $f5r_skip "" }] } {
        set f5r_need 0
        reject
        return
    }"""
"""Commands that remove the header from the payload before it is released."""

CHECK = """if { ![info exists f5router_ends] } {
        # Whose client this is was not read.
        set f5router_route 0
        reject
        return
    }"""
"""Commands that end a request on a connection without a header, as one from before it was expected."""


def fill(text: str, *, read: str, proxied: bool) -> str:
    """Return the text of an iRule with these commands, or without them.

    Args:
        read: proxy_protocol.tcl, the commands that read the header once, into f5router_ends: addresses and
            ports of client and server. They leave the number of its bytes in f5r_skip, and in f5r_have how
            many are behind it.
        proxied: True if connections begin with the header.
    """
    parts = {"@PROXY_READ@": read, "@PROXY_STRIP@": STRIP, "@PROXY_REMOVE@": REMOVE, "@PROXY_CHECK@": CHECK,
             "@PROXY_START@": "set f5r_skip 0"}
    lines = []
    for line in text.splitlines():
        mark = line.strip()
        if mark not in parts:
            lines.append(line)
        elif proxied:
            lines.append(line.replace(mark, parts[mark]))
    return "\n".join(lines)
