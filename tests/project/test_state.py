"""State is an argument: no module keeps any."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "f5router").rglob("*.py"), *(ROOT / "ghost_hostsubnet").rglob("*.py")])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_state(path):
    """No module-level list or set that could be changed; constants are written in capitals."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Set):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = getattr(target, "id", "")
            assert name == "__all__" or name.lstrip("_").isupper(), ast.unparse(node)
