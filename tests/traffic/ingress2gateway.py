"""Examples that ingress2gateway publishes: their facts, and what becomes of each here.

Source: kubernetes-sigs/ingress2gateway, main branch of 2026: pkg/cmd/testdata/out, fixtures/output of the
providers, testdata/output of the emitters; of ingress-nginx, whose examples are in Go, what the files of the
provider write. Annotations, empty statuses and objects of other groups are left out. A namespace that is not
said is infra.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests import gateways
from tests.gateways import (
    PASSTHROUGH,
    backend,
    gateway,
    headers,
    http_route,
    listener,
    parent,
    path_modifier,
    redirect,
    response_headers,
    rewrite,
    rule,
    tls_route,
)

Conditions = Mapping[str, tuple[str, str]]
ACCEPTED = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}
REFUSED = ({**ACCEPTED, "Accepted": ("False", "UnsupportedValue")},)


class Ask(NamedTuple):
    """A request, and the answer to it."""

    host: str
    path: str
    answer: str | int
    """Service whose pod answers, the status, or the location of a redirect."""
    port: int = 80
    gateway: str = ""
    """NAMESPACE/NAME; "" for the first Gateway of the example."""
    lines: tuple[str, ...] = ()
    method: str = "GET"
    status: int = 0
    """Of a redirect."""
    at_pod: str = ""
    """Path that the pod gets; "" for that of the request."""
    sent: Mapping[str, str | None] = {}
    """Headers that the pod gets."""
    got: Mapping[str, str | None] = {}
    """Headers that the client gets."""


@dataclass(frozen=True)
class Example:
    """Objects of an example, in the order of its file."""

    source: str
    objects: tuple[dict, ...]
    asks: tuple[Ask, ...] = ()
    told: Mapping[str, tuple[Conditions, ...]] = field(default_factory=dict)
    """Conditions of routes by KIND/NAME and parent, where they are others than ACCEPTED."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What the API server refuses, by KIND/NAME, with a part of its words: CRDs of v1.4."""


def match(path: str, kind: str = "Exact", **more: Any) -> dict:
    return {"path": {"type": kind, "value": path}, **more}


def header(name: str, value: str, **more: str) -> dict:
    return {"type": "Exact", "name": name, "value": value, **more}


def of(gateway_: str, **more: Any) -> tuple[dict, ...]:
    """References to a Gateway."""
    return (parent(gateway_, **more),)


def plain(class_name: str, *hosts: str, name: str = "", secret: str = "") -> dict:
    """A Gateway with a listener of protocol HTTP for each host, and one of HTTPS if there is a Secret."""
    listeners = []
    for host in hosts:
        label = host.replace(".", "-")
        listeners.append(listener(f"{label}-http", hostname=host))
        if secret:
            listeners.append(listener(f"{label}-https", 443, "HTTPS", hostname=host, secret=secret))
    return gateway(name or class_name, *listeners, class_name=class_name)


def app(name: str, host: str, *rules: dict, parent_: str = "nginx", **where: Any) -> dict:
    """An HTTPRoute for a host."""
    return http_route(name, *rules, parents=of(parent_, **where), hostnames=(host,))


def prefix(service: str, path: str, *filters: dict, port: int = 8080, **more: Any) -> dict:
    """A rule with a prefix and a Service."""
    return rule(backend(service, port), paths=(path,), filters=filters, **more)


