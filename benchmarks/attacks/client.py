"""One request to each target, one after the other: what everybody gets when nothing changes any more."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterable

from tests.traffic.load import REFUSED, Target

LIMIT_S = 60.0


def problems(targets: Iterable[Target]) -> list[str]:
    """Return what is wrong with the answers, by name of the target."""
    return [f"{target.name}: {problem}" for target in targets if (problem := _problem(target))]


def _problem(target: Target) -> str:
    try:
        return _judge(target, *_ask(target))
    except (OSError, http.client.HTTPException) as error:
        return "" if target.status == REFUSED else f"no answer: {error!r}"


def _ask(target: Target) -> tuple[int, dict[str, str], dict | None, bytes]:
    """Status, headers, what the pod says of itself, and the certificate. Raises: OSError, HTTPException."""
    sock, shown = socket.create_connection(target.address, LIMIT_S), b""
    with sock:
        if target.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            sock = context.wrap_socket(sock, server_hostname=target.host)
            shown = sock.getpeercert(binary_form=True)
        with sock:
            sock.sendall(
                f"GET {target.path} HTTP/1.1\r\nHost: {target.host}\r\nConnection: close\r\n\r\n".encode()
            )
            reply = http.client.HTTPResponse(sock)
            reply.begin()
            body = reply.read()
            pod = json.loads(body) if reply.headers.get_content_type() == "application/json" else None
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, pod, shown


def _judge(target: Target, status: int, headers: dict[str, str], pod: dict | None, shown: bytes) -> str:
    if pod is not None and (target.status != 200 or not target.right(pod)):
        return f"wrong pod: {pod['namespace']} {pod['pod']}"
    if status != target.status:
        return f"status {status} instead of {target.status}"
    if problem := target.check(status, headers, pod):
        return problem
    return "another certificate" if target.certificates and shown not in target.certificates else ""
