"""Objects that stay on the BIG-IP while something is refused, and for how long; and those that must not."""

from contextlib import ExitStack

import pytest

from f5router.model.delta import Delta
from tests import pump
from tests.builders import endpoints, identity, route, secret
from tests.feature.hand import HOST, Hand

ONE, TWO = identity(serial=1), identity(serial=2)
WEB, API = endpoints("10.1.1.1"), endpoints("10.1.9.1", service="api", name="api-1")
BANK = endpoints("10.2.1.1", namespace="bank")


@pytest.fixture
def hand(lab):
    with ExitStack() as stack:
        site = Hand(lab, stack)
        site.change(WEB, API, BANK)
        yield site
        lab.bigip.clear_faults()


def test_the_old_form_stays_as_long_as_the_new_one_is_refused(hand):
    """Also through passes in which the refused object is not tried: its pause grows to 300 s."""
    hand.change(route("a", kind="edge"))
    hand.refuse("PATCH", "ssl_passthrough")
    hand.change(route("a", kind="passthrough"))
    for seconds in (1, 4, 3, 10, 30, 100):
        assert hand.ask().pool == "/Common/openshift_shop_web", seconds
        hand.read()
        hand.later(seconds)
        hand.change(route("other", host="other.example.com"))
        hand.change(gone=[route("other")])
    hand.lab.bigip.clear_faults()
    hand.later(300)
    assert hand.ask().kind == "passthrough"
    assert not hand.direct.reconciler.failures
    assert pump.next_retry(hand.direct.reconciler) is None


@pytest.mark.parametrize("restarted", [False, True])
def test_pods_of_the_old_form_are_kept_up_to_date(hand, restarted):
    """Addresses of pods are given to other tenants' pods a moment later."""
    hand.change(route("a", kind="edge"))
    hand.refuse("POST", "ltm/pool")
    hand.change(route("a", kind="edge", service="api"))
    assert hand.ask().members == ("10.1.1.1:8080",)
    if restarted:
        hand.objects[WEB.key] = endpoints("10.1.1.7")
        hand.again()
    else:
        hand.change(endpoints("10.1.1.7"))
    assert hand.ask().members == ("10.1.1.7:8080",)
    hand.change(gone=[WEB])
    assert hand.ask().members == ()
    hand.lab.bigip.clear_faults()
    hand.later(10)
    assert hand.ask().members == ("10.1.9.1:8080",)
    assert hand.lab.pools() == {"/Common/openshift_shop_api"}


def test_pods_leave_a_pool_that_refuses_new_ones(hand):
    hand.change(route("a", kind="edge"), endpoints("10.1.1.1", "10.1.1.2"))
    hand.lab.bigip.inject("refuse", times=1, method="PATCH", path="ltm/pool", status=400, message="no")
    hand.change(endpoints("10.1.1.2", "10.1.1.3"))
    assert hand.ask().members == ("10.1.1.2:8080",)
    verdict = hand.direct.reconciler.verdicts.verdict(route("a").key)
    assert verdict.admitted
    assert "1 of 2 pods are not in the pool: no" in verdict.message
    hand.later(5)
    assert hand.ask().members == ("10.1.1.2:8080", "10.1.1.3:8080")
    assert hand.direct.reconciler.verdicts.verdict(route("a").key).message == ""


OLD_FORMS = {
    "edge": ({"kind": "edge", **ONE.tls}, True),
    "passthrough": ({"kind": "passthrough"}, True),
    "unsecured": ({}, False),
}


