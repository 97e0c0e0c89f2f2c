"""Objects of the administrator that settings put on the router's virtual servers, by the objects there."""

import threading

import pytest

from mocks.bigip import Quirk
from tests import manifests
from tests.feature.test_adopt import state
from tests.feature.test_front_end import FLAGS, HTTP, HTTPS, TWO, empty, listening, profiles, serve, virtual
from tests.feature.test_front_end_life import remove
from tests.feature.test_front_end_placement import changed

__all__ = ["empty"]

HTTP_PROFILE = ("/Common/openshift_http-profile", "all")
TCP_PROFILES = {("/Common/openshift_client-tcp-profile", "clientside"),
                ("/Common/openshift_server-tcp-profile", "serverside")}
OWN = {HTTP_PROFILE, *TCP_PROFILES}
BLANKS = "/Common/Log all requests"


def put_theirs(lab) -> None:
    """Have objects of an administrator on the BIG-IP, of all kinds that its version has."""
    for module in ("asm", "afm"):
        lab.change("PATCH", f"sys/provision/{module}", {"level": "nominal"})
    for name in ("a", "b", "c"):
        text = "when HTTP_REQUEST { }"
        lab.bigip.put_object("ltm/rule", {"name": f"/Common/{name}", "apiAnonymous": text})
    for kind, name in (("ltm/profile/http", "http-theirs"), ("ltm/profile/tcp", "wan"),
                       ("ltm/profile/tcp", "lan"), ("ltm/profile/one-connect", "reuse"),
                       ("security/bot-defense/profile", "bots"), ("security/dos/profile", "floods"),
                       ("security/firewall/policy", "wall"), ("security/firewall/policy", "wall-2"),
                       ("security/log/profile", "log")):
        if lab.bigip.store.version >= lab.bigip.store.kinds[kind].since:
            lab.bigip.put_object(kind, {"name": f"/Common/{name}"})
    lab.bigip.store.put("security/log/profile", (BLANKS,), {})  # as the BIG-IP itself has it


@pytest.fixture
def theirs(empty):
    """A BIG-IP with objects of an administrator."""
    put_theirs(empty)
    return empty


def transport(lab, name=HTTPS) -> set:
    """TCP and HTTP profiles of a virtual server."""
    return {each for each in profiles(virtual(lab, name)) if each[0].endswith(
        ("-tcp-profile", "_http-profile", "http-theirs", "wan", "lan"))}


@pytest.mark.parametrize(("flags", "wanted"), [
    ({"f5_http_profile": "/Common/http-theirs"}, {*TCP_PROFILES, ("/Common/http-theirs", "all")}),
    ({"f5_tcp_profile": "/Common/wan"}, {("/Common/wan", "all"), HTTP_PROFILE}),
    ({"f5_tcp_profile": "/Common/wan,/Common/lan"},
     {("/Common/wan", "clientside"), ("/Common/lan", "serverside"), HTTP_PROFILE}),
])
def test_profiles_in_place_of_the_routers(theirs, flags, wanted):
    """In one request for each virtual server; the router's own are deleted, and come back later."""
    assert serve(theirs) == []
    count = 3 - len(wanted & OWN)
    assert changed(theirs, **flags) == ["PATCH"] * 2 + ["DELETE"] * count
    assert transport(theirs) == transport(theirs, HTTP) == wanted
    assert listening(theirs) == {HTTP, HTTPS}
    assert changed(theirs) == ["POST"] * count + ["PATCH"] * 2
    assert transport(theirs) == OWN


def test_from_an_empty_bigip_with_profiles_of_an_administrator(theirs):
    assert serve(theirs, f5_http_profile="/Common/http-theirs", f5_tcp_profile="/Common/wan") == []
    assert transport(theirs) == {("/Common/http-theirs", "all"), ("/Common/wan", "all")}
    there = theirs.paths("ltm/profile/tcp") | theirs.paths("ltm/profile/http")
    assert not any("openshift_" in path for path in there)


REFERENCES = {
    "f5_irules": "/Common/b,/Common/a", "f5_oneconnect_profile": "/Common/reuse",
    "f5_bot_defense_profile": "/Common/bots", "f5_dos_profile": "/Common/floods",
    "f5_firewall_policy": "/Common/wall", "f5_security_log_profiles": f"/Common/log,{BLANKS}",
}


def shown(lab, name=HTTPS) -> dict:
    """Objects of an administrator on a virtual server."""
    raw = virtual(lab, name)
    return {"rules": [rule for rule in raw.get("rules", ()) if "openshift" not in rule],
            "profiles": sorted(path for path, _ in profiles(raw) if path.rpartition("/")[2] in (
                "reuse", "bots", "floods")),
            "wall": raw.get("fwEnforcedPolicy"),
            "logs": sorted(path.strip('"') for path in raw.get("securityLogProfiles", ()))}


