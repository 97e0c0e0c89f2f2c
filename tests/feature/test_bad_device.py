"""A BIG-IP that is wrong in some way: what is said, what goes on, and that it fixes without a restart."""

import logging
import threading
from dataclasses import replace

import pytest

from f5router.app.controller import Controller
from f5router.app.once import converge
from mocks.bigip.listener import Outcome
from tests import manifests, pump
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.running import Running
from tests.feature.test_loop import admitted, pool
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.bare

ONE = identity()
CERT = {"certificate": ONE.certificate, "key": ONE.key}
PODS = {"10.1.1.1:8080", "10.1.1.2:8080"}


def errors(caplog) -> list[str]:
    return [str(vars(r)) for r in caplog.records if r.levelno >= logging.ERROR]


def end_pauses(router: Running) -> None:
    """Let the pauses after a refused login end now."""
    router.lab.later(max(router.lab.timing.refused_login_s, router.lab.timing.login_pause_s))
    router.router.inbox.wake()


def test_a_password_that_is_refused_and_then_accepted(lab, running, caplog):
    """One login in a while, one message, nothing of it in the statuses; then all is served."""
    lab.apply(manifests.route("a"))
    router = running(f5_password="the-new-password")
    router.wait(lambda: errors(caplog))
    lab.apply(manifests.route("b", host="b.com"))
    lab.converge_events(router.router, seen=("shop", "b"))
    (told,) = errors(caplog)
    assert "401" in told
    assert "the-new-password" not in told
    assert sum(entry.path.endswith("/login") for entry in lab.bigip.log) == 1
    router.wait(lambda: lab.pending("a"))
    lab.bigip.add_user(lab.bigip.username, "the-new-password")
    end_pauses(router)
    router.wait(lambda: admitted(lab, "a") == admitted(lab, "b") == "True")


def test_a_device_that_comes_after_the_router(lab, running, caplog):
    lab.apply(manifests.route("a"))
    lab.bigip.stop()
    router = running(retry_s=0)
    router.wait(lambda: errors(caplog))
    assert lab.bigip.address in errors(caplog)[0]
    lab.bigip.start()
    router.wait(lambda: admitted(lab, "a") == "True")


def test_a_device_that_answers_html(lab, running, caplog):
    """As a proxy or a starting Apache does: nothing is believed, nothing written, statuses stay."""
    lab.apply(manifests.route("a"))
    lab.converge()
    lab.clear()
    lab.bigip.inject("html-200", times=None)
    lab.apply(manifests.route("b", host="b.com"))
    router = running(retry_s=0)
    router.wait(lambda: errors(caplog))
    assert "the reply to the login holds no token" in errors(caplog)[0]
    assert lab.writes() == []
    router.wait(lambda: lab.pending("b"))
    assert admitted(lab, "a") == "True"
    lab.bigip.clear_faults()
    router.wait(lambda: admitted(lab, "b") == "True")


@pytest.mark.parametrize("kind", ["redirect", "html-404", "deep-json"])
@pytest.mark.parametrize("where", [
    {"path": "/authn/login"}, {"method": "GET", "path": "/tm/"}, {"method": "POST", "path": "/ltm/pool$"}],
    ids=["login", "read", "write"])
def test_one_odd_reply_after_good_ones(lab, running, caplog, kind, where):
    """It is repeated soon, without the pause after something that is no BIG-IP."""
    lab.timing = replace(lab.timing, refused_login_s=10 * DEADLINE_S)
    lab.apply(manifests.route("a"))
    router = running(f5_resync_interval="1s")
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.bigip.tokens.clear()
    lab.bigip.inject(kind, **where)
    lab.apply(*manifests.service("shop", "two", pods=("10.1.2.1",)),
              manifests.route("b", host="b.com", service="two"))
    router.wait(lambda: admitted(lab, "b") == "True")
    assert "no iControl REST" not in caplog.text


@pytest.mark.parametrize("fault", [
    {"kind": "redirect"}, {"kind": "html-404"}, {"kind": "deep-json"},
    {"kind": "refuse", "status": 403, "message": "Forbidden"},
    {"kind": "refuse", "status": 409, "message": "Conflict"},
], ids=lambda fault: f"{fault['kind']} {fault.get('status', '')}")
@pytest.mark.parametrize("path", ["/authn/login", "/sys/version", "/cm/failover-status", "/sys/folder"])
def test_one_odd_reply_at_the_start(lab, running, fault, path):
    """It delays nothing for long: no pause as after a password that is refused."""
    lab.timing = replace(lab.timing, refused_login_s=10 * DEADLINE_S)
    lab.apply(manifests.route("a"))
    lab.bigip.inject(**fault, path=path)
    router = running()
    router.wait(lambda: admitted(lab, "a") == "True")


