"""TLS towards pods: by whom they are verified, and which Routes nobody could serve so."""

from dataclasses import replace

import pytest

from f5router.admission import admission
from f5router.admission.admission import EvaluatedRoute
from f5router.admission.certificates import CheckQueue
from f5router.desired import route_tls
from f5router.desired.engine import Engine
from f5router.model import names, tls_names
from f5router.model.cluster import CA_CRT, Backend, Key, PodAuthority, Route, Secret
from f5router.model.delta import Delta
from f5router.model.limits import finish
from f5router.model.ltm import CertFile, Record, Rule, ServerSSL
from f5router.model.route_options import RouteOptions
from tests.builders import FACTS, Settings, endpoints, identity, route, secret
from tests.reference.full_build import build, snapshot_of
from tests.unit.desired.test_engine import delta

CA, OTHER = identity(ca="Service CA").issuer, identity(ca="Next CA").issuer
DEFAULT, UNVERIFIED = Settings(default_destination_ca=CA, unverified_pods=False), Settings()
NOTHING = Settings(unverified_pods=False)


def evaluated(**how) -> EvaluatedRoute:
    return admission.check(route("a", **how), DEFAULT.admission)


@pytest.mark.parametrize(("config", "how", "fault", "warned"), [
    pytest.param(DEFAULT, {"kind": "reencrypt"}, "", False, id="service CA"),
    pytest.param(UNVERIFIED, {"kind": "reencrypt"}, "", True, id="the administrator wants none"),
    pytest.param(NOTHING, {"kind": "reencrypt"}, "nothing would verify", False, id="nobody said anything"),
    pytest.param(NOTHING, {"kind": "reencrypt", "destination_ca_certificate": OTHER}, "", False, id="own CA"),
    pytest.param(NOTHING, {"kind": "edge"}, "", False, id="edge"),
    pytest.param(NOTHING, {"kind": "passthrough"}, "", False, id="passthrough"),
])
def test_fault(config, how, fault, warned):
    text = route_tls.pods_fault(evaluated(**how), config)
    assert fault in text if fault else text == ""
    assert bool(not text and [*route_tls.pods_warnings(evaluated(**how), config)]) == warned


def test_several_services():
    """The default CA verifies them too, each by its name."""
    divided = replace(route("a", kind="reencrypt"), alternates=(Backend("canary", 10),))
    for config in (DEFAULT, UNVERIFIED):
        assert not route_tls.pods_fault(admission.check(divided, config.admission), config)


def engine_of(config, *objects) -> Engine:
    engine = Engine(config)
    engine.set_facts(FACTS)
    engine.apply(delta(*((obj, True) for obj in objects)))
    engine.take_changes()
    return engine


def test_renewed_authorities():
    """One more file and the profiles; names of pools, Rules and records stay."""
    engine = engine_of(
        DEFAULT, route("a", kind="reencrypt"), route("b", host="b.com", kind="edge"),
        route("c", host="c.com", kind="reencrypt", destination_ca_certificate=OTHER), endpoints("10.1.1.1"))
    before = dict(engine.objects)
    finish(engine.set_default_destination_ca(OTHER + CA))
    dirty, affected = engine.take_changes()
    assert {ref.kind for ref in dirty} == {CertFile.KIND, ServerSSL.KIND}
    assert {key.name for key in affected} == {"a"}
    bundle = tls_names.destination_ca_file("/Common", CA)
    assert before.keys() - engine.objects.keys() == {ref for ref in before if ref.kind == CertFile.KIND
                                                     and ref.path == bundle}
    renewed = DEFAULT.with_default_destination_ca(OTHER + CA)
    assert engine.objects == build(snapshot_of(engine), renewed, FACTS).objects


def test_renewed_authorities_while_checks_are_late():
    """Two Hosts have one Secret. The Route whose check was first is deleted before the other's is made."""
    pods = secret(name="pods", type="Opaque", authorities=CA)
    later, checks = by_secret(key=Key("shop", "b"), host="b.com"), CheckQueue(at_once_s=0.0)
    engine = Engine(DEFAULT, checks)
    engine.set_facts(FACTS)
    engine.apply(delta(*((obj, True) for obj in (by_secret(), later, pods, endpoints("10.1.1.1")))))
    while checks.turn():
        pass
    engine.apply(delta())
    assert verified(engine) == {CA: {"c.example.com", "w.example.com"}}
    engine.apply(delta((replace(pods, authorities=OTHER), True)))
    assert checks.pending() == 2
    checks.turn()
    while checks.pending() > 1:
        checks.turn()
    engine.apply(delta())
    assert verified(engine) == {OTHER: {"c.example.com", "w.example.com"}}
    (late,) = engine.undecided()
    first = by_secret() if late == later.key else later
    engine.apply(delta((first, False)))
    assert verified(engine) == {CA: {"c.example.com", "w.example.com"}}
    while checks.turn():
        pass
    engine.apply(delta())
    assert verified(engine) == {OTHER: {"c.example.com", "w.example.com"}}


def by_secret(**changes) -> Route:
    """A Route whose Services' pods are verified by a Secret."""
    asking = replace(route("a", kind="reencrypt"), weight=1, alternates=(Backend("canary", 1),),
                     pod_authority=PodAuthority(Key("shop", "pods"), CA_CRT, "field", (
                         ("canary", "c.example.com"), ("web", "w.example.com"))))
    return replace(asking, **changes)


