"""Nodes with networks of pods, and a BIG-IP near them."""

import pytest

from tests import manifests
from tests.feature.sdn import url

FLAGS = {"f5_static_routes": "true"}
N1 = manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",), created="2026-01-01T00:00:01Z")
N2 = manifests.node("n2", "10.3.89.2", cidrs=("10.128.2.0/23",), created="2026-01-01T00:00:02Z")


@pytest.fixture
def near(lab):
    """A BIG-IP in the Nodes' network, and two Nodes."""
    address(lab, "10.3.89.213/24")
    lab.apply(N1, N2)
    return lab


def address(lab, cidr: str, partition: str = "Common") -> None:
    """A self IP."""
    lab.bigip.put_object("net/self", {"name": f"near-{cidr.split('/')[0].replace(':', '-')}", "address": cidr,
                                      "vlan": "/Common/internal", "partition": partition})


def routes(lab, folder: str = "/Common") -> dict[str, str]:
    """Gateways by network, of the routes that are named as ours."""
    ours = [path for path in lab.paths("net/route") if path.startswith(f"{folder}/openshift_pods_")]
    shown = (lab.bigip.get(url("net/route", path)) for path in ours)
    return {item["network"]: item["gw"] for item in shown}


def told(caplog) -> list[tuple[str, str]]:
    """Level and text of what is said of the way to the pods."""
    return [(r.levelname, r.problem) for r in caplog.records if getattr(r, "problem", "")]
