"""The fake BIG-IP: a real HTTPS server with iControl REST over one store.

Longer than other modules: the class is all that tests and the demo see of the device, a few lines for each
operation, which other modules carry out.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from mocks.bigip import (
    attachments,
    catalog,
    faults,
    files,
    names,
    quirks,
    refusals,
    rendering,
    replies,
    unit,
    users,
    versions,
    virtuals,
)
from mocks.bigip.certificate import HOSTS, ServerCertificate
from mocks.bigip.endpoints import Endpoints, Lie
from mocks.bigip.faults import Faults
from mocks.bigip.listener import Listener, Outcome
from mocks.bigip.refusals import Refusal
from mocks.bigip.requests import LoggedRequest, Request, logged
from mocks.bigip.store import DiskFile, Item, Key, Store
from mocks.bigip.unit import Unit
from mocks.bigip.users import Tokens

if TYPE_CHECKING:
    from mocks.bigip.dataplane import DataPlane, Pods

log = logging.getLogger(__name__)

USERNAME = "admin"
PASSWORD = "fake-bigip-admin"
"""Password of a new device; known to everybody, it guards nothing."""


State = tuple[list[Item], dict[str, DiskFile]]
"""Objects and files of one moment."""


class FakeBigIP:
    """A device on a loopback address; use it as a context manager or call start and stop.

    Args: tmos_version: below 11.4 there is no REST. quirks: names of `quirks.Quirk`, added to those of the
    version; `no-NAME` takes one away. ssh: also serve SSH on the store's disk. port: 0 takes any.
    partitions: made at the start. dataplane: also carry traffic; True, or options of `DataPlane`.
    host: one of HOSTS. clock: seconds since the epoch, for tokens and dates.
    """

    def __init__(
        self,
        tmos_version: str = "14.1.2.1",
        quirks: Iterable[str] = frozenset(),
        ssh: bool = False,
        port: int = 0,
        partitions: Iterable[str] = ("Common",),
        *,
        ssh_port: int = 0,
        host: str = HOSTS[0],
        dataplane: bool | dict[str, Any] = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        version = versions.parse(tmos_version)
        self.ahead_s = 0.0
        """How far the clock is ahead."""

        def device_clock() -> float:
            return clock() + self.ahead_s

        self.tmos_version = tmos_version
        self.username, self.password = USERNAME, PASSWORD
        self.store = Store(version, _quirks(quirks, version), catalog.kinds(), device_clock)
        with self.store.lock:
            users.add(self.store, USERNAME, PASSWORD, "admin", description="Admin User")
            catalog.furnish(self.store, partitions)
            self.store.on_commit.append(self.note_changed)
        self.tokens = Tokens(version, device_clock, lambda name: users.find(self.store, name))
        self.faults = Faults()
        self.log: list[LoggedRequest] = []
        self.on_write: Callable[[LoggedRequest], None] | None = None
        self.intercept: Callable[[Request, Callable[[], Outcome]], Outcome] | None = None
        """Called for each request with what performs it; no other request is performed meanwhile."""
        self.errors: list[BaseException] = []
        """Exceptions of `on_write`, and faults of the fake itself; tests should see it empty."""
        self._endpoints = Endpoints(self.store, self.tokens)
        self._certificate = ServerCertificate()
        self._listener: Listener | None = None
        self._host, self._port = host, port
        self._ssh = ssh
        self._ssh_port = ssh_port
        self._ssh_server: Any = None
        self._delayed: dict[int, faults.Fault] = {}
        self._late: list[tuple[int, Request]] = []
        self._dataplane_options = dataplane if isinstance(dataplane, dict) else {} if dataplane else None
        self.dataplane: DataPlane | None = None

    # -- life --------------------------------------------------------------------------------------

    def __enter__(self) -> FakeBigIP:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Listen; after a stop on the same port, with the same state."""
        if self._listener is not None:
            return
        self._listener = Listener(self._handle, self._delay, self._certificate.context, self._host)
        self._listener.start(self._port)
        self._port = self._listener.port
        if self._ssh and self._ssh_server is None:
            from mocks.bigip.sshd import SSHServer

            self._ssh_server = SSHServer(
                self.store.disk, password_of=self._shell_password, port=self._ssh_port, host=self._host
            )
        if self._dataplane_options is not None and self.dataplane is None:
            self.start_dataplane(**self._dataplane_options)

    def start_dataplane(self, **options: Any) -> DataPlane:
        """Carry traffic from now on, with or without REST. options: see `DataPlane`."""
        from mocks.bigip.dataplane.plane import DataPlane

        self.dataplane = DataPlane(self.store, self.errors, **options)
        return self.dataplane

    def stop(self) -> None:
        """Stop listening: connections are refused until start."""
        if self._listener is not None:
            self._listener.stop()
            self._listener = None

    def close(self) -> None:
        """Stop all servers and remove the certificate's files."""
        self.stop()
        if self.dataplane is not None:
            self.dataplane.close()
            self.dataplane = None
        if self._ssh_server is not None:
            self._ssh_server.stop()
            self._ssh_server = None
        self._certificate.remove()

    def restart(self, *, lose_unsaved: bool = False) -> None:
        """As after a reboot: tokens, open transactions and uploads are gone."""
        with self.store.lock:
            self.tokens.clear()
            self._endpoints.transactions.clear()
            if lose_unsaved:
                self.store.load_saved()
            with self.store.atomic():
                virtuals.forget_metadata(self.store)

    def state(self) -> State:
        """Return what it has now, for `put_back`."""
        with self.store.lock:
            return self.store.every(), dict(self.store.disk)

    def put_back(self, state: State) -> None:
        """Have exactly the items and files of an earlier moment."""
        items, files = state
        with self.store.lock:
            self.store.replace(items)
            self.store.disk.clear()
            self.store.disk.update(files)

    @property
    def is_listening(self) -> bool:
        """True between `start` and `stop`."""
        return self._listener is not None

    def note_changed(self, written: set[tuple[str, Key]]) -> None:
        """Let the sync state follow writes; without a `Pair`, whose units do so themselves."""
        self.store.unit.changed({kind for kind, _ in written})

    # -- addresses ---------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        return f"{self._host}:{self._port}"

    @property
    def url(self) -> str:
        return f"https://{self.address}"

    @property
    def ca_file(self) -> str:
        return self._certificate.ca_file

    @property
    def ssh_port(self) -> int | None:
        return self._ssh_server.port if self._ssh_server is not None else None

    @property
    def ssh_server(self) -> Any:
        """The SSH server, for its host key and its authorized keys; None without ssh."""
        return self._ssh_server

    def endpoint(self, virtual: str) -> tuple[str, int]:
        """Where a virtual server listens. Raises: KeyError: it does not exist, or is disabled."""
        return self.dataplane.endpoint(virtual)

    def listeners(self) -> dict[str, tuple[str, int]]:
        """Destination such as 10.0.0.1:443 -> where it listens."""
        return self.dataplane.listeners()

    @property
    def pods(self) -> Pods:
        """Servers that answer for the pool members."""
        return self.dataplane.pods

    # -- requests ----------------------------------------------------------------------------------

    def writes(self) -> list[LoggedRequest]:
        """Logged requests that ask for a change, also refused ones; uploads are among them."""
        return [entry for entry in list(self.log) if entry.changes]

    def clear_log(self) -> None:
        self.log.clear()

    def inject(
        self,
        kind: str,
        *,
        times: int | None = 1,
        method: str | None = None,
        path: str | None = None,
        **options: Any,
    ) -> None:
        """Ask for a fault: see `faults`. times None: always."""
        with self.store.lock:
            self.faults.add(kind, times=times, method=method, path=path, **options)

    def deliver_late(self) -> None:
        """Perform all requests of the fault `late` now; what is refused is forgotten."""
        with self.store.lock:
            self._perform_late(None)

    def _perform_late(self, passed: int | None) -> None:
        """Perform those that have waited for enough requests; passed: how many more, None: all of them."""
        waiting, self._late = self._late, []
        for left, request in waiting:
            if passed is not None and left > passed:
                self._late.append((left - passed, request))
                continue
            with contextlib.suppress(Refusal):
                self._endpoints.answer(request)

    def clear_faults(self) -> None:
        with self.store.lock:
            self.faults.clear()

    def release(self) -> None:
        """Let requests with the fault `hold` go."""
        self._listener.release()

    @property
    def held(self) -> int:
        """Number of requests that the fault `hold` has held back since the start."""
        return self._listener.held

    def _delay(self, request: Request) -> float | None:
        """Take the fault of a request; the seconds to wait before it is performed, None: till released."""
        with self.store.lock:
            fault = self.faults.take(request)
        if fault is None:
            return 0
        self._delayed[id(request)] = fault
        if fault.kind == "hold":
            return None
        return float(fault.options.get("seconds", 0)) if fault.kind == "delay" else 0

    def _handle(self, request: Request) -> Outcome:
        if self.intercept is None:
            return self._perform(request)
        return self.intercept(request, lambda: self._perform(request))

    def _perform(self, request: Request) -> Outcome:
        with self.store.lock:
            fault = self._delayed.pop(id(request), None)
            reply = self._reply(request, fault)
            reply.headers["Date"] = formatdate(self.store.clock(), usegmt=True)
            status = 0 if fault and fault.kind in faults.SILENT else reply.status
            entry = logged(request, status)
            self.log.append(entry)
            self._perform_late(1)
            if fault is not None and fault.kind == "late":
                self._late.append((int(fault.options.get("requests", 1)), request))
        if entry.changes and reply.status < 300 and "X-F5-REST-Coordination-Id" not in request.headers:
            # without the lock: it may send traffic and wait for the answer
            self._tell(entry)
        return Outcome(reply if status else None)

    def _reply(self, request: Request, fault: faults.Fault | None) -> replies.Reply:
        if fault is not None and fault.kind in ("drop-request", "late"):
            return replies.Reply(500, b"")
        substitute = faults.instead(fault, request) if fault else None
        try:
            if isinstance(substitute, Refusal):
                raise substitute
            reply = substitute or self._endpoints.answer(request)
            if fault is not None and fault.kind == "404-done":
                raise refusals.not_found("object", names.decode_segment(request.path.split("/")[-1]))
        except Refusal as refusal:
            reply = self._refused(refusal, request)
        except Exception as error:
            log.exception("fault of the fake: %s %s", request.method, request.path)
            self.errors.append(error)
            reply = self._refused(Refusal(500, f"fault of the fake: {error!r}", refusals.REST), request)
        return faults.spoiled(fault, request, reply) if fault else reply

    def _refused(self, refusal: Refusal, request: Request) -> replies.Reply:
        if refusal.layer == "html" and refusal.status == 404:
            return replies.html(404, replies.NOT_FOUND % request.path)
        return replies.refused(refusal, version=self.store.version, sender=request.sender)

    def _tell(self, entry: LoggedRequest) -> None:
        if self.on_write is None:
            return
        try:
            self.on_write(entry)
        except BaseException as error:
            self.errors.append(error)

    # -- in-process use ----------------------------------------------------------------------------

    def get(self, path: str) -> dict[str, Any] | None:
        """Return what a GET with expandSubcollections=true shows of `ltm/pool/~Common~x`; None: 404."""
        try:
            return self.request("GET", path, {"expandSubcollections": "true"})
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise

    def put_object(self, kind_collection: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST without HTTP: not logged. Raises: Refusal."""
        return self.request("POST", kind_collection, {}, body)

    def request(self, method: str, path: str, query: dict[str, str], body: Any = None) -> Any:
        raw = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        request = Request(method, f"/mgmt/tm/{path.strip('/')}", query, {}, raw)
        with self.store.lock, self.store.atomic():
            try:
                return json.loads(replies.encode(self._endpoints.perform(request)))
            except Lie:
                return None

    def add_virtual(
        self,
        path: str,
        destination: str,
        *,
        profiles: Iterable[str | dict[str, str]] = ("/Common/http", "/Common/tcp"),
        **fields: Any,
    ) -> dict[str, Any]:
        """Create a virtual server; its folder is made. Raises: Refusal."""
        with self.store.lock, self.store.atomic():
            self.store.kinds["sys/folder"].make(self.store, names.folder_of(path))
        body = {
            "name": path,
            "destination": destination,
            "ipProtocol": "tcp",
            "profiles": list(profiles),
            **fields,
        }
        return self.put_object("ltm/virtual", body)

    def resolve(self, node: str, address: str) -> str:
        """Let a node by name have an address; return the path of the ephemeral node. Raises: Refusal."""
        with self.store.lock, self.store.atomic():
            return self.store.kinds["ltm/node"].resolve(self.store, node, address)

    def install(self, path: str, data: bytes) -> None:
        """Create or replace a certificate file (.crt) or key file (.key). Raises: Refusal: not parseable."""
        kind = self.store.kinds[files.KEY if path.endswith(".key") else files.CERT]
        with self.store.lock, self.store.atomic():
            kind.check_folder(self.store, (path,))
            kind.store_content(self.store, (path,), data, {})

    def _shell_password(self, name: str) -> str | None:
        with self.store.lock:
            return users.shell_password(self.store, name)

    def add_user(self, name: str, password: str, role: str = "admin") -> None:
        """A user; role: admin, manager, operator, guest, ..."""
        with self.store.lock:
            users.add(self.store, name, password, role)

    def expire_tokens(self) -> None:
        """Every token that is alive has expired."""
        with self.store.lock:
            self.tokens.expire()

    def set_ready(self, ready: bool) -> None:
        """Set what sys/ready and sys/mcp-state tell from now on; requests are served all the same."""
        with self.store.lock:
            self.store.ready = ready

    def set_failover(self, status: str, *, active_for: Iterable[str] = (unit.TRAFFIC_GROUP,)) -> None:
        """The failover state from now on; writes are taken all the same.

        Args: active_for: full paths of traffic groups; one that is new is made.
        Raises: ValueError: not one of `unit.STATUSES`.
        """
        with self.store.lock:
            own = self.store.unit
            own.set(failover=status)
            own.active_for = tuple(active_for)
            own.traffic_groups = tuple(dict.fromkeys((*own.traffic_groups, *own.active_for)))
        if self.dataplane is not None:
            self.dataplane.sync()

    def join_group(self, name: str, *, auto_sync: bool = False) -> None:
        """Make it a unit of a pair with a sync-failover group of this name, in sync."""
        with self.store.lock:
            self.store.unit.set(group=name, sync=unit.IN_SYNC)
            self.store.unit.auto_sync = auto_sync

    def set_sync(self, state: str) -> None:
        """The sync state from now on. Raises: ValueError: not one of `unit.SYNC_STATES`."""
        with self.store.lock:
            self.store.unit.set(sync=state)

    def change_peer(self) -> None:
        """Somebody changes the configuration on the other unit."""
        with self.store.lock:
            self.store.unit.peer_changed()

    @property
    def unit(self) -> Unit:
        """Its part in a pair, and what was synced."""
        return self.store.unit

    def items(self, kind: str) -> list[Item]:
        """Every stored item of a kind."""
        with self.store.lock:
            return self.store.all(kind)

    def shown(self, item: Item) -> dict[str, Any]:
        with self.store.lock:
            return rendering.render(self.store, item, expand=True)

    def attached_profiles(self, virtual: str) -> list[str]:
        """Full paths of a virtual server's profiles."""
        with self.store.lock:
            return list(self.store.children(attachments.PROFILES, (virtual,)))


def _quirks(given: Iterable[str], version: versions.Version) -> frozenset[quirks.Quirk]:
    return quirks.parse({str(quirk) for quirk in given}, version)
