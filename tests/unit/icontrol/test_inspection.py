"""Licence and clock as devices show them."""

import datetime
import json
from pathlib import Path

from f5router.icontrol import surroundings
from tests.rows import rows
from tests.unit.icontrol.scripted import Answer, connected

CLOCKS = Path(__file__).parents[2] / "recordings/sys/clock"


def stats(**texts: str) -> dict:
    entries = {name: {"description": text} for name, text in texts.items()}
    return {"entries": {"https://localhost/mgmt/tm/sys/x/0": {"nestedStats": {"entries": entries}}}}


@rows("path, time", [
    ("14.1.2.1--get.json", datetime.datetime(2019, 12, 30, 16, 45, 57, tzinfo=datetime.UTC)),
    ("16.0.0--get.json", datetime.datetime(2023, 3, 8, 18, 32, 59, tzinfo=datetime.UTC))])
def test_recorded_clocks(path, time):
    assert surroundings.time_of(json.loads((CLOCKS / path).read_text())) == time


@rows("reply", [{}, stats(fullDate="Mon Jan 1 00:00:00 PST 2018"), stats(other="2019-12-30T16:45:57Z")])
def test_a_clock_of_another_form(reply):
    assert surroundings.time_of(reply) is None


@rows(("reply", "exists", "ends", "sdn"), [
    ({"apiRawValues": {"apiAnonymous": "Can't load license, may not be operational\n"}}, False, None, None),
    (stats(registrationKey="A"), True, None, None),
    (stats(licenseEndDate="2017/06/10"), True, datetime.date(2017, 6, 10), None),
    (stats(licenseEndDate="never"), True, None, None),
    (stats(featureModules='{ "SSL, VE" "SDN Services, VE" }'), True, None, True),
    (stats(featureModules='{ "SSL, VE" }'), True, None, False),
])
def test_licences(reply, exists, ends, sdn):
    licence = surroundings.licence_of(reply)
    assert (licence.exists, licence.ends, licence.has_sdn) == (exists, ends, sdn)


@rows(("reply", "copies"), [
    ({"value": "enable"}, True), ({"value": "disable"}, False), ({}, True), ({"value": None}, True)])
def test_tunnels_that_config_sync_copies(reply, copies):
    """A device that does not show the variable's value copies them, as without the variable."""
    with connected() as (device, client, _):
        device.add(Answer(body=reply), path="/sys/db/iptunnel.configsync")
        assert surroundings.copies_tunnels(client) is copies
