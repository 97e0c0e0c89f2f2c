"""How many REST writes an HTTPRoute costs: as many as a Route does."""

import pytest

from tests import manifests
from tests.gateways import backend, gateway, gateway_class, http_route, listener, parent, rule

FLAGS = {"sources": "routes,gateway", "f5_vserver_address": "203.0.113.10"}
RANGE = {"gateway_addresses": "10.9.0.0/28"}


def route(name: str, **more) -> dict:
    return http_route(name, rule(backend(name, **more)), hostnames=(f"{name}.example.com",))


@pytest.fixture
def lab(make_lab):
    whole = make_lab(gateway_api="v1.6")
    for number, name in enumerate(("a", "b", "c", "d"), start=1):
        whole.apply(*manifests.service("infra", name, pods=(f"10.1.{number}.1",)))
    whole.apply(gateway_class(), gateway("web"), route("a"))
    return whole


def writes(lab, router, *objects: dict) -> list[str]:
    """Return the requests that objects cost, without what the test itself does."""
    lab.settle(router)
    lab.clear()
    lab.apply(*objects)
    lab.settle(router)
    return [f"{method} {path}" for method, path in lab.writes()]


def test_an_http_route_on_a_gateway_with_addresses_of_its_own(lab):
    """Its pool, and a draft of the policy with its Rule; a path costs a Rule that answers 404 beside it."""
    router = lab.router(**FLAGS, **RANGE)
    assert lab.converge(router) == []
    added = writes(lab, router, route("b"))
    assert [each.partition("~")[0].split()[0] for each in added] == ["POST", "PATCH", "POST", "POST"]
    assert [each.count("/rules") for each in added] == [0, 0, 1, 0]
    with_path = http_route("c", rule(backend("c"), paths=("/c",)), hostnames=("c.example.com",))
    assert len(writes(lab, router, with_path)) == 5
    lab.clear()
    lab.kube.delete("HTTPRoute", "infra", "b")
    lab.settle(router)
    assert len(lab.writes()) == 4


def test_an_http_route_on_the_front_end_of_the_router(lab):
    router = lab.router(**FLAGS)
    assert lab.converge(router) == []
    plain = manifests.route("c", namespace="infra", host="c.example.com", service="c")
    assert len(writes(lab, router, route("b"))) == len(writes(lab, router, plain))


def test_an_http_route_for_all_hosts(lab):
    """It closes those of others, and opens them again when it goes; nothing of their Rules is written."""
    listeners = listener(), listener("named", hostname="*.example.org")
    lab.apply(gateway("web", *listeners), route("b"))
    router = lab.router(**FLAGS, **RANGE)
    assert lab.converge(router) == []

    def rules() -> set[str]:
        return {item.name.partition(".")[2] for item in lab.bigip.items("ltm/policy/rules")
                if item.path.endswith("insecure_routes__infra.web.80")}

    open_ = rules()
    assert not any("__" in name for name in open_)
    added = writes(lab, router, http_route("all", rule(backend("d")), parents=(
        parent("web", sectionName="http"),)))
    assert rules() - open_ >= {"a__4", "b__4"}
    assert not any(each.startswith("PATCH") and "/rules/" in each for each in added)
    lab.kube.delete("HTTPRoute", "infra", "all")
    lab.settle(router)
    assert rules() == open_
