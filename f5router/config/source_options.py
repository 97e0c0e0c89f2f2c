"""Settings of the kinds of objects that are served, and which of them, rows of the table in options.py."""

from f5router.admission.foreign import translation
from f5router.config import parsers
from f5router.config.option import SELECTION, Option
from f5router.model import address_range
from f5router.sources import settings


def default_backend_namespaces(text: str) -> frozenset[str]:
    """Read names of namespaces, or the sign for all of them. Raises: ValueError."""
    everywhere = text.strip() == settings.ALL_NAMESPACES
    return frozenset({settings.ALL_NAMESPACES}) if everywhere else parsers.namespaces(text)


OPTIONS = (
    Option("sources", "ROUTER_SOURCES", "routes,ingress,ingressroutes", SELECTION,
           "Kinds to serve: Routes, Ingresses, Contour's IngressRoutes, and Gateways of the Gateway API with "
           "their routes. Unless it is set, Gateways are served, too, with --gateway-addresses, and with "
           "--f5-vserver-address once a GatewayClass names this router. A kind whose CRD is missing is "
           "picked up once it is installed.",
           "KIND,...", parsers.several("routes", "ingress", "ingressroutes", "gateway")),
    Option("gateway-addresses", "ROUTER_GATEWAY_ADDRESSES", "", SELECTION,
           "Addresses that Gateways may have, on virtual servers that the router creates for each: networks, "
           "ranges FIRST-LAST or addresses, for all GatewayClasses or, with CLASS=, for one. A Gateway "
           "without spec.addresses gets a free one. Default: one Gateway at a time is served, on "
           "--f5-vserver-address.", "[CLASS=]RANGE,...", address_range.parse, repeats=True),
    Option("gateway-addresses-per-namespace", "ROUTER_GATEWAY_ADDRESSES_PER_NAMESPACE", "", SELECTION,
           "Most of these addresses that Gateways of one namespace may have; those that they have stay. "
           "Default: half of the addresses of their GatewayClass, and at least 4.", "N",
           parsers.integer(1, 100_000)),
    Option("gateway-controller", "ROUTER_GATEWAY_CONTROLLER", settings.GATEWAY_CONTROLLER, SELECTION,
           "Controller of the GatewayClasses whose Gateways are served.", "NAME", settings.parse_controller),
    Option("ingress-class", "ROUTER_INGRESS_CLASS", settings.INGRESS_CLASS, SELECTION,
           "Class of the Ingresses to serve, if their annotation kubernetes.io/ingress.class names a class.",
           "NAME", settings.parse_class),
    Option("ingress-controller", "ROUTER_INGRESS_CONTROLLER", settings.CONTROLLER, SELECTION,
           "Controller of the IngressClasses whose Ingresses are served.", "NAME",
           settings.parse_controller),
    Option("ignore-annotations", "ROUTER_IGNORE_ANNOTATIONS", "", SELECTION,
           "Annotations of other controllers to ignore, with a warning, even if an Ingress asks for a "
           "protection by them; DOMAIN/* for all annotations of a controller. Default: such an Ingress is "
           "not served.",
           "NAME,...", translation.parse_ignored),
    Option("ingress-insecure-policy", "ROUTER_INGRESS_INSECURE_POLICY", "Redirect", SELECTION,
           "What requests without TLS get for a host of an Ingress with TLS, unless an annotation says so: "
           "Redirect to https, or Allow to serve them.",
           "Redirect|Allow", parsers.choice("Redirect", "Allow")),
    Option("default-backend-namespaces", "ROUTER_DEFAULT_BACKEND_NAMESPACES", "", SELECTION,
           "Namespaces, separated by commas, whose Ingresses may have spec.defaultBackend without rules; the "
           "oldest such Ingress gets the requests for all hosts that nobody claims. * stands for every "
           "namespace. Default: none.",
           "NAME,...", default_backend_namespaces),
    Option("root-namespaces", "ROUTER_ROOT_NAMESPACES", "", SELECTION,
           "Namespaces that may have root IngressRoutes, separated by commas. Default: all.",
           "NAME,...", parsers.namespaces),
    Option("ingressroute-class", "ROUTER_INGRESSROUTE_CLASS", "", SELECTION,
           "Class of the IngressRoutes to serve. Default: class contour, or no class.",
           "NAME", settings.parse_class),
)