TO_HTTPS = redirect(scheme="https", statusCode=301)
COMMANDS = (
    Example("pkg/cmd/testdata/out/from-ingress-to-simple-gwapi.all.yaml", (
        plain("hello-world", "foo.bar.com"),
        app("foo-bar-com", "foo.bar.com", prefix("test", "/foo", port=80), parent_="hello-world")), (
        Ask("foo.bar.com", "/foo", "test"), Ask("foo.bar.com", "/foo/a", "test"),
        Ask("foo.bar.com", "/fool", 404), Ask("other.bar.com", "/foo", 404))),
    Example("pkg/cmd/testdata/out/from-ingress-to-multi-gateways-gwapi.all.yaml", (
        *(plain(f"nginx-ingress-{number}", f"gateway-{number}") for number in (1, 2, 3)),
        *(app(f"gateway-{number}", f"gateway-{number}", rule(
            backend(f"infra-backend-v{number}", 8088), matches=[match(f"/echo-{number}", kind)]),
            parent_=f"nginx-ingress-{number}")
          for number, kind in ((1, "Exact"), (2, "Exact"), (3, "PathPrefix")))), (
        *(Ask(f"gateway-{number}", f"/echo-{number}", f"infra-backend-v{number}",
              gateway=f"infra/nginx-ingress-{number}") for number in (1, 2, 3)),
        Ask("gateway-1", "/echo-1/a", 404, gateway="infra/nginx-ingress-1"),
        Ask("gateway-3", "/echo-3/a", "infra-backend-v3", gateway="infra/nginx-ingress-3"),
        Ask("gateway-1", "/echo-1", 404, gateway="infra/nginx-ingress-2"))),
    Example("pkg/cmd/testdata/out/from-ingress-to-canary-gwapi.all.yaml", (
        plain("nginx-ingress", "canary"), app("canary", "canary", rule(
            backend("infra-backend-v1", 8088), matches=[match(
                "/echo-1", headers=[header("traffic-split-1", "foo")])]), rule(
            backend("infra-backend-v1", 8088), matches=[match(
                "/echo-1", headers=[header("traffic-split-2", "bar")])]), rule(
            backend("infra-backend-v2", 8080, weight=30), matches=[match("/echo-2", "PathPrefix", headers=[
                header("traffic-split-2", r"(?:\/([^?#]*))?", type="RegularExpression")])]),
            parent_="nginx-ingress")), (
        Ask("canary", "/echo-1", 404, lines=("traffic-split-1: foo",)),), {"HTTPRoute/canary": REFUSED}),
    Example("the same without its regular expression", (
        plain("nginx-ingress", "canary"), app("canary", "canary", rule(
            backend("infra-backend-v1", 8088), matches=[
                match("/echo-1", headers=[header("traffic-split-1", "foo")]),
                match("/echo-1", headers=[header("traffic-split-2", "bar")])]), rule(
            backend("infra-backend-v2", 8080, weight=30), paths=("/echo-2",)), parent_="nginx-ingress")), (
        Ask("canary", "/echo-1", "infra-backend-v1", lines=("traffic-split-1: foo",)),
        Ask("canary", "/echo-1", "infra-backend-v1", lines=("Traffic-Split-2: bar",)),
        Ask("canary", "/echo-1", 404, lines=("traffic-split-1: bar",)),
        Ask("canary", "/echo-2/a", "infra-backend-v2"))),
)


def of_nginx(host: str, *rules: dict, name: str = "r") -> tuple[dict, ...]:
    return plain("nginx", host), app(name, host, *rules)


