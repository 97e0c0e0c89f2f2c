"""The HTTPS side: an event loop in a thread of its own that passes requests to one handler."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from mocks import closing
from mocks.bigip.replies import Reply
from mocks.bigip.requests import Request, split_target

log = logging.getLogger(__name__)
LARGEST_BODY = 64 * 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """reply: None closes the connection without one. delay_s: seconds to wait before performing."""

    reply: Reply | None


Handler = Callable[[Request], Outcome]
Delay = Callable[[Request], "float | None"]
"""Seconds to wait before a request is performed; None: until `Listener.release`."""


class Listener:
    """Serves on one address. The handler runs in the loop, one request at a time."""

    def __init__(self, handler: Handler, delay: Delay, context: ssl.SSLContext, host: str) -> None:
        self._handler = handler
        self._delay = delay
        self._context = context
        self._host = host
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runner: web.ServerRunner | None = None
        self._released = asyncio.Event()
        self.held = 0
        """Number of requests that were held back so far."""
        self.port = 0

    def release(self) -> None:
        """Let requests go that were held back."""
        self._loop.call_soon_threadsafe(self._let_go)

    def _let_go(self) -> None:
        released, self._released = self._released, asyncio.Event()
        released.set()

    def start(self, port: int) -> None:
        """Listen; port 0 takes any. Raises: OSError: the port is taken."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-bigip", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._serve(port), self._loop).result(timeout=30)
        except BaseException:
            self._end()
            raise

    async def _serve(self, port: int) -> None:
        self._runner = web.ServerRunner(
            web.Server(self._answer, access_log=None, keepalive_timeout=120), shutdown_timeout=1
        )
        await self._runner.setup()
        site = web.TCPSite(
            self._runner,
            self._host,
            port,
            ssl_context=self._context,
            backlog=1024,
            reuse_address=True,
        )
        await site.start()
        self.port = self._runner.addresses[0][1]

    def stop(self) -> None:
        """Close all connections and the socket."""
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(timeout=30)
        self._end()

    async def _close(self) -> None:
        if self._runner is not None:
            await closing.close(self._runner)
            self._runner = None

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()
        self._loop = self._thread = None

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        path, query = split_target(incoming.path_qs if incoming.raw_path is None else incoming.raw_path)
        raw = await _body(incoming)
        request = Request(incoming.method, path, query, incoming.headers, raw, incoming.remote or "127.0.0.1")
        delay_s = self._delay(request)
        if delay_s is None:
            self.held += 1
            await self._released.wait()
        elif delay_s:
            await asyncio.sleep(delay_s)
        reply = self._handler(request).reply
        if reply is None:
            if incoming.transport is not None:
                incoming.transport.abort()
            raise asyncio.CancelledError
        return web.Response(body=reply.body, status=reply.status, reason=reply.reason, headers=reply.headers)


async def _body(incoming: web.BaseRequest) -> bytes:
    if not incoming.can_read_body:
        return b""
    parts, size = [], 0
    async for block in incoming.content.iter_any():
        size += len(block)
        if size > LARGEST_BODY:
            raise web.HTTPRequestEntityTooLarge(LARGEST_BODY, size)
        parts.append(block)
    return b"".join(parts)
