"""The file of front ends while a router runs: removed, replaced, wrong, and changed at a bad moment."""

import json
import os
from dataclasses import replace

import pytest

from f5router.model.front_end_names import front_end_of
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_front_end import ADDRESS, empty, listening, virtual
from tests.feature.test_front_end_life import running_on
from tests.feature.test_front_ends import (
    DEFAULT,
    IN_HTTP,
    IN_HTTPS,
    INSIDE,
    INTERNAL,
    entries,
    hosts,
    labelled,
)
from tests.feature.versions import access, in_turn
from tests.waiting import until

__all__ = ["empty", "running_on"]

ALL = {HTTP, HTTPS, IN_HTTP, IN_HTTPS}


class Mounted:
    """A file as kubelet mounts a ConfigMap: a symbolic link through another one, which is replaced."""

    def __init__(self, folder):
        self._folder, self._number = folder, 0
        self.path = folder / "front-ends.yaml"

    def write(self, *entries: dict) -> dict[str, str]:
        """Replace the content as a whole; returns the flags with it."""
        self._number += 1
        version = self._folder / f"..{self._number}"
        version.mkdir()
        (version / "front-ends.yaml").write_text(json.dumps(entries))
        link = self._folder / "..data_tmp"
        link.symlink_to(version.name)
        os.replace(link, self._folder / "..data")
        if not self.path.is_symlink():
            self.path.symlink_to("..data/front-ends.yaml")
        return {"front_ends": str(self.path)}


@pytest.fixture
def mounted(tmp_path) -> Mounted:
    folder = tmp_path / "mount"
    folder.mkdir()
    return Mounted(folder)


