"""Validity of a certificate: for a Host, and at a time."""

import datetime

from f5router.model.client_tls import Validity, matches
from tests.rows import rows

BEGIN, END = (datetime.datetime(2026, month, 1, tzinfo=datetime.UTC) for month in (1, 3))
SECOND = datetime.timedelta(seconds=1)


@rows(("name", "host", "expected"), [
    ("www.example.com", "www.example.com", True),
    ("WWW.example.com", "www.Example.com", True),
    ("www.example.com", "a.example.com", False),
    ("*.example.com", "a.example.com", True),
    ("*.example.com", "a.b.example.com", False),
    ("*.example.com", "example.com", False),
    ("*.example.com", "*.example.com", True),
    ("a.example.com", "*.example.com", False),
    ("*", "www.example.com", False),
    ("*.", "www", False),
    ("w*.example.com", "www.example.com", False),
])
def test_matches(name, host, expected):
    assert matches(name, host) is expected


@rows(("now", "expected"), [
    (BEGIN - SECOND, ["CertificateNotYetValid"]), (BEGIN, []), (END, []),
    (END + SECOND, ["CertificateExpired"]),
])
def test_dates(now, expected):
    validity = Validity(("www.example.com",), BEGIN, END)
    assert [reason for reason, _ in validity.problems("www.example.com", now)] == expected


@rows(("names", "text"), [
    ((), "it is not for x.com: it has no subject alternative names"),
    (("a.com",), "it is not for x.com but for a.com"),
    (("a.com", "b\n.com", "c.com", "d.com", "e.com"),
     r"it is not for x.com but for a.com, b\n.com, c.com and 2 more"),
    (("a.com", "x.com"), None),
    (("ü" * 50_000,), f"it is not for x.com but for {'ü' * 126}..."),
])
def test_names(names, text):
    """The text is short, whatever the names are."""
    problems = Validity(names, BEGIN, END).problems("x.com", BEGIN)
    assert problems == ((("CertificateNameMismatch", text),) if text else ())
