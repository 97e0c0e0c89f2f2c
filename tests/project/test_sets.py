"""Differences with the keys of all objects, which take as long as there are objects.

`refs - objects.keys()` goes through every key of the dict, however few the refs are: some milliseconds with
60,000 objects. A comprehension looks up each ref.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGE = {"objects", "observed", "_places"}
"""Attributes with an entry for each object, or for each pod."""


def keys_of(node: ast.expr) -> str:
    """Return the attribute whose keys an expression takes; "" for another one."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"):
        return ""
    return node.func.value.attr if isinstance(node.func.value, ast.Attribute) else ""


def test_no_difference_with_all_keys():
    differences = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((ROOT / "f5router").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
        and keys_of(node.right) in LARGE and not keys_of(node.left)
    ]
    assert differences == []
