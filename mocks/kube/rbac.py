"""Rights from Roles and ClusterRoles: the evaluation of rbac.authorization.k8s.io/v1.

Rules of k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go and
plugin/pkg/auth/authorizer/rbac/rbac.go. Not here: nonResourceURLs (what is no resource is open to every
account), aggregationRule, and the check that nobody grants more than he has.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .calls import Call
from .kinds import kind_named
from .store import Store

GROUP = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class User:
    """Account that asks."""

    name: str
    groups: tuple[str, ...] = ()
    unlimited: bool = False
    """Rights need not be granted: the holder of the server's own token."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Request for which a right is looked up."""

    verb: str
    group: str
    resource: str
    """Plural, with the sub-resource: ``routes/status``."""
    namespace: str = ""
    name: str = ""

    @classmethod
    def by(cls, call: Call) -> "Asked":
        """Return what a call asks for. A list or watch of one name, by field selector, asks for that name."""
        name = call.name
        if not name and call.verb in ("list", "watch", "deletecollection"):
            name = _selected_name(call.query.get("fieldSelector", ""))
        return cls(call.verb, call.kind.group, call.resource, call.namespace, name)


def account(namespace: str, name: str) -> User:
    """A ServiceAccount, with the groups that each has."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


def allows(store: Store, user: User, asked: Asked) -> bool:
    """Return True if a bound rule grants it. Hold ``store.lock``."""
    return any(_grants(rule, asked) for rule in _rules(store, user, asked.namespace))


def _rules(store: Store, user: User, namespace: str) -> Iterator[Mapping]:
    """Rules bound to a user, for the cluster and for one namespace."""
    for record in store.records(kind_named("ClusterRoleBinding")):
        if _binds(record.data, user, ""):
            yield from _rules_of(store, record.data, "")
    if not namespace:
        return
    for record in store.records(kind_named("RoleBinding")):
        if record.key[0] == namespace and _binds(record.data, user, namespace):
            yield from _rules_of(store, record.data, namespace)


def _rules_of(store: Store, binding: Mapping, namespace: str) -> list:
    """Rules of the bound role; none if it does not exist."""
    ref = binding.get("roleRef") or {}
    if ref.get("apiGroup", GROUP) != GROUP or ref.get("kind") not in ("Role", "ClusterRole"):
        return []
    where = namespace if ref["kind"] == "Role" else ""
    if ref["kind"] == "Role" and not namespace:
        return []
    role = store.get(kind_named(ref["kind"]), where, ref.get("name", ""))
    return role.data.get("rules") or [] if role else []


def _binds(binding: Mapping, user: User, namespace: str) -> bool:
    return any(_is(subject, user, namespace) for subject in binding.get("subjects") or ())


def _is(subject: Mapping, user: User, namespace: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return user.name == name
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            where = subject.get("namespace") or namespace
            return bool(where) and user.name == f"system:serviceaccount:{where}:{name}"
    return False


def _grants(rule: Mapping, asked: Asked) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("verbs"), asked.verb)
        and _has(rule.get("apiGroups"), asked.group)
        and _covers(rule.get("resources") or (), asked.resource)
        and (not names or asked.name in names)
    )


def _has(listed: object, wanted: str) -> bool:
    return isinstance(listed, list) and ("*" in listed or wanted in listed)


def _covers(resources: list, wanted: str) -> bool:
    """``*`` is every resource and sub-resource, ``*/status`` that sub-resource of each."""
    _, slash, subresource = wanted.partition("/")
    return "*" in resources or wanted in resources or (bool(slash) and f"*/{subresource}" in resources)


def _selected_name(selector: str) -> str:
    for term in selector.split(","):
        name, equals, value = term.partition("=")
        if name.strip() == "metadata.name" and equals:
            return value.removeprefix("=").strip()
    return ""