STS = "max-age=31536000; includeSubDomains"
NGINX = tuple(Example(f"pkg/i2gw/providers/nginx/fixtures/annotations/output/nginx-{name}.yaml", *facts)
              for name, *facts in (
    ("grpc-services", (plain("nginx", "grpc.example.com"),), (
        Ask("grpc.example.com", "/helloworld.Greeter/SayHello", 404, method="POST"),)),
    ("hsts", (plain("nginx", "hsts.example.com", secret="tls"), app("r", "hsts.example.com", prefix(
        "secure-app", "/", response_headers(set=[{"name": "Strict-Transport-Security", "value": STS}]),
        port=443))), (
        Ask("hsts.example.com", "/?headers=strict-transport-security:max-age=1", "secure-app", port=443,
            got={"strict-transport-security": STS}),
        Ask("hsts.example.com", "/", "secure-app", got={"strict-transport-security": STS}))),
    ("listen-ports", (gateway("nginx", listener(
        "tls", 8443, "HTTPS", hostname="custom-ports.example.com", secret="tls"), *(
        listener(f"http-{port}", port, hostname="custom-ports.example.com") for port in (8080, 9090)),
        class_name="nginx"), app("r", "custom-ports.example.com", prefix("app-service", "/app"))), (
        *(Ask("custom-ports.example.com", "/app/a", "app-service", port=port)
          for port in (8443, 8080, 9090)), Ask("custom-ports.example.com", "/", 404, port=8443))),
    ("path-regex", of_nginx("example.com", rule(
        backend("api-service", 80), matches=[match("/api/v[0-9]+", "RegularExpression")]), rule(
        backend("static-service"), matches=[match("/static", "RegularExpression")])), (
        Ask("example.com", "/static", 404),), {"HTTPRoute/r": REFUSED}),
    ("proxy-hide-headers", of_nginx("hide-headers.example.com", prefix(
        "api-service", "/api", response_headers(remove=["X-Secret-Token", "X-Internal-Header"]))), (
        Ask("hide-headers.example.com", "/api?headers=X-Secret-Token:a|x-internal-header:b|X-Other:c",
            "api-service", got={"x-secret-token": None, "x-internal-header": None, "x-other": "c"}),)),
    ("proxy-set-headers", of_nginx("set-headers.example.com", prefix("echo-service", "/echo", headers(
        set=[{"name": f"header-{each}", "value": f"value-{each}"} for each in "ab"]))), (
        Ask("set-headers.example.com", "/echo", "echo-service", lines=("header-a: other",),
            sent={"header-a": "value-a", "header-b": "value-b"}),)),
    ("rewrite", of_nginx("example.com", prefix("web-service", "/app", rewrite(
        path=path_modifier(prefix="/api/v1")), port=80)), (
        Ask("example.com", "/app/a?b=c", "web-service", at_pod="/api/v1/a?b=c"),
        Ask("example.com", "/app", "web-service", at_pod="/api/v1"))),
    ("ssl-redirect", (plain("nginx", "secure.example.com", secret="tls"), app(
        "r", "secure.example.com", rule(filters=(TO_HTTPS,)), prefix(
            "secure-service", "/", port=80, name="rule-0"), sectionName="secure-example-com-http")), (
        Ask("secure.example.com", "/a?b", "https://secure.example.com/a?b", status=301),
        Ask("secure.example.com", "/a", 404, port=443))),
    ("ssl-services", (*of_nginx("cafe.example.com", prefix("secure-app", "/ssl", port=8443),
                                prefix("tea", "/tea", port=80)),
                      gateways.backend_policy("p", "secure-app", hostname="")), (
        Ask("cafe.example.com", "/ssl", "secure-app"), Ask("cafe.example.com", "/tea/a", "tea")), {},
     {"BackendTLSPolicy/p": "spec.validation.hostname"}),
))

TRAEFIK = tuple(Example(f"pkg/i2gw/providers/traefik/fixtures/output/{name}.yaml", *facts)
                for name, *facts in (
    ("1-router-tls-websecure", (
        plain("traefik", "foo.example.com", secret="tls"),
        app("http", "foo.example.com", rule(filters=(TO_HTTPS,)), parent_="traefik", namespace="infra",
            sectionName="foo-example-com-http"),
        app("r", "foo.example.com", prefix("my-app", "/", name="rule-0"), parent_="traefik",
            namespace="infra", sectionName="foo-example-com-https")), (
        Ask("foo.example.com", "/a", "https://foo.example.com/a", status=301),
        Ask("foo.example.com", "/a", "my-app", port=443))),
    ("3-unknown-annotation", (plain("traefik", "foo.example.com"), app(
        "r", "foo.example.com", prefix("my-app", "/", name="rule-0"), parent_="traefik")), (
        Ask("foo.example.com", "/a", "my-app"),)),
))


def hosts(class_name: str, suffix: str, **services: tuple[str, str]) -> tuple[dict, ...]:
    """A Gateway named nginx, and an HTTPRoute for each host: Service and path by the first label."""
    named = {f"{label.replace('_', '-')}.{suffix}": facts for label, facts in services.items()}
    return (plain(class_name, *named, name="nginx"), *(
        app(host.partition(".")[0], host, prefix(service, path, port=80))
        for host, (service, path) in named.items()))


def served(suffix: str, **services: tuple[str, str]) -> tuple[Ask, ...]:
    """A request for each HTTPRoute of `hosts`."""
    return tuple(Ask(f"{label.replace('_', '-')}.{suffix}", f"{path}{'' if path == '/' else '/'}a", service)
                 for label, (service, path) in services.items())


def policies(name: str, suffix: str = "example.org", **services: tuple[str, str]) -> Example:
    """An example whose policies are objects of the product alone: its HTTPRoutes are served without them."""
    return Example(f"pkg/i2gw/emitters/agentgateway/testing/testdata/output/{name}.yaml",
                   hosts("agentgateway", suffix, **services), served(suffix, **services))


