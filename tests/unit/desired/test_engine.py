"""The running router's Desired equals the full pass, whatever happened before."""

from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission.admission import AdmissionPolicy, Naming
from f5router.admission.certificates import CheckQueue
from f5router.desired import route_objects
from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import (
    ClusterNetwork,
    EndpointSlice,
    HostSubnet,
    Key,
    Namespace,
    Node,
    PodNetworks,
    Route,
    RouteTLS,
    Secret,
)
from f5router.model.delta import Delta
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.findings import CLAIMED
from f5router.model.ltm import Pool, Rule
from f5router.model.route_options import RouteOptions
from f5router.model.selection import NamespaceFilter
from f5router.model.texts import Findings
from f5router.model.virtual_server import FrontEnd
from f5router.network import node_ports, refused_addresses, static_routes, vxlan
from f5router.network.vxlan import VxlanConfig
from tests import strategies
from tests.builders import (
    FACTS,
    Settings,
    endpoints,
    identity,
    route,
    secret,
    service,
    snapshot,
)
from tests.examples import examples
from tests.reference.full_build import ClusterSnapshot, allocation, build, snapshot_of

OBJECTS = st.one_of(
    strategies.any_routes(), strategies.secrets(), strategies.slices(), strategies.services(),
    strategies.nodes(), strategies.host_subnets(), strategies.cluster_networks(), strategies.pod_networks())
VXLAN = Settings(vxlan=(VxlanConfig("10.3.89.213", "10.131.0.5/14"),), manage_snat=True)
STATIC = Settings(static_routes=True, closes_hosts=True)
CHOSEN = Settings(static_routes=True, static_route_networks=("10.1.1.0/24",))
NODEPORT = Settings(nodeport=node_ports.NodePortConfig(exclude=("not-ready", "unschedulable")))
NAMED = Naming(template="${name}.example.com", override_domains=frozenset({"b"}))
ADMISSIONS = [
    AdmissionPolicy(), AdmissionPolicy(wildcards=True), AdmissionPolicy(wildcards=True, ownership=False),
    AdmissionPolicy(ownership=False), AdmissionPolicy(external=False),
    AdmissionPolicy(listed_clients=2), AdmissionPolicy(listed_clients=1),
    AdmissionPolicy(wildcards=True, naming=NAMED, denied=frozenset({"www.example.com"})),
]
OWN = Settings(front_ends=(FrontEnd(("203.0.113.10", "2001:db8::1"), "/Common/ose-vserver",
                                    "/Common/https-ose-vserver"),))
CONFIGS = st.sampled_from([VXLAN, STATIC, CHOSEN, NODEPORT, OWN, Settings(max_pool_members=1),
                           *(Settings(admission=policy) for policy in ADMISSIONS)])
STEPS = st.lists(st.tuples(OBJECTS, st.booleans()), max_size=25)
OTHER_FACTS = DeviceFacts(
    (16, 1),
    http=VirtualFacts("/Common/ose-vserver", port=8080, server_ssl=("/Common/serverssl",)),
    https=VirtualFacts("/Common/https-ose-vserver", server_ssl=("/Common/serverssl",)),
    vxlan_port=9000,
    own_addresses=frozenset({"10.1.1.1", "10.3.89.1"}), networks=frozenset({"10.3.89.0/24"}),
    unread_addresses=("self IPs of the BIG-IP cannot be read",),
)

OLD_FACTS = DeviceFacts((11, 6), http=FACTS.http, https=FACTS.https)


def delta(*changes) -> Delta:
    """A Delta of (object, present) pairs."""
    kinds: dict[type, dict] = {
        Route: {}, Secret: {}, EndpointSlice: {}, Node: {}, HostSubnet: {}, ClusterNetwork: {}, Namespace: {},
        PodNetworks: {}}
    services = {}
    for obj, present in changes:
        kinds.get(type(obj), services)[obj.key] = obj if present else None
    return Delta(routes=kinds[Route], slices=kinds[EndpointSlice], services=services, secrets=kinds[Secret],
                 namespaces=kinds[Namespace], nodes=kinds[Node], host_subnets=kinds[HostSubnet],
                 cluster_networks=kinds[ClusterNetwork],
                 block_affinities={key: obj for key, obj in kinds[PodNetworks].items() if "-" in key.name},
                 cilium_nodes={key: obj for key, obj in kinds[PodNetworks].items() if "-" not in key.name})


