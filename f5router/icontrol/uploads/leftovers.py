"""Removal of certificate and key files that an earlier run left on the BIG-IP's disk.

A router that is killed between an upload and its removal leaves a private key there. The names of uploads
contain the owner and the time (model/tls_names), so a file is removed only if it is certainly ours:

- this process, or an ended one on this host, uploaded it for this folder, and it is not in use;
- a router on another host uploaded it for this folder, longer ago than any installation takes;
- an earlier release of this router uploaded it, its file object is installed in this folder, and this process
  has seen it for as long.
"""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import SSH_FOLDER
from f5router.icontrol.uploads.rest_upload import FAILURES, PARTIAL, RESTUploader, list_folder, remove_file
from f5router.logs.log_output import PersistentLog
from f5router.model import objects
from f5router.model.errors import BigIPError, Busy, DeviceTimeout, NotReady, Unreachable
from f5router.model.tls_names import UploadedFile, formerly_uploaded

log = logging.getLogger(__name__)

FOLDERS = (RESTUploader.FOLDER, PARTIAL, SSH_FOLDER)
"""All are searched, whatever the method of upload: it may have been another one before."""

AGE_S = 900.0
"""An older file of another host belongs to no current installation: three uploads and an installation with
all its waits take less than ten minutes."""

LIST_TIMEOUT_S = 15.0
REMOVE_S = 10.0
"""A sweep starts no removal after this time; the next one continues."""


def _is_running(process: int) -> bool:
    """True if a process with this number runs here, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@dataclass(frozen=True, slots=True)
class UploadOrigin:
    """Owner of uploads.

    Attributes:
        wall: seconds since 1970.
        is_running: True if a process of this host runs.
    """

    folder: str
    """Full path of the router's folder."""
    host: str = field(default_factory=socket.gethostname)
    process: int = field(default_factory=os.getpid)
    wall: Callable[[], float] = time.time
    is_running: Callable[[int], bool] = _is_running

    def new_name(self, suffix: str) -> str:
        """Return a unique name for an upload."""
        return str(UploadedFile(
            objects.digest(self.folder), objects.digest(self.host), self.process, int(self.wall()),
            secrets.token_hex(4), suffix))

    def has_left(self, file: UploadedFile) -> bool:
        """True if nobody needs this file, which this process does not use."""
        if file.folder != objects.digest(self.folder):
            return False
        here = file.host == objects.digest(self.host)
        if here and (file.process == self.process or not self.is_running(file.process)):
            return True
        # In either direction: a clock that was wrong must not keep a key for years.
        return abs(self.wall() - file.second) >= AGE_S


class Leftovers:
    """Removes uploads that were left behind. Not thread-safe.

    Args:
        in_use: paths that this process is uploading or installing.
        clock: monotonic seconds.
    """

    def __init__(
        self, client: Client, origin: UploadOrigin, in_use: Callable[[], Collection[str]], *,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._client, self._origin, self._in_use, self._clock = client, origin, in_use, clock
        self._first_seen: dict[str, float] = {}
        self._refused: set[str] = set()
        """Paths whose removal failed, which are tried last."""
        self._problems = PersistentLog("uploads left on the BIG-IP")

    def sweep(self, installed: Collection[str]) -> None:
        """Remove the leftovers from the device's disk; problems are logged once.

        Args: installed: full paths of the certificate and key files that are installed in our folder.
        """
        problems: list[str] = []
        files: dict[str, str] = {}  # path to name
        for folder in FOLDERS:
            try:
                listed = list_folder(self._client, folder, timeout_s=LIST_TIMEOUT_S)
            except (Unreachable, NotReady, Busy, DeviceTimeout) as exc:
                log.info("uploads on the BIG-IP not listed, retrying at the next reading",
                         extra={"error": str(exc)})
                return
            except BigIPError as exc:
                problems.append(f"{folder} cannot be listed, so private keys that an earlier run left there "
                                f"stay; this needs a user with the role Administrator: {exc}")
                break
            files |= {f"{folder}/{name}": name for name in listed}
        left = self._left(files, installed)
        problems += self._remove(left)
        self._problems.update((), problems)

    def _left(self, files: dict[str, str], installed: Collection[str]) -> list[str]:
        """Return the paths to remove."""
        in_use, now, left, former = self._in_use(), self._clock(), [], {}
        for path, name in files.items():
            file = UploadedFile.parse(name)
            if file is not None:
                if path not in in_use and self._origin.has_left(file):
                    left.append(path)
            elif formerly_uploaded(self._origin.folder, name) in installed:
                former[path] = self._first_seen.get(path, now)
        self._first_seen = former
        return left + [path for path, since in former.items() if now - since >= AGE_S]

    def _remove(self, paths: list[str]) -> list[str]:
        """Remove files until the time is over, or FAILURES were refused; return the reasons."""
        end, removed = self._clock() + REMOVE_S, 0
        problems: list[str] = []
        for path in sorted(paths, key=lambda path: path in self._refused):
            if len(problems) == FAILURES or self._clock() >= end:
                break
            try:
                remove_file(self._client, path)
                removed += 1
            except BigIPError as exc:
                problems.append(f"{path} cannot be removed: {exc}")
                self._refused.add(path)
        self._refused.intersection_update(paths)
        if removed:
            log.info("leftover files removed from the BIG-IP", extra={"files": removed})
        return problems
