"""Examples of ingress2gateway that its providers test in parts: from OpenAPI, and from Istio.

No API server with the CRDs of the Gateway API accepts most of them. Each is there as it is published, and
with what is missing. Source: as of ingress2gateway.py.
"""

import copy

from tests.gateways import (
    PASSTHROUGH,
    backend,
    gateway,
    grant,
    headers,
    http_route,
    listener,
    path_modifier,
    redirect,
    response_headers,
    rewrite,
    rule,
    tcp_route,
    tls_route,
)
from tests.traffic.ingress2gateway import ACCEPTED, REFUSED, Ask, Example, header, match, of

PLACE = "pkg/i2gw/providers/{}/fixtures/output/{}"
PORT = "Must have port for Service reference"
STAR, BRACE = "spec.listeners[0].hostname", "must only contain valid characters"
NOT_PERMITTED = {**ACCEPTED, "ResolvedRefs": ("False", "RefNotPermitted")}


def ref(name: str, **more: object) -> dict:
    """A backend without a port."""
    return {"name": name, **more}


def operations(*lines: str, **where: str) -> dict:
    """A rule for operations, each a method and a path. Args: where: of the backend."""
    return rule(ref("backend-1", **where), matches=[
        match(path, method=method) for method, path in map(str.split, lines)])


def corrected(*objects: dict) -> tuple[dict, ...]:
    """The objects without the hostname "*", with ports and values, and prefixes in place of parameters."""
    copies = copy.deepcopy(objects)
    for obj in copies:
        for each in obj["spec"].get("listeners", ()):
            if each.get("hostname") == "*":
                del each["hostname"]
        for each in obj["spec"].get("rules", ()):
            for target in each.get("backendRefs", ()):
                target.setdefault("port", 8080)
            for wanted in each.get("matches", ()):
                path, brace, _ = wanted["path"]["value"].partition("/{")
                wanted["path"] = {"type": "PathPrefix" if brace else wanted["path"]["type"], "value": path}
                for field in (*wanted.get("headers", ()), *wanted.get("queryParams", ())):
                    field.setdefault("value", "x")
    return copies


def openapi(name: str, objects: tuple[dict, ...], refused: dict[str, str],
            asks: tuple[Ask, ...], first: tuple[Ask, ...] = ()) -> tuple[Example, Example]:
    """The example as it is, and corrected. Args: first: requests to what is accepted of the first."""
    source = PLACE.format("openapi3", name)
    return (Example(source, objects, first, refused=refused),
            Example(f"{source}, corrected", corrected(*objects), asks))


def external(name: str, *listeners: dict, **more: str) -> dict:
    return gateway(name, *listeners, class_name="external", **more)


ANY = listener("http", hostname="*")
SAMPLE, API = "sample-api-gateway", "api.example.com"
PETS, SHOP = "swagger-petstore-openapi-3-0", "/api/v3"
BOTH = {f"Gateway/{SAMPLE}": STAR, "HTTPRoute/r": PORT}


def paths(numbers: range) -> dict:
    return operations(*(f"GET /path-{number:03}" for number in numbers))


