"""Writes without a usable reply: one object costs its own Routes only, the device everything for a while."""

import logging
from dataclasses import replace

import pytest

from f5router.app.timing import Timing
from f5router.model.errors import LoginRefused, Unreachable
from mocks.bigip import refusals, replies
from mocks.bigip.listener import Outcome
from mocks.bigip.refusals import Refusal
from tests import manifests, pump
from tests.feature.test_loop import admitted, pool
from tests.waiting import DEADLINE_S, until

POOL = "ltm/pool/~Common~openshift_bank_other"
RULE = "/rules/openshift_route_bank_b"


def bank(*pods: str, **route) -> list[dict]:
    return [*manifests.service("bank", "other", pods=pods),
            manifests.route("b", namespace="bank", host="b.com", service="other", **route)]


def failed_passes(caplog) -> list[str]:
    return [str(vars(record)) for record in caplog.records
            if record.levelno >= logging.ERROR and record.message == "BIG-IP not programmed"]


def told(lab) -> dict:
    return lab.admitted("bank", "b")


@pytest.mark.parametrize("kind", ["html-200", "500-mcpd", "drop-request"])
@pytest.mark.parametrize("what", ["members", "rule"])
def test_an_object_that_gets_no_usable_reply(lab, serving, caplog, kind, what):
    """Others are served meanwhile, its Route keeps its status, and it is served when the device answers."""
    lab.apply(*bank("10.9.1.1"))
    router = serving()
    router.wait(lambda: told(lab).get("status") == "True")
    lab.bigip.inject(kind, times=None, method="PATCH", path=POOL if what == "members" else RULE)
    lab.apply(*(bank("10.9.1.2") if what == "members" else bank("10.9.1.1", path="/new")))
    router.wait(lambda: router.router.reconciler.failures)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})
    lab.apply(manifests.route("c", host="c.com"))
    router.wait(lambda: admitted(lab, "c") == "True")
    assert failed_passes(caplog) == []
    lab.bigip.clear_faults()
    lab.apply(*(bank("10.9.1.3") if what == "members" else bank("10.9.1.1", path="/newer")))
    router.wait(lambda: told(lab).get("status") == "True")


def test_a_time_out_of_what_was_done(lab, serving, caplog):
    """The next reading finds it, and it is saved."""
    router = serving()
    lab.apply(*bank("10.9.1.1"))
    router.wait(lambda: told(lab).get("status") == "True")
    lab.bigip.inject("timeout-html", times=None, method="PATCH", path=POOL)
    lab.apply(manifests.endpoints("bank", "other", ("10.9.1.2",)))
    reconciler = router.router.reconciler
    router.wait(lambda: not lab.bigip.get(POOL + "/members/~Common~10.9.1.1:8080") and not (
        reconciler.failures or reconciler.table.members)
        and reconciler.device.observed == reconciler.engine.objects)
    assert router.router.settling.settles_at() is not None
    assert failed_passes(caplog) == []


def test_a_pool_goes_whose_members_got_no_usable_reply(lab, serving):
    """It is not wanted any more when its members are written again."""
    lab.apply(*bank("10.9.1.1"))
    router = serving()
    router.wait(lambda: told(lab).get("status") == "True")
    lab.bigip.inject("500-mcpd", method="PATCH", path=POOL)
    lab.apply(manifests.endpoints("bank", "other", ("10.9.1.2",)))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    for kind, name in (("Route", "b"), ("Service", "other"), ("EndpointSlice", "other-1")):
        lab.kube.delete(kind, "bank", name)
    router.wait(lambda: lab.bigip.get(POOL) is None)


def test_a_device_that_answers_reads_only(lab, serving, caplog):
    """Two objects without a reply: it backs off as a whole."""
    lab.apply(*bank("10.9.1.1"))
    router = serving()
    router.wait(lambda: told(lab).get("status") == "True")
    for method in ("POST", "PATCH", "DELETE"):
        lab.bigip.inject("html-200", times=None, method=method, path="/mgmt/tm/ltm/")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)), *bank("10.9.1.2"))
    router.wait(lambda: failed_passes(caplog))
    lab.bigip.clear_faults()
    router.later()
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})


