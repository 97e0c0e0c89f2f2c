"""The kinds the fake API server knows: one row each.

A row says what a client can see of a kind: its group, plural and short names, its scope, whether it has
a status sub-resource, which field selectors it takes and how strict its update is. To add a kind, add a row.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Path = tuple[str, ...]

METADATA_FIELDS: Mapping[str, Path] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
}

OBJECT_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def _fields(*names: str) -> Mapping[str, Path]:
    return METADATA_FIELDS | {name: tuple(name.split(".")) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of object, as its API server registers it."""

    group: str
    """API group; empty for the core group."""
    version: str
    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    status: bool = False
    """Has /status: the object's own URL then ignores status, and /status ignores everything else."""
    status_on_create: bool = False
    """A POST may bring one, as a kubelet's does: k8s.io/kubernetes/pkg/registry/core/node/strategy.go."""
    generation: bool = False
    """metadata.generation counts changes of all but metadata and, where it is a sub-resource, status.
    OpenShift Routes have none: openshift-apiserver, pkg/route/apiserver/registry/route/strategy.go, never
    sets it."""
    counted: tuple[str, ...] = ()
    """Metadata whose changes count too: PrepareForUpdate of k8s.io/kubernetes
    pkg/registry/discovery/endpointslice/strategy.go and pkg/registry/apps/deployment/strategy.go."""
    null_lists: tuple[str, ...] = ()
    """Lists that are null where they are empty or were not given: their fields are not ``omitempty``, and
    etcd, which holds Protobuf, does not tell an empty list from none. k8s.io/api/discovery/v1/types.go."""
    custom: bool = False
    """Defined by a CustomResourceDefinition: list items carry apiVersion and kind; no strategic merge."""
    unconditional_update: bool = True
    """A PUT without resourceVersion is accepted (AllowUnconditionalUpdate in the API server)."""
    create_on_update: bool = False
    """A PUT to a name that does not exist creates it (AllowCreateOnUpdate)."""
    any_name: bool = False
    """Names are whatever can stand in a URL, ``system:admin`` too."""
    fields: Mapping[str, Path] = field(default_factory=_fields)
    """Field selector to the path of its value."""
    verbs: tuple[str, ...] = OBJECT_VERBS
    """Verbs told in discovery; a kind with only ``create`` is a review and is never stored."""
    legacy: bool = False
    """Served under /oapi, as OpenShift 3 did before its kinds had groups."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base(self) -> str:
        """URL of the group and version: ``/apis/route.openshift.io/v1``."""
        if self.legacy:
            return f"/oapi/{self.version}"
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def resource(self) -> str:
        """Plural and group, as error messages spell it: ``routes.route.openshift.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def stored(self) -> bool:
        return "get" in self.verbs

    def kept(self, data: Mapping) -> dict:
        """An object as the server gives it back."""
        return {**data, **{name: data.get(name) or None for name in self.null_lists}}


_EVENT_FIELDS = tuple(
    f"involvedObject.{name}"
    for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
)

GATEWAY_GROUP = "gateway.networking.k8s.io"


def _gateway(kind: str, plural: str, short_names: tuple[str, ...], *versions: str, namespaced: bool = True,
             status: bool = True) -> Iterator[Kind]:
    """Rows of a kind of the Gateway API, one for each version."""
    for version in versions:
        yield Kind(GATEWAY_GROUP, version, kind, plural, kind.lower(), short_names, namespaced=namespaced,
                   status=status, generation=True, custom=True, unconditional_update=False)


