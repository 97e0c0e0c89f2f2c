"""The lowest version of TLS that an object asks for, and the status of its redirect."""

from dataclasses import replace

import pytest

from f5router.desired.engine import Engine
from f5router.icontrol.codec import ltm_codec, policy_codec
from f5router.model import names, ownership, tls_names
from f5router.model.client_tls import TLSProperties, TLSSettings
from f5router.model.ltm import ClientSSL, ClientSSLParent, Redirect, Rule
from f5router.model.objects import Ref
from tests.builders import FACTS, Settings, identity, route, virtual
from tests.unit.desired.test_engine import delta

BY_DEFAULT = frozenset({"dont-insert-empty-fragments", "no-tlsv1.3"})
DEVICE = replace(FACTS, client_ssl=TLSProperties(options=BY_DEFAULT))
OLD = replace(DEVICE, version=(13, 1), client_ssl=TLSProperties(options=frozenset()))
PATH = tls_names.client_ssl("/Common", "www.example.com")
UP_TO_1_1 = {"no-sslv3", "no-tlsv1", "no-tlsv1.1"}


def rooted(minimum="", name="a", **more):
    plain = route(name, **{"kind": "edge", "insecure": "Redirect", **identity().tls, **more})
    return replace(virtual(plain, "IngressRoute"), minimum_tls=minimum, redirect_status=301)


def built(*routes, facts=DEVICE, **settings):
    engine = Engine(Settings(**settings))
    engine.set_facts(facts)
    engine.apply(delta(*((each, True) for each in routes)))
    return engine


def options(engine) -> set[str] | None:
    """Options of the parent of the Host's profile; None if that is none of ours."""
    parent = engine.objects[Ref(ClientSSL.KIND, PATH)].parent
    profile = engine.objects.get(Ref(ClientSSL.KIND, parent))
    return set(profile.properties.options) if isinstance(profile, ClientSSLParent) else None


@pytest.mark.parametrize(("minimum", "settings", "facts", "expected"), [
    ("", {}, DEVICE, None),
    ("1.1", {}, DEVICE, BY_DEFAULT | {"no-sslv3", "no-tlsv1"}),
    ("1.2", {}, DEVICE, BY_DEFAULT | UP_TO_1_1),
    ("1.2", {}, OLD, UP_TO_1_1),
    ("1.3", {}, DEVICE, BY_DEFAULT - {"no-tlsv1.3"} | UP_TO_1_1 | {"no-tlsv1.2"}),
    ("1.2", {"minimum": "1.1", "maximum": "1.3"}, DEVICE, BY_DEFAULT - {"no-tlsv1.3"} | UP_TO_1_1),
    ("1.1", {"minimum": "1.2", "maximum": "1.2"}, DEVICE, BY_DEFAULT | UP_TO_1_1),
])
def test_the_stricter_of_router_and_object_counts(minimum, settings, facts, expected):
    engine = built(rooted(minimum), facts=facts, client_tls=TLSSettings(**settings))
    assert options(engine) == expected
    assert not engine.fault(rooted().key)


@pytest.mark.parametrize(("minimum", "settings", "facts", "why"), [
    ("1.3", {}, OLD, "possible from TMOS 14.0 on; this BIG-IP has 13.1"),
    ("1.3", {"minimum": "1.2", "maximum": "1.2"}, DEVICE, "configured for at most TLSv1.2"),
    ("1.2", {"client_certificates": "required"}, DEVICE, "asks clients for certificates"),
    ("9", {}, DEVICE, "'9', which is unknown"),
])
def test_a_version_that_cannot_be_had_is_refused(minimum, settings, facts, why):
    """The object is not served, rather than with less than it asks for."""
    engine = built(rooted(minimum), facts=facts, client_tls=TLSSettings(**settings))
    assert why in engine.fault(rooted().key)
    assert not engine.uses(rooted().key)


def test_without_a_certificate_nothing_can_be_asked_for():
    bare = rooted("1.2", certificate="", key="")
    assert "no certificate for the host" in built(bare).fault(bare.key)
    as_strict = TLSSettings(minimum="1.2", maximum="1.3", client_certificates="optional")
    assert not built(bare, client_tls=as_strict).fault(bare.key)


def test_the_oldest_with_a_certificate_decides():
    """The others are served as it says, and warned."""
    first, second = rooted("1.2"), rooted("1.3", "b", path="/b", age=1)
    engine = built(first, second)
    assert options(engine) == BY_DEFAULT | UP_TO_1_1
    assert not any("determines" in text for _, text in engine.warnings(first.key))
    assert any("determines the minimum TLS version: 1.2" in text
               for _, text in engine.warnings(second.key))


def test_hosts_share_a_parent_that_goes_with_the_last_of_them():
    other = rooted("1.2", "b", host="other.example.com")
    engine = built(rooted("1.2"), other)
    path = tls_names.parent_client_ssl("/Common", "1.2")
    parent = engine.objects[Ref(ClientSSL.KIND, path)]
    assert tls_names.is_parent(path)
    assert ownership.owns("/Common", parent)
    body = {"fullPath": path, **ltm_codec.client_ssl_changes(parent)}
    assert ltm_codec.decode_client_ssl(body) == parent
    engine.apply(delta((other, False), (rooted(), True)))
    assert parent.ref not in engine.objects
    assert options(engine) is None


@pytest.mark.parametrize(("facts", "wildcard", "status", "warned"), [
    (DEVICE, False, 301, ""), (OLD, False, 302, "302; 301 is not possible before TMOS 14.0"),
    (DEVICE, True, None, "302; 301 is not possible on a wildcard host")])
def test_the_status_of_a_redirect(facts, wildcard, status, warned):
    policy = replace(Settings().admission, wildcards=True)
    engine = built(rooted(wildcard=wildcard), facts=facts, admission=policy)
    (rule,) = [obj for obj in engine.objects.values()
               if isinstance(obj, Rule) and obj.policy.endswith(names.INSECURE_POLICY)]
    if status:
        assert isinstance(rule.action, Redirect)
        assert rule.action.status == status
        body = policy_codec.encode_rule(rule)
        assert [action.get("code") for action in body["actions"]] == [301 if status == 301 else None]
    warnings = [text for _, text in engine.warnings(rooted().key) if "redirected" in text]
    assert [warned in text for text in warnings] == [True] * bool(warned)
