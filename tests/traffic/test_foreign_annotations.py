"""Requests to Ingresses with annotations of other controllers: carried out exactly, or not served at all.

Each Ingress that asks for a protection is asked by a client that it lets in and by one that it does not.
"""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_unavailable import is_page

IN, OUT = "127.0.0.2", "127.0.0.3"
NGINX, HAPROXY, TECH = "nginx.ingress.kubernetes.io/", "haproxy-ingress.github.io/", "haproxy.org/"
F5, PLAIN = "virtual-server.f5.com/", "ingress.kubernetes.io/"
PAGE = "page"
DOMAIN = "example.com"

LISTS = {  # name: annotations, with a list that has IN and not OUT
    "allow": {f"{NGINX}whitelist-source-range": f"10.0.0.0/8, {IN}"},
    "allow-new": {f"{NGINX}allowlist-source-range": f"{IN}/32"},
    "deny": {f"{NGINX}denylist-source-range": f"{OUT},192.0.2.0/24"},
    "both": {f"{NGINX}whitelist-source-range": "127.0.0.0/8", f"{NGINX}denylist-source-range": OUT},
    "except": {f"{HAPROXY}allowlist-source-range": f"127.0.0.0/8,!{OUT}"},
    "tech": {f"{TECH}allow-list": IN},
    "alb": {"alb.ingress.kubernetes.io/inbound-cidrs": f"{IN}/32"},
}
REFUSED = {  # name: annotations that cannot be carried out, the first of which the Event names
    "auth-url": {f"{NGINX}auth-url": "https://auth.example.com"},
    "basic": {f"{NGINX}auth-type": "basic", f"{NGINX}auth-secret": "users"},
    "mtls": {f"{NGINX}auth-tls-secret": "shop/ca"},
    "waf": {f"{NGINX}enable-modsecurity": "true"},
    "rate": {f"{NGINX}limit-rps": "5"},
    "satisfy": {f"{NGINX}satisfy": "any"},
    "snippet": {f"{NGINX}configuration-snippet": "deny all;"},
    "comment": {f"{NGINX}server-snippet": "# don't ask\ndeny all; # it's"},
    "wrong-list": {f"{NGINX}whitelist-source-range": "10.0.0.0/8, ten"},
    "pattern": {f"{TECH}allow-list": "patterns/ips"},
    "commas": {f"{NGINX}whitelist-source-range": " , "},
    "wrong-switch": {f"{NGINX}force-ssl-redirect": "treu"},
    "verify": {f"{NGINX}backend-protocol": "HTTPS", f"{NGINX}proxy-ssl-verify": "on"},
    "grpcs": {f"{NGINX}backend-protocol": "GRPCS"},
    "policies": {"nginx.org/policies": "only-us"},
    "jwt": {"nginx.com/jwt-key": "key"},
    "plugins": {"konghq.com/plugins": "key-auth"},
    "middleware": {"traefik.ingress.kubernetes.io/router.middlewares": "shop-auth@kubernetescrd"},
    "cognito": {"alb.ingress.kubernetes.io/auth-type": "cognito"},
    "misspelled": {"haproxy.router.openshift.io/ip_whitelists": IN},
    "header": {f"{HAPROXY}allowlist-source-header": "X-Real-IP"},
}
SERVED = {  # name: annotations that have no effect
    "off": {f"{NGINX}enable-modsecurity": "false"},
    "size": {f"{NGINX}proxy-body-size": "8m", f"{NGINX}cors-allow-origin": "*"},
    "headers": {f"{NGINX}configuration-snippet": 'more_set_headers "X-A: b; deny all";'},
    "public": {"alb.ingress.kubernetes.io/scheme": "internet-facing"},
    "ignored": {f"{NGINX}auth-signin": "x", "nginx.com/jwt-realm": "x", "higress.io/auth-x": "x"},
}
CLEAR = {  # name: annotations, spec.tls or not, status and location of http://NAME.example.com/x
    "force": ({f"{NGINX}force-ssl-redirect": "true"}, False, 308, "https://force.example.com/x"),
    "redirect": ({f"{NGINX}ssl-redirect": "true"}, True, 308, "https://redirect.example.com/x"),
    "tls": ({}, True, 302, "https://tls.example.com/x"),
    "clear": ({f"{NGINX}ssl-redirect": "false"}, True, 200, ""),
    "unencrypted": ({f"{NGINX}ssl-redirect": "true"}, False, 200, ""),
    "silent": ({"kubernetes.io/ingress.allow-http": "false"}, False, PAGE, ""),
    "cis": ({f"{F5}clientssl": "/Common/clientssl", f"{PLAIN}ssl-redirect": "true",
             f"{PLAIN}allow-http": "false"}, False, 302, "https://cis.example.com/x"),
    "cis-only": ({f"{PLAIN}ssl-redirect": "false", f"{PLAIN}allow-http": "false"}, False, PAGE, ""),
    "tech-code": ({f"{TECH}ssl-redirect": "true", f"{TECH}ssl-redirect-code": "301"}, False, 301,
                  "https://tech-code.example.com/x"),
    "away": ({f"{NGINX}permanent-redirect": "https://new.example.com/y"}, True, 301,
             "https://new.example.com/y"),
    "for-now": ({f"{NGINX}temporal-redirect": "https://new.example.com"}, False, 302,
                "https://new.example.com"),
    "coded": ({f"{NGINX}permanent-redirect": "https://new.example.com",
               f"{NGINX}permanent-redirect-code": "307"}, False, 307, "https://new.example.com"),
    "evil": ({f"{NGINX}permanent-redirect": "https://a.example.com/[exec x]"}, False, 200, ""),
    "variable": ({f"{NGINX}permanent-redirect": "https://a.example.com$request_uri"}, False, 200, ""),
}


