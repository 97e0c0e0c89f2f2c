"""The script of a seed: rounds of changes and disturbances, and how often calls fail meanwhile."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests import manifests
from tests.chaos.secrets import PAIRS, tls_secret

NAMESPACES = ("shop", "rival")
PORTS = {"web": ("http", 8080), "api": ("http", 8080), "tls": ("https", 8443)}
HOSTS = ("a.example.com", "b.example.com", "c.example.com", "x.wild.example.com")
PATHS = ("", "/a", "/a/b")
ADDRESSES, GATEWAYS = ("10.3.89.213", "10.3.89.214"), ("10.131.0.5/14", "10.131.2.5/14")
"""Of both units of a pair."""
CLUSTER_NETWORK = (manifests.host_subnet("f5", ADDRESSES[0], "10.131.0.0/23"),
                   manifests.host_subnet("f5-2", ADDRESSES[1], "10.131.2.0/23"),
                   manifests.cluster_network("10.128.0.0/14"))
"""Of openshift-sdn, with each unit as a host."""
WILD = "w.wild.example.com"
"""Host of wildcard Routes; their domain covers the last of HOSTS."""
FLOATING = "10.1.99.1"
"""An address that pods of one Service after the other have."""
RATES = (0.0, 0.02, 0.08, 0.25)
ROUTES, INGRESSES, ROOTS, NODES = 8, 3, 2, 3

def node_port(namespace: str, name: str) -> int:
    """The node port of a Service."""
    return 30000 + 10 * NAMESPACES.index(namespace) + tuple(PORTS).index(name)


Name = tuple[str, str | None, str]
"""Kind, namespace and name."""


@dataclass(frozen=True)
class Change:
    """A change of the cluster."""

    text: str
    apply: tuple[dict, ...] = ()
    delete: tuple[Name, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Act:
    """Something else that happens. Attributes: what: name of a method of `run.Disturbances`."""

    what: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.what} {self.number}"


@dataclass(frozen=True)
class Round:
    """Steps, each followed by some turns of the control loop; then the faults end.

    Attributes:
        rate, api_rate: chance of a fault at a call to the BIG-IP, and at one to the API server.
        strict: nobody else touches the device, so the router needs no periodic reading to fix it.
    """

    rate: float
    api_rate: float
    steps: list[tuple[Change | Act, int]]
    strict: bool = False

    def __str__(self) -> str:
        return f"round: faults {self.rate:g} on the BIG-IP, {self.api_rate:g} on the API server"


@dataclass(frozen=True)
class Script:
    """All that is drawn beforehand from a seed; faults at calls are drawn at each of them."""

    seed: int
    static_routes: bool
    ssh: bool
    vxlan: bool
    node_ports: bool
    pair: bool
    old: bool
    """True for a device of TMOS 11.6: each write of a Rule takes effect at once, and files come by SSH."""
    lease: bool
    """True if the router writes only while it holds a Lease."""
    sync: str
    """How changes come to the other unit of a pair: "auto", "push" by the router, "" not at all."""
    rounds: tuple[Round, ...]
    base: Change = field(repr=False)

    @property
    def hides_nodes(self) -> bool:
        """True if the last router cannot know of all LTM nodes that pools of ours have had."""
        return self.pair or any(isinstance(step, Act) and step.what in HIDING
                                for each in self.rounds for step, _ in each.steps)

    def lines(self) -> Iterator[str]:
        modes = ("static_routes", "ssh", "vxlan", "node_ports", "pair", "old", "lease")
        sync = [f"sync={self.sync}"] if self.sync else []
        yield " ".join([f"seed {self.seed}", *(name for name in modes if getattr(self, name)), *sync])
        for each in self.rounds:
            yield str(each)
            yield from (f"  {step}; turns: {turns}" for step, turns in each.steps)


ACTS = ("restart_device", "lose_unsaved", "edit", "edit", "other_router", "other_router", "kill",
        "drop_watches", "forget_history", "restart_api", "empty_lists", "repeat_events", "pass_time",
        "new_leader", "fail_over", "fail_over")

LASTING = ("hang", "hang", "odd_login", "odd_state", "forbid", "forbid", "mass_delete")
"""What goes on until the faults end, and deletes that have to be confirmed."""
OF_PAIR = ("fail_over_amid_writes", "fail_over_amid_writes", "bring_over", "both_active")
HIDING = ("kill", "new_leader", "lose_unsaved", "edit", "other_router")
"""A router removes the LTM nodes of addresses that it has seen in its pools; others may make some, too."""


def balanced(route: dict) -> dict:
    """A Route whose pool has another method of balancing."""
    route["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": "leastconn"}
    return route


def weighted(route: dict) -> dict:
    """A Route with a pool of its own."""
    route["spec"]["alternateBackends"] = [{"kind": "Service", "name": "web", "weight": 30}]
    return route


def draw(seed: int) -> Script:
    """Return the script of a seed: always the same."""
    return _Writer(seed).script()


class _Writer:
    """Knows which objects there are by then."""

    def __init__(self, seed: int):
        self._seed, self._chance = seed, random.Random(seed)
        self._node_ports = random.Random(f"node ports {seed}").random() < 0.15
        self._present: set[Name] = set()
        self._floating: tuple[str, str] | None = None
        self._pods: dict[tuple[str, str], tuple[str, ...]] = {}
        self._created: dict[Name, str] = {}

    def script(self) -> Script:
        chance = self._chance
        base = self._base()
        rounds = []
        for _ in range(chance.choice((1, 2, 2, 3))):
            steps: list[tuple[Change | Act, int]] = []
            for _ in range(chance.randint(2, 8)):
                step = (Act(chance.choice(ACTS), chance.randrange(1000)) if chance.random() < 0.3
                        else self._change())
                steps.append((step, chance.choice((0, 1, 1, 2, 5))))
            rounds.append(Round(chance.choice(RATES), chance.choice(RATES), steps))
        rare = random.Random(f"rare {self._seed}")
        if rare.random() < 0.4:
            rounds.append(self._rare(rare.randrange(4)))
        if lease := rare.random() < 0.12:
            for each in rounds:
                each.steps.insert(rare.randrange(len(each.steps)), (Act("depose", rare.randrange(2)), 2))
        more = random.Random(f"more {self._seed}")
        network = 1.0 if self._node_ports else chance.random()
        pair = chance.random() < 0.15
        old = chance.random() < 0.15 and not pair
        ssh = old or (chance.random() < 0.3 and not pair)
        for each in rounds:
            self._add_lasting(each, more, pair=pair, ssh=ssh)
        return Script(self._seed, static_routes=network < 0.25, vxlan=0.25 <= network < 0.4,
                      node_ports=self._node_ports, pair=pair, old=old, lease=lease,
                      ssh=ssh, sync=more.choice(("", "auto", "push")) if pair else "",
                      rounds=tuple(rounds), base=base)

    def _add_lasting(self, each: Round, more: random.Random, *, pair: bool, ssh: bool) -> None:
        """Put what lasts into a round; nobody else may touch the device in a strict one."""
        acts = (*LASTING, *2 * OF_PAIR * pair, *("break_ssh",) * 3 * ssh)
        for _ in range(0 if each.strict else more.choice((0, 0, 1, 1, 2, 3))):
            act = Act(more.choice(acts), more.randrange(1000))
            place = more.randrange(len(each.steps) + 1)
            each.steps.insert(place, (act, more.choice((0, 1, 2, 5))))
            if act.what == "mass_delete":
                each.steps.insert(place, (Act("bulk"), 2))

    def _rare(self, number: int) -> Round:
        """Return a round that hardly comes about by chance: Routes older than all others of their host."""
        host, days = HOSTS[2], "2025-01-0{}T00:00:00Z"

        def route(name: str, day: int, **more: str) -> dict:
            created = days.format(day)
            return manifests.route(name, **{"host": host, "service": "api", "created": created} | more)

        def apply(*objects: dict) -> Change:
            return self._put("", *objects)

        def pods(namespace: str, *addresses: str) -> dict:
            self._pods[namespace, "api"] = addresses
            return manifests.endpoints(namespace, "api", addresses, ports=(PORTS["api"],))

        services = [manifests.service(namespace, "api", ports=(PORTS["api"],))[0] for namespace in NAMESPACES]
        steps: tuple[list[tuple[Change | Act, int]], ...] = ([
            # The host becomes another namespace's by an update, so that a less specific Rule goes as well.
            (apply(route("m0", 1, path="/a"), route("m1", 3, service="web"),
                   route("m2", 2, namespace="rival", path="/a/b")), 2),
            (apply(route("m0", 1, path="/a", host="moved.example.com")), 3),
        ], [
            # A pool that is wanted cannot be changed while another tenant's pod gets an address of it.
            (apply(*services, weighted(route("m0", 1)), pods("shop", "10.1.2.1", "10.1.2.8")), 3),
            (Act("persist", 0), 0),
            (apply(balanced(weighted(route("m0", 1)))), 2),
            (apply(pods("shop", "10.1.2.1"), pods("rival", "10.1.2.8")), 3),
        ], [
            # A draft that could not be deleted goes with the periodic reading: no Rule changes any more.
            (apply(route("m0", 1)), 2), (Act("persist", 1), 0), (apply(route("m1", 2, path="/a")), 2),
            (self._without("Route", "shop", "m1"), 1),
        ], [
            # A pool has been made, as far as anybody knows, that nobody wants any more.
            (Act("persist", 2), 0), (apply(*services, weighted(route("m0", 1))), 1),
            (self._without("Route", "shop", "m0"), 2),
        ])
        return Round(0.0, 0.0, steps[number], strict=number % 2 == 1)

    def _without(self, *name: str) -> Change:
        return Change(f"delete {name}", delete=((name[0], name[1], name[2]),))

    def _base(self) -> Change:
        changes = [Change("", (manifests.ingress_class(), *CLUSTER_NETWORK))]
        changes += [self._service(namespace, name) for namespace in NAMESPACES for name in PORTS]
        changes += [self._endpoints(namespace, name) for namespace in NAMESPACES for name in PORTS]
        changes += [self._route() for _ in range(5)] + [self._node() for _ in range(2)]
        changes += [self._secret(), self._ingress(), self._root()]
        return Change("base", tuple(obj for change in changes for obj in change.apply))

    def _change(self) -> Change:
        draws = (self._route, self._route, self._drop, self._endpoints, self._endpoints, self._endpoints,
                 self._float, self._service, self._secret, self._ingress, self._root, self._node)
        return self._chance.choice(draws)()

    def _put(self, text: str, *objects: dict) -> Change:
        names = [(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects]
        self._present.update(names)
        return Change(text or " ".join(f"{kind} {namespace}/{name}" for kind, namespace, name in names),
                      objects)

    def _when(self, *name: str) -> str:
        second = self._chance.randrange(60)
        return self._created.setdefault(name, f"2026-01-01T00:00:{second:02}Z")

    def _place(self) -> tuple[str, str]:
        return self._chance.choice(NAMESPACES), self._chance.choice(tuple(PORTS))

    def _service(self, namespace: str = "", name: str = "") -> Change:
        if not namespace:
            namespace, name = self._place()
        port, number = PORTS[name]
        service, _ = manifests.service(namespace, name, ports=((port, number),))
        if self._node_ports:
            service["spec"]["type"] = "NodePort"
            service["spec"]["ports"][0]["nodePort"] = node_port(namespace, name)
        if self._chance.random() < 0.2:
            service["spec"]["ports"][0]["name"] = "other"
        return self._put(f"Service {namespace}/{name} port {service['spec']['ports'][0]['name']}", service)

    def _endpoints(self, namespace: str = "", name: str = "") -> Change:
        if not namespace:
            namespace, name = self._place()
        number = 1 + NAMESPACES.index(namespace) * len(PORTS) + tuple(PORTS).index(name)
        pods = tuple(f"10.1.{number}.{pod}" for pod in self._chance.sample((1, 2, 3, 4), self._count()))
        if self._floating == (namespace, name):
            self._floating = None
        self._pods[namespace, name] = pods
        return self._slice(namespace, name)

    def _count(self) -> int:
        return self._chance.choice((0, 1, 2, 2, 3))

    def _slice(self, namespace: str, name: str) -> Change:
        pods = self._pods[namespace, name]
        return self._put(f"EndpointSlice {namespace}/{name} {' '.join(pods)}",
                         manifests.endpoints(namespace, name, pods, ports=(PORTS[name],)))

    def _float(self) -> Change:
        """An address leaves a pod, and a pod of another Service gets it at once."""
        changes = []
        if self._floating is not None:
            self._pods[self._floating] = tuple(pod for pod in self._pods[self._floating] if pod != FLOATING)
            changes.append(self._slice(*self._floating))
        self._floating = place = self._place()
        self._pods[place] = (*(pod for pod in self._pods[place] if pod != FLOATING), FLOATING)
        changes.append(self._slice(*place))
        return Change("; ".join(change.text for change in changes),
                      tuple(obj for change in changes for obj in change.apply))

    def _route(self) -> Change:
        chance = self._chance
        namespace, name = chance.choice(NAMESPACES), f"r{chance.randrange(ROUTES)}"
        kind = chance.choice(("", "", "edge", "edge", "reencrypt", "passthrough"))
        wild = chance.random() < 0.12
        service = "tls" if kind in ("reencrypt", "passthrough") else chance.choice(("web", "api"))
        tls = {}
        if kind in ("edge", "reencrypt") and chance.random() < 0.4:
            pair = chance.choice(PAIRS)
            tls = {"certificate": pair.certificate, "key": pair.key}
        if kind == "reencrypt":
            tls["destinationCACertificate"] = PAIRS[0].issuer
        host, path = chance.choice(HOSTS), "" if kind == "passthrough" else chance.choice(PATHS)
        route = manifests.route(
            name, namespace=namespace, host=WILD if wild else host, path=path, service=service, kind=kind,
            insecure=chance.choice(("", "Redirect")) if kind == "passthrough" else
            chance.choice(("", "Allow", "Redirect")) if kind else "",
            created=self._when("Route", namespace, name), **tls)
        if wild:
            route["spec"]["wildcardPolicy"] = "Subdomain"
        if not kind and chance.random() < 0.2:
            route["spec"]["alternateBackends"] = [{"kind": "Service", "name": "api", "weight": 50}]
        spec = route["spec"]
        return self._put(f"Route {namespace}/{name} {spec['host']}{path} {kind or 'plain'} to {service} "
                         f"{spec.get('tls', {}).get('insecureEdgeTerminationPolicy', '')} "
                         f"certificate={'certificate' in tls} {spec['wildcardPolicy']} "
                         f"created {route['metadata']['creationTimestamp'][-3:-1]}", route)

    def _drop(self) -> Change:
        kinds = ("Route", "Ingress", "IngressRoute", "Secret", "Service", "Node")
        names = sorted((name for name in self._present if name[0] in kinds), key=str)
        if not names:
            return self._route()
        chosen = self._chance.choice(names)
        self._present.discard(chosen)
        self._created.pop((chosen[0], chosen[1] or "", chosen[2]), None)
        return Change(f"delete {chosen}", delete=(chosen,))

    def _secret(self) -> Change:
        namespace, number = self._chance.choice(NAMESPACES), self._chance.randrange(len(PAIRS))
        return self._put(f"Secret {namespace}/pair number {number}", tls_secret(namespace, PAIRS[number]))

    def _ingress(self) -> Change:
        chance = self._chance
        namespace, name = chance.choice(NAMESPACES), f"i{chance.randrange(INGRESSES)}"
        host, secret = chance.choice(HOSTS), chance.random() < 0.4
        paths = [(host, chance.choice(("/", "/a")), chance.choice(("web", "api")), 8080)
                 for _ in range(chance.choice((1, 2)))]
        ingress = manifests.ingress(
            name, *paths, namespace=namespace, tls=(((host,), "pair"),) if secret else (),
            created=self._when("Ingress", namespace, name))
        return self._put(f"Ingress {namespace}/{name} {paths} secret={secret}", ingress)

    def _root(self) -> Change:
        chance = self._chance
        namespace, name = chance.choice(NAMESPACES), f"c{chance.randrange(ROOTS)}"
        host, secret = chance.choice(HOSTS), chance.random() < 0.4
        entries = [manifests.forward("/", chance.choice(("web", "api")))]
        leaf = manifests.ingress_route("leaf", manifests.forward("/a", "api"), namespace="rival",
                                       created=self._when("IngressRoute", "rival", "leaf"))
        if chance.random() < 0.4:
            entries.append(manifests.delegate("/a", "leaf", "rival"))
        root = manifests.ingress_route(
            name, *entries, namespace=namespace, fqdn=host, tls={"secretName": "pair"} if secret else None,
            created=self._when("IngressRoute", namespace, name))
        return self._put(f"IngressRoute {namespace}/{name} {host} secret={secret} entries={len(entries)}",
                         leaf, root)

    def _node(self) -> Change:
        number = 1 + self._chance.randrange(NODES)
        address = f"10.3.89.{10 * self._chance.randrange(2) + number}"
        ready = self._chance.random() < 0.8
        return self._put(f"Node n{number} {address} ready={ready}", manifests.node(
            f"n{number}", address, cidrs=(f"10.128.{2 * number}.0/23",), ready=ready,
            created=self._when("Node", "", f"n{number}")))