FOO = {"myservicea": ("myservicea", "/"), "myserviceb": ("myserviceb", "/")}
CORS = tuple(f"Access-Control-{name}" for name in (
    "Allow-Origin", "Allow-Methods", "Allow-Headers", "Expose-Headers", "Max-Age", "Allow-Credentials"))
NO_CORS = response_headers(remove=list(CORS))
OF_EMITTER = {"group": "gateway.kgateway.dev", "kind": "TrafficPolicy"}


def https_only(host: str, name: str, service: str, *paths: str) -> tuple[dict, ...]:
    """HTTPRoutes of a host, one for each of its listeners."""
    label = host.replace(".", "-")
    return (app(f"{name}-http-redirect", host, *(rule(paths=(path,), filters=(TO_HTTPS,)) for path in paths),
                sectionName=f"{label}-http"),
            app(f"{name}-https", host, *(prefix(service, path, port=80) for path in paths),
                sectionName=f"{label}-https"))


EMITTERS = (
    Example("pkg/i2gw/implementations/kgateway/testing/testdata/output.yaml", (
        plain("kgateway", "myservicea.foo.org", "myserviceb.foo.org", name="nginx"),
        app("a", "myservicea.foo.org", *(rule(backend("myservicea", 80, filters=[
            {"type": "ExtensionRef", "extensionRef": {**OF_EMITTER, "name": f"a{number}"}}]), paths=(path,))
            for number, path in enumerate(("/", "/2"), 1))),
        app("b", "myserviceb.foo.org", prefix("myserviceb", "/", port=80))), (
        Ask("myservicea.foo.org", "/", 404), Ask("myserviceb.foo.org", "/a", "myserviceb")),
        {"HTTPRoute/a": REFUSED}),
    Example("pkg/i2gw/emitters/kgateway/testdata/output/buffer.yaml", (
        plain("kgateway", "myservicea.foo.org", "myserviceb.foo.org", name="nginx"),
        app("a", "myservicea.foo.org", *(prefix("myservicea", path, port=80, name=f"rule-{number}")
                                         for number, path in enumerate(("/", "/2")))),
        app("b", "myserviceb.foo.org", prefix("myserviceb", "/", port=80, name="rule-0"))), (
        Ask("myservicea.foo.org", "/2/a", "myservicea"), Ask("myserviceb.foo.org", "/a", "myserviceb"))),
    policies("access_log", access_log_off=("myservice", "/"), access_log_on=("myservice", "/")),
    policies("backend_protocol", backend_protocol=("grpc-backend", "/")),
    policies("backend_tls", insecure_tls=("httpbin-insecure", "/"), tls=("httpbin2", "/")),
    policies("basic_auth", **{f"app{number}": (f"app{number}", "/") for number in (1, 2, 3)}),
    policies("buffer_body_size", buffer_body_size=("myservice", "/")),
    policies("external_auth", **{f"app{number}": (f"app{number}", "/") for number in (1, 3, 4)}),
    policies("frontend_http", frontend_http=("echo-backend", "/")),
    policies("frontend_tls", frontend_tls=("myservice", "/")),
    policies("load_balance", "localdev.me", lb=("echo-backend", "/")),
    policies("rate_limit", ratelimit_burst=("myservice", "/"), ratelimit_rpm=("myservice", "/rpm"),
             ratelimit_rps=("myservice", "/")),
    policies("rewrite_target", "foo.org", myservicea=("myservicea", "/"),
             myserviceb=("myserviceb", "/path2")),
    policies("timeouts", timeout_proxy_read=("myservice", "/read"), timeout_proxy_send=("myservice", "/")),
    Example("pkg/i2gw/emitters/agentgateway/testing/testdata/output/cors.yaml", (
        plain("agentgateway", *(f"{name}.foo.org" for name in FOO), name="nginx"),
        *(app(name, f"{name}.foo.org", prefix(name, "/", NO_CORS, port=80)) for name in FOO)), tuple(
        Ask(f"{name}.foo.org", f"/?headers={'|'.join(f'{each}:x' for each in CORS)}", name,
            got=dict.fromkeys(map(str.lower, CORS))) for name in FOO)),
    Example("pkg/i2gw/emitters/agentgateway/testing/testdata/output/service_upstream.yaml", (
        plain("agentgateway", *(f"{name}.foo.org" for name in FOO), name="nginx"),
        *(app(name, f"{name}.foo.org", rule(
            {"group": "agentgateway.dev", "kind": "AgentgatewayBackend", "name": name}, paths=("/",)),
            *([prefix(name, "/2", port=80)] if name == "myservicea" else [])) for name in FOO)), (
        Ask("myservicea.foo.org", "/", 500), Ask("myservicea.foo.org", "/2", "myservicea"),
        Ask("myserviceb.foo.org", "/", 500)),
        {f"HTTPRoute/{name}": ({**ACCEPTED, "ResolvedRefs": ("False", "InvalidKind")},) for name in FOO}),
    Example("pkg/i2gw/emitters/agentgateway/testing/testdata/output/ssl_redirect.yaml", (
        plain("agentgateway", "force-redirect.example", "redirect.example", name="nginx", secret="tls"),
        *https_only("force-redirect.example", "force", "myservice2", "/"),
        *https_only("redirect.example", "redirect", "myservice", "/", "/api", "/web")), (
        Ask("force-redirect.example", "/a", "https://force-redirect.example/a", status=301),
        Ask("force-redirect.example", "/a", "myservice2", port=443),
        *(Ask("redirect.example", path, f"https://redirect.example{path}", status=301)
          for path in ("/a", "/api/a", "/web")),
        *(Ask("redirect.example", path, "myservice", port=443) for path in ("/a", "/api/a", "/web")))),
)

