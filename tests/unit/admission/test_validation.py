"""Accepted and refused values of spec.tls, with the source of each row.

Upstream is openshift/router, routeapihelpers/validation_test.go: TestExtendedValidateRoute, by the names
of its rows; and validation.go, where it has no row. Fields are those of the problems, in order.
Longer than other modules: the table follows upstream's row by row.
"""

import datetime
import functools

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from f5router.admission import admission, issuers, pem, validation
from f5router.model.limits import finish
from tests.builders import authority, identity, route
from tests.rows import rows

CERT, KEY, CA, DEST = "certificate", "key", "caCertificate", "destinationCACertificate"
POLICY, TERMINATION = "insecureEdgeTerminationPolicy", "termination"
ID, OTHER, FAR = identity(algorithm="rsa"), identity(serial=1), identity(ca="Elsewhere")
EXPIRED = identity(expired=True)
DAY = datetime.timedelta(days=1)


def text(cert: x509.Certificate) -> str:
    return cert.public_bytes(serialization.Encoding.PEM).decode()


def key_text(key, form=serialization.PrivateFormat.PKCS8, encryption=None) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, form, encryption or serialization.NoEncryption()
    ).decode()


@functools.cache
def signed(
    subject="www.example.com", issuer="Example CA", *, future=False, usage=None, ids=("", ""), rsa_key=False
):
    """A certificate and its key, signed by the CA of that name; ids: subject and authority key identifier."""
    key = rsa.generate_private_key(65537, 2048) if rsa_key else ec.generate_private_key(ec.SECP256R1())
    own = subject == issuer
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + (DAY * 5000 if future else -DAY)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(begin)
        .not_valid_after(begin + DAY * 9)
    )
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if ids[0]:
        builder = builder.add_extension(x509.SubjectKeyIdentifier(ids[0].encode()), critical=False)
    if ids[1]:
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier(ids[1].encode(), None, None), critical=False
        )
    return builder.sign(key if own else authority(issuer)[1], hashes.SHA256()), key


def pair(*args, **options) -> dict[str, str]:
    cert, key = signed(*args, **options)
    return {"certificate": text(cert), "key": key_text(key)}


ROOT = "Root of RSA"


RSA_SHA256, RSA = bytes.fromhex("06092a864886f70d01010b"), bytes.fromhex("06092a864886f70d0101")


def old(kind: str, subject: str = "www.example.com", ids=("", "")) -> dict[str, str]:
    """A pair that says it has an outdated RSA signature; self-signed where the subject is the issuer's."""
    cert, key = rsa_issued(subject, ids)
    der = cert.public_bytes(serialization.Encoding.DER)
    last = {"SHA1": b"\x05", "MD5": b"\x04", "MD2": b"\x02"}[kind]
    certificate = x509.load_der_x509_certificate(der.replace(RSA_SHA256, RSA + last))
    return {"certificate": text(certificate), "key": key_text(key)}


@functools.cache
def rsa_issued(subject: str, ids):
    key = identity_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, ROOT)]))
        .public_key(key.public_key())
        .serial_number(8)
        .not_valid_before(datetime.datetime(2026, 1, 1))
        .not_valid_after(datetime.datetime(2036, 1, 1))
    )
    if ids[0]:
        builder = builder.add_extension(x509.SubjectKeyIdentifier(ids[0].encode()), critical=False)
    if ids[1]:
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier(ids[1].encode(), None, None), critical=False
        )
    return builder.sign(key, hashes.SHA256()), key


@functools.cache
def identity_key():
    return rsa.generate_private_key(65537, 2048)


@functools.cache
def with_intermediate() -> dict[str, str]:
    """A leaf of an intermediate of Example CA, and both CAs."""
    root, _ = authority("Example CA")
    middle, middle_key = signed("Middle", "Example CA")
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    leaf = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")]))
        .issuer_name(middle.subject)
        .public_key(leaf_key.public_key())
        .serial_number(9)
        .not_valid_before(datetime.datetime(2026, 1, 1))
        .not_valid_after(datetime.datetime(2036, 1, 1))
        .sign(middle_key, hashes.SHA256())
    )
    return {"certificate": text(leaf), "key": key_text(leaf_key), "middle": text(middle), "root": text(root)}


