"""decode.py: EndpointSlices and Endpoints."""

import pytest

from f5router.kube.api import decode, fields
from f5router.model.cluster import (
    EndpointPort,
    EndpointSlice,
    Key,
)
from tests.unit.kube import objects


def slice_of(*endpoints, **more):
    return objects.endpoint_slice("web-1") | {"endpoints": list(endpoints)} | more


@pytest.mark.parametrize(("endpoint", "ready"), [
    pytest.param({}, True, id="no conditions"),
    pytest.param({"conditions": {}}, True, id="no condition"),
    pytest.param({"conditions": {"ready": None}}, True, id="nil is ready"),
    pytest.param({"conditions": {"ready": True}}, True, id="ready"),
    pytest.param({"conditions": {"ready": False}}, False, id="not ready"),
    pytest.param({"conditions": {"ready": False, "serving": True, "terminating": True}}, False,
                 id="terminating"),
    pytest.param({"conditions": "odd"}, True, id="odd conditions"),
])
def test_ready(endpoint, ready):
    result = decode.endpoint_slice(slice_of({"addresses": ["10.1.0.1"], **endpoint}))
    assert result.addresses == (frozenset({"10.1.0.1"}) if ready else frozenset())


@pytest.mark.parametrize(("conditions", "draining"), [
    ({"ready": False, "serving": True, "terminating": True}, True),
    ({"ready": False, "serving": False, "terminating": True}, False),
    ({"ready": False, "serving": True, "terminating": False}, False),
    ({"ready": False, "serving": True}, False),
    ({"ready": False, "terminating": True}, False),
    ({"ready": True, "serving": True, "terminating": True}, False),
    ({"ready": False, "serving": "true", "terminating": 1}, False),
])
def test_draining(conditions, draining):
    """A pod that is ending serves as long as it says so; publishNotReadyAddresses makes it ready."""
    result = decode.endpoint_slice(slice_of({"addresses": ["10.1.0.1"], "conditions": conditions}))
    assert result.draining == (frozenset({"10.1.0.1"}) if draining else frozenset())
    assert result.addresses.isdisjoint(result.draining)


def test_an_address_is_not_ready_and_draining():
    leaving = {"ready": False, "serving": True, "terminating": True}
    result = decode.endpoint_slice(slice_of(
        {"addresses": ["10.1.0.1"]}, {"addresses": ["10.1.0.1", "10.1.0.2"], "conditions": leaving}))
    assert (result.addresses, result.draining) == (frozenset({"10.1.0.1"}), frozenset({"10.1.0.2"}))


def test_endpoint_slice():
    """Addresses of all endpoints together; ports sorted, without those that have no number."""
    result = decode.endpoint_slice(slice_of(
        {"addresses": ["10.1.0.2", "10.1.0.1"]}, {"addresses": ["10.1.0.2", 5]}, {"addresses": "odd"}, "odd",
        ports=[{"name": "b", "port": 2, "protocol": "UDP"}, {"port": 1}, {"name": "null", "port": None},
               {"port": 1}, "odd"]))
    assert result == EndpointSlice(
        Key("shop", "web-1"), "web", frozenset({"10.1.0.1", "10.1.0.2"}),
        (EndpointPort("", 1), EndpointPort("b", 2, "UDP")))


def test_placed_slice():
    """Nodes of the ready endpoints beside their addresses; without these, pods that move are no change."""
    def placed(*addresses: str, node: str = "n1", **more) -> dict:
        return {"addresses": list(addresses), "nodeName": node, **more}

    result = decode.endpoint_slice(slice_of(
        placed("10.1.0.1"), placed("10.1.0.2", node="n2", conditions={"ready": False}),
        placed(node="n3"), placed("10.1.0.4", node=5), "odd"), placed=True)
    assert result == EndpointSlice(
        Key("shop", "web-1"), "web", frozenset({"10.1.0.1", "10.1.0.4"}), (EndpointPort("http", 8080),),
        frozenset({"n1", ""}), unready=True)
    other = decode.endpoint_slice(slice_of(
        placed("10.1.0.9"), {"addresses": ["10.1.0.8"]}, placed("10.1.0.7", conditions={"ready": False})),
        placed=True)
    assert other.without_addresses() == result.without_addresses()


@pytest.mark.parametrize("more", [0, 1, 20_000])
def test_many_addresses(more):
    """So many are read; the others are counted."""
    texts = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(decode.MOST_ADDRESSES + more)]
    slice_ = decode.endpoint_slice(slice_of(*({"addresses": [text]} for text in texts)))
    assert (len(slice_.addresses), slice_.omitted) == (decode.MOST_ADDRESSES, more)
    parts = decode.endpoints(objects.endpoints("web", (8080, texts[:7]), (9090, texts[7:])))
    assert [len(slice_.addresses) for slice_ in parts] == [7, decode.MOST_ADDRESSES - 7]
    assert [slice_.omitted for slice_ in parts] == [0, more]


def test_many_subsets():
    """None is read: which ones would count is anybody's guess."""
    obj = objects.endpoints("web", *[(8080, ["10.1.0.1"])] * (decode.MOST_SUBSETS + 1))
    with pytest.raises(fields.DecodeError, match="shop/web: subsets has 1001 entries, at most 1000 are read"):
        decode.endpoints(obj)


def test_placed_endpoints():
    obj = objects.endpoints("web", (8080, ["10.1.0.1", "10.1.0.2"]))
    obj["subsets"][0]["addresses"][0]["nodeName"] = "n1"
    obj["subsets"][0]["notReadyAddresses"] = [{"ip": "10.1.0.9", "nodeName": "n9"}]
    (result,) = decode.endpoints(obj, placed=True)
    assert (result.addresses, result.nodes) == (frozenset({"10.1.0.1", "10.1.0.2"}), frozenset({"n1", ""}))


@pytest.mark.parametrize("more", [
    pytest.param({"addressType": "FQDN"}, id="names instead of addresses"),
    pytest.param({"metadata": {"namespace": "shop", "name": "web-1"}}, id="no label"),
    pytest.param({"metadata": {"namespace": "shop", "name": "web-1", "labels": {decode.SERVICE_LABEL: 5}}},
                 id="odd label"),
])
def test_slice_of_no_service(more):
    assert decode.endpoint_slice(slice_of(**more)) is None


def test_endpoints():
    """One value per subset; addresses that are not ready are left out."""
    obj = objects.endpoints("web", (8080, ["10.1.0.1"]), (9090, []))
    obj["subsets"][1]["notReadyAddresses"] = [{"ip": "10.1.0.9"}]
    assert decode.endpoints(obj) == (
        EndpointSlice(Key("shop", "web/0"), "web", frozenset({"10.1.0.1"}), (EndpointPort("http", 8080),)),
        EndpointSlice(Key("shop", "web/1"), "web", frozenset(), (EndpointPort("http", 9090),),
                      unready=True))


@pytest.mark.parametrize("subsets", [pytest.param(None, id="null"), pytest.param("odd", id="odd")])
def test_endpoints_without_subsets(subsets):
    assert decode.endpoints({"metadata": {"namespace": "shop", "name": "web"}, "subsets": subsets}) == ()
