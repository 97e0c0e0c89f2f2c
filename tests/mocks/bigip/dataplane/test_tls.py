"""The client side of TLS: profiles by server name, certificates, versions, hellos in pieces."""

from __future__ import annotations

import socket
import ssl
import warnings

import pytest

from tests.builders import identity
from tests.mocks.bigip.dataplane.client import RESET, Client, tls_context
from tests.mocks.bigip.dataplane.conftest import Net
from tests.unit.desired.irules.hello import hello

VS = "/P/https"


@pytest.fixture(scope="module")
def shared():
    """/P/https with a default profile, one for a.example and one for *.w.example."""
    net = Net()
    net.pod("10.1.0.1", name="web")
    net.pool("web", "10.1.0.1:8080")
    profiles = [
        net.client_ssl("default"),
        net.client_ssl("a", "a.example"),
        net.client_ssl("w", "*.w.example"),
        net.client_ssl("exact", "x.w.example"),
    ]
    net.virtual("https", pool="/P/web", profiles=["/Common/tcp", "/Common/http", *profiles])
    yield net
    net.close()


@pytest.mark.parametrize(
    ("sni", "shown"),
    [
        pytest.param("a.example", "a.example", id="exact"),
        pytest.param("A.Example", "a.example", id="upper case"),
        pytest.param("y.w.example", "*.w.example", id="wildcard"),
        pytest.param("x.w.example", "x.w.example", id="exact before wildcard"),
        pytest.param("w.example", "default.default", id="wildcard has a label more"),
        pytest.param("y.y.w.example", "default.default", id="wildcard is one label"),
        pytest.param("b.example", "default.default", id="unknown"),
        pytest.param("", "default.default", id="none"),
    ],
)
def test_certificate_by_server_name(net: Net, sni, shown):
    with net.connect(VS, sni=sni) as client:
        assert client.certificate == shown
        assert client.ask(host="other.example").pod == "web"
    served = net.last()
    assert (served.sni, served.member) == (sni or None, "10.1.0.1:8080")


def test_requests_over_tls(net: Net):
    with net.connect(VS, sni="a.example") as client:
        assert client.ask("/", method="POST", body=b"x" * 300_000).seen["body_size"] == 300_000
        assert len(client.ask("/?length=1000000").body) > 1_000_000
        assert [client.ask("/").seen["request"] for _ in range(3)] == [3, 4, 5]


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_hello_in_pieces(net: Net, size):
    """As a slow client, or one whose key share fills several segments."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = tls_context().wrap_bio(incoming, outgoing, server_hostname="a.example")
    with Client(net.big.endpoint(VS)) as client:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                data = outgoing.read()
                for at in range(0, len(data), size):
                    client.send(data[at : at + size])
                assert not client.more()
                incoming.write(client.buffer)
                client.buffer = b""
        assert tls.version() == "TLSv1.2"
        client.send(outgoing.read())


def test_a_large_hello(net: Net):
    """Protocols for ALPN fill several segments, as post-quantum key shares do."""
    context = tls_context()
    context.set_alpn_protocols([f"protocol-{number:03}" for number in range(200)])
    with net.connect(VS, sni="a.example", context=context) as client:
        assert client.certificate == "a.example"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", id="clear text"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x00", id="an alert"),
        pytest.param(b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", id="a ServerHello"),
        pytest.param(hello("a.example")[:20] + b"\xff" * 500, id="a hello of nonsense"),
    ],
)
def test_what_is_no_tls_is_reset(net: Net, sent):
    with net.connect(VS) as client:
        client.send(sent)
        data, ended = client.rest()
        assert (data[:1] in (b"", b"\x15"), ended) == (True, RESET)


def test_tls_to_a_virtual_server_without_it(net: Net):
    vs = net.virtual("clear", pool="/P/web")
    with pytest.raises((ConnectionResetError, ssl.SSLError)), net.connect(vs, sni="a.example"):
        pass


def test_a_client_that_stops_in_its_hello(make_net):
    net = make_net(speed=1500.0)
    profile = net.client_ssl("default", handshakeTimeout="indefinite")
    vs = net.virtual("v", profiles=["/Common/tcp", "/Common/http", profile])
    with net.connect(vs) as client:
        client.send(hello("a.example")[:40])
        assert client.rest() == (b"", RESET)
    net.quiet()


def test_the_handshake_has_its_own_time(make_net):
    net = make_net(speed=50.0)  # 10 s are 0.2 s, 300 s are 6 s
    vs = net.virtual("v", profiles=["/Common/tcp", "/Common/http", net.client_ssl("default")])
    with net.connect(vs) as client:
        client.send(hello("a.example")[:40])
        assert client.rest() == (b"", RESET)
    net.quiet()


def test_the_time_for_the_handshake_ends_with_it(make_net):
    net = make_net(speed=50.0)
    net.pod("10.1.0.1")
    profiles = ["/Common/tcp", "/Common/http", net.client_ssl("default")]
    vs = net.virtual("v", profiles=profiles, pool=net.pool("web", "10.1.0.1:8080"))
    with net.connect(vs, sni="a.example") as client:
        assert [client.ask("/?delay=0.15").status for _ in range(3)] == [200] * 3


# -- profiles --------------------------------------------------------------------------------------


def one_profile(make_net, host: str = "", *, version: str = "14.1.2.1", **fields) -> tuple[Net, str]:
    net = make_net(tmos_version=version)
    net.pod("10.1.0.1", name="web")
    profile = net.client_ssl("only", host, **fields)
    profiles = ["/Common/tcp", "/Common/http", profile]
    return net, net.virtual("v", pool=net.pool("web", "10.1.0.1:8080"), profiles=profiles)


def handshake(net: Net, vs: str, sni: str = "a.example", **context) -> str:
    """Protocol version, or reset."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            client_context = tls_context(**context)
        if "maximum_version" in context:
            client_context.set_ciphers("DEFAULT:@SECLEVEL=0")
        with net.connect(vs, sni=sni, context=client_context) as client:
            client.ask()
            return client.sock.version()
    except (ConnectionResetError, ssl.SSLError):
        return RESET


