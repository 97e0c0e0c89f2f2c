"""From admitted Routes to objects: one row per kind of Route, and the rules of matching."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from f5router.admission.admission import AdmissionPolicy
from f5router.desired import rules
from f5router.model import names, ownership
from f5router.model.cluster import Key
from f5router.model.device_facts import VirtualFacts
from f5router.model.ltm import (
    Attachment,
    CheckedRedirect,
    ClientSSL,
    DataGroup,
    Forward,
    IRule,
    Policy,
    Pool,
    PoolMember,
    Record,
    Redirect,
    Rule,
)
from f5router.model.objects import Ref
from f5router.model.route_options import BalancingDefaults, RouteOptions
from tests import strategies
from tests.builders import FACTS, Settings, endpoints, identity, route, snapshot
from tests.reference import full_build

POOL = "/Common/openshift_shop_web"


def build(*objects, config=None, facts=FACTS):
    return full_build.build(snapshot(*objects), config or Settings(), facts)


def of(built, kind):
    """Objects of a kind, without the pool that is always there."""
    objects = (o for ref, o in built.objects.items()
               if isinstance(o, kind) and ref != Ref(Pool.KIND, "/Common/openshift_nowhere"))
    return sorted(objects, key=lambda o: o.ref)


def entrances(built) -> set[str]:
    """Where requests come in: insecure, secure and their action, or the passthrough record."""
    entries = set()
    for rule in of(built, Rule):
        side = "secure" if rule.policy.endswith(names.SECURE_POLICY) else "insecure"
        entries.add(f"{side} {'redirect' if isinstance(rule.action, Redirect) else 'forward'}")
    if any(r.group.endswith(names.PASSTHROUGH_GROUP) for r in of(built, Record)):
        entries.add("passthrough")
    return entries


@pytest.mark.parametrize(
    ("kind", "insecure", "expected"),
    [
        ("", "", {"insecure forward"}),
        ("edge", "", {"secure forward"}),
        ("edge", "None", {"secure forward"}),
        ("edge", "Allow", {"secure forward", "insecure forward"}),
        ("edge", "Redirect", {"secure forward", "insecure redirect"}),
        ("reencrypt", "", {"secure forward"}),
        ("reencrypt", "Allow", {"secure forward", "insecure forward"}),
        ("reencrypt", "Redirect", {"secure forward", "insecure redirect"}),
        ("passthrough", "", {"passthrough"}),
        ("passthrough", "Redirect", {"passthrough", "insecure redirect"}),
    ],
)
def test_kinds(kind, insecure, expected):
    built = build(route("a", kind=kind, insecure=insecure), endpoints("10.1.1.1"))
    assert entrances(built) == expected
    (pool,) = of(built, Pool)
    assert pool.members == {PoolMember("10.1.1.1", 8080)}
    assert (pool.path == POOL) == (kind != "reencrypt")
    for rule in of(built, Rule):
        if not isinstance(rule.action, Redirect):
            both = insecure == "Allow" and rule.policy.endswith(names.SECURE_POLICY)
            assert rule.action == Forward(pool.path, insecure=both)


WILD = Settings(admission=AdmissionPolicy(wildcards=True))


def test_a_wildcard():
    """Its rule tells the iRule its domain, and comes behind exact hosts."""
    wanted = route(
        "a", host="any.example.com", kind="edge", insecure="Redirect", wildcard=True, **identity().tls)
    built = build(wanted, route("b", age=1), endpoints("10.1.1.1"), config=WILD)
    rules = {(rule.policy.split("_")[1], *rule.hosts): rule for rule in of(built, Rule)}
    secure, redirect = rules["secure", "*.example.com"], rules["insecure", "*.example.com"]
    assert rules["insecure", "www.example.com"].priority_band < redirect.priority_band
    assert {(rule.suffix, type(rule.action)) for rule in (secure, redirect)} == {
        (".example.com", Forward), (".example.com", CheckedRedirect)}
    assert secure.action == Forward(POOL)
    irules = {f"{virtual.path}/rules/{Settings().folder}/{names.REQUEST_IRULE}" for virtual in (
        FACTS.http, FACTS.https)}
    assert {ref.path for rule in (secure, redirect) for ref in rule.protection} >= irules
    (host,) = secure.conditions
    assert (host.operator, host.case_sensitive) == ("endsWith", False)
    assert host.values == {f".example.com{dot}{port}" for dot in ("", ".") for port in ("", ":443")}
    (profile,) = of(built, ClientSSL)
    assert (profile.server_name, profile.path) == (
        "*.example.com", "/Common/openshift_wildcard_example.com-client-ssl-profile")


@pytest.mark.parametrize(("others", "waits"), [
    ((), True), ((route("c", kind="edge", path="/c", age=4),), False),
    ((route("c", kind="edge", path="/c", age=1),), False),
    ((route("c", kind="edge", path="/c", age=4, external_certificate="more"),), True),
])
def test_an_exception_waits_for_a_secret_where_all_do(others, waits):
    """Without its Rules, which do, the host would be nobody's; that of the others is wanted at once."""
    built = build(route("a", host="any.example.com", kind="passthrough", wildcard=True),
                  route("b", kind="edge", age=3, external_certificate="tls"), *others, config=WILD)
    (record,) = (record for record in of(built, Record) if record.data == names.EXCLUSION)
    attached = frozenset(ref for ref in built.undetermined if ref.kind == Attachment.KIND)
    assert record.extra_dependencies == (attached if waits else frozenset())
    assert built.undetermined


