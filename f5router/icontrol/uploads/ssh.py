"""SSH to the BIG-IP: host keys, login and time-outs; commands and files in sessions of a connection.

No program is run and no local file is written: paramiko speaks SSH, so a pod with a random user id, without
passwd entry and HOME, needs no privilege; the original router runs the programs ssh and scp (openshift/origin
v3.11.0, pkg/router/f5/f5.go: buildSshArgs), for which OpenShift's documentation, "Using the F5 Router
Plug-in", asks for the privileged SCC.

The receiver of a file, `scp -t`, answers when it starts and after each record: with a zero byte, or a byte 1
or 2 and a line of text. The record of a file is "C<mode> <size> <name>" and a new line; its bytes and a zero
byte follow. Source: OpenSSH, scp.c: source(), sink() and response().
"""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from f5router.icontrol.settings import SSHSettings
from f5router.icontrol.uploads.hostkeys import (
    HostKey,
    HostKeyPolicy,
    KnownHosts,
    host_name,
    parse_fingerprint,
    read_known_hosts,
)
from f5router.model.errors import EXCERPT, HostKeyRefused, UploadAuthFailed, UploadError, redact_keys

_KEY_CLASSES = (
    (RSAPrivateKey, paramiko.RSAKey),
    (EllipticCurvePrivateKey, paramiko.ECDSAKey),
    (Ed25519PrivateKey, paramiko.Ed25519Key),
)
_BROKEN = (paramiko.SSHException, EOFError, OSError)
"""Exceptions of paramiko when a connection breaks."""


def load_private_key(path: str) -> paramiko.PKey:
    """Read a private key file: RSA, ECDSA or Ed25519; PEM, PKCS#8 or OpenSSH form; any file mode.

    Raises:
        OSError: the file cannot be read (FileNotFoundError: there is none).
        ValueError: it is no such key, or has a passphrase; names the file.
    """
    return _parse_private_key(Path(path).read_bytes(), path)


def _parse_private_key(pem: bytes, name: str) -> paramiko.PKey:
    load = load_ssh_private_key if b"BEGIN OPENSSH PRIVATE KEY" in pem else load_pem_private_key
    try:
        key = load(pem, password=None, unsafe_skip_rsa_key_validation=True)  # paramiko looks at it again
        # paramiko itself does not read PKCS#8; this form it reads for every kind of key.
        text = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    except TypeError:
        raise ValueError(f"{name}: the private key has a passphrase; give one without") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(f"{name}: not a private key in PEM or OpenSSH form") from None
    for kind, key_class in _KEY_CLASSES:
        if isinstance(key, kind):
            return key_class.from_private_key(io.StringIO(text))
    raise ValueError(f"{name}: the private key is neither RSA, ECDSA nor Ed25519")


def fingerprints(settings: SSHSettings) -> frozenset[str]:
    """Return the fingerprints of host_key_fingerprint. Raises: ValueError: one has no known form."""
    given = (settings.host_key_fingerprint or "").split(",")
    return frozenset(parse_fingerprint(text) for text in given if text.strip())


def _policy(settings: SSHSettings) -> HostKeyPolicy:
    """Return the policy for the host key. Raises: HostKeyRefused: the known_hosts file cannot be read."""
    known = KnownHosts()
    if settings.known_hosts and not settings.insecure_host_key:
        try:
            known = read_known_hosts(settings.known_hosts, settings.host, settings.port)
        except OSError as exc:
            raise HostKeyRefused(f"known hosts file {settings.known_hosts}: {exc.strerror}",
                                 own=settings.known_hosts) from exc
    name = host_name(settings.host, settings.port)
    return HostKeyPolicy(name, fingerprints(settings), known, settings.insecure_host_key)


@contextmanager
def within(transport: paramiko.Transport, limit_s: float, name: str) -> Iterator[None]:
    """Close the connection if the block takes longer than limit_s.

    paramiko waits without limit for the reply to exec_command(), for output and for the exit status.
    Closing the transport ends all these waits.

    Raises:
        TimeoutError: it took longer.
        ConnectionError: the connection broke.
    """
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        try:
            transport.close()
        except AttributeError:  # a channel that is just being opened does not know its transport yet
            transport.sock.close()

    timer = threading.Timer(limit_s, expire)
    timer.daemon, timer.name = True, "ssh-limit"
    timer.start()
    try:
        yield
    except _BROKEN as exc:
        if not expired.is_set():
            raise ConnectionError(f"SSH connection to {name} broke: {words(exc)}") from exc
    finally:
        timer.cancel()
    if expired.is_set():
        raise TimeoutError(f"SSH to {name}: no answer within {limit_s:g} s")


