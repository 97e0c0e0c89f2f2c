"""Claims to Hosts: the tables of upstream's own tests, host_admitter_test.go of openshift/router.

Its fuzz tests list for each Route the older ones that keep it out; the chain that follows there, UniqueHost,
keeps out a second Route of the same spec.host and path. Judged from scratch, a Route is admitted when none
of these is admitted itself. Hosts have ".zone" behind them here: ours need a domain.
"""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission import admission, host_claims
from f5router.admission.admission import AdmissionPolicy
from f5router.model.findings import CLAIMED
from tests.builders import route
from tests.examples import examples
from tests.rows import rows
from tests.unit.admission.test_host_claims import FREE, WILD

# namespace/name, host, path, wildcard, second of its creation, the older ones that keep it out
OWNED = [
    ("1/1", "net", "", False, 0, ""),
    ("1/2", "net", "", True, 1, ""),
    ("1/3", "www.same.net", "", False, 2, ""),
    ("1/4", "www.same.net", "", True, 3, ""),
    ("1/5", "foo.same.net", "", True, 4, "1/4"),
    ("2/1", "com", "", False, 10, "1/2"),
    ("2/2", "com", "", True, 11, "1/1 1/2"),
    ("2/3", "www.same.com", "", False, 12, ""),
    ("2/4", "www.same.com", "", True, 13, ""),
    ("2/5", "www.same.com", "/abc", True, 13, ""),
    ("2/6", "foo.same.com", "", True, 14, "2/4"),
    ("2/7", "foo.same.com", "/abc", True, 14, "2/5"),
    ("3/1", "net", "", False, 20, "1/1 1/2 2/2"),
    ("3/2", "net", "", True, 21, "1/1 1/2 2/1 2/2"),
    ("3/3", "net", "/p1", True, 22, "1/1 1/2 2/1 2/2"),
    ("3/4", "com", "", False, 23, "1/2 2/1 2/2"),
    ("3/5", "com", "", True, 24, "1/1 1/2 2/1 2/2 3/2"),
    ("3/6", "com", "/p1/p2", True, 25, "1/1 1/2 2/1 2/2"),
    ("4/1", "domain1.com", "", False, 30, ""),
    ("5/1", "domain1.com", "", False, 31, "4/1"),
    ("4/2", "domain1.com", "", False, 32, "4/1 5/1"),
    ("5/2", "domain1.com", "", False, 33, "4/1 5/1 4/2"),
    ("6/1", "foo.domain1.com", "", True, 40, ""),
    ("7/1", "bar.domain1.com", "", True, 50, "6/1"),
    ("7/2", "bar.domain1.com", "", False, 51, "6/1"),
    ("7/3", "bar.domain1.com", "/foo", False, 51, "6/1"),
    ("8/1", "baz.domain1.com", "", True, 60, "6/1 7/1 7/2 7/3"),
    ("8/2", "baz.domain1.com", "", False, 61, "6/1 7/1"),
    ("9/1", "foo.domain2.com", "", False, 40, ""),
    ("10/1", "bar.domain2.com", "", True, 50, "9/1"),
    ("10/2", "bar.domain2.com", "", False, 51, ""),
    ("10/3", "foo.domain2.com", "", False, 52, "9/1"),
    ("10/4", "foo.domain2.com", "/p1", False, 53, "9/1"),
    ("10/5", "foo.domain2.com", "/p2", False, 54, "9/1"),
    ("10/6", "foo.domain2.com", "/p1/p2/other", False, 55, "9/1"),
    ("10/7", "foo.domain2.com", "/someother", False, 56, "9/1"),
    ("11/1", "baz.domain2.com", "", True, 60, "9/1 10/1 10/2 10/3 10/4 10/5 10/6 10/7"),
    ("11/2", "baz.domain2.com", "", False, 61, "10/1"),
    ("12/1", "foo.domain3.com", "", False, 70, ""),
    ("12/2", "bar.domain3.com", "/abc", False, 71, ""),
    ("13/1", "foo.domain3.com", "", True, 80, "12/1 12/2"),
    ("13/2", "bar.domain3.com", "", False, 81, "12/2"),
    ("13/3", "bar.domain3.com", "/abc", False, 82, "12/2"),
    ("13/4", "bar.domain3.com", "/def", False, 83, "12/2"),
    ("13/5", "wild.domain3.com", "/aces", True, 84, "12/1 12/2"),
    ("13/6", "wild.domain3.com", "", True, 85, "12/1 12/2 13/1"),
    ("14/1", "foo.domain3.com", "", False, 90, "12/1 13/1 13/5 13/6"),
    ("14/2", "bar.domain3.com", "", False, 91, "12/2 13/1 13/2 13/3 13/4 13/5 13/6"),
    ("15/1", "foo.domain4.com", "", False, 100, ""),
    ("15/2", "foo.domain4.com", "/abc", False, 101, ""),
    ("15/3", "foo.domain4.com", "", False, 102, "15/1"),
    ("15/4", "foo.domain4.com", "/abc", False, 103, "15/2"),
    ("15/5", "www.domain4.com", "", True, 104, ""),
    ("15/6", "www.domain4.com", "/abc", True, 105, ""),
    ("15/7", "www.domain4.com", "", True, 106, "15/5"),
    ("15/8", "www.domain4.com", "/abc", True, 107, "15/6"),
    ("15/9", "www.domain4.com", "/def", True, 108, ""),
    ("15/10", "www.domain4.com", "/def", True, 109, "15/9"),
]
SHARED = [
    ("1/1", "org", "", True, 0, ""),
    ("1/2", "org", "/p1", False, 1, ""),
    ("1/3", "www.w3.org", "", False, 2, ""),
    ("1/4", "www.w3.org", "/p1", True, 3, ""),
    ("1/5", "info", "", False, 4, ""),
    ("2/1", "info", "/p1", False, 10, ""),
    ("2/2", "www.server.info", "", False, 11, ""),
    ("2/3", "www.server.info", "/p1", False, 12, ""),
    ("2/4", "wild.server.info", "", True, 13, ""),
    ("2/5", "wilder.server.info", "/p1", True, 14, ""),
    ("2/6", "org", "/other", False, 15, ""),
    ("3/1", "org", "", True, 20, "1/1"),
    ("3/2", "org", "/p1", False, 21, "1/2"),
    ("3/3", "org", "", True, 22, "1/1 3/1"),
    ("3/4", "info", "", True, 23, "1/1 1/5 3/1 3/3"),
    ("4/1", "www.server.info", "", False, 24, "2/2"),
    ("4/2", "www.server.info", "/p1", False, 25, "2/3"),
    ("4/3", "wild.server.info", "", True, 26, "2/4"),
    ("4/4", "wild.server.info", "", True, 27, "2/4 4/3"),
    ("4/5", "wilder.server.info", "/p1", True, 28, "2/5"),
    ("5/1", "org", "/abc", True, 30, ""),
    ("5/2", "www.server.info", "/xyz", False, 31, ""),
    ("5/3", "www.server.info", "/abc/xyz", True, 32, ""),
    ("6/1", "somedomain.org", "", False, 40, ""),
    ("7/1", "somedomain.org", "", False, 41, "6/1"),
    ("6/2", "somedomain.org", "", False, 42, "6/1 7/1"),
    ("7/2", "somedomain.org", "", False, 43, "6/1 7/1 6/2"),
    ("8/1", "foo.somedomain.org", "", True, 50, ""),
    ("8/2", "foo.somedomain.org", "/path1", True, 51, ""),
    ("9/1", "foo.somedomain.org", "", True, 52, "8/1"),
    ("9/2", "foo.somedomain.org", "/path1", True, 53, "8/2"),
    ("9/3", "bar.somedomain.org", "", False, 54, ""),
    ("10/1", "baz.somedomain.org", "", True, 55, "8/1 9/1"),
    ("10/2", "foo.somedomain.org", "", True, 56, "8/1 9/1 10/1"),
    ("10/3", "bar.somedomain.org", "", False, 57, "9/3"),
    ("10/4", "bar.somedomain.org", "/path2", False, 58, ""),
]


