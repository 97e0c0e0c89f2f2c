"""Commands in sessions of an SSH connection: any command, and a file that `scp -t` receives.

The receiver answers when it starts and after each record: with a zero byte, or a byte 1 or 2 and a line of
text. The record of a file is "C<mode> <size> <name>" and a new line; its bytes and a zero
byte follow. Source: OpenSSH, scp.c: source(), sink() and response().
"""

from contextlib import closing, suppress

import paramiko

from f5router.icontrol.uploads.ssh import printable
from f5router.model.errors import EXCERPT, UploadError

MODE = "0600"
CHUNK = 16_384
"""Bytes given to paramiko at once: it copies what it could not send yet."""

_ACCEPTED, _REFUSED = b"\0", (b"\1", b"\2")


def execute(transport: paramiko.Transport, command: str) -> None:
    """Run a command. Raises: UploadError: it failed, with its output; EOFError: there is no exit status."""
    with closing(transport.open_session()) as channel:
        channel.set_combine_stderr(True)
        channel.exec_command(command)
        output = b""
        while chunk := channel.recv(4096):
            output = (output + chunk)[:EXCERPT]
        _check_status(channel, command, output)


def copy(transport: paramiko.Transport, path: str, data: bytes) -> None:
    """Send a file of mode 0600 to `scp -t`, which keeps the mode of an existing one.

    Args: path: has no character that a shell knows.
    Raises: UploadError: the device refused it, with its words; EOFError: there is no exit status.
    """
    with closing(transport.open_session()) as channel:
        channel.exec_command(f"scp -t {path}")
        _check_answer(channel, path)
        channel.sendall(f"C{MODE} {len(data)} {path.rpartition('/')[2]}\n".encode())
        _check_answer(channel, path)
        for start in range(0, len(data), CHUNK):
            channel.sendall(data[start:start + CHUNK])
        channel.sendall(_ACCEPTED)
        _check_answer(channel, path)
        with suppress(EOFError, OSError, paramiko.SSHException):  # the file is there
            channel.shutdown_write()
            channel.recv_exit_status()


def _check_answer(channel: paramiko.Channel, path: str) -> None:
    """Wait for the answer to a record. Raises: as copy()."""
    answer = channel.recv(EXCERPT)
    code, words = answer[:1], answer[1:]
    if code == _ACCEPTED:
        return
    if not code:
        errors = b""
        while chunk := channel.recv_stderr(4096):
            errors = (errors + chunk)[:EXCERPT]
        _check_status(channel, f"scp -t {path}", errors)
        raise UploadError(f"scp {path}: no answer")
    if code not in _REFUSED:
        raise UploadError(f"scp {path}: unexpected answer {_shown(answer)!r}; "
                          "does the user have the Advanced Shell?")
    while not words.endswith(b"\n") and len(words) < EXCERPT and (more := channel.recv(EXCERPT)):
        words += more
    raise UploadError(f"scp {path}: {_shown(words)}")


def _check_status(channel: paramiko.Channel, command: str, output: bytes) -> None:
    """Check the exit status. Raises: UploadError: the command failed; EOFError: there is no status."""
    status = channel.recv_exit_status()
    if status == -1:
        raise EOFError(f"no exit status of {command}")
    if status:
        raise UploadError(f"{command}: exit status {status}: {_shown(output)}")


def _shown(words: bytes) -> str:
    return printable(words.decode(errors="replace"))
