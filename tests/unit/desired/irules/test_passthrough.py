"""openshift_passthrough_irule on one connection after another."""

import struct
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, settings

from f5router.desired import irules
from tests.examples import examples
from tests.unit.desired.irules import hello as h
from tests.unit.desired.irules.tmm import CLIENT, Connection, Tmm

FOLDER = "/OpenShift/zone1"
GROUP = f"{FOLDER}/ssl_passthrough_servername_dg"
RULE = irules.passthrough_irule(FOLDER, source=False)
HOST = "pass.example.com"
POOL = f"{FOLDER}/openshift_ns_pass"
OTHER_HOST, OTHER_POOL = "other.example.com", f"{FOLDER}/openshift_ns_other"
HOSTS = {HOST: POOL, OTHER_HOST: OTHER_POOL}

UNTOUCHED = (("SSL::disable",), ("SSL::disable", "serverside"), ("HTTP::disable",), ("TCP::release",))
LEFT = (("TCP::release",),)
WAITING = ()
OUTCOMES = {
    (("pool", POOL), *UNTOUCHED): "passed",
    (("pool", OTHER_POOL), *UNTOUCHED): "passed to the other",
    LEFT: "left",
    WAITING: "waiting",
}

property_test = settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def client(tmm: Tmm, *segments: bytes, hosts: dict[str, str] = HOSTS, **how) -> Connection:
    """A connection on which the client sends these segments; no byte may get lost."""
    connection = tmm.run([RULE], segments=segments, groups={GROUP: hosts}, **how)
    assert connection.forwarded + connection.held == b"".join(segments)
    assert all(name.startswith(("f5r_", "f5router_")) for name in connection.variables)
    assert ("f5router_passthrough" in connection.variables) == any("pool" in a for a in connection.actions)
    return connection


def outcome(tmm: Tmm, *segments: bytes, **how) -> str:
    connection = client(tmm, *segments, **how)
    assert not connection.logs
    assert (connection.held == b"") == (connection.effects != WAITING or not any(segments))
    return OUTCOMES[connection.effects]


def expected(data: bytes) -> str:
    """Outcome by the other parser, for the hosts of these tests."""
    try:
        return {HOST: "passed", OTHER_HOST: "passed to the other"}.get(h.read(data), "left")
    except h.Short:
        return "waiting"
    except h.Bad:
        return "left"


