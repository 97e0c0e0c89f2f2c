"""HTTPS in a thread of its own: takes requests off the wire, acts out faults, streams watches."""

import asyncio
import logging
import ssl
import threading
import time
from email.utils import formatdate
from functools import partial
from typing import Any

from aiohttp import web

from mocks import closing

from .access import Access
from .api import JSON, TEXT, Api, Reply, failure
from .calls import Call, Logged, parse_call, unknown_kind
from .errors import ApiError
from .faults import EMPTY, PAUSES, UNREADABLE, Fault, Faults, error_line
from .rbac import User
from .store import Store
from .watching import Cut, Watch

log = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024
"""Bytes of a request body, as in a real API server."""

START_LIMIT_S = 60
STOP_LIMIT_S = 60


class Server:
    """Listens while started; start and stop may be repeated, on the same port."""

    def __init__(self, api: Api, store: Store, access: Access, tls: ssl.SSLContext, *, bookmark_s: float):
        self.faults = Faults()
        self.log: list[Logged] = []
        self.watches: dict[Watch, str] = {}
        """Running watches with their path. Under ``store.lock``."""
        self._api = api
        self._store = store
        self._access = access
        self._bookmark_s = bookmark_s
        self.ahead_s = 0.0
        """How far the server's clock is ahead, by the header Date of its replies."""
        self.held = 0
        """Number of requests that were held back so far."""
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self, host: str, port: int) -> int:
        """Listen. Returns the port. Raises: OSError: it is in use."""
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-kube", daemon=True)
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self._listen(host, port), self._loop).result(
                START_LIMIT_S
            )
        except OSError:
            self._end_loop()
            raise

    def stop(self) -> None:
        """Close every connection and stop listening. Does nothing if not started."""
        if self._loop:
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(STOP_LIMIT_S)
            self._end_loop()

    def release(self) -> None:
        """Let requests go that were held back."""
        self._loop.call_soon_threadsafe(self._let_go)

    def _let_go(self) -> None:
        released, self._released = self._released, asyncio.Event()
        released.set()

    @property
    def running(self) -> bool:
        return self._loop is not None

    def fail_watches(self, fault: Fault) -> int:
        """Act out a stream fault on the running watches that match. Returns how many there are."""
        with self._store.lock:
            watches = [watch for watch, path in self.watches.items() if fault.meets("GET", "watch", path)]
            for watch in watches:
                watch.fail(fault)
        return len(watches)

    async def _listen(self, host: str, port: int) -> int:
        # No web.Application, whose routing costs more than most answers. Without handler_cancellation an idle
        # watch would outlive its client.
        server = web.Server(
            self._handle, request_factory=_request, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=self._tls).start()
        except OSError:
            await self._runner.cleanup()
            raise
        return self._runner.addresses[0][1]

    async def _close(self) -> None:
        await closing.close(self._runner)

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_LIMIT_S)
        self._loop.close()
        self._loop = self._thread = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        user, call, answer = await self._parse(request)
        outcome = await self._meet_faults(request, user, call) or answer or self._answer(user, call)
        if isinstance(outcome, Watch):
            return await self._stream(request, outcome)
        if outcome is DROPPED:
            self._note(request, 0)
            closing.reset(request.transport)
            return web.Response()  # nobody reads it
        self._note(request, outcome.code)
        date = formatdate(time.time() + self.ahead_s, usegmt=True)
        return web.Response(
            status=outcome.code,
            body=outcome.body,
            headers={"Content-Type": outcome.content_type, "Date": date, **outcome.headers},
        )

    async def _parse(self, request: web.BaseRequest) -> tuple[User | None, Call | None, Reply | None]:
        """Return who asks, and the call on a resource or the answer that needs none."""
        path, query, headers = request.path, dict(request.query), request.headers
        user = None
        try:
            body = await request.read()
            user = self._access.authenticate(path, headers)
            reads = request.method == "GET"
            document = self._api.discover(path, headers.get("Accept", "")) if reads else None
            if document:
                self._access.authorize_path(user, path)
                return user, None, document
            try:
                call = parse_call(self._api.kinds, request.method, path, query, headers, body)
            except ApiError:
                if asked := unknown_kind(request.method, path, query):
                    self._access.authorize(user, asked)
                raise
            return user, call, None
        except ApiError as error:
            return user, None, failure(error)
        except web.HTTPRequestEntityTooLarge:
            message = f"Request entity too large: limit is {MAX_BODY}"
            return user, None, failure(ApiError(413, "RequestEntityTooLarge", message))

    def _answer(self, user: User, call: Call) -> Reply | Watch:
        try:
            return self._api.answer(user, call, self._loop)
        except ApiError as error:
            return _refusal(call, error)
        except Exception as exc:
            log.exception("request failed: kind=%s verb=%s", call.kind.kind, call.verb)
            return failure(ApiError(500, "InternalError", f"Internal error occurred: {exc!r}"))

    async def _meet_faults(
        self, request: web.BaseRequest, user: User | None, call: Call | None
    ) -> Reply | None:
        """The answer that faults give; None if the request goes its way."""
        verb, continued = (call.verb, "continue" in call.query) if call else ("", False)
        pauses: list[Fault] = []
        while True:
            with self._store.lock:
                fault = self.faults.for_request(
                    request.method, verb, request.path, continued=continued, met=pauses)
            if fault is None:
                return None
            if fault.kind in PAUSES:
                pauses.append(fault)
                await self._pause(fault)
                continue
            if fault.options.get("applied") and call and call.verb != "watch":
                self._answer(user, call)
            if fault.kind == "drop":
                return DROPPED
            if fault.kind == EMPTY and call:
                return self._api.empty(call)
            if fault.kind in UNREADABLE:
                return Reply(200, UNREADABLE[fault.kind])
            if "text" in fault.options:
                return Reply(int(fault.kind), fault.options["text"].encode(), TEXT, fault.error().headers)
            return _refusal(call, fault.error()) if call else failure(fault.error())

    async def _pause(self, fault: Fault) -> None:
        if fault.kind == "delay":
            await asyncio.sleep(fault.options["seconds"])
            return
        with self._store.lock:
            self.held += 1
            self._store.changed.notify_all()
        await self._released.wait()

    async def _stream(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON})
        response.enable_chunked_encoding()
        try:
            await response.prepare(request)
            self._register(request, watch)
            await watch.send(response.write, self._bookmark_s,
                             partial(self.faults.pass_on, request.path))
            self._forget(watch)  # before the client can know that it is over
            await response.write_eof()
        except Cut:
            request.transport.close()
        except ConnectionError:
            log.debug("watch client left: path=%s", request.path)
        finally:
            self._forget(watch)
        return response

    def _register(self, request: web.BaseRequest, watch: Watch) -> None:
        with self._store.lock:
            self.watches[watch] = request.path
            if fault := self.faults.for_watch(request.method, request.path):
                watch.fail(fault)
            self._note(request, 200)

    def _forget(self, watch: Watch) -> None:
        with self._store.lock:
            watch.end()
            self.watches.pop(watch, None)
            self._store.changed.notify_all()

    def _note(self, request: web.BaseRequest, status: int) -> None:
        with self._store.lock:
            self.log.append(Logged(request.method, request.path, dict(request.query), status))
            self._store.changed.notify_all()


DROPPED = Reply(0, b"")
"""No answer: the connection is cut."""


def _request(*parts: Any) -> web.BaseRequest:
    """Make a request of what aiohttp has read, whose body may be as large as in a real API server."""
    return web.BaseRequest(*parts, asyncio.get_running_loop(), client_max_size=MAX_BODY)


def _refusal(call: Call, error: ApiError) -> Reply:
    """A watch that is too old is accepted and told so in its stream, as the watch cache does."""
    if call.verb == "watch" and error.code == 410:
        return Reply(200, error_line(error))
    return failure(error)
