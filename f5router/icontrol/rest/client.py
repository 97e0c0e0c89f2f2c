"""Client of iControl REST: JSON in, JSON out, exceptions of errors.py for everything else.

Reads are repeated until retry_s is over. Writes are not: a write whose reply was lost may have been applied
(`may_have_applied` of the exception), and only a read can show it. A write that certainly did not reach the
device, because no connection was made or because the answer was 401, is repeated. One that was forbidden by
403 was not executed either; it is repeated once if a harmless read is answered.
"""

import collections
import contextlib
import copy
import functools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from f5router.icontrol.rest import file_transfer, readiness
from f5router.icontrol.rest.readiness import Repetition
from f5router.icontrol.rest.request_times import RequestTimes, SlowRequests
from f5router.icontrol.rest.session import JSON_HEADERS, LOGIN, NO_RIGHT, REFUSED_S, Session
from f5router.icontrol.rest.slots import Slots
from f5router.icontrol.rest.transport import (
    LOOKING,
    READING,
    REMOVAL,
    SAVING,
    STATISTICS,
    Transport,
)
from f5router.icontrol.rest.wire import ROOT, Reply, encode_body, encode_query, unusable
from f5router.icontrol.settings import ClientSettings, Login, Renewable
from f5router.model import tmos
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    Busy,
    DeviceTimeout,
    Forbidden,
    NotFound,
    NotReady,
    Refused,
    Unreachable,
    Unsupported,
    Untrusted,
    is_elsewhere,
)
from f5router.model.json_types import JSON
from f5router.model.limits import ALWAYS, WritePermit

log = logging.getLogger(__name__)

SAVE = "/mgmt/tm/sys/config"
SAVE_TIMEOUT_S = 90
"""Longer than the device's own limit of 60 s, after which it answers with an error."""

Result = TypeVar("Result")

_NO_JSON = "the reply is not JSON"


def get_if_there(client: "Client", path: str, params: Mapping[str, str] | None = None) -> JSON | None:
    """Read an object; None if the answer is 404. Raises: BigIPError: it cannot be read."""
    try:
        return client.get(path, params)
    except NotFound:
        log.debug("object not found", extra={"path": path})
        return None


def delete_if_there(client: "Client", path: str, is_there: Callable[[], bool] | None = None) -> None:
    """Delete an object, which may be gone already.

    Args:
        is_there: looks whether the object is on the device; by default, the object itself is read. Items of
            a sub-collection need it: 11.6.0 answers 200 to the GET of an absent one (bigip-behaviour.md B1).
    Raises:
        NotFound: the answer is 404, but the device still shows the object (bigip-behaviour.md A2.3).
        BigIPError: it cannot be deleted.
    """
    try:
        client.delete(path)
    except NotFound:
        if is_there() if is_there else get_if_there(client, path) is not None:
            raise
        log.debug("object already deleted", extra={"path": path})