def test_a_single_profile_is_its_own_default(make_net):
    net, vs = one_profile(make_net, "a.example")
    assert handshake(net, vs, "b.example") == "TLSv1.2"


@pytest.mark.parametrize("fields", [{"sniRequire": "true"}, {"mode": "disabled"}])
def test_names_that_the_default_profile_refuses(make_net, fields):
    net, vs = one_profile(make_net, **fields)
    other = net.client_ssl("b", "b.example")
    net.change("POST", "ltm/virtual/~P~v/profiles", {"name": other})
    assert [handshake(net, vs, sni) for sni in ("b.example", "c.example", "")] == ["TLSv1.2", RESET, RESET]


@pytest.mark.parametrize(
    ("version", "options", "offered", "expected"),
    [
        pytest.param("14.1.2.1", None, None, "TLSv1.2", id="14.1: default is no-tlsv1.3"),
        pytest.param("14.1.2.1", "{ dont-insert-empty-fragments }", None, "TLSv1.3", id="14.1: 1.3 allowed"),
        pytest.param("13.1.0", None, None, "TLSv1.2", id="13: no TLS 1.3"),
        pytest.param("14.1.2.1", None, ssl.TLSVersion.TLSv1, "TLSv1", id="old client"),
        pytest.param("14.1.2.1", None, ssl.TLSVersion.TLSv1_1, "TLSv1.1", id="TLS 1.1"),
        pytest.param("14.1.2.1", "{ no-tlsv1 no-tlsv1.3 }", ssl.TLSVersion.TLSv1, RESET, id="no-tlsv1"),
        pytest.param("13.1.0", ["no-tlsv1.2"], None, "TLSv1.1", id="list of 13"),
    ],
)
def test_versions(make_net, version, options, offered, expected):
    net, vs = one_profile(make_net, version=version, **({"tmOptions": options} if options else {}))
    context = {"minimum_version": ssl.TLSVersion.TLSv1, "maximum_version": offered} if offered else {}
    if expected == "TLSv1.1":
        context = {"minimum_version": ssl.TLSVersion.TLSv1, "maximum_version": ssl.TLSVersion.TLSv1_2}
        if offered:
            context["maximum_version"] = offered
    assert handshake(net, vs, **context) == expected


