"""Sentences about a state that lasts: logged when it begins and when it is over, not on every pass."""

import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)


class PersistentLog:
    """What was told of a subject and still holds; one thread uses it."""

    def __init__(self, subject: str):
        """Args: subject: a constant, the log's message."""
        self._subject = subject
        self._told: dict[str, int] = {}

    def update(self, problems: Iterable[str], warnings: Iterable[str]) -> None:
        """Log what is new, as error or warning, and what no longer holds."""
        now = {**dict.fromkeys(warnings, logging.WARNING), **dict.fromkeys(problems, logging.ERROR)}
        for text, level in now.items():
            if self._told.get(text) != level:
                log.log(level, self._subject, extra={"problem": text})
        for text in self._told.keys() - now.keys():
            log.info("problem resolved", extra={"subject": self._subject, "problem": text})
        self._told = now
