"""Results of checks as text and as JSON."""

import json

from f5router.cli.doctor import report
from tests.rows import rows

CHECKS = [
    report.ok("settings", "settings", "they fit"),
    report.warning("BIG-IP a", "licence", "it ends on 2026-12-01", "renew it"),
    report.failure("BIG-IP a", "login", "user 'x\x1b[31m' is refused"),
    report.skipped("BIG-IP a", ("role", "version"), "they need a login"),
]

TEXT = """\
settings
  ok       settings     they fit

BIG-IP a
  warning  licence      it ends on 2026-12-01; renew it
  failure  login        user 'x\\x1b[31m' is refused
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


def test_json():
    document = json.loads(report.as_json(CHECKS))
    assert document["checks"][1] == {
        "area": "BIG-IP a", "check": "licence", "state": "warning", "message": "it ends on 2026-12-01",
        "mend": "renew it"}
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
