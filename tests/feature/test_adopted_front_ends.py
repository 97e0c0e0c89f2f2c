"""Adoption of the virtual servers of several front ends: each keeps its own certificate, whatever ends it."""

import json
import threading

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.test_adopted_servers import release, rows, take
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_front_end import listening, profiles, virtual
from tests.feature.test_front_ends import entries, labelled
from tests.feature.versions import VERSIONS, in_turn, step

__all__ = ["step"]

pytestmark = pytest.mark.bare

FIRST = {"name": "default", "f5-vserver-address": "10.0.0.1"}
SECOND = {"name": "internal", "f5-vserver-address": "10.0.0.2", "labels": "zone=internal",
          "f5-http-vserver": "in_http", "f5-https-vserver": "in_https"}
ALL = {HTTP, HTTPS, "in_http", "in_https"}
THEIRS = {HTTPS: "/Common/clientssl-default", "in_https": "/Common/clientssl-inside"}


@pytest.fixture
def version() -> str:
    """The version of TMOS where a test has no other."""
    return VERSIONS[-1]


@pytest.fixture
def prepared(make_lab, version):
    """Two pairs of virtual servers of an administrator, with a certificate each, and two Routes."""
    lab = make_lab(tmos_version=version)
    lab.virtuals()
    lab.bigip.put_object("ltm/profile/client-ssl", {
        "name": THEIRS["in_https"], "defaultsFrom": "/Common/clientssl", "sniDefault": "true"})
    lab.bigip.add_virtual("/Common/in_http", "10.0.0.2:80")
    lab.bigip.add_virtual("/Common/in_https", "10.0.0.2:443",
                          profiles=("/Common/tcp", "/Common/http", THEIRS["in_https"]))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              labelled(manifests.route("a"), zone="internal"),
              labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    return lab


@pytest.fixture
def flags(tmp_path):
    """Write a file with these entries; return the flags with it."""
    def write(*entries: dict) -> dict[str, str]:
        path = tmp_path / "front-ends.json"
        path.write_text(json.dumps(entries))
        return {"front_ends": str(path), "f5_vserver_address": "", "f5_auth": "basic"}

    return write


def shown(lab, name: str) -> set[str]:
    """The administrator's profiles whose certificate a virtual server shows: attached, or as a parent."""
    known = {item.path: item.fields for item in lab.bigip.items("ltm/profile/client-ssl")}
    attached = {path for path, _ in profiles(virtual(lab, name))} & known.keys()
    return {path if path in THEIRS.values() else known[path]["defaultsFrom"] for path in attached}


def test_there_and_back(prepared, flags, capsys):
    both = flags(FIRST, SECOND)
    before = {name: profiles(virtual(prepared, name)) for name in ALL}
    assert take(prepared, dry_run=True, **both) == 0
    printed = capsys.readouterr().out
    assert all(f"taken over    ltm/virtual             /Common/{name} " in printed for name in ALL)
    assert {name: profiles(virtual(prepared, name)) for name in ALL} == before
    assert take(prepared, **both) == 0
    assert entries(prepared, "b").keys() == {"public", "public-internal"}
    prepared.clear()
    assert prepared.converge(**both) == []
    assert prepared.writes() == []
    capsys.readouterr()
    assert release(prepared, dry_run=True, **both) == 0
    assert prepared.writes() == []
    table = {row[:3] for row in rows(capsys.readouterr().out)}
    assert {("given back", "ltm/virtual", f"/Common/{name}") for name in ALL} <= table
    assert ("removed", "ltm/policy", "/Common/openshift_secure_routes__internal") in table
    assert release(prepared, **both) == 0
    assert listening(prepared) == ALL
    assert {virtual(prepared, name).get("description", "") for name in ALL} == {""}
    assert of_second(prepared) == set()
    assert prepared.converge(**flags({**FIRST, "f5-vserver-address": []})) == []
    assert {name: profiles(virtual(prepared, name)) for name in ALL} == before


