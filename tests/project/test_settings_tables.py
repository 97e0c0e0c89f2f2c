"""The tables of docs/configuration.md: written by a tool, of the table of options."""

import re

import pytest

from f5router.config import parsers
from f5router.config.option import GROUPS, Option
from f5router.config.options import OPTIONS
from tests.rows import rows
from tools import settings_tables

PAGE = settings_tables.PAGE.read_text()


def test_the_page_is_up_to_date():
    """If it is not: python -m tools.settings_tables."""
    assert settings_tables.tables(PAGE) == PAGE


def test_the_page_has_every_setting_once():
    listed, group = [], ""
    for line in PAGE.splitlines():
        if heading := re.fullmatch(r"##+ (.+)", line):
            group = heading[1]
        elif (match := re.match(r"\| \[?`--([a-z0-9-]+)`", line)) and group in GROUPS:
            listed.append((group, match[1]))
    assert listed == [(option.group, option.name) for option in OPTIONS.values()]


def test_a_page_without_a_section():
    with pytest.raises(ValueError, match="substring not found"):
        settings_tables.tables(PAGE.replace("## Logging", "## Logs"))


def test_places_are_of_settings():
    assert settings_tables.PLACES.keys() <= OPTIONS.keys()


@rows(("option", "row"), [
    (Option("x", "", "", "G", "A name."), "| `--x` | | | A name |"),
    (Option("f5-host", "A_B", "a b", "G", "A name.", short="n"),
     "| [`--f5-host`](#connection), `-n` | `A_B` | `a b` | A name |"),
    (Option("x", "X", "1", "G", "Some.", "N", parsers.integer(1, 9)),
     "| `--x` | `X` | `1` | Some. Range: 1 to 9 |"),
    (Option("x", "X", "1", "G", "Some, 1 to 9.", "N", parsers.integer(1, 9)),
     "| `--x` | `X` | `1` | Some, 1 to 9 |"),
    (Option("x", "X", "1", "G", "Some.", "N", parsers.number("s", 0.1, 9)),
     "| `--x` | `X` | `1` | Some. Range: 0.1 to 9 |"),
    (Option("x", "X", "1s", "G", "Some.", "D", parsers.duration(1)),
     "| `--x` | `X` | `1s` | Some. Minimum: `1s` |"),
    (Option("x", "X", "1s", "G", "Some.", "D", parsers.duration(0)), "| `--x` | `X` | `1s` | Some |"),
    (Option("x", "X", "", "G", "A kind, or b.", "a|b"),
     "| `--x` | `X` | | A kind, or `b`. One of `a`, `b` |"),
    (Option("x", "X", "", "G", "On: on or off-line, off.", "on|off"),
     "| `--x` | `X` | | On: `on` or off-line, `off` |"),
    (Option("x", "X", "", "G", "As --x-y=, /Common/a, ${b}-c.d, NAME:Set, * or tls.crt, a.io/b.c."),
     "| `--x` | `X` | | As `--x-y=`, `/Common/a`, `${b}-c.d`, `NAME:Set`, `*` or `tls.crt`, `a.io/b.c` |"),
])
def test_rows(option, row):
    assert settings_tables.row(option) == row
