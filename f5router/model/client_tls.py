"""TLS towards clients: certificates, their keys, hosts and dates, and what the administrator's files hold."""

import datetime
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from f5router.model import hostnames
from f5router.model.cluster import Key
from f5router.model.texts import (
    CERTIFICATE_EXPIRED,
    CERTIFICATE_NAME_MISMATCH,
    CERTIFICATE_NOT_YET_VALID,
    Problem,
    bounded,
)

SHOWN = 3
"""Names of a certificate that a problem with a Host shows."""

LONGEST = 256
"""Bytes that are shown of a name in a certificate; a DNS name has at most 253 (RFC 1035, 2.3.4)."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The part of a certificate that clients compare with the host and the time."""

    names: tuple[str, ...]
    """Its subject alternative names; clients look at no others (RFC 9525, 6.3)."""
    begin: datetime.datetime
    """Aware; likewise end."""
    end: datetime.datetime

    def problems(self, host: str, now: datetime.datetime) -> tuple[Problem, ...]:
        """Return why clients of a Host refuse the certificate at a time; () if they do not."""
        return (*self.date_problems(now), *self.name_problems(host))

    def date_problems(self, now: datetime.datetime) -> tuple[Problem, ...]:
        """Return the problem with the dates at a time."""
        if now > self.end:
            return (Problem(CERTIFICATE_EXPIRED, f"it expired on {timestamp(self.end)}"),)
        if now < self.begin:
            return (Problem(CERTIFICATE_NOT_YET_VALID, f"it is not valid before {timestamp(self.begin)}"),)
        return ()

    def name_problems(self, host: str) -> tuple[Problem, ...]:
        """Return that the certificate is for other hosts."""
        if host == hostnames.ANY or any(matches(name, host) for name in self.names):
            return ()
        names = ", ".join(bounded(name, LONGEST) for name in self.names[:SHOWN])
        more = f" and {len(self.names) - SHOWN} more" if len(self.names) > SHOWN else ""
        return (Problem(CERTIFICATE_NAME_MISMATCH,
                        f"it is not for {bounded(host, LONGEST)}" + (f" but for {names}{more}" if names else
                                                   ": it has no subject alternative names")),)


def matches(name: str, host: str) -> bool:
    """True if a name of a certificate stands for a Host. Source: RFC 9525, 6.3: "*" is one whole label."""
    name, host = name.lower(), host.lower()
    if name.startswith("*."):
        return host == name or ("." in host and host.partition(".")[2] == name[2:])
    return name == host


def timestamp(time: datetime.datetime) -> str:
    """Return a time in UTC as RFC 3339 has it, in whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


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
    validity: Validity | None = None
    """Names and dates of the leaf; None if they cannot be read."""


class ClientValidation(NamedTuple):
    """Validation of client certificates that a Gateway asks for on a port."""

    is_required: bool
    """False if a client without a valid certificate is served, too."""
    authorities: str | None = None
    """PEM; None while they are not known."""


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """Content of the administrator's files for TLS towards clients; it may change while the router runs."""

    default_certificate: TLSKeyPair | None = field(default=None, repr=False)
    """Shown to clients for whose SNI there is no certificate; None: that of the virtual server's profile."""
    client_ca: str = field(default="", repr=False)
    """Certificates of the authorities for clients, PEM; "" for the device's bundle of public ones."""
    client_crl: str = field(default="", repr=False)
    """Lists of revoked client certificates, PEM; "" for none."""
    default_owner: Key | None = None
    """Namespace and name in the names of the default certificate's files, if it is that of a Gateway; None
    for the administrator's."""
    awaits_default: bool = False
    """True while it is not known which certificate of a Gateway is the default one."""
    awaits_client_ca: bool = False
    """True while the authorities for clients of a Gateway are not known."""

    def with_default(self, pair: TLSKeyPair, owner: Key) -> Self:
        """Return the files with the default certificate of a Gateway. Args: owner: see default_owner."""
        return replace(self, default_certificate=pair, default_owner=owner)

    def with_clients(self, validation: ClientValidation | None) -> Self:
        """Return the files with the authorities for clients of a front end; None: the administrator's."""
        return self if validation is None else replace(
            self, client_ca=validation.authorities or "", client_crl="",
            awaits_client_ca=validation.authorities is None)

    def awaiting_default(self) -> Self:
        """Return the files while the default certificate is not known."""
        return replace(self, awaits_default=True)


VERSIONS = {"ssl3": "SSLv3", "1.0": "TLSv1.0", "1.1": "TLSv1.1", "1.2": "TLSv1.2", "1.3": "TLSv1.3"}
"""Versions, oldest first, and what HAProxy's router calls them."""


REQUESTED = "requested"
"""A certificate is asked for, and whoever has none, or no valid one, is served."""


@dataclass(frozen=True, slots=True)
class TLSSettings:
    """Router-wide settings of TLS towards clients; without any, client SSL profiles have their parent's."""

    ciphers: tuple[str, ...] = ()
    """Cipher suites up to TLS 1.2 by OpenSSL's names, preferred ones first; empty for those of the parent."""
    ciphers_13: tuple[str, ...] = ()
    """Cipher suites of TLS 1.3."""
    minimum: str = ""
    """Oldest version, a key of VERSIONS; "" with `maximum` for those of the parent."""
    maximum: str = ""
    client_certificates: str = ""
    """"optional" or "required", or REQUESTED; "" if nothing is asked of clients."""
    client_filter: str = ""
    """Regular expression of which something in the subject of a client certificate must match; "" for any."""
    own_clients: bool = False
    """True if what is asked of clients is that of one front end alone."""

    def with_clients(self, validation: ClientValidation | None) -> Self:
        """Return the settings with what a front end asks of clients; None: nothing but the router does."""
        return self if validation is None else replace(
            self, client_certificates="required" if validation.is_required else REQUESTED, client_filter="",
            own_clients=True)

    def __bool__(self) -> bool:
        return self != TLSSettings()


@dataclass(frozen=True, slots=True)
class TLSProperties:
    """Properties of a client SSL profile that do not depend on its certificate."""

    ciphers: str = "DEFAULT"
    """"" with a cipher group."""
    cipher_group: str = ""
    """Full path; "" for none."""
    options: frozenset[str] = frozenset({"dont-insert-empty-fragments"})
    """Words of tmOptions."""
    peer_cert_mode: str = "ignore"
    authenticate: str = "once"
    ca_file: str = ""
    """Full path of a file; "" for none. So are the next two."""
    advertised_ca: str = ""
    crl_file: str = ""
    options_in_braces: bool = field(default=False, compare=False)
    """True if the device writes these as a text in braces, not as a list."""

    @property
    def suites(self) -> tuple[str, str]:
        """Return ciphers and cipher group."""
        return self.ciphers, self.cipher_group

    @property
    def is_factory(self) -> bool:
        """True if nobody has chosen the cipher suites (recordings of 11.6 to 16.0)."""
        return self.suites == ("DEFAULT", "")
