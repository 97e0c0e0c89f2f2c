"""State is an argument: no module keeps any."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "f5router").rglob("*.py"), *(ROOT / "ghost_hostsubnet").rglob("*.py")])


def test_no_module_state():
    """No module-level list or set that could be changed; constants are written in capitals."""
    places = []
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Set):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = getattr(target, "id", "")
                if name != "__all__" and not name.lstrip("_").isupper():
                    places.append((str(path.relative_to(ROOT)), ast.unparse(node)))
    assert places == []
