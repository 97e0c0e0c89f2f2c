"""Listeners of a Gateway by themselves: what they accept, and why one cannot be served.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go: Listener, "Distinct Listeners",
ListenerConditionType and its reasons. All members of a conflict lose.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from f5router.model import hostnames
from f5router.model.client_tls import ClientValidation
from f5router.model.cluster import TLS_SECRET, Key, is_object_name
from f5router.model.gateway import (
    GATEWAY,
    GROUP,
    HTTP_ROUTE,
    SECRET,
    TCP_ROUTE,
    TLS_ROUTE,
    Gateway,
    GatewayListener,
    KindRef,
    ObjectRef,
)
from f5router.model.hostnames import quote
from f5router.sources.gateway import certificates, client_validation, conditions, hosts
from f5router.sources.gateway.certificates import ServerCertificate
from f5router.sources.gateway.client_validation import CheckedValidation
from f5router.sources.gateway.conditions import Conditions, StatusCondition, false, true
from f5router.sources.gateway.references import GatewayView, permits
from f5router.sources.settings import ServedPorts

PASSTHROUGH, TERMINATE = "Passthrough", "Terminate"
HTTP, HTTPS, TLS, TCP = "HTTP", "HTTPS", "TLS", "TCP"
SECURE = (HTTPS, TLS)
"""Protocols of the virtual server on which clients speak TLS."""
_BESIDE = {HTTP: (HTTP,), HTTPS: SECURE, TLS: SECURE}
"""Protocols of the listeners that may share a port with one, by its protocol."""
_ROUTES = {HTTP: HTTP_ROUTE, HTTPS: HTTP_ROUTE, TLS: TLS_ROUTE, TCP: TCP_ROUTE}
"""Kind of routes by protocol; all of these are TCP."""


@dataclass(frozen=True, slots=True)
class CheckedListener:
    """A listener with what is known of it without routes."""

    number: int
    listener: GatewayListener
    kinds: tuple[KindRef, ...]
    """supportedKinds."""
    conditions: Conditions
    """Accepted, Conflicted, ResolvedRefs, and OverlappingTLSConfig where that holds."""
    front_end: str = ""
    """Name of the front end whose virtual servers serve it; "" for the router's own."""
    certificates: tuple[ServerCertificate, ...] = ()
    """Those that can be used, or may be once they are read."""
    validation: ClientValidation | None = None
    """Validation of client certificates on its port; None without one."""

    @property
    def is_valid(self) -> bool:
        """True if nothing keeps it from being served; its Routes wait for a Secret as all others do.

        One certificate of several is enough, and so is one of several for clients.
        """
        resolved = self.conditions[conditions.RESOLVED]
        return self.conditions[conditions.ACCEPTED].holds and (resolved.status is not False or (
            bool(self.certificates) and resolved.reason in _OF_CERTIFICATES))

    @property
    def unread_secrets(self) -> list[Key]:
        """The Secrets of several whose names are not known."""
        return [each.secret for each in self.certificates if each.names is None]

    @property
    def awaits_routes(self) -> bool:
        """True if its routes cannot be read, so that nobody knows where its connections go."""
        return self.listener.protocol == TCP and self.conditions[conditions.RESOLVED].status is None

    def closed_beside(self, served: Iterable["CheckedListener"]) -> "CheckedListener | None":
        """Return a listener that is not served as one that answers for its hostname; None if none is needed.

        Else requests for it would come to routes of a listener with a wildcard, perhaps another namespace's.
        Connections of one of protocol TLS are reset, so that nothing looks for requests in them; on the
        router's own front end no wildcard can be.
        """
        name, port, protocol = self.listener.hostname, self.listener.port, self.listener.protocol
        covering = {each.listener.protocol for each in served if each.listener.port == port
                    and each.listener.hostname != name and hosts.matches(each.listener.hostname, name)}
        if name == hosts.ALL or hostnames.problem(name.removeprefix("*.")) or (
                covering.isdisjoint(_BESIDE.get(protocol, ()))):
            return None
        if protocol == TLS and not (self.front_end or TLS in covering) and name.startswith("*."):
            protocol = HTTPS
        mode = PASSTHROUGH if protocol == TLS else self.listener.tls_mode
        return replace(self, certificates=(),
                       listener=replace(self.listener, protocol=protocol, tls_mode=mode))

    @property
    def field(self) -> str:
        """Its place in the Gateway."""
        return f"spec.listeners[{self.number}]"

    def certificate_field(self, host: str) -> str:
        """Return the place of the certificate for a host of it; "" without any."""
        if not self.certificates:
            return ""
        return f"{self.field}.tls.certificateRefs[{certificates.choose(self.certificates, host).number}]"


