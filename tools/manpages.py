"""Manual pages of both commands, from the table that their help is made of.

`python -m tools.manpages FOLDER` writes a page for each command into FOLDER, in the language of man(7). For a
release, `make dist` writes them into man/, from which the archives take them.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from f5router import __version__
from f5router.cli.main import main as f5router
from ghost_hostsubnet.__main__ import main as ghost_hostsubnet

PROGRAMS = {"f5router": f5router, "ghost-hostsubnet": ghost_hostsubnet}


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {f"{name}.1": page for program, command in PROGRAMS.items()
            for name, page in _pages(command, click.Context(command, info_name=program))}


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the page of a command and those of the commands in it."""
    name = context.command_path.replace(" ", "-")
    yield name, "\n".join(_lines(name, command, context)) + "\n"
    if isinstance(command, click.Group):
        for inner_name, inner in sorted(command.commands.items()):
            yield from _pages(inner, click.Context(inner, parent=context, info_name=inner_name))


def _lines(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield f'.TH "{name.upper()}" 1 "" "{_text(f"f5router {__version__}")}"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(command.get_short_help_str(limit=200))}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(context.command_path)}"
    yield _text(" ".join(command.collect_usage_pieces(context)))
    yield ".SH DESCRIPTION"
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))
    yield ".SH OPTIONS"
    for param in command.get_params(context):
        if not isinstance(param, click.Argument) and (record := param.get_help_record(context)):
            yield from (".TP", f".B {_text(record[0])}", _text(" ".join(record[1].split())))
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for inner_name, inner in sorted(command.commands.items()):
            yield from (".TP", f".BR {_text(f'{name}-{inner_name}')} (1)",
                        _text(inner.get_short_help_str(limit=200)))
    if command.epilog:
        yield from (".SH NOTES", _text(command.epilog))


def _text(words: str) -> str:
    """Escape a text: backslashes, dashes, and what would be a command at the start of a line."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main(folder: Path) -> None:
    """Write all pages into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (folder / name).write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
