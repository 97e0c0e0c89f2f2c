"""The knowledge of one Secret, derived from the replies of the API server."""

import re
from dataclasses import replace

from f5router.model.cluster import Key, Secret
from f5router.model.errors import KubeError, KubeForbidden, KubeUnauthorized
from f5router.model.hostnames import quote

_ACCOUNT = re.compile(r'User "system:serviceaccount:([^:"]+):([^:"]+)"')


class SecretState:
    """Decides what each reply means for one Secret."""

    def __init__(self, key: Key, *, patience_s: float):
        """Args: patience_s: see SecretPace."""
        self.key, self._patience_s = key, patience_s
        self._read: Secret | None = None
        """The Secret as it was read last, or that it does not exist."""
        self._granted_alone = False
        self._reported: Secret | None = None
        """The Secret as the last failure has made it known; None until one does."""
        self._failing_at: float | None = None
        """When the API server began to refuse this Secret, or to fail to return it."""
        self.problem = ""
        """Why the newest content is not known; "" if it is."""

    def answered(self, secret: Secret | None, *, granted_alone: bool = False) -> Secret:
        """Record that the Secret was read.

        Args:
            secret: None if it does not exist.
            granted_alone: the right is for this Secret; the router has none on all of the namespace.
        """
        self._failing_at, self._reported, self.problem = None, None, ""
        self._granted_alone = granted_alone
        self._read = secret or Secret(self.key, problem=f"Secret {quote(self.key.name)} not found")
        return self._read

    def failed(self, exc: KubeError, now: float, *, external: bool = False) -> Secret | None:
        """Record a failed read; return the Secret as it is known now, None if that has not changed.

        A Secret that was read stays in use whatever fails, and one that was never read stays unknown: no
        refusal says that it is gone. The exception is a right on a single Secret that its team takes away
        from the router, as OpenShift's router has it (openshift/router, pkg/router/controller,
        route_secret_manager.go). Whose refusal it is shows in how the Secret was read the last time: a role
        of the router that is lost or edited concerns all Secrets of a namespace, or of all.

        Args: external: only Routes name it, in spec.tls.externalCertificate.
        """
        forbidden = isinstance(exc, KubeForbidden) and not isinstance(exc, KubeUnauthorized)
        if self._failing_at is None:
            self._failing_at = now
        patient = now - self._failing_at < self._patience_s
        if not patient or forbidden:
            self.problem = str(exc)
        text = (_refusal(self.key, str(exc)) if forbidden
                else f"Secret {self.key.name} cannot be read: {exc}")
        if (read := self._read) is not None:
            if patient or read.problem or (self._reported is not None and self._reported.problem):
                return None
            if forbidden and external and self._granted_alone:
                return self._report(Secret(self.key, problem=text))
            return self._report(replace(read, unread=text)) if forbidden or self._reported is None else None
        if forbidden:
            return self._report(Secret(self.key, problem=text, not_loaded=True, forbidden=True))
        return None if patient or self._reported is not None else self._report(
            Secret(self.key, problem=text, not_loaded=True))

    def _report(self, secret: Secret) -> Secret | None:
        before, self._reported = self._reported, secret
        return None if before == secret else secret


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
