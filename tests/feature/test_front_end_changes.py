"""Settings of one entry among several front ends that change, and the router that ends at each write."""

import re

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_adopt import state
from tests.feature.test_front_end import empty, is_complete, listening, virtual
from tests.feature.test_front_end_references import theirs
from tests.feature.test_front_ends import DEFAULT, INTERNAL, flags, labelled
from tests.feature.test_refusals import CERT

__all__ = ["empty", "flags", "theirs"]

SECOND = "/Common/traffic-group-2"
INNER = {"openshift_http__internal", "openshift_https__internal"}
LIMITS = {
    "max-connections": "50", "client-fin-timeout": "1s", "default-server-fin-timeout": "1s",
    "default-client-timeout": "40s", "default-server-timeout": "40s", "default-tunnel-timeout": "40s",
    "default-connect-timeout": "4s", "slowloris-timeout": "40s", "slowloris-http-keepalive": "40s",
    "inspect-delay": "40s", "buf-size": "65536", "max-header-count": "100"}
AROUND = {
    "f5-vserver-snat": "none", "f5-vserver-vlans": "/Common/external", "f5-vserver-traffic-group": SECOND,
    "f5-vserver-mirroring": "enabled", "syslog-address": "10.9.9.9"}
OBJECTS = {
    "f5-irules": "/Common/a,/Common/b", "f5-oneconnect-profile": "/Common/reuse",
    "f5-bot-defense-profile": "/Common/bots", "f5-dos-profile": "/Common/floods",
    "f5-firewall-policy": "/Common/wall", "f5-security-log-profiles": "/Common/log"}
PROFILES = {"f5-http-profile": "/Common/http-theirs", "f5-tcp-profile": "/Common/wan,/Common/lan"}
ALL = {**LIMITS, **AROUND, **OBJECTS}
KEPT = {"f5-vserver-vlans", "f5-vserver-traffic-group", "f5-vserver-mirroring"}
"""Settings that stay on the BIG-IP as they are when they are given up."""
PLACES = {"f5-vserver-address": "10.0.0.11", "service-http-port": "8080", "service-https-port": "8443"}


@pytest.fixture
def lab(theirs) -> Lab:
    """Objects of an administrator, and Routes of every kind on two front ends."""
    theirs.bigip.store.unit.traffic_groups = (*theirs.bigip.store.unit.traffic_groups, SECOND)
    for number, kind in enumerate(("", "edge", "passthrough", "reencrypt")):
        certificate = CERT if kind == "edge" else {}
        theirs.apply(labelled(manifests.route(f"r{number}", host=f"r{number}.example.com", kind=kind,
                                              **certificate), zone="internal"))
    return theirs


def whole(lab: Lab) -> set[str]:
    """Return what is on the BIG-IP, without numbers that grow."""
    return {re.sub(r'"(vsIndex|generation)": \d+', "", text) for text in state(lab)}


def of_default(lab: Lab) -> set[str]:
    """Return what is on the BIG-IP of the default front end."""
    return {text for text in whole(lab)
            if "__internal" not in text and "openshift_" in text and "pool" not in text}


def check_each_end(lab: Lab, after: dict[str, str], *, every: int = 1) -> int:
    """Clients are answered all the time by what is complete, and the next start brings the same as one run.

    Args: every: how many writes are between two ends. Returns: the number of writes.
    """
    start = lab.bigip.state()
    assert lab.converge(**after) == []
    wanted = whole(lab)
    lab.bigip.put_back(start)
    number = 0
    for number in lab.each_end(0, **after):
        if number % every:
            continue
        assert listening(lab) == {HTTP, HTTPS, *INNER}
        for name in (HTTP, HTTPS):
            assert is_complete(lab, name)
        for name in INNER:
            assert virtual(lab, name)["policiesReference"]["items"]
        assert lab.converge(**after) == []
        assert whole(lab) == wanted
        lab.clear()
        assert lab.converge(**after) == []
        assert lab.writes() == []
        assert lab.bigip.errors == []
        lab.bigip.put_back(start)
    assert lab.converge(**after) == []
    return number


@pytest.mark.parametrize("setting", [*ALL, *PROFILES, *PLACES])
def test_each_setting(lab, flags, setting):
    """It comes to one front end and goes again; the objects of the other one stay as they are."""
    value = {**ALL, **PROFILES, **PLACES}[setting]
    basic = {"f5_auth": "basic"}  # a BIG-IP has 100 tokens for a user
    before = {**flags(DEFAULT, INTERNAL), **basic}
    assert lab.converge(**before) == []
    others = of_default(lab)
    for entry in ({**INTERNAL, setting: value}, INTERNAL):
        writes = check_each_end(lab, {**flags(DEFAULT, entry), **basic})
        assert (writes > 0) is (setting not in KEPT or setting in entry)
        assert of_default(lab) == others


@pytest.mark.parametrize(("before", "after"), [
    pytest.param({}, ALL, id="all come"), pytest.param(ALL, {}, id="all go"),
    pytest.param(ALL, {**AROUND, **OBJECTS, **PROFILES}, id="profiles in place of limits"),
])
def test_all_settings_of_both(lab, flags, before, after):
    """Settings of all front ends change with them."""
    of_all = {"f5_auth": "basic", "enable_compression": "true", "hsts_header": "max-age=1",
              "disable_cookies": "true", "ciphers": "modern", "ssl_min_version": "TLSv1.2"}
    assert lab.converge(**flags({**DEFAULT, **before}, {**INTERNAL, **before}), **of_all) == []
    assert check_each_end(lab, {**flags({**DEFAULT, **after}, {**INTERNAL, **after}), "f5_auth": "basic"},
                          every=4) > 20
