"""Errors of the program itself that one object of a tenant brings about: all other objects go on.

Input that is wrong gets a reason of its own, and never comes here.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

OnFailure = Callable[[str], None]
"""Takes an object that could not be processed, while its exception is being handled."""

MOST = 100
"""Objects that are remembered as logged."""


def fail(subject: str) -> None:
    """Raise the exception that is being handled: tests and commands have to see it."""
    raise


class FailureLog:
    """Logs each object once, with the traceback; what is known of it stays. One thread uses it."""

    def __init__(self) -> None:
        self._logged: dict[str, None] = {}

    def __call__(self, subject: str) -> None:
        """Log the exception that is being handled. Args: subject: the object."""
        log.log(logging.DEBUG if subject in self._logged else logging.ERROR,
                "object not processed, its last state stays", exc_info=True, extra={"object": subject})
        self._logged[subject] = None
        if len(self._logged) > MOST:
            del self._logged[next(iter(self._logged))]


@contextmanager
def contained(on_failure: OnFailure, *subject: object) -> Iterator[None]:
    """Catch an exception of this block. Args: subject: kind and name of the object, for the log."""
    try:
        yield
    except Exception:
        on_failure(" ".join(map(str, subject)))
