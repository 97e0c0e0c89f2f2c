"""The calls that the router made, from the fake BIG-IP's log."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mocks.bigip import FakeBigIP
from mocks.bigip.listener import Outcome
from mocks.bigip.requests import Request

TM = "/mgmt/tm/"
SHOWN = 48
"""Longest text of a body in a table, in characters."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the router."""

    method: str
    path: str
    """Below /mgmt/tm/ where it lies there."""
    what: str
    """Request of the body, in a few words."""
    status: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Calls between two looks at the log."""

    writes: tuple[Call, ...]
    """Requests that ask for a change; not log-in, not saving the configuration."""
    reads: int
    """Until the last write: a later one is made for no change."""
    files: int
    """Files sent by scp."""
    took_s: float
    """From the beginning to the last write."""

    @property
    def refused(self) -> tuple[Call, ...]:
        return tuple(call for call in self.writes if call.status >= 400)

    def __str__(self) -> str:
        texts = [_count(len(self.writes), "write"), _count(self.reads, "read")]
        if self.files:
            texts.append(f"{_count(self.files, 'file')} by scp")
        return f"{', '.join(texts)}, in {self.took_s:.2f} s"

    def by_collection(self) -> list[tuple[str, str, int]]:
        """Method, collection and number of the writes."""
        counted = Counter((call.method, _collection(call.path)) for call in self.writes)
        return [(method, path, number) for (method, path), number in sorted(counted.items(),
                key=lambda item: (item[0][1], item[0][0]))]


class Log:
    """Calls of the router to a fake since `begin`.

    Reads of others do not count: the router has a token, they bring a password. They make no writes.
    """

    def __init__(self, bigip: FakeBigIP):
        self._bigip = bigip
        bigip.on_write, bigip.intercept = self._note, self._look
        self.begin()

    def begin(self) -> None:
        """Forget all that was."""
        self._requests, self._commands = len(self._bigip.log), len(self._bigip.ssh_server.log)
        self._reads: list[str] = []
        """Paths."""
        self._reads_before_last = 0
        self._began = self._last = time.monotonic()

    @property
    def quiet_s(self) -> float:
        """Seconds since the last write, or since `begin` without one."""
        return time.monotonic() - self._last

    def take(self) -> Traffic:
        """Return the calls since `begin`."""
        entries = self._bigip.log[self._requests :]
        sent = self._bigip.ssh_server.log[self._commands :]
        return Traffic(
            writes=tuple(_call(entry) for entry in entries if entry.changes),
            reads=self._reads_before_last,
            files=sum(command.startswith("scp ") for command in sent),
            took_s=self._last - self._began,
        )

    def _note(self, _: object) -> None:
        self._last, self._reads_before_last = time.monotonic(), len(self._reads)

    def _look(self, request: Request, perform: Callable[[], Outcome]) -> Outcome:
        if request.method == "GET" and "Authorization" not in request.headers:
            self._reads.append(request.path)
        return perform()


def _call(entry) -> Call:
    return Call(entry.method, entry.path.removeprefix(TM), _summary(entry.body), entry.status)


def _summary(body: object) -> str:
    """A body in a few words: a command and a name, or how many items of what, and other fields."""
    if not isinstance(body, dict):
        return ""
    if "name" in body:
        text = f"{body.get('command', '')} {body['name'].rsplit('/', 1)[-1]}".strip()
    else:
        lists = [f"{len(value)} {name}" for name, value in body.items() if isinstance(value, list)]
        others = [f"{name}: {value}" for name, value in body.items() if not isinstance(value, list)]
        text = ", ".join([*lists, *others])
    return text if len(text) <= SHOWN else f"{text[:SHOWN - 3]}..."


def _collection(path: str) -> str:
    """The path without the names in it: ltm/pool/~Common~x is ltm/pool/*."""
    return "/".join("*" if name.startswith("~") or "_" in name else name for name in path.split("/"))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
