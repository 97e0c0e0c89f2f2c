"""A running router with its status page: Routes of every status between the fakes, on a VxLAN."""

import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import requests

from f5router.app import launch, status_source
from tests import manifests
from tests.builders import identity
from tests.feature import sdn
from tests.feature.conftest import Lab
from tests.waiting import DEADLINE_S, until

LOGIN = ("operator", "correct horse")
MANY = 60
"""Plain Routes besides those with something special about them."""
TROUBLE = "Route shop/old"
"""In the header: the only check that does not pass is about the certificate of this Route."""


def routes() -> list[dict]:
    """Routes of every status."""
    shop, expired, other = identity("www.example.com"), identity("old.example.com", expired=True), identity(
        "other.example.com")
    return [
        manifests.route("web", kind="edge", insecure="Redirect", certificate=shop.certificate, key=shop.key),
        manifests.route("api", path="/api", kind="edge", service="api"),
        manifests.route("old", host="old.example.com", kind="edge", certificate=expired.certificate,
                        key=expired.key),
        manifests.route("wrong-name", host="name.example.com", kind="edge", certificate=other.certificate,
                        key=other.key),
        manifests.route("empty", host="empty.example.com", service="nobody"),
        manifests.route("pods", host="pass.example.com", kind="passthrough"),
        manifests.route("thief", namespace="other", created="2026-02-01T00:00:00Z"),
        *(manifests.route(f"team-{number:03}", namespace="teams", host=f"team-{number:03}.apps.example.com",
                          service="web") for number in range(MANY)),
    ]


class StatusSite:
    """Both fakes, a router whose loop runs in a thread, and its HTTP server."""

    def __init__(self, stack: ExitStack, folder: Path, **flags: str):
        """Args: flags: more of the router's."""
        self.lab = Lab(stack, folder)
        self.lab.virtuals()
        sdn.sdn(self.lab, *sdn.NODES, manifests.host_subnet("n1", "10.3.89.1", "10.128.0.0/23"),
                manifests.host_subnet("n2", "10.3.89.2", "10.128.2.0/23"))
        self.lab.apply(*manifests.service("shop", "web", pods=("10.128.0.11", "10.128.0.12", "10.128.2.13")),
                       *manifests.service("shop", "api", pods=("10.128.2.21",)),
                       *manifests.service("shop", "nobody"),
                       *manifests.service("teams", "web", pods=("10.128.0.31",)), *routes())
        config = self.lab.config(listen_addr="127.0.0.1:0", stats_user=LOGIN[0], stats_password=LOGIN[1],
                                 **sdn.FLAGS, **flags)
        self.controller = launch.build_controller(
            config, stack, timing=replace(self.lab.timing, servers_s=0.5))
        stop = threading.Event()
        loop = threading.Thread(target=self.controller.run, args=(stop,))
        self.server = stack.enter_context(status_source.serve(config, self.controller, stop))
        stack.callback(loop.join, DEADLINE_S)
        stack.callback(stop.set)
        loop.start()
        self._session = stack.enter_context(requests.Session())
        self._session.trust_env, self._session.auth = False, LOGIN
        until(self._all_judged)

    def _all_judged(self) -> bool:
        """True if every Route has its verdict."""
        routes = self.json("routes")
        return routes["counts"]["pending"] == 0 and routes["total"] > MANY

    @property
    def url(self) -> str:
        return f"http://{self.server.where}/"

    def get(self, path: str, **options) -> requests.Response:
        return self._session.get(self.url + path, timeout=DEADLINE_S, **options)

    def json(self, path: str, **parameters: object) -> dict:
        """A successful reply of the API; a loop that is busy is asked again."""
        def replies() -> list[requests.Response]:
            answer = self.get(f"api/v1/{path}", params=parameters)
            return [] if answer.status_code == 503 else [answer]

        (answer,) = until(replies)
        assert answer.status_code == 200, answer.text
        return answer.json()
