"""The network around the router's virtual servers, and their access log, by the objects on the BIG-IP."""

import pytest

from tests import manifests
from tests.feature.test_front_end import FLAGS, HTTP, HTTPS, TWO, empty, listening, profiles, serve, virtual

__all__ = ["empty"]

EXTERNAL, INTERNAL = "/Common/external", "/Common/internal"
SYSLOG = {"syslog_address": "10.9.9.9,10.9.9.8:1514"}
PROFILE = "/Common/openshift_request-log-profile"


def vlans(lab) -> list:
    """VLANs of both virtual servers, and whether they are the only ones."""
    both = [virtual(lab, name) for name in (HTTP, HTTPS)]
    return [(sorted(raw.get("vlans", ())), raw.get("vlansEnabled", False)) for raw in both]


def mirrors(lab) -> list:
    return [virtual(lab, name)["mirror"] for name in (HTTP, HTTPS)]


def changed(lab, **flags: str) -> list[str]:
    """Methods of the writes that a change of settings costs, but for LTM nodes that are used no more.

    A restart then costs none.
    """
    lab.clear()
    assert lab.converge(**FLAGS | flags) == []
    writes = [method for method, path in lab.writes() if "/ltm/" in path and "/ltm/node" not in path]
    lab.clear()
    assert lab.converge(**FLAGS | flags) == []
    assert lab.writes() == []
    return writes


def test_vlans(empty):
    """Set, changed and lifted in place, by one request for each virtual server."""
    assert serve(empty, f5_vserver_vlans=EXTERNAL) == []
    assert vlans(empty) == [([EXTERNAL], True)] * 2
    assert listening(empty) == {HTTP, HTTPS}
    for text, wanted in (("/Common/external,/Common/internal", ([EXTERNAL, INTERNAL], True)),
                         (INTERNAL, ([INTERNAL], True)), ("all", ([], False))):
        assert changed(empty, f5_vserver_vlans=text) == ["PATCH"] * 2
        assert vlans(empty) == [wanted] * 2


def test_a_new_virtual_server_is_on_no_other_vlan(empty):
    """From its creation on: the BIG-IP may have another one for this address elsewhere."""
    empty.bigip.put_object("ltm/virtual", {
        "name": "another", "partition": "Common", "destination": "/Common/203.0.113.10:443",
        "ipProtocol": "tcp", "profiles": ["/Common/tcp"], "vlansEnabled": True, "vlans": [INTERNAL]})
    assert serve(empty, f5_vserver_vlans=EXTERNAL) == []
    assert listening(empty) == {HTTP, HTTPS, "another"}


def test_mirroring(empty):
    assert serve(empty, f5_vserver_mirroring="enabled") == []
    assert mirrors(empty) == ["enabled"] * 2
    assert changed(empty, f5_vserver_mirroring="disabled") == ["PATCH"] * 2
    assert mirrors(empty) == ["disabled"] * 2


def test_what_an_administrator_sets_stays_without_the_settings(empty):
    assert serve(empty) == []
    body = {"vlansEnabled": True, "vlans": [EXTERNAL], "mirror": "enabled"}
    empty.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", body)
    assert changed(empty) == []
    assert changed(empty, max_connections="7") == ["PATCH"] * 2
    assert vlans(empty) == [([], False), ([EXTERNAL], True)]
    assert mirrors(empty) == ["disabled", "enabled"]


def test_it_is_repaired_with_the_settings(empty):
    flags = {"f5_vserver_vlans": EXTERNAL, "f5_vserver_mirroring": "enabled"}
    assert serve(empty, **flags) == []
    empty.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"vlansDisabled": True, "vlans": [EXTERNAL]})
    assert changed(empty, **flags) == ["PATCH"]
    empty.change("PATCH", f"ltm/virtual/~Common~{HTTP}", {"mirror": "disabled"})
    assert changed(empty, **flags) == ["PATCH"]
    assert vlans(empty) == [([EXTERNAL], True)] * 2


def test_a_vlan_that_is_not_there(empty):
    """It stops nothing that serves, and keeps new virtual servers away."""
    reasons = serve(empty, f5_vserver_vlans="/Common/missing")
    assert any("/Common/missing" in reason for reason in reasons)
    assert listening(empty) == set()
    assert serve(empty) == []
    reasons = empty.converge(**FLAGS, f5_vserver_vlans="/Common/missing")
    assert any("/Common/missing" in reason for reason in reasons)
    assert listening(empty) == {HTTP, HTTPS}
    assert vlans(empty) == [([], False)] * 2


def groups(lab) -> dict:
    """Traffic group of each virtual address."""
    return {item.fields["address"]: item.fields["trafficGroup"]
            for item in lab.bigip.items("ltm/virtual-address")}


SECOND = "/Common/traffic-group-2"
LOCAL = "/Common/traffic-group-local-only"


@pytest.fixture
def grouped(empty):
    """A BIG-IP with a second traffic group."""
    empty.bigip.store.unit.traffic_groups = (*empty.bigip.store.unit.traffic_groups, SECOND)
    return empty


def test_traffic_groups(grouped):
    """One request for each address, before clients are answered on it; without the setting, none."""
    assert serve(grouped, f5_vserver_address=TWO) == []
    first, second = sorted(groups(grouped))
    assert set(groups(grouped).values()) == {"/Common/traffic-group-1"}
    two = {"f5_vserver_address": TWO}
    for text in (SECOND, LOCAL):
        assert changed(grouped, **two, f5_vserver_traffic_group=text) == ["PATCH"] * 2
        assert groups(grouped) == {first: text, second: text}
    assert changed(grouped, **two) == []
    assert set(groups(grouped).values()) == {LOCAL}


