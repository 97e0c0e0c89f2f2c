"""Claims to Hosts: the messages of Routes that do not get theirs."""

from dataclasses import replace

import pytest

from f5router.admission import admission, host_claims
from f5router.admission.admission import AdmissionPolicy, Naming
from tests.builders import route
from tests.unit.admission.test_host_claims import MINE, OWN, THEIRS, WILD

HELD = "spec.host: a route in another namespace holds {} and is older than b"
MESSAGES = [
    # source, Routes of which the last one lost, ownership, what it is told
    (
        "upstream, HostAdmitter: an older host in the domain of a wildcard",
        [route("a", host="w.d.e", **MINE), route("b", host="x.d.e", wildcard=True, **THEIRS)],
        True,
        HELD.format("a host of *.d.e"),
    ),
    (
        "upstream, HostAdmitter: a host in the domain of an older wildcard",
        [route("a", host="w.d.e", wildcard=True, **MINE), route("b", host="x.d.e", **THEIRS)],
        True,
        HELD.format("*.d.e"),
    ),
    (
        "upstream, UniqueHost: the host of another namespace",
        [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", path="/x", **THEIRS)],
        True,
        HELD.format("w.d.e"),
    ),
    (
        "upstream, UniqueHost: without ownership, another namespace's host and path",
        [route("secret", host="w.d.e", **MINE), route("b", host="w.d.e", **THEIRS)],
        False,
        HELD.format("w.d.e"),
    ),
    (
        "upstream, HostAdmitter: without ownership, another namespace's wildcard",
        [
            route("secret", host="w.d.e", wildcard=True, **MINE),
            route("b", host="x.d.e", wildcard=True, **THEIRS),
        ],
        False,
        HELD.format("*.d.e"),
    ),
    (
        "upstream, UniqueHost: the own namespace's host and path",
        [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", **OWN)],
        True,
        "spec.host: route a already exposes w.d.e and is older",
    ),
    (
        "upstream, HostAdmitter: the own namespace's wildcard",
        [route("a", host="w.d.e", wildcard=True, **MINE), route("b", host="x.d.e", wildcard=True, **OWN)],
        True,
        "spec.host: route a already exposes *.d.e and is older",
    ),
    (
        "openshift/router #508: the Route in conflict, not any of the host",
        [
            route("a", host="w.d.e", path="/a", **MINE),
            route("c", host="w.d.e", path="/c", **MINE),
            route("b", host="w.d.e", path="/c", **OWN),
        ],
        True,
        "spec.host: route c already exposes w.d.e and is older",
    ),
    (
        "openshift/router #59: the oldest of several in conflict",
        [
            route("a", host="w.d.e", kind="edge", path="/a", **MINE),
            route("c", host="w.d.e", kind="edge", path="/c", **MINE),
            route("b", host="w.d.e", kind="passthrough", **OWN),
        ],
        True,
        "spec.host: route a already exposes w.d.e and is older",
    ),
    (
        "equal ages, another namespace",
        [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", namespace="ns2")],
        True,
        "spec.host: a route in another namespace holds w.d.e and is as old as b, but comes first by its UID",
    ),
    (
        "equal ages, the own namespace",
        [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", **MINE)],
        True,
        "spec.host: route a already exposes w.d.e and is as old, but comes first by its UID",
    ),
]


@pytest.mark.parametrize(("source", "routes", "ownership", "words"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_messages(source, routes, ownership, words):
    """They name no other tenant, and none of its Routes."""
    judged = host_claims.resolve([admission.check(r, WILD) for r in routes], ownership=ownership).verdicts
    assert judged[routes[-1].key].message == words


def test_the_message_names_what_made_the_host():
    """A field, or the administrator's setting: else a team looks where nothing is to be changed."""
    old = route("old", host="a.x")
    named = replace(route("a", namespace="other", age=1), host="")
    for naming, new, source in (
        (Naming(template="${name}.x"), named, "--hostname-template"),
        (Naming(domain="x"), replace(named, subdomain="a"), "spec.subdomain"),
        (Naming(), replace(named, host="a.x"), "spec.host"),
    ):
        checked = [admission.check(route, AdmissionPolicy(naming=naming)) for route in (old, new)]
        rejection = host_claims.resolve(checked, ownership=True).verdicts[new.key]
        assert rejection.message.startswith(f"{source}: a route in another namespace holds a.x"), rejection
