"""The rights that features need, compared with the roles of docs/deploy."""

import yaml

from f5router.cli.doctor import cluster
from f5router.config import config
from f5router.kube.api.api_errors import SHIPPED
from f5router.kube.watch.sources import ENDPOINTS, ROUTES, SLICES
from tests.e2e.deployment import FOLDER
from tests.rows import rows

BASE = {"f5-host": "a", "f5-username": "u", "f5-password": "p", "default-destination-ca-path": "none"}
VXLAN = {"f5-internal-address": "10.3.89.213", "f5-vxlan-gateway-cidr": "10.131.0.5/14"}
LEASE = {"leader-elect": "true", "leader-elect-resource-name": "f5router",
         "leader-elect-resource-namespace": "f5router"}
OTHER_API = {("endpoints", verb) for verb in ("list", "watch")}
"""Read where EndpointSlices are not."""
OWN = {"f5-vserver-address": "203.0.113.10"}
CLASSES = {("gatewayclasses", "list")}
"""Listed by a router with virtual servers of its own alone."""


def needed(served=lambda source: source, **flags) -> list[cluster.Right]:
    return cluster.needed_rights(config.load({**BASE, **flags}, {}), served)


def used(rights_needed) -> set[tuple[str, str]]:
    return {(f"{right.resource}/{right.subresource}".rstrip("/"), right.verb) for right in rights_needed}


def granted(*files: str) -> set[tuple[str, str]]:
    """Resources and verbs of the roles in files of docs/deploy."""
    objects = [obj for name in files for obj in yaml.safe_load_all((FOLDER / name).read_text())]
    return {(resource, verb) for obj in objects for rule in obj.get("rules") or ()
            for resource in rule["resources"] for verb in rule["verbs"]}


@rows(("flags", "files"), [
    ({}, ["10-account.yaml", "19-ingressroutes-status.yaml"]),
    (OWN, ["10-account.yaml", "19-ingressroutes-status.yaml"]),
    ({"f5-static-routes": "true"},
     ["10-account.yaml", "19-ingressroutes-status.yaml", "17-nodes-reader.yaml", "21-pod-networks.yaml"]),
    ({"pool-member-type": "nodeport"},
     ["10-account.yaml", "19-ingressroutes-status.yaml", "17-nodes-reader.yaml"]),
    (LEASE, ["10-account.yaml", "19-ingressroutes-status.yaml", "replicas/10-lease.yaml"]),
])
def test_the_roles_are_enough_and_not_more(flags, files):
    """Each right names the file that grants it."""
    rights_needed = needed(**flags)
    assert used(rights_needed) | OTHER_API | (set() if flags is OWN else CLASSES) == granted(*files)
    for right in rights_needed:
        file = right.fix.split("docs/deploy/")[1]
        assert used([right]) <= granted(file), right


def test_namespaces():
    """One router gets its namespace, another one lists and watches all of them: the role is for both."""
    both = used(needed(namespace="shop")) | used(needed(**{"namespace-labels": "a=b"}))
    assert {right for right in both if right[0] == "namespaces"} == granted("16-namespaces.yaml")


def test_vxlan():
    """openshift-sdn brings the role."""
    sdn = {(right.resource, right.verb, right.required, right.fix) for right in needed(**VXLAN)
           if right.file == cluster.SDN}
    fix = "oc apply -f docs/deploy/15-sdn-reader.yaml"
    assert sdn == {("nodes", "list", True, fix), ("nodes", "watch", True, fix),
                   ("hostsubnets", "list", False, fix), ("hostsubnets", "watch", False, fix),
                   ("clusternetworks", "get", False, fix)}


def test_projects_are_listed_only():
    (right,) = [right for right in needed(**{"project-labels": "a=b"}) if right.resource == "projects"]
    assert (right.verb, "basic-user" in right.fix) == ("list", True)


def test_no_right_on_what_is_not_served():
    absent = needed(lambda source: None if source is ROUTES else ENDPOINTS if source is SLICES else source)
    assert not {right for right in absent if right.resource in ("routes", "endpointslices")}
    assert {right.verb for right in absent if right.resource == "endpoints"} == {"list", "watch"}


@rows(("flags", "absent"), [
    ({"update-status": "false"}, {"routes/status", "ingresses/status"}),
    ({"sources": "routes"}, {"ingresses", "ingressclasses", "ingressroutes", "tlscertificatedelegations"}),
])
def test_no_right_that_no_feature_needs(flags, absent):
    assert not {resource for resource, _ in used(needed(**flags))} & absent


def test_one_namespace():
    """Kinds without namespaces are asked for in the whole cluster."""
    rights_needed = needed(namespace="shop", **{"f5-static-routes": "true"})
    assert {right.namespace for right in rights_needed if right.resource == "services"} == {"shop"}
    assert {right.namespace for right in rights_needed if right.resource == "nodes"} == {""}


def test_words():
    (right,) = [right for right in needed(**LEASE) if right.what.startswith("update")]
    assert right.what == "update leases.coordination.k8s.io f5router in namespace f5router"
    (status,) = [right for right in needed() if right.resource == "routes" and right.subresource]
    assert (status.what, status.instead) == ("patch routes/status.route.openshift.io", "update")
    assert status.fix == f"oc apply -f {SHIPPED}"
