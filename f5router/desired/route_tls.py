"""TLS of Routes: the client SSL profile of a Host, and the server SSL profile towards pods."""

from typing import Protocol

from f5router.admission.admission import EvaluatedRoute
from f5router.desired import baseline
from f5router.model import names
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key
from f5router.model.ltm import CertFile, ClientSSL, KeyFile, Object, ServerSSL


class PodTLSSettings(baseline.BaselineSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def default_destination_ca(self) -> str: ...


def client_ssl(folder: str, path: str, host: str, key: Key, key_pair: TLSKeyPair) -> list[Object]:
    """Build the client SSL profile of a Host with its files.

    Args:
        path: full path of the profile.
        key: the Route that brings the certificate.
    """
    # The chain is part of the name: all three files are one generation.
    cert = CertFile(names.cert_file(folder, key, key_pair.certificate), key_pair.certificate)
    private = KeyFile(names.key_file(folder, key, key_pair.public), key_pair.key)
    chain = CertFile(names.chain_file(folder, key, key_pair.chain), key_pair.chain)
    profile = ClientSSL(path, host, cert.path, private.path, chain.path if key_pair.chain else "")
    return [cert, private, *((chain,) if key_pair.chain else ()), profile]


def verifies_name(evaluated: EvaluatedRoute, config: PodTLSSettings) -> bool:
    """True if pods of a Route must carry the name of their Service."""
    default = config.default_destination_ca and not evaluated.destination_ca
    return bool(evaluated.termination == "reencrypt" and default)


def towards_pods(
    evaluated: EvaluatedRoute, service: str, config: PodTLSSettings,
) -> tuple[str, list[Object]]:
    """Build the server SSL profile towards the pods of a Service.

    Returns: the digest of that TLS, and the objects.
    """
    route, folder = evaluated.route, config.folder
    ca, name = evaluated.destination_ca, ""
    if verifies_name(evaluated, config):
        ca, name = config.default_destination_ca, f"{service}.{route.key.namespace}.svc"
    tls = names.digest(f"{ca}\0{name}")
    file = CertFile(names.destination_ca_file(folder, ca), ca) if ca else None
    profile = ServerSSL(names.server_ssl(folder, tls), file.path if file else "", name)
    return tls, [file, profile] if file else [profile]
