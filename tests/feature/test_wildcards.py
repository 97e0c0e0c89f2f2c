"""Wildcard Routes: where requests go, at the end and after every write in between.

Longer than other modules: all tests send the same requests to the same Routes.
"""

import itertools
from contextlib import ExitStack
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from f5router.model import names
from f5router.reconcile.row import FOR_SERVING
from tests import manifests, pump, strategies
from tests.builders import endpoints, identity, route
from tests.examples import examples
from tests.feature.hand import Hand

ONE, TWO = identity("*.example.com", serial=1), identity("www.example.com", serial=2)
WEB, API = endpoints("10.1.1.1"), endpoints("10.1.9.1", service="api", name="api-1")
BANK = endpoints("10.2.1.1", namespace="bank")


class Wild(Hand):
    """A Hand whose router admits wildcard Routes."""

    flags: ClassVar[dict[str, str]] = {"allow_wildcard_routes": "true"}

    def served(self, host: str, path: str = "/", *, tls: bool = False) -> str:
        """The Service that gets a request: "shop web"; else what happens to it."""
        decision = self.direct.ask(host, path, tls=tls)
        if decision.kind not in ("pool", "passthrough"):
            return decision.kind
        return f"{decision.kind} " + " ".join(decision.pool.rsplit("/", 1)[1].split("_")[1:3])


@pytest.fixture
def wild(lab):
    with ExitStack() as stack:
        site = Wild(lab, stack)
        site.change(WEB, API, BANK)
        yield site
        lab.bigip.on_write = None
        lab.bigip.clear_faults()


@pytest.fixture
def free(lab):
    """Without the ownership check."""
    with ExitStack() as stack:
        site = Wild(lab, stack, disable_namespace_ownership_check="true")
        site.change(WEB, API, BANK)
        yield site
        lab.bigip.clear_faults()


def wildcard(name: str, domain: str = "example.com", **fields):
    return route(name, host=f"any.{domain}", wildcard=True, **fields)


ROUTES = {
    "all": wildcard("all"),
    "all-path": wildcard("all-path", path="/path", service="a"),
    "all-long": wildcard("all-long", path="/path/long/enough", service="b"),
    "exact": route("exact", host="www.example.com", path="/path", service="c", age=5),
    "deep": wildcard("deep", "deep.example.com", path="/p", service="d", age=6),
    "deeper": route("deeper", host="x.deep.example.com", path="/p", service="e", age=7),
    "other": route("other", host="a.other.example.com", path="/x", service="f", age=8),
    "above": wildcard("above", "com", service="g", age=9),
}


REQUESTS = [  # source, host, path, Service
    ("upstream GenerateRouteRegexp", "a.example.com", "/", "web"),
    ("parity 5.1: any case", "A.Example.COM", "/", "web"),
    ("parity 5.1: trailing dot", "a.example.com.", "/", "web"),
    ("parity 5.1: port", "a.example.com:8080", "/", "web"),
    ("parity 5.2: longest path", "a.example.com", "/path", "a"),
    ("parity 5.2: longest path", "a.example.com", "/path/x", "a"),
    ("parity 5.2: longest path", "a.example.com", "/path/long/enough/x", "b"),
    ("parity 5.1: segment", "a.example.com", "/pathx", "web"),
    ("parity 5.2: exact host first, whatever its path", "www.example.com", "/path/long/enough", "c"),
    ("parity 5.2: a miss of all paths falls through", "www.example.com", "/", "web"),
    ("upstream GenerateRouteRegexp: the host itself stands for all", "any.example.com", "/", "web"),
    ("upstream GenerateRouteRegexp: one label", "a.b.example.com", "/", ""),
    ("upstream GenerateRouteRegexp: one label", "a.b.example.com", "/path/long/enough", ""),
    ("upstream GenerateRouteRegexp: one label", "a.b.c.example.com", "/", ""),
    ("upstream GenerateRouteRegexp: not the domain itself", "example.com", "/", "g"),
    ("the domain above has one label", "b.com", "/", "g"),
    ("the wildcard of the nearest domain", "y.deep.example.com", "/p", "d"),
    ("the wildcard of the nearest domain, not a longer path above", "y.deep.example.com", "/path/long", ""),
    ("the nearest domain has no such path", "y.deep.example.com", "/", ""),
    ("exact in a nested domain", "x.deep.example.com", "/p", "e"),
    ("an exact host below a wildcard's label: no path", "x.deep.example.com", "/", ""),
    ("an exact host below a wildcard's label: no path", "a.other.example.com", "/y", ""),
    ("an exact host below a wildcard's label", "a.other.example.com", "/x", "f"),
    ("another domain", "a.example.org", "/", ""),
]


