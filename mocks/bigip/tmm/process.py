"""The tclsh that runs engine.tcl, and messages to and from it."""

from __future__ import annotations

import os
import resource
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mocks.bigip import language

ENGINE = str(Path(__file__).with_name("engine.tcl"))
Answer = Callable[[str, list[bytes]], tuple[str, "bytes | str"]]
"""(name of a TMM command, its arguments) -> verdict and result: ok, error or stop."""
_START_S = 120
_DIFFERENT = frozenset(("after", "clock", "close", "encoding", "fileevent", "puts", "read", "trace"))
"""Commands that TMM has, but not as stock Tcl has them: the answer must come from Python, too."""
_MEMORY = 1 << 30
"""Bytes of address space. A rule that wants more ends the process, not the machine."""


def language_words() -> list[str]:
    """Words of the message `language`: what the engine has to know of TMM's Tcl."""
    absent = language.NEWER | language.DISABLED | {"proc"}
    return [" ".join(sorted(words)) for words in (absent, _DIFFERENT, language.NEWER_FUNCTIONS)]


class Died(Exception):
    """The process is gone, and with it every connection in it."""


class Process:
    """One tclsh. Not thread-safe.

    Raises: RuntimeError: no tclsh on this machine, or it does not start.
    """

    def __init__(self) -> None:
        tclsh = shutil.which("tclsh")
        if tclsh is None:
            raise RuntimeError("no tclsh: install Tcl 8.6 (Debian package tcl); iRules run in it")
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [tclsh, ENGINE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0,
        )  # fmt: skip
        resource.prlimit(self._process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._buffer = b""
        try:
            if not self.receive(_START_S)[1].startswith(b"8."):
                raise RuntimeError("tclsh is not Tcl 8")
        except Died as died:
            raise RuntimeError(f"engine.tcl did not start: {died}") from None
        self.send("language", *language_words())

    @property
    def pid(self) -> int:
        return self._process.pid

    def death(self) -> Died | None:
        """How it ended; None: it runs."""
        return None if self._process.poll() is None else self._died()

    def send(self, *words: str | bytes) -> None:
        """Raises: Died."""
        encoded = [word if isinstance(word, bytes) else word.encode() for word in words]
        header = " ".join(str(len(word)) for word in encoded).encode()
        data = memoryview(b"".join((header, b"\n", *encoded)))
        try:
            while data:
                data = data[os.write(self._in, data) :]
        except BrokenPipeError:
            raise self._died() from None

    def ask(self, words: Sequence[str | bytes], patience_s: float) -> Sequence[bytes]:
        """A message and its answer. Raises: Died."""
        self.send(*words)
        return self.receive(patience_s)

    def run(self, words: Sequence[str], answer: Answer, patience_s: float) -> Sequence[bytes]:
        """Run a handler, or a script. Args: words: the message `run` or `later`; answer: to each TMM command;
        patience_s: between two messages.

        Raises: Died.
        """
        said = self.ask(words, patience_s)
        while said[0] == b"call":
            said = self.ask(answer(said[1].decode("latin-1"), list(said[2:])), patience_s)
        return said

    def receive(self, timeout_s: float) -> Sequence[bytes]:
        """The next message. Raises: Died: also when none comes in time; the process is ended then."""
        deadline = time.monotonic() + timeout_s
        while (end := self._buffer.find(b"\n")) < 0:
            self._read(deadline)
        sizes = [int(size) for size in self._buffer[:end].split()]
        total = end + 1 + sum(sizes)
        while len(self._buffer) < total:
            self._read(deadline)
        words, at = [], end + 1
        for size in sizes:
            words.append(self._buffer[at : at + size])
            at += size
        self._buffer = self._buffer[total:]
        return words

    def close(self) -> None:
        """End the process; it must not be used any more."""
        self._process.stdin.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._said.close()

    def _read(self, deadline: float) -> None:
        if not self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            self._process.kill()
            raise self._died("it gave no answer in time")
        data = os.read(self._out, 65536)
        if not data:
            raise self._died()
        self._buffer += data

    def _died(self, why: str = "") -> Died:
        status = self._process.wait()
        self._said.seek(0)
        said = self._said.read(500).decode(errors="replace").strip()
        return Died("; ".join(clause for clause in (why, f"exit status {status}", said) if clause))