FORBIDDEN = {"kind": "refuse", "status": 403, "message": "Operation is not supported"}


@pytest.mark.parametrize(("method", "path"), [
    ("PATCH", POOL), ("POST", "ltm/pool$"), ("POST", "/rules$"), ("PATCH", "openshift_insecure_routes$"),
    ("POST", "ltm/policy$"), ("GET", "ltm/pool$"),
], ids=["members", "a pool", "a rule", "a draft", "a publish", "a reading"])
def test_a_single_403(lab, serving, caplog, method, path):
    """It is no reason to pause: the request is repeated."""
    router = serving(f5_resync_interval="1s")
    lab.apply(*bank("10.9.1.1"))
    router.wait(lambda: told(lab).get("status") == "True")
    lab.bigip.inject(**FORBIDDEN, method=method, path=path)
    lab.apply(*bank("10.9.1.2"), *manifests.service("bank", "third", pods=("10.9.2.1",)),
              manifests.route("c", namespace="bank", host="c.com", service="third"))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    router.wait(lambda: lab.admitted("bank", "c").get("status") == "True")
    router.wait(lambda: lab.bigip.get(POOL + "/members/~Common~10.9.1.2:8080"))
    assert failed_passes(caplog) == []


@pytest.mark.parametrize(("method", "path"), [("PATCH", POOL), ("PATCH", RULE)], ids=["members", "rule"])
def test_a_403_for_one_object(lab, serving, caplog, method, path):
    """It costs that object; its Route says what the device says. Others are programmed meanwhile."""
    lab.apply(*bank("10.9.1.1"))
    router = serving()
    router.wait(lambda: told(lab).get("status") == "True")
    lab.bigip.inject(**FORBIDDEN, times=None, method=method, path=path)
    lab.apply(*bank("10.9.1.2", path="/new"))
    router.wait(lambda: told(lab).get("reason") == "DeviceRejected")
    assert "Operation is not supported" in told(lab)["message"]
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)), manifests.route("c", host="c.com"))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"} and admitted(lab, "c") == "True")
    assert failed_passes(caplog) == []
    lab.bigip.clear_faults()
    router.later()
    router.wait(lambda: told(lab).get("status") == "True")


def test_a_403_for_several_objects(lab, serving, caplog):
    """The role may lack a right: it backs off as a whole, but is not silent as after a refused login."""
    lab.apply(*bank("10.9.1.1"))
    router = serving()
    router.wait(lambda: told(lab).get("status") == "True")
    lab.bigip.inject(**FORBIDDEN, times=None, method="PATCH", path="ltm/pool/")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)), *bank("10.9.1.2"))
    router.wait(lambda: failed_passes(caplog))
    assert "Operation is not supported" in failed_passes(caplog)[0]
    lab.bigip.clear_faults()
    router.later()
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})


def test_once_tries_again(lab):
    """A change that got no usable reply is not given up after one pass."""
    lab.apply(manifests.route("a"))
    lab.bigip.inject("html-200", method="POST", path="ltm/pool$")
    assert lab.converge() == []
    assert admitted(lab, "a") == "True"


@pytest.mark.parametrize(("error", "most"), [
    pytest.param(Unreachable(text="refused"), 5.0, id="unreachable"),
    pytest.param(LoginRefused(text="no", status=401), 60.0, id="a login that is refused"),
])
def test_endpoints_that_wait_shorten_a_back_off(lab, error, most):
    """Never one after a refused login: accounts are locked."""
    lab.timing = replace(lab.timing, backoff=Timing().backoff)
    lab.apply(manifests.route("a"))
    now = [1000.0]
    router = lab.router(clock=lambda: now[0])
    assert lab.converge(router) == []
    for _ in range(10):
        router.reconciler.rollouts.suspend(error)
    assert router.resumes_at() == now[0] + 60.0
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    until(router.cluster.has_endpoints)
    assert router.resumes_at() == now[0] + most
    now[0] += most - 0.1
    pump.turn(router)
    assert pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"}
    now[0] += 0.1
    pump.turn(router)
    assert pool(lab) == {"10.1.1.9:8080"}
    assert router.resumes_at() <= now[0]


