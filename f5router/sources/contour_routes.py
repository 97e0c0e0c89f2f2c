"""The virtual Route of one entry of an IngressRoute, as its root publishes it."""

from f5router.model import names
from f5router.model.cluster import Key, Origin, PathMatch, Route, RouteTLS
from f5router.model.ingress import IngressRoute, RouteEntry
from f5router.sources.contour_entries import CheckedEntry, quoted

KIND = "IngressRoute"

DEFAULT_VERSION, VERSIONS = "1.1", ("", "1.1", "1.2", "1.3")
"""Values of minimumProtocolVersion. Any other text means the default."""


def host_of(fqdn: str) -> str:
    """Return the Host of a root."""
    return fqdn.strip().lower().removesuffix(".")


def secret_of(root: IngressRoute) -> Key | None:
    """Return the Secret that a root names: NAME, /NAME, or NAMESPACE/NAME; None without one.

    Source: projectcontour/contour v1.5.1, internal/dag/builder.go: splitSecret.
    """
    text = root.virtual_host.secret if root.virtual_host else ""
    namespace, _, name = text.partition("/") if "/" in text else ("", "", text)
    return Key(namespace or root.key.namespace, name) if text else None


def _minimum(text: str) -> str:
    return text if text and text in VERSIONS else DEFAULT_VERSION


def build(root: IngressRoute, owner: Key, entry: RouteEntry, checked: CheckedEntry, *,
          passthrough: bool = False) -> Route:
    """Make the Route of an entry. Args: owner: the object that has the entry."""
    host, secret = root.virtual_host, secret_of(root)
    assert host is not None, "called with a root"
    first, *others = checked.backends
    tls = None
    if passthrough:
        tls = RouteTLS("passthrough")
    elif secret is not None:
        tls = RouteTLS("reencrypt" if checked.reencrypt else "edge",
                       "Allow" if entry.permit_insecure else "Redirect")
    # The tcpproxy is the Route without a path: / beside it is another claim, of all requests on port 80.
    beside = host.passthrough and any(root.tcp_proxy or ()) and not passthrough
    path = "" if entry.match == "/" and not beside else entry.match
    return Route(
        key=Key(owner.namespace, names.virtual_route(
            KIND, owner.name, "\0".join((*root.key, "tcpproxy" if passthrough else path)))),
        uid=root.uid,
        created=root.created,
        host=host_of(host.fqdn),
        path=path,
        path_match=PathMatch.TEXT,
        service=first.service,
        weight=first.weight,
        target_port=first.port or "",
        alternates=tuple(backend._replace(port=None) if backend.port == first.port else backend
                         for backend in others),
        tls=tls,
        tls_secret=secret if tls and not passthrough else None,
        pod_authority=checked.authority,
        pods_speak_tls=checked.reencrypt and tls is None,
        redirect_status=301,
        minimum_tls=_minimum(host.minimum_version) if tls and not passthrough else "",
        options=checked.options,
        origin=Origin(KIND, owner, "spec.tcpproxy" if passthrough else f"route {quoted(entry.match)}",
                      "spec.virtualhost.fqdn", claimant=root.key,
                      tls_field="spec.virtualhost.tls.secretName"))
