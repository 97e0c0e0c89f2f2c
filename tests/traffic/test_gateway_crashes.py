"""Gateways that come, go and change their addresses, and the router that ends at a write meanwhile.

A client gets the pod that is right there before or after the change, or no pod; the next start completes it.
"""

from typing import NamedTuple

import pytest

from tests.feature.versions import step
from tests.gateways import backend, conditions, gateway, gateway_class, http_route, listener, parent, rule
from tests.traffic import clients
from tests.traffic.conftest import Site

__all__ = ["step"]

pytestmark = pytest.mark.ends

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway",
         "gateway_addresses": "10.9.0.0/28"}
HOST = "x.example.com"


def at(name: str, address: str, *ports: int) -> dict:
    """A Gateway with an address."""
    return gateway(name, *(listener(f"p{port}", port) for port in ports or (80,)),
                   addresses=[{"type": "IPAddress", "value": address}])


class Change(NamedTuple):
    """Gateways by what they are before and after a change; each has an HTTPRoute to a Service of its name."""

    before: tuple[dict, ...]
    after: tuple[dict, ...]
    served: dict[str, str]
    """Services by address and port, after it."""


A, B = at("a", "10.9.0.5"), at("b", "10.9.0.6")
CHANGES = {
    "comes": Change((B,), (A, B), {"10.9.0.5:80": "a", "10.9.0.6:80": "b"}),
    "goes": Change((A, B), (B,), {"10.9.0.6:80": "b"}),
    "moves": Change((A, B), (at("a", "10.9.0.7"), B), {"10.9.0.7:80": "a", "10.9.0.6:80": "b"}),
    "takes the address of another": Change((A, B), (at("b", "10.9.0.5"),), {"10.9.0.5:80": "b"}),
    "gets a port": Change((A, B), (at("a", "10.9.0.5", 80, 81), B), {
        "10.9.0.5:80": "a", "10.9.0.5:81": "a", "10.9.0.6:80": "b"}),
}


def answers(site: Site) -> dict[str, str]:
    """Service of the pod that answers, or the status, by address and port."""
    seen = {place: clients.plain(to, HOST) for place, to in site.bigip.listeners().items()
            if place.startswith("10.9.")}
    return {place: each.pod.get("pod", str(each.status)).rpartition("-")[0] or str(each.status)
            for place, each in seen.items()}


def programmed(site: Site) -> dict[str, tuple[tuple[str, str], list[str]]]:
    """Condition and addresses by the name of a Gateway."""
    statuses = {each["metadata"]["name"]: each.get("status") or {} for each in site.kube.list("Gateway")}
    return {name: (conditions(status["conditions"])["Programmed"],
                   [each["value"] for each in status.get("addresses", ())])
            for name, status in statuses.items()}


@pytest.mark.parametrize("name", CHANGES)
def test_a_router_that_ends(site_of, name, step):
    change, site = CHANGES[name], site_of(address="", gateway_api="v1.6")
    for number, service in enumerate("ab", start=1):
        site.serve(service, f"10.1.{number}.1", namespace="infra")
        site.apply(http_route(service, rule(backend(service)), parents=(parent(service),)))
    site.apply(gateway_class(), *change.before)
    assert site.converge(**FLAGS) == []
    earlier = answers(site)
    gone = {each["metadata"]["name"] for each in change.before} - {
        each["metadata"]["name"] for each in change.after}
    for each in gone:
        site.kube.delete("Gateway", "infra", each)
    site.apply(*change.after)
    for number in site.each_end(1, **FLAGS):
        if number % step and number > 2:
            continue
        for place, answer in answers(site).items():
            right = {earlier.get(place), change.served.get(place), "0", "404", "503"}
            assert answer in right, (number, place)
        for _ in range(2):
            site.converge(**FLAGS)
        assert answers(site) == change.served, number
        assert all(condition == ("True", "Programmed") and addresses
                   for condition, addresses in programmed(site).values()), number
