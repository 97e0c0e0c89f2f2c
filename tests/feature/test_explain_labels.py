"""`f5router explain KIND -l SELECTOR`: the Routes of several objects, on both fakes."""

from contextlib import ExitStack

import pytest

from f5router.cli import explain_labelled
from tests import manifests
from tests.feature.commands import invoke, labelled, shop
from tests.rows import rows


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Objects with labels, some with faults; no test changes anything for others."""
    with ExitStack() as stack:
        half, api = manifests.service("shop", "api", pods=("10.1.1.3", "10.1.1.4"))
        lab = shop(
            stack, tmp_path_factory.mktemp("site"), labelled(half, tier="back"), api,
            labelled(manifests.route("web", host="web.com"), app="web", team="a"),
            labelled(manifests.route("api", host="api.com", service="api"), app="api", team="a"),
            labelled(manifests.route("late", namespace="bank", host="web.com",
                                     created="2027-01-01T00:00:00Z"), app="web"),
            labelled(manifests.ingress("site", ("i.com", "/", "web", 8080)), team="a"),
            labelled(manifests.ingress("half", ("h.com", "/", "web", 8080), ("h2.com", "/", "wbe", 8080)),
                     team="b"),
            labelled(manifests.ingress("foreign", ("f.com", "/", "web", 8080), ingress_class="nginx"),
                     team="c"),
            *(labelled(manifests.ingress_route(name, manifests.forward("/", {"name": "web", "port": 8080}),
                                               fqdn=f"{name}.com"), team="a") for name in ("t1", "t2")))
        lab.change("PATCH", "ltm/node/~Common~10.1.1.4", {"session": "user-disabled"})
        yield lab


@rows(("arguments", "status", "titles"), [
    (("route", "-l", "team=a"), 0, ["Route shop/api: admitted", "Route shop/web: admitted"]),
    (("routes", "-l", "app=web"), 1, ["Route bank/late: rejected", "Route shop/web: admitted"]),
    (("route", "-l", "app in (web)", "-n", "shop"), 0, ["Route shop/web: admitted"]),
    (("ing", "-l", "team=a"), 0, ["Ingress shop/site: admitted"]),
    (("ing", "-l", "team=b"), 1, [
        "Ingress shop/half", "Ingress shop/half: rejected", "Ingress shop/half: admitted"]),
    (("svc", "-l", "tier"), 0, ["Route shop/api: admitted"]),
    (("route", "-l", "app=none"), 1, ["no Route has these labels"]),
    (("route", "-l", "app=api", "-n", "bank"), 1, ["no Route has these labels in namespace bank"]),
    (("ing", "-l", "team=c"), 1, [
        "Ingress shop/foreign: no Route of this router comes from it: "
        "`f5router explain ingress shop/foreign` says why"]),
])
def test_objects_with_labels(site, arguments, status, titles):
    result = invoke(site, "explain", *arguments)
    lines = [line for line in result.stdout.splitlines() if line[:1].strip()]
    assert (result.exit_code, lines) == (status, titles), result.output


@rows("arguments", [("route",), ("route", "shop/web", "-l", "app"), ("route", "-l", "a b"),
                    ("ingressroute",), ("ingressroute", "shop/t1", "-l", "team")])
def test_a_name_or_labels(site, arguments):
    assert invoke(site, "explain", *arguments).exit_code == 2


def test_what_it_asks_for(site):
    """One list of the kind, one call for all pools, and one for a pool of which a member is not active."""
    before = len(site.kube.log)
    invoke(site, "explain", "route", "-l", "team=a")
    assert ["labelSelector" in entry.query for entry in site.kube.log[before:]].count(True) == 1
    assert [entry.path.removeprefix("/mgmt/tm/ltm/pool/") for entry in site.bigip.log
            if entry.path.endswith("/stats")] == ["stats", "~Common~openshift_shop_api/members/stats"]


def test_a_graph_of_several(site):
    result = invoke(site, "explain", "route", "-l", "team=a", "-o", "dot")
    assert result.stdout.startswith("digraph explain {\n")
    assert all(host in result.stdout for host in ("web.com", "api.com"))


def test_more_objects_than_are_explained_are_no_success(site, capsys):
    status = explain_labelled.explain(site.config(sources="routes"), "Route", "team=a", "", output="text",
                                      most=1)
    shown = capsys.readouterr().out
    assert (status, "Route shop/web" in shown) == (1, False)
    assert "1 Route more: choose fewer by other labels, or with -n" in shown


def test_trees_with_labels(site):
    result = invoke(site, "explain", "ingressroute", "-l", "team=a")
    assert result.exit_code == 0, result.output
    assert [line for line in result.stdout.splitlines() if line[:1].strip()] == [
        "IngressRoute shop/t1: valid: valid IngressRoute", "root shop/t1: t1.com",
        "IngressRoute shop/t2: valid: valid IngressRoute", "root shop/t2: t2.com",
        "IngressRoute shop/t1: admitted", "IngressRoute shop/t2: admitted"]
