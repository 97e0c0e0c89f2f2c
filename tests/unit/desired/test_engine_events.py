"""Cost of each event for the engine, and the warnings that follow it."""

import itertools
from dataclasses import replace

from f5router.admission.admission import AdmissionPolicy
from f5router.desired.engine import Engine
from f5router.model.cluster import CA_CRT, Backend, Key, PodAuthority, RouteTLS, ServicePort
from f5router.model.delta import Delta
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions
from tests.builders import (
    Settings,
    endpoints,
    host_subnet,
    identity,
    node,
    route,
    secret,
    service,
)
from tests.unit.desired.test_engine import NAMED, NODEPORT, OLD_FACTS, STATIC, VXLAN, delta


def test_an_event_remakes_its_host_and_what_it_decides():
    """One Route changed costs the Routes of its Host; of its subdomain where a wildcard is contended."""
    engine = Engine(Settings(admission=AdmissionPolicy(wildcards=True)))
    many = [(route(f"r{n}", host=f"h{n}.a.test"), True) for n in range(50)]
    engine.apply(delta(*many, *((route(f"s{n}", host=f"h{n}.b.test"), True) for n in range(50))))
    wild = route("wild", host="x.a.test", wildcard=True, age=1)
    for change, names in (
        ((replace(many[7][0], service="api"), True), {"r7"}),
        ((route("p", host="h7.a.test", path="/p"), True), {"r7", "p"}),
        ((wild, True), {"wild"}),
        ((replace(many[7][0], service="web"), True), {"r7", "p"}),
        ((replace(wild, tls=RouteTLS("passthrough")), True), {"wild", "p", *(f"r{n}" for n in range(50))}),
        ((wild, False), {"wild", "p", *(f"r{n}" for n in range(50))}),
    ):
        engine.take_changes()
        engine.apply(delta(change))
        assert {key.name for key in engine.take_changes()[1]} == names


def test_a_secret_costs_the_routes_that_name_it():
    """Judged anew as they were written: a host that the router made stays made."""
    engine = Engine(Settings(admission=AdmissionPolicy(naming=NAMED)))
    many = [(route(f"r{n}", host="", kind="edge", external_certificate=f"s{n % 2}"), True) for n in range(6)]
    engine.apply(delta(*many, *((route(f"p{n}", host=f"p{n}.test", kind="edge"), True) for n in range(50))))
    first = secret(name="s0", identity=identity(algorithm="ec"))
    for change, names in (
        ((first, True), {"r0", "r2", "r4"}),
        ((replace(many[0][0], tls=RouteTLS("edge", external_certificate="s1")), True), {"r0"}),
        ((first, False), {"r2", "r4"}),
        ((many[2][0], False), {"r2"}),
        ((first, True), {"r4"}),
    ):
        engine.take_changes()
        engine.apply(delta(change))
        assert {key.name for key in engine.take_changes()[1]} == names
    assert engine.rejection(many[4][0].key) is None
    assert engine.route(many[4][0].key).host == "r4.example.com"


def test_a_route_and_its_secret_at_once():
    """The Route as it is now, whichever came first."""
    engine = Engine(Settings())
    old = route("a", host="old.test", kind="edge", external_certificate="s")
    new, read = replace(old, host="new.test"), secret(name="s", identity=identity(algorithm="ec"))
    engine.apply(delta((old, True)))
    engine.apply(delta((new, True), (read, True)))
    assert (engine.route(new.key).host, engine.rejection(new.key)) == ("new.test", None)
    engine.apply(delta((new, False), (read, False)))
    assert engine.routes() == {}


def test_a_route_that_waits_for_the_authorities_of_its_pods():
    """Its newest version counts, not the one that was checked last: that names the Secret to be read."""
    engine = Engine(Settings())
    authority = PodAuthority(Key("shop", "ca"), CA_CRT, "field")
    asking = replace(route("a", kind="reencrypt"), pod_authority=authority)
    for version in (route("a"), asking, replace(asking, host="new.test")):
        engine.apply(delta((version, True)))
        assert engine.route(version.key) == version
        assert list(engine.undecided()) == []
    assert engine.pending_secret(asking.key).key == authority.secret


