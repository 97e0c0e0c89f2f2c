"""Access rights: bearer tokens, rights of ServiceAccounts, refusals set by a test, the review kinds."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from . import rbac
from .calls import Call
from .errors import forbidden, forbidden_path, unauthorized
from .kinds import PROJECT_GROUP, kind_named
from .rbac import Asked, User
from .store import Store

OWNER = replace(rbac.account("default", "router"), unlimited=True)
"""Who holds the server's own token."""

ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))

PUBLIC = frozenset({"/version", "/healthz", "/readyz", "/livez"})
"""Readable without a token, as ClusterRole system:public-info-viewer allows."""


SELF_SERVICE = frozenset({"authorization.k8s.io", PROJECT_GROUP})
"""API groups in which each account may ask about itself (ClusterRoles system:basic-user and basic-user)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Verbs refused on a resource (``routes``, ``routes/status``); everywhere if no namespace is given, for
    all objects if no name is."""

    resource: str
    verbs: frozenset[str]
    namespace: str | None
    name: str | None

    def covers(self, asked: Asked) -> bool:
        return (
            asked.resource == self.resource
            and (asked.verb in self.verbs or "*" in self.verbs)
            and self.namespace in (None, asked.namespace)
            and self.name in (None, asked.name)
        )


class Access:
    """Two sorts of tokens. The server's own allows everything; that of a ServiceAccount what Roles and
    ClusterRoles grant it, by the objects that are stored. A refusal that a test set holds for both.
    """

    def __init__(self, store: Store, token: str):
        self.token = token
        self.anonymous = True
        """Requests without a token are those of system:anonymous, as by default: --anonymous-auth."""
        self._store = store
        self._refusals: list[Refusal] = []
        self._accounts: dict[str, tuple[str, str]] = {}

    def token_for(self, namespace: str, name: str) -> str:
        """A new token of a ServiceAccount, good while that exists. Raises: KeyError: it does not."""
        if not self._exists(namespace, name):
            raise KeyError(f"no ServiceAccount {namespace}/{name}")
        token = f"{namespace}-{name}-{secrets.token_hex(16)}"
        self._accounts[token] = (namespace, name)
        return token

    def forbid(
        self, resource: str, verbs: Collection[str], namespace: str | None, name: str | None
    ) -> None:
        verbs = frozenset([verbs] if isinstance(verbs, str) else verbs)
        self._refusals.append(Refusal(resource, verbs, namespace, name))

    def allow(self, resource: str) -> None:
        """Take back every refusal of the resource."""
        self._refusals = [refusal for refusal in self._refusals if refusal.resource != resource]

    def authenticate(self, path: str, headers: Mapping[str, str]) -> User:
        """Return who asks: system:anonymous without a token, if that is allowed, and for what is public.

        Source: Kubernetes, Authenticating, Anonymous requests: a wrong token is 401 all the same.
        Raises: ApiError: 401 without a token that is known.
        """
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if self.anonymous and (scheme != "Bearer" or not token.strip()):
            return ANONYMOUS
        user = self._holder(token) if scheme == "Bearer" else None
        if user is None and path in PUBLIC:
            return ANONYMOUS
        if user is None:
            raise unauthorized()
        return user

    def authorize_path(self, user: User, path: str) -> None:
        """Raises: ApiError: 403: discovery is for those who are logged in, ClusterRole system:discovery."""
        if user == ANONYMOUS and path not in PUBLIC:
            raise forbidden_path("get", user.name, path)

    def authorize(self, user: User, call: Call) -> None:
        """Raises: ApiError: 403."""
        if not self._allowed(user, Asked.by(call)):
            raise forbidden(
                call.kind, verb=call.verb, user=user.name, namespace=call.namespace, name=call.name,
                subresource=call.subresource,
            )  # fmt: skip

    def sees(self, user: User, namespace: str) -> bool:
        """True if a namespace is a Project of this user: openshift-apiserver pkg/project/auth/cache.go."""
        return self._allowed(user, Asked("get", "", "namespaces", namespace, namespace))

    def _holder(self, token: str) -> User | None:
        if token == self.token:
            return OWNER
        account = self._accounts.get(token)
        return rbac.account(*account) if account and self._exists(*account) else None

    def _exists(self, namespace: str, name: str) -> bool:
        with self._store.lock:
            return self._store.get(kind_named("ServiceAccount"), namespace, name) is not None

    def _allowed(self, user: User, asked: Asked) -> bool:
        if any(refusal.covers(asked) for refusal in self._refusals):
            return False
        return user.unlimited or asked.group in SELF_SERVICE or rbac.allows(self._store, user, asked)

    def review(self, user: User, kind: str, body: Mapping) -> dict:
        """The answer to a SelfSubjectAccessReview or TokenReview: the object with its status."""
        spec = body.get("spec") or {}
        if kind == "TokenReview":
            status = {"user": {}}
            if holder := self._holder(spec.get("token", "")):
                status = {
                    "authenticated": True, "user": {"username": holder.name, "groups": list(holder.groups)},
                }  # fmt: skip
            return dict(body, status=status)
        given = spec.get("resourceAttributes") or {}
        resource = "/".join(word for word in (given.get("resource"), given.get("subresource")) if word)
        asked = Asked(given.get("verb", ""), given.get("group", ""), resource, given.get("namespace", ""),
                      given.get("name", ""))  # fmt: skip
        allowed = self._allowed(user, asked)
        status = {"allowed": allowed} | (
            {"reason": "RBAC: allowed by the fake API server"} if allowed else {}
        )
        return dict(body, status=status)