def ingress(name: str, annotations: dict, *, path: str = "/", host: str = "", tls: bool = False) -> dict:
    host = host or f"{name}.{DOMAIN}"
    return manifests.ingress(name, (host, path, "web", 8080), annotations=annotations,
                             tls=[((host,), "")] if tls else ())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        site.serve("web", "10.1.1.1")
        site.apply(manifests.ingress_class(default=True))
        site.apply(*(ingress(name, given) for given_of in (LISTS, REFUSED, SERVED)
                     for name, given in given_of.items()))
        site.apply(*(ingress(name, given, tls=tls) for name, (given, tls, _, _) in CLEAR.items()))
        for name, kind in (("beside", {}), ("beside-tls", {})):
            site.apply(ingress(name, kind, tls=name.endswith("tls")))
        for name, host in (("admin", "beside"), ("admin-tls", "beside-tls")):
            site.apply(ingress(name, REFUSED["auth-url"], path="/admin", host=f"{host}.{DOMAIN}"),
                       ingress(f"{name}-list", LISTS["allow"], path="/list", host=f"{host}.{DOMAIN}"))
        site.apply(ingress("wild", {}, host=f"*.wild.{DOMAIN}", tls=True),
                   ingress("tame", REFUSED["auth-url"], host=f"tame.wild.{DOMAIN}"),
                   ingress("rewritten", {f"{NGINX}rewrite-target": "/new"}, path="/app"),
                   ingress("sticky", {f"{NGINX}affinity": "cookie", f"{NGINX}session-cookie-name": "route"}))
        site.converge(sources="ingress", allow_wildcard_routes="true",
                      ignore_annotations="higress.io/*")
        yield site
        assert site.faults() == []


@pytest.mark.parametrize("name", LISTS)
def test_only_the_clients_of_a_list_get_in(site, name):
    assert clients.plain(site.http, f"{name}.{DOMAIN}", source=IN).pod
    refused = clients.plain(site.http, f"{name}.{DOMAIN}", source=OUT)
    assert (refused.status, refused.pod) == (0, {}) or not refused.status


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_protected_is_not_served(site, name):
    assert is_page(clients.plain(site.http, f"{name}.{DOMAIN}", source=IN))
    assert is_page(clients.python(site.https, f"{name}.{DOMAIN}", source=IN))


@pytest.mark.parametrize("name", SERVED)
def test_what_protects_nothing_is_served(site, name):
    assert clients.plain(site.http, f"{name}.{DOMAIN}").pod


@pytest.mark.parametrize("name", CLEAR)
def test_clear_text(site, name):
    _, _, status, location = CLEAR[name]
    reply = clients.plain(site.http, f"{name}.{DOMAIN}", "/x")
    if status == PAGE:
        assert is_page(reply)
        assert clients.python(site.https, f"{name}.{DOMAIN}", "/x").pod
    else:
        assert (reply.status, reply.headers.get("location", "")) == (status, location)


@pytest.mark.parametrize("host", ["beside", "beside-tls"])
@pytest.mark.parametrize("path", ["/admin", "/admin/x", "/list/x"])
def test_a_protected_path_is_never_served_by_another_ingress_of_the_host(site, host, path):
    """The pods are the same: the Ingress with / must not get the requests on the other port, either."""
    for reply in (clients.plain(site.http, f"{host}.{DOMAIN}", path, source=OUT),
                  clients.python(site.https, f"{host}.{DOMAIN}", path, source=OUT)):
        assert not reply.pod, reply
    assert clients.python(site.https, f"{host}.{DOMAIN}", "/", source=OUT).pod or host == "beside"
    served = clients.plain(site.http, f"{host}.{DOMAIN}", "/list", source=IN)
    assert served.pod


def test_a_protected_host_is_not_served_by_its_wildcard(site):
    assert clients.python(site.https, f"other.wild.{DOMAIN}", "/").pod
    for reply in (clients.plain(site.http, f"tame.wild.{DOMAIN}", "/"),
                  clients.python(site.https, f"tame.wild.{DOMAIN}", "/")):
        assert is_page(reply), reply


def test_rewriting_and_sessions(site):
    """ingress-nginx replaces the whole path, and keeps the query."""
    reply = clients.plain(site.http, f"rewritten.{DOMAIN}", "/app/x?y=1")
    assert reply.pod["target"] == "/new?y=1"
    assert clients.plain(site.http, f"sticky.{DOMAIN}", "/").headers["set-cookie"].startswith("route=")
