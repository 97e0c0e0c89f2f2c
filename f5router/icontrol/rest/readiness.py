"""Readiness of the device, repetition of reads, and what to blame for a failed write.

Pure: decodes replies, sends nothing.

The first attempt is a plain call: only a failure needs tenacity, which costs a tenth of a request's CPU time.

A refusal blames the object. A write without a usable reply (a time-out, a page instead of JSON, no reply,
an unforeseen form of reply), or with a 403, may be the fault of either. It blames the object if the device
answers a cheap read, and no other object failed in the same way since a write succeeded or was refused.
"""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from typing import TypeGuard, TypeVar

import tenacity

from f5router.model import tmos
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    Forbidden,
    NotReady,
    Refused,
    Unconfirmed,
    Unsupported,
    UploadError,
)
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff
from f5router.model.objects import Ref

VERSION = "/mgmt/tm/sys/version"
READY = "/mgmt/tm/sys/ready"
MCP_STATE = "/mgmt/tm/sys/mcp-state"


def descriptions(reply: JSON) -> dict[str, str]:
    """Return the texts of a statistics reply by name.

    {"entries": {"<url>": {"nestedStats": {"entries": {"phase": {"description": "running"}}}}}}
    gives {"phase": "running"}. The URLs vary by version and are ignored; entries of another form are
    left out. Source: bigip-behaviour.md A3.
    """
    return dict(texts(reply))


def texts(reply: JSON) -> list[tuple[str, str]]:
    """Return the mapping as pairs: a reply may have several texts of one name, such as "details"."""
    pairs: list[tuple[str, str]] = []
    for name, value in _entries(reply).items():
        if not isinstance(value, Mapping):
            continue
        if "nestedStats" in value and isinstance(value["nestedStats"], Mapping):
            pairs += texts(value["nestedStats"])
        elif isinstance(value.get("description"), str):
            pairs.append((name, value["description"]))
    return pairs


def _entries(reply: JSON) -> JSON:
    entries = reply.get("entries")
    return entries if isinstance(entries, Mapping) else {}


def version_of(reply: JSON) -> tuple[int, ...]:
    """Return a version such as (14, 1, 2, 1) from a reply of sys/version.

    Raises:
        NotReady: the reply holds no version.
        Unsupported: TMOS is too old.
    """
    text = descriptions(reply).get("Version", "")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})+", text):
        raise NotReady("GET", VERSION, "the reply holds no version")
    version = tuple(int(number) for number in text.split("."))
    if version < tmos.OLDEST:
        needed = tmos.dotted(tmos.OLDEST)
        raise Unsupported("GET", VERSION, f"TMOS {text} is too old; {needed} or later is needed")
    return version


def readiness_path(version: tuple[int, ...]) -> str:
    """Return the path at which a device of this version reports its readiness."""
    return READY if version >= tmos.READY_SINCE else MCP_STATE


def is_ready(reply: JSON) -> bool:
    """True if a reply of sys/ready or sys/mcp-state reports that configuration may be read and written."""
    states = descriptions(reply)
    if "phase" in states:
        return states["phase"] == "running"
    return all(states.get(name) == "yes" for name in ("configReady", "licenseReady", "provisionReady"))


log = logging.getLogger(__name__)

BACKOFF = Backoff(first_s=0.2, limit_s=5.0)
"""Pauses between repetitions of a read, or of a write that was not sent."""

Result = TypeVar("Result")


class Repetition:
    """Repeats requests of one client; thread-safe."""

    def __init__(self, retry_s: float, *, clock: Callable[[], float], sleep: Callable[[float], object],
                 given_up: threading.Event):
        """Args: retry_s: after this time no call begins again; given_up: set to end all repetition."""
        self._retry_s, self._clock, self._sleep, self._given_up = retry_s, clock, sleep, given_up
        self._is_logged = threading.Event()

    def repeat(self, call: Callable[[], Result], worth_repeating: Callable[[BaseException], bool]) -> Result:
        """Call until it succeeds, fails with an error not worth repeating, or retry_s is over."""
        end = self._clock() + self._retry_s
        try:
            result = call()
        except BigIPError as error:
            result = self._repeat_after(error, call, worth_repeating, end)
        self._is_logged.clear()
        return result

    def _repeat_after(self, error: BigIPError, call: Callable[[], Result],
                      worth_repeating: Callable[[BaseException], bool], end: float) -> Result:
        """Repeat a call. Args: error: result of its first attempt; end: when no other attempt begins."""
        first = [error]

        def attempt() -> Result:
            if first:
                raise first.pop()
            return call()

        result: Result = tenacity.Retrying(
            retry=tenacity.retry_if_exception(worth_repeating),
            wait=lambda state: BACKOFF.jittered_s(state.attempt_number),
            # Not tenacity's stop_after_delay: that has a clock of its own.
            stop=lambda _: self._given_up.is_set() or self._clock() >= end,
            before_sleep=self._log_repeat, sleep=self._pause, reraise=True,
        )(attempt)
        return result

    def _pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def _log_repeat(self, state: tenacity.RetryCallState) -> None:
        """Log that a request is repeated: once, until one succeeds."""
        level = logging.DEBUG if self._is_logged.is_set() else logging.INFO
        self._is_logged.set()
        log.log(level, "repeating BIG-IP request", extra={
            "wait_s": round(state.upcoming_sleep, 1),
            "error": str(state.outcome and state.outcome.exception())})


def blames_object(error: Exception) -> TypeGuard[BigIPError]:
    """True if only the object is to blame, so that the pass can go on."""
    return (isinstance(error, Refused | UploadError)
            or (isinstance(error, AuthFailed) and error.status == 400)
            or (isinstance(error, Forbidden | Unconfirmed) and bool(error.alone)))


class Blame:
    """Remembers which object last failed without a usable reply. Thread-safe."""

    def __init__(self, read: Callable[[], object]):
        """Args: read: a cheap read that shows whether the device answers."""
        self._read = read
        self._lock = threading.Lock()
        self._suspect: Ref | None = None
        """An object without a usable reply, or with a 403, until the device answers another write."""

    def attempt(self, ref: Ref, write: Callable[[], object]) -> Exception | None:
        """Write an object; return None on success, else the error, which blames the object or the device."""
        error: Exception | None = None
        try:
            write()
        except Exception as exc:
            error = self._attributed(ref, exc)
        if error is None or isinstance(error, Refused):
            self._suspect = None
        return error

    def _is_alone(self, ref: Ref) -> bool:
        """Suspect an object; return True if no other one is suspected."""
        with self._lock:
            alone = self._suspect in (None, ref)
            self._suspect = self._suspect or ref
        return alone

    def _attributed(self, ref: Ref, error: Exception) -> Exception:
        """Return the error itself if the device is certainly to blame, else one blaming the object."""
        if isinstance(error, Forbidden):  # the client has tried a read
            return Forbidden(error.method, error.path, error.text, alone=self._is_alone(ref))
        if isinstance(error, BigIPError) and (isinstance(error, Unconfirmed) or not error.may_have_applied):
            return error
        alone = self._is_alone(ref)
        try:
            self._read()
        except Exception as exc:
            log.debug("BIG-IP does not answer a read either", extra={"error": str(exc)})
            return error
        if isinstance(error, BigIPError):
            return Unconfirmed(error.method, error.path, error.text, status=error.status, alone=alone)
        # The exception's own words may hold what was sent, a key for instance.
        log.error("unexpected error while writing an object", exc_info=error, extra={"object": str(ref)})
        words = f"unforeseen in the object or in its reply: {type(error).__name__}"
        return Unconfirmed(text=words, alone=alone)