KINDS: tuple[Kind, ...] = (
    Kind("", "v1", "Namespace", "namespaces", "namespace", ("ns",), namespaced=False, status=True,
         fields=_fields("status.phase")),
    Kind("", "v1", "Service", "services", "service", ("svc",), status=True, create_on_update=True,
         fields=_fields("spec.clusterIP", "spec.type")),
    Kind("", "v1", "Endpoints", "endpoints", "endpoints", ("ep",), create_on_update=True),
    Kind("", "v1", "Node", "nodes", "node", ("no",), namespaced=False, status=True, status_on_create=True,
         fields=_fields("spec.unschedulable")),
    Kind("", "v1", "Secret", "secrets", "secret", fields=_fields("type")),
    Kind("", "v1", "ConfigMap", "configmaps", "configmap", ("cm",)),
    Kind("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount", ("sa",)),
    Kind("", "v1", "Pod", "pods", "pod", ("po",), status=True,
         fields=_fields("spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                        "spec.serviceAccountName", "status.phase", "status.podIP",
                        "status.nominatedNodeName")),
    Kind("", "v1", "Event", "events", "event", ("ev",), create_on_update=True,
         fields=_fields(*_EVENT_FIELDS, "reason", "reportingComponent", "source", "type")),
    Kind("events.k8s.io", "v1", "Event", "events", "event", ("ev",), create_on_update=True,
         fields=_fields("reason", "reportingController", "type", "regarding.kind", "regarding.namespace",
                        "regarding.name", "regarding.uid")),
    Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice", generation=True,
         counted=("labels",), null_lists=("endpoints", "ports")),
    Kind("networking.k8s.io", "v1", "Ingress", "ingresses", "ingress", ("ing",), status=True,
         generation=True),
    Kind("networking.k8s.io", "v1beta1", "Ingress", "ingresses", "ingress", ("ing",), status=True,
         generation=True),
    Kind("extensions", "v1beta1", "Ingress", "ingresses", "ingress", ("ing",), status=True, generation=True),
    Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "ingressclass", namespaced=False,
         generation=True),
    Kind("networking.k8s.io", "v1beta1", "IngressClass", "ingressclasses", "ingressclass", namespaced=False,
         generation=True),
    Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "networkpolicy", ("netpol",),
         generation=True),
    Kind("apps", "v1", "Deployment", "deployments", "deployment", ("deploy",), status=True, generation=True,
         counted=("annotations",)),
    Kind("batch", "v1", "Job", "jobs", "job", status=True, generation=True),
    Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget", ("pdb",),
         status=True, generation=True),
    Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", "role", any_name=True),
    Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "rolebinding", any_name=True),
    Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "clusterrole", namespaced=False,
         any_name=True),
    Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings",
         "clusterrolebinding", namespaced=False, any_name=True),
    Kind("coordination.k8s.io", "v1", "Lease", "leases", "lease", unconditional_update=False,
         create_on_update=True),
    Kind("route.openshift.io", "v1", "Route", "routes", "route", status=True, unconditional_update=False,
         fields=_fields("spec.host", "spec.path", "spec.to.name")),
    Kind("", "v1", "Route", "routes", "route", status=True, unconditional_update=False,
         fields=_fields("spec.host", "spec.path", "spec.to.name"), legacy=True),
    Kind("project.openshift.io", "v1", "Project", "projects", "project", namespaced=False,
         verbs=("get", "list")),
    Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
         "customresourcedefinition", ("crd", "crds"), namespaced=False, status=True, generation=True),
    Kind("contour.heptio.com", "v1beta1", "IngressRoute", "ingressroutes", "ingressroute", generation=True,
         custom=True, unconditional_update=False),
    Kind("contour.heptio.com", "v1beta1", "TLSCertificateDelegation", "tlscertificatedelegations",
         "tlscertificatedelegation", generation=True, custom=True, unconditional_update=False),
    *_gateway("GatewayClass", "gatewayclasses", ("gc",), "v1", "v1beta1", namespaced=False),
    *_gateway("Gateway", "gateways", ("gtw",), "v1", "v1beta1"),
    *_gateway("HTTPRoute", "httproutes", (), "v1", "v1beta1"),
    *_gateway("TLSRoute", "tlsroutes", (), "v1", "v1alpha3", "v1alpha2"),
    *_gateway("TCPRoute", "tcproutes", (), "v1", "v1alpha2"),
    *_gateway("ReferenceGrant", "referencegrants", ("refgrant",), "v1", "v1beta1", status=False),
    *_gateway("BackendTLSPolicy", "backendtlspolicies", ("btlspolicy",), "v1", "v1alpha3"),
    Kind("network.openshift.io", "v1", "HostSubnet", "hostsubnets", "hostsubnet", namespaced=False,
         generation=True, custom=True, unconditional_update=False),
    Kind("network.openshift.io", "v1", "ClusterNetwork", "clusternetworks", "clusternetwork",
         namespaced=False, generation=True, custom=True, unconditional_update=False),
    Kind("network.openshift.io", "v1", "NetNamespace", "netnamespaces", "netnamespace", namespaced=False,
         generation=True, custom=True, unconditional_update=False),
    Kind("", "v1", "HostSubnet", "hostsubnets", "hostsubnet", namespaced=False, unconditional_update=False,
         legacy=True),
    Kind("", "v1", "ClusterNetwork", "clusternetworks", "clusternetwork", namespaced=False,
         unconditional_update=False, legacy=True),
    Kind("", "v1", "NetNamespace", "netnamespaces", "netnamespace", namespaced=False,
         unconditional_update=False, legacy=True),
    Kind("crd.projectcalico.org", "v1", "BlockAffinity", "blockaffinities", "blockaffinity",
         namespaced=False, generation=True, custom=True, unconditional_update=False),
    Kind("cilium.io", "v2", "CiliumNode", "ciliumnodes", "ciliumnode", ("cn", "ciliumn"), namespaced=False,
         status=True, generation=True, custom=True, unconditional_update=False),
    Kind("config.openshift.io", "v1", "Network", "networks", "network", namespaced=False, generation=True,
         custom=True, unconditional_update=False),
    Kind("operator.openshift.io", "v1", "Network", "networks", "network", namespaced=False, generation=True,
         custom=True, unconditional_update=False),
    Kind("operator.openshift.io", "v1", "IngressController", "ingresscontrollers", "ingresscontroller",
         status=True, generation=True, custom=True, unconditional_update=False),
    Kind("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", "prometheusrule", ("promrule",),
         generation=True, custom=True, unconditional_update=False),
    Kind("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", "servicemonitor", ("smon",),
         generation=True, custom=True, unconditional_update=False),
    Kind("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
         "selfsubjectaccessreview", namespaced=False, verbs=("create",)),
    Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "tokenreview", namespaced=False,
         verbs=("create",)),
)  # fmt: skip

