"""A client connection as the parts that work for it see it: iRules, load balancing, changes of messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from mocks.bigip.dataplane.config import Virtual
from mocks.bigip.dataplane.servers import Server
from mocks.bigip.dataplane.shared import Shared
from mocks.bigip.dataplane.state import Served, State
from mocks.bigip.dataplane.tls import TLSWire
from mocks.bigip.dataplane.wire import Wire
from mocks.bigip.store import Tally

NONE: Mapping[str, str] = MappingProxyType({})


class Reset(Exception):
    """The connection ends with a RST; the argument says why."""


class Connection(Protocol):
    """A connection accepted for a virtual server.

    Attributes:
        client: address and port.
        sni, client_ssl, tls: server name, profile and stream of its TLS; None without.
        idle_s: idle time-out of the client side, None for the profile's; so has a Server.
        server_now: its connection to a member, None without.
        served: the record of its request.
        tally: the counters of its virtual server.
    """

    shared: Shared
    wire: Wire
    virtual: Virtual
    client: tuple[str, int]
    state: State
    sni: str | None
    client_ssl: str | None
    tls: TLSWire | None
    idle_s: float | None
    server_now: Server | None
    served: Served | None
    tally: Tally

    def fire(self, event: str, variables: Mapping[str, str] = NONE) -> None:
        """Run the handlers of an event. Raises: RuleError, Unsupported, Reset."""

    def server_ssl(self) -> str | None:
        """Full path of the profile for the server side. Hold the store's lock."""

    def expire(self, reason: str) -> None:
        """End it with RST on both sides."""


class Script(Protocol):
    """The iRules of a connection as commands see them.

    Attributes: folder: of the rule that runs.
    """

    flow: Connection
    state: State
    folder: str

    def later(self, milliseconds: float, script: str) -> str:
        """Run a script after a time, as an event of the connection; returns its ID."""

    def forget(self, timer: str) -> None:
        """Never run a script that waits."""
