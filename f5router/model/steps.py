"""Work in small steps, between which the caller may pause or hand it to another thread."""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")

Steps = Generator[None, None, Result]
"""Generator that yields after each step of about a millisecond and returns the result."""


def finish(work: Steps[Result]) -> Result:
    """Do the remaining steps and return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
