"""A file of front ends that changes while the router runs: what comes, changes and goes, and each crash."""

import json
import logging
from dataclasses import replace

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.running import Running
from tests.feature.test_front_end import ADDRESS, empty, is_complete, listening
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

__all__ = ["empty"]

BOTH, ALL = {HTTP, HTTPS}, {HTTP, HTTPS, IN_HTTP, IN_HTTPS}
LABELLED = labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal")


class Changing:
    """A router that runs, and its file."""

    def __init__(self, lab, path, *front_ends: dict, **flags: str):
        self.lab, self.path = lab, path
        self.write(*front_ends)
        lab.timing = replace(lab.timing, files_s=0.05)
        self.flags = {"front_ends": str(path), **flags}
        lab.apply(manifests.route("a"), LABELLED)
        self.running = Running(lab, **self.flags)
        self.wait(lambda: entries(lab, "a") and len(entries(lab, "b")) == len(front_ends))

    def write(self, *front_ends: dict) -> None:
        self.path.write_text(json.dumps(front_ends))

    def at_rest(self) -> bool:
        return self.running.router.reconciler.is_idle

    def wait(self, condition) -> None:
        self.running.wait(lambda: condition() and self.at_rest())


@pytest.fixture
def started(empty, tmp_path):
    """Start a router with a file of these entries."""
    routers: list[Changing] = []

    def start(*front_ends: dict, **flags: str) -> Changing:
        routers.append(Changing(empty, tmp_path / "front-ends.json", *front_ends, **flags))
        return routers[-1]

    yield start
    for router in routers:
        router.running.stop()


def admitted(lab, name: str) -> dict[str, str]:
    return {router: status for router, (status, _) in entries(lab, name).items()}


def place(lab, name: str) -> str:
    return lab.bigip.get(f"ltm/virtual/~Common~{name}")["destination"]


def test_an_entry_comes_changes_and_goes(started, caplog):
    """With the Routes that it selects, by a label that no entry had before."""
    router = started(DEFAULT)
    caplog.set_level(logging.WARNING)
    lab = router.lab
    assert listening(lab) == BOTH
    lab.clear()
    router.write(DEFAULT, INTERNAL)
    router.wait(lambda: admitted(lab, "b") == {"public": "True", "public-internal": "True"})
    assert listening(lab) == ALL
    assert all(is_complete(lab, name) for name in ALL)
    assert hosts(lab, "openshift_secure_routes__internal") == {"b.example.com"}
    assert not [path for method, path in lab.writes() if path.endswith((f"~{HTTP}", f"~{HTTPS}"))]

    router.write(DEFAULT, {**INTERNAL, "f5-vserver-snat": "none", "router-canonical-hostname": "in.example"})
    router.wait(lambda: entries(lab, "b").get("public-internal") == ("True", "in.example") and lab.bigip.get(
        f"ltm/virtual/~Common~{IN_HTTPS}")["sourceAddressTranslation"]["type"] == "none")

    router.write(DEFAULT, {**INTERNAL, "f5-vserver-address": "10.0.0.11"})
    router.wait(lambda: place(lab, IN_HTTPS) == "/Common/10.0.0.11:443")
    router.wait(lambda: place(lab, IN_HTTP) == "/Common/10.0.0.11:80")
    assert listening(lab) == ALL

    router.write(DEFAULT)
    router.wait(lambda: listening(lab) == BOTH)
    assert admitted(lab, "b") == {"public": "True"}
    router.wait(lambda: not [path for path in lab.paths("ltm/policy") if path.endswith("__internal")])
    lab.clear()
    assert lab.converge(**router.flags) == []
    assert lab.writes() == []
    assert not [each for each in caplog.records if each.getMessage() == "change refused"]


def balanced(lab) -> list[str]:
    """Addresses in the status of the Ingress i."""
    status = (lab.kube.get("Ingress", "shop", "i") or {}).get("status") or {}
    return [entry["ip"] for entry in status.get("loadBalancer", {}).get("ingress", ())]


def test_statuses_are_withdrawn_first(started, empty):
    """Nothing is written before, whatever the API server does: a front end that goes still answers."""
    empty.apply(manifests.ingress_class("f5router"),
                labelled(manifests.ingress("i", ("i.example.com", "/", "web", 8080)), zone="internal"))
    router = started(DEFAULT, INTERNAL, sources="routes,ingress")
    lab, seen = router.lab, []
    router.wait(lambda: balanced(lab) == [ADDRESS, INSIDE])
    assert admitted(lab, "b") == {"public": "True", "public-internal": "True"}

    def look(entry) -> None:
        router.running.wake()
        seen.append((admitted(lab, "b"), balanced(lab)))

    lab.bigip.on_write = look
    lab.kube.inject("503", times=2, method="PUT")
    router.write(DEFAULT)
    router.wait(lambda: listening(lab) == BOTH)
    assert seen[0] == ({"public": "True"}, [ADDRESS])


