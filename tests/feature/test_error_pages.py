"""The iRules with the administrator's pages: their writes, and devices that refuse them."""

import pytest

from f5router.model import names
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

NOT_FOUND, UNAVAILABLE, REQUEST = (f"/Common/{name}" for name in (
    names.NOT_FOUND_IRULE, names.UNAVAILABLE_IRULE, names.REQUEST_IRULE))


def flags(lab: Lab, **pages: str) -> dict[str, str]:
    """Write pages by status, such as page_404, and return the flags that name their files."""
    for name, body in pages.items():
        (lab.kubeconfig.parent / name).write_text(f"HTTP/1.0 {name[-3:]} x\r\n\r\n{body}")
    return {f"errorfile_{name[-3:]}": str(lab.kubeconfig.parent / name) for name in pages}


def attached(lab: Lab) -> list[bool]:
    return [NOT_FOUND in lab.bigip.get(f"ltm/virtual/~Common~{name}").get("rules", ())
            for name in (HTTP, HTTPS)]


@pytest.fixture(autouse=True)
def served(lab: Lab) -> None:
    lab.apply(manifests.route("a", host="a.example.com"))


def test_on_changed_and_off(lab):
    assert lab.converge() == []
    assert (NOT_FOUND in lab.paths("ltm/rule"), attached(lab)) == (False, [False, False])
    usual = lab.bigip.get(f"ltm/rule/{UNAVAILABLE.replace('/', '~')}")["apiAnonymous"]
    assert lab.converge(**flags(lab, page_404="a", page_503="b")) == []
    assert attached(lab) == [True, True]
    lab.clear()
    assert lab.converge(**flags(lab, page_404="a", page_503="b")) == []
    assert lab.writes() == []
    assert lab.converge(**flags(lab, page_404="a", page_503="c")) == []
    assert lab.writes() == [("PATCH", f"/mgmt/tm/ltm/rule/{UNAVAILABLE.replace('/', '~')}")]
    lab.clear()
    assert lab.converge(**flags(lab, page_404="d", page_503="c")) == []
    assert sorted(lab.writes()) == sorted(
        ("PATCH", f"/mgmt/tm/ltm/rule/{path.replace('/', '~')}") for path in (NOT_FOUND, REQUEST))
    assert lab.converge() == []
    assert (NOT_FOUND in lab.paths("ltm/rule"), attached(lab)) == (False, [False, False])
    assert lab.bigip.get(f"ltm/rule/{UNAVAILABLE.replace('/', '~')}")["apiAnonymous"] == usual


def test_a_page_that_the_device_refuses_costs_no_route(lab):
    assert lab.converge() == []
    usual = lab.bigip.get(f"ltm/rule/{UNAVAILABLE.replace('/', '~')}")
    for method, path in (("POST", "ltm/rule"), ("PATCH", "openshift_unavailable_irule")):
        lab.bigip.inject("refuse", times=99, method=method, path=path, status=400, message="too long")
    wanted = flags(lab, page_404="a", page_503="b")
    assert any("too long" in reason for reason in lab.converge(**wanted))
    assert lab.admitted("shop", "a")["status"] == "True"
    assert lab.bigip.get(f"ltm/rule/{UNAVAILABLE.replace('/', '~')}") == usual
    lab.bigip.clear_faults()
    assert lab.converge(**wanted) == []
    assert attached(lab) == [True, True]


def test_a_router_that_breaks_off(lab):
    assert lab.converge() == []
    wanted = flags(lab, page_404="a", page_503="b")
    for at in range(1, 12):
        if not lab.break_off(at, **wanted):
            break
    assert lab.converge(**wanted) == []
    assert attached(lab) == [True, True]
