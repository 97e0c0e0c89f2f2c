"""FDB and network objects as JSON, and how many requests a change of the FDB costs."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.icontrol.codec import net_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.writers import tunnels
from f5router.model import names
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import Conflict, NotFound, Refused, Unreachable
from f5router.model.net import FDBRecord, SelfIP, Tunnel, VxlanProfile
from f5router.plan.change import CREATE, DELETE, UPDATE, Change

RECORDINGS = Path(__file__).parents[3] / "recordings" / "net"
TUNNEL = "/Common/vxlan5000"
URL = "net/fdb/tunnel/~Common~vxlan5000"


def record(number: int) -> FDBRecord:
    address = f"10.1.{number // 250}.{number % 250 + 1}"
    return FDBRecord(TUNNEL, names.fdb_mac(address), address)


def recorded(path: str):
    return json.loads((RECORDINGS / path).read_text())


@pytest.mark.parametrize("path", ["14.1.4.5--collection.json", "16.1.2--collection.json"])
def test_recorded_records(path):
    """Endpoints lose the %0 that the device adds."""
    raw = net_codec.raw_records(recorded(f"fdb/tunnel/records/{path}"))
    assert raw
    for obj, item in zip(net_codec.decode_records(TUNNEL, raw), raw, strict=True):
        assert item["endpoint"] == f"{obj.endpoint}%0"
        assert net_codec.sendable(item) == {"name": item["name"], "endpoint": item["endpoint"]}


@pytest.mark.parametrize("body", [
    pytest.param({"records": [{"name": "0A:0A:0A:01:01:01", "endpoint": "10.1.1.1%0"}]}, id="in the body"),
    pytest.param({"recordsReference": {"items": [{"name": "0a:0a:0a:01:01:01", "endpoint": "10.1.1.1"}]}},
                 id="sub-collection"),
    pytest.param({"items": [{"name": "0a:0a:0a:01:01:01", "endpoint": "10.1.1.1%2"}]}, id="collection"),
])
def test_forms_of_the_list(body):
    assert net_codec.decode_records(TUNNEL, net_codec.raw_records(body)) == [
        FDBRecord(TUNNEL, "0a:0a:0a:01:01:01", "10.1.1.1")]


def test_recorded_tunnel_and_self():
    tunnel = net_codec.decode_tunnel(recorded("tunnels/tunnel/13.1.0.7--tunnel1.json"))
    assert (tunnel.local_address, tunnel.remote_address, tunnel.mtu) == ("3.3.3.3", "4.4.4.4", 1000)
    plain = net_codec.decode_tunnel(recorded("tunnels/tunnel/14.1.2.1--collection.json")["items"][0])
    assert (plain.local_address, plain.remote_address, plain.key) == ("", "", 0)
    address = net_codec.decode_self(recorded("self/13.0.0--net1.json"))
    assert (address.address, address.allow_service) == ("10.10.10.10/24", ("tcp:80", "udp:53", "gre:0"))
    profile = recorded("tunnels/vxlan/14.1.2.1--collection.json")["items"][0]
    assert net_codec.decode_vxlan(profile) == VxlanProfile("/Common/vxlan", 4789, "multicast")


@pytest.mark.parametrize("folder", ["/Common", "/OpenShift/zone1"])
def test_round_trip(folder):
    """A written object reads as the same value; the self IP's folder goes into partition."""
    tunnel = Tunnel(f"{folder}/vxlan5000", f"{folder}/vxlan-ose", "10.3.89.213")
    address = SelfIP(f"{folder}/10.131.0.5/14", "10.131.0.5/14", tunnel.path)
    for obj, decode in ((tunnel, net_codec.decode_tunnel), (address, net_codec.decode_self),
                        (VxlanProfile(f"{folder}/vxlan-ose"), net_codec.decode_vxlan)):
        body = net_codec.encode(obj)
        assert decode({**body, "fullPath": obj.path}) == obj
    body = net_codec.encode(address)
    assert (body["name"], body["partition"]) == ("10.131.0.5/14", folder)


# --- requests ------------------------------------------------------------------------------


