"""The tables of docs/architecture.md, compared with the code: packages and imports, stages of a Plan."""

import ast
import re
from pathlib import Path

from f5router.plan.change import Stage

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "f5router"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROWS = ROW.findall(PAGE)
NAMES = [name for name, *_ in ROWS]


def imported(path: Path) -> set[str]:
    """Return the packages of the router that a file imports."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name:
            modules += [f"{PACKAGE.name}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return {module.split(".")[1] for module in modules if module.startswith(f"{PACKAGE.name}.")} & set(NAMES)


def imports() -> dict[str, set[str]]:
    """Return the packages that each package imports."""
    return {name: set().union(*map(imported, (PACKAGE / name).rglob("*.py"))) - {name} for name in NAMES}


def listed(cell: str, others: list[str]) -> set[str]:
    """Return the packages of a cell. Args: others: those that `all` stands for."""
    named = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", cell)))
    return set(others) - named if cell.startswith("all") else named


def test_every_package_has_its_row():
    assert sorted(NAMES) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_a_row_names_what_the_package_imports():
    known = imports()
    for place, (name, _, below, _) in enumerate(ROWS):
        assert listed(below, NAMES[place + 1:]) == known[name], name


def test_a_row_names_what_imports_the_package():
    known = imports()
    for place, (name, _, _, above) in enumerate(ROWS):
        assert listed(above, NAMES[:place]) == {other for other in NAMES if name in known[other]}, name


def test_every_stage_of_a_plan_has_its_row():
    """In the order of the code; a row may name the first and the last of several."""
    stages = [stage.name for stage in Stage]
    table = PAGE.split("| `Stage` |")[1].partition("\n\n")[0]
    shown: list[str] = []
    for first, *others in (re.findall(r"`([A-Z_]+)`", row.split("|")[1]) for row in table.splitlines()[2:]):
        last = others[0] if others else first
        shown += stages[stages.index(first):stages.index(last) + 1]
    assert shown == stages


def test_folders_of_the_unit_tests_are_those_of_the_package():
    """tests/unit mirrors f5router: a test of a package is below the folder of its name."""
    unit = ROOT / "tests" / "unit"
    packages = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    ghost = Path("ghost_hostsubnet")
    assert {folder for folder in folders if folder != ghost} <= packages
    assert set(map(Path, NAMES)) <= folders
