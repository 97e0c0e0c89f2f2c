"""Settings of front ends, and the router that ends at each write: while they come, change, and go, and while
the front ends are created, adopted, given back and removed. Every version of TMOS has a share of the rows.
"""

import itertools
import re
import threading

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_adopt import state
from tests.feature.test_front_end import is_complete, listening, virtual
from tests.feature.test_front_end_life import remove
from tests.feature.test_front_end_references import put_theirs
from tests.feature.test_front_ends import DEFAULT, INTERNAL, flags, labelled
from tests.feature.test_refusals import CERT
from tests.feature.versions import VERSIONS, access, in_turn, step

__all__ = ["flags", "step"]

pytestmark = pytest.mark.ends

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
OLD = tuple(version for version in VERSIONS if version < "14.1")
"""Versions without bot defense profiles."""
PLACES = {"f5-vserver-address": "10.0.0.11", "service-http-port": "8080", "service-https-port": "8443"}


@pytest.fixture
def lab(make_lab, version) -> Lab:
    """Objects of an administrator, and Routes of every kind on two front ends. Args: version: of TMOS."""
    created_lab = make_lab(tmos_version=version, ssh=version < "12")
    created_lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")))
    put_theirs(created_lab)
    created_lab.bigip.store.unit.traffic_groups = (*created_lab.bigip.store.unit.traffic_groups, SECOND)
    for number, kind in enumerate(("", "edge", "passthrough", "reencrypt")):
        certificate = CERT if kind == "edge" else {}
        created_lab.apply(labelled(manifests.route(f"r{number}", host=f"r{number}.example.com", kind=kind,
                                            **certificate), zone="internal"))
    return created_lab


def known(settings: dict[str, str], version: str) -> dict[str, str]:
    """Return the settings that a version of TMOS has."""
    return {name: value for name, value in settings.items()
            if name != "f5-bot-defense-profile" or version not in OLD}


def whole(lab: Lab) -> set[str]:
    """Return what is on the BIG-IP, without numbers that grow."""
    return {re.sub(r'"(vsIndex|generation)": \d+', "", text) for text in state(lab)}


def of_default(lab: Lab) -> set[str]:
    """Return what is on the BIG-IP of the default front end."""
    return {text for text in whole(lab)
            if "__internal" not in text and "openshift_" in text and "pool" not in text}


def check_each_end(lab: Lab, after: dict[str, str], *, every: int = 1, listens: bool = True) -> int:
    """Clients are answered all the time by what is complete, and the next start brings the same as one run.

    Args: every: how many writes are between two ends, after the first two; listens: False if nothing answers
    before.
    Returns: the number of writes.
    """
    start = lab.bigip.state()
    assert lab.converge(**after) == []
    wanted = whole(lab)
    lab.bigip.put_back(start)
    number = 0
    for number in lab.each_end(0, **after):
        if number > 2 and number % every:
            continue
        answering = listening(lab)
        assert answering == {HTTP, HTTPS, *INNER} or not listens
        for name in answering:
            assert is_complete(lab, name) or name in INNER
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


@in_turn("setting", [*ALL, *PROFILES, *PLACES],
         without=[("f5-bot-defense-profile", version) for version in OLD])
def test_each_setting(lab, flags, setting, version, step):
    """It comes to one front end and goes again; the objects of the other one stay as they are."""
    value = {**ALL, **PROFILES, **PLACES}[setting]
    before = {**flags(DEFAULT, INTERNAL), **access(lab, version)}
    assert lab.converge(**before) == []
    others = of_default(lab)
    for entry in ({**INTERNAL, setting: value}, INTERNAL):
        writes = check_each_end(lab, {**flags(DEFAULT, entry), **access(lab, version)}, every=step)
        assert (writes > 0) is (setting not in KEPT or setting in entry)
        assert of_default(lab) == others


OF_ALL = {"enable_compression": "true", "hsts_header": "max-age=1", "disable_cookies": "true",
          "ciphers": "modern", "ssl_min_version": "TLSv1.2"}
"""Settings of all front ends."""
CHANGES = {"all come": ({}, ALL), "all go": (ALL, {}),
           "profiles in place of limits": (ALL, {**AROUND, **OBJECTS, **PROFILES})}


@in_turn("name", CHANGES)
def test_all_settings_of_both(lab, flags, name, version, step):
    """Settings of all front ends change with them."""
    before, after = (known(settings, version) for settings in CHANGES[name])
    basic = access(lab, version)
    assert lab.converge(**flags({**DEFAULT, **before}, {**INTERNAL, **before}), **OF_ALL, **basic) == []
    assert check_each_end(lab, {**flags({**DEFAULT, **after}, {**INTERNAL, **after}), **basic},
                          every=step) > 20


def with_all(flags, lab: Lab, version: str) -> dict[str, str]:
    """Return the flags of two front ends with all settings."""
    settings = known({**AROUND, **OBJECTS, **PROFILES}, version)
    return {**flags({**DEFAULT, **settings}, {**INTERNAL, **settings}), **OF_ALL, **access(lab, version)}


@in_turn("begins", ["with nothing", "with the first"])
def test_each_end_of_the_creation(lab, flags, begins, version, step):
    """None answers before it has the administrator's objects, and those of the first go on answering."""
    everything = with_all(flags, lab, version)
    if begins == "with the first":
        first = {**DEFAULT, **known({**AROUND, **OBJECTS, **PROFILES}, version)}
        assert lab.converge(**everything | flags(first)) == []
    assert check_each_end(lab, with_all(flags, lab, version), every=step, listens=False) > 20


@in_turn("settings", ["with all"])
def test_each_end_of_the_removal(lab, flags, settings, version, step):
    """Each virtual server that answers is complete, and the next run removes the rest."""
    before, everything = whole(lab), with_all(flags, lab, version)
    assert lab.converge(**everything) == []
    start = lab.bigip.state()
    for number in itertools.count(1, step):
        stop, left = threading.Event(), itertools.count(number, -1)

        def look(entry, stop=stop, left=left) -> None:
            for name in listening(lab):
                assert virtual(lab, name)["policiesReference"]["items"]
            if next(left) <= 0:
                stop.set()

        lab.bigip.on_write = look
        remove(lab, stop, **everything)
        lab.bigip.on_write = None
        if not stop.is_set():
            break
        remove(lab, **everything)
        assert whole(lab) == before
        lab.bigip.put_back(start)
    assert number > 10
