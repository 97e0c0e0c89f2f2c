"""/mgmt/shared/file-transfer/uploads: files in chunks (bigip-behaviour.md A7).

A file that is not complete lies in FOLDER/tmp, as `temporaryFilePath` of the recorded replies tells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import refusals
from mocks.bigip.requests import Request
from mocks.bigip.store import DiskFile, Store

FOLDER = "/var/config/rest/downloads"
LARGEST_CHUNK = 8 * 1024 * 1024
"""Bytes; clients send up to 7 MiB (bigip-behaviour.md A7)."""
_RANGE = re.compile(r"^(?:bytes )?(\d+)-(\d+)/(\d+)$")


@dataclass
class Upload:
    """A file that is not complete. chunks: start -> bytes sent there."""

    total: int
    data: bytearray
    chunks: dict[str, int] = field(default_factory=dict)


class Uploads:
    def __init__(self) -> None:
        self._open: dict[str, Upload] = {}

    def receive(self, store: Store, name: str, request: Request) -> dict[str, Any]:
        """One chunk; the reply is cumulative. Raises: Refusal: bad range, or length that differs."""
        match = _RANGE.match(request.headers.get("Content-Range", ""))
        if not match:
            raise refusals.java(400, "Content-Range header is missing or malformed")
        start, end, total = (int(number) for number in match.groups())
        size = end - start + 1
        if size != len(request.raw):
            raise refusals.java(
                400, f"Chunk byte count {size} different from received buffer length {len(request.raw)}"
            )
        if size > LARGEST_CHUNK or end >= total:
            raise refusals.java(400, f"Chunk byte count {size} not allowed")
        upload = self._open.get(name)
        if upload is None or start == 0 or upload.total != total:
            if start:
                raise refusals.java(400, f"Upload of {name} must begin at 0")
            upload = self._open[name] = Upload(total, bytearray())
        if start > len(upload.data):
            raise refusals.java(400, f"Chunk of {name} begins at {start}, expected {len(upload.data)}")
        upload.data[start : end + 1] = request.raw
        upload.chunks[str(start)] = size
        left = total - len(upload.data)
        if left:
            store.disk[f"{FOLDER}/tmp/{name}"] = DiskFile(bytes(upload.data))
        else:
            store.disk.pop(f"{FOLDER}/tmp/{name}", None)
            store.disk[f"{FOLDER}/{name}"] = DiskFile(bytes(upload.data))
            del self._open[name]
        return {
            "remainingByteCount": left,
            "usedChunks": upload.chunks,
            "totalByteCount": total,
            "localFilePath": f"{FOLDER}/{name}",
            "temporaryFilePath": f"{FOLDER}/tmp/{name}",
            "generation": 0,
            "lastUpdateMicros": int(store.clock() * 1e6),
        }
