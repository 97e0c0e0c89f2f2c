"""The laboratory with a cluster and the real router, which fills the BIG-IP's tables from Node objects."""

import sys
from contextlib import ExitStack
from pathlib import Path

from mocks.demo.processes import Program, clean_environment
from mocks.kube import FakeKube
from mocks.kube.services import node_object
from tests import manifests
from tests.e2e.packets.hosts import CLUSTER, GHOST, Node
from tests.e2e.packets.lab import GATEWAY, VTEP, Lab, placeholder

GHOST_NAME = "f5-server"
RIGHT = f"{GATEWAY}/{CLUSTER.prefixlen}"
POOL = "ltm/pool/~Common~openshift_shop_web/members"


class Routed:
    """A Lab whose Nodes are objects of a cluster, as an installation of OpenShift has them.

    Attributes: lab, kube; router: the newest one.
    """

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.lab, self.router = Lab(stack), None
        self.lab.fake.add_virtual(
            "/Common/ose-vserver", "192.0.2.80:80", sourceAddressTranslation={"type": "automap"})
        self._stack, self._folder, self._started = stack, folder, 0
        self.kube = stack.enter_context(FakeKube())
        self.kube.write_kubeconfig(str(folder / "kubeconfig"))
        self.kube.apply(_sdn("ClusterNetwork", "default", network=str(CLUSTER), hostsubnetlength=9,
                             clusterNetworks=[{"CIDR": str(CLUSTER), "hostSubnetLength": 9}]))
        self.kube.apply(_host_subnet(GHOST_NAME, VTEP, str(GHOST)))
        for node in self.lab.nodes:
            self.announce(node)

    def announce(self, node: Node) -> None:
        """Make or change a Node's objects: what the kubelet tells, and what the SDN master does then."""
        self.kube.apply(node_object(node.name, node.address))
        self.kube.apply(_host_subnet(node.name, node.address, str(node.subnet)))

    def forget(self, node: Node) -> None:
        """Delete a Node's objects."""
        self.kube.delete("Node", "", node.name)
        self.kube.delete("HostSubnet", "", node.name)

    def serve(self, nodes: list[Node]) -> None:
        """A Route to all Pods of some Nodes."""
        pods = tuple(pod.address for node in nodes for pod in node.pods)
        for obj in (manifests.route("web"), *manifests.service("shop", "web", pods=pods)):
            self.kube.apply(obj)

    def members(self) -> set[str]:
        """Return the members of the Route's pool on the BIG-IP."""
        return {member["name"] for member in self.lab.rest(POOL).get("items", [])}

    def start(self, *, gateway: str = RIGHT, internal: str = VTEP) -> Program:
        """Run the router, instead of one that runs."""
        self.stop()
        self._started += 1
        flags = {
            "f5-host": self.lab.fake.address, "f5-username": self.lab.fake.username,
            "f5-password": self.lab.fake.password, "f5-ca-bundle": self.lab.fake.ca_file,
            "f5-https-vserver": "", "config": self._folder / "kubeconfig", "hold-off": "20ms",
            "f5-internal-address": internal, "f5-vxlan-gateway-cidr": gateway, "stats-port": "0",
        }
        command = [sys.executable, "-m", "f5router", "run", *(f"--{name}={flags[name]}" for name in flags)]
        log = self._folder / f"router-{self._started}.log"
        self.router = self._stack.enter_context(
            Program("f5router run", command, log=log, environment=clean_environment()))
        self.lab.check = self.router.check
        return self.router

    def stop(self) -> None:
        """End the router; what is on the BIG-IP stays."""
        if self.router:
            self.lab.check = lambda: None
            assert self.router.stop() == 0, self.router.tail()
            self.router = None

    def expect_records(self, nodes: list[Node]) -> None:
        """The BIG-IP gets exactly these Nodes' addresses, each under its placeholder MAC address."""
        wanted = {placeholder(node.address): node.address for node in nodes}
        self.lab.until(lambda: self.lab.records() == wanted, f"records: {wanted}")

    def expect_logged(self, text: str) -> None:
        """The router says so, sooner or later."""
        log = self.router.log
        self.lab.until(lambda: text in log.read_text(), f"logged: {text}")


def _sdn(kind: str, name: str, **fields: object) -> dict:
    return {"apiVersion": "network.openshift.io/v1", "kind": kind, "metadata": {"name": name}, **fields}


def _host_subnet(name: str, host_ip: str, subnet: str) -> dict:
    return _sdn("HostSubnet", name, host=name, hostIP=host_ip, subnet=subnet)
