"""One check of a member by one monitor (bigip-behaviour.md B3; K2167 for the escapes of send strings)."""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import Any

from mocks.bigip import selection
from mocks.bigip.dataplane.contexts import is_named
from mocks.bigip.dataplane.shared import Shared
from mocks.bigip.dataplane.tls import TLSFailure, TLSWire
from mocks.bigip.dataplane.wire import Closed, Wire
from mocks.bigip.matching import Unsupported
from mocks.bigip.monitors import profile_of

_ESCAPES = {"\\r": "\r", "\\n": "\n", "\\t": "\t"}


async def check(shared: Shared, kind: str, fields: dict[str, Any], address: str, port: int) -> bool:
    """Return True if a member answers as the monitor wants. Raises: Unsupported."""
    if kind in ("icmp", "gateway-icmp"):
        return any(pod.address == address.partition("%")[0] for pod in shared.pods)
    port = _port(fields, port)
    local = shared.pods.lookup(address, port)
    if not local:
        return False
    if kind not in ("tcp", "tcp-half-open", "http", "https"):
        raise Unsupported(f"monitor of type {kind}")
    try:
        async with asyncio.timeout(float(fields.get("timeout", 16)) / shared.clock.speed):
            _, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", local)
            try:
                return kind == "tcp-half-open" or await _talk(shared, wire, kind, fields)
            finally:
                wire.close()
    except (OSError, Closed, TLSFailure, TimeoutError):
        return False


def _port(fields: dict[str, Any], port: int) -> int:
    """The member's, or the one of a destination such as *:8080."""
    destination = str(fields.get("destination", "*:*"))
    host, _, given = destination.rpartition(":" if ":" in destination else ".")
    if host != "*" or fields.get("recvDisable"):
        raise Unsupported(f"monitor with destination {destination} or recvDisable")
    return port if given == "*" else int(given)


async def _talk(shared: Shared, wire: Wire, kind: str, fields: dict[str, Any]) -> bool:
    stream: Wire | TLSWire = wire
    if kind == "https":
        stream = await _secured(shared, wire, profile_of(fields))
    text, wanted = _text(fields.get("send")), fields.get("recv")
    if kind != "tcp" and text:
        # a request without a blank line at its end would be waited for
        text = text.rstrip("\r\n") + "\r\n\r\n"
    if not text and not wanted:
        return kind == "tcp"
    stream.write(text.encode("latin-1"))
    return await _answered(stream, str(wanted or ""), reverse=fields.get("reverse") == "enabled")


async def _secured(shared: Shared, wire: Wire, profile: str) -> TLSWire:
    """TLS by a server-ssl profile, as for requests, where monitors run in TMM; else without verification
    (bigip-behaviour.md B3). Raises: TLSFailure, Closed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    name = wanted = "none"
    with shared.store.lock:
        if profile and shared.store.get("sys/db", "bigd.tmm").fields["value"] == "enable":
            properties = selection.profile_fields(shared.store, profile)
            context = shared.contexts.server_side(profile)
            name = str(properties.get("serverName") or "none")
            wanted = str(properties.get("authenticateName") or "none")
    stream = TLSWire(wire, context, server_side=False, server_name=None if name == "none" else name)
    await stream.handshake()
    certificate = stream.object.getpeercert(binary_form=True)
    if context.verify_mode == ssl.CERT_REQUIRED and wanted != "none" and not is_named(certificate, wanted):
        raise TLSFailure(f"the member's certificate is not for {wanted}")
    return stream


def _text(value: object) -> str:
    text = "" if value in (None, "none") else str(value)
    for escape, char in _ESCAPES.items():
        text = text.replace(escape, char)
    return text


async def _answered(stream: Wire | TLSWire, wanted: str, *, reverse: bool) -> bool:
    """Return True if the answer matches; any answer does for an empty pattern."""
    answer = ""
    while data := await stream.read():
        answer += data.decode("latin-1")
        if not wanted or wanted == "none":
            return True
        if re.search(wanted, answer):
            return not reverse
    return reverse and bool(answer)
