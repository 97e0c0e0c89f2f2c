"""The HTTP compression profile, and which virtual servers get it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.desired import edge
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.ltm import Attachment
from tests.builders import Settings

HTTP, HTTPS, OTHER = "/Common/http", "/Common/https", "/Common/wan-optimized-compression"


def facts(http: tuple[str, ...] | None = (), https: tuple[str, ...] | None = ()) -> DeviceFacts:
    """Args: compression profiles of others on the virtual servers; None without a virtual server."""
    return DeviceFacts(
        http=None if http is None else VirtualFacts(HTTP, compression=http),
        https=None if https is None else VirtualFacts(HTTPS, compression=https))


@pytest.mark.parametrize(("types", "known", "virtuals", "warned"), [
    ((), facts(), [], []), (("a/b",), facts(), [HTTP, HTTPS], []),
    (("a/b",), facts(http=None), [HTTPS], []), (("a/b",), facts(https=None), [HTTP], []),
    (("a/b",), facts(http=(OTHER,)), [HTTPS], [HTTP]),
    (("a/b",), facts((OTHER,), (OTHER,)), [], [HTTP, HTTPS]),
    ((), facts((OTHER,), (OTHER,)), [], []),
])
def test_virtual_servers(types, known, virtuals, warned):
    objects = edge.compression_profiles(Settings(), types, known)
    assert [obj.virtual for obj in objects if isinstance(obj, Attachment)] == virtuals
    assert bool(objects) == bool(virtuals)
    warnings = edge.compression_findings(types, known).warnings
    assert [name for name in (HTTP, HTTPS) for text in warnings if f" {name} " in text] == warned
    assert all(OTHER in text and "ROUTER_ENABLE_COMPRESSION" in text for text in warnings)


TYPES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9!#$&+._/;= -]*", fullmatch=True)


@given(TYPES, TYPES)
def test_patterns_are_literal(content_type, other):
    """A type matches itself and what goes on behind it, under any anchoring."""
    pattern = edge.compression_pattern(content_type)
    assert re.fullmatch(pattern, content_type)
    assert bool(re.match(pattern, other)) == other.startswith(content_type)