def test_a_passthrough_wildcard_tells_others_apart():
    """Only hosts of its subdomain whose TLS ends on the BIG-IP get a record for it."""
    built = build(
        route("a", host="any.example.com", kind="passthrough", wildcard=True), route("b", kind="edge", age=1),
        route("c", host="c.example.com", kind="passthrough", age=2), route("d", host="d.example.com", age=3),
        route("e", host="e.example.org", kind="edge", age=4), config=WILD)
    records = {r.name: r.data for r in of(built, Record) if r.group.endswith(names.PASSTHROUGH_GROUP)}
    assert records == {".example.com": POOL, "c.example.com": POOL, "www.example.com": names.EXCLUSION}
    served = {key.name for key, used in built.uses.items()
              if any(ref.path.endswith("/records/www.example.com") for ref in used)}
    assert served == {"b"}, "without it the Route is not served"


@pytest.mark.parametrize("version", [(11, 5, 1), (12, 0), (12, 1), (17, 1)])
def test_the_pool_is_told(version):
    """To an iRule without which no Rule that forwards comes; not where a device might refuse it."""
    built = build(route("a", kind="edge", insecure="Redirect"), facts=replace(FACTS, version=version))
    told = version >= (12, 1)
    assert {policy.sets_pool_variable for policy in of(built, Policy)} == {told}
    secure, redirect = sorted(of(built, Rule), key=lambda rule: isinstance(rule.action, Redirect))
    assert secure.action == Forward(POOL, told)
    guards = [obj for obj in of(built, Attachment) if obj.target == "/Common/openshift_request_irule"]
    assert len(guards) == 2
    assert {obj.ref for obj in guards if obj.ref in secure.protection} == {
        obj.ref for obj in guards if obj.virtual == FACTS.https.path}
    assert not redirect.protection & {obj.ref for obj in guards if obj.virtual == FACTS.http.path}
    (irule,) = (obj for obj in of(built, IRule) if obj.path == "/Common/openshift_request_irule")
    assert set(irule.dependencies) == {Ref(Pool.KIND, "/Common/openshift_nowhere"),
                                Ref(DataGroup.KIND, "/Common/ssl_reencrypt_serverssl_dg"),
                                Ref(DataGroup.KIND, "/Common/openshift_persistence_dg")}


SOURCE = "/Common/openshift_persistence_dg"


@pytest.mark.parametrize(("kind", "version", "name", "told"), [
    ("", (12, 1), f"{POOL}___", False), ("edge", (17, 1), f"{POOL}___", False),
    ("edge", (12, 0), f"{POOL}___", True), ("", (11, 5, 1), f"{POOL}___", True),
    ("passthrough", (11, 5, 1), "www.example.com", False),
])
def test_a_record_says_who_stays_with_a_pod(kind, version, name, told):
    """It is there before requests come; a device whose Rules cannot tell their pool makes no use of it."""
    asking = route("a", kind=kind)
    defaults = Settings(balancing=BalancingDefaults(tcp="random"))
    built = build(replace(asking, options=RouteOptions(balance="source")), config=defaults,
                  facts=replace(FACTS, version=version))
    (record,) = (obj for obj in of(built, Record) if obj.group == SOURCE)
    assert record.name.startswith(name)
    assert record.data == "source"
    (entrance,) = [obj for obj in (*of(built, Rule), *of(built, Record))
                   if obj != record and names.OWNER_GROUP not in obj.ref.path]
    assert record.ref in entrance.dependencies
    texts = built.warnings.get(asking.key, ())
    assert any("balance source has no effect before TMOS 12.1" in text for _, text in texts) == told
    assert not [obj for obj in of(build(asking, config=defaults), Record) if obj.group == SOURCE]


def test_of_a_route_only_its_host_is_in_a_redirect():
    rule = of(build(route("a", kind="edge", insecure="Redirect", path="/$x[y]")), Rule)[0]
    assert rule.action == Redirect("tcl:https://www.example.com/[string range [HTTP::uri] 1 end]")


@pytest.mark.parametrize("host", ["", "a b", "[exit]", "$x", "a.example.com/", "a@b", "a:80", "A.example.com",
                                  "a\n.example.com", "a;b", "{a", "a\\", "\u00e5.example.com"])
