"""Which pod answers, how often: weights of Services and methods of balancing, against HAProxy's."""

import contextlib
import math
import socket
import ssl
from collections import Counter
from fractions import Fraction

import pytest

from tests import manifests
from tests.builders import identity
from tests.differential.conftest import Pair, Router
from tests.differential.differences import DIFFERENCES, WEIGHTS
from tests.differential.haproxy_config import HAPROXY, PREFIXES, endpoint_weights
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import DEADLINE_S, until

KINDS = ("", "edge", "reencrypt", "passthrough")
TLS_PODS = ("reencrypt", "passthrough")
EDGE = identity("weights.example.com")
SERVICES = {"one": 1, "two": 2, "three": 3, "five": 5, "none": 0, "single": 1}
"""Number of pods."""
TABLES = {
    "75 to 25": {"one": 75, "two": 25},
    "75 to 25, five pods": {"five": 75, "one": 25},
    "equal weights, unequal pods": {"three": 1, "two": 1},
    "three Services": {"one": 100, "two": 100, "three": 200},
    "four Services": {"one": 10, "two": 20, "three": 30, "five": 40},
    "3 to 97": {"one": 3, "single": 97},
    "1 to 256, three pods": {"one": 100, "three": 256},
    "primes": {"two": 13, "three": 7},
    "one Service without pods": {"one": 1, "none": 252, "two": 3},
    "spec.to has weight 0": {"one": 0, "three": 5},
    "the alternate has weight 0": {"three": 5, "one": 0},
    "one Service": {"five": 100},
    "all have weight 0": {"one": 0, "two": 0},
}
"""Weight by Service, that of spec.to first."""
CHANCES = 64
"""Requests where HAProxy chooses by chance."""


def weighted(name: str, kind: str, weights: dict[str, int], **annotations: str) -> dict:
    """Return a Route, with a host of its name, to Services with weights."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    prefix = "tls-" if kind in TLS_PODS else ""
    (first, weight), *others = ((prefix + service, weight) for service, weight in weights.items())
    obj = manifests.route(name, host=f"{name}.example.com", service=first, kind=kind, **tls)
    obj["spec"]["to"]["weight"] = weight
    obj["spec"]["alternateBackends"] = [
        {"kind": "Service", "name": service, "weight": share} for service, share in others]
    obj["metadata"]["annotations"] = {
        f"{HAPROXY}{key.replace('_', '-')}": value for key, value in annotations.items()}
    return obj


def name_of(case: str, kind: str) -> str:
    """Return the name of the Route of a case."""
    words = "".join(letter if letter.isalnum() else "-" for letter in case.lower())
    return f"{words}-{kind or 'plain'}".replace("--", "-")


def build(site: Site) -> None:
    """A Route for each table, kind and method."""
    for number, (name, pods) in enumerate(SERVICES.items()):
        for prefix, network, tls in (("", "10.1", None), ("tls-", "10.2", PODS)):
            site.serve(prefix + name, *(f"{network}.{number}.{pod + 1}" for pod in range(pods)),
                       port=8443 if tls else 8080, tls=tls)
    for prefix, network, port in (("", "10.1", 8080), ("tls-", "10.2", 8443)):
        addresses = f"{network}.9.1", f"{network}.9.2"
        site.serve(f"{prefix}half", *addresses, port=port, tls=PODS if prefix else None)
        site.pods.stop(addresses[1], port)
    for kind in KINDS:
        site.apply(*(weighted(name_of(case, kind), kind, weights, balance="roundrobin")
                     for case, weights in TABLES.items()))
        site.apply(*(weighted(name_of(f"{method} alone", kind), kind, {"five": 100}, balance=method)
                     for method in ("roundrobin", "leastconn", "fastest")))
        site.apply(*(weighted(name_of(f"{method} shares", kind), kind, {"one": 7, "three": 7}, balance=method)
                     for method in ("random", "leastconn")))
        site.apply(weighted(name_of("default", kind), kind, {"five": 100}),
                   weighted(name_of("half", kind), kind, {"half": 100}, balance="roundrobin"),
                   weighted(name_of("several by default", kind), kind, {"two": 40, "three": 60}))
    site.apply(weighted("most-to-least", "", {"one": 256, "single": 1}, balance="roundrobin"))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build)


def ask(router: Router, name: str, kind: str) -> clients.Seen:
    host = f"{name}.example.com"
    return clients.python(router.https, host) if kind else clients.plain(router.http, host)


def counts(router: Router, case: str, kind: str, requests: int) -> Counter:
    """Return how many requests each pod got; a status, for those that no pod answered."""
    answers = (ask(router, name_of(case, kind), kind) for _ in range(requests))
    return Counter(seen.pod.get("pod", str(seen.status)) for seen in answers)


def exact_shares(weights: dict[str, int]) -> dict[str, Fraction]:
    """Return the part of all requests that a pod of each Service should get."""
    parts = {name: Fraction(weight, SERVICES[name]) for name, weight in weights.items() if SERVICES[name]}
    whole = sum(count * SERVICES[name] for name, count in parts.items())
    return {name: count / whole if whole else Fraction(0) for name, count in parts.items()}


def rounding(weights: dict[str, int], exact: dict[str, Fraction]) -> Fraction:
    """Return the most by which a pod's part is wrong at HAProxy: its weights are whole numbers up to 256."""
    given = endpoint_weights(weights, SERVICES)
    whole = sum(weight * SERVICES[name] for name, weight in given.items())
    return max(abs(Fraction(given[name], whole) - share) for name, share in exact.items())