OPENAPI = (
    *openapi("1-petstore3.yaml", (external(f"{PETS}-gateway", ANY), http_route(
        "r", operations(
            f"POST {SHOP}/pet", f"PUT {SHOP}/pet", f"GET {SHOP}/pet/findByStatus",
            f"GET {SHOP}/pet/findByTags", f"DELETE {SHOP}/pet/{{petId}}", f"GET {SHOP}/pet/{{petId}}",
            f"POST {SHOP}/pet/{{petId}}", f"POST {SHOP}/pet/{{petId}}/uploadImage"),
        operations(
            f"GET {SHOP}/store/inventory", f"POST {SHOP}/store/order",
            f"DELETE {SHOP}/store/order/{{orderId}}", f"GET {SHOP}/store/order/{{orderId}}",
            f"POST {SHOP}/user", f"POST {SHOP}/user/createWithList", f"GET {SHOP}/user/login",
            f"GET {SHOP}/user/logout"),
        operations(*(f"{method} {SHOP}/user/{{username}}" for method in ("DELETE", "GET", "PUT"))),
        parents=of(f"{PETS}-gateway"))),
        {f"Gateway/{PETS}-gateway": STAR, "HTTPRoute/r": BRACE}, (
        Ask("a.test", f"{SHOP}/pet", "backend-1", method="PUT"),
        Ask("a.test", f"{SHOP}/pet/7", "backend-1", method="DELETE"),
        Ask("b.test", f"{SHOP}/store/order/7", "backend-1"),
        Ask("b.test", f"{SHOP}/user/createWithList", "backend-1", method="POST"),
        Ask("b.test", f"{SHOP}/user/ann", "backend-1", method="PUT"),
        Ask("b.test", f"{SHOP}/store/inventory", 404, method="POST"), Ask("b.test", "/", 404))),
    *openapi("2-hostnames.yaml", (external(
        SAMPLE, ANY, listener("api-example-com-http", hostname=API),
        listener("api-example-com-https", 443, "HTTPS", hostname=API, secret="gateway-tls-cert")),
        http_route("r", operations("POST /api/v1/resource", *(
            f"{method} /api/v1/resource/{{id}}" for method in ("DELETE", "GET", "PATCH"))),
            parents=of(SAMPLE, sectionName="http")),
        http_route("s", operations(*(f"GET /v{number}/status" for number in (1, 2, 3))),
                   parents=of(SAMPLE, sectionName="api-example-com-http"), hostnames=(API,)),
        http_route("t", operations(*(
            f"{method} /v{number}/resource{rest}" for number in (2, 3) for method, rest in (
                ("POST", ""), ("DELETE", "/{id}"), ("GET", "/{id}"), ("PATCH", "/{id}")))),
            parents=of(SAMPLE), hostnames=(API,))),
        {**BOTH, "HTTPRoute/s": PORT, "HTTPRoute/t": BRACE}, (
        Ask("a.test", "/api/v1/resource/7", "backend-1", method="PATCH"),
        Ask(API, "/api/v1/resource/7", 404), Ask(API, "/v2/status", "backend-1"),
        Ask("a.test", "/v2/status", 404), Ask(API, "/v2/status", 404, port=443),
        Ask(API, "/v3/resource/7", "backend-1"), Ask(API, "/v3/resource/7", "backend-1", port=443))),
    *openapi("3-parameters.yaml", (external(SAMPLE, ANY), http_route(
        "r", rule(ref("backend-1"), matches=[
            match("/resource/{id}", method="GET"),
            match("/resources", method="GET", queryParams=[{"name": "q", "type": "Exact"}]),
            match("/resources", method="POST", headers=[{"name": "digest", "type": "Exact"}])]),
        parents=of(SAMPLE))), {**BOTH, "HTTPRoute/r": "queryParams[0].value"}, (
        Ask("a.test", "/resource/7", "backend-1"), Ask("a.test", "/resources?q=x", "backend-1"),
        Ask("a.test", "/resources", 404),
        Ask("a.test", "/resources", "backend-1", method="POST", lines=("Digest: x",)),
        Ask("a.test", "/resources", 404, method="POST"))),
    *openapi("4-too-many-rules.json", (external(SAMPLE, ANY), http_route(
        "r", *(paths(range(first, first + 8)) for first in range(1, 129, 8)), parents=of(SAMPLE)),
        http_route("s", paths(range(129, 130)), parents=of(SAMPLE))), {**BOTH, "HTTPRoute/s": PORT}, (
        Ask("a.test", "/path-001", "backend-1"), Ask("a.test", "/path-128", "backend-1"),
        Ask("a.test", "/path-129", "backend-1"), Ask("a.test", "/path-130", 404))),
    *openapi("6-reference-grants.yaml", (
        external(SAMPLE, listener("api-example-com-https", 443, "HTTPS", hostname=API,
                                  secret="secrets/gateway-tls-cert"), namespace="networking"),
        grant("s", "secrets", ("Gateway", "networking"), ("", "Secret", "gateway-tls-cert")),
        http_route("r", operations("POST /resources", namespace="apps"), parents=of(SAMPLE),
                   hostnames=(API,), namespace="networking"),
        grant("a", "apps", ("HTTPRoute", "networking"), ("", "Service", "backend-1"))),
        {"HTTPRoute/r": PORT}, (
        Ask(API, "/resources", "backend-1", port=443, method="POST"), Ask(API, "/resources", 404, port=443)),
        (Ask(API, "/resources", 404, port=443, method="POST"),)),
)

# --- Istio -------------------------------------------------------------------------------

ENDED = {"tls": {"mode": "Terminate"}}
LISTENERS = (
    listener("a", hostname="test.com"), listener("b", 443, "HTTPS", hostname="*.bookinfo.com", **ENDED),
    listener("c", 443, "HTTPS", **ENDED), *(listener(name, 8080, "TCP", hostname="foo.example.com")
                                            for name in "de"),
    *(listener(name, 8443, "TLS", hostname="*.tls.com") for name in "fg"),
    listener("h", 8143, hostname="http2.dev"), listener("i", 8144, "HTTPS", hostname="http2.dev", **ENDED),
    listener("j", 8180), listener("k", 8181, "HTTPS", **ENDED), listener("l", 2379, "TCP"))
