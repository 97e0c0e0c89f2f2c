"""Commands of TMM that need only the configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mocks.bigip import FakeBigIP
from mocks.bigip.tmm import Interpreter, TclError, Unsupported
from mocks.bigip.tmm.commands import store_command


@pytest.fixture(scope="module")
def big() -> Iterator[FakeBigIP]:
    """A device that does not listen."""
    big = FakeBigIP(partitions=("Common", "P"))
    for path, kind, records in (
        ("/P/uris", "string", {"/": "root", "/login": "in", "/login/x": "", "a b": "c d"}),
        ("/Common/shared", "string", {"k": "common"}),
        ("/Common/uris", "string", {"k": "hidden behind /P/uris"}),
        ("/P/nets", "ip", {"10.0.0.0/8": "ten", "10.1.0.0/16": "ten one", "2001:db8::/32": "doc"}),
        ("/P/none", "string", {}),
        ("/P/odd", "string", {"{": "", "a\\": "", "x{}y": "", "}{": "", "\n": ""}),
    ):
        _, partition, name = path.split("/")
        listed = [{"name": key, "data": data} for key, data in records.items()]
        big.put_object(
            "ltm/data-group/internal",
            {"name": name, "partition": partition, "type": kind, "records": listed},
        )
    members = [
        {"name": "10.0.0.1:80"},
        {"name": "10.0.0.2:80", "session": "user-disabled"},
        {"name": "2001:db8::1.8080"},
    ]
    big.put_object("ltm/pool", {"name": "web", "partition": "P", "members": members})
    yield big
    big.close()


def answer(big: FakeBigIP, *words: str, folder: str = "/P") -> str:
    name, *arguments = words
    return store_command(big.store, folder, name, [word.encode() for word in arguments]).decode()


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("match", "/login", "equals", "/P/uris"), "1"),
        (("match", "/LOGIN", "equals", "/P/uris"), "0"),
        (("match", "-value", "/login", "equals", "/P/uris"), "in"),
        (("match", "-value", "/nowhere", "equals", "/P/uris"), ""),
        (("match", "-value", "/login/y", "starts_with", "/P/uris"), "in"),
        (("match", "-name", "/login/y", "starts_with", "/P/uris"), "/login"),
        (("match", "-name", "x/login", "contains", "/P/uris"), "/login"),
        (("match", "-name", "x/login", "ends_with", "/P/uris"), "/login"),
        (("match", "-element", "a b", "equals", "/P/uris"), "{a b} {c d}"),
        (("match", "--", "-value", "equals", "/P/uris"), "0"),
        (("match", "/login/x", "equals", "/P/uris"), "1"),
        (("search", "/P/uris", "starts_with", "/log"), "1"),
        (("search", "/P/uris", "starts_with", "/login/x/y"), "0"),
        (("match", "-value", "10.1.2.3", "equals", "/P/nets"), "ten one"),
        (("match", "-value", "10.2.2.3", "equals", "/P/nets"), "ten"),
        (("match", "11.2.2.3", "equals", "/P/nets"), "0"),
        (("match", "-value", "2001:db8::5", "equals", "/P/nets"), "doc"),
        (("lookup", "/login", "/P/uris"), "in"),
        (("lookup", "x", "/P/uris"), ""),
        (("match", "/login", "equals", "uris"), "1"),
        (("lookup", "k", "shared"), "common"),
        (("exists", "shared"), "1"),
        (("exists", "/P/shared"), "0"),
        (("size", "/P/uris"), "4"),
        (("size", "/P/none"), "0"),
        (("type", "nets"), "ip"),
        (("names", "uris"), "/ /login /login/x {a b}"),
        (("get", "shared"), "{k common}"),
    ],
    ids=" ".join,
)
def test_class(big, words, want):
    assert answer(big, "class", *words) == want


def test_folder_of_a_bare_name(big):
    """That of the rule, then /Common."""
    assert answer(big, "class", "lookup", "k", "uris", folder="/Common") == "hidden behind /P/uris"
    assert answer(big, "class", "lookup", "k", "uris") == ""


@pytest.mark.parametrize(
    "words",
    [
        ("class", "match", "x", "equals", "/P/missing"),
        ("class", "match", "-value", "equals", "/P/uris"),
        ("class", "match", "x", "like", "/P/uris"),
        ("class", "match", "x", "equals", "/P/nets"),
        ("class", "lookup", "x", "/P/missing"),
        ("active_members", "/P/missing"),
        ("active_members",),
        ("getfield", "a", "b"),
        ("getfield", "a", "b", "c"),
        ("substr", "a"),
    ],
    ids=" ".join,
)
def test_errors(big, words):
    """Errors that the device has, too."""
    with pytest.raises(TclError) as failed:
        answer(big, *words)
    assert not isinstance(failed.value, Unsupported)


@pytest.mark.parametrize(
    "words",
    [
        ("pool", "/P/web"),
        ("class", "startsearch", "/P/uris"),
        ("class", "match", "-all", "x", "equals", "/P/uris"),
        ("class",),
        ("log", "a", "b", "c"),
        ("substr", "abc", "-1"),
    ],
    ids=" ".join,
)
def test_unsupported(big, words):
    """Loudly."""
    with pytest.raises(Unsupported):
        answer(big, *words)


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("active_members", "/P/web"), "2"),
        (("active_members", "web"), "2"),
        (("members", "/P/web"), "3"),
        (("active_members", "-list", "web"), "{10.0.0.1 80} {2001:db8::1 8080}"),
        (("getfield", "a.example:8080", ":", "1"), "a.example"),
        (("getfield", "a.example:8080", ":", "2"), "8080"),
        (("getfield", "a.example", ":", "2"), ""),
        (("getfield", "a", ":", "0"), ""),
        (("getfield", "a--b--c", "--", "2"), "b"),
        (("findstr", "user=me&x=1", "user="), "user=me&x=1"),
        (("findstr", "a;user=me&x=1", "user=", "5", "&"), "me"),
        (("findstr", "a;user=me&x=1", "user=", "5", "1"), "m"),
        (("findstr", "user=me", "user=", "5", "&"), "me"),
        (("findstr", "abc", "x", "1"), ""),
        (("substr", "abcdef", "2"), "cdef"),
        (("substr", "abcdef", "2", "2"), "cd"),
        (("substr", "abcdef", "1", "e"), "bcd"),
    ],
    ids=" ".join,
)
def test_pools_and_text(big, words, want):
    assert answer(big, *words) == want


def test_log(big):
    """Kept for the tests, with and without facility."""
    for words in (("local0.err", "one"), ("two",), ("-noname", "local0.", "three")):
        answer(big, "log", *words)
    assert big.store.irule_log[-3:] == ["one", "two", "three"]


def test_lists_are_lists(big, tcl: Interpreter):
    """Tcl reads the names that it is given, whatever is in them."""
    text = "when A { foreach name [class names /P/odd] { log $name } }"
    connection = tcl.connection([("/P/r", text)], lambda *called: store_command(big.store, "/P", *called))
    connection.fire("A")
    connection.close()
    assert sorted(big.store.irule_log[-5:]) == sorted(["{", "a\\", "x{}y", "}{", "\n"])


def test_bytes_that_are_no_text(big):
    """Compared as they are."""
    assert store_command(big.store, "/P", "class", [b"match", b"\xff\xfe", b"equals", b"uris"]) == b"0"
    assert store_command(big.store, "/P", "getfield", [b"\xff:\xfe", b":", b"2"]) == b"\xfe"