def exact(objects: dict) -> dict:
    """All properties of objects, also those which `==` does not compare."""
    return {ref: (type(obj), *(getattr(obj, each.name) for each in fields(obj)))
            for ref, obj in objects.items()}


def findings(known, config, facts) -> Findings:
    """From scratch."""
    network = vxlan.ClusterNetworkView(known.nodes, known.host_subnets, known.cluster_networks)
    allocated = allocation(known.nodes.values(), config, facts, known.block_affinities.values(),
                           known.cilium_nodes.values())
    routes = static_routes.findings(allocated, config.static_route_networks, facts.networks)
    members = node_ports.findings(node_ports.candidates(known.nodes, config.nodeport), config.nodeport)
    return (vxlan.check(config, facts, network) + members + refused_addresses.findings(facts)
            + routes)


LISTED = st.builds(
    lambda name, namespace, age, sources, hsts: replace(
        route(name, host=f"{name}.{namespace}.test", namespace=namespace, age=age),
        options=RouteOptions(sources=sources, hsts=hsts)),
    st.sampled_from("abcd"), st.sampled_from(["shop", "other"]), st.integers(0, 2),
    st.sampled_from([(), ("10.0.0.0/8",), ("10.0.0.1/32",), ("10.0.0.1/32", "2001:db8::/32")]),
    st.sampled_from(["", "max-age=1", "max-age=2"]))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(st.tuples(LISTED, st.booleans()), min_size=1, max_size=3), max_size=12),
       st.integers(0, 3), st.sampled_from([0, 30, 1000]))
def test_routes_beyond_the_limits_of_a_namespace(steps, most, http):
    """The Routes as they are now decide, whatever the order of events."""
    config = Settings(admission=AdmissionPolicy(listed_clients=most, http_options=http))
    engine, written = Engine(config), {}
    for step in steps:
        event = delta(*step)
        engine.apply(event)
        written = {key: now for key, now in {**written, **event.routes}.items() if now is not None}
        built = build(ClusterSnapshot(written, slices_listed=False), config, DeviceFacts())
        assert {key: no for key in written if (no := engine.rejection(key))} == built.rejections
        assert engine.objects == built.objects


@settings(max_examples=examples(200), deadline=None)
@given(STEPS, st.integers(0, 25), CONFIGS, st.sampled_from([OTHER_FACTS, OLD_FACTS]), st.integers(0, 25))
def test_equals_the_full_pass(steps, facts_at, config, other, listed_at):
    """After every event, not only at the end; also when the device's facts change on the way."""
    engine = Engine(config)
    engine.set_facts(FACTS)
    facts = FACTS
    wanted: dict = {}
    told: dict = {}
    unknown: frozenset = frozenset()
    written: dict[Key, Route] = {}
    for number, (obj, present) in enumerate(steps):
        if number == facts_at:
            facts = other
            engine.set_facts(facts)
        engine.apply(replace(delta((obj, present)), slices_listed=number >= listed_at))
        if isinstance(obj, Route):
            written = {key: route for key, route in {**written, obj.key: obj}.items()
                       if present or key != obj.key}
        # The engine's own Routes have the Hosts that it gave them.
        built = build(replace(snapshot_of(engine), routes=written), config, facts)
        assert exact(engine.objects) == exact(built.objects)
        keys = engine.routes()
        assert {k: r for k in keys if (r := engine.rejection(k))} == built.rejections
        assert {k: r for k in keys if (r := engine.fault(k))} == built.faults
        assert {k: engine.uses(k) for k in built.uses} == built.uses
        assert engine.undetermined() == built.undetermined
        assert engine.network_findings() == findings(snapshot_of(engine), config, facts)
        warned = {key: engine.warnings(key) for key in keys if engine.uses(key)}
        # What `take` names is all that must be looked at.
        dirty, touched = engine.take_changes()
        for ref in {*wanted, *engine.objects} - dirty:
            assert wanted.get(ref) == engine.objects.get(ref)
        assert unknown ^ engine.undetermined() <= dirty
        assert {key for key, texts in warned.items() if told.get(key, texts) != texts} <= touched
        wanted, told, unknown = dict(engine.objects), warned, engine.undetermined()


