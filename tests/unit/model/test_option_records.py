"""Options that stay on the device with the objects that lead requests to a pool."""

import pytest

from f5router.model import names, ownership
from f5router.model.ltm import Attachment, Forward, IRule, Record, Redirect, Rule
from f5router.model.virtual_server import Listening

POOL, OTHER = "/Common/openshift_shop_web___0123456789abcdef", "/Common/openshift_shop_web"
PASSTHROUGH = f"/Common/{names.PASSTHROUGH_GROUP}"
USERS = [
    Rule("/Common/openshift_secure_routes", "a", 0, frozenset(), Forward(POOL)),
    Rule("/Common/openshift_secure_routes", "b", 0, frozenset(), Forward(OTHER)),
    Rule("/Common/openshift_secure_routes", "c", 0, frozenset(), Redirect("/")),
    Record(PASSTHROUGH, "a.example.com", POOL), Record(PASSTHROUGH, "b.example.com", OTHER),
    Record(PASSTHROUGH, "c.example.com", names.EXCLUSION),
]


@pytest.mark.parametrize("group", ownership.OPTIONS_BY_POOL)
@pytest.mark.parametrize(("name", "users"), [
    (POOL, [0, 3]), ("a.example.com", [3]), ("b.example.com", [4]), ("c.example.com", []),
])
def test_a_record_stays_with_its_users(group, name, users):
    """A record is named by the pool, or by the Host of a passthrough record; its iRule stays too."""
    record = Record(f"/Common/{group}", name, "x")
    attached = {irule: Attachment("/Common/v", "rules", f"/Common/{irule}", IRule.KIND)
                for irule in names.IRULE_ORDER}
    observed = {obj.ref: obj for obj in (*USERS, record, *attached.values())}
    wanted = {record.ref, *(attached[irule].ref for irule in [ownership.OPTIONS_BY_POOL[group]] if irule)}
    options = {record.ref, *(obj.ref for obj in attached.values())}
    assert [ownership.stays_with([obj.ref], observed) & options for obj in USERS] == [
        wanted if number in users else set() for number in range(len(USERS))]


@pytest.mark.parametrize("irule", ["headers", "timeout", "limits", "request"])
def test_an_attachment_that_is_named_stays_with_what_names_it(irule):
    """Whatever the iRule: a virtual server that answers clients keeps what is attached to it."""
    attached = Attachment("/Common/v", "rules", f"/Common/openshift_{irule}_irule", IRule.KIND)
    answering = Listening("/Common/v", frozenset({attached.ref}))
    observed = {obj.ref: obj for obj in (attached, answering)}
    assert attached.ref in ownership.stays_with([answering.ref], observed)


def test_a_record_that_a_rule_names_stays_with_it():
    """Another Rule to the same pool has nothing to do with it; the iRule stays too."""
    group = f"/Common/{names.HTTP_GROUP}"
    records = [Record(group, name, "x") for name in ("mine", "other", POOL)]
    attached = Attachment("/Common/v", "rules", f"/Common/{names.HEADERS_IRULE}", IRule.KIND)
    rule = Rule("/Common/openshift_secure_routes", "a", 0, frozenset(), Forward(POOL, http="mine"))
    beside = Rule("/Common/openshift_secure_routes", "b", 0, frozenset(), Forward(POOL))
    observed = {obj.ref: obj for obj in (rule, beside, attached, *records)}
    assert ownership.stays_with([rule.ref], observed) & observed.keys() == {records[0].ref, attached.ref}
    assert ownership.stays_with([beside.ref], observed) & observed.keys() == set()
