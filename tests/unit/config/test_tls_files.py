"""Files for TLS towards clients: which one counts, what is refused, and that no key is shown."""

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from f5router.config import tls_files
from f5router.config.tls_files import TLSPaths
from tests.builders import EPOCH, authority, identity
from tests.hostile_certificates import certificate
from tests.unit.config.loading import config, files, problems

SITE, OTHER = identity("site.example.com"), identity("other.example.com")
SERVICE = identity("router.default.svc", ca="openshift-service-serving-signer@1569341337")


def revocations(ca: str) -> str:
    """Return a list of revoked certificates, without any."""
    issuer, key = authority(ca)
    builder = x509.CertificateRevocationListBuilder().issuer_name(issuer.subject).last_update(EPOCH)
    return builder.next_update(EPOCH + timedelta(days=1)).sign(key, hashes.SHA256()).public_bytes(
        Encoding.PEM).decode()


WHOLE = SITE.key + SITE.certificate + SITE.issuer
DIRECTORY = "/etc/tls"


def pair_of(settings):
    return settings.tls_files.default_certificate


@pytest.mark.parametrize(("texts", "env", "flags", "paths"), [
    pytest.param({}, {"DEFAULT_CERTIFICATE": WHOLE}, {}, TLSPaths(), id="text"),
    pytest.param({}, {}, {"default_certificate": WHOLE}, TLSPaths(), id="flag"),
    pytest.param({"a": WHOLE}, {"DEFAULT_CERTIFICATE_PATH": "/a"}, {}, TLSPaths("/a"), id="path"),
    pytest.param({"etc_tls_tls.crt": WHOLE, "etc_tls_tls.key": OTHER.key},
                 {"DEFAULT_CERTIFICATE_DIR": DIRECTORY}, {},
                 TLSPaths("/etc/tls/tls.crt", "/etc/tls/tls.key", any_issuer=False),
                 id="a key in tls.crt goes before tls.key"),
    pytest.param({"etc_tls_tls.crt": SITE.certificate + SITE.issuer, "etc_tls_tls.key": SITE.key},
                 {}, {"default_certificate_dir": DIRECTORY},
                 TLSPaths("/etc/tls/tls.crt", "/etc/tls/tls.key"), id="directory"),
    pytest.param({"a": OTHER.certificate + OTHER.key},
                 {"DEFAULT_CERTIFICATE": WHOLE, "DEFAULT_CERTIFICATE_PATH": "/a"}, {}, TLSPaths(),
                 id="text before path"),
    pytest.param({"a": WHOLE}, {"DEFAULT_CERTIFICATE_DIR": "/missing", "DEFAULT_CERTIFICATE_PATH": "/a"}, {},
                 TLSPaths("/a"), id="path before directory"),
])
def test_which_one_counts(texts, env, flags, paths):
    settings = config(env, files(**texts), **flags)
    pair = pair_of(settings)
    assert (pair.certificate, pair.chain) == (SITE.certificate, SITE.issuer)
    assert "PRIVATE KEY" in pair.key
    assert settings.tls_paths == paths
    unused = [line for line in settings.warnings if "not used" in line and "DEFAULT_CERTIFICATE" in line]
    assert len(unused) == len(env) + len(flags) - 1


def test_none():
    assert (pair_of(config()), bool(config().tls_paths)) == (None, False)


