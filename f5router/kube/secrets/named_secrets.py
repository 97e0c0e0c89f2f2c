"""The Secrets that Routes name, and the limits on how many are read, per namespace and in total."""

from collections import defaultdict
from collections.abc import Mapping

from f5router.kube.settings import SecretLimits
from f5router.model.cluster import Key, Route, is_object_name


class NamedSecrets:
    """The Secrets that Routes name, kept up to date by changes of Routes."""

    def __init__(self) -> None:
        self.ages: dict[Key, tuple[str, str]] = {}
        """Age of the oldest Route that names a Secret, by Secret."""
        self.external: set[Key] = set()
        """Secrets that Routes name in spec.tls.externalCertificate, and nothing else names."""
        self._external: dict[Key, Key] = {}
        """The Secret in spec.tls.externalCertificate, by Route."""
        self._named: dict[Key, tuple[Key, ...]] = {}
        """The Secrets by Route."""
        self._routes: dict[Key, dict[Key, tuple[str, str]]] = {}
        """The Routes that name a Secret, with their age, by Secret."""

    def update(self, routes: Mapping[Key, Route | None]) -> tuple[set[Key], bool]:
        """Apply changes of Routes; return the Secrets that these name, and True if `ages` changed."""
        named = {key: (secrets, route.age) for key, route in routes.items()
                 if route is not None and (secrets := _named(route))}
        edited = {secret for secrets, _ in named.values() for secret in secrets}
        affected = set(edited)
        for key in routes:
            for secret in self._named.pop(key, ()):
                affected.add(secret)
                self._routes[secret].pop(key, None)
            self._external.pop(key, None)
            if (route := routes[key]) is not None and (external := _external(route)) is not None:
                self._external[key] = external
        for key, (secrets, age) in named.items():
            self._named[key] = secrets
            for secret in secrets:
                self._routes.setdefault(secret, {})[key] = age
        changed = [self._update_age(secret) for secret in affected]
        for secret in affected:
            users = self._routes.get(secret, {})
            alone = bool(users) and all(self._external.get(user) == secret for user in users)
            (self.external.add if alone else self.external.discard)(secret)
        return edited, any(changed)

    def _update_age(self, secret: Key) -> bool:
        before = self.ages.get(secret)
        if not self._routes[secret]:
            del self._routes[secret], self.ages[secret]
            return True
        self.ages[secret] = min(self._routes[secret].values())
        return self.ages[secret] != before


def _named(route: Route) -> tuple[Key, ...]:
    """Return the Secrets that a Route names, without names that no Secret can have."""
    return tuple(key for key in route.secrets if is_object_name(key.name))


def _external(route: Route) -> Key | None:
    """Return the Secret that an OpenShift Route names; None without one, or for a virtual Route."""
    return route.secret if route.origin is None and route.tls_secret is None else None


def excess(ages: Mapping[Key, tuple[str, str]], limits: SecretLimits) -> dict[Key, str]:
    """Return the Secrets that exceed the limits, each with the reason.

    Within a namespace the Secrets of the oldest Routes come first; beyond the total, the namespaces that
    name the most Secrets lose the last of theirs, so that no namespace loses any to a larger one.

    Args: ages: age of the oldest Route that names a Secret, by Secret.
    """
    by_namespace: dict[str, list[Key]] = defaultdict(list)
    for key in ages:
        by_namespace[key.namespace].append(key)
    refused: dict[Key, str] = {}
    if any(len(keys) > limits.per_namespace for keys in by_namespace.values()):
        for namespace, keys in by_namespace.items():
            keys.sort(key=lambda key: (ages[key], key))
            refused |= dict.fromkeys(keys[limits.per_namespace:], _too_many(namespace, limits))
            del keys[limits.per_namespace:]
    if sum(map(len, by_namespace.values())) > limits.total:
        ranked = [(rank, ages[key], key) for keys in by_namespace.values()
                  for rank, key in enumerate(sorted(keys, key=lambda key: (ages[key], key)))]
        refused |= {key: _full(key.namespace, limits) for _, _, key in sorted(ranked)[limits.total:]}
    return refused


def _too_many(namespace: str, limits: SecretLimits) -> str:
    return (f"namespace {namespace} names more than {limits.per_namespace} Secrets; the router reads those "
            "of the oldest Routes. Name fewer, or ask the administrator of the router to raise "
            "--max-secrets-per-namespace")


def _full(namespace: str, limits: SecretLimits) -> str:
    return (f"all namespaces name more than {limits.total} Secrets; the router reads an equal "
            f"share for each namespace, and {namespace} names more than its share. Name fewer, or ask the "
            "administrator of the router to raise --max-secrets")