def test_a_new_address_has_its_traffic_group_before_clients_are_answered(grouped):
    grouped.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    for _ in grouped.each_end(20, **FLAGS, f5_vserver_traffic_group=SECOND):
        assert not listening(grouped) or set(groups(grouped).values()) == {SECOND}


def test_the_traffic_group_is_repaired(grouped):
    """Also when the address comes again with its virtual servers."""
    flags = {"f5_vserver_traffic_group": SECOND}
    assert serve(grouped, **flags) == []
    (address,) = groups(grouped)
    grouped.change("PATCH", f"ltm/virtual-address/~Common~{address}", {"trafficGroup": LOCAL})
    assert changed(grouped, **flags) == ["PATCH"]
    for name in (HTTP, HTTPS):
        grouped.change("DELETE", f"ltm/virtual/~Common~{name}")
    assert groups(grouped) == {}
    assert grouped.converge(**FLAGS, **flags) == []
    assert groups(grouped) == {address: SECOND}
    assert grouped.converge(f5_vserver_address="203.0.113.77", **flags) == []
    assert groups(grouped) == {"203.0.113.77": SECOND}


def test_a_traffic_group_that_is_not_there(empty):
    assert serve(empty) == []
    reasons = empty.converge(**FLAGS, f5_vserver_traffic_group=SECOND)
    assert any(f"Traffic group ({SECOND}) does not exist" in reason for reason in reasons)
    assert listening(empty) == {HTTP, HTTPS}
    assert empty.admitted("shop", "a")["status"] == "True"


def log(lab) -> tuple:
    """Names of log servers, protocol, and end of the template; () without a profile."""
    raw = lab.bigip.get(f"ltm/profile/request-log/{PROFILE.replace('/', '~')}")
    if not raw:
        return ()
    pool = raw["responseLogPool"].replace("/", "~")
    members = {item["name"] for item in lab.bigip.get(f"ltm/pool/{pool}/members")["items"]}
    assert (raw["requestLogging"], raw["responseLogging"]) == ("disabled", "enabled")
    return members, raw["responseLogProtocol"], raw["responseLogTemplate"].rpartition("f5router: ")[2]


def test_the_access_log_comes_changes_and_goes(empty):
    """Its objects are there with the setting only, on every virtual server, and nothing else is touched."""
    assert serve(empty, f5_vserver_address=TWO) == []
    two = {"f5_vserver_address": TWO}
    before = {item.path: profiles(virtual(empty, item.path.rpartition("/")[2]))
              for item in empty.bigip.items("ltm/virtual")}
    assert changed(empty, **two, **SYSLOG, syslog_format="%ci") == ["POST"] * 6
    assert log(empty) == ({"10.9.9.9:514", "10.9.9.8:1514"}, "mds-udp", "$CLIENT_IP")
    assert {path: profiles(virtual(empty, path.rpartition("/")[2])) for path in before} == {
        path: each | {(PROFILE, "all")} for path, each in before.items()}
    assert changed(empty, **two, syslog_address="10.9.9.9", syslog_format="%ci") == ["PATCH"]
    assert changed(empty, **two, syslog_address="tcp@10.9.9.9", syslog_format="%ST") == ["PATCH"]
    assert log(empty) == ({"10.9.9.9:514"}, "mds-tcp", "$HTTP_STATCODE\n")
    assert changed(empty, **two) == ["DELETE"] * 6
    assert log(empty) == ()
    assert {path: profiles(virtual(empty, path.rpartition("/")[2])) for path in before} == before
    assert listening(empty) == {HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"}


@pytest.mark.parametrize(("path", "body"), [
    (f"ltm/profile/request-log/{PROFILE.replace('/', '~')}", {"responseLogging": "disabled"}),
    (f"ltm/profile/request-log/{PROFILE.replace('/', '~')}", {"requestLogging": "enabled"}),
    (f"ltm/profile/request-log/{PROFILE.replace('/', '~')}", {"responseLogTemplate": "x"}),
    ("ltm/pool/~Common~openshift_syslog", {"members": []}),
])
def test_the_access_log_is_repaired(empty, path, body):
    assert serve(empty, **SYSLOG, syslog_format="%ci") == []
    before = log(empty)
    empty.change("PATCH", path, body)
    assert empty.converge(**FLAGS, **SYSLOG, syslog_format="%ci") == []
    assert log(empty) == before


def test_each_end_while_the_access_log_comes_and_goes(empty):
    """The next start completes what is there, or removes the rest of it."""
    assert serve(empty) == []
    for flags in ({**SYSLOG, "syslog_format": "%ci"}, {}):
        for _ in empty.each_end(4, **FLAGS, **flags):
            assert listening(empty) == {HTTP, HTTPS}
            assert empty.converge(**FLAGS, **flags) == []
            assert bool(log(empty)) is bool(flags)
        assert changed(empty, **flags) == []


def test_a_log_profile_of_an_administrator_stays(empty):
    """A virtual server has one such profile: the finding says so, and clients are served."""
    empty.bigip.put_object("ltm/profile/request-log", {"name": "/Common/theirs"})
    assert serve(empty) == []
    empty.change("POST", f"ltm/virtual/~Common~{HTTPS}/profiles", {"name": "/Common/theirs"})
    reasons = empty.converge(**FLAGS, **SYSLOG)
    assert any("duplicate profiles" in reason for reason in reasons)
    assert ("/Common/theirs", "all") in profiles(virtual(empty, HTTPS))
    assert (PROFILE, "all") in profiles(virtual(empty, HTTP))
    assert listening(empty) == {HTTP, HTTPS}
