"""Certificates of Routes, and TLS towards their pods, as objects."""

from dataclasses import replace

import pytest

from f5router.model import names, tls_names
from f5router.model.cluster import Backend
from f5router.model.ltm import (
    Attachment,
    CertFile,
    ClientSSL,
    KeyFile,
    Pool,
    Record,
    Rule,
    ServerSSL,
)
from f5router.model.route_options import RouteOptions
from tests.builders import FACTS, Settings, endpoints, identity, route
from tests.unit.desired.test_route_objects import build, of


def test_own_certificate():
    own = identity()
    built = build(route("a", kind="edge", **own.tls, ca_certificate=own.issuer))
    (profile,) = of(built, ClientSSL)
    files = {f.path: f.pem for f in of(built, CertFile) + of(built, KeyFile)}
    assert profile.server_name == "www.example.com"
    assert files[profile.cert] == own.certificate
    assert files[profile.chain] == own.issuer
    assert profile.key in files
    (rule,) = of(built, Rule)
    attached = Attachment("/Common/https-ose-vserver", "profiles", profile.path, ClientSSL.KIND, "clientside")
    assert attached in of(built, Attachment)
    assert attached.ref in rule.dependencies


def test_a_renewal_changes_files_and_one_profile():
    """New names for new content; the profile is switched in one write."""
    first = build(route("a", kind="edge", **identity(serial=1).tls))
    second = build(route("a", kind="edge", **identity(serial=2).tls))
    assert not {f.ref for f in of(first, CertFile)} & {f.ref for f in of(second, CertFile)}
    assert of(first, ClientSSL)[0].ref == of(second, ClientSSL)[0].ref
    assert of(first, Rule) == of(second, Rule)


def test_the_oldest_certificate_of_a_host_decides():
    old = route("old", kind="edge", path="/a", age=1, **identity(serial=1).tls)
    new = route("new", kind="edge", path="/b", age=2, **identity(serial=2).tls)
    plain = route("none", kind="edge", path="/c", age=0)
    (profile,) = of(build(new, old, plain), ClientSSL)
    assert "shop_old" in profile.cert
    # When it goes, the next one takes over in the same profile.
    (after,) = of(build(new, plain), ClientSSL)
    assert (after.path, "shop_new" in after.cert) == (profile.path, True)


@pytest.mark.parametrize(
    ("tls", "default", "expected"),
    [
        pytest.param(
            {"destination_ca_certificate": identity().issuer}, "", ("ca", ""), id="own CA: chain only"
        ),
        pytest.param({}, identity().issuer, ("ca", "web.shop.svc"), id="default CA: name too"),
        pytest.param({}, "", ("", ""), id="neither: not verified"),
    ],
)
def test_tls_towards_pods(tls, default, expected):
    built = build(route("a", kind="reencrypt", **tls), config=Settings(default_destination_ca=default))
    (profile,) = (p for p in of(built, ServerSSL) if tls_names.DEFAULT_SERVERSSL not in p.path)
    assert (bool(profile.ca_file), profile.authenticate_name) == (bool(expected[0]), expected[1])
    (pool,) = of(built, Pool)
    assert Record("/Common/ssl_reencrypt_serverssl_dg", pool.path, profile.path) in of(built, Record)
    assert bool(built.warnings) == (not expected[0])


@pytest.mark.parametrize("unverified", [True, False], ids=["may be anybody", "must be verified"])
@pytest.mark.parametrize(("wanted", "own", "default", "expected"), [
    (True, True, False, (True, "")), (True, False, True, (True, "web.shop.svc")), (True, False, False, None),
    (False, True, False, (True, "")), (False, False, True, (True, "web.shop.svc")),
    (False, False, False, None),
])
def test_verification_of_pods(wanted, own, default, expected, unverified):
    """A team may do without it only where the administrator lets it."""
    if not wanted and unverified:
        expected = (False, "")
    ca = identity().issuer
    asking = replace(route("a", kind="reencrypt", **({"destination_ca_certificate": ca} if own else {})),
                     options=RouteOptions(verify_pods=wanted))
    built = build(asking, config=Settings(
        default_destination_ca=ca if default else "", unverified_pods=unverified))
    profiles = [p for p in of(built, ServerSSL) if tls_names.DEFAULT_SERVERSSL not in p.path]
    assert [(bool(p.ca_file), p.authenticate_name) for p in profiles] == ([expected] if expected else [])
    assert bool(built.faults) == (expected is None)
    texts = [text for texts in built.warnings.values() for _, text in texts if "secure-serverssl" in text]
    assert len(texts) == (not wanted and expected is not None)


@pytest.mark.parametrize(("weight", "alternates", "name", "services"), [
    pytest.param(100, (Backend("canary", 0),), "web.shop.svc", ["web"], id="first step of a canary"),
    pytest.param(0, (Backend("canary", 100),), "canary.shop.svc", ["canary"], id="last step"),
    pytest.param(0, (Backend("canary", 0),), "web.shop.svc", ["web"], id="nobody answers"),
])
def test_a_default_ca_verifies_the_service_that_has_a_weight(weight, alternates, name, services):
    """Pods of another Service would be refused for their names, also for sessions that they have."""
    asking = replace(route("a", kind="reencrypt"), weight=weight, alternates=alternates)
    built = build(asking, endpoints("10.1.1.1", service="web"), endpoints("10.1.1.2", service="canary"),
                  config=Settings(default_destination_ca=identity().issuer))
    profiles = [obj for obj in of(built, ServerSSL) if tls_names.DEFAULT_SERVERSSL not in obj.path]
    assert [profile.authenticate_name for profile in profiles] == [name]
    pods = {"10.1.1.1": "web", "10.1.1.2": "canary"}
    assert [pods[member.address] for pool in of(built, Pool) for member in pool.members] == services


