"""A real HAProxy on loopback, with the configuration that OpenShift's router would give it."""

import csv
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.differential.haproxy_config import REFUSES, Endpoint, Endpoints, write
from tests.differential.haproxy_frontends import SOCKET, Listeners
from tests.waiting import DEADLINE_S, until

Address = tuple[str, int]


def program() -> str:
    """Return the path of HAProxy; a missing one is an error, since nothing would be compared."""
    path = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
    assert path, "haproxy is missing; tests/system-packages installs it"
    return path


def _listening(stack: ExitStack, *, ipv6: bool) -> socket.socket:
    family, address = (socket.AF_INET6, "::1") if ipv6 else (socket.AF_INET, "127.0.0.1")
    return stack.enter_context(socket.create_server((address, 0), family=family, backlog=128))


class HAProxy:
    """A running HAProxy. It inherits its listening sockets, so that no port has to be guessed.

    Args:
        pods: where those of the cluster listen, as Pods.lookup of the fake's data plane.
        variables: environment of OpenShift's router.
    """

    def __init__(self, stack: ExitStack, folder: Path, routes: Iterable[dict], endpoints: Endpoints, pods,
                 default_certificate: str, variables: Mapping[str, str]):
        ipv6 = variables.get("ROUTER_IP_V4_V6_MODE") == "v6"
        sockets = [_listening(stack, ipv6=ipv6 and public) for public in (True, True, False, False)]
        self.http, self.https, sni, no_sni = (sock.getsockname()[:2] for sock in sockets)
        descriptors = [sock.fileno() for sock in sockets]
        listeners = Listeners(*descriptors, sni_port=sni[1], no_sni_port=no_sni[1])
        path = write(folder, routes, endpoints, lambda endpoint: self._locate(pods, endpoint), listeners,
                     default_certificate, variables)
        self._stats, said = str(folder / SOCKET), folder / "haproxy.log"
        with said.open("wb") as log:
            self._process = subprocess.Popen([program(), "-db", "-f", str(path)], pass_fds=descriptors,
                                             stdout=subprocess.DEVNULL, stderr=log)
        stack.callback(self._stop)
        until(lambda: Path(self._stats).exists() or self._process.poll() is not None)
        assert self._process.poll() is None, said.read_text()

    @staticmethod
    def _locate(pods, endpoint: Endpoint) -> int:
        return pods.lookup(endpoint.address, endpoint.port) or REFUSES

    def checked_down(self, backend: str) -> list[str]:
        """Return the servers of a backend that HAProxy's checks have found down."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self._stats)
            sock.sendall(b"show stat\n")
            text = b"".join(iter(lambda: sock.recv(65536), b"")).decode()
        return [row["svname"] for row in csv.DictReader(text.removeprefix("# ").splitlines())
                if row["pxname"] == backend and row["svname"] != "BACKEND" and row["status"] == "DOWN"]

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait(DEADLINE_S)
