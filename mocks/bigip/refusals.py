"""Refusals of the device: one exception, a constructor per layer that refuses.

A request goes through Apache, restjavad, icrd and mcpd, and each layer has its own error body
(bigip-behaviour.md A2.2). A client decides by the HTTP status and by the number before `:3:`.
"""

from __future__ import annotations

from dataclasses import dataclass

MCPD = 3
"""apiError of messages of mcpd, the ones that begin with a number."""
REST = 1
"""apiError of icrd itself: URLs, JSON, sub-collections."""
TRANSACTION = 2
"""apiError of a failed commit."""
TMSH = 26214401
"""apiError of the tmsh parser inside icrd."""
MCPD_LOST = 32768001
BUSY = 32964609


@dataclass
class Refusal(Exception):
    """A request that the device refuses.

    Attributes: status: HTTP status. message: text of the body. api_error: number of the refusing layer
    below restjavad. layer: "icrd" (JSON with errorStack), "java" (JSON of restjavad), "html" (Apache).
    """

    status: int
    message: str
    api_error: int = MCPD
    layer: str = "icrd"

    def __str__(self) -> str:
        return f"{self.status} {self.message}"


def mcpd(code: str, text: str, *, status: int = 400) -> Refusal:
    """A numbered message of mcpd; code is the eight-digit number."""
    return Refusal(status, f"{code}:3: {text}")


def not_found(word: str, name: str) -> Refusal:
    return mcpd("01020036", f"The requested {word} ({name}) was not found.", status=404)


def already_exists(word: str, name: str, partition: str) -> Refusal:
    return mcpd(
        "01020066", f"The requested {word} ({name}) already exists in partition {partition}.", status=409
    )


def object_not_found(name: str) -> Refusal:
    """The 404 of icrd for an absent item of a sub-collection, without a number."""
    return Refusal(404, f"Object not found - {name}", REST)


def in_use(word: str, name: str, by: str) -> Refusal:
    """The general refusal of a DELETE; by names the kind and the object, as in bigip-behaviour.md B1."""
    return mcpd("01070265", f"The {word} ({name}) cannot be deleted because it is in use by a {by}.")


def foreign_key(values: str, word: str, name: str, index: str) -> Refusal:
    return mcpd(
        "01070712",
        f"Values ({values}) specified for {word} ({name}): foreign key index ({index}) "
        "do not point at an item that exists in the database.",
    )


def configuration_error(text: str) -> Refusal:
    return mcpd("01070734", f"Configuration error: {text}")


def tmsh(message: str, *, status: int = 400) -> Refusal:
    return Refusal(status, message, TMSH)


def rest(message: str, *, status: int = 400) -> Refusal:
    return Refusal(status, message, REST)


def java(status: int, message: str) -> Refusal:
    return Refusal(status, message, 0, "java")


def unknown_property(name: str) -> Refusal:
    return tmsh(f'"{name}" unknown property')


def may_not(first: str, second: str) -> Refusal:
    return tmsh(f'"{first}" may not be specified with "{second}"')


def missing(name: str, text: str = "") -> Refusal:
    """A required property that was not sent. The device's text is not recorded (bigip-behaviour.md A10)."""
    return tmsh(text or f'"{name}": required property is missing')


def invalid_value(name: str, value: object) -> Refusal:
    """A value outside an enumeration; the message has the property in tmsh's dashed spelling."""
    return tmsh(f'invalid property value "{dashed(name)}":"{value}"')


def dashed(name: str) -> str:
    """tmsh's spelling of a property: loadBalancingMode -> load-balancing-mode."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name)
