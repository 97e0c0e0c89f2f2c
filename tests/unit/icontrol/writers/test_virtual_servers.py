"""Writer of virtual servers: what somebody else has made since the reading is not touched."""

import pytest

from f5router.icontrol.own_servers import OwnServers
from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import ClientSettings
from f5router.icontrol.writers.virtual_servers import VirtualServerWriter
from f5router.model.errors import Conflict, NotFound, Refused
from f5router.model.ownership import describer
from f5router.model.virtual_server import FrontEnd, Listening, VirtualServer, listeners, profiles
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from mocks.bigip import FakeBigIP

PATH = "/Common/ose-vserver"
USED = frozenset((profile.path, context) for profile, context in profiles("/Common"))
WANTED = VirtualServer(PATH, "203.0.113.10", 80, USED)
CHANGES = [
    Change(CREATE, None, WANTED), Change(UPDATE, WANTED, WANTED), Change(DELETE, WANTED, None),
    Change(CREATE, None, Listening(PATH)), Change(DELETE, Listening(PATH), None),
]


@pytest.fixture
def bigip():
    with FakeBigIP() as started:
        for profile, _ in profiles("/Common"):
            started.put_object(profile.KIND, {"name": profile.path, "defaultsFrom": profile.parent})
        yield started


@pytest.fixture
def writer(bigip):
    settings = ClientSettings(base_url=bigip.url, username=bigip.username, password=bigip.password,
                              verify=bigip.ca_file)
    own = OwnServers(listeners((FrontEnd((WANTED.address,), PATH, None),)))
    with Client(settings) as client:
        yield VirtualServerWriter(client, "/Common", describer("public"), own)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: f"{each.verb} {each.ref.kind}")
def test_one_of_somebody_else_stays_as_it_is(bigip, writer, change):
    bigip.add_virtual(PATH, "10.0.0.1:80", description="managed by f5router public")
    before = bigip.get("ltm/virtual/~Common~ose-vserver")
    ((_, error),) = writer.write([change])
    assert isinstance(error, Refused)
    assert "this router did not create it" in error.text
    assert bigip.get("ltm/virtual/~Common~ose-vserver") == before


@pytest.mark.parametrize(("change", "error"), [
    (CHANGES[1], NotFound), (CHANGES[2], None), (CHANGES[3], NotFound), (CHANGES[4], None),
])
def test_one_that_is_gone(writer, change, error):
    """A delete is done; the others come again after a reading."""
    ((_, raised),) = writer.write([change])
    assert (raised is None) if error is None else isinstance(raised, error)


def test_an_own_one_that_exists_is_corrected(bigip, writer):
    """The reply to an earlier creation was lost, or somebody has changed it since."""
    assert writer.write([CHANGES[0], CHANGES[3]]) == [(CHANGES[0], None), (CHANGES[3], None)]
    right = bigip.get("ltm/virtual/~Common~ose-vserver")
    bigip.request("PATCH", "ltm/virtual/~Common~ose-vserver", {}, {"source": "10.0.0.0/8"})
    assert not isinstance(writer.write([CHANGES[0]])[0][1], Conflict)
    now = bigip.get("ltm/virtual/~Common~ose-vserver")
    assert {name: now[name] for name in ("source", "destination", "metadata", "description", "enabled")} == {
        name: right[name] for name in ("source", "destination", "metadata", "description", "enabled")}


def test_other_metadata_stays(bigip, writer):
    writer.write([CHANGES[0]])
    mine = {"name": "ticket", "value": "42", "persist": "true"}
    there = bigip.get("ltm/virtual/~Common~ose-vserver")["metadata"]
    bigip.request("PATCH", "ltm/virtual/~Common~ose-vserver", {}, {"metadata": [*there, mine]})
    writer.write([CHANGES[3]])
    assert mine in bigip.get("ltm/virtual/~Common~ose-vserver")["metadata"]


def test_one_refusal_keeps_no_other(bigip, writer):
    bigip.add_virtual("/Common/other", "203.0.113.10:80")
    second = Change(CREATE, None, VirtualServer("/Common/second", "203.0.113.11", 80, USED))
    results = writer.write([CHANGES[0], second])
    assert [error is None for _, error in results] == [False, True]
