"""openshift_client_certificate_irule with whatever a client may show, and whatever a device may answer."""

import base64
import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired.irules import tls_commands
from mocks.bigip import rulecheck
from mocks.bigip.tmm import Interpreter, TclError
from tests.builders import EPOCH
from tests.examples import examples

KEY = ec.generate_private_key(ec.SECP256R1())
SHORT = {
    NameOID.COMMON_NAME: "CN", NameOID.SURNAME: "SN", NameOID.SERIAL_NUMBER: "serialNumber",
    NameOID.LOCALITY_NAME: "L", NameOID.STATE_OR_PROVINCE_NAME: "ST", NameOID.STREET_ADDRESS: "street",
    NameOID.ORGANIZATION_NAME: "O", NameOID.ORGANIZATIONAL_UNIT_NAME: "OU", NameOID.TITLE: "title",
    NameOID.GIVEN_NAME: "GN", NameOID.DOMAIN_COMPONENT: "DC", NameOID.USER_ID: "UID",
    NameOID.EMAIL_ADDRESS: "emailAddress", x509.ObjectIdentifier("1.3.6.1.4.1.311.60.2.1.2"):
        "1.3.6.1.4.1.311.60.2.1.2", x509.ObjectIdentifier("2.999.3"): "2.999.3",
}
"""OpenSSL's names, and numbers for others."""


def certificate(name, *, serial: int = 1, year: int = 2026) -> bytes:
    """Return a certificate in DER. Args: name: pairs of OID and value."""
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in name])
    cert = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(KEY.public_key())
            .serial_number(serial).not_valid_before(EPOCH).not_valid_after(EPOCH.replace(year=year + 30))
            .sign(KEY, hashes.SHA256()))
    return cert.public_bytes(serialization.Encoding.DER)


@pytest.fixture(scope="module")
def interpreter():
    with Interpreter(limit_commands=20_000) as tmm:
        yield tmm


def run(interpreter, der: bytes | None, *, verified: int = 0, fails: str = "", handshake: bool = True,
        required: bool = False, expression: str = "") -> list[tuple[str, ...]]:
    """Return what happens to a request: headers, an answer, a rejection.

    Args: fails: a command that fails.
    """
    actions: list[tuple[str, ...]] = []

    def command(name: str, arguments: list[bytes]) -> bytes:
        if name == fails:
            raise TclError("it fails")
        match name, [argument.decode("latin-1") for argument in arguments]:
            case "SSL::cert", ["count"]:
                return b"0" if der is None else b"1"
            case "SSL::cert", ["0"]:
                return der or b""
            case "SSL::verify_result", []:
                return str(verified).encode()
            case "sha1", [_]:
                return hashlib.sha1(arguments[0]).digest()
            case "b64encode", [_]:
                return base64.b64encode(arguments[0])
            case "b64decode", [_]:
                return base64.b64decode(arguments[0])
            case _, words:
                actions.append((name, *words))
                return b""
        raise AssertionError

    text = tls_commands.client_certificate_irule(required=required, expression=expression)
    connection = interpreter.connection([("/Common/rule", text)], command)
    try:
        if handshake:
            connection.fire("CLIENTSSL_HANDSHAKE")
        connection.fire("HTTP_REQUEST")
    finally:
        connection.close()
    return [action for action in actions if action[0] != "log"]


def headers(actions) -> dict[str, str]:
    assert {action[:2] for action in actions} <= {("HTTP::header", "insert")}
    return {action[2]: action[3] for action in actions}


REJECTED = [("reject",)]
ALICE = [(NameOID.COMMON_NAME, "alice"), (NameOID.ORGANIZATION_NAME, "a,b/c")]


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("expression", ["", "alice"])
def test_text_compiles(required, expression):
    text = tls_commands.client_certificate_irule(required=required, expression=expression)
    assert rulecheck.check(text).events == ("CLIENTSSL_HANDSHAKE", "HTTP_REQUEST")
    assert text.isascii()
    assert "\\" not in text
    assert text == text.strip()
    assert len(text) < 65520
    assert "@" not in text.replace("@$", "").replace("@[", "")


