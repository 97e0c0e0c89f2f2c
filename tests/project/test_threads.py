"""Threads of the programs: each is a daemon with a name that docs/threads.md lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for package in ("f5router", "ghost_hostsubnet")
               for path in (ROOT / package).rglob("*.py"))
PAGE = ROOT / "docs" / "threads.md"
LISTED = re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\| (`[^|]*)\|", PAGE.read_text(), re.MULTILINE)))
"""Names in the first column: `status-N` stands for status-0 and so on."""


def called(node: ast.AST) -> str:
    """Return the name of the class that an expression calls, "" for another expression."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def beginning(node: ast.expr | None) -> str:
    """Return a name, or its part before the first value."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0] if node.values else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def set_later(tree: ast.AST) -> dict[str, dict[str, object]]:
    """Return constants assigned to attributes, by the object: a timer takes no name when it is made."""
    values: dict[str, dict[str, object]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets[0], node.value
            for target, constant in (zip(targets.elts, value.elts, strict=False) if isinstance(
                    targets, ast.Tuple) and isinstance(value, ast.Tuple) else [(targets, value)]):
                if isinstance(target, ast.Attribute) and isinstance(constant, ast.Constant):
                    values.setdefault(ast.unparse(target.value), {})[target.attr] = constant.value
    return values


def threads(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Yield line, beginning of the name, and True for a daemon, of each thread."""
    later = set_later(tree)
    timers = {node.value: later.get(ast.unparse(node.targets[0]), {})
              for node in ast.walk(tree) if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        given = {word.arg: word.value for word in getattr(node, "keywords", ())}
        match called(node):
            case "Thread":
                daemon = given.get("daemon")
                yield (node.lineno, beginning(given.get("name")),
                       isinstance(daemon, ast.Constant) and daemon.value is True)
            case "Timer":
                values = timers.get(node, {})
                yield node.lineno, str(values.get("name", "")), values.get("daemon") is True
            case "ThreadPoolExecutor":
                yield node.lineno, beginning(given.get("thread_name_prefix")), True


def is_listed(name: str, listed: list[str]) -> bool:
    """True if a row has the name, or if the name ends before a value: status-N, status-ingresses."""
    return bool(name) and any(
        row in (name, f"{name}_N") or (name.endswith("-") and row.startswith(name)) for row in listed)


def test_every_thread_is_a_daemon_with_a_listed_name():
    assert [f"{path.relative_to(ROOT)}:{line}: {name or 'no name'}" for path in FILES
            for line, name, daemon in threads(ast.parse(path.read_text()))
            if not daemon or not is_listed(name, LISTED)] == []


EXAMPLE = """
threading.Thread(target=x, name="a", daemon=True)
threading.Thread(target=x, name=f"b-{number}", daemon=True)
Thread(target=x, daemon=True)
threading.Thread(target=x, name="c")
timer = threading.Timer(1, x)
timer.name, timer.daemon = "d", True
self._timer = threading.Timer(1, x)
self._timer.daemon = True
self._timer.name = "e"
ThreadPoolExecutor(2, thread_name_prefix="f")
"""


def test_the_rule_recognises_threads():
    assert list(threads(ast.parse(EXAMPLE))) == [
        (2, "a", True), (3, "b-", True), (4, "", True), (5, "c", False), (6, "d", True), (8, "e", True),
        (11, "f", True)]
    assert [is_listed(name, ["a", "b-N", "f_N"]) for name in ("a", "b-", "f", "b", "")] == [
        True, True, True, False, False]