def test_endpoints_that_change_while_a_host_is_made():
    """Between two steps the Host is as it was or as it will be, and pools have the newest members."""
    engine = Engine(Settings())
    engine.set_facts(FACTS)
    count = 5 * route_objects.ROUTES_OF_A_STEP
    parts = [route(f"r{number}", host="big.com", path=f"/{number}") for number in range(count)]
    engine.apply(delta((service(), True), (endpoints("10.1.1.1"), True),
                       *((slice_, True) for slice_ in parts[:count // 2])))
    before = rules(engine)
    assert len(before) == count // 2
    changed = [(replace(slice_, path=f"{slice_.path}/new"), True) for slice_ in parts]
    for number, _ in enumerate(engine.apply_in_steps(delta(*changed)), start=1):
        assert rules(engine) == before
        engine.apply_endpoints(delta((endpoints(f"10.1.2.{number}"), True)))
        pools = [obj for obj in engine.objects.values() if isinstance(obj, Pool) and "shop" in obj.path]
        assert {m.address for pool in pools for m in pool.members} == {f"10.1.2.{number}"}
    assert number >= 2 * count / route_objects.ROUTES_OF_A_STEP - 1
    assert len(rules(engine)) == count
    assert engine.objects == build(snapshot_of(engine), Settings(), FACTS).objects


def test_many_hosts_are_made_one_after_the_other():
    """The loop looks at its messages in between."""
    engine = Engine(Settings())
    hosts = [route(f"r{number}", host=f"h{number}.com") for number in range(30)]
    counts = [len(rules(engine)) for _ in engine.apply_in_steps(delta(
        (service(), True), *((each, True) for each in hosts)))]
    assert set(range(30)) <= set(counts)
    assert len(rules(engine)) == 30


def rules(engine: Engine) -> dict:
    return {ref: obj for ref, obj in engine.objects.items() if isinstance(obj, Rule)}


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(OBJECTS, st.just(True)), max_size=12), st.randoms())
def test_order_does_not_matter(steps, random):
    """Equal snapshots give equal Desired in any order."""
    latest = {(type(obj), obj.key): (obj, True) for obj, _ in steps}
    engine, other = Engine(Settings()), Engine(Settings())
    ordered = list(latest.values())
    for step in ordered:
        engine.apply(delta(step))
    random.shuffle(ordered)
    other.apply(delta(*ordered))
    assert engine.objects == other.objects


@settings(max_examples=examples(100))
@given(STEPS, CONFIGS, st.lists(st.integers(0, 12), min_size=25, max_size=25))
def test_certificates_that_are_checked_later(steps, config, turns):
    """An unchecked Route has no part in Desired; later all is as if it had been checked at once."""
    engine, latest = Engine(config, CheckQueue(at_once_s=0.0)), {}
    engine.set_facts(FACTS)
    wanted, unknown = {}, frozenset()
    for step, number in zip(steps, turns, strict=False):
        latest |= {(type(step[0]), step[0].key): step}
        engine.apply(delta(step))
        for key in filter(engine.pending, engine.routes()):
            assert engine.rejection(key) is None or engine.rejection(key).reason == CLAIMED
            assert not engine.uses(key) & engine.objects.keys()
        dirty, _ = engine.take_changes()
        for ref in {*wanted, *engine.objects} - dirty:
            assert wanted.get(ref) == engine.objects.get(ref)
        assert unknown ^ engine.undetermined() <= dirty
        wanted, unknown = dict(engine.objects), engine.undetermined()
        for _ in range(number):
            engine.checks.turn()
    while engine.checks.turn():
        pass
    engine.apply(Delta())
    assert not engine.undecided()
    at_once = Engine(config)
    at_once.set_facts(FACTS)
    at_once.apply(delta(*latest.values()))
    assert snapshot_of(engine) == snapshot_of(at_once)
    assert engine.objects == at_once.objects
    assert engine.undetermined() == at_once.undetermined()
    assert {key: engine.rejection(key) for key in engine.routes()} == {
        key: at_once.rejection(key) for key in at_once.routes()}


def test_nothing_is_checked_twice():
    """Paths and hosts are edited, other Secrets and Services change, lists come again."""
    engine = Engine(Settings(), CheckQueue(at_once_s=0.0))
    own = identity(algorithm="ec")
    first = route("a", kind="reencrypt", **own.tls, ca_certificate=own.issuer,
                  destination_ca_certificate=own.issuer)
    two = route("b", kind="edge", host="b.com", external_certificate="tls")
    engine.apply(delta((first, True), (two, True), (secret(identity=own), True)))
    while engine.checks.turn():
        pass
    for change in (
        replace(first), replace(first, path="/p"), replace(first, host="c.com"),
        replace(first, service="api"), replace(first, tls=replace(first.tls, insecure_policy="Redirect")),
        replace(two, target_port="http"), secret(identity=own), secret(name="other", identity=own),
        service(),
    ):
        engine.apply(delta((change, True)))
        assert not engine.checks.turn()
        assert not engine.undecided()
    engine.apply(delta((replace(first, tls=replace(first.tls, key="")), True)))
    assert engine.checks.turn()


def test_a_form_that_is_not_checked_yet():
    """The one before stays as a whole, not that of another object of the name; a new one claims its host."""
    engine, own = Engine(Settings(), CheckQueue(at_once_s=0.0)), identity(algorithm="ec")
    old, plain = route("a"), route("b", host="b.com", namespace="bank", age=9)
    engine.apply(delta((old, True), (plain, True)))
    new = replace(old, host="b.com", tls=RouteTLS("edge", **own.tls))
    engine.apply(delta((new, True)))
    assert (engine.route(old.key), engine.pending(old.key)) == (old, False)
    assert list(engine.undecided()) == [old.key]
    assert engine.rejection(plain.key) is None
    again = replace(new, uid="other")
    engine.apply(delta((again, True)))
    assert (engine.route(old.key), engine.pending(old.key)) == (again, True)
    assert engine.rejection(plain.key).reason == CLAIMED
    engine.apply(delta((again, False)))
    assert engine.rejection(plain.key) is None
    assert not engine.checks.turn()


SPACES = st.sampled_from(["shop", "bank", "zoo"]).map(lambda name: Namespace(Key("", name)))
ADMITTED_BY = st.one_of(strategies.any_routes(), strategies.contenders(), strategies.secrets(), SPACES)
"""What decides who is admitted. A Route whose labels are not selected any more is one that is gone."""


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(ADMITTED_BY, st.sampled_from([True, True, False])), max_size=30), CONFIGS,
       st.booleans(), st.data())
