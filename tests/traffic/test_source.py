"""`balance: source`: each client stays with one pod of a Route, whatever it does on other Routes."""

from collections.abc import Iterable, Iterator

import pytest

from f5router.app.controller import Controller
from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
EDGE = identity("*.example.com")
CLIENTS = tuple(f"127.0.0.{number}" for number in range(2, 8))


def balanced(kind: str, balance: str, name: str = "a", service: str = "web", **weights: int) -> dict:
    """A Route; weights: of its Services, if there are several."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    obj = manifests.route(name, host=f"{name}.example.com", service=service, kind=kind, **tls)
    obj["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": balance} if balance else {}
    if weights:
        obj["spec"]["to"]["weight"] = weights.pop(service)
        obj["spec"]["alternateBackends"] = [
            {"kind": "Service", "name": other, "weight": weight} for other, weight in weights.items()]
    return obj


def ask(site: Site, kind: str, client: str, name: str = "a") -> str:
    """Return the pod that answers a client; "" if none does."""
    asking, address = (clients.python, site.https) if kind else (clients.plain, site.http)
    if kind:
        seen = asking(address, f"{name}.example.com", source=client)
    else:
        seen = clients.raw(address, clients.request_bytes(f"{name}.example.com"), source=client)
    return seen.pod.get("pod", "")


def pods_of(site: Site, kind: str, name: str = "a", *, times: int = 2,
            who: Iterable[str] = CLIENTS) -> dict[str, set[str]]:
    """Return the pods that answered each client; the clients take turns."""
    by_client: dict[str, set[str]] = {client: set() for client in who}
    for _ in range(times):
        for client in by_client:
            by_client[client].add(ask(site, kind, client, name))
    return by_client


def stays(by_client: dict[str, set[str]]) -> bool:
    return all(len(pods) == 1 for pods in by_client.values())


@pytest.fixture(params=KINDS, ids=lambda kind: kind or "plain")
def kind(request) -> str:
    return request.param


def serve(site: Site, kind: str, service: str, *addresses: str) -> None:
    tls, port = (PODS, 8443) if kind in ("reencrypt", "passthrough") else (None, 8080)
    site.serve(service, *addresses, port=port, tls=tls)


def scale(site: Site, kind: str, service: str, *addresses: str) -> None:
    """Change the endpoints; all pods go on."""
    port, name = (8443, "https") if kind in ("reencrypt", "passthrough") else (8080, "http")
    site.apply(*manifests.service("shop", service, pods=addresses, ports=((name, port),)))


WEB = ("10.1.1.1", "10.1.1.2", "10.1.1.3", "10.1.1.4")


@pytest.mark.parametrize(("flags", "kept"), [
    pytest.param({}, {"source": KINDS, "": ("passthrough",), "random": ()}, id="by annotation, or default"),
    pytest.param({"load_balance_algorithm": "source"}, {"": KINDS, "roundrobin": ()}, id="by one setting"),
    pytest.param({"load_balance_algorithm": "leastconn"}, {"": ()}, id="by that setting, not"),
    pytest.param({"tcp_balance_scheme": "random"}, {"": ()}, id="by the other setting, not"),
    pytest.param({"load_balance_algorithm": "random", "tcp_balance_scheme": "source"},
                 {"": ("passthrough",)}, id="by the other setting"),
])
def test_who_stays(site, flags, kept):
    """Args: kept: by annotation, the kinds of Routes whose clients stay. Each Route has its own Service."""
    routes = {f"{balance or 'none'}-{kind or 'plain'}": (kind, balance) for balance in kept for kind in KINDS}
    for number, (name, (kind, balance)) in enumerate(routes.items()):
        serve(site, kind, name, *(f"10.1.{number}.{pod}" for pod in range(1, 5)))
        site.apply(balanced(kind, balance, name, name))
    assert site.converge(**flags) == []
    answers = {name: pods_of(site, kind, name) for name, (kind, _) in routes.items()}
    assert {name: stays(by_client) for name, by_client in answers.items()} == {
        name: kind in kept[balance] for name, (kind, balance) in routes.items()}
    used = {name: len(set.union(*by_client.values())) for name, by_client in answers.items()}
    assert used == dict.fromkeys(routes, 4), "all pods have work"


@pytest.fixture(scope="module")
def changing(shared_site_of) -> Iterator[tuple[Site, Controller]]:
    """A site and its router, for tests whose Services and Routes are their own."""
    site = shared_site_of()
    router = site.router()
    yield site, router
    router.close()


def own(number: int, kind: str, name: str, count: int) -> tuple[str, list[str]]:
    """Return a name for a Route or a Service, and addresses for pods.

    Args: number: that no other test has.
    """
    return f"{name}-{number}-{kind or 'plain'}", [
        f"10.{number}.{KINDS.index(kind)}.{pod}" for pod in range(1, count + 1)]


def test_pods_come_and_go(changing, kind):
    """Only the clients of a pod that leaves come to another one, and stay there."""
    (site, router), (name, addresses) = changing, own(2, kind, "a", 4)
    serve(site, kind, name, *addresses)
    site.apply(balanced(kind, "source", name, name))
    site.settle(router)
    before = pods_of(site, kind, name)
    scale(site, kind, name, *addresses[:3])
    site.settle(router)
    site.later()
    site.settle(router)
    after = pods_of(site, kind, name)
    assert stays(after)
    gone = f"{name}-{addresses[3]}"
    assert {client: pods for client, pods in after.items() if before[client] != {gone}} == {
        client: pods for client, pods in before.items() if pods != {gone}}
    assert {gone} not in after.values()
    scale(site, kind, name, *addresses)
    site.settle(router)
    assert pods_of(site, kind, name) == after


def test_a_pod_that_ends_loses_its_clients(changing, kind):
    """It still serves, but will not for long; its clients stay where they come to."""
    (site, router), (name, addresses) = changing, own(3, kind, "a", 4)
    serve(site, kind, name, *addresses)
    site.apply(balanced(kind, "source", name, name))
    site.settle(router)
    before = pods_of(site, kind, name)
    port, text = (8443, "https") if kind in ("reencrypt", "passthrough") else (8080, "http")
    site.apply(manifests.endpoints("shop", name, addresses[:3], ports=((text, port),),
                                   draining=addresses[3:]))
    site.settle(router)
    during = pods_of(site, kind, name)
    assert stays(during)
    assert {f"{name}-{addresses[3]}"} in before.values()
    assert {f"{name}-{addresses[3]}"} not in during.values()
    scale(site, kind, name, *addresses[:3])
    site.settle(router)
    assert pods_of(site, kind, name) == during


def test_shares_of_clients(changing, kind):
    """Several Services get their shares of the clients; those of one that goes to weight 0 stay, by HTTP."""
    site, router = changing
    (web, (of_web,)), (api, (of_api,)) = own(4, kind, "web", 1), own(5, kind, "api", 1)
    serve(site, kind, web, of_web)
    serve(site, kind, api, of_api)
    site.apply(balanced(kind, "source", web, web, **{web: 2, api: 1}))
    site.settle(router)
    by_client = pods_of(site, kind, web)
    assert stays(by_client)
    assert sorted(pods.pop() for pods in by_client.values()) == [
        *[f"{api}-{of_api}"] * 2, *[f"{web}-{of_web}"] * 4]
    before = pods_of(site, kind, web)
    site.apply(balanced(kind, "source", web, web, **{web: 0, api: 1}))
    site.settle(router)
    kept = {client: {f"{api}-{of_api}"} for client in CLIENTS} if kind == "passthrough" else before
    assert pods_of(site, kind, web) == kept
    assert pods_of(site, kind, web, who=["127.0.0.20", "127.0.0.21"]) == {
        "127.0.0.20": {f"{api}-{of_api}"}, "127.0.0.21": {f"{api}-{of_api}"}}


def test_a_route_has_no_effect_on_another(changing, kind):
    """Each client has its own pod of each of two Routes with `source` and one without, in any order."""
    site, router = changing
    names = []
    for number, balance, count in ((6, "source", 4), (7, "source", 2), (8, "random", 2)):
        name, addresses = own(number, kind, "a", count)
        serve(site, kind, name, *addresses)
        site.apply(balanced(kind, balance, name, name))
        names.append(name)
    site.settle(router)
    asked_pods: dict[tuple[str, str], list[str]] = {}
    for _ in range(2):
        for client in CLIENTS:
            for name in names:
                asked_pods.setdefault((client, name), []).append(ask(site, kind, client, name))
    assert all(pod.startswith(f"{name}-") for (_, name), pods in asked_pods.items() for pod in pods)
    assert all(len(set(pods)) == 1 for (_, name), pods in asked_pods.items() if name != names[2])
    assert len({pod for (_, name), pods in asked_pods.items() if name == names[2] for pod in pods}) == 2


def test_requests_of_one_connection(site):
    """A Route with `source`, then one without, and back: each request gets a pod of its own Route."""
    serve(site, "", "web", *WEB)
    serve(site, "", "docs", "10.1.3.1", "10.1.3.2")
    site.apply(balanced("", "source"), balanced("", "random", "c", "docs"))
    assert site.converge() == []
    names = "acacacacca"
    seen: dict[str, list[str]] = {"a": [], "c": []}
    requests = [clients.request_bytes(f"{name}.example.com", close=False) for name in names]
    for name, answer in zip(names, clients.several(site.http, *requests), strict=True):
        seen[name].append(answer.pod["pod"])
    assert len(set(seen["a"])) == 1
    assert seen["a"][0].startswith("web-")
    assert set(seen["c"]) == {"docs-10.1.3.1", "docs-10.1.3.2"}


def test_a_route_changes_its_mind(changing, kind):
    """The former annotation is forgotten."""
    (site, router), (name, addresses) = changing, own(9, kind, "a", 4)
    serve(site, kind, name, *addresses)
    for balance, kept in [("source", True), ("random", False), ("source", True)]:
        site.apply(balanced(kind, balance, name, name))
        site.settle(router)
        site.later()
        site.settle(router)
        assert stays(pods_of(site, kind, name)) == kept
