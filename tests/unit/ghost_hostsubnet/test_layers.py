"""What computes does no I/O. Source: docs/architecture.md."""

from pathlib import Path

import pytest

import ghost_hostsubnet
from tests.project.test_layers import imported

ROOT = Path(ghost_hostsubnet.__file__).parent
STANDARD = {"collections", "dataclasses", "ipaddress", "json", "re", "typing"}


@pytest.mark.parametrize(("name", "allowed"), [
    ("gateway", set()),
    ("manifest", {"ghost_hostsubnet"}),
    ("output", {"ghost_hostsubnet", "f5router", "yaml", "tabulate"}),
])
def test_pure_modules_do_no_io(name, allowed):
    found = {module.split(".")[0] for module in imported(ROOT / f"{name}.py")}
    assert found <= STANDARD | allowed
    inside = {module for module in imported(ROOT / f"{name}.py") if "." in module}
    assert {module for module in inside if module.startswith(("ghost_hostsubnet.", "f5router."))} <= {
        "ghost_hostsubnet.manifest", "ghost_hostsubnet.gateway", "f5router.model.printable"}


def test_one_home_of_requests():
    """All requests go through the router's own connection."""
    for path in ROOT.glob("*.py"):
        found = {module.split(".")[0] for module in imported(path)}
        assert not {"requests", "urllib3", "kubernetes", "socket"} & found, path