class Elsewhere:
    """Answers one request for a path with the JSON of something that is no BIG-IP."""

    def __init__(self, lab, path: str, *, method: str = "GET"):
        self._method, self._path, self.count = method, path, 0
        lab.bigip.intercept = self.answer

    def answer(self, request, perform) -> Outcome:
        outcome = perform()
        if self.count or request.method != self._method or not request.path.endswith(self._path):
            return outcome
        self.count += 1
        return Outcome(replace(outcome.reply, status=200, body=b'{"status": "ok"}'))


@pytest.mark.parametrize("path", [
    "ltm/pool", "ltm/policy", "ltm/virtual/~Common~ose-vserver", "sys/folder/~Common", "cm/device",
    "ltm/data-group/internal"])
def test_a_reading_of_which_something_else_answers_a_part(lab, path):
    """Nothing counts as absent because of it: nothing is written, and no Route loses its status."""
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com", kind="reencrypt", **CERT))
    router = lab.router()
    lab.converge(router)
    lab.clear()
    other = Elsewhere(lab, path)
    router.reconciler.must_read("of the test")
    pump.attempt(router)
    assert other.count == 1
    assert lab.writes() == []
    assert not router.reconciler.reader.reason
    assert admitted(lab, "a") == admitted(lab, "b") == "True"


@pytest.mark.parametrize("path", ["ltm/policy", "ltm/pool", "ltm/data-group/internal", "ltm/rule"])
def test_a_write_that_something_else_answers(lab, caplog, path):
    """Nothing follows from what is in it: the BIG-IP refuses nothing, and all is served."""
    lab.apply(manifests.route("a"))
    other = Elsewhere(lab, path, method="POST")
    router = lab.router()
    lab.converge(router)
    lab.later()
    assert lab.converge(router) == []
    assert other.count == 1
    assert admitted(lab, "a") == "True"
    assert "Configuration error" not in " ".join(str(vars(record)) for record in caplog.records)


def test_a_device_that_restarts_and_forgets(lab, running):
    """Changes that were not saved are gone; the next reading finds out."""
    lab.apply(manifests.route("a"))
    router = running(f5_resync_interval="1s", f5_save_config="false")
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.bigip.restart(lose_unsaved=True)
    router.wait(lambda: pool(lab) == PODS)


@pytest.mark.parametrize("version", ["11.3.0", "10.2.4"])
def test_a_version_that_is_too_old(make_lab, version, caplog):
    """Named once, with what is needed; it is asked again, soon at first."""
    lab = make_lab(tmos_version=version)
    lab.apply(manifests.route("a"))
    router = Running(lab)
    try:
        router.wait(lambda: len(lab.bigip.log) > 3)
    finally:
        router.stop()
    (told,) = errors(caplog)
    assert "11.4" in told
    assert "'retry_in_s': 0.05" in told
    assert lab.pending("a")


def test_a_role_that_does_not_suffice_and_then_does(lab):
    """The message names what could not be written; the status has it; then all is served."""
    lab.bigip.add_user("guest", "guest-password", "guest")
    lab.apply(manifests.route("a"))
    router = lab.router(f5_username="guest", f5_password="guest-password")
    (reason,) = lab.converge(router)
    assert "ltm/pool" in reason
    assert "guest-password" not in reason
    assert pool(lab) == set()
    lab.bigip.add_user("guest", "guest-password", "admin")
    lab.later()
    assert lab.converge(router) == []
    assert admitted(lab, "a") == "True"


def test_a_virtual_server_that_comes_later(make_lab):
    """Found by the running router without an event."""
    lab = make_lab()
    lab.virtuals(https=False)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"),
              manifests.route("b", host="b.com", kind="edge"))
    router = Running(lab)
    try:
        router.wait(lambda: admitted(lab, "a") == "True" and admitted(lab, "b") == "False")
        condition = lab.admitted("shop", "b")
        assert condition["reason"] == "DeviceRejected"
        assert f"virtual server /Common/{HTTPS} does not exist" in condition["message"]
        lab.virtuals(http=False)
        router.wait(lambda: admitted(lab, "b") == "True")
    finally:
        router.stop()


