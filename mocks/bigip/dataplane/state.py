"""Decisions of iRules and policies about a connection and its request so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from mocks.bigip.dataplane.balancing import Member
from mocks.bigip.dataplane.http import Head
from mocks.bigip.matching import Effect


@dataclass
class Response:
    """Answer of an iRule itself."""

    head: Head
    body: bytes


@dataclass
class State:
    """State of a client connection; `begin` starts the next request."""

    event: str = ""
    """That is running."""
    side: str = ""
    """Chosen by clientside or serverside; "" for that of the event."""
    # TCP
    collect: int | None = None
    """Bytes that TCP::collect waits for, 0 for any; None: nothing is held back."""
    waits: bool = False
    """True if TCP::collect was called since the last CLIENT_DATA."""
    payload: bytearray = field(default_factory=bytearray)
    ended: str = ""
    """Not empty: the connection is to be reset, for this reason."""
    # TLS
    client_ssl_off: bool = False
    server_ssl_off: bool = False
    server_profile: str | None = None
    hello: object = None
    # load balancing
    rule_pool: str | None = None
    """Pool of the command `pool`: the connection's default from then on (iRules 101 #05)."""
    request_pool: str | None = None
    """The same, called for this request: before what policies say (bigip-behaviour.md B11)."""
    pool_now: str | None = None
    """That the load balancing is about."""
    forced_member: str | None = None
    node: tuple[str, str, int] | None = None
    """(name, address, port) of the command `node`."""
    member: Member | None = None
    reselect: bool = False
    detach: bool = False
    last_pool: str | None = None
    """Pool of the request before."""
    persist_off: bool = False
    persist: tuple[str, dict[str, str]] | None = None
    """Type and properties that the command `persist` chose."""
    cookie_sent: str | None = None
    """Value of the session cookie in the request that is under way, as the client sent it."""
    # HTTP
    http_off: bool = False
    request: Head | None = None
    answer: Head | None = None
    """The response, in HTTP_RESPONSE."""
    effect: Effect = field(default_factory=Effect)
    response: Response | None = None
    close: bool = False

    def begin(self, head: Head) -> None:
        """A new request."""
        self.request, self.answer, self.response = head, None, None
        self.effect, self.reselect, self.detach = Effect(), False, False
        self.forced_member, self.node, self.request_pool = None, None, None