VALID = [
    ("1/1", "net", "", False, 0, ""),
    ("2/2", "com", "", False, 1, ""),
    ("3/3", "domain1.com", "", False, 2, ""),
    ("4/4", "domain2.com", "", False, 3, ""),
    ("5/5", "foo.domain1.com", "", False, 4, ""),
    ("6/6", "bar.domain1.com", "", False, 5, ""),
    ("7/7", "sub.foo.domain1.com", "", True, 6, ""),
    ("8/8", "sub.bar.domain1.com", "", True, 7, ""),
    ("8/9", "sub.bar.domain1.com", "/p1", True, 8, ""),
    ("8/10", "sub.bar.domain1.com", "/p2", True, 9, ""),
    ("8/11", "sub.bar.domain1.com", "/p1/p2/p3", True, 10, ""),
    ("9/12", "sub.bar.domain2.com", "", False, 11, ""),
    ("9/13", "sub.bar.domain2.com", "/p1", False, 12, ""),
    ("9/14", "sub.bar.domain2.com", "/p2", False, 13, ""),
]
DOMAINS = [
    ("1/first", "owner.namespace.test", "", True, 100, ""),
    ("2/diffnamespace", "www.namespace.test", "", False, 202, "1/first"),
    ("2/diffnamespacewildcard", "www.namespace.test", "", True, 202, "1/first"),
    ("3/diffns2", "www.namespace.test", "", False, 202, "1/first"),
    ("3/host2diffns2", "api.namespace.test", "", False, 203, "1/first"),
    ("3/host2diffns3", "api.namespace.test", "", True, 203, "1/first"),
    ("1/ownernshost", "api.namespace.test", "", False, 204, ""),
    ("1/ownernswildcardhost", "wild.namespace.test", "", True, 204, "1/first"),
    ("4/tldhost", "ns1.org", "", False, 0, ""),
    ("6/tldhostwildcard", "wild.play", "", True, 0, ""),
    ("7/yatldhost2", "vinyl.play", "", False, 1, "6/tldhostwildcard"),
    ("8/anothertldhostwildcard", "oscarwilde.com", "", True, 0, ""),
    ("7/yatldhostwildcard", "test.me", "", True, 0, ""),
    ("9/level2sub", "test.co.us", "", False, 0, ""),
    ("9/level2sub2", "unit.co.us", "", False, 0, ""),
    ("9/level2sub3", "qe.co.us", "", True, 0, ""),
    ("1/wildcard-owner", "wildcard.namespace.test", "", True, 200, "1/first"),
]