NOTHING = {"rules": [], "profiles": [], "wall": None, "logs": []}
EVERYTHING = {"rules": ["/Common/b", "/Common/a"], "wall": "/Common/wall", "logs": [BLANKS, "/Common/log"],
              "profiles": ["/Common/bots", "/Common/floods", "/Common/reuse"]}


def test_references_come_change_and_go(theirs):
    """In one request for each virtual server, whatever changes; the router's own order stays behind."""
    assert serve(theirs, f5_vserver_address=TWO) == []
    two = {"f5_vserver_address": TWO}
    own = virtual(theirs, HTTPS)["rules"]
    assert changed(theirs, **two, **REFERENCES) == ["PATCH"] * 4
    for name in (HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"):
        assert shown(theirs, name) == EVERYTHING
    assert virtual(theirs, HTTPS)["rules"] == ["/Common/b", "/Common/a", *own]
    assert changed(theirs, **two, **REFERENCES | {"f5_irules": "/Common/a,/Common/c"}) == ["PATCH"] * 4
    assert shown(theirs) == EVERYTHING | {"rules": ["/Common/a", "/Common/c"]}
    assert changed(theirs, **two, f5_firewall_policy="/Common/wall-2") == ["PATCH"] * 4
    assert shown(theirs) == NOTHING | {"wall": "/Common/wall-2"}
    assert changed(theirs, **two) == ["PATCH"] * 4
    assert shown(theirs) == NOTHING
    assert virtual(theirs, HTTPS)["rules"] == own
    assert listening(theirs) == {HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"}


def by_hand(lab) -> None:
    """Put something on the HTTPS virtual server, as an administrator does."""
    rules = virtual(lab, HTTPS)["rules"]
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"rules": ["/Common/c", *rules]})
    lab.change("POST", f"ltm/virtual/~Common~{HTTPS}/profiles", {"name": "/Common/floods"})


def test_what_an_administrator_has_put_there_stays(theirs):
    assert serve(theirs) == []
    by_hand(theirs)
    assert changed(theirs, f5_irules="/Common/a") == ["PATCH"] * 2
    assert shown(theirs) == NOTHING | {"rules": ["/Common/a", "/Common/c"], "profiles": ["/Common/floods"]}
    assert changed(theirs) == ["PATCH"] * 2
    assert shown(theirs) == NOTHING | {"rules": ["/Common/c"], "profiles": ["/Common/floods"]}


@pytest.mark.parametrize("body", [
    {"rules": []}, {"fwEnforcedPolicy": "none"}, {"securityLogProfiles": []},
    {"metadata": [{"name": "f5router", "value": "in service"}]},
])
def test_they_are_repaired(theirs, body):
    assert serve(theirs, **REFERENCES) == []
    theirs.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", body)
    assert theirs.converge(**FLAGS, **REFERENCES) == []
    assert shown(theirs) == EVERYTHING
    assert changed(theirs) == ["PATCH"] * 2
    assert shown(theirs) == NOTHING


def test_each_end_of_the_creation(theirs):
    """No virtual server answers before the administrator's objects are on it."""
    theirs.apply()
    assert serve(theirs) == []
    for item in tuple(theirs.bigip.items("ltm/virtual")):
        theirs.change("DELETE", f"ltm/virtual/{item.path.replace('/', '~')}")
    for _ in theirs.each_end(6, **FLAGS, **REFERENCES):
        assert all(shown(theirs, name) == EVERYTHING for name in listening(theirs))
        assert theirs.converge(**FLAGS, **REFERENCES) == []
        assert shown(theirs) == shown(theirs, HTTP) == EVERYTHING


USED = {"ltm/rule": "a", "ltm/profile/http": "http-theirs", "ltm/profile/tcp": "wan",
        "ltm/profile/one-connect": "reuse", "security/bot-defense/profile": "bots",
        "security/dos/profile": "floods", "security/firewall/policy": "wall", "security/log/profile": "log"}


def test_they_can_be_deleted_once_the_settings_do_not_name_them(theirs):
    flags = {**REFERENCES, "f5_http_profile": "/Common/http-theirs", "f5_tcp_profile": "/Common/wan"}
    assert serve(theirs, **flags) == []
    for kind, name in USED.items():
        with pytest.raises(AssertionError, match="in use by"):
            theirs.change("DELETE", f"{kind}/~Common~{name}")
    assert theirs.converge(**FLAGS) == []
    for kind, name in USED.items():
        theirs.change("DELETE", f"{kind}/~Common~{name}")


