"""Texts of tenants that no API server accepts: each is refused, or reaches nobody as it is."""

from f5router.model import header_actions
from f5router.model.cluster import Key, Subject
from f5router.model.gateway import HTTP_ROUTE
from tests.gateways import backend, gateway, headers, http_route, listener, parent, redirect, rule
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite

TEXTS = ("\ud800", "a b", "a\r\nX: y", "a\n", "[exec id]", "${x}", '"}', "</textarea>", "é", "\0", "a" * 300,
         "..", "*", "*.", "*.*.test", "a{b", "/Common/a", "-.test", "x;y", "\u2028", "a:80", "")
TO_V1 = rule(backend("v1"))


def _site(*objects: dict, own: dict | None = None) -> GatewaySite:
    """A Gateway with an HTTPRoute that is served whatever the other objects are."""
    return GatewaySite(own or gateway("web", listener()), http_route("ok", TO_V1, hostnames=("ok.test",)),
                       *objects)


def _accepted(site: GatewaySite) -> tuple[str, str]:
    return site.route("bad")["Accepted"]


def _serves_others(site: GatewaySite) -> bool:
    return site.served()["ok.test", 80, "segments", ""] == ("v1", "")


@rows("text", TEXTS)
def test_a_hostname_of_a_route_is_a_name(text):
    site = _site(http_route("bad", TO_V1, hostnames=(text,)))
    assert (_accepted(site)[0], _serves_others(site)) == ("False", True)
    assert {host for host, *_ in site.served()} == {"*", "ok.test"}


@rows("text", [text for text in TEXTS if text not in ("", "\ud800")])
def test_a_hostname_of_a_listener_is_a_name(text):
    own = gateway("web", listener(), listener("bad", hostname=text))
    site = _site(own=own)
    assert site.listener("bad")["Accepted"] == ("False", "UnsupportedValue")
    assert {host for host, *_ in site.served()} == {"*", "ok.test"}


@rows("text", [text for text in TEXTS if text])
def test_the_host_of_a_redirect_is_a_name(text):
    site = _site(http_route("bad", rule(filters=(redirect(hostname=text),)), hostnames=("b.test",)))
    assert (_accepted(site), _serves_others(site)) == (("False", "UnsupportedValue"), True)
    assert "b.test" not in {host for host, *_ in site.served()}


@rows("port", [65536, 2**31 - 1])
def test_the_port_of_a_redirect_is_a_port(port):
    site = _site(http_route("bad", rule(filters=(redirect(port=port),)), hostnames=("b.test",)))
    assert _accepted(site) == ("False", "UnsupportedValue")


@rows(("name", "value"), [
    *((text, "v") for text in TEXTS), *(("X-A", text) for text in TEXTS),
    ("Host", "other.test"), ("Transfer-Encoding", "chunked"), ("Cookie", "a=b"),
])
def test_headers_reach_the_big_ip_in_hexadecimal_digits(name, value):
    change = headers(set=[{"name": name, "value": value}])
    site = _site(http_route("bad", rule(backend("v1"), filters=(change,)), hostnames=("b.test",)))
    assert _serves_others(site)
    actions = [action for route in site.routes.values() for action in route.options.request_actions]
    if _accepted(site)[0] == "True":
        assert actions == [header_actions.encode_set(name, value.replace("%", "%%"), side="req")]
        assert set(actions[0]) <= set("set._th0123456789abcdef")
    else:
        assert actions == []


@rows(("field", "text"), [(field, text) for field in ("path", "service", "section", "namespace")
                          for text in TEXTS])
def test_other_texts_stop_nobody_else(field, text):
    """Admission checks paths, as those of Routes."""
    bad = {"path": lambda: http_route("bad", rule(backend("v1"), paths=(f"/{text}",)), hostnames=("b.test",)),
           "service": lambda: http_route("bad", rule(backend(text)), hostnames=("b.test",)),
           "section": lambda: http_route("bad", TO_V1, parents=(parent("web", sectionName=text),)),
           "namespace": lambda: http_route("bad", rule(backend("v1", namespace=text)), hostnames=("b.test",)),
           }[field]()
    site = _site(bad)
    assert _serves_others(site)
    assert Subject(HTTP_ROUTE, Key("infra", "bad")) in site.source.routes
