"""An object in a process of its own, whose methods are called from here."""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import Any

END_S = 10.0
SWITCH_S = 0.001
"""Threads of a fake take turns this often, so that what it notes is not late by the usual 5 ms."""


class Remote:
    """Each attribute is a function that calls the method of that name there. Not for several threads."""

    def __init__(self, pipe: Connection):
        self._pipe = pipe

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._pipe.send((name, arguments, named))
            result = self._pipe.recv()
            if isinstance(result, Exception):
                raise result
            return result

        return call


@contextmanager
def remote(make: Callable[..., Any], *arguments: Any, **named: Any) -> Iterator[Remote]:
    """Make an object there. Its first argument is an ExitStack, which ends with this context."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(there, make, arguments, named))
    process.start()
    there.close()
    try:
        yield Remote(here)
    finally:
        here.close()
        process.join(END_S)
        process.kill()


def _serve(pipe: Connection, make: Callable[..., Any], arguments: tuple, named: dict[str, Any]) -> None:
    sys.setswitchinterval(SWITCH_S)
    with ExitStack() as stack:
        target = make(stack, *arguments, **named)
        while True:
            try:
                name, given, given_named = pipe.recv()
            except EOFError:
                return
            try:
                result = getattr(target, name)(*given, **given_named)
            except Exception as error:
                result = error
            pipe.send(result)
