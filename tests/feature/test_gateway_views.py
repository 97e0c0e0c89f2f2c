"""`f5router get` and `explain` of Gateways and HTTPRoutes, on both fakes."""

import json
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.feature.commands import invoke
from tests.feature.conftest import Lab
from tests.gateways import (
    EVERYWHERE,
    backend,
    gateway,
    gateway_class,
    grant,
    http_route,
    listener,
    parent,
    redirect,
    rule,
)
from tests.rows import rows
from tests.traffic.test_gateways import SECRET

FLAGS = {"sources": "routes,gateway", "f5_vserver_address": "203.0.113.10", "f5_static_routes": "false"}
OWN = parent("web", sectionName="own")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A Gateway with HTTPRoutes, some with faults; no test changes anything for others."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("site"), gateway_api="v1.6")
        labelled = http_route("app", rule(backend("web")), parents=(OWN,))
        labelled["metadata"]["labels"] = {"app": "web"}
        lab.apply(
            *manifests.service("infra", "web", pods=("10.1.1.1",)),
            *manifests.service("shop", "web", pods=("10.1.1.2",)),
            SECRET, gateway_class(), gateway_class("other", "example.com/other"),
            gateway("web", listener(namespaces=EVERYWHERE),
                    listener("own", 443, "HTTPS", hostname="own.example.com", secret="own"),
                    listener("bad", 443, "HTTPS", hostname="bad.example.com", secret="none")),
            gateway("theirs", class_name="other"), gateway("lost", class_name="none"),
            grant("g", "shop", ("HTTPRoute", "infra"), ("", "Service", "")),
            labelled,
            http_route("cross", rule(backend("web", namespace="shop")), hostnames=("c.example.com",)),
            http_route("lost", rule(backend("none")), hostnames=("l.example.com",)),
            http_route("to", rule(filters=(redirect(scheme="https"),)), hostnames=("r.example.com",)),
            http_route("odd", rule(backend("web"), timeouts={"request": "1s"}), hostnames=("o.com",)),
            http_route("stranger", rule(backend("web")), parents=(parent("theirs"),)),
            http_route("nowhere", rule(backend("web")), parents=(parent("gone"),)),
            http_route("shut", rule(backend("web")), namespace="shop",
                       parents=(parent("web", namespace="infra", sectionName="own"),)))
        assert lab.converge(**{name: FLAGS[name] for name in ("sources", "f5_vserver_address")}) == []
        yield lab


def ask(site, *arguments: str, **flags: str):
    return invoke(site, *arguments, **FLAGS | flags)


def table(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()[1:]]


@rows(("kind", "lines"), [
    ("gateways", [["infra", "web", "*,own.example.com,bad.example.com", "5/6", "admitted",
                   "InvalidCertificateRef"]]),
    ("httproutes", [["infra", "app", "own.example.com", "1/1", "admitted", "-"],
                    ["infra", "cross", "c.example.com", "1/1", "admitted", "-"],
                    ["infra", "lost", "l.example.com", "0/1", "admitted", "BackendNotFound"],
                    ["infra", "odd", "o.com", "0/0", "rejected", "UnsupportedValue"],
                    ["infra", "to", "r.example.com", "1/1", "admitted", "-"],
                    ["shop", "shut", "-", "0/0", "rejected", "NotAllowedByListeners"]]),
    ("routes", [["infra", "app", "HTTPRoute", "own.example.com", "/", "admitted", "-"],
                ["infra", "cross", "HTTPRoute", "c.example.com", "/", "admitted", "-"],
                ["infra", "lost", "HTTPRoute", "l.example.com", "/", "admitted", "NotAnswered"],
                ["infra", "to", "HTTPRoute", "r.example.com", "/", "admitted", "-"],
                *[["infra", "web", "Gateway", "*", "/", "admitted", "-"]] * 2])])
def test_lists(site, kind, lines):
    """An HTTPRoute with Services of another namespace is listed where it is itself."""
    result = ask(site, "get", kind)
    assert (result.exit_code, result.stderr, table(result.stdout)) == (0, "", lines)
    documents = json.loads(ask(site, "get", kind, "-o", "json").stdout)
    assert [each["name"] for each in documents] == [line[1] for line in lines]


@rows(("arguments", "names"), [
    (("httproutes", "-l", "app=web"), ["httproute/infra/app"]), (("gtw",), ["gateway/infra/web"]),
    (("httproute/app",), ["httproute/infra/app"]), (("httproutes", "-n", "shop"), ["httproute/shop/shut"]),
    (("routes", "-l", "app"), ["httproute/infra/app"]),
    (("gateways.gateway.networking.k8s.io", "infra/web"), ["gateway/infra/web"])])
def test_choices(site, arguments, names):
    result = ask(site, "get", *arguments, "-o", "name")
    assert (result.exit_code, result.stdout.splitlines()) == (0, names)


