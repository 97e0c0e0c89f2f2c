"""status.py: the router's entry in status.ingress."""

from dataclasses import replace

import pytest

from f5router.admission.condition import PENDING, Verdict, entries, has_verdict, own, refusal, same, without
from tests.builders import route
from tests.rows import rows

NOW = "2026-02-03T04:05:06Z"
BEFORE = "2026-01-01T00:00:00Z"

YES = Verdict(True)
NO = Verdict(False, "HostAlreadyClaimed", "route shop/a has this host")


def condition(status="True", *, at=BEFORE, kind="Admitted", **more):
    return {"type": kind, "status": status, **more, "lastTransitionTime": at}


def entry(*conditions, host="www.example.com", router="public", wildcard="None", **more):
    return {"host": host, "routerName": router, "wildcardPolicy": wildcard,
            "conditions": list(conditions or [condition()]), **more}


def wanted(existing, verdict=YES, *, host="www.example.com", canonical="", wildcard="None"):
    subject = replace(
        route("a", host="www.example.com"), status_ingress=tuple(existing), wildcard_policy=wildcard)
    return entries(subject, verdict, host=host, router_name="public", canonical_hostname=canonical, now=NOW)


REFUSED = condition("False", reason="HostAlreadyClaimed", message="route shop/a has this host")
OTHER = entry(router="haproxy", host="other.example.com", unknown={"kept": 1})
NEXT = entry(router="next")
UPGRADE = condition("True", kind="UnservableInFutureVersions", reason="Sha1")


@pytest.mark.parametrize("existing", [
    pytest.param([entry()], id="the same"),
    pytest.param([OTHER, entry(), NEXT], id="between others"),
    pytest.param([entry(condition(reason="", message=""))], id="empty reason stored"),
    pytest.param([entry(UPGRADE, condition())], id="a condition of another type"),
    pytest.param([entry(somethingNew="filled in by the server")], id="a field we do not know"),
    pytest.param([entry({"type": "Admitted", "status": "True"})], id="no time"),
])
def test_nothing_to_write(existing):
    """An equal condition is not written again, whatever its time."""
    assert wanted(existing) is None


@rows(("existing", "verdict", "more", "expected"), [
    pytest.param([], YES, {}, [entry(condition(at=NOW))], id="first entry"),
    pytest.param([OTHER], YES, {}, [OTHER, entry(condition(at=NOW))], id="added behind another router's"),
    pytest.param([], NO, {}, [entry(REFUSED | {"lastTransitionTime": NOW})], id="refused with reason"),
    pytest.param([OTHER, entry(), NEXT], NO, {},
                 [OTHER, entry(REFUSED | {"lastTransitionTime": NOW}), NEXT], id="replaced in place"),
    pytest.param([entry(REFUSED)], YES, {}, [entry(condition(at=NOW))], id="admitted again: no reason left"),
    pytest.param([entry(REFUSED | {"reason": "InvalidHost"})], NO, {}, [entry(REFUSED)],
                 id="another reason: the time of the status stays"),
    pytest.param([entry(REFUSED | {"message": "old"})], NO, {}, [entry(REFUSED)],
                 id="another message: likewise"),
    pytest.param([entry({"type": "Admitted", "status": "False"})], NO, {},
                 [entry(REFUSED | {"lastTransitionTime": NOW})], id="another reason, and no time"),
    pytest.param([entry(condition("Unknown", reason="DevicePending"))], YES, {}, [entry(condition(at=NOW))],
                 id="no longer pending"),
    pytest.param([], PENDING, {}, [entry(condition("Unknown", at=NOW, reason="DevicePending",
                                                   message=PENDING.message))], id="pending"),
    pytest.param([entry(UPGRADE, condition())], NO, {},
                 [entry(UPGRADE, REFUSED | {"lastTransitionTime": NOW})], id="other conditions are kept"),
    pytest.param([entry(UPGRADE)], YES, {}, [entry(condition(at=NOW), UPGRADE)], id="only another condition"),
    pytest.param([entry(host="old.example.com")], YES, {}, [entry()],
                 id="host: the condition keeps its time"),
    pytest.param([entry()], YES, {"wildcard": "Subdomain"}, [entry(wildcard="Subdomain")],
                 id="wildcard policy"),
    pytest.param([entry()], YES, {"canonical": "r.example.com"},
                 [entry(routerCanonicalHostname="r.example.com")], id="canonical name set"),
    pytest.param([entry(routerCanonicalHostname="r.example.com")], YES, {}, [entry()],
                 id="canonical name unset"),
    pytest.param([entry(), OTHER, entry(host="b.example.com")], YES, {}, [entry(), OTHER],
                 id="duplicates collapse into the first"),
    pytest.param([entry(condition(), condition("False"))], YES, {}, [entry()],
                 id="duplicate conditions collapse into the first"),
    pytest.param([{"routerName": "public"}], YES, {}, [entry(condition(at=NOW))], id="empty entry of ours"),
    pytest.param([{"routerName": "public", "conditions": "bad"}], YES, {}, [entry(condition(at=NOW))],
                 id="conditions of a wrong type"),
])
def test_entries(existing, verdict, more, expected):
    """The whole new list, other routers' entries verbatim and in order."""
    assert wanted(existing, verdict, **more) == expected


