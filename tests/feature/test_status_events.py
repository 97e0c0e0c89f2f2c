"""Events on the pages of Routes that Ingresses and IngressRoutes stand for."""

import threading

import pytest
import requests

from f5router.app import launch, status_source
from tests import manifests
from tests.waiting import DEADLINE_S, until


@pytest.fixture
def reasons(lab):
    """Starts a router; returns the reasons of the Events of a Route by namespace and name of its object."""
    lab.apply(
        *manifests.service("shop", "web", pods=("10.1.1.1",)), *manifests.service("bank", "idle"),
        manifests.route("late", host="i.com", created="2027-01-01T00:00:00Z", namespace="bank"),
        manifests.ingress_class(),
        manifests.ingress("site", ("i.com", "/", "web", 8080), ("i.com", "/api", "wbe", 8080)),
        manifests.ingress_route("root", manifests.forward("/", {"name": "web", "port": 8080}),
                                manifests.delegate("/bank", "branch", "bank"), fqdn="t.com"),
        manifests.ingress_route("branch", manifests.forward("/bank", {"name": "idle", "port": 8080}),
                                namespace="bank"))
    config = lab.config(listen_addr="127.0.0.1:0", sources="routes,ingress,ingressroutes")
    controller, stop = launch.build_controller(config, lab.stack, timing=lab.timing), threading.Event()
    loop = threading.Thread(target=controller.run, args=(stop,))
    server = lab.stack.enter_context(status_source.serve(config, controller, stop))
    lab.stack.callback(loop.join, DEADLINE_S)
    lab.stack.callback(stop.set)
    loop.start()
    session = lab.stack.enter_context(requests.Session())
    session.trust_env = False

    def get(path: str) -> dict:
        reply = session.get(f"http://{server.where}/api/v1/{path}", timeout=DEADLINE_S)
        return reply.json() if reply.status_code == 200 else {"items": []}

    def reasons() -> dict[str, set[str]]:
        return {f"{item['namespace']}/{item['name']}": {
            event["reason"] for event in get(f"routes/{item['namespace']}/{item['id']}").get("events", ())}
            for item in get("routes")["items"]}

    return reasons


def test_events_of_the_object_that_a_team_has(lab, reasons):
    """Also where another object, the root, holds its host; and not those of an earlier object of its name."""
    wanted = {"shop/site": {"ServiceNotFound", "HostContested"}, "bank/branch": {"NoEndpoints"},
              "bank/late": {"HostAlreadyClaimed", "ServiceNotFound"}}
    until(lambda: {name: known for name, known in reasons().items() if name in wanted} == wanted,
          lambda: f"events: {reasons()}")
    lab.kube.delete("Route", "bank", "late")
    until(lambda: "bank/late" not in reasons())
    lab.apply(*manifests.service("bank", "good", pods=("10.1.2.1",)),
              manifests.route("late", namespace="bank", host="free.com", service="good"))
    until(lambda: reasons().get("bank/late") == set(), lambda: f"events: {reasons()}")