@rows(("arguments", "status", "words"), [
    (("gateway", "infra/web"), 1, (
        "+ listener http  HTTP port 80, all hosts: 3 routes\n",
        "x listener bad   HTTPS port 443, bad.example.com: 0 routes\n",
        "first broken link: tls.certificateRefs[0]: Secret 'none' not found\n",
        "! HTTPRoute      shop/shut\n", "+ HTTPRoute      infra/app\n",
        "(docs/findings.md#invalidcertificateref)", "every request -> answer 404\n",
        "+ request         http://f5router-probe/: the answer is 404\n")),
    (("httproute", "infra/app"), 0, (
        "+ parent  Gateway infra/web: listener own with own.example.com\n", "HTTPRoute infra/app: admitted\n",
        "+ request         https://own.example.com/: pool ")),
    (("httproute", "infra/cross"), 0, ("+ member          10.1.1.2 port 8080, up\n",)),
    (("httproute", "to", "-n", "infra"), 0, ("-> answer 302, to https://r.example.com\n",)),
    (("httproute", "infra/lost"), 1, ("spec.rules[0].backendRefs[0]: Service 'none': not found\n",
                                      "(docs/findings.md#backendnotfound)", "-> answer 500\n")),
    (("httproute", "infra/odd"), 1, ("x parent  Gateway infra/web: no listener\n",
                                     "spec.rules[0].timeouts: ")),
    (("httproute", "-l", "app=web"), 0, ("HTTPRoute infra/app: admitted\n",)),
    (("httproute", "infra/stranger"), 1, ("Gateway infra/theirs is not this router's", "example.com/other")),
    (("httproute", "infra/nowhere"), 1, ("spec.parentRefs: there is no Gateway infra/gone\n",)),
    (("gateway", "infra/theirs"), 1, ("its spec.controllerName is example.com/other; this router takes",)),
    (("gateway", "infra/lost"), 1, ("spec.gatewayClassName is none: there is no such GatewayClass",)),
    (("gateway", "infra/wbe"), 1, ("Gateway infra/wbe does not exist; did you mean web?\n",)),
    (("route", "infra/app"), 1, ("this name does: see `f5router explain httproute infra/app",)),
    (("request", "http://r.example.com/"), 0, ("  the answer is 302, to https://r.example.com\n",)),
    (("request", "http://nobody.com/"), 1, ("  the answer is 404\n", "it is Gateway infra/web, admitted\n"))])
def test_explain(site, arguments, status, words):
    result = ask(site, "explain", *arguments)
    assert [word for word in words if word not in result.stdout] == []
    assert result.exit_code == status


def test_a_gateway_with_an_address_of_its_own(tmp_path):
    """Each of its ports is a front end: a request is looked up where its scheme is served."""
    own = {"gateway_addresses": "203.0.113.32/28"}
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path, gateway_api="v1.6")
        lab.apply(*manifests.service("infra", "web", pods=("10.1.1.1",)), SECRET, gateway_class(), gateway(
            "web", listener(), listener("own", 443, "HTTPS", hostname="own.example.com", secret="own")),
            http_route("app", rule(backend("web")), parents=(OWN,)))
        assert lab.converge(**own, **{each: FLAGS[each] for each in ("sources", "f5_vserver_address")}) == []
        assert table(ask(lab, "get", "gateways", **own).stdout) == [
            ["infra", "web", "*,own.example.com", "3/3", "admitted", "-"]]
        explained = ask(lab, "explain", "httproute", "infra/app", **own)
        assert explained.exit_code == 0
        assert "/Common/openshift_https__infra.web.443, 203.0.113.33 port 443\n" in explained.stdout
        asked = ask(lab, "explain", "request", "https://own.example.com/", **own)
        heads = [line for line in asked.stdout.splitlines() if line.startswith("On front end")]
        assert (asked.exit_code, heads) == (0, ["On front end default:", "On front end infra.web.443:"])


def test_the_graph_of_an_http_route(site):
    result = ask(site, "explain", "httproute", "infra/app", "-o", "dot")
    assert (result.exit_code, result.stdout.startswith("digraph")) == (0, True)


def test_the_plan_names_what_is_refused(site):
    """Also what becomes no Route; mistakes of teams are no problem of the administrator's."""
    result = ask(site, "plan", "-o", "json")
    assert result.exit_code == 0
    assert {each["route"]: each["reason"] for each in json.loads(result.stdout)["rejected"]} == {
        "Gateway infra/web": "InvalidCertificateRef", "HTTPRoute infra/lost": "BackendNotFound",
        "HTTPRoute infra/odd": "UnsupportedValue", "HTTPRoute shop/shut": "NotAllowedByListeners"}


def test_settings_without_the_gateway_api(site):
    result = ask(site, "get", "httproutes", sources="routes")
    assert (result.exit_code, result.stderr) == (0, (
        "No resources found\n--sources does not name gateway, so no HTTPRoute is served\n"))
    result = ask(site, "explain", "gateway", "infra/web", sources="routes")
    assert "--sources does not name gateway, so no Gateway is served" in result.stdout
