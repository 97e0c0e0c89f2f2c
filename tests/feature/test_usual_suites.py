"""Cipher suites of virtual servers that the router creates, where no setting asks for others."""

import pytest

from tests import manifests
from tests.feature.conftest import HTTPS
from tests.feature.test_front_end import (
    ADDRESS,
    DEFAULT,
    FLAGS,
    empty,
    is_complete,
    listening,
    serve,
    virtual,
)
from tests.feature.test_front_ends import flags, labelled
from tests.feature.test_refusals import CERT

__all__ = ["empty", "flags"]

INTERNAL = {"name": "internal", "f5-vserver-address": "10.0.0.10", "labels": "zone=internal"}
ROOT = "/Common/clientssl"
OF_HOSTS = "/Common/openshift_intermediate-routes-parent-client-ssl-profile"
USUAL, STRICTER, BIGIP = "intermediate", "modern", "DEFAULT"


def suites(lab, profile: str) -> str:
    """Name of the cipher suites of a client SSL profile."""
    ciphers = lab.bigip.get(f"ltm/profile/client-ssl/{profile.replace('/', '~')}")["ciphers"]
    return ciphers if ":" not in ciphers else USUAL if "AES128-SHA:" in ciphers else STRICTER


def all_suites(lab) -> set[str]:
    """The suites of the client SSL profiles on the HTTPS virtual server."""
    attached = [item["fullPath"] for item in virtual(lab, HTTPS)["profilesReference"]["items"]]
    known = lab.paths("ltm/profile/client-ssl")
    return {suites(lab, path) for path in attached if path in known}


def change(lab, ciphers: str, group: str = "none", profile: str = ROOT) -> None:
    lab.change("PATCH", f"ltm/profile/client-ssl/{profile.replace('/', '~')}",
               {"ciphers": ciphers, "cipherGroup": group})


def made_before(lab, **settings: str) -> None:
    """Have an installation as an earlier release left it: all profiles have the suites of the BIG-IP."""
    change(lab, "NATIVE")
    lab.apply(manifests.route("c", host="c.example.com", kind="edge", **CERT))
    assert serve(lab, **settings) == []
    for path in lab.paths("ltm/profile/client-ssl"):
        if path == ROOT or "parent" in path:
            change(lab, BIGIP, profile=path)
    assert all_suites(lab) == {BIGIP}
    assert OF_HOSTS not in lab.paths("ltm/profile/client-ssl")


def rests(lab, **settings: str) -> bool:
    """True if a pass with these settings has no fault, and writes nothing."""
    lab.clear()
    return lab.converge(**FLAGS | settings) == [] == lab.writes()


def test_new_ones_have_those_of_openshift(empty):
    """With certificates of Hosts, too; another setting comes and goes."""
    empty.apply(manifests.route("c", host="c.example.com", kind="edge", **CERT))
    assert serve(empty) == []
    assert all_suites(empty) == {USUAL}
    assert rests(empty)
    for settings, wanted in (({"ciphers": "modern"}, STRICTER), ({"ssl_min_version": "TLSv1.2"}, USUAL),
                             ({}, USUAL)):
        assert empty.converge(**FLAGS | settings) == []
        assert all_suites(empty) == {wanted}
        assert rests(empty, **settings)
    empty.clear()
    assert empty.converge() == []
    assert empty.writes() == []


def test_none_answers_with_others(empty):
    """Whatever ends the router, clients never meet the BIG-IP's own suites."""
    empty.apply(manifests.route("c", host="c.example.com", kind="edge", **CERT), manifests.route("a"))
    for _ in empty.each_end(20, **FLAGS):
        assert HTTPS not in listening(empty) or (all_suites(empty) == {USUAL} and is_complete(empty, HTTPS))
        assert empty.converge(**FLAGS) == []
        assert all_suites(empty) == {USUAL}
        assert rests(empty)


def test_an_upgrade_writes_nothing(empty):
    """Clients of virtual servers of an earlier release keep their suites until a setting says which."""
    made_before(empty)
    assert rests(empty)
    empty.change("DELETE", f"ltm/virtual/~Common~{HTTPS}")
    assert empty.converge(**FLAGS) == []
    assert all_suites(empty) == {BIGIP}
    assert empty.converge(**FLAGS, ciphers="intermediate") == []
    assert all_suites(empty) == {USUAL}
    assert empty.converge(**FLAGS) == []
    assert all_suites(empty) == {USUAL}
    assert rests(empty)


def test_an_upgrade_with_other_settings_of_tls(empty):
    """Its profiles have parents, with the suites of the BIG-IP, which they keep."""
    made_before(empty, strict_sni="true", mutual_tls_auth="optional")
    assert rests(empty, strict_sni="true", mutual_tls_auth="optional")
    assert all_suites(empty) == {BIGIP}


@pytest.mark.parametrize(("ciphers", "group"), [("NATIVE", "none"), ("none", "/Common/f5-default")])
def test_suites_that_an_administrator_has_chosen(empty, ciphers, group):
    """For all profiles of the BIG-IP: those of the router have them, too."""
    change(empty, ciphers, group)
    assert serve(empty) == []
    assert all_suites(empty) == {ciphers}
    assert OF_HOSTS not in empty.paths("ltm/profile/client-ssl")
    assert rests(empty)


def test_each_front_end_for_itself(empty, flags):
    """One that an earlier release made keeps its suites, another one is new; both restart without a write."""
    made_before(empty)
    empty.apply(labelled(manifests.route("d", host="d.example.com", kind="edge", **CERT), zone="internal"))
    both = flags({"name": "default", "f5-vserver-address": ADDRESS}, INTERNAL)
    for settings in ({}, {"ssl_min_version": "TLSv1.1"}):
        assert empty.converge(**both, **settings) == []
        assert all_suites(empty) == {BIGIP}
        assert suites(empty, f"{DEFAULT[0]}__internal") == USUAL
        empty.clear()
        assert empty.converge(**both, **settings) == []
        assert empty.writes() == []
