"""One connection after another through iRules, unchanged, in the fake's Tcl engine with stub TMM commands."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mocks.bigip.dataplane.commands_table import execute
from mocks.bigip.dataplane.session_table import SessionTable
from mocks.bigip.tmm import Interpreter, TclError, Unsupported

LIMIT_COMMANDS = 4000
"""Far more than an event may need, far less than a TMM would notice."""

CLIENT = "192.0.2.1"
"""IP::client_addr."""

SENT = "sent"
"""A request to the pod of the pool that was selected last."""

Action = tuple[str, ...]
"""A TMM command and its arguments; ("raised", ...) in front if the stub failed it."""

Request = tuple[str, Mapping[str, str]]
"""Host header, and the variables that a policy sets."""

_READS = frozenset(("TCP::payload", "class", "LB::server", "virtual", "HTTP::host", "HTTP::uri",
                    "IP::client_addr", "TCP::client_port", "TCP::local_port", "table", "clock", "md5",
                    "b64decode", "IP::local_addr", "TMM::cmp_unit", "::tmm_hostname"))
_ACTS = frozenset(("TCP::collect", "TCP::release", "TCP::respond", "TCP::close",
                   "SSL::disable", "SSL::enable", "SSL::profile",
                   "HTTP::disable", "HTTP::respond", "HTTP::redirect", "LB::detach", "LB::reselect", "pool",
                   "persist", "reject", "log"))  # fmt: skip


@dataclass(frozen=True)
class Connection:
    """Effects of iRules on one connection."""

    actions: tuple[Action, ...]
    """In order, without reads (TCP::payload, class, LB::server, virtual, HTTP::host, HTTP::uri, clock,
    lists of headers), and without table."""
    forwarded: bytes
    """Released to the upper layers."""
    held: bytes
    """Collected and not released."""
    variables: frozenset[str]
    """Names set by the iRules."""

    @property
    def effects(self) -> tuple[Action, ...]:
        """All but collecting and logging."""
        return tuple(action for action in self.actions if action[0] not in ("TCP::collect", "log"))

    @property
    def logs(self) -> tuple[Action, ...]:
        return tuple(action for action in self.actions if action[0] == "log")


class Tmm:
    """One interpreter for many connections. Args: limit_s: as of Interpreter."""

    def __init__(self, *, limit_s: float = 10.0) -> None:
        self._interpreter = Interpreter(limit_s=limit_s, limit_commands=LIMIT_COMMANDS)

    def close(self) -> None:
        self._interpreter.close()

    def run(
        self,
        rules: Iterable[str],
        *,
        segments: Iterable[bytes] = (),
        groups: Mapping[str, Mapping[str, str]],
        selected: Iterable[str] = (),
        pools: Iterable[str] = (),
        failures: Iterable[tuple[str, str]] = (),
        requests: Iterable[Request] = (),
        uri: str = "/",
        headers: Iterable[str] = (),
        default: str = "",
        address: str = "",
        priority: str = "0",
        client: str = CLIENT,
        port: int = 40000,
        virtual: str = "/Common/vs",
        table: SessionTable | None = None,
        now: int = 0,
        closed: bool = False,
        faults: Iterable[str] = (),
        local: str = "192.0.2.80",
        unit: int = 0,
        mode: str = "stream",
    ) -> Connection:
        """One client connection: segments from the client, requests, then load balancing in each selected
        pool, a server connection for each pool, then a failure of load balancing for each pool and address of
        a member.

        Args:
            selected: pools; SENT stands for a request that is sent to the pod.
            default: pool of the virtual server. address, priority: of the members that server connections
            go to.
            client: address of the client. port: its port. uri, headers: of every request.
            groups: records of each data-group by full path.
            table: what iRules remember across connections. now: seconds of the clock.
            closed: True if the connection ends with CLIENT_CLOSED.
            faults: commands, with or without their arguments, that raise.
            local: address of the virtual server. unit: number of the TMM.
            mode: "stream" fires CLIENT_DATA for every segment until TCP::release, as F5 documents;
            "once" fires it only once for each TCP::collect, should a TMOS do that.
        Raises: RuleError.
        """
        stub = _Stub(groups, virtual, frozenset(faults), pool=default, address=address,
                     priority=priority, uri=uri, client=client, headers=tuple(headers),
                     port=port, table=table, now=now, local=local, unit=unit)
        override = ("binary",) if "binary" in stub.faults else ()
        named = [(f"/Common/rule{number}", text) for number, text in enumerate(rules)]
        connection = self._interpreter.connection(named, stub, override=override)
        try:
            connection.fire("CLIENT_ACCEPTED")
            for segment in segments:
                if stub.takes(segment, mode):
                    connection.fire("CLIENT_DATA")
            for stub.host, told in requests:
                stub.responded = False
                for variable, value in told.items():
                    connection.set(variable, value)
                connection.fire("HTTP_REQUEST")
            for stub.pool in selected:
                connection.fire("LB_SELECTED" if stub.pool != SENT else "HTTP_REQUEST_SEND")
            for stub.pool in pools:
                connection.fire("SERVER_CONNECTED")
            for stub.pool, stub.address in failures:
                stub.responded = False
                connection.fire("LB_FAILED")
            if closed:
                connection.fire("CLIENT_CLOSED")
            variables = frozenset(connection.variables())
        finally:
            connection.close()
        return Connection(tuple(stub.actions), stub.forwarded, stub.held, variables)


@dataclass
class _Stub:
    """TMM's side of one connection."""

    groups: Mapping[str, Mapping[str, str]]
    virtual: str
    faults: frozenset[str]
    pool: str = ""
    address: str = ""
    priority: str = "0"
    client: str = ""
    port: int = 0
    table: SessionTable | None = None
    now: int = 0
    local: str = ""
    unit: int = 0
    responded: bool = False
    host: str = ""
    uri: str = "/"
    headers: tuple[str, ...] = ()
    actions: list[Action] = field(default_factory=list)
    forwarded: bytes = b""
    held: bytes = b""
    collecting: bool = False
    armed: bool = False
    replaced: bool = False

    def takes(self, segment: bytes, mode: str) -> bool:
        """Take a segment from the client; whether CLIENT_DATA is due."""
        if not self.collecting:
            self.forwarded += segment
            return False
        self.held += segment
        due = mode == "stream" or self.armed
        self.armed = self.armed and not due
        return due

    def __call__(self, name: str, arguments: list[bytes]) -> bytes:
        words = tuple(argument.decode("latin-1") for argument in arguments)
        called = (name, *words)
        if {name, " ".join(called)} & self.faults:
            if name in _ACTS:
                self.actions.append(("raised", *called))
            raise TclError(f"fault in {called}")
        if called == ("HTTP::header", "names"):
            return " ".join(f"{{{header}}}" for header in self.headers).encode()
        if called[:2] == ("HTTP::header", "exists"):
            return str(int(words[1].lower() in map(str.lower, self.headers))).encode()
        if called[:2] in (("HTTP::header", "remove"), ("HTTP::header", "insert")):
            self.actions.append(called)
            return b""
        if name in _READS:
            return self._read(name, words)
        if name not in _ACTS:
            raise Unsupported(f"command {called}")
        if name in ("HTTP::respond", "HTTP::redirect"):
            if self.responded:
                raise TclError("Operation not supported. Multiple redirect/respond invocations not allowed")
            self.responded = True
        if name == "TCP::collect":
            self.collecting = self.armed = True
        elif name == "TCP::release":
            if not self.collecting:
                raise TclError("TCP::release without TCP::collect")
            self.forwarded += self.held
            self.held, self.collecting, self.armed, self.replaced = b"", False, False, False
        self.actions.append(called)
        return b""

    def _read(self, name: str, words: tuple[str, ...]) -> bytes:
        if name == "TCP::payload":
            if self.replaced:
                raise TclError("what is read after a part was replaced is not documented")
            if words[:1] == ("replace",):
                at, size = int(words[1]), int(words[2])
                self.held = self.held[:at] + words[3].encode("latin-1") + self.held[at + size:]
                self.replaced = True
                return b""
            if words == ("length",):
                return str(len(self.held)).encode()
            return self.held[: int(words[0])] if words else self.held
        if name == "class":
            return self._match(*words)
        if name == "table":
            if self.table is None:
                raise TclError("no session table")
            result = execute(self.table, [word.encode("latin-1") for word in words])
            return result if isinstance(result, bytes) else str(result).encode("latin-1")
        if name == "HTTP::uri" and words:
            self.actions.append((name, *words))
            self.uri = words[0]
            return b""
        if name == "b64decode":
            return base64.b64decode(words[0], validate=True)
        if name == "md5":
            return hashlib.md5(words[0].encode("latin-1"), usedforsecurity=False).digest()
        if name == "LB::server":
            return {("addr",): self.address, ("priority",): self.priority}.get(words, self.pool).encode()
        return {"virtual": self.virtual, "HTTP::host": self.host, "HTTP::uri": self.uri,
                "IP::client_addr": self.client, "TCP::client_port": str(self.port),
                "TCP::local_port": "80", "clock": str(self.now), "IP::local_addr": self.local,
                "TMM::cmp_unit": str(self.unit), "::tmm_hostname": "bigip.example.com"}[name].encode()

    def _match(self, verb: str, *words: str) -> bytes:
        """class match ?-value? ?--? item equals group. As in TMM, a leading - of the item is an option."""
        if verb != "match":
            raise TclError(f"class {verb}")
        value, rest = False, list(words)
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option == "--":
                break
            if option != "-value":
                raise TclError("class match: unknown option")
            value = True
        if len(rest) != 3 or rest[1] != "equals":
            raise TclError(f"class match: {rest}")
        if rest[2] not in self.groups and not rest[2].endswith("/openshift_persistence_dg"):
            raise TclError(f"class match: no such group {rest[2]}")
        data = self.groups.get(rest[2], {}).get(rest[0])
        return ((data or "") if value else str(int(data is not None))).encode()
