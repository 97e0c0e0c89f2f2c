"""Each byte of scp's protocol, against a scripted session; test_openssh.py has the real program."""

import pytest

from f5router.icontrol.uploads import ssh
from f5router.model.errors import EXCERPT, UploadError
from tests.rows import rows

PATH = "/var/tmp/a.key"
RECORD = b"C0600 4 a.key\n"


class Session:
    """Stands in for paramiko's Transport and the channel that it opens."""

    def __init__(self, *answers, errors=b"", status=0):
        self.answers, self.errors, self.status = list(answers), [errors, b""], status
        self.command, self.sent, self.closed, self.ended = "", [], False, False

    def open_session(self):
        return self

    def exec_command(self, command):
        self.command = command

    def recv(self, limit):
        assert limit == EXCERPT
        return self.answers.pop(0) if self.answers else b""

    def recv_stderr(self, limit):
        return self.errors.pop(0)

    def sendall(self, data):
        self.sent.append(bytes(data))

    def shutdown_write(self):
        self.ended = True

    def recv_exit_status(self):
        return self.status

    def close(self):
        self.closed = True


@rows(("data", "sent"), [
    (b"data", [RECORD, b"data", b"\0"]),
    (b"", [b"C0600 0 a.key\n", b"\0"]),
    (b"x" * 16_384, [b"C0600 16384 a.key\n", b"x" * 16_384, b"\0"]),
    (b"x" * 16_385, [b"C0600 16385 a.key\n", b"x" * 16_384, b"x", b"\0"]),
])
def test_a_file(data, sent):
    session = Session(b"\0", b"\0", b"\0")
    ssh.copy(session, PATH, data)
    assert (session.command, session.sent) == (f"scp -t {PATH}", sent)
    assert session.ended
    assert session.closed


def test_a_file_is_there_whatever_the_end_of_the_session():
    ssh.copy(Session(b"\0", b"\0", b"\0", status=-1), PATH, b"data")


@rows(("answers", "sent", "words"), [
    ((b"\1scp: /var/tmp: Permission denied\n",), [], f"scp {PATH}: scp: /var/tmp: Permission denied"),
    ((b"\0", b"\2scp: ", b"broken\n"), [RECORD], f"scp {PATH}: scp: broken"),
    ((b"\0", b"\1", b"scp: ", b"full"), [RECORD], f"scp {PATH}: scp: full"),
    ((b"\0", b"\0", b"\1scp: full\n"), [RECORD, b"data", b"\0"], f"scp {PATH}: scp: full"),
    ((b"\1", *[b"x" * EXCERPT] * 3), [], f"scp {PATH}: {'x' * EXCERPT}"[:EXCERPT]),
    ((b"Syntax Error: unexpected\n argument\n",), [],
     f"scp {PATH}: unexpected answer 'Syntax Error: unexpected argument'; does the user have the Advanced "
     "Shell?"),
    ((b"\0", b""), [RECORD], f"scp {PATH}: no answer"),
])
def test_refused(answers, sent, words):
    session = Session(*answers)
    with pytest.raises(UploadError) as caught:
        ssh.copy(session, PATH, b"data")
    assert str(caught.value) == words
    assert session.sent == sent
    assert session.closed


def test_no_scp():
    """The words of the shell."""
    with pytest.raises(UploadError, match=f"^scp -t {PATH}: exit status 127: bash: scp: command not found$"):
        ssh.copy(Session(errors=b"bash: scp: command not found\n", status=127), PATH, b"data")


def test_no_exit_status():
    """The connection broke: not a word of the device."""
    with pytest.raises(EOFError):
        ssh.copy(Session(b"\0", status=-1), PATH, b"data")
