"""TLS for metrics and health, of the settings: certificate, key, oldest version and ciphers.

Source: openshift/router, makeTLSConfig: both files together.
"""

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from f5router.config import files
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.kube.api.memory_files import MemoryFiles

CERT, KEY = "metrics-tls-cert-file", "metrics-tls-key-file"
MINIMUM, CIPHERS = "metrics-tls-min-version", "metrics-tls-ciphers"
LOWEST = "1.2"
"""Below it OpenSSL 3 has no cipher left at its own level of security."""

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_AES = re.compile(r"AES-(128|256)(?:-CBC)?")


@dataclass(frozen=True, slots=True)
class TLS:
    """Settings of TLS."""

    cert_file: str
    """Path of the certificate and its chain, PEM."""
    key_file: str
    minimum: str = LOWEST
    """Oldest version: "1.2" or "1.3"."""
    ciphers: str = ""
    """OpenSSL's names with colons between, for TLS 1.2; "" for its own choice."""


@dataclass(frozen=True, slots=True)
class ServingKeyPair:
    """Content of both files."""

    certificate: bytes
    key: bytes = field(repr=False)


def load(reader: Reader) -> TLS | None:
    """Return the settings of TLS; None without TLS, and after a problem."""
    given = [name for name in (CERT, KEY) if reader.text(name)]
    if len(given) == 1:
        reader.problem("certificate and key must both be set, or neither", CERT, KEY)
    minimum, ciphers = _limits(reader)
    if len(given) < 2:
        for name in (MINIMUM, CIPHERS):
            if not given and reader.text(name) != OPTIONS[name].default:
                reader.warn(f"not used: there is no {OPTIONS[CERT].label}", name)
        return None
    tls = TLS(reader.text(CERT), reader.text(KEY), minimum, ciphers)
    certificates, key = files.certificates(reader, CERT), reader.read(KEY)
    if key is None or not files.parsed_key(reader, KEY, key) or not certificates:
        return None
    try:
        context(tls, read(tls))
    except OSError as exc:
        reader.problem(reason(exc), CERT, KEY)
    return tls


def _limits(reader: Reader) -> tuple[str, str]:
    """Return the oldest version, and the ciphers of TLS 1.2."""
    minimum = reader.value(MINIMUM)
    if minimum < LOWEST:
        reader.warn(f"TLS {LOWEST} is the minimum", MINIMUM)
        minimum = LOWEST
    names = [_openssl(name) for name in re.split(r"[:,\s]+", reader.text(CIPHERS)) if name]
    served = _served() if names else {}
    if unknown := [name for name in names if name not in served]:
        reader.warn(f"left out, OpenSSL does not serve them: {', '.join(unknown)}", CIPHERS)
    old = [name for name in names if served.get(name, "TLSv1.3") != "TLSv1.3"]
    if names and len(unknown) == len(names):
        reader.problem("OpenSSL serves none of them", CIPHERS)
    elif names and not old:
        minimum = "1.3"
    return minimum, ":".join(dict.fromkeys(old))


def _served() -> dict[str, str]:
    """Map OpenSSL's name of each cipher for certificates to the version that brought it."""
    probe = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    probe.set_ciphers("ALL:!aNULL:!eNULL:!PSK:!SRP")
    return {cipher["name"]: cipher["protocol"] for cipher in probe.get_ciphers()}


def _openssl(name: str) -> str:
    """Return OpenSSL's name of a cipher, also for IANA's names: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."""
    exchange, separator, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not separator:
        return name
    cipher = _AES.sub(r"AES\1", cipher.replace("_", "-")).replace("POLY1305-SHA256", "POLY1305")
    return cipher if exchange == "RSA" else f"{exchange.replace('_', '-')}-{cipher}"


def read(tls: TLS) -> ServingKeyPair:
    """Raises: OSError: see reason."""
    return ServingKeyPair(Path(tls.cert_file).read_bytes(), Path(tls.key_file).read_bytes())


def context(tls: TLS, pair: ServingKeyPair) -> ssl.SSLContext:
    """Build the TLS context of connections with this certificate. Raises: ssl.SSLError: see reason."""
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls_context.minimum_version = _VERSIONS[tls.minimum]
    tls_context.options |= ssl.OP_NO_RENEGOTIATION
    if tls.ciphers:
        tls_context.set_ciphers(tls.ciphers)
    files = MemoryFiles()  # those of the settings may have changed since they were read
    # The password keeps OpenSSL from asking for one at the terminal.
    tls_context.load_cert_chain(files.path(pair.certificate), files.path(pair.key), password=lambda: "none")
    return tls_context


def reason(exc: OSError) -> str:
    """Return why files cannot be used, without their content."""
    if not isinstance(exc, ssl.SSLError):
        return f"a file cannot be read: {exc.strerror or type(exc).__name__}"
    if exc.reason == "KEY_VALUES_MISMATCH":
        return "the key does not match the certificate"
    return f"OpenSSL refuses them: {(exc.reason or 'unknown').lower().replace('_', ' ')}"
