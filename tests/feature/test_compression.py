"""The HTTP compression profile on the virtual servers, and those that an administrator has put there."""

import pytest

from f5router.model import names
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

KIND, OURS = "ltm/profile/http-compression", f"/Common/{names.COMPRESSION_PROFILE}"
URL = f"{KIND}/{OURS.replace('/', '~')}"
ON = {"enable_compression": "true"}


def carried(lab: Lab) -> list[list[str]]:
    """Compression profiles of each virtual server."""
    attached = [item.key for item in lab.bigip.items("ltm/virtual/profiles")]
    return [[path for virtual, path in attached if virtual == f"/Common/{name}" and path in lab.paths(KIND)]
            for name in (HTTP, HTTPS)]


def attach(lab: Lab, virtual: str, profile: str) -> None:
    lab.change("POST", f"ltm/virtual/~Common~{virtual}/profiles", {"name": profile, "context": "all"})


@pytest.fixture(autouse=True)
def served(lab: Lab) -> None:
    lab.apply(manifests.route("a", host="a.example.com"))


def test_only_where_it_is_asked_for(lab):
    assert lab.converge() == []
    assert (OURS in lab.paths(KIND), carried(lab)) == (False, [[], []])


def test_on_changed_and_off(lab):
    assert lab.converge(**ON) == []
    assert carried(lab) == [[OURS], [OURS]]
    lab.clear()
    assert lab.converge(**ON) == []
    assert lab.writes() == []
    assert lab.converge(**ON, compression_mime="application/json") == []
    assert lab.writes() == [("PATCH", f"/mgmt/tm/{URL}")]
    assert lab.bigip.get(URL)["contentTypeInclude"] == ["application/json"]
    assert lab.converge() == []
    assert (OURS in lab.paths(KIND), carried(lab)) == (False, [[], []])


@pytest.mark.parametrize("virtuals", [(HTTP,), (HTTPS,), (HTTP, HTTPS)])
def test_a_profile_of_the_administrator_stays(lab, virtuals, caplog):
    caplog.set_level("WARNING")
    for virtual in virtuals:
        attach(lab, virtual, "/Common/wan-optimized-compression")
    assert lab.converge(**ON) == []
    assert carried(lab) == [["/Common/wan-optimized-compression" if name in virtuals else OURS]
                            for name in (HTTP, HTTPS)]
    assert (OURS in lab.paths(KIND)) == (len(virtuals) == 1)
    texts = [record.problem for record in caplog.records if record.message == "virtual servers"]
    assert len(texts) == len(virtuals)
    assert all(f"/Common/{name} " in "".join(texts) for name in virtuals)


def test_a_profile_that_an_administrator_puts_in_its_place(lab):
    """They detach ours and attach their own: ours is not put back beside it."""
    assert lab.converge(**ON) == []
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTP}", {"profiles": [
        "/Common/tcp", "/Common/http", "/Common/httpcompression"]})
    assert lab.converge(**ON) == []
    assert carried(lab) == [["/Common/httpcompression"], [OURS]]


def test_changes_by_hand_are_corrected(lab):
    assert lab.converge(**ON) == []
    lab.change("PATCH", URL, {"minSize": 1024, "keepAcceptEncoding": "disabled"})
    assert lab.converge(**ON) == []
    shown = lab.bigip.get(URL)
    assert (shown["minSize"], shown["keepAcceptEncoding"]) == (128, "enabled")


@pytest.mark.parametrize(("method", "path"), [("POST", KIND), ("POST", "profiles")])
def test_a_refusal_costs_no_route(lab, method, path):
    assert lab.converge() == []
    lab.bigip.inject("refuse", times=99, method=method, path=path, status=400, message="not licensed")
    reasons = lab.converge(**ON)
    assert any("not licensed" in reason for reason in reasons)
    assert lab.admitted("shop", "a")["status"] == "True"
    lab.bigip.clear_faults()
    assert lab.converge(**ON) == []
    assert carried(lab) == [[OURS], [OURS]]


@pytest.mark.parametrize("flags", [ON, {}], ids=["on", "off"])
def test_a_router_that_breaks_off(lab, flags):
    assert lab.converge(**({} if flags else ON)) == []
    for at in range(1, 9):
        if not lab.break_off(at, **flags):
            break
    assert lab.converge(**flags) == []
    assert carried(lab) == ([[OURS], [OURS]] if flags else [[], []])
    assert (OURS in lab.paths(KIND)) == bool(flags)
