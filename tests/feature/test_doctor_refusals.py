"""`f5router doctor`: what the BIG-IP refuses, and connections to pods that a OneConnect profile shares."""

import pytest

from f5router.model import findings
from tests import manifests
from tests.feature.test_doctor_traffic import HTTPS, wrong
from tests.feature.test_refusals import CERT

ONE_CONNECT = "/Common/oneconnect"


def of_code(lab, code: str) -> list[dict[str, str]]:
    return [check for check in wrong(lab) if check["code"] == code]


def test_objects_that_the_big_ip_refuses(lab):
    """Only a write shows it: the status of the Route has the words."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              manifests.route("a", host="a.com", kind="edge", **CERT))
    lab.bigip.inject("refuse", times=None, method="POST", path="file/ssl-cert", status=400,
                     message="01070712:3: no room")
    assert lab.converge() != []
    (shown,) = of_code(lab, findings.WRITES_REFUSED)
    assert shown["state"] == "warning"
    assert shown["message"].startswith("1 Route is refused by the BIG-IP: Route shop/a: ")
    assert "01070712:3: no room" in shown["message"]
    lab.bigip.clear_faults()
    assert lab.converge() == []
    assert of_code(lab, findings.WRITES_REFUSED) == []


@pytest.mark.parametrize(("other", "is_shared"), [
    pytest.param(manifests.route("b", host="b.com", kind="edge"), True, id="clear text"),
    pytest.param(manifests.route("b", host="b.com", kind="reencrypt"), False, id="the same TLS"),
    pytest.param(manifests.route("b", host="b.com", kind="passthrough"), False, id="TLS of the client"),
    pytest.param(manifests.route("b", host="b.com", kind="edge", service="other"), False, id="other pods"),
])
def test_one_connect(lab, other, is_shared):
    """Connections are reused by member: a Route would use one that another has verified, or none has."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              *manifests.service("shop", "other", pods=("10.1.1.2",)),
              manifests.route("a", host="a.com", kind="reencrypt"), other)
    assert lab.converge() == []
    assert of_code(lab, findings.CONNECTIONS_SHARED) == []
    lab.change("POST", f"ltm/virtual/{HTTPS}/profiles", {"name": ONE_CONNECT})
    shown = of_code(lab, findings.CONNECTIONS_SHARED)
    assert [check["message"] for check in shown] == [
        f"{ONE_CONNECT} on /Common/https-ose-vserver: Route shop/a and Route shop/b have a pod in common, "
        "and different TLS towards it"] * is_shared
