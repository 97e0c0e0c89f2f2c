"""Bounds of what a team may give to be checked, and the order of work within them."""

import base64
import contextlib
import re

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission import certificates, issuers, pem
from f5router.admission.certificates import Certificates, Texts
from f5router.model.limits import finish
from tests import bombs
from tests.builders import authority, identity
from tests.examples import examples
from tests.rows import rows

ID = identity()
EMPTY = "-----BEGIN EC PARAMETERS-----\n-----END EC PARAMETERS-----\n"
OWN = {"certificate": ID.certificate, "key": ID.key}


def judged(**fields: str) -> Certificates:
    return certificates.check(Texts(**fields))


def steps(**fields: str) -> int:
    """How many steps the check takes; none is much longer than a millisecond."""
    return sum(1 for _ in certificates.check_in_steps(Texts(**fields)))


def test_a_pair_shares_memory_with_the_route():
    """Texts that are written as the Route has them are in memory once."""
    written = judged(**OWN).key_pair
    certificate, key = "".join([*written.certificate]), "".join([*written.key])
    pair = judged(certificate=certificate, key=key).key_pair
    assert pair == written
    assert (pair.certificate is certificate, pair.key is key) == (True, True)


LEAF = bombs.certificate("www.example.com", bombs.key("leaf"), "One CA", bombs.key("issuer"))
ISSUER = bombs.certificate("One CA", bombs.key("issuer"), "One CA", bombs.key("issuer"))
SIGNED = {"certificate": bombs.text(LEAF), "key": bombs.key_text(bombs.key("leaf"))}


@pytest.mark.parametrize(("fields", "message"), [
    pytest.param({**OWN, "ca_certificate": ID.issuer + " " * pem.MAX_TEXT},
                 f"caCertificate: {len(ID.issuer) + pem.MAX_TEXT} characters, at most 1048576", id="text"),
    pytest.param({**OWN, "certificate": "-" * (1 << 21)}, "certificate: 2097152 characters", id="dashes"),
    pytest.param({"destination_ca_certificate": ID.issuer * (pem.MAX_BLOCKS + 1)},
                 "destinationCACertificate: more than 1000 PEM blocks", id="certificates"),
    pytest.param({**OWN, "key": EMPTY * (pem.MAX_BLOCKS + 1) + ID.key}, "key: more than 1000 PEM blocks",
                 id="blocks that count for nothing"),
    pytest.param({**OWN, "key": bombs.block("PRIVATE KEY", bytes(50_000))},
                 "key: a PEM block of 67599 characters, at most 65536", id="block"),
    pytest.param({**OWN, "key": ID.key * 11}, "key: 11 private keys, at most 10", id="keys"),
    pytest.param({**OWN, "key": ID.key * 1001}, "key: more than 1000 PEM blocks", id="a thousand keys"),
    pytest.param({"certificate": ID.certificate + ID.key * 11}, "certificate: 11 private keys",
                 id="keys beside"),
    pytest.param({"key": ID.key * 11}, "key: 11 private keys", id="keys without a certificate"),
    pytest.param({**OWN, "key": bombs.dsa_key(180_000)}, "key: a PEM block of", id="DSA key of a year"),
    pytest.param({**OWN, "key": bombs.dsa_key(60_000)}, "key: the private key is neither RSA nor ECDSA",
                 id="DSA key of some minutes"),
    pytest.param(bombs.one_name(101, "p256"),
                 "certificate: no chain to spec.tls.caCertificate was found in 100 signature checks",
                 id="CAs of one name, the right one last"),
    pytest.param(bombs.steps_of_one_name(60, "p256"),
                 "certificate: no chain to spec.tls.caCertificate was found", id="chain of one name"),
    pytest.param({**SIGNED, "ca_certificate": bombs.text(bombs.rsa_authority(16384))},
                 "certificate: its chain has a key of 16384 bits of RSA, at most 8192", id="RSA 16384"),
    pytest.param({**SIGNED, "ca_certificate": bombs.text(bombs.rsa_authority(3072, (1 << 3000) + 1))},
                 "certificate: its chain has an RSA key with an exponent of more than 31 bits",
                 id="RSA exponent"),
    pytest.param({**SIGNED, "ca_certificate": bombs.text(bombs.dsa_authority(10_000))},
                 "certificate: its chain has a key of 10000 bits of DSA, at most 4096", id="DSA 10000"),
])
def test_beyond_a_bound(fields, message):
    """Source: the issue. The message names the field and the bound, and shows nothing of the text."""
    problems = " ".join(judged(**fields).problems)
    assert f"spec.tls.{message}" in problems
    assert "-----" not in problems


