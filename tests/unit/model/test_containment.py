"""containment.py: one object on which the program fails costs no other."""

import logging
from dataclasses import replace

import pytest

from f5router.desired.engine import Engine
from f5router.model.cluster import Key
from f5router.model.containment import MOST, FailureLog, contained
from f5router.model.delta import Delta
from f5router.model.ingress import Ingress
from f5router.model.limits import finish
from f5router.model.ltm import Rule
from f5router.model.route_options import RouteOptions
from f5router.model.virtual_server import FrontEnd, FrontEndSet
from f5router.sources.settings import SourceSettings
from f5router.sources.translator import Translator
from tests.builders import Settings, endpoints, route, service
from tests.unit.reconcile.test_reconciler import delta


class Broken:
    """A part of an object that nobody has foreseen: any use of it fails."""

    def __getattr__(self, name: str):
        raise RuntimeError(name)

    def __hash__(self) -> int:
        return 1


def hosts(engine: Engine) -> set[str]:
    """Hosts of all Rules."""
    return {host for obj in engine.objects.values() if isinstance(obj, Rule) for host in obj.hosts}


@pytest.mark.parametrize("field", ["tls", "weight", "origin", "unsupported", "health"])
def test_a_route_costs_no_other(field):
    """Whatever part of it is broken; what is known of it stays, and it is served once it is right again."""
    failures: list[str] = []
    engine = Engine(Settings(), on_failure=failures.append)
    a, b, c = (route(name, host=f"{name}.com") for name in "abc")
    engine.apply(delta((service("web"), True), (endpoints("10.1.0.1"), True), (a, True), (b, True)))
    assert hosts(engine) == {"a.com", "b.com"}
    broken = replace(a, **{field: Broken()}) if field != "health" else replace(
        a, options=RouteOptions(health=Broken()))
    engine.apply(delta((broken, True), (replace(b, host="new.com"), True), (c, True)))
    assert failures
    assert all("a" in failure for failure in failures)
    assert hosts(engine) >= {"new.com", "c.com"}
    engine.apply(delta((replace(a, host="right.com"), True)))
    assert hosts(engine) == {"right.com", "new.com", "c.com"}


class Brittle(tuple):
    """A part of an object that nobody has foreseen: any use of it fails from some time on."""

    fails = False

    def __iter__(self):
        if self.fails:
            raise RuntimeError
        return super().__iter__()


@pytest.mark.parametrize("change", ["facts", "front ends", "default CA"])
def test_a_host_costs_no_other_when_all_are_built_anew(change):
    """Its objects stay as they are, and the changes that come with it are not lost."""
    failures: list[str] = []
    engine = Engine(Settings(), on_failure=failures.append)
    a, b, c = (route(name, host=f"{name}.com", kind="reencrypt") for name in "abc")
    engine.apply(delta((service("web"), True), (endpoints("10.1.0.1"), True), (a, True), (b, True),
                       (replace(c, unsupported=Brittle(("x",))), True)))
    assert hosts(engine) == {"a.com", "b.com", "c.com"}
    engine.take_changes()
    Brittle.fails = True
    try:
        if change == "facts":
            engine.set_facts(replace(engine.facts, version=(13, 1, 0)))
        elif change == "front ends":
            own = FrontEnd(("10.0.0.1",), "/Common/h", None)
            finish(engine.set_front_ends(FrontEndSet((own,)), engine.facts))
        else:
            finish(engine.set_default_destination_ca("another"))
    finally:
        Brittle.fails = False
    assert len(failures) == 1
    assert "c.com" in failures[0]
    assert hosts(engine) == {"a.com", "b.com", "c.com"}
    assert {key.name for key in engine.take_changes()[1]} == {"a", "b"}


def test_an_ingress_costs_no_other():
    failures: list[str] = []
    translator = Translator(SourceSettings(), on_failure=failures.append)
    ingresses = {key: Ingress(key, uid=key.name, class_annotation="f5router", rules=rules)
                 for key, rules in ((Key("shop", "bad"), Broken()), (Key("shop", "good"), ()))}
    assert translator.apply(Delta(ingresses=ingresses)).routes == {}
    assert failures == ["Ingress shop/bad"]


def test_commands_see_the_error():
    """A program that ends says what has ended it."""
    with pytest.raises(RuntimeError, match="sources"):
        Engine(Settings()).apply(delta((replace(route("a"), options=Broken()), True)))


def test_an_object_is_logged_once(caplog):
    caplog.set_level(logging.DEBUG)
    failed = FailureLog()
    for number in (1, 1, 2):
        with contained(failed, "Route", number):
            raise RuntimeError(number)
    assert [(record.levelname, record.object) for record in caplog.records] == [
        ("ERROR", "Route 1"), ("DEBUG", "Route 1"), ("ERROR", "Route 2")]
    assert all(record.exc_info for record in caplog.records)


def test_what_was_logged_is_remembered_up_to_a_bound(caplog):
    failed = FailureLog()
    for number in range(MOST + 1):
        with contained(failed, number):
            raise RuntimeError
    caplog.clear()
    for number in (0, MOST):
        with contained(failed, number):
            raise RuntimeError
    assert [record.object for record in caplog.records] == ["0"]
