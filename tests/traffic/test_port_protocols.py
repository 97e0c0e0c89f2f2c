"""A port of a Gateway whose listener gets another protocol, or mode, while the router runs.

Routes of all kinds are there all the time. A router that did all of that has the configuration of a new one.
"""

import functools
import socket

import pytest

from tests.gateways import (
    EVERYWHERE,
    PASSTHROUGH,
    backend,
    gateway,
    http_route,
    listener,
    parent,
    rule,
    tcp_route,
)
from tests.traffic import clients
from tests.traffic.ended import FLAGS, HOST, VIRTUAL, ending, meet, of, site_with
from tests.waiting import until

PLAIN, STREAM = (VIRTUAL.replace("_https_", f"_{protocol}_") for protocol in ("http", "tcp"))
FORMS = {
    "http": listener("tls", 443, namespaces=EVERYWHERE),
    "https": listener("tls", 443, "HTTPS", hostname=HOST, secret="db", namespaces=EVERYWHERE),
    "ended": ending(),
    "passed": listener("tls", **PASSTHROUGH, hostname="*.example.com", namespaces=EVERYWHERE),
    "tcp": listener("tls", 443, "TCP", namespaces=EVERYWHERE),
}
TO_INFRA = (parent("web", namespace="infra"),)
ROUTES = (of("bank"), of("shop", "*.example.com", name="wild", service="tls"),
          http_route("h", rule(backend("web")), namespace="shop", parents=TO_INFRA),
          tcp_route("t", backend("db", 5432), namespace="infra", parents=TO_INFRA))


def who(site, form: str) -> str:
    """Namespace of the pod that a client of a form of the listener comes to."""
    if form == "ended":
        return meet(site).who
    if form == "tcp":
        with socket.create_connection(site.bigip.endpoint(STREAM), 20) as sock:
            return sock.recv(100).decode().strip()
    ask, virtual = (clients.plain, PLAIN) if form == "http" else (clients.python, VIRTUAL)
    host = "other.example.com" if form == "passed" else HOST
    return ask(site.bigip.endpoint(virtual), host).pod.get("namespace", "")


WANTED = {"http": "shop", "https": "shop", "ended": "bank", "passed": "shop", "tcp": "infra"}


def reaches(site, form: str) -> bool:
    """False while a client waits in vain for the first word, as it may on a slow machine."""
    seen = who(site, form)
    assert seen in (WANTED[form], "silent")
    return seen == WANTED[form]


@pytest.mark.parametrize("first", FORMS)
def test_each_comes_after_each(site_of, first):
    site = site_with(site_of, gateway("web", FORMS[first]), *ROUTES)
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert who(site, first) == WANTED[first]
    for form in [form for form in FORMS if form != first]:
        for each in (form, first):
            site.apply(gateway("web", FORMS[each]))
            site.settle(router)
            assert site.converge(router) == []
            until(functools.partial(reaches, site, each), each)
    router.close()
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []
