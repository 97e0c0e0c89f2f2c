"""BackendTLSPolicies: which one a Service has, when it cannot be used, and what its routes become then."""

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.kube.api import decode, decode_gateway
from f5router.model.cluster import CA_CRT, OPAQUE, Key, PodAuthority, Secret
from f5router.model.delta import Delta
from f5router.model.secret_keys import config_map_key
from f5router.sources.gateway.backend_tls import BackendPolicies
from tests import manifests
from tests.builders import identity
from tests.examples import examples
from tests.gateways import (
    PASSTHROUGH,
    backend,
    backend_policy,
    conditions,
    gateway,
    http_route,
    listener,
    rule,
    tls_route,
)
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite, certificate

CA = identity("pods.example.com", ca="CA").issuer
REF = {"group": "", "kind": "Secret", "name": "ca"}
POLICY = backend_policy("p", "v1", REF)
GATEWAY, ROUTE = gateway("web"), http_route("r", rule(backend("v1")))
ACCEPTED, RESOLVED = ("True", "Accepted"), ("True", "ResolvedRefs")


def authorities(name: str = "ca", text: str = CA, **fields) -> Secret:
    return Secret(Key("infra", name), OPAQUE, authorities=text, **fields)


def of(site: GatewaySite, name: str = "p") -> dict[str, tuple[str, str]]:
    """Conditions of a policy."""
    policies = site.source.policies
    shown = policies.conditions(policies[Key("infra", name)]).by_type.values()
    return conditions([{"type": each.type, "status": str(each.status), "reason": each.reason}
                       for each in shown])


def asked(site: GatewaySite) -> tuple[str, str, PodAuthority | None]:
    """Service of the only Route for "/", the answer of the BIG-IP, and how its pods are asked."""
    (route,) = (each for each in site.routes.values() if each.origin and each.origin.kind != "Gateway")
    over_tls = route.pods_speak_tls or (route.tls is not None and route.tls.termination == "reencrypt")
    assert over_tls == (route.pod_authority is not None)
    return route.service, route.options.reply, route.pod_authority


WANTED = PodAuthority(
    Key("infra", "ca"), CA_CRT, "BackendTLSPolicy infra/p", (("v1", "pods.example.com"),), asks_for_name=True)
CLOSED = ("", "answer.500.1000000", None)
"""Nothing is asked in clear text."""


def site(*objects: dict, secrets: tuple[Secret, ...] = ()) -> GatewaySite:
    cluster = GatewaySite(GATEWAY, ROUTE)
    cluster.put(*objects, secrets=secrets)
    return cluster


def test_pods_are_asked_over_tls():
    cluster = site(POLICY, secrets=(authorities(),))
    assert of(cluster) == {"Accepted": ACCEPTED, "ResolvedRefs": RESOLVED}
    assert asked(cluster) == ("v1", "", WANTED)
    assert cluster.source.ancestors(cluster.source.policies[Key("infra", "p")]) == [Key("infra", "web")]
    cluster.put(gone=(("BackendTLSPolicy", "p"),))
    assert asked(cluster) == ("v1", "", None)


def test_a_config_map_has_a_key_of_its_own():
    """Beside a Secret of its name."""
    key = config_map_key(Key("infra", "ca"))
    cluster = site(backend_policy("p", "v1", {**REF, "kind": "ConfigMap"}), secrets=(
        authorities(text=""), Secret(key, OPAQUE, authorities=CA)))
    assert asked(cluster)[2].secret == key
    assert key != Key("infra", "ca")


def test_a_listener_that_ends_tls_encrypts_again():
    https = listener("https", 443, "HTTPS", hostname="a.test", secret="tls")
    cluster = GatewaySite(gateway("web", https), ROUTE, POLICY)
    cluster.put(secrets=(authorities(), certificate()))
    assert asked(cluster) == ("v1", "", WANTED)


def test_its_secret_is_followed():
    cluster = site(POLICY)
    (name, route), = cluster.source.take_secret_users().items()
    assert route.secrets == (Key("infra", "ca"),)
    cluster.put(gone=(("BackendTLSPolicy", "p"),))
    assert cluster.source.take_secret_users() == {name: None}