def verified(engine: Engine) -> dict[str, set[str]]:
    """The names by authorities, as the server SSL profiles have them."""
    files = {obj.path: obj.pem for obj in engine.objects.values() if isinstance(obj, CertFile)}
    verified_names: dict[str, set[str]] = {}
    for obj in engine.objects.values():
        if isinstance(obj, ServerSSL) and obj.ca_file:
            verified_names.setdefault(files[obj.ca_file], set()).add(obj.authenticate_name)
    return verified_names


def test_renewed_authorities_of_a_secret():
    """One more file and the profiles of all Routes with it; a bad Secret takes away these Routes alone."""
    pods, other = secret(name="pods", type="Opaque", authorities=CA), route("b", host="b.com", kind="edge")
    engine = engine_of(DEFAULT, by_secret(), other, endpoints("10.1.1.1"),
                       by_secret(key=Key("shop", "c"), host="c.com"))
    key, third = by_secret().key, Key("shop", "c")
    assert engine.pending_secret(key) == Secret(pods.key, not_loaded=True)
    assert not [obj for obj in engine.objects.values() if isinstance(obj, Rule) and "_a" in obj.name]
    engine.apply(delta((pods, True)))
    engine.take_changes()
    assert verified(engine) == {CA: {"c.example.com", "w.example.com"}}
    (pool,) = {
        obj.action.pool for obj in engine.objects.values() if isinstance(obj, Rule) and "_a" in obj.name}
    assert {obj.data for obj in engine.objects.values() if isinstance(obj, Record) and obj.name == pool} == {
        names.BY_SERVICE}
    engine.apply(delta((replace(pods, authorities=OTHER), True)))
    dirty, affected = engine.take_changes()
    assert {ref.kind for ref in dirty} == {CertFile.KIND, ServerSSL.KIND}
    assert len([ref for ref in dirty if ref.kind == ServerSSL.KIND]) == 2
    assert affected == {key, third}
    assert verified(engine) == {OTHER: {"c.example.com", "w.example.com"}}
    engine.apply(delta((replace(pods, authorities="bad"), True)))
    assert [engine.rejection(each) is None for each in (key, third, other.key)] == [False, False, True]
    assert engine.objects == build(snapshot_of(engine), DEFAULT, FACTS).objects


@pytest.mark.parametrize(("changes", "expected"), [
    pytest.param({}, {CA: {"c.example.com", "w.example.com"}}, id="two names"),
    pytest.param({"weight": 0}, {CA: {"c.example.com"}}, id="one of them has a weight"),
    pytest.param({"alternates": ()}, {CA: {"w.example.com"}}, id="one Service"),
    pytest.param({"pod_authority": PodAuthority(Key("shop", "pods"), CA_CRT, "")}, {CA: {""}}, id="any name"),
    pytest.param({"pod_authority": PodAuthority(Key("shop", "pods"), CA_CRT, "", (
        ("canary", "w"), ("web", "w")))}, {CA: {"w"}}, id="one name for both"),
    pytest.param({"options": RouteOptions(verify_pods=False)}, {}, id="the team wants none"),
])
def test_names_beside_authorities_of_a_secret(changes, expected):
    engine = engine_of(UNVERIFIED, by_secret(**changes), endpoints("10.1.1.1"),
                       secret(name="pods", type="Opaque", authorities=CA))
    assert verified(engine) == expected
    used = [obj for obj in engine.objects.values() if isinstance(obj, Record)
            and obj.group.endswith(names.REENCRYPT_GROUP) and obj.data != "plain"]
    assert len(used) == (3 if len(expected.get(CA, ())) == 2 else 1)


def test_a_route_gets_authorities_that_are_not_read_yet():
    """It is served by what the device has, as after a restart meanwhile."""
    engine = engine_of(DEFAULT, by_secret(pod_authority=None), endpoints("10.1.1.1"))
    rules = {ref for ref, obj in engine.objects.items() if isinstance(obj, Rule)}
    engine.apply(delta((by_secret(), True)))
    assert rules <= engine.undetermined()
    assert not rules & engine.objects.keys()
    assert engine.objects == build(snapshot_of(engine), DEFAULT, FACTS).objects


def test_authorities_that_come_later():
    """A Route that nothing could verify is served as soon as something can."""
    engine = engine_of(NOTHING, route("a", kind="reencrypt"), endpoints("10.1.1.1"))
    (key,) = engine.routes()
    assert (bool(engine.fault(key)), engine.uses(key)) == (True, frozenset())
    finish(engine.set_default_destination_ca(CA))
    assert (engine.fault(key), bool(engine.uses(key))) == ("", True)
    engine.apply(Delta(routes={key: None}))
    left = [obj for obj in engine.objects.values() if isinstance(obj, Rule | Record)]
    assert [obj.name for obj in left] == [names.OWNERS_KNOWN]


def test_a_refused_route_gets_no_requests_of_another():
    """On port 80 a Route without it leads to what is above it, unless that is not served."""
    above = route("above", kind="reencrypt", insecure="Allow")
    redirected = route("between", path="/a", kind="edge", insecure="Redirect", age=1)
    silent = route("silent", path="/a/b", kind="edge", age=2)
    for config, leads_on in ((UNVERIFIED, True), (NOTHING, False)):
        engine = engine_of(config, above, redirected, silent, endpoints("10.1.1.1"))
        targets = {obj.action.pool for obj in engine.objects.values() if isinstance(obj, Rule)
                   and obj.policy.endswith(names.INSECURE_POLICY) and "silent" in obj.name}
        assert (targets != {"/Common/openshift_nowhere"}) == leads_on
