"""Commands in the pages: each can be typed as it stands there, as far as options and arguments go."""

import ast
import re
import shlex
import subprocess
from itertools import takewhile
from pathlib import Path

import click
import pytest

from f5router.cli.doctor import fixes
from f5router.cli.main import main as f5router
from f5router.model import findings
from ghost_hostsubnet.__main__ import main as ghost_hostsubnet
from tests.e2e.pages import blocks

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROGRAMS = {"f5router": f5router, "ghost-hostsubnet": ghost_hostsubnet}
CODE = re.compile(r"`([^`\n]+)`")
TYPED = re.compile(r"(?:^|[(;|&$]\s*|\b(?:until|while|then|do|--)\s+)"
                   rf"((?:{'|'.join(PROGRAMS)}) [a-z][^|;&<>()`#\n]*)")


def commands(page: Path) -> list[str]:
    """All that a page has in blocks and in the text."""
    name = str(page.relative_to(DOCS))
    texts = [block.text.replace("\\\n", " ") for block in blocks(name)
             if block.language in ("sh", "console", "")]
    texts += CODE.findall(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    return [typed for text in texts for line in text.splitlines() for typed in TYPED.findall(line.strip())]


def parse(words: list[str]) -> None:
    """Read a command line as the program does, and do nothing. Raises: click.UsageError."""
    command: click.Command = PROGRAMS[words[0]]
    rest, context = words[1:], None
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, info_name=words[0])
        if not rest or rest[0].startswith("-"):
            break
        inner = command.get_command(context, rest[0])
        if inner is None:
            raise click.UsageError(f"no command {rest[0]}")
        command, rest = inner, rest[1:]
    if isinstance(command, click.Group):
        return
    parser = command.make_parser(click.Context(command, parent=context))
    given, _, _ = parser.parse_args(list(rest))
    for param in command.params:
        if isinstance(param, click.Option) and isinstance(param.type, click.Choice) and given.get(param.name):
            param.type.convert(given[param.name], param, None)


def test_every_command_can_be_typed():
    """A reader may leave out arguments that the text names, but no flag is one that is not there."""
    seen, wrong = 0, []
    for page in sorted(DOCS.rglob("*.md")):
        for typed in commands(page):
            seen += 1
            try:
                parse(shlex.split(typed))
            except (click.UsageError, ValueError) as exc:
                wrong.append(f"{page.relative_to(DOCS)}: {typed}: {exc}")
    assert seen > 50
    assert wrong == []


@pytest.mark.parametrize("words", ["f5router rnu", "f5router run --onec", "f5router get routes -o xml"])
def test_a_wrong_command_is_noticed(words):
    with pytest.raises(click.UsageError):
        parse(words.split())


def test_every_target_of_make_exists():
    """Pages name no others; nothing is made."""
    targets = set()
    for page in (*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        targets.update(re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.MULTILINE))
    assert targets >= {"demo", "test", "lint", "docs"}
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets <= known
    subprocess.run(["make", "--dry-run", "help"], cwd=ROOT, check=True, capture_output=True)


def named_checks() -> set[str]:
    """Names of the checks of doctor, as its modules give them."""
    names = set()
    for path in (ROOT / "f5router/cli/doctor").glob("*.py"):
        tree = ast.parse(path.read_text())
        constants = {node.targets[0].id: node.value.value for node in tree.body
                     if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
                     and isinstance(node.value, ast.Constant)}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            place = {"ok": 1, "warning": 1, "failure": 1, "make": 1, "_found": 0}.get(
                getattr(call.func, "id", ""))
            if place is None or len(call.args) <= place:
                continue
            argument = call.args[place]
            if isinstance(argument, ast.Constant):
                names.add(argument.value)
            elif isinstance(argument, ast.Name) and isinstance(constants.get(argument.id), str):
                names.add(constants[argument.id])
    return names


def test_troubleshooting_has_each_check_of_doctor():
    text = (DOCS / "troubleshooting.md").read_text().split("## One Route")[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert {name for name, *_ in rows} == named_checks()
    assert all(len(cell.split()) > 1 for row in rows for cell in row[1:])


COMMANDS = re.compile("(?:tmsh|bigstart|tail|kubectl|oc|f5router|ghost-hostsubnet|curl|openssl|ssh-keyscan) ")
COMPARED_WORDS = 5


def begins(command: str) -> str:
    """First words of a command that tell it from others, without options and what is to be replaced."""
    return " ".join(takewhile(re.compile("[a-z0-9][a-z0-9-]*").fullmatch, command.split()[:COMPARED_WORDS]))


def commands_of_doctor() -> set[str]:
    """Beginnings of the commands that doctor gives, as its modules and the table of findings have them."""
    modules = " ".join(path.read_text() for path in (ROOT / "f5router/cli/doctor").glob("*.py"))
    codes = (code for name, code in vars(findings).items()
             if name.isupper() and re.search(rf"of\((?:findings\.)?{name}\b", modules))
    texts = {fixes.of(code).command for code in codes}
    for name in ("fixes", "cluster"):
        tree = ast.parse((ROOT / f"f5router/cli/doctor/{name}.py").read_text())
        texts |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
                  and isinstance(node.value, str)}
    return {begins(text) for text in texts if COMMANDS.match(text)}


def test_troubleshooting_has_each_command_of_doctor():
    """Its remedies are those of doctor, and no others."""
    text = (DOCS / "troubleshooting.md").read_text().split("## One Route")[0].split("## Settings")[1]
    given = {begins(code) for code in re.findall(r"`([^`]+)`", text) if COMMANDS.match(code)}
    commands = commands_of_doctor()
    assert len(commands) > 30
    assert sorted(commands - given) == []
    assert sorted(given - commands) == []
