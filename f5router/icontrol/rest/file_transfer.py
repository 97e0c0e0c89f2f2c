"""Uploads of files by the end point file-transfer, in chunks.

Source: bigip-behaviour.md A7.
"""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    NotLeader,
    NotReady,
    Standby,
    Unsupported,
    Untrusted,
)
from f5router.model.limits import Backoff

log = logging.getLogger(__name__)

UPLOADS = "/mgmt/shared/file-transfer/uploads"
DOWNLOADS = "/var/config/rest/downloads"
"""Folder of the device in which uploaded files are."""

CHUNK = 512 * 1024
"""Bytes; the smallest limit that a source names is 1 MiB (bigip-behaviour.md A7)."""
TRIES = 3
BACKOFF = Backoff(first_s=1.0, limit_s=2.0)

_FINAL = AuthFailed, NotLeader, Standby, Unsupported, Untrusted
"""Errors that another try does not change."""

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")

Send = Callable[[str, bytes, Mapping[str, str]], Mapping[str, Any]]
"""Sends a chunk to a path, with headers; returns the reply."""


def upload(
    send: Send, name: str, data: bytes, *, sleep: Callable[[float], object],
    on_failure: Callable[[BigIPError], None],
) -> str:
    """Put a file on the device. A broken upload starts again at 0, three times at most.

    Args:
        name: file name of letters, digits, "-", "_", "."; unique, since a broken upload can
            spoil the next one of its name.
        on_failure: called for each try that fails; the device may still complete it later.
    Returns: its path on the device.
    Raises:
        ValueError: the name has other characters, or there is no data.
        BigIPError: the last try failed.
    """
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of an uploaded file")
    if not data:
        raise ValueError(f"{name}: no data to upload")
    for attempt in range(1, TRIES + 1):
        try:
            return _upload_once(send, name, data)
        except BigIPError as exc:
            on_failure(exc)
            if attempt == TRIES or isinstance(exc, _FINAL):
                raise
            log.info("restarting upload to the BIG-IP", extra={"file": name, "error": str(exc)})
            sleep(BACKOFF.delay_s(attempt))
    raise AssertionError("unreachable")


def _upload_once(send: Send, name: str, data: bytes) -> str:
    path = f"{UPLOADS}/{name}"
    for start in range(0, len(data), CHUNK):
        chunk = data[start : start + CHUNK]
        reply = send(path, chunk, {
            "Content-Type": "application/octet-stream",
            "Content-Range": f"{start}-{start + len(chunk) - 1}/{len(data)}",
        })
    if reply.get("remainingByteCount"):
        raise NotReady("POST", path, f"bytes missing on the device: {reply['remainingByteCount']}",
                       may_have_applied=True)
    return f"{DOWNLOADS}/{name}"
