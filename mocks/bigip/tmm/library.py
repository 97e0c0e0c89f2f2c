"""engine.tcl in this process, by Tcl's shared library: a fraction of what messages to a tclsh cost.

A rule that eats memory, or a command of Tcl that does not end, takes this process along; process.py has the
same methods for such rules.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p
from pathlib import Path

from mocks.bigip.tmm.process import ENGINE, Answer, language_words

_NAMES = ("libtcl8.6.so", "libtcl8.6.so.0")
_COMMAND = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p, c_int, POINTER(c_void_p))
_FUNCTIONS = {
    "Tcl_FindExecutable": (None, c_char_p),
    "Tcl_CreateInterp": (c_void_p,),
    "Tcl_DeleteInterp": (None, c_void_p),
    "Tcl_EvalEx": (c_int, c_void_p, c_char_p, c_int, c_int),
    "Tcl_EvalObjEx": (c_int, c_void_p, c_void_p, c_int),
    "Tcl_GetObjResult": (c_void_p, c_void_p),
    "Tcl_SetObjResult": (None, c_void_p, c_void_p),
    "Tcl_NewByteArrayObj": (c_void_p, c_char_p, c_int),
    "Tcl_NewListObj": (c_void_p, c_int, POINTER(c_void_p)),
    "Tcl_GetString": (c_char_p, c_void_p),
    "Tcl_ListObjGetElements": (c_int, c_void_p, c_void_p, POINTER(c_int), POINTER(POINTER(c_void_p))),
    "Tcl_CreateObjCommand": (c_void_p, c_void_p, c_char_p, _COMMAND, c_void_p, c_void_p),
}
"""Functions of Tcl's C API: type of the result, then those of the arguments."""
_ERROR = 1
_CODES = {"ok": 0, "error": _ERROR, "stop": 3}
"""How the command `ask` ends."""


@functools.cache
def available() -> ctypes.PyDLL | None:
    """Tcl's library, whose functions keep the GIL; None: it is not on this machine."""
    for name in _NAMES:
        try:
            tcl = ctypes.PyDLL(name)
        except OSError:
            continue
        for function, (result, *arguments) in _FUNCTIONS.items():
            getattr(tcl, function).restype, getattr(tcl, function).argtypes = result, arguments
        tcl.Tcl_FindExecutable(None)
        return tcl
    return None


class Library:
    """One interpreter of Tcl. All calls come from the thread that made it."""

    pid = None

    def __init__(self, tcl: ctypes.PyDLL) -> None:
        self._tcl = tcl
        self._interp = tcl.Tcl_CreateInterp()
        self._asked = _COMMAND(self._ask)
        self._answer: Answer | None = None
        tcl.Tcl_CreateObjCommand(self._interp, b"ask", self._asked, None, None)
        engine = Path(ENGINE).read_bytes()
        self._answered(tcl.Tcl_EvalEx(self._interp, engine, len(engine), 0))
        self.send("language", *language_words())

    def death(self) -> None:
        """Nothing ends it but the end of this process."""

    def send(self, *words: str | bytes) -> None:
        """A message without an answer."""
        self.ask(words, 0)

    def ask(self, words: Sequence[str | bytes], patience_s: float) -> Sequence[bytes]:
        """A message and its answer."""
        tcl = self._tcl
        message = self._list([self._object(word) for word in words])
        return self._answered(
            tcl.Tcl_EvalObjEx(self._interp, self._list([self._object("handle"), message]), 0))

    def run(self, words: Sequence[str], answer: Answer, patience_s: float) -> Sequence[bytes]:
        """Run a handler, or a script. Args: as of Process.run."""
        self._answer = answer
        if words[0] != "run":
            return self.ask(words, patience_s)
        script = " ".join(words).encode()  # numbers: cheaper than a list
        return self._answered(self._tcl.Tcl_EvalEx(self._interp, script, len(script), 0))

    def _answered(self, code: int) -> Sequence[bytes]:
        """The words of a result."""
        tcl = self._tcl
        result = tcl.Tcl_GetObjResult(self._interp)
        if code == _ERROR:
            raise RuntimeError(f"engine.tcl: {self._bytes(result)!r}")
        if (only := tcl.Tcl_GetString(result)).isalpha():
            return [only]
        count, items = c_int(), POINTER(c_void_p)()
        tcl.Tcl_ListObjGetElements(self._interp, result, byref(count), byref(items))
        return [self._bytes(items[number]) for number in range(count.value)]

    def close(self) -> None:
        """Delete the interpreter; it must not be used any more."""
        self._tcl.Tcl_DeleteInterp(self._interp)

    def _ask(self, _data: int, interp: int, count: int, words: Sequence[int]) -> int:
        """The command `ask` of the engine: a TMM command of the rule that runs."""
        name, *arguments = [self._bytes(word) for word in words[1:count]]
        verdict, result = self._answer(name.decode("latin-1"), arguments)
        self._tcl.Tcl_SetObjResult(interp, self._object(result))
        return _CODES[verdict]

    def _object(self, word: str | bytes) -> int:
        """Bytes as characters, as the pipe of a tclsh gives them."""
        data = word if isinstance(word, bytes) else word.encode()
        return self._tcl.Tcl_NewByteArrayObj(data, len(data))

    def _list(self, objects: Sequence[int]) -> int:
        return self._tcl.Tcl_NewListObj(len(objects), (c_void_p * len(objects))(*objects))

    def _bytes(self, value: int) -> bytes:
        """A character is a byte; a text with others is UTF-8, as `send` of a tclsh has it."""
        data = self._tcl.Tcl_GetString(value)
        if data.isascii():
            return data
        text = data.replace(b"\xc0\x80", b"\0").decode(errors="surrogatepass")
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
