"""The views of a Route and its parts: frozen values that a page, a table or a document is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from f5router.model.cluster import Key
from f5router.model.findings import (
    DEVICE_REJECTED,
    MEMBER_NOT_IN_PLACE,
    POOL_NOT_IN_PLACE,
    Finding,
    Link,
    loses,
    worst,
)
from f5router.views.certificates import CertificateView, OptionView
from f5router.views.requests import State

Connections = tuple[int, int]
"""Connections of a pool that are open, and that were opened so far."""
Health = Mapping[tuple[str, int], str]
"""Health of the members of a pool by address and port, as the BIG-IP reports it: one of the words below."""
UP, DOWN, UNCHECKED = "up", "down", "unchecked"
DISABLED = "disabled"
"""Health of a member that an administrator has disabled, or its LTM node."""


class Status(StrEnum):
    """Status of a Route, by the words of the metric f5router_routes."""

    ADMITTED = "admitted"
    REJECTED = "rejected"
    """For what is in it, or because another object holds its host."""
    DEVICE_REJECTED = "device_rejected"
    PENDING = "pending"


class RouteState(StrEnum):
    """Fate of the requests for a Route; the worst first, which is the order of a list."""

    UNANSWERED = "unanswered"
    """It is served, and no pod answers: no member takes requests, or the virtual server is disabled."""
    FAILING = "failing"
    """It is served, and requests are lost for another cause, as with an expired certificate."""
    DEVICE_REJECTED = "device_rejected"
    REJECTED = "rejected"
    PENDING = "pending"
    WARNED = "warned"
    """Its requests are answered, and there are warnings."""
    SERVED = "served"


FAILED = (RouteState.UNANSWERED, RouteState.FAILING, RouteState.DEVICE_REJECTED, RouteState.REJECTED)
"""States of Routes whose requests fail."""

ANSWERED = (RouteState.WARNED, RouteState.SERVED)
"""States of Routes whose requests are answered."""


@dataclass(frozen=True, slots=True)
class VirtualServerView:
    """A virtual server that the Route is on."""

    path: str
    address: str
    port: int
    """0 for any."""
    exists: bool
    enabled: bool = True
    """False if somebody has disabled it."""
    disabled_address: str = ""
    """Full path of its virtual address if that is disabled; "" if it is not, or nobody has looked."""


@dataclass(frozen=True, slots=True)
class RuleView:
    """A Rule of a policy, or the record of a passthrough Route, which leads requests."""

    name: str
    container: str
    """Full path of the policy or data-group."""
    conditions: str
    """"host is www.example.com, path begins with /shop"."""
    action: str
    """"pool /Common/...", or "redirect 302 to https"."""
    state: State
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MemberView:
    """A pool member, wanted or on the device."""

    address: str
    port: int
    ratio: int
    session: str
    """enabled, disabled or forced_offline."""
    health: str
    """UP, DOWN, UNCHECKED or DISABLED; "" if it was not asked for, or the BIG-IP does not report it."""
    state: State
    node: str = ""
    """Name of its Node; "" if it is not known."""
    node_problem: str = ""
    vtep: str = ""
    is_reached: bool = True
    """False if the BIG-IP has no way to its Node."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """The pool of a Route."""

    path: str
    load_balancing: str
    monitor: str
    members: tuple[MemberView, ...]
    state: State
    problem: str = ""
    left_out: bool = False
    """True if the BIG-IP refuses some of its members alone."""
    health_problem: str = ""
    """Why the health of its members is not known; "" if it is, or nobody has asked."""
    active: int | None = None
    """Members that take connections, as the BIG-IP counts them; None if that is not known."""
    connections: int | None = None
    """Open connections to its members; None if nobody has asked the BIG-IP."""
    opened: int | None = None
    """Connections opened so far."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A Service of a Route with its share."""

    name: str
    port: str
    weight: int


@dataclass(frozen=True, slots=True)
class RequestView:
    """Request for a Route, as the BIG-IP answers it."""

    url: str
    served: bool
    """True if an object of the Route leads it to a pool with members, or answers it with a redirect."""
    outcome: str


