"""Holders of hosts and paths, and problems of Routes.

Sources: openshift/router, pkg/router/controller/host_admitter.go, unique_host.go and extended_validator.go.
"""

import base64
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import admission, host_claims
from f5router.admission.admission import Naming
from f5router.model.cluster import Backend, Key, PathMatch, Route, RouteTLS
from f5router.model.findings import CLAIMED, INVALID, INVALID_HOST, NO_HOST, NOT_ADMITTED
from tests import strategies
from tests.builders import identity, route
from tests.rows import rows

ID = identity(algorithm="rsa")
OTHER = identity(serial=1)
SETTINGS = admission.AdmissionPolicy()


def verdicts(*routes, ownership=True):
    """Reason by name of the Route, "" for admitted."""
    checked = [admission.check(r, SETTINGS) for r in routes]
    reasons = host_claims.resolve(checked, ownership=ownership).verdicts
    return {f"{key.namespace}/{key.name}": r.reason if r else "" for key, r in reasons.items()}


@pytest.mark.parametrize(
    ("routes", "admitted"),
    [
        pytest.param([route("a", age=1), route("b", age=2)], "a", id="parity 3.3: oldest claims the host"),
        pytest.param([route("a", age=2), route("b", age=1)], "b", id="parity 3.3: whatever the order"),
        pytest.param([route("b", age=1), route("a", age=1)], "a", id="parity 3.2: equal age: smaller uid"),
        pytest.param(
            [route("a", path="/x"), route("b", path="/y", age=1)], "ab", id="seed 001: paths differ"
        ),
        pytest.param(
            [route("a", path=""), route("b", path="/", age=1)], "ab", id="parity 3.3: no path, and /"
        ),
        pytest.param(
            [route("a", path="/x"), route("b", path="/x/", age=1)], "ab", id="parity 3.3: /x and /x/"
        ),
        pytest.param(
            [route("a", path="/x"), route("b", path="/X", age=1)], "ab", id="parity 5.1: paths have case"
        ),
        pytest.param(
            [route("a", namespace="shop"), route("b", namespace="bank", path="/y", age=1)],
            "a",
            id="seed 001: the namespace of the oldest owns the host",
        ),
        pytest.param(
            [route("a", kind="passthrough"), route("b", kind="edge", path="/y", age=1)],
            "a",
            id="openshift/router #57: passthrough excludes other TLS routes",
        ),
        pytest.param(
            [route("a", kind="edge", path="/y"), route("b", kind="passthrough", age=1)],
            "a",
            id="openshift/router #59: and is excluded by them",
        ),
        pytest.param(
            [route("a", kind="passthrough"), route("b", path="/y", age=1)],
            "ab",
            id="openshift/router #57: passthrough and plain path routes share a host",
        ),
        pytest.param(
            [route("a", kind="edge"), route("b", kind="reencrypt", path="/y", age=1)],
            "ab",
            id="parity 3.3: edge and reencrypt paths share a host",
        ),
    ],
)
def test_claims(routes, admitted):
    reasons = verdicts(*routes)
    assert "".join(sorted(k[-1] for k, reason in reasons.items() if not reason)) == admitted
    assert {reason for reason in reasons.values() if reason} <= {CLAIMED}


def test_without_ownership_paths_of_a_host_may_belong_to_namespaces():
    pair = route("a", namespace="shop"), route("b", namespace="bank", path="/y", age=1)
    assert verdicts(*pair, ownership=False) == {"shop/a": "", "bank/b": ""}
    same = route("a", namespace="shop"), route("b", namespace="bank", age=1)
    assert verdicts(*same, ownership=False) == {"shop/a": "", "bank/b": CLAIMED}


def test_an_invalid_owner_keeps_its_host():
    """A mistake in a certificate must not give the host to another tenant."""
    broken = route("a", kind="edge", certificate="no", key="no")
    assert verdicts(broken, route("b", namespace="bank", age=1)) == {"shop/a": INVALID, "bank/b": CLAIMED}


@given(st.lists(strategies.any_routes(), max_size=8, unique_by=lambda r: r.key), st.randoms())
def test_independent_of_order(routes, random):
    expected = verdicts(*routes)
    random.shuffle(routes)
    assert verdicts(*routes) == expected


@given(st.lists(strategies.any_routes(), max_size=8, unique_by=lambda r: r.key), st.booleans())
def test_no_host_and_path_twice(routes, ownership):
    checked = [admission.check(r, SETTINGS) for r in routes]
    for host in {r.host for r in routes}:
        reasons = host_claims.resolve([c for c in checked if c.route.host == host],
                                      ownership=ownership).verdicts
        held = [r for r in routes if r.host == host and reasons[r.key] is None]
        assert len({(r.path, r.path_match is PathMatch.EXACT) for r in held}) == len(held)
        assert not ownership or len({r.claim_namespace for r in held}) <= 1