def test_what_is_no_host_is_not_redirected_to(host):
    """The device would evaluate it."""
    with pytest.raises(ValueError, match="host"):
        rules.build_redirects(host, 302, FACTS)


@pytest.mark.parametrize(
    ("port", "wanted"),
    [
        ("", {8080, 9090}),
        ("8080", {8080}),
        ("admin", {9090}),
        ("7070", set()),
        ("dns", set()),
    ],
)
def test_members_by_port(port, wanted):
    """TCP only; every port without targetPort, else by number or name."""
    ports = endpoints("10.1.1.1", "2001:db8::1", ports=(("http", 8080), ("admin", 9090)))
    udp = endpoints("10.1.1.1", name="udp", ports=(("dns", 53),), protocol="UDP")
    (pool,) = of(build(route("a", port=port), ports, udp), Pool)
    assert {m.port for m in pool.members} == wanted
    assert {m.address for m in pool.members} == ({"10.1.1.1", "2001:db8::1"} if wanted else set())


def test_ipv6_members_are_written_with_a_dot():
    assert PoolMember("2001:db8::1", 80).name == "2001:db8::1.80"


def test_a_service_in_another_namespace_is_never_used():
    built = build(route("a"), endpoints("10.1.1.1", namespace="bank"))
    assert of(built, Pool)[0].members == frozenset()


def matches(path: str, request: str) -> bool:
    """True if the conditions of a path hold for a request, after bigip-behaviour.md B4."""

    def holds(c):
        if c.selector == "path":
            text = request
        else:
            segments = request.split("/")
            text = segments[c.index] if c.index < len(segments) else ""
        return any(text == v if c.operator == "equals" else text.startswith(v) for v in c.values)

    return any(all(map(holds, rule)) for rule in rules.match_path(path))


def upstream(path: str, request: str) -> bool:
    """The reference: prefix up to a segment boundary (openshift/router, GenerateRouteRegexp)."""
    return bool(
        re.match(re.escape(path) + r"($|/.*)" if not path.endswith("/") else re.escape(path), request)
    )


PATHS = st.one_of(strategies.PATHS, st.from_regex(r"/[abA.%;/\"{ -]{0,6}", fullmatch=True))


@given(PATHS, PATHS, st.sampled_from(["", "/", "x", "/x", "//"]))
@example("/a", "/ab", "")
@example("/a/", "/a", "")
@example("/a//b", "/a//b", "/c")
@example("/%61", "/a", "")
def test_paths_match_as_upstream(path, base, suffix):
    for request in (base or "/", path + suffix, base + suffix):
        if request.startswith("/") and path:
            assert matches(path, request) == upstream(path, request), (path, request)


def test_plain_paths_take_one_rule():
    assert [len(rules.match_path(p)) for p in ("", "/", "/a", "/a/b", "/a/", "/a//b", "/%61")] == [
        1,
        1,
        1,
        1,
        1,
        2,
        2,
    ]


def test_host_in_every_form():
    (condition,) = rules.match_host("h.com", {80, 8080})
    assert condition.values == {"h.com", "h.com.", "h.com:80", "h.com:8080", "h.com.:80", "h.com.:8080"}
    assert not condition.case_sensitive


@pytest.mark.parametrize(
    ("config", "wanted", "served"),
    [
        pytest.param({"https_virtual": None}, {"kind": "edge"}, False, id="edge without https"),
        pytest.param({"https_virtual": None}, {}, True, id="plain without https"),
        pytest.param({"http_virtual": None}, {}, False, id="plain without http"),
        pytest.param(
            {"http_virtual": None}, {"kind": "edge", "insecure": "Redirect"}, True, id="redirect without http"
        ),
    ],
)
def test_one_virtual_server_only(config, wanted, served):
    built = build(route("a", **wanted), config=replace(Settings(), **config))
    assert (Key("shop", "a") not in built.faults) == served
    assert bool(of(built, Rule)) == served


def test_everything_lies_in_the_folder():
    config = Settings(folder="/P/zone", http_virtual="/P/zone/v", https_virtual="/P/zone/s")
    built = build(
        route("a", kind="reencrypt", insecure="Allow", **identity().tls),
        route("b", host="b.com", kind="passthrough"),
        config=config,
        facts=replace(FACTS, http=VirtualFacts("/P/zone/v"), https=VirtualFacts("/P/zone/s")),
    )
    assert [o for o in built.objects.values() if not ownership.owns("/P/zone", o)] == []
    assert "/Common/ssl_" not in "".join(o.text for o in built.objects.values() if hasattr(o, "text"))


@given(strategies.HOST_NAMES)
def test_the_band_of_a_rule_is_its_path_length(host):
    rules = of(build(route("a", host=host, path="/aa"), route("b", host=host, path="/a", age=1)), Rule)
    bands = [rule.priority_band for rule in sorted(rules, key=lambda rule: rule.name)]
    assert bands == sorted(bands)
