"""Hypothesis strategies: small clusters in which things collide.

What is drawn from is made once, not for each draw: hypothesis examines every new strategy, which takes
longer than the draw and leaves reference cycles to the collector.
"""

import functools
from collections.abc import Hashable
from dataclasses import replace

from hypothesis import strategies as st

from f5router.model import route_options
from f5router.model.cluster import CA_CRT, TLS_CRT, Backend, Key, PathMatch, PodAuthority, PodNetworks
from f5router.model.route_options import BY_NODE, HealthCheck, RouteOptions
from tests import builders

OPTIONS = st.builds(RouteOptions, balance=st.sampled_from(["", "roundrobin", "leastconn", "source", BY_NODE]),
                    verify_pods=st.sampled_from([None, None, True, False]),
                    app_root=st.sampled_from(["", "", "/app"]),
                    health=st.sampled_from([(), (), *(
                        (HealthCheck(path, kind, 5, 16, send),) for path, kind, send in (
                            ("/", "http", "GET /"), ("/a", "https", "GET /a"), ("/", "tcp", "")))]),
                    pod_connections=st.sampled_from([0, 10]),
                    sources=st.sampled_from([(), ("10.0.0.0/8",), ("10.0.0.1/32", "2001:db8::/32")]),
                    disable_cookies=st.booleans(), session_cookie=st.booleans(),
                    cookie_name=st.sampled_from(["", "c"]),
                    same_site=st.sampled_from(["", "Lax"]),
                    hsts=st.sampled_from(["", "", "max-age=0", "max-age=1"]),
                    forwarded=st.sampled_from(["", "", "append", "replace", "if-none", "never"]),
                    rewrite=st.sampled_from([None, None,
                                             *map(route_options.parse_rewrite, ("/", "/a", "/a#"))]),
                    request_actions=st.sampled_from([(), ("delete.61",), ("set.61.t_62", "delete.63")]),
                    response_actions=st.sampled_from([(), ("delete.61",)]),
                    check_interval_ms=st.sampled_from([0, 1, 1000, 5000]),
                    most_connections=st.sampled_from([0, 2]), connection_rate=st.sampled_from([0, 3]),
                    request_rate=st.sampled_from([0, 100]),
                    timeout_ms=st.sampled_from([0, 900]), tunnel_timeout_ms=st.sampled_from([0, 3_600_000]))
NAMESPACES = st.sampled_from(["shop", "bank"])
HOSTS = st.sampled_from(["www.example.com", "api.example.com", "a.b", "a.www.example.com"])
PATHS = st.sampled_from(["", "/", "/a", "/a/", "/a/b", "/ab", "/a//b", "/%61", '/"q{$x}', "/A"])
LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
HOST_NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
POD_ADDRESSES = st.sampled_from(["10.1.1.1", "10.1.1.2", "10.1.2.1", "2001:db8::1"])

NODE_ADDRESSES = st.sampled_from(["10.3.89.1", "10.3.89.2", "10.3.89.213", "2001:db8::1", "127.0.0.1"])

NODE_NAMES = st.sampled_from(["n1", "n2", "n3"])
POD_CIDRS = st.lists(
    st.sampled_from(["10.128.0.0/23", "10.128.1.0/24", "10.128.2.0/23", "fd01::/64", "10.3.89.1/32"]),
    max_size=2).map(tuple)


@functools.lru_cache(maxsize=None, typed=True)
def choice(*values: Hashable) -> st.SearchStrategy:
    """One of these values; the same strategy for the same values."""
    return st.sampled_from(values)


@functools.cache
def _tls(kind: str) -> st.SearchStrategy[dict]:
    if kind not in ("edge", "reencrypt"):
        return st.just({})
    own = choice(1, 2, 3).map(lambda serial: builders.identity(serial=serial, algorithm="ec").tls)
    wrong = st.just({"certificate": "no PEM", "key": ""})
    external = st.just({"external_certificate": "tls"})
    return st.one_of(st.just({}), own, own, wrong, external, external)


WEIGHTS = choice(None, 0, 1, 3, 100, 257)
ALTERNATES = st.lists(st.builds(Backend, choice("web", "api", "none", "NO NAME"), WEIGHTS), max_size=4)
POLICIES = {kind: choice("", "None", "Redirect", *(["Allow"] if kind in ("edge", "reencrypt") else []))
            for kind in ("edge", "reencrypt", "passthrough")}


@st.composite
def routes(draw):
    """A Route of one of few names, so that a second one replaces it."""
    kind = draw(choice("", "edge", "reencrypt", "passthrough"))
    plain = builders.route(
        draw(choice("r1", "r2", "r3")),
        namespace=draw(NAMESPACES),
        host=draw(HOSTS),
        kind=kind,
        path="" if kind == "passthrough" else draw(PATHS),
        insecure=draw(POLICIES[kind]) if kind else "",
        service=draw(choice("web", "api")),
        port=draw(choice("", "http", "8080")),
        age=draw(st.integers(0, 4)),
        wildcard=draw(choice(False, False, False, True)),
        **draw(_tls(kind)),
    )
    if draw(st.booleans()):
        return plain
    return replace(plain, weight=draw(WEIGHTS), alternates=tuple(draw(ALTERNATES)), options=draw(OPTIONS),
                   option_problems=draw(choice((), ("metadata.annotations: no",))))


