"""Features of the Gateway API that are served, as the status of a GatewayClass names them.

Sources: kubernetes-sigs/gateway-api v1.6.1, pkg/features (names); GEP-2162 (sorted, and a feature is named if
its conformance tests pass).
"""

from f5router.sources.settings import GatewaySettings

_ALWAYS = (
    "Gateway", "GatewayHTTPListenerIsolation", "HTTPRoute", "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode", "HTTPRoute308RedirectStatusCode", "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteDestinationPortMatching", "HTTPRouteHostRewrite", "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule", "HTTPRouteParentRefPort", "HTTPRoutePathRedirect", "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect", "HTTPRouteQueryParamMatching", "HTTPRouteResponseHeaderModification",
    "HTTPRouteSchemeRedirect", "ReferenceGrant", "TLSRoute",
)
_WITH_ADDRESSES = ("GatewayAddressEmpty", "GatewayPort8080", "GatewayStaticAddresses")
"""Where Gateways have addresses of their own, with any port."""
_CLIENTS = "GatewayFrontendClientCertificateValidation"
_OF_CLIENTS = (_CLIENTS, f"{_CLIENTS}InsecureFallback", "TLSRouteModeMixed", "TLSRouteModeTerminate")
"""Where, moreover, the router's settings do not ask clients for certificates."""


def served(settings: GatewaySettings) -> tuple[str, ...]:
    """Return the names of the features that are served, sorted.

    BackendTLSPolicy is not among them: requests whose pod is not verified get 5xx only where health checks
    find such pods.
    """
    own = (*_WITH_ADDRESSES, *(() if settings.asks_clients else _OF_CLIENTS)) if settings.ranges else ()
    return tuple(sorted((*_ALWAYS, *own)))
