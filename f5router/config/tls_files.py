"""Files for TLS towards clients, metrics and health: read at start and when they change.

Source: openshift/router, pkg/router/template/router.go: writeDefaultCert, secretToPem, watchMutualTLSCert.

Source: openshift/router, makeTLSConfig: both files together.
"""

import posixpath
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from f5router.admission import pem
from f5router.config import files
from f5router.config.files import FileProblem
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.kube.api.memory_files import MemoryFiles
from f5router.model.client_tls import TLSFiles, TLSKeyPair
from f5router.model.limits import finish

TEXT, PATH, DIRECTORY = "default-certificate", "default-certificate-path", "default-certificate-dir"
CA, CRL = "mutual-tls-auth-ca", "mutual-tls-auth-crl"
_CRL = re.compile("-----BEGIN X509 CRL-----.*?-----END X509 CRL-----", re.DOTALL)
SERVICE_SIGNER = "openshift-service-serving-signer@"
"""Beginning of the name of the authority for certificates of Services. `oc adm router` mounts one of these
whatever the administrator wants, also for routers in front of which an F5 stands.
Source: openshift/origin v3.11.0, pkg/oc/cli/admin/router/router.go: generateSecretsConfig."""

ReadFile = Callable[[str], str]
"""Returns the text of a path. Raises: OSError; UnicodeDecodeError."""


class OfService(pem.PEMError):
    """A certificate that OpenShift made for a Service."""


@dataclass(frozen=True, slots=True)
class TLSPaths:
    """Paths of the files; "" for none."""

    certificate: str = ""
    key: str = ""
    """Read only if the file of the certificate holds no key."""
    any_issuer: bool = True
    """False: a certificate that OpenShift made for a Service is not used."""
    client_ca: str = ""
    client_crl: str = ""

    def __bool__(self) -> bool:
        return bool(self.certificate or self.client_ca or self.client_crl)

    def read(self, read_file: ReadFile, before: TLSFiles) -> TLSFiles:
        """Read and check all files.

        Args: before: has what is in no file.
        Raises: OSError; ValueError: without their content in the message.
        """
        return TLSFiles(
            self._default_certificate(read_file) if self.certificate else before.default_certificate,
            authorities(read_file(self.client_ca)) if self.client_ca else "",
            revocations(read_file(self.client_crl)) if self.client_crl else "")

    def _default_certificate(self, read_file: ReadFile) -> TLSKeyPair:
        text = read_file(self.certificate)
        if self.key and "PRIVATE KEY-----" not in text:
            text = f"{text}\n{read_file(self.key)}"
        pair = key_pair(text)
        if not self.any_issuer and _is_of_service(pair):
            raise OfService(
                "it is a certificate that OpenShift made for a Service, which no client outside the cluster "
                "trusts; the virtual server's own stays the default (use the flag to show it all the same)")
        return pair


def key_pair(text: str) -> TLSKeyPair:
    """Return certificate, chain and key in a text. Raises: PEMError: without any of it in the message."""
    certs = finish(pem.certificates(text, "certificate"))
    keys = finish(pem.keys(text, "key", only=False))
    if not keys:
        raise pem.PEMError("there is no private key in it")
    try:
        return finish(pem.key_pair(certs, keys[0], []))
    except pem.PEMError as exc:
        raise pem.PEMError(str(exc).removeprefix("spec.tls.")) from None


def authorities(text: str) -> str:
    """Return the certificates in a text, re-encoded. Raises: PEMError."""
    return finish(pem.encode(finish(pem.certificates(text, "authorities"))))


def revocations(text: str) -> str:
    """Return the lists of revoked certificates in a text, re-encoded. Raises: PEMError."""
    blocks = _CRL.findall(text)
    try:
        lists = [x509.load_pem_x509_crl(block.encode()).public_bytes(Encoding.PEM) for block in blocks]
    except ValueError:
        raise pem.PEMError("a list of revoked certificates does not parse") from None
    if not lists:
        raise pem.PEMError("there is no list of revoked certificates in it")
    return b"".join(lists).decode()


def _is_of_service(pair: TLSKeyPair) -> bool:
    names = pem.common_names(x509.load_pem_x509_certificate(pair.certificate.encode()), "issuer")
    return any(name.startswith(SERVICE_SIGNER) for name in names)


def load_tls_files(reader: Reader) -> tuple[TLSFiles, TLSPaths]:
    """Return the contents of the files at start, and the paths of the files that may change."""
    files, paths = _load_default(reader)
    if reader.text("mutual-tls-auth") == "none":
        return files, paths
    ca, crl = TLSPaths(client_ca=reader.text(CA)), TLSPaths(client_crl=reader.text(CRL))
    trusted = _checked(reader, CA, lambda: ca.read(reader.read_file, TLSFiles()), None)
    revoked = _checked(reader, CRL, lambda: crl.read(reader.read_file, TLSFiles()), None)
    return (replace(files, client_ca=trusted.client_ca, client_crl=revoked.client_crl),
            replace(paths, client_ca=ca.client_ca, client_crl=crl.client_crl))


