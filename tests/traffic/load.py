"""Clients that go on asking, and the count of what they got.

Each client keeps a connection for some requests, as browsers do, and opens new ones in between. On every
second connection or so it asks for any of the targets behind the same address, as proxies and CDNs do. A
request counts as failed when it gets no whole answer, or another status than it should; as wrong when a
pod answers it that is not the Route's, or any where none should. A connection that the server closed
while it was idle is no failure: the client has to open another one (RFC 9112 9.3.1), unless bytes of an
answer came. While a test changes what is right, an answer is right that is so when the request begins or when
the answer comes; where TLS ends in pods, when the connection begins.

Clients that know the device hurry until each target has been asked after its last write, and while a test
waits for answers; then, as in the drain before a delete, another answer would only be one more of the same
configuration. While they hurry, they ask first for the targets that have not been asked often enough.
"""

import asyncio
import json
import random
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from mocks.bigip import FakeBigIP
from mocks.bigip.listener import Outcome
from mocks.bigip.requests import Request
from tests.waiting import DEADLINE_S

REFUSED = 0
"""In the place of a status: the connection is reset, or ends without an answer."""
KEPT = 12
"""Most requests on one connection."""
PAUSE_S = 0.008
"""Between two requests of a client: without it the machine's speed would set their number."""
SLOW_S = 0.2
"""The same while nothing changes; a change ends it."""
AFTER_A_WRITE = 2
"""Requests to each target in a hurry after a write: on a connection of before, and on a new one."""


@dataclass
class Target:
    """Request that clients send."""

    name: str
    address: tuple[str, int]
    host: str
    path: str = "/"
    tls: bool = False
    right: Callable[[dict], bool] = lambda pod: True
    """Whether this pod may answer; asked with what the pod said of itself."""
    certificates: set[bytes] = field(default_factory=set)
    """DER of the certificates that may be shown; empty: any."""
    asleep: bool = False
    """Nobody asks at the moment."""
    alone: bool = False
    """Shares no connection with other targets: TLS of its name ends in its pods."""
    check: Callable[[int, dict[str, str], dict | None], str] = lambda status, headers, pod: ""
    """Returns what else is wrong with an answer, by its status, its headers and what the pod said."""
    status: int = 200
    """Or REFUSED."""


@dataclass
class Report:
    """Results of all requests."""

    sent: Counter = field(default_factory=Counter)
    """By name of the target."""
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    connections: int = 0
    closed: int = 0
    """Kept connections that were closed when the next request came."""

    def __str__(self) -> str:
        each = ", ".join(f"{name} {count}" for name, count in sorted(self.sent.items()))
        return (f"{self.sent.total()} requests on {self.connections} connections, {self.closed} closed while "
                f"idle ({each}): {len(self.failed)} failed, {len(self.wrong)} answered by a wrong pod")


