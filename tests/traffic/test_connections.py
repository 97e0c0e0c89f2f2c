"""Many requests on one connection: each goes to the pods of its own Route, whatever came before it.

F5's documents say that a BIG-IP without OneConnect does otherwise by itself (docs/traffic.md, Requests
of one connection). All is tried under each behaviour that the fake has, and with OneConnect.
"""

import itertools
import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from f5router.model import names
from tests import manifests
from tests.conftest import UNDER_LOAD
from tests.traffic import clients
from tests.traffic.conftest import HTTP, HTTPS
from tests.traffic.load import Load, Target
from tests.traffic.tenants import ONE_CONNECT, WANTED, Kept, build, virtual, wanted
from tests.waiting import until

SWITCHES, STAYS, FORGETS = "pool-switches-server", "policy-pool-stays", "detach-forgets-pool"
OTHERS = ("server-ssl-afresh", "server-ssl-live", "bare-names", "reply-skips-http-request")
BEHAVIOURS = [
    *(tuple(itertools.compress((SWITCHES, STAYS), on)) for on in itertools.product((0, 1), repeat=2)),
    (FORGETS,), (FORGETS, STAYS, *OTHERS), OTHERS, (ONE_CONNECT,), (ONE_CONNECT, STAYS, *OTHERS),
]
GUARD = "/Common/openshift_request_irule"
FLAGS = {"allow_wildcard_routes": "true", "f5_pool_monitor": "none"}
"""Checks of members would count as connections to pods."""


@pytest.fixture(params=BEHAVIOURS, ids=lambda quirks: "+".join(quirks) or "as documented", scope="module")
def site(request, tmp_path_factory):
    """One for each behaviour."""
    with ExitStack() as stack:
        new_site = build(stack, tmp_path_factory.mktemp("site"), request.param)
        assert new_site.converge(**FLAGS) == []
        new_site.behaviour = request.param
        yield new_site
        assert new_site.faults() == []


@pytest.fixture(params=[False, True], ids=["HTTP", "HTTPS"])
def tls(request) -> bool:
    return request.param


# --- one after the other -----------------------------------------------------------------------------


def test_each_request_goes_to_its_own_pods(site, tls):
    """In an order of its own for each behaviour: all pairs are asked below."""
    order, every = random.Random(f"{site.behaviour} {tls}"), list(wanted(tls).items())
    with Kept(site, tls) as client:
        for (host, path), expected in (order.choice(every) for _ in range(40)):
            assert client.ask(host, path) == expected, (host, path)
        assert client.opened < 30


def test_passthrough_beside_reencryption(site):
    """On a virtual server with a server-ssl profile the client's own TLS reaches the pod, with nothing
    around it."""
    for _ in range(2):
        reply = clients.python(site.https, "through.example.com")
        assert (reply.certificate, reply.pod["namespace"]) == ("pods.example.com", "bank")
        with Kept(site, True) as client:
            assert client.ask("again.example.com") == "bank tls"


def test_every_pair(site, tls):
    """In turn, twice, each first on some connections; an answer of the BIG-IP's own may end one."""
    expected = wanted(tls)
    for number, pair in enumerate(itertools.combinations(expected, 2)):
        with Kept(site, tls) as client:
            for request in (pair if number % 2 else pair[::-1]) * 2:
                assert client.ask(*request) == expected[request], (pair, request)


def test_bodies(site, tls):
    """They go where their request goes: with a length, in chunks, larger than what is sent at once."""
    hosts = {"plain.example.com": "shop web", "other.example.com": "rival web"}
    with Kept(site, tls) as client:
        for size, (host, expected) in itertools.product((1, 70_000, 300_000), hosts.items()):
            head = clients.request_bytes(host, method="POST", close=False,
                                         headers=[f"Content-Length: {size}"])
            client.send(head + b"x" * size)
            assert (client.answer(), client.pod["body_size"]) == (expected, size)
            head = clients.request_bytes(host, method="POST", close=False,
                                         headers=["Transfer-Encoding: chunked"])
            client.send(head + b"%x\r\n%s\r\n0\r\n\r\n" % (size, b"y" * size))
            assert (client.answer(), client.pod["body_size"]) == (expected, size)