ROUTES = routes()


@st.composite
def virtual_routes(draw):
    """A Route that an Ingress or an IngressRoute stands for; the root of the latter may be anywhere."""
    plain = draw(ROUTES)
    kind = draw(choice("Ingress", "IngressRoute"))
    root = Key(draw(NAMESPACES), "root") if kind == "IngressRoute" else None
    ports = choice(None, "", "http", "admin")
    virtual = builders.virtual(plain, kind, root=root, alternates=tuple(
        Backend(backend.service, backend.weight, port=draw(ports)) for backend in plain.alternates))
    if not plain.tls or plain.tls.termination != "passthrough":
        virtual = replace(virtual, path_match=draw(choice(*PathMatch)))
    if plain.tls and plain.tls.external_certificate:
        virtual = replace(virtual, tls_secret=Key(draw(NAMESPACES), "tls"),
                          tls=replace(plain.tls, external_certificate=""))
    if plain.tls and plain.tls.termination == "reencrypt" and draw(st.booleans()):
        names = draw(choice((), *((("api", name), ("web", "a.b")) for name in ("a.b", "c.d"))))
        virtual = replace(virtual, pod_authority=PodAuthority(
            Key(plain.key.namespace, draw(choice("tls", "NO NAME"))),
            draw(choice(TLS_CRT, CA_CRT)), "field", names))
    return virtual


def any_routes():
    """A Route, or a virtual one."""
    return st.one_of(routes(), routes(), virtual_routes())


@st.composite
def contenders(draw):
    """A Route that has much to do with others: few hosts, most of one subdomain, and three namespaces."""
    kind = draw(choice("", "", "edge", "passthrough"))
    invalid = {"certificate": "no PEM"} if kind == "edge" and draw(st.booleans()) else {}
    plain = builders.route(
        draw(choice("r1", "r2", "r3", "r4")),
        namespace=draw(choice("shop", "bank", "zoo")),
        host=draw(choice("a.x.y", "b.x.y", "c.x.y", "d.x.y", "e.x.y", "x.y")),
        kind=kind, path="" if kind == "passthrough" else draw(choice("", "/a")),
        age=draw(st.integers(0, 6)), wildcard=draw(choice(False, False, True)), **invalid)
    if draw(choice(False, False, True)):
        root = Key(draw(choice("shop", "bank")), "root")
        plain = builders.virtual(plain, "IngressRoute", root=root)
    return replace(plain, uid=draw(choice("1", "2")))


@st.composite
def secrets(draw):
    """A Secret that Routes may name: usable, or not."""
    first, two = (builders.identity(serial=serial, algorithm="ec") for serial in (1, 2))
    fields = (
        {"identity": first, "authorities": first.issuer}, {"identity": two}, {"type": "Opaque"},
        {"type": "Opaque", "authorities": two.issuer}, {"problem": "the router may not read it"},
        {"problem": "nobody can read it", "not_loaded": True})
    number = draw(choice(*range(len(fields))))
    return builders.secret(draw(NAMESPACES), **fields[number])


@st.composite
def slices(draw):
    """An EndpointSlice of one of few names."""
    ready, draining = (draw(st.frozensets(POD_ADDRESSES, max_size=3)) for _ in range(2))
    return replace(builders.endpoints(
        *ready,
        namespace=draw(NAMESPACES),
        service=draw(choice("web", "api")),
        name=draw(choice("s1", "s2")),
        ports=draw(choice((("http", 8080),), (("http", 8080), ("admin", 9090)))),
        nodes=tuple(draw(st.frozensets(NODE_NAMES, max_size=2))),
    ), draining=draining - ready)


@st.composite
def nodes(draw):
    """A Node of one of few names, addresses and networks."""
    addresses = draw(st.lists(NODE_ADDRESSES, max_size=2))
    return builders.node(
        draw(NODE_NAMES), *addresses, ready=draw(st.booleans()),
        unschedulable=draw(st.booleans()), age=draw(st.integers(0, 2)),
        pod_cidrs=draw(POD_CIDRS),
    )


@st.composite
def pod_networks(draw):
    """A block of Calico, whose name has a number, or a CiliumNode."""
    node = draw(NODE_NAMES)
    name = draw(st.sampled_from([node, f"{node}-0", f"{node}-1"]))
    return PodNetworks(Key("", name), node, draw(POD_CIDRS))


@st.composite
def host_subnets(draw):
    """The HostSubnet of such a Node, or a ghost's."""
    return builders.host_subnet(draw(choice("n1", "n2", "f5")), draw(NODE_ADDRESSES))


@st.composite
def services(draw):
    """A Service, with node ports or without."""
    return builders.service(
        draw(choice("web", "api")), namespace=draw(NAMESPACES),
        node_port=draw(choice(0, 30080, 30090)), local=draw(st.booleans()),
        type=draw(choice("ClusterIP", "NodePort", "LoadBalancer")),
        cluster_ip=draw(choice("", "172.30.0.1", "fd02::1")),
    )


@st.composite
def cluster_networks(draw):
    """The ClusterNetwork, with one of two ports."""
    return builders.cluster_network(draw(choice(4789, 8472)))