def test_the_result_needs_no_further_write():
    """A second pass over what was written finds nothing to do."""
    first = wanted([OTHER], NO, canonical="r.example.com")
    assert wanted(first, NO, canonical="r.example.com") is None


def test_inputs_are_not_changed():
    """Entries are shared with the store of the watcher."""
    ours = entry(UPGRADE, condition())
    wanted([ours], NO)
    assert ours == entry(UPGRADE, condition())


@pytest.mark.parametrize(("left", "right", "expected"), [
    pytest.param(entry(), entry(condition(at=NOW)), True, id="another time"),
    pytest.param(entry(), entry(condition(reason="", message="")), True, id="empty reason stored"),
    pytest.param(entry(UPGRADE, condition()), entry(condition(), UPGRADE), True, id="another order"),
    pytest.param(entry(), entry(somethingNew=1), True, id="a field we do not know"),
    pytest.param(entry(), entry(host="b.example.com"), False, id="host"),
    pytest.param(entry(), entry(routerCanonicalHostname="r.example.com"), False, id="canonical name"),
    pytest.param(entry(), entry(wildcard="Subdomain"), False, id="wildcard policy"),
    pytest.param(entry(), entry(REFUSED), False, id="status"),
    pytest.param(entry(REFUSED), entry(REFUSED | {"reason": "x"}), False, id="reason"),
    pytest.param(entry(REFUSED), entry(REFUSED | {"message": "x"}), False, id="message"),
    pytest.param(entry(), entry(condition(), UPGRADE), False, id="one condition more"),
    pytest.param(entry(), None, False, id="none any more"),
    pytest.param(None, None, True, id="none"),
    pytest.param(entry() | {"conditions": [3]}, entry() | {"conditions": "x"}, True, id="of wrong types"),
])
def test_same(left, right, expected):
    """Another router's write is compared by these fields."""
    assert same(left, right) is same(right, left) is expected


@pytest.mark.parametrize(("ingress", "expected"), [
    pytest.param([], False, id="no entry"),
    pytest.param([entry(router="haproxy")], False, id="another router's"),
    pytest.param([entry()], True, id="yes"),
    pytest.param([entry(REFUSED)], True, id="no"),
    pytest.param([entry(condition("Unknown"))], False, id="not known"),
    pytest.param([entry(UPGRADE)], False, id="something else"),
    pytest.param([entry() | {"conditions": None}], False, id="no conditions"),
])
def test_judged(ingress, expected):
    assert has_verdict(ingress, "public") is expected


def test_own_and_without():
    """The first of ours; all of the others."""
    ingress = [OTHER, entry(host="a"), NEXT, entry(host="b")]
    assert own(ingress, "public")["host"] == "a"
    assert own(ingress, "nobody") is None
    assert without(ingress, "public") == [OTHER, NEXT]


def test_a_long_message():
    """It has a bound, and one that was cut is the same the next time."""
    long = Verdict(False, "Why", "\u00fc" * 100_000)
    (stored,) = wanted([], long)
    message = stored["conditions"][0]["message"]
    assert (len(message.encode()), message[-3:]) == (32767, "...")
    assert wanted([stored], long) is None


@rows(("existing", "message"), [
    ([entry(condition("False", reason="DeviceRejected", message="no"))],
     "no (as the router has reported since 2026-01-01T00:00:00Z)"),
    ([entry(condition("False", reason="DeviceRejected", message="no"), router="next")], None),
    ([entry(REFUSED)], None), ([entry()], None), ([], None),
    ([{"routerName": "public", "conditions": [
        {"type": "Admitted", "status": "False", "reason": "DeviceRejected"}]}],
     " (as the router has reported since an unknown time)"),
])
def test_a_refusal_that_was_reported(existing, message):
    verdict = refusal(existing, "public")
    assert (verdict and verdict.message) == message
