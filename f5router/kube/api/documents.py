"""Splits JSON of the API server into documents, one for each object of a reply.

Whoever may write an object chooses its content, even unknown fields where a custom resource keeps them. So a
reply is split without recursion, as it arrives, and each object is decoded alone: one that is nested too
deep, too large, or contains a number or text that cannot be used affects no other. At most one object of a
reply is in memory, however large the reply is.
"""

import json
import math
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field

from f5router.model.json_types import JSON

MOST_BYTES = 10 << 20
"""Limit of one object. etcd stores up to 1.5 MiB (--max-request-bytes), which JSON enlarges up to six times:
\\u0001 for one byte."""

MOST_LEVELS = 100
"""Objects and lists within each other. No kind that the router reads has more than a dozen."""

MOST_AROUND = 1 << 20
"""Bytes of a list without its objects."""

_QUOTE, _BACKSLASH = b'"\\'
_OPENING, _CLOSING = b"{[", b"}]"
_IN_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
"""The rest of a string, up to its end or to a backslash that ends the text."""
_NO_BRACKET = re.compile(rb'(?:[^"\[\]{}]+|"[^"\\]*(?:\\.[^"\\]*)*")*', re.DOTALL)
"""Whole strings, and whatever else opens and closes nothing."""
_KEY = re.compile(rb'(?<!\\)"([A-Za-z]+)"\s*:\s*\Z')
_ITEMS = re.compile(rb'(?<!\\)"items"\s*:\s*\[\Z')
_KEY_SIZE = 64
"""Maximum size of a key with its colon and the blanks around it, in bytes."""
_NOTHING_BETWEEN = b", \t\r\n"
_NEXT = re.compile(r"[, \t\r\n]*(?=[{\[])")
"""Text that may be between two documents."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class UnreadableDocument(ValueError):
    """A document that is JSON, or its beginning, and cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value."""

    text: bytes = field(repr=False)
    """Only the beginning, if it is too large."""
    problem: str = ""
    """Why it cannot be used; "" if no reason is known."""
    value: object = field(default=None, repr=False)
    """The value, if it is decoded already."""

    def load(self) -> object:
        """Return the value. Raises: UnreadableDocument; ValueError: it is no JSON."""
        if self.value is not None:
            return self.value
        if self.problem:
            raise UnreadableDocument(self.problem)
        return loads(self.text)

    def members(self, *path: str) -> JSON:
        """Return the texts and numbers of an inner object, also of a document that cannot be loaded.

        Args: path: keys that lead to the object, letters only.
        """
        return _members(self.text, [key.encode() for key in path])


def loads(text: bytes) -> object:
    """Return the value of a JSON text, with finite numbers and without lone surrogates.

    Raises: UnreadableDocument: it cannot be used; ValueError: it is no JSON.
    """
    try:
        value = _DECODER.decode(text.decode())
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise UnreadableDocument("is nested too deep") from None
    except UnicodeError:
        raise UnreadableDocument("holds text that is not Unicode") from None
    except ValueError:
        raise UnreadableDocument("holds a number that is out of range") from None
    return value


def _decoded(text: str, at: int) -> Generator[Document, None, int]:
    """Yield the documents from here on without looking for their ends first, which takes longer.

    Returns: the position up to which that is possible; not where one is cut off, or may be unusable.
    """
    begin = at
    while True:
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return at
        brackets = text.count("{", begin, end) + text.count("[", begin, end)
        if brackets > MOST_LEVELS or end - begin > MOST_BYTES or text.find("\\u", begin, end) >= 0:
            return at
        yield Document(text[begin:end].encode(), "", value)
        at = end
        if (following := _NEXT.match(text, at)) is None:
            return at
        begin = following.end()


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("out of range")
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


class Splitter:
    """Splits chunked JSON into documents: the documents of a stream, or the items of a list.

    A chunk may end anywhere.
    """

    def __init__(self, *, items: bool = False):
        """Args: items: True if the text is a list of the API, whose `items` are the documents."""
        self._base: int | None = None if items else 0
        """Number of brackets open around a document; None outside of `items`."""
        self._depth = self._deepest = 0
        self._in_string = self._escaped = False
        self._document, self._between, self._around = (
            _Buffer(MOST_BYTES), _Buffer(MOST_BYTES), _Buffer(MOST_AROUND))

    def feed(self, chunk: bytes) -> Iterator[Document]:
        """Yield the documents that a chunk completes. Raises: ValueError: no JSON of the expected form."""
        kept, at = 0, self._next_bracket(chunk, 0)
        text = chunk.decode() if chunk.isascii() else ""  # a position in one is the same in the other
        while at < len(chunk):
            if chunk[at] in _OPENING:
                if self._depth == self._base:
                    self._between.add(chunk[kept:at])
                    yield from self._stray()
                    end = yield from _decoded(text, at)
                    if end > at:
                        kept, at = end, self._next_bracket(chunk, end)
                        continue
                    kept, self._deepest = at, 0
                self._depth += 1
                self._deepest = max(self._deepest, self._depth)
                if self._base is None and self._depth == 2:
                    self._around.add(chunk[kept:at + 1])
                    kept = at + 1
                    self._begin_items()
            else:
                self._depth -= 1
                if self._depth == self._base:
                    self._document.add(chunk[kept:at + 1])
                    kept = at + 1
                    yield self._complete()
                elif self._base is not None and self._depth < self._base:
                    self._between.add(chunk[kept:at])
                    yield from self._stray()
                    kept = at
                    self._end_items()
            at = self._next_bracket(chunk, at + 1)
        self._current().add(chunk[kept:])

    def end(self) -> Iterator[Document]:
        """Yield the last document, if it has no brackets. Raises: ValueError: the text is cut off."""
        if self._depth or self._in_string:
            raise ValueError("the text is cut off")
        yield from self._stray()

    def around(self) -> object:
        """Return a list without its items. Raises: ValueError: this is no JSON."""
        return loads(self._around.text())

    def _next_bracket(self, chunk: bytes, at: int) -> int:
        """Return the position of the next bracket outside a string; the chunk's length if there is none."""
        if self._escaped and chunk:
            self._escaped, at = False, 1
        while True:
            if self._in_string:
                at = _IN_STRING.match(chunk,
                                      at).end()  # type: ignore[union-attr]  # matches nothing at all, too
                if at == len(chunk):
                    return at
                if chunk[at] == _BACKSLASH:
                    self._escaped = True
                    return len(chunk)
                self._in_string, at = False, at + 1
            at = _NO_BRACKET.match(chunk, at).end()  # type: ignore[union-attr]  # matches nothing at all, too
            if at == len(chunk) or chunk[at] != _QUOTE:
                return at
            self._in_string, at = True, at + 1

    def _current(self) -> "_Buffer":
        if self._base is None:
            return self._around
        return self._between if self._depth == self._base else self._document

    def _begin_items(self) -> None:
        """Check if the list that has just begun is the list of items."""
        if _ITEMS.search(self._around.last(_KEY_SIZE)):
            self._base = 2

    def _end_items(self) -> None:
        if self._depth < 0:
            raise ValueError("a bracket closes what none has opened")
        self._base = None

    def _stray(self) -> Iterator[Document]:
        """Yield the text between documents as one, unless it is blank: values without brackets."""
        whole, text = self._between.whole, self._between.take().strip(_NOTHING_BETWEEN)
        if text:
            yield Document(text, "" if whole else _too_large())

    def _complete(self) -> Document:
        levels = self._deepest - (self._base or 0)
        problem = "" if self._document.whole else _too_large()
        if levels > MOST_LEVELS:
            problem = f"is nested {levels} levels deep, at most {MOST_LEVELS} are read"
        return Document(self._document.take(), problem)