def split(data: bytes, *cuts: int) -> list[bytes]:
    bounds = [0, *cuts, len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


def row(ident: str, want: str, *segments: bytes):
    return pytest.param(segments, want, id=ident)


def wrong(**fields) -> bytes:
    """A ClientHello of HOST with these fields; see hello.client_hello."""
    return h.client_hello(h.sni(HOST), **fields)


HELLO = h.hello(HOST)
FRAGMENT = h.records(h.message([h.sni(HOST)]), 20)[:25]
LONG = "a" * 63 + "." + "b" * 236
"""A host of 300 bytes."""


# Inputs that were tried on the original iRule; its text: openshift/origin v3.11.0,
# pkg/router/f5/f5.go: sslPassthroughIRule.
@pytest.mark.parametrize(("segments", "want"), [
    row("SNI in the data-group", "passed", HELLO),
    row("SNI of a re-encrypt host", "left", h.hello("reencrypt.example.com")),
    row("upper case", "passed", h.hello("PASS.Example.COM")),
    row("SNI last", "passed", h.hello(HOST, h.extension(10, b"\0\2\0\x1d"), h.extension(21, bytes(200)))),
    row("GREASE", "passed", h.hello(HOST, h.extension(h.GREASE), h.extension(0xFAFA, b"\0"))),
    row("TLS 1.3", "passed", wrong(record_version=0x0303, version=0x0303)),
    row("no session id", "passed", wrong(session_id=b"")),
    row("unknown SNI", "left", h.hello("unknown.example.com")),
    row("no SNI", "left", h.client_hello(h.extension(10, b"\0\2\0\x1d"))),
    row("no extension block", "left", h.records(h.message(None))),
    row("empty extension block", "left", h.client_hello()),
    row("record version 3.4", "passed", wrong(record_version=0x0304)),
    row("SSL 3", "left", h.records(h.message(None, version=0x0300), version=0x0300)),
    row("HTTP", "left", b"GET / HTTP/1.1\r\nHost: pass.example.com\r\n\r\n"),
    row("SSL 2 ClientHello", "left", bytes([0x80, 0x2E, 1, 3, 1]) + bytes(43)),
    row("first segment of 0 bytes", "waiting", b""),
    row("1 byte", "waiting", HELLO[:1]),
    row("4 bytes", "waiting", HELLO[:4]),
    row("5 bytes", "waiting", HELLO[:5]),
    row("cut before the session id", "waiting", HELLO[:40]),
    row("cut before the extensions length", "waiting", HELLO[:80]),
    row("split before the SNI", "passed", *split(HELLO, 80)),
    row("split in the SNI", "passed", *split(HELLO, len(HELLO) - 5)),
    row("trailing dot", "passed", h.hello(HOST + ".")),
    row("SNI of 300 bytes", "left", h.hello(LONG)),
    row("session id of 128 bytes", "left", wrong(session_id=bytes(128))),
    row("suites of 32768 bytes", "left", wrong(suites=bytes(32768))),
    row("extension of -4 bytes", "left", h.hello(HOST, h.extension(h.PADDING, length=0xFFFC))),
    row("wildcard in the data-group", "left", h.hello("a.wild.example.com")),
])
def test_inputs_of_the_original(tmm, segments, want):
    """Every row that broke the original: reset, endless loop, wrong certificate."""
    assert outcome(tmm, *segments, hosts=HOSTS | {"*.wild.example.com": POOL}) == want


@pytest.mark.parametrize(("segments", "want"), [
    row("two trailing dots", "left", h.hello(HOST + "..")),
    row("only a dot", "left", h.hello(".")),
    row("empty name", "left", h.hello("")),
    row("not ASCII", "left", h.hello("pass.example.c\u00f6m")),
    row("not UTF-8", "left", h.hello(b"\xff\xfe\xc3")),
    row("name type 1", "left", h.client_hello(h.sni(HOST, kind=1))),
    row("name type 128", "left", h.client_hello(h.sni(HOST, kind=0x80))),
    row("name length beyond the extension", "left", h.client_hello(h.sni(HOST, length=300))),
    row("name exceeds its extension", "left", h.client_hello(h.sni("pass.example", length=16), b".com")),
    row("extension goes on after the message", "left", h.client_hello(h.sni(HOST, listed=98, size=100))),
    row("name length -1", "left", h.client_hello(h.sni(HOST, length=0xFFFF))),
    row("list length -2", "left", h.client_hello(h.sni(HOST, listed=0xFFFE))),
    row("empty SNI extension", "left", h.client_hello(h.extension(h.SNI))),
    row("SNI extension of 4 bytes", "left", h.client_hello(h.extension(h.SNI, b"\0\2\0\0"))),
    row("first SNI counts", "left", h.client_hello(h.extension(h.SNI), h.sni(HOST))),
    row("extension of -1 bytes", "left", h.hello(HOST, h.extension(h.PADDING, length=0xFFFF))),
    row("extension of -32768 bytes", "left", h.hello(HOST, h.extension(h.PADDING, length=0x8000))),
    row("types over 32767", "passed", h.hello(HOST, h.extension(0x8000), h.extension(0xFFFF, b"x"))),
    row("session id of 33 bytes", "left", wrong(session_id=bytes(33))),
    row("200 compressions", "passed", wrong(compression=bytes(200))),
    row("no compression", "passed", wrong(compression=b"")),
    row("100 suites", "passed", wrong(suites=bytes(200))),
    row("suites of -2 bytes", "left", HELLO[:76] + b"\xff\xfe" + HELLO[78:]),
    row("block of -1 bytes", "left", wrong(block=0xFFFF)),
    row("block length 0, extensions follow", "left", wrong(block=0)),
    row("odd byte after the SNI", "passed", h.client_hello(h.sni(HOST), b"\0")),
    row("message length 0", "left", wrong(length=0)),
    row("message length 1", "left", wrong(length=1)),
    row("message ends in the session id", "left", wrong(length=60)),
    row("message goes on", "waiting", wrong(length=5000)),
    row("message of 16 MiB", "left", wrong(length=0xFFFFFF)),
    row("message of -8 MiB", "left", wrong(length=0x800000)),
    row("ServerHello", "left", wrong(kind=2)),
    row("handshake type 129", "left", wrong(kind=0x81)),
    row("application data", "left", wrong(record_kind=23)),
    row("major version 2", "left", wrong(record_version=0x0201)),
    row("minor version 255", "passed", wrong(record_version=0x03FF)),
    row("major version 131", "left", wrong(record_version=0x8301)),
    row("record of -1 bytes", "left", b"\x16\x03\x01\xff\xff" + HELLO[5:]),
    row("record of 16390 bytes", "left", b"\x16\x03\x01" + struct.pack("!H", 16390) + HELLO[5:]),
    row("record of 16389 bytes", "waiting", b"\x16\x03\x01" + struct.pack("!H", 16389) + HELLO[5:]),
    row("empty record first", "passed", b"\x16\x03\x01\0\0" + HELLO),
    row("63 empty records", "waiting", b"\x16\x03\x01\0\0" * 63),
    row("64 empty records", "left", b"\x16\x03\x01\0\0" * 64),
    row("2000 empty records", "left", b"\x16\x03\x01\0\0" * 2000),
    row("data after the ClientHello", "passed", h.records(h.message([h.sni(HOST)]), 20) + b"junk"),
    row("alert within the ClientHello", "left", FRAGMENT + b"\x15\x03\x01\0\2\2\x28"),
    row("128 extensions", "passed", h.hello(HOST, *[h.extension(h.GREASE)] * 127)),
    row("129 extensions", "left", h.hello(HOST, *[h.extension(h.GREASE)] * 128)),
    row("4001 extensions", "left", h.hello(HOST, *[h.extension(h.GREASE)] * 4000)),
    row("post-quantum key share", "passed", h.hello(HOST, h.extension(h.KEY_SHARE, bytes(1216)))),
    row("20 KB in two records", "passed", h.hello(HOST, h.extension(h.PADDING, bytes(20000)))),
    row("over 32 KiB", "left", h.hello(HOST, h.extension(h.PADDING, bytes(32700)))),
])
def test_malformed_and_unusual(tmm, segments, want):
    """Lengths that lie, signed reads, names that are no hosts, limits."""
    assert outcome(tmm, *segments) == want
    assert expected(b"".join(segments)) == want


@pytest.mark.parametrize("name", [
    "-value", "--", "-", "*.example.com", "[reject]", "$f5r_need", "{", "}", '"', "a b",
    HOST + "\0", HOST + " ", HOST + "\n", "\\x41", "a,b", "10.0.0.1:443", ".",
])
def test_names_that_are_no_hosts(tmm, name):
    """Never looked up, so that they mean nothing to Tcl or to class match, whatever is recorded."""
    assert outcome(tmm, h.hello(name), hosts={name: POOL}) == "left"


WILDCARD = {**HOSTS, ".example.com": OTHER_POOL, "here.example.com": "terminate", ".deep.example.com": ""}


@pytest.mark.parametrize(("source", "name", "want"), [
    ("parity 5.3: a wildcard too", "any.example.com", "passed to the other"),
    ("parity 5.3: any case", "ANY.Example.com", "passed to the other"),
    ("trailing dot", "any.example.com.", "passed to the other"),
    ("issue: exact host before wildcard", HOST, "passed"),
    ("issue: exact host before wildcard, TLS ends here", "here.example.com", "left"),
    ("parity 5.1: exactly one label", "a.any.example.com", "left"),
    ("parity 5.1: exactly one label", "a.here.example.com", "left"),
    ("parity 5.1: exactly one label", "example.com", "left"),
    ("a record without a pool", "a.deep.example.com", "left"),
    ("one label", "localhost", "left"),
])
def test_wildcard(tmm, source, name, want):
    assert outcome(tmm, h.hello(name), hosts=WILDCARD) == want


def test_the_name_of_a_wildcard_record_is_no_host(tmm):
    """A client that sends it gets nothing by it."""
    assert outcome(tmm, h.hello(".example.com"), hosts=WILDCARD) == "left"


@pytest.mark.parametrize("mode", ["stream", "once"])
@pytest.mark.parametrize("data", [
    pytest.param(HELLO, id="plain"),
    pytest.param(h.records(h.message([h.extension(h.GREASE), h.sni(HOST)]), 3, 1, 50, 0, 7), id="6 records"),
])
def test_every_cut(tmm, data, mode):
    """Two segments cut anywhere, and one segment a byte; waits until the last byte, then passes."""
    for cut in range(1, len(data)):
        assert outcome(tmm, data[:cut], data[cut:], mode=mode) == "passed"
    octets = [bytes([octet]) for octet in data]
    assert outcome(tmm, *octets, mode=mode) == "passed"
    assert outcome(tmm, *octets[:-1], mode=mode) == "waiting"


def test_every_record_cut(tmm):
    """The message fragmented anywhere over two records."""
    message = h.message([h.sni(HOST)])
    for cut in range(1, len(message)):
        assert outcome(tmm, h.records(message, cut)) == "passed"


def test_record_limit(tmm):
    """64 records are read, a 65th is not."""
    message = h.message([h.sni(HOST)])
    assert outcome(tmm, h.records(message, *[1] * 63)) == "passed"
    assert outcome(tmm, h.records(message, *[1] * 64)) == "left"


def test_byte_by_byte_costs_little(tmm):
    """The worst sender: a byte a segment, many records; the stand-in bounds the commands of each event."""
    stream = h.records(h.message([h.sni(HOST)], length=3000), *[1] * 60)
    connection = client(tmm, *[bytes([octet]) for octet in stream])
    assert connection.effects == WAITING


def test_size_limit(tmm):
    """32 KiB with the headers of records are read, not a byte more, in one segment or several."""
    empty = len(h.message([h.extension(h.PADDING), h.sni(HOST)]))
    for size, want in ((h.LIMIT, "passed"), (h.LIMIT + 1, "left")):
        data = h.hello(HOST, h.extension(h.PADDING, bytes(size - 2 * 5 - empty)))
        assert len(data) == size
        assert outcome(tmm, data) == want
        assert outcome(tmm, *split(data, 20000)) == want


def test_nothing_happens_after_the_decision(tmm):
    """Later data goes through without another look, also when it would decide otherwise."""
    assert client(tmm, HELLO, HELLO, b"x").actions.count(("TCP::release",)) == 1
    assert client(tmm, b"x", HELLO).effects == LEFT


@pytest.mark.parametrize(("first", "effects"), [
    pytest.param(b"x", LEFT, id="left"),
    pytest.param(HELLO, (("pool", POOL), *UNTOUCHED), id="passed"),
])
def test_data_collected_by_another_irule_is_not_touched(tmm, first, effects):
    """Once decided we do not release what somebody else collects."""
    other = "when CLIENT_DATA { TCP::collect }"
    connection = tmm.run([RULE, other], segments=[first, HELLO], groups={GROUP: HOSTS})
    assert connection.effects == effects
    assert connection.held == HELLO


def test_connection_older_than_the_irule(tmm):
    """Without our CLIENT_ACCEPTED, what CLIENT_DATA sees is not ours."""
    other = "when CLIENT_ACCEPTED { TCP::collect }"
    late = RULE.replace("when CLIENT_ACCEPTED", "when NEVER")
    connection = tmm.run([other, late], segments=[HELLO], groups={GROUP: HOSTS})
    assert connection.effects == WAITING
    assert connection.variables == frozenset()


def test_silent_client(tmm):
    """Nothing is decided; the idle timeout ends the connection."""
    assert client(tmm).actions == (("TCP::collect",),)


def test_connections_share_nothing(tmm):
    """A connection that passed leaves no mark on the next."""
    assert outcome(tmm, HELLO) == "passed"
    assert client(tmm, b"x").effects == LEFT


@pytest.mark.parametrize(("faults", "groups"), [
    pytest.param(["binary"], {GROUP: HOSTS}, id="binary scan"),
    pytest.param(["class"], {GROUP: HOSTS}, id="lookup"),
    pytest.param([], {}, id="no data-group"),
])
def test_error_while_reading(tmm, faults, groups):
    """An error leaves the connection as it is; the log line shows nothing of the client's."""
    connection = tmm.run([RULE], segments=[HELLO], groups=groups, faults=faults)
    assert connection.effects == LEFT
    assert connection.forwarded == HELLO
    assert len(connection.logs) == 1
    assert HOST not in str(connection.logs)


@pytest.mark.parametrize("fault", ["pool", "SSL::disable"])
def test_passthrough_fails_closed(tmm, fault):
    """TLS meant for the pod never ends here."""
    connection = client(tmm, HELLO, faults=[fault], hosts={HOST: f"{FOLDER}/openshift_gone"})
    assert connection.effects[-1] == ("reject",)
    assert connection.held == HELLO
    assert connection.logs


@pytest.mark.parametrize("fault", ["SSL::disable serverside", "HTTP::disable"])
def test_absent_profiles(tmm, fault):
    """A virtual server without server SSL or HTTP profile still passes."""
    connection = client(tmm, HELLO, faults=[fault])
    assert ("pool", POOL) in connection.effects
    assert connection.effects[-1] == ("TCP::release",)
    assert connection.forwarded == HELLO


@pytest.mark.parametrize(("default", "records", "host", "stays"), [
    pytest.param(True, {}, HOST, True, id="by default"),
    pytest.param(False, {}, HOST, False, id="not by default"),
    pytest.param(True, {HOST: "off"}, HOST, False, id="not this Route"),
    pytest.param(False, {HOST: "source"}, HOST, True, id="this Route"),
    pytest.param(True, {OTHER_HOST: "off"}, HOST, True, id="not another Route"),
    pytest.param(True, {".example.com": "off"}, HOST, True, id="not the wildcard above"),
    pytest.param(False, {".example.com": "source"}, "any.example.com", True, id="the wildcard"),
    pytest.param(True, {}, "none.example.org", False, id="no Route"),
])
def test_clients_stay_with_their_pods(tmm, default, records, host, stays):
    rule = irules.passthrough_irule(FOLDER, source=default)
    groups = {GROUP: {**HOSTS, ".example.com": POOL}, f"{FOLDER}/openshift_persistence_dg": records}
    done = tmm.run([rule], segments=[h.hello(host)], groups=groups)
    expected = [("persist", "uie", f"{CLIENT} {POOL}", "3600")] if stays else []
    assert [action for action in done.actions if action[0] == "persist"] == expected
    if stays:
        refused = tmm.run([rule], segments=[h.hello(host)], groups=groups, faults=["persist"])
        assert ("pool", POOL) in refused.effects
        assert refused.effects[-1] == ("TCP::release",)
        assert len(refused.logs) == 1
