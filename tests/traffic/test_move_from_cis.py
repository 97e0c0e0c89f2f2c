"""The move that docs/from-cis.md describes, beside the objects that Container Ingress Services makes by AS3.

Sources: F5Networks/k8s-bigip-ctlr, docs: objects lie in the folder Shared of its partition, pools are named
openshift_NAMESPACE_SERVICE; F5Networks/f5-appsvcs-extension#3, #868: nodes lie in the partition, or in
/Common with shareNodes, and are named by their address.
"""

import shlex
import subprocess
from collections.abc import Iterable

from click.testing import CliRunner

from f5router.cli.main import main
from tests import manifests
from tests.e2e.pages import blocks
from tests.traffic.conftest import Site
from tests.traffic.load import Load, Target
from tests.waiting import until

PAGE = "from-cis.md"
PARTITION, FOLDER = "/k8s", "/k8s/Shared"
OLD, NEW = ("10.1.1.1", "10.1.1.2"), ("10.1.1.2", "10.1.1.3")
HOST = "www.example.com"
ENOUGH = 8


class CIS:
    """Its device side."""

    def __init__(self, site: Site, *, share_nodes: bool):
        self.site, self.place = site, "/Common" if share_nodes else PARTITION
        site.change("POST", "auth/partition", {"name": "k8s"})
        site.change("POST", "sys/folder", {"name": "Shared", "partition": "k8s"})
        site.change("POST", "ltm/pool", self._at("openshift_shop_web"))
        self.members(OLD)
        site.change("POST", "ltm/policy", {
            **self._at("openshift_insecure_routes"), "legacy": True, "strategy": "first-match",
            "controls": ["forwarding"], "requires": ["http"], "rules": [{
                "name": "openshift_route_shop_web", "ordinal": 0,
                "conditions": [{"name": "0", "httpHost": True, "host": True, "equals": True, "request": True,
                                "values": [HOST]}],
                "actions": [{"name": "0", "forward": True, "request": True, "select": True,
                             "pool": f"{FOLDER}/openshift_shop_web"}]}]})
        site.bigip.add_virtual(f"{FOLDER}/ose-vserver", "/k8s/10.0.0.9:80")
        site.change("POST", "ltm/virtual/~k8s~Shared~ose-vserver/policies",
                    {"name": f"{FOLDER}/openshift_insecure_routes"})

    def _at(self, name: str) -> dict:
        return {"name": name, "partition": "k8s", "subPath": "Shared"}

    @property
    def http(self) -> tuple[str, int]:
        return self.site.bigip.endpoint(f"{FOLDER}/ose-vserver")

    def members(self, addresses: Iterable[str]) -> None:
        """Declare the pods of the Service: AS3 makes the nodes that are missing, and then the members."""
        for address in addresses:
            if f"{self.place}/{address}" not in self.site.paths("ltm/node"):
                self.site.change("POST", "ltm/node", {
                    "name": address, "partition": self.place.strip("/"), "address": address})
        self.site.change("PATCH", "ltm/pool/~k8s~Shared~openshift_shop_web", {"members": [
            {"name": f"{self.place}/{address}:8080"} for address in addresses]})

    def remove(self) -> None:
        """Remove the tenant, and what is left: a node that another pool uses stays."""
        for path in ("virtual/~k8s~Shared~ose-vserver", "policy/~k8s~Shared~openshift_insecure_routes",
                     "pool/~k8s~Shared~openshift_shop_web"):
            self.site.change("DELETE", f"ltm/{path}")
        for path in sorted(self.site.paths("ltm/node")):
            if path.startswith(f"{PARTITION}/"):
                self.site.change("DELETE", f"ltm/node/{path.replace('/', '~')}")
        for address in sorted(self.site.paths("ltm/virtual-address")):
            if address.startswith(f"{PARTITION}/"):
                self.site.change("DELETE", f"ltm/virtual-address/{address.replace('/', '~')}")
        self.site.change("DELETE", "sys/folder/~k8s~Shared")
        self.site.change("DELETE", "auth/partition/k8s")


def commands(begin: str) -> list[list[str]]:
    """The words of the commands in the page's block that begins so."""
    (block,) = (block for block in blocks(PAGE) if block.text.startswith(begin))
    return [shlex.split(line) for line in block.text.splitlines()]