@pytest.mark.parametrize(("case", "kind"), [
    (case, kind) for case, weights in TABLES.items() for kind in KINDS
    if any(weights.values()) and (kind in ("", "passthrough") or case == "75 to 25, five pods")])
def test_each_pod_gets_its_share(pair, case, kind):
    """Over a whole period ours are exact, and HAProxy's differ by its rounding and one turn at the end."""
    exact = exact_shares(TABLES[case])
    period = math.lcm(*(share.denominator for share in exact.values()))
    theirs, ours = pair.both(lambda router: counts(router, case, kind, period))
    prefix = "tls-" if kind in TLS_PODS else ""
    assert ours == {pod.name: exact[service] * period for service in exact if exact[service]
                    for pod in pair.site.pods if pod.name.rpartition("-")[0] == prefix + service}
    assert sum(theirs.values()) == period
    most = rounding(TABLES[case], exact) * period + 1
    assert {pod: (theirs[pod], ours[pod]) for pod in theirs.keys() | ours.keys()
            if abs(theirs[pod] - ours[pod]) > most} == {}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_without_any_weight_nobody_answers(pair, kind):
    theirs, ours = pair.both(lambda router: counts(router, "all have weight 0", kind, 2))
    assert ours == theirs == {"0" if kind == "passthrough" else "503": 2}


@pytest.mark.parametrize(("case", "kind"), [
    *(("roundrobin alone", kind) for kind in KINDS), *(("several by default", kind) for kind in KINDS)])
def test_in_turn(pair, case, kind):
    """Several Services take turns without an annotation too; the default for one is another (differences)."""
    theirs, ours = pair.both(lambda router: counts(router, case, kind, 10))
    assert ours == theirs
    assert len(set(ours.values())) == 1


def test_passthrough_keeps_a_client_with_its_pod(pair):
    """Source is the default of a single Service there."""
    theirs, ours = pair.both(lambda router: counts(router, "default", "passthrough", 10))
    assert list(theirs.values()) == list(ours.values()) == [10]


@pytest.mark.parametrize("kind", ["", "passthrough"], ids=["plain", "passthrough"])
def test_random(pair, kind):
    """Every pod is used, at HAProxy's router by chance: the bounds are six standard deviations wide."""
    for counted in pair.both(lambda router: counts(router, "random shares", kind, CHANCES)):
        first = next(count for pod, count in counted.items() if pod.rpartition("-")[0].endswith("one"))
        assert abs(first - CHANCES / 2) <= 6 * math.sqrt(CHANCES / 4)
        assert len(counted) == 4


@pytest.mark.parametrize("kind", ["", "edge"], ids=["plain", "edge"])
def test_a_method_that_is_not_valid(pair, kind):
    """The default applies, and all pods are used."""
    for counted in pair.both(lambda router: counts(router, "fastest alone", kind, CHANCES)):
        assert counted.total() == CHANCES
        assert len(counted) >= 4


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_a_pod_that_is_gone(pair, kind):
    """The other one answers every request, once HAProxy has noticed: it repeats no passthrough connection."""
    backend = f"{PREFIXES[kind]}:shop:{name_of('half', kind)}"
    until(lambda: pair.process.checked_down(backend))
    theirs, ours = pair.both(lambda router: counts(router, "half", kind, 4))
    assert ours == theirs
    assert ours.total() == 4
    assert "503" not in ours


def held(pair: Pair, router: Router, case: str, kind: str, number: int) -> Counter:
    """Return how many of so many requests that are under way each pod has."""
    host = f"{name_of(case, kind)}.example.com"
    pods = list(pair.site.pods)
    before = {pod.name: len(pod.requests) for pod in pods}

    def arrived() -> Counter:
        return +Counter({pod.name: len(pod.requests) - before[pod.name] for pod in pods})

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.ExitStack() as stack:
        for count in range(1, number + 1):
            address = router.https if kind else router.http
            sock = stack.enter_context(socket.create_connection(address, DEADLINE_S))
            if kind:
                sock = stack.enter_context(context.wrap_socket(sock, server_hostname=host))
            sock.sendall(clients.request_bytes(host, method="POST", headers=["Content-Length: 1"]))
            until(lambda count=count: arrived().total() == count)
        return arrived()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("case", ["leastconn alone", "leastconn shares"])
def test_the_fewest_connections(pair, case, kind):
    number = 10 if case == "leastconn alone" else 12
    theirs, ours = pair.both(lambda router: held(pair, router, case, kind, number))
    assert ours == theirs


@pytest.mark.parametrize("difference", [row for row in DIFFERENCES if row.cluster == WEIGHTS],
                         ids=lambda row: row.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