def chain(*parts: str) -> dict[str, str]:
    """The leaf with an intermediate in the certificate or in the CA, and the root."""
    certificates = with_intermediate()
    return {
        "certificate": certificates["certificate"] + (certificates["middle"] if "leaf" in parts else ""),
        "key": certificates["key"],
        "ca_certificate": "".join(certificates[name] for name in parts if name != "leaf"),
    }


SELF = {"certificate": ID.issuer, "key": key_text(authority("Example CA")[1])}
PUBLIC = (
    signed()[1]
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
PARAMETERS = "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIQ==\n-----END EC PARAMETERS-----\n"
CSR = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
UNRECOGNIZED = "-----BEGIN UNRECOGNIZED-----\n-----END UNRECOGNIZED-----\n"
MALFORMED = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
BAGS = "Bag Attributes\n    friendlyName: LeafCert\nsubject=CN=LeafCert\n"
FULL = {**ID.tls, "ca_certificate": ID.issuer}
MATCHING = signed(rsa_key=True)

ROWS = [
    ("No TLS Termination", "", {"tls": True}, [TERMINATION]),
    ("Passthrough termination OK", "passthrough", {}, []),
    (
        "Reencrypt termination OK with certs",
        "reencrypt",
        {**FULL, "destination_ca_certificate": ID.issuer},
        [],
    ),
    (
        "Reencrypt termination OK with bad config",
        "reencrypt",
        {"certificate": "def", "key": "ghi", "ca_certificate": "jkl", "destination_ca_certificate": "abc"},
        [CA, CERT, DEST],
    ),
    ("Reencrypt termination OK without certs", "reencrypt", {"destination_ca_certificate": ID.issuer}, []),
    (
        "Reencrypt termination bad config without certs",
        "reencrypt",
        {"destination_ca_certificate": "abc"},
        [DEST],
    ),
    ("Reencrypt termination no dest cert", "reencrypt", FULL, []),
    ("Edge termination OK with certs", "edge", FULL, []),
    (
        "Edge termination bad config with certs",
        "edge",
        {"certificate": "abc", "key": "abc", "ca_certificate": "abc"},
        [CA, CERT],
    ),
    ("Edge termination mismatched key and cert", "edge", {**FULL, "key": OTHER.key}, [KEY]),
    ("Edge termination cert with unknown CA", "edge", ID.tls, []),
    (
        "Edge termination expired cert with unknown CA and diff host",
        "edge",
        identity("think.different.test", expired=True).tls,
        [],
    ),
    ("Edge termination cert mismatched CA", "edge", {**FAR.tls, "ca_certificate": ID.issuer}, [CERT]),
    (
        "Edge termination mismatched key and cert with unrelated CA",
        "edge",
        {"certificate": FAR.certificate, "key": ID.key, "ca_certificate": ID.issuer},
        [CERT, KEY],
    ),
    ("Edge termination OK without certs", "edge", {}, []),
    ("Edge termination, dest cert", "edge", {"destination_ca_certificate": ID.issuer}, [DEST]),
    ("Passthrough termination, cert", "passthrough", {"certificate": "test"}, [CERT]),
    ("Passthrough termination, key", "passthrough", {"key": "test"}, [KEY]),
    ("Passthrough termination, ca cert", "passthrough", {"ca_certificate": "test"}, [CA]),
    ("Passthrough termination, dest ca cert", "passthrough", {"destination_ca_certificate": "test"}, [DEST]),
    ("Invalid termination type", "invalid", {}, [TERMINATION]),
    (
        "Double escaped newlines",
        "reencrypt",
        {
            "certificate": "d\\nef",
            "key": "g\\nhi",
            "ca_certificate": "j\\nkl",
            "destination_ca_certificate": "j\\nkl",
        },
        [CA, CERT, DEST],
    ),
    ("expired cert edge", "edge", {**EXPIRED.tls, "ca_certificate": EXPIRED.issuer}, []),
    (
        "expired cert reencrypt",
        "reencrypt",
        {**EXPIRED.tls, "ca_certificate": EXPIRED.issuer, "destination_ca_certificate": ID.issuer},
        [],
    ),
    ("Expired cert invalid key", "edge", {"certificate": EXPIRED.certificate}, [KEY]),
    ("Expired cert mismatched key", "edge", {"certificate": EXPIRED.certificate, "key": ID.key}, [KEY]),
    (
        "Expired cert invalid key reencrypt",
        "reencrypt",
        {"certificate": EXPIRED.certificate, "destination_ca_certificate": EXPIRED.certificate},
        [KEY],
    ),
    (
        "Expired cert with a different route host",
        "edge",
        {**identity("think.different.test", expired=True).tls, "ca_certificate": ID.issuer},
        [],
    ),
    ("self-signed cert", "reencrypt", {**SELF, "destination_ca_certificate": ID.issuer}, []),
    ("self-signed cert with different host", "edge", SELF, []),
    ("self-signed, its own CA: validation.go, Verify", "edge", {**SELF, "ca_certificate": ID.issuer}, []),
    ("future validity date 2038 cert", "edge", pair(future=True), []),
    (
        "future validity date 2038 cert with whitespace",
        "edge",
        {name: f"\n\t\n\t\n{pem}\n\n\n" for name, pem in pair(future=True).items()},
        [],
    ),
    ("cert with intermediate CA", "edge", chain("middle", "root"), []),
    ("cert with intermediate CA in the certificate: RFC 5246 7.4.2", "edge", chain("leaf", "root"), []),
    ("cert with a missing intermediate CA: validation.go, Verify", "edge", chain("root"), [CERT]),
    ("expired cert with intermediate CA and diff host", "edge", chain("root", "middle"), []),
    ("invalid CA with csr", "edge", {**ID.tls, "ca_certificate": CSR}, [CA]),
    ("another invalid CA with private key", "edge", {**ID.tls, "ca_certificate": ID.key}, [CA]),
    (
        "CA with a private key beside it: validation.go, sanitizePEM",
        "edge",
        {**ID.tls, "ca_certificate": ID.issuer + ID.key},
        [],
    ),
    ("invalid CA malformed certificate", "edge", {**ID.tls, "ca_certificate": MALFORMED}, [CA]),
    ("invalid destination CA with csr", "reencrypt", {**SELF, "destination_ca_certificate": CSR}, [DEST]),
    ("invalid destination CA with private key", "reencrypt", {"destination_ca_certificate": ID.key}, [DEST]),
    ("malformed destination CA", "reencrypt", {**SELF, "destination_ca_certificate": MALFORMED}, [DEST]),
    (
        "valid destination CA with whitespace",
        "reencrypt",
        {"destination_ca_certificate": f"\n\t{ID.issuer}\n\n"},
        [],
    ),
    ("unexpected key type", "reencrypt", {"key": UNRECOGNIZED}, [KEY]),
    (
        "cert and key with bag attributes of PKCS12",
        "edge",
        {"certificate": BAGS + ID.certificate, "key": BAGS + ID.key, "ca_certificate": BAGS + ID.issuer},
        [],
    ),
    ("key in the certificate field: splitCertKey", "edge", {"certificate": ID.certificate + ID.key}, []),
    ("key before the certificate: splitCertKey", "edge", {"certificate": ID.key + ID.certificate}, []),
    (
        "key in both fields, the first counts: X509KeyPair",
        "edge",
        {"certificate": ID.certificate + ID.key, "key": OTHER.key},
        [],
    ),
    (
        "key in both fields, the first counts: X509KeyPair",
        "edge",
        {"certificate": ID.certificate + OTHER.key, "key": ID.key},
        [KEY],
    ),
    (
        "leaf not first: X509KeyPair",
        "edge",
        {"certificate": ID.issuer + ID.certificate, "key": ID.key},
        [KEY],
    ),
    (
        "certificate in the key field: parity 3.4",
        "edge",
        {"certificate": ID.certificate, "key": ID.key + ID.certificate},
        [KEY],
    ),
    ("key without certificate: ExtendedValidateRoute", "edge", {"key": ID.key}, []),
    ("key without certificate, no PEM: ExtendedValidateRoute", "edge", {"key": "none"}, []),
    ("blanks for a certificate: ParseCertsPEM", "edge", {"certificate": " \n", "key": ID.key}, [CERT]),
    (
        "EC PARAMETERS: ignoreBlockVerifier",
        "edge",
        {"certificate": pair()["certificate"], "key": PARAMETERS + pair()["key"]},
        [],
    ),
    (
        "PUBLIC KEY: publicKeyBlockVerifier",
        "edge",
        {**pair(), "certificate": pair()["certificate"] + PUBLIC},
        [],
    ),
    (
        "ECDSA PRIVATE KEY: knownBlockDecoders",
        "edge",
        {
            "certificate": pair()["certificate"],
            "key": key_text(signed()[1], serialization.PrivateFormat.TraditionalOpenSSL).replace(
                "EC PRIVATE", "ECDSA PRIVATE"
            ),
        },
        [],
    ),
    (
        "RSA PRIVATE KEY: knownBlockDecoders",
        "edge",
        {
            "certificate": text(MATCHING[0]),
            "key": key_text(MATCHING[1], serialization.PrivateFormat.TraditionalOpenSSL),
        },
        [],
    ),
    (
        "TRUSTED CERTIFICATE: knownBlockDecoders has none",
        "edge",
        {
            **ID.tls,
            "certificate": ID.certificate.replace("BEGIN C", "BEGIN TRUSTED C").replace(
                "END C", "END TRUSTED C"
            ),
        },
        [CERT],
    ),
    (
        "ed25519: privateKeyBlockVerifier",
        "edge",
        {"certificate": ID.certificate, "key": key_text(ed25519.Ed25519PrivateKey.generate())},
        [KEY],
    ),
    (
        "dsa: privateKeyBlockVerifier",
        "edge",
        {"certificate": ID.certificate, "key": key_text(dsa.generate_private_key(1024))},
        [KEY],
    ),
    (
        "encrypted key: privateKeyBlockVerifier",
        "edge",
        {
            "certificate": ID.certificate,
            "key": key_text(signed()[1], encryption=serialization.BestAvailableEncryption(b"x")),
        },
        [KEY],
    ),
    (
        "certificate for clients, with its CA: Verify",
        "edge",
        {**pair(usage=ExtendedKeyUsageOID.CLIENT_AUTH), "ca_certificate": ID.issuer},
        [CERT],
    ),
    (
        "certificate for clients, without CA: ExtendedValidateRoute",
        "edge",
        pair(usage=ExtendedKeyUsageOID.CLIENT_AUTH),
        [],
    ),
    (
        "certificate for servers, with its CA: Verify",
        "edge",
        {**pair(usage=ExtendedKeyUsageOID.SERVER_AUTH), "ca_certificate": ID.issuer},
        [],
    ),
    (
        "certificate for anything, with its CA: Verify",
        "edge",
        {**pair(usage=ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE), "ca_certificate": ID.issuer},
        [],
    ),
    ("CA signed SHA1 cert", "edge", old("SHA1"), [CERT]),
    ("CA signed MD5 cert", "edge", old("MD5"), [CERT]),
    ("CA signed MD2 cert: validateCertSignatureAlgorithms", "edge", old("MD2"), [CERT]),
    (
        "SHA1 in the chain: validateCertSignatureAlgorithms",
        "edge",
        {**ID.tls, "certificate": ID.certificate + old("SHA1")["certificate"]},
        [CERT],
    ),
    (
        "SHA1 intermediate CA",
        "edge",
        {**ID.tls, "ca_certificate": ID.issuer + old("SHA1")["certificate"]},
        [CA],
    ),
    ("SHA1 destination CA", "reencrypt", {"destination_ca_certificate": old("SHA1")["certificate"]}, [DEST]),
    ("self-signed SHA1 cert", "edge", old("SHA1", ROOT), []),
    (
        "self-signed SHA1 root CA",
        "edge",
        {**ID.tls, "ca_certificate": ID.issuer + old("SHA1", ROOT)["certificate"]},
        [],
    ),
    (
        "self-signed SHA1 destination CA",
        "reencrypt",
        {"destination_ca_certificate": old("SHA1", ROOT)["certificate"]},
        [],
    ),
    (
        "SHA1 cert, same subject and issuer, other key: isSelfSignedCert",
        "edge",
        old("SHA1", ROOT, ("a", "b")),
        [CERT],
    ),
    ("SHA1 cert, same subject, issuer and key: isSelfSignedCert", "edge", old("SHA1", ROOT, ("a", "a")), []),
    *(
        (
            f"insecure policy {policy!r} with {kind}: validateInsecureEdgeTerminationPolicy",
            kind,
            {"insecure": policy},
            want,
        )
        for kind, policy, want in (
            ("edge", "", []),
            ("edge", "None", []),
            ("edge", "Allow", []),
            ("edge", "Redirect", []),
            ("reencrypt", "", []),
            ("reencrypt", "None", []),
            ("reencrypt", "Allow", []),
            ("reencrypt", "Redirect", []),
            ("passthrough", "", []),
            ("passthrough", "None", []),
            ("passthrough", "Redirect", []),
            ("passthrough", "Allow", [POLICY]),
            ("edge", "allow", [POLICY]),
            ("edge", "Support HTTPsec", [POLICY]),
            ("reencrypt", "HSTSRedirect", [POLICY]),
            ("passthrough", "none", [POLICY]),
        )
    ),
]


def judged(kind: str, tls: dict[str, str], *, extended=True) -> validation.ValidationResult:
    fields = {name: pem for name, pem in tls.items() if name != "tls"}
    made_of = route("a", kind=kind or "x", **fields)
    if not kind:
        made_of = route("a", kind="edge")
        object.__setattr__(made_of.tls, "termination", "")
    return validation.check(made_of, extended=extended)


@rows(
    ("source", "kind", "tls", "fields"), ROWS, ids=[f"{n}: {r[0]}" for n, r in enumerate(ROWS)]
)
def test_extended_validation(source, kind, tls, fields):
    result = judged(kind, tls)
    told = [problem.partition(":")[0].removeprefix("spec.tls.") for problem in result.problems]
    assert list(dict.fromkeys(told)) == fields
    assert "-----" not in " ".join(result.problems)
    if not fields and tls.get("certificate"):
        made_of = result.certificates.key_pair
        assert made_of.certificate.count("BEGIN CERTIFICATE") == 1
        assert made_of.key.count("BEGIN") == 1
        assert "Bag Attributes" not in made_of.certificate + made_of.key + made_of.chain
        assert " KEY-" not in made_of.certificate + made_of.chain


@pytest.mark.parametrize(
    ("kind", "tls", "policy"),
    [
        ("passthrough", {"certificate": "test", "key": "x"}, "None"),
        ("edge", {"destination_ca_certificate": "no"}, "None"),
        ("edge", {**FAR.tls, "ca_certificate": ID.issuer}, "None"),
        ("edge", old("SHA1"), "None"),
        ("edge", {"insecure": "allow"}, "None"),
        ("passthrough", {"insecure": "Allow"}, "None"),
        ("", {"tls": True}, "Allow"),
    ],
)
def test_without_extended_validation(kind, tls, policy):
    """Source: parity 1.1, EXTENDED_VALIDATION: upstream passes on what it would refuse. An insecure policy
    that nobody knows opens nothing; a Route without a termination is one without TLS."""
    assert judged(kind, tls).problems
    assert judged(kind, tls, extended=False).problems == ()
    fields = {name: pem for name, pem in tls.items() if name != "tls"}
    checked = admission.check(
        route("a", kind=kind, **(fields if kind else {})), admission.AdmissionPolicy(extended=False)
    )
    assert checked.rejection is None
    assert checked.insecure == policy


@pytest.mark.parametrize(
    ("kind", "tls"),
    [
        ("edge", {"certificate": "no", "key": "no"}),
        ("edge", {"certificate": ID.certificate, "key": OTHER.key}),
        ("edge", {"certificate": ID.certificate}),
        ("reencrypt", {"destination_ca_certificate": "no"}),
        ("invalid", {}),
    ],
)
def test_what_cannot_be_put_on_the_device_is_refused_in_any_case(kind, tls):
    assert judged(kind, tls, extended=False).problems


@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ECDSA PRIVATE KEY"])
@pytest.mark.parametrize("form", [serialization.PrivateFormat.PKCS8,
                                  serialization.PrivateFormat.TraditionalOpenSSL], ids=["PKCS8", "own"])
@pytest.mark.parametrize("rsa_key", [False, True], ids=["EC", "RSA"])
def test_the_content_of_a_key_decides_and_not_its_label(label, form, rsa_key):
    """OpenSSL, and so HAProxy's router, takes each form under each label; the BIG-IP gets the right one."""
    cert, key = signed(rsa_key=rsa_key)
    given = key_text(key, form)
    written = given.split("-----")[1].removeprefix("BEGIN ")
    tls = {"certificate": text(cert), "key": given.replace(f" {written}-", f" {label}-")}
    result = judged("edge", tls)
    assert result.problems == ()
    assert result.certificates.key_pair.key == key_text(key, serialization.PrivateFormat.TraditionalOpenSSL)


@pytest.mark.parametrize(("curve", "admitted"), [
    (ec.SECP224R1(), True), (ec.SECP384R1(), True), (ec.SECP521R1(), True), (ec.SECP256K1(), False),
    (ec.BrainpoolP256R1(), False),
], ids=lambda value: getattr(value, "name", ""))
def test_a_certificate_that_no_client_takes(curve, admitted):
    """Served, it would break every handshake; upstream's crypto/x509 does not parse it."""
    key = ec.generate_private_key(curve)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "www.example.com")])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    cert = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(7).not_valid_before(begin).not_valid_after(begin + DAY * 9)
            .sign(key, hashes.SHA256()))
    tls = {"certificate": text(cert), "key": key_text(key)}
    assert judged("edge", tls, extended=False).problems == (() if admitted else (
        f"spec.tls.certificate: no client takes a key on the curve {curve.name}",))


def test_every_fault_is_told():
    result = judged(
        "edge",
        {
            "certificate": FAR.certificate,
            "key": ID.key,
            "ca_certificate": CSR,
            "destination_ca_certificate": "x",
            "insecure": "x",
        },
    )
    assert [problem.partition(":")[0] for problem in result.problems] == [
        f"spec.tls.{name}" for name in (POLICY, DEST, CA, KEY)
    ]


def test_a_ca_with_a_key_beside_it_keeps_it_to_itself():
    """Nothing but certificates goes on."""
    result = judged(
        "reencrypt",
        {**ID.tls, "ca_certificate": ID.issuer + ID.key, "destination_ca_certificate": ID.issuer + ID.key},
    )
    made_of = result.certificates
    assert "PRIVATE" not in made_of.key_pair.chain + made_of.destination_ca
    assert made_of.destination_ca == ID.issuer == made_of.key_pair.chain


def test_a_chain_that_goes_in_a_circle_ends():
    """Two CAs that signed each other."""
    first, two = signed("One", "Two CA"), signed("Two", "Two CA")
    with pytest.raises(pem.PEMError, match="was not issued"):
        finish(issuers.check([first[0], two[0], first[0]], [authority("Elsewhere")[0]]))
