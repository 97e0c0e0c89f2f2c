"""f5router.icontrol.rest.client: whether a device is ready, and its version."""

import pytest

from f5router.model.errors import (
    AuthFailed,
    NotFound,
    Unreachable,
    Unsupported,
)
from tests.unit.icontrol.rest.test_client import (
    BUSY,
    LOST,
    MCPD_LOST,
    NOT_REGISTERED,
    RESTARTING,
    TIMED_OUT,
)
from tests.unit.icontrol.rest.test_readiness import statistics
from tests.unit.icontrol.scripted import (
    Answer,
    connected,
)

YES = {"configReady": "yes", "licenseReady": "yes", "provisionReady": "yes"}


@pytest.mark.parametrize(("version", "path", "reply", "ready"), [
    ("14.1.2.1", "sys/ready", Answer(body=statistics("u", **YES)), True),
    ("13.1.0", "sys/ready", Answer(body=statistics("u", **YES | {"configReady": "no"})), False),
    ("12.1.2", "sys/mcp-state", Answer(body=statistics("u", phase="running")), True),
    ("11.6.0", "sys/mcp-state", Answer(body=statistics("u", phase="platform")), False),
    ("11.5.0", "sys/mcp-state", Answer(400, {"message": "Found unexpected URI sys/mcp-state."}), True),
    ("14.1.2.1", "sys/ready", RESTARTING, False),
    ("14.1.2.1", "sys/ready", BUSY, False),
    ("14.1.2.1", "sys/ready", TIMED_OUT, False),
    ("14.1.2.1", "sys/version", MCPD_LOST, False),
    ("14.1.2.1", "/authn/login", NOT_REGISTERED, False),
])
def test_ready(version, path, reply, ready):
    """One answer, at once: nothing is repeated."""
    with connected() as (device, client, clock):
        device.add(reply, path=path)
        device.add(*[Answer(body=statistics("u", Version=version))] * 2, path="sys/version")
        assert client.ready() is ready
        assert not clock.waits


@pytest.mark.parametrize(("path", "answer", "kind"), [
    ("sys/ready", LOST, Unreachable),
    ("/authn/login", Answer(401, {"message": "Authentication failed."}), AuthFailed),
    ("/authn/login", Answer(404, "<html><title>404 Not Found</title>"), Unsupported),
])
def test_ready_without_answer(path, answer, kind):
    """That the device cannot be asked is another matter than its not being ready."""
    with connected() as (device, client, clock):
        device.add(answer, path=path)
        device.add(Answer(body=statistics("u", Version="15.1.0")), path="sys/version")
        with pytest.raises(kind):
            client.ready()
        assert not clock.waits


def test_version():
    """Read once; again after the device was away, as it may have been upgraded."""
    with connected() as (device, client, _):
        versions = [Answer(body=statistics("u", Version=text)) for text in ("14.1.2.1", "15.1.0")]
        device.add(RESTARTING, *versions, path="sys/version")
        assert client.version() == (14, 1, 2, 1)
        assert client.version() == (14, 1, 2, 1)
        device.add(Answer(404, {"message": "01020036:3: x"}), LOST, path="ltm/pool")
        with pytest.raises(NotFound):
            client.delete("ltm/pool/x")
        assert client.version() == (14, 1, 2, 1)
        with pytest.raises(Unreachable):
            client.delete("ltm/pool/x")
        assert client.version() == (15, 1, 0)
        assert len(device.sent(path="sys/version")) == 3


@pytest.mark.parametrize("answer", [
    Answer(404, "<!DOCTYPE HTML PUBLIC><html><title>404 Not Found</title></html>"),
    Answer(body=statistics("u", Version="11.3.0")),
], ids=["no REST", "too old"])
def test_unsupported_version(answer):
    """The message says what is needed."""
    with connected(auth="basic") as (device, client, clock):
        device.add(answer, path="sys/version")
        with pytest.raises(Unsupported, match=r"11\.4 or later is needed"):
            client.version()
        assert not clock.waits