@pytest.mark.parametrize("fields", [
    pytest.param({**OWN, "ca_certificate": ID.issuer + " " * (pem.MAX_TEXT - len(ID.issuer))}, id="text"),
    pytest.param({"destination_ca_certificate": ID.issuer * pem.MAX_BLOCKS}, id="certificates"),
    pytest.param({**OWN, "key": ID.key * pem.MAX_KEYS}, id="keys"),
    pytest.param(bombs.one_name(100, "p256"), id="CAs of one name"),
    pytest.param(bombs.one_name(400, "p256", ids=True), id="CAs of one name with key identifiers"),
    pytest.param(bombs.chain(90), id="a long chain"),
    pytest.param({**SIGNED, "ca_certificate": bombs.text(
        bombs.rsa_authority(16384), bombs.dsa_authority(10_000), ISSUER)}, id="keys of others"),
    pytest.param({**OWN, "ca_certificate": ID.issuer + bombs.text(
        bombs.rsa_authority(16384, subject="Another"))}, id="a key that verifies nothing"),
])
def test_at_the_bounds(fields):
    """The bounds refuse nothing that stays within them."""
    assert judged(**fields).problems == ()


def test_a_bundle_of_all_root_programmes():
    """400 CAs, as Mozilla's, Apple's and Microsoft's together: the one that signed is found by its name."""
    others = [bombs.certificate(f"Root {number}", bombs.key("root"), f"Root {number}", bombs.key("root"))
              for number in range(400)]
    bundle = bombs.text(*others, authority("Example CA")[0])
    fields = {**OWN, "ca_certificate": bundle, "destination_ca_certificate": bundle}
    assert judged(**fields).problems == ()
    assert steps(**fields) < 10 * 800


def checks(fields: dict[str, str]) -> int:
    """How many signatures are verified."""
    certs, authorities = (finish(pem.certificates(fields[name], name))
                          for name in ("certificate", "ca_certificate"))
    search = issuers.IssuerSearch(authorities)
    finish(search.know(authorities))
    with contextlib.suppress(pem.PEMError):
        finish(search.leads(certs[0]))
    return search.checks


@pytest.mark.parametrize("kind", ["p256", "brainpool", "ed25519"])
def test_signature_checks_are_few(kind):
    """However many CAs there are and whatever their keys; with key identifiers as many as in the chain."""
    assert checks(bombs.one_name(300, kind)) == issuers.MAX_CHECKS
    assert checks(bombs.one_name(300, kind, ids=True)) == 1