def check(gateway: Gateway, served: ServedPorts, view: GatewayView) -> tuple[CheckedListener, ...]:
    """Check the listeners of a Gateway."""
    conflicts, clients = _conflicts(gateway.listeners), client_validation.check(gateway, view)
    return tuple(_check(gateway, number, listener, conflicts.get(number), clients.get(listener.port), served,
                        view)
                 for number, listener in enumerate(gateway.listeners))


def _check(gateway: Gateway, number: int, listener: GatewayListener, conflict: StatusCondition | None,
           clients: CheckedValidation | None, served: ServedPorts, view: GatewayView) -> CheckedListener:
    """Check a listener. Args: conflict: with another one; clients: validation of its port."""
    kinds, unknown = _kinds(listener, view)
    accepted = _accepted(listener, conflict, served)
    usable, problem = _certificates(gateway, listener, view)
    if accepted.holds and ends_connections(listener):
        accepted = _ended_fault(gateway, listener, served) or accepted
    if clients is not None and listener.protocol == HTTPS:
        if accepted.holds:
            accepted = _clients_fault(served) or clients.accepted or accepted
        problem = problem or clients.resolved
    resolved = unknown or problem or _unread(listener, view) or true(conditions.RESOLVED)
    conflicted = conflict or StatusCondition(conditions.CONFLICTED, False, conditions.NO_CONFLICTS)
    front_end = "" if served.ports is not None else front_end_name(gateway.key, listener.port)
    overlap = _overlap(number, gateway.listeners)
    of = Conditions.of(accepted, conflicted, resolved, *([overlap] if overlap else ()))
    return CheckedListener(number, listener, kinds, of, front_end, usable,
                           clients.validation if clients and not _clients_fault(served) else None)


def ends_connections(listener: GatewayListener) -> bool:
    """True if TLS of a listener for TLSRoutes ends on the BIG-IP."""
    return listener.protocol == TLS and listener.tls_mode == TERMINATE


def _ended_fault(gateway: Gateway, listener: GatewayListener, served: ServedPorts) -> StatusCondition | None:
    """Return why connections without requests cannot be had from such a listener; None if they can.

    Client certificates are checked with requests where a profile alone does not refuse.
    """
    text = ""
    if served.ports is not None:
        text = ("tls.mode: Terminate is supported with protocol TLS on addresses of the Gateway's own alone, "
                "by --gateway-addresses")
    elif served.asks_clients:
        text = ("tls.mode: Terminate is not supported with protocol TLS where the router's settings ask "
                "clients for certificates")
    elif gateway.validation(listener.port) is not None and any(
            each.port == listener.port and each.protocol == HTTPS for each in gateway.listeners):
        text = ("tls.mode: Terminate is not supported with protocol TLS on a port whose HTTPS listeners ask "
                "clients for certificates, by spec.tls.frontend")
    return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, text) if text else None


def _clients_fault(served: ServedPorts) -> StatusCondition | None:
    """Return why clients cannot be asked for certificates by a Gateway; None if they can."""
    if served.ports is not None:
        return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                     "spec.tls.frontend: only a Gateway with addresses of its own can have it, by "
                     "--gateway-addresses: others share this front end")
    if served.asks_clients:
        return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                     "spec.tls.frontend: the router's settings ask clients for certificates already")
    return None


LONGEST_NAME = 100
"""Characters of the name of a front end."""


def front_end_name(gateway: Key, port: int) -> str:
    """Return the name of the front end for the listeners of a port, on addresses of the Gateway.

    A namespace has no dot, and the port comes last: distinct Gateways and ports have distinct names.
    """
    name = f"{gateway.namespace}.{gateway.name}"
    if len(name) > LONGEST_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        name = f"{name[:LONGEST_NAME - 17].rstrip('.-')}.{digest}"
    return f"{name}.{port}"


