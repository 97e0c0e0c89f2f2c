"""A cluster with openshift-sdn and the BIG-IP as its host: objects, and what the fake has of them."""


from tests import manifests, waiting
from tests.feature.conftest import HTTP, HTTPS

FLAGS = {"f5_internal_address": "10.3.89.213", "f5_vxlan_gateway_cidr": "10.131.0.5/14"}
TUNNEL, PROFILE, SELF = "/Common/vxlan5000", "/Common/vxlan-ose", "/Common/10.131.0.5/14"
PATHS = {"net/tunnels/vxlan": PROFILE, "net/tunnels/tunnel": TUNNEL, "net/self": SELF}
URL = "net/tunnels/tunnel/~Common~vxlan5000"
FDB = "net/fdb/tunnel/~Common~vxlan5000"
NODES = (manifests.node("n1", "10.3.89.1"), manifests.node("n2", "10.3.89.2"))
GHOST = manifests.host_subnet("f5", "10.3.89.213", "10.131.0.0/23")
NETWORK = manifests.cluster_network("10.128.0.0/14")
MACS = {"0a:0a:0a:03:59:01": "10.3.89.1", "0a:0a:0a:03:59:02": "10.3.89.2"}
FOREIGN = {"0a:0a:c0:a8:c8:41": "10.9.9.9", "00:50:56:01:02:03": "10.9.9.10"}
DERIVED = ("generation", "selfLink", "ifIndex", "vlanReference", "profileReference", "defaultsFromReference",
           "trafficGroupReference")


def selfip(name: str, vlan: str, address: str = "") -> dict:
    return {"name": name, "partition": "Common", "address": address or name, "vlan": vlan}


def snat_pool(address: str) -> dict:
    return {"name": "sp", "partition": "Common", "members": [f"/Common/{address}"]}


def sdn(lab, *objects: dict) -> None:
    """A cluster with the BIG-IP's HostSubnet; virtual servers with automap."""
    lab.apply(*(objects or NODES), GHOST, NETWORK)
    automap(lab, lab.partition)


def automap(lab, partition: str) -> None:
    for name in (HTTP, HTTPS):
        lab.change("PATCH", url("ltm/virtual", f"{partition}/{name}"),
                   {"sourceAddressTranslation": {"type": "automap"}})


def url(kind: str, path: str) -> str:
    return f"{kind}/{path.replace('/', '~')}"


def fdb(lab, folder: str = "/Common") -> dict[str, str]:
    """Endpoints, without route domain, by MAC address."""
    records = lab.bigip.items("net/fdb/tunnel/records")
    return {item.key[-1]: item.fields["endpoint"].split("%")[0] for item in records
            if item.key[0] == f"{folder}/vxlan5000"}


def device(lab) -> dict[str, dict]:
    """Return what is configured of the VxLAN device, by kind."""
    by_kind = {kind: lab.bigip.get(url(kind, path)) or {} for kind, path in PATHS.items()}
    return {kind: {k: v for k, v in obj.items() if k not in DERIVED} for kind, obj in by_kind.items()}


def selves(lab) -> set[str]:
    return {path for path in lab.paths("net/self") if path.startswith("/Common/10.")}


def foreign(lab) -> None:
    """Records of another administrator."""
    for mac, endpoint in FOREIGN.items():
        lab.bigip.put_object(f"{FDB}/records", {"name": mac, "endpoint": endpoint})


def network_writes(lab) -> list[tuple[str, str]]:
    return [(method, path.removeprefix("/mgmt/tm/")) for method, path in lab.writes()
            if path.startswith("/mgmt/tm/net/")]


def until(lab, router, done) -> None:
    """Passes of a running router until its Nodes are as wanted, and one more."""
    waiting.until(lambda: router.reconcile_once() and done(router.reconciler.engine.cluster.nodes))
    router.reconcile_once()


def many(count: int) -> list[dict]:
    """That many Nodes."""
    return [manifests.node(f"m{n}", f"10.3.{n // 250}.{n % 250 + 1}") for n in range(count)]
