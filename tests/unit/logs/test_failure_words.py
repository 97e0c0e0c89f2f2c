"""Words for failures of connections, in place of those of libraries."""

import http.client
import ssl

import pytest
import urllib3.exceptions as wire

from f5router.kube.api.api_errors import reason
from f5router.logs import log_output
from tests.rows import rows


def tls(why: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {why}] some words (_ssl.c:992)")
    error.reason = why
    return error


def refused() -> wire.NewConnectionError:
    """Return the exception for a port on which nobody listens."""
    try:
        raise wire.NewConnectionError(POOL, "Failed to establish a new connection") from REFUSED
    except wire.NewConnectionError as exc:
        return exc


POOL = "HTTPSConnection(host='a', port=1)"
REFUSED = ConnectionRefusedError(111, "Connection refused")


@rows(("error", "words"), [
    pytest.param(wire.SSLError(tls("WRONG_VERSION_NUMBER")),
                 "no TLS is spoken there: another server has this port", id="no TLS"),
    pytest.param(wire.SSLError(tls("TLSV1_ALERT_ACCESS_DENIED")), "TLS: TLSV1_ALERT_ACCESS_DENIED", id="TLS"),
    pytest.param(wire.ProtocolError("Connection aborted.", http.client.RemoteDisconnected("Remote end")),
                 "the connection was closed without a reply", id="closed"),
    pytest.param(wire.ProtocolError("Connection aborted.", http.client.BadStatusLine("hello")),
                 "the reply is not HTTP", id="not HTTP"),
    pytest.param(wire.ProtocolError("Connection broken", http.client.IncompleteRead(b"")),
                 "the reply was cut off", id="cut off"),
    pytest.param(REFUSED, "Connection refused", id="system"),
    pytest.param(wire.HTTPError("<object at 0x7f00>"), "", id="unknown"),
])
def test_words(error, words):
    assert log_output.failure_words(log_output.exception_links(error)) == words


@rows(("error", "words"), [
    pytest.param(wire.NameResolutionError("a", POOL, OSError("x")), "the host name has no address",
                 id="name"),
    pytest.param(wire.ReadTimeoutError(POOL, "/", "x"), "no reply within the time-out", id="read"),
    pytest.param(wire.ConnectTimeoutError("x"), "no connection within the time-out", id="connect"),
    pytest.param(refused(), "Connection refused", id="refused"),
    pytest.param(wire.HTTPError("<object at 0x7f00>"), "no usable reply", id="unknown"),
    pytest.param(ValueError("x"), "the reply is cut off, or is not JSON", id="not JSON"),
])
def test_reasons(error, words):
    assert reason(error) == words
