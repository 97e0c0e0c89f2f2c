"""Records of the data plane: one Served per request, or per connection that is passed through."""

from __future__ import annotations

from dataclasses import dataclass


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
