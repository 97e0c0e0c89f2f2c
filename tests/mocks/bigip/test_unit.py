"""The fake as a unit of a pair, held to recorded replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mocks.bigip import unit

FOLDER = Path(__file__).parents[2] / "recordings"


def recorded(path: str) -> dict[str, Any]:
    return json.loads((FOLDER / path).read_text())


def shape(document: Any) -> Any:
    """The structure of a reply, without versions."""
    if isinstance(document, dict):
        return {key: shape(value) for key, value in document.items() if key not in ("selfLink", "generation")}
    return [shape(item) for item in document] if isinstance(document, list) else document


@pytest.mark.parametrize("version", ["11.6.0", "14.1.2.1"])
def test_failover_status_of_a_device_alone(device, version):
    client = device(version)[1]
    assert shape(client.ok("GET", "cm/failover-status")) == shape(
        recorded(f"cm/failover-status/{version}--get.json"))


@pytest.mark.parametrize("version", ["11.6.0", "14.1.2.1", "16.0.0"])
def test_sync_status_of_a_device_alone(device, version):
    client = device(version)[1]
    assert shape(client.ok("GET", "cm/sync-status")) == shape(recorded(f"cm/sync-status/{version}--get.json"))


@pytest.mark.parametrize("version", ["11.6.0", "14.1.2.1"])
def test_traffic_groups(device, version):
    client = device(version)[1]
    assert shape(client.ok("GET", "cm/traffic-group")) == shape(
        recorded(f"cm/traffic-group/{version}--collection.json"))


def test_statistics_of_a_traffic_group(device):
    client = device("16.0.0")[1]
    document = client.ok("GET", "cm/traffic-group/~Common~traffic-group-1/stats")
    wanted = recorded("cm/traffic-group/16.0.0--stats.json")
    (own,), (theirs,) = document["entries"].values(), wanted["entries"].values()
    assert own["nestedStats"]["entries"].keys() == theirs["nestedStats"]["entries"].keys()
    assert own["nestedStats"]["entries"]["failoverState"] == theirs["nestedStats"]["entries"]["failoverState"]


def test_device_groups(device):
    """The trust group as recorded; that of a pair has the same fields."""
    big, client = device("14.1.2.1")
    trust = recorded("cm/device-group/14.1.2.1--collection.json")["items"][0]
    (alone,) = client.ok("GET", "cm/device-group")["items"]
    assert shape(alone) == shape(trust)
    big.join_group("pair", auto_sync=True)
    pair = client.ok("GET", "cm/device-group/~Common~pair")
    assert pair.keys() == trust.keys()
    assert (pair["type"], pair["autoSync"]) == ("sync-failover", "enabled")
    members = client.ok("GET", "cm/device-group/~Common~pair/devices")["items"]
    assert [member["name"] for member in members] == [unit.HOSTNAME, unit.PEER]
    (_, expanded) = client.ok("GET", "cm/device-group?expandSubcollections=true")["items"]
    assert expanded["devicesReference"]["items"] == members


@pytest.mark.parametrize("version", ["11.6.0", "16.0.0"])
def test_devices_of_a_group(device, version):
    """As recorded on 16.0.0; 11.x has no links beside references."""
    trust = recorded("cm/device-group/16.0.0--collection.json")["items"][0]
    (wanted,) = trust["devicesReference"]["items"]
    if version == "11.6.0":
        del wanted["nameReference"]
    (item,) = device(version)[1].ok("GET", "cm/device-group/~Common~device_trust_group/devices")["items"]
    assert item.keys() == wanted.keys()
    if "nameReference" in wanted:
        path = f"cm/device/~Common~{unit.HOSTNAME}"
        assert item["nameReference"]["link"] == f"https://localhost/mgmt/tm/{path}?ver=16.0.0"


def test_devices(device):
    big, client = device("14.1.2.1")
    wanted = recorded("cm/device/14.1.2.1--collection.json")["items"][0]
    (alone,) = client.ok("GET", "cm/device")["items"]
    assert alone.keys() <= wanted.keys()
    assert (alone["failoverState"], alone["selfDevice"]) == ("active", "true")
    big.join_group("pair")
    big.set_failover("STANDBY")
    own, peer = client.ok("GET", "cm/device")["items"]
    assert [own["failoverState"], peer["failoverState"]] == ["standby", "active"]
    assert [own["selfDevice"], peer["selfDevice"]] == ["true", "false"]


def test_a_standby_takes_writes(device):
    big, client = device("14.1.2.1")
    big.set_failover("STANDBY")
    client.ok("POST", "ltm/pool", {"name": "web", "partition": "Common"})
    assert big.get("ltm/pool/~Common~web")
    assert "standby" in client.ok("GET", "sys/failover")["apiRawValues"]["apiAnonymous"]


def status(client) -> tuple[str, str, list[str]]:
    """Status, colour and details of the sync."""
    (entry,) = client.ok("GET", "cm/sync-status")["entries"].values()
    fields = entry["nestedStats"]["entries"]
    (lines,) = (value["nestedStats"]["entries"].values() for key, value in fields.items() if "details" in key)
    return fields["status"]["description"], fields["color"]["description"], [
        line["nestedStats"]["entries"]["details"]["description"] for line in lines]


def test_the_sync_state_follows_writes(device):
    """In sync; changed here; changed on both: a conflict, which config sync ends to our profit."""
    big, client = device("14.1.2.1")
    big.join_group("pair")
    assert status(client)[:2] == ("In Sync", "green")
    client.ok("POST", "ltm/pool", {"name": "web", "partition": "Common"})
    assert status(client)[:2] == ("Changes Pending", "yellow")
    assert status(client)[2][-1] == f" - Recommended action: Synchronize {unit.HOSTNAME} to group pair"
    big.change_peer()
    assert status(client)[:2] == ("Changes Pending", "red")
    assert f"possible change conflict between {unit.PEER} and {unit.HOSTNAME}" in status(client)[2][1]
    client.ok("POST", "cm", {"command": "run", "utilCmdArgs": "config-sync to-group pair"})
    assert (status(client)[:2], big.unit.overwritten) == (("In Sync", "green"), 1)


def test_auto_sync_leaves_nothing_pending(device):
    big, client = device("14.1.2.1")
    big.join_group("pair", auto_sync=True)
    client.ok("POST", "ltm/pool", {"name": "web", "partition": "Common"})
    assert status(client)[0] == "In Sync"


def test_config_sync_as_recorded(device):
    big, client = device("14.1.2.1")
    big.join_group("GROUP")
    (step,) = recorded("exchanges/config-sync-run.json")
    reply = client.call("POST", step["request"]["path"], step["request"]["body"])
    assert (reply.status_code, reply.json()) == (step["response"]["status"], step["response"]["body"])
    big.join_group("other")
    refusal = recorded("errors/400--config-sync-group-missing.json")
    reply = client.call("POST", refusal["request"]["path"], refusal["request"]["body"])
    assert reply.status_code == refusal["response"]["status"]
    assert reply.json()["message"] == refusal["response"]["body"]["message"]


def test_the_folder_belongs_to_the_group(device):
    """Inherited from the root folder, unless a partition opts out."""
    big, client = device("14.1.2.1")
    big.join_group("pair")
    assert client.ok("GET", "sys/folder/~Common")["deviceGroup"] == "/Common/pair"
    client.ok("POST", "sys/folder", {"name": "/own", "deviceGroup": "none", "inheritedDevicegroup": "false"})
    assert client.ok("GET", "sys/folder/~own")["deviceGroup"] == "none"


def test_unknown_states_are_refused(device):
    big = device("14.1.2.1")[0]
    with pytest.raises(ValueError, match="failover"):
        big.set_failover("ASLEEP")
    with pytest.raises(ValueError, match="sync"):
        big.set_sync("perhaps")
