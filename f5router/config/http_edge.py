"""Settings of HTTP between the clients and the BIG-IP."""

from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.model.http_edge import HTTPEdge


def load(reader: Reader) -> HTTPEdge:
    """Return the settings, as far as they are right; the reader has what is wrong."""
    types, compresses = reader.value("compression-mime"), reader.value("enable-compression")
    if not compresses and types != OPTIONS["compression-mime"].parse(OPTIONS["compression-mime"].default):
        reader.warn("not used: it is part of --enable-compression", "compression-mime")
    return HTTPEdge(compressed_types=types if compresses else ())
