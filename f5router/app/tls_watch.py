"""The administrator's files for TLS towards clients, read again while the router runs.

Source: openshift/router, pkg/router/template/router.go, which watches the directory of the default
certificate. A Secret's volume changes by a symbolic link, for which reading is the simplest watch.
"""

import logging
import math
import stat
from collections.abc import Callable
from pathlib import Path

from f5router.admission.pem import MAX_TEXT
from f5router.config import tls_files
from f5router.config.tls_files import TLSPaths
from f5router.logs.persistent_log import PersistentLog
from f5router.model.client_tls import TLSFiles

log = logging.getLogger(__name__)


class TLSWatch:
    """Reads the files periodically; one thread uses it."""

    def __init__(self, paths: TLSPaths, files: TLSFiles, *, period_s: float, clock: Callable[[], float]):
        """Args: files: what was read at start."""
        self._paths, self._files, self._period_s, self._clock = paths, files, period_s, clock
        self._log = PersistentLog("changed files for TLS towards clients")
        self.due_at = clock() + period_s if paths else math.inf
        """When the files are to be read again."""

    def check(self) -> TLSFiles | None:
        """Read the files; returns what they hold, None if nothing new can be used."""
        self.due_at = self._clock() + self._period_s
        try:
            files = self._paths.read(_text, self._files)
        except (OSError, ValueError) as exc:
            self._log.update((), (f"not used, what was read before stays: {tls_files.reason(exc)}",))
            return None
        self._log.update((), ())
        if files == self._files:
            return None
        log.info("changed files for TLS towards clients are used")
        self._files = files
        return files


def _text(path: str) -> str:
    """Read a regular file of bounded size. Raises: OSError; UnicodeDecodeError."""
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise OSError(0, "it is not a regular file", path)
    with Path(path).open("rb") as file:
        return file.read(MAX_TEXT + 1).decode()
