"""Admission of Routes whose certificate is in a Secret."""

from dataclasses import replace

import pytest

from f5router.admission import admission
from f5router.admission.admission import (
    EXTERNAL,
    INVALID,
)
from tests.builders import Identity, route, secret
from tests.unit.admission.test_admission import ID, OTHER, SETTINGS


def test_certificate_of_a_secret():
    """As if it were written in the Route, whatever stands there."""
    own = admission.check(route("a", kind="edge", **ID.tls, ca_certificate=ID.issuer), SETTINGS)
    for kind in ("edge", "reencrypt"):
        named = route("a", kind=kind, external_certificate="tls", ca_certificate=ID.issuer, **OTHER.tls)
        evaluated = admission.check(named, SETTINGS, secret(identity=ID))
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
    evaluated = admission.check(route("a", kind="edge", external_certificate="tls"), SETTINGS, given)
    message = f"spec.tls.externalCertificate: {words}"
    assert (evaluated.rejection.reason, evaluated.rejection.message) == (reason, message)
    assert evaluated.claims
    assert evaluated.key_pair is None


@pytest.mark.parametrize(
    "given", [None, secret(not_loaded=True), secret(problem="it hangs", not_loaded=True)])
def test_a_secret_that_is_not_read_yet(given):
    """It has no verdict; other problems of the Route, and a name that no Secret can have, are reported."""
    named = route("a", kind="edge", external_certificate="tls", certificate="not looked at")
    evaluated = admission.check(named, SETTINGS, given)
    assert (evaluated.rejection, evaluated.key_pair) == (None, None)
    assert evaluated.pending_secret == (given or secret(not_loaded=True, type=""))
    wrong = admission.check(replace(named, path="no-slash"), SETTINGS, given)
    assert "spec.path" in wrong.rejection.message
    for name in ("A", "a/b", "a" * 254):
        bad = admission.check(route("a", kind="edge", external_certificate=name), SETTINGS)
        assert bad.rejection.message.startswith("spec.tls.externalCertificate: Secret '")
        assert bad.rejection.message.endswith("not found")
        assert bad.pending_secret is None


def test_secrets_may_be_left_alone():
    """--allow-external-certificates=false: as upstream, which looks at the field only with its feature on."""
    named = route("a", kind="edge", external_certificate="tls")
    evaluated = admission.check(named, admission.AdmissionPolicy(external=False), secret(identity=ID))
    assert (evaluated.rejection, evaluated.key_pair) == (None, None)
