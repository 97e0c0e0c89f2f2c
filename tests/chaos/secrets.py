"""Certificates of the Routes, made once in a process."""

import base64

from tests.builders import Identity, identity

PAIRS: tuple[Identity, ...] = tuple(identity("*.example.com", serial=serial) for serial in range(91, 94))


def tls_secret(namespace: str, pair: Identity) -> dict:
    """The Secret that Ingresses and IngressRoutes of a namespace name."""
    return {
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"namespace": namespace, "name": "pair"},
        "data": {f"tls.{name}": base64.b64encode(text.encode()).decode()
                 for name, text in (("crt", pair.certificate), ("key", pair.key))},
    }
