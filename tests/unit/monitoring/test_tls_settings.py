"""Settings of metrics and health over TLS."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from f5router.config import config
from f5router.model.errors import ConfigError
from f5router.monitoring.connections import TLS
from tests import builders
from tests.unit.monitoring.conftest import ONE, TWO, encrypted, write

RSA = "ECDHE-RSA-AES128-GCM-SHA256"
HOST = "ROUTER_EXTERNAL_HOST_"
ENV = {HOST + "HOSTNAME": "b", HOST + "USERNAME": "u", HOST + "PASSWORD": "word"}
CERT, KEY = "ROUTER_METRICS_TLS_CERT_FILE", "ROUTER_METRICS_TLS_KEY_FILE"
MINIMUM, CIPHERS = "ROUTER_METRICS_TLS_MIN_VERSION", "ROUTER_METRICS_TLS_CIPHERS"
BOTH = "--metrics-tls-cert-file / ROUTER_METRICS_TLS_CERT_FILE, --metrics-tls-key-file / " + KEY + ": "


def variables(tls: TLS, **more: str) -> dict[str, str]:
    return {**ENV, CERT: tls.cert_file, KEY: tls.key_file, **more}


def problems(env: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        config.load({}, env)
    return caught.value.problems


def test_without_files_there_is_no_tls():
    assert config.load({}, ENV).metrics_tls is None


def test_both_files(files):
    """By variable, and by flag; limits as they are without settings."""
    assert config.load({}, variables(files)).metrics_tls == files
    flags = {"metrics-tls-cert-file": files.cert_file, "metrics-tls-key-file": files.key_file}
    assert config.load(flags, ENV | {CERT: "/none", KEY: "/none"}).metrics_tls == files


@pytest.mark.parametrize("name", [CERT, KEY])
def test_one_file_is_a_problem(files, name):
    env = variables(files)
    del env[name]
    assert problems(env) == (BOTH + "certificate and key must both be set, or neither",)


NO_FILE = ("cannot read '{path}': No such file or directory; mount the volume with it, or leave the variable "
           "out")
NO_CERTIFICATE = "there is no certificate, or one that does not parse, in '{path}'"


@pytest.mark.parametrize(("which", "text", "label", "words"), [
    (CERT, None, CERT, NO_FILE), (KEY, None, KEY, NO_FILE),
    (CERT, b"\xff\xfe", CERT, "cannot read '{path}': it is not text in UTF-8"),
    (CERT, b"", CERT, NO_CERTIFICATE),
    (CERT, ONE.certificate[:300].encode(), CERT, NO_CERTIFICATE),
    (CERT, ONE.key.encode(), CERT, NO_CERTIFICATE),
    (KEY, b"", KEY, "'{path}' is not a private key in PEM form"),
    (KEY, ONE.certificate.encode(), KEY, "'{path}' is not a private key in PEM form"),
    (KEY, encrypted(ONE.key).encode(), KEY, "the key in '{path}' has a passphrase; give one without"),
    (KEY, TWO.key.encode(), "", "the key does not match the certificate"),
], ids=["no certificate", "no key", "binary", "empty certificate", "cut off", "key for certificate",
        "empty key", "certificate for key", "passphrase", "another's key"])
def test_bad_files(files, which, text, label, words):
    """One problem, that names flag, variable and file."""
    path = Path({CERT: files.cert_file, KEY: files.key_file}[which])
    path.unlink() if text is None else path.write_bytes(text)
    (problem,) = problems(variables(files))
    label = f"--{label[7:].lower().replace('_', '-')} / {label}: " if label else BOTH
    assert problem == label + words.format(path=path)


def test_files_in_the_place_of_paths():
    """A key is not repeated."""
    texts = problems({**ENV, CERT: ONE.certificate, KEY: ONE.key})
    assert all("it must be the path of a file" in problem for problem in texts)
    assert ONE.key.splitlines()[1] not in "".join(texts)


def test_a_key_that_openssl_finds_too_weak(files):
    """OpenSSL's own reason, at start."""
    weak = rsa.generate_private_key(65537, 1024)
    cert = builders.signed("weak", weak.public_key(), "weak", weak)
    write(files, builders.Identity(cert.public_bytes(Encoding.PEM).decode(), weak.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()))
    assert problems(variables(files)) == (BOTH + "OpenSSL refuses them: ee key too small",)



OLD = "TLS 1.2 is the minimum"


@pytest.mark.parametrize(("more", "expected", "warning"), [
    ({}, ("1.2", ""), None),
    ({MINIMUM: "TLSv1.2"}, ("1.2", ""), None),
    ({MINIMUM: "TLSv1.3"}, ("1.3", ""), None),
    ({MINIMUM: "VersionTLS13"}, ("1.3", ""), None),
    ({MINIMUM: "VersionTLS10"}, ("1.2", ""), OLD),
    ({MINIMUM: "1.1"}, ("1.2", ""), OLD),
    ({CIPHERS: RSA}, ("1.2", RSA), None),
    ({CIPHERS: f"TLS_AES_128_GCM_SHA256:{RSA}:AES128-SHA"}, ("1.2", f"{RSA}:AES128-SHA"), None),
    ({CIPHERS: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_256_CBC_SHA256, "
               "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
     ("1.2", f"{RSA}:AES256-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"), None),
    ({CIPHERS: f"DES-CBC3-SHA:{RSA}:ADH-AES128-SHA:HIGH"}, ("1.2", RSA),
     "left out, OpenSSL does not serve them: DES-CBC3-SHA, ADH-AES128-SHA, HIGH"),
    ({CIPHERS: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"}, ("1.3", ""), None),
], ids=lambda value: ",".join(value.values()) if isinstance(value, dict) else "")
def test_limits(files, more, expected, warning):
    """Upstream's names of versions and ciphers, HAProxy's and IANA's; what cannot be is said."""
    settings = config.load({}, variables(files, **more))
    assert (settings.metrics_tls.minimum, settings.metrics_tls.ciphers) == expected
    warnings = [text.partition(": ")[2] for text in settings.warnings if "-tls-" in text]
    assert warnings == ([warning] if warning else [])


def test_ciphers_that_nobody_knows(files):
    """Never OpenSSL's choice in their place."""
    assert problems(variables(files, **{CIPHERS: "x:y"})) == (
        f"--metrics-tls-ciphers / {CIPHERS}: OpenSSL serves none of them",)


def test_limits_without_files():
    """Nothing that is set is ignored in silence."""
    settings = config.load({}, ENV | {CIPHERS: RSA, MINIMUM: "TLSv1.3"})
    told = [text for text in settings.warnings if "not used: there is no --metrics-tls-cert-file" in text]
    assert [text.split(" ")[0] for text in told] == ["--metrics-tls-min-version", "--metrics-tls-ciphers"]
