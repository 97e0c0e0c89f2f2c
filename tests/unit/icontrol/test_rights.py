"""Roles of a user, judged before anything is written."""

import pytest

from f5router.icontrol import surroundings


def access(**roles: str) -> list[dict]:
    return [{"name": name.replace("_", "-"), "role": role} for name, role in roles.items()]


@pytest.mark.parametrize(("reply", "problem", "warning"), [
    pytest.param(access(all_partitions="admin"), False, False, id="admin"),
    pytest.param(access(all="admin"), False, False, id="admin up to 11.5"),
    pytest.param(access(Shop="admin"), False, False, id="admin of our partition"),
    pytest.param(access(all_partitions="guest"), True, False, id="guest"),
    pytest.param(access(all_partitions="operator"), True, False, id="operator"),
    pytest.param(access(Shop="auditor"), True, False, id="auditor"),
    pytest.param(access(Other="admin"), True, False, id="of another partition only"),
    pytest.param(access(Other="admin", Shop="guest"), True, False, id="a guest in ours"),
    pytest.param(access(Other="guest", Shop="manager"), False, True, id="manager"),
    pytest.param(access(all_partitions="a role to come"), False, True, id="unknown role"),
    pytest.param([], False, False, id="nothing known"),
    pytest.param(None, False, False, id="no such field"),
    pytest.param("admin", False, False, id="another form"),
    pytest.param(["admin"], False, False, id="another form of items"),
])
def test_roles(reply, problem, warning):
    findings = surroundings.evaluate_rights("robot", "Shop", reply)
    assert (bool(findings.problems), bool(findings.warnings)) == (problem, warning)
    texts = (*findings.problems, *findings.warnings)
    assert all("robot" in text and "partition Shop" in text for text in texts)
