"""Work in steps: whoever does it may pause between two, or leave the rest to another thread."""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")

Steps = Generator[None, None, Result]
"""Yields after each step, of a millisecond or little more; returns the result."""


def finish(work: Steps[Result]) -> Result:
    """Do all the steps that are left, and return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