def test_an_endpoint_event_touches_one_object():
    engine = Engine(Settings())
    routes = [(route(f"r{n}", host=f"h{n}.example.com", service=f"s{n}"), True) for n in range(50)]
    engine.apply(delta(*routes, (endpoints("10.1.1.1", service="s7"), True)))
    engine.take_changes()
    engine.apply(delta((endpoints("10.1.1.1", "10.1.1.2", service="s7"), True)))
    dirty, touched = engine.take_changes()
    assert [ref.path for ref in dirty] == ["/Common/openshift_shop_s7"]
    assert touched == set()


def test_a_node_event_touches_one_object():
    """Two for another address: the new record, the old one."""
    engine = Engine(VXLAN)
    engine.apply(delta(*((node(f"n{n}", f"10.1.1.{n}"), True) for n in range(50))))
    engine.take_changes()
    engine.apply(delta((node("n7", "10.1.1.7", ready=False), True)))
    assert engine.take_changes() == (set(), set())
    engine.apply(delta((node("n7", "10.1.2.7"), True)))
    dirty, touched = engine.take_changes()
    assert {ref.path.rsplit("/", 1)[1] for ref in dirty} == {"0a:0a:0a:01:01:07", "0a:0a:0a:01:02:07"}
    assert touched == set()


def test_a_node_event_touches_its_routes_only():
    """Nothing for what is no matter of routes; one for a gateway, two for another network."""
    engine = Engine(STATIC)
    known = [node(f"n{n}", f"10.1.1.{n}", pod_cidrs=(f"10.128.{n}.0/24",)) for n in range(50)]
    engine.apply(delta(*((obj, True) for obj in known)))
    engine.take_changes()
    static = next(obj for ref, obj in engine.objects.items() if ref.path.endswith("10.128.7.0_24"))
    engine.apply(delta((replace(known[7], unschedulable=True), True)))
    assert engine.objects[static.ref] is static, "networks were allocated anew for nothing"
    for changed, touched in (
        (replace(known[7], ready=False, unschedulable=True), set()),
        (replace(known[7], internal_ips=("10.1.2.7",)), {"10.128.7.0_24"}),
        (replace(known[7], pod_cidrs=("10.128.99.0/24",)), {"10.128.7.0_24", "10.128.99.0_24"}),
    ):
        engine.apply(delta((changed, True)))
        dirty, routes = engine.take_changes()
        assert {ref.path.removeprefix("/Common/openshift_pods_") for ref in dirty} == touched
        assert routes == set()


def published(number: int):
    return service(f"s{number}", node_port=30000 + number, type="NodePort")


def test_a_node_event_touches_each_pool_once():
    """Where Nodes are members; nothing for what changes no member, nor for pods that move."""
    engine = Engine(NODEPORT)
    routes = [(route(f"r{n}", host=f"h{n}.example.com", service=f"s{n}"), True) for n in range(20)]
    engine.apply(delta(*routes, *((published(n), True) for n in range(20)),
                       *((endpoints(service=f"s{n}", nodes=("n1",)), True) for n in range(20)),
                       (node("n1", "10.1.1.1"), True)))
    engine.take_changes()
    for changed, pools in (
        (node("n2", "10.1.1.2"), 20), (replace(node("n2", "10.1.1.2"), uid="other"), 0),
        (node("n2", "10.1.1.2", ready=False), 20), (node("n2", "10.1.1.3", ready=False), 0),
        (node("n2", "10.1.1.2"), 20), (endpoints(service="s7", nodes=("n2",)), 0),
        (replace(published(7), local=True), 1), (endpoints(service="s7", nodes=("n1", "n2")), 1),
    ):
        engine.apply(replace(delta((changed, True)), slices_listed=True))
        dirty, _ = engine.take_changes()
        assert {ref.kind for ref in dirty} <= {"ltm/pool"}
        assert len(dirty) == pools, changed


