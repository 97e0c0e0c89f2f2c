"""Tests use what is public: nothing that begins with an underscore, except of their own classes."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("f5router", "ghost_hostsubnet", "mocks", "benchmarks", "tests", "tools")

PUBLIC = {"sys._current_frames"}
"""Documented functions of the standard library whose names begin with an underscore."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_reads(tree: ast.AST) -> list[str]:
    """Return what is read or set of other objects' private attributes; imports of private names too."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = ast.unparse(node.value)
            if owner not in ("self", "cls") and f"{owner}.{node.attr}" not in PUBLIC:
                names.append(f"{node.lineno}: {owner}.{node.attr}")
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.lineno}: {alias.name}" for alias in node.names if is_private(alias.name)]
    return names


def patches(tree: ast.AST) -> list[str]:
    """Return where a test replaces something in modules or classes of this repository."""
    ours = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] in PACKAGES for alias in node.names}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args
             and isinstance(node.func, ast.Attribute) and node.func.attr in ("setattr", "setitem")]
    return [f"{call.lineno}: {ast.unparse(call)}" for call in calls
            if ast.unparse(call.args[0]).split(".")[0].strip("'") in {*ours, *PACKAGES}]


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Syntax trees of all tests by path; not made where tests are only collected."""
    paths = (ROOT / "tests").rglob("*.py")
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


def test_no_test_uses_private_names():
    assert [f"{path}:{name}" for path, tree in trees().items() for name in private_reads(tree)] == []


def test_no_test_patches_our_code():
    """Times and bounds are arguments: what is patched from outside is invisible where it is used."""
    assert [f"{path}:{patch}" for path, tree in trees().items() for patch in patches(tree)] == []


EXAMPLE = """
from f5router.app import timing
from x import _y, __version__
router._z = 1
self._own
monkeypatch.setattr(timing, "A", 1)
monkeypatch.setitem(timing.B.c, "d", 1)
monkeypatch.setattr("f5router.app.timing.A", 1)
monkeypatch.setattr(shutil, "which", 1)
from tests.e2e.packets import namespaces
monkeypatch.setattr(namespaces, "tool", 1)
"""


def test_the_rules_recognise_what_they_forbid():
    assert private_reads(ast.parse(EXAMPLE)) == ["3: _y", "4: router._z"]
    assert [patch.split(":")[0] for patch in patches(ast.parse(EXAMPLE))] == ["6", "7", "8", "11"]
