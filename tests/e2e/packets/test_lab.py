"""The laboratory itself, with the BIG-IP's objects made by hand: each object counts, and traffic stays in."""

import errno
import os
import socket

import pytest

from tests.e2e.packets.bigip_host import read_state
from tests.e2e.packets.capture import ETH_P_ARP, ETH_P_IP, VNI_VALID, VXLAN_PORT
from tests.e2e.packets.hosts import CLUSTER, LARGE, NETWORK, UPLINK
from tests.e2e.packets.lab import GATEWAY, RECORDS, TUNNEL, VTEP, Lab, placeholder

PROFILE, DEVICE = "net/tunnels/vxlan/~Common~vxlan-ose", f"net/tunnels/tunnel/~Common~{TUNNEL}"
ELSEWHERE = str(NETWORK[6])


@pytest.fixture
def lab(stack) -> Lab:
    """Two Nodes with two Pods each; the BIG-IP knows nothing of VxLAN."""
    return Lab(stack)


def fill(lab: Lab, **tunnel) -> None:
    """All that a router would make for the laboratory's Nodes."""
    lab.make_tunnel(**tunnel)
    for node in lab.nodes:
        lab.add_record(node.address)


def test_every_pod_is_reached(lab):
    fill(lab)
    lab.expect(lab.pods())
    assert len(lab.pods()) == 4
    assert lab.bigip.download(lab.pods()[0].address) == LARGE


def test_pods_answer_arp_themselves(lab):
    """The MAC addresses in the records are placeholders: those of Pods are learnt, each behind its Node."""
    fill(lab)
    lab.expect(lab.pods())
    for node in lab.nodes:
        for pod in node.pods:
            assert lab.bigip.neighbours()[pod.address] == pod.mac
            assert lab.bigip.learnt(TUNNEL)[pod.mac] == node.address


def test_each_record_opens_the_way_to_its_node(lab):
    lab.make_tunnel()
    lab.expect([])
    assert [node.ask(pod)["pod"] for node in lab.nodes for pod in node.pods] == [
        pod.name for pod in lab.pods()]
    lab.add_record(lab.nodes[1].address)
    lab.expect(lab.nodes[1].pods)


def test_every_property_counts(lab):
    """VNID, port and flooding; and an address that is not hostIP of the ghost HostSubnet."""
    lab.add_internal(ELSEWHERE)
    fill(lab)
    lab.expect(lab.pods())
    for path, name, right, wrong in (
        (PROFILE, "port", VXLAN_PORT, 8472),
        (PROFILE, "floodingType", "multipoint", "none"),
        (DEVICE, "key", 0, 1),
        (DEVICE, "localAddress", VTEP, ELSEWHERE),
    ):
        lab.rest(path, "PATCH", {name: wrong})
        lab.expect([])
        lab.rest(path, "PATCH", {name: right})
        lab.expect(lab.pods())


def test_what_is_not_on_link_has_no_route(lab):
    fill(lab, prefix=23)
    lab.bigip.apply()
    with pytest.raises(OSError, match=os.strerror(errno.ENETUNREACH)):
        lab.bigip.ask(lab.pods()[0].address)


def test_entries_that_are_there_stay(lab):
    """A change of one record is one command; a device that is set up gets none."""
    fill(lab)
    lab.expect(lab.pods())
    assert lab.bigip.apply() == []
    node = lab.add_node()
    lab.add_record(node.address)
    before = lab.bigip.learnt(TUNNEL)
    assert [command.split()[:2] for command in lab.bigip.apply()] == [["fdb", "append"]]
    assert before.items() <= lab.bigip.learnt(TUNNEL).items()
    lab.expect(lab.pods())


def test_what_is_taken_away_goes(lab):
    fill(lab)
    lab.expect(lab.pods())
    lab.rest(f"{RECORDS}/{placeholder(lab.nodes[0].address)}", "DELETE")
    lab.expect(lab.nodes[1].pods)
    assert not {pod.mac for pod in lab.nodes[0].pods} & lab.bigip.learnt(TUNNEL).keys()
    lab.rest(f"net/self/~Common~{GATEWAY}%2F14", "DELETE")
    lab.rest(DEVICE, "DELETE")
    assert lab.bigip.apply() == [f"link del {TUNNEL}"]
    assert lab.bigip.held() == {(UPLINK, f"{VTEP}/{NETWORK.prefixlen}")}


def test_route_domains_are_no_part_of_addresses(lab):
    lab.make_tunnel()
    lab.add_record("192.0.2.11")
    assert [record["endpoint"] for record in lab.rest(RECORDS)["items"]] == ["192.0.2.11%0"]
    assert read_state(lab.rest).endpoints == {(TUNNEL, "192.0.2.11")}


def test_pods_are_spoken_to_in_the_tunnel_only(lab):
    """VNID 0 in both directions, ARP and IPv4 in it, and nothing of the cluster network beside it."""
    fill(lab)
    lab.bigip.apply()
    tap = lab.underlay.tap("bigip")
    assert lab.reached() == {pod.name for pod in lab.pods()}
    frames = list(tap.frames())
    carried = [frame for frame in frames if frame.inner]
    assert {(packet.inner.vni, packet.inner.flags) for packet in carried} == {(0, VNI_VALID)}
    ways = {(packet.source, packet.destination, packet.inner.frame.type) for packet in carried}
    for node in lab.nodes:
        for kind in (ETH_P_ARP, ETH_P_IP):
            assert {(VTEP, node.address, kind), (node.address, VTEP, kind)} <= ways
    inside = {(packet.inner.frame.source, packet.inner.frame.destination) for packet in carried}
    assert {(GATEWAY, pod.address) for pod in lab.pods()} <= inside
    assert not [packet for packet in frames
                if not packet.inner and in_cluster(packet.source, packet.destination)]


def in_cluster(*addresses: str) -> bool:
    network = str(CLUSTER).partition(".")[0] + "."
    return any(address.startswith(network) for address in addresses)


def test_the_machine_itself_has_no_part_in_it(stack):
    before = socket.if_nameindex()
    lab = Lab(stack)
    fill(lab)
    lab.expect(lab.pods())
    assert socket.if_nameindex() == before
    with pytest.raises(OSError, match=r"timed out|unreachable"):
        socket.create_connection((lab.nodes[0].address, 80), timeout=0.2)