SERVED = tuple(each for each in LISTENERS if each["name"] in "ahjl")
REVIEWS, TESTS = (f"reviews.{name}.svc.cluster.local" for name in ("prod", "test"))
REGEX = match("/catalog[0-9]+", "RegularExpression")
PREFIX = {"path": path_modifier(prefix="/newcatalog")}


def istio(name: str, *listeners: dict, namespace: str = "test") -> dict:
    return gateway(name, *listeners, class_name="istio", namespace=namespace)


def orphan(obj: dict) -> dict:
    """The object without parentRefs."""
    return {**obj, "spec": {name: each for name, each in obj["spec"].items() if name != "parentRefs"}}


def fragment(name: str, objects: tuple[dict, ...], refused: dict[str, str]) -> Example:
    """Routes as they are published: no Gateway has them."""
    return Example(PLACE.format("istio", name), tuple(map(orphan, objects)), refused=refused)


def mirror(name: str, namespace: str) -> dict:
    return {"type": "RequestMirror", "requestMirror": {"backendRef": {
        "name": name, "namespace": namespace, "port": 8080}}}


def without_ports(*filters: dict) -> tuple[dict, ...]:
    copies = copy.deepcopy(filters)
    for each in copies:
        each["requestMirror"]["backendRef"].pop("port")
    return copies


MIRRORS = mirror("reviewsA", "test"), mirror("reviewsB", "prod")
CATALOG = [
    match("/wpcatalog", "PathPrefix", method="GET", headers=[header("h1", "v1")],
          queryParams=[header("q1", "v2")]),
    match("/consumercatalog", headers=[header("h2", "v3", type="RegularExpression")],
          queryParams=[header("q2", "v4", type="RegularExpression")]), REGEX]
FILTERS = (redirect(scheme="http", path=path_modifier(full="/v1/bookRatings"), statusCode=302, port=8080),
           mirror("reviews", "test"), headers(add=[header("h1", "v1")], set=[header("h2", "v2")],
                                              remove=["h3"]),
           response_headers(add=[header("h4", "v4")], set=[header("h5", "v5")], remove=["h6"]))
IN_TEST = {"namespace": "test", "parents": of("my-gateway"), "hostnames": (REVIEWS, TESTS)}
GATEWAY = istio("my-gateway", listener())


def cors(name: str, service: str, path: str) -> dict:
    return http_route(name, rule(backend(service, weight=0), paths=(path,), filters=(
        {"type": "CORS", "cors": {"allowOrigins": ["https://bookinfo.example.com"]}},)),
        namespace="bookinfo", parents=of("my-gateway"), hostnames=("bookinfo.example.com",))


def rewritten(name: str, host: str, *matches: dict, weight: int = 1, full: str = "", **more: object) -> dict:
    path = {"path": path_modifier(full=full)} if full else PREFIX
    return http_route(name, rule({"name": "reviews", "weight": weight, **more}, matches=list(matches),
                                 filters=(rewrite(**path),)), **{**IN_TEST, "hostnames": (host,)})


LOGIN, BOOKS = "login.bookinfo.com", "reviews.bookinfo.com"
TLS = istio("my-gateway", listener("tls", hostname="*.bookinfo.com", **PASSTHROUGH))
TO_GATEWAY = grant("g", "prod", ("HTTPRoute", "custom-ns"), ("gateway.networking.k8s.io", "Gateway",
                                                             "my-gateway"))


def references(**port: int) -> tuple[dict, ...]:
    own, theirs = of("same-ns-gateway"), of("my-gateway", namespace="prod")
    return (istio("my-gateway", listener(hostname="test.com"), namespace="prod"),
            istio("same-ns-gateway", listener(hostname="test.com"), namespace="custom-ns"),
            http_route("r", rule(ref("test", namespace="prod", **port)), parents=(*theirs, *own),
                       hostnames=("test.com",), namespace="custom-ns"), TO_GATEWAY)


