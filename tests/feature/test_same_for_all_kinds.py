"""Settings and mistakes that Routes, Ingresses and IngressRoutes have in common: each row is tried with each.

One router for all rows of a fixture, which are objects of one cluster.
"""

from contextlib import ExitStack

import pytest

from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.feature.conftest import HTTP, Lab

KINDS = ROUTE, INGRESS, INGRESS_ROUTE = "Route", "Ingress", "IngressRoute"
PAIRS = [(older, younger) for older in KINDS for younger in KINDS]
MIXED = list(zip(KINDS, (*KINDS[1:], ROUTE), strict=True))
YOUNG = "2026-02-01T00:00:00Z"
PODS, DISABLED = {"10.1.2.1": "a", "10.1.2.2": "b"}, "user-disabled"
FRONT, BACK = {"tier": "front"}, {"tier": "back"}


def claim(kind: str, name: str, host: str, path: str = "/", *, namespace: str = "shop",
          labels: dict | None = None, **more: str) -> dict:
    """An object of a kind that wants a path of a Host for the Service web."""
    if kind == ROUTE:
        obj = manifests.route(name, namespace=namespace, host=host, path=path, **more)
    elif kind == INGRESS:
        obj = manifests.ingress(name, (host, path, "web", 8080), namespace=namespace, **more)
    else:
        obj = manifests.ingress_route(name, manifests.forward(path, "web"), namespace=namespace, fqdn=host,
                                      **more)
    obj["metadata"]["labels"] = labels or {}
    return obj


class Site(Lab):
    """Both fakes with the Service web in two namespaces, and a router that has made its passes."""

    def serve(self, *objects: dict, **flags: str) -> None:
        self.virtuals()
        self.apply(manifests.ingress_class(), *objects)
        for namespace in ("shop", "bank"):
            self.apply(*manifests.service(namespace, "web", pods=("10.1.1.1",)))
        assert self.converge(sources="routes,ingress,ingressroutes", **flags) == []

    def namespace_of(self, host: str, path: str = "/") -> str:
        """Return the namespace whose Service gets a request; "" for none."""
        pool = decide(self.bigip.store, f"/Common/{HTTP}", Request(host, path)).pool
        return pool.rsplit("/", 1)[1].split("_")[1] if pool else ""

    def reasons(self, kind: str, name: str, namespace: str = "shop") -> str:
        """Return what an object's team reads: the message of a status, and of Events."""
        obj = self.kube.get(kind, namespace, name)
        if kind == ROUTE:
            texts = [self.admitted(namespace, name).get("message", "")]
        else:
            texts = [obj.get("status", {}).get("description", "")]
        named = {"kind": kind, "namespace": namespace, "name": name}
        texts += [event["message"] for event in self.kube.list("Event")
                  if event["involvedObject"] | named == event["involvedObject"]]
        return "; ".join(text for text in texts if text not in ("", "valid IngressRoute"))

    def ratios(self, host: str) -> dict[str, int]:
        """Return the ratio of each Service whose pod gets new sessions."""
        pool = decide(self.bigip.store, f"/Common/{HTTP}", Request(host, "/")).pool
        if not pool:
            return {}
        members = self.bigip.get(f"ltm/pool/{pool.replace('/', '~')}")["membersReference"]["items"]
        return {PODS[item["address"]]: item["ratio"] for item in members if item["session"] != DISABLED}


def make(tmp_path_factory, *objects: dict, **flags: str):
    """Yield a Site with objects."""
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        site.serve(*objects, **flags)
        yield site


# --- hosts and weights -------------------------------------------------------------------

DENIED = dict.fromkeys(KINDS, "host in list of denied domains")
NOT_ALLOWED = dict.fromkeys(KINDS, "host not in the allowed list of domains")
NO_NAME = {ROUTE: "must be 1 to 63 letters", INGRESS: "must be 1 to 63 letters",
           INGRESS_ROUTE: "cannot use wildcards"}