@pytest.mark.parametrize(("front_ends", "text"), [
    ([DEFAULT, {**INTERNAL, "labels": "in in in"}], "labels: "),
    ([INTERNAL], "no entry is named default"),
    ([{"name": "default"}, INTERNAL], "to set or to leave out its addresses, restart the router"),
    ([DEFAULT, {**INTERNAL, "namespace-labels": "a=b"}], "namespaces are not watched since the start"),
    ([DEFAULT, {**INTERNAL, "name": "inside"}], "is to have the place of /Common/openshift_http__internal"),
])
def test_a_file_that_cannot_be_used_changes_nothing(started, caplog, front_ends, text):
    router = started(DEFAULT, INTERNAL)
    lab = router.lab
    lab.clear()
    with caplog.at_level(logging.WARNING):
        router.write(*front_ends)
        router.running.wait(lambda: any("changed file of front ends" in each.getMessage() and text in str(
            each.__dict__) for each in caplog.records))
    router.wait(lambda: True)
    assert lab.writes() == []
    assert listening(lab) == ALL
    router.write(DEFAULT)
    router.wait(lambda: listening(lab) == BOTH)


@pytest.mark.parametrize(("before", "after"), [
    ([DEFAULT], [DEFAULT, INTERNAL]),
    ([DEFAULT, INTERNAL], [DEFAULT, {**INTERNAL, "f5-vserver-snat": "none", "max-connections": 5}]),
    ([DEFAULT, INTERNAL], [DEFAULT, {**INTERNAL, "f5-vserver-address": "10.0.0.11"}]),
    ([DEFAULT, INTERNAL], [{**DEFAULT, "f5-vserver-address": [ADDRESS, "203.0.113.12"]}, INTERNAL]),
    ([DEFAULT, INTERNAL], [DEFAULT]),
], ids=["comes", "settings", "address", "further address", "goes"])
def test_each_end_of_a_change(started, before, after):
    """A virtual server that answers is complete at each write, and the next start brings the rest."""
    router = started(*before)
    lab, states = router.lab, []
    served = [each["name"] == "internal" for each in (*before, *after)].count(True) == 2

    def look(entry) -> None:
        router.running.wake()
        states.append(lab.bigip.state())
        assert all(is_complete(lab, name) for name in listening(lab))
        assert listening(lab) >= (ALL if served else BOTH)

    lab.bigip.on_write = look
    router.write(*after)
    router.wait(lambda: states and listening(lab) >= (ALL if len(after) > 1 else BOTH))
    router.running.stop()
    lab.bigip.on_write = None
    assert lab.converge(**router.flags) == []
    wanted = {path: lab.bigip.get(f"ltm/virtual/{path.replace('/', '~')}")["destination"]
              for path in lab.paths("ltm/virtual")}
    for state in states:
        lab.bigip.put_back(state)
        assert lab.converge(**router.flags) == []
        assert {path: lab.bigip.get(f"ltm/virtual/{path.replace('/', '~')}")["destination"]
                for path in lab.paths("ltm/virtual")} == wanted
        assert all(is_complete(lab, path.rpartition("/")[2]) for path in wanted)
        assert listening(lab) == {path.rpartition("/")[2] for path in wanted}


def test_facts_of_a_new_front_end_are_those_of_a_reading(empty, tmp_path):
    """A front end that comes while the router runs is built as at a start."""
    inside = {**INTERNAL, "service-http-port": 8080, "f5-vserver-snat": "none",
              "f5-vserver-address": [INSIDE, "10.0.0.11"]}
    path = tmp_path / "front-ends.json"

    def router(*front_ends: dict):
        path.write_text(json.dumps(front_ends))
        return empty.router(front_ends=str(path))

    assert empty.converge(router(DEFAULT)) == []
    started, asked = router(DEFAULT), router(DEFAULT, inside)
    for each in (started, asked):
        each.device.observe()
    started.device.set_front_ends(asked.config.all_front_ends.all)
    assert started.device.facts == asked.device.facts
    assert len(started.device.facts.further) == 4
    moved = {**inside, "service-http-port": 8081, "f5-vserver-snat": "automap"}
    assert empty.converge(router(DEFAULT, inside)) == []
    started, asked = router(DEFAULT, inside), router(DEFAULT, moved)
    for each in (started, asked):
        each.device.observe()
    started.device.set_front_ends(asked.config.all_front_ends.all)
    assert started.device.facts == asked.device.facts
