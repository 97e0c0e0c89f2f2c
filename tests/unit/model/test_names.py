"""Names are distinct for distinct inputs, legal on the device, and recognised as ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import admission
from f5router.kube.api import decode, fields
from f5router.model import names, ownership, tls_names
from f5router.model.cluster import Key
from f5router.model.ltm import (
    Attachment,
    CertFile,
    ClientSSL,
    DataGroup,
    Forward,
    HTTPCompression,
    IRule,
    KeyFile,
    Policy,
    Pool,
    Record,
    Rule,
    ServerSSL,
)
from f5router.model.route_options import MONITOR_TYPES, TCPMonitor
from tests import strategies

KEYS = st.builds(Key, strategies.LABELS, strategies.HOST_NAMES)
PORTS = st.one_of(st.just(""), strategies.LABELS)
TLS = st.sampled_from(["", "0123456789abcdef", "fedcba9876543210"])


def test_names_of_the_original():
    """Objects that mean the same keep their name (openshift/origin v3.11.0, pkg/router/f5/plugin.go)."""
    assert names.rule(Key("foo", "bar")) == "openshift_route_foo_bar"
    assert names.pool("/Common", Key("foo", "test")) == "/Common/openshift_foo_test"
    assert names.pool("/P/sub", Key("foo", "test"), "8080") == "/P/sub/openshift_foo_test_8080"
    path = tls_names.cert_file("/P", Key("foo", "bar"), "pem")
    assert path.startswith("/P/openshift_route_foo_bar-https-cert-")


@given(st.lists(st.tuples(KEYS, PORTS, TLS), min_size=2, max_size=2, unique=True))
def test_distinct_pools(pair):
    """Service `a-80` and port 80 of Service `a` are two pools."""
    first, second = (names.pool("/Common", *item) for item in pair)
    limited = [names.pool("/Common", *item, "route", ending) for item in pair
               for ending in (names.LIMITED, names.RATED)]
    assert len({first, second, *limited, f"/Common/{names.NOWHERE_POOL}"}) == 7
    assert max(map(len, (first, second, *limited))) < 255
    assert [names.limits_clients(path) for path in (first, second, *limited)] == [False] * 2 + [True] * 4


@given(st.lists(st.tuples(KEYS, st.integers(0, 3)), min_size=2, max_size=2, unique=True))
def test_distinct_rules(pair):
    first, second = (names.rule(*item) for item in pair)
    assert first != second


ANY_HOST = strategies.HOST_NAMES | strategies.HOST_NAMES.map(lambda host: f"*.{host}")


@given(st.lists(ANY_HOST, min_size=2, max_size=2, unique=True))
def test_distinct_profiles(pair):
    first, second = (tls_names.client_ssl("/Common", host) for host in pair)
    assert first != second
    assert len(first) < 255
    assert "*" not in first




NAMES = st.one_of(
    strategies.LABELS, strategies.HOST_NAMES, st.text(),
    st.text(st.sampled_from("ab-.09_A/%~ \n\u0663\u202e\ud800"), max_size=6),
    st.integers(1, 260).map(lambda length: "a" * length))


@given(NAMES, NAMES, NAMES, NAMES, NAMES)
def test_owns_whatever_can_be_named(namespace, name, to, port, host):
    """Every object made of a Route that decoding and validation admit is ours."""
    obj = {"metadata": {"namespace": namespace, "name": name},
           "spec": {"host": host, "to": {"name": to}, "port": {"targetPort": port}}}
    try:
        checked = admission.check(decode.route(obj), admission.AdmissionPolicy())
    except fields.DecodeError:
        return
    if checked.rejection is not None:
        return
    route, policy = checked.route, f"/Common/{names.SECURE_POLICY}"
    ours = [
        Pool(names.pool("/Common", Key(route.key.namespace, route.service), route.target_port)),
        Rule(policy, names.rule(route.key), 0, frozenset(), Forward("/x")),
        ClientSSL(tls_names.client_ssl("/Common", route.host), route.host, "", ""),
        CertFile(tls_names.cert_file("/Common", route.key, "")),
        KeyFile(tls_names.key_file("/Common", route.key, "")),
    ]
    assert [obj for obj in ours if not ownership.owns("/Common", obj)] == []
    assert all(re.fullmatch(r"[A-Za-z0-9_./-]{1,254}", obj.ref.path) for obj in ours)
    assert names.pool_namespace(ours[0].path) == names.rule_namespace(names.rule(route.key)) == namespace


@pytest.mark.parametrize("length", [149, 150, 151, 400])
def test_long_names_are_shortened_to_the_limit(length):
    stem = "x" * length
    assert len(names.shorten(stem)) == min(length, names.STEM_LIMIT)
    assert names.shorten(stem) == names.shorten(stem)
    assert names.shorten("x" * 400) != names.shorten("x" * 401)


@given(KEYS, PORTS, TLS, ANY_HOST, st.sampled_from(["/Common", "/P/sub"]))
def test_owns_what_it_names(key, port, tls, host, folder):
    policy = f"{folder}/{names.SECURE_POLICY}"
    profile = tls_names.client_ssl(folder, host)
    ours = [
        Pool(names.pool(folder, key, port, tls)),
        Pool(names.pool(folder, key, port, tls, key.name, names.LIMITED)),
        Pool(names.pool(folder, key, port, tls, key.name, names.RATED)),
        IRule(f"{folder}/{names.LIMITS_IRULE}"),
        DataGroup(names.address_list(folder, [host])),
        Record(f"{folder}/{names.LIMITS_GROUP}", names.pool(folder, key), "x"),
        Pool(f"{folder}/{names.NOWHERE_POOL}"),
        TCPMonitor(names.tcp_monitor(folder, 28799), 28799, 86398),
        *(cls(names.monitor(folder, cls, "5"), 5, 16) for cls in MONITOR_TYPES.values()),
        IRule(f"{folder}/{names.REQUEST_IRULE}"),
        Policy(policy),
        Rule(policy, names.rule(key, 1), 0, frozenset(), Forward("/x")),
        Record(f"{folder}/{names.PASSTHROUGH_GROUP}", host, "x"),
        ClientSSL(profile, host, "", ""),
        ServerSSL(tls_names.server_ssl(folder, "0123456789abcdef")),
        ServerSSL(f"{folder}/{tls_names.DEFAULT_SERVERSSL}"),
        CertFile(tls_names.cert_file(folder, key, host)),
        CertFile(tls_names.chain_file(folder, key, host)),
        CertFile(tls_names.destination_ca_file(folder, host)),
        KeyFile(tls_names.key_file(folder, key, host)),
        Attachment("/Common/vs", "profiles", profile, ClientSSL.KIND),
        HTTPCompression(f"{folder}/{names.COMPRESSION_PROFILE}", frozenset()),
    ]
    assert [obj for obj in ours if not ownership.owns(folder, obj)] == []
    assert [obj for obj in ours if ownership.owns("/Other", obj)] == []
    assert [obj for obj in ours if ownership.owns(f"{folder}/below", obj)] == []


@pytest.mark.parametrize(
    "obj",
    [
        Pool("/Common/web_pool"),
        Pool("/Common/openshift"),
        Pool("/Common/sub/openshift_foo_bar"),
        Policy("/Common/openshift_routes"),
        Policy("/Common/Drafts/openshift_secure_routes"),
        Rule("/Common/openshift_secure_routes", "maintenance", 0, frozenset(), Forward("/x")),
        Rule("/Common/mine", "openshift_route_a_b", 0, frozenset(), Forward("/x")),
        ClientSSL("/Common/clientssl", "", "", ""),
        ClientSSL("/Common/openshift_route_a_b-client-ssl-profile", "", "", ""),
        CertFile("/Common/default.crt"),
        CertFile("/Common/openshift_route_a_b-https-cert.crt"),
        Attachment("/Common/vs", "profiles", "/Common/clientssl", ClientSSL.KIND),
    ],
    ids=lambda obj: str(obj.ref),
)
def test_does_not_own_others_objects(obj):
    assert not ownership.owns("/Common", obj)
