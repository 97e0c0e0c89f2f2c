"""Certificates of HTTPS listeners: which one a name is shown, and what several of them bring."""

from f5router.model.cluster import Key, Route, Secret
from f5router.model.request_match import NO_REQUEST
from f5router.sources.gateway import certificates
from f5router.sources.gateway.certificates import ReadCertificates, ServerCertificate
from f5router.sources.settings import ServedPorts
from tests.builders import identity
from tests.gateways import gateway, http_route, listener
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite, certificate

OK = "True"
FIRST, EXACT, WILD, UNREAD = (ServerCertificate(number, Key("infra", f"s{number}"), names)
                              for number, names in enumerate((
                                  ("first.example.org",), ("a.example.com",),
                                  ("*.example.com", "a.example.com"), None)))
ALL = (FIRST, EXACT, WILD)
NAMELESS = ServerCertificate(0, Key("infra", "s0"))


@rows(("listed", "host", "wanted"), [
    (ALL, "a.example.com", EXACT), (ALL, "b.example.com", WILD), (ALL, "*.example.com", WILD),
    (ALL, "b.a.example.com", FIRST), (ALL, "example.com", FIRST), (ALL, "", FIRST),
    ((FIRST, WILD, EXACT), "a.example.com", EXACT), ((*ALL, UNREAD), "a.example.com", UNREAD),
    ((NAMELESS,), "a.example.com", NAMELESS),
])
def test_the_nearest_name_decides(listed, host, wanted):
    """Then the place in the list; while one is not read, its names may be the nearest."""
    assert certificates.choose(listed, host) == wanted


def test_names_are_those_that_clients_may_ask_for():
    """They are read again for another content only."""
    names = ReadCertificates()
    secret = certificate(certificate=identity("*.Example.com").certificate)
    assert names.of(secret) == (("*.example.com",), "")
    for other in (certificate(certificate="C"), certificate(certificate=identity("a_b.*").certificate)):
        listed, problem = names.of(other)
        assert (listed, bool(problem)) == ((), True)


def of_own(*listeners: dict, secrets: tuple[Secret, ...] = ()) -> GatewaySite:
    site = GatewaySite(served=ServedPorts(), ranges="10.9.0.0/28")
    site.put(gateway("web", *listeners), secrets=secrets)
    return site


def https(name: str, *secrets: str, port: int = 443, **more) -> dict:
    refs = [{"name": each} for each in secrets]
    return listener(name, port, "HTTPS", tls={"certificateRefs": refs}, **more)


def shown(site: GatewaySite) -> dict[str, str]:
    """Secrets by server name."""
    routes: list[Route] = [each for each in site.routes.values() if each.match == NO_REQUEST]
    return {each.host: each.tls_secret.name for each in routes if each.tls_secret}


SECRETS = tuple(certificate(name, certificate=identity(host).certificate) for name, host in (
    ("one", "one.example.com"), ("wild", "*.example.com"), ("org", "www.example.org")))


def test_names_of_several_certificates_are_those_of_their_listener():
    """One certificate needs none: it is the default, or that of the hostname."""
    site = of_own(https("all", "org", "wild", "one"), https("own", "wild", "one", hostname="one.example.com"),
                  https("more", "one", port=8443), secrets=SECRETS)
    assert shown(site) == {"www.example.org": "org", "*.example.com": "wild"}
    assert {(each.name, each.own_default) for each in site.source.front_ends} == {
        ("infra.web.443", True), ("infra.web.8443", True)}
    site.put(http_route("r", hostnames=("x.example.com", "one.example.com")))
    assert {(route.host, route.key.front_end): route.tls_secret.name for route in site.routes.values()
            if route.match != NO_REQUEST and route.tls_secret} == {
        ("*", "infra.web.443"): "org", ("*", "infra.web.8443"): "one",
        ("x.example.com", "infra.web.443"): "wild", ("x.example.com", "infra.web.8443"): "one",
        ("one.example.com", "infra.web.443"): "one", ("one.example.com", "infra.web.8443"): "one"}


def test_a_secret_that_is_not_read_keeps_all_hosts_of_its_listener_waiting():
    """Its names are not known: the front end says whose profiles may be wanted."""
    unread = certificate("late", not_loaded=True)
    site = of_own(https("all", "org", "late"), secrets=(*SECRETS, unread))
    assert {route.tls_secret.name for route in site.routes.values() if route.match != NO_REQUEST} == {"late"}
    assert shown(site) == {"www.example.org": "late"}
    (front_end,) = site.source.front_ends
    assert [owner.namespace for owner in front_end.unread] == ["infra"]
    site.put(secrets=(certificate("late", certificate=identity("late.example.com").certificate),))
    assert shown(site) == {"www.example.org": "org", "late.example.com": "late"}
    assert site.source.front_ends[0].unread == ()


def test_a_listener_has_a_bounded_number_of_names():
    many = certificate("many", certificate=identity(
        "n0.example.com", more=tuple(f"n{number}.example.com" for number in range(1, 201))).certificate)
    site = of_own(https("all", "org", "many", "wild"), secrets=(*SECRETS, many))
    assert shown(site) == {"www.example.org": "org", "*.example.com": "wild"}
    assert site.listener("all")["ResolvedRefs"] == ("False", "InvalidCertificateRef")
    assert site.listener("all")["Programmed"] == (OK, "Programmed")


@rows("name", ["No Such_Name", "../secrets/org", "org/status", "configmap:org", "é"])
def test_a_name_that_no_secret_can_have(name):
    """Nobody waits for it; of several certificates the others are shown."""
    site = of_own(https("all", name, "org", "one"), https("own", name, port=8443), secrets=SECRETS)
    assert shown(site) == {"www.example.org": "org", "one.example.com": "one"}
    wanted = [("False", "InvalidCertificateRef")] * 2
    assert [site.listener(each)["ResolvedRefs"] for each in ("all", "own")] == wanted
    assert [site.listener(each)["Programmed"] for each in ("all", "own")] == [
        (OK, "Programmed"), ("False", "Invalid")]


OVERLAPPING = (OK, "OverlappingHostnames")


@rows(("given", "wanted"), [
    (("", "a.example.com", "*.example.org"), (OVERLAPPING,) * 3),
    (("a.example.com", "b.example.com", "*.example.org"), (None,) * 3),
    (("a.example.com", "*.example.com", "*.org"), (OVERLAPPING, OVERLAPPING, None)),
])
def test_listeners_with_names_in_common(given, wanted):
    """GatewayOverlappingTLSConfigHostnames: not those of other ports, or without TLS."""
    listeners = [https(f"l{number}", "one", hostname=name) for number, name in enumerate(given)]
    site = of_own(*listeners, https("other", "one", port=8443), listener(hostname="a.example.com"),
                  secrets=SECRETS)
    names = [each["name"] for each in listeners]
    assert tuple(site.listener(name).get("OverlappingTLSConfig") for name in names) == wanted
    assert not any("OverlappingTLSConfig" in site.listener(name) for name in ("other", "http"))