@pytest.mark.parametrize("kind", ["", "edge"])
def test_who_gets_a_request(wild, kind):
    """"" is the 503 page."""
    for older in ROUTES.values():
        changed = route(older.key.name, host=older.host, path=older.path, service=older.service, kind=kind,
                        wildcard=older.wildcard_policy == "Subdomain")
        wild.change(changed, endpoints("10.1.3.1", service=older.service, name=older.service))
    assert not wild.direct.reconciler.verdicts.unserved()
    wanted = [(*row, f"pool shop {row[3]}" if row[3] else "unavailable") for row in REQUESTS]
    assert [(*row, wild.served(row[1], row[2], tls=bool(kind))) for row in REQUESTS] == wanted


@pytest.mark.parametrize(("kind", "insecure", "plain", "secure"), [
    ("", "", "pool shop web", "unavailable"), ("edge", "", "unavailable", "pool shop web"),
    ("edge", "Allow", "pool shop web", "pool shop web"), ("edge", "Redirect", "redirect", "pool shop web"),
    ("reencrypt", "", "unavailable", "pool shop web"),
    ("reencrypt", "Allow", "pool shop web", "pool shop web"),
    ("passthrough", "", "unavailable", "passthrough shop web"),
    ("passthrough", "Redirect", "redirect", "passthrough shop web"),
])
def test_kinds(wild, kind, insecure, plain, secure):
    wild.change(wildcard("a", kind=kind, insecure=insecure))
    assert (wild.served("x.example.com"), wild.served("x.example.com", tls=True)) == (plain, secure)
    assert wild.served("y.x.example.com", tls=True) == "unavailable"
    decision = wild.direct.ask("x.example.com", tls=True)
    assert bool(decision.server_ssl_profile) == (kind == "reencrypt")
    if insecure == "Redirect":
        assert wild.direct.ask("x.example.com", "/p").location == "https://x.example.com/p"


def test_certificates(wild):
    """That of the wildcard for every name of one label; an exact host's own goes before."""
    wild.change(wildcard("a", kind="edge", **ONE.tls), route("b", kind="edge", age=1, **TWO.tls),
                route("c", host="c.example.com", kind="edge", age=2))
    shown = {host: wild.direct.ask(host, tls=True).client_ssl_profile
             for host in ("x.example.com", "www.example.com", "c.example.com", "y.x.example.com")}
    assert shown == {
        "x.example.com": "/Common/openshift_wildcard_example.com-client-ssl-profile",
        "www.example.com": "/Common/openshift_host_www.example.com-client-ssl-profile",
        "c.example.com": "/Common/openshift_wildcard_example.com-client-ssl-profile",
        "y.x.example.com": "/Common/clientssl-default",
    }


def test_an_exact_host_before_a_passthrough_wildcard(wild):
    """Also while either of them comes and goes: one of the two serves it, never a moment of neither."""
    probe = {"host": "www.example.com", "tls": True}
    passing = wildcard("a", kind="passthrough")
    exact = route("b", kind="edge", service="api", age=1, **TWO.tls)
    through, ended = "/Common/openshift_shop_web", "/Common/openshift_shop_api"
    wild.change(exact)
    for change, gone, ways in (
        ([passing], (), [ended]), ((), [exact], [ended, through]), ([exact], (), [through, ended]),
        ((), [passing], [ended]),
    ):
        before, seen = wild.direct.ask(**probe), wild.direct.watch(probe)
        wild.change(*change, gone=gone)
        decisions = [before, *(decision for [decision] in seen)]
        assert [pool for pool, _ in itertools.groupby(decision.pool for decision in decisions)] == ways
        assert all((decision.kind == "passthrough") == (decision.pool == through) for decision in decisions)
        # TLS that ends here has the certificate of the host from the first moment.
        assert {decision.client_ssl_profile for decision in decisions} <= {
            None, "/Common/openshift_host_www.example.com-client-ssl-profile"}
    assert wild.direct.reconciler.device.observed == wild.direct.reconciler.engine.objects


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("which", ["wildcard", "host"])
def test_an_old_form_and_its_exception(wild, which, restarted):
    """The form that stays after a refusal takes nothing from the others, and loses nothing to them."""
    wild.change(wildcard("a", kind="passthrough"), route("b", kind="edge", service="api", age=1))
    wild.refuse("POST", "ltm/pool")
    wild.change(wildcard("a", kind="edge", service="new") if which == "wildcard"
                else route("b", host="elsewhere.test", kind="edge", service="new", age=1))
    if restarted:
        wild.again()
    assert wild.served("www.example.com", tls=True) == "pool shop api"
    assert wild.served("x.example.com", tls=True) == "passthrough shop web"
    wild.lab.bigip.clear_faults()
    wild.later(400)
    assert wild.direct.reconciler.device.observed == wild.direct.reconciler.engine.objects


