"""Files for TLS towards clients: read at start and, if they change, while the router runs.

Source: openshift/router, pkg/router/template/router.go: writeDefaultCert, secretToPem, watchMutualTLSCert.
"""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from f5router.admission import pem
from f5router.config.files import FileProblem
from f5router.config.reader import Reader
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
    """Where the files are; "" for none."""

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


def load(reader: Reader) -> tuple[TLSFiles, TLSPaths]:
    """Return what the files hold at start, and where those are that may change."""
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