@pytest.mark.parametrize("old", OLD_FORMS)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_host_that_another_namespace_took_over(hand, old, restarted):
    """The new owner's Route is refused: better no answer than one of the old owner's pods."""
    spec, tls = OLD_FORMS[old]
    hand.change(route("a", **spec))
    assert hand.ask(tls=tls).pool == "/Common/openshift_shop_web"
    hand.refuse("POST", "sys/file")
    hand.change(route("b", namespace="bank", kind="edge", age=5, insecure="Allow", **TWO.tls))
    new = route("b", namespace="bank", kind="edge", age=5, insecure="Allow", **TWO.tls)
    if restarted:
        hand.objects.pop(route("a").key)
        hand.again()
    else:
        hand.change(gone=[route("a")])
    for port in (False, True):
        assert hand.ask(tls=port).pool in (None, "/Common/openshift_bank_web")
    hand.lab.bigip.clear_faults()
    hand.later(10)
    hand.later(300)
    assert hand.ask().pool == "/Common/openshift_bank_web"
    assert hand.direct.reconciler.verdicts.verdict(new.key).admitted


@pytest.mark.parametrize("kind", ["edge", "passthrough"])
def test_a_route_that_left_a_host_and_is_refused_under_the_new_one(hand, kind):
    """Its old Rule still names the host, which is another tenant's now."""
    hand.change(route("a", kind=kind))
    hand.refuse("POST", "ltm/pool")
    hand.change(
        route("a", kind=kind, host="new.example.com", service="api"),
        route("b", namespace="bank", kind=kind, age=5),
    )
    assert hand.ask().pool in (None, "/Common/openshift_bank_web")
    hand.lab.bigip.clear_faults()
    hand.later(10)
    assert hand.ask().pool == "/Common/openshift_bank_web"
    assert hand.ask("new.example.com").pool == "/Common/openshift_shop_api"


def test_a_passthrough_record_of_the_old_owner(hand):
    """The record of a host is changed, not made anew: refused, it would lead to the old owner."""
    hand.change(route("a", kind="passthrough"))
    hand.refuse("POST", "ltm/pool")
    hand.change(route("b", namespace="bank", kind="passthrough", age=5), gone=[route("a")])
    assert hand.ask().kind != "passthrough"
    hand.lab.bigip.clear_faults()
    hand.later(10)
    assert hand.ask().pool == "/Common/openshift_bank_web"


def test_a_deleted_route_is_not_kept_by_another_of_its_host(hand):
    """A Route that a team deletes ends, whatever else of theirs is refused."""
    hand.change(route("a", kind="edge"), route("admin", kind="edge", path="/admin", service="api", age=1))
    hand.refuse("POST", "sys/file")
    hand.change(route("a", kind="edge", **ONE.tls), gone=[route("admin")])
    assert hand.direct.reconciler.verdicts.verdict(route("a").key).reason == "DeviceRejected"
    assert hand.ask(path="/admin").pool == "/Common/openshift_shop_web"


def test_a_route_under_another_name_takes_over(hand):
    """Same host and path, same namespace: the old one serves until the new one does."""
    hand.change(route("a", kind="edge", path="/x"))
    hand.refuse("POST", "ltm/pool")
    hand.change(route("b", kind="edge", path="/x", service="api", age=1), gone=[route("a")])
    assert hand.ask(path="/x").pool == "/Common/openshift_shop_web"
    hand.lab.bigip.clear_faults()
    hand.later(10)
    assert hand.ask(path="/x").pool == "/Common/openshift_shop_api"
    assert hand.lab.pools() == {"/Common/openshift_shop_api"}


@pytest.mark.parametrize("restarted", [False, True])
def test_the_old_form_keeps_its_tls_towards_pods(hand, restarted):
    """The last re-encrypt Route becomes an edge Route, which is refused: no clear text to its pods."""
    hand.change(route("a", kind="reencrypt"))
    before = hand.ask()
    assert before.server_ssl_profile
    hand.refuse("POST", "ltm/pool")
    hand.change(route("a", kind="edge", service="api"))
    if restarted:
        hand.again()
    hand.later(5)
    assert hand.ask() == before
    hand.lab.bigip.clear_faults()
    hand.later(30)
    assert hand.ask().server_ssl_profile is None
    assert hand.lab.bigip.attached_profiles("/Common/https-ose-vserver").count("openshift") == 0


