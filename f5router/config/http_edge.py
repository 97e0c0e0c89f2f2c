"""Settings of HTTP between the clients and the BIG-IP."""

from f5router.config import error_pages
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.model.http_edge import ErrorPage, HTTPEdge, UniqueID


def load(reader: Reader) -> HTTPEdge:
    """Return the settings, as far as they are right; the reader has what is wrong."""
    types, compresses = reader.value("compression-mime"), reader.value("enable-compression")
    if not compresses and types != OPTIONS["compression-mime"].parse(OPTIONS["compression-mime"].default):
        reader.warn("not used: it is part of --enable-compression", "compression-mime")
    unavailable = _page(reader, "errorfile-503")
    if unavailable and not reader.value("f5-503-page"):
        reader.warn("not used, because of --f5-503-page=false", "errorfile-503")
        unavailable = None
    return HTTPEdge(types if compresses else (), unavailable, _page(reader, "errorfile-404"))


def _page(reader: Reader, name: str) -> ErrorPage | None:
    """Return the page in the file that a setting names; None without one, and after a problem."""
    text = reader.read(name) if reader.text(name) else None
    if text is None:
        return None
    try:
        return error_pages.parse(text)
    except ValueError as exc:
        reader.problem(f"cannot use {reader.text(name)!r}: {exc}", name)
        return None


def unique_id(reader: Reader) -> UniqueID | None:
    """Return the header with the ID of a request; None without its name."""
    name, pieces = reader.value("unique-id-header-name"), reader.value("unique-id-format")
    if not name and pieces != OPTIONS["unique-id-format"].parse(OPTIONS["unique-id-format"].default):
        reader.warn("not used: there is no name of a header", "unique-id-format", "unique-id-header-name")
    return UniqueID(name, pieces) if name else None