SDN_GROUP = "network.openshift.io"
PROJECT_GROUP = "project.openshift.io"
ROUTE_GROUP = "route.openshift.io"
OPENSHIFT_GROUPS = frozenset({
    ROUTE_GROUP, "config.openshift.io", "operator.openshift.io", PROJECT_GROUP, SDN_GROUP})
SLICE_GROUPS = frozenset({"discovery.k8s.io"})


GATEWAY_APIS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "v0.8": {"GatewayClass": "v1beta1", "Gateway": "v1beta1", "HTTPRoute": "v1beta1",
             "ReferenceGrant": "v1beta1"},
    "v1.3": {"GatewayClass": "v1", "Gateway": "v1", "HTTPRoute": "v1", "ReferenceGrant": "v1beta1",
             "TLSRoute": "v1alpha2", "TCPRoute": "v1alpha2", "BackendTLSPolicy": "v1alpha3"},
    "v1.4": {"GatewayClass": "v1", "Gateway": "v1", "HTTPRoute": "v1", "ReferenceGrant": "v1beta1",
             "TLSRoute": "v1alpha3", "TCPRoute": "v1alpha2", "BackendTLSPolicy": "v1"},
    "v1.6": {"GatewayClass": "v1", "Gateway": "v1", "HTTPRoute": "v1", "ReferenceGrant": "v1",
             "TLSRoute": "v1", "TCPRoute": "v1", "BackendTLSPolicy": "v1"},
}  # fmt: skip
"""Releases of the Gateway API, each with the newest version of its kinds, the only one that is served; of
v1.3 and v1.4 it is the experimental channel.
Source: kubernetes-sigs/gateway-api, config/crd of these releases."""