NAMES, KEYS = ["A", "B", "C"], ["k1", "k2", "k3"]
USAGES = [None, None, None, ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
IDS = ["", "ski", "aki", "both", "lie"]
LINKS = st.tuples(*map(st.sampled_from, (NAMES, KEYS, NAMES, KEYS, IDS, USAGES)))


def linked(number: int, subject: str, own: str, issuer: str, signer: str, ids: str, usage):
    """A certificate of a web of them; key identifiers may be missing or wrong."""
    added = []
    named = bombs.key("elsewhere" if ids == "lie" else signer).public_key()
    if ids in ("ski", "both"):
        added.append(x509.SubjectKeyIdentifier.from_public_key(bombs.key(own).public_key()))
    if ids in ("aki", "both", "lie"):
        added.append(x509.AuthorityKeyIdentifier.from_issuer_public_key(named))
    if usage:
        added.append(x509.ExtendedKeyUsage([usage]))
    return bombs.certificate(subject, bombs.key(own), issuer, bombs.key(signer), extensions=added,
                             serial=number + 1)


def issued(child, parent) -> bool:
    try:
        child.verify_directly_issued_by(parent)
    except Exception:
        return False
    return True


def for_servers(cert) -> bool:
    try:
        usage = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return ExtendedKeyUsageOID.SERVER_AUTH in usage


def reaches(certs, authorities) -> bool:
    """By trying everything, without any bound."""
    trusted, new = set(), {certs[0]} if for_servers(certs[0]) else set()
    while new:
        trusted |= new
        new = {parent for child in trusted for parent in [*authorities, *certs[1:]]
               if for_servers(parent) and issued(child, parent)} - trusted
    return not trusted.isdisjoint(authorities)


def greedy(certs, authorities) -> bool:
    """As it was before there were bounds: always the first that has signed, 20 steps."""
    current = certs[0]
    for _ in range(20):
        if not for_servers(current) or current in authorities:
            return for_servers(current)
        others = (c for c in [*authorities, *certs[1:]] if c != current)
        if (current := next((c for c in others if issued(current, c)), None)) is None:
            return False
    return False


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(LINKS, min_size=1, max_size=6), st.lists(LINKS, min_size=1, max_size=6))
def test_the_verdict_is_that_of_trying_everything(certs, authorities):
    """Cross-signed loops, names of several keys, wrong key identifiers; what was admitted before is."""
    certs = [linked(n, *link) for n, link in enumerate(certs)]
    authorities = [linked(n, *link) for n, link in enumerate(authorities)]
    try:
        finish(issuers.check(certs, authorities))
        good = True
    except pem.PEMError:
        good = False
    assert good == reaches(certs, authorities)
    assert good >= greedy(certs, authorities)


MARKER = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----")
PIECES = st.sampled_from([
    "-----BEGIN A-----", "-----END A-----", "-----BEGIN B-----", "-----END B-----", "-", "-----", " ", "x",
    "BEGIN A-----", "END A-----", "-----BEGIN ", "-----END ", "-----BEGIN a-----"])


def scanned(text: str) -> list[str] | None:
    """Blocks as one look at each marker finds them; None for an error."""
    blocks, begin = [], None
    for marker in MARKER.finditer(text):
        if begin is None and marker[1] == "BEGIN":
            begin = marker
        elif begin is not None and marker[1] == "END" and marker[2] == begin[2]:
            blocks.append(text[begin.start() : marker.end()])
            begin = None
    return None if begin is not None or not blocks else blocks


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("\n".join))
def test_blocks_of_any_text(text):
    """From a BEGIN to the first END of its label; markers between them are of no account."""
    wanted, allowed = scanned(text), text.replace(" A-", " CERTIFICATE-").replace(" B-", " PRIVATE KEY-")
    try:
        relabelled = [block.replace(" CERTIFICATE-", " A-").replace(" PRIVATE KEY-", " B-")
                      for _, block in finish(pem.find_blocks(allowed, "x"))]
    except pem.PEMError:
        relabelled = None
    assert relabelled == wanted