@pytest.mark.parametrize("how", [
    pytest.param({"verified": 10}, id="expired, with request"),
    pytest.param({"verified": 23}, id="revoked"),
    pytest.param({"fails": "SSL::cert"}, id="no command"),
    pytest.param({"fails": "SSL::verify_result"}, id="no result"),
    pytest.param({"fails": "sha1"}, id="no digest"),
    pytest.param({"fails": "b64encode"}, id="no base64"),
    pytest.param({"handshake": False}, id="no event"),
])
def test_in_doubt_nobody_gets_in(interpreter, how):
    assert run(interpreter, certificate(ALICE), **how) == REJECTED


def test_none(interpreter):
    assert run(interpreter, None, required=True) == REJECTED
    assert headers(run(interpreter, None))["X-SSL-Client-DN"] == ""
    assert run(interpreter, None, expression="")[0][0] == "HTTP::header"
    assert run(interpreter, None, expression=".*")[0][:2] == ("HTTP::respond", "403")


def test_a_name_with_what_separates_names(interpreter):
    assert headers(run(interpreter, certificate(ALICE)))["X-SSL-Client-DN"] == "/CN=alice/O=a,b/c"


@pytest.mark.parametrize(("serial", "text"), [
    (1, "01"), (0x80, "80"), (0x1E5, "01E5"), (0xFF00FF00FF00FF00FF, "FF00FF00FF00FF00FF"),
    (0x0E100, "E100")])
def test_serials_are_no_numbers(interpreter, serial, text):
    """Texts that look like 1e5 stay as they are."""
    assert headers(run(interpreter, certificate(ALICE, serial=serial)))["X-SSL-Client-Serial"] == text


def test_years_after_2050(interpreter):
    read = headers(run(interpreter, certificate(ALICE, year=2030)))
    assert (read["X-SSL-Client-NotBefore"], read["X-SSL-Client-NotAfter"]) == (
        "260101000000Z", "600101000000Z")


ANY = certificate(ALICE)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@settings(deadline=None, max_examples=examples(60))
@given(name=st.lists(st.tuples(st.sampled_from(sorted(SHORT, key=str)), VALUES), max_size=6))
def test_every_name(interpreter, name):
    """The header has OpenSSL's form of it, control characters as %XX, and no command of it runs."""
    narrow = (NameOID.SERIAL_NUMBER, NameOID.DOMAIN_COMPONENT, NameOID.EMAIL_ADDRESS)
    name = [(oid, "1e5" if oid in narrow else value) for oid, value in name]
    actions = run(interpreter, certificate(name))
    subject = "".join(f"/{SHORT[oid]}={value}" for oid, value in name).encode()
    shown = b"".join(b"%%%02X" % byte if (byte < 32 and byte != 9) or byte == 127 else bytes([byte])
                     for byte in subject).decode("latin-1")
    assert headers(actions)["X-SSL-Client-DN"] == shown
    assert len(actions) == 11


@settings(deadline=None, max_examples=examples(100))
@given(data=st.data())
def test_spoiled_certificates(interpreter, data):
    """They end in an answer or a rejection, never in an error of the iRule or an endless loop."""
    der = bytearray(ANY)
    for _ in range(data.draw(st.integers(1, 4))):
        der[data.draw(st.integers(0, 200))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 300))
    for spoiled in (bytes(der), bytes(der[:cut])):
        actions = run(interpreter, spoiled)
        assert actions == REJECTED or headers(actions)


@given(expression=st.text(max_size=30))
def test_no_expression_reaches_tcl(expression):
    plain = tls_commands.client_certificate_irule(required=True, expression="x")
    text = tls_commands.client_certificate_irule(required=True, expression=expression or "x")
    pattern = base64.b64encode((expression or "x").encode()).decode()
    assert text == plain.replace(base64.b64encode(b"x").decode(), pattern)