class Device:
    """An FDB behind the client's four verbs; refuses a list that holds a certain endpoint."""

    def __init__(self, *records: dict, poison: str = "", lie: bool = False, expands: bool = True):
        """Args: lie: a record is created, or not deleted, and the answer is 404."""
        self.records = {item["name"]: item for item in records}
        self.poison, self.lie, self.expands, self.calls = poison, lie, expands, []

    def get(self, path, params=None):
        self.calls.append(("GET", path))
        items = list(self.records.values())
        if path == URL:
            return {"recordsReference": {"link": "x", **({"items": items} if self.expands else {})}}
        if path != f"{URL}/records":
            return self.record(path)
        return {"items": items}

    def post(self, path, body):
        self.calls.append(("POST", path))
        if body["name"] in self.records:
            raise Conflict(text="exists", status=409)
        if body["endpoint"] == self.poison:
            raise Refused(text="no", status=400)
        self.records[body["name"]] = body
        if self.lie:
            raise NotFound(text="Object not found", status=404)

    def patch(self, path, body):
        self.calls.append(("PATCH", path))
        if any(item["endpoint"] == self.poison for item in body["records"]):
            raise Refused(text="no", status=400)
        self.records = {item["name"]: item for item in body["records"]}

    def delete(self, path):
        self.calls.append(("DELETE", path))
        item = self.record(path)
        if self.lie:
            raise NotFound(text="gone", status=404)
        del self.records[item["name"]]

    def record(self, path):
        try:
            return self.records[path.rsplit("/", 1)[1]]
        except KeyError:
            raise NotFound(text="gone", status=404) from None

    @property
    def writes(self) -> list[str]:
        return [verb for verb, _ in self.calls if verb != "GET"]


OTHER = {"name": "00:50:56:01:02:03", "endpoint": "10.9.9.9%3", "description": "mine", "generation": 4}


def write(device, changes, version=(14, 1)):
    writer = tunnels.FDBWriter(device)
    writer.update_from(Observation(facts=DeviceFacts(version)))
    return writer.write(changes)


def create(*numbers: int) -> list[Change]:
    return [Change(CREATE, None, record(n)) for n in numbers]


def test_a_list_keeps_others():
    device = Device(OTHER, net_codec.encode_record(record(99)))
    results = write(device, [*create(*range(10)), Change(DELETE, record(99), None)])
    assert {error for _, error in results} == {None}
    assert device.calls == [("GET", URL), ("PATCH", URL)]
    kept = {name: value for name, value in OTHER.items() if name != "generation"}
    assert device.records == {OTHER["name"]: kept, **{record(n).mac: net_codec.encode_record(record(n))
                                                       for n in range(10)}}


def test_a_collection_that_was_not_expanded_is_read():
    """A record that is not read would be lost with the next list."""
    device = Device(OTHER, expands=False)
    write(device, create(*range(10)))
    assert OTHER["name"] in device.records
    assert len(device.records) == 11


@pytest.mark.parametrize(("changes", "version", "writes"), [
    pytest.param(create(1), (14, 1), ["POST"], id="one"),
    pytest.param([Change(DELETE, record(0), None)], (14, 1), ["DELETE"], id="one goes"),
    pytest.param([Change(DELETE, record(7), None)], (14, 1), ["DELETE"], id="one is gone already"),
    pytest.param(create(1, 2, 3, 4), (12, 1), ["POST"] * 4, id="four"),
    pytest.param(create(1, 2, 3, 4, 5), (14, 1), ["PATCH"], id="five"),
    pytest.param(create(1), (12, 0), ["PATCH"], id="one, before the sub-collection"),
    pytest.param([Change(UPDATE, record(0), record(0))], (14, 1), ["PATCH"], id="another endpoint"),
    pytest.param(create(0), (14, 1), ["POST"], id="there already"),
])
def test_writes(changes, version, writes):
    device = Device(net_codec.encode_record(record(0)), OTHER)
    assert {error for _, error in write(device, changes, version)} == {None}
    assert device.writes == writes
    assert OTHER["name"] in device.records


def test_a_false_404():
    """Done, but answered 404: read, not repeated (bigip-behaviour.md B1, B12.12)."""
    device = Device(lie=True)
    assert write(device, create(1)) == [(create(1)[0], None)]
    assert device.writes == ["POST"]


def test_a_false_404_to_a_delete():
    """Not believed while the record is there (bigip-behaviour.md A2.3)."""
    device = Device(net_codec.encode_record(record(0)), lie=True)
    ((_, error),) = write(device, [Change(DELETE, record(0), None)])
    assert isinstance(error, NotFound)


@given(st.integers(5, 40), st.integers(0, 39))
def test_a_refused_list_is_halved(count, bad):
    """Only the culprit fails, and is found in few requests."""
    bad %= count
    device = Device(OTHER, poison=record(bad).endpoint)
    results = write(device, create(*range(count)))
    assert [change.new for change, error in results if error] == [record(bad)]
    assert len(device.records) == count
    assert len(device.writes) <= 14


def test_an_error_of_the_device_is_not_searched_for():
    class Broken(Device):
        def patch(self, path, body):
            self.calls.append(("PATCH", path))
            raise Unreachable(text="lost")

    device = Broken()
    assert len({id(error) for _, error in write(device, create(*range(9)))}) == 1
    assert device.writes == ["PATCH"]


def test_a_true_404():
    """There is no tunnel any more: nothing else is written, the next reading finds out."""
    class Gone(Device):
        def post(self, path, body):
            self.calls.append(("POST", path))
            raise NotFound(text="not found", status=404)

    device = Gone(OTHER)
    ((_, error),) = write(device, create(1))
    assert isinstance(error, NotFound)
    assert device.writes == ["POST"]
