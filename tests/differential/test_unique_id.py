"""IDs of requests: ours against HAProxy's, but for addresses of the router, counts and process numbers."""

import re
from dataclasses import dataclass

import pytest

from f5router.model.http_edge import DEFAULT_ID_FORMAT
from tests.differential.conftest import Pair, Router
from tests.differential.test_header_actions import to_delete, to_set
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

NAME = "X-Unique-ID"
KINDS = ("", "edge", "reencrypt")
ACTIONS = {"set": [to_set(NAME, "the Route's")], "delete": [to_delete(NAME)], "none": []}
ADDRESS, PORT, COUNT, TIME = "[0-9A-F]{8}", "[0-9A-F]{4}", "[0-9A-F]{4,}", "6[0-9A-F]{7}"
CUT = "[0-9]+-a+"
FORMATS = {
    DEFAULT_ID_FORMAT: f"7F000001:{PORT}_{ADDRESS}:{PORT}_{TIME}_{COUNT}:{COUNT}",
    r"'%{+Q}o%ci  %cp %fi%%'%{-Q}ci\ \#%{+X}Ts.%rt.%{+X}fp":
        rf'"127\.0\.0\.1" [0-9]+ "[0-9.]+"%127\.0\.0\.1 #{TIME}\.[0-9]+\.{PORT}',
    r'"%{+X}o %ci\"\$ %{-X}Ts-%{-X}rt-%{-X}pid"': r'7F000001"\$ 1[0-9]{9}-[0-9]+-[0-9]+',
    "%rt-" + "a" * 200: CUT,
}
"""Format to what an ID looks like."""


@dataclass(frozen=True)
class Served:
    """Both routers with a format."""

    pair: Pair
    pattern: str


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    for kind in KINDS:
        for name, actions in ACTIONS.items():
            route = annotated(name, kind, {})
            route["spec"]["httpHeaders"] = {"actions": {"request": actions}}
            site.apply(route)


@pytest.fixture(scope="module", params=FORMATS, ids=["default", "quotes", "mixed", "long"])
def served(pair_of, request) -> Served:
    variables = {"ROUTER_UNIQUE_ID_HEADER_NAME": NAME, "ROUTER_UNIQUE_ID_FORMAT": request.param}
    return Served(pair_of(build, variables=variables), FORMATS[request.param])


def ids(router: Router, host: str, sent: tuple[str, ...], *, secure: bool) -> list[list[str]]:
    """Return the values of the header in two requests of a connection."""
    requests = [clients.request_bytes(host, headers=sent, close=last) for last in (False, True)]
    address, sni = (router.https, host) if secure else (router.http, None)
    replies = clients.several(address, *requests, sni=sni)
    return [[value for name, value in reply.pod["headers"] if name.lower() == NAME.lower()]
            for reply in replies]


@pytest.mark.parametrize("sent", [(), (f"{NAME}: client's", "x-unique-id: again")], ids=["nothing", "two"])
@pytest.mark.parametrize("name", ACTIONS)
def test_requests(served, name, sent):
    """It is added behind what a client sent and what actions set."""
    per_connection = []
    for kind in KINDS:
        host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
        theirs, ours = served.pair.both(lambda router, host=host, kind=kind: ids(
            router, host, sent, secure=bool(kind)))
        assert [values[:-1] for values in ours] == [values[:-1] for values in theirs], kind
        for values in (*ours, *theirs):
            assert re.fullmatch(served.pattern, values[-1]), kind
            assert len(values[-1]) == 127 or served.pattern != CUT
        per_connection.append([values[-1] for values in ours])
    assert all(len(set(of_connection)) == 2 for of_connection in per_connection)
