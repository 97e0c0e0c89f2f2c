"""Words for failures of connections, in place of the texts of libraries.

Those texts have class names, addresses in memory and lines of a source, and perhaps a URL with a password.
"""

import http.client
import os
import ssl

NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
"""Reasons of OpenSSL where the other side begins with something else than a record of TLS."""


def links(exc: BaseException) -> list[BaseException]:
    """Return an exception and those that it wraps, outermost first.

    __context__ is not followed: it leads to what the caller is handling, perhaps an older failure.
    """
    result: list[BaseException] = []
    todo = [exc]
    while todo:
        link = todo.pop(0)
        if any(link is seen for seen in result):
            continue
        result.append(link)
        inner = (*link.args, getattr(link, "reason", None), link.__cause__)
        todo += [each for each in inner if isinstance(each, BaseException)]
    return result


def words(chain: list[BaseException]) -> str:
    """Return why there is no reply, by the exceptions of Python's own library; "" if they do not show it."""
    if any(isinstance(link, http.client.IncompleteRead) for link in chain):
        return "the reply was cut off"
    for link in reversed(chain):
        if isinstance(link, ssl.SSLError):
            return _tls(link)
        if isinstance(link, ConnectionError) and not link.errno:
            return "the connection was closed without a reply"
        if isinstance(link, http.client.HTTPException):
            return "the reply is not HTTP"
        if isinstance(link, OSError) and link.errno:
            return os.strerror(link.errno)
    return ""


def _tls(error: ssl.SSLError) -> str:
    if error.reason in NO_TLS:
        return "no TLS is spoken there: another server has this port"
    return f"TLS: {error.reason or 'connection closed'}"