ISTIO = (
    Example(PLACE.format("istio", "1-gateway.yaml"), (istio("my-gateway", *LISTENERS),), refused={
        "Gateway/my-gateway": "hostname must not be specified for protocols ['TCP', 'UDP']"}),
    Example("1-gateway.yaml, its listeners that a Gateway may have", (istio("my-gateway", *SERVED),), (
        Ask("test.com", "/", 404), Ask("http2.dev", "/", 404, port=8143), Ask("a.test", "/", 404, port=8180),
        Ask("a.test", "/", 0, port=2379))),
    fragment("2-virtualservice-http.yaml", (
        http_route("r", rule(ref("reviews", namespace="prod", weight=0), matches=CATALOG, filters=FILTERS,
                             timeouts={"request": "5s"}), **IN_TEST),
        http_route("m", rule(paths=("/wpcatalog",), filters=without_ports(MIRRORS[0]) + without_ports(
            MIRRORS[1])), **IN_TEST)),
        {"HTTPRoute/r": "RequestRedirect filter must not be used together with backendRefs",
         "HTTPRoute/m": PORT}),
    Example("2-virtualservice-http.yaml, with a Gateway and ports", (
        GATEWAY, http_route("r", rule(matches=CATALOG, filters=FILTERS, timeouts={"request": "5s"}),
                            **IN_TEST),
        http_route("m", rule(paths=("/wpcatalog",), filters=MIRRORS), **IN_TEST)), (
        Ask(REVIEWS, "/wpcatalog?q1=v2", 404, lines=("h1: v1",)),),
        {"HTTPRoute/r": REFUSED, "HTTPRoute/m": REFUSED}),
    fragment("3-virtualservice-tls.yaml", (
        tls_route("a", ref("login", namespace="prod", weight=0), hostnames=(LOGIN,), namespace="test"),
        tls_route("b", ref("reviews", namespace="test", weight=0), hostnames=(BOOKS,), namespace="test")),
        {"TLSRoute/a": PORT, "TLSRoute/b": PORT}),
    Example("3-virtualservice-tls.yaml, with a Gateway, ports, and a weight", (
        TLS, tls_route("a", backend("login", weight=0, namespace="prod"), hostnames=(LOGIN,),
                       namespace="test", parents=of("my-gateway")),
        tls_route("b", backend("reviews"), hostnames=(BOOKS,), namespace="test", parents=of("my-gateway"))), (
        Ask(LOGIN, "/", 0, port=443), Ask(BOOKS, "/", "reviews", port=443)),
        {"TLSRoute/a": (NOT_PERMITTED,)}),
    fragment("4-virtualservice-tcp.yaml", (tcp_route(
        "r", backend("mongo", 5555, namespace="backup", weight=0), namespace="prod"),), {}),
    Example("4-virtualservice-tcp.yaml, with a Gateway", (
        istio("my-gateway", listener("db", 5555, "TCP"), namespace="prod"), tcp_route(
            "r", backend("mongo", 5555, namespace="backup", weight=0), namespace="prod",
            parents=of("my-gateway"))), (Ask("a.test", "/", 0, port=5555),),
        {"TCPRoute/r": (NOT_PERMITTED,)}),
    Example(PLACE.format("istio", "5-referencegrants.yaml"), references(), (
        Ask("test.com", "/", 404), Ask("test.com", "/", 404, gateway="custom-ns/same-ns-gateway")),
        refused={"HTTPRoute/r": PORT}),
    Example("5-referencegrants.yaml, with a port", references(port=8080), (
        Ask("test.com", "/", 404), Ask("test.com", "/", 500, gateway="custom-ns/same-ns-gateway")),
        {"HTTPRoute/r": ({**NOT_PERMITTED, "Accepted": ("False", "NotAllowedByListeners")}, NOT_PERMITTED)}),
    fragment("6-virtualservice-http-rewrite.yaml", (
        rewritten("r", REVIEWS, match("/consumercatalog"), REGEX, namespace="prod", weight=0,
                  full="/newcatalog"),
        rewritten("p", REVIEWS, match("/wpcatalog", "PathPrefix"), namespace="prod", weight=0),
        rewritten("n", TESTS, {"headers": [header("h1", "v1")]}, weight=0)),
        {f"HTTPRoute/{name}": PORT for name in "rpn"}),
    Example("6-virtualservice-http-rewrite.yaml, with a Gateway and ports", (
        GATEWAY, rewritten("r", REVIEWS, match("/consumercatalog"), REGEX, port=8080, full="/newcatalog"),
        rewritten("p", REVIEWS, match("/wpcatalog", "PathPrefix"), port=8080),
        rewritten("n", TESTS, {"headers": [header("h1", "v1")]}, port=8080),
        rewritten("z", TESTS, match("/zero"), port=8080, weight=0, full="/a")), (
        Ask(REVIEWS, "/consumercatalog", 404), Ask(REVIEWS, "/wpcatalog/a", "reviews",
                                                   at_pod="/newcatalog/a"),
        Ask(TESTS, "/a", "reviews", lines=("h1: v1",), at_pod="/newcatalog/a"), Ask(TESTS, "/a", 404),
        Ask(TESTS, "/zero", 500)), {"HTTPRoute/r": REFUSED}),
    fragment("7-virtualservice-http-cors.yaml", (
        cors("a", "productpage", "/productpage"), cors("m", "api", "/api")), {}),
    Example("7-virtualservice-http-cors.yaml, with a Gateway", (
        istio("my-gateway", listener(), namespace="bookinfo"), cors("a", "productpage", "/productpage"),
        cors("m", "api", "/api")), (Ask("bookinfo.example.com", "/api", 404),),
        {"HTTPRoute/a": REFUSED, "HTTPRoute/m": REFUSED}),
)
