"""Compression of responses by an http-compression profile.

Sources: techdocs.f5.com, BIG-IP Local Traffic Management Profiles Reference, HTTP compression profiles;
clouddocs, tmsh reference, ltm profile http-compression. Which status codes it leaves alone is not stated.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

from mocks.bigip.dataplane.http import Head
from mocks.bigip.matching import Unsupported

_WINDOW = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
_BODYLESS = (101, 204, 304)


def check_profile(fields: dict[str, Any] | None) -> None:
    """Raises: Unsupported: the profile asks for something that is not carried out."""
    if fields and fields["selective"] == "enabled":
        raise Unsupported("selective of an http-compression profile")


def towards_server(head: Head, fields: dict[str, Any]) -> None:
    """Keep the server from compressing, unless the profile leaves it the choice."""
    if fields["keepAcceptEncoding"] != "enabled":
        head.remove(b"Accept-Encoding")


def accepted(head: Head, fields: dict[str, Any]) -> str:
    """The method for a client, as its request came; "" for none."""
    if head.version == "1.0" and fields["allowHttp_10"] != "enabled":
        return ""
    offered = {}
    for offer in b",".join(head.all(b"Accept-Encoding")).decode("latin-1").lower().split(","):
        name, _, quality = offer.partition(";")
        offered[name.strip()] = quality.strip().removeprefix("q=").strip("0.") != "" or not quality.strip()
    methods = (fields["methodPrefer"], *_WINDOW)
    return next((method for method in methods if offered.get(method)), "")


class Compressor:
    """The body of one response. It is empty for a response that stays as it is."""

    def __init__(self, method: str, level: int) -> None:
        self._method = method
        self._stream = zlib.compressobj(level, zlib.DEFLATED, _WINDOW[method])

    def change_head(self, head: Head, fields: dict[str, Any]) -> None:
        """The length is not known any more: the body is sent in chunks."""
        head.headers.append((b"Content-Encoding", self._method.encode()))
        head.remove(b"Content-Length")
        head.replace(b"Transfer-Encoding", b"chunked")
        if fields["varyHeader"] == "enabled" and b"accept-encoding" not in b",".join(
                head.all(b"Vary")).lower():
            head.headers.append((b"Vary", b"Accept-Encoding"))

    def feed(self, data: bytes) -> bytes:
        return self._stream.compress(data)

    def end(self) -> bytes:
        return self._stream.flush()


def compressor(method: str, request: Head, answer: Head, fields: dict[str, Any]) -> Compressor | None:
    """The Compressor of a response; None: it stays as it is. Args: method: that `accepted` returned."""
    if not method or request.method == b"HEAD" or answer.status in _BODYLESS:
        return None
    length = answer.get(b"Content-Length")
    if answer.get(b"Content-Encoding") is not None or (length and int(length) < int(fields["minSize"])):
        return None
    kind, uri = ((text or b"").decode("latin-1") for text in (answer.get(b"Content-Type"), request.target))
    if not _chosen(kind, fields, "contentType") or not _chosen(uri, fields, "uri"):
        return None
    return Compressor(method, int(fields["gzipLevel"]))


def _chosen(text: str, fields: dict[str, Any], what: str) -> bool:
    """The lists are regular expressions; whether they are anchored is not stated."""
    chosen, left_out = (fields[f"{what}{end}"] or () for end in ("Include", "Exclude"))
    return any(re.search(each, text) for each in chosen) and not any(
        re.search(each, text) for each in left_out)