def _kinds(listener: GatewayListener,
           view: GatewayView) -> tuple[tuple[KindRef, ...], StatusCondition | None]:
    """Return the kinds of routes that a listener accepts, and what is wrong with those that it names.

    A kind that the cluster does not have is none of them.
    """
    possible = tuple(KindRef(GROUP, kind) for protocol, kind in _ROUTES.items()
                     if protocol == listener.protocol and kind not in view.absent)
    if not listener.kinds:
        return possible, None
    accepted = tuple(each for each in possible if each in listener.kinds)
    unknown = next((each for each in listener.kinds if each not in possible), None)
    if unknown is None:
        return accepted, None
    why = ("is not served by the cluster" if unknown.group == GROUP and unknown.kind in view.absent
           else f"is not supported with protocol {quote(listener.protocol)}")
    return accepted, false(conditions.RESOLVED, conditions.INVALID_KINDS, (
        f"allowedRoutes.kinds: {quote(unknown.kind)} of group {quote(unknown.group)} {why}"))


def _accepted(listener: GatewayListener, conflict: StatusCondition | None,
              served: ServedPorts) -> StatusCondition:
    if conflict is not None:
        return false(conditions.ACCEPTED, conflict.reason, conflict.message)
    if listener.protocol not in _ROUTES:
        return false(conditions.ACCEPTED, conditions.UNSUPPORTED_PROTOCOL,
                     f"protocol {quote(listener.protocol)} is not supported, only {', '.join(_ROUTES)}")
    known = dict(served.ports or ()).get(HTTPS if listener.protocol in SECURE else listener.protocol)
    if served.ports is not None and served.addresses and known != listener.port:
        text = f"the front end serves {listener.protocol} " + (f"on port {known}" if known else "on no port")
        return false(conditions.ACCEPTED, conditions.PORT_UNAVAILABLE, f"port {listener.port}: {text}")
    if text := _unsupported(listener):
        return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, text)
    return true(conditions.ACCEPTED)


def _unsupported(listener: GatewayListener) -> str:
    if listener.hostname and (problem := hostnames.problem(listener.hostname.removeprefix("*."))):
        return f"hostname: {quote(listener.hostname)}: {problem}"
    if listener.protocol in (HTTP, TCP) and listener.tls_mode:
        return f"tls: a listener of protocol {listener.protocol} cannot have it"
    if listener.protocol == TCP:
        return "hostname: a listener of protocol TCP cannot have one" if listener.hostname else ""
    if listener.protocol == HTTP:
        return ""
    modes = (PASSTHROUGH, TERMINATE) if listener.protocol == TLS else (TERMINATE,)
    if listener.tls_mode not in modes:
        return (f"tls.mode: {quote(listener.tls_mode)} is not supported with protocol {listener.protocol}, "
                f"only {' and '.join(modes)}")
    if listener.options:
        return f"tls.options: {quote(listener.options[0])} is not supported"
    return ""


_OF_CERTIFICATES = (conditions.INVALID_CERTIFICATE, conditions.NOT_PERMITTED, conditions.INVALID_CA,
                    conditions.INVALID_CA_KIND)
"""Reasons of ResolvedRefs about entries of certificateRefs and caCertificateRefs."""


def _certificates(gateway: Gateway, listener: GatewayListener,
                  view: GatewayView) -> tuple[tuple[ServerCertificate, ...], StatusCondition | None]:
    """Return the certificates of a listener, and what is wrong with one of them; None for nothing."""
    if listener.protocol != HTTPS and not ends_connections(listener):
        return (), None
    if not listener.certificates:
        return (), false(conditions.RESOLVED, conditions.INVALID_CERTIFICATE,
                         "tls.certificateRefs: it is empty")
    several, left = len(listener.certificates) > 1, certificates.MOST_NAMES
    usable: list[ServerCertificate] = []
    problems: list[StatusCondition] = []
    for number, ref in enumerate(listener.certificates):
        field, key = f"tls.certificateRefs[{number}]", ref.key(gateway.key.namespace)
        names: tuple[str, ...] | None = ()
        if (problem := _certificate(gateway, field, ref, view)) is None and several:
            names, problem = _server_names(field, key, view, left)
            left -= len(names)
        elif problem is not None and several:
            names = None
        if problem is None or problem.status is None:
            usable.append(ServerCertificate(number, key, names))
        if problem is not None:
            problems.append(problem)
    return tuple(usable), min(problems, key=lambda each: each.status is None, default=None)


