"""`f5router get` of each kind, by labels, with the health of members, and --watch, on both fakes."""

import json
import threading
from contextlib import ExitStack

import pytest
import yaml

from f5router.cli import get, preflight
from f5router.cli.get import ChosenObjects
from tests import manifests
from tests.feature.commands import invoke, labelled, shop
from tests.rows import rows
from tests.waiting import ends_elsewhere, until

POOLS = "ltm/pool/stats"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Objects of each kind, some with faults; no test changes anything for others."""
    with ExitStack() as stack:
        lab = shop(
            stack, tmp_path_factory.mktemp("site"),
            *manifests.service("shop", "api", pods=("10.1.1.3", "10.1.1.4")),
            *manifests.service("shop", "down", pods=("10.1.1.5",)),
            labelled(manifests.route("web", host="web.com"), app="web", tier="front"),
            labelled(manifests.route("api", host="api.com", service="api"), app="api"),
            manifests.route("down", host="down.com", service="down"),
            labelled(manifests.ingress("site", ("i.com", "/", "web", 8080)), app="web"),
            manifests.ingress("half", ("h.com", "/", "web", 8080), ("h2.com", "/", "wbe", 8080)),
            manifests.ingress("foreign", ("f.com", "/", "web", 8080), ingress_class="nginx"),
            manifests.ingress_route("root", manifests.forward("/", {"name": "web", "port": 8080}),
                                    fqdn="t.com"),
            manifests.ingress_route("lost", manifests.forward("/", {"name": "web", "port": 8080})))
        off = {"session": "user-disabled", "state": "user-down"}
        for address in ("10.1.1.4", "10.1.1.5"):
            lab.change("PATCH", f"ltm/node/~Common~{address}", off)
        yield lab


def table(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()[1:]]


@rows(("kind", "lines"), [
    ("ingresses", [["shop", "half", "h.com,h2.com", "1/2", "rejected", "ServiceNotFound"],
                   ["shop", "site", "i.com", "1/1", "admitted", "-"]]),
    ("ingressroutes", [["shop", "lost", "-", "0/0", "orphaned", "Orphaned"],
                       ["shop", "root", "t.com", "1/1", "valid", "-"]]),
    ("nodes", [["node-1", "Ready", "10.3.0.1", "10.1.1.0/24", "static", "route", "1/1", "-"]]),
    ("pools", [["shop", "openshift_shop_api", "1/2", "1", "MemberDisabled"],
               ["shop", "openshift_shop_down", "0/1", "1", "MemberDisabled"],
               ["shop", "openshift_shop_web", "2/2", "1", "-"],
               ["shop", "openshift_shop_web_http", "2/2", "2", "-"]])])
def test_kinds(site, kind, lines):
    result = invoke(site, "get", kind)
    assert (result.exit_code, result.stderr) == (0, "")
    shown = table(result.stdout)
    assert [line for line in shown if "__" not in line[1]] == lines
    documents = json.loads(invoke(site, "get", kind, "-o", "json").stdout)
    assert yaml.safe_load(invoke(site, "get", kind, "-o", "yaml").stdout) == documents
    assert len(documents) == len(shown)
    wide = invoke(site, "get", kind, "-o", "wide").stdout.splitlines()
    assert wide[0].split()[-1] == "PROBLEM"


@rows(("arguments", "names"), [
    (("routes", "-l", "app=web"), ["ingress/shop/site", "route/shop/web"]),
    (("routes", "-l", "app in (web,api),tier"), ["route/shop/web"]),
    (("routes", "-l", "!app,tier!=front", "-n", "shop"), [
        "route/shop/down", "ingress/shop/half", "ingress/shop/half", "ingressroute/shop/root"]),
    (("rt", "--selector", "app notin (api), app"), ["ingress/shop/site", "route/shop/web"]),
    (("ing", "-l", "app"), ["ingress/shop/site"]), (("no", "-l", "zone=a"), ["node/node-1"]),
    (("nodes", "-l", "zone=b"), []), (("no/node-1",), ["node/node-1"]),
    (("pools", "-l", "app=api"), ["pool/shop/openshift_shop_api"]),
    (("pool", "/Common/openshift_shop_api"), ["pool/shop/openshift_shop_api"]),
    (("ingresses.networking.k8s.io", "shop/half"), ["ingress/shop/half"])])
def test_selectors_and_names(site, arguments, names):
    """Labels are those of the objects; those of a pool are those of its Routes."""
    result = invoke(site, "get", *arguments, "-o", "name")
    assert (result.exit_code, result.stdout.splitlines()) == (0, names)


@rows(("arguments", "status", "text"), [
    (("ing", "-n", "bank"), 0, "No resources found in bank namespace.\n"),
    (("pools", "-l", "app=none"), 0, "No resources found\n"),
    (("routes", "-l", "app=none", "-o", "name"), 0, "No resources found\n"),
    (("ing", "foreign"), 1, "No Ingress 'foreign': `f5router explain ingress NAMESPACE/NAME` says why\n"),
    (("pools", "x"), 1, "No pool 'x'\n"), (("no", "node-2"), 1, "No Node 'node-2'\n"),
    (("routes", "-l", "a b"), 2, "-l, --selector: 'a b' is none of key, !key, key=value, key!=value, "
     "key in (a,b), key notin (a,b), key>1 and key<1\n"),
    (("routes", "web", "-l", "app"), 2, "names and --selector exclude each other\n")])
def test_nothing_to_list(site, arguments, status, text):
    result = invoke(site, "get", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", text)


@rows(("kind", "flags", "text"), [
    ("ing", {"sources": "routes"}, "--sources does not name ingress, so no Ingress is served"),
    ("no", {"f5_static_routes": "false"}, "Nodes are only read if the settings ask for a way to the pods")])
def test_kinds_that_the_settings_leave_out(site, kind, flags, text):
    result = invoke(site, "get", kind, **flags)
    assert (result.exit_code, result.stderr) == (0, f"No resources found\n{text}\n")


def statistics(site) -> list[str]:
    return [entry.path.removeprefix("/mgmt/tm/") for entry in site.bigip.log if entry.path.endswith("/stats")]


def test_health_is_read_as_explain_reads_it(site):
    """By one call for all pools, and one for each of which not every member is active."""
    shown = {line[1]: line[-1] for line in table(invoke(site, "get", "routes").stdout)}
    assert statistics(site) == [POOLS, "ltm/pool/~Common~openshift_shop_api/members/stats",
                                "ltm/pool/~Common~openshift_shop_down/members/stats"]
    assert {name: shown[name] for name in ("web", "api", "down")} == {
        "web": "-", "api": "MemberDisabled", "down": "MemberDisabled"}
    for name, code in shown.items():
        if name in ("web", "api", "down"):
            explained = invoke(site, "explain", "route", f"shop/{name}")
            assert (explained.exit_code, code.lower() in explained.stdout or code == "-") == (
                int(name == "down"), True)


def test_health_that_cannot_be_read_is_not_success(site):
    site.bigip.inject("refuse", times=None, path=POOLS, status=403, message="no statistics")
    try:
        result = invoke(site, "get", "routes", "web", "-o", "wide")
    finally:
        site.bigip.clear_faults()
    assert "  HealthNotRead  " in result.stdout
    assert "health of members not read: GET " in result.stdout


def test_an_ingress_of_which_a_part_becomes_no_route(site):
    """`explain` has the finding of `get`, first."""
    result = invoke(site, "explain", "ing", "half", "-n", "shop")
    assert result.exit_code == 1
    first = result.stdout.partition("\n\n")[0]
    assert "Service 'wbe' does not exist" in first
    assert "(docs/findings.md#servicenotfound)" in first


@rows(("arguments", "status", "text"), [
    (("web", "-n", "shop"), 0, "Route shop/web: admitted"), (("shop/web", "-n", "shop"), 0, "Route shop/web"),
    (("web",), 2, "'web': its namespace is missing: give NAMESPACE/NAME, or -n NAMESPACE"),
    (("shop/web", "-n", "bank"), 2, "'shop/web' is not in the namespace of -n, 'bank'")])
def test_the_namespace_of_explain(site, arguments, status, text):
    result = invoke(site, "explain", "route", *arguments)
    assert (result.exit_code, text in result.output) == (status, True)


def test_explain_takes_the_namespace_of_the_router(site, monkeypatch):
    monkeypatch.setenv("ROUTER_NAMESPACE", "shop")
    assert invoke(site, "explain", "route", "web", sources="routes").exit_code == 0


def listed(lab) -> int:
    """Number of lists of the cluster so far."""
    return sum("limit" in entry.query for entry in lab.kube.log)


@pytest.mark.parametrize("output", ["table", "json"])
def test_watch(lab, capsys, output):
    """Rows that have changed, each time; the BIG-IP is read, and the cluster is not listed again."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a", host="a.com"),
              manifests.route("b", host="b.com"))
    assert lab.converge() == []
    lab.kube.clear_log()
    stop, shown = threading.Event(), []

    def printed(text: str) -> bool:
        shown.append(capsys.readouterr().out)
        return text in "".join(shown)

    thread = threading.Thread(target=lambda: get.watch(
        lab.config(), "routes", ChosenObjects(), output=output, stop=stop, pause_s=0.05), daemon=True)
    thread.start()
    until(lambda: printed("b.com"))
    lists = listed(lab)
    first = "".join(shown)
    shown.clear()
    lab.apply(manifests.route("c", host="c.com"))
    until(lambda: printed("c.com"))
    lab.kube.delete("Route", "shop", "b")
    until(lambda: printed("deleted"))
    stop.set()
    assert ends_elsewhere(thread.join)
    later = "".join(shown).splitlines()
    assert listed(lab) == lists
    if output == "json":
        assert [json.loads(line)["name"] for line in first.splitlines()] == ["a", "b"]
        assert [(each["name"], each.get("deleted")) for each in map(json.loads, later)] == [
            ("c", None), ("b", True)]
    else:
        assert [line.split()[1] for line in first.splitlines()] == ["NAME", "a", "b"]
        assert [(line.split()[1], *line.split()[-2:]) for line in later] == [
            ("c", "pending", "RuleNotInPlace"), ("b", "deleted", "-")]


