"""Files of ROUTER_ERRORFILE_503 and ROUTER_ERRORFILE_404."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.config import client_settings
from f5router.model.http_edge import ErrorPage
from tests.rows import rows
from tests.unit.config.loading import config, files, problems

BODY = '<p>"$x [exit] {\\</p> ä\r\n\r\n}\n'
GOOD = ("HTTP/1.0 503 Service Unavailable\r\nPragma: no-cache\r\nConnection: close\r\n"
        f"Content-Type: text/html\r\n\r\n{BODY}")
VARIABLES = ("ROUTER_ERRORFILE_503", "ROUTER_ERRORFILE_404")


@pytest.mark.parametrize(("text", "page"), [
    pytest.param(GOOD, ErrorPage(503, (("Pragma", "no-cache"), ("Content-Type", "text/html")), BODY.encode()),
                 id="as a router's image has it"),
    pytest.param("HTTP/1.1 404 N\nA: b\n\nx\ny", ErrorPage(404, (("A", "b"),), b"x\ny"), id="line ends"),
    pytest.param("HTTP/1.1 200\r\n\r\n", ErrorPage(200, (), b""), id="nothing but a status"),
    pytest.param("HTTP/1.1 404 N\r\nContent-Length: 1\r\n\r\nx", ErrorPage(404, (), b"x"), id="length"),
    pytest.param("HTTP/1.1 404 N\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
                 ErrorPage(404, (), b"ab"), id="chunks"),
    pytest.param("HTTP/1.1 404 N\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n",
                 ErrorPage(404, (("Set-Cookie", "a=b"), ("Set-Cookie", "c=d")), b""), id="a header twice"),
])
def test_pages(text, page):
    assert client_settings.parse_error_page(text) == page


@rows(("text", "words"), [
    ("", "not an HTTP response"), ("<html></html>", "not an HTTP response"),
    ("HTTP/1.1", "not an HTTP response"),
    ("HTTP/1.1 5x3 a\r\n\r\n", "not an HTTP response"), ("HTTP/1.1 99 a\r\n\r\n", "not an HTTP response"),
    ("HTTP/2 503\r\n\r\n", "not an HTTP response"),
    ("HTTP/1.1 204 a\r\n\r\n", "status 204"), ("HTTP/1.1 304 a\r\n\r\n", "status 304"),
    ("HTTP/1.1 101 a\r\n\r\n", "status 101"), ("HTTP/1.1 700 a\r\n\r\n", "status 700"),
    ("HTTP/1.1 404 a\r\nContent-Length: 9\r\n\r\nx", "not an HTTP response"),
    ("HTTP/1.1 404 a\r\nTransfer-Encoding: chunked\r\n\r\nx", "not an HTTP response"),
    ("HTTP/1.1 404 a\r\nno header\r\nA: b\r\n\r\nx", "header that is none"),
    ("HTTP/1.1 404 a\r\nA$b: c\r\n\r\n", "'A$b'"), ("HTTP/1.1 404 a\r\nnoserver: c\r\n\r\n", "'noserver'"),
    ("HTTP/1.1 404 a\r\n-version: c\r\n\r\n", "'-version'"),
    ("HTTP/1.1 404 a\r\nA: b\r\n c\r\n\r\n", "one line"),
    ("HTTP/1.1 404 a\r\nA: \x01\r\n\r\n", "one line"), ("HTTP/1.1 404 a\r\nA: ä\r\n\r\n", "one line"),
    ("HTTP/1.1 404 a\r\n" + "A: b\r\n" * 31 + "\r\n", "more than 30"),
    ("HTTP/1.1 404 a\r\n" + "A: b\r\n" * 200 + "\r\n", "not an HTTP response"),
    ("HTTP/1.1 404 a\r\n\r\n" + "x" * 32768, "more than 32768"),
])
def test_what_is_no_page(text, words):
    with pytest.raises(ValueError, match=r"header|HTTP|status|bytes") as caught:
        client_settings.parse_error_page(text)
    assert words in str(caught.value)


@given(st.text(max_size=300))
def test_nothing_else_is_raised(text):
    for whole in (text, f"HTTP/1.1 404 x\r\n{text}", f"HTTP/1.1 404 x\r\nA: b\r\n\r\n{text}"):
        try:
            client_settings.parse_error_page(whole)
        except ValueError:
            continue


@pytest.mark.parametrize("variable", VARIABLES)
def test_settings(variable):
    read = files(page=GOOD)
    edge = config({variable: "/page"}, read).edge
    pages = {"ROUTER_ERRORFILE_503": edge.unavailable, "ROUTER_ERRORFILE_404": edge.not_found}
    assert pages.pop(variable) == client_settings.parse_error_page(GOOD)
    assert list(pages.values()) == [None]


@rows(("flags", "page"), [
    ({}, None),
    ({"errorfile_404": "builtin"}, client_settings.NOT_FOUND),
    ({"f5_vserver_address": "203.0.113.10"}, None),
    ({"f5_vserver_address": "203.0.113.10", "sources": "routes,ingress"}, None),
    ({"sources": "ingress"}, None),
    ({"f5_vserver_address": "203.0.113.10", "sources": "ingress"}, client_settings.NOT_FOUND),
    ({"f5_vserver_address": "203.0.113.10", "sources": "ingress", "f5_503_page": "false"}, None),
    ({"f5_vserver_address": "203.0.113.10", "sources": "ingress", "errorfile_404": "none"}, None),
])
def test_the_page_without_a_file(flags, page):
    """404 where only Ingresses are served, on virtual servers of the router's own; else what is set."""
    assert config(**flags).edge.not_found == page


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("content", [
    "<html>", None, UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), "x" * 32769,
], ids=["no response", "no file", "no text", "too large"])
def test_a_bad_file_ends_the_start(variable, content):
    (problem,) = problems({variable: "/page"}, files(page=content) if content is not None else files())
    assert problem.startswith(f"--errorfile-{variable[-3:]} / {variable}: cannot ")
    assert "/page" in problem


def test_without_the_503_page():
    unused = config({"ROUTER_ERRORFILE_503": "/page", "ROUTER_F5_503_PAGE": "false"}, files(page=GOOD))
    assert unused.edge.unavailable is None
    assert any("--f5-503-page=false" in text for text in unused.warnings)


def test_the_log_has_no_page():
    shown = config({VARIABLES[0]: "/page"}, files(page=GOOD)).redacted()
    assert shown["edge"]["unavailable"] == f"503, {len(BODY.encode())} bytes"
    json.dumps(shown["edge"])