HOSTS = [
    pytest.param("{}.good.com", {}, id="allowed"),
    pytest.param("a.b.{}.good.com", {}, id="far below an allowed one"),
    pytest.param("{}.bad.good.com", DENIED, id="denied below allowed"),
    pytest.param("{}notgood.com", NOT_ALLOWED, id="ends like an allowed one"),
    pytest.param("good.com.{}.org", NOT_ALLOWED, id="begins like one"),
    pytest.param("{}.*.good.com", NO_NAME, id="a wildcard in the middle"),
    pytest.param("{}*.good.com", NO_NAME, id="a part of a label"),
    pytest.param("*.{}.*.good.com", NO_NAME, id="a second one"),
]

WEIGHTS = [
    pytest.param(ROUTE, -1, 1, {"b": 1}, "spec.to.weight: -1 is not in the range 0 to 256; 0 counts"),
    pytest.param(ROUTE, 300, 100, {"a": 64, "b": 25}, "300 is not in the range 0 to 256; 256 counts"),
    pytest.param(ROUTE, 100_000, 1_000, {"a": 1, "b": 1}, "spec.alternateBackends[0].weight: 1000 is not"),
    pytest.param(INGRESS_ROUTE, -1, 1, {}, "weight must be greater than or equal to zero"),
    pytest.param(INGRESS_ROUTE, 300, 100, {"a": 3, "b": 1}, ""),
    pytest.param(INGRESS_ROUTE, 100_000, 1_000, {"a": 100, "b": 1}, ""),
]


def weighed(kind: str, first: int, second: int) -> dict:
    """An object with two Services. An Ingress has no weights."""
    host, name = f"{kind.lower()}{first}.weights.good.com", f"w{first}"
    if kind == INGRESS_ROUTE:
        services = ({"name": each, "port": 8080, "weight": weight}
                    for each, weight in (("a", first), ("b", second)))
        return manifests.ingress_route(name, manifests.forward("/", *services), fqdn=host)
    obj = manifests.route(name, host=host, service="a")
    obj["spec"]["to"]["weight"] = first
    obj["spec"]["alternateBackends"] = [{"kind": "Service", "name": "b", "weight": second}]
    return obj


def rivals(path: str, *pairs: tuple[str, str]) -> list[dict]:
    """Two objects of two namespaces for a Host of each pair: the older one wants /a.

    Args: path: what the younger one wants.
    """
    return [obj for older, younger in pairs for obj in (
        claim(older, f"old-{younger}{path[1]}".lower(), host_of(path, older, younger), "/a"),
        claim(younger, f"new-{older}{path[1]}".lower(), host_of(path, older, younger), path,
              namespace="bank", created=YOUNG))]


def host_of(path: str, older: str, younger: str) -> str:
    return f"{older}-{younger}{path[1]}.good.com".lower()


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    yield from make(
        tmp_path_factory, *(claim(kind, f"h{number}", row.values[0].format(kind.lower()))
                            for number, row in enumerate(HOSTS) for kind in KINDS),
        *(weighed(*row.values[:3]) for row in WEIGHTS),
        *(obj for pod, name in PODS.items() for obj in manifests.service("shop", name, pods=(pod,))),
        *rivals("/b", *MIXED),
        allowed_domains="good.com", denied_domains="bad.good.com", allow_wildcard_routes="true")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("host", "reasons"), HOSTS)
def test_hosts(hosts, kind, host, reasons):
    name = f"h{[row.values[0] for row in HOSTS].index(host)}"
    asked = host.format(kind.lower()).replace("*", "x")
    assert hosts.namespace_of(asked) == ("" if reasons else "shop")
    assert reasons.get(kind, "") in hosts.reasons(kind, name)
    assert bool(reasons) == bool(hosts.reasons(kind, name))


@pytest.mark.parametrize(("kind", "first", "second", "ratios", "words"), WEIGHTS)
def test_weights(hosts, kind, first, second, ratios, words):
    """A Route has the range of its API; an IngressRoute any weight from 0."""
    assert hosts.ratios(f"{kind.lower()}{first}.weights.good.com") == ratios
    reasons = hosts.reasons(kind, f"w{first}")
    assert words in reasons
    assert bool(words) == bool(reasons)


