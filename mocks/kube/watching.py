"""Watches: the changes of one kind as a stream of JSON lines.

Rules of k8s.io/apiserver/pkg/storage/cacher: resourceVersion unset or 0 starts with the objects there are;
a number starts behind that change, and is answered with an ERROR event when the history no longer reaches
back; an object that enters or leaves the selection is ADDED or DELETED.
"""

import asyncio
from collections.abc import Awaitable, Callable

from . import errors
from .calls import Call, is_true
from .faults import Fault, error_line
from .reading import parse_number, parse_revision
from .selectors import Selection, selection
from .store import Change, Record, Store, dumps
from .views import View

DEFAULT_TIMEOUT_S = 1800
"""Length of a watch without timeoutSeconds: the least of a real server (min-request-timeout)."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

LINES_PER_WRITE = 500

_SEND_INITIAL_EVENTS = (
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires '
    "setting resourceVersionMatch to NotOlderThan"
)

Write = Callable[[bytes], Awaitable[None]]
PassOn = Callable[[list[bytes]], tuple[float, list[bytes]]]


class Cut(Exception):
    """The connection is to be cut without a clean end of the stream."""


class Watch:
    """One running watch. Made and fed under ``store.lock``, in any thread; sent by its event loop."""

    def __init__(self, store: Store, call: Call, view: View, loop: asyncio.AbstractEventLoop):
        self.call = call
        self._store = store
        self._view = view
        self._loop = loop
        self._news = asyncio.Event()
        self._told = False
        self._silent = False
        self._initial: list[bytes] = []
        self._since = self._revision = 0
        """The change it starts behind, and the last one it has sent or passed over."""
        self._open()

    def _open(self) -> None:
        """Raises: ApiError: 400, 410, 422."""
        query, store = self.call.query, self._store
        self._chosen: Selection = selection(self.call.kind, self.call.namespace, self.call.name, query)
        since = parse_revision(query.get("resourceVersion"))
        self._timeout_s = parse_number(query.get("timeoutSeconds"), "timeoutSeconds") or DEFAULT_TIMEOUT_S
        self._bookmarks = "allowWatchBookmarks" in query and is_true(query["allowWatchBookmarks"])
        initial = not since
        if "sendInitialEvents" in query:
            initial = is_true(query["sendInitialEvents"])
            if query.get("resourceVersionMatch") != "NotOlderThan":
                raise errors.ApiError(422, "Invalid", _SEND_INITIAL_EVENTS)
        elif since and since < store.compacted:
            raise errors.too_old(since, store.compacted)
        self._since = self._revision = store.revision if initial or not since else since
        if initial:
            taken = (record for record in store.records(self.call.kind) if self._chosen.takes(record))
            self._initial = [self._line("ADDED", record) for record in taken]
            if "sendInitialEvents" in query and self._bookmarks:
                self._initial.append(self._bookmark(self._revision, initial_end=True))
        self._subscription = store.subscribe(self.call.kind, self._revision, self.tell)

    def tell(self) -> None:
        """Wake the sender."""
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._news.set)

    def fail(self, fault: Fault) -> None:
        """Act out a stream fault behind the changes so far and before any later one."""
        self._subscription.pending.append(fault)
        self.tell()

    def end(self) -> None:
        self._store.unsubscribe(self._subscription)

    async def send(self, write: Write, bookmark_s: float, pass_on: PassOn) -> None:
        """Write the stream until its time is over or a fault ends it.

        Args: pass_on: `Faults.pass_on` for its path.
        Raises: Cut: the caller closes the connection without ending the stream.
        """
        await self._write_all(write, self._initial)
        self._initial = []
        deadline = self._loop.time() + self._timeout_s
        bookmark_at = self._loop.time() + bookmark_s if self._bookmarks else deadline
        while True:
            lines, fault = self._take()
            if lines:
                pause_s, lines = pass_on(lines)
                await asyncio.sleep(pause_s)
            await self._write_all(write, lines)
            if fault and await self._fail(write, fault):
                return
            now = self._loop.time()
            if self._bookmarks and now >= min(bookmark_at, deadline):
                await self._write_all(write, [self._bookmark(self._revision)])
                bookmark_at = now + bookmark_s
            if now >= deadline and not self._silent:
                return
            await self._wait(None if self._silent else min(bookmark_at, deadline) - now)

    async def _wait(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        except TimeoutError:
            pass

    def _take(self) -> tuple[list[bytes], Fault | None]:
        """Lines to send, up to the next fault."""
        lines, fault, pending = [], None, self._subscription.pending
        with self._store.lock:
            while pending and not fault:
                item = pending.popleft()
                if isinstance(item, Fault):
                    fault = item
                elif line := self._change(item):
                    lines.append(line)
            if not pending:
                self._news.clear()
                self._told = False
                self._revision = max(self._revision, self._store.revision)
        return lines, fault

    def _change(self, change: Change) -> bytes | None:
        before, after = self._chosen.takes(change.before), self._chosen.takes(change.after)
        if change.revision <= self._since or (not before and not after):
            return None  # since may be ahead of the store
        name = ("MODIFIED" if before else "ADDED") if after else "DELETED"
        line = change.lines.get((name, self._view.key))
        if line is None:
            line = self._line(name, change.after if after else change.departed())
            change.lines[name, self._view.key] = line
        return line

    def _line(self, name: str, record: Record) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (name.encode(), self._view.encode(record))

    def _bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        metadata = {"resourceVersion": str(revision), "creationTimestamp": None}
        if initial_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        kind = self.call.kind
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        return dumps({"type": "BOOKMARK", "object": obj}) + b"\n"

    async def _write_all(self, write: Write, lines: list[bytes]) -> None:
        if self._silent:
            return
        for start in range(0, len(lines), LINES_PER_WRITE):
            await write(b"".join(lines[start : start + LINES_PER_WRITE]))

    def _half_line(self) -> bytes:
        with self._store.lock:
            record = next(self._store.records(self.call.kind), None)
        line = self._line("MODIFIED", record) if record else b'{"type":"ADDED","object":{"kind":'
        return line[: len(line) // 2]

    async def _fail(self, write: Write, fault: Fault) -> bool:
        """Act out a stream fault. Returns whether the stream ends."""
        if fault.kind == "silent-drop":
            self._silent = True
            return False
        if fault.kind == "error-event":
            await write(error_line(fault.error()))
        elif fault.kind == "truncated":
            await write(self._half_line())
            raise Cut
        elif fault.options.get("abrupt"):
            raise Cut
        return True