class Load:
    """A number of clients in a thread of their own; a context manager."""

    def __init__(self, *targets: Target, clients: int = 6, seed: int = 0, kept: int = KEPT,
                 pause_s: float = PAUSE_S, device: FakeBigIP | None = None):
        """Args: kept: most requests on one connection. pause_s: between two requests of a client.
        device: whose changes clients follow; None: they always hurry.
        """
        self._kept, self._pause_s, self._device = kept, pause_s, device
        self._loop: asyncio.AbstractEventLoop | None = None
        self.targets, self.report = list(targets), Report()
        self._clients, self._random = clients, random.Random(seed)
        self._context = _context()
        self._asked: Counter = Counter()
        """Requests that began by name of the target."""
        self._busy: Counter = Counter()
        """Requests under way by name of the target, with the opening of their connections."""
        self._goals: Counter = Counter()
        """Answers by name of the target up to which clients hurry."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="load", daemon=True)

    def __enter__(self) -> "Load":
        if self._device is not None:
            assert self._device.intercept is None
            self._device.intercept = self._performed
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def stop(self) -> Report:
        """End after the requests that are under way."""
        self._stop.set()
        if self._device is not None:
            self._device.intercept = None
        self._thread.join(2 * DEADLINE_S)
        assert not self._thread.is_alive(), "the clients hang"
        return self.report

    def more(self, count: int) -> Callable[[], bool]:
        """A condition: each target that is awake has been asked so many times since now, none of the others
        waits for an answer."""
        before = Counter(self.report.sent)
        self._hurry({target.name: before[target.name] + count for target in self.targets})

        def asked() -> bool:
            return all(
                not self._busy[target.name] if target.asleep
                else self.report.sent[target.name] - before[target.name] >= count
                for target in self.targets)

        return asked

    def _performed(self, request: Request, perform: Callable[[], Outcome]) -> Outcome:
        """Perform a request for the device, with requests of the clients under way if it is a write."""
        if request.method != "GET":
            self._hurry({target.name: AFTER_A_WRITE + self._busy[target.name] + self.report.sent[target.name]
                         for target in self.targets})
        return perform()

    def _hurry(self, goals: dict[str, int]) -> None:
        """From any thread: ask without long pauses up to so many answers; those that pause go on."""
        for name, goal in goals.items():
            self._goals[name] = max(goal, self._goals[name])
        if self._loop is not None:
            with suppress(RuntimeError):  # the clients have ended
                self._loop.call_soon_threadsafe(self._wake)

    def _wanted(self, targets: list[Target]) -> list[Target]:
        """Return those that are still to be asked in a hurry."""
        return [target for target in targets if not target.asleep and self._goals[target.name]
                > self.report.sent[target.name] + self._busy[target.name]]

    def _wake(self) -> None:
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    async def _pause(self) -> None:
        """Between two requests of a client."""
        await asyncio.sleep(self._pause_s)
        if self._device is not None and not self._wanted(self.targets):
            with suppress(TimeoutError):
                async with asyncio.timeout(SLOW_S):
                    await self._woken.wait()

    async def _run(self) -> None:
        self._woken, self._loop = asyncio.Event(), asyncio.get_running_loop()
        await asyncio.gather(*(self._client() for _ in range(self._clients)))

    async def _client(self) -> None:
        while not self._stop.is_set():
            awake = [target for target in self.targets if not target.asleep]
            if not awake:
                await asyncio.sleep(self._pause_s)
                continue
            await self._connection(self._chosen(awake), self._random.randint(1, self._kept))

    def _chosen(self, targets: list[Target]) -> Target:
        """Pick two targets at random, and of these the one that was asked less: each gets its share soon."""
        pair = self._random.choices(self._wanted(targets) or targets, k=2)
        return min(pair, key=lambda target: self._asked[target.name])

    def _mixed(self, first: Target) -> list[Target]:
        """Return what a connection that was opened for a target may be used for."""
        if first.alone or self._random.random() < 0.5:
            return [first]
        return [target for target in self.targets
                if (target.address, target.tls) == (first.address, first.tls)]

    async def _connection(self, first: Target, count: int) -> None:
        reader, writer, mixed = None, None, self._mixed(first)
        target, right = first, first.right
        try:
            for _ in range(count):
                usable = [target for target in mixed
                          if not target.asleep and (target is first or not target.alone)]
                if self._stop.is_set() or not usable:
                    break
                target = self._chosen(usable)
                self._asked[target.name] += 1
                fresh = writer is None or reader.at_eof()
                self._busy[target.name] += 1
                try:
                    if fresh or not target.alone:
                        right = target.right
                    if fresh:
                        first = target
                        reader, writer = await self._open(target, writer)
                    if not await self._request(target, reader, writer, right, fresh=fresh):
                        reader, writer = None, _closed(writer)
                finally:
                    self._busy[target.name] -= 1
                await self._pause()
        except (OSError, ssl.SSLError, TimeoutError) as exc:
            self._failed(target, f"no connection: {exc!r}")
            await asyncio.sleep(10 * self._pause_s)
        finally:
            _closed(writer)

    async def _open(self, target: Target, old):
        _closed(old)
        self.report.connections += 1
        context, certificates = self._context if target.tls else None, target.certificates
        async with asyncio.timeout(DEADLINE_S):
            reader, writer = await asyncio.open_connection(
                *target.address, ssl=context, server_hostname=target.host if target.tls else None)
        if target.tls and target.certificates:
            shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            if shown not in certificates | target.certificates:
                self.report.wrong.append(f"{target.name}: another certificate")
        return reader, writer

    async def _request(self, target: Target, reader, writer, right: Callable, *, fresh: bool) -> bool:
        """One request; whether the connection may be kept. Args: right: of the target, when it began."""
        request = f"GET {target.path} HTTP/1.1\r\nHost: {target.host}\r\n\r\n"
        try:
            writer.write(request.encode())
            async with asyncio.timeout(DEADLINE_S):
                await writer.drain()
                head = await reader.readuntil(b"\r\n\r\n")
                status, headers = _head(head)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
        except (OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError) as exc:
            partial = getattr(exc, "partial", b"")
            if fresh or partial or isinstance(exc, TimeoutError):
                self._failed(target, repr(exc))
            else:
                self.report.closed += 1  # while it was idle: the client asks again on another one
            return False
        self.report.sent[target.name] += 1
        self._judge(target, status, headers, body, right)
        return headers.get("connection", "").lower() != "close"

    def _judge(self, target: Target, status: int, headers: dict, body: bytes, right: Callable) -> None:
        pod = json.loads(body) if headers.get("content-type") == "application/json" else None
        if pod is not None and (target.status != 200 or not (right(pod) or target.right(pod))):
            self.report.wrong.append(f"{target.name}: answered by {pod}")
        elif problem := target.check(status, headers, pod):
            self.report.wrong.append(f"{target.name}: {problem}")
        elif status != target.status or (pod is None) != (status != 200):
            self.report.failed.append(f"{target.name}: status {status} {headers} {body[:200]!r}")

    def _failed(self, target: Target, why: str) -> None:
        self.report.sent[target.name] += 1
        if target.status != REFUSED:
            self.report.failed.append(f"{target.name}: {why}")


def _closed(writer) -> None:
    if writer is not None:
        writer.transport.abort()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}