def test_a_delete_that_is_refused_has_its_pause(hand):
    """In use at first, refused later: neither tried without a pause nor forgotten."""
    hand.change(route("a"))
    hand.lab.bigip.inject(
        "refuse", times=1, method="DELETE", path="ltm/pool", status=400, message="in use", code="01070265"
    )
    hand.change(gone=[route("a")])
    assert pump.next_retry(hand.direct.reconciler) == pytest.approx(hand.now + 5)
    hand.lab.bigip.inject("refuse", times=3, method="DELETE", path="ltm/pool", status=400, message="no")
    for seconds in (5, 5, 10, 20, 40, 80):
        hand.later(seconds)
    assert hand.lab.pools() == set()
    assert pump.next_retry(hand.direct.reconciler) is None


def test_a_refused_object_does_not_hold_up_what_was_made_meanwhile(hand):
    """Objects that wait for it are tried with it, and ask for no reading of the device of their own."""
    hand.refuse("PATCH", "ltm/virtual/[^/]*https[^/]*$")
    hand.change(route("a", kind="reencrypt"))
    for seconds in (5, 10, 20, 40):
        hand.later(seconds)
    hand.change(route("b", kind="reencrypt", host="b.example.com"))
    root = pump.next_retry(hand.direct.reconciler)
    hand.lab.clear()
    hand.later(root - hand.now - 1)
    assert not [entry for entry in hand.lab.bigip.log if entry.method == "GET"]
    hand.lab.bigip.clear_faults()
    hand.later(1)
    assert hand.ask("b.example.com").server_ssl_profile
    assert not hand.direct.reconciler.failures


class TestBecomingPassthrough:
    """Requests on connections whose TLS the BIG-IP has ended are served on, for a while."""

    @pytest.fixture
    def hand(self, lab):
        with ExitStack() as stack:
            site = Hand(lab, stack, drain_s=30.0)
            site.change(route("a", kind="reencrypt"), WEB)
            yield site

    def ended(self, hand):
        """Where a request goes on a connection that was made before: its SNI was looked up then."""
        return hand.direct.ask(HOST, tls=True, sni="somebody.example.com")

    def test_for_a_while(self, hand):
        before = self.ended(hand).pool
        hand.change(route("a", kind="passthrough"))
        assert hand.direct.ask(HOST, tls=True).kind == "passthrough"
        assert (self.ended(hand).pool, bool(self.ended(hand).server_ssl_profile)) == (before, True)
        hand.change(endpoints("10.1.1.7"))
        assert self.ended(hand).members == ("10.1.1.7:8080",)
        hand.later(29)
        assert self.ended(hand).pool == before
        hand.later(60)
        assert self.ended(hand).kind == "unavailable"
        assert hand.direct.reconciler.device.observed == hand.direct.reconciler.engine.objects

    def test_with_a_host_that_the_router_makes(self, lab):
        """The Route has none, before and after."""
        with ExitStack() as stack:
            hand = Hand(lab, stack, drain_s=30.0, hostname_template="www.example.com")
            hand.change(route("a", host="", kind="edge"), WEB)
            before = self.ended(hand).pool
            hand.change(route("a", host="", kind="passthrough"))
            assert hand.direct.ask(HOST, tls=True).kind == "passthrough"
            assert self.ended(hand).pool == before
            hand.change(route("a", host="", kind="passthrough", port="http"))
            assert self.ended(hand).pool == before
            hand.later(60)
            assert self.ended(hand).kind == "unavailable"

    def test_not_after_a_restart(self, hand):
        hand.change(route("a", kind="passthrough"))
        hand.again()
        assert self.ended(hand).kind == "unavailable"

    @pytest.mark.parametrize("gone", [True, False])
    def test_not_when_the_route_goes(self, hand, gone):
        """Deleted, or on another host: at once."""
        hand.change(route("a", kind="passthrough"))
        if gone:
            hand.change(gone=[route("a", kind="passthrough")])
        else:
            hand.change(route("a", kind="passthrough", host="b.example.com"))
        assert self.ended(hand).kind == "unavailable"

    def test_not_when_the_new_form_is_rejected(self, hand):
        hand.change(route("a", kind="passthrough", path="/x"))
        assert self.ended(hand).kind == "unavailable"

    def test_not_for_another_namespace(self, hand):
        """The host is claimed by an older Route."""
        hand.change(route("a", kind="passthrough", age=5))
        hand.change(route("b", namespace="bank", kind="edge", age=0), BANK)
        assert (self.ended(hand).pool or "/openshift_bank_").split("_")[1] == "bank"

    def test_back_again(self, hand):
        before = self.ended(hand).pool
        hand.change(route("a", kind="passthrough"))
        hand.change(route("a", kind="reencrypt"))
        hand.later(60)
        assert self.ended(hand).pool == before
        assert hand.direct.reconciler.device.observed == hand.direct.reconciler.engine.objects