@pytest.mark.parametrize(("older", "younger"), MIXED)
def test_a_host_belongs_to_a_namespace(hosts, older, younger):
    host = host_of("/b", older, younger)
    assert [hosts.namespace_of(host, path) for path in ("/a", "/b")] == ["shop", ""]
    assert "in another namespace holds" in hosts.reasons(younger, f"new-{older}b".lower(), "bank")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    yield from make(tmp_path_factory, *rivals("/a", *MIXED), *rivals("/b", *PAIRS),
                    disable_namespace_ownership_check="true")


@pytest.mark.parametrize(("older", "younger"), PAIRS)
def test_namespaces_share_a_host(shared, older, younger):
    """But for roots of one fqdn, of which one is served."""
    host, roots = host_of("/b", older, younger), older == younger == INGRESS_ROUTE
    assert [shared.namespace_of(host, path) for path in ("/a", "/b")] == ["shop", "" if roots else "bank"]
    assert bool(shared.reasons(younger, f"new-{older}b".lower(), "bank")) == roots


@pytest.mark.parametrize(("older", "younger"), MIXED)
def test_namespaces_share_no_path(shared, older, younger):
    assert shared.namespace_of(host_of("/a", older, younger), "/a") == "shop"
    assert "in another namespace holds" in shared.reasons(younger, f"new-{older}a".lower(), "bank")
    assert "another object claims" in shared.reasons(older, f"old-{younger}a".lower())


# --- shards ------------------------------------------------------------------------------


def delegated(name: str, namespace: str, to: str, labels: dict) -> list[dict]:
    """A root, and what it delegates to: an IngressRoute of the same labels in another namespace."""
    root = manifests.ingress_route(name, manifests.delegate("/", f"{name}-v", to), namespace=namespace,
                                   fqdn=f"{name}.good.com")
    vertex = manifests.ingress_route(f"{name}-v", manifests.forward("/", "web"), namespace=to)
    root["metadata"]["labels"], vertex["metadata"]["labels"] = FRONT, labels
    return [root, vertex]


SHARD = [("shop", FRONT), ("shop", BACK), ("shop", {}), ("bank", FRONT)]


def shard() -> list[dict]:
    """Objects of all kinds with and without the labels, and namespaces with others."""
    zones = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"zone": zone}}}
             for name, zone in (("shop", "west"), ("bank", "east"))]
    return [*zones, *delegated("out", "shop", "bank", FRONT), *delegated("in", "bank", "shop", FRONT),
            *delegated("hidden", "shop", "bank", BACK),
            *(claim(kind, f"s{number}", f"{kind}{number}.good.com".lower(), namespace=namespace,
                    labels=labels)
              for number, (namespace, labels) in enumerate(SHARD) for kind in KINDS)]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    yield from make(tmp_path_factory, *shard(), labels="tier=front", namespace_labels="zone=west")


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    yield from make(tmp_path_factory, *shard(), namespace="bank")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(len(SHARD)))
def test_shards(sharded, limited, kind, number):
    """Objects that are not selected have no status and no Event: these are another router's."""
    namespace, labels = SHARD[number]
    for site, selected in ((sharded, (namespace, labels) == ("shop", FRONT)), (limited, namespace == "bank")):
        assert site.namespace_of(f"{kind}{number}.good.com".lower()) == (namespace if selected else "")
        assert site.reasons(kind, f"s{number}", namespace) == ""
        assert bool(site.kube.get(kind, namespace, f"s{number}").get("status")) == selected


def test_delegations_between_shards(sharded, limited):
    """The namespace of the root counts, but what is not read does not exist."""
    hosts = [f"{name}.good.com" for name in ("out", "in", "hidden")]
    assert [sharded.namespace_of(host) for host in hosts] == ["bank", "", ""]
    assert [limited.namespace_of(host) for host in hosts] == ["", "", ""]
