"""Findings about the installation as a whole."""

import datetime
from datetime import date

from f5router.admission.admission import EvaluatedRoute
from f5router.model.client_tls import TLSKeyPair, Validity
from f5router.model.cluster import Key
from f5router.model.errors import AuthFailed, LoginRefused, TokenLimit
from f5router.model.ltm import Pool, PoolMember
from f5router.model.ltm_nodes import LTMNode, NodeMap
from f5router.model.meanings import Effect
from f5router.views import incidents
from tests import builders
from tests.rows import rows

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
BIGIP, API = "the BIG-IP a", "the API server"


@rows(("error", "code"), [
    (None, None), (AuthFailed("GET", "x", "no"), None),
    (TokenLimit("POST", "x", "100"), "TokenLimitReached"),
    (LoginRefused("POST", "x", "no"), "LoginRefused"),
])
def test_errors(error, code):
    result = incidents.of_error(error)
    assert (result.code if result else None) == code


@rows(("offsets", "expected"), [
    ({}, []),
    ({BIGIP: None, API: None}, []),
    ({BIGIP: 30.0, API: -30.0}, []),
    ({BIGIP: 3600.0, API: 0.0},
     [f"the clock of {BIGIP} is 3600 s ahead of this machine, or it shows the time of another zone"]),
    ({BIGIP: 3600.0, API: None},
     [f"the clock of {BIGIP} is 3600 s ahead of this machine, or it shows the time of another zone"]),
    ({BIGIP: 0.0, API: -100.0}, [f"the clock of {API} is 100 s behind this machine"]),
    ({BIGIP: 100.0, API: 101.0},
     [f"the clock of this machine is 100 s behind the clocks of {BIGIP} and {API}"]),
    ({BIGIP: 100.0, API: 200.0}, [f"the clock of {BIGIP} is 100 s ahead of this machine",
                                  f"the clock of {API} is 200 s ahead of this machine"]),
])
def test_clocks(offsets, expected):
    assert [each.text for each in incidents.of_clocks(offsets)] == expected


@rows(("exists", "ends", "code"), [
    (False, None, "LicenceExpired"), (True, None, None), (True, date(2026, 2, 28), "LicenceExpired"),
    (True, date(2026, 3, 1), "LicenceEndsSoon"), (True, date(2026, 3, 15), "LicenceEndsSoon"),
    (True, date(2026, 3, 16), None),
])
def test_licence(exists, ends, code):
    result = incidents.of_licence(exists=exists, ends=ends, today=NOW.date())
    assert (result.code if result else None) == code


def pool(name: str, *addresses: str) -> Pool:
    return Pool(f"/P/{name}", members=frozenset(PoolMember(address, 80) for address in addresses))


@rows(("pools", "effect"), [
    ([], None), ([pool("a")], None), ([pool("a", "10.0.0.2")], None),
    ([pool("a", "10.0.0.1", "10.0.0.2")], Effect.FEWER),
    ([pool("a", "10.0.0.1", "10.0.0.2"), pool("b", "10.0.0.1")], Effect.LOST),
])
def test_ltm_nodes(pools, effect):
    nodes = NodeMap({}, "P", disabled={"10.0.0.1": LTMNode("/P/10.0.0.1", "10.0.0.1", state="disabled")})
    assert [each.effect for each in incidents.of_ltm_nodes(nodes, pools)] == ([effect] if effect else [])


def ending(*days: float) -> list[tuple[Key, EvaluatedRoute]]:
    """Routes whose certificates end after so many days."""
    return [(Key("shop", f"r{number}"), EvaluatedRoute(builders.route("a"), key_pair=TLSKeyPair(
        "", "", "", "", Validity((), NOW, NOW + datetime.timedelta(days=each)))))
        for number, each in enumerate(days)]


@rows(("days", "default", "expected"), [
    ((), None, []), ((8,), 8, []),
    ((7, 30), None, ["certificates that end within a week: Route shop/r0 on 2026-03-08"]),
    ((3, 1), 2, ["certificates that end within a week: Route shop/r1 on 2026-03-02, the default certificate "
                 "on 2026-03-03, Route shop/r0 on 2026-03-04"]),
    ((-1, 1), None, ["certificates that have ended: Route shop/r0 on 2026-02-28",
                     "certificates that end within a week: Route shop/r1 on 2026-03-02"]),
    (tuple([1] * 7), None, ["certificates that end within a week: " + ", ".join(
        f"Route shop/r{number} on 2026-03-02" for number in range(5)) + " and 2 more"]),
])
def test_certificates(days, default, expected):
    end = None if default is None else NOW + datetime.timedelta(days=default)
    result = incidents.of_certificates(ending(*days), end, NOW)
    assert [each.text for each in result] == expected