def test_pipelined(site, tls):
    """All sent before the first answer; answered in their order."""
    order = [("plain.example.com", "/"), ("other.example.com", "/"), ("again.example.com", "/"),
             ("plain.example.com", "/api/x"), ("plain.example.com", "/"), ("plain.example.com", "/")]
    with Kept(site, tls) as client:
        client.send(b"".join(clients.request_bytes(*request, close=False) for request in order))
        assert [client.answer() for _ in order] == [WANTED[request] for request in order]
        assert client.opened == 1


def test_http_1_0_that_keeps_its_connection(site, tls):
    keep = {"version": "1.0", "headers": ["Connection: Keep-Alive"]}
    with Kept(site, tls) as client:
        for host in ("plain.example.com", "other.example.com") * 2:
            assert client.ask(host, **keep) == WANTED[host, "/"]


@pytest.mark.parametrize("host", ["plain.example.com", "other.example.com"])
def test_an_upgrade(site, tls, host):
    """A WebSocket on a connection that was used for another Route before."""
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    with Kept(site, tls) as client:
        assert client.ask("again.example.com") == "bank tls"
        assert client.ask(host, headers=upgrade) == "101"
        assert site.bigip.dataplane.log[-1].pool == f"/Common/openshift_{WANTED[host, '/'].replace(' ', '_')}"


# --- what it costs -------------------------------------------------------------------------------------


def accepted(site) -> int:
    """Connections that pods took so far."""
    return sum(pod.accepted for pod in site.pods)


@pytest.mark.parametrize("host", ["plain.example.com", "again.example.com", "x.wild.example.com"])
def test_one_route_has_one_connection_to_a_pod(site, tls, host):
    before = accepted(site)
    with Kept(site, tls) as client:
        assert {client.ask(host) for _ in range(10)} == {WANTED[host, "/"]}
        assert client.opened == 1
    if ONE_CONNECT not in site.behaviour:
        assert accepted(site) - before == 1


def test_a_change_of_the_route_is_one_connection_more(site, tls):
    before = accepted(site)
    hosts = ["plain.example.com"] * 3 + ["other.example.com"] * 3
    with Kept(site, tls) as client:
        assert [client.ask(host) for host in hosts * 3] == [WANTED[host, "/"] for host in hosts * 3]
        assert client.opened == 1
    if ONE_CONNECT not in site.behaviour:
        assert accepted(site) - before == 6


# --- the administrator's part --------------------------------------------------------------------------


@pytest.fixture
def mine(site, tls) -> Iterator[dict]:
    """The virtual server, which gets back what it has; a pool and a pod of the administrator's."""
    path = virtual(HTTPS if tls else HTTP)
    if site.bigip.get("ltm/pool/~Common~legacy") is None:
        site.pod("10.9.9.9", "legacy", namespace="none")
        site.change("POST", "ltm/pool", {"name": "legacy", "partition": "Common",
                                         "members": [{"name": "10.9.9.9:8080"}]})
    before = site.bigip.get(path)["rules"]
    yield {"path": path, "rules": before}
    site.change("PATCH", path, {"rules": before, "pool": "none"})


def test_a_default_pool(site, tls, mine):
    """It gets what no Route matches, and nothing else."""
    site.change("PATCH", mine["path"], {"pool": "/Common/legacy"})
    order, every = random.Random(7), list(wanted(tls).items())
    with Kept(site, tls) as client:
        for (host, path), expected in (order.choice(every) for _ in range(60)):
            expected = "none legacy" if host.startswith("nobody") else expected
            assert client.ask(host, path) == expected, (host, path)


CHOOSES = "if { [HTTP::host] eq {mine.example.com} } { %s }"


@pytest.mark.parametrize("text", [
    "when HTTP_REQUEST priority 600 { " + CHOOSES % "pool /Common/legacy" + " }",
    "when HTTP_REQUEST { " + CHOOSES % "pool /Common/legacy; set f5router_pool /Common/legacy" + " }",
], ids=["by its priority", "tells its pool"])
def test_an_irule_that_chooses_a_pool(site, tls, mine, text):
    """As docs/limits.md asks for."""
    if site.bigip.get("ltm/rule/~Common~mine") is None:
        site.change("POST", "ltm/rule", {"name": "mine", "partition": "Common", "apiAnonymous": text})
    else:
        site.change("PATCH", "ltm/rule/~Common~mine", {"apiAnonymous": text})
    site.change("PATCH", mine["path"], {"rules": ["/Common/mine", *mine["rules"]]})
    hosts = {"mine.example.com": "none legacy", "plain.example.com": "shop web",
             "other.example.com": "rival web"}
    with Kept(site, tls) as client:
        for host in ["mine.example.com", *random.Random(3).choices(list(hosts), k=20)]:
            assert client.ask(host) == hosts[host]


