"""TLSRoutes on listeners of mode Terminate: the BIG-IP ends TLS, and the pods get what is in it, as it is."""

from tests.builders import Identity
from tests.feature.commands import invoke
from tests.gateways import (
    EVERYWHERE,
    PASSTHROUGH,
    backend,
    backend_policy,
    gateway,
    http_route,
    listener,
    parent,
    rule,
    tls_route,
)
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.ended import FLAGS, HOST, VIRTUAL, Met, ending, meet, of, site_with
from tests.traffic.test_https_listeners import listener_status, secret
from tests.traffic.test_tls_routes import accepted

WEB = gateway("web", ending())
SERVED = Met("infra", HOST)
RESET = Met("reset")


@rows("version", ["12.1.0", "14.1.2", "17.1.0"])
def test_its_connections_come_to_its_pods(site_of, version):
    """The pods may speak first. Without a TLSRoute connections are reset before their TLS begins."""
    site = site_with(site_of, WEB, tmos_version=version)
    assert site.converge(**FLAGS) == []
    assert meet(site) == RESET
    assert listener_status(site)["Programmed"] == ("True", "Programmed")
    site.apply(of("infra"))
    assert site.converge(**FLAGS) == []
    assert (meet(site), accepted(site)) == (SERVED, ("True", "Accepted"))
    assert [meet(site, name) for name in ("x.example.com", "x.db.example.com", None)] == [RESET] * 3
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []
    site.kube.delete("TLSRoute", "infra", "r")
    assert site.converge(**FLAGS) == []
    assert meet(site) == RESET


def test_requests_pass_as_they_are(site_of):
    """No header is added to what looks like a request, and the pod sees no TLS."""
    site = site_with(site_of, WEB, tls_route("r", backend("web"), hostnames=(HOST,)))
    assert site.converge(**FLAGS, set_forwarded_headers="append") == []
    seen = clients.python(site.bigip.endpoint(VIRTUAL), HOST, headers=("X-Forwarded-For: me", "Proxy: me"))
    assert (seen.certificate, seen.pod["pod"]) == (HOST, "web-10.3.1.1")
    assert [value for name, value in seen.pod["headers"] if name.lower() in ("x-forwarded-for", "proxy")] == [
        "me", "me"]


def test_listeners_of_all_modes_on_one_port(site_of):
    """The more specific hostname has the connection."""
    site = site_with(
        site_of, gateway(
            "web", ending("tls", "*.example.com", "wild"),
            listener("passing", **PASSTHROUGH, hostname="pass.example.com", namespaces=EVERYWHERE),
            listener("https", 443, "HTTPS", hostname="web.example.com", secret="other"),
            listener("rest", 443, "HTTPS", secret="other")),
        of("shop", "*.example.com"), of("bank", "bank.example.com"),
        of("infra", "pass.example.com", service="tls", section="passing"),
        http_route("r", rule(backend("web")), parents=(parent("web", sectionName="https"),)),
        http_route("rest", rule(backend("web")), parents=(parent("web", sectionName="rest"),)))
    assert site.converge(**FLAGS) == []
    wanted = {"x.example.com": "shop", "y.x.example.com": "shop", "bank.example.com": "bank"}
    assert {host: meet(site, host).who for host in wanted} == wanted
    assert meet(site, "x.example.com").certificate == meet(site, "bank.example.com").certificate == (
        "*.example.com")
    place = site.bigip.endpoint(VIRTUAL)
    assert [clients.python(place, host).certificate for host in (
        "pass.example.com", "web.example.com", "x.org")] == [
        "pods.example.com", "other.example.com", "other.example.com"]
    assert [clients.python(place, host).pod["pod"].split("-")[0] for host in (
        "pass.example.com", "web.example.com", "x.org")] == ["tls", "web", "web"]


def test_several_certificates(site_of):
    """The one with the name that is asked for is shown, whichever TLSRoute has the connection."""
    site = site_with(site_of, gateway("web", ending("tls", "*.example.com", "wild", "db")),
                     of("shop", "*.example.com"), of("bank", "bank.example.com"))
    assert site.converge(**FLAGS) == []
    assert {host: meet(site, host) for host in (HOST, "x.example.com", "bank.example.com")} == {
        HOST: Met("shop", HOST), "x.example.com": Met("shop", "*.example.com"),
        "bank.example.com": Met("bank", "*.example.com")}
    site.apply(of("infra", HOST))
    assert site.converge(**FLAGS) == []
    assert meet(site) == SERVED


def test_a_listener_without_a_hostname(site_of):
    """Its certificate is for all names that TLSRoutes have there."""
    site = site_with(site_of, gateway("web", ending("tls", "")), of("shop", "*.com"), of("bank", "x.org"))
    assert site.converge(**FLAGS) == []
    assert [meet(site, host) for host in ("a.com", "c.b.a.com", "x.org", "y.org")] == [
        Met("shop", HOST), Met("shop", HOST), Met("bank", HOST), RESET]


