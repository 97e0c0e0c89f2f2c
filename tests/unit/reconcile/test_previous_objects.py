"""previous_objects.py: objects of which namespace serve a Host that a root has given away in parts."""

from dataclasses import replace

import pytest

from f5router.desired.engine import Engine
from f5router.model.cluster import Key, RouteTLS
from f5router.model.delta import Delta
from f5router.model.ltm import Attachment, ClientSSL, Rule
from f5router.reconcile import previous_objects
from tests.builders import FACTS, Settings, identity, route, secret, virtual
from tests.unit.desired.test_engine import delta

ROOT, TLS = Key("shop", "root"), secret(identity=identity())


def entry(name: str, namespace: str):
    """The Route of an entry of an IngressRoute below a root with TLS in the namespace shop."""
    plain = route(name, namespace=namespace, path=f"/{name}", kind="edge")
    return replace(virtual(plain, "IngressRoute", root=ROOT), tls=RouteTLS("edge"), tls_secret=TLS.key)


OWN, GIVEN, OTHER = entry("own", "shop"), entry("given", "bank"), entry("other", "zoo")


@pytest.mark.parametrize(("gone", "expected"), [
    pytest.param([], set(), id="all are there"),
    pytest.param([GIVEN], {"bank"}, id="a path is given no longer"),
    pytest.param([OTHER, GIVEN], {"bank", "zoo"}, id="nor another one"),
    pytest.param([OWN], {"shop"}, id="the root serves no path itself"),
])
def test_objects_of_other_namespaces(gone, expected):
    """Rules by the namespace of their pods; the certificate is that of the root, whoever serves."""
    engine = Engine(Settings())
    engine.set_facts(FACTS)
    engine.apply(delta(*((obj, True) for obj in (OWN, GIVEN, OTHER, TLS))))
    observed = dict(engine.objects)
    engine.apply(Delta(routes=dict.fromkeys(each.key for each in gone)))
    foreign = previous_objects.foreign_objects(engine, observed, observed.keys())
    rules = {obj.ref: obj.name for obj in observed.values() if isinstance(obj, Rule)}
    assert {name.split("_")[2] for ref, name in rules.items() if ref in foreign} == expected
    assert not any(ref.kind in (ClientSSL.KIND, Attachment.KIND) for ref in foreign)
    assert foreign <= rules.keys()


def test_the_routes_of_a_host_are_looked_at_once():
    """A team chooses their number, and each has a Rule."""
    class Counting(Engine):
        looks = 0

        def host_routes(self, host, front_end):
            self.looks += 1
            return super().host_routes(host, front_end)

    engine = Counting(Settings())
    engine.apply(delta(*((entry(str(number), "shop"), True) for number in range(9)), (TLS, True)))
    observed = dict(engine.objects)
    rules = [ref for ref in observed if ref.kind == Rule.KIND]
    assert len(rules) >= 9
    assert not previous_objects.foreign_objects(engine, observed, rules)
    assert engine.looks == 1
