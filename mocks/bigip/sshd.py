"""SSH server of the fake BIG-IP: receives files by scp and removes them.

A real server on a real socket of 127.0.0.1. A user with the Advanced Shell sees `scp -t` and `rm`;
every other command is unknown. Faults are asked for by name: see FAULTS.
"""

import base64
import contextlib
import hashlib
import io
import shlex
import socket
import threading
from collections.abc import Callable, MutableMapping

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mocks.bigip.sink import Dropped, Folders, Sink
from mocks.bigip.store import DiskFile

FAULTS = {
    "reset": "the next connection is cut at once",
    "other-host-key": "the next connection is shown another host key",
    "banner-delay": "the next connection hears nothing",
    "refuse-auth": "the next connection cannot log in",
    "hang-request": "the next command is not even acknowledged",
    "hang": "the next command starts and says nothing",
    "hang-exit": "the next command does its work and never ends",
    "killed": "the next command ends at once, without an exit status",
    "drop-after": "the connection breaks when the next command has done its work",
    "drop-mid-transfer": "the connection breaks after half of the next file",
    "disk-full": "the next file does not fit",
    "truncated": "half of the next file is on the disk, and nobody says so",
    "scp-fatal": "the next file is answered with code 2",
    "rm-fails": "the next file that is there cannot be removed",
}


class SSHServer:
    """Listens as soon as it is made; stop() or leaving the context ends it with all its threads.

    Args:
        disk: absolute path to DiskFile; written by scp, emptied by rm.
        password_of: password of a user who may log in here, by name; None for everybody else.
        port: 0 for any free one.
        host: where it listens.

    Attributes:
        port: the TCP port.
        host_key_fingerprint: "SHA256:...", as `ssh-keygen -l` prints it.
        host_key_line: the line of a known_hosts file for this server.
        folders: directories, and those that refuse writes (/ro).
        log: every command received, in order.
        max_sessions: commands that one connection may have under way (sshd_config(5), MaxSessions).
        connections: how many TCP connections were accepted.
        intercept: called for each command with its text and with what runs it; gives its exit status.
    """

    def __init__(self, disk: MutableMapping[str, DiskFile], *,
                 password_of: Callable[[str], str | None], port: int = 0, host: str = "127.0.0.1"):
        self.disk, self.password_of = disk, password_of
        self.folders = Folders()
        self.log: list[str] = []
        self.connections = 0
        self.max_sessions = 10
        self.intercept: Callable[[str, Callable[[], int]], int] = lambda text, run: run()
        self.draw: Callable[[str, str | None], bool] = lambda fault, command: False
        """Asked whether a fault is to happen that nobody asked for."""
        self.authorized: set[bytes] = set()
        self.host_key = _new_host_key()
        self.stopping = threading.Event()
        self._faults: list[tuple[str, str | None]] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((host, port))
        self.port: int = self._listener.getsockname()[1]
        blob = self.host_key.asbytes()
        digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
        self.host_key_fingerprint = f"SHA256:{digest}"
        self.host_key_line = f"[{host}]:{self.port} ssh-ed25519 {base64.b64encode(blob).decode()}"
        self.spawn(self._accept)

    def authorize(self, public_key_line: str) -> None:
        """Let the owner of this key log in. Shape: a line of authorized_keys, "ssh-rsa AAAA... name"."""
        self.authorized.add(base64.b64decode(public_key_line.split()[1]))

    def inject(self, fault: str, times: int = 1, *, command: str | None = None) -> None:
        """Make a fault happen the next times.

        Args:
            fault: a key of FAULTS.
            command: "scp" or "rm": the faults of commands wait for that one.
        Raises: ValueError: there is no such fault.
        """
        if fault not in FAULTS:
            raise ValueError(f"no fault {fault!r}; there are {', '.join(FAULTS)}")
        with self._lock:
            self._faults += [(fault, command)] * times

    def take(self, fault: str, command: str | None = None) -> bool:
        """Return True if the fault is to happen now; uses it up."""
        with self._lock:
            for item in self._faults:
                if item[0] == fault and item[1] in (None, command):
                    self._faults.remove(item)
                    return True
        return self.draw(fault, command)

    def spawn(self, target, *args) -> None:
        """Run in a thread that stop() waits for."""
        thread = threading.Thread(target=target, args=args, daemon=True, name="fake-sshd")
        with self._lock:  # stop() joins only threads that have started
            thread.start()
            self._threads.append(thread)

    def drop_connections(self) -> None:
        """Cut every connection, as a restart of the device's sshd does."""
        with self._lock:
            connections, self._sockets = self._sockets, []
        for connection in connections:
            _cut(connection)

    def stop(self) -> None:
        """Stop listening, cut the connections, wait for the threads."""
        self.stopping.set()
        _cut(self._listener)
        self._listener.close()
        self.drop_connections()
        while True:
            with self._lock:
                if not self._threads:
                    return
                thread = self._threads.pop()
            thread.join()

    def __enter__(self) -> "SSHServer":
        return self

    def __exit__(self, *exc_info) -> None:
        self.stop()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # stop() shuts the socket down
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    self.connections += 1
                    self._sockets.append(connection)
                if self.stopping.is_set():
                    _cut(connection)
                self.spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            if self.take("reset"):
                _cut(connection)
                return
            if self.take("banner-delay"):
                while connection.recv(4096):  # until the client has had enough
                    pass
                return
            with paramiko.Transport(connection) as transport:
                transport.add_server_key(
                    _new_host_key() if self.take("other-host-key") else self.host_key)
                transport.start_server(server=_Session(self, transport, connection))
                transport.join()


