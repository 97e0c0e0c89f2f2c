"""TLS towards pods: by whom they are verified, and which Routes nobody could serve so."""

from dataclasses import replace

import pytest

from f5router.admission import admission
from f5router.admission.admission import EvaluatedRoute
from f5router.desired import route_tls
from f5router.desired.engine import Engine
from f5router.model import file_names, names
from f5router.model.cluster import Backend, Delta
from f5router.model.ltm import CertFile, Record, Rule, ServerSSL
from f5router.model.steps import finish
from tests.builders import FACTS, Settings, endpoints, identity, route
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
    assert bool(not text and route_tls.pods_warning(evaluated(**how), config)) == warned


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
    bundle = file_names.destination_ca_file("/Common", CA)
    assert before.keys() - engine.objects.keys() == {ref for ref in before if ref.kind == CertFile.KIND
                                                     and ref.path == bundle}
    renewed = DEFAULT.with_default_destination_ca(OTHER + CA)
    assert engine.objects == build(snapshot_of(engine), renewed, FACTS).objects


def test_authorities_that_come_later():
    """A Route that nothing could verify is served as soon as something can."""
    engine = engine_of(NOTHING, route("a", kind="reencrypt"), endpoints("10.1.1.1"))
    (key,) = engine.routes()
    assert (bool(engine.fault(key)), engine.uses(key)) == (True, frozenset())
    finish(engine.set_default_destination_ca(CA))
    assert (engine.fault(key), bool(engine.uses(key))) == ("", True)
    engine.apply(Delta(routes={key: None}))
    assert not [obj for obj in engine.objects.values() if isinstance(obj, Rule | Record)]


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
