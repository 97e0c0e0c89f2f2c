"""Who may do what: the bearer token, refusals set by a test, and the two review kinds."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .calls import Call
from .errors import forbidden, unauthorized

USER = "system:serviceaccount:default:router"

PUBLIC = frozenset({"/version", "/healthz", "/readyz", "/livez"})
"""Readable without a token, as ClusterRole system:public-info-viewer allows."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Verbs refused on a resource (``routes``, ``routes/status``); everywhere if no namespace is given."""

    resource: str
    verbs: frozenset[str]
    namespace: str | None

    def covers(self, resource: str, verb: str, namespace: str) -> bool:
        return (
            resource == self.resource
            and (verb in self.verbs or "*" in self.verbs)
            and (self.namespace is None or namespace == self.namespace)
        )


class Access:
    """Everything is allowed to the holder of the token, except what was refused."""

    def __init__(self, token: str):
        self.token = token
        self._refusals: list[Refusal] = []

    def forbid(self, resource: str, verbs: Collection[str], namespace: str | None) -> None:
        verbs = frozenset([verbs] if isinstance(verbs, str) else verbs)
        self._refusals.append(Refusal(resource, verbs, namespace))

    def allow(self, resource: str) -> None:
        """Take back every refusal of the resource."""
        self._refusals = [refusal for refusal in self._refusals if refusal.resource != resource]

    def authenticate(self, path: str, headers: Mapping[str, str]) -> None:
        """Raises: ApiError: 401 without the token."""
        if path not in PUBLIC and headers.get("Authorization") != f"Bearer {self.token}":
            raise unauthorized()

    def authorize(self, call: Call) -> None:
        """Raises: ApiError: 403."""
        if self._refused(call.resource, call.verb, call.namespace):
            raise forbidden(
                call.kind, verb=call.verb, user=USER, namespace=call.namespace, name=call.name,
                subresource=call.subresource,
            )  # fmt: skip

    def _refused(self, resource: str, verb: str, namespace: str) -> bool:
        return any(refusal.covers(resource, verb, namespace) for refusal in self._refusals)

    def review(self, kind: str, body: Mapping) -> dict:
        """The answer to a SelfSubjectAccessReview or TokenReview: the object with its status."""
        spec = body.get("spec") or {}
        if kind == "TokenReview":
            status = {"user": {}}
            if spec.get("token") == self.token:
                groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
                status = {"authenticated": True, "user": {"username": USER, "groups": groups}}
            return dict(body, status=status)
        asked = spec.get("resourceAttributes") or {}
        resource = "/".join(part for part in (asked.get("resource"), asked.get("subresource")) if part)
        allowed = not self._refused(resource, asked.get("verb", ""), asked.get("namespace", ""))
        status = {"allowed": allowed} | (
            {"reason": "RBAC: allowed by the fake API server"} if allowed else {}
        )
        return dict(body, status=status)