def test_a_default_ca_verifies_each_service_by_its_own_name():
    """The record of the pool leads to those of its Services, and these to profiles that Routes share."""
    divided = replace(route("a", kind="reencrypt"), weight=90, alternates=(
        Backend("canary", 10), Backend("api", 0)))
    config, pods = Settings(default_destination_ca=identity().issuer), [
        endpoints("10.1.1.1", service="api"), endpoints("10.1.1.2", service="canary"),
        endpoints("10.1.1.3", service="web")]
    built = build(divided, route("b", host="b.com", kind="reencrypt"), *pods, config=config)
    assert not built.faults
    own, shared = sorted(of(built, Pool), key=lambda pool: -len(pool.members))
    assert {member.address: member.priority_group for member in own.members} == {
        "10.1.1.1": 1, "10.1.1.2": 2, "10.1.1.3": 3}
    names_of = {profile.path: profile.authenticate_name for profile in of(built, ServerSSL)}
    records = {record.name: record for record in of(built, Record)
               if record.group.endswith(names.REENCRYPT_GROUP)}
    assert records[own.path].data == names.BY_SERVICE
    assert [names_of[records[f"{own.path}/{number}"].data] for number in (1, 2, 3)] == [
        "api.shop.svc", "canary.shop.svc", "web.shop.svc"]
    assert records[shared.path].data == records[f"{own.path}/3"].data
    (rule,) = (rule for rule in of(built, Rule) if rule.action.pool == own.path)
    assert {record.ref for name, record in records.items()
            if name.startswith(own.path)} <= set(rule.dependencies)


@pytest.mark.parametrize(("weight", "alternates", "same"), [
    pytest.param(1, (Backend("canary", 99),), True, id="weights"),
    pytest.param(50, (Backend("canary", 50), Backend("api", 0)), False, id="one more"),
    pytest.param(50, (Backend("api", 50),), False, id="another one"),
])
def test_other_services_have_another_pool(weight, alternates, same):
    """So no number ever stands for another Service in one pool."""
    asking = replace(route("a", kind="reencrypt"), weight=50, alternates=(Backend("canary", 50),))
    config = Settings(default_destination_ca=identity().issuer)
    pools = [of(build(changed, config=config), Pool)[0].path for changed in (
        asking, replace(asking, weight=weight, alternates=alternates))]
    assert (pools[0] == pools[1]) == same


def test_pools_are_shared_only_with_equal_pod_tls():
    routes = [
        route("plain", host="a.com"),
        route("edge", host="b.com", kind="edge"),
        route("pass", host="c.com", kind="passthrough"),
        route("one", host="d.com", kind="reencrypt", destination_ca_certificate=identity().issuer),
        route("same", host="e.com", kind="reencrypt", destination_ca_certificate=identity().issuer),
        route("other", host="f.com", kind="reencrypt"),
    ]
    assert len(of(build(*routes), Pool)) == 3


def test_reencrypt_brings_its_own_server_ssl_only_where_there_is_none():
    facts = replace(FACTS, https=replace(FACTS.https, server_ssl=("/Common/serverssl",)))
    ours = "/Common/openshift_default-server-ssl-profile"
    without = {a.target for a in of(build(route("a", kind="reencrypt")), Attachment)}
    having = {a.target for a in of(build(route("a", kind="reencrypt"), facts=facts), Attachment)}
    assert ours in without
    assert ours not in having
    irule = "/Common/openshift_reencrypt_irule"
    assert irule in without & having
    # An edge Route alone needs the iRule too: the administrator's profile would encrypt to its pods.
    edge = build(route("a", kind="edge"), facts=facts)
    assert irule in {a.target for a in of(edge, Attachment)}
    assert any(irule in ref.path for ref in of(edge, Rule)[0].dependencies)


def test_the_originals_server_ssl_profile_is_not_leant_on():
    """It is removed one day; as long as it is there, it would encrypt to the pods of edge Routes."""
    left = ("/Common/openshift_route_shop_a-server-ssl-profile",)
    facts = replace(FACTS, https=replace(FACTS.https, original_server_ssl=left))
    for kind in ("reencrypt", "edge"):
        attached = {a.target for a in of(build(route("a", kind=kind), facts=facts), Attachment)}
        assert "/Common/openshift_default-server-ssl-profile" in attached
        assert "/Common/openshift_reencrypt_irule" in attached


def test_allow_speaks_tls_to_the_pod_from_port_80_too():
    built = build(route("a", kind="reencrypt", insecure="Allow"))
    insecure = next(r for r in of(built, Rule) if r.policy.endswith(names.INSECURE_POLICY))
    assert "__" in insecure.action.pool
    attached = {(a.virtual, a.target) for a in of(built, Attachment)}
    assert ("/Common/ose-vserver", "/Common/openshift_reencrypt_irule") in attached
