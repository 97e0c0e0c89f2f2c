"""The receiving end of scp: what `scp -t PATH` does on a BIG-IP.

The protocol: the source sends records, each a letter, a text and a new line, and waits for an answer
after each: a zero byte, or a byte 1 (error) or 2 (fatal) and a line of text.

    T<mtime> 0 <atime> 0     times of the next file
    C<mode> <size> <name>    a file; its bytes follow, then a zero byte, then one more answer
    D<mode> 0 <name>         enter a directory
    E                        leave it

Source: OpenSSH scp.c, sink(); the answers were compared with those of its 9.2.
"""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import BinaryIO

from mocks.bigip.store import DiskFile

UMASK = 0o022
CHUNK = 32768
"""Bytes read at a time."""


class Dropped(Exception):
    """The connection is to be cut now."""


class _Fatal(Exception):
    """The session cannot go on; carries the words for the source."""


@dataclass(slots=True)
class Folders:
    """Which paths are directories, and below which nothing may be written."""

    known: set[str] = field(
        default_factory=lambda: {
            "/",
            "/config",
            "/ro",
            "/root",
            "/shared",
            "/shared/tmp",
            "/tmp",
            "/var",
            "/var/tmp",
        }
    )
    read_only: set[str] = field(default_factory=lambda: {"/ro"})

    def refusal(self, path: str) -> str:
        """Why a file cannot be written at this path, or ""."""
        parent = path.rpartition("/")[0] or "/"
        if path in self.known:
            return f"{path}: Is a directory"
        if parent not in self.known:
            return f"{path}: No such file or directory"
        if any(parent == folder or parent.startswith(f"{folder}/") for folder in self.read_only):
            return f"{path}: Permission denied"
        return ""


class Sink:
    """One run of `scp -t`.

    Args:
        stream: what the source sends; read(n) and readline() block.
        answer: sends bytes to the source.
        take: take(fault) says whether that fault is to happen now, and uses it up.
    """

    def __init__(
        self,
        stream: BinaryIO,
        answer: Callable[[bytes], None],
        disk: MutableMapping[str, DiskFile],
        folders: Folders,
        take: Callable[[str], bool],
    ):
        self._stream, self._answer, self._disk = stream, answer, disk
        self._folders, self._take = folders, take
        self._failed = False

    def run(self, target: str, *, recursive: bool, preserve: bool, need_directory: bool) -> int:
        """Receive until the source closes; the exit status.

        Raises:
            Dropped: a fault asks for the connection to be cut.
        """
        if need_directory and target.rstrip("/") not in self._folders.known:
            self._error(f"{target}: Not a directory")
            return 1
        self._answer(b"\0")
        try:
            self._receive([target], recursive=recursive, preserve=preserve)
        except _Fatal as fatal:
            self._answer(f"\x02scp: {fatal}\n".encode())
            return 1
        return int(self._failed)

    def _receive(self, stack: list[str], *, recursive: bool, preserve: bool) -> None:
        while letter := self._stream.read(1):
            text = self._stream.readline().decode(errors="replace")
            if not text.endswith("\n"):
                raise _Fatal("protocol error: unterminated record")
            if letter == b"C":
                self._file(stack[-1], text, preserve=preserve)
            elif letter == b"D" and recursive:
                stack.append(self._enter(stack[-1], text))
            elif letter == b"E" and len(stack) > 1:
                stack.pop()
                self._answer(b"\0")
            elif letter == b"T":
                self._times(text)
            elif letter == b"\x01":
                self._failed = True
            else:
                raise _Fatal(f"protocol error: unexpected {letter!r}")

    def _times(self, text: str) -> None:
        parts = text.split()
        if len(parts) != 4 or not all(number.isdecimal() for number in parts):
            raise _Fatal("mtime.sec not delimited")
        self._answer(b"\0")

    def _record(self, target: str, text: str) -> tuple[str, int, int]:
        """Path, mode and size of a C or D record."""
        mode, _, rest = text.rstrip("\n").partition(" ")
        size, _, name = rest.partition(" ")
        if len(mode) != 4 or not set(mode) <= set("01234567"):
            raise _Fatal("bad mode")
        if not size.isdecimal():
            raise _Fatal("size not delimited")
        if not name or "/" in name or name in (".", ".."):
            raise _Fatal(f"error: unexpected filename: {name}")
        inside = (target.rstrip("/") or "/") in self._folders.known
        path = f"{target.rstrip('/')}/{name}" if inside else target
        return path, int(mode, 8), int(size)

    def _enter(self, target: str, text: str) -> str:
        path, _, _ = self._record(target, text)
        parent = path.rpartition("/")[0] or "/"
        if path not in self._folders.known and (refusal := self._folders.refusal(f"{parent}/x")):
            raise _Fatal(refusal.replace(f"{parent}/x", path))
        self._folders.known.add(path)
        self._answer(b"\0")
        return path

    def _file(self, target: str, text: str, *, preserve: bool) -> None:
        path, mode, size = self._record(target, text)
        if self._take("scp-fatal"):
            raise _Fatal(f"{path}: Input/output error")
        if refusal := self._folders.refusal(path):
            self._error(refusal)
            return
        old = self._disk.get(path)
        # As OpenSSH: without -p a file that is there already keeps its mode.
        mode = mode if preserve else old.mode if old else mode & ~UMASK
        self._disk[path] = DiskFile(old.data if old else b"", mode)
        self._answer(b"\0")
        drop, full = self._take("drop-mid-transfer"), self._take("disk-full")
        data = self._bytes(path, mode, limit=size // 2 if drop else size)
        if drop:
            raise Dropped
        if self._stream.read(1) != b"\0":
            self._failed = True
            return
        if full:
            self._disk[path] = DiskFile(data[: size // 2], mode)
            self._error(f"{path}: No space left on device")
            return
        if self._take("truncated"):
            self._disk[path] = DiskFile(data[: size // 2], mode)
        self._answer(b"\0")

    def _bytes(self, path: str, mode: int, *, limit: int) -> bytes:
        """Read limit bytes, each chunk on the disk as soon as it is here."""
        data = b""
        while len(data) < limit:
            chunk = self._stream.read(min(CHUNK, limit - len(data)))
            if not chunk:
                raise _Fatal("lost connection")
            data += chunk
            self._disk[path] = DiskFile(data, mode)
        self._disk[path] = DiskFile(data, mode)
        return data

    def _error(self, words: str) -> None:
        self._failed = True
        self._answer(f"\x01scp: {words}\n".encode())