class _Session(paramiko.ServerInterface):
    """Session of a connection: what it may do."""

    def __init__(self, server: SSHServer, transport: paramiko.Transport, connection: socket.socket):
        self._server, self._transport, self._connection = server, transport, connection
        self._refused: bool | None = None
        self._barrier = threading.Lock()
        self._open: set[int] = set()
        """Channels whose command has not ended."""

    def get_allowed_auths(self, username: str) -> str:
        return "publickey,password"

    def check_auth_password(self, username: str, password: str) -> int:
        return self._login(username, password == self._server.password_of(username))

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return self._login(username, key.asbytes() in self._server.authorized)

    def _login(self, username: str, proven: bool) -> int:
        if self._refused is None:  # one fault spoils all attempts of one connection
            self._refused = self._server.take("refuse-auth")
        ok = proven and self._server.password_of(username) is not None and not self._refused
        return paramiko.AUTH_SUCCESSFUL if ok else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if kind != "session":
            return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        if len(self._open) >= self._server.max_sessions:
            return paramiko.OPEN_FAILED_CONNECT_FAILED  # as sshd does: "open failed"
        self._open.add(chanid)
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        text = command.decode(errors="replace")
        self._server.log.append(text)
        if self._server.take("hang-request", text.split(" ")[0]):
            self._server.stopping.wait()
            return False
        self._server.spawn(self._run, channel, text)
        return True

    def _run(self, channel: paramiko.Channel, text: str) -> None:
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError), channel:
            # The reply to the exec request is sent after check_channel_exec_request() returned. When
            # the client has answered this, the reply is out, and the command may end before it.
            with self._barrier:
                self._transport.global_request("keepalive@openssh.com")
            if self._server.take("killed", text.split(" ")[0]):
                return
            try:
                status = self._server.intercept(text, lambda: self._command(channel, text))
            except Dropped:
                _cut(self._connection)
                return
            if self._server.take("drop-after", text.split(" ")[0]):
                _cut(self._connection)
                return
            if self._server.take("hang-exit", text.split(" ")[0]):
                self._server.stopping.wait()
            self._open.discard(channel.chanid)
            channel.send_exit_status(status)
            channel.shutdown_write()

    def _command(self, channel: paramiko.Channel, text: str) -> int:
        """Run a command line; its exit status."""
        try:
            words = _split(text)
        except ValueError as exc:
            channel.sendall_stderr(f"bash: -c: {exc}\n".encode())
            return 2
        if words and self._server.take("hang", words[0]):
            self._server.stopping.wait()
            return 1
        if words[:1] == ["rm"]:
            return self._rm(channel, words[1:])
        if words[:1] == ["scp"] and "-t" in words:
            return self._scp(channel, words[1:])
        channel.sendall_stderr(f"bash: {words[0] if words else ''}: command not found\n".encode())
        return 127

    def _rm(self, channel: paramiko.Channel, words: list[str]) -> int:
        force, status = "-f" in words, 0
        for path in (word for word in words if not word.startswith("-")):
            if path in self._server.disk:
                why = self._server.folders.refusal(path).removeprefix(f"{path}: ")
                if self._server.take("rm-fails"):
                    why = "Operation not permitted"
            elif path in self._server.folders.known:
                why = "Is a directory"
            else:
                why = "" if force else "No such file or directory"
            if why:
                channel.sendall_stderr(f"rm: cannot remove '{path}': {why}\n".encode())
                status = 1
            else:
                self._server.disk.pop(path, None)
        return status

    def _scp(self, channel: paramiko.Channel, words: list[str]) -> int:
        flags = {letter for word in words if word.startswith("-") for letter in word[1:]}
        targets = [word for word in words if not word.startswith("-")]
        if len(targets) != 1 or not flags <= set("tprdvq"):
            channel.sendall_stderr(b"usage: scp [-pqrvd] -t target\n")
            return 1
        sink = Sink(channel.makefile("rb"), channel.sendall, self._server.disk,
                    self._server.folders, self._server.take)
        return sink.run(targets[0], recursive="r" in flags, preserve="p" in flags,
                        need_directory="d" in flags)


def _split(text: str) -> list[str]:
    """Words of a simple command. Raises: ValueError: quotes are open, or it is more than that."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = list(lexer)
    for word in words:
        if set(word) <= set("();<>|&"):
            raise ValueError(f"syntax error near unexpected token `{word}'")
    return words


def _new_host_key() -> paramiko.PKey:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return paramiko.Ed25519Key.from_private_key(io.StringIO(pem.decode()))


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is gone already
        connection.shutdown(socket.SHUT_RDWR)
