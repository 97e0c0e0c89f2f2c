"""TLS towards members: the server-ssl profile, verification, what the log tells."""

from __future__ import annotations

import pytest

from tests.builders import identity
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, until

CA = "/P/ca.crt"
REQUIRE = {"peerCertMode": "require", "caFile": CA}


def pem(host: str, **options) -> tuple[bytes, bytes]:
    own = identity(host, **options)
    return own.certificate.encode(), own.key.encode()


@pytest.fixture(scope="module")
def shared():
    """Pods with several certificates; /P/ca.crt issued the good one."""
    net = Net()
    net.big.install(CA, identity().issuer.encode())
    net.pod("10.1.0.1", 443, name="good", tls=pem("pod.example"), client_ca=identity().issuer.encode())
    net.pod("10.1.0.2", 443, name="other-ca", tls=pem("pod.example", ca="Other CA"))
    net.pod("10.1.0.3", 443, name="expired", tls=pem("pod.example", expired=True))
    net.pod("10.1.0.4", 443, name="clear")
    for number, name in enumerate(("good", "other-ca", "expired", "clear"), 1):
        net.pool(name, f"10.1.0.{number}:443")
    yield net
    net.close()


def with_profile(net: Net, name: str, pool: str, **fields) -> str:
    net.put("ltm/profile/server-ssl", name, **fields)
    return net.virtual(name, pool=f"/P/{pool}", profiles=["/Common/tcp", "/Common/http", f"/P/{name}"])


ROWS = [
    pytest.param("good", {}, True, False, id="nothing is checked by default"),
    pytest.param("other-ca", {}, True, False, id="any CA without require"),
    pytest.param("expired", {}, True, False, id="expired without require"),
    pytest.param("good", REQUIRE, True, True, id="required and good"),
    pytest.param("other-ca", REQUIRE, False, False, id="required, other CA"),
    pytest.param("expired", REQUIRE, False, False, id="required, expired"),
    pytest.param("good", {"peerCertMode": "require"}, False, False, id="required, but nothing is trusted"),
    pytest.param("good", {**REQUIRE, "authenticateName": "pod.example"}, True, True, id="right name"),
    pytest.param("good", {**REQUIRE, "authenticateName": "POD.example"}, True, True, id="name in capitals"),
    pytest.param("good", {**REQUIRE, "authenticateName": "x.example"}, False, False, id="wrong name"),
    pytest.param("good", {"authenticateName": "x.example"}, True, False, id="name without require"),
    pytest.param(
        "other-ca", {**REQUIRE, "untrustedCertResponseControl": "ignore"}, True, False, id="untrusted ignored"
    ),
    pytest.param("clear", {}, False, False, id="the member does not speak TLS"),
]


@pytest.mark.parametrize(("pool", "fields", "served", "verified"), ROWS)
def test_verification(net: Net, request, pool, fields, served, verified):
    name = f"s{abs(hash(request.node.name))}"
    vs = with_profile(net, name, pool, **fields)
    answer = net.ask(vs)
    if served:
        assert (answer.pod, answer.seen["tls"]["version"]) == (pool, "TLSv1.2")
        assert (net.last().server_ssl, net.last().verified) == (f"/P/{name}", verified)
    else:
        assert answer.ended == RESET
        assert net.last().outcome.startswith("reset")


@pytest.mark.parametrize(("fields", "sni"), [({}, None), ({"serverName": "inner.example"}, "inner.example")])
def test_server_name_towards_the_member(net: Net, fields, sni):
    vs = with_profile(net, f"n{len(fields)}", "good", **fields)
    assert net.ask(vs).seen["tls"]["sni"] == sni


def test_the_profiles_own_certificate(net: Net):
    cert, key = pem("bigip.example")
    net.big.install("/P/own.crt", cert)
    net.big.install("/P/own.key", key)
    vs = with_profile(net, "own", "good", cert="/P/own.crt", key="/P/own.key")
    assert net.ask(vs).seen["tls"]["client_certificate"] is True


def test_keep_alive_over_tls_on_both_sides(net: Net):
    net.put("ltm/profile/server-ssl", "both", **REQUIRE)
    profiles = ["/Common/tcp", "/Common/http", "/P/both", net.client_ssl("front")]
    vs = net.virtual("both", pool="/P/good", profiles=profiles)
    with net.connect(vs, sni="front") as client:
        seen = [client.ask("/?length=100000").seen for _ in range(3)]
    assert [request["request"] for request in seen] == [1, 2, 3]


def test_a_changed_profile_counts_for_new_server_connections(net: Net):
    vs = with_profile(net, "changed", "other-ca")
    with net.connect(vs) as client:
        assert client.ask().pod == "other-ca"
        net.change("PATCH", "ltm/profile/server-ssl/~P~changed", REQUIRE)
        assert client.ask().pod == "other-ca"
    assert net.ask(vs).ended == RESET


def test_nothing_is_left_of_failed_handshakes(net: Net):
    vs = with_profile(net, "failing", "other-ca", **REQUIRE)
    for _ in range(5):
        assert net.ask(vs).ended == RESET
    net.quiet()
    until(lambda: not net.big.pods["10.1.0.2", 443].connections)
