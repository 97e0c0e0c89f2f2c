"""Protobuf of Secrets, which Helm sends: the typed clients of client-go prefer it to JSON since 1.33.

Field numbers: k8s.io/apimachinery/pkg/runtime/generated.proto (Unknown), k8s.io/api/core/v1/generated.proto
(Secret), k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto (ObjectMeta). Replies are JSON, which these
clients accept besides.
"""

import base64
from collections.abc import Iterator

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\0"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def secret(body: bytes) -> dict:
    """Return a Secret as JSON has it. Raises: ValueError: it is none, or cut off."""
    if not body.startswith(MAGIC):
        raise ValueError("no magic number of Kubernetes")
    envelope = dict(_fields(body[len(MAGIC):]))
    kind = dict(_fields(envelope.get(1, b"")))
    if kind.get(2) != b"Secret":
        raise ValueError(f"only Secrets are read, not {kind.get(2, b'').decode()}")
    obj: dict = {"apiVersion": kind[1].decode(), "kind": "Secret", "data": {}}
    for number, value in _fields(envelope[2]):
        match number:
            case 1:
                obj["metadata"] = _metadata(value)
            case 2:
                key, data = _entry(value)
                obj["data"][key] = base64.b64encode(data).decode()
            case 3:
                obj["type"] = value.decode()
    return obj


def _metadata(message: bytes) -> dict:
    names = {1: "name", 2: "generateName", 3: "namespace", 5: "uid", 6: "resourceVersion"}
    data: dict = {}
    for number, value in _fields(message):
        if number in names and value:
            data[names[number]] = value.decode()
        elif number in (11, 12):
            key, text = _entry(value)
            data.setdefault("labels" if number == 11 else "annotations", {})[key] = text.decode()
    return data


def _entry(message: bytes) -> tuple[str, bytes]:
    """Key and value of one entry of a map."""
    fields = dict(_fields(message))
    return fields.get(1, b"").decode(), fields.get(2, b"")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each field; numbers, of which none is needed here, have no content."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        size = {FIXED64: 8, FIXED32: 4}.get(tag & 7, 0)
        if tag & 7 in (VARINT, BYTES):
            size, place = _varint(message, place)
        content = message[place:place + size] if tag & 7 == BYTES else b""
        place += 0 if tag & 7 == VARINT else size
        if place > len(message):
            raise ValueError("the message is cut off")
        yield tag >> 3, content


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A number, and the place behind it."""
    number = shift = 0
    while True:
        if place >= len(message):
            raise ValueError("the message is cut off")
        byte = message[place]
        number, shift, place = number | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return number, place