def test_what_rules_used_goes_a_moment_later(lab):
    """A request that was led to a pool just before has connected by then; other changes do not wait."""
    pauses: list[list] = []
    with ExitStack() as stack:
        hand = Hand(lab, stack, on_pause=lambda: pauses.append(lab.writes()))
        hand.change(route("a"), route("b", host="b.example.com", service="api"), WEB, API)
        hand.change(endpoints("10.1.1.7"))
        assert pauses == []
        lab.clear()
        hand.change(gone=[route("a")])
        pool = ("DELETE", "/mgmt/tm/ltm/pool/~Common~openshift_shop_web")
        (before,) = pauses
        assert before == lab.writes()[: len(before)]
        assert before[-1] == ("POST", "/mgmt/tm/ltm/policy")
        assert pool in lab.writes()[len(before) :]


@pytest.mark.parametrize("younger", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_host_that_changes_hands_while_its_secret_is_unread(hand, restarted, younger):
    """The certificate of the namespace that had it is shown for no other: rather the new Route waits."""
    bank = route("b", namespace="bank", kind="edge", age=5, **TWO.tls)
    shop = route("a", kind="edge", age=6, external_certificate="tls")
    others = [route("c", kind="edge", age=7, path="/c", **ONE.tls)] if younger else []
    hand.change(bank)
    if restarted:
        hand.objects = {key: obj for key, obj in hand.objects.items() if key != bank.key}
        hand.objects.update((obj.key, obj) for obj in (shop, *others))
        hand.restart()
        seen = hand.direct.watch({"host": HOST, "tls": True})
        hand.direct.change(*hand.objects.values())
    else:
        hand.change(shop, *others)
        seen = hand.direct.watch({"host": HOST, "tls": True})
        hand.change(gone=[bank])
    assert seen
    for [decision] in seen:
        assert not ("shop" in (decision.pool or "") and "bank" in decision.certificate_file)
    assert not [ref for ref in hand.direct.reconciler.device.observed if "route_bank_b" in ref.path]
    assert hand.ask(path="/c").pool == ("/Common/openshift_shop_web" if younger else None)
    delta = Delta(secrets={shop.secret: secret(identity=ONE)})
    hand.direct.reconciler.apply(delta)
    hand.direct.change()
    assert hand.ask().pool == "/Common/openshift_shop_web"
    assert "route_shop_a" in hand.ask().certificate_file
    assert hand.direct.reconciler.device.observed == hand.direct.reconciler.engine.objects


def test_a_refusal_before_a_secret_is_awaited(hand):
    """Objects that wait for a Secret are not tried again and again, and the old refusal is not reported."""
    hand.refuse("POST", "ltm/virtual")
    hand.change(route("a", kind="edge", **ONE.tls))
    assert hand.direct.reconciler.failures
    hand.change(route("a", kind="edge", external_certificate="tls"))
    hand.lab.bigip.clear_faults()
    hand.later(400)
    assert not hand.direct.reconciler.failures
    assert pump.next_retry(hand.direct.reconciler) is None
    assert hand.direct.reconciler.verdicts.verdict(route("a").key) is None
