"""Why an object that is to become Routes, or a part of it, is not served."""

from typing import NamedTuple


class Problem(NamedTuple):
    """A reason, for the Events and the status of the object."""

    reason: str
    """CamelCase word for programs."""
    message: str
    """Text for its team; it begins with the field."""
