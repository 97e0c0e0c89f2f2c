"""The view of a certificate, whatever its names are."""

import dataclasses
import datetime

import pytest

from f5router.views import certificates
from tests import hostile_certificates
from tests.builders import identity
from tests.hostile_certificates import BMP, COMMON_NAME, T61, UTF8, certificate
from tests.rows import rows

MANY = 10_000
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)


def view(pair):
    return certificates.view(pair.certificate, "www.example.com", NOW)


@pytest.mark.filterwarnings("ignore:Attribute's length")
def test_ten_thousand_hostile_certificates():
    """Every text is printable and short; nothing that can be written in a certificate is an error."""
    shown = [view(pair) for pair in hostile_certificates.many(1, MANY)]
    texts = {text for each in shown for text in (each.subject, each.issuer, each.problem, *each.names)}
    assert [text for text in texts if not text.isprintable()] == []
    assert max(len(text.encode()) for text in texts) < 4 * 256 + 100
    names = {text for each in shown for text in (each.subject, each.issuer, *each.names)}
    assert max(len(text.encode()) for text in names) == 256
    unread = [each for each in shown if each.subject == certificates.UNREADABLE]
    assert len([each for each in unread if each.not_after == "2045-01-01T00:00:00Z"]) > MANY // 100


@pytest.mark.filterwarnings("ignore:Attribute's length")
@rows(("subject", "kind", "expected"), [
    (b"a\x1b[2J\r\n", UTF8, r"CN=a\x1b[2J\r\n"),
    ("\u202eb".encode("utf-16-be"), BMP, r"CN=\u202eb"),
    (b"<img>, O=x", UTF8, r"CN=\<img\>\, O=x"),
    (b"", UTF8, "CN="),
    (b"x" * 100_000, UTF8, f"CN={'x' * 250}..."),
    (b"\xed\xa0\x80", UTF8, "(does not parse)"),
    ("Bürgeramt".encode("latin-1"), T61, "(does not parse)"),
    (COMMON_NAME, 0x30, "(does not parse)"),
], ids=["controls", "a mark of direction", "markup", "nothing", "long", "a surrogate", "Latin-1", "no text"])
def test_subjects(subject, kind, expected):
    assert view(certificate(subject, kind=kind)).subject == expected


@rows(("text", "problem"), [
    ("", "it cannot be read (ValueError)"),
    (certificate(b"a", names=(b"\xff",)).certificate, "its dates or names cannot be read"),
    (identity("www.example.com").certificate, ""),
])
def test_problems(text, problem):
    shown = certificates.view(text, "www.example.com", NOW)
    assert shown.problem == problem
    assert dataclasses.asdict(shown).keys() >= {"subject", "issuer"}
