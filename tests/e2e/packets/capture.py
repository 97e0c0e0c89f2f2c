"""Packets that pass a port of the underlay: Ethernet, IPv4, UDP, VxLAN (RFC 7348) and what it carries."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

ETH_P_ALL, ETH_P_IP, ETH_P_ARP = 3, 0x0800, 0x0806
"""linux/if_ether.h."""

SO_RCVBUFFORCE = 33
"""asm-generic/socket.h; the usual buffer holds a hundred packets."""

RECEIVE_BUFFER = 4 << 20
VXLAN_PORT = 4789
VNI_VALID = 0x08


@dataclass(frozen=True)
class Frame:
    """An Ethernet frame with ARP or IPv4; addresses are "" in others."""

    type: int
    source: str = ""
    destination: str = ""
    inner: "Encapsulated | None" = None
    """What VxLAN carries."""


@dataclass(frozen=True)
class Encapsulated:
    """A packet of VxLAN."""

    flags: int
    vni: int
    frame: Frame


class Tap:
    """The frames of a device, each once: packet(7). Make it in the device's namespace."""

    def __init__(self, device: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        self._socket.bind((device, ETH_P_ALL))
        self._socket.setblocking(False)

    def close(self) -> None:
        self._socket.close()

    def frames(self) -> Iterator[Frame]:
        """Return the frames since the last call."""
        while True:
            try:
                yield parse(self._socket.recv(1 << 17))
            except BlockingIOError:
                return


def parse(data: bytes) -> Frame:
    """Read a frame without VLAN tag."""
    kind = int.from_bytes(data[12:14])
    body = data[14:]
    if kind == ETH_P_ARP:
        return Frame(kind, socket.inet_ntoa(body[14:18]), socket.inet_ntoa(body[24:28]))
    if kind != ETH_P_IP:
        return Frame(kind)
    ends = socket.inet_ntoa(body[12:16]), socket.inet_ntoa(body[16:20])
    datagram = body[4 * (body[0] & 0x0F):]
    if body[9] != socket.IPPROTO_UDP or struct.unpack("!H", datagram[2:4]) != (VXLAN_PORT,):
        return Frame(kind, *ends)
    header, carried = datagram[8:16], datagram[16:]
    return Frame(kind, *ends, Encapsulated(header[0], int.from_bytes(header[4:7]), parse(carried)))
