"""Changes of the options of Routes: annotations, Services with weights, and pods that end."""

from benchmarks.attacks.cluster import ATTACKERS, OTHERS, PODS, Change, Material, Object, annotated, route
from benchmarks.attacks.marks import cis, marked
from tests import manifests

RATES = {"rate-limit-connections": "true", "rate-limit-connections.rate-tcp": "100000",
         "rate-limit-connections.concurrent-tcp": "1000"}
"""Limits of each client that the attack's own clients do not reach."""


def change(material: Material) -> Change:
    """Routes get Services, weights and limits, and pods of one Service are ending."""
    again = {"kind": "reencrypt", "service": "tls", "destinationCACertificate": material.pods.issuer}
    own0, own1, own2 = (material[f"own{number}-1"] for number in range(3))
    ending = manifests.endpoints("shop", "web", ("10.1.1.2",), ports=(PODS["shop", "web"][1],),
                                 draining=("10.1.1.1",))
    return Change(
        (
            ending,
            _weighted(route("plain"), 90, api=10),
            annotated(route("members", "plain", path="/members"), ip_allowlist=OTHERS),
            annotated(route("closed"), ip_allowlist=ATTACKERS, timeout="7s"),
            annotated(route("edge-api", "edge", path="/api", service="api", kind="edge", insecure="Allow"),
                       timeout="5s", **{"timeout-tunnel": "2h"}),
            annotated(route("rival-through", namespace="rival", kind="passthrough", service="tls"),
                       balance="source"),
            _weighted(route("allow", kind="edge", insecure="Allow"), 0, api=5),
            _weighted(route("own0", kind="edge", certificate=own0.certificate, key=own0.key), 1, api=0),
            annotated(route("through", kind="passthrough", service="tls"), balance="leastconn"),
            _weighted(annotated(route("again-more", **again), balance="leastconn"), 256),
            annotated(route("none", kind="edge"), **{"pod-concurrent-connections": "100"}),
            annotated(route("own1", kind="edge", certificate=own1.certificate, key=own1.key),
                       disable_cookies="true", **RATES),
            annotated(route("through-more", kind="passthrough", service="tls", insecure="Redirect"),
                       **RATES),
            annotated(route("rival", namespace="rival"), balance="leastconn", ip_whitelist=ATTACKERS),
            # Two Routes change their options with each other.
            marked(route("marked"), "two", number=2, forwarded="never"),
            marked(route("marked-b", "marked", path="/b"), "one", **{"rewrite-target": "/newer"}),
            marked(route("marked-none", "marked", path="/none"), "four", number=4),
            marked(route("marked-edge", kind="edge", certificate=own2.certificate, key=own2.key), "six",
                   number=6, balance="source"),
            route("marked-again", **again),
            marked(route("marked-rival", namespace="rival", kind="edge", insecure="Allow"), "three",
                   number=3, **{"rewrite-target": "/rival"}),
            cis(marked(route("root"), "seven", number=7), rewrite_app_root="/house"),
            cis(route("old", "root", path="/old"), rewrite_target_url="/", balance="round-robin",
                allow_source_range=ATTACKERS.replace(" ", ","), health='[{"path": "root.example.com/old"}]'),
        )
    )


def _weighted(route: Object, weight: int, **services: int) -> Object:
    """Set the weights of a Route's Service and of others, by name."""
    route["spec"]["to"]["weight"] = weight
    route["spec"]["alternateBackends"] = [
        {"kind": "Service", "name": name, "weight": share} for name, share in services.items()
    ]
    return route
