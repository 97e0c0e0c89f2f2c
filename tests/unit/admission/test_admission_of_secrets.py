"""Admission of Routes whose certificates, or authorities for pods, are in a Secret."""

from dataclasses import replace

import pytest

from f5router.admission import admission
from f5router.model.cluster import CA_CRT, TLS_CRT, Key, PodAuthority
from f5router.model.findings import EXTERNAL, INVALID
from tests.builders import Identity, route, secret
from tests.unit.admission.test_admission import ID, OTHER, SETTINGS


def check(asking, *given, settings=SETTINGS) -> admission.EvaluatedRoute:
    """Evaluate a Route. Args: given: Secrets that are known."""
    return admission.check(asking, settings, {each.key: each for each in given if each})


def test_certificate_of_a_secret():
    """As if it were written in the Route, whatever stands there."""
    own = admission.check(route("a", kind="edge", **ID.tls, ca_certificate=ID.issuer), SETTINGS)
    for kind in ("edge", "reencrypt"):
        named = route("a", kind=kind, external_certificate="tls", ca_certificate=ID.issuer, **OTHER.tls)
        evaluated = check(named, secret(identity=ID))
        assert (evaluated.rejection, evaluated.key_pair, evaluated.route) == (None, own.key_pair, named)


@pytest.mark.parametrize(("given", "reason", "words"), [
    pytest.param(secret(problem="Secret 'tls' not found"), EXTERNAL, "Secret 'tls' not found", id="absent"),
    pytest.param(secret(problem="no right"), EXTERNAL, "no right", id="forbidden"),
    pytest.param(secret(identity=ID, type="Opaque"), EXTERNAL,
                 "Secret 'tls' is of type 'Opaque'; kubernetes.io/tls is required", id="type"),
    pytest.param(secret(), INVALID, "tls.crt: no certificate specified", id="empty"),
    pytest.param(secret(identity=Identity("no", ID.key)), INVALID, "tls.crt: it is not PEM", id="not PEM"),
    pytest.param(secret(identity=Identity(ID.certificate, "")), INVALID, "tls.key: no key specified",
                 id="no key"),
    pytest.param(secret(identity=Identity(ID.certificate, OTHER.key)), INVALID,
                 "tls.key: the key does not match the certificate", id="other key"),
])
def test_a_secret_that_cannot_be_used(given, reason, words):
    """Source: openshift/router, route_secret_manager.go and ValidateTLSExternalCertificate: it comes after
    the contest for the host, which the Route holds, and before the validation of the certificate.
    """
    evaluated = check(route("a", kind="edge", external_certificate="tls"), given)
    message = f"spec.tls.externalCertificate: {words}"
    assert (evaluated.rejection.reason, evaluated.rejection.message) == (reason, message)
    assert evaluated.claims
    assert evaluated.key_pair is None


@pytest.mark.parametrize(
    "given", [None, secret(not_loaded=True), secret(problem="it hangs", not_loaded=True)])
def test_a_secret_that_is_not_read_yet(given):
    """It has no verdict; other problems of the Route, and a name that no Secret can have, are reported."""
    named = route("a", kind="edge", external_certificate="tls", certificate="not looked at")
    evaluated = check(named, given)
    assert (evaluated.rejection, evaluated.key_pair) == (None, None)
    assert evaluated.pending_secret == (given or secret(not_loaded=True, type=""))
    wrong = check(replace(named, path="no-slash"), given)
    assert "spec.path" in wrong.rejection.message
    for name in ("A", "a/b", "a" * 254):
        bad = admission.check(route("a", kind="edge", external_certificate=name), SETTINGS)
        assert bad.rejection.message.startswith("spec.tls.externalCertificate: Secret '")
        assert bad.rejection.message.endswith("not found")
        assert bad.pending_secret is None


def test_secrets_may_be_left_alone():
    """--allow-external-certificates=false: as upstream, which looks at the field only with its feature on."""
    named = route("a", kind="edge", external_certificate="tls")
    evaluated = check(named, secret(identity=ID), settings=admission.AdmissionPolicy(external=False))
    assert (evaluated.rejection, evaluated.key_pair) == (None, None)


PODS = PodAuthority(Key("shop", "tls"), CA_CRT, "field of 'tls'", (("web", "pod.example.com"),))


@pytest.mark.parametrize(("given", "reason", "words"), [
    pytest.param(secret(problem="Secret 'tls' not found"), EXTERNAL, "Secret not found", id="absent"),
    pytest.param(secret(problem="no right"), EXTERNAL, "no right", id="forbidden"),
    pytest.param(secret(type="example.com/ca", authorities=ID.issuer), EXTERNAL,
                 "Secret type is 'example.com/ca'; kubernetes.io/tls and Opaque are possible", id="type"),
    pytest.param(secret(identity=ID, type="Opaque"), EXTERNAL, 'empty "ca.crt" key', id="other key"),
    pytest.param(secret(authorities=" \n"), EXTERNAL, 'empty "ca.crt" key', id="blank"),
    pytest.param(secret(authorities="no"), INVALID, "ca.crt: it is not PEM", id="not PEM"),
    pytest.param(secret(authorities=ID.key), INVALID, "ca.crt: there is no certificate in it", id="a key"),
])
def test_authorities_that_cannot_be_used(given, reason, words):
    """The Route keeps its Host, and the reason names object and field."""
    asking = replace(route("a", kind="reencrypt", **OTHER.tls), pod_authority=PODS)
    evaluated = check(asking, given)
    assert (evaluated.rejection.reason, evaluated.rejection.message) == (reason, f"field of 'tls': {words}")
    assert evaluated.claims
    unnamed = replace(asking, pod_authority=PodAuthority(Key("shop", "a/b"), CA_CRT, PODS.field))
    assert check(unnamed, given).rejection.message == "field of 'tls': Secret not found"


@pytest.mark.parametrize("kind", ["Opaque", "kubernetes.io/tls"])
def test_authorities_of_a_secret(kind):
    """As if they were written in the Route, and beside a certificate of another Secret."""
    asking = replace(route("a", kind="reencrypt", external_certificate="own"), pod_authority=PODS)
    own, pods = secret(identity=ID, name="own"), secret(type=kind, authorities=OTHER.issuer)
    evaluated = check(asking, own, pods)
    assert (evaluated.rejection, evaluated.destination_ca, bool(evaluated.key_pair)) == (
        None, OTHER.issuer, True)
    of_certificate = replace(asking, pod_authority=PodAuthority(PODS.secret, TLS_CRT, PODS.field))
    assert check(of_certificate, own, secret(identity=ID, type=kind)).destination_ca == ID.certificate
    for known in ([], [replace(pods, not_loaded=True, problem="it hangs")]):
        waiting = check(asking, own, *known)
        assert (waiting.rejection, waiting.pending, waiting.pending_secret) == (None, True, None)
        assert waiting.pending_authority.key == pods.key
        assert not waiting.needs_default_ca