@dataclass(frozen=True, slots=True)
class ObjectView:
    """Another object that requests need: a profile, an iRule, a record."""

    kind: str
    path: str
    state: State
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RouteView:
    """Route, possibly one of the Routes that another object stands for."""

    namespace: str
    id: str
    """Name by which it is addressed; unique in its namespace."""
    kind: str
    """Kind of the source object, such as Route, Ingress or HTTPRoute."""
    name: str
    """Name of the source object."""
    field: str
    """Part of the source object; "" for all of it."""
    host: str
    path: str
    path_match: str
    """segments, text or exact."""
    termination: str
    """"" for HTTP alone, edge, reencrypt, passthrough, or names.ENDED for TLS that ends here, with something
    else than requests in it."""
    insecure: str
    """Policy of port 80: None, Allow or Redirect."""
    status: Status
    reason: str
    message: str
    since: str
    """When the status changed last, RFC 3339 in UTC; "" if that is not known."""
    created: str
    services: tuple[ServiceView, ...]
    options: tuple[OptionView, ...]
    warnings: tuple[str, ...]
    virtual_servers: tuple[VirtualServerView, ...]
    certificate: CertificateView | None
    """None where the virtual server's own certificate answers, and without TLS."""
    rules: tuple[RuleView, ...]
    pool: PoolView | None
    """None for a Route that is not served."""
    objects: tuple[ObjectView, ...]
    """All other objects that it needs."""
    requests: tuple[RequestView, ...]
    """Requests that were looked up; () if nobody has asked."""
    problems: tuple[Finding, ...]
    """Findings in the order from the client to the pods; () if nothing is known to be wrong."""
    front_end: str = ""
    """Front end on which it is served; "" for the default one."""
    source_namespace: str = ""
    """Namespace of the source object: an HTTPRoute may name Services of another one; "" for the same."""
    claimant: str = ""
    """The object that claims the host, where it is another one: NAMESPACE/NAME of a Gateway, or of a root."""

    @property
    def source(self) -> Key:
        """The source object."""
        return Key(self.source_namespace or self.namespace, self.name)

    @property
    def label(self) -> str:
        """The source object, with the front end where that is not the default one."""
        return f"{self.source}{f' on front end {self.front_end}' if self.front_end else ''}"

    @property
    def is_served(self) -> bool:
        """True if nothing is known to lose requests, and the Route is admitted."""
        return self.status is Status.ADMITTED and not loses(self.problems)

    @property
    def state(self) -> RouteState:
        """Its status and its findings as one word."""
        if self.status is not Status.ADMITTED:
            return RouteState(self.status.value)
        first = worst(self.problems)
        if first is not None and first.loses:
            return RouteState.UNANSWERED if _is_behind_rules(first) else RouteState.FAILING
        return RouteState.WARNED if self.problems or self.warnings else RouteState.SERVED


def _is_behind_rules(lost: Finding) -> bool:
    """True if requests are lost although all that the router writes is in place."""
    return (lost.link in (Link.VIRTUAL_SERVER, Link.POOL, Link.MEMBER, Link.NODE)
            and lost.code not in (POOL_NOT_IN_PLACE, MEMBER_NOT_IN_PLACE, DEVICE_REJECTED))


@dataclass(frozen=True, slots=True)
class EventView:
    """A Kubernetes Event about the source object of a Route."""

    at: str
    """When it was written last, RFC 3339 in UTC."""
    type: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class RoutePage:
    """A Route with what only a router that runs knows of it."""

    route: RouteView
    events: tuple[EventView, ...]
    """The last Events that this router has written since it started, the newest first."""


@dataclass(frozen=True, slots=True)
class RouteSummary:
    """A line of a list of all Routes, and what it is searched and sorted by."""

    key: Key
    kind: str
    name: str
    host: str
    path: str
    termination: str
    status: Status
    state: RouteState
    reason: str
    since: str
    """As that of RouteView."""
    services: tuple[str, ...]
    members: int
    warnings: int
    """Number of them."""
    problem: Finding | None
    """The worst finding."""
    certificate_expires: str
    """RFC 3339 in UTC; "" without a certificate of its own."""
    certificate_days_left: int | None
    text: str
    """Text that a search looks in, in lower case."""
    source_namespace: str = ""
    """As that of RouteView."""

    @property
    def source(self) -> Key:
        """The source object."""
        return Key(self.source_namespace or self.key.namespace, self.name)


class Summaries(NamedTuple):
    """All Routes, in the order of namespaces and names."""

    routes: Sequence[RouteSummary]
    is_current: bool
    """False if something has changed since they were made, and nobody will be woken for it again."""
