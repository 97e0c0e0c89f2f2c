"""Limits of the router's virtual servers: set, changed and given up, each by the objects that have them."""

import pytest

from tests.feature.test_front_end import FLAGS, HTTP, HTTPS, empty, listening, serve, virtual

__all__ = ["empty"]

PROFILES = ("ltm/profile/tcp/~Common~openshift_{}-tcp-profile",
            "ltm/profile/http/~Common~openshift_http-profile")
FIN = ("finWaitTimeout", "finWait_2Timeout", "closeWaitTimeout")


def shown(lab) -> tuple:
    """Connection limits, half-closed connections to clients and pods, bytes of headers."""
    tcp = (lab.bigip.get(PROFILES[0].format(side)) for side in ("client", "server"))
    return ([virtual(lab, name)["connectionLimit"] for name in (HTTP, HTTPS)],
            *([profile[name] for name in FIN] for profile in tcp),
            lab.bigip.get(PROFILES[1])["enforcement"]["maxHeaderSize"])


LIMITS = {"max_connections": "50000", "client_fin_timeout": "1s", "default_server_fin_timeout": "2s",
          "buf_size": "32768"}
FACTORY = ([0, 0], [5, 300, 5], [5, 300, 5], 32768)
SET = ([50000, 50000], [1, 1, 1], [2, 2, 2], 24576)


def test_limits_come_and_go(empty):
    """One write for each object, and none that detaches anything."""
    assert serve(empty) == []
    assert shown(empty) == FACTORY
    for flags, wanted in ((LIMITS, SET), ({}, FACTORY)):
        empty.clear()
        assert empty.converge(**FLAGS, **flags) == []
        assert shown(empty) == wanted
        assert {method for method, path in empty.writes() if "/ltm/" in path} == {"PATCH"}
        assert len([path for _, path in empty.writes() if "/ltm/" in path]) == 5
        assert listening(empty) == {HTTP, HTTPS}
        empty.clear()
        assert empty.converge(**FLAGS, **flags) == []
        assert empty.writes() == []


@pytest.mark.parametrize(("path", "body"), [
    (f"ltm/virtual/~Common~{HTTPS}", {"connectionLimit": 7}),
    (PROFILES[0].format("client"), {"finWait_2Timeout": 77}),
    (PROFILES[0].format("server"), {"defaultsFrom": "/Common/tcp-lan-optimized"}),
    (PROFILES[1], {"enforcement": {"maxHeaderSize": 777}}),
])
def test_limits_are_repaired(empty, path, body):
    assert serve(empty, **LIMITS) == []
    empty.change("PATCH", path, body)
    assert empty.converge(**FLAGS, **LIMITS) == []
    assert shown(empty) == SET
    assert empty.bigip.get(PROFILES[0].format("server"))["defaultsFrom"] == "/Common/tcp"


def test_source_address_translation(empty):
    """In place, for both; also back to automap, before the SNAT pool goes."""
    empty.bigip.put_object("ltm/snatpool", {"name": "/Common/clients", "members": ["10.0.0.9"]})
    wanted_of = {"/Common/clients": {"type": "snat", "pool": "/Common/clients"}, "none": {"type": "none"},
                 "automap": {"type": "automap"}}
    for text, wanted in wanted_of.items():
        assert serve(empty, f5_vserver_snat=text) == []
        for name in (HTTP, HTTPS):
            source = virtual(empty, name)["sourceAddressTranslation"]
            assert {key: source[key] for key in ("type", "pool") if key in source} == wanted
        empty.clear()
        assert serve(empty, f5_vserver_snat=text) == []
        assert empty.writes() == []
    empty.change("DELETE", "ltm/snatpool/~Common~clients")


def test_a_snat_pool_that_is_not_there(empty):
    reasons = serve(empty, f5_vserver_snat="/Common/missing")
    assert any("/Common/missing" in reason for reason in reasons)
    assert listening(empty) == set()
