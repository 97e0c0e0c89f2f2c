"""`f5router get` and `f5router explain` on both fakes."""

import json
from contextlib import ExitStack

import pytest
import yaml

from tests import hostile_certificates, manifests
from tests.feature.commands import invoke, shop
from tests.rows import rows


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Routes of which some are served, some rejected, and one waits; no test changes anything for others."""
    with ExitStack() as stack:
        balanced = manifests.route("a")
        balanced["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": "roundrobin"}
        lab = shop(
            stack, tmp_path_factory.mktemp("site"), *manifests.service("shop", "idle", pods=()),
            manifests.ingress_route("root", manifests.forward("/", {"name": "web", "port": 8080}),
                                    manifests.delegate("/bank", "branch", "bank"), fqdn="tree.com"),
            manifests.ingress_route("branch", manifests.forward("/bank", {"name": "web", "port": 8080}),
                                    namespace="bank"),
            *manifests.service("bank", "web", pods=("10.1.2.1",)),
            balanced,
            manifests.route("b", path="/api"),
            manifests.route("c", host="c.com", kind="passthrough"),
            manifests.route("none", host="idle.com", service="idle"),
            manifests.route("late", namespace="bank", created="2027-01-01T00:00:00Z"),
            manifests.ingress("site", ("i.com", "/", "web", 8080)))
        lab.apply(manifests.route("new", host="new.com"))
        yield lab


def test_get_routes(site):
    result = invoke(site, "get", "routes")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines == [
        ["NAMESPACE", "NAME", "KIND", "HOST", "PATH", "STATUS", "WHY"],
        ["bank", "branch", "IngressRoute", "tree.com", "/bank", "admitted", "-"],
        ["bank", "late", "Route", "www.example.com", "/", "rejected", "HostAlreadyClaimed"],
        ["shop", "a", "Route", "www.example.com", "/", "admitted", "-"],
        ["shop", "b", "Route", "www.example.com", "/api", "admitted", "-"],
        ["shop", "c", "Route", "c.com", "/", "admitted", "-"],
        ["shop", "new", "Route", "new.com", "/", "pending", "RuleNotInPlace"],
        ["shop", "none", "Route", "idle.com", "/", "admitted", "NoEndpoints"],
        ["shop", "root", "IngressRoute", "tree.com", "/", "admitted", "-"],
        ["shop", "site", "Ingress", "i.com", "/", "admitted", "-"]]
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())


def test_get_routes_of_a_namespace(site):
    """The others are read all the same: without them this one would have its host."""
    result = invoke(site, "get", "routes", "-n", "bank", "-o", "wide")
    _, line = result.stdout.splitlines()[1:]
    assert "HostAlreadyClaimed" in line
    assert "a route in another namespace holds www.example.com" in line


def test_get_routes_for_programs(site):
    """JSON and YAML have the same, all of it."""
    documents = json.loads(invoke(site, "get", "routes", "-o", "json").stdout)
    assert yaml.safe_load(invoke(site, "get", "routes", "-o", "yaml").stdout) == documents
    (route,) = [each for each in documents if each["name"] == "a"]
    assert (route["namespace"], route["status"], route["problems"]) == ("shop", "admitted", [])
    assert [member["address"] for member in route["pool"]["members"]] == ["10.1.1.1", "10.1.1.2"]


@rows(("arguments", "lines"), [
    (("routes", "a"), ["route/shop/a"]),
    (("route", "shop/a", "bank/late"), ["route/bank/late", "route/shop/a"]),
    (("rt/shop/b",), ["route/shop/b"]), (("routes", "-n", "bank", "-A", "site"), ["ingress/shop/site"]),
    (("routes", "-n", "bank"), ["ingressroute/bank/branch", "route/bank/late"])])
def test_get_routes_by_name(site, arguments, lines):
    """With the names that kubectl takes."""
    result = invoke(site, "get", *arguments, "-o", "name")
    assert (result.exit_code, result.stdout.splitlines()) == (0, lines)


@rows(("arguments", "status", "text"), [
    (("-n", "nothing"), 0, "No resources found in nothing namespace.\n"),
    (("nothing",), 1, "No Route 'nothing': `f5router explain route NAMESPACE/NAME` says why\n"),
    (("-n", "bank", "a"), 1, "No Route 'a': `f5router explain route NAMESPACE/NAME` says why\n")])
def test_get_nothing(site, arguments, status, text):
    result = invoke(site, "get", "routes", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", text)


@pytest.mark.parametrize("arguments", [("rt", "shop/a"), ("routes", "shop/a"), ("route/shop/a",),
                                       ("ing", "shop/site"), ("no/node-1",)])
def test_explain_by_the_names_of_kubectl(site, arguments):
    assert invoke(site, "explain", *arguments).exit_code == 0


def test_explain_a_route_that_is_served(site):
    result = invoke(site, "explain", "route", "shop/a")
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["Route", "shop/a:"], ["+", "object"], ["+", "admission"], ["+", "options"], ["+", "virtual"],
        ["+", "rule"], ["+", "pool"], ["+", "member"], ["+", "member"], ["+", "request"]]
    assert "member          10.1.1.1 port 8080, up, Node node-1, by way of 10.3.0.1\n" in result.stdout
    assert "2 members, 0 open connections, 0 so far\n" in " ".join(result.stdout.split(" "))


def test_a_route_as_a_graph(site):
    result = invoke(site, "explain", "route", "shop/a", "-o", "dot")
    assert result.exit_code == 0
    assert result.stdout.startswith("digraph explain {\n")
    assert 'label="member\\n10.1.1.1 port 8080\\nup"' in result.stdout
    assert 'label="Node\\nnode-1\\nby way of 10.3.0.1"' in result.stdout


@pytest.mark.parametrize(("arguments", "broken", "to_do"), [
    pytest.param(("route", "bank/late"), "HostAlreadyClaimed: spec.host: a route in another namespace holds",
                 "use another host or path", id="rejected"),
    pytest.param(("route", "shop/new"), "shop_new in /Common/openshift_insecure_routes: it is not on",
                 "a running router writes it", id="not yet written"),
    pytest.param(("host", "IDLE.com."), "spec.to.name: Service idle has no ready endpoints",
                 "see why the pods are not ready", id="no pods"),
])
def test_the_first_broken_link(site, arguments, broken, to_do):
    result = invoke(site, "explain", *arguments)
    assert result.exit_code == 1
    assert result.stdout.count("first broken link: ") == 1
    (line,) = [line for line in result.stdout.splitlines() if "first broken link: " in line]
    assert broken in line
    assert f"to do: {to_do}" in result.stdout


@pytest.mark.parametrize(("arguments", "routes", "status"), [
    (("service", "shop/web"), ["Route shop/a", "Route shop/b", "Route shop/c", "Route shop/new",
                               "IngressRoute shop/root", "Ingress shop/site"], 1),
    (("ingress", "shop/site"), ["Ingress shop/site"], 0),
    (("host", "c.com"), ["Route shop/c"], 0),
])
def test_routes_of_other_objects(site, arguments, routes, status):
    result = invoke(site, "explain", *arguments)
    assert result.exit_code == status
    assert [line.split(":")[0] for line in result.stdout.splitlines() if line[:1].strip()] == routes


@pytest.mark.parametrize(("name", "routes"), [
    ("shop/root", ["IngressRoute bank/branch: admitted", "IngressRoute shop/root: admitted"]),
    ("bank/branch", ["IngressRoute bank/branch: admitted"]),
])
def test_an_ingress_route_up_to_its_pods(site, name, routes):
    """Its trees, and then the chain of each of its Routes; of a root also those of what it delegates to."""
    result = invoke(site, "explain", "ingressroute", name)
    assert result.exit_code == 0
    tree, *chains = result.stdout.split("\n\n")[1:]
    assert tree.startswith("root shop/root: tree.com\n")
    assert [text.splitlines()[0] for text in chains] == routes
    assert all(" member " in text for text in chains)


@pytest.mark.parametrize("arguments", [
    ("ingressroute", "shop/nothing"), ("route", "shop/nothing"),
    ("ingress", "shop/a"), ("service", "shop/nothing"), ("host", "nothing.com"),
    ("node", "nothing")])
def test_nothing_of_the_name(site, arguments):
    result = invoke(site, "explain", *arguments)
    assert (result.exit_code, "nothing" in result.stdout or "shop/a" in result.stdout) == (1, True)


def test_node(site):
    result = invoke(site, "explain", "node", "node-1")
    assert result.exit_code == 0
    assert "static route  10.1.1.0/24 -> 10.3.0.1, in place" in result.stdout
    assert "members on it: shop/a, shop/b, shop/c, shop/new, shop/root, shop/site\n" in result.stdout


@pytest.mark.parametrize(("url", "status", "words"), [
    ("http://www.example.com/api/x", 0, ["10.1.1.1:8080, up", "it is Route shop/b, admitted"]),
    ("http://www.example.com/apis", 0, ["it is Route shop/a, admitted"]),
    ("https://c.com/", 0, ["record c.com", "it is Route shop/c, admitted"]),
    ("http://i.com/x", 0, ["it is Ingress shop/site, admitted"]),
    ("http://idle.com/", 1, ["0 of 0 members", "it is Route shop/none"]),
    ("http://new.com/", 1, ["no Route has this host and path over HTTP:"]),
    ("https://www.example.com/", 1, ["no Route has this host and path over HTTPS:"]),
])
def test_requests(site, url, status, words):
    """The objects on the BIG-IP count: the Route of new.com is not there."""
    result = invoke(site, "explain", "request", url)
    assert result.exit_code == status, result.stdout
    for text in words:
        assert text in result.stdout


def test_the_device_counts_and_not_the_cluster(site):
    """A Rule of a Route that is gone leads requests until the router has removed it."""
    site.kube.delete("Route", "shop", "c")
    try:
        result = invoke(site, "explain", "request", "https://c.com/")
        assert result.exit_code == 0
        assert "no Route asks for this any longer" in result.stdout
    finally:
        site.apply(manifests.route("c", host="c.com", kind="passthrough"))


@pytest.mark.parametrize("arguments", [
    ("get", "routes"), ("explain", "route", "shop/a"), ("explain", "node", "node-1"),
    ("explain", "request", "http://a.com/")])
def test_a_wrong_password(site, arguments):
    result = invoke(site, *arguments, f5_password="wrong-word")
    assert result.exit_code == 1
    assert result.stdout.count("user 'admin' or its password is refused") == 1
    assert "`f5router doctor` checks everything that is needed" in result.stdout
    assert "wrong-word" not in result.output


@rows(("status", "words"), [(403, "cannot post path"), (401, "Unauthorized")])
@pytest.mark.parametrize("command", [("get", "routes"), ("plan",)])
def test_an_api_server_in_place_of_the_device(site, command, status, words):
    """As where --f5-host is the cluster's address; nothing is wrong with the password."""
    site.bigip.inject("api-server", times=None, status=status)
    try:
        result = invoke(site, *command)
    finally:
        site.bigip.clear_faults()
    shown = " ".join(result.output.split())
    assert result.exit_code == 1
    assert "a Kubernetes API server answers at this address, not a BIG-IP; see --f5-host: " in shown
    assert words in shown
    assert "password" not in shown