def built(row):
    name, host, path, wildcard, age, _ = row
    namespace, number = name.split("/")
    plain = route(number, namespace=namespace, host=f"{host}.zone", path=path, wildcard=wildcard, age=age)
    return replace(plain, uid=f"{age:04}_{namespace:>4}_{number:>4}")


def expected(rows) -> dict[str, bool]:
    """Return for each Route True if upstream's lists admit it."""
    admitted: dict[str, bool] = {}
    for row in sorted(rows, key=lambda row: built(row).age):
        name, host, path, _, _, against = row
        taken = [
            r[0] for r in rows if admitted.get(r[0]) and (r[0] in against.split() or r[1:3] == (host, path))
        ]
        admitted[name] = not taken
    return admitted


def judged(routes, policy: AdmissionPolicy):
    """Rejection or None by name; every subdomain by itself."""
    spaces: dict = {}
    for claimant in routes:
        checked = admission.check(claimant, policy)
        spaces.setdefault(checked.subdomain, []).append(checked)
    rejections = {}
    for checked in spaces.values():
        rejections |= host_claims.resolve(checked, ownership=policy.ownership).verdicts
    return {str(key): rejection for key, rejection in rejections.items()}


def verdicts(routes, policy: AdmissionPolicy):
    """Reason by name, "" for admitted."""
    return {name: r.reason if r else "" for name, r in judged(routes, policy).items()}


def compare(rows, policy: AdmissionPolicy) -> None:
    """Compare with upstream's verdicts; a holder is admitted, older than the loser, and another Route."""
    rejections, admitted = judged(map(built, rows), policy), expected(rows)
    assert {name: not rejection for name, rejection in rejections.items()} == admitted
    age = {row[0]: built(row).age for row in rows}
    for name, rejection in rejections.items():
        if rejection:
            assert rejection.reason == CLAIMED
            assert admitted[str(rejection.holder)]
            assert age[str(rejection.holder)] < age[name]
            assert str(rejection.holder) not in rejection.message


TABLES = {
    "TestInvalidRouteAdmissionFuzzing": (OWNED, WILD),
    "TestDisableOwnershipChecksFuzzing": (SHARED, FREE),
    "TestValidRouteAdmissionFuzzing": (VALID, WILD),
    "TestWildcardSubDomainOwnership": (DOMAINS, WILD),
}


@rows(
    ("rows", "policy", "number"),
    [(rows, policy, number) for rows, policy in TABLES.values() for number in range(len(rows))],
    ids=[f"{source} {row[0]}" for source, (rows, _) in TABLES.items() for row in rows],
)
def test_upstream(rows, policy, number):
    """Each Route with those that keep it out, and with all of them."""
    row = rows[number]
    compare([row], policy)
    for other in row[5].split():
        compare([row, next(r for r in rows if r[0] == other)], policy)
    compare(rows[: number + 1], policy)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from([(OWNED, WILD), (SHARED, FREE), (VALID, WILD)]), st.data())
def test_upstream_whatever_is_there(table, data):
    rows, policy = table
    some = data.draw(st.lists(st.sampled_from(rows), unique_by=lambda row: row[0], max_size=25))
    compare(some, policy)