class Client:
    """One BIG-IP; a context manager; thread-safe, with max_in_flight requests at once.

    Every method raises BigIPError: Unreachable, NotReady, Busy, DeviceTimeout, AuthFailed,
    Unsupported about the device; NotFound, Conflict, InUse, Refused about the object.

    Args:
        login_pause_s: time after a refused login for which nothing is sent.
        permit: asked before each write.
        login, authorities: user name and password, and the certificates by which the device is verified,
            where these may change; by default, those of the settings.
        clock, sleep: monotonic seconds, and a wait; None for a wait that give_up ends.
    """

    def __init__(
        self, settings: ClientSettings, *, login_pause_s: float = REFUSED_S,
        clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] | None = None,
        permit: WritePermit = ALWAYS, login: Renewable[Login] | None = None,
        authorities: Renewable[str] | None = None,
    ):
        self._given_up = threading.Event()
        self._stopping = False
        self._settings, self._clock, self._sleep = settings, clock, sleep or self._given_up.wait
        self._transport = Transport(settings, permit, authorities, clock=clock)
        self.clock_offset = self._transport.clock_offset
        self._session = Session(settings, self._transport, refused_s=login_pause_s, login=login,
                                clock=clock, sleep=self._sleep)
        self._version: tuple[int, ...] | None = None
        self._beside = ""
        self._repetition = Repetition(
            settings.retry_s, clock=clock, sleep=self._sleep, given_up=self._given_up)
        self.before_write: Callable[[], None] = lambda: None
        """Called before each attempt of a write, but not before the removal of an uploaded file: a login, or
        a connection that had to be waited for, may have taken long. Raises: BigIPError."""
        self.on_written: Callable[[str, str, JSON], None] = lambda method, path, reply: None
        """Called with the reply to each write that was answered, from the thread that wrote."""

    def for_reading(self) -> "Client":
        """Return a client on the same connections whose requests, one at a time, delay no other client."""
        client = copy.copy(self)
        client._beside = READING
        return client

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def counts(self) -> collections.Counter[str]:
        """Requests sent: GET, POST, PATCH, DELETE, login, logout."""
        return self._transport.counts

    @property
    def slots(self) -> Slots:
        """Slots of the requests that are under way."""
        return self._transport.slots

    @property
    def newest(self) -> str:
        """Path of the request that was sent last; "" before the first."""
        return self._transport.newest

    @property
    def times(self) -> RequestTimes:
        """Durations and results of requests."""
        return self._transport.times

    @property
    def slow_requests(self) -> SlowRequests:
        """Requests that the device answered so late that it may soon give up on them."""
        return self._transport.slow_requests

    def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Read an object or a collection; repeated for up to retry_s.

        Args:
            path: encoded as item_path does; absolute, or relative to /mgmt/tm.
            params: query, not yet encoded.
        """
        return self._repeat(_is_passing, lambda: self._call("GET", path, query=encode_query(params)))

    def get_once(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Read an object or a collection, without repetition."""
        return self._call("GET", path, query=encode_query(params))

    def look(self, path: str, *, timeout_s: float) -> dict[str, Any]:
        """Read an object, without repetition, and however many other requests are under way."""
        return self._call("GET", path, timeout_s=timeout_s, beside=LOOKING, label=LOOKING)

    def statistics(self, path: str) -> dict[str, Any]:
        """Read statistics, without repetition, beside everything else; not a request of the control loop."""
        return self._call("GET", path, beside=READING, label=STATISTICS)

    def post(self, path: str, body: JSON) -> dict[str, Any]:
        """Create an object, or run a command."""
        return self._write("POST", path, body)

    def patch(
        self, path: str, body: JSON | bytes, params: Mapping[str, str] | None = None, *,
        headers: Mapping[str, str] = JSON_HEADERS,
    ) -> dict[str, Any]:
        """Change the properties in body; a list in it replaces the whole list. Bytes are sent as they are."""
        return self._write("PATCH", path, body, params, headers)

    def delete(self, path: str) -> None:
        """Remove an object."""
        self._write("DELETE", path)

    def run(self, utility: str, arguments: str, *, timeout_s: float | None = None) -> str:
        """Run a command of the module util, such as unix-ls; not repeated.

        Returns: its output, which is the error text if the command failed (bigip-behaviour.md A7).
        """
        body = {"command": "run", "utilCmdArgs": arguments}
        reply = self._write("POST", f"util/{utility}", body, timeout_s=timeout_s)
        return str(reply.get("commandResult") or "")

    def upload(
        self, name: str, data: bytes, *,
        on_failure: Callable[[BigIPError], None] = lambda error: None,
    ) -> str:
        """Put a file on the device; see file_transfer.upload. Raises: ValueError, BigIPError."""
        try:
            return file_transfer.upload(
                self._send_chunk, name, data, sleep=self._sleep, on_failure=on_failure)
        except BigIPError as exc:
            self._check_uploads(exc)
            raise

    def _send_chunk(self, path: str, chunk: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        return self._insist(functools.partial(
            self._call, "POST", path, is_file=True, body=chunk, headers=headers))

    def _check_uploads(self, error: BigIPError) -> None:
        """Raises: Unsupported: an upload failed as it always will on a version without the end point."""
        if isinstance(error, Unsupported) or error.status != 404:
            return
        if (version := self.version()) < tmos.UPLOADS_SINCE:
            needed = tmos.dotted(tmos.UPLOADS_SINCE)
            raise Unsupported("POST", file_transfer.UPLOADS,
                              f"TMOS {tmos.dotted(version)} takes no uploads; {needed} or later is needed")

    def ready(self) -> bool:
        """True if the device reports that its configuration may be read and written. Not repeated.

        Returns: False while daemons start or the configuration loads, whatever form that takes.
        Raises: Unreachable, AuthFailed, Unsupported: readiness cannot be read.
        """
        try:
            path = readiness.readiness_path(self._version or self._read_version())
            try:
                return readiness.is_ready(self._call("GET", path))
            except Refused:
                # Not served by this version, but the same daemons have just answered sys/version.
                return True
        except (NotReady, Busy, DeviceTimeout) as exc:
            log.debug("BIG-IP is not ready", extra={"error": str(exc)})
            return False

    def version(self) -> tuple[int, ...]:
        """Return the TMOS version such as (14, 1, 2, 1), cached until the device is unreachable or restarts.

        Raises: Unsupported: it is too old, or has no iControl REST.
        """
        return self._version or self._repeat(_is_passing, self._read_version)

    def save(self) -> None:
        """Write the running configuration to disk, so that it survives a reboot.

        After 60 s the device reports a time-out and goes on, which counts as success. No read shows that
        the file was written, so it is not verified. Other requests may be in flight: how the device treats
        these is not recorded.
        Source: bigip-behaviour.md A6, A8.
        """
        timeout_s = max(SAVE_TIMEOUT_S, self._settings.timeout_s)
        try:
            self._write("POST", SAVE, {"command": "save"}, timeout_s=timeout_s, beside=SAVING)
        except DeviceTimeout:
            log.warning("BIG-IP still saving its configuration after 60 s")

    def give_up(self) -> None:
        """Stop repeating requests: each call ends with its first result. From any thread."""
        self._stopping = True
        self._given_up.set()

    def abandon(self) -> None:
        """End all requests under way, and repeat none until `resume`. From any thread."""
        self._given_up.set()
        self._transport.abort()

    def resume(self) -> None:
        """Repeat requests again after `abandon`, unless the router gives up."""
        if not self._stopping:
            self._given_up.clear()

    def close(self) -> None:
        """Delete the token (5 s at most) and close the connections."""
        self._session.close()
        self._transport.close()

    def _read_version(self) -> tuple[int, ...]:
        version = readiness.version_of(self._call("GET", readiness.VERSION))
        if version < tmos.TOKENS_SINCE and self._session.uses_tokens:
            log.warning("BIG-IP refuses writes with a token, using basic authentication",
                        extra={"version": tmos.dotted(version)})
            self._session.leave_tokens()
        self._version = version
        return version

    def _write(
        self, method: str, path: str, body: JSON | bytes | None = None,
        params: Mapping[str, str] | None = None, headers: Mapping[str, str] = JSON_HEADERS, **how: Any,
    ) -> dict[str, Any]:
        """Args: how: `timeout_s` and `beside` of Transport.send."""
        data = body if body is None or isinstance(body, bytes) else encode_body(body)
        query = encode_query(params)

        def call() -> dict[str, Any]:
            reply = self._call(method, path, query=query, body=data, headers=headers if data else None, **how)
            self.on_written(method, path, reply)
            return reply

        try:
            return self._repeat(_was_not_sent, call)
        except AuthFailed as exc:
            if NO_RIGHT not in exc.text or self._version or not self._session.uses_tokens:
                raise
            with contextlib.suppress(BigIPError):
                self._read_version()  # falls back to basic authentication if that is the cause
            if self._session.uses_tokens:
                raise
        return self._repeat(_was_not_sent, call)

    def _repeat(self, worth_repeating: Callable[[BaseException], bool], call: Callable[[], Result]) -> Result:
        return self._repetition.repeat(lambda: self._insist(call), worth_repeating)

    def _insist(self, call: Callable[[], Result]) -> Result:
        """Call, and once more after a 403 if the device answers a harmless read.

        Raises: Forbidden: 403 again.
        """
        try:
            return call()
        except AuthFailed as exc:
            if exc.status != 403 or exc.path == LOGIN:
                raise
            error = exc
        try:
            self._call("GET", readiness.VERSION)
        except BigIPError:
            raise error from None
        log.info("BIG-IP forbids a request, repeating it", extra={"error": str(error)})
        try:
            return call()
        except AuthFailed as exc:
            if exc.status != 403 or exc.path == LOGIN:
                raise
            raise Forbidden(exc.method, exc.path, exc.text) from None

    def _call(self, method: str, path: str, *, is_file: bool = False, **request: Any) -> dict[str, Any]:
        """Send one request; return its JSON."""
        path = path if path.startswith("/mgmt/") else ROOT + path
        begin, status = self._clock(), 0
        check = None if method == "GET" or path == REMOVAL else self.before_write
        try:
            reply = self._session.send(method, path, check=check, **{"beside": self._beside, **request})
            status = reply.status
            return self._result(method, path, reply, is_file=is_file)
        except BigIPError as exc:
            status = exc.status if exc.path == path else 0  # else the login failed before it
            if isinstance(exc, Unreachable | NotReady):
                self._version = None  # it may return with another version
            raise
        finally:
            if method != "GET":
                log.debug("BIG-IP write", extra={
                    "method": method, "path": path, "status": status,
                    "ms": round((self._clock() - begin) * 1000)})

    def _result(self, method: str, path: str, reply: Reply, *, is_file: bool) -> dict[str, Any]:
        content, is_write = reply.json(), method != "GET"
        if reply.status >= 300:
            # A broken upload can come back as the reply, and a piece of a key has no BEGIN line.
            hide = is_file and content is None and b"<html" not in reply.body.lower()
            error = self._session.error(method, path, reply, text=_NO_JSON if hide else None)
            # A request lost between daemons may have been executed; a refused one, Busy too, was not.
            odd = reply.status >= 500 or is_elsewhere(reply.status, reply.text())
            lost = odd and isinstance(error, NotReady)
            error.may_have_applied = is_write and (lost or isinstance(error, DeviceTimeout))
            raise error
        problem = _NO_JSON if content is None else "" if is_write else unusable(path, content)
        if content is not None and not problem:
            self._session.is_known = True
            return content
        if method == "DELETE" and not reply.body:
            return {}
        # Something answers for a daemon that has not started yet. The body is not shown, see above.
        raise NotReady(method, path, problem, status=reply.status, may_have_applied=is_write)


def _is_passing(exc: BaseException) -> bool:
    """True if a read that failed in this way is worth repeating."""
    return isinstance(exc, Unreachable | NotReady | Busy | DeviceTimeout) and not isinstance(exc, Untrusted)


def _was_not_sent(exc: BaseException) -> bool:
    """True if a failed write certainly did not reach the device, and is worth repeating."""
    return isinstance(exc, Unreachable) and not exc.may_have_applied and not isinstance(exc, Untrusted)