def test_a_name_that_no_object_can_have():
    """Nobody waits for it."""
    cluster = site(backend_policy("p", "v1", {**REF, "name": "../ca"}))
    assert of(cluster) == {"Accepted": ("False", "NoValidCACertificate"),
                           "ResolvedRefs": ("False", "InvalidCACertificateRef")}
    assert asked(cluster) == CLOSED


def test_what_is_not_read_yet_waits():
    """The engine keeps what is there until the Secret is read, where the policy was there before."""
    for secrets in ((), (authorities(text="", not_loaded=True),)):
        cluster = GatewaySite(GATEWAY, ROUTE, POLICY)
        cluster.put(secrets=secrets)
        assert of(cluster) == {"Accepted": ACCEPTED, "ResolvedRefs": ("None", "Pending")}
        assert asked(cluster) == ("v1", "", WANTED)


@rows("before", [(), (backend_policy("p", "v2", REF),), (backend_policy("p", "v1", {**REF, "name": "old"}),)])
def test_a_policy_that_comes_later_closes_its_services_until_its_authorities_are_read(before):
    """Their pods are asked in clear text so far, or by others."""
    cluster = site(*before, secrets=(authorities("old"),))
    cluster.put(POLICY)
    assert of(cluster) == {"Accepted": ACCEPTED, "ResolvedRefs": ("None", "Pending")}
    assert asked(cluster) == CLOSED
    cluster.put(http_route("r", rule(backend("v1"))), secrets=(authorities(text="", not_loaded=True),))
    assert asked(cluster) == CLOSED
    cluster.put(secrets=(authorities(),))
    assert asked(cluster) == ("v1", "", WANTED)
    cluster.put(secrets=(authorities(text="", not_loaded=True),))
    assert asked(cluster) == ("v1", "", WANTED), "what is there verifies them, and stays"


def test_another_replica_that_leads_closes_nothing():
    """The one before it has served the policy."""
    cluster = site()
    cluster.put(POLICY)
    cluster.source.assign_anew()
    cluster.put()
    assert asked(cluster) == ("v1", "", WANTED)


@rows("secret", [
    authorities(problem="Secret 'ca' not found", text=""), authorities(text=""), authorities(text="x"),
    authorities(text="", not_loaded=True, forbidden=True, problem="it may not be read"),
    authorities(text="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")])
def test_authorities_that_cannot_be_used(secret):
    cluster = site(POLICY, secrets=(secret,))
    assert of(cluster) == {"Accepted": ("False", "NoValidCACertificate"),
                        "ResolvedRefs": ("False", "InvalidCACertificateRef")}
    assert asked(cluster) == CLOSED
    assert cluster.route() == {"Accepted": ACCEPTED, "ResolvedRefs": RESOLVED}
    cluster.put(secrets=(authorities(),))
    assert asked(cluster) == ("v1", "", WANTED)


@rows(("policy", "reason"), [
    (backend_policy("p", "v1", {"group": "x.io", "kind": "Y", "name": "z"}), "NoValidCACertificate"),
    (backend_policy("p", "v1", wellKnownCACertificates="System"), "Invalid"),
    (backend_policy("p", "v1", REF, subjectAltNames=[{"type": "Hostname", "hostname": "a.test"}]), "Invalid"),
    (backend_policy("p", "v1", REF, hostname="*.test"), "Invalid"),
    (backend_policy("p", "v1", REF, hostname=""), "Invalid"),
    (backend_policy("p", "v1"), "Invalid"),
    ({**POLICY, "spec": {**POLICY["spec"], "options": {"a.b/c": "d"}}}, "Invalid"),
    ({**POLICY, "spec": {**POLICY["spec"], "validation": "x"}}, "Invalid"),
    ({**POLICY, "spec": {**POLICY["spec"], "validation": {
        "hostname": "a.test", "caCertificateRefs": [REF, {**REF, "name": "other"}]}}}, "Invalid"),
])
def test_policies_that_are_refused_close_their_services(policy, reason):
    cluster = site(policy, secrets=(authorities(), authorities("other")))
    assert of(cluster)["Accepted"] == ("False", reason)
    assert asked(cluster) == CLOSED


