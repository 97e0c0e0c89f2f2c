"""Certificates that are not checked yet: what is on the BIG-IP stays, and nothing new comes."""

from contextlib import ExitStack
from dataclasses import replace
from typing import ClassVar

import pytest

from tests import pump
from tests.builders import endpoints, identity, route
from tests.feature.hand import Hand

ONE, TWO = identity(serial=1), identity(serial=2)
LONG = "s" * 63
EDGE = route("edge", kind="edge", host="edge.example.com", insecure="Redirect", **ONE.tls)
RAW = {"kind": "reencrypt", "insecure": "Allow", "destination_ca_certificate": ONE.issuer}
INNER = route("inner", host="inner.example.com", **RAW)
LONGEST = route("r" * 63, host="long.example.com", namespace="n" * 63, service=LONG, port="p" * 15, **RAW)
WILD = route("wild", host="x.wild.test", kind="edge", wildcard=True, path="/a//b", **TWO.tls)
PASS = route("pass", host="x.pass.test", kind="passthrough", wildcard=True)
BELOW = route("below", host="below.pass.test", kind="edge", age=1, **ONE.tls)
PLAIN = route("plain", host="plain.example.com")
EVERY = (EDGE, INNER, LONGEST, WILD, PASS, BELOW, PLAIN)
WEB, API = endpoints("10.1.1.1"), endpoints("10.1.9.1", service="api", name="api-1")
FAR = endpoints("10.3.1.1", service=LONG, namespace="n" * 63, ports=(("p" * 15, 8080),))
PROBES = [
    {"host": "edge.example.com"}, {"host": "edge.example.com", "tls": False}, {"host": "inner.example.com"},
    {"host": "inner.example.com", "tls": False}, {"host": "long.example.com"},
    {"host": "a.wild.test", "path": "/a//b/c"}, {"host": "a.pass.test"}, {"host": "below.pass.test"},
    {"host": "plain.example.com", "tls": False},
]
PORT_80 = ("/quiet", "/other", "/")


class Slow(Hand):
    """A Hand whose router checks nothing by itself."""

    flags: ClassVar[dict[str, str]] = {"allow_wildcard_routes": "true"}
    checks: ClassVar[dict[str, float]] = {"at_once_s": 0.0}

    def judge(self) -> None:
        """The checks are made, and a pass with them."""
        while self.direct.reconciler.engine.checks.turn():
            pass
        self.direct.change()

    def answers(self) -> list:
        return [self.ask(**probe) for probe in PROBES]

    def settled(self) -> bool:
        reconciler = self.direct.reconciler
        return (reconciler.device.observed == reconciler.engine.objects and not reconciler.failures
                and pump.next_retry(reconciler) is None)


@pytest.fixture
def slow(lab):
    with ExitStack() as stack:
        site = Slow(lab, stack)
        site.change(WEB, API, FAR)
        yield site
        lab.bigip.clear_faults()


def test_a_restart(slow):
    """Nothing is written while nothing is known, nor afterwards; no host is given away."""
    slow.change(*EVERY)
    slow.judge()
    before = slow.answers()
    assert slow.settled()
    assert all(answer.members or answer.kind == "redirect" for answer in before)
    slow.lab.clear()
    slow.again()
    late = route("late", namespace="bank", host="edge.example.com", age=30)
    slow.change(late)
    assert slow.lab.writes() == []
    assert slow.answers() == before
    reconciler = slow.direct.reconciler
    assert [reconciler.verdicts.verdict(pending.key)
            for pending in (EDGE, INNER, LONGEST, WILD, BELOW)] == [None] * 5
    assert reconciler.verdicts.verdict(PLAIN.key).admitted
    assert reconciler.verdicts.verdict(late.key).reason == "HostAlreadyClaimed"
    assert reconciler.verdicts.unserved()[EDGE.key] == "its certificates are not checked yet"
    slow.judge()
    assert slow.lab.writes() == []
    assert slow.answers() == before
    assert slow.settled()
    assert reconciler.verdicts.verdict(EDGE.key).admitted


@pytest.mark.parametrize("restarted", [True, False])
def test_pods_are_followed_and_others_are_served(slow, restarted):
    """Addresses of pods are given to other tenants' pods a moment later."""
    slow.change(*EVERY)
    slow.judge()
    for obj in (endpoints("10.1.1.7"), replace(FAR, addresses=frozenset({"10.3.1.7"}))):
        slow.objects[obj.key] = obj
    if restarted:
        slow.again()
    else:
        slow.change(*(replace(route_, tls=replace(route_.tls, certificate="no")) for route_ in EVERY[:2]),
                    *list(slow.objects.values()))
    answers = dict(zip(map(str, PROBES), slow.answers(), strict=True))
    members = {name: answer.members for name, answer in answers.items() if answer.kind != "redirect"}
    far = members.pop(str(PROBES[4]))
    assert set(members.values()) == {("10.1.1.7:8080",)}
    assert set(far) <= {"10.3.1.7:8080"}
    slow.change(route("new", host="new.example.com"), gone=[PLAIN])
    assert slow.ask("new.example.com", tls=False).pool == "/Common/openshift_shop_web"
    assert slow.ask("plain.example.com", tls=False).kind == "unavailable"
    slow.judge()
    assert slow.settled()
    assert slow.ask("long.example.com").members == ("10.3.1.7:8080",)