def of_second(lab) -> set[str]:
    """Return what is left of the further front end on the BIG-IP, and on its virtual servers."""
    kinds = ("ltm/policy", "ltm/rule", "ltm/data-group/internal", "ltm/profile/client-ssl", "ltm/profile/tcp",
             "ltm/profile/http")
    attached = {str(virtual(lab, name)) for name in ("in_http", "in_https")}
    return {path for kind in kinds for path in lab.paths(kind) if path.endswith("__internal")} | {
        text for text in attached if "openshift_" in text or "metadata" in text}


def test_without_the_entry_a_router_gives_them_back(prepared, flags):
    before = {name: profiles(virtual(prepared, name)) for name in ALL}
    assert take(prepared, **flags(FIRST, SECOND)) == 0
    assert prepared.converge(**flags(FIRST)) == []
    assert {name: profiles(virtual(prepared, name)) for name in ("in_http", "in_https")} == {
        name: before[name] for name in ("in_http", "in_https")}
    assert release(prepared, **flags(FIRST)) == 0
    assert prepared.converge(**flags({**FIRST, "f5-vserver-address": []})) == []
    assert {name: profiles(virtual(prepared, name)) for name in ALL} == before


@pytest.mark.ends
@in_turn("command", ["adopt"], without=[("adopt", VERSIONS[0])])
def test_each_end_of_the_command(prepared, flags, command, version, step):
    """Clients see the certificate of their front end all the time, and the command may be repeated."""
    both, start = flags(FIRST, SECOND), prepared.bigip.state()
    for number in range(0, 60, step):
        stop, left, wrong = threading.Event(), [number], []

        def look(entry, stop=stop, left=left, wrong=wrong) -> None:
            wrong += [name for name, path in THEIRS.items() if shown(prepared, name) != {path}]
            left[0] -= 1
            if left[0] < 0:
                stop.set()

        prepared.bigip.on_write = look
        ended = take(prepared, stop=stop, **both)
        assert take(prepared, **both) == 0
        prepared.bigip.on_write = None
        assert wrong == []
        assert listening(prepared) == ALL
        prepared.clear()
        assert prepared.converge(**both) == []
        assert prepared.writes() == []
        prepared.bigip.put_back(start)
        if not stop.is_set():  # all of its writes are made, and may be even if the stop comes: it may be late
            assert ended == 0
            break
    assert number > 20


@pytest.mark.ends
@in_turn("command", ["adopt --release"], without=[("adopt --release", VERSIONS[0])])
def test_each_end_of_the_release(prepared, flags, command, version, step):
    """Clients see the certificate of their front end all the time, and the command may be repeated."""
    both, ends = flags(FIRST, SECOND), []
    before = {name: profiles(virtual(prepared, name)) for name in ALL}
    assert take(prepared, **both) == 0
    start, routes = prepared.bigip.state(), prepared.routes()
    prepared.bigip.on_write = lambda _: ends.append(prepared.bigip.state())
    assert release(prepared, **both) == 0
    prepared.bigip.on_write = None
    assert len(ends) > 30
    for end in (start, *ends[::step], ends[-1]):
        prepared.apply(*routes)
        prepared.bigip.put_back(end)
        assert listening(prepared) == ALL
        assert all(shown(prepared, name) == {path} for name, path in THEIRS.items())
        assert release(prepared, **both) == 0
        assert prepared.converge(**flags({**FIRST, "f5-vserver-address": []})) == []
        assert of_second(prepared) == set()
        assert {name: profiles(virtual(prepared, name)) for name in ALL} == before
        flags(FIRST, SECOND)


def test_the_first_stays_its_administrators(prepared, flags):
    """Only the further front end is the router's; doctor looks at its address."""
    entry = {**FIRST, "f5-vserver-address": []}
    assert take(prepared, **flags(entry, SECOND)) == 0
    assert "managed by f5router" in virtual(prepared, "in_https")["description"]
    assert "managed by f5router" not in virtual(prepared, HTTPS).get("description", "")
    prepared.bigip.put_object("net/self", {"name": "/Common/self", "address": "192.0.2.1/24",
                                           "vlan": "/Common/internal"})
    told = checks(doctor(prepared, "-o", "json", **flags(entry, SECOND)), "warning")
    assert any("10.0.0.2 is in no network of a self IP" in text for _, _, text in told)
