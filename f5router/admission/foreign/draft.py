"""Requests of one Ingress by annotations of other controllers, collected while they are read."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ClientList:
    """A list of clients."""

    key: str
    text: str
    refused: bool
    """True for clients that are kept out, False for those that alone get in."""
    exceptions: bool
    """True if an entry that begins with an exclamation mark is an exception."""


@dataclass(slots=True)
class Draft:
    """The requests of one Ingress; each default means that nothing is asked for."""

    lists: list[ClientList] = field(default_factory=list)
    redirect: bool | None = None
    """True if requests in clear text are redirected where there is TLS, False if they are served."""
    redirect_status: int = 0
    allow_http: bool | None = None
    """False if nothing is served in clear text."""
    silent: bool = False
    """True if port 80 answers nothing, not even with a redirect."""
    encrypt: list[str] = field(default_factory=list)
    """Annotations that ask for TLS, whatever spec.tls has."""
    encrypted_hosts: list[str] = field(default_factory=list)
    """Hosts for which an annotation asks that."""
    passthrough: bool = False
    pods_tls: bool = False
    """True if pods expect TLS."""
    verify: bool | None = None
    """True if the certificates of pods must be verified."""
    authority: tuple[str, str] = ("", "")
    """The annotation that names the Secret with the authorities of pods, and its value."""
    pod_name: str = ""
    """Host name that the certificates of pods must carry."""
    needs_pod_name: bool = False
    """True for a controller that verifies nothing successfully without `pod_name`."""
    minimum_tls: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """Values by field of RouteOptions."""
    origins: dict[str, str] = field(default_factory=dict)
    """By field: the annotation that it comes from."""
    sticky: bool = False
    """True if a cookie keeps a client with a pod."""
    code: int = 0
    """Status of the redirect that the annotations ask for in the place of pods."""
