"""SSHUploader with several files at a time: one connection, and no failure that costs another file."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from f5router.icontrol.uploads.ssh_upload import MOST, SSHUploader
from f5router.model.errors import UploadError
from mocks.bigip.sink import Dropped
from tests.waiting import DEADLINE_S

DATA = b"the private key of a Route\n" * 4000
LIMIT_S = 3.0
"""Time-out of the test in which the server hangs."""


class Busy:
    """Counts the commands that the server runs at the same time; they wait for each other."""

    def __init__(self, server, together: int):
        self._condition, self._together = threading.Condition(), together
        self.running = self.most = 0
        server.intercept = self._run

    def _run(self, text: str, command) -> int:
        with self._condition:
            self.running += 1
            self.most = max(self.most, self.running)
            self._condition.notify_all()
            assert self._condition.wait_for(lambda: self.most >= self._together, DEADLINE_S)
        try:
            return command()
        finally:
            with self._condition:
                self.running -= 1


def stage(ours: SSHUploader, path: str) -> str:
    """Stage a file; returns the reason if that fails."""
    try:
        with ours.staged(path, DATA):
            return ""
    except UploadError as exc:
        return exc.text


def stage_all(ours: SSHUploader, names) -> dict[str, str]:
    """Stage files in as many threads as the router may have, and more."""
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(lambda name: stage(ours, f"/var/tmp/{name}"), names), strict=True))


def test_several_files_at_a_time(server, uploader):
    """They share the connection, and there are never more than a few sessions."""
    busy = Busy(server, MOST)
    assert set(stage_all(uploader(), "abcdefghij").values()) == {""}
    assert (busy.most, server.connections, server.disk) == (MOST, 1, {})


def test_a_server_that_takes_one_session(server, uploader):
    """The rest is repeated, one after the other, on the same connection."""
    server.max_sessions = 1
    ours = uploader()
    assert set(stage_all(ours, "abcdefgh").values()) == {""}
    assert (server.connections, server.disk, ours.leftovers) == (1, {}, ())


@pytest.mark.parametrize(("fault", "words"), [("drop", "broke"), ("hang", "no answer within")])
def test_a_file_with_which_the_server_cannot_cope(server, uploader, fault, words):
    """Only that one fails, though the others lose their connection with it."""
    def run(text: str, command) -> int:
        if text == "scp -t /var/tmp/bad":
            if fault == "drop":
                raise Dropped
            server.stopping.wait()
        return command()

    server.intercept = run
    ours = uploader(**({"io_timeout_s": LIMIT_S} if fault == "hang" else {}))
    results = stage_all(ours, ["a", "bad", "b", "c", "d", "e"])
    assert words in results.pop("bad")
    assert set(results.values()) == {""}
    assert (server.disk, ours.leftovers) == ({}, ())
