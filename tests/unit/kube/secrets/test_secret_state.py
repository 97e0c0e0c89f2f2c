"""secret_state.py: what each reply of the API server says about a Secret."""

import pytest

from f5router.kube.secrets.secret_state import SecretState
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


def test_a_refusal_for_a_moment():
    """A Secret that was read is used on; a right that is really withdrawn counts after PATIENCE_S."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    state.answered(READ)
    assert state.failed(FORBIDDEN, 0.0) is None
    assert state.failed(FORBIDDEN, PATIENCE_S - 1) is None
    assert state.answered(READ) == READ
    assert state.failed(FORBIDDEN, 2 * PATIENCE_S) is None
    assert state.failed(FORBIDDEN, 3 * PATIENCE_S).problem
    assert state.answered(READ) == READ


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
    assert [state.failed(failure, at) for at in (0.0, PATIENCE_S, 9 * PATIENCE_S)] == [None] * 3


def test_a_missing_right_counts_at_once():
    """Nothing was read before; a failure afterwards does not hide it."""
    state = SecretState(TLS, patience_s=PATIENCE_S)
    refusal = state.failed(FORBIDDEN, 0.0)
    assert refusal.problem.startswith("the router may not get, list and watch Secret tls")
    assert not refusal.not_loaded
    assert state.failed(BROKEN, 2 * PATIENCE_S) is None
