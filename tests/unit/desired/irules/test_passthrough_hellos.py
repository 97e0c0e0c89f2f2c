"""openshift_passthrough_irule: ClientHellos of real clients, generated ones and damaged ones."""

import socket
import ssl
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import choice
from tests.unit.desired.irules import hello as h
from tests.unit.desired.irules.test_passthrough import (
    HOST,
    OTHER_HOST,
    POOL,
    expected,
    outcome,
    property_test,
    split,
)
from tests.waiting import DEADLINE_S


def handshake(name: str | None, context: ssl.SSLContext) -> bytes:
    """First flight of Python's ssl."""
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    return out.read()


@pytest.mark.parametrize("alpn", [[], ["h2", "http/1.1"]], ids=["no ALPN", "ALPN"])
@pytest.mark.parametrize(("name", "want"), [
    (HOST, "passed"), (HOST.upper(), "passed"), ("else.example.com", "left"), (None, "left"),
])
@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1", "TLSv1_2", "TLSv1_3"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_openssl_in_python(tmm, version, name, want, alpn):
    """Real ClientHellos of each TLS version."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    if alpn:
        context.set_alpn_protocols(alpn)
    data = handshake(name, context)
    assert outcome(tmm, data) == want
    assert outcome(tmm, *split(data, 5, len(data) // 2)) == want


@pytest.mark.parametrize("options", [["-tls1_2"], ["-tls1_3"], ["-alpn", "h2", "-status"]], ids=" ".join)
def test_openssl_command(tmm, options):
    """The iRule reads the ClientHello of openssl s_client."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(DEADLINE_S)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        process = subprocess.Popen(
            ["openssl", "s_client", "-connect", address, "-servername", HOST, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        accepted, _ = server.accept()
        with accepted:
            accepted.settimeout(DEADLINE_S)
            data = b""
            while expected(data) == "waiting" and (more := accepted.recv(4096)):
                data += more
        process.wait(DEADLINE_S)
    assert outcome(tmm, data) == "passed"


names = st.one_of(
    st.sampled_from([HOST, HOST.upper(), HOST + ".", OTHER_HOST, "x" + HOST, HOST[1:]]),
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,70}", fullmatch=True),
    st.text(max_size=20),
)


kinds = st.one_of(st.integers(1, 0xFFFF), st.sampled_from([0x0A0A, 0xFAFA, h.KEY_SHARE]))
kinds_and_data = st.lists(st.tuples(kinds, st.binary(max_size=60)), max_size=6)


@st.composite
def hellos(draw) -> bytes:
    """Well-formed ClientHellos over some records."""
    extensions = [h.extension(kind, data) for kind, data in draw(kinds_and_data)]
    if draw(st.integers(0, 9)):
        extensions.insert(draw(st.integers(0, len(extensions))), h.sni(draw(names)))
    message = h.message(
        extensions if draw(st.integers(0, 9)) else None,
        session_id=draw(st.binary(max_size=32)),
        suites=draw(st.binary(max_size=80)),
        compression=draw(st.binary(max_size=5)),
    )
    sizes = draw(st.lists(st.integers(0, 90), max_size=5))
    return h.records(message, *sizes, version=draw(choice(0x0300, 0x0301, 0x0303, 0x0304)))


well_formed = hellos()


@st.composite
def damaged(draw) -> bytes:
    """Valid ClientHellos with bytes changed, cut out or put in."""
    data = bytearray(draw(well_formed))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        how = draw(choice("set", "word", "cut", "put"))
        if how == "set":
            data[at:at + 1] = bytes([draw(choice(0, 1, 0x7F, 0x80, 0xFF))])
        elif how == "word":
            data[at:at + 2] = draw(choice(b"\xff\xfc", b"\x80\0", b"\x7f\xff", b"\0\0"))
        elif how == "cut":
            del data[at:at + draw(st.integers(1, 40))]
        else:
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
    return bytes(data)


@property_test
@given(data=hellos())
def test_same_as_other_parser(tmm, data):
    """Valid ClientHellos: both parsers see the same host."""
    try:
        host = h.read(data)
    except h.Bad:
        assert outcome(tmm, data) == "left"
    else:
        assert outcome(tmm, data, hosts={host: POOL}) == "passed"
        others = ["x" + host, host + "x", host[1:].lstrip(".")]  # with a dot before it, it stands for all
        assert outcome(tmm, data, hosts=dict.fromkeys(others, POOL)) == "left"


@property_test
@given(data=st.one_of(st.binary(max_size=300), damaged()), cuts=st.lists(st.integers(0, 400), max_size=4))
def test_damaged(tmm, data, cuts):
    """No error, no endless loop, no pool without the exact name, and segments change nothing."""
    want = expected(data)
    assert outcome(tmm, data) == want
    assert outcome(tmm, *split(data, *sorted(cut for cut in cuts if cut < len(data)))) == want


def test_damaged_at_every_byte(tmm):
    """Each byte of a ClientHello, each time with values that are odd as a length."""
    data = h.hello(HOST, h.extension(h.GREASE, b"\0"))
    for at in range(len(data)):
        for value in (0x00, 0x01, 0x80, 0xFF):
            changed = data[:at] + bytes([value]) + data[at + 1:]
            assert outcome(tmm, changed) == expected(changed), (at, value)