def _server_names(field: str, secret: Key, view: GatewayView,
                  left: int) -> tuple[tuple[str, ...], StatusCondition | None]:
    """Return the names of one certificate of several, and why it cannot be used. Args: left: most names."""
    known = view.secret(secret)
    names, text = view.certificates.of(known) if known else ((), "")
    if len(names) > left:
        names, text = (), (f"the certificates of a listener have more than {certificates.MOST_NAMES} names "
                           "together")
    problem = false(conditions.RESOLVED, conditions.INVALID_CERTIFICATE, f"{field}: {text}")
    return names, problem if text else None


def _unread(listener: GatewayListener, view: GatewayView) -> StatusCondition | None:
    """Return that the routes of a listener are not known; None if they are."""
    if listener.protocol != TCP or TCP_ROUTE not in view.unread:
        return None
    return StatusCondition(conditions.RESOLVED, None, conditions.PENDING,
                           "TCPRoutes cannot be read: what is served of them stays")


def _certificate(gateway: Gateway, field: str, ref: ObjectRef, view: GatewayView) -> StatusCondition | None:
    if ref[:2] != ("", SECRET):
        return false(conditions.RESOLVED, conditions.INVALID_CERTIFICATE,
                     f"{field}: {quote(ref.kind)} of group {quote(ref.group)} is not supported, only Secrets")
    key = ref.key(gateway.key.namespace)
    if not permits(view, gateway.key, GATEWAY, ref):
        return false(conditions.RESOLVED, conditions.NOT_PERMITTED,
                     f"{field}: no ReferenceGrant in namespace {key.namespace} permits Gateways of namespace "
                     f"{gateway.key.namespace} to refer to Secret {quote(key.name)}")
    if not is_object_name(key.name):
        return false(conditions.RESOLVED, conditions.INVALID_CERTIFICATE,
                     f"{field}: Secret {quote(key.name)} not found")
    secret = view.secret(key)
    if secret is None or secret.not_loaded:  # it may be forbidden, which says nothing of it
        text = (secret.problem if secret else "") or "the Secret is not read yet"
        return StatusCondition(conditions.RESOLVED, None, conditions.PENDING, f"{field}: {text}")
    if secret.problem or secret.type != TLS_SECRET:
        text = secret.problem or f"Secret {quote(key.name)} is not of type {TLS_SECRET}"
        return false(conditions.RESOLVED, conditions.INVALID_CERTIFICATE, f"{field}: {text}")
    return None


def _overlap(number: int, listeners: Sequence[GatewayListener]) -> StatusCondition | None:
    """Return that some server names are those of two listeners; None if that is not so.

    No client is harmed: HTTP/2 is not offered, with which it would ask for both on one connection.
    """
    listener = listeners[number]
    if listener.protocol != HTTPS:
        return None
    other = next((each for count, each in enumerate(listeners) if count != number and (
        each.protocol, each.port) == (HTTPS, listener.port) and (
        hosts.matches(each.hostname, listener.hostname) or hosts.matches(listener.hostname, each.hostname))),
        None)
    return None if other is None else true(
        conditions.OVERLAPPING, conditions.OVERLAPPING_HOSTNAMES,
        f"listener {quote(other.name)} has some of the same names on this port; the most specific hostname "
        "decides, and HTTP/2 is not offered")


def _conflicts(listeners: Iterable[GatewayListener]) -> Mapping[int, StatusCondition]:
    """Return the listeners that cannot be told from others of the same port, by their number."""
    conflicts: dict[int, StatusCondition] = {}
    numbered = [(number, each) for number, each in enumerate(listeners) if each.protocol in _ROUTES]
    for number, listener in numbered:
        for other_number, other in numbered:
            if number != other_number and listener.port == other.port and (
                    conflict := _conflict(listener, other)):
                conflicts.setdefault(number, conflict)
    return conflicts


def _conflict(listener: GatewayListener, other: GatewayListener) -> StatusCondition | None:
    protocols = {listener.protocol, other.protocol}
    if TCP in protocols or (len(protocols) > 1 and protocols != {*SECURE}):
        return StatusCondition(conditions.CONFLICTED, True, conditions.PROTOCOL_CONFLICT,
                         f"listener {quote(other.name)} has the same port with protocol {other.protocol}")
    if listener.hostname == other.hostname:
        return StatusCondition(conditions.CONFLICTED, True, conditions.HOSTNAME_CONFLICT,
                         f"listener {quote(other.name)} has the same port and hostname")
    return None
