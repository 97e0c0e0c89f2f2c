"""TLS towards clients: certificates with their keys, and what the administrator's files hold."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TLSKeyPair:
    """Certificate, chain and key of a client SSL profile, in PEM."""

    certificate: str = field(repr=False)
    """The leaf alone."""
    chain: str = field(repr=False)
    """Intermediates and caCertificate; "" for none."""
    key: str = field(repr=False)
    public: str = field(repr=False)
    """Public key of the leaf, PEM: identifies the private key without revealing it."""


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """Content of the administrator's files for TLS towards clients; it may change while the router runs."""

    default_certificate: TLSKeyPair | None = field(default=None, repr=False)
    """Shown to clients for whose SNI there is no certificate; None: that of the virtual server's profile."""
