"""Names of certificate and key files on the BIG-IP; ownership.owns_path knows them."""

from f5router.model import names
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key, Route


def certificate_key(route: Route) -> Key:
    """Return the namespace and the name in the names of the files with a Route's certificate.

    Those of a virtual Route are in the namespace that holds its Host, whatever pods it leads to, and all
    that are of one kind and name one Secret share them.
    """
    if route.origin is None or route.tls_secret is None:
        return route.key
    secret = route.tls_secret
    return Key(route.claim_namespace, names.virtual_route(route.origin.kind, secret.name, str(secret)))


def cert_file(folder: str, key: Key, content: str) -> str:
    """Return the full path of a Route's certificate file."""
    return names.full_path(folder, f"{names.route(key)}-https-cert-{names.digest(content)}.crt")


def key_file(folder: str, key: Key, public: str) -> str:
    """Return the full path of a Route's key file, named after the public key to reveal no secret."""
    return names.full_path(folder, f"{names.route(key)}-https-key-{names.digest(public)}.key")


def client_ca_file(folder: str, content: str) -> str:
    """Return the full path of the file with the authorities for client certificates."""
    return names.full_path(folder, f"openshift_client-https-cabundle-{names.digest(content)}.crt")


def crl_file(folder: str, content: str) -> str:
    """Return the full path of the file with the lists of revoked client certificates."""
    return names.full_path(folder, f"openshift_client-https-crl-{names.digest(content)}.crl")


def default_files(folder: str, pair: TLSKeyPair) -> tuple[str, str, str]:
    """Return the full paths of certificate, key and chain of the default certificate."""
    return (names.full_path(folder, f"{names.DEFAULT_STEM}-https-cert-{names.digest(pair.certificate)}.crt"),
            names.full_path(folder, f"{names.DEFAULT_STEM}-https-key-{names.digest(pair.public)}.key"),
            names.full_path(folder, f"{names.DEFAULT_STEM}-https-chain-{names.digest(pair.chain)}.crt"))


def chain_file(folder: str, key: Key, content: str) -> str:
    """Return the full path of the file with the rest of a Route's certificate chain."""
    return names.full_path(folder, f"{names.route(key)}-https-chain-{names.digest(content)}.crt")


def destination_ca_file(folder: str, content: str) -> str:
    """Return the full path of a CA file for pods; Routes with one CA share it."""
    return names.full_path(folder, f"openshift_tls-https-cabundle-{names.digest(content)}.crt")
