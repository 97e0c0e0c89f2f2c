"""Settings of HTTP between the clients and the BIG-IP, the same for all Routes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HTTPEdge:
    """Treatment of HTTP on both virtual servers."""

    compressed_types: tuple[str, ...] = ()
    """Beginnings of the content types of responses that are compressed; none: nothing is."""
