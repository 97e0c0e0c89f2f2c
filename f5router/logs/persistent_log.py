"""Logging of problems that last: when they begin and when they are resolved, not on every pass."""

import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)


class PersistentLog:
    """Problems of one subject that were logged and still hold; one thread uses it."""

    def __init__(self, subject: str):
        """Args: subject: a constant, the log's message."""
        self._subject = subject
        self._logged: dict[str, int] = {}

    def update(self, problems: Iterable[str], warnings: Iterable[str]) -> None:
        """Log new problems, as errors or warnings, and those that are resolved."""
        now = {**dict.fromkeys(warnings, logging.WARNING), **dict.fromkeys(problems, logging.ERROR)}
        for text, level in now.items():
            if self._logged.get(text) != level:
                log.log(level, self._subject, extra={"problem": text})
        for text in self._logged.keys() - now.keys():
            log.info("problem resolved", extra={"subject": self._subject, "problem": text})
        self._logged = now
