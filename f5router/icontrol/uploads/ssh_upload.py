"""Upload of certificate and key files to the BIG-IP over SSH.

The device installs a certificate from a file on its own disk, so a file is copied to a temporary
path, used, and removed (openshift/origin v3.11.0, pkg/router/f5/f5.go: uploadCert, uploadKey).
SSHUploader.staged() does all of this. A few commands go over one connection at the same time, or a single one
alone.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paramiko
from tenacity import Retrying, before_sleep_log, retry_if_exception_type, stop_after_attempt

from f5router.icontrol.settings import SSH_FOLDER, SSHSettings
from f5router.icontrol.uploads import ssh
from f5router.icontrol.uploads.hostkeys import host_name
from f5router.icontrol.uploads.ssh import connect, fingerprints, within
from f5router.model.errors import NotLeader, Standby, UploadError
from f5router.model.limits import ALWAYS, WritePermit

MOST = 4
"""Commands at the same time. sshd takes 10 sessions of a connection by default (MaxSessions)."""


class Turns:
    """Gives commands their turn. Thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._most = MOST
        self._running = self._waiting_alone = 0
        self._is_alone = False

    @contextmanager
    def taken(self, *, alone: bool = False) -> Iterator[None]:
        """Wait for a turn, and have it for the duration of the block.

        Args: alone: let no other command run meanwhile. Those that begin later wait for it.
        """
        with self._condition:
            self._waiting_alone += alone
            try:
                self._condition.wait_for(lambda: self._is_free(alone=alone))
            finally:
                self._waiting_alone -= alone
            self._running += 1
            self._is_alone = alone
        try:
            yield
        finally:
            with self._condition:
                self._running -= 1
                self._is_alone = False
                self._condition.notify_all()

    def _is_free(self, *, alone: bool) -> bool:
        if alone:
            return self._running == 0
        return self._running < self._most and not self._is_alone and not self._waiting_alone

    @property
    def several(self) -> bool:
        """True if more than one command runs."""
        return self._running > 1

    def limit(self, most: int) -> None:
        """Set the maximum number of concurrent commands."""
        with self._condition:
            self._most = most
            self._condition.notify_all()


log = logging.getLogger(__name__)

IDLE_LIMIT_S = 60.0
"""After this time without a command a new connection is made: a firewall may have dropped the old one, and
trying it would cost a whole time-out."""

_PATH = re.compile(r"/[A-Za-z0-9_./-]*[A-Za-z0-9_.-]")


