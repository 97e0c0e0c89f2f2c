"""The cluster that is attacked: Routes of all kinds, of two tenants, and changes while they are served."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.attacks import marks
from benchmarks.attacks.marks import Marks, cis, marked
from tests import manifests
from tests.builders import Identity, identity
from tests.traffic.load import REFUSED

TENANTS = ("shop", "rival")
Object = dict
Objects = dict[tuple[str, str, str], Object]
"""By kind, namespace and name."""
ENTRIES = (("http", False), ("https", True))
OTHERS = "192.0.2.0/24 2001:db8::/32"
"""Clients of Routes that the attack's own clients must not reach."""
ATTACKERS = "127.0.0.0/8 ::1 " + OTHERS
ANNOTATIONS = "haproxy.router.openshift.io/"


@dataclass(frozen=True)
class Material:
    """Certificates and keys, made once for all processes, so that names on the device are comparable."""

    pods: Identity
    default: Identity
    """Certificate of the virtual server."""
    site: Identity
    """The router's default."""
    hosts: Mapping[str, Identity]

    def __getitem__(self, name: str) -> Identity:
        return self.hosts[name]


NAMES = ("edge", "own0", "own1", "own2", "taken-tls", "rival-tls", "rival-edge", "again")
"""Hosts with a certificate of their own; each has two, the second for when it is renewed."""


def make_material() -> Material:
    """A few seconds of work."""
    hosts = {
        f"{name}-{serial}": identity(f"{name}.example.com", serial=serial)
        for name in NAMES
        for serial in (1, 2)
    }
    return Material(
        identity("pods.example.com", ca="Pod CA"), identity("default.example.com", ca="Default CA"),
        identity("site.example.com", ca="Site CA"), hosts
    )


PODS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, int]]] = {
    ("shop", "web"): (("10.1.1.1", "10.1.1.2"), ("http", 8080)),
    ("shop", "api"): (("10.1.2.1", "10.1.2.2"), ("http", 8080)),
    ("shop", "tls"): (("10.1.3.1", "10.1.3.2"), ("https", 8443)),
    ("shop", "empty"): ((), ("http", 8080)),
    ("rival", "web"): (("10.2.1.1", "10.2.1.2"), ("http", 8080)),
    ("rival", "tls"): (("10.2.3.1",), ("https", 8443)),
}
SPARE = {
    ("shop", "web"): ("10.1.1.3", "10.1.1.4"),
    ("shop", "api"): ("10.1.2.3",),
    ("shop", "tls"): ("10.1.3.3",),
    ("rival", "web"): ("10.2.1.3",),
    ("rival", "tls"): ("10.2.3.2",),
}
"""Pods that run as well but are no endpoints yet."""


def key(obj: Object) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"]


def endpoints(namespace: str, service: str, *pods: str) -> Object:
    return manifests.endpoints(namespace, service, pods, ports=(PODS[namespace, service][1],))


def route(name: str, host: str = "", *, namespace: str = "shop", wildcard: bool = False, **more) -> Object:
    route = manifests.route(name, namespace=namespace, host=f"{host or name}.example.com", **more)
    if wildcard:
        route["spec"]["wildcardPolicy"] = "Subdomain"
    return route


def annotated(route: Object, **options: str) -> Object:
    """Set annotations of a Route, by name without the prefix."""
    route["metadata"]["annotations"] = {f"{ANNOTATIONS}{name}": text for name, text in options.items()}
    return route


