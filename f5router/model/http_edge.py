"""Settings of HTTP between the clients and the BIG-IP, the same for all Routes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """Answer of the BIG-IP where no pod can answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names of letters, digits, `-` and `_`; values in printable ASCII."""
    body: bytes


@dataclass(frozen=True, slots=True)
class HTTPEdge:
    """Treatment of HTTP on both virtual servers."""

    compressed_types: tuple[str, ...] = ()
    """Beginnings of the content types of responses that are compressed; none: nothing is."""
    unavailable: ErrorPage | None = None
    """Page in the place of the built-in one."""
    not_found: ErrorPage | None = None
    """Page for requests that no Route matches; None: the same as for all others."""
