"""Header actions: whose requests and responses they reach, and what they cannot do.

What they do is compared with HAProxy in tests/differential/test_header_actions.py.
"""

import itertools

import pytest

from mocks.bigip.quirks import Quirk
from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

QUIRKS = (frozenset(), frozenset({Quirk.HEADER_REMOVE_LAST}))
GLOBAL = {"set_delete_http_request_header": "X-All:yes:Set,X-B:Delete",
          "set_delete_http_response_header": "X-All:yes:Set,X-B:Delete"}


def action(name: str, value: str | None) -> dict:
    """An action. Args: value: None deletes the header."""
    return {"name": name, "action": {"type": "Delete"} if value is None else {
        "type": "Set", "set": {"value": value}}}


def route(name: str, kind: str = "", request: dict | None = None, response: dict | None = None,
          **how) -> dict:
    """A Route. Args: request, response: values of headers."""
    obj = manifests.route(name, host=f"{name}.example.com", kind=kind,
                          service="tls" if kind in ("reencrypt", "passthrough") else "web", **how)
    obj["spec"]["httpHeaders"] = {"actions": {
        side: [action(*pair) for pair in (values or {}).items()]
        for side, values in (("request", request), ("response", response))}}
    return obj


def serve(site: Site) -> Site:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    return site


def of(lines, *names: str) -> list[tuple[str, str]]:
    return sorted((name.lower(), value) for name, value in lines if name.lower() in names)


@pytest.mark.parametrize("quirks", QUIRKS, ids=lambda quirks: "-".join(quirks) or "default")
def test_routes_take_turns_on_a_connection(site_of, quirks):
    """No request or response has anything of another Route."""
    site = serve(site_of(quirks=quirks))
    site.apply(route("a", request={"X-A": "a", "X-B": None}, response={"X-A": "ra", "X-B": None}),
               route("b", request={"X-A": None}, response={"X-B": "rb"}), route("c"),
               route("d", request={"X-A": "d"}, path="/d"))
    assert site.converge() == []
    sent = ("X-A: 1", "x-a: 2", "X-B: 3", "X-B: 4")
    kept = [("x-a", "1"), ("x-a", "2"), ("x-b", "3"), ("x-b", "4")]
    wanted = {("a", "/"): ([("x-a", "a")], [("x-a", "ra")]),
              ("b", "/"): (kept[2:], [*kept[:2], ("x-b", "rb")]),
              ("c", "/"): (kept, kept), ("d", "/d"): ([("x-a", "d"), *kept[2:]], kept)}
    order = [pair for pairs in itertools.permutations(wanted, 2) for pair in pairs]
    requests = [clients.request_bytes(
        f"{name}.example.com", f"{path}?headers=X-A:1|x-a:2|X-B:3|X-B:4", headers=sent, close=False)
        for name, path in order]
    for pipelined in (False, True):
        seen = clients.several(site.http, *requests, pipelined=pipelined)
        got = [tuple(of(lines, "x-a", "x-b") for lines in (answer.pod["headers"], answer.lines))
               for answer in seen]
        assert got == [wanted[pair] for pair in order]


def test_redirects_pages_and_other_pools(site):
    """Only what a pod of a Route gets and sends is changed."""
    serve(site)
    site.pod("10.9.9.9", "sorry")
    site.change("POST", "ltm/pool", {"name": "sorry", "partition": "Common",
                                     "members": [{"name": "10.9.9.9:8080", "address": "10.9.9.9"}]})
    site.change("PATCH", "ltm/virtual/~Common~ose-vserver", {"pool": "/Common/sorry"})
    site.apply(*manifests.service("shop", "empty"))
    empty = route("empty", response={"X-A": "1"})
    empty["spec"]["to"]["name"] = "empty"
    site.apply(empty, route("a", "edge", response={"X-A": "1"}, insecure="Redirect"))
    assert site.converge(**GLOBAL) == []
    for host, status in (("empty", 503), ("a", 302), ("nobody", 200)):
        seen = clients.plain(site.http, f"{host}.example.com", headers=["X-B: 1"])
        assert seen.status == status
        assert of(seen.lines, "x-a", "x-all") == []
        assert not seen.pod or of(seen.pod["headers"], "x-all", "x-b") == [("x-b", "1")]
    secure = clients.python(site.https, "a.example.com", headers=["X-B: 1"])
    assert of(secure.lines, "x-a", "x-all") == [("x-a", "1"), ("x-all", "yes")]
    assert of(secure.pod["headers"], "x-all", "x-b") == [("x-all", "yes")]


FRAMING = ("Content-Length", "Transfer-Encoding", "connection", "Upgrade")
HOSTILE = ("{", "}", '"', "[exit]", "$x", ";reject", "\\", "x" * 3900, "\u00e5", "#", "%%")


@pytest.fixture(scope="module")
def of_rows(shared_site_of) -> Site:
    """Routes with each header of FRAMING and each value of HOSTILE, and one without any."""
    site = serve(shared_site_of())
    for number, name in enumerate(FRAMING):
        values = {name: "1", "X-A": "1"}
        site.apply(route(f"framing-{number}", request=values, response=values))
    for number, text in enumerate(HOSTILE):
        site.apply(route(f"asked-{number}", request={"X-A": text}),
                   route(f"answered-{number}", response={"X-A": text}))
    site.apply(route("none"))
    assert site.converge() == []
    return site


@pytest.mark.parametrize("number", range(len(FRAMING)), ids=FRAMING)
def test_nobody_decides_where_another_answer_begins(of_rows, number):
    """Framing is not for a Route: a later answer on the connection is whole."""
    assert FRAMING[number] in of_rows.admitted("shop", f"framing-{number}")["message"]
    requests = [clients.request_bytes(f"{host}.example.com", close=False)
                for host in (f"framing-{number}", "none") * 2]
    seen = clients.several(of_rows.http, *requests)
    assert [answer.headers.get("x-a") for answer in seen] == ["1", None] * 2
    assert all(answer.pod for answer in seen)


@pytest.mark.parametrize("number", range(len(HOSTILE)), ids=[text[:9] for text in HOSTILE])
def test_hostile_values(of_rows, number):
    """They come to the pod and the client as they stand."""
    wanted = HOSTILE[number].replace("%%", "%").encode().decode("latin-1")
    got = clients.plain(of_rows.http, f"asked-{number}.example.com").pod["headers"]
    assert of(got, "x-a") == [("x-a", wanted)]
    assert of(clients.plain(of_rows.http, f"answered-{number}.example.com").lines, "x-a") == [("x-a", wanted)]
    assert of(clients.plain(of_rows.http, "none.example.com").lines, "x-a") == []


def test_before_12_1(site_of):
    """Actions of the router have an effect; those of a Route are told to have none."""
    site = serve(site_of(tmos_version="12.0.0"))
    site.apply(route("a", request={"X-A": "1"}))
    assert site.converge(**GLOBAL) == []
    seen = clients.plain(site.http, "a.example.com", headers=["X-B: 1"])
    assert of(seen.pod["headers"], "x-a", "x-b", "x-all") == [("x-all", "yes")]
    assert of(seen.lines, "x-all") == [("x-all", "yes")]
    assert "spec.httpHeaders has no effect before TMOS 12.1" in str(site.kube.list("Event"))
