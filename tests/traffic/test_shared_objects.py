"""Shared objects that protect: no Route answers without them, and statuses say what requests see.

Each of them is refused, lost or late once: when the first Route is served, and when a setting changes them.
"""

import contextlib
import dataclasses

import pytest
from cryptography.hazmat.primitives import serialization

from tests import manifests
from tests.builders import authority, identity
from tests.traffic import clients

SITE = identity("*.apps.example.com", algorithm="rsa")
BEFORE = {"set_forwarded_headers": "append"}
SETTINGS = {"set_forwarded_headers": "replace", "unique_id_header_name": "X-Id", "cookie_name": "stay",
            "default_certificate": SITE.certificate + SITE.key}
PLAIN, EDGE, STRICT, CLOSED, NEW = (
    f"{name}.apps.example.com" for name in ("plain", "edge", "strict", "closed", "new"))
FORGED = "6.6.6.6"
VIRTUAL = "ltm/virtual/~Common~"

OBJECTS = {
    "the data-group of options": ("data-group/internal", "openshift_http_dg"),
    "the data-group of sessions": ("data-group/internal", "openshift_persistence_dg"),
    "the iRule of headers": ("ltm/rule", "openshift_headers_irule"),
    "the iRule of requests": ("ltm/rule", "openshift_request_irule"),
    "the iRule of sessions": ("ltm/rule", "openshift_session_cookie_irule"),
    "the iRule of TLS": ("ltm/rule", "openshift_passthrough_irule"),
    "the iRule of clients": ("ltm/rule", "openshift_limits_irule"),
    "the default profile": ("client-ssl", "openshift_default"),
    "the virtual server of port 80": (f"{VIRTUAL}ose-vserver$", ""),
    "the virtual server of port 443": (f"{VIRTUAL}https-ose-vserver$", ""),
}
"""Object to its path, and its name in the body of the POST that creates it."""

FAULTS = {
    "refused": {"kind": "refuse", "times": None, "status": 400, "message": "01070151:3: no"},
    "a 503": {"kind": "503-html"},
    "a lost request": {"kind": "drop-request"},
    "a lost reply": {"kind": "drop-reply"},
    "late": {"kind": "delay", "seconds": 0.05},
}


@dataclasses.dataclass
class Shop:
    """A site, and what requests see of it."""

    site: object

    def ask(self, host: str, *, secure: bool) -> clients.Seen:
        forged = (f"X-Forwarded-For: {FORGED}", "X-Forwarded-Proto: gopher")
        sent = clients.request_bytes(host, headers=forged)
        if not secure:
            return clients.several(self.site.http, sent)[0]
        return clients.several(self.site.https, sent, sni=host)[0]

    def look(self, *, whole: bool) -> tuple[list[str], dict[str, bool]]:
        """Return the faults of what pods got and answered, and which Routes are served.

        Args: whole: False if the settings before may count.
        """
        wrongs, served = [], {}
        for name, host, secure in (("plain", PLAIN, False), ("edge", EDGE, True), ("strict", STRICT, True)):
            served[name] = False
            with contextlib.suppress(OSError, IndexError):  # ssl.SSLError too
                seen = self.ask(host, secure=secure)
                served[name] = bool(seen.pod)
                if seen.pod:
                    faults = _faults(seen, name, secure=secure, whole=whole)
                    wrongs += [f"{name}: {fault}" for fault in faults]
        with contextlib.suppress(OSError, IndexError):
            wrongs += ["closed: a pod answers"] * bool(self.ask(CLOSED, secure=False).pod)
        return wrongs, served

    def faults(self, *, whole: bool) -> list[str]:
        return self.look(whole=whole)[0]

    def served(self) -> dict[str, bool]:
        return self.look(whole=False)[1]


def _faults(seen: clients.Seen, name: str, *, secure: bool, whole: bool) -> list[str]:
    received: dict[str, list[str]] = {}
    for header, value in seen.pod["headers"]:
        received.setdefault(header.lower(), []).append(value)
    cookie, addresses = seen.headers.get("set-cookie", ""), str(received.get("x-forwarded-for"))
    wrong = {
        "the client's address is missing": "127.0.0.1" not in addresses,
        "the address that the client forged": whole and FORGED in addresses,
        "the scheme": received.get("x-forwarded-proto", [""])[-1] != ("https" if secure else "http"),
        "no ID": whole and "x-id" not in received,
        "no session": "HttpOnly" not in cookie,
        "a session without Secure": secure and "Secure" not in cookie,
        "no HSTS": name == "strict" and "strict-transport-security" not in seen.headers,
        "the administrator's certificate": secure and whole and seen.certificate == "default.example.com",
    }
    return [fault for fault, is_so in wrong.items() if is_so]


@pytest.fixture
def shop(site) -> Shop:
    site.serve("web", "10.1.1.1")
    strict = manifests.route("strict", host=STRICT, kind="edge")
    strict["metadata"]["annotations"] = {"haproxy.router.openshift.io/hsts_header": "max-age=9"}
    closed = manifests.route("closed", host=CLOSED)
    closed["metadata"]["annotations"] = {"haproxy.router.openshift.io/ip_whitelist": "192.0.2.1"}
    site.apply(manifests.route("plain", host=PLAIN), manifests.route("edge", host=EDGE, kind="edge"), strict,
               closed)
    return Shop(site)


def statuses(site, *names: str) -> dict[str, bool]:
    return {name: site.admitted("shop", name).get("status") == "True" for name in names}


def inject(site, what: str, fault: str, *, update: bool) -> None:
    path, name = OBJECTS[what]
    if update or not name:
        site.bigip.inject(**FAULTS[fault], method="PATCH", path=f"{path}.*{name}")
    else:
        site.bigip.inject(**FAULTS[fault], method="POST", path=path, body=f'"name": ?"{name}')