@rows("back", [False, True])
def test_a_secret_of_no_use(site_of, back):
    """Nobody else gets its connections, and nothing looks for requests in them."""
    site = site_with(
        site_of, gateway("web", ending(), listener("rest", 443, "HTTPS", secret="other"), listener(
            "passing", **PASSTHROUGH, hostname="*.example.com", namespaces=EVERYWHERE)),
        of("infra"), of("shop", "*.example.com", service="tls", section="passing"),
        http_route("rest", rule(backend("web")), parents=(parent("web", sectionName="rest"),)))
    bad = secret("db", Identity("no certificate", "no key", ""))
    site.apply(*() if back else (bad,))
    assert site.converge(**FLAGS) == []
    if back:
        assert meet(site) == SERVED
        site.apply(bad)
        assert site.converge(**FLAGS) == []
    assert clients.after_hello(site.bigip.endpoint(VIRTUAL), HOST) == b""
    told = listener_status(site)
    assert (told["ResolvedRefs"], told["Programmed"][0]) == (("False", "InvalidCertificateRef"), "False")


def test_a_secret_that_is_not_read(site_of):
    """Connections stay as they were, over a restart too. A new name is reset, and nobody else has it."""
    rest = listener("rest", 443, "HTTPS", secret="other")
    site = site_with(site_of, gateway("web", ending("tls", "*.example.com"), rest), of("infra"), http_route(
        "rest", rule(backend("web")), parents=(parent("web", sectionName="rest"),)))
    assert site.converge(**FLAGS) == []
    assert meet(site) == SERVED
    site.kube.forbid("secrets")
    site.clear()
    site.converge(**FLAGS)
    assert (meet(site), site.writes()) == (SERVED, [])
    site.apply(of("shop", "new.example.com"))
    site.converge(**FLAGS)
    assert [meet(site, host) for host in (HOST, "new.example.com", "x.example.com")] == [SERVED, RESET, RESET]
    site.kube.allow("secrets")
    assert site.converge(**FLAGS) == []
    assert [meet(site, host).who for host in (HOST, "new.example.com")] == ["infra", "shop"]


def test_a_port_without_https_listeners_asks_nobody_for_certificates(site_of):
    site = site_with(site_of, gateway("web", ending(), tls={"frontend": {"default": {"validation": {
        "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]}}}}), of("infra"))
    assert site.converge(**FLAGS) == []
    assert meet(site) == SERVED


def test_pods_that_a_policy_wants_asked_over_tls_get_nothing(site_of):
    site = site_with(site_of, WEB, of("infra"))
    assert site.converge(**FLAGS) == []
    site.apply(backend_policy("p", "db", wellKnownCACertificates="System"))
    assert site.converge(**FLAGS) == []
    assert (meet(site), accepted(site)[1]) == (RESET, "UnsupportedValue")


@rows(("flags", "spec", "reason"), [
    ({"gateway_addresses": None}, {}, "UnsupportedValue"),
    ({"mutual_tls_auth": "optional"}, {}, "UnsupportedValue"),
    ({}, {"tls": {"frontend": {"default": {"validation": {"caCertificateRefs": [
        {"group": "", "kind": "ConfigMap", "name": "ca"}]}}}}}, "UnsupportedValue"),
])
def test_where_it_cannot_be(site_of, flags, spec, reason):
    """On the router's own front end, and beside requests for client certificates."""
    site = site_with(site_of, gateway("web", ending(), listener(
        "https", 443, "HTTPS", hostname="x.example.com", secret="other"), **spec), of("infra"))
    given = {key: value for key, value in {**FLAGS, **flags}.items() if value is not None}
    site.converge(**given)
    status = (site.kube.get("Gateway", "infra", "web") or {})["status"]["listeners"][0]["conditions"]
    assert {each["type"]: each["reason"] for each in status}["Accepted"] == reason


def test_calls(site_of):
    """A TLSRoute costs as many as one whose TLS is passed through; the Gateway brings the certificate."""
    calls = []
    for tls in (ending(), listener("tls", **PASSTHROUGH, hostname=HOST, namespaces=EVERYWHERE)):
        site = site_with(site_of, gateway("web", tls))
        router = site.router(**FLAGS)
        assert site.converge(router) == []
        site.clear()
        site.apply(of("infra"))
        site.settle(router)
        calls.append(len(site.writes()))
    assert calls == [4, 4]


def test_what_is_shown_of_it(site_of):
    site = site_with(site_of, WEB, of("infra"))
    assert site.converge(**FLAGS) == []
    explained = invoke(site, "explain", "tlsroute", "infra/r", **FLAGS)
    assert explained.exit_code == 0, explained.stdout
    assert "server name is db.example.com, TLS ends here" in explained.stdout
    asked = invoke(site, "explain", "request", f"https://{HOST}/", **FLAGS)
    print(explained.stdout, asked.stdout)
    assert "ends TLS, and looks for no requests in it" in asked.stdout
