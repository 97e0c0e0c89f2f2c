"""An HTTPS server that gives the answers a test lists, however wrong, and notes what it was sent.

mocks.bigip behaves like a device; this does what no device is known to do.
"""

import atexit
import contextlib
import datetime
import functools
import ipaddress
import json
import shutil
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import ClientSettings
from tests.waiting import DEADLINE_S

USER, PASSWORD = "router", 'pa"ss<w&örd'
LOGIN = "/mgmt/shared/authn/login"


@dataclass(frozen=True)
class Answer:
    """One reply, or a fault: "close" the connection without one, or "cut" the reply in the middle."""

    status: int = 200
    body: object = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    fault: str = ""
    meanwhile: Callable[[], object] = lambda: None

    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


WRONG_PASSWORD = Answer(401, {"code": 401, "message": "Authentication failed.",
                              "originalRequestBody": json.dumps({"username": USER, "password": PASSWORD})})
WRONG_BASIC = Answer(401, "<!DOCTYPE HTML><html><head><title>401 Unauthorized</title>",
                     {"Content-Type": "text/html; charset=iso-8859-1"})


@dataclass(frozen=True)
class Request:
    """A request as the server received it."""

    method: str
    path: str
    headers: dict
    body: bytes


class Scripted:
    """The server: answers of add() in their order, else a login, an empty token deletion, {}.

    Objects that are read have a `kind`, as on a device; a body that is given as text stays as it is.
    """

    def __init__(self, tls: ssl.SSLContext, port: int = 0):
        self.requests: list[Request] = []
        self.connections = 0
        self._rules: list[tuple[str, str, list[Answer]]] = []
        self._lock = threading.Lock()
        self._tokens = 0
        self.token_life_s = 1200
        handler = functools.partial(_Handler, self)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler, bind_and_activate=False)
        self._server.request_queue_size = 128
        self._server.daemon_threads = True
        self._server.server_bind()
        self._server.server_activate()
        self._server.socket = tls.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.handle_error = lambda *_: None  # refused handshakes
        self.port = self._server.server_port
        self.url = f"https://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, *answers: Answer, method: str = "", path: str = "") -> None:
        """Give these answers, one each, to requests of this method whose path holds path."""
        self._rules.append((method, path, list(answers)))

    def clear(self) -> None:
        """Forget the answers that are left."""
        self._rules.clear()

    def sent(self, method: str = "", path: str = "") -> list[Request]:
        """The requests of this method whose path holds path."""
        return [r for r in self.requests if method in ("", r.method) and path in r.path]

    @property
    def logins(self) -> int:
        return len(self.sent("POST", "/authn/login"))

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            for method, path, answers in self._rules:
                if answers and method in ("", request.method) and path in request.path:
                    return _with_kind(answers.pop(0), request)
            if request.path == LOGIN:
                self._tokens += 1
                return Answer(body=login(f"TOKEN{self._tokens:021}", self.token_life_s))
        return Answer(body=b"") if request.method == "DELETE" else _with_kind(Answer(), request)


def _with_kind(answer: Answer, request: Request) -> Answer:
    """Return the answer to a read with its `kind`."""
    root, _, path = request.path.partition("/mgmt/tm/")
    if root or request.method != "GET" or answer.status >= 300 or not isinstance(answer.body, dict):
        return answer
    return replace(answer, body={"kind": f"tm:{path.partition('/')[0]}:state"} | answer.body)


@dataclass
class Clock:
    """Seconds that pass only by sleep()."""

    now: float = 1000.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@contextlib.contextmanager
def running(*names: str, port: int = 0):
    """A server with a certificate for these names, by default for the address that it listens on."""
    device = Scripted(authority().server(*(names or ("127.0.0.1",))), port)
    try:
        yield device
    finally:
        device.stop()


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def settings_for(url: str, **changes) -> ClientSettings:
    """Settings that trust a server of running()."""
    values = {"base_url": url, "username": USER, "password": PASSWORD, "verify": authority().file,
              "connect_timeout_s": DEADLINE_S, "timeout_s": DEADLINE_S}
    return ClientSettings(**values | changes)


@contextlib.contextmanager
def connected(*names: str, **changes):
    """A server, a client of it, and the client's clock."""
    clock = Clock()
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(running(*names))
        settings = settings_for(device.url, **changes)
        yield device, stack.enter_context(Client(settings, clock=clock, sleep=clock.sleep)), clock


@functools.cache
def authority(name: str = "ca") -> "Authority":
    """The CA of this name, made once."""
    folder = Path(tempfile.mkdtemp(prefix="f5router-ca-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Authority(folder, name).issue()


def login(token: str, life_s: float = 1200) -> dict:
    """The reply to a login (recording login--13.1.0.8)."""
    return {"username": USER, "loginProviderName": "tmos", "token": {
        "token": token, "name": token, "userName": USER, "timeout": 1200,
        "lastUpdateMicros": 1533135937678293, "expirationMicros": 1533135937678293 + int(life_s * 1e6)}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per answer

    def __init__(self, device: Scripted, *args):
        self.device = device
        device.connections += 1
        super().__init__(*args)

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.device.answer(Request(self.command, self.path, dict(self.headers), body))
        answer.meanwhile()
        if answer.fault == "close":
            self.close_connection = True
            return
        data = answer.data()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in ({"Content-Type": "application/json"} | answer.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if answer.fault == "cut":
            data, self.close_connection = data[: len(data) // 2], True
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve

    def log_message(self, *_) -> None:
        pass


@dataclass(frozen=True)
class Authority:
    """A CA in a folder: its file, and server contexts that it vouches for."""

    folder: Path
    name: str = "ca"

    @property
    def file(self) -> str:
        return str(self.folder / f"{self.name}.pem")

    @functools.cached_property
    def _key(self):
        return ec.generate_private_key(ec.SECP256R1())

    def issue(self) -> "Authority":
        """Write the CA's own certificate."""
        Path(self.file).write_bytes(_certificate(self._key, self._key, self.name, None))
        return self

    def server(self, *names: str) -> ssl.SSLContext:
        """A context for a server with these addresses or host names."""
        key = ec.generate_private_key(ec.SECP256R1())
        both = self.folder / f"{self.name}-server.pem"
        both.write_bytes(_certificate(key, self._key, self.name, names) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        return context


def _certificate(key, issuer_key, issuer: str, names) -> bytes:
    """PEM of a certificate for names, or of the CA itself where names is None."""
    ca = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])
    subject = ca if names is None else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "big-ip")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(ca).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=names is None, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )
    if names is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(n) for n in names]), False)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
