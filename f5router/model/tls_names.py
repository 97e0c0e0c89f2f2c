"""Names of what serves TLS: SSL profiles, certificate and key files, and files on their way there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from f5router.model import names, objects
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key, Route
from f5router.model.front_end_names import PATTERN, named
from f5router.model.gateway import GATEWAY, TLS_ROUTE
from f5router.model.names import HEX, STEM, full_path, rule_namespace, server_name, shorten
from f5router.model.objects import digest

DEFAULT_SERVERSSL = "openshift_default-server-ssl-profile"
DEFAULT_CLIENTSSL = "openshift_default-client-ssl-profile"
"""Client SSL profile with the router's default certificate."""
DEFAULT_PARENT_CLIENTSSL = "openshift_default-parent-client-ssl-profile"
"""Parent of DEFAULT_CLIENTSSL, if it has other properties than the profile above."""
_USUAL = "intermediate-"
"""Word in the names of parents for virtual servers whose cipher suites no setting decides."""
HOST_PARENTS = rf"openshift_(?:{_USUAL})?(?:routes|tls1\.[0-3])-parent-client-ssl-profile{PATTERN}"
"""Pattern of the names of parents of the client SSL profiles of Hosts."""
DEFAULT_STEM = "openshift_default"
"""Stem of the files of the default certificate; no Route's stem begins so."""


def pod_tls(destination_ca: str = "", service: str = "", namespace: str = "") -> str:
    """Return the digest of TLS towards pods: of the Route's own CA, of a Service by the default one, or none.

    The certificates of the default CA are no part of it: they may be renewed, and the names of pools, on
    which those of session cookies depend, stay.
    """
    return digest(f"{destination_ca}\0{server_name(service, namespace) if service else ''}")


def pod_tls_by_service(services: Iterable[str], namespace: str) -> str:
    """Return the digest of TLS towards pods of several Services, each verified by the name of its own one.

    With other Services the pool has another name: so the numbers of the Services never change in one.
    """
    return digest("\0\0" + "\0".join(server_name(service, namespace) for service in sorted(services)))


def pod_tls_by_authority(secret: tuple[str, str], entry: str, *subjects: str) -> str:
    """Return the digest of TLS towards pods by a Secret's authorities, and by names if there are any."""
    return digest("\0".join(("", "", "", *secret, entry, *subjects)))


def named_tls(profile: str) -> str:
    """Return the digest of TLS towards pods by a server SSL profile of the administrator."""
    return digest(f"\0{profile}\0")


UNVERIFIED = pod_tls()
"""Digest of TLS towards pods whose certificates are not verified."""


def file_namespace(path: str) -> str:
    """Return the namespace of the Route that a certificate or key file belongs to; "" if no Route owns it."""
    name = path.rsplit("/", 1)[-1]
    return rule_namespace(name) if name.startswith("openshift_route_") else ""


def client_ssl(folder: str, host: str, front_end: str = "") -> str:
    """Return the full path of the client SSL profile of a Host: one per host, so a hand-over is one write.

    Args: front_end: name of the front end that serves the Host.
    """
    stem = f"openshift_wildcard_{host[2:]}" if host.startswith("*.") else f"openshift_host_{host}"
    return full_path(folder, named(f"{shorten(stem)}-client-ssl-profile", front_end))


_BY_NAME = "-sni-server-ssl-profile"


def server_ssl(folder: str, tls: str, *, asks_for_name: bool = False) -> str:
    """Return the full path of the server SSL profile for one way of TLS towards pods.

    Args: asks_for_name: True if pods are asked for a name, by server name indication.
    """
    return full_path(folder, f"openshift_tls_{tls}{_BY_NAME if asks_for_name else '-server-ssl-profile'}")


def asks_for_name(path: str) -> bool:
    """True for the full path of a profile by which pods are asked for a name."""
    return path.endswith(_BY_NAME)


def parent_client_ssl(folder: str, minimum: str = "", *, usual: bool = False, front_end: str = "") -> str:
    """Return the full path of the parent of client SSL profiles of Hosts.

    Args:
        minimum: lowest version of TLS that their owners ask for; "" for that of the router.
        usual: True if no setting decides about cipher suites, see VirtualFacts.usual_suites.
        front_end: name of the front end that asks clients for certificates by itself; "" for all others.
    """
    hosts = f"tls{minimum}" if minimum else "routes"
    name = f"openshift_{_USUAL if usual else ''}{hosts}-parent-client-ssl-profile"
    return full_path(folder, named(name, front_end))


_PARENT = re.compile(rf"{DEFAULT_PARENT_CLIENTSSL}{PATTERN}|{HOST_PARENTS}")


def is_parent(path: str) -> bool:
    """True for the full path of a client SSL profile that is only the parent of others of ours."""
    return _PARENT.fullmatch(path.rpartition("/")[2]) is not None