def test_admitted_whatever_the_order_of_events(steps, config, by_namespace, data):
    """Source: the issue: the admitted Routes are those of judging all Routes from scratch, as written.

    Routes are created, changed, deleted and selected, by labels or by namespace; Secrets come and go.
    """
    engine, chosen, there = Engine(config), NamespaceFilter(), {}
    while steps:
        number = data.draw(st.integers(1, 4))
        batch, steps = steps[:number], steps[number:]
        there |= {(type(obj), obj.key): obj if present else None for obj, present in batch}
        changes = delta(*batch)
        engine.apply(chosen.apply(changes) if by_namespace else changes)
    spaces = {obj.key.name for obj in there.values() if isinstance(obj, Namespace)}
    wanted = [obj for obj in there.values() if obj and not isinstance(obj, Namespace) and (
        not by_namespace or isinstance(obj, Secret) or obj.claim_namespace in spaces)]
    built = build(snapshot(*data.draw(st.permutations(wanted))), config, DeviceFacts())
    admitted = {key for key in engine.routes() if engine.rejection(key) is None}
    assert admitted == {obj.key for obj in wanted if isinstance(obj, Route)} - built.rejections.keys()
    assert {key: r for key in engine.routes() if (r := engine.rejection(key))} == built.rejections
    assert engine.objects == built.objects


def test_what_keeps_a_host_from_wildcards_stays_while_its_certificate_is_checked():
    """Before those of wildcards, or behind the Rule of the Route: where it is on the device."""
    engine = Engine(Settings(front_end="infra.web.443"), CheckQueue(at_once_s=0.0))
    engine.set_facts(FACTS)
    own = identity(algorithm="ec")
    edge = route("a", kind="edge", certificate=own.certificate, key=identity(algorithm="ec", serial=2).key)
    engine.apply(delta((edge, True)))
    (rule,) = [obj for obj in engine.objects.values() if isinstance(obj, Rule)
               and obj.policy.startswith("/Common/openshift_secure_routes")]
    assert (engine.pending(edge.key), rule.ref in engine.undetermined()) == (True, True)
    while engine.checks.turn():
        pass
    engine.apply(delta())
    assert engine.rejection(edge.key)
    assert rule.ref in engine.objects.keys() - engine.undetermined()
    assert engine.objects[rule.ref].priority_band < names.CLOSING_BAND
