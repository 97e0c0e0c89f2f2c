"""Disturbances of the fault runner do what they say, and no more."""

from types import SimpleNamespace

from mocks.kube import FakeKube
from tests import manifests
from tests.chaos.disturbances import Disturbances


def test_repeated_events_change_nothing():
    """A status that the router writes between two of them stays."""
    def change(step) -> None:
        for obj in step.apply:
            applied.append(obj.get("status"))
            kube.apply(obj)
        for route in kube.list("Route"):
            kube.apply(route | {"status": status})

    status = {"ingress": [{"host": "a.com", "routerName": "public", "conditions": []}]}
    applied: list[dict | None] = []
    with FakeKube() as kube:
        for name in "abc":
            kube.apply(manifests.route(name, host="a.com"))
        Disturbances(SimpleNamespace(kube=kube, change=change)).repeat_events(0)
    assert applied == [None, status, status]
