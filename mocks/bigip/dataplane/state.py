"""A connection and its request so far: decisions of iRules and policies, and the record that stays."""

from __future__ import annotations

from dataclasses import dataclass, field

from mocks.bigip.dataplane import http
from mocks.bigip.dataplane.balancing import Member
from mocks.bigip.dataplane.http import Head
from mocks.bigip.matching import Effect


@dataclass
class Response:
    """Answer of an iRule itself."""

    head: Head
    body: bytes

    @classmethod
    def redirect(cls, location: str, code: int) -> Response:
        """The device's own redirect (bigip-behaviour.md B11)."""
        headers = [(b"Location", location.encode("latin-1")), (b"Server", b"BigIP"),
                   (b"Connection", b"Keep-Alive")]
        return cls(*http.reply(code or 302, headers))


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


@dataclass
class Served:
    """A request, or a whole connection without HTTP; fields are filled as it proceeds."""

    virtual: str
    client: tuple[str, int]
    sni: str | None = None
    client_ssl: str | None = None
    """Full path of the client-ssl profile; None: TLS was not ended here."""
    method: str = ""
    host: str = ""
    target: str = ""
    rule: str | None = None
    """Policy and Rule that decided."""
    pool: str | None = None
    member: str | None = None
    """Name such as 10.0.0.1:8080."""
    server_ssl: str | None = None
    """Full path of the server-ssl profile used; None: clear text to the member."""
    verified: bool = False
    """True if the member's certificate was checked."""
    snat: str = "none"
    """none, automap or the full path of a SNAT pool."""
    status: int = 0
    """Status of the response; 0: none was sent."""
    outcome: str = ""
    """served, redirected, responded, reset or tunnelled; with the reason after a colon."""