@pytest.mark.parametrize("flags", [
    {"f5_irules": "/Common/missing"}, {"f5_http_profile": "/Common/missing"},
    {"f5_tcp_profile": "/Common/wan,/Common/missing"}, {"f5_oneconnect_profile": "/Common/missing"},
    {"f5_firewall_policy": "/Common/missing"}, {"f5_security_log_profiles": "/Common/missing"},
])
def test_an_object_that_is_missing(theirs, flags):
    """Its name is reported, and clients are served as before."""
    assert serve(theirs) == []
    before = {name: virtual(theirs, name) for name in (HTTP, HTTPS)}
    reasons = theirs.converge(**FLAGS, **flags)
    assert any("/Common/missing" in reason for reason in reasons)
    assert listening(theirs) == {HTTP, HTTPS}
    assert {name: virtual(theirs, name)["rules"] for name in before} == {
        name: raw["rules"] for name, raw in before.items()}
    assert transport(theirs) == OWN
    assert [theirs.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]


def test_a_bigip_without_metadata(theirs):
    """Objects of the settings are there; one that they no longer name stays, as nothing shows whose it is."""
    theirs.bigip.store.quirks |= {Quirk.METADATA_UNKNOWN}
    assert serve(theirs, f5_irules="/Common/a") == []
    assert shown(theirs) == NOTHING | {"rules": ["/Common/a"]}
    assert theirs.converge(**FLAGS, f5_irules="/Common/b") == []
    assert shown(theirs) == NOTHING | {"rules": ["/Common/b", "/Common/a"]}
    assert changed(theirs) == []


def test_prepared_virtual_servers_get_none_of_them(lab):
    """They are their administrator's, and serve as before; the refusal says so."""
    lab.apply(manifests.route("a"))
    assert lab.converge() == []
    lab.bigip.put_object("ltm/rule", {"name": "/Common/a", "apiAnonymous": "when HTTP_REQUEST { }"})
    before = {name: virtual(lab, name) for name in (HTTP, HTTPS)}
    reasons = lab.converge(
        f5_vserver_address="10.0.0.1", f5_irules="/Common/a", f5_http_profile="/Common/http",
        f5_vserver_vlans="/Common/external", syslog_address="10.9.9.9")
    assert any("exists, and this router did not create it" in reason for reason in reasons)
    for name, raw in before.items():
        shown = virtual(lab, name)
        assert {key: shown.get(key) for key in ("rules", "vlans", "metadata", "description")} == {
            key: raw.get(key) for key in ("rules", "vlans", "metadata", "description")}
        assert profiles(shown) == profiles(raw)
    assert lab.admitted("shop", "a")["status"] == "True"


def test_uninstall_removes_all_that_the_settings_made(theirs):
    before = state(theirs)
    flags = {**REFERENCES, "f5_http_profile": "/Common/http-theirs", "syslog_address": "10.9.9.9"}
    assert serve(theirs, **flags) == []
    remove(theirs, threading.Event(), **FLAGS, **flags)
    assert state(theirs) == before


def test_each_end_of_a_change(theirs):
    """A virtual server has the old or the new objects, whatever ends the router in between."""
    assert serve(theirs, **REFERENCES) == []
    flags = {"f5_irules": "/Common/c", "f5_http_profile": "/Common/http-theirs",
             "f5_tcp_profile": "/Common/wan"}
    new = NOTHING | {"rules": ["/Common/c"]}
    for _ in theirs.each_end(4, **FLAGS, **flags):
        assert listening(theirs) == {HTTP, HTTPS}
        assert all(shown(theirs, name) in (EVERYTHING, new) for name in (HTTP, HTTPS))
        assert theirs.converge(**FLAGS, **flags) == []
        assert shown(theirs) == shown(theirs, HTTP) == new


@pytest.mark.parametrize("version", ["11.6.0", "12.1.2", "17.1.0"])
def test_profiles_come_and_go_on_each_version(make_lab, version):
    lab = make_lab(tmos_version=version, ssh=True)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    for kind, name in (("ltm/profile/http", "http-theirs"), ("ltm/profile/tcp", "wan")):
        lab.bigip.put_object(kind, {"name": f"/Common/{name}"})
    ssh = {**lab.ssh_flags(), "f5_auth": "basic"} if version < "12" else {}
    assert serve(lab, **ssh) == []
    flags = {"f5_http_profile": "/Common/http-theirs", "f5_tcp_profile": "/Common/wan"}
    for more, wanted in ((flags, {("/Common/http-theirs", "all"), ("/Common/wan", "all")}), ({}, OWN)):
        assert lab.converge(**FLAGS, **ssh, **more) == []
        assert transport(lab) == wanted
        assert listening(lab) == {HTTP, HTTPS}
