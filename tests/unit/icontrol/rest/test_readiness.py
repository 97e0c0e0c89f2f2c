"""f5router.icontrol.rest.readiness: what a device says of its version and state."""

import pytest

from f5router.icontrol.rest.readiness import READY, descriptions, is_ready, readiness_path, version_of
from f5router.model.errors import NotReady, Unsupported


def statistics(url: str, **texts: str) -> dict:
    """A reply as in the recordings of sys/version, sys/ready, sys/mcp-state."""
    entries = {name: {"description": text} for name, text in texts.items()}
    return {"kind": "tm:sys:x:xstats", "entries": {f"{url}/0": {"nestedStats": {"entries": entries}}}}


@pytest.mark.parametrize(("text", "version"), [
    ("14.1.2.1", (14, 1, 2, 1)), ("16.0.0", (16, 0, 0)), ("11.4.0", (11, 4, 0)), ("11.4", (11, 4)),
])
def test_version(text, version):
    """A tuple that compares as versions do."""
    assert version_of(statistics("https://localhost/x", Version=text, Build="0.0.4")) == version


@pytest.mark.parametrize("text", ["11.3.0", "11.3.9", "10.2.4"])
def test_old_version(text):
    """The message has the version and what is needed."""
    with pytest.raises(Unsupported, match=rf"TMOS {text} is too old; 11\.4 or later is needed"):
        version_of(statistics("u", Version=text))


@pytest.mark.parametrize("reply", [
    {}, {"entries": []}, {"entries": {"u": None}}, {"entries": {"u": {"nestedStats": "x"}}},
    {"entries": {"u": {"nestedStats": {"entries": {"Version": {"value": 14}}}}}},
    statistics("u", Build="1"), statistics("u", Version=""), statistics("u", Version="unknown"),
], ids=str)
def test_no_version(reply):
    """While daemons start a reply may be anything; it says nothing about the version."""
    with pytest.raises(NotReady):
        version_of(reply)


@pytest.mark.parametrize(("reply", "ready"), [
    (statistics("u", configReady="yes", licenseReady="yes", provisionReady="yes"), True),
    (statistics("u", configReady="no", licenseReady="yes", provisionReady="yes"), False),
    (statistics("u", configReady="yes", licenseReady="no", provisionReady="yes"), False),
    (statistics("u", configReady="yes", licenseReady="yes", provisionReady="no"), False),
    (statistics("u", configReady="yes"), False),
    (statistics("u", phase="running", lastLoad="full-config-load-succeed"), True),
    (statistics("u", phase="platform"), False),
    ({}, False),
], ids=str)
def test_is_ready(reply, ready):
    """Three times yes, or mcpd running."""
    assert is_ready(reply) is ready


@pytest.mark.parametrize(("version", "served"), [
    ((12, 1, 2), False), ((13, 0, 0), False), ((13, 1, 0, 2), True), ((17, 1), True),
])
def test_readiness_path(version, served):
    """sys/ready is served from 13.1 on."""
    assert (readiness_path(version) == READY) is served


def test_descriptions():
    """Parts of a singleton, whatever their URL."""
    assert descriptions(statistics("https://localhost/x", a="1", b="2")) == {"a": "1", "b": "2"}
    assert descriptions({"entries": {"a": {"description": "1"}, "b": {"value": 2}}}) == {"a": "1"}
