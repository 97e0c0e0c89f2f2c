"""The hosts of the laboratory besides the BIG-IP: the network between them, Nodes, and Pods behind them.

A Node does what openshift-sdn does for the ghost HostSubnet of a BIG-IP (tables 10,
30, 50 and 90 of its OVS bridge: openshift/origin, pkg/network/node/ovscontroller.go). It takes VxLAN
packets from that hostIP only and gives ARP requests and packets in them to its Pods; it sends what Pods
have for the ghost subnet there, with VNID 0. The kernel's bridge and VxLAN device stand for OVS. Nodes do
not reach one another's Pods here.
"""

import ipaddress
import json
import socket
import socketserver
import threading
from contextlib import ExitStack
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler

from tests.e2e.packets.capture import VXLAN_PORT, Tap
from tests.e2e.packets.namespaces import Namespace
from tests.waiting import DEADLINE_S

NETWORK = ipaddress.IPv4Network("192.0.2.0/24")
"""The underlay (RFC 5737)."""

CLUSTER = ipaddress.IPv4Network("10.128.0.0/14")
GHOST = ipaddress.IPv4Network("10.131.0.0/23")
UPLINK = "eth0"
PORT = 8080
POLL_S = 0.005
OVERHEAD = 50
"""Bytes that VxLAN puts around an Ethernet frame's payload (RFC 7348)."""

MTU = 1500 - OVERHEAD
LARGE = bytes(range(256)) * 800
"""Many packets of full size."""


class Underlay:
    """A switch that joins the hosts, in a namespace of its own."""

    def __init__(self, stack: ExitStack) -> None:
        self._namespace = stack.enter_context(Namespace("underlay"))
        self._stack = stack
        self._namespace.ip("link add switch type bridge", "link set switch up")

    def attach(self, host: Namespace) -> None:
        """Plug a cable into a host's UPLINK. The port has the host's name."""
        self._namespace.ip(
            f"link add {host.name} type veth peer name {UPLINK} netns {host.tid}",
            f"link set {host.name} master switch up")
        host.ip(f"link set {UPLINK} up")

    def tap(self, host: str) -> Tap:
        """Record the frames that pass a host's port, from now on."""
        tap = self._namespace.call(Tap, host)
        self._stack.callback(tap.close)
        return tap


class Pod:
    """A server of HTTP in a namespace: who it is and who asks, or at /large the bytes of LARGE.

    Attributes: mac: of its device.
    """

    def __init__(self, stack: ExitStack, name: str, address: ipaddress.IPv4Address, node: Namespace) -> None:
        self.name, self.address = name, str(address)
        namespace = stack.enter_context(Namespace(name))
        node.ip(
            f"link add {name} type veth peer name {UPLINK} netns {namespace.tid}",
            f"link set {name} master br0 mtu {MTU} up")
        namespace.ip(
            f"link set {UPLINK} mtu {MTU} up",
            f"addr add {address}/23 dev {UPLINK}",
            f"route add {CLUSTER} dev {UPLINK}")  # as the CNI plug-in of openshift-sdn sets it
        self.mac = namespace.show("ip", "link", "show", UPLINK)[0]["address"]
        self._serve(stack, namespace)

    def _serve(self, stack: ExitStack, namespace: Namespace) -> None:
        """Sockets stay in the namespace that they were made in, whoever uses them."""
        server = namespace.call(_Server, (self.address, PORT), _Handler)
        server.pod = self.name
        stack.callback(server.server_close)
        threading.Thread(target=server.serve_forever, args=(POLL_S,), name=self.name, daemon=True).start()
        stack.callback(server.shutdown)


class _Server(socketserver.ThreadingTCPServer):
    """Not HTTPServer, which asks the DNS for its name."""

    daemon_threads = True
    pod = ""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        said = {"pod": self.server.pod, "client": self.client_address[0]}
        body = LARGE if self.path == "/large" else json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Node:
    """A host with Pods.

    Args: subnet: of its HostSubnet. vtep: hostIP of the ghost HostSubnet: the BIG-IP.
    """

    def __init__(self, stack: ExitStack, underlay: Underlay, number: int, vtep: str, pods: int = 2) -> None:
        self.name, self.vtep = f"node{number}", vtep
        self.address = str(NETWORK[10 + number])
        self.subnet = ipaddress.IPv4Network((int(CLUSTER[0]) + (number - 1) * 512, 23))
        self._namespace = stack.enter_context(Namespace(self.name))
        underlay.attach(self._namespace)
        self._namespace.ip(f"addr add {self.address}/{NETWORK.prefixlen} dev {UPLINK}")
        self._tunnel()
        self._accept_from_vtep_only()
        self.pods = [Pod(stack, f"{self.name}-pod{n}", self.subnet[1 + n], self._namespace)
                     for n in range(1, 1 + pods)]

    def _tunnel(self) -> None:
        """OVS tables 50 and 90: what is for the ghost subnet goes to its hostIP with VNID 0."""
        self._namespace.ip(
            "link add br0 type bridge",
            f"link set br0 mtu {MTU} up",
            f"addr add {self.subnet[1]}/{self.subnet.prefixlen} dev br0",
            f"link add vxlan0 type vxlan id 0 dstport {VXLAN_PORT} nolearning",
            f"link set vxlan0 master br0 mtu {MTU} up")
        self._namespace.bridge(f"fdb append 00:00:00:00:00:00 dev vxlan0 dst {self.vtep} self permanent")

    def _accept_from_vtep_only(self) -> None:
        """OVS table 10: packets of other senders are dropped."""
        packets = f"iif {UPLINK} ipproto udp dport {VXLAN_PORT}"
        self._namespace.ip(
            f"rule add pref 10 from {self.vtep} {packets} lookup local",
            f"rule add pref 11 {packets} blackhole",
            "rule add pref 12 lookup local",
            "rule del pref 0")

    def move(self, address: str) -> None:
        """Give the host another address in the underlay."""
        self._namespace.ip(
            f"addr del {self.address}/{NETWORK.prefixlen} dev {UPLINK}",
            f"addr add {address}/{NETWORK.prefixlen} dev {UPLINK}")
        self.address = address

    def ask(self, pod: Pod) -> dict[str, str]:
        """Return what a Pod of its own says, without any tunnel. Raises: OSError."""
        return json.loads(fetch(self._namespace, pod.address))


def fetch(namespace: Namespace, address: str, path: str = "/", timeout_s: float = DEADLINE_S) -> bytes:
    """Return what a Pod answers to a client in the namespace. Raises: OSError."""
    connection = HTTPConnection(address, PORT)
    connection.sock = namespace.call(socket.socket)
    try:
        connection.sock.settimeout(timeout_s)
        connection.sock.connect((address, PORT))
        connection.request("GET", path)
        reply = connection.getresponse()
        assert reply.status == 200
        return reply.read()
    finally:
        connection.close()