PROVIDER = "pkg/i2gw/providers/ingressnginx/"
INGRESS_NGINX = tuple(Example(PROVIDER + name, *facts) for name, *facts in (
    ("redirect.go", (plain("nginx", "a.example.com", secret="tls"), app(
        "r-ssl-redirect", "a.example.com", rule(filters=(redirect(scheme="https", statusCode=308),)),
        port=80),
        app("r", "a.example.com", prefix("web", "/"), port=443)), (
        Ask("a.example.com", "/a", "https://a.example.com/a", status=308),
        Ask("a.example.com", "/a", "web", port=443))),
    ("trailing_slash_redirect.go", of_nginx("a.example.com", prefix("web", "/app/"), rule(
        matches=[match("/app")], filters=(redirect(statusCode=301, path=path_modifier(full="/app/")),))), (
        Ask("a.example.com", "/app", "http://a.example.com/app/", status=301),
        Ask("a.example.com", "/app/", "web"))),
    ("canary.go", of_nginx(
        "a.example.com", rule(backend("web", weight=100), backend("canary", weight=0), paths=("/",)),
        *(rule(backend(service), matches=[match("/", "PathPrefix", headers=[header("split", value)])])
          for service, value in (("canary", "always"), ("web", "never")))), (
        Ask("a.example.com", "/", "canary", lines=("split: always",)),
        Ask("a.example.com", "/", "web", lines=("split: never",)), Ask("a.example.com", "/", "web"))),
    ("rewrite.go", of_nginx("a.example.com", prefix("web", "/a", rewrite(path=path_modifier(full="/b")))), (
        Ask("a.example.com", "/a/c", "web", at_pod="/b"),)),
    ("rewrite.go, x-forwarded-prefix", of_nginx("a.example.com", prefix(
        "web", "/a", rewrite(path=path_modifier(full="/b")), headers(
            set=[{"name": "X-Forwarded-Prefix", "value": "/a"}]))), (
        Ask("a.example.com", "/a", "web", at_pod="/b", sent={"x-forwarded-prefix": "/a"}),)),
    ("ssl_passthrough.go", (gateway("nginx", listener("a-http", hostname="a.example.com"), listener(
        "a-tls-passthrough", hostname="a.example.com", **PASSTHROUGH), class_name="nginx"), tls_route(
        "r", backend("secure", 8443), hostnames=("a.example.com",),
        parents=of("nginx", sectionName="a-tls-passthrough"))), (
        Ask("a.example.com", "/a", "secure", port=443), Ask("a.example.com", "/a", 404))),
    *((name, of_nginx("a.example.com", refused), (Ask("a.example.com", "/a", 404),), {"HTTPRoute/r": REFUSED})
      for name, refused in (
        ("regex.go", rule(backend("web"), matches=[match("/a.*", "RegularExpression")])),
        ("cors.go", prefix("web", "/", {"type": "CORS", "cors": {"allowOrigins": ["*"]}})),
        ("timeouts.go", prefix("web", "/", timeouts={"request": "60s"})))),
))