def test_endpoints_that_may_be_read_from_now_on():
    """Without endpoints no Node has a pod."""
    engine = Engine(NODEPORT)
    web = service("web", node_port=30080, type="NodePort", local=True)
    engine.apply(delta((route("a"), True), (web, True), (node("n1", "10.1.1.1"), True)))
    ref = Ref("ltm/pool", "/Common/openshift_shop_web")
    assert engine.objects[ref].members
    engine.take_changes()
    engine.apply(Delta(slices_listed=True))
    assert not engine.objects[ref].members
    assert engine.take_changes() == ({ref}, {Key("shop", "a")})


def test_warns_of_endpoints_beyond_the_limit():
    """Service, count and limit; each event that changes these has the Route judged anew."""
    engine, wanted = Engine(Settings(max_pool_members=2)), route("a")
    engine.apply(delta((wanted, True), (service("web"), True)))
    text = ("spec.to.name: Service web would have {} pool members or more, and a pool has 2 at most "
            "(--max-pool-members): the other pods get no requests")
    for count in (2, 3, 4, 1):
        engine.take_changes()
        engine.apply(delta((endpoints(*(f"10.1.0.{number}" for number in range(1, count + 1))), True)))
        assert engine.take_changes()[1] == {wanted.key}
        warning = ("TooManyEndpoints", text.format(count))
        assert engine.warnings(wanted.key) == ((warning,) if count > 2 else ())
        assert len(engine.objects[Ref("ltm/pool", "/Common/openshift_shop_web")].members) == min(count, 2)


def test_a_limit_is_that_of_the_own_pool():
    """Services of another Route have less room in its pool; here both have all pods of web but one."""
    two = replace(route("b", host="b.com"), weight=1, alternates=(Backend("api", 1),))
    engine = Engine(Settings(max_pool_members=10))
    engine.apply(delta(*((obj, True) for obj in (
        route("a"), two, service("web"), service("api"),
        endpoints(*(f"10.1.0.{number}" for number in range(1, 10))),
        endpoints("10.1.1.1", "10.1.1.2", service="api")))))
    assert engine.warnings(Key("shop", "a")) == ()
    assert [warning.message for warning in engine.warnings(two.key)] == [
        "spec.to.name: Service web would have 9 pool members or more, and the pool has 10 at most for all "
        "Services of the Route (--max-pool-members): the other pods get no requests"]


def test_endpoints_of_a_service_with_many_pools():
    """They are built in steps; other namespaces and the caller need not wait for all of them."""
    routes = [replace(route(f"r{number}", host=f"h{number}.com"),
                      options=RouteOptions(pod_connections=number + 1)) for number in range(400)]
    engine = Engine(Settings())
    engine.apply(delta(*((obj, True) for obj in (
        *routes, route("a", namespace="bank", host="bank.com"), service("web"),
        service("web", namespace="bank"), endpoints("10.1.0.1"), endpoints("10.2.0.1", namespace="bank")))))

    def behind(address: str) -> int:
        return sum(isinstance(obj, Pool) and bool(obj.members) and
                   address not in {member.address for member in obj.members}
                   for ref, obj in engine.objects.items() if "_shop_" in ref.path)

    engine.apply_endpoints(delta((endpoints("10.1.0.2"), True)))
    left = [behind("10.1.0.2")]
    engine.apply_endpoints(delta((endpoints("10.2.0.2", namespace="bank"), True)))
    assert {member.address for member in engine.objects[
        Ref("ltm/pool", "/Common/openshift_bank_web")].members} == {"10.2.0.2"}
    left.append(behind("10.1.0.2"))
    left += [behind("10.1.0.2") for _ in engine.rebuild_pools()]
    assert 400 > left[0] > left[1] > left[2]
    assert all(before - after <= 100 for before, after in itertools.pairwise(left))
    assert not engine.has_changed_pools
    assert behind("10.1.0.2") == 0


