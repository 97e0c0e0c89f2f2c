"""Names of the code: a variable says what it holds, and a class of the package has its name alone."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("f5router", "ghost_hostsubnet", "mocks", "benchmarks", "tests", "tools")
               for path in (ROOT / folder).rglob("*.py"))

EMPTY = {"one", "found", "made", "part"}
"""Words that stand for any value at all, where a noun stands for this one: a Route, a member, a reply."""

NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def bound_names(tree: ast.AST) -> list[tuple[int, str]]:
    """Return the names that a file gives to variables, arguments, attributes, functions and classes."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append((node.lineno, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append((node.lineno, node.attr))
        elif isinstance(node, ast.arg):
            names.append((node.lineno, node.arg))
        elif isinstance(node, NAMED) and node.name:
            names.append((node.lineno, node.name))
        elif isinstance(node, ast.alias):
            names.append((node.lineno, node.asname or node.name))
    return names


def empty_names(tree: ast.AST) -> list[str]:
    return [f"{line}: {name}" for line, name in bound_names(tree) if name in EMPTY]


def test_names_say_what_they_hold():
    assert [f"{path.relative_to(ROOT)}:{name}" for path in FILES
            for name in empty_names(ast.parse(path.read_text()))] == []


EXAMPLE = """
from x import y as found
one = 1
def made(one, *part, key): ...
self.found = [one for one in x]
for made, x in y: ...
with x as part: ...
except_ = lambda one: one
match x:
    case [one, *part]: ...
if (found := x): ...
try: ...
except E as made: ...
"""


def test_the_rule_recognises_what_it_forbids():
    assert sorted(empty_names(ast.parse(EXAMPLE)), key=lambda text: int(text.split(":")[0])) == [
        "2: found", "3: one", "4: made", "4: one", "4: part", "5: found", "5: one", "6: made", "7: part",
        "8: one", "10: one", "10: part", "11: found", "13: made"]


def shared_class_names(trees: dict[str, ast.AST]) -> dict[str, list[str]]:
    """Return names of several classes, with the files that have one of them."""
    files = defaultdict(list)
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(name)
    return {name: places for name, places in files.items() if len(places) > 1}


def test_no_two_classes_have_one_name():
    """A reader who meets a class need not ask which one."""
    package = ROOT / "f5router"
    assert shared_class_names({
        str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in package.rglob("*.py")}) == {}


def test_the_rule_recognises_a_name_that_is_there_twice():
    first, second = ast.parse("class A:\n    class B: ..."), ast.parse("class B: ...\nclass C: ...")
    assert shared_class_names({"x.py": first, "y.py": second}) == {"B": ["x.py", "y.py"]}
