"""The PROXY protocol: what is on the BIG-IP, and what switching it costs."""

import pytest

from f5router.model import names
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

pytestmark = pytest.mark.bare

ON = {"use_proxy_protocol": "true"}
PROXY, REQUEST, PASSTHROUGH = (f"~Common~{name}" for name in (
    names.PROXY_IRULE, names.REQUEST_IRULE, names.PASSTHROUGH_IRULE))


def rules(lab: Lab, virtual: str) -> list[str]:
    paths = lab.bigip.get(f"ltm/virtual/~Common~{virtual}").get("rules", ())
    return [path.rpartition("/")[2] for path in paths]


def written(lab: Lab) -> list[tuple[str, str]]:
    return sorted((method, path.rpartition("/")[2]) for method, path in lab.writes() if "/config" not in path)


def test_switching(lab):
    """An iRule for clients without TLS, and two others; nothing at a restart."""
    lab.apply(manifests.route("a", host="a.example.com"))
    assert lab.converge() == []
    before = {item.path: item.fields for item in lab.bigip.items("ltm/rule")}
    lab.clear()
    assert lab.converge(**ON) == []
    assert written(lab) == [("PATCH", PASSTHROUGH), ("PATCH", REQUEST), ("PATCH", f"~Common~{HTTP}"),
                            ("POST", "rule")]
    assert rules(lab, HTTP)[0] == names.PROXY_IRULE
    assert names.PROXY_IRULE not in rules(lab, HTTPS)
    lab.clear()
    assert lab.converge(**ON) == []
    assert lab.writes() == []
    assert lab.converge() == []
    assert written(lab) == [("DELETE", PROXY), ("PATCH", PASSTHROUGH), ("PATCH", REQUEST),
                            ("PATCH", f"~Common~{HTTP}")]
    assert {item.path: item.fields for item in lab.bigip.items("ltm/rule")} == before


@pytest.mark.parametrize(("without", "http", "https"), [
    ("f5_https_vserver", True, False), ("f5_http_vserver", False, True)])
def test_one_virtual_server_alone(lab, without, http, https):
    assert lab.converge(**ON, **{without: ""}) == []
    assert (names.PROXY_IRULE in rules(lab, HTTP)) == http
    assert (names.PASSTHROUGH_IRULE in rules(lab, HTTPS)) == https
