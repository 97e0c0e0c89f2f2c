"""`run --once` exits 1 where the BIG-IP refused anything, needed by a Route or not: one line a cause."""

import threading
from dataclasses import replace

import pytest

from f5router.app import launch
from tests import manifests
from tests.feature.conftest import HTTPS

pytestmark = pytest.mark.bare

NO = "01070151:3: the device does not like it"


def exit_status(lab, **flags: str) -> int:
    """Run the command, and return its exit status."""
    return launch.run(lab.config(**flags), once=True, stop=threading.Event(), timing=lab.timing)


def reasons(caplog) -> list[str]:
    """Reasons in the log."""
    return [record.reason for record in caplog.records if record.message == "not converged"]


@pytest.mark.parametrize(("method", "path", "words"), [
    pytest.param("POST", "ltm/rule$", "ltm/rule /Common/openshift_", id="an iRule"),
    pytest.param("POST", "ltm/policy$", "ltm/policy /Common/openshift_", id="a policy"),
    pytest.param("POST", "data-group/internal$", "ltm/data-group/internal /Common/", id="a data-group"),
    pytest.param("PATCH", f"ltm/virtual/~Common~{HTTPS}$", f"ltm/virtual/attachment /Common/{HTTPS}/",
                 id="an attachment"),
])
def test_a_refused_object_that_no_route_needs(lab, caplog, method, path, words):
    """The object and the device's words; one line, however many objects have this cause."""
    lab.bigip.inject("refuse", times=None, method=method, path=path, status=400, message=NO)
    assert exit_status(lab) == 1
    (reason,) = reasons(caplog)
    assert words in reason
    assert NO in reason
    assert not reason.startswith("Route")
    lab.bigip.clear_faults()
    assert exit_status(lab) == 0


def test_a_cause_is_told_once(make_lab, caplog):
    """The http profile that is missing: six attachments and every Route on port 443 have the same cause."""
    lab = make_lab()
    lab.virtuals(profiles=("/Common/tcp", "/Common/clientssl-default"))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              *(manifests.route(f"r{n}", host=f"{n}.com", kind="edge") for n in range(5)))
    assert exit_status(lab) == 1
    (reason,) = reasons(caplog)
    assert reason.startswith("5 Routes (shop/r0, shop/r1, shop/r2 and 2 more): ltm/virtual/attachment ")
    assert reason.count("http profile is missing") == 1


def test_no_virtual_server_and_no_route(make_lab, caplog):
    """Nothing is lost by it yet, and still the set-up is not as it should be."""
    lab = make_lab()
    lab.virtuals(http=False)
    assert exit_status(lab) == 1
    (reason,) = reasons(caplog)
    assert "virtual server /Common/ose-vserver does not exist" in reason


def test_a_delete_that_the_device_refuses(lab, caplog):
    """Somebody else's virtual server uses the pool: it stays, and the device's words tell why."""
    lab.apply(manifests.route("a"))
    assert exit_status(lab) == 0
    lab.bigip.add_virtual("/Common/theirs", "10.0.0.9:80", pool="/Common/openshift_shop_web")
    lab.kube.delete("Route", "shop", "a")
    assert exit_status(lab) == 1
    (reason,) = reasons(caplog)
    assert reason.startswith("ltm/pool /Common/openshift_shop_web: not deleted: 01070265:3: ")


def test_a_delete_that_fails_otherwise(lab, caplog):
    lab.apply(manifests.route("a"))
    assert exit_status(lab) == 0
    lab.bigip.inject("refuse", times=None, method="DELETE", path="ltm/pool", status=400, message=NO)
    lab.kube.delete("Route", "shop", "a")
    assert exit_status(lab) == 1
    (reason,) = reasons(caplog)
    assert reason == f"ltm/pool /Common/openshift_shop_web: not deleted: {NO}"


def test_a_right_that_is_missing_on_many_objects(lab, caplog):
    """The user's role is one cause, whatever objects the BIG-IP names in its refusals."""
    lab.bigip.add_user("robot", "robot-password", "guest")
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com"))
    assert exit_status(lab, f5_username="robot", f5_password="robot-password") == 1
    (reason,) = reasons(caplog)
    assert reason.startswith("2 Routes (shop/a, shop/b): ltm/pool /Common/openshift_")
    assert "01070822:3: Access Denied: user (robot)" in reason


def test_a_first_load_shows_how_far_it_is(lab, caplog):
    """A line every ten seconds of writes, and none where nothing is to be written."""
    caplog.set_level("INFO")
    lab.apply(*(manifests.route(name, host=f"{name}.example.com") for name in "abc"))
    lab.bigip.on_write = lambda entry: lab.later(10)
    router = lab.router()
    assert lab.converge(router) == []
    lab.bigip.on_write = None
    lines = [record for record in caplog.records if record.message == "first load"]
    assert lines[0].changes.endswith(f" of {router.reconciler.first_load}")
    assert f" of {router.reconciler.first_load} writes, 0:00:" in lines[0].pace
    assert not hasattr(lines[0], "routes")  # there is one portion
    caplog.clear()
    assert lab.converge() == []
    assert [record for record in caplog.records if record.message == "first load"] == []


@pytest.mark.parametrize(("status", "message", "ends"), [
    pytest.param(403, "forbidden for a moment", 0, id="an odd refusal"),
    pytest.param(401, "Authentication failed.", 1, id="a wrong password"),
])
def test_a_refused_login(lab, caplog, status, message, ends):
    """An odd one is tried again; one of user name and password counts towards a locked account."""
    lab.timing = replace(lab.timing, login_pause_s=0.0)
    lab.bigip.inject("refuse", path="/authn/login", status=status, message=message)
    assert exit_status(lab) == ends
    assert bool(reasons(caplog)) == bool(ends)