class UnknownKind(LookupError):
    """No row of the table has this kind."""


NETWORK_APIS = ("group", "crd", "oapi", "none")
"""Where the kinds of OpenShift's SDN are served: in their API group, by OpenShift's API server (3.x) or as
custom resources (4.x); under /oapi/v1 (the oldest clusters); or, with another network plug-in, nowhere."""


ROUTE_APIS = ("group", "oapi")
"""Where Routes are served: in their API group, or under /oapi/v1 alone (OpenShift 3.0 to 3.5)."""

INGRESS_APIS = ("networking.k8s.io/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1")
"""The one version in which Ingresses are served; IngressClasses are served in the first two."""


def served_kinds(
    *, openshift: bool, slices: bool, network_api: str = "group", route_api: str = "group",
    ingress_api: str = INGRESS_APIS[0], gateway_api: str = "none",
) -> tuple[Kind, ...]:
    """Rows served over HTTP by a cluster with or without OpenShift's and the slices' API groups.

    Raises: ValueError: network_api is none of NETWORK_APIS, route_api none of ROUTE_APIS, ingress_api none
    of INGRESS_APIS, gateway_api none of GATEWAY_APIS.
    """
    for name, given, known in (
        ("network_api", network_api, NETWORK_APIS), ("route_api", route_api, ROUTE_APIS),
        ("ingress_api", ingress_api, INGRESS_APIS), ("gateway_api", gateway_api, tuple(GATEWAY_APIS)),
    ):
        if given not in known:
            raise ValueError(f"{name} is {given!r}, not one of {', '.join(known)}")
    absent = (frozenset() if openshift else OPENSHIFT_GROUPS) | (frozenset() if slices else SLICE_GROUPS)
    if network_api not in ("group", "crd"):
        absent |= {SDN_GROUP}
    if route_api == "oapi":
        absent |= {ROUTE_GROUP}

    def is_served(kind: Kind) -> bool:
        if kind.legacy:
            return openshift and (route_api if kind.kind == "Route" else network_api) == "oapi"
        if kind.kind in ("Ingress", "IngressClass"):
            return kind.api_version == ingress_api
        if kind.group == GATEWAY_GROUP:
            return GATEWAY_APIS[gateway_api].get(kind.kind) == kind.version
        return kind.group not in absent

    return tuple(filter(is_served, KINDS))


def kind_named(name: str, served: Iterable[Kind] = ()) -> Kind:
    """Row for ``Route``, or ``Event.events.k8s.io`` where the kind alone would give another group's row;
    ``HostSubnet.oapi`` for the one under /oapi.

    Args: served: rows that come first.
    Raises: UnknownKind.
    """
    for kind in (*served, *KINDS):
        if name in (kind.kind, f"{kind.kind}.{'oapi' if kind.legacy else kind.group}"):
            return kind
    raise UnknownKind(f"the fake API server has no kind {name!r}")


def kind_of(obj: Mapping) -> Kind:
    """Row for an object, from its apiVersion and kind.

    Raises: UnknownKind.
    """
    for kind in KINDS:
        if kind.kind == obj.get("kind") and kind.api_version == obj.get("apiVersion"):
            return kind
    raise UnknownKind(f"the fake API server has no {obj.get('apiVersion')!r} {obj.get('kind')!r}")


def each_value(kind: Kind, data: Mapping) -> Iterator[tuple[str, str]]:
    """Field selector names of an object with their values; an absent value is an empty string."""
    for name, path in kind.fields.items():
        value = data
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        yield name, _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