class SSHUploader:
    """Copies files to the BIG-IP over one SSH connection, made at the first use and after it broke.

    Thread-safe; a few commands run at a time, each in a session of its own.

    A command whose connection broke is repeated once on a new connection: writing or removing the
    same temporary file twice does no harm. It is alone then, so a file at which the connection breaks
    costs the others one repetition. One that ran out of time is not repeated, but those are that lost
    their connection with it. A server that refuses several sessions gets one at a time.

    Args:
        settings: see SSHSettings.
        permit: asked before each command.
        newest: returns the settings for the next connection.
        before_write: called before a file is copied, to raise what keeps it from that.
        clock: monotonic seconds.
    Raises: ValueError: host_key_fingerprint has no known form.
    """

    FOLDER = SSH_FOLDER

    def __init__(self, settings: SSHSettings, *, permit: WritePermit = ALWAYS,
                 newest: Callable[[SSHSettings], SSHSettings] = lambda settings: settings,
                 before_write: Callable[[], None] = lambda: None,
                 clock: Callable[[], float] = time.monotonic):
        fingerprints(settings)
        self._settings, self._newest, self._before_write = settings, newest, before_write
        self._name = host_name(settings.host, settings.port)
        self._clock, self._permit = clock, permit
        self._turns = Turns()
        self._connecting = threading.Lock()
        """Held while the connection is made or given up: all commands need the same one."""
        self._transport: paramiko.Transport | None = None
        self._used_at = 0.0
        self._lock = threading.Lock()
        """Protects the sets below, which hold paths."""
        self._present: set[str] = set()
        self._in_use: set[str] = set()
        self._leftovers: set[str] = set()
        self._removing: set[str] = set()
        """Leftovers that a thread is about to remove."""

    @property
    def in_use(self) -> frozenset[str]:
        """Files that are being copied or installed."""
        with self._lock:
            return frozenset(self._in_use)

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Staged files that could not be removed; tried again with each later removal and by close()."""
        with self._lock:
            return tuple(sorted(self._leftovers))

    def put(self, remote_path: str, data: bytes) -> None:
        """Write a file of mode 0600. After a failure it may exist in part: see staged().

        Raises:
            ValueError: the path is not absolute, or has other characters than A-Z a-z 0-9 _ . / -
            UploadError: with the reason; also HostKeyRefused and UploadAuthFailed.
        """
        path = _checked(remote_path)
        self._repeat(lambda transport: self._send(transport, path, data), self._permit, self._before_write)

    def remove(self, remote_path: str) -> None:
        """Remove a file; success if there is none.

        Raises: ValueError, UploadError: as put().
        """
        path = _checked(remote_path)
        self._repeat(lambda transport: self._delete(transport, path), self._permit.for_cleanup)

    @contextmanager
    def staged(self, remote_path: str, data: bytes) -> Iterator[None]:
        """Write a file for the duration of the block, and remove it in any case.

        A removal that fails is logged and remembered in leftovers, not raised.
        Raises: ValueError, UploadError: as put().
        """
        path = _checked(remote_path)
        with self._lock:
            self._in_use.add(path)
        try:
            self.put(path, data)
            yield
        finally:
            with self._lock:
                self._in_use.discard(path)
                is_left = path in self._present  # else no byte was sent, and no connection is needed
                if is_left:
                    self._leftovers.add(path)
            if is_left:
                self._sweep(first=path)

    def retry(self) -> None:
        """Remove the leftovers, if that is possible now."""
        self._sweep()

    def close(self) -> None:
        """Remove the leftovers, if that is possible now, and close the connection."""
        self._sweep()
        if self._transport is not None:
            self._drop(self._transport)

    def _sweep(self, first: str = "") -> None:
        """Remove the leftovers, the given one first; stop if the connection fails."""
        with self._lock:
            paths = sorted(self._leftovers - self._removing, key=lambda each: (each != first, each))
            self._removing.update(paths)
        try:
            for path in paths:
                try:
                    self.remove(path)
                except (UploadError, NotLeader, Standby) as exc:
                    log.warning("temporary file not removed",
                                extra={"host": self._name, "path": path, "error": str(exc)})
                    if self._transport is None:
                        return
        finally:
            with self._lock:
                self._removing.difference_update(paths)

    def _repeat(self, command: Callable[[paramiko.Transport], None], permit: WritePermit,
                before: Callable[[], None] = lambda: None) -> None:
        """Run a command, and once more, alone, if the connection broke.

        Args: before: called when it is the command's turn.
        Raises: UploadError.
        """
        attempts = Retrying(stop=stop_after_attempt(2), retry=retry_if_exception_type(ConnectionError),
                            before_sleep=before_sleep_log(log, logging.INFO), reraise=True)
        try:
            for attempt in attempts:
                alone = attempt.retry_state.attempt_number > 1
                with attempt, self._turns.taken(alone=alone):
                    before()
                    self._once(command, permit)
        except OSError as exc:  # ConnectionError and TimeoutError of within
            raise UploadError(str(exc)) from exc

    def _once(self, command: Callable[[paramiko.Transport], None], permit: WritePermit) -> None:
        """Run a command, with permission to write.

        Raises: UploadError: refused; ConnectionError, TimeoutError: see within; NotLeader, Standby.
        """
        transport = self._connected()
        if not permit.is_given():
            raise permit.refusal("SSH", self._name)
        self._used_at = self._clock()
        try:
            with within(transport, self._settings.io_timeout_s, self._name):
                command(transport)
        except OSError as exc:
            if isinstance(exc.__cause__, paramiko.ChannelException):
                self._turns.limit(1)  # the server takes no more sessions
            # Several refused at once do not all get this exception of paramiko; what is broken is not active.
            if not (transport.is_active() and self._turns.several):
                self._drop(transport)
            raise
        finally:
            self._used_at = self._clock()

    def _connected(self) -> paramiko.Transport:
        """Return the connection, a new one if needed. Raises: UploadError."""
        with self._connecting:
            idle_s = self._clock() - self._used_at
            transport = self._transport
            if transport is not None and transport.is_active() and idle_s < IDLE_LIMIT_S:
                return transport
            if transport is not None:
                transport.close()
            self._transport = None
            self._transport = connect(self._newest(self._settings))
            return self._transport

    def _drop(self, transport: paramiko.Transport) -> None:
        """Close a connection. A newer connection stays."""
        with self._connecting:
            transport.close()
            if self._transport is transport:
                self._transport = None

    def _send(self, transport: paramiko.Transport, path: str, data: bytes) -> None:
        # scp creates a file with the given mode, but an existing one keeps its own: a readable file
        # of somebody else would reveal the key. It also writes through a symbolic link.
        self._delete(transport, path)
        with self._lock:
            self._present.add(path)
        ssh.copy(transport, path, data)

    def _delete(self, transport: paramiko.Transport, path: str) -> None:
        ssh.execute(transport, f"rm -f {path}")
        with self._lock:
            self._present.discard(path)
            self._leftovers.discard(path)


def _checked(path: str) -> str:
    """Check a path, which becomes part of a command line. Raises: ValueError."""
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"not a path of a temporary file: {path!r}")
    return path