def base(material: Material) -> Objects:
    """The objects from which every attack starts."""

    def own(name: str) -> dict[str, str]:
        return {"certificate": material[f"{name}-1"].certificate, "key": material[f"{name}-1"].key}

    again = {"kind": "reencrypt", "service": "tls", "destinationCACertificate": material.pods.issuer}
    late = {"namespace": "rival", "created": "2026-02-01T00:00:00Z"}
    routes = [
        route("plain"),
        route("plain-api", "plain", path="/api", service="api"),
        route("plain-deep", "plain", path="/api/v2"),
        route("edge", kind="edge", insecure="Redirect", **own("edge")),
        route("edge-api", "edge", path="/api", service="api", kind="edge", insecure="Allow"),
        route("allow", kind="edge", insecure="Allow"),
        route("none", kind="edge"),
        *(route(f"own{number}", kind="edge", **own(f"own{number}")) for number in range(3)),
        route("again", insecure="Allow", **again, **own("again")),
        route("again-more", **again),
        route("through", kind="passthrough", service="tls"),
        route("through-more", kind="passthrough", service="tls", insecure="Redirect"),
        route("empty", service="empty"),
        *_optional(material, again),
        annotated(route("members", "plain", path="/members"), ip_allowlist=ATTACKERS),
        annotated(route("closed"), ip_allowlist=OTHERS),
        annotated(route("closed-edge", kind="edge", insecure="Redirect"), ip_allowlist=OTHERS),
        annotated(route("closed-through", kind="passthrough", service="tls"), ip_allowlist=OTHERS),
        route("wild", "any.wild", kind="edge", insecure="Allow", wildcard=True),
        route("taken"),
        route("taken-tls", kind="edge", **own("taken-tls")),
        route("taken-through", kind="passthrough", service="tls"),
        route("rival", namespace="rival"),
        route("rival-tls", namespace="rival", kind="edge", insecure="Redirect", **own("rival-tls")),
        route("rival-edge", namespace="rival", kind="edge", **own("rival-edge")),
        route("rival-again", namespace="rival", **again),
        route("rival-through", namespace="rival", kind="passthrough", service="tls"),
        route("taken", **late),
        route("taken-through", service="tls", kind="passthrough", **late),
        route(
            "taken-tls",
            kind="edge",
            insecure="Allow",
            certificate=material["taken-tls-2"].certificate,
            key=material["taken-tls-2"].key,
            **late,
        ),
    ]
    services = [
        obj
        for (namespace, name), (pods, port) in PODS.items()
        for obj in manifests.service(namespace, name, pods=pods, ports=(port,))
    ]
    return {key(obj): obj for obj in (*services, *routes)}


def _optional(material: Material, again: dict[str, str]) -> list[Object]:
    """Return Routes with options: all of them side by side on one host, and on others."""
    own2 = {"certificate": material["own2-1"].certificate, "key": material["own2-1"].key}
    return [
        marked(route("marked"), "one"),
        marked(route("marked-b", "marked", path="/b"), "two", number=2, **{"rewrite-target": "/new"}),
        route("marked-none", "marked", path="/none"),
        marked(route("marked-edge", kind="edge", **own2), "three", number=3, balance="roundrobin"),
        marked(route("marked-again", **again), "four", number=4, forwarded="never"),
        marked(route("marked-through", kind="passthrough", service="tls"), "five", number=5),
        marked(route("marked-rival", namespace="rival", kind="edge", insecure="Allow"), "six", number=6,
               forwarded="replace", disable_cookies="true"),
        cis(marked(route("root"), "seven", number=7), rewrite_app_root="/home"),
        cis(route("old", "root", path="/old"), rewrite_target_url="/fresh",
            balance="least-connections-member", allow_source_range=ATTACKERS.replace(" ", ",")),
    ]


# -- changes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """Objects that are applied, and keys of those that are deleted."""

    apply: tuple[Object, ...] = ()
    delete: tuple[tuple[str, str, str], ...] = ()

    def to(self, objects: Objects) -> Objects:
        """The objects afterwards."""
        kept = {each: obj for each, obj in objects.items() if each not in self.delete}
        return kept | {key(obj): obj for obj in self.apply}


# -- what clients get ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One request that clients repeat."""

    host: str
    path: str
    tls: bool

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}{self.path}"


@dataclass(frozen=True)
class Answer:
    """Answer to a request: who answers, or the status that the BIG-IP gives; and the certificate shown.

    The status is REFUSED where the connection is reset.
    """

    status: int
    services: frozenset[tuple[str, str]] = frozenset()
    """Any of these; none if the BIG-IP answers itself."""
    certificate: str = field(default="", repr=False)
    location: str = field(default="", compare=False)
    marks: Marks | None = field(default=None, compare=False)
    """Marks of the Route whose pods answer."""


NOWHERE = "nobody.example.com"


def requests(*stages: Objects) -> list[Asked]:
    """One for each Host and path of any of the stages, on both ports, and one for a Host that nobody has."""
    places = {(NOWHERE, "/"), ("a.b.wild.example.com", "/")}
    for route in (obj for objects in stages for obj in objects.values() if obj["kind"] == "Route"):
        path = route["spec"].get("path", "")
        places.add((_host(route), f"{path}/x" if path else "/"))
        if marks.app_root(route):
            places.add((_host(route), "/x"))
    return [Asked(host, path, tls) for host, path in sorted(places) for _, tls in ENTRIES]


