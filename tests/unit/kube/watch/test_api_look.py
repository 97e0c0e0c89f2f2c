"""Looks at the API server, one kind after the other."""

import threading
from dataclasses import replace
from types import SimpleNamespace

from f5router.kube.watch.api_look import USER, APILook, KindRead
from f5router.kube.watch.sources import NAMESPACES, ROUTES, SERVICES
from f5router.model.errors import KubeForbidden, KubeInvalid, KubeUnreachable
from tests.waiting import until


class Server:
    """An API server with an answer for each kind, and what the looks report."""

    def __init__(self, **answers):
        self.answers, self.asked, self.results, self.outages = answers, [], [], []
        self.connection = SimpleNamespace(
            request=self.request, outages=SimpleNamespace(
                failed=lambda user, exc: self.outages.append((user, str(exc))),
                answered=lambda user: self.outages.append((user, ""))))
        self.round = threading.Event()

    def request(self, method, path, *, query, timeout_s, accept):
        self.asked.append((path, query))
        if (answer := self.answers.get(path.rsplit("/", 1)[-1])) is not None:
            raise answer

    def look(self, *reads: KindRead) -> None:
        look = APILook(self.connection, lambda: reads, at_secret=self.round.set, period_s=0.01,
                       on_result=lambda kind, problem: self.results.append((kind.resource, problem)))
        look.start()
        until(self.round.is_set)
        look.stop()


def test_each_kind_is_asked_for_in_turn():
    server = Server(services=KubeForbidden("no"), namespaces=KubeInvalid("odd"))
    server.look(*(KindRead(kind, kind, "shop") for kind in (ROUTES, SERVICES, NAMESPACES)))
    assert server.asked[:3] == [
        ("/apis/route.openshift.io/v1/namespaces/shop/routes", {"limit": "1"}),
        ("/api/v1/namespaces/shop/services", {"limit": "1"}), ("/api/v1/namespaces", {"limit": "1"})]
    assert server.results[:3] == [("routes", ""), ("services", "no"), ("namespaces", "")]
    assert set(server.outages) == {(USER, "")}


def test_an_outage_says_nothing_about_rights():
    server = Server(routes=KubeUnreachable("gone"))
    server.look(KindRead(ROUTES, ROUTES, None))
    assert server.results == []
    assert set(server.outages) == {(USER, "gone")}


def test_a_kind_of_one_object():
    server = Server()
    server.look(KindRead(SERVICES, replace(SERVICES, name="web"), "shop"))
    assert server.asked[0] == ("/api/v1/namespaces/shop/services/web", {})