def test_ciphers(make_net):
    net, vs = one_profile(make_net, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256:@SPEED")
    with net.connect(vs, sni="a.example") as client:
        assert client.sock.cipher()[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"


def test_the_chain_is_sent(make_net):
    net, vs = one_profile(make_net)
    pair = identity("c.example", algorithm="ec")
    for name, data in (("c.crt", pair.certificate), ("c.key", pair.key), ("chain.crt", pair.issuer)):
        net.big.install(f"/P/{name}", data.encode())
    fields = {"cert": "/P/c.crt", "key": "/P/c.key", "chain": "/P/chain.crt"}
    net.change("PATCH", "ltm/profile/client-ssl/~P~only", fields)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = tls_context(maximum_version=ssl.TLSVersion.TLSv1_2).wrap_bio(incoming, outgoing)
    with net.connect(vs) as client:
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        client.send(outgoing.read())
        while len(client.buffer) < 800:
            assert not client.more()
        for certificate in (pair.certificate, pair.issuer):
            assert ssl.PEM_cert_to_DER_cert(certificate) in client.buffer


def test_a_new_certificate_counts_for_new_connections(make_net):
    net, vs = one_profile(make_net)
    with net.connect(vs, sni="a.example") as before:
        before.ask()
        pair = identity("new.example", algorithm="ec")
        with net.store.lock, net.store.atomic():
            net.big.install("/P/only.crt", pair.certificate.encode())
            net.big.install("/P/only.key", pair.key.encode())
        with net.connect(vs, sni="a.example") as after:
            assert (before.certificate, after.certificate) == ("only.default", "new.example")
            assert before.ask().status == after.ask().status == 200


def test_client_certificates(make_net):
    net, vs = one_profile(make_net)
    net.big.install("/P/ca.crt", identity().issuer.encode())
    net.change(
        "PATCH", "ltm/profile/client-ssl/~P~only", {"peerCertMode": "require", "caFile": "/P/ca.crt"}
    )
    assert handshake(net, vs) == RESET


def test_allow_non_ssl(make_net):
    net, vs = one_profile(make_net, allowNonSsl="enabled")
    assert net.ask(vs).pod == "web"
    assert net.ask(vs, sni="a.example").pod == "web"


def test_tls_without_http(make_net):
    """TLS is ended, what is inside goes to the member as it is."""
    net = make_net()
    net.pod("10.1.0.1", name="raw", raw=True)
    profiles = ["/Common/tcp", net.client_ssl("default")]
    vs = net.virtual("v", pool=net.pool("raw", "10.1.0.1:8080"), profiles=profiles)
    with net.connect(vs, sni="a.example") as client:
        client.send(b"hello\n")
        assert b'"tls": null' in client.until(b"\n")
        assert client.until(b"\n") == b"hello\n"


def test_tls_through_a_virtual_server_without_http_and_ssl(make_net):
    """fastL4 or tcp alone: the pod's own certificate."""
    net = make_net()
    pair = identity("pod.example")
    net.pod("10.1.0.1", 8443, name="pod", tls=(pair.certificate.encode(), pair.key.encode()))
    vs = net.virtual("v", pool=net.pool("pod", "10.1.0.1:8443"), profiles=["/Common/fastL4"])
    with net.connect(vs, sni="x.example") as client:
        assert client.certificate == "pod.example"
        seen = client.ask().seen
    assert (seen["pod"], seen["tls"]["sni"]) == ("pod", "x.example")
    assert net.last().outcome == "tunnelled"


def test_the_server_speaks_first(make_net):
    net = make_net()
    net.pod("10.1.0.1", 25, raw=True, greeting=b"220 ready\n")
    vs = net.virtual("v", pool=net.pool("mail", "10.1.0.1:25"), profiles=["/Common/tcp"])
    with net.connect(vs) as client:
        assert client.until(b"\n") == b"220 ready\n"
        client.sock.shutdown(socket.SHUT_WR)


def test_half_closed_tunnels(make_net):
    net = make_net()
    net.pod("10.1.0.1", raw=True)
    vs = net.virtual("v", pool=net.pool("raw", "10.1.0.1:8080"), profiles=["/Common/tcp"])
    with net.connect(vs) as client:
        client.send(b"x" * 2_000_000)
        client.sock.shutdown(socket.SHUT_WR)
        data, ended = client.rest()
    assert (len(data.partition(b"\n")[2]), ended) == (2_000_000, "end")
    net.quiet()


def test_a_pool_without_members_resets_without_http(make_net):
    net = make_net()
    vs = net.virtual("v", pool=net.pool("none"), profiles=["/Common/tcp"])
    with net.connect(vs) as client:
        assert client.rest() == (b"", RESET)