@pytest.mark.parametrize(
    ("blank", "served", "words"),
    [
        pytest.param("f5_https_vserver", {"a"}, "--f5-https-vserver is blank", id="http only"),
        pytest.param("f5_http_vserver", {"b", "c", "d"}, "--f5-http-vserver is blank", id="https only"),
    ],
)
def test_only_one_of_the_virtual_servers(lab, blank, served, words):
    """Routes that need the other are told so, and nothing is written to it."""
    lab.apply(
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge", insecure="Allow", **CERT),
        manifests.route("c", host="c.com", kind="passthrough"),
        manifests.route("d", host="d.com", kind="reencrypt"),
    )
    (reason,) = lab.converge(**{blank: ""})
    states = {name: lab.admitted("shop", name) for name in "abcd"}
    assert {name for name in states if states[name]["status"] == "True"} == served
    for name in set("abcd") - served:
        assert states[name]["reason"] == "DeviceRejected"
        assert words in states[name]["message"]
    missing = sorted(set("abcd") - served)
    routes = ", ".join(f"shop/{name}" for name in missing)
    named = f"Route {routes}" if len(missing) == 1 else f"{len(missing)} Routes ({routes})"
    assert reason.startswith(f"{named}: {words}")
    other = HTTPS if blank == "f5_https_vserver" else HTTP
    assert not [path for _, path in lab.writes() if path.endswith(f"~{other}")]


def test_a_foreign_forwarding_policy_that_goes(lab):
    """Other people's policy stays as long as they want; once it is off, ours goes on."""
    lab.bigip.put_object("ltm/policy", {
        "name": "maintenance", "partition": "Common", "subPath": "Drafts", "controls": ["forwarding"],
        "requires": ["http"], "strategy": "/Common/first-match", "rules": [{"name": "x", "ordinal": 1}]})
    lab.bigip.put_object("ltm/policy", {"command": "publish", "name": "/Common/Drafts/maintenance"})
    lab.bigip.put_object(f"ltm/virtual/~Common~{HTTP}/policies", {"name": "/Common/maintenance"})
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com", kind="edge"))
    router = lab.router()
    (reason,) = lab.converge(router)
    assert HTTP in reason
    assert "openshift_insecure_routes" in reason
    lab.change("DELETE", f"ltm/virtual/~Common~{HTTP}/policies/~Common~maintenance")
    lab.later()
    assert lab.converge(router) == []
    assert admitted(lab, "a") == "True"
    assert lab.bigip.get("ltm/policy/~Common~maintenance")


def test_recovers_when_there_is_a_default_for_sni(make_lab):
    """The message names the profiles among which there is none."""
    lab = make_lab()
    lab.virtuals(profiles=("/Common/tcp", "/Common/http", "/Common/clientssl"))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              manifests.route("a", kind="edge", **CERT), manifests.route("b", host="b.com", kind="edge"))
    router = lab.router()
    (reason,) = lab.converge(router)
    assert f"virtual server /Common/{HTTPS}, profiles: exactly one client SSL profile" in reason
    assert "0 have (/Common/clientssl)" in reason
    assert (admitted(lab, "a"), admitted(lab, "b")) == ("False", "True")
    lab.change("POST", f"ltm/virtual/~Common~{HTTPS}/profiles",
               {"name": "/Common/clientssl-default", "context": "clientside"})
    lab.later()
    assert lab.converge(router) == []
    assert admitted(lab, "a") == "True"


def test_back_off_of_a_refused_object(lab):
    """5 s, then twice as long each time, 5 minutes at most; at once when the Route changes."""
    now = [1000.0]
    lab.bigip.inject("refuse", times=None, method="POST", path="file/ssl-cert", status=400, message="no")
    lab.apply(manifests.route("b", host="b.com", kind="edge", **CERT))
    router = lab.router(clock=lambda: now[0])
    lab.converge(router)
    waits = []
    for _ in range(8):
        due = pump.next_retry(router.reconciler)
        waits.append(due - now[0])
        now[0] = due - 0.1
        lab.clear()
        router.reconcile_once()
        assert lab.writes() == []
        now[0] = due
        router.reconcile_once()
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300]
    lab.bigip.clear_faults()
    two = identity(serial=2)
    lab.apply(manifests.route("b", host="b.com", kind="edge", certificate=two.certificate, key=two.key))
    lab.settle(router)
    assert admitted(lab, "b") == "True"


@pytest.mark.parametrize("work", [Controller.run, converge], ids=["run", "once"])
def test_a_stop_does_not_wait_for_a_device_that_is_away(lab, work):
    """Repeated requests would hold it up for half a minute, longer than a pod has to end."""
    lab.apply(manifests.route("a"))
    lab.bigip.inject("drop-request", times=None, method="GET", path="tm/ltm")
    router = lab.router()
    lab.converge_events(router, seen=("shop", "a"))
    stop = threading.Event()
    router.device.watch_stop(stop, router.inbox.wake)

    def reads() -> int:
        return len([entry for entry in lab.bigip.log if "tm/ltm" in entry.path])

    thread = threading.Thread(target=work, args=(router, stop))
    thread.start()
    until(lambda: reads() > 3)
    stop.set()
    before = reads()
    thread.join(DEADLINE_S)
    assert not thread.is_alive()
    assert reads() <= before + 1