def _load_default(reader: Reader) -> tuple[TLSFiles, TLSPaths]:
    """Return the default certificate, and where it may change."""
    name = next((name for name in (TEXT, PATH, DIRECTORY) if reader.text(name)), "")
    for unused in (PATH, DIRECTORY):
        if unused != name and reader.text(unused):
            reader.warn(f"not used: --{name} takes precedence", unused)
    if not name:
        return TLSFiles(), TLSPaths()
    text = reader.text(name)
    if name == TEXT:
        return _checked(reader, name, lambda: TLSFiles(key_pair(text)), None), TLSPaths()
    paths = TLSPaths(text) if name == PATH else TLSPaths(
        posixpath.join(text, "tls.crt"), posixpath.join(text, "tls.key"), any_issuer=reader.from_flag(name))
    return _checked(reader, name, lambda: paths.read(reader.read_file, TLSFiles()), paths), paths


def _checked(reader: Reader, name: str, read: Callable[[], TLSFiles], paths: TLSPaths | None) -> TLSFiles:
    """Read the files; a directory in which `oc adm router` left nothing to use is only a warning."""
    if name != TEXT and ("\n" in reader.text(name) or "-----BEGIN" in reader.text(name)):
        reader.problem("it must be a path, not the content", name)
        return TLSFiles()
    try:
        return read()
    except (OSError, ValueError) as exc:
        absent = isinstance(exc, FileNotFoundError) and paths and exc.filename == paths.certificate
        harmless = paths and not paths.any_issuer and (absent or isinstance(exc, OfService))
        (reader.warn if harmless else reader.problem)(reason(exc), name)
    return TLSFiles()


def reason(exc: OSError | ValueError) -> str:
    """Return why files cannot be used, without their content."""
    if isinstance(exc, OSError):
        return f"cannot read {exc.filename!r}: {exc.strerror or type(exc).__name__}"
    return str(exc) if isinstance(exc, pem.PEMError | FileProblem) else "it is not text in UTF-8"


METRICS_CERT, METRICS_KEY = "metrics-tls-cert-file", "metrics-tls-key-file"
METRICS_MINIMUM, METRICS_CIPHERS = "metrics-tls-min-version", "metrics-tls-ciphers"
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


def load_metrics_tls(reader: Reader) -> TLS | None:
    """Return the settings of TLS; None without TLS, and after a problem."""
    given = [name for name in (METRICS_CERT, METRICS_KEY) if reader.text(name)]
    if len(given) == 1:
        reader.problem("certificate and key must both be set, or neither", METRICS_CERT, METRICS_KEY)
    minimum, ciphers = _limits(reader)
    if len(given) < 2:
        for name in (METRICS_MINIMUM, METRICS_CIPHERS):
            if not given and reader.text(name) != OPTIONS[name].default:
                reader.warn(f"not used: there is no {OPTIONS[METRICS_CERT].label}", name)
        return None
    tls = TLS(reader.text(METRICS_CERT), reader.text(METRICS_KEY), minimum, ciphers)
    certificates, key = files.certificates(reader, METRICS_CERT), reader.read(METRICS_KEY)
    if key is None or not files.parsed_key(reader, METRICS_KEY, key) or not certificates:
        return None
    try:
        context(tls, read(tls))
    except OSError as exc:
        reader.problem(metrics_reason(exc), METRICS_CERT, METRICS_KEY)
    return tls


def _limits(reader: Reader) -> tuple[str, str]:
    """Return the oldest version, and the ciphers of TLS 1.2."""
    minimum = reader.value(METRICS_MINIMUM)
    if minimum < LOWEST:
        reader.warn(f"TLS {LOWEST} is the minimum", METRICS_MINIMUM)
        minimum = LOWEST
    names = [_openssl(name) for name in re.split(r"[:,\s]+", reader.text(METRICS_CIPHERS)) if name]
    served = _served() if names else {}
    if unknown := [name for name in names if name not in served]:
        reader.warn(f"left out, OpenSSL does not serve them: {', '.join(unknown)}", METRICS_CIPHERS)
    old = [name for name in names if served.get(name, "TLSv1.3") != "TLSv1.3"]
    if names and len(unknown) == len(names):
        reader.problem("OpenSSL serves none of them", METRICS_CIPHERS)
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


def metrics_reason(exc: OSError) -> str:
    """Return why files cannot be used, without their content."""
    if not isinstance(exc, ssl.SSLError):
        return f"a file cannot be read: {exc.strerror or type(exc).__name__}"
    if exc.reason == "KEY_VALUES_MISMATCH":
        return "the key does not match the certificate"
    return f"OpenSSL refuses them: {(exc.reason or 'unknown').lower().replace('_', ' ')}"


def load_metrics_login(reader: Reader) -> tuple[str, str] | None:
    """Return user name and password, None where neither is set; one alone is a problem."""
    user, password = ("stats-user", "stats-user-file"), ("stats-password", "stats-password-file")
    if not any(reader.text(name) for name in (*user, *password)):
        return None
    return (files.sourced(reader, "the user for the metrics", user[0], {user[1]: ""})[0],
            files.sourced(reader, "the password for the metrics", password[0], {password[1]: ""})[0])