def _too_large() -> str:
    return f"is larger than {MOST_BYTES >> 20} MiB"


class _Buffer:
    """Bytes up to a limit."""

    def __init__(self, limit: int):
        self._limit, self._text, self._size = limit, bytearray(), 0

    @property
    def whole(self) -> bool:
        """True if nothing was dropped."""
        return self._size <= self._limit

    def add(self, text: bytes) -> None:
        """Append; bytes beyond the limit are dropped."""
        self._text += text[:max(0, self._limit - self._size)]
        self._size += len(text)

    def last(self, size: int) -> bytes:
        """Return the last bytes."""
        return bytes(self._text[-size:])

    def text(self) -> bytes:
        """Return all bytes. Raises: ValueError: there were more than the limit."""
        if not self.whole:
            raise ValueError(f"more than {self._limit} bytes")
        return bytes(self._text)

    def take(self) -> bytes:
        """Return the bytes kept, and empty the buffer."""
        text = bytes(self._text)
        self._text, self._size = bytearray(), 0
        return text


def _members(text: bytes, path: list[bytes]) -> JSON:
    """Return the plain members of the object to which the keys of `path` lead; see Document.members."""
    plain, inside, depth, kept, at = bytearray(), 0, 0, 0, 0
    result: JSON = {}
    while True:
        at = _NO_BRACKET.match(text, at).end()  # type: ignore[union-attr]  # matches nothing at all, too
        if at == len(text) or text[at] == _QUOTE:
            return result
        if text[at] in _OPENING:
            if inside == len(path) and depth == inside + 1:
                plain += text[kept:at] + b"null"
            elif depth == inside + 1 and _key_before(text, at) == path[inside]:
                inside += 1
                plain, kept = bytearray(), at
            depth += 1
        else:
            depth -= 1
            if inside == len(path) and depth == inside + 1:
                kept = at + 1
            elif inside and depth == inside:
                if inside == len(path):
                    result = _plain(bytes(plain + text[kept:at + 1]))
                inside -= 1
        at += 1


def _key_before(text: bytes, at: int) -> bytes:
    match = _KEY.search(text, max(0, at - _KEY_SIZE), at)
    return match[1] if match else b""


def _plain(text: bytes) -> JSON:
    try:
        value = loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}