def test_what_became_wrong_while_the_router_was_away(slow):
    """It goes on serving until that is known."""
    slow.change(*EVERY)
    slow.judge()
    wrong = [replace(route_, tls=replace(route_.tls, key=TWO.key)) for route_ in (EDGE, BELOW)]
    slow.objects |= {route_.key: route_ for route_ in wrong}
    before = slow.answers()
    slow.again()
    assert slow.answers() == before
    slow.judge()
    assert slow.ask("edge.example.com").kind == "unavailable"
    assert "does not match" in slow.direct.reconciler.verdicts.verdict(EDGE.key).message
    assert slow.settled()


def test_a_new_route_waits_and_an_edited_one_stays_as_it_was(slow):
    """Nothing of the new version is written before it is known to be right, and then all of it."""
    slow.lab.clear()
    slow.change(EDGE, INNER)
    assert slow.lab.writes() == []
    slow.judge()
    assert slow.settled()
    slow.lab.clear()
    edited = replace(EDGE, path="/p", service="api", tls=replace(EDGE.tls, **TWO.tls))
    slow.change(edited)
    assert slow.lab.writes() == []
    assert slow.direct.reconciler.verdicts.verdict(EDGE.key).admitted
    slow.change(replace(edited, tls=replace(EDGE.tls, key="no")))
    slow.judge()
    assert not slow.direct.reconciler.verdicts.verdict(EDGE.key).admitted
    slow.change(edited)
    slow.judge()
    assert slow.ask("edge.example.com", "/p").pool == "/Common/openshift_shop_api"
    assert slow.settled()
    slow.change(replace(edited, tls=replace(EDGE.tls, **ONE.tls)))
    slow.change(gone=[edited])
    assert slow.ask("edge.example.com", "/p").kind == "unavailable"
    slow.judge()
    assert slow.settled()


def test_a_host_that_changed_hands(slow):
    """The objects that an unchecked Route had for it lead nobody to its pods any more."""
    slow.change(EDGE, replace(INNER, host="other.example.com"))
    slow.judge()
    bank = route("new", namespace="bank", host="edge.example.com", age=30)
    moved = replace(EDGE, host="moved.example.com")
    slow.objects |= {moved.key: moved, bank.key: bank}
    slow.again()
    assert slow.ask("edge.example.com").kind == "unavailable"
    assert slow.ask("edge.example.com", tls=False).pool == "/Common/openshift_bank_web"
    slow.judge()
    assert slow.ask("moved.example.com").kind == "pool"
    assert slow.settled()


@pytest.mark.parametrize(("old", "new"), [
    (replace(EDGE, tls=replace(INNER.tls, **ONE.tls)), EDGE),
    (replace(EDGE, tls=replace(PASS.tls)), EDGE),
    (EDGE, replace(INNER, host=EDGE.host)),
], ids=["reencrypt to edge", "passthrough to edge", "another Route in its place"])
def test_the_old_form_is_whole(slow, old, new):
    """Whatever was edited while the router was away: TLS towards the pods stays, too."""
    slow.change(old)
    slow.judge()
    before = slow.ask(EDGE.host)
    assert before.members
    del slow.objects[old.key]
    slow.objects[new.key] = new
    slow.again()
    assert slow.ask(EDGE.host) == before
    slow.judge()
    assert slow.ask(EDGE.host).members
    assert slow.settled()


def test_a_wildcard_that_comes_meanwhile(slow):
    """A host whose TLS ends on the BIG-IP is excepted from it, though its Route is not checked yet."""
    slow.change(BELOW)
    slow.judge()
    before = slow.ask(BELOW.host)
    slow.objects[PASS.key] = PASS
    slow.again()
    assert slow.ask("a.pass.test").kind == "passthrough"
    assert slow.ask(BELOW.host) == before
    slow.judge()
    assert slow.ask(BELOW.host) == before
    assert slow.settled()


def test_a_route_that_nothing_may_answer_for_on_port_80(slow):
    """It takes no part in the redirect of a Route above it, nor goes to pods that nobody has checked."""
    above = replace(INNER, host=EDGE.host)
    silent = route("silent", kind="edge", host=EDGE.host, path="/quiet", age=3)
    redirecting = route("redirecting", kind="edge", host=EDGE.host, path="/", insecure="Redirect", age=2)
    slow.change(above, silent, redirecting)
    slow.judge()
    before = [slow.ask(EDGE.host, path, tls=False) for path in PORT_80]
    slow.lab.clear()
    slow.again()
    assert slow.lab.writes() == []
    slow.change(route("more", kind="edge", host=EDGE.host, path="/more", age=4))
    assert [slow.ask(EDGE.host, path, tls=False) for path in PORT_80] == before
    slow.judge()
    assert [slow.ask(EDGE.host, path, tls=False) for path in PORT_80] == before
    assert slow.settled()
