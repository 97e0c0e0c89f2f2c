"""Certificate files for metrics and health over TLS."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from f5router.monitoring.connections import TLS
from tests import builders

ONE, TWO = (builders.identity("metrics.svc", serial=number, algorithm="rsa") for number in (1, 2))


def write(tls: TLS, identity: builders.Identity) -> None:
    Path(tls.cert_file).write_text(identity.certificate)
    Path(tls.key_file).write_text(identity.key)


def encrypted(key: str) -> str:
    return load_pem_private_key(key.encode(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")).decode()


@pytest.fixture
def files(tmp_path) -> TLS:
    tls = TLS(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    write(tls, ONE)
    return tls