def connect(settings: SSHSettings) -> paramiko.Transport:
    """Connect to a server whose host key is accepted, and log in.

    Raises: UploadError; HostKeyRefused, UploadAuthFailed.
    """
    policy, private_key = _policy(settings), _own_key(settings)
    shown: list[HostKey] = []
    while True:
        transport = _open(settings, policy.name)
        try:
            with within(transport, settings.connect_timeout_s, policy.name):
                key = _negotiate(transport, policy.kinds, skip=frozenset(each.kind for each in shown))
                if policy.accepts(key):
                    _login(transport, settings, private_key)
                    return transport
        except OSError as exc:
            transport.close()
            raise _explained(exc, policy, shown) from exc
        except BaseException:
            transport.close()
            raise
        transport.close()
        shown.append(key)
        if not policy.fingerprints:
            raise policy.refusal(shown)
        # The fingerprint may be that of another key of the server: request the other kinds.


def _explained(exc: OSError, policy: HostKeyPolicy, shown: list[HostKey]) -> UploadError:
    """Return the exception for an error of within()."""
    if not isinstance(exc.__cause__, paramiko.ssh_exception.IncompatiblePeer):
        return UploadError(str(exc))
    if shown:  # the server has no further kind of key
        return policy.refusal(shown)
    return UploadError(f"{exc}; servers that know only SHA-1 signatures need paramiko before 5")


def _open(settings: SSHSettings, name: str) -> paramiko.Transport:
    address = (settings.host, settings.port)
    try:
        sock = socket.create_connection(address, timeout=settings.connect_timeout_s)
    except OSError as exc:
        raise UploadError(f"SSH connection to {name}: {words(exc)}") from exc
    try:
        # A command is several small packets each way; Nagle's algorithm holds each back for 40 ms.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        transport = paramiko.Transport(sock)
    except BaseException:
        sock.close()
        raise
    # within() limits the time; paramiko's own limits must be longer.
    limit_s = 2 * settings.connect_timeout_s
    transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = limit_s
    return transport


def _negotiate(transport: paramiko.Transport, kinds: frozenset[str], *, skip: frozenset[str]) -> HostKey:
    """Exchange keys: request host keys of the given kinds first, and never of the kinds to skip."""
    options = transport.get_security_options()

    def kind(algorithm: str) -> str:
        return "ssh-rsa" if algorithm.startswith("rsa-sha2-") else algorithm

    key_types = [algorithm for algorithm in options.key_types if kind(algorithm) not in skip]
    options.key_types = sorted(key_types, key=lambda algorithm: kind(algorithm) not in kinds)
    transport.start_client()
    key = transport.get_remote_server_key()
    return HostKey(key.get_name(), key.asbytes())


def _login(transport: paramiko.Transport, settings: SSHSettings, private_key: paramiko.PKey | None) -> None:
    """Authenticate, by key and then by password. Raises: UploadAuthFailed: neither is accepted."""
    tried = []
    if private_key is not None:
        tried.append("key")
        _attempt(transport, lambda: transport.auth_publickey(settings.username, private_key))
    password = settings.password
    if not transport.is_authenticated() and password is not None:
        tried.append("password")
        _attempt(transport, lambda: transport.auth_password(settings.username, password))
    if not transport.is_authenticated():
        how = ", ".join(tried) or "nothing, for neither key nor password is set"
        raise UploadAuthFailed(f"SSH user {settings.username!r} is refused; tried: {how}")


def _own_key(settings: SSHSettings) -> paramiko.PKey | None:
    """Load the key to log in with, if one is set. Raises: UploadAuthFailed: it cannot be read."""
    try:
        if settings.private_key:
            return load_private_key(settings.private_key)
        if settings.private_key_text:
            return _parse_private_key(settings.private_key_text.encode(), "the SSH private key")
        return None
    except OSError as exc:
        raise UploadAuthFailed(f"SSH private key {settings.private_key}: {exc.strerror}",
                               own=settings.private_key or "") from exc
    except ValueError as exc:
        raise UploadAuthFailed(str(exc), own=settings.private_key or "") from exc


def _attempt(transport: paramiko.Transport, authenticate: Callable[[], object]) -> None:
    """Try to log in; transport.is_authenticated() shows the result."""
    try:
        authenticate()
    except paramiko.AuthenticationException:
        if not transport.is_active():  # the server, or within(), closed the connection
            raise


def words(exc: BaseException) -> str:
    """Describe an exception of paramiko or the system in one line."""
    texts = [arg.decode(errors="replace") if isinstance(arg, bytes) else str(arg) for arg in exc.args]
    if isinstance(exc, OSError) and exc.strerror:
        texts = [exc.strerror]
    return printable(" ".join(texts)) or type(exc).__name__


def printable(text: str) -> str:
    """Shorten the device's words: one line of printable characters, key material redacted."""
    return " ".join("".join(c if c.isprintable() else " " for c in redact_keys(text)).split())[:EXCERPT]


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
