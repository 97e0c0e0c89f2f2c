"""Headers of the PROXY protocol, right ones and wrong ones."""

import ipaddress
import struct

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a.com\r\n\r\n"
TCP4, TCP6, UNSPECIFIED, UDP4, UNIX = 0x11, 0x21, 0, 0x12, 0x31
NOTHING = b"\x04\x00\x01x"
"""A field of four bytes that says nothing."""
OWN = ("192.0.2.1", "80")
"""Address and port without a header that names them."""


def v1(text: str) -> bytes:
    return f"PROXY {text}\r\n".encode("latin-1")


def v2(client: str = "", *, family: int | None = None, command: int = 0x21, extra: bytes = b"",
       length: int | None = None) -> bytes:
    """Return a header of version 2 from a client to port 8443. Args: extra: behind the addresses."""
    body = b""
    if client:
        address = ipaddress.ip_address(client).packed
        body = address * 2 + struct.pack("!HH", 1234, 8443)
        family = family if family is not None else TCP4 if len(address) == 4 else TCP6
    body += extra
    size = len(body) if length is None else length
    return SIGNATURE + struct.pack("!BBH", command, family or 0, size) + body


GOOD = {
    v1("TCP4 198.51.100.7 192.0.2.1 56324 8443"): ("198.51.100.7", "8443"),
    v1("TCP4 255.255.255.255 255.255.255.255 65535 65535"): ("255.255.255.255", "65535"),
    v1("TCP4 198.51.100.008 192.0.2.1 00001 08443"): ("198.51.100.8", "8443"),
    v1("TCP6 2001:DB8::1 2001:db8::2 1 8443"): ("2001:db8::1", "8443"),
    v1("TCP6 " + " ".join(["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"] * 2) + " 65535 65535"): (
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "65535"),
    v1("TCP6 ::ffff:198.51.100.7 ::1 1 8443"): ("198.51.100.7", "8443"),
    v1("TCP6 64:ff9b::198.51.100.7 ::1 1 8443"): ("64:ff9b::c633:6407", "8443"),
    v1("TCP6 1:0:0:2:0:0:0:3 :: 1 8443"): ("1:0:0:2::3", "8443"),
    v1("TCP6 0:0:1:0:0:1:0:0 :: 1 8443"): ("::1:0:0:1:0:0", "8443"),
    v1("TCP6 1:2:3:4:5:6:7:: ::8 1 8443"): ("1:2:3:4:5:6:7:0", "8443"),
    v1("UNKNOWN"): OWN, v1("UNKNOWN ffff:: ffff:: 65535 65535"): OWN,
    v2("198.51.100.7"): ("198.51.100.7", "8443"), v2("200.201.202.203"): ("200.201.202.203", "8443"),
    v2("2001:db8::ff00:0:8"): ("2001:db8::ff00:0:8", "8443"),
    v2("::ffff:198.51.100.7"): ("198.51.100.7", "8443"),
    v2("198.51.100.7", extra=NOTHING * 75): ("198.51.100.7", "8443"),
    v2("198.51.100.7", extra=NOTHING * 1021): ("198.51.100.7", "8443"),
    v2(command=0x20): OWN, v2("198.51.100.7", command=0x20): OWN,
}
"""Header to the address of the client and the port of the server."""
BAD = [
    REQUEST, b"P", b"PROXY", b"PROXX TCP4", b"\r\n\r\n\x01", b"\r\n\r\nG", b" PROXY UNKNOWN\r\n",
    b"proxy TCP4 198.51.100.7 192.0.2.1 1 2\r\n", b"PROXY TCP4 198.51.100.7 192.0.2.1 1 2\n" + bytes(100),
    *map(v1, [
        "", "UNKNOWNS", "UNKNOWN " + "x" * 92, "x" * 200, "TCP4", "TCP4 [exit] $x 1 2",
        "TCP5 198.51.100.7 192.0.2.1 1 2", "TCP4 198.51.100.7 192.0.2.1 1",
        "TCP4 198.51.100.7 192.0.2.1 1 2 3", "TCP4  198.51.100.7 192.0.2.1 1 2",
        "TCP4 198.51.100.256 192.0.2.1 1 2", "TCP4 198.51.100 192.0.2.1 1 2",
        "TCP4 198.51.100.7 192.0.2.1 65536 2", "TCP4 198.51.100.7 192.0.2.1 1 99999",
        "TCP4 198.51.100.7 192.0.2.1 -1 2", "TCP4 198.51.100.7 x 1 2", "TCP4 ::1 ::1 1 2",
        "TCP6 198.51.100.7 192.0.2.1 1 2", "TCP6 1:2:3:4 ::1 1 2", "TCP6 1::2::3 ::1 1 2",
        "TCP6 1:2:3:4:5:6:7:8:9 ::1 1 2", "TCP6 1:2:3:4:5:6:7::8 ::1 1 2", "TCP6 12345::1 ::1 1 2",
        "TCP6 :::1 ::1 1 2", "TCP6 ::1.2.3.300 ::1 1 2"]),
    SIGNATURE + b"\x11\x11\x00\x0c" + bytes(12),
    v2("198.51.100.7", command=0x22), v2("198.51.100.7", command=0x31),
    v2(family=UNSPECIFIED), v2("198.51.100.7", family=UDP4), v2(family=UNIX, extra=bytes(216)),
    v2(family=TCP4, extra=bytes(11)), v2(family=TCP6, extra=bytes(35)),
    v2("198.51.100.7", extra=bytes(4085)), v2(family=TCP4, length=65535),
]
UNLIKE_HAPROXY = {
    v1("TCP6 ::ffff:198.51.100.7 ::1 1 8443"), v2("::ffff:198.51.100.7"),
    v1("UNKNOWN ffff:: ffff:: 65535 65535"),
    v1("TCP4 198.51.100.256 192.0.2.1 1 2"), v1("TCP4 198.51.100 192.0.2.1 1 2"),
    v1("TCP4 198.51.100.7 192.0.2.1 65536 2"), v1("TCP4 198.51.100.7 192.0.2.1 1 99999"),
}
"""It writes IPv4 in IPv6 as such, refuses what stands behind UNKNOWN, and takes numbers that are none."""
