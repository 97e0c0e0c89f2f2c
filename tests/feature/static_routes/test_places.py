"""Pods outside of every Node's network, or on another Node, are reported, and so is the end of it."""

import pytest

from f5router.model.texts import PODS_NOT_REACHED
from tests import manifests
from tests.feature import sdn
from tests.feature.static_routes.conftest import FLAGS
from tests.feature.test_doctor import checks, doctor


def placed(**pods: str) -> list[dict]:
    """A Service and its pods, by address with "_" for ".", each on a Node."""
    service, slice_ = manifests.service("shop", "web", pods=("10.9.9.9",))
    slice_["endpoints"] = [{"addresses": [address.strip("_").replace("_", ".")], "nodeName": node,
                            "conditions": {"ready": True}} for address, node in pods.items()]
    return [service, slice_]


def events(lab) -> list[str]:
    return [event["message"] for event in lab.kube.list("Event", "shop")
            if event["reason"] == PODS_NOT_REACHED]


def metric(router) -> str:
    page = router.router.monitor.metrics.page("")[0].decode()
    return next(line for line in page.splitlines() if line.startswith("f5router_pods_not_reached "))


@pytest.fixture
def astray(near):
    """One pod on its Node, one on another, one in no network, one with its Node's address."""
    near.apply(*placed(_10_128_0_5="n1", _10_128_2_5="n1", _10_7_7_7="n2", _10_3_89_2="n2"),
               manifests.route("plain"))
    return near


def test_static_routes(astray, running):
    """The Event names them; they stay members; what is fixed is not reported any more."""
    router = running(**FLAGS)
    router.wait(lambda: events(astray))
    (text,) = events(astray)
    assert text == ("spec.to.name: pods of Service web that the BIG-IP may not reach: 10.128.2.5 is on Node "
                    "n1, its way leads to Node n2; 10.7.7.7 is in no Node's network")
    router.wait(lambda: metric(router) == "f5router_pods_not_reached 2.0")
    astray.apply(manifests.node("n2", "10.3.89.2", cidrs=("10.128.2.0/23", "10.7.7.0/24"),
                                created="2026-01-01T00:00:02Z"))
    router.wait(lambda: metric(router) == "f5router_pods_not_reached 1.0")
    astray.apply(placed(_10_128_0_5="n1", _10_128_2_5="n2")[1])
    router.wait(lambda: metric(router) == "f5router_pods_not_reached 0.0")


def test_doctor(astray):
    texts = [text for _, check, text in checks(doctor(astray, "-o", "json", **FLAGS), "warning")
             if check == "way to the pods"]
    (text,) = [text for text in texts if "may not be reached" in text]
    assert text.startswith("2 pods of 1 Services may not be reached: 10.128.2.5 is on Node n1")
    assert "kubectl get pods --all-namespaces -o wide" in text


def test_vxlan(lab, running):
    """The HostSubnet of its Node has a pod's address; without HostSubnets nothing is said."""
    sdn.sdn(lab)
    lab.apply(manifests.host_subnet("n1", "10.3.89.1", "10.128.0.0/23"),
              manifests.host_subnet("n2", "10.3.89.2", "10.128.2.0/23"),
              *placed(_10_128_0_5="n2"), manifests.route("plain"))
    running(**sdn.FLAGS).wait(lambda: events(lab))
    assert "10.128.0.5 is on Node n2, its way leads to Node n1" in events(lab)[0]


def test_without_ways(astray):
    """Nobody knows the BIG-IP's own routes."""
    assert astray.converge() == []
    assert events(astray) == []
