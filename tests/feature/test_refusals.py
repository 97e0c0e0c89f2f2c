"""A BIG-IP that refuses, lacks something, or is not there: clear words, no other Route affected."""

import pytest

from f5router.model.errors import BigIPError
from tests import manifests
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.waiting import DEADLINE_S

pytestmark = pytest.mark.bare

ONE = identity()
CERT = {"certificate": ONE.certificate, "key": ONE.key}


def test_a_refused_route_stops_no_other(lab):
    """The device's own words are in the status; the rest is programmed; it is tried again.

    The changes of the status page show that something was refused.
    """
    lab.bigip.inject(
        "refuse",
        times=1,
        method="POST",
        path="file/ssl-cert",
        status=400,
        message="01070712:3: the device does not like it",
    )
    lab.apply(
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge", **CERT),
        manifests.route("c", host="c.com", kind="passthrough"),
    )
    router = lab.router()
    reasons = lab.converge(router)
    assert len(reasons) == 1
    assert "shop/b" in reasons[0]
    assert [lab.admitted("shop", name)["status"] for name in "abc"] == ["True", "False", "True"]
    condition = lab.admitted("shop", "b")
    assert condition["reason"] == "DeviceRejected"
    assert "the device does not like it" in condition["message"]
    # Nothing of half a Route is left to serve it with the wrong certificate.
    policy = lab.bigip.get("ltm/policy/~Common~openshift_secure_routes")
    assert "openshift_route_shop_b" not in str(policy)
    assert router.monitor.history.changes[0].refused > 0
    lab.later()
    assert lab.converge(router) == []
    assert lab.admitted("shop", "b")["status"] == "True"
    assert router.monitor.history.changes[0].refused == 0


def test_a_renewal_that_is_refused_keeps_the_old_certificate(lab):
    lab.apply(manifests.route("b", host="b.com", kind="edge", **CERT))
    router = lab.router()
    lab.converge(router)
    before = lab.bigip.get("ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile")
    two = identity(serial=2)
    lab.bigip.inject("refuse", times=5, method="POST", path="file/ssl-cert", status=400, message="no")
    lab.apply(manifests.route("b", host="b.com", kind="edge", certificate=two.certificate, key=two.key))
    lab.settle(router)
    assert lab.admitted("shop", "b")["reason"] == "DeviceRejected"
    after = lab.bigip.get("ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile")
    assert (before["cert"], before["key"]) == (after["cert"], after["key"])
    assert lab.bigip.get("sys/file/ssl-cert/" + before["cert"].replace("/", "~"))
    assert "openshift_route_shop_b" in str(lab.bigip.get("ltm/policy/~Common~openshift_secure_routes"))


def test_a_kind_change_that_is_refused_keeps_the_old_kind(lab):
    lab.apply(manifests.route("b", host="b.com", kind="edge"))
    router = lab.router()
    lab.converge(router)
    lab.bigip.inject("refuse", times=9, method="PATCH", path="ssl_passthrough", status=400, message="no")
    lab.apply(manifests.route("b", host="b.com", kind="passthrough"))
    lab.settle(router)
    assert lab.admitted("shop", "b")["reason"] == "DeviceRejected"
    assert "openshift_route_shop_b" in str(lab.bigip.get("ltm/policy/~Common~openshift_secure_routes"))
    lab.bigip.clear_faults()
    lab.later()
    assert lab.converge(router) == []
    assert "openshift_route_shop_b" not in str(lab.bigip.get("ltm/policy/~Common~openshift_secure_routes"))


@pytest.mark.parametrize(
    ("virtuals", "words", "served"),
    [
        pytest.param({"https": False}, [HTTPS, "does not exist"], "a", id="no https virtual server"),
        pytest.param({"http": False}, [f"/{HTTP} ", "does not exist"], "bcd", id="no http virtual server"),
        pytest.param(
            {"profiles": ("/Common/tcp", "/Common/clientssl-default")},
            ["http profile"],
            "a",
            id="https without http profile",
        ),
        pytest.param(
            {"profiles": ("/Common/tcp", "/Common/http")},
            ["client SSL profile is missing"],
            "a",
            id="https without client SSL",
        ),
        pytest.param(
            {"profiles": ("/Common/tcp", "/Common/http", "/Common/clientssl")},
            ["sni-default"],
            "abd",
            id="no SNI default",
        ),
    ],
)
def test_virtual_servers_that_lack_something(make_lab, virtuals, words, served):
    """Named with what to do; Routes that do not need it are served."""
    lab = make_lab()
    lab.virtuals(**virtuals)
    lab.apply(
        *manifests.service("shop", "web", pods=("10.1.1.1",)),
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge"),
        manifests.route("c", host="c.com", kind="edge", **CERT),
        manifests.route("d", host="d.com", kind="passthrough"),
    )
    reasons = lab.converge()
    admitted = "".join(n for n in "abcd" if lab.admitted("shop", n)["status"] == "True")
    assert admitted == served
    for reason in reasons:
        assert all(word in reason for word in words), reason
    for name in set("abcd") - set(served):
        assert lab.admitted("shop", name)["reason"] == "DeviceRejected"


