"""Changes of the cluster that is attacked, by the name of their phase."""

from collections.abc import Callable, Mapping

from benchmarks.attacks import options
from benchmarks.attacks.cluster import Change, Material, Object, base, endpoints, route


def _load(material: Material) -> Change:
    return Change(tuple(base(material).values()))


def _updates(material: Material) -> Change:
    again = {"kind": "reencrypt", "service": "tls", "destinationCACertificate": material.pods.issuer}
    own0 = material["own0-1"]
    return Change(
        (
            endpoints("shop", "web", "10.1.1.2", "10.1.1.3"),
            endpoints("rival", "web", "10.2.1.1", "10.2.1.3"),
            endpoints("shop", "tls", "10.1.3.3"),
            endpoints("shop", "api"),
            route("plain-deep", "plain", path="/api/v3"),
            route("plain-api", "plain", path="/api"),
            route("allow", kind="edge", insecure="Redirect"),
            route("none", kind="edge", insecure="Allow"),
            route("own0", **again, certificate=own0.certificate, key=own0.key),
            route("rival", "moved", namespace="rival"),
            route("wild", "any.wilder", kind="edge", wildcard=True),
            route("through-more", kind="passthrough", service="tls"),
            route("new"),
            route("new-again", namespace="rival", **again),
        )
    )


def _certificates(material: Material) -> Change:
    def renewed(name: str, **more) -> Object:
        pair = material[f"{name}-2"]
        return route(name, certificate=pair.certificate, key=pair.key, **more)

    again = {"kind": "reencrypt", "service": "tls", "insecure": "Allow"}
    return Change(
        (
            *(renewed(f"own{number}", kind="edge") for number in range(3)),
            renewed("edge", kind="edge", insecure="Redirect"),
            renewed("rival-tls", namespace="rival", kind="edge", insecure="Redirect"),
            renewed(
                "again",
                destinationCACertificate=material.pods.issuer,
                caCertificate=material["edge-1"].issuer,
                **again,
            ),
            route("rival-edge", namespace="rival", kind="edge"),
        )
    )


def _deletions(material: Material) -> Change:
    shop = ("plain-api", "edge-api", "own2", "through", "wild", "again")
    routes = [("Route", "shop", name) for name in shop]
    routes += [("Route", "rival", name) for name in ("rival-again", "rival-tls")]
    return Change(delete=(*routes, ("Service", "shop", "api"), ("EndpointSlice", "shop", "api-1")))


def _takeover(material: Material) -> Change:
    return Change(delete=tuple(("Route", "shop", name) for name in ("taken", "taken-tls", "taken-through")))


PHASES: Mapping[str, Callable[[Material], Change]] = {
    "load": _load,
    "updates": _updates,
    "certificates": _certificates,
    "deletions": _deletions,
    "takeover": _takeover,
    "options": options.change,
}