def test_an_exception_that_is_refused(wild):
    """The wildcard waits for it: it must not take a host that is served."""
    wild.change(route("b", kind="edge", service="api", age=1))
    # Written by itself, then with the whole list.
    wild.lab.bigip.inject("refuse", times=2, method="PATCH", path="ssl_passthrough", status=400, message="no")
    seen = wild.direct.watch({"host": "www.example.com", "tls": True})
    wild.change(wildcard("a", kind="passthrough"))
    assert wild.served("x.example.com", tls=True) == "unavailable"
    wild.later(400)
    assert {decision.pool for [decision] in seen} == {"/Common/openshift_shop_api"}
    assert wild.served("x.example.com", tls=True) == "passthrough shop web"
    assert wild.direct.reconciler.device.observed == wild.direct.reconciler.engine.objects


def test_an_exception_that_waits(wild):
    """The Secret of a host that nobody serves yet holds up no wildcard."""
    wild.change(route("b", kind="edge", service="api", external_certificate="tls", age=1))
    wild.change(wildcard("a", kind="passthrough"))
    assert wild.served("x.example.com", tls=True) == "passthrough shop web"


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("namespace", ["shop", "bank"])
def test_a_host_comes_under_an_old_form(free, namespace, restarted):
    """The host is excepted from a wildcard that is to end TLS here, too, while the previous objects stay."""
    free.change(wildcard("a", kind="passthrough", age=5))
    free.lab.bigip.inject("refuse", times=1, method="POST", path="ltm/pool", status=400, message="no")
    free.change(wildcard("a", kind="edge", service="new", age=5))
    free.change(route("b", namespace=namespace, kind="edge", age=6))
    if restarted:
        free.lab.bigip.inject("refuse", times=1, method="POST", path="ltm/pool", status=400, message="no")
        free.again()
    assert free.served("www.example.com", tls=True) == f"pool {namespace} web"
    assert free.served("x.example.com", tls=True) == "passthrough shop web"
    free.later(400)
    assert free.served("www.example.com", tls=True) == f"pool {namespace} web"
    free.change(endpoints("10.1.7.1", service="new", name="new"))
    assert free.served("x.example.com", tls=True) == "pool shop new"
    assert free.direct.reconciler.device.observed == free.direct.reconciler.engine.objects


@pytest.mark.parametrize("back", [False, True])
def test_a_host_under_a_passthrough_wildcard_changes_its_kind(wild, back):
    """From passthrough to edge, and back, without a gap and never to the wildcard's pods."""
    kinds = [{"kind": "passthrough"}, {"kind": "edge", **TWO.tls}]
    before, after = reversed(kinds) if back else kinds
    wild.change(wildcard("a", kind="passthrough"), route("b", service="api", age=1, **before))
    seen = wild.direct.watch({"host": "www.example.com", "tls": True})
    wild.change(route("b", service="api", age=1, **after))
    assert seen
    assert {decision.pool for [decision] in seen} == {"/Common/openshift_shop_api"}
    assert wild.direct.ask("www.example.com", tls=True).kind == ("passthrough" if back else "pool")


@pytest.mark.parametrize("kind", ["", "edge", "passthrough"])
def test_a_subdomain_changes_hands(wild, kind):
    """The older host of another tenant displaces a wildcard: never a request of one for the other."""
    tls = bool(kind)
    mine = wildcard("a", kind=kind, age=5)
    theirs = route("b", namespace="bank", host="www.example.com", kind=kind, age=1)
    wild.change(mine)
    hosts = ("www.example.com", "x.example.com")
    seen = wild.direct.watch(*({"host": host, "tls": tls} for host in hosts))
    wild.change(theirs)
    for www, other in seen:
        assert www.pool in (None, "/Common/openshift_shop_web", "/Common/openshift_bank_web")
        assert other.pool in (None, "/Common/openshift_shop_web")
    assert wild.served("www.example.com", tls=tls).endswith("bank web")
    assert wild.served("x.example.com", tls=tls) == "unavailable"
    wild.change(gone=[theirs])
    assert {wild.served(host, tls=tls).rpartition(" ")[0] for host in hosts} == {
        f"{'passthrough' if kind == 'passthrough' else 'pool'} shop"}
    assert not wild.direct.reconciler.failures


