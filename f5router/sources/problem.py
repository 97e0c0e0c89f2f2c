"""Why an object that is to become Routes, or a part of it, is not served."""

from typing import NamedTuple

WARNING = "Warning"
"""Reason of what keeps nothing from being served."""


class Problem(NamedTuple):
    """A reason, for the Events and the status of the object."""

    reason: str
    """CamelCase word for programs."""
    message: str
    """Text for its team; it begins with the field."""