def test_watch_goes_on_when_the_device_answers_again(lab, capsys):
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a", host="a.com"))
    assert lab.converge() == []
    stop, out, err = threading.Event(), [], []

    def told(where: list[str], text: str) -> bool:
        captured = capsys.readouterr()
        out.append(captured.out)
        err.append(captured.err)
        return text in "".join(where)

    thread = threading.Thread(target=lambda: get.watch(
        lab.config(retry_s=0), "routes", ChosenObjects(), output="table", stop=stop, pause_s=0.05),
        daemon=True)
    thread.start()
    until(lambda: told(out, "a.com"))
    lab.bigip.inject("refuse", times=None, path="ltm/pool", status=500, message="out of order")
    until(lambda: told(err, "out of order"))
    lab.bigip.clear_faults()
    until(lambda: told(err, "cluster and BIG-IP can be read again"))
    stop.set()
    assert ends_elsewhere(thread.join)
    assert "".join(err).count("out of order") == 1


def test_an_api_server_that_is_down(lab, capsys):
    """Its address, where that comes from, and the error; each command ends with 1, soon."""
    url = lab.kube.url
    lab.kube.stop()
    assert get.get(lab.config(), "routes", ChosenObjects(), output="table", refused_s=0.1) == 1
    assert preflight.plan(lab.config(), output="table", refused_s=0.1) == 1
    listed, _, planned = capsys.readouterr().out.partition("`f5router doctor` checks everything")
    cause = f"API server {url} (--config {lab.kubeconfig}): APIServerUnreachable: GET /"
    for printed in (listed, planned):
        assert printed.count(cause) == 1
        assert ": Connection refused" in printed
        assert "not listed yet" not in printed