def typed(site: Site, words: list[str], **flags: str) -> tuple[str, int]:
    """Run a command of the page with the settings of the router."""
    assert words[0] == "f5router"
    given = [f"--{name}={value}" for name, value in site.flags(**flags).items()]
    if words[1] == "status":
        given = [f"--config={site.kubeconfig}"]
    result = CliRunner().invoke(main, [*words[1:], *given])
    return result.output, result.exit_code


def curl(site: Site, words: list[str]) -> str:
    """Run curl of the page; the address of the virtual server is where the fake listens."""
    address, port = site.http
    where = f"{HOST}:80:{address}:{port}"
    done = subprocess.run([*words, "--silent", "--noproxy", "*", "--connect-to", where],
                          capture_output=True, text=True, check=True)
    return done.stdout


def cluster(site: Site) -> None:
    """A partition of the router's, and a Route that CIS serves: its entry in the status is there."""
    site.change("POST", "auth/partition", {"name": "openshift"})
    site.partition = "/openshift"
    site.virtuals(partition="/openshift", address="10.0.0.2")
    site.serve("web", *OLD)
    route = manifests.route("web", host=HOST)
    route["status"] = {"ingress": [{"host": HOST, "routerName": "F5 BIG-IP", "conditions": [
        {"type": "Admitted", "status": "True"}]}]}
    site.apply(route)


def targets(site: Site, cis: CIS) -> tuple[Target, Target]:
    right = site.right("web")
    return (Target("CIS", cis.http, HOST, right=right), Target("f5router", site.http, HOST, right=right,
                                                               asleep=True))


def entries(site: Site) -> dict[str, dict]:
    """The conditions of the Route by router name."""
    status = site.kube.get("Route", "shop", "web")["status"]["ingress"]
    return {entry["routerName"]: entry["conditions"][0] for entry in status}


def test_the_move(site):
    """Each step of the page, with requests to both sets of virtual servers; pods are replaced meanwhile."""
    cluster(site)
    cis = CIS(site, share_nodes=True)
    flags = {"f5_node_partition": "/Common"}
    old, new = targets(site, cis)
    with Load(old, new, device=site.bigip) as load:
        plan, doctor = commands("f5router plan")
        said, status = typed(site, plan, **flags)
        assert (status, "left out" in said) == (0, False), said
        said, _ = typed(site, doctor, **flags)
        assert "left out" not in said
        running = site.run(**flags)
        try:
            running.wait(lambda: entries(site).get("public", {}).get("status") == "True")
            new.asleep = False
            until(load.more(ENOUGH))
            assert '"pod": "web-' in curl(site, *commands("curl --fail"))
            for address in NEW:
                if address not in OLD:
                    site.pod(address, "web")
            site.apply(manifests.endpoints("shop", "web", NEW))
            pool = "ltm/pool/~openshift~openshift_shop_web"
            running.wait(lambda: {item["name"] for item in site.bigip.get(pool)["membersReference"].get(
                "items", ())} == {f"{address}:8080" for address in NEW})
            cis.members(NEW)
            until(load.more(ENOUGH))
            old.asleep = True
            until(load.more(ENOUGH))
            cis.remove()
            (clear,) = commands("f5router status clear")
            said, status = typed(site, clear)
            assert status == 0, said
            until(load.more(ENOUGH))
            assert entries(site).keys() == {"public"}
        finally:
            running.stop()
    assert (load.report.failed, load.report.wrong) == ([], [])
    assert site.admitted("shop", "web")["status"] == "True"


def test_without_shared_nodes(site):
    """`plan` and `doctor` say what is in the way; CIS goes on, and the pods come when it is removed."""
    cluster(site)
    cis = CIS(site, share_nodes=False)
    old, _ = targets(site, cis)
    with Load(old, device=site.bigip) as load:
        for words in commands("f5router plan"):
            said, status = typed(site, words)
            assert (status != 0, "1 pool would have no member" in said) == (True, True), said
        router = site.router()
        assert site.converge(router) != []
        message = site.admitted("shop", "web")["message"]
        assert message.startswith("ltm/pool /openshift/openshift_shop_web: 2 of 2 pods are not in the pool: "
                                  "LTM node /k8s/10.1.1.1 has the address 10.1.1.1"), message
        until(load.more(ENOUGH))
    assert (load.report.failed, load.report.wrong) == ([], [])
    router.close()
    cis.remove()
    assert site.converge() == []
    with Load(Target("f5router", site.http, HOST, right=site.right("web")), device=site.bigip) as load:
        until(load.more(ENOUGH))
    assert (load.report.failed, load.report.wrong) == ([], [])
    assert "message" not in site.admitted("shop", "web")
