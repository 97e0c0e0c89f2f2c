"""The SDN master's part, validation of HostSubnets, and the API of the oldest clusters."""

from ipaddress import IPv4Network
from itertools import islice

import pytest

from mocks.kube import FakeKube
from mocks.kube.sdn import ASSIGN, FIXED_VNID, subnets
from tests.waiting import until

from .conftest import Http

GROUP = "/apis/network.openshift.io/v1/hostsubnets"
OAPI = "/oapi/v1/hostsubnets"


def ghost(name: str = "f5", *, host_ip: str = "10.3.89.213", vnid: str | None = "0", **fields) -> dict:
    annotations = {ASSIGN: "true"} | ({} if vnid is None else {FIXED_VNID: vnid})
    return {"metadata": {"name": name, "annotations": annotations}, "host": name, "hostIP": host_ip, **fields}


@pytest.fixture
def sdn():
    with FakeKube(sdn=True, sdn_delay_s=0.02) as server:
        yield server


@pytest.fixture
def sdn_http(sdn):
    client = Http(sdn)
    yield client
    client.session.close()


def given(kube: FakeKube, name: str = "f5", kind: str = "HostSubnet") -> dict:
    """The HostSubnet once it has a subnet."""
    assert kube.wait_for(lambda: (kube.get(kind, None, name) or {}).get("subnet"))
    return kube.get(kind, None, name)


@pytest.mark.parametrize(("network", "host_bits", "first"), [
    pytest.param("10.128.0.0/14", 9, ["10.128.0.0/23", "10.129.0.0/23", "10.130.0.0/23", "10.131.0.0/23",
                                      "10.128.2.0/23"], id="stock"),
    pytest.param("10.1.0.0/16", 8, ["10.1.0.0/24", "10.1.1.0/24", "10.1.2.0/24"], id="whole octets"),
    pytest.param("10.1.0.0/22", 9, ["10.1.0.0/23", "10.1.2.0/23"], id="within an octet"),
])  # fmt: skip
def test_order(network, host_bits, first):
    """Subnets come in the order of OpenShift 3.11."""
    texts = [str(subnet) for subnet in islice(subnets(IPv4Network(network), host_bits), len(first))]
    assert texts == first


def test_order_is_complete():
    networks = list(subnets(IPv4Network("10.128.0.0/14"), 9))
    assert sorted(networks) == list(IPv4Network("10.128.0.0/14").subnets(new_prefix=23))


def test_created_again(sdn, sdn_http):
    """Deleted and created again: new uid, subnet, no assign annotation, VNID kept."""
    stream = sdn_http.watch(GROUP)
    asked = sdn_http("POST", GROUP, json=ghost()).json()
    assert "subnet" not in asked
    events = [next(stream) for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "DELETED", "ADDED"]
    created = events[2]["object"]
    assert created["metadata"]["uid"] != asked["metadata"]["uid"]
    assert created["metadata"]["annotations"] == {FIXED_VNID: "0"}
    assert (created["host"], created["hostIP"], created["subnet"]) == ("f5", "10.3.89.213", "10.128.0.0/23")
    stream.close()


@pytest.mark.parametrize(("vnid", "kept"), [
    pytest.param("0", "0", id="0"),
    pytest.param("16777215", "16777215", id="largest"),
    pytest.param("16777216", None, id="too large"),
    pytest.param("-1", None, id="negative"),
    pytest.param("admin", None, id="a word"),
    pytest.param(None, None, id="none"),
])
def test_vnid(sdn, sdn_http, vnid, kept):
    sdn_http("POST", GROUP, json=ghost(vnid=vnid))
    annotations = given(sdn)["metadata"].get("annotations") or {}
    assert annotations.get(FIXED_VNID) == kept


def test_starts_late(kube, http):
    """It finds the requests that are there already."""
    http("POST", GROUP, json=ghost())
    kube.start_sdn()
    assert given(kube)["subnet"] == "10.128.0.0/23"


def test_subnets_of_others_are_left(sdn, sdn_http):
    """A subnet that a Node has is not given away."""
    sdn.apply({"apiVersion": "network.openshift.io/v1", "kind": "HostSubnet", "metadata": {"name": "node-1"},
               "host": "node-1", "hostIP": "192.0.2.1", "subnet": "10.128.0.0/23"})  # fmt: skip
    sdn_http("POST", GROUP, json=ghost())
    assert given(sdn)["subnet"] == "10.129.0.0/23"


def test_applied_again_moves(sdn, sdn_http):
    """The annotation on an existing one costs it its subnet, which is not given back."""
    sdn_http("POST", GROUP, json=ghost())
    first = given(sdn)
    sdn_http.patch(f"{GROUP}/f5", {"metadata": {"annotations": {ASSIGN: "true"}}})

    def again():
        subnet = sdn.get("HostSubnet", None, "f5")
        return subnet and subnet["metadata"]["uid"] != first["metadata"]["uid"]

    assert sdn.wait_for(again)
    assert given(sdn)["subnet"] == "10.129.0.0/23"
    sdn_http("DELETE", f"{GROUP}/f5")
    until(lambda: sdn.subnets == {"10.128.0.0/23"})


