"""Certificates of HTTPS listeners: which one of several a client is shown.

The client's server name decides: the certificate that has it, then one with a wildcard for it, then the first
one. Source: kubernetes-sigs/gateway-api v1.6.1, apis/v1/gateway_types.go, Listener.TLS: "the longest matching
SNI out of all available certificates".
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from f5router.admission import pem
from f5router.model import client_tls, hostnames
from f5router.model.cluster import Key, Secret
from f5router.model.limits import finish

MOST_NAMES = 200
"""Names of all certificates of a listener with several: each is a client SSL profile."""


class ServerCertificate(NamedTuple):
    """An entry of certificateRefs that can be used, or may be."""

    number: int
    """Its place in the list."""
    secret: Key
    names: tuple[str, ...] | None = ()
    """Server names that it is for, as far as they matter: of several entries alone; None while the Secret is
    not read."""


def choose(certificates: Iterable[ServerCertificate], host: str) -> ServerCertificate:
    """Return the certificate for a host, or a wildcard, of a listener; one that is not read goes before all.

    So whatever needs it waits, and nothing is shown that another one is for. Args: host: "" for all others.
    """
    listed = tuple(certificates)
    unread = next((each for each in listed if each.names is None), None)
    return unread or min(listed, key=lambda each: (_distance(each.names or (), host), each.number))


def _distance(names: Iterable[str], host: str) -> int:
    """Return how far the nearest name of a certificate is from a host: 0 for the host itself."""
    return min((int(name != host) for name in names if host and client_tls.matches(name, host)), default=2)


class ReadCertificates:
    """Certificates in Secrets and ConfigMaps, each of which is read once. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Secret, tuple[str, ...], str]] = {}
        self._authorities: dict[Key, tuple[Secret, str, str]] = {}

    def of(self, secret: Secret) -> tuple[tuple[str, ...], str]:
        """Return the server names of a Secret's certificate, and why it cannot be shown by any; "" if it can.
        """
        known = self._known.get(secret.key)
        if known is None or known[0] != secret:
            self._known[secret.key] = known = (secret, *_names(secret.certificate))
        return known[1:]

    def authorities(self, secret: Secret) -> tuple[str, str]:
        """Return the authorities in a ConfigMap in PEM, re-encoded, and why there are none; "" if there are.
        """
        known = self._authorities.get(secret.key)
        if known is None or known[0] != secret:
            self._authorities[secret.key] = known = (secret, *_authorities(secret))
        return known[1:]

    def forget(self, secrets: Mapping[Key, Secret | None]) -> None:
        """Drop what was read of Secrets that have changed."""
        for key in secrets:
            self._known.pop(key, None)
            self._authorities.pop(key, None)


def _authorities(secret: Secret) -> tuple[str, str]:
    if secret.problem or not secret.authorities.strip():
        return "", secret.problem or "it has no ca.crt"
    try:
        return finish(pem.encode(finish(pem.certificates(secret.authorities, "ca.crt")))), ""
    except pem.PEMError as exc:
        return "", str(exc)


def _names(text: str) -> tuple[tuple[str, ...], str]:
    try:
        leaf = finish(pem.certificates(text, "tls.crt"))[0]
    except pem.PEMError as exc:
        return (), str(exc)
    validity = pem.validity(leaf)
    names = dict.fromkeys(name.lower() for name in validity.names) if validity else {}
    usable = tuple(name for name in names if not hostnames.problem(name.removeprefix("*.")))
    return usable, "" if usable else "tls.crt: its certificate has no name that a client may ask for"
