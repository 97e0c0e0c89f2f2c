"""Routes of three tenants on both virtual servers, and a client that asks for all on one connection."""

import json
import socket
from contextlib import ExitStack

from mocks.bigip.dataplane import http
from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import HTTP, HTTPS, PODS, Site
from tests.waiting import DEADLINE_S

ONE_CONNECT = "OneConnect"
DEEP = "a.b.wild.example.com"

WANTED = {
    ("plain.example.com", "/"): "shop web", ("plain.example.com", "/api/x"): "shop api",
    ("other.example.com", "/"): "rival web", ("again.example.com", "/"): "bank tls",
    ("x.wild.example.com", "/"): "shop web", ("empty.example.com", "/"): "503",
    ("nobody.example.com", "/"): "503", (DEEP, "/"): "503", ("secure.example.com", "/"): "302",
}
"""By Host and path: namespace and Service of the pod, or a status."""


def wanted(tls: bool) -> dict[tuple[str, str], str]:
    """Return what each request gets on one of the virtual servers."""
    return {**WANTED, ("secure.example.com", "/"): "shop web"} if tls else WANTED


def virtual(path: str) -> str:
    return f"ltm/virtual/{path.replace('/', '~')}"


def build(stack: ExitStack, folder, behaviour: tuple[str, ...], **options) -> Site:
    """Routes of three tenants, on both virtual servers."""
    site = Site(stack, folder, quirks=set(behaviour) - {ONE_CONNECT}, **options)
    if ONE_CONNECT in behaviour:
        for path in (HTTP, HTTPS):
            site.change("POST", f"{virtual(path)}/profiles", {"name": "/Common/oneconnect"})
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("api", "10.1.2.1")
    site.serve("web", "10.2.1.1", namespace="rival")
    site.serve("tls", "10.3.1.1", port=8443, namespace="bank", tls=PODS)
    wild = manifests.route("wild", host="any.wild.example.com", kind="edge", insecure="Allow")
    wild["spec"]["wildcardPolicy"] = "Subdomain"
    both = {"kind": "edge", "insecure": "Allow"}
    site.apply(
        *manifests.service("rival", "empty", pods=()),
        manifests.route("plain", host="plain.example.com", **both),
        manifests.route("path", host="plain.example.com", path="/api", service="api", **both),
        manifests.route("other", namespace="rival", host="other.example.com", **both),
        manifests.route("empty", namespace="rival", host="empty.example.com", service="empty", **both),
        manifests.route("again", namespace="bank", host="again.example.com", service="tls", kind="reencrypt",
                        insecure="Allow", destinationCACertificate=PODS.issuer),
        manifests.route("through", namespace="bank", host="through.example.com", service="tls",
                        kind="passthrough"),
        manifests.route("secure", host="secure.example.com", kind="edge", insecure="Redirect"),
        wild,
    )
    return site


class Kept:
    """A client that keeps its connection, and opens another one where it has to."""

    def __init__(self, site: Site, tls: bool):
        self._address, self._tls = site.https if tls else site.http, tls
        self._sock, self.opened = None, 0

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    def send(self, data: bytes) -> None:
        """Bytes on the connection, a new one where there is none."""
        if self._sock is None:
            self._sock = socket.create_connection(self._address, DEADLINE_S)
            self.opened += 1
            self._parser = http.Parser(requests=False)
            if self._tls:
                self._sock = clients.trusting().wrap_socket(self._sock, server_hostname="proxy.example.com")
        self._sock.sendall(data)

    def answer(self) -> str:
        """The next answer: namespace and Service of its pod, else its status; "reset" without one."""
        head, body = None, b""
        try:
            while True:
                while self._parser.events:
                    kind, value = self._parser.events.popleft()
                    if kind == http.HEAD:
                        head = value
                        if head.status == 101:
                            return "101"
                    elif kind == http.BODY:
                        body += value
                    else:
                        return self._seen(head, body)
                data = self._sock.recv(65536)
                if not data:
                    raise ConnectionResetError
                self._parser.feed(data)
        except OSError:
            self.close()
            return "reset"

    def _seen(self, head, body: bytes) -> str:
        if not head.keep_alive:
            self.close()
        if head.get(b"Content-Type") != b"application/json":
            return str(head.status)
        pod = json.loads(body)
        self.pod = pod
        return f"{pod['namespace']} {pod['pod'].rpartition('-')[0]}"

    def ask(self, host: str, path: str = "/", **how) -> str:
        self.send(clients.request_bytes(host, path, close=False, **how))
        return self.answer()
