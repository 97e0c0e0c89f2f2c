"""Results of checks as text and as JSON."""

import json

import pytest

from f5router.cli.doctor import report
from f5router.cli.doctor.report import Fix
from tests.rows import rows

CHECKS = [
    report.ok("settings", "settings", "they fit"),
    report.warning("BIG-IP a", "licence", "it ends on 2026-12-01", Fix("renew it", "tmsh install x")),
    report.failure("BIG-IP a", "login", "user 'x\x1b[31m' is refused",
                   Fix(command="tmsh modify auth user '\x1b[31m'")),
    report.skipped("BIG-IP a", ("role", "version"), "they need a login"),
]

TEXT = """\
settings
  ok       settings     they fit

BIG-IP a
  warning  licence      it ends on 2026-12-01
  fix      renew it:
           tmsh install x
  failure  login        user 'x\\x1b[31m' is refused
  fix      tmsh modify auth user '\\x1b[31m'
  skipped  not checked  role, version: they need a login

1 ok, 1 warning, 1 failure, 1 skipped"""


def test_text():
    assert report.as_text(CHECKS, 200).plain == TEXT


def test_lines_break_below_their_message():
    long = report.ok("a", "check", "word " * 30)
    lines = report.as_text([long], 80).plain.splitlines()[1:-2]
    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)
    assert all(line.startswith(" " * 18) for line in lines[1:])


def test_a_command_is_whole():
    """It can be copied; what fixes several checks in a row stands once."""
    fix = Fix("word " * 30, "tmsh " + "word " * 30 + "end")
    text = report.as_text([report.failure("a", "check", "x", fix), report.warning("a", "check", "y", fix),
                           report.warning("b", "check", "z", fix)], 80).plain
    lines = text.splitlines()
    assert [line.split()[0] for line in lines if line.endswith(" end")] == ["tmsh"] * 2
    assert sum(line.startswith("  fix ") for line in lines) == 2
    assert all(len(line) <= 80 for line in lines if not line.endswith(" end"))


def test_a_fault_without_a_fix_is_an_error():
    with pytest.raises(ValueError, match="neither a step nor a command"):
        Fix()


def test_json():
    document = json.loads(report.as_json(CHECKS))
    assert document["checks"][1] == {
        "area": "BIG-IP a", "check": "licence", "state": "warning", "message": "it ends on 2026-12-01",
        "fix": "renew it: tmsh install x", "code": ""}
    assert document["checks"][0]["fix"] == ""
    assert document["summary"] == {"ok": 1, "warning": 1, "failure": 1, "skipped": 1}


@rows(("checks", "settings", "status"), [
    (CHECKS, True, 1), (CHECKS[:2], True, 0), (CHECKS, False, 2), ([], True, 0)])
def test_exit_status(checks, settings, status):
    assert report.exit_status(checks, settings=settings) == status


@rows(("checks", "text"), [
    ([], "0 ok, 0 warnings, 0 failures"),
    (CHECKS[:1] * 2, "2 ok, 0 warnings, 0 failures"),
    (CHECKS[2:3] * 2, "0 ok, 0 warnings, 2 failures")])
def test_summary(checks, text):
    assert report.summary(checks) == text
