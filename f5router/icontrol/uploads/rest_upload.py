"""Upload of certificate and key files to the BIG-IP over REST.

The device installs a certificate from a file on its own disk, so a file is uploaded, used, and removed.
RESTUploader.staged() does all of this.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.file_transfer import DOWNLOADS
from f5router.model.errors import AuthFailed, BigIPError, Unsupported, UploadError

log = logging.getLogger(__name__)

PARTIAL = f"{DOWNLOADS}/tmp"
"""Folder of incomplete uploads: `temporaryFilePath` of the device's replies."""

LATE_S = 900.0
"""Time within which the device may still complete an upload whose reply was lost."""

RETRIES = 3
"""Number of leftovers that are tried again after a successful removal."""

FAILURES = 3
"""A retry of all leftovers ends after this number of failures; these come last the next time."""

TOGETHER = 32
"""Files that are removed by one command, while others are being installed."""

RETRY_S = 10.0
"""A retry of all leftovers starts no removal after this time."""

_GONE = "No such file or directory"


class RESTUploader:
    """Uploads files and removes them again. Thread-safe.

    Args:
        clock: monotonic seconds.
    """

    FOLDER = DOWNLOADS

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic):
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()  # of all that follows
        self._in_use: set[str] = set()
        self._installed: list[str] = []
        """Files whose removal is due; none while no other is in use."""
        self._leftovers: dict[str, float] = {}
        """Path to the time before which the file may appear again after a removal."""

    @property
    def in_use(self) -> frozenset[str]:
        """Files that are being uploaded or installed."""
        with self._lock:
            return frozenset(self._in_use)

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Files that may be on the device: not removed, or perhaps uploaded."""
        with self._lock:
            return tuple(sorted(self._leftovers))

    @contextmanager
    def staged(self, path: str, data: bytes) -> Iterator[None]:
        """Upload a file for the duration of the block, and remove it in any case.

        While others are in use, it may be removed a little later, together with them. A removal that fails
        is logged and remembered in leftovers, not raised.
        Raises: BigIPError: the upload failed.
        """
        name, arrived = path.rsplit("/", 1)[1], False

        def on_failure(error: BigIPError) -> None:
            nonlocal arrived
            if _may_arrive(error):
                arrived = True
                self._watch(path, f"{PARTIAL}/{name}")

        with self._lock:
            self._in_use.add(path)
        try:
            self._client.upload(name, data, on_failure=on_failure)
            arrived = True
            yield
        finally:
            due = self._end(path, arrived=arrived)
            if due and self._remove_together(due):
                self._retry_some()

    def retry(self) -> None:
        """Remove the leftovers, for a limited time."""
        with self._lock:
            paths = tuple(self._leftovers)
        end, failures = self._clock() + RETRY_S, 0
        for path in paths:
            if failures == FAILURES or self._clock() >= end:
                return
            failures += not self._remove(path)

    def close(self) -> None:
        """Remove the leftovers, if that is possible now."""
        self.retry()

    def _end(self, path: str, *, arrived: bool) -> list[str]:
        """Record that a file is no longer in use; return the files to remove now."""
        with self._lock:
            self._in_use.discard(path)
            self._installed += [path] if arrived else []
            if self._in_use and len(self._installed) < TOGETHER:
                return []
            due, self._installed = self._installed, []
        return due

    def _remove_together(self, paths: list[str]) -> bool:
        """Remove files with one command, or remember them; return True if the device removed all.

        F5's SDK gives unix-mv two paths in its tests of software images; for unix-rm no source has several.
        If there are any words in the reply, each file is removed by itself.
        """
        if len(paths) == 1:
            return self._remove(paths[0])
        try:
            words = self._client.run("unix-rm", " ".join(paths))
        except BigIPError as exc:
            self._remember(paths, exc)
            return False
        if words:
            removed = [self._remove(path) for path in paths]
            return all(removed)
        self._forget(paths)
        return True

    def _remember(self, paths: list[str], error: BigIPError) -> None:
        """Remember files that were perhaps not removed, after the others."""
        with self._lock:
            for path in paths:
                self._leftovers[path] = self._leftovers.pop(path, 0.0)
        log.warning("uploaded file may be left on the device",
                    extra={"file": ", ".join(paths), "error": str(error)})

    def _forget(self, paths: list[str]) -> None:
        """Forget removed files, unless they may appear again."""
        with self._lock:
            for path in paths:
                if self._leftovers.get(path, 0.0) <= self._clock():
                    self._leftovers.pop(path, None)

    def _watch(self, *paths: str) -> None:
        with self._lock:
            self._leftovers.update(dict.fromkeys(paths, self._clock() + LATE_S))

    def _retry_some(self) -> None:
        """Try again to remove a few of the leftovers."""
        with self._lock:
            refused = [path for path, until in self._leftovers.items() if not until]
        for path in refused[:RETRIES]:
            if not self._remove(path):
                return

    def _remove(self, path: str) -> bool:
        """Remove a file, or remember it after the others; return True if the device removed it."""
        try:
            remove_file(self._client, path)
        except BigIPError as exc:
            self._remember([path], exc)
            return False
        self._forget([path])
        return True


def remove_file(client: Client, path: str) -> None:
    """Remove a file from the device's disk; success if there is none.

    A command that fails is answered with 200 and its words in commandResult; without failure it has no
    output. Source: f5-common-python, f5/bigip/tm/util/test/functional/test_unix_rm.py. No option is
    sent: unix-ls refuses those from 12.0 on, and of unix-rm nothing is known.

    Raises: BigIPError; UploadError: the command failed.
    """
    words = client.run("unix-rm", path)
    if words and _GONE not in words:
        raise UploadError(f"unix-rm {path}: {words}")


def list_folder(client: Client, folder: str, *, timeout_s: float) -> list[str]:
    """List a folder of the device's disk; a missing one is empty.

    Source: f5-common-python, f5/bigip/tm/util/test/functional/test_unix_ls.py.

    Raises: BigIPError; UploadError: the command failed.
    """
    words = client.run("unix-ls", folder, timeout_s=timeout_s)
    if not words.startswith("/bin/ls:"):
        return words.splitlines()
    if _GONE in words:
        return []
    raise UploadError(f"unix-ls {folder}: {words}")


def _may_arrive(error: BigIPError) -> bool:
    """True unless no byte of the failed upload can be on the device, now or later."""
    return error.may_have_applied or (error.status != 0 and not isinstance(error, AuthFailed | Unsupported))
