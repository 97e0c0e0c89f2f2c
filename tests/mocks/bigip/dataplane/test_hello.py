"""ClientHellos as the data plane reads them, compared with the builder and reader of the iRule's tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mocks.bigip.dataplane import hello
from tests.unit.desired.irules.hello import PADDING, SNI, client_hello, extension, message, records, sni
from tests.unit.desired.irules.hello import hello as plain


@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(plain("a.example"), "a.example", id="plain"),
        pytest.param(plain("A.Example."), "A.Example.", id="as it is"),
        pytest.param(client_hello(), None, id="no extension"),
        pytest.param(records(message(None)), None, id="no block of extensions"),
        pytest.param(
            client_hello(extension(PADDING, bytes(2000)), sni("a.example")), "a.example", id="not first"),
        pytest.param(client_hello(sni("a.example", kind=1)), None, id="a name of another type"),
        pytest.param(client_hello(extension(SNI, b"")), None, id="empty"),
        pytest.param(client_hello(sni("")), None, id="empty name"),
        pytest.param(client_hello(sni("a.example"), record_version=0x0300), "a.example", id="SSL 3 record"),
        pytest.param(client_hello(sni("a.example"), version=0x0301), "a.example", id="TLS 1.0"),
        pytest.param(plain("a.example") + b"more", "a.example", id="and more"),
    ],
)
def test_names(data, name):
    assert hello.parse(data).server_name == name


@given(st.lists(st.integers(1, 60), max_size=12), st.integers(0, 400))
def test_records_and_pieces_do_not_matter(sizes, cut):
    """However it is cut into records: of a part nothing is known, or all."""
    data = records(message([extension(PADDING, bytes(100)), sni("a.example")]), *sizes)
    assert hello.parse(data).server_name == "a.example"
    parsed = hello.parse(data[:cut])
    assert parsed is None or parsed == hello.parse(data)


def test_it_is_complete_with_its_last_byte():
    data = plain("a.example")
    assert [hello.parse(data[:size]) for size in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\n", id="HTTP"),
        pytest.param(b"\x16\x02\x00", id="major version 2"),
        pytest.param(b"\x80\x2e\x01\x00\x02", id="SSL 2"),
        pytest.param(client_hello(record_kind=23), id="application data"),
        pytest.param(records(message([], kind=2)), id="ServerHello"),
        pytest.param(records(message([], length=0xFFFFFF) + bytes(70_000)), id="too long"),
    ],
)
def test_what_is_none(data):
    with pytest.raises(hello.NotTLS):
        hello.parse(data)


@given(st.binary(max_size=300))
def test_nonsense_never_breaks_it(data):
    for begin in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x00\x40\x01\x00\x00\x3c"):
        try:
            hello.parse(begin + data)
        except hello.NotTLS:
            continue