@pytest.mark.parametrize("host_ip", ["127.0.0.1", "10.130.7.1", "172.30.0.1"])
def test_unfit_address(sdn, sdn_http, host_ip):
    """The master deletes it, but creates none for an address that no Node may have."""
    stream = sdn_http.watch(GROUP)
    sdn_http("POST", GROUP, json=ghost(host_ip=host_ip))
    assert [stream.next()[0] for _ in range(2)] == ["ADDED", "DELETED"]
    sdn_http("POST", GROUP, json=ghost("other"))
    given(sdn, "other")
    assert sdn.get("HostSubnet", None, "f5") is None
    stream.close()


def test_found_at_start():
    """Requests that wait when the master starts are served too."""
    kube = FakeKube(sdn=True, sdn_delay_s=0)
    kube.apply({"apiVersion": "network.openshift.io/v1", "kind": "HostSubnet"} | ghost())
    with kube:
        assert given(kube)["subnet"] == "10.128.0.0/23"
        assert kube.get("ClusterNetwork", None, "default")["serviceNetwork"] == "172.30.0.0/16"


def test_no_subnet_left(sdn, sdn_http):
    network = sdn.get("ClusterNetwork", None, "default")
    sdn.apply(network | {"clusterNetworks": [{"CIDR": "10.0.0.0/23", "hostSubnetLength": 9}]})
    sdn_http("POST", GROUP, json=ghost("first"))
    given(sdn, "first")
    stream = sdn_http.watch(GROUP)
    assert stream.next() == ("ADDED", "first")
    sdn_http("POST", GROUP, json=ghost("second", host_ip="10.3.89.214"))
    assert [stream.next() for _ in range(2)] == [("ADDED", "second"), ("DELETED", "second")]
    stream.close()


@pytest.mark.parametrize(("changed", "words"), [
    pytest.param({"host": "other"}, 'must be the same as metadata.name: "f5"', id="host"),
    pytest.param({"metadata": {"name": "f5"}}, "subnet: Invalid value: \"\": field cannot be empty",
                 id="no subnet"),
    pytest.param({"subnet": "10.128.0.0"}, "invalid CIDR address: 10.128.0.0", id="an address"),
    pytest.param({"subnet": "all"}, "invalid CIDR address: all", id="subnet"),
    pytest.param({"hostIP": ""}, "hostIP: Invalid value: \"\": invalid IP address", id="no hostIP"),
    pytest.param({"hostIP": "2001:db8::1"}, None, id="IPv6 passes, as in 3.11"),
])  # fmt: skip
def test_validation(http, changed, words):
    """422 with the API server's words."""
    reply = http("POST", GROUP, json=ghost() | changed)
    assert reply.status_code == (422 if words else 201)
    assert not words or words in reply.json()["message"]


def test_subnet_does_not_change(http):
    http("POST", GROUP, json=ghost() | {"subnet": "10.128.0.0/23"})
    reply = http.patch(f"{GROUP}/f5", {"subnet": "10.128.2.0/23"})
    assert (reply.status_code, "midflight" in reply.json()["message"]) == (422, True)
    assert http("POST", GROUP, json=ghost()).status_code == 409


def test_oapi():
    """On the oldest clusters the kinds are v1 under /oapi/v1, and have no group."""
    with FakeKube(sdn=True, sdn_delay_s=0, network_api="oapi") as kube:
        http = Http(kube)
        assert http.get(GROUP).status_code == 404
        assert "hostsubnets" in [resource["name"] for resource in http.get("/oapi/v1").json()["resources"]]
        assert "hostsubnets" not in [resource["name"] for resource in http.get("/api/v1").json()["resources"]]
        assert http.get("/api/v1/hostsubnets").status_code == 404
        created = http("POST", OAPI, json=ghost() | {"apiVersion": "v1", "kind": "HostSubnet"}).json()
        assert (created["apiVersion"], created["kind"]) == ("v1", "HostSubnet")
        assert given(kube, kind="HostSubnet.oapi")["subnet"] == "10.128.0.0/23"
        assert http.get(f"{OAPI}/f5").json()["subnet"] == "10.128.0.0/23"
        http.session.close()


def test_no_network_api():
    """Another network plug-in: neither the group nor /oapi."""
    with FakeKube(network_api="none", sdn=True) as kube:
        http = Http(kube)
        assert {http.get(path).status_code for path in (GROUP, OAPI, "/oapi/v1")} == {404}
        assert http.get("/apis/route.openshift.io/v1/routes").status_code == 200
        http.session.close()
    with pytest.raises(ValueError, match="'other'"):
        FakeKube(network_api="other")