@pytest.fixture
def lab(empty) -> Lab:
    """Two Routes, of which one is on both front ends; files are read ten times a second."""
    empty.timing = replace(empty.timing, files_s=0.1)
    empty.apply(manifests.route("a"),
                labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    return empty


def places(lab) -> dict[str, str]:
    """Destination of each virtual server that answers, by its name."""
    return {name: virtual(lab, name)["destination"].rpartition("/")[2] for name in listening(lab)}


def start(lab, running_on, flags, *, names=ALL, **more):
    router = running_on(lab, **flags, **more)
    router.wait(lambda: listening(lab) == names and lab.admitted("shop", "b").get("status") == "True")
    return router


def test_a_change_through_a_mount(lab, mounted, running_on):
    router = start(lab, running_on, mounted.write(DEFAULT, INTERNAL))
    until(lambda: entries(lab, "b").keys() == {"public", "public-internal"})
    mounted.write(DEFAULT, {**INTERNAL, "f5-vserver-address": "10.0.0.11"})
    router.wait(lambda: places(lab).get(IN_HTTPS) == "10.0.0.11:443")
    assert listening(lab) == ALL
    mounted.write(DEFAULT)
    router.wait(lambda: listening(lab) == {HTTP, HTTPS})
    until(lambda: entries(lab, "b").keys() == {"public"})
    mounted.write(DEFAULT, {**INTERNAL, "f5-vserver-address": "10.0.0.12"})
    router.wait(lambda: places(lab).get(IN_HTTPS) == "10.0.0.12:443")
    until(lambda: entries(lab, "b").keys() == {"public", "public-internal"})


@pytest.mark.parametrize("text", [None, "", "- {name: default", "[]", "- {name: other}", "- name: default"])
def test_a_file_that_cannot_be_used(lab, mounted, running_on, caplog, text):
    """Everything stays; a right one counts again."""
    router = start(lab, running_on, mounted.write(DEFAULT, INTERNAL))
    lab.clear()
    real = mounted.path.resolve()
    if text is None:
        real.unlink()
    else:
        real.write_text(text)
    router.wait(lambda: any("what was read before stays" in str(vars(record)) for record in caplog.records))
    assert listening(lab) == ALL
    assert lab.writes() == []
    mounted.write(DEFAULT)
    router.wait(lambda: listening(lab) == {HTTP, HTTPS})


def test_a_change_while_the_bigip_is_away(lab, mounted, running_on):
    router = start(lab, running_on, mounted.write(DEFAULT, INTERNAL))
    lab.bigip.inject("drop-request", times=None)
    mounted.write(DEFAULT)
    until(lambda: entries(lab, "b").keys() == {"public"})
    mounted.write(DEFAULT, {**INTERNAL, "f5-vserver-address": "10.0.0.12"})
    lab.bigip.clear_faults()
    router.later()
    router.wait(lambda: places(lab).get(IN_HTTPS) == "10.0.0.12:443" and listening(lab) == ALL)
    until(lambda: entries(lab, "b").keys() == {"public", "public-internal"})
    assert lab.bigip.errors == []


def test_entries_that_exchange_addresses(lab, mounted, running_on):
    router = start(lab, running_on, mounted.write(DEFAULT, INTERNAL))
    mounted.write(at(DEFAULT, INSIDE), at(INTERNAL, ADDRESS))
    router.wait(lambda: served(lab) == wanted((INSIDE,), (ADDRESS,)))
    assert hosts(lab, "openshift_secure_routes__internal") == {"b.example.com"}
    router.stop()
    lab.clear()
    assert lab.converge(front_ends=str(mounted.path)) == []
    assert lab.writes() == []


def at(entry: dict, *addresses: str) -> dict:
    return {**entry, "f5-vserver-address": list(addresses)}


def wanted(*addresses: tuple[str, ...]) -> dict[str, str]:
    """Front end by destination. Args: addresses: of the default front end, and of the other one."""
    return {f"{address}:{port}": name for name, each in zip(("", "internal"), addresses, strict=True)
            for address in each for port in (80, 443)}


def served(lab) -> dict[str, str]:
    """Front end whose Rules answer at each destination."""
    return {item.fields["destination"].rpartition("/")[2]: front_end_of(
        virtual(lab, item.path.rpartition("/")[2])["policiesReference"]["items"][0]["fullPath"])
        for item in lab.bigip.items("ltm/virtual") if item.fields.get("enabled")}


THIRD = "10.0.0.11"
PASSED = {
    "an exchange": (((ADDRESS,), (INSIDE,)), ((INSIDE,), (ADDRESS,))),
    "to a new address, from an old one": (((ADDRESS,), (INSIDE,)), ((THIRD,), (ADDRESS,))),
    "the other way": (((ADDRESS,), (INSIDE,)), ((INSIDE,), (THIRD,))),
    "a further address in place of the first": (((ADDRESS, THIRD), (INSIDE,)), ((ADDRESS,), (THIRD,))),
    "a further address": (((ADDRESS,), (INSIDE, THIRD)), ((ADDRESS, THIRD), (INSIDE,))),
    "three in a circle": (((ADDRESS, THIRD), (INSIDE,)), ((INSIDE, ADDRESS), (THIRD,))),
}


@pytest.mark.ends
@in_turn("case", PASSED)
def test_addresses_that_pass_between_front_ends(make_lab, mounted, case, version):
    """Whatever ends the router, no client of one front end gets an answer of another one."""
    lab = make_lab(tmos_version=version, ssh=version < "12")
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"),
              labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    (first, second), after = PASSED[case]
    how = access(lab, version)
    assert lab.converge(**mounted.write(at(DEFAULT, *first), at(INTERNAL, *second)), **how) == []
    before, new = served(lab), wanted(*after)
    flags = {**mounted.write(at(DEFAULT, *after[0]), at(INTERNAL, *after[1])), **how}
    start = lab.bigip.state()
    for _ in lab.each_end(2, **flags):
        assert all(name in (before.get(place), new.get(place)) for place, name in served(lab).items())
        assert lab.converge(**flags) == []
        assert served(lab) == new
        lab.bigip.put_back(start)