@rows("wrong, hint", [
    ({"host": "*.example.com"}, "example.com"),
    ({"host": "*.example.com", "wildcard_policy": "Subdomain"}, "example.com"),
    ({"host": "*.com"}, "com"), ({"host": "*"}, ""), ({"host": "*.*.com"}, ""), ({"host": "*.-a"}, ""),
    ({"host": "a.*.example.com"}, ""), ({"host": "a..b"}, ""),
])
def test_a_wildcard_as_host_is_told_what_to_write(wrong, hint):
    rejection = admission.check(route("a", **wrong), replace(SETTINGS, wildcards=True)).rejection
    assert rejection.reason == INVALID_HOST
    assert hint in rejection.message
    assert (f"; for all hosts of one label below {hint} set spec.host to wildcard.{hint} and "
            "spec.wildcardPolicy to Subdomain" in rejection.message) == bool(hint)


@rows(
    ("wrong", "reason", "field"),
    [
        # parity 3.3, UniqueHost
        pytest.param({"host": ""}, NO_HOST, "spec.host", id="no host"),
        pytest.param({"host": "Www.example.com"}, INVALID_HOST, "spec.host", id="upper case"),
        pytest.param({"host": "*"}, INVALID_HOST, "spec.host", id="star"),
        pytest.param({"host": "*.example.com"}, INVALID_HOST, "spec.host", id="wildcard"),
        pytest.param({"host": "a..b"}, INVALID_HOST, "spec.host", id="empty label"),
        pytest.param({"host": "example.com."}, INVALID_HOST, "spec.host", id="trailing dot"),
        pytest.param({"host": "-a.com"}, INVALID_HOST, "spec.host", id="leading hyphen"),
        pytest.param({"host": "x" * 64 + ".com"}, INVALID_HOST, "spec.host", id="long label"),
        pytest.param({"host": ".".join(["x" * 50] * 5)}, INVALID_HOST, "spec.host", id="254 characters"),
        pytest.param({"host": "a b.com"}, INVALID_HOST, "spec.host", id="space"),
        pytest.param({"host": "a;drop.com"}, INVALID_HOST, "spec.host", id="semicolon"),
        pytest.param({"host": "a.com}\n"}, INVALID_HOST, "spec.host", id="newline"),
        # openshift-apiserver validateRoute; a path of other characters matches no request (parity 5.1)
        pytest.param({"path": "foo"}, INVALID, "spec.path", id="path without slash"),
        pytest.param({"path": "/a\nb"}, INVALID, "spec.path", id="newline in path"),
        pytest.param({"path": "/é"}, INVALID, "spec.path", id="path not ASCII"),
        pytest.param({"path": "/a?b"}, INVALID, "spec.path", id="query in path"),
        pytest.param({"path": "/" + "x" * 2000}, INVALID, "spec.path", id="2,001 characters"),
        pytest.param(
            {"path": "/a", "kind": "passthrough"}, INVALID, "spec.path", id="passthrough with a path"
        ),
        # parity 3.4, ExtendedValidator
        pytest.param({"kind": "Edge"}, INVALID, "spec.tls.termination", id="unknown termination"),
        pytest.param(
            {"kind": "passthrough", "insecure": "Allow"},
            INVALID,
            "spec.tls.insecureEdgeTerminationPolicy",
            id="passthrough allows nothing insecure",
        ),
        pytest.param(
            {"kind": "edge", "insecure": "redirect"},
            INVALID,
            "spec.tls.insecureEdgeTerminationPolicy",
            id="policy in lower case",
        ),
        pytest.param(
            {"kind": "edge", "certificate": "no", "key": "no"}, INVALID, "spec.tls.certificate", id="not PEM"
        ),
        pytest.param({"kind": "edge", "certificate": ID.certificate}, INVALID, "spec.tls.key", id="no key"),
        pytest.param(
            {"kind": "edge", "certificate": ID.certificate, "key": OTHER.key},
            INVALID,
            "spec.tls.key",
            id="key of another certificate",
        ),
        pytest.param(
            {"kind": "edge", **ID.tls, "ca_certificate": identity(ca="Elsewhere").issuer},
            INVALID,
            "spec.tls.certificate",
            id="CA of another",
        ),
        pytest.param(
            {"kind": "passthrough", **ID.tls},
            INVALID,
            "spec.tls.certificate",
            id="passthrough with certificate",
        ),
        pytest.param(
            {"kind": "edge", "destination_ca_certificate": ID.issuer},
            INVALID,
            "spec.tls.destinationCACertificate",
            id="edge with destination CA",
        ),
        pytest.param(
            {"kind": "reencrypt", "destination_ca_certificate": "no"},
            INVALID,
            "spec.tls.destinationCACertificate",
            id="destination CA is not PEM",
        ),
        pytest.param(
            {"kind": "passthrough", "external_certificate": "s"},
            INVALID,
            "spec.tls.externalCertificate: passthrough",
            id="passthrough with external certificate",
        ),
        # core/v1: what no Service is called, and no port of one
        pytest.param({"service": "Web/.."}, INVALID, "spec.to.name", id="no Service name"),
        pytest.param({"port": "a b"}, INVALID, "spec.port.targetPort", id="no port name"),
        pytest.param({"port": "70000"}, INVALID, "spec.port.targetPort", id="no port number"),
    ],
)
def test_refusals_name_the_field(wrong, reason, field):
    rejection = admission.check(route("a", **wrong), SETTINGS).rejection
    assert rejection.reason == reason
    assert rejection.message.startswith(field)
    assert rejection.message.isprintable()
    assert "PRIVATE" not in rejection.message


