"""Requests to Routes whose pods are at addresses of LTM nodes that somebody else made."""

from tests import manifests
from tests.traffic.conftest import Site
from tests.traffic.load import Load, Target
from tests.waiting import until

HOST = "www.example.com"
POOL = "ltm/pool/~Common~openshift_shop_web"
ENOUGH = 8


def members(site: Site) -> set[str]:
    return {item["name"] for item in site.bigip.get(POOL)["membersReference"].get("items", ())}


def test_rollouts_over_nodes_of_others(site):
    """One has another name, one is in another partition: no request fails, and each pod that ends is left."""
    site.change("POST", "auth/partition", {"name": "k8s"})
    site.change("POST", "ltm/node", {
        "name": "app7.dc1.example.com", "partition": "Common", "address": "10.128.7.7"})
    site.change("POST", "ltm/node", {"name": "10.128.7.8", "partition": "k8s", "address": "10.128.7.8"})
    site.serve("web", "10.128.7.5")
    for last in (6, 7, 8):
        site.pod(f"10.128.7.{last}", "web")
    site.apply(manifests.route("web", host=HOST))
    running = site.run()
    try:
        running.wait(lambda: site.admitted("shop", "web").get("status") == "True")
        with Load(Target("web", site.http, HOST, right=site.right("web")), device=site.bigip) as load:
            for pods, names in (
                    ((6, 7), {"10.128.7.6:8080", "app7.dc1.example.com:8080"}),
                    ((7, 8), {"app7.dc1.example.com:8080"}),
                    ((8, 5), {"10.128.7.5:8080"})):
                site.apply(manifests.endpoints("shop", "web", [f"10.128.7.{last}" for last in pods]))
                running.wait(lambda names=names: members(site) == names)
                until(load.more(ENOUGH))
        assert (load.report.failed, load.report.wrong) == ([], [])
        told = "1 of 2 pods are not in the pool"
        running.wait(lambda: told in site.admitted("shop", "web").get("message", ""))
        assert site.admitted("shop", "web")["status"] == "True"
    finally:
        running.stop()