CASES = [*((what, "refused") for what in OBJECTS), *(("the iRule of headers", fault) for fault in FAULTS),
         *((what, "a 503") for what in ("the data-group of options", "the default profile"))]


@pytest.mark.parametrize(("what", "fault"), dict.fromkeys(CASES))
def test_a_first_load(shop, what, fault):
    """A Route is served as it and the settings say, or not at all."""
    site, wrongs = shop.site, []
    inject(site, what, fault, update=False)

    def look(entry) -> None:
        if "/policy/" in entry.path or "/virtual/" in entry.path:
            wrongs.extend(shop.faults(whole=True))

    site.bigip.on_write = look
    router = site.router(**SETTINGS)
    reasons = site.converge(router)
    faults, served = shop.look(whole=True)
    assert faults == []
    if fault == "refused":
        assert reasons
        assert not all(served.values()) or what == "the iRule of clients"
        assert statuses(site, *served) == served
    site.bigip.clear_faults()
    site.later()
    assert site.converge(router) == []
    site.bigip.on_write = None
    assert wrongs == []
    assert shop.served() == statuses(site, *served) == dict.fromkeys(served, True)


@pytest.mark.parametrize(("what", "fault"), [
    ("the data-group of options", "refused"), *(("the iRule of headers", fault) for fault in FAULTS),
    ("the default profile", "refused"), ("the virtual server of port 443", "refused"),
])
def test_an_update(shop, what, fault):
    """Routes that are served stay so; one that comes meanwhile has all that the settings ask for."""
    site, wrongs = shop.site, []
    assert site.converge(**BEFORE) == []
    created = what == "the default profile"
    inject(site, what, fault, update=not created)

    def look(entry=None) -> None:
        faults, served = shop.look(whole=False)
        wrongs.extend(faults)
        wrongs.extend(name for name, is_served in served.items() if not is_served)
        new = shop.ask(NEW, secure=True)
        if new.pod:
            wrongs.extend(f"new: {each}" for each in _faults(new, "new", secure=True, whole=True))

    site.bigip.on_write = look
    new = manifests.route("new", host=NEW, kind="edge")
    new["metadata"]["annotations"] = {"haproxy.router.openshift.io/hsts_header": "max-age=8"}
    site.apply(new)
    router = site.router(**SETTINGS)
    reasons = site.converge(router)
    look()
    if fault == "refused":
        assert reasons
        assert statuses(site, "new") == {"new": bool(shop.ask(NEW, secure=True).pod)} == {"new": False}
    site.bigip.clear_faults()
    site.later()
    assert site.converge(router) == []
    site.bigip.on_write = None
    assert wrongs == []
    assert shop.faults(whole=True) == []
    assert statuses(site, "plain", "edge", "strict", "new") == dict.fromkeys(
        ("plain", "edge", "strict", "new"), True)


def test_what_is_removed_by_hand(shop):
    """It is put back by the next reading, and no Route loses its status."""
    site = shop.site
    assert site.converge(**SETTINGS) == []
    for path in (f"{VIRTUAL}ose-vserver", f"{VIRTUAL}https-ose-vserver"):
        site.change("PATCH", path, {"rules": [
            rule for rule in site.bigip.get(path)["rules"] if not rule.endswith("headers_irule")]})
    assert shop.faults(whole=True) != []
    assert site.converge(**SETTINGS) == []
    assert shop.faults(whole=True) == []
    assert statuses(site, "plain") == {"plain": True}


def _tls_without_certificate(site) -> bool:
    return bool(clients.python(site.https, EDGE).pod)


def _old_tls(site) -> bool:
    return bool(clients.python(site.https, EDGE, maximum="TLSv1_1").pod)


def _without_proxy_header(site) -> bool:
    return bool(clients.plain(site.http, PLAIN).pod)


OPTIONS = {
    "client certificates": (
        {"mutual_tls_auth": "required"}, ("ltm/rule", "openshift_client_certificate_irule"), "edge",
        _tls_without_certificate),
    "TLS versions": ({"ssl_min_version": "TLSv1.2"}, ("client-ssl", "openshift_default"), "edge", _old_tls),
    "PROXY": ({"use_proxy_protocol": "true"}, ("ltm/rule", "openshift_proxy_irule"), "plain",
              _without_proxy_header),
}
"""Settings, the object that enforces them, a Route, and a request that no pod may get."""


@pytest.mark.parametrize("fault", ["refused", "a 503", "late"])
@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_all_clients(shop, tmp_path, option, fault):
    """Nobody gets past a setting, whatever becomes of the object that enforces it."""
    settings, (path, name), route, passes = OPTIONS[option]
    issuer, _ = authority("Client CA")
    (tmp_path / "ca.pem").write_bytes(issuer.public_bytes(serialization.Encoding.PEM))
    settings = settings | {"default_certificate": SITE.certificate + SITE.key}
    if "mutual_tls_auth" in settings:
        settings["mutual_tls_auth_ca"] = str(tmp_path / "ca.pem")
    site, seen = shop.site, []
    site.bigip.inject(**FAULTS[fault], method="POST", path=path, body=f'"name": ?"{name}')
    site.bigip.on_write = lambda entry: seen.append(passes(site))
    router = site.router(**settings)
    reasons = site.converge(router)
    assert not passes(site)
    if fault == "refused":
        assert reasons
        assert not statuses(site, route)[route]
    site.bigip.clear_faults()
    site.later()
    assert site.converge(router) == []
    site.bigip.on_write = None
    assert True not in seen
    assert not passes(site)
    assert statuses(site, route) == {route: True}