@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        pytest.param({"wildcard_policy": "Subdomain"}, NOT_ADMITTED, "spec.wildcardPolicy", id="wildcard"),
        pytest.param(
            {"wildcard_policy": "All"}, NOT_ADMITTED, "spec.wildcardPolicy", id="unknown wildcard policy"
        ),
        pytest.param({"wildcard_policy": ""}, NOT_ADMITTED, "spec.wildcardPolicy", id="no policy"),
        pytest.param({"waf": "/Common/strict"}, NOT_ADMITTED,
                     "metadata.annotations: this router does not enforce virtual-server.f5.com/waf "
                     "'/Common/strict' for it", id="a protection"),
        pytest.param({"option_refusal": "metadata.annotations: no"}, NOT_ADMITTED,
                     "metadata.annotations: no", id="an option that cannot be applied"),
        pytest.param({"alternates": (Backend("b"),) * 4}, INVALID,
                     "spec.alternateBackends: there are more than 3", id="four alternates"),
        pytest.param({"alternates": (Backend("b"), Backend("B"))}, INVALID,
                     "spec.alternateBackends[1].name: 'B' is not the name", id="an alternate's name"),
        pytest.param({"alternates": (Backend("b", 1, "Pod"),)}, INVALID,
                     "spec.alternateBackends[0].kind: 'Pod' is not supported", id="an alternate's kind"),
        pytest.param({"service_kind": "Pod"}, INVALID, "spec.to.kind", id="not a Service"),
    ],
)
def test_what_is_not_supported_is_refused(change, reason, field):
    rejection = admission.check(replace(route("a"), **change), SETTINGS).rejection
    assert (rejection.reason, rejection.message.startswith(field)) == (reason, True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"kind": "edge", **identity(expired=True).tls}, id="expired certificate"),
        pytest.param({"kind": "edge", **ID.tls, "ca_certificate": ID.issuer}, id="with its CA"),
        pytest.param(
            {"kind": "edge", "certificate": ID.certificate + ID.key}, id="key in the certificate field"
        ),
        pytest.param({"kind": "edge", **identity(algorithm="ec").tls}, id="elliptic curve"),
        pytest.param({"kind": "edge", **identity("elsewhere.com").tls}, id="certificate of another host"),
        pytest.param({"kind": "edge"}, id="without certificate"),
        pytest.param({"path": "/a/../b"}, id="dots"),
        pytest.param({"path": "/%2e%2e"}, id="escapes"),
        pytest.param({"path": "/\"'{}$[]\\;"}, id="odd characters"),
        pytest.param({"path": "/" + "x" * 1999}, id="2,000 characters"),
        pytest.param({"host": "localhost"}, id="one label"),
        pytest.param({"host": "1.example.com"}, id="leading digit"),
    ],
)
def test_what_upstream_serves_is_served(change):
    assert admission.check(route("a", **change), SETTINGS).rejection is None


def test_material_is_written_anew():
    """Only what was parsed goes on: text around the blocks disappears, the leaf stands alone."""
    key_pair = admission.check(
        route(
            "a",
            kind="edge",
            certificate=f"# note\n{ID.certificate}{ID.issuer}",
            key=f"x\n{ID.key}\ny",
        ),
        SETTINGS,
    ).key_pair
    assert key_pair.certificate == ID.certificate
    assert key_pair.chain == ID.issuer
    assert "note" not in key_pair.certificate + key_pair.chain
    assert key_pair.key.count("-----BEGIN") == 1
    assert "PRIVATE" not in repr(key_pair)