@pytest.mark.parametrize(("texts", "env", "words"), [
    pytest.param({}, {"DEFAULT_CERTIFICATE": "no PEM"}, "certificate: it is not PEM", id="no PEM"),
    pytest.param({}, {"DEFAULT_CERTIFICATE": SITE.certificate}, "there is no private key in it", id="no key"),
    pytest.param({}, {"DEFAULT_CERTIFICATE": SITE.key}, "certificate: there is no certificate in it",
                 id="no certificate"),
    pytest.param({}, {"DEFAULT_CERTIFICATE": SITE.certificate + OTHER.key},
                 "key: the key does not match the certificate", id="key of another"),
    pytest.param({}, {"DEFAULT_CERTIFICATE_PATH": "/missing"},
                 "cannot read '/missing': No such file or directory", id="no file"),
    pytest.param({"a": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")},
                 {"DEFAULT_CERTIFICATE_PATH": "/a"}, "it is not text in UTF-8", id="no text"),
    pytest.param({}, {"DEFAULT_CERTIFICATE_PATH": WHOLE}, "it must be a path, not the content", id="no path"),
    pytest.param({"etc_tls_tls.crt": SITE.certificate}, {"DEFAULT_CERTIFICATE_DIR": DIRECTORY},
                 "cannot read '/etc/tls/tls.key': No such file or directory", id="no tls.key"),
    pytest.param({"etc_tls_tls.crt": PermissionError(13, "Permission denied", "/etc/tls/tls.crt")},
                 {"DEFAULT_CERTIFICATE_DIR": DIRECTORY},
                 "cannot read '/etc/tls/tls.crt': Permission denied", id="no right"),
])
def test_a_problem_at_start(texts, env, words):
    (problem,) = problems(env, files(**texts))
    (name,) = env
    assert problem.endswith(f"{name}: {words}")
    assert SITE.key.splitlines()[1] not in problem


def test_a_missing_directory_of_the_flag():
    (problem,) = problems({}, files(), default_certificate_dir="/missing")
    assert "cannot read '/missing/tls.crt'" in problem


@pytest.mark.parametrize(("texts", "words"), [
    pytest.param({}, "cannot read '/etc/tls/tls.crt'", id="nothing there"),
    pytest.param({"etc_tls_tls.crt": SERVICE.certificate, "etc_tls_tls.key": SERVICE.key},
                 "OpenShift made for a Service", id="certificate of the router's Service"),
])
def test_a_directory_that_oc_adm_router_set(texts, words):
    """The stock deployment of an F5 router has the variable, although nobody asked for another default."""
    env = {"DEFAULT_CERTIFICATE_DIR": DIRECTORY}
    settings = config(env, files(**texts))
    assert pair_of(settings) is None
    assert [words in line for line in settings.warnings if "DEFAULT_CERTIFICATE_DIR" in line] == [True]
    assert settings.tls_paths, "it may come later"


def test_a_directory_with_a_certificate_whose_issuer_does_not_parse():
    """It is nobody's whose name is known, and so not one that OpenShift made."""
    pair = certificate(b"\x00a", kind=0x03)
    settings = config({"DEFAULT_CERTIFICATE_DIR": DIRECTORY},
                      files(**{"etc_tls_tls.crt": pair.certificate, "etc_tls_tls.key": pair.key}))
    assert pair_of(settings) is not None


def test_the_flag_means_what_it_names():
    texts = files(**{"etc_tls_tls.crt": SERVICE.certificate, "etc_tls_tls.key": SERVICE.key})
    assert pair_of(config({}, texts, default_certificate_dir=DIRECTORY)).certificate == SERVICE.certificate


def test_no_key_is_shown():
    settings = config({"DEFAULT_CERTIFICATE": WHOLE})
    lines = [*SITE.key.splitlines()[1:-1], *pair_of(settings).key.splitlines()[1:-1]]
    for text in (repr(settings), str(settings.redacted())):
        assert not [line for line in lines if line in text]


def test_reasons_hold_no_content():
    for exc in (OSError(5, "Input/output error", "/a"), UnicodeDecodeError("utf-8", b"\xffKEY", 0, 1, "bad")):
        assert "KEY" not in tls_files.reason(exc)


CA = {"ROUTER_MUTUAL_TLS_AUTH": "required", "ROUTER_MUTUAL_TLS_AUTH_CA": "/ca"}
CRL = {"ROUTER_MUTUAL_TLS_AUTH": "required", "ROUTER_MUTUAL_TLS_AUTH_CRL": "/crl"}


def test_authorities_and_revoked_certificates():
    lists = revocations("Example CA") + revocations("Other CA")
    settings = config({**CA, **CRL, "DEFAULT_CERTIFICATE": WHOLE},
                      files(ca=SITE.issuer + "text", crl=f"text\n{lists}"))
    assert settings.tls_files.client_ca == SITE.issuer
    assert settings.tls_files.client_crl == lists
    assert settings.tls_paths == TLSPaths(client_ca="/ca", client_crl="/crl")
    again = settings.tls_paths.read(files(ca=OTHER.issuer, crl=lists), settings.tls_files)
    assert again == settings.tls_files, "also the certificate that is in no file"
    shown = settings.redacted()["tls_files"]
    assert shown == {"default_certificate": "***", "client_ca": 1, "client_crl": 2}


@pytest.mark.parametrize(("env", "texts", "words"), [
    (CA, {}, "ROUTER_MUTUAL_TLS_AUTH_CA: cannot read '/ca'"),
    (CA, {"ca": "x"}, "authorities: it is not PEM"),
    (CA, {"ca": SITE.key}, "authorities: there is no certificate in it"),
    (CRL, {"crl": SITE.issuer}, "ROUTER_MUTUAL_TLS_AUTH_CRL: there is no list of revoked certificates in it"),
    (CRL, {"crl": "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----"}, "does not parse"),
])
def test_problems_with_them(env, texts, words):
    (problem,) = problems(env, files(**texts))
    assert words in problem
