"""The BIG-IP's address in the pod network."""

from ipaddress import IPv4Interface, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost_hostsubnet import gateway

STOCK = (IPv4Network("10.128.0.0/14"),)
SUBNET = IPv4Network("10.131.0.0/23")


@pytest.mark.parametrize(("subnet", "networks", "chosen"), [
    pytest.param("10.131.0.0/23", ["10.128.0.0/14"], "10.131.0.5/14", id="stock"),
    pytest.param("10.131.2.0/23", ["10.128.0.0/14"], "10.131.2.5/14", id="another"),
    pytest.param("10.1.0.64/26", ["10.1.0.0/16"], "10.1.0.69/16", id="within an octet"),
    pytest.param("10.9.0.0/24", ["10.8.0.0/24", "10.9.0.0/16"], "10.9.0.5/16", id="second network"),
    pytest.param("10.1.0.0/29", ["10.1.0.0/16"], "10.1.0.5/16", id="eight addresses"),
    pytest.param("10.1.0.8/30", ["10.1.0.0/16"], "10.1.0.10/16", id="four addresses"),
    pytest.param("10.1.0.0/23", ["10.1.0.0/23"], "10.1.0.5/23", id="the whole network"),
])
def test_choose(subnet, networks, chosen):
    assert gateway.choose(IPv4Network(subnet), map(IPv4Network, networks)) == chosen


@pytest.mark.parametrize(("subnet", "words"), [
    pytest.param("10.128.0.0/31", "too small", id="two addresses"),
    pytest.param("10.128.0.0/32", "too small", id="one address"),
    pytest.param("192.0.2.0/24", "lies in no cluster network (10.128.0.0/14)", id="elsewhere"),
    pytest.param("10.0.0.0/8", "lies in no cluster network", id="larger"),
])
def test_choose_nothing(subnet, words):
    with pytest.raises(gateway.GatewayError) as caught:
        gateway.choose(IPv4Network(subnet), STOCK)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["10.131.0.5/14", "10.131.0.2/14", "10.131.1.254/14"])
def test_no_problem(text):
    assert gateway.problem(text, SUBNET, STOCK) == ""


@pytest.mark.parametrize(("text", "why"), [
    pytest.param("10.131.2.5/14", "10.131.2.5 is not in the HostSubnet's subnet 10.131.0.0/23",
                 id="elsewhere"),
    pytest.param("10.131.0.0/14", "10.131.0.0 is the address of the network 10.131.0.0/23 itself",
                 id="network"),
    pytest.param("10.131.1.255/14", "10.131.1.255 is the broadcast address of 10.131.0.0/23", id="broadcast"),
    pytest.param("10.131.0.1/14", "10.131.0.1 is the address that the SDN uses for a node's own gateway",
                 id="the node's"),
    pytest.param("10.131.0.1/23", "10.131.0.1 is the address that the SDN uses for a node's own gateway",
                 id="the node's, with a wrong mask too"),
    pytest.param("10.131.0.5", "'10.131.0.5' is not an IPv4 address with a mask", id="no mask"),
    pytest.param("10.131.0.5/", "'10.131.0.5/' is not an IPv4 address with a mask", id="empty mask"),
    pytest.param("10.131.0.5/33", "'10.131.0.5/33' is not an IPv4 address with a mask", id="/33"),
    pytest.param("10.131.0.5/255.252.0.0", "'10.131.0.5/255.252.0.0' is not an IPv4 address with a mask",
                 id="dotted"),
    pytest.param("fd00::5/64", "'fd00::5/64' is not an IPv4 address with a mask", id="IPv6"),
    pytest.param("", "'' is not an IPv4 address with a mask", id="empty"),
])
def test_bad_address(text, why):
    """The value to use is the one that the command gateway prints."""
    assert gateway.problem(text, SUBNET, STOCK) == f"{why}: use 10.131.0.5/14"


@pytest.mark.parametrize(("text", "message"), [
    pytest.param("10.131.0.9/23", "/23 is the mask of the HostSubnet, with which the pods of other nodes are "
                 "not on-link; it must be /14, that of the cluster network 10.128.0.0/14: use 10.131.0.9/14, "
                 "not 10.131.0.9/23", id="classic mistake"),
    pytest.param("10.131.0.9/16", "/16 is not the mask of the cluster network 10.128.0.0/14, /14: use "
                 "10.131.0.9/14, not 10.131.0.9/16", id="another"),
])
def test_bad_mask(text, message):
    """A good address is kept in the value to use."""
    assert gateway.problem(text, SUBNET, STOCK) == message


@st.composite
def places(draw):
    """A cluster network and a subnet of it that has room for a gateway."""
    prefix = draw(st.integers(4, 30))
    network = IPv4Network((draw(st.integers(0, 2**32 - 1)), prefix), strict=False)
    length = draw(st.integers(prefix, 30))
    inside = int(network.network_address) + draw(st.integers(0, network.num_addresses - 1))
    return network, IPv4Network((inside, length), strict=False)


@given(places())
def test_what_is_chosen_is_good(place):
    """In the subnet, never its ends nor the node's address, with the cluster's mask, always the same."""
    network, subnet = place
    text = gateway.choose(subnet, [network])
    interface = IPv4Interface(text)
    assert interface.ip in list(subnet.hosts())[1:] if subnet.prefixlen > 20 else interface.ip in subnet
    assert interface.ip - int(subnet.network_address) not in (0, 1)
    assert interface.ip != subnet.broadcast_address
    assert interface.network == network
    assert gateway.problem(text, subnet, [network]) == ""
    assert gateway.choose(subnet, [network]) == text


@given(places(), st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_advice_is_good(place, address, mask):
    """Whatever is wrong with a gateway, the value that the message tells to use is right."""
    network, subnet = place
    message = gateway.problem(str(IPv4Interface((address, mask))), subnet, [network])
    if message:
        advice = message.partition(": use ")[2].partition(",")[0]
        assert gateway.problem(advice, subnet, [network]) == ""
