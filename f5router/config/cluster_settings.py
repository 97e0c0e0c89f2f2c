"""Settings of the kinds of objects that are served, of the selection, and of leader election.

Names and defaults of the flags are those of Kubernetes' own components (kube-controller-manager, reference of
the command line), and so is the condition on their durations (client-go, tools/leaderelection).
"""

from collections.abc import Collection
from dataclasses import replace

from f5router.config import parsers
from f5router.config.option import object_name
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.kube.settings import ElectionTiming, LeaseSettings
from f5router.model.address_range import AddressRange
from f5router.model.gateway import GATEWAY
from f5router.model.selection import Selection
from f5router.model.virtual_server import FrontEnd, FrontEndSet
from f5router.sources.settings import (
    INGRESS,
    INGRESS_ROUTE,
    KINDS,
    ROUTE,
    ClassSettings,
    GatewaySettings,
    IngressPolicy,
    IngressRoutePolicy,
    SourceSettings,
)

_SOURCES, _FIELDS, _ADDRESSES = "sources", "fields", "gateway-addresses"
_KINDS = {"routes": ROUTE, "ingress": INGRESS, "ingressroutes": INGRESS_ROUTE, "gateway": GATEWAY}


def load_sources(reader: Reader, *, ownership: bool) -> SourceSettings:
    """Return the settings.

    A selector of fields selects Routes, by fields that no other kind has. With one, only Routes are served,
    and naming other kinds is a problem. Addresses for Gateways add these to the kinds that are served by
    default, not to those that somebody has named; so does a GatewayClass, see gateway_demand. A router of one
    namespace may not list these.

    Args: ownership: of admission.AdmissionPolicy.
    """
    kinds = tuple(_KINDS[word] for word in reader.value(_SOURCES) or ())
    is_named, on_demand = reader.is_set(_SOURCES), False
    if reader.text(_FIELDS) and kinds != (ROUTE,):
        if reader.text(_SOURCES) != OPTIONS[_SOURCES].default:
            reader.problem("it selects Routes alone, so --sources must be routes", _FIELDS, _SOURCES)
        else:
            reader.warn("it selects Routes alone: objects of no other kind are served", _FIELDS)
        kinds = (ROUTE,)
    elif reader.text(_ADDRESSES) and GATEWAY not in kinds:
        if is_named:
            reader.warn("no Gateway is served, as --sources does not name gateway", _ADDRESSES, _SOURCES)
        else:
            kinds += (GATEWAY,)
    else:
        on_demand = not is_named and not reader.text("namespace")
    return replace(of_kinds(reader, kinds, ownership=ownership), on_demand=on_demand)


def kinds(text: str, allowed: Collection[str] = KINDS) -> tuple[str, ...]:
    """Return the kinds that a list names. Raises: ValueError.

    Args: allowed: by default those that any front end may serve.
    """
    words = [word for word, kind in _KINDS.items() if kind in allowed]
    return tuple(_KINDS[word] for word in parsers.several(*words)(text))


def of_kinds(reader: Reader, kinds: tuple[str, ...], *, ownership: bool) -> SourceSettings:
    """Return the settings of the kinds. Args: see load()."""
    classes = ClassSettings(reader.value("ingress-controller"), reader.value("ingress-class"))
    return SourceSettings(kinds, classes, ingress_routes(reader, ownership=ownership),
                          ingress(reader), GatewaySettings(
                              reader.value("gateway-controller"),
                              most_addresses=reader.value("gateway-addresses-per-namespace") or 0,
                              asks_clients=reader.value("mutual-tls-auth") != "none"))


def with_front_ends(settings: SourceSettings, front_ends: FrontEndSet, ranges: tuple[AddressRange, ...],
                    template: FrontEnd) -> SourceSettings:
    """Return the settings with the front ends of Gateways.

    Args:
        front_ends: those of the settings, the first of which a Gateway can have.
        ranges: addresses that other Gateways may have; template: settings of their front ends.
    """
    gateways = replace(settings.gateways, ranges=ranges, template=template).with_front_ends(front_ends)
    return replace(settings, gateways=gateways,
                   on_demand=settings.on_demand and bool(gateways.served.addresses))


def ingress(reader: Reader) -> IngressPolicy:
    """Return the settings of Ingresses."""
    return IngressPolicy(
        reader.value("ignore-annotations") or frozenset(), reader.value("ingress-insecure-policy"),
        reader.value("default-backend-namespaces") or frozenset())


def ingress_routes(reader: Reader, *, ownership: bool) -> IngressRoutePolicy:
    """Return the settings of IngressRoutes. Args: as of load()."""
    return IngressRoutePolicy(
        reader.value("root-namespaces") or frozenset(), reader.value("ingressroute-class") or "",
        ownership=ownership)


NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
"""Namespace of the pod. Source: kubernetes.io, Accessing the Kubernetes API from a Pod."""

JITTER = 1.2
"""A renewal is tried again before the deadline, however late the first attempt began."""

_ELECT = "leader-elect"
_DURATION, _DEADLINE, _RETRY = LEASE_TIMES = tuple(
    f"{_ELECT}-{name}" for name in ("lease-duration", "renew-deadline", "retry-period"))
_NAME, _NAMESPACE = f"{_ELECT}-resource-name", f"{_ELECT}-resource-namespace"


def load_leader_election(reader: Reader) -> LeaseSettings | None:
    """Return the Lease by which replicas elect a leader; None without replicas."""
    timing = ElectionTiming(*(reader.value(name) for name in LEASE_TIMES))
    name, namespace = reader.value(_NAME), reader.value(_NAMESPACE)
    if not reader.value(_ELECT):
        return None
    if timing.duration_s <= timing.renew_deadline_s:
        reader.problem("the deadline must be shorter than the duration", _DURATION, _DEADLINE)
    if timing.retry_s <= 0 or timing.renew_deadline_s <= JITTER * timing.retry_s:
        reader.problem("the period must be above 0, and the deadline more than 1.2 times as long", _DEADLINE,
                       _RETRY)
    return LeaseSettings(name or _own_name(reader), namespace or _own_namespace(reader), timing)


def _own_name(reader: Reader) -> str:
    """Return a name of the router's own: routers of different names work on different Routes or devices."""
    name = f"f5router-{reader.value('name')}"
    try:
        return object_name(name)
    except ValueError as exc:
        reader.problem(f"{exc}; choose another one", _NAME)
        return name


def _own_namespace(reader: Reader) -> str:
    """Return the namespace of the pod."""
    try:
        return reader.read_file(NAMESPACE_FILE).strip()
    except (OSError, ValueError):
        if not reader.text(_NAMESPACE):
            reader.problem("it must be specified outside of a pod", _NAMESPACE)
        return ""


_NAMESPACES = ("namespace", "namespace-labels", "project-labels")


def load_selection(reader: Reader) -> Selection:
    """Return the selection; only one setting may name namespaces.

    Source: openshift/router, RouterSelection.Complete.
    """
    namespace, namespaces, projects = _NAMESPACES
    for pair in ((projects, namespace), (namespaces, projects), (namespaces, namespace)):
        if all(reader.text(name) for name in pair):
            reader.problem("only one of them may be used", *pair)
    return Selection(
        reader.value(namespace) or None, reader.value("labels"), reader.value("fields"),
        reader.value(namespaces), reader.value(projects),
    )