def test_a_quiet_router_sleeps(lab):
    """It looks after the failover state, and now and then at everything; nothing else wakes it."""
    lab.apply(manifests.route("a"), *bank("10.9.1.1"))
    now, turns = [1000.0], 0
    router = lab.router(clock=lambda: now[0], f5_resync_interval="100s")
    assert router.cluster.wait_synced(DEADLINE_S)
    lab.bigip.inject("refuse", times=None, method="POST", path="/rules$", message="01070151:3: no")
    for _ in range(20):
        pump.turn(router)
        now[0] = max(now[0] + 0.1, router.next_turn_at())
    end = now[0] + 1000.0
    while now[0] < end:
        pump.turn(router)
        assert router.next_turn_at() > now[0], "it does not sleep"
        now[0], turns = router.next_turn_at(), turns + 1
    assert turns < 300


def _name(request) -> str:
    """Return the name of the object in the body, if there is one."""
    try:
        body = request.decoded()
    except ValueError:
        return ""
    return body.get("name", "") if isinstance(body, dict) else ""


BROAD = {"path": {"path": "/api"}, "wildcard": {}, "passthrough wildcard": {"kind": "passthrough"}}
DEEP = {"path": {"path": "/api/v2"}, "wildcard": {}, "passthrough wildcard": {"kind": "passthrough"}}


@pytest.mark.parametrize("status", [404, 500])
@pytest.mark.parametrize(("what", "kind"), [
    ("rule", "path"), ("rule", "wildcard"),
    ("pool", "path"), ("pool", "wildcard"), ("pool", "passthrough wildcard")])
def test_nothing_overtakes_what_is_in_doubt(lab, what, kind, status):
    """A Route whose first write got no usable reply: no other new one gets its requests meanwhile."""
    name = {"rule": "openshift_route_bank_deep", "pool": "openshift_bank_deep"}[what]
    broad = manifests.route("broad", namespace="bank", host="x.b.com", **BROAD[kind])
    if kind != "path":
        broad["spec"] |= {"host": "any.b.com", "wildcardPolicy": "Subdomain"}
    broken, overtaken = [], []
    error = Refusal(500, "mcpd is away", refusals.MCPD_LOST)
    if status == 404:
        error = refusals.not_found("object", name)

    def intercept(request, perform):
        if not broken and request.method == "POST" and _name(request) == name:
            broken.append(request.path)
            return Outcome(replies.refused(error, version=(13, 1), sender=""))
        return perform()

    def look(request):
        for policy in ("insecure", "secure"):
            published = lab.bigip.get(f"ltm/policy/~Common~openshift_{policy}_routes") or {}
            rules = {item["name"] for item in published.get("rulesReference", {}).get("items", [])}
            if "openshift_route_bank_broad" in rules and "openshift_route_bank_deep" not in rules:
                overtaken.append(rules)
        group = lab.bigip.get("ltm/data-group/internal/~Common~ssl_passthrough_servername_dg") or {}
        names = {item["name"] for item in group.get("records", [])}
        if ".b.com" in names and "x.b.com" not in names:
            overtaken.append(names)

    lab.bigip.intercept, lab.bigip.on_write = intercept, look
    lab.apply(*manifests.service("bank", "web", pods=("10.9.1.1",)),
              *manifests.service("bank", "deep", pods=("10.9.1.2",)), broad,
              manifests.route("deep", namespace="bank", host="x.b.com", service="deep", **DEEP[kind]))
    assert lab.converge(allow_wildcard_routes="true") == []
    assert broken
    assert overtaken == [] == lab.bigip.errors
    assert lab.admitted("bank", "broad")["status"] == lab.admitted("bank", "deep")["status"] == "True"
