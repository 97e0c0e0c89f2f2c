"""The laboratory as a whole: underlay, Nodes, a fake BIG-IP and the host that acts on its tables."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import requests

from mocks.bigip import FakeBigIP
from tests import waiting
from tests.e2e.packets.bigip_host import BigIPHost
from tests.e2e.packets.capture import VXLAN_PORT
from tests.e2e.packets.hosts import CLUSTER, GHOST, NETWORK, Node, Pod, Underlay
from tests.e2e.packets.namespaces import Namespace
from tests.waiting import DEADLINE_S

VTEP = str(NETWORK[5])
"""The BIG-IP in the underlay; hostIP of its HostSubnet."""

GATEWAY = str(GHOST[5])
TUNNEL = "vxlan5000"
RECORDS = f"net/fdb/tunnel/~Common~{TUNNEL}/records"

PAUSE_S = 0.05
SILENCE_S = 1.0
"""How long an answer is waited for where none is expected; ARP and HTTP take a millisecond here."""


class Lab:
    """Hosts and a fake BIG-IP with a self IP in the underlay, as its administrator sets it up."""

    def __init__(self, stack: ExitStack, nodes: int = 2) -> None:
        self._stack = stack
        self.check: Callable[[], object] = lambda: None
        """Fails when what the tests wait for has ended."""
        self.fake = stack.enter_context(FakeBigIP())
        self._session = stack.enter_context(requests.Session())
        self._session.trust_env = False
        self._session.verify, self._session.auth = self.fake.ca_file, (self.fake.username, self.fake.password)
        self.underlay = Underlay(stack)
        self.bigip = BigIPHost(stack.enter_context(Namespace("bigip")), self.underlay, self.rest)
        self.nodes: list[Node] = []
        for _ in range(nodes):
            self.add_node()
        self.add_internal(VTEP)

    def rest(self, path: str, method: str = "GET", body: dict | None = None) -> dict:
        """Ask the fake BIG-IP over REST, as an administrator; {} for what is not there to read.

        Raises: requests.HTTPError.
        """
        reply = self._session.request(
            method, f"{self.fake.url}/mgmt/tm/{path}", json=body, timeout=DEADLINE_S)
        if method == "GET" and reply.status_code == requests.codes.not_found:
            return {}
        reply.raise_for_status()
        return reply.json() if reply.content else {}

    def add_internal(self, address: str) -> None:
        """Give the BIG-IP an address in the underlay."""
        body = {"name": address, "address": f"{address}/{NETWORK.prefixlen}", "vlan": "internal"}
        self.rest("net/self", "POST", body)

    def add_node(self) -> Node:
        """Another host of the cluster; no object is made for it."""
        self.nodes.append(Node(self._stack, self.underlay, len(self.nodes) + 1, VTEP))
        return self.nodes[-1]

    def pods(self) -> list[Pod]:
        return [pod for node in self.nodes for pod in node.pods]

    # --- what is expected ----------------------------------------------------------------

    def until(self, condition: Callable[[], object], problem: str) -> None:
        """Let the BIG-IP's host follow its tables until something holds."""
        def holds() -> object:
            self.check()
            self.bigip.apply()
            return condition()

        waiting.until(holds, problem)

    def expect(self, pods: Iterable[Pod]) -> None:
        """Exactly these Pods are reached by HTTP, sooner or later and then all at the same time."""
        wanted = {pod.name for pod in pods}
        self.until(lambda: self.reached() == wanted, f"reached: {sorted(wanted)}")

    def reached(self) -> set[str]:
        """Names of the Pods that answer the BIG-IP, which they must see at its gateway address."""
        pods = self.pods()
        with ThreadPoolExecutor(len(pods)) as pool:
            answers = pool.map(self._answers, pods)
            return {pod.name for pod, answer in zip(pods, answers, strict=True) if answer}

    def _answers(self, pod: Pod) -> bool:
        try:
            said = self.bigip.ask(pod.address, SILENCE_S)
        except OSError:
            return False
        assert said == {"pod": pod.name, "client": GATEWAY}
        return True

    # --- a router's part, by hand --------------------------------------------------------

    def make_tunnel(self, *, prefix: int = CLUSTER.prefixlen) -> None:
        """The objects of a VxLAN device, as the original router sends them (openshift/origin v3.11.0,
        pkg/router/f5/f5.go: ensureVxLANTunnel)."""
        cidr = f"{GATEWAY}/{prefix}"
        self.rest("net/tunnels/vxlan", "POST",
                  {"name": "vxlan-ose", "floodingType": "multipoint", "port": VXLAN_PORT})
        self.rest("net/tunnels/tunnel", "POST",
                  {"name": TUNNEL, "key": 0, "localAddress": VTEP, "profile": "/Common/vxlan-ose"})
        self.rest("net/self", "POST", {
            "name": cidr, "address": cidr, "vlan": f"/Common/{TUNNEL}", "allowService": "all",
            "trafficGroup": "/Common/traffic-group-local-only"})

    def add_record(self, address: str) -> None:
        self.rest(RECORDS, "POST", {"name": placeholder(address), "endpoint": address})

    def records(self) -> dict[str, str]:
        """FDB records on the fake: endpoint by MAC address."""
        items = self.rest(RECORDS).get("items", [])
        return {item["name"]: item["endpoint"].partition("%")[0] for item in items}


def placeholder(address: str) -> str:
    """MAC address of a record: openshift/origin v3.11.0, pkg/router/f5/f5.go: checkIPAndGetMac."""
    return "0a:0a:" + ":".join(f"{int(octet):02x}" for octet in address.split("."))
