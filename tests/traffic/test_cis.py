"""Annotations of Container Ingress Services on Routes: what clients see is what they saw there."""

import http.client
import json
from collections import Counter

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import DEADLINE_S

CIS, HAPROXY = "virtual-server.f5.com/", "haproxy.router.openshift.io/"
NAME = "shop.example.com"
EDGE = identity("*.example.com")
IN, OUT, LATER = "127.0.0.2", "127.0.0.3", "127.0.0.4"
STRANGER = identity("pods.example.com", ca="Another CA")
"""Of pods that nobody expects."""


def annotated(kind: str = "", ca: str = PODS.issuer, *, name: str = "a", path: str = "", host: str = NAME,
              service: str = "web", **annotations: str) -> dict:
    """A Route. Args: annotations: those of Container Ingress Services, `_` for `-`."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt" and ca:
        tls["destinationCACertificate"] = ca
    obj = manifests.route(name, host=host, service=service, kind=kind, path=path, **tls)
    obj["metadata"]["annotations"] = {
        CIS + key.replace("_", "-"): value for key, value in annotations.items()}
    return obj


def serve(site: Site, kind: str, *addresses: str, pods=PODS, service: str = "web") -> None:
    secured = kind in ("reencrypt", "passthrough")
    site.serve(service, *addresses, port=8443 if secured else 8080, tls=pods if secured else None)


def ask(site: Site, kind: str, source: str = IN, host: str = NAME) -> clients.Seen:
    return clients.python(site.https, host, source=source) if kind else clients.plain(
        site.http, host, source=source)


KINDS = ("", "edge", "reencrypt", "passthrough")
KEYS = ("allow_source_range", "whitelist_source_range")


@pytest.fixture(scope="module")
def with_lists(shared_site_of) -> Site:
    """A Route of each kind with a list, by each of its annotations."""
    site = shared_site_of()
    for kind in KINDS:
        serve(site, kind, "10.1.1.1", service=f"web-{kind or 'plain'}")
        site.apply(*(annotated(kind, name=name_of(kind, key), host=f"{name_of(kind, key)}.example.com",
                               service=f"web-{kind or 'plain'}", **{key: f"10.0.0.0/8,{IN}/32, {LATER}"})
                     for key in KEYS))
    assert site.converge() == []
    return site


def name_of(kind: str, key: str) -> str:
    """Return the name of a Route, which its host begins with."""
    return f"{kind or 'plain'}-{key.partition('_')[0]}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("key", KEYS)
def test_only_clients_of_the_list_get_in(with_lists, kind, key):
    site, name = with_lists, name_of(kind, key)
    assert site.admitted("shop", name)["status"] == "True"
    seen = [ask(site, kind, source, f"{name}.example.com").status for source in (IN, OUT, LATER)]
    assert seen == [200, 0, 200]


def test_a_client_must_be_in_both_lists(site):
    serve(site, "", "10.1.1.1")
    both = annotated(allow_source_range=f"{IN},{OUT}")
    both["metadata"]["annotations"][f"{HAPROXY}ip_allowlist"] = f"{OUT} {LATER}"
    site.apply(both)
    assert site.converge() == []
    assert [ask(site, "", source).status for source in (IN, OUT, LATER)] == [0, 200, 0]


def test_lists_without_a_common_client_let_nobody_in(site):
    """Not even a moment after everybody got in."""
    serve(site, "", "10.1.1.1")
    both = annotated(allow_source_range=IN)
    both["metadata"]["annotations"][f"{HAPROXY}ip_allowlist"] = OUT
    router = site.router()
    site.apply(annotated())
    site.settle(router)
    assert ask(site, "").status == 200
    site.apply(both)
    site.settle(router)
    assert site.admitted("shop", "a")["reason"] == "RouteNotAdmitted"
    assert [ask(site, "", source).pod for source in (IN, OUT)] == [{}, {}]
    router.close()


def test_connections_of_a_pod_count_through_all_pools(site):
    """least-connections-node: two connections of another Route keep the next ones from their pods."""
    serve(site, "", "10.1.1.1", "10.1.1.2", "10.1.1.3")
    site.apply(annotated(balance="least-connections-node"),
               annotated(name="b", path="/b", balance="round-robin"))
    assert site.converge() == []
    kept = [http.client.HTTPConnection(*site.http, timeout=DEADLINE_S) for _ in range(2)]
    busy = set()
    for connection in kept:
        connection.request("GET", "/b", headers={"Host": NAME})
        busy.add(json.loads(connection.getresponse().read())["pod"])
    assert len(busy) == 2
    answers = Counter(ask(site, "").pod["pod"] for _ in range(6))
    assert set(answers).isdisjoint(busy)
    for connection in kept:
        connection.close()


@pytest.mark.parametrize(("secure", "pods", "ca", "status"), [
    ("true", PODS, PODS.issuer, 200), ("true", STRANGER, PODS.issuer, 0), ("", STRANGER, PODS.issuer, 0),
    ("false", STRANGER, PODS.issuer, 200), ("false", STRANGER, "", 200),
])
def test_verification_of_pods(site, secure, pods, ca, status):
    """Where the administrator wants none."""
    serve(site, "reencrypt", "10.1.1.1", pods=pods)
    site.apply(annotated("reencrypt", ca, secure_serverssl=secure))
    assert site.converge(default_destination_ca_path="none") == []
    seen = ask(site, "reencrypt")
    assert (seen.status == 200, bool(seen.pod)) == (status == 200,) * 2


def test_a_team_cannot_do_without_verification(site):
    serve(site, "reencrypt", "10.1.1.1", pods=STRANGER)
    site.apply(annotated("reencrypt", secure_serverssl="false"))
    assert site.converge(default_destination_ca_path="") == []
    assert not ask(site, "reencrypt").pod


def test_nothing_is_served_unverified_that_must_be_verified(site):
    serve(site, "reencrypt", "10.1.1.1")
    site.apply(annotated("reencrypt", "", secure_serverssl="true"))
    site.converge(default_destination_ca_path="none")
    assert site.admitted("shop", "a")["status"] == "False"
    assert "no CA to verify the pods with" in site.admitted("shop", "a")["message"]
    assert not ask(site, "reencrypt").pod


def allow_profile(site: Site, ca: str) -> str:
    """Make a server SSL profile as an administrator does, which requires a CA; returns its full path."""
    site.install("cert", "admin-ca", ca)
    site.change("POST", "ltm/profile/server-ssl", {
        "name": "admins", "partition": "Common", "caFile": "/Common/admin-ca.crt", "peerCertMode": "require"})
    return "/Common/admins"


@pytest.mark.parametrize(("namespaces", "pods", "served"), [
    ("shop", STRANGER, True), ("*", STRANGER, True), ("shop", PODS, False), ("pay", PODS, True),
    ("pay", STRANGER, False),
])
def test_a_server_ssl_profile_of_the_administrator(site, namespaces, pods, served):
    """For Routes of other namespaces it does not exist: destinationCACertificate decides."""
    path = allow_profile(site, STRANGER.issuer)
    serve(site, "reencrypt", "10.1.1.1", pods=pods)
    site.apply(annotated("reencrypt", serverssl=path))
    flags = {"allowed_profiles": f"{path}={namespaces}", "default_destination_ca_path": ""}
    assert site.converge(**flags) == []
    assert bool(ask(site, "reencrypt").pod) == served
    texts = [event["message"] for event in site.kube.list("Event", "shop")]
    assert any("has not allowed for namespace shop" in text for text in texts) == (namespaces == "pay")
    before = len(site.writes())
    assert site.converge(**flags) == []
    assert len(site.writes()) == before


def test_a_profile_that_is_not_there(site):
    """The Route that names it is refused, and goes on as it was; once it is there, it is what counts."""
    flags = {"allowed_profiles": "/Common/admins=* /Hidden/x=*", "default_destination_ca_path": ""}
    serve(site, "reencrypt", "10.1.1.1", pods=STRANGER)
    site.apply(annotated("reencrypt", serverssl="/Common/admins"),
               annotated("reencrypt", STRANGER.issuer, name="b", path="/b"),
               annotated("reencrypt", STRANGER.issuer, name="c", path="/c"))
    router = site.router(**flags)
    site.settle(router)

    def answers() -> tuple[int, ...]:
        return tuple(clients.python(site.https, NAME, path).status for path in ("/a", "/b", "/c"))

    assert answers() == (503, 200, 200)
    condition = site.admitted("shop", "a")
    assert (condition["status"], condition["reason"]) == ("False", "DeviceRejected")
    assert "ltm/profile/server-ssl /Common/admins is not there" in condition["message"]
    site.apply(annotated("reencrypt", STRANGER.issuer, name="b", path="/b", serverssl="/Common/admins"),
               annotated("reencrypt", STRANGER.issuer, name="c", path="/c", serverssl="/Hidden/x"))
    site.settle(router)
    assert answers() == (503, 200, 0)  # nobody knows what a partition has that the router does not see
    assert [site.admitted("shop", name)["status"] for name in "abc"] == ["False", "False", "True"]
    allow_profile(site, STRANGER.issuer)
    site.later(3600)
    site.settle(router)
    assert answers() == (200, 200, 0)
    assert [site.admitted("shop", name)["status"] for name in "abc"] == ["True"] * 3
    router.close()


def test_a_profile_that_goes(site):
    """The team gets to know that requests are reset, and nothing is taken away."""
    path = allow_profile(site, STRANGER.issuer)
    flags = {"allowed_profiles": f"{path}=*", "default_destination_ca_path": ""}
    serve(site, "reencrypt", "10.1.1.1", pods=STRANGER)
    site.apply(annotated("reencrypt", serverssl=path))
    assert site.converge(**flags) == []
    assert ask(site, "reencrypt").pod
    site.change("DELETE", "ltm/profile/server-ssl/~Common~admins")
    site.clear()
    for _ in range(2):
        (reason,) = site.converge(**flags)
        assert "ltm/profile/server-ssl /Common/admins is not there" in reason
        assert site.admitted("shop", "a")["reason"] == "DeviceRejected"
        assert (ask(site, "reencrypt").status, site.writes()) == (0, [])
    site.change("POST", "ltm/profile/server-ssl", {
        "name": "admins", "partition": "Common", "caFile": "/Common/admin-ca.crt", "peerCertMode": "require"})
    assert ask(site, "reencrypt").pod
    assert site.converge(**flags) == []


@pytest.mark.parametrize(("kind", "admitted"), [("", True), ("edge", True), ("passthrough", False)])
def test_a_waf_policy(site, kind, admitted):
    """One that the administrator states to be there, on a Route whose requests it can see."""
    serve(site, kind, "10.1.1.1")
    site.apply(annotated(kind, waf="/Common/strict"))
    site.converge(allowed_policies="/Common/strict=shop")
    assert (site.admitted("shop", "a")["status"] == "True") == admitted
    assert bool(ask(site, kind).pod) == admitted
    site.converge(allowed_policies="/Common/strict=pay")
    assert site.admitted("shop", "a")["reason"] == "RouteNotAdmitted"
    assert not ask(site, kind).pod


@pytest.mark.parametrize(("kind", "insecure"), [("", ""), ("edge", ""), ("edge", "Allow"), ("reencrypt", "")])
def test_app_root(site, kind, insecure):
    """The path / alone is redirected, wherever the Route is served."""
    serve(site, kind, "10.1.1.1")
    asking = annotated(kind, rewrite_app_root="/app/home")
    if insecure:
        asking["spec"]["tls"]["insecureEdgeTerminationPolicy"] = insecure
    router = site.router()
    site.apply(annotated(kind))
    site.settle(router)
    site.clear()
    site.apply(asking)
    site.settle(router)
    assert site.admitted("shop", "a")["status"] == "True"
    places = [(clients.python, site.https)] if kind else []
    places += [(clients.plain, site.http)] if not kind or insecure else []
    for ask_, address in places:
        for path in ("/", "/?a=b"):
            seen = ask_(address, NAME, path)
            assert (seen.status, seen.location) == (302, "/app/home")
        assert [ask_(address, NAME, path).status for path in ("/app/home", "/x", "//")] == [200] * 3
    if kind and not insecure:
        assert clients.plain(site.http, NAME).status == 503
    del asking["metadata"]["annotations"]
    site.apply(asking)
    site.settle(router)
    site.later()
    site.settle(router)
    assert [ask_(address, NAME, "/").status for ask_, address in places] == [200] * len(places)
    router.close()


def test_an_app_root_takes_nothing_from_another_route(site):
    """Not from one with the path / either; the Route gets a Warning Event."""
    serve(site, "", "10.1.1.1")
    site.serve("api", "10.1.2.1")
    other = manifests.route("b", host=NAME, service="api", path="/")
    site.apply(annotated(rewrite_app_root="/app"), other)
    assert site.converge() == []
    assert clients.plain(site.http, NAME, "/").pod["pod"] == "api-10.1.2.1"
    texts = [event["message"] for event in site.kube.list("Event", "shop")]
    assert any("rewrite-app-root has no effect beside a Route of the host with the path /" in text
               for text in texts)


REWRITES = (
    ("/new", "/old", "/old/x?q=1", "/new/x?q=1"), ("/new", "/old", "/old", "/new"),
    ("/", "/old", "/old/x", "/x"), ("/", "/old", "/old", "/"), ("/new", "", "/old/x", "/old/x"),
)
"""Target and path of a Route, the path that a client asks for, and the one that the pod gets."""
BAD = ("other.example.com/x", "http://o/", "x", "/x y", '/"', "/[exec]", "/$x")


@pytest.fixture(scope="module")
def rewriting(shared_site_of) -> Site:
    """A Route for each row of REWRITES and of BAD."""
    site = shared_site_of()
    serve(site, "", "10.1.1.1")
    for number, (target, path, *_) in enumerate(REWRITES):
        name = f"row-{number}"
        site.apply(annotated(name=name, host=f"{name}.example.com", path=path, rewrite_target_url=target))
    for number, text in enumerate(BAD):
        name = f"bad-{number}"
        site.apply(annotated(name=name, host=f"{name}.example.com", path="/old", rewrite_target_url=text,
                             rewrite_app_root=text))
    assert site.converge() == []
    return site


@pytest.mark.parametrize("number", range(len(REWRITES)), ids=["-".join(row) for row in REWRITES])
def test_rewrite_target_url(rewriting, number):
    _, path, asked, got = REWRITES[number]
    seen = clients.plain(rewriting.http, f"row-{number}.example.com", asked)
    assert seen.pod["target"] == got
    texts = [event["message"] for event in rewriting.kube.list("Event", "shop")
             if event["involvedObject"]["name"] == f"row-{number}"]
    assert any("without a path" in text for text in texts) == (not path)


@pytest.mark.parametrize("number", range(len(BAD)), ids=BAD)
def test_bad_rewrites_are_reported(rewriting, number):
    message = rewriting.admitted("shop", f"bad-{number}")["message"]
    assert "rewrite-target-url is" in message
    assert "rewrite-app-root is" in message
    assert clients.plain(rewriting.http, f"bad-{number}.example.com", "/old/x").status == 200