def test_recovers_when_the_virtual_server_comes(make_lab):
    lab = make_lab()
    lab.virtuals(https=False)
    lab.apply(
        *manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("b", host="b.com", kind="edge")
    )
    router = lab.router()
    assert lab.converge(router)
    lab.virtuals(http=False)
    lab.later()
    assert lab.converge(router) == []
    assert lab.admitted("shop", "b")["status"] == "True"


def test_the_partition_is_created(make_lab):
    lab = make_lab(partition="/OpenShift/zone1")
    lab.virtuals()
    lab.apply(
        *manifests.service("shop", "web", pods=("10.1.1.1",)),
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge", **CERT),
        manifests.route("c", host="c.com", kind="passthrough"),
    )
    assert lab.converge() == []
    assert lab.bigip.get("ltm/pool/~OpenShift~zone1~openshift_shop_web")
    assert lab.bigip.get("ltm/pool/~Common~openshift_shop_web") is None
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_a_foreign_forwarding_policy(lab):
    """The device refuses two policies that both forward; our message carries its words."""
    lab.bigip.put_object(
        "ltm/policy",
        {
            "name": "maintenance",
            "partition": "Common",
            "subPath": "Drafts",
            "controls": ["forwarding"],
            "requires": ["http"],
            "strategy": "/Common/first-match",
            "rules": [{"name": "x", "ordinal": 1}],
        },
    )
    lab.bigip.put_object("ltm/policy", {"command": "publish", "name": "/Common/Drafts/maintenance"})
    lab.bigip.put_object(f"ltm/virtual/~Common~{HTTP}/policies", {"name": "/Common/maintenance"})
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com", kind="edge"))
    reasons = lab.converge()
    assert [reason.split(":")[0] for reason in reasons] == ["Route shop/a"]
    assert lab.admitted("shop", "b")["status"] == "True"
    assert lab.admitted("shop", "a")["reason"] == "DeviceRejected"
    attached = lab.bigip.get(f"ltm/virtual/~Common~{HTTP}")["policiesReference"]["items"]
    assert [item["name"] for item in attached] == ["maintenance"]


def test_a_wrong_password(lab):
    lab.apply(manifests.route("a"))
    reasons = lab.converge(f5_password="wrong")
    assert len(reasons) == 1
    assert "401" in reasons[0] or "Authentication" in reasons[0]
    assert lab.pending("a")
    logins = [e for e in lab.bigip.log if e.path.endswith("/login")]
    assert len(logins) <= 2


def test_a_role_that_does_not_suffice(lab):
    lab.bigip.add_user("guest", "guest-password", "guest")
    lab.apply(manifests.route("a"))
    reasons = lab.converge(f5_username="guest", f5_password="guest-password")
    assert len(reasons) == 1
    assert "ltm/pool" in reasons[0]


def test_unreachable_at_start_and_back_later(lab):
    lab.apply(manifests.route("a"))
    lab.bigip.stop()
    router = lab.router(retry_s=0)
    lab.converge_events(router)
    with pytest.raises(BigIPError):
        router.reconcile_once()
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert lab.pending("a")
    lab.bigip.start()
    assert lab.converge(router) == []
    assert lab.admitted("shop", "a")["status"] == "True"


def test_statuses_stay_while_the_device_is_away(lab):
    lab.apply(manifests.route("a"))
    router = lab.router(retry_s=0)
    lab.converge(router)
    lab.bigip.stop()
    lab.apply(manifests.route("a", path="/new"), manifests.route("b", host="b.com"))
    lab.converge_events(router, seen=("shop", "b"))
    with pytest.raises(BigIPError):
        router.reconcile_once()
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert lab.admitted("shop", "a")["status"] == "True"
    assert lab.pending("b")
    lab.bigip.start()
    assert lab.converge(router) == []
    assert lab.admitted("shop", "b")["status"] == "True"


@pytest.mark.parametrize(
    "fault", ["503-html", "html-200", "404-not-registered", "500-mcpd", "truncated-json", "503-async"]
)
def test_a_device_that_is_starting_loses_nothing(lab, fault):
    """Whatever a starting device answers, nothing is deleted or created anew on its strength."""
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com", kind="passthrough"))
    lab.converge()
    lab.clear()
    lab.bigip.inject(fault, times=3, method="GET", path="ltm/")
    assert lab.converge() == []
    assert lab.writes() == []


def test_a_bogus_404_is_not_believed_from_a_device_that_is_not_ready(lab):
    lab.apply(manifests.route("a"))
    lab.converge()
    lab.clear()
    lab.bigip.inject("404-not-registered", times=None, method="GET", path="sys/ready")
    lab.bigip.inject("404-bogus", times=2, method="GET", path="ltm/virtual")
    router = lab.router(retry_s=0)
    lab.converge_events(router)
    with pytest.raises(BigIPError):
        router.reconcile_once()
    assert lab.writes() == []
    lab.bigip.clear_faults()
    assert lab.converge(router) == []
    assert lab.writes() == []


@pytest.mark.parametrize("version", ["11.3.0", "10.2.4"])
def test_too_old_a_device(make_lab, version):
    lab = make_lab(tmos_version=version)
    lab.apply(manifests.route("a"))
    reasons = lab.converge()
    assert len(reasons) == 1
    assert "11.4" in reasons[0]
