"""secret_schedule.py: what each reply of the API server says about a Secret."""

from dataclasses import replace

import pytest

from f5router.kube.secrets.secret_schedule import SecretState
from f5router.model.cluster import Key, Secret
from f5router.model.errors import (
    KubeForbidden,
    KubeInvalid,
    KubeUnauthorized,
    KubeUnreachable,
    ResourceExpired,
    ResourceUnavailable,
)

TLS = Key("shop", "tls")
PATIENCE_S = 60.0
READ = Secret(TLS, "kubernetes.io/tls", "certificate", "key")
FORBIDDEN, BROKEN = KubeForbidden("403 no"), KubeUnreachable("500 unable to transform key", status=500)

FAILURES = [
    pytest.param(BROKEN, id="cannot be decrypted"),
    pytest.param(KubeInvalid("400 no"), id="refused"),
    pytest.param(KubeUnauthorized("401 no"), id="credentials of the router"),
    pytest.param(KubeUnreachable("no reply"), id="no reply"),
    pytest.param(KubeUnreachable("503", status=503), id="overloaded"),
    pytest.param(ResourceUnavailable("404"), id="not served"),
    pytest.param(ResourceExpired("410"), id="too old"),
]


def test_missing_until_it_exists():
    state = SecretState(TLS, patience_s=PATIENCE_S)
    assert state.answered(None) == Secret(TLS, problem="Secret 'tls' not found")
    assert state.answered(READ) == READ


@pytest.mark.parametrize(("external", "granted_alone"), [(False, False), (False, True), (True, False)])
def test_a_lost_right_says_nothing_of_the_secret(external, granted_alone):
    """A Secret that was read is used on, however long the right is missing."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    state.answered(READ, granted_alone=granted_alone)
    before, kept, after = (state.failed(FORBIDDEN, at, external=external) for at in (0.0, PATIENCE_S, 9e9))
    assert before is after is None
    assert kept == replace(READ, unread=kept.unread)
    assert kept.unread.startswith("the router may not get, list and watch Secret tls")
    assert state.problem == "403 no"
    assert state.answered(None).problem == "Secret 'tls' not found"
    assert state.problem == ""


def test_a_team_takes_its_right_away():
    """The Secret of an externalCertificate, read by a right on it alone, ends after PATIENCE_S, once."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    state.answered(READ, granted_alone=True)
    assert state.failed(FORBIDDEN, 0.0, external=True) is None
    assert state.failed(FORBIDDEN, PATIENCE_S - 1, external=True) is None
    assert state.answered(READ, granted_alone=True) == READ
    assert state.failed(FORBIDDEN, 2 * PATIENCE_S, external=True) is None
    taken = state.failed(FORBIDDEN, 3 * PATIENCE_S, external=True)
    assert taken.problem
    assert not taken.not_loaded
    assert state.failed(FORBIDDEN, 4 * PATIENCE_S, external=True) is None
    assert state.answered(READ, granted_alone=True) == READ


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_says_nothing_of_the_secret(failure):
    """It is unknown as before; after PATIENCE_S its Routes hear of it, once."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    assert state.failed(failure, 0.0) is None
    not_loaded = Secret(TLS, problem=f"Secret tls cannot be read: {failure}", not_loaded=True)
    assert state.failed(failure, PATIENCE_S) == not_loaded
    assert state.failed(KubeUnreachable("another"), 2 * PATIENCE_S) is None
    assert state.answered(READ) == READ


@pytest.mark.parametrize("failure", FAILURES)
def test_a_secret_that_was_read_is_used_on(failure):
    state = SecretState(TLS, patience_s=PATIENCE_S)
    state.answered(READ)
    kept = replace(READ, unread=f"Secret tls cannot be read: {failure}")
    assert [state.failed(failure, at) for at in (0.0, PATIENCE_S, 9 * PATIENCE_S)] == [None, kept, None]


def test_a_refusal_of_what_does_not_exist():
    """It stays missing: that was the last answer."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    state.answered(None)
    assert [state.failed(FORBIDDEN, at) for at in (0.0, PATIENCE_S)] == [None, None]


def test_a_missing_right_is_told_at_once():
    """Nothing was read before: the Secret stays unknown, also for Routes that name it."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    refusal = state.failed(FORBIDDEN, 0.0, external=True)
    assert refusal.problem.startswith("the router may not get, list and watch Secret tls")
    assert refusal.not_loaded
    assert refusal.forbidden
    assert state.failed(FORBIDDEN, 2 * PATIENCE_S, external=True) is None
    assert state.failed(BROKEN, 3 * PATIENCE_S) is None
