"""The parts of a graph of IngressRoutes, and what it is built of."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from f5router.model.cluster import Key, Route, Secret
from f5router.model.ingress import Delegate, IngressRoute, RouteEntry
from f5router.sources.contour_entries import CheckedEntry

MOST_DEPTH = 256
"""Objects from a root to a Service."""
MOST_ROUTES = 10_000
"""Routes that the roots of a namespace publish by its delegations to one namespace. See Budget."""
MOST_PATH_SHOWN = 20
"""Objects that the text about a cycle names."""

PROXY = "tcpproxy"
"""In place of a prefix, where a tcpproxy was delegated to an object."""


class Visit(NamedTuple):
    """An object with the prefix that was delegated to it; "" for a root."""

    key: Key
    prefix: str = ""


Records = Mapping[tuple[Key, int], tuple[RouteEntry, CheckedEntry, Route]]


class Budget(NamedTuple):
    """How many routes a graph may have by delegation.

    Each root that reaches an object has Routes of its own for it: what one tenant writes multiplies what
    others do. So the routes are charged to both sides of a delegation: to the namespace of the root, for all
    roots there, and to the namespace that it delegates to, its tenant, who is charged for whatever he
    delegates to in turn. Roots that anybody adds for an object take nothing from the roots of others, and a
    tenant whose objects grow takes nothing from the others below the same roots.
    """

    most: int = MOST_ROUTES
    spent: Mapping[str, int] = {}
    """Routes of other roots of the namespace, by tenant."""


class View(Protocol):
    """The part of the cluster that a graph depends on."""

    @property
    def objects(self) -> Mapping[Key, IngressRoute]:
        """IngressRoutes of the class."""

    def entries(self, key: Key) -> tuple[CheckedEntry, ...]:
        """Return spec.routes of an object, checked."""

    def proxy(self, key: Key) -> CheckedEntry:
        """Return spec.tcpproxy of an object that has one, checked."""

    def secret(self, key: Key) -> Secret | None:
        """Return a Secret; None if it is not read yet."""

    def permits(self, secret: Key, namespace: str) -> bool:
        """True if the namespace of a Secret delegates it to another one."""

    def may_have_roots(self, namespace: str) -> bool:
        """True if roots of a namespace count."""

    def holder(self, root: IngressRoute) -> Key:
        """Return the oldest root of the fqdn, including roots that another one takes out of service."""


@dataclass(slots=True)
class Graph:
    """The graph of a root."""

    root: Key
    fqdn: str = ""
    """As a status names it; "" where it is of no use."""
    visits: dict[Visit, str] = field(default_factory=dict)
    """Error by visit, in their order; "" for a valid one."""
    routes: dict[Key, Route] = field(default_factory=dict)
    missing: set[Key] = field(default_factory=set)
    """Targets of delegations that are not walked: they do not exist, or their object is invalid."""
    warnings: dict[Key, list[str]] = field(default_factory=dict)
    """By object."""
    secret: Key | None = None
    """The Secret that it needs, where it may have it."""
    foreign_secret: Key | None = None
    """The Secret that it names, where that is in another namespace."""
    records: dict[tuple[Key, int], tuple[RouteEntry, CheckedEntry, Route]] = field(default_factory=dict)
    """By object and number of an entry: what a Route was made of."""
    of: IngressRoute | None = None
    """The root that it was built of."""

    objects: dict[Key, str] = field(default_factory=dict)
    """First error of each object that was reached; "" without one."""
    spent: Counter[str] = field(default_factory=Counter)
    """Routes by tenant, without those of the root itself."""
    cut: dict[str, int] = field(default_factory=dict)
    """Tenants who were left fewer routes than they have, with the number that was left."""
    cut_visits: set[Visit] = field(default_factory=set)
    """Visits of objects beyond it."""
    cut_objects: set[Key] = field(default_factory=set)
    """Objects that are not served for that."""

    def warn(self, key: Key, text: str) -> None:
        """Add a warning for an object, once."""
        known = self.warnings.setdefault(key, [])
        if text not in known:
            known.append(text)


def target(obj: IngressRoute, delegate: Delegate) -> Key:
    """Return the object that a delegation of another one is for."""
    return Key(delegate.namespace or obj.key.namespace, delegate.name)


def chain(path: list[Key], last: Key) -> str:
    """Return the text of a cycle."""
    shown = [str(key) for key in path[:MOST_PATH_SHOWN]]
    if len(path) > MOST_PATH_SHOWN:
        shown.append("...")
    return " -> ".join([*shown, str(last)])