def _host(route: Object) -> str:
    """Return the Host of the requests for a Route."""
    return route["spec"]["host"]


def answer(asked: Asked, objects: Objects, material: Material) -> Answer:
    """By the contract of docs/routes.md, without any of the router's code."""
    routes = _for(asked, objects)
    if not asked.tls:
        decides = _longest(routes)
        if decides is not None and _on_port_80(decides) == "Redirect":
            return Answer(302, location=f"https://{asked.host}{asked.path}")
        route = _longest([route for route in routes if _on_port_80(route) == "Allow"])
        return _from(route, asked, objects, "") if route else Answer(503)
    route = _longest([route for route in routes if _kind(route)])
    if route is not None and _kind(route) == "passthrough":
        return _from(route, asked, objects, material.pods.certificate)
    shown = _shown(asked.host, objects, material)
    return _from(route, asked, objects, shown) if route else Answer(503, certificate=shown)


def _kind(route: Object) -> str:
    return (route["spec"].get("tls") or {}).get("termination", "")


def _on_port_80(route: Object) -> str:
    """The insecure policy of a Route; Allow for one without TLS."""
    return route["spec"]["tls"].get("insecureEdgeTerminationPolicy", "") if _kind(route) else "Allow"


def _from(route: Object, asked: Asked, objects: Objects, shown: str) -> Answer:
    if asked.path == "/" and (location := marks.app_root(route)):
        return Answer(302, certificate=shown, location=location)
    namespace, spec = route["metadata"]["namespace"], route["spec"]
    services = frozenset(
        (namespace, backend["name"])
        for backend in (spec["to"], *spec.get("alternateBackends", ()))
        if backend["weight"] and _has_pods(namespace, backend["name"], objects)
    )
    if not services:
        return Answer(503, certificate=shown)
    if not _allowed(route):
        return Answer(REFUSED, certificate=shown)
    return Answer(200, services, shown, marks=marks.expected(route, asked.path))


def _allowed(route: Object) -> bool:
    texts = route["metadata"].get("annotations", {})
    lists = [text for name, text in texts.items() if name.startswith(f"{ANNOTATIONS}ip_")]
    return all(text == ATTACKERS for text in lists)


def _has_pods(namespace: str, service: str, objects: Objects) -> bool:
    return bool(objects.get(("EndpointSlice", namespace, f"{service}-1"), {}).get("endpoints"))


def _for(asked: Asked, objects: Objects) -> list[Object]:
    """The Routes that a request is for: the oldest of each path, of the tenant that holds the Host."""
    by_path: dict[str, Object] = {}
    for route in sorted(_of_host(asked.host, objects), key=_age):
        by_path.setdefault(route["spec"].get("path", ""), route)
    return [route for path, route in by_path.items() if _fits(asked.path, path)]


def _longest(routes: Sequence[Object]) -> Object | None:
    return max(routes, key=lambda route: len(route["spec"].get("path", "")), default=None)


def _age(route: Object) -> str:
    return route["metadata"]["creationTimestamp"]


def _of_host(host: str, objects: Objects) -> list[Object]:
    routes = [obj for obj in objects.values() if obj["kind"] == "Route" and _covers(obj, host)]
    owner = min(routes, key=_age, default=None)
    return [route for route in routes if route["metadata"]["namespace"] == owner["metadata"]["namespace"]]


def _covers(route: Object, host: str) -> bool:
    own = route["spec"]["host"]
    if route["spec"]["wildcardPolicy"] == "Subdomain":
        return host.partition(".")[2] == own.partition(".")[2]
    return host == own


def _fits(path: str, prefix: str) -> bool:
    return not prefix or path == prefix or path.startswith(prefix.rstrip("/") + "/")


def _shown(host: str, objects: Objects, material: Material) -> str:
    """The certificate of a Host, else the default one."""
    own = [
        route["spec"]["tls"]["certificate"]
        for route in _of_host(host, objects)
        if route["spec"].get("tls", {}).get("certificate")
    ]
    return own[0] if own else material.site.certificate
