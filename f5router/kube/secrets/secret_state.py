"""The knowledge of one Secret, derived from the replies of the API server."""

import re

from f5router.model.cluster import Key, Secret
from f5router.model.errors import KubeError, KubeForbidden, KubeUnauthorized
from f5router.model.hostnames import quote

_ACCOUNT = re.compile(r'User "system:serviceaccount:([^:"]+):([^:"]+)"')


class SecretState:
    """Decides what each reply means for one Secret."""

    def __init__(self, key: Key, *, patience_s: float):
        """Args: patience_s: see SecretPace."""
        self.key, self._patience_s = key, patience_s
        self._known = self._readable = self._reported = False
        self._failing_at: float | None = None
        """When the API server began to refuse this Secret, or to fail to return it."""

    def answered(self, secret: Secret | None) -> Secret:
        """Record that the Secret was read. Args: secret: None if it does not exist."""
        self._failing_at = None
        self._known = self._readable = True
        return secret or Secret(self.key, problem=f"Secret {quote(self.key.name)} not found")

    def failed(self, exc: KubeError, now: float) -> Secret | None:
        """Record a failed read; return the Secret as it is known now, None if that has not changed.

        A Secret that was read stays in use, unless the right to read it is withdrawn. One that was never
        read stays unknown whatever fails: only a missing right means that it must not be used.
        """
        forbidden = isinstance(exc, KubeForbidden) and not isinstance(exc, KubeUnauthorized)
        if self._known and not forbidden:
            return None
        if self._failing_at is None:
            self._failing_at = now
        at_once = forbidden and not self._readable
        if not at_once and now - self._failing_at < self._patience_s:
            return None
        if forbidden:
            self._known, self._readable = True, False
            return Secret(self.key, problem=_refusal(self.key, str(exc)))
        if self._reported:
            return None
        self._reported = True
        return Secret(self.key, problem=f"Secret {self.key.name} cannot be read: {exc}", not_loaded=True)


def _refusal(key: Key, text: str) -> str:
    """Explain to an application team how to grant the right. Args: text: the API server's refusal."""
    match = _ACCOUNT.search(text)
    account = ":".join(match.groups()) if match else "<namespace>:<service account>"
    role = f"read-{key.name}"
    return (
        f"the router may not get, list and watch Secret {key.name}; "
        f"oc create role {role} --verb=get,list,watch --resource=secrets --resource-name={key.name} "
        f"-n {key.namespace} and oc create rolebinding {role} --role={role} --serviceaccount={account} "
        f"-n {key.namespace}"
    )