def test_warns_of_a_service_without_node_ports():
    """Each event that changes the answer has the Route judged anew."""
    engine = Engine(NODEPORT)
    wanted = route("a")
    plain, good = service("web"), service("web", node_port=30080, type="NodePort")
    of_type = (("NoNodePort", "spec.to.name: Service web is of type ClusterIP; this router takes node ports "
                              "(--pool-member-type), which only types NodePort and LoadBalancer have"),)
    local = (("Warning", "spec.to.name: Service web has externalTrafficPolicy Local, and EndpointSlices may "
                         "not be read: Nodes without a pod of it are members too"),)
    no_endpoints = (("NoEndpoints", "spec.to.name: Service web has no ready endpoints, and no others: it "
                    "selects no pod that runs"),)
    engine.apply(delta((wanted, True), (node("n1", "10.1.1.1"), True)))
    for change, listed, warnings in (
        ((plain, True), False, of_type), ((good, True), False, ()),
        ((replace(good, local=True), True), False, local),
        ((replace(good, local=True), True), True, no_endpoints),
        ((endpoints(nodes=("n1",)), True), True, ()),
        ((endpoints(nodes=("n1",)), False), True, no_endpoints),
        ((good, True), True, no_endpoints),
        ((endpoints(nodes=("n1",)), True), True, ()),
        ((endpoints(nodes=("n1",)), False), True, no_endpoints),
    ):
        engine.take_changes()
        engine.apply(replace(delta(change), slices_listed=listed))
        assert engine.warnings(wanted.key) == warnings
        assert engine.take_changes()[1] == {wanted.key}


def test_findings_follow_nodes_and_facts():
    """They are kept between events, and made anew by those that change them."""
    engine = Engine(VXLAN)
    assert engine.network_findings().warnings == ()
    for change, words in (
        ((node("n1"), True), "Node n1: no usable"), ((node("n1", "10.1.1.1"), True), ""),
        ((node("n2", "10.1.1.1"), True), "Nodes n1, n2"), ((host_subnet("n2", "10.1.1.2"), True), ""),
    ):
        engine.apply(delta(change))
        assert words in "".join(engine.network_findings().warnings)
        assert bool(words) == bool(engine.network_findings().warnings)
    engine.set_facts(OLD_FACTS)
    assert "ramp node" in engine.network_findings().problems[0]


def test_warns_of_a_missing_service_and_port():
    """Each event that changes the answer has the Route judged anew."""
    engine = Engine(Settings())
    wanted = route("a", service="web", port="admin")
    admin = (("admin", 9090),)
    no_port = (("ServicePortNotFound", "spec.port.targetPort: Service web has no port admin; it has http"),)
    no_endpoints = (("NoEndpoints", "spec.to.name: Service web has no ready endpoints, and no others: it "
                    "selects no pod that runs"),)
    for change, warnings in (
        ((wanted, True), (("ServiceNotFound", "spec.to.name: there is no Service web"),)),
        ((service("web"), True), no_port),
        ((service("web", ports=admin), True), no_endpoints),
        ((endpoints("10.1.1.1"), True), no_port),
        ((endpoints("10.1.1.1", ports=admin), True), ()),
        ((endpoints(ports=admin), True), no_endpoints),
        ((endpoints("10.1.1.1", ports=admin), False), no_endpoints),
        ((service("web", ports=admin, type="ExternalName"), True),
         (("ExternalNameService",
           "spec.to.name: Service web has the type ExternalName, whose host name is not looked up"),)),
    ):
        engine.take_changes()
        engine.apply(delta(change))
        assert engine.warnings(wanted.key) == warnings
        assert engine.take_changes()[1] == {wanted.key}


def test_the_number_of_a_service_port_is_no_port_of_the_pods():
    """HAProxy's router compares with the endpoints too: such a Route has an empty pool, and a warning."""
    engine = Engine(Settings())
    wanted = route("a", port="80")
    web = replace(service("web"), ports=(ServicePort("http", 80, target_port="8080"),))
    engine.apply(delta((wanted, True), (web, True), (endpoints("10.1.1.1"), True)))
    assert engine.warnings(wanted.key) == (
        ("ServicePortNotFound", "spec.port.targetPort: 80 is the port of Service web, not of its pods: write "
                                "http or 8080"),)


def test_a_refused_route_hears_nothing_of_endpoints():
    """It has a reason in its status already."""
    engine = Engine(Settings())
    wanted = route("a", path="no-slash")
    engine.apply(delta((wanted, True), (service("web"), True)))
    assert engine.warnings(wanted.key) == ()