def certificate_key(route: Route) -> Key:
    """Return the namespace and the name in the names of the files with a Route's certificate.

    Those of a virtual Route are in the namespace that holds its Host, whatever pods it leads to, and all
    that are of one kind and name one Secret share them; a TLSRoute shares them with its Gateway.
    """
    if route.origin is None or route.tls_secret is None:
        return route.key
    kind = GATEWAY if route.origin.kind == TLS_ROUTE else route.origin.kind
    return certificate_owner(kind, route.claim_namespace, route.tls_secret)


def certificate_owner(kind: str, namespace: str, secret: Key) -> Key:
    """Return what certificate_key does for objects of a kind. Args: namespace: that holds their Hosts."""
    return Key(namespace, names.virtual_route(kind, secret.name, str(secret)))


def is_certificate_of(path: str, owner: Key) -> bool:
    """True for the full path of a certificate file with a certificate_key."""
    return path.rpartition("/")[2].startswith(f"{names.route(owner)}-https-cert-")


def cert_file(folder: str, key: Key, content: str) -> str:
    """Return the full path of a Route's certificate file."""
    return names.full_path(folder, f"{names.route(key)}-https-cert-{objects.digest(content)}.crt")


def key_file(folder: str, key: Key, public: str) -> str:
    """Return the full path of a Route's key file, named after the public key to reveal no secret."""
    return names.full_path(folder, f"{names.route(key)}-https-key-{objects.digest(public)}.key")


def client_ca_file(folder: str, content: str) -> str:
    """Return the full path of the file with the authorities for client certificates."""
    return names.full_path(folder, f"openshift_client-https-cabundle-{objects.digest(content)}.crt")


def crl_file(folder: str, content: str) -> str:
    """Return the full path of the file with the lists of revoked client certificates."""
    return names.full_path(folder, f"openshift_client-https-crl-{objects.digest(content)}.crl")


def default_files(folder: str, pair: TLSKeyPair, owner: Key | None = None) -> tuple[str, str, str]:
    """Return the full paths of certificate, key and chain of the default certificate.

    Args: owner: of that of a Gateway, what certificate_key returns; None for the administrator's.
    """
    if owner is not None:
        return (cert_file(folder, owner, pair.certificate), key_file(folder, owner, pair.public),
                chain_file(folder, owner, pair.chain))
    return (names.full_path(folder, f"{DEFAULT_STEM}-https-cert-{objects.digest(pair.certificate)}.crt"),
            names.full_path(folder, f"{DEFAULT_STEM}-https-key-{objects.digest(pair.public)}.key"),
            names.full_path(folder, f"{DEFAULT_STEM}-https-chain-{objects.digest(pair.chain)}.crt"))


def chain_file(folder: str, key: Key, content: str) -> str:
    """Return the full path of the file with the rest of a Route's certificate chain."""
    return names.full_path(folder, f"{names.route(key)}-https-chain-{objects.digest(content)}.crt")


def destination_ca_file(folder: str, content: str) -> str:
    """Return the full path of a CA file for pods; Routes with one CA share it."""
    return names.full_path(folder, f"openshift_tls-https-cabundle-{objects.digest(content)}.crt")


_UPLOADED = re.compile(
    rf"f5router_({HEX})_({HEX})_([0-9]{{1,10}})_([0-9]{{1,12}})_([0-9a-f]{{8}})\.(cert|key)")
_FORMERLY_UPLOADED = re.compile(
    rf"{STEM}-https-(?:cert|chain)-{HEX}\.cert|openshift_tls-https-cabundle-{HEX}\.cert"
    rf"|{STEM}-https-key-{HEX}\.key")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The name of a certificate or key file on the device's disk, from its upload to its installation.

    The name contains the owner and the time, so a later run recognises files that an earlier one left behind:
    f5router_<folder>_<host>_<process>_<second>_<nonce>.key
    """

    folder: str
    """Digest of the full path of the router's folder."""
    host: str
    """Digest of the name of the pod or host."""
    process: int
    second: int
    """Time of the upload in seconds since 1970, by the router's clock."""
    nonce: str
    """8 hexadecimal digits; no two uploads share a name."""
    suffix: str
    """"cert" or "key"."""

    def __str__(self) -> str:
        return (f"f5router_{self.folder}_{self.host}_{self.process}_{self.second}_{self.nonce}"
                f".{self.suffix}")

    @classmethod
    def parse(cls, name: str) -> "UploadedFile | None":
        """Parse a name; return None if no router made it."""
        match = _UPLOADED.fullmatch(name)
        if match is None:
            return None
        folder, host, process, second, nonce, suffix = match.groups()
        return cls(folder, host, int(process), int(second), nonce, suffix)


def formerly_uploaded(folder: str, name: str) -> str:
    """Return the full path of the file object for which an earlier release gave an upload this name.

    Returns: "" for any other name. The original router's names have no digest and do not count: they
        identify neither the router nor the content.
    """
    if not _FORMERLY_UPLOADED.fullmatch(name):
        return ""
    return full_path(folder, name if name.endswith(".key") else f"{name.removesuffix('.cert')}.crt")
