"""Looks at the virtual servers while the router runs, and what counts as trouble of one."""

import threading
from dataclasses import replace

from f5router.app import server_watch
from f5router.icontrol.rest.client import Client
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_front_end import FLAGS, empty, listening, serve
from tests.waiting import DEADLINE_S, until

__all__ = ["empty"]

SERVERS = "/mgmt/tm/ltm/virtual"


def seen(lab: Lab, name: str) -> str:
    """Return what a look at a virtual server finds."""
    with Client(lab.config(**FLAGS).bigip) as client:
        trouble = server_watch.look_at(client, f"/Common/{name}")
    return trouble.text if trouble else ""


def test_one_that_is_disabled_on_purpose_is_reported(empty):
    assert serve(empty) == []
    assert seen(empty, HTTPS) == ""
    empty.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"disabled": True})
    assert seen(empty, HTTPS) == f"/Common/{HTTPS} is disabled"
    assert any("disabled" in text for _, _, text in checks(
        doctor(empty, "-o", "json", **FLAGS), "failure", "warning"))


class Watched:
    """A router that runs, and looks at the virtual servers all the time."""

    def __init__(self, lab: Lab):
        lab.timing = replace(lab.timing, servers_s=0.05)
        self._router, self._stop = lab.router(**FLAGS), threading.Event()
        self._thread = threading.Thread(target=self._router.run, args=(self._stop,))
        lab.stack.callback(self._end)
        lab.stack.callback(lab.bigip.release)
        self._thread.start()

    def _end(self) -> None:
        self._stop.set()
        self._thread.join(DEADLINE_S)

    @property
    def troubles(self) -> list[str]:
        return [each.text for each in self._router.monitor.incidents.servers.findings()]


def looks(lab: Lab, name: str = HTTPS) -> int:
    """Return how often a virtual server was looked at."""
    path = f"{SERVERS}/~Common~{name}"
    return sum((entry.method, entry.path) == ("GET", path) and entry.status in (200, 404)
               for entry in list(lab.bigip.log))


def test_one_that_is_being_created_is_not_missing(empty, caplog):
    """Neither before its POST is performed, nor before it is enabled."""
    empty.bigip.inject("hold", method="POST", path=SERVERS)
    empty.bigip.inject("hold", method="PATCH", path=f"{SERVERS}/~Common~{HTTPS}")
    empty.apply(manifests.route("b", host="b.example.com", kind="edge"))
    watched = Watched(empty)
    for held in (1, 2):
        until(lambda held=held: empty.bigip.held == held)
        begun = looks(empty)
        until(lambda begun=begun: looks(empty) >= begun + 3)
        assert watched.troubles == []
        empty.bigip.release()
    until(lambda: listening(empty) == {HTTP, HTTPS})
    assert [record for record in caplog.records if "virtual server answers" in record.getMessage()] == []
    empty.change("DELETE", f"ltm/virtual/~Common~{HTTPS}")
    until(lambda: watched.troubles == [f"/Common/{HTTPS} is not there"])


def test_one_that_is_refused_is_missing(empty):
    empty.bigip.inject("refuse", times=None, method="POST", path=SERVERS, message="01070734:3: not this one")
    watched = Watched(empty)
    until(lambda: watched.troubles == [f"/Common/{name} is not there" for name in (HTTP, HTTPS)])