def test_without_the_guard(site, tls, mine):
    """The iRule is needed; without this, the file would show nothing."""
    site.change("PATCH", mine["path"], {"rules": [path for path in mine["rules"] if path != GUARD]})
    with Kept(site, tls) as client:
        answers = [client.ask(f"{host}.example.com") for host in ("plain", "other", "nobody")]
    wrong = [answers[1] != "rival web", answers[2] == answers[1]]
    switches = bool({SWITCHES, ONE_CONNECT} & set(site.behaviour))
    assert wrong == [not switches, STAYS in site.behaviour or not switches]


# --- changes, under load -------------------------------------------------------------------------------


@pytest.mark.parametrize("behaviour", [(), (SWITCHES, STAYS)],
                         ids=lambda quirks: "+".join(quirks) or "as documented")
def test_changes_under_load(record_property, tmp_path, behaviour):
    """Routes come and go, and change their Services, while clients ask for all on the same connections."""
    with ExitStack() as stack:
        site = build(stack, tmp_path, behaviour)
        router = site.run(**FLAGS)
        stack.callback(router.stop)
        until(lambda: site.admitted("bank", "again").get("status") == "True")
        until(lambda: site.admitted("shop", "wild").get("status") == "True")
        targets = {(tls, *key): target(site, key, expected, tls)
                   for tls in (False, True) for key, expected in wanted(tls).items() if expected != "302"}
        with Load(*targets.values(), clients=4, device=site.bigip) as load:
            drill(site, load, targets)
            report = load.stop()
        record_property(UNDER_LOAD, str(report))
        assert (report.failed, report.wrong, site.faults()) == ([], [], [])


def target(site, key: tuple[str, str], expected: str, tls: bool) -> Target:
    host, path = key
    status = int(expected) if expected.isdigit() else 200
    namespace, _, service = expected.partition(" ")
    return Target(f"{host}{path}{' with TLS' if tls else ''}", site.https if tls else site.http, host, path,
                  tls, site.right(service, namespace=namespace), status=status)


def drill(site, load: Load, targets: dict) -> None:
    """A path moves to another Service and back, a Route goes and comes again."""
    both = {"kind": "edge", "insecure": "Allow"}
    ours = [targets[tls, "plain.example.com", "/api/x"] for tls in (False, True)]
    theirs = [targets[tls, "other.example.com", "/"] for tls in (False, True)]
    until(load.more(5))
    for service in ("web", "api"):
        for target in ours:
            target.right = site.right("web", "api")
        site.apply(manifests.route("path", host="plain.example.com", path="/api", service=service, **both))
        until(lambda: rule_pools(site) == {f"openshift_shop_{service}"})  # noqa: B023
        for target in ours:
            target.right = site.right(service)
        until(load.more(5))
    for target in theirs:
        target.asleep = True
    until(load.more(2))
    site.kube.delete("Route", "rival", "other")
    until(lambda: not rule_pools(site, "openshift_route_rival_other"))
    for target in theirs:
        target.asleep, target.status = False, 503
    until(load.more(5))
    for target in theirs:
        target.asleep = True
    until(load.more(2))
    site.apply(manifests.route("other", namespace="rival", host="other.example.com", **both))
    until(lambda: site.admitted("rival", "other").get("status") == "True")
    for target in theirs:
        target.asleep, target.status = False, 200
    until(load.more(5))


def rule_pools(site, rule: str = "openshift_route_shop_path") -> set[str]:
    """Pools of a Rule in both policies, as it forwards and as it tells."""
    pools = set()
    for policy in ("insecure", "secure"):
        actions = site.bigip.store.children(
            "ltm/policy/rules/actions", (f"/Common/openshift_{policy}_routes", rule)).values()
        pools |= {action.fields.get("pool") or action.fields["expression"] for action in actions
                  if action.fields.get("tmName", names.POOL_VARIABLE) == names.POOL_VARIABLE}
    return {path.rpartition("/")[2] for path in pools}
