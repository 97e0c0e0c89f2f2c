"""Options that act on requests and responses, as the data of a record."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import http_edge
from f5router.model.route_options import DEFAULTS, RouteOptions, parse_rewrite
from tests.strategies import OPTIONS

TEXTS = st.text(st.characters(max_codepoint=127), min_size=1)


def test_default():
    assert [http_edge.encode_options(DEFAULTS, secure=secure, forwarded="append")
            for secure in (False, True)] == ["", ""]


def test_strict_transport_security_is_for_tls():
    options = RouteOptions(hsts="max-age=1")
    assert http_edge.encode_options(options, secure=True, forwarded="append") == "hsts.6d61782d6167653d31"
    assert http_edge.encode_options(options, secure=False, forwarded="append") == ""


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(("own", "default", "data"), [
    ("", "append", ""), ("append", "append", ""), ("never", "append", "forwarded.never"),
    ("if-none", "replace", "forwarded.if-none"), ("", "never", ""), ("append", "never", "forwarded.append")])
def test_a_policy_for_forwarded_headers(own, default, data, secure):
    """Only one that differs from the router's is a record."""
    assert http_edge.encode_options(RouteOptions(forwarded=own), secure=secure, forwarded=default) == data


def test_rewriting_of_paths():
    """Routes share a record if their paths are equal, too."""
    def encoded(target: str, path: str) -> str:
        return http_edge.encode_options(RouteOptions(rewrite=parse_rewrite(target)), secure=False,
                                        forwarded="never",
                                        path=path)
    assert encoded("/", "/a") == "rewrite.2f61.2f.rest.slash"
    assert encoded("/b", "") == "rewrite..2f62.rest"
    assert encoded("/b#", "/a") == "rewrite.2f61.2f62"


@given(OPTIONS, TEXTS, st.booleans())
def test_nothing_has_a_meaning_to_tmsh_or_tcl(options, text, secure):
    data = http_edge.encode_options(replace(options, hsts=text), secure=secure, forwarded="append")
    assert re.fullmatch(r"[a-z0-9./_-]*", data)
    assert re.fullmatch(r"[0-9a-f]{32}", http_edge.options_record_name(data))


@given(TEXTS, TEXTS)
def test_other_options_are_other_records(text, other):
    data = [http_edge.encode_options(RouteOptions(hsts=hsts), secure=True, forwarded="append")
            for hsts in (text, other)]
    assert (data[0] == data[1]) == (text == other)
