"""Pod stand-ins: servers on loopback under the addresses of pool members.

A pod answers every request with JSON that tells who it is and what it received: pod, namespace, address,
port, protocol, method, target, headers (pairs, as sent), trailers, body, body_size, tls (None, or sni,
version, cipher and whether a client certificate came), connection and request (its number on the connection).
The query of the target asks for more: `status=404`, `delay=0.2` (s), `chunked=3` (pieces, and a trailer),
`length=100000` (bytes of padding), `close=1` (Connection: close), `drop=1` (reset instead of an answer),
`host=a.b` (404 for any other Host), `early=1` (answer before the body was read), `unframed=1` (the end of the
connection ends the body).
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mocks.bigip.dataplane.loop import LoopThread
from mocks.bigip.dataplane.pod_server import Pod, PodConnection

Address = tuple[str, int]


class LogServer:
    """Takes the lines of a request-log profile, by UDP and by TCP."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        """A datagram, or what comes before a line feed, each; the newest last."""
        self.datagrams: asyncio.DatagramTransport
        self.listener: asyncio.Server

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self.datagrams, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self.lines), local_addr=("127.0.0.1", 0))
        self.listener = await loop.create_server(lambda: _Stream(self.lines), "127.0.0.1", 0)

    def port(self, *, tcp: bool) -> int:
        """Where it listens."""
        udp = self.datagrams.get_extra_info("sockname")
        return (self.listener.sockets[0].getsockname() if tcp else udp)[1]

    def close(self) -> None:
        self.datagrams.close()
        self.listener.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self._lines.append(data.decode("utf-8", "replace"))


class _Stream(asyncio.Protocol):
    """Text without a line feed behind it is no line yet (RFC 6587, 3.4.2)."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self._begun = lines, b""

    def data_received(self, data: bytes) -> None:
        *whole, self._begun = (self._begun + data).split(b"\n")
        self._lines += [line.decode("utf-8", "replace") for line in whole]


class Pods:
    """Pods by address and port. thread: the loop they run in, else one of their own."""

    def __init__(self, thread: LoopThread | None = None) -> None:
        self._own = thread is None
        self._thread = thread or LoopThread("fake-pods")
        self._pods: dict[Address, Pod] = {}
        self._silent: set[Address] = set()
        self._logs: dict[Address, LogServer] = {}

    def __enter__(self) -> Pods:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Pod]:
        return iter(list(self._pods.values()))

    def __getitem__(self, where: Address) -> Pod:
        return self._pods[where]

    def start(
        self,
        address: str,
        port: int,
        name: str = "",
        *,
        namespace: str = "",
        tls: tuple[bytes, bytes] | None = None,
        client_ca: bytes | None = None,
        raw: bool = False,
        greeting: bytes = b"",
        http2: bool = False,
    ) -> Pod:
        """Start a pod; one that has the address is stopped.

        Args: tls: certificate and key in PEM. client_ca: asks clients for a certificate of this CA.
        """
        context = _context(tls, client_ca) if tls else None
        pod = Pod(address, port, name or address, namespace, raw, greeting, context, http2)
        self._thread.run(self._start(pod))
        return pod

    async def _start(self, pod: Pod) -> None:
        await self._stop((pod.address, pod.port))
        pod.server = await asyncio.get_running_loop().create_server(
            lambda: PodConnection(pod), "127.0.0.1", 0, ssl=pod.tls, backlog=1024
        )
        self._pods[pod.address, pod.port] = pod

    def stop(self, address: str, port: int) -> None:
        """End a pod: its connections are reset, new ones are refused."""
        self._thread.run(self._stop((address, port)))

    def drain(self, address: str, port: int) -> None:
        """New connections are refused; those that are open go on."""
        self._thread.call(self._pods[address, port].server.close)

    def silence(self, address: str, port: int) -> None:
        """From now on nobody answers at this address, not even with a refusal."""
        self._thread.run(self._stop((address, port)))
        self._silent.add((address, port))

    async def _stop(self, where: Address) -> None:
        self._silent.discard(where)
        pod = self._pods.pop(where, None)
        if pod is not None:
            pod.server.close()
            for connection in list(pod.connections):
                connection.abort()

    def lookup(self, address: str, port: int) -> int | None:
        """The local port of a pod, 0 for one that never answers, None if nobody is there."""
        where = address.partition("%")[0], port
        if where in self._silent:
            return 0
        pod = self._pods.get(where)
        return pod.local_port or None if pod else None

    def log_server(self, address: str, port: int = 514) -> LogServer:
        """Start what takes log lines for an address; one that has the address is stopped."""
        server = LogServer()
        self._thread.run(self._receive((address, port), server))
        return server

    async def _receive(self, where: Address, server: LogServer) -> None:
        if (before := self._logs.pop(where, None)) is not None:
            before.close()
        await server.start()
        self._logs[where] = server

    def log_port(self, address: str, port: int, *, tcp: bool = False) -> int | None:
        """The local port of a log server; None if nobody is there."""
        server = self._logs.get((address.partition("%")[0], port))
        return server.port(tcp=tcp) if server else None

    async def _close_logs(self) -> None:
        while self._logs:
            self._logs.popitem()[1].close()

    def close(self) -> None:
        for pod in self:
            self.stop(pod.address, pod.port)
        self._thread.run(self._close_logs())
        if self._own:
            self._thread.stop()


def _context(pair: tuple[bytes, bytes], client_ca: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pod.pem"
        path.touch(mode=0o600)
        path.write_bytes(pair[1].rstrip() + b"\n" + pair[0])
        context.load_cert_chain(path)
    if client_ca is not None:
        context.load_verify_locations(cadata=client_ca.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
    context.sni_callback = lambda connection, name, _: setattr(connection, "asked_for", name)
    return context