@pytest.mark.parametrize("port", ["0", "65536", "080", "²", "٣", "9" * 5000])
def test_what_looks_like_a_port_number(port):
    """The API server takes any text; int() does not, and not every digit is one of ours."""
    problem = admission.check(route("a", port=port), SETTINGS).rejection
    assert problem.reason == INVALID
    assert "spec.port.targetPort" in problem.message
    assert len(problem.message) < 200


TEXT = st.one_of(st.text(), st.sampled_from([ID.certificate, ID.key, ID.issuer, "/a", "a.b", "edge"]))


@given(
    st.builds(
        Route,
        key=st.builds(Key, TEXT, TEXT),
        host=TEXT,
        path=TEXT,
        service=TEXT,
        target_port=TEXT,
        wildcard_policy=st.one_of(st.just("None"), TEXT),
        tls=st.builds(
            RouteTLS,
            termination=st.sampled_from(["", "edge", "reencrypt", "passthrough"]),
            insecure_policy=st.sampled_from(["", "Allow"]),
            certificate=TEXT,
            key=TEXT,
            ca_certificate=TEXT,
            destination_ca_certificate=TEXT,
        ),
    )
)
def test_no_route_stops_the_router(anything):
    """A check that raised would take the whole router down, again and again."""
    rejection = admission.check(anything, SETTINGS).rejection
    assert rejection is None or "cannot be evaluated" not in rejection.message


def test_a_fault_of_ours_gives_no_host_away():
    """Values that cannot be stand for a fault that nobody knows of: the Route keeps what it claims, by the
    name that the router gave it, and claims nothing if that is where the fault is.
    """
    named = admission.AdmissionPolicy(naming=Naming(template="${name}.x", override=True))
    evaluated = admission.check(replace(route("a", host="victim.com"), target_port=None), named)
    assert (evaluated.rejection.reason, evaluated.claims, evaluated.host) == (INVALID, True, "a.x")
    assert evaluated.rejection.message == "spec: it cannot be evaluated (AttributeError)"
    evaluated = admission.check(replace(route("a"), host=5), SETTINGS)
    assert (evaluated.rejection.reason, evaluated.claims) == (INVALID, False)


P256, OTHER_CURVE = bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a8648ce3d030104")
VERSION_3, VERSION_9 = bytes.fromhex("a003020102"), bytes.fromhex("a003020108")
EC = identity()


def changed(pem_text: str, old: bytes, new: bytes) -> str:
    """PEM of a changed DER."""
    first, *body, last = pem_text.strip().split("\n")
    der = base64.b64decode("".join(body))
    assert old in der
    return "\n".join([first, base64.encodebytes(der.replace(old, new)).decode().strip(), last, ""])


@pytest.mark.parametrize(
    ("tls", "field"),
    [
        ({"certificate": changed(EC.certificate, P256, OTHER_CURVE), "key": EC.key}, "certificate"),
        ({"certificate": EC.certificate, "key": changed(EC.key, P256, OTHER_CURVE)}, "key"),
        ({"certificate": changed(EC.certificate, VERSION_3, VERSION_9), "key": EC.key}, "certificate"),
        ({**EC.tls, "ca_certificate": changed(EC.issuer, P256, OTHER_CURVE)}, "caCertificate"),
    ],
    ids=["curve of the certificate", "curve of the key", "version of the certificate", "curve of the CA"],
)
def test_what_the_library_does_not_know(tls, field):
    """It raises kinds that are no ValueError."""
    problem = admission.check(route("a", kind="edge", **tls), SETTINGS).rejection
    assert problem.reason == INVALID
    assert f"spec.tls.{field}" in problem.message


@pytest.mark.parametrize(
    "text",
    ["-----BEGIN A-----\n" * 50_000, "-----BEGIN A-----\n-----END B-----\n" * 25_000, ID.issuer * 700],
    ids=["blocks without end", "blocks with another end", "many certificates"],
)
def test_a_big_certificate_holds_up_nobody(text):
    """A megabyte, as much as the API server takes; it took minutes, in which no Route was served."""
    start = time.process_time()
    admission.check(route("a", kind="edge", certificate=text, key=ID.key), SETTINGS)
    admission.check(route("a", kind="edge", **ID.tls, ca_certificate=text), SETTINGS)
    assert time.process_time() - start < 2


def test_a_block_without_end():
    problem = admission.check(
        route("a", kind="edge", certificate=ID.certificate + ID.issuer[:300], key=ID.key), SETTINGS
    )
    assert "no end" in problem.rejection.message