def test_a_text_of_nothing_but_markers():
    """Its cost is that of its length, in small steps."""
    many = "-----BEGIN " * (pem.MAX_TEXT // 11)
    assert judged(destination_ca_certificate=many).problems == (
        "spec.tls.destinationCACertificate: it is not PEM",)
    assert steps(destination_ca_certificate=many) < 100_000


RSA_LEAF = bombs.certificate("www.example.com", bombs.rsa_key("leaf"), "One CA", bombs.key("issuer"))
RSA_CA = bombs.certificate("One CA", bombs.rsa_key("issuer"), "One CA", bombs.key("other"))
BY_RSA = bombs.certificate("www.example.com", bombs.key("leaf"), "One CA", bombs.rsa_key("issuer"))
RSA_KEY = bombs.key_text(bombs.rsa_key("leaf"))
PSS_KEY, PSS_LEAF = bombs.pss(RSA_KEY), bombs.pss(bombs.text(RSA_LEAF))
RESTRICTED = "is restricted to RSASSA-PSS, which is not supported; use a certificate with an RSA or ECDSA key"


@rows("fields, problem", [
    pytest.param({"certificate": PSS_LEAF, "key": PSS_KEY}, f"spec.tls.key: the private key {RESTRICTED}",
                 id="both"),
    pytest.param({"certificate": PSS_LEAF, "key": RSA_KEY}, f"spec.tls.certificate: its key {RESTRICTED}",
                 id="certificate"),
    pytest.param({"certificate": bombs.text(RSA_LEAF), "key": PSS_KEY},
                 f"spec.tls.key: the private key {RESTRICTED}", id="key"),
    pytest.param({"certificate": bombs.text(RSA_LEAF) + PSS_KEY},
                 f"spec.tls.certificate: the private key {RESTRICTED}", id="key beside the certificate"),
    pytest.param({**SIGNED, "certificate": bombs.text(BY_RSA),
                  "ca_certificate": bombs.pss(bombs.text(RSA_CA))},
                 f"spec.tls.certificate: a key in its chain {RESTRICTED}", id="issuer"),
    pytest.param({**SIGNED, "certificate": bombs.text(BY_RSA), "ca_certificate": bombs.text(RSA_CA)}, None,
                 id="issuer with an RSA key"),
    pytest.param({"certificate": bombs.text(RSA_LEAF), "key": RSA_KEY}, None, id="RSA"),
])
def test_keys_that_are_restricted_to_pss(fields, problem):
    """They would be written as plain RSA keys, which do not belong to their certificates."""
    assert judged(**fields).problems == ((problem,) if problem else ())


MIDDLE = bombs.certificate("Middle CA", bombs.key("middle"), "One CA", bombs.key("issuer"))
LAST = bombs.certificate("www.example.com", bombs.key("leaf"), "Middle CA", bombs.key("middle"))


def _wrong_order(number: int, count: int) -> str:
    return (f"spec.tls.key: the chain is in the wrong order: the key belongs to certificate {number} "
            f"of {count}, which must be the first one, followed by the certificate of its issuer")


@rows("chain, problem", [
    pytest.param([LAST, MIDDLE, ISSUER], None, id="right"),
    pytest.param([ISSUER, MIDDLE, LAST], _wrong_order(3, 3), id="from the root"),
    pytest.param([MIDDLE, LAST], _wrong_order(2, 2), id="intermediate first"),
    pytest.param([MIDDLE, ISSUER], "spec.tls.key: the key does not match the certificate",
                 id="no certificate of the key"),
])
@pytest.mark.parametrize("authorities", [{}, {"ca_certificate": bombs.text(ISSUER)}], ids=["alone", "CA"])
def test_order_of_a_chain(chain, problem, authorities):
    """Clients take the first certificate for the server's; the reason is not that keys do not match."""
    result = judged(certificate=bombs.text(*chain), key=SIGNED["key"], **authorities)
    assert result.problems == ((problem,) if problem else ())


LINES = ("its lines end with the two characters \\n instead of a line break; in YAML write it as a block (|) "
         "or in double quotes")
TWICE = "it is PEM in base64: it was encoded once more than it should be"


def _escaped(text: str, end: str = "\\n") -> str:
    return text.replace("\n", end)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@rows("fields, problem", [
    pytest.param({**OWN, "certificate": _escaped(ID.certificate)}, f"spec.tls.certificate: {LINES}",
                 id="certificate"),
    pytest.param({**OWN, "key": _escaped(ID.key, "\\r\\n")}, f"spec.tls.key: {LINES}", id="key"),
    pytest.param({"key": _escaped(ID.key)}, f"spec.tls.key: {LINES}", id="key alone"),
    pytest.param({**OWN, "ca_certificate": _escaped(ID.issuer)}, f"spec.tls.caCertificate: {LINES}", id="CA"),
    pytest.param({"destination_ca_certificate": _escaped(ID.issuer)},
                 f"spec.tls.destinationCACertificate: {LINES}", id="CA of the pods"),
    pytest.param({**OWN, "key": _encoded(ID.key)}, f"spec.tls.key: {TWICE}", id="key encoded twice"),
    pytest.param({**OWN, "certificate": _encoded(ID.certificate)}, f"spec.tls.certificate: {TWICE}",
                 id="certificate encoded twice"),
    pytest.param({**OWN, "certificate": ID.certificate.replace("\n", "\r\n")}, None, id="lines of Windows"),
])
def test_line_ends(fields, problem):
    """The message says what is wrong with the text, which looks like PEM to those who wrote it."""
    assert judged(**fields).problems == ((problem,) if problem else ())
