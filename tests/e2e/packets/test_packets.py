"""The router joins the BIG-IP to the cluster network: proved by HTTP through the tunnel that it made."""

import pytest

from tests.e2e.packets.capture import VNI_VALID
from tests.e2e.packets.cluster import RIGHT, Routed
from tests.e2e.packets.hosts import NETWORK, PORT
from tests.e2e.packets.lab import GATEWAY, SILENCE_S, TUNNEL, VTEP

ELSEWHERE = str(NETWORK[6])


@pytest.fixture
def routed(stack, tmp_path) -> Routed:
    return Routed(stack, tmp_path)


def test_every_pod_is_reached(routed):
    """From an empty BIG-IP, with VNID 0; and what the Route's pool names is what answers."""
    lab = routed.lab
    lab.expect([])
    tap = lab.underlay.tap("bigip")
    routed.serve(lab.nodes)
    routed.start()
    lab.expect(lab.pods())
    routed.expect_records(lab.nodes)
    lab.until(lambda: routed.members() == {f"{pod.address}:{PORT}" for pod in lab.pods()}, "members")
    assert {lab.bigip.ask(name.partition(":")[0])["client"] for name in routed.members()} == {GATEWAY}
    tunnelled = [frame for frame in tap.frames() if frame.inner]
    assert {(packet.inner.vni, packet.inner.flags) for packet in tunnelled} == {(0, VNI_VALID)}
    ends = {node.address for node in lab.nodes}
    assert {packet.source for packet in tunnelled} == {VTEP, *ends}
    assert {packet.destination for packet in tunnelled} == {VTEP, *ends}


def test_an_address_changes(routed):
    """Nodes carry the address in two objects; the old record goes."""
    lab = routed.lab
    routed.start()
    lab.expect(lab.pods())
    moved, other = lab.nodes
    moved.move(str(NETWORK[200]))
    lab.expect(other.pods)
    routed.announce(moved)
    lab.expect(lab.pods())
    routed.expect_records([moved, other])
    assert {lab.bigip.learnt(TUNNEL)[pod.mac] for pod in moved.pods} == {str(NETWORK[200])}


def test_nodes_join_and_leave(routed):
    """One joins, one leaves, one leaves while the router is down: their Pods live on, but are not reached."""
    lab = routed.lab
    routed.start()
    first, second = lab.nodes
    lab.expect(lab.pods())
    third = lab.add_node()
    lab.expect([*first.pods, *second.pods])
    routed.announce(third)
    lab.expect(lab.pods())
    routed.expect_records(lab.nodes)
    routed.forget(first)
    lab.expect([*second.pods, *third.pods])
    routed.expect_records([second, third])
    routed.stop()
    routed.forget(second)
    lab.expect([*second.pods, *third.pods])
    routed.start()
    lab.expect(third.pods)
    routed.expect_records([third])
    assert [node.ask(pod)["pod"] for node in (first, second) for pod in node.pods] == [
        pod.name for node in (first, second) for pod in node.pods]


def test_wrong_settings(routed):
    """The gateway's mask and the internal address: what fails is what is logged, and the advice helps."""
    lab = routed.lab
    lab.add_internal(ELSEWHERE)
    routed.start(gateway=f"{GATEWAY}/23", internal=ELSEWHERE)
    routed.expect_records(lab.nodes)
    lab.until(lambda: (TUNNEL, f"{GATEWAY}/23") in lab.bigip.held(), "self IP")
    with pytest.raises(OSError, match="Network is unreachable"):  # not on-link: there is no route
        lab.bigip.ask(lab.pods()[0].address)
    routed.expect_logged(f"the pods of other Nodes are not reached; set {RIGHT}")
    routed.start(internal=ELSEWHERE)
    lab.until(lambda: lab.bigip.held() >= {(TUNNEL, RIGHT)}, "self IP")
    with pytest.raises(OSError, match=r"timed out|No route to host"):  # on-link, but nobody answers ARP
        lab.bigip.ask(lab.pods()[0].address, SILENCE_S)
    lab.expect([])
    routed.expect_logged(f"no Node accepts its packets; set {VTEP}")
    routed.start()
    lab.expect(lab.pods())
    assert (TUNNEL, f"{GATEWAY}/23") not in lab.bigip.held()
