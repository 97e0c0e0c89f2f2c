"""Actions on headers: what may be asked for, and the form in which the BIG-IP gets it."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import header_actions
from f5router.model.header_actions import HSTS, MOST_TOGETHER, REQUEST, RESPONSE, encode_delete, encode_set
from tests.rows import rows

FORM = re.compile(r"(set|delete)\.[0-9a-f]+(\.[thd]_[0-9a-f]*(_(lower|base64))*)*")


def t(text: str) -> str:
    return f"t_{text.encode().hex()}"


@pytest.mark.parametrize(("value", "pieces"), [
    ("DENY", [t("DENY")]), ("100%%", [t("100%")]), (" a\u00e4 ", [t(" a\u00e4 ")]),
    ("%[req.hdr(Host)]", [f"h_{b'Host'.hex()}"]),
    ("a %[req.hdr(X-A),lower] b", [t("a "), f"h_{b'X-A'.hex()}_lower", t(" b")]),
    ("%[req.hdr(a),base64,lower,base64]", [f"h_{b'a'.hex()}_base64_lower_base64"]),
    ("%{+Q}[ssl_c_der,base64]", ["d__base64"]), ("%{-Q}[req.hdr(a)]", [f"h_{b'a'.hex()}"]),
    ("%{+X,+Q}[req.hdr(a),lower]", [f"h_{b'a'.hex()}_lower"]),
    ("%{+Q,-Q}[req.hdr(a)]", [f"h_{b'a'.hex()}"]), ("{$x;}[exit]", [t("{$x;}[exit]")]),
])
def test_values(value, pieces):
    assert encode_set("X-A", value, side=REQUEST) == ".".join(["set", b"X-A".hex(), *pieces])


@rows("value", [
    "", "%", "a%b", "%[src]", "%[req.hdr()]", "%[req.hdr(a b)]", "%[req.hdr(a),upper]", "%[req.hdr(a)",
    "%{+Z}[req.hdr(a)]", "%{+E}[req.hdr(a)]", "%[res.hdr(a)]", "%[ssl_c_der]", "%[ssl_c_der,lower]",
    "a\nb", "a\rb", "\0", "\x7f", "x" * 16_385, "\u00e4" * 8_193, "%ci", "%%%",
])
def test_bad_values(value):
    with pytest.raises(ValueError, match="X-A"):
        encode_set("X-A", value, side=REQUEST)


def test_each_side_reads_its_own_headers():
    assert encode_set("a", "%[res.hdr(b)]", side=RESPONSE)
    with pytest.raises(ValueError, match=r"must read res\.hdr"):
        encode_set("a", "%[req.hdr(b)]", side=RESPONSE)


@pytest.mark.parametrize("name", ["X-Frame-Options", "x_1", "!#$%&'*+-.^_`|~", "a" * 255, "Host", "lws"])
def test_names(name):
    assert encode_delete(name) == f"delete.{name.encode().hex()}"


@pytest.mark.parametrize("name", [
    "", "a b", "a:", "a\n", "a" * 256, "\u00e4", "(", "a/b", "Proxy", "COOKIE", "set-cookie",
    "Strict-Transport-Security", "Content-Length", "transfer-encoding", "Connection", "Upgrade", "TE"])
def test_bad_names(name):
    for encode in (encode_delete, lambda name: encode_set(name, "x", side=REQUEST)):
        with pytest.raises(ValueError, match=r"[a-z]"):
            encode(name)


def test_a_name_that_is_permitted():
    """Only OpenShift refuses it; what ends a message stays refused."""
    assert encode_set("Strict-Transport-Security", "a", side=RESPONSE, permitted=(HSTS,)) == ".".join(
        ["set", b"Strict-Transport-Security".hex(), f"t_{b'a'.hex()}"])
    assert encode_delete("strict-transport-security", permitted=(HSTS,))
    with pytest.raises(ValueError, match="belongs to the connection"):
        encode_delete("Connection", permitted=(HSTS, "connection"))


@given(st.text(), st.text(), st.sampled_from([REQUEST, RESPONSE]))
def test_nothing_has_a_meaning_to_tmsh_or_tcl(name, value, side):
    with contextlib.suppress(ValueError):
        assert FORM.fullmatch(encode_set(name, value, side=side))


def test_what_does_not_fit_is_named():
    """A later one that is shorter still fits."""
    refused: list[str] = []
    sizes = {"a": 90, "b": 50, "c": 1}
    pairs = [(name, encode_set(name, "x" * size, side=REQUEST)) for name, size in sizes.items()]
    kept = header_actions.bounded(pairs, 100, refused.append)
    assert kept == (pairs[0][1], pairs[2][1])
    assert len(refused) == 1
    assert "'b'" in refused[0]


@pytest.mark.parametrize(("text", "actions"), [
    ("X-Frame-Options:DENY:Set", [("X-Frame-Options", "DENY")]),
    ("X-XSS-Protection:1%3Bmode%3Dblock:Set,X-A:Delete",
     [("X-XSS-Protection", "1;mode=block"), ("X-A", None)]),
    ("Accept:text%2Fplain%2C+text%2Fhtml:Set,Accept-Encoding:Delete",
     [("Accept", "text/plain, text/html"), ("Accept-Encoding", None)]),
    ("X-Client:%25%7B%2BQ%7D%5Bssl_c_der%2Cbase64%5D:Set", [("X-Client", "%{+Q}[ssl_c_der,base64]")]),
    ("a:%C3%A4:Set", [("a", "\u00e4")]),
])
def test_settings(text, actions):
    """The texts are those of openshift/enhancements, set-delete-http-headers.md."""
    wanted = tuple(encode_delete(name) if value is None else encode_set(name, value, side=REQUEST)
                   for name, value in actions)
    assert header_actions.parse_request_setting(text) == wanted


@rows("text", [
    ",", "a", "a:b", "a:b:c", "a:b:Set:d", "a:Set", "a:b:set", "a:b:Delete", "a:Delete,", "a:%zz:Set",
    "a:%:Set", "a:%0A:Set", "a%20b:x:Set", "a:%25:Set", "Cookie:x:Set", "Content-Length:Delete",
    "a:%ff:Set", "Host:x:Set",
    ",".join(f"a{number}:Delete" for number in range(21)), f"a:{'x' * MOST_TOGETHER}:Set",
])
def test_bad_settings(text):
    with pytest.raises(ValueError, match=r"[a-z]"):
        header_actions.parse_request_setting(text)


def test_a_response_may_not_read_the_request():
    with pytest.raises(ValueError, match=r"must read res\.hdr"):
        header_actions.parse_response_setting("a:%25%5Breq.hdr%28b%29%5D:Set")