@rows("arguments", [("route", "a"), ("route", "a/b/c"), ("service", "/a"), ("request", "ftp://a.com"),
                    ("request", "http://")])
def test_wrong_usage(site, arguments):
    assert invoke(site, "explain", *arguments).exit_code == 2


def test_hostile_names(site):
    """Nothing that a team writes reaches a terminal as it is."""
    pair = hostile_certificates.certificate("a\x1b[2J\n\u202e".encode(), names=(b"b\x1b]0;",))
    site.apply(manifests.route("bad", host="x\x1b[2J\u202e.com", path="/\n\x1b]0;"),
               manifests.route("forged", host="forged.com", kind="edge", **pair.tls))
    try:
        for arguments in (("get", "routes", "-o", "wide"), ("get", "routes", "-o", "json"),
                          ("get", "routes", "-o", "yaml"), ("explain", "route", "shop/bad"),
                          ("explain", "route", "shop/forged"),
                          ("explain", "route", "shop/forged", "-o", "json"),
                          ("explain", "host", "x\x1b[2J\u202e.com"),
                          ("explain", "request", "http://x\x1b[2J/\x1b")):
            output = invoke(site, *arguments).output
            assert output
            assert all(line.isprintable() for line in output.splitlines()), arguments
    finally:
        for name in ("bad", "forged"):
            site.kube.delete("Route", "shop", name)
