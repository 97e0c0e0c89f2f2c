"""The administrator's files for TLS, read again while the router runs.

Source: openshift/router, pkg/router/template/router.go, which watches the directory of the default
certificate; docs.openshift.com, Service serving certificate secrets (the service CA is renewed before it
expires). A Secret's volume changes by a symbolic link, for which reading is the simplest watch.
"""

import logging
import math
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from f5router.admission.pem import MAX_TEXT, PEMError
from f5router.config import files, tls_files
from f5router.config.device import BigIPPaths
from f5router.config.tls_files import TLSPaths
from f5router.icontrol.settings import Login
from f5router.logs.log_output import PersistentLog
from f5router.model.client_tls import TLSFiles
from f5router.model.errors import ConfigError

Content = TypeVar("Content")
Read = Callable[[Content], Content]
"""Returns what files hold. Args: what they held before. Raises: OSError; ValueError: they cannot be used."""

log = logging.getLogger(__name__)


class FileWatch(Generic[Content]):
    """Reads files again; what was read before stays while they cannot be used. One thread uses it."""

    def __init__(self, subject: str, read: Read[Content] | None, content: Content):
        """Args: subject: a constant, the log's message; read: None without files; content: as read at start.
        """
        self._read, self.content = read, content
        self._log = PersistentLog(subject)
        self._subject = subject

    def read(self) -> bool:
        """Read the files; returns True if they hold something else."""
        if self._read is None:
            return False
        try:
            content = self._read(self.content)
        except (OSError, ValueError) as exc:
            self._log.update((), (f"not used, what was read before stays: {tls_files.reason(exc)}",))
            return False
        self._log.update((), ())
        if content == self.content:
            return False
        log.info("using %s", self._subject)
        self.content = content
        return True


class SharedFiles(Generic[Content]):
    """FileWatch for several threads: whoever needs the content polls the files if they are due."""

    def __init__(self, subject: str, read: Read[Content] | None, content: Content, *, period_s: float,
                 clock: Callable[[], float]):
        """Args: as of FileWatch; content: if there are no files.

        Raises: ConfigError: the files cannot be used.
        """
        try:
            content = read(content) if read else content
        except (OSError, ValueError) as exc:
            raise ConfigError([f"{subject}: {tls_files.reason(exc)}"]) from None
        self._watch, self._period_s, self._clock = FileWatch(subject, read, content), period_s, clock
        self._lock = threading.Lock()
        self._again_at = clock() + period_s if read else math.inf
        """When the files are to be read again."""

    def get(self, *, now: bool = False) -> Content:
        """Return the newest usable content. Args: now: read the files even if that is not due."""
        if now or self._clock() >= self._again_at:
            with self._lock:
                if now or self._clock() >= self._again_at:  # else another thread has read them meanwhile
                    self._again_at = self._clock() + self._period_s
                    self._watch.read()
        return self._watch.content


def client_tls(paths: TLSPaths) -> Read[TLSFiles] | None:
    """Return how the files for TLS towards clients are read; None if there are none."""
    return (lambda before: paths.read(text, before)) if paths else None


def destination_ca(path: str) -> Read[str] | None:
    """Return how the default authorities for pods are read; None without a path.

    As long as there were none, it is no problem that the file does not exist or cannot be used.
    """
    def read(before: str) -> str:
        try:
            return files.encode_certificates(text(path))
        except (OSError, ValueError) as exc:
            if not before:
                return before
            if isinstance(exc, OSError):
                raise
            raise PEMError(f"{path!r}: {tls_files.reason(exc)}") from None
    return read if path else None


def login(paths: BigIPPaths) -> Read[Login] | None:
    """Return how user name and password are read; None if they are in no file."""
    return (lambda before: paths.login(text, before)) if paths.username or paths.password else None


def authorities(path: str) -> Read[str] | None:
    """Return how the authorities of the BIG-IP are read; None without a file."""
    return (lambda before: files.whole_certificates(path, text(path))) if path else None


def ssh_key(path: str) -> Read[str] | None:
    """Return how the private key for SSH is read; None without a file."""
    def read(before: str) -> str:
        key = text(path)
        files.check_ssh_key(path, key)
        return key
    return read if path else None


def text(path: str) -> str:
    """Read a regular file of bounded size. Raises: OSError; UnicodeDecodeError."""
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise OSError(0, "it is not a regular file", path)
    with Path(path).open("rb") as file:
        return file.read(MAX_TEXT + 1).decode()
