"""Settings of the connections to a BIG-IP: iControl REST and SSH.

Nothing is imported here that takes long, so that the command line can read its settings at once.
"""

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlsplit

SSH_FOLDER = "/var/tmp"
"""Folder of the device's disk for files that are uploaded over SSH."""


Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)


class Renewable(Protocol[Value_co]):
    """A value that files hold, which may change; for several threads."""

    def get(self, *, now: bool = False) -> Value_co:
        """Return the newest usable value. Args: now: look at the files even if that is not due."""


@dataclass(frozen=True, slots=True)
class Fixed(Generic[Value]):
    """A value that does not change."""

    value: Value = field(repr=False)

    def get(self, *, now: bool = False) -> Value:
        """Return the value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Login:
    """User and password for the BIG-IP."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How to reach one BIG-IP.

    Raises: ValueError: base_url is not https://host[:port], or another field is impossible.
    """

    base_url: str
    username: str
    password: str = field(repr=False)
    verify: bool | str = True
    """True: the system's CAs (or REQUESTS_CA_BUNDLE); a path: this CA file or folder; False: none."""
    auth: str = "token"
    """"token" or "basic". Token falls back to basic where the device has no login end point."""
    connect_timeout_s: float = 10
    timeout_s: float = 60
    """Longest silence while waiting for a reply; the device's own limit is 60 s as well."""
    max_in_flight: int = 4
    retry_s: float = 30
    """Total time of one repeated read."""
    login_from: str = "--f5-username and --f5-password"
    """Flags, or files, that user name and password come from."""

    @property
    def login(self) -> Login:
        """User name and password."""
        return Login(self.username, self.password)

    @property
    def host(self) -> str:
        """Name or address, with the port where one is configured; IPv6 in brackets."""
        return self.base_url.removeprefix("https://")

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if url.scheme != "https" or not url.hostname or url.path.strip("/") or url.query or "@" in url.netloc:
            # The text is not repeated: it may carry a password.
            raise ValueError("base_url must be https://host or https://host:port")
        if self.auth not in ("token", "basic"):
            raise ValueError(f"{self.auth=} is neither token nor basic")
        if self.verify == "":  # the HTTP library would take it for False
            raise ValueError("verify is an empty path")
        if any("\ud800" <= char <= "\udfff" for char in self.username + self.password):
            raise ValueError("user name or password is no valid Unicode")
        if self.max_in_flight < 1:
            raise ValueError(f"{self.max_in_flight=} is below 1")


@dataclass(frozen=True, slots=True)
class SSHSettings:
    """Address, login and host keys of the SSH server."""

    host: str
    port: int
    username: str
    private_key: str | None = None
    """Path of a key file; read at every connection, so a renewed one is used."""
    private_key_text: str | None = field(default=None, repr=False)
    """The key itself, instead of a path."""
    password: str | None = field(default=None, repr=False)
    """Tried after the key; None: keys only."""
    known_hosts: str | None = None
    """Path of a known_hosts file; read at every connection."""
    host_key_fingerprint: str | None = None
    """"SHA256:..." or MD5 in hexadecimal; several are separated by commas. Decides alone."""
    insecure_host_key: bool = False
    connect_timeout_s: float = 10
    """Seconds for the TCP connection, and again for key exchange and login."""
    io_timeout_s: float = 30
    """Seconds for one file or one removal, all in all."""