def test_the_older_policy_of_a_target_goes_before():
    other = backend_policy("a", "v1", {**REF, "name": "other"}, created="2027-01-01T00:00:00Z")
    cluster = site(POLICY, other, secrets=(authorities(), authorities("other", problem="gone", text="")))
    assert (of(cluster, "a")["Accepted"], asked(cluster)) == (("False", "Conflicted"), ("v1", "", WANTED))
    cluster.put(gone=(("BackendTLSPolicy", "p"),))
    assert (of(cluster, "a")["Accepted"][1], asked(cluster)) == ("NoValidCACertificate", CLOSED)


def test_a_policy_of_a_port_goes_before_one_of_all():
    port = backend_policy("port", "v1", REF, section="http", hostname="port.test",
                          created="2027-01-01T00:00:00Z")
    cluster = site(POLICY, port, secrets=(authorities(),))
    assert of(cluster)["Accepted"] == of(cluster, "port")["Accepted"] == ACCEPTED
    assert asked(cluster)[2].names == (("v1", "port.test"),)
    cluster.put(backend_policy("port", "v1", REF, section="none"))
    assert asked(cluster)[2].names == (("v1", "pods.example.com"),)


@rows("policies", [
    (POLICY,), (POLICY, backend_policy("q", "v2", {**REF, "name": "other"}))])
def test_services_that_are_asked_in_different_ways_share_no_rule(policies):
    cluster = site(*policies, http_route("r", rule(backend("v1"), backend("v2"))),
                secrets=(authorities(), authorities("other")))
    assert cluster.route()["Accepted"] == ("False", "UnsupportedValue")


def test_one_service_with_two_hostnames_shares_no_rule():
    cluster = site(POLICY, backend_policy("q", "v1", REF, section="other", hostname="q.test"),
                secrets=(authorities(),))
    cluster.services[Key("infra", "v1")] = decode.service(
        manifests.service("infra", "v1", ports=(("http", 8080), ("other", 9090)))[0])
    cluster.put(http_route("r", rule(backend("v1"), backend("v1", 9090))))
    assert cluster.route()["Accepted"] == ("False", "UnsupportedValue")


def test_services_of_one_authority_have_names_of_their_own():
    cluster = site(POLICY, backend_policy("q", "v2", REF, hostname="q.test"),
                http_route("r", rule(backend("v1"), backend("v2"))), secrets=(authorities(),))
    assert asked(cluster)[2].names == (("v1", "pods.example.com"), ("v2", "q.test"))


def test_a_policy_that_cannot_be_used_costs_its_share_alone():
    cluster = site(backend_policy("p", "v1", wellKnownCACertificates="System"),
                http_route("r", rule(backend("v1"), backend("v2", weight=3))))
    assert asked(cluster) == ("v2", "answer.500.250000", None)


def test_tls_that_passes_through_needs_no_policy():
    cluster = GatewaySite(gateway("web", listener("tls", **PASSTHROUGH)),
                       tls_route("r", backend("v1"), hostnames=("a.test",)),
                       backend_policy("p", "v1", wellKnownCACertificates="System"))
    assert asked(cluster)[:2] == ("v1", "")


policies = st.builds(backend_policy, st.sampled_from("pqr"), st.sampled_from(["v1", "v2"]), st.just(REF),
                     section=st.sampled_from(["", "http"]),
                     created=st.sampled_from(["2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]))


@settings(max_examples=examples(100))
@given(st.lists(policies | st.sampled_from("pqr"), max_size=10))
def test_any_order_leaves_what_new_policies_are(changes):
    grown, last = BackendPolicies({}), {}
    for change in changes:
        key = Key("infra", change if isinstance(change, str) else change["metadata"]["name"])
        last[key] = None if isinstance(change, str) else decode_gateway.backend_tls_policy(change)
        grown.apply(Delta(backend_policies={key: last[key]}))
    fresh = BackendPolicies({})
    fresh.apply(Delta(backend_policies=last))
    assert set(grown) == set(fresh)
    for service in (Key("infra", "v1"), Key("infra", "v2")):
        assert grown.on([service]) == fresh.on([service])
        for port in ("http", "other"):
            assert grown.winner(service, port) == fresh.winner(service, port)
    assert [grown.conditions(grown[key]) for key in sorted(grown)] == [
        fresh.conditions(fresh[key]) for key in sorted(fresh)]
