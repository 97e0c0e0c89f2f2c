"""Addresses of Gateways: who has which one, whatever comes in which order."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from f5router.model.address_range import parse
from f5router.model.cluster import Key
from f5router.model.gateway import Gateway, GatewayAddress, GatewayListener
from f5router.model.virtual_server import FrontEnd, FrontEndSet
from f5router.sources.gateway.conditions import StatusCondition
from f5router.sources.gateway.listeners import front_end_name
from f5router.sources.gateway.places import AddressWish, assign
from f5router.sources.settings import ServedPorts
from tests.gateways import gateway, http_route, listener, parent, rule
from tests.unit.sources.gateway.site import ADDRESS, GatewaySite

RANGES = parse("10.0.0.1-10.0.0.3")


def wish(name: str, *addresses: str, namespace: str = "infra", age: int = 0, ports: tuple[int, ...] = (80,),
         **had: tuple[str, ...]) -> AddressWish:
    return AddressWish(Gateway(
        Key(namespace, name), created=f"2026-01-01T00:00:{age:02}Z",
        listeners=tuple(GatewayListener(str(port), port, "HTTP") for port in ports),
        addresses=tuple(GatewayAddress("IPAddress", each) for each in addresses)), RANGES, **had)


def assigned(*wishes: AddressWish, reserved: frozenset[str] = frozenset(),
             most: int = 0) -> dict[str, object]:
    """Addresses, or the reason why there are none, by name."""
    return {key.name: place.reason if isinstance(place, StatusCondition) else place
            for key, place in assign(wishes, reserved, most=most).items()}


def test_the_first_free_address():
    assert assigned(wish("b", age=2), wish("a", age=1), wish("c", "10.0.0.2", age=3)) == {
        "a": ("10.0.0.1",), "b": ("10.0.0.3",), "c": ("10.0.0.2",)}
    assert assigned(wish("a", age=1), wish("b", age=2), wish("c", "", "10.0.0.2"), wish("d", age=4)) == {
        "c": ("10.0.0.2", "10.0.0.1"), "a": ("10.0.0.3",), "b": "AddressNotAssigned",
        "d": "AddressNotAssigned"}


def test_a_namespace_has_so_many_addresses():
    """Addresses that it has stay, also if they are more; another namespace has the rest."""
    others = wish("x", namespace="shop", age=9), wish("y", "10.0.0.3", namespace="shop", age=9)
    place = "AddressNotAssigned"
    assert assigned(wish("a", age=1), wish("b", "10.0.0.2", age=2), wish("c", age=3), *others, most=1) == {
        "a": place, "b": ("10.0.0.2",), "c": place, "x": place, "y": ("10.0.0.3",)}
    assert assigned(wish("a", kept=("10.0.0.1",)), wish("b", reported=("10.0.0.2",)), wish("c", age=1),
                    *others, most=1) == {
        "a": ("10.0.0.1",), "b": ("10.0.0.2",), "c": place, "x": place, "y": ("10.0.0.3",)}
    ports = wish("b", "10.0.0.1", age=2, ports=(81,))
    assert assigned(wish("a", "10.0.0.1", age=1), ports, most=1) == dict.fromkeys("ab", ("10.0.0.1",))
    assert assigned(wish("a", "", "10.0.0.2"), most=1) == {"a": place}


def test_by_default_a_namespace_has_half_of_the_addresses():
    ranges = parse("10.0.0.1-10.0.0.12")
    many = [replace(wish(f"{number:02}", age=number), ranges=ranges) for number in range(8)]
    served = [name for name, place in assigned(*many).items() if place != "AddressNotAssigned"]
    assert served == [f"{number:02}" for number in range(6)]
    few = [replace(each, ranges=parse("10.0.0.1-10.0.0.4")) for each in many]
    assert list(assigned(*few).values()).count("AddressNotAssigned") == 4


def test_many_gateways_on_one_address():
    """The cost of one more does not depend on those that are there: ports are looked up."""
    looks = Counter[str]()

    class Counting(AddressWish):
        @property
        def ports(self) -> frozenset[int]:
            looks[self.gateway.key.name] += 1
            return super().ports

    number = 200
    wishes = [Counting(each.gateway, each.ranges) for each in (
        wish(f"g{port}", "10.0.0.1", ports=(port,)) for port in range(number))]
    assert set(assigned(*wishes).values()) == {("10.0.0.1",)}
    assert looks.total() <= 2 * number


def test_addresses_outside_of_what_is_permitted():
    assert assigned(wish("a", "10.0.0.4"), wish("b", "x"), wish("c", "10.0.0.1"),
                    reserved=frozenset({"10.0.0.1"})) == dict.fromkeys("abc", "AddressNotUsable")


def test_zones_of_addresses():
    """A BIG-IP would read a route domain behind the %, and the address would be given away twice."""
    ranges = parse("2001:db8::1-2001:db8::2")
    asks, has, reports = (replace(each, ranges=ranges) for each in (
        wish("a", "2001:db8::1%7"), wish("b", "2001:db8::1"), wish("c", reported=("2001:db8::2%7",))))
    assert assigned(asks, has, reports) == {
        "a": "AddressNotUsable", "b": ("2001:db8::1",), "c": ("2001:db8::2",)}


def test_one_address_for_two():
    """The older one has it; another port of it is for Gateways of the same namespace alone."""
    older = wish("a", "10.0.0.1", age=1)
    for other, place in (
            (wish("b", "10.0.0.1", age=2), "AddressNotAssigned"),
            (wish("b", "10.0.0.1", age=2, ports=(81,)), ("10.0.0.1",)),
            (wish("b", "10.0.0.1", age=2, ports=(81,), namespace="other"), "AddressNotAssigned")):
        assert assigned(other, older) == {"a": ("10.0.0.1",), "b": place}


def test_what_a_gateway_has_stays():
    """Whatever an older one asks for; a status alone does not take it from another."""
    held = wish("b", age=2, kept=("10.0.0.1",))
    for other in (wish("a", "10.0.0.1", age=1),
                  wish("a", "10.0.0.1", age=1, reported=("10.0.0.1",))):
        assert assigned(other, held) == {"a": "AddressNotAssigned", "b": ("10.0.0.1",)}
    reported = wish("b", age=2, reported=("10.0.0.2",))
    assert assigned(wish("a", age=1), reported) == {"a": ("10.0.0.1",), "b": ("10.0.0.2",)}
    moved = wish("b", "10.0.0.3", age=2, kept=("10.0.0.1",), reported=("10.0.0.1",))
    assert assigned(moved, wish("a", age=3)) == {"a": ("10.0.0.1",), "b": ("10.0.0.3",)}


ADDRESSES = st.sampled_from(["", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.9"])
WISHES = st.lists(st.builds(
    lambda name, namespace, age, addresses, ports, kept, reported: wish(
        f"{name}", *addresses, namespace=namespace, age=age, ports=tuple(ports), kept=tuple(kept),
        reported=tuple(reported)),
    st.integers(0, 9), st.sampled_from(["infra", "other"]), st.integers(0, 9),
    st.lists(ADDRESSES, max_size=2), st.sets(st.sampled_from([80, 81]), min_size=1),
    st.lists(ADDRESSES, max_size=2), st.lists(ADDRESSES, max_size=2)),
    unique_by=lambda each: each.gateway.key, max_size=6)


@given(WISHES, st.randoms(use_true_random=False))
def test_whatever_is_asked_for(wishes, random):
    """No place has two Gateways, no address two namespaces, none lies outside, and it is stable."""
    places = assign(wishes, frozenset({"10.0.0.3"}))
    served = [(each, places[each.gateway.key]) for each in wishes
              if not isinstance(places[each.gateway.key], StatusCondition)]
    used = [(address, port) for each, addresses in served for address in addresses for port in each.ports]
    assert len(used) == len(set(used))
    assert {address for address, _ in used} <= {"10.0.0.1", "10.0.0.2"}
    for address in {address for address, _ in used}:
        assert len({each.gateway.key.namespace for each, addresses in served if address in addresses}) == 1
    random.shuffle(wishes)
    assert assign(wishes, frozenset({"10.0.0.3"})) == places
    known = {each.gateway.key: addresses for each, addresses in served}
    again = [replace(each, kept=known.get(each.gateway.key, ()), reported=()) for each in wishes]
    after = assign(again, frozenset({"10.0.0.3"}))
    assert {key: place for key, place in after.items() if key in known} == known


def test_names_of_front_ends_differ():
    long = "n" * 200
    names = [front_end_name(Key(*each), port) for port in (80, 8080) for each in (
        ("a", "b"), ("a", "b.80"), ("a-b", "c"), ("a", "b-c"), ("a", long), ("a", f"{long}x"))]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 106 for name in names)


# --- Gateways ------------------------------------------------------------------------------

POOL = "10.0.0.1-10.0.0.2,internal=10.1.0.1"


def test_each_gateway_has_front_ends_of_its_own():
    """One for each port; Routes are on that of their listener."""
    site = GatewaySite(
        gateway("web", listener(), listener("other", 8080)), gateway("second"), ranges=POOL)
    site.put(http_route("r", rule(), parents=(parent("web"), parent("second"))))
    assert [(each.name, each.addresses, each.http, each.https, each.http_port)
            for each in site.source.front_ends] == [
        ("infra.second.80", ("10.0.0.1",), "/Common/openshift_http__infra.second.80", None, 80),
        ("infra.web.80", ("10.0.0.2",), "/Common/openshift_http__infra.web.80", None, 80),
        ("infra.web.8080", ("10.0.0.2",), "/Common/openshift_http__infra.web.8080", None, 8080)]
    assert {key.front_end for key in site.routes} == {"infra.web.80", "infra.web.8080", "infra.second.80"}
    assert {key.front_end for key in site.source.routes_of(Key("infra", "r"))} == {
        "infra.web.80", "infra.web.8080", "infra.second.80"}
    site.put(gone=(("Gateway", "second"),))
    assert {each.name for each in site.source.front_ends} == {"infra.web.80", "infra.web.8080"}
    assert site.gateway()["addresses"] == [{"type": "IPAddress", "value": "10.0.0.2"}]


def test_the_routers_own_front_end_beside_addresses():
    """One that names its address has it, and one that had it before; all others have addresses of theirs."""
    named = gateway("named", addresses=[{"type": "IPAddress", "value": ADDRESS}],
                    created="2026-01-02T00:00:00Z")
    site = GatewaySite(named, gateway("web"), ranges=POOL)
    assert [each.name for each in site.source.front_ends] == ["infra.web.80"]
    assert site.gateway("named")["addresses"] == [{"type": "IPAddress", "value": ADDRESS}]
    before = gateway("web") | {"status": {"addresses": [{"type": "IPAddress", "value": ADDRESS}]}}
    site = GatewaySite(before, gateway("second"), ranges=POOL)
    assert [each.name for each in site.source.front_ends] == ["infra.second.80"]
    assert {key.front_end for key in site.routes} == {"", "infra.second.80"}


def test_the_status_of_a_gateway_keeps_its_address():
    site = GatewaySite(
        gateway("a"), gateway("b") | {"status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}]}},
        ranges=POOL)
    assert {each.name: each.addresses for each in site.source.front_ends} == {
        "infra.a.80": ("10.0.0.2",), "infra.b.80": ("10.0.0.1",)}
    before = site.source.front_ends
    site.source.take_changed()
    site.put(gateway("b") | {"status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.2"}]}})
    assert site.source.front_ends == before
    assert site.source.take_changed() == set()
    site.source.assign_anew()  # the other replica that leads has reported it
    site.put()
    assert {each.name: each.addresses for each in site.source.front_ends} == {
        "infra.a.80": ("10.0.0.1",), "infra.b.80": ("10.0.0.2",)}


def test_ranges_of_a_class():
    site = GatewaySite(gateway("web"), ranges="internal=10.1.0.1")
    assert site.source.front_ends == ()
    assert site.gateway()["addresses"] == [{"type": "IPAddress", "value": ADDRESS}]


def test_front_ends_of_the_settings_that_change():
    """Their addresses are reserved, and the router's own front end has other ports."""
    site = GatewaySite(gateway("web", addresses=[{"type": "IPAddress", "value": "10.0.0.1"}]),
                       gateway("named", addresses=[{"type": "IPAddress", "value": ADDRESS}]), ranges=POOL)
    assert [each.name for each in site.source.front_ends] == ["infra.web.80"]
    own = FrontEnd((ADDRESS,), "/Common/h", None, http_port=8080)
    site.source.set_front_ends(FrontEndSet((own,), (FrontEnd(("10.0.0.1",), "/Common/i", None, name="i"),)))
    site.put()
    assert site.source.front_ends == ()
    assert site.conditions()["Programmed"] == ("False", "AddressNotUsable")
    assert site.listener("http", "named")["Accepted"] == ("False", "PortUnavailable")
    assert ServedPorts.of((own,)) == site.source.settings.served


def test_an_address_that_a_gateway_had_is_given_away_last():
    site = GatewaySite(gateway("a"), gateway("b"), ranges="10.0.0.1-10.0.0.4")
    site.put(gone=(("Gateway", "a"),))
    for name, address in (("c", "10.0.0.3"), ("d", "10.0.0.4"), ("e", "10.0.0.1")):
        site.put(gateway(name))
        places = {each.name: each.addresses for each in site.source.front_ends}
        assert places[f"infra.{name}.80"] == (address,)
