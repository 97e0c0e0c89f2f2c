"""Statuses in short: what Events tell of them, and the state that is counted."""

from f5router.model.cluster import Key, Subject
from f5router.model.gateway import GATEWAY, HTTP_ROUTE, ObjectRef, ParentRef
from f5router.model.texts import Problem
from f5router.sources.gateway import verdicts
from f5router.sources.gateway.conditions import Conditions, StatusCondition, false, true
from f5router.sources.gateway.statuses import GatewayStatus, ListenerStatus, RouteParents
from f5router.sources.gateway.verdicts import ObjectCounts, ObjectState
from tests.rows import rows

ACCEPTED, RESOLVED, PROGRAMMED = true("Accepted"), true("ResolvedRefs"), true("Programmed")
REFUSED = false("Accepted", "UnsupportedValue", "spec: no")
LOST = false("ResolvedRefs", "BackendNotFound", "gone")
WAITING = StatusCondition("ResolvedRefs", None, "Pending", "not read")
PARENT = ParentRef(ObjectRef("g", "Gateway", "web"))


def route(*entries: tuple[StatusCondition, ...]) -> RouteParents:
    return RouteParents(1, "c", tuple((PARENT, Conditions.of(*entry)) for entry in entries))


def gateway(*own: StatusCondition, listener: tuple[StatusCondition, ...] = ()) -> GatewayStatus:
    listeners = (ListenerStatus("a", (), 0, Conditions.of(*listener)),) if listener else ()
    return GatewayStatus(1, Conditions.of(*own), listeners)


@rows(("status", "state", "told"), [
    (route(), None, ()),
    (route((ACCEPTED, RESOLVED)), ObjectState.OK, ()),
    (route((ACCEPTED, LOST)), ObjectState.DEGRADED, (Problem("BackendNotFound", "gone"),)),
    (route((ACCEPTED, LOST), (REFUSED, LOST)), ObjectState.REFUSED,
     (Problem("BackendNotFound", "gone"), Problem("UnsupportedValue", "spec: no"))),
    (route((ACCEPTED, RESOLVED, true("PartiallyInvalid", "UnsupportedValue", "Dropped Rule 1"))),
     ObjectState.DEGRADED, (Problem("UnsupportedValue", "Dropped Rule 1"),)),
    (gateway(ACCEPTED, PROGRAMMED, listener=(ACCEPTED, RESOLVED, PROGRAMMED)), ObjectState.OK, ()),
    (gateway(ACCEPTED, false("Programmed", "Pending", "soon"), listener=(ACCEPTED, WAITING)),
     ObjectState.PENDING, ()),
    (gateway(REFUSED, false("Programmed", "Invalid", "spec: no")), ObjectState.REFUSED,
     (Problem("UnsupportedValue", "spec: no"),)),
    (gateway(ACCEPTED, false("Programmed", "AddressNotUsable", "no")), ObjectState.DEGRADED,
     (Problem("AddressNotUsable", "no"),)),
    (gateway(ACCEPTED, PROGRAMMED, listener=(ACCEPTED, RESOLVED, false("Programmed", "Invalid", "refused"))),
     ObjectState.DEGRADED, ()),
    (gateway(ACCEPTED, PROGRAMMED, listener=(
        false("Accepted", "HostnameConflict", "b"), true("Conflicted", "HostnameConflict", "b"))),
     ObjectState.DEGRADED, (Problem("HostnameConflict", "listener a: b"),))])
def test_statuses(status, state, told):
    assert (verdicts.state(status), verdicts.problems(status)) == (state, told)


def test_counts():
    counts = ObjectCounts((GATEWAY, HTTP_ROUTE))
    subject, other = Subject(HTTP_ROUTE, Key("a", "b")), Subject(GATEWAY, Key("a", "b"))
    for each, state in ((subject, ObjectState.OK), (other, ObjectState.OK), (subject, ObjectState.REFUSED)):
        counts.put(each, state)
    assert {key: count for key, count in counts.counts().items() if count} == {
        (GATEWAY, "ok"): 1, (HTTP_ROUTE, "refused"): 1}
    counts.put(subject, None)
    counts.put(subject, None)
    assert sum(counts.counts().values()) == 1
    counts.clear()
    assert set(counts.counts().values()) == {0}
