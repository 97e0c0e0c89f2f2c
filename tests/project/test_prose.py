"""Rules for the words of documentation and docstrings.

No linter of the package index fits (CONTRIBUTING.md, Words). So a few rules are here: how sentences and
docstrings begin, how long lines are, which words of earlier versions must not come back, and that what pages
name in backticks exists.
"""

import ast
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "mocks" / "README.md"])
MODULES = sorted(path for package in ("f5router",
                                      "ghost_hostsubnet") for path in (ROOT / package).rglob("*.py"))
DOCUMENTED = ("f5router", "ghost_hostsubnet", "mocks", "benchmarks", "tests", "tools")

WIDTH = 110
"""Longest line of a page, apart from tables, headings, commands and links."""

DANGLING = re.compile(r"(?:^|(?<=[.:;!?] ))(?:Of|Whether|What)\b[^.?!]*[.!]", re.MULTILINE)
"""A sentence that begins with a clause in place of its subject; a question may."""

PROGRAMS = ("f5router", "ghost_hostsubnet", "mocks", "benchmarks", "tools")
"""Packages whose comments and docstrings of values follow the rule for sentences, too."""

EVERYDAY = re.compile(r"(?:Take|Give|Let|Look|Note|Tell|Go|Come|Stand)\b(?! (?:over|up)\b)")
"""Verbs of everyday life for technical acts: record, apply, update, poll, allow, hold say more."""

PLAIN = ("admission", "cli", "config", "desired", "kube", "logs", "model", "monitoring", "network", "plan",
         "sources", "status", "views")
"""Packages whose docstrings begin with the field's verbs."""

DOCSTRING_START = re.compile(r"(?:Of|What|Whether|Who|Whom|Whose|Those)\b")

OUTDATED = {
    "not in step": "not converged", "no longer so": "problem resolved", "out of step": "not converged",
    "oldforms": "previous objects", "old form": "previous objects", "trespass": "serves_foreign_namespace",
    "told apart": "distinguished", "Teller": "StatusReporter", "heed": "watch", "holdoff": "debounce",
    "a wish": "a desired status", "come round": "make progress", "is told": "is reported",
    "mends?": "fix", "mended": "fixed", "mending": "fixing",
}
"""Words of earlier versions, with those that took their place."""


def prose(path: Path) -> str:
    """Return the sentences of a page: without code blocks, tables, headings, code and links."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", ">"))]
    text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", "\n".join(lines), flags=re.MULTILINE)
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))
    return "\n".join(re.sub(r"`[^`]*`", "`code`", paragraph) for paragraph in paragraphs)


COMMENT = re.compile(r"^ *#[ #]*")

DEFINITIONS = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def definitions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a module, and the classes and functions in it; of statements, expressions are not looked at."""
    if isinstance(node, DEFINITIONS):
        yield node
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield from definitions(inner)


@functools.cache
def docstrings() -> list[tuple[str, str]]:
    """Return place and text of every docstring."""
    texts = []
    for path in sorted(path for folder in DOCUMENTED for path in (ROOT / folder).rglob("*.py")):
        for node in definitions(ast.parse(path.read_text())):
            if text := ast.get_docstring(node):
                name = getattr(node, "name", "module")
                texts.append((f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)} {name}", text))
    return texts


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each block of comments, and of each string that stands alone."""
    text = path.read_text()
    for mark, lines in itertools.groupby(enumerate(text.splitlines(), 1), lambda line: COMMENT.match(line[1])
                                         is not None):
        if mark:
            block = list(lines)
            yield block[0][0], " ".join(COMMENT.sub("", line) for _, line in block)
    for node in ast.walk(ast.parse(text)) if path.suffix == ".py" else ():
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(
                node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_begin_with_their_subject(path):
    assert [match[0] for match in DANGLING.finditer(prose(path))] == []


def test_sentences_of_comments_begin_with_their_subject():
    """Whatever stands behind `Args:` or `Returns:` is a sentence of its own."""
    files = sorted(path for package in PROGRAMS for path in (ROOT / package).rglob("*")
                   if path.suffix in (".py", ".tcl"))
    assert [f"{path.relative_to(ROOT)}:{line}: {match[0]}" for path in files for line, text in comments(path)
            for match in DANGLING.finditer(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_pages_are_short(path):
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert [line for line in text.splitlines()
            if len(line) > WIDTH and not line.startswith(("|", "    ")) and "](" not in line
            and "https://" not in line] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_of_earlier_versions_do_not_come_back_in_pages(path):
    text = prose(path)
    assert [word for word in OUTDATED if re.search(rf"\b{word}\b", text)] == []


def test_docstrings_begin_with_a_verb_or_a_noun():
    assert [f"{place}: {text.splitlines()[0]}" for place, text in docstrings()
            if DOCSTRING_START.match(text)] == []


def test_docstrings_begin_with_a_verb_of_the_field():
    assert [f"{place}: {text.splitlines()[0]}" for place, text in docstrings()
            if place.startswith(tuple(f"f5router/{package}/" for package in PLAIN))
            and EVERYDAY.match(text)] == []


def test_words_of_earlier_versions_do_not_come_back_in_docstrings():
    assert [(place, word) for place, text in docstrings() for word in OUTDATED
            if re.search(rf"\b{word}\b", text)] == []


def test_words_of_earlier_versions_do_not_come_back_in_texts_of_the_program():
    """Messages, help, statuses, remedies: each string of the programs that has a blank."""
    texts = [(f"{path.relative_to(ROOT)}:{node.lineno}", node.value) for path in MODULES
             for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value]
    assert [(place, word) for place, text in texts for word in OUTDATED
            if re.search(rf"\b{word}\b", text, re.IGNORECASE)] == []


def test_words_of_earlier_versions_do_not_come_back_in_shipped_files():
    """Manifests, dashboards, alerts, notes of the chart: whatever below docs/ is text and no page."""
    files = [path for path in sorted((ROOT / "docs").rglob("*"))
             if path.suffix in (".json", ".yaml", ".yml", ".txt", ".tpl") and not path.is_symlink()]
    assert [(path.name, word) for path in files for word in OUTDATED
            if re.search(rf"\b{word}\b|_{word}_", path.read_text(), re.IGNORECASE)] == []


def test_modules_that_architecture_names_exist():
    """Each module is named behind the package of its paragraph."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    for package, names in re.findall(r"^- `(\w+)/`: (.*?)(?=^- |^\n)", text, flags=re.MULTILINE | re.DOTALL):
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", names):
            inside = ROOT / "f5router" / package
            assert (ROOT / name).exists() or any(inside.rglob(name.rstrip("/"))), f"{package}: {name}"


def test_names_with_a_dot_exist():
    """`module.name` and `Class.name` in pages: a module of the programs and a name in it, or a class."""
    modules = {path.stem: path for path in MODULES if path.stem != "__init__"}
    classes = set(re.findall(r"^class (\w+)", "\n".join(path.read_text() for path in MODULES), re.MULTILINE))
    for path in (page for page in PAGES if not page.is_relative_to(ROOT / "docs" / "helm")):  # values of Helm
        for name in re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)\.[a-z_]+`", path.read_text()):
            assert name in classes, f"{path.name}: {name}"
        for module, name in re.findall(r"`(\w+)\.(\w+)(?:\(\))?`", path.read_text()):
            if module in modules and name not in ("py", "md", "io", "com"):
                text = modules[module].read_text()
                assert re.search(rf"\b(?:def|class) {name}\b|^{name}\b", text, flags=re.MULTILINE), (
                    f"{path.name}: {module}.{name}")
