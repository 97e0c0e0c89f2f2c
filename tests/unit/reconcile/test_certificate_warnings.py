"""Warnings about certificates: at the moment that a Route is judged, and when their time comes."""

import datetime
from dataclasses import replace
from types import SimpleNamespace

from f5router.model.client_tls import TLSKeyPair, Validity
from f5router.model.cluster import Key
from f5router.reconcile.certificate_warnings import CertificateWarnings
from tests.builders import route

BEGIN, END = (datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (10, 20))
A, B, PLAIN = Key("shop", "a"), Key("shop", "b"), Key("shop", "plain")


class Site:
    """The Routes a (with a certificate), b (with one that lasts a year longer) and plain; the time."""

    def __init__(self, secret: Key | None = None):
        self.wall = BEGIN - datetime.timedelta(days=1)
        later = END + datetime.timedelta(days=365)
        self.routes = {A: self._evaluated("a", END, secret), B: self._evaluated("b", later, secret),
                       PLAIN: SimpleNamespace(route=route("plain"), host="plain.com", key_pair=None)}
        engine = SimpleNamespace(routes=lambda: self.routes)
        self.warnings = CertificateWarnings(engine, wall=lambda: self.wall)

    @staticmethod
    def _evaluated(name: str, end: datetime.datetime, secret: Key | None):
        pair = TLSKeyPair("", "", "", "", Validity((f"{name}.com",), BEGIN, end))
        return SimpleNamespace(
            route=replace(route(name, kind="edge"), tls_secret=secret), host=f"{name}.com", key_pair=pair)

    def at(self, wall: datetime.datetime) -> list[Key]:
        """Let time go by; returns the Routes to judge anew."""
        self.wall = wall
        return self.warnings.take_changed()


def test_each_change_of_validity_has_its_routes_judged_once():
    site, day = Site(), datetime.timedelta(days=1)
    assert site.at(BEGIN - day / 2) == []
    assert site.at(BEGIN + day) == [A, B]
    assert site.at(BEGIN + 2 * day) == []
    assert site.at(END + day) == [A]
    assert site.at(END + 2 * day) == []


def test_a_clock_that_is_set_back():
    """A certificate that was expired is valid again."""
    site, day = Site(), datetime.timedelta(days=1)
    site.at(END + day)
    assert site.at(END - day) == [A]


def test_the_warning_names_the_field():
    fields = {None: "spec.tls.certificate", Key("shop", "tls"): "spec.tls.externalCertificate"}
    for secret, field in fields.items():
        site = Site(secret)
        site.wall = END + datetime.timedelta(days=1)
        assert site.warnings.of(A) == (
            ("CertificateExpired", f"{field}: it expired on 2026-01-20T00:00:00Z"),)
        assert site.warnings.of(B) == site.warnings.of(PLAIN) == site.warnings.of(Key("shop", "gone")) == ()