@pytest.mark.parametrize("restarted", [False, True])
def test_an_old_wildcard_does_not_outlive_its_claim(wild, restarted):
    """Its new objects are refused, so the previous ones would stay; but another tenant holds a host."""
    wild.change(wildcard("a", kind="edge", age=5))
    wild.refuse("POST", "ltm/pool")
    wild.change(route("a", host="elsewhere.test", kind="edge", service="api", age=5))
    assert wild.served("x.example.com", tls=True) == "pool shop web", "the previous objects stay"
    wild.change(route("b", namespace="bank", kind="edge", path="/b", age=6))
    if restarted:
        wild.again()
    for host in ("www.example.com", "x.example.com"):
        assert wild.served(host, tls=True) in ("unavailable", "pool bank web"), host
    wild.lab.bigip.clear_faults()
    wild.later(10)
    wild.later(300)
    assert wild.served("www.example.com", "/b", tls=True).endswith("bank web")
    assert wild.served("elsewhere.test", tls=True).endswith("shop api")


@pytest.mark.parametrize("kind", ["edge", "passthrough"])
def test_an_old_host_does_not_outlive_its_claim(wild, kind):
    """The same for a host, when a wildcard of another tenant takes over its subdomain."""
    wild.change(route("a", kind="edge", age=5))
    wild.refuse("POST", "ltm/pool")
    wild.change(route("a", host="elsewhere.test", kind="edge", service="api", age=5))
    assert wild.served("www.example.com", tls=True) == "pool shop web", "the previous objects stay"
    wild.change(wildcard("b", namespace="bank", kind=kind, age=6))
    assert not wild.served("www.example.com", tls=True).endswith("shop web")
    wild.lab.bigip.clear_faults()
    wild.later(10)
    assert wild.served("www.example.com", tls=True).endswith("bank web")


def test_without_ownership_an_old_form_stays_beside_others(free):
    """Hosts of several namespaces in a subdomain are what the administrator wants."""
    free.change(wildcard("a", kind="edge"), route("b", namespace="bank", kind="edge", age=1))
    free.refuse("POST", "ltm/pool")
    free.change(wildcard("a", kind="edge", service="api"))
    assert free.served("x.example.com", tls=True) == "pool shop web"
    assert free.served("www.example.com", tls=True) == "pool bank web"


def test_a_wildcard_comes_with_its_guard(wild):
    """No rule of a wildcard without the iRule that keeps it to one label, however the writes go."""
    seen = wild.direct.watch({"host": "a.b.example.com"}, {"host": "b.example.com"})
    wild.change(wildcard("a"))
    assert wild.served("b.example.com") == "pool shop web"
    wild.change(route("a", host="any.example.com"))
    wild.change(wildcard("a"))
    wild.change(gone=[wildcard("a")])
    assert len(seen) > 5
    assert {deep.kind for deep, _ in seen} == {"unavailable"}


def test_becoming_passthrough(lab):
    """Decrypted connections are served on by the old rules of the wildcard, with their guard; those of a
    wildcard that is none any more end at once.
    """
    with ExitStack() as stack:
        site = Wild(lab, stack, drain_s=30.0)
        site.change(WEB, wildcard("a", kind="edge"))
        ended = {"sni": "somebody.example.org", "tls": True}
        site.change(wildcard("a", kind="passthrough"))
        assert site.served("x.example.com", tls=True) == "passthrough shop web"
        assert site.direct.ask("x.example.com", **ended).kind == "pool"
        assert site.direct.ask("y.x.example.com", **ended).kind == "unavailable"
        site.later(60)
        assert site.direct.ask("x.example.com", **ended).kind == "unavailable"
        assert site.direct.reconciler.device.observed == site.direct.reconciler.engine.objects
        site.change(wildcard("a", kind="edge"))
        site.change(route("a", host="any.example.com", kind="passthrough"))
        assert site.direct.ask("x.example.com", **ended).kind == "unavailable"
        assert site.served("any.example.com", tls=True) == "passthrough shop web"


@pytest.mark.parametrize("kind", ["", "passthrough"])
def test_hosts_before_the_wildcard(make_lab, kind):
    """Where each Rule, each record is a write: no moment in which a wildcard has what is not meant for it."""
    lab = make_lab(tmos_version="12.0.0")
    lab.virtuals()
    with ExitStack() as stack:
        site = Wild(lab, stack)
        site.change(WEB, API, wildcard("a", kind=kind))
        exact = [route(name, host=f"{name}.example.com", kind=kind, age=1) for name in ("b", "c")]
        seen = site.direct.watch(*({"host": request.host, "tls": bool(kind)} for request in exact))
        site.change(wildcard("a", kind=kind, service="api"), *exact)
        site.change(gone=[wildcard("a"), *exact])
        assert len(seen) > 5
        assert {decision.pool for step in seen for decision in step} == {"/Common/openshift_shop_web", None}


