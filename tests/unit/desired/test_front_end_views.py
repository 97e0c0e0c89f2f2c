"""Several front ends in one Engine: each has objects, claims and results of its own; pools are shared."""

from dataclasses import replace

import pytest

from f5router.desired.engine import Engine
from f5router.model import names, ownership
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.model.front_end_names import base_name, front_end_of, named
from f5router.model.limits import finish
from f5router.model.ltm import Attachment, ClientSSL, DataGroup, IRule, Policy, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.model.virtual_server import FrontEnd, FrontEndSet, VirtualServer
from tests.builders import FACTS, Settings, identity, route, service

INTERNAL = FrontEnd(("10.0.0.10",), "/Common/openshift_http__internal",
                    "/Common/openshift_https__internal", name="internal")
"""Another front end."""


def on(front_end, plain):
    """The Route as a front end serves it."""
    return replace(plain, key=plain.key.on(front_end))


def engine_with(*routes, front_ends=(INTERNAL,), **settings):
    """An Engine with facts, Routes and a Service."""
    engine = Engine(Settings(further_front_ends=front_ends, **settings))
    engine.set_facts(FACTS)
    engine.apply(Delta(routes={each.key: each for each in routes}, services={service().key: service()}))
    return engine


def replace_front_ends(engine, *further):
    """Replace the front ends, but the one without a name."""
    finish(engine.set_front_ends(FrontEndSet((), further), engine.facts))


def test_objects_of_the_first_front_end_do_not_change():
    """An upgrade, and a second front end, write nothing of the first one anew."""
    routes = [route("a"), route("b", host="b.example.com", kind="edge", insecure="Redirect"),
              route("c", host="c.example.com", kind="passthrough")]
    alone = engine_with(*routes, front_ends=()).objects
    beside = engine_with(*routes, *(on("internal", each) for each in routes)).objects
    assert {ref: obj for ref, obj in beside.items() if ref in alone} == alone
    assert {ownership.front_end(obj) for ref, obj in beside.items() if ref in alone} <= {""}
    assert not [(ref, obj.dependencies) for ref, obj in beside.items()
                if ref in alone and "__internal" in str(obj.dependencies)]
    more = [obj for ref, obj in beside.items() if ref not in alone]
    assert all("__internal" in ref.path for ref in beside.keys() - alone.keys())
    assert not any(isinstance(obj, Pool) for obj in more)
    assert all(ownership.owns("/Common", obj) for obj in more)


def test_dependencies_stay_within_a_front_end():
    """Nothing of one front end waits for an object of another."""
    pair = identity("shop.example.com")
    routes = [route("a", host="shop.example.com", kind="edge", insecure="Allow",
                    certificate=pair.certificate, key=pair.key),
              route("c", host="c.example.com", kind="passthrough")]
    engine = engine_with(*routes, *(on("internal", each) for each in routes), strict_sni=True)
    for obj in engine.objects.values():
        if isinstance(obj, Rule | Record | Attachment | IRule | ClientSSL):
            own = front_end_of(obj.path) if isinstance(obj, IRule | ClientSSL) else ownership.front_end(obj)
            for need in obj.dependencies:
                path = need.path.split("/rules/" if need.kind == Rule.KIND else "/records/")[0]
                if need.kind in (Policy.KIND, DataGroup.KIND, IRule.KIND, Rule.KIND, Record.KIND):
                    assert front_end_of(path) == own, (obj.ref, need)
                if need.kind == Attachment.KIND:
                    assert front_end_of(need.path) == own, (obj.ref, need)


def test_texts_of_irules_name_the_data_groups_of_their_front_end():
    engine = engine_with(on("internal", route("a", kind="passthrough")))
    for obj in engine.objects.values():
        if isinstance(obj, IRule):
            groups = [word for word in obj.text.replace("]", " ").split() if word.endswith("_dg")
                      or "_dg__" in word]
            assert all(front_end_of(group) == front_end_of(obj.path) for group in groups), obj.path
    assert "ssl_passthrough_servername_dg__internal" in engine.objects[
        Ref(IRule.KIND, f"/Common/{named(names.PASSTHROUGH_IRULE, 'internal')}")].text


def test_each_front_end_has_claims_of_its_own():
    """The younger Route of another namespace holds the host where the older one is not served."""
    older, younger = route("a", namespace="shop"), route("b", namespace="other", age=1)
    engine = engine_with(older, younger, on("internal", younger))
    assert engine.rejection(younger.key) is not None
    inside = Key("other", "b", "internal")
    assert engine.rejection(inside) is None
    assert {base_name(ref.path.partition("/rules/")[0]) for ref in engine.uses(inside)
            if ref.kind == Rule.KIND} == {names.INSECURE_POLICY}
    assert engine.host_routes("www.example.com", "").keys() == {older.key}
    assert engine.host_routes("www.example.com", "internal").keys() == {inside}
    engine.apply(Delta(routes={older.key: None}))
    assert engine.rejection(younger.key) is None


def test_a_front_end_may_come_and_go():
    """Its Routes wait for it, and all that it has goes with it."""
    plain = route("a")
    engine = engine_with(on("internal", plain), front_ends=())
    assert "no front end internal" in engine.fault(Key("shop", "a", "internal"))
    without = dict(engine.objects)
    engine.take_changes()
    replace_front_ends(engine, INTERNAL)
    assert not engine.fault(Key("shop", "a", "internal"))
    assert engine.uses(Key("shop", "a", "internal")) <= engine.objects.keys()
    came = engine.objects.keys() - without.keys()
    assert Ref(VirtualServer.KIND, INTERNAL.http) in came
    refs, keys = engine.take_changes()
    assert came <= refs
    assert Key("shop", "a", "internal") in keys
    assert engine.objects == engine_with(on("internal", plain)).objects
    replace_front_ends(engine)
    assert engine.objects == without


@pytest.mark.parametrize("moved", [{}, {"addresses": ("10.0.0.11",)}])
def test_a_changed_front_end_is_built_as_from_the_beginning(moved):
    changed = replace(INTERNAL, **moved)
    engine = engine_with(on("internal", route("a")))
    engine.take_changes()
    replace_front_ends(engine, changed)
    assert engine.objects == engine_with(on("internal", route("a")), front_ends=(changed,)).objects
    assert bool(engine.take_changes()[0]) == bool(moved)