HOSTS = ("www.example.com", "api.example.com", "x.example.com", "a.b", "x.b", "a.www.example.com", "x.y.b")
EVENTS = st.lists(
    st.tuples(st.one_of(strategies.routes(), strategies.slices()), st.booleans()), min_size=1, max_size=4
)


def owners(engine) -> dict[str, set[str]]:
    """Namespaces that may get requests for a host: its holders, and those of its wildcard."""
    held: dict[str, set[str]] = {}
    for key, checked in engine.routes().items():
        if engine.rejection(key) is None:
            held.setdefault(checked.host, set()).add(key.namespace)
    return {host: held.get(host, set()) | held.get(f"*.{host.partition('.')[2]}", set()) for host in HOSTS}


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([
    [(route("r1", namespace="bank"), True)],
    [(route("r1", namespace="bank", host="api.example.com", kind="edge", external_certificate="tls"), True)],
    [(route("r2"), False)],
])
@given(st.lists(EVENTS, min_size=1, max_size=5))
def test_no_request_reaches_another_namespace(wild, batches):
    """After every write: a host's requests go to those who hold it, before or after the event.

    A Route that waits for a Secret keeps the host that it had, until somebody else holds it.
    """
    direct, engine = wild.direct, wild.direct.reconciler.engine
    kept: dict[str, set[str]] = {host: set() for host in HOSTS}
    direct.lab.bigip.on_write = None
    direct.change(gone=[checked.route for checked in engine.routes().values()])
    probes = [{"host": host, "path": path, "tls": tls}
              for host in HOSTS for path in ("/", "/a/b", "/%61") for tls in (False, True)]
    for batch in batches:
        before = owners(engine)
        latest = {(type(obj), obj.key): (obj, present) for obj, present in batch}.values()
        steps = direct.watch(*probes)
        direct.change(*(o for o, there in latest if there), gone=[o for o, there in latest if not there])
        direct.lab.bigip.on_write = None
        after = owners(engine)
        for decisions in [*steps, [direct.ask(**probe) for probe in probes]]:
            for probe, decision in zip(probes, decisions, strict=True):
                allowed = before[probe["host"]] | after[probe["host"]] | kept[probe["host"]]
                nobody = not decision.pool or decision.pool.endswith(names.NOWHERE_POOL)
                assert nobody or decision.pool.split("_")[1] in allowed, (probe, decision)
        waiting = {key.namespace for key in engine.routes() if engine.pending_secret(key)}
        kept = {host: set() if after[host] else (before[host] | kept[host]) & waiting for host in HOSTS}
        # In step, but for what waits for a Secret that nobody has read.
        reconciler = direct.reconciler
        left = {change.ref for change in pump.whole_plan(reconciler)}
        assert left <= reconciler.table.held_for(*FOR_SERVING)
        assert not reconciler.failures


def test_status_and_a_second_pass(lab):
    """As a whole router: the status has the host as written and its policy, and nothing is written twice."""
    manifest = manifests.route("a", host="any.example.com", kind="edge", insecure="Allow")
    manifest["spec"]["wildcardPolicy"] = "Subdomain"
    lab.apply(manifest)
    assert lab.converge() == []
    assert lab.admitted("shop", "a")["reason"] == "RouteNotAdmitted"
    assert lab.converge(allow_wildcard_routes="true") == []
    (entry,) = lab.kube.get("Route", "shop", "a")["status"]["ingress"]
    assert (entry["host"], entry["wildcardPolicy"]) == ("any.example.com", "Subdomain")
    assert lab.admitted("shop", "a")["status"] == "True"
    lab.clear()
    assert lab.converge(allow_wildcard_routes="true") == []
    assert lab.writes() == []


@pytest.mark.parametrize("version", ["11.5.4", "11.6.0", "12.0.0", "12.1.0", "13.1.0", "16.1.0"])
def test_versions(make_lab, version):
    """Plain and draft policies."""
    lab = make_lab(tmos_version=version)
    lab.virtuals()
    with ExitStack() as stack:
        site = Wild(lab, stack)
        site.change(WEB, API, wildcard("a", kind="edge"), route("b", kind="edge", service="api", age=1))
        site.again()
        assert site.served("x.example.com", tls=True) == "pool shop web"
        assert site.served("y.x.example.com", tls=True) == "unavailable"
        assert site.served("www.example.com", tls=True) == "pool shop api"
