"""The list of differences: every row is seen on both routers, and stands in docs/haproxy-differences.md."""

import http.client
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.differential.conftest import Router
from tests.differential.outcomes import Request, short
from tests.traffic import clients
from tests.waiting import DEADLINE_S

PLAIN, REDIRECTED = "plain.example.com", "edge-redirect.example.com"
REQUESTS, WEIGHTS, OPTIONS, HEADERS = "requests", "weights", "options", "headers"
COMPRESSION, REWRITE, PODS, IPV6 = "compression", "rewrite", "pods", "ipv6"
"""The clusters: those of test_requests.py, test_weights.py, test_options.py, test_headers.py,
test_compression.py, test_rewrite.py, test_pods.py and test_ipv6.py."""

RESETS = "the BIG-IP resets what is not valid HTTP"
OWN_HOST = "a redirect leads to the Route's host on port 443, whatever the client writes"
AS_SENT = "pods get what the client sent"
SPELLING = "CGI, WSGI and PHP take it for the header that HAProxy's router removes"


@dataclass(frozen=True)
class Difference:
    """A row of the table in docs/haproxy-differences.md."""

    request: str
    """The case, as the page describes it."""
    observe: Callable[[Router], str]
    """Returns what a client or pod sees."""
    haproxy: str
    ours: str
    reason: str
    cluster: str = REQUESTS

    def row(self) -> str:
        return f"| {self.request} | {self.haproxy} | {self.ours} | {self.reason} |"


def answer(*args: object, **how: object) -> Callable[[Router], str]:
    """Return an observation of who answers a Request."""
    request = Request(*args, **how)
    return lambda router: short(request.outcome(router))


def raw(line: str, *headers: str, body: str = "") -> Callable[[Router], str]:
    """Return an observation of who answers a request written by hand."""
    data = "\r\n".join([line, *headers, "Connection: close", "", body]).encode("latin-1")
    return lambda router: short(Request(data=data).outcome(router))


def certificate(host: str) -> Callable[[Router], str]:
    return lambda router: f"`{Request(host, secure=True).outcome(router).certificate}`"


def received(header: str, *sent: str, host: str = PLAIN) -> Callable[[Router], str]:
    """Return an observation of the values of a header that a pod gets."""
    request = Request(host, how={"headers": sent})

    def observe(router: Router) -> str:
        pairs = request.send(router).pod["headers"]
        values = [value for name, value in pairs if name.lower() == header.lower()]
        return ", ".join(f"`{value}`" for value in values) or "nothing"
    return observe


def order(host: str, *, secure: bool = False) -> Callable[[Router], str]:
    """Return an observation of how requests of one client are spread over five pods."""
    def observe(router: Router) -> str:
        pods = [Request(host, secure=secure).send(router).pod["pod"] for _ in range(30)]
        if len(set(pods)) == 1:
            return "always the same pod"
        in_turn = all(len(set(pods[start:start + 5])) == 5 for start in range(0, 30, 5))
        return "in turn" if in_turn else "by chance"
    return observe


def share(host: str, service: str, requests: int) -> Callable[[Router], str]:
    """Return an observation of how many requests the pod of a Service gets."""
    def observe(router: Router) -> str:
        services = [Request(host).outcome(router).service.rpartition(" ")[2] for _ in range(requests)]
        return f"{services.count(service)} of {requests} requests"
    return observe


def kept(name: str) -> Callable[[Router], str]:
    """Return an observation of how many of five requests on one connection are answered."""
    def observe(router: Router) -> str:
        requests = [clients.request_bytes(f"{name}.example.com", close=False)] * 5
        return f"{len(clients.several(router.http, *requests))} answers"
    return observe


def new_connections(name: str) -> Callable[[Router], str]:
    """Return an observation of how many of two connections get an answer."""
    def observe(router: Router) -> str:
        answered = sum(Request(f"{name}.example.com").outcome(router).status == 200 for _ in range(2))
        return f"{answered} answer{'s' * (answered > 1)}"
    return observe


def beside_an_idle_one(name: str) -> Callable[[Router], str]:
    """Return an observation of who answers while another connection waits for its next request."""
    def observe(router: Router) -> str:
        connection = http.client.HTTPConnection(*router.http, timeout=DEADLINE_S)
        connection.request("GET", "/", headers={"Host": f"{name}.example.com"})
        connection.getresponse().read()
        text = answer(f"{name}.example.com")(router)
        connection.close()
        return text
    return observe


def cookie(host: str) -> Callable[[Router], str]:
    """Return an observation of the session cookie that an answer sets."""
    def observe(router: Router) -> str:
        name, _, value = Request(host).send(router).headers.get("set-cookie", "").partition("=")
        if not name:
            return "nothing"
        shown = "a hash" if re.fullmatch("[0-9a-f]{32}", name) else f"`{name}`"
        of_pod = "a hash" if re.match("[0-9a-f]{32};", value) else "the pod's address"
        return f"{shown} with {of_pod}"
    return observe


def cache_control(host: str) -> Callable[[Router], str]:
    """Return an observation of the Cache-Control of an answer."""
    def observe(router: Router) -> str:
        value = Request(host).send(router).headers.get("cache-control", "")
        return f"`{value}`" if value else "nothing"
    return observe


def response_header(name: str, host: str, *, secure: bool = False) -> Callable[[Router], str]:
    """Return an observation of the values of a header in an answer."""
    def observe(router: Router) -> str:
        lines = Request(host, secure=secure).send(router).lines
        return ", ".join(f"`{value}`" for key, value in lines if key.lower() == name.lower()) or "nothing"
    return observe


def header(name: str, query: str, *sent: str) -> Callable[[Router], str]:
    """Return an observation of a header of a long answer in HTML. Args: query: more that a pod is asked."""
    request = Request("page.example.com", f"/?type=text/html&length=3000&{query}", how={"headers": sent})

    def observe(router: Router) -> str:
        value = request.send(router).headers.get(name, "")
        return f"`{value}`" if value else "nothing"
    return observe


def rewritten(host: str, path: str) -> Callable[[Router], str]:
    """Return an observation of the target that a pod gets."""
    request = Request(host, path)
    return lambda router: f"`{request.send(router).pod['target']}`"


HOST = f"Host: {PLAIN}"
DIFFERENCES = (
    Difference("`Host` with the port `abc`", answer(f"{PLAIN}:abc"), "503", "`web`",
               "the BIG-IP compares the name before the colon"),
    Difference("`Host` with a colon and no port", answer(f"{PLAIN}:"), "503", "`web`",
               "the same; RFC 9110 allows an empty port"),
    Difference("`Host` with a path behind the name", raw("GET / HTTP/1.1", f"{HOST}/api"), "`api`", "503",
               "a path is not part of a host"),
    Difference("`Host` with two names", raw("GET / HTTP/1.1", f"{HOST}, mixed.example.com"),
               "302 to `https://mixed.example.com/`", "503", "no Route has this host"),
    Difference("two `Host` headers", raw("GET / HTTP/1.1", HOST, "Host: mixed.example.com"), "400",
               "302 to `https://mixed.example.com/`", "the BIG-IP compares one of them"),
    Difference("a target with another host than `Host`",
               raw("GET http://mixed.example.com/api HTTP/1.1", HOST), "400", "`api`",
               "RFC 9112 3.2.2: the host of the target counts"),
    Difference("a target with `#`", raw("GET /#x HTTP/1.1", HOST), "400", "`web`", AS_SENT),
    Difference("a target with bytes above 127", raw("GET /\xe4 HTTP/1.1", HOST), "400", "connection reset",
               RESETS),
    Difference("a method in lower case", raw("get / HTTP/1.1", HOST), "400", "connection reset", RESETS),
    Difference("a control character in a header", raw("GET / HTTP/1.1", HOST, "X: \x01"), "400",
               "connection reset", RESETS),
    Difference("a request line of one word", raw("HELLO", HOST), "400", "connection reset", RESETS),
    Difference("an empty `Content-Length`", raw("POST / HTTP/1.1", HOST, "Content-Length: "), "400",
               "connection reset", RESETS),
    Difference("`Content-Length` and `Transfer-Encoding`",
               raw("POST / HTTP/1.1", HOST, "Content-Length: 5", "Transfer-Encoding: chunked",
                   body="0\r\n\r\n"),
               "`web`", "connection reset", "such requests are used for smuggling (RFC 9112 6.1)"),
    Difference("80 headers", raw("GET / HTTP/1.1", HOST, *(f"X-{number}: 1" for number in range(80))),
               "`web`", "connection reset", "`enforcement max-header-count` of the HTTP profile is 64"),
    Difference("headers of 40,000 bytes", raw("GET / HTTP/1.1", HOST, f"X: {'x' * 40000}"), "400",
               "connection reset", "`enforcement max-header-size` of the HTTP profile is 32,768"),
    Difference("a redirect, `Host` with a port", answer(f"{REDIRECTED}:8080"),
               f"302 to `https://{REDIRECTED}:8080/`", f"302 to `https://{REDIRECTED}/`", OWN_HOST),
    Difference("a redirect, `Host` with a dot at the end", answer(f"{REDIRECTED}."),
               f"302 to `https://{REDIRECTED}./`", f"302 to `https://{REDIRECTED}/`", OWN_HOST),
    Difference("a wildcard, `*` in the first label", answer("a*b.wild.example.com"), "`web`", "503",
               "no name has this character"),
    Difference("a wildcard, nothing before the domain", answer(".wild.example.com"), "`web`", "503",
               "a wildcard stands for one label"),
    Difference("an exact edge host below a passthrough wildcard",
               answer("edge.through.example.com", "/api", secure=True), "`tls-web`", "`api`",
               "an exact host takes precedence over a wildcard"),
    Difference("passthrough, SNI with a dot at the end",
               answer("passthrough.example.com", secure=True, sni="passthrough.example.com."), "503",
               "`tls-web`", "the name is the same"),
    Difference("paths of one host with a certificate each", certificate("twice.example.com"),
               "`younger.example.com`", "`older.example.com`",
               "the oldest Route counts, not the last one in the alphabet"),
    Difference("a pod that breaks off", answer(PLAIN, "/?drop=1"), "502", "connection reset",
               "the BIG-IP has no page for it"),
    Difference("a pod whose certificate is refused", answer("stranger.example.com", secure=True), "503",
               "connection reset", "the BIG-IP has no page for it"),
    Difference("`Host` in upper case", received("Host", host=PLAIN.upper()), f"`{PLAIN}`",
               f"`{PLAIN.upper()}`", AS_SENT),
    Difference("`Connection: close`", received("Connection"), "nothing", "`close`",
               "each of its connections to a pod belongs to one client"),
    Difference("`X-SSL-Client-Cert: x`", received("X-SSL-Client-Cert", "X-SSL-Client-Cert: x"), "`x`",
               "nothing", "pods take it for the word of a proxy"),
    Difference("`X_SSL_Client_DN: x`", received("X_SSL_Client_DN", "X_SSL_Client_DN: x"), "`x`",
               "nothing", SPELLING),
    Difference("weights 256 and 1, the least", share("most-to-least.example.com", "single", 257),
               "1 of 257 requests", "3 of 257 requests",
               "a ratio of 1 to 100 is what every BIG-IP takes", WEIGHTS),
    Difference("several pods of one Service, no `balance`", order("default-plain.example.com"), "by chance",
               "in turn", "the BIG-IP has no such method", WEIGHTS),
    Difference("`ip_allowlist` without a valid entry", answer("bad-list.example.com"), "`web`", "503",
               "nobody shall get in by mistake; the Route's status reports it", OPTIONS),
    Difference("`ip_allowlist` with a blank before it, a client not in it",
               answer("blank-list.example.com"), "`web`", "connection reset",
               "the list is what the team meant", OPTIONS),
    Difference("no pod, a client not in the `ip_allowlist`", answer("no-pod.example.com"),
               "connection reset", "503", "the page tells nothing about the Route", OPTIONS),
    Difference("the session cookie of an answer", cookie("cookie.example.com"), "a hash with a hash",
               "a hash with the pod's address", "a BIG-IP makes its cookies so", OPTIONS),
    Difference("the session cookie with `balance: source`", cookie("source-cookie.example.com"),
               "a hash with a hash", "nothing", "the client's address keeps it with its pod", OPTIONS),
    Difference("`cookie_name: -x`", cookie("dash-cookie.example.com"), "`-x` with a hash",
               "a hash with the pod's address", "commands of iRules have options with a dash", OPTIONS),
    Difference("`Cache-Control` of an answer with a session cookie, but without `ETag` and expiry",
               cache_control("cookie.example.com"), "nothing", "`private`",
               "no cache shall give one client the cookie of another", OPTIONS),
    Difference("`timeout: 900ms`, a pod that answers after an hour",
               answer("timeout.example.com", "/?delay=3600"), "504", "connection reset",
               "the BIG-IP ends an idle connection without an answer", OPTIONS),
    Difference("`rate-limit-connections.rate-tcp: 3`, requests of one connection", kept("rate-kept"),
               "2 answers", "5 answers", "OpenShift documents connections; HAProxy counts their requests",
               OPTIONS),
    Difference("`rate-limit-connections.concurrent-tcp: 2`, a second connection while the first is idle",
               beside_an_idle_one("concurrent-kept"), "`web`", "connection reset",
               "OpenShift documents connections; HAProxy counts requests under way", OPTIONS),
    Difference("`rate-limit-connections.rate-tcp: 1`", answer("rate-one.example.com"), "connection reset",
               "`web`", "nobody means that nobody gets in; the Route's status reports it", OPTIONS),
    Difference("`hsts_header` with insecure policy Allow, an answer on port 80",
               response_header("Strict-Transport-Security", "age-allow-edge.example.com"), "`max-age=1`",
               "nothing", "RFC 6797 7.2: the header is for TLS", HEADERS),
    Difference("compression, `Content-Encoding` of an answer with status 404",
               header("content-encoding", "status=404", "Accept-Encoding: gzip"), "nothing", "`gzip`",
               "an HTTP compression profile does not look at the status", COMPRESSION),
    Difference("compression, a client that accepts `deflate` alone",
               header("content-encoding", "", "Accept-Encoding: deflate"), "nothing", "`deflate`",
               "an HTTP compression profile knows both methods", COMPRESSION),
    Difference("compression, `ETag` of a compressed answer",
               header("etag", "etag=%221%22", "Accept-Encoding: gzip"), '`W/"1"`', '`"1"`',
               "an HTTP compression profile leaves it as it is", COMPRESSION),
    Difference("`rewrite-target: /new` of path `/a+b`, a request for `/a+b/x`",
               rewritten("regex.example.com", "/a+b/x"), "`/a+b/x`", "`/new/x`",
               "a path is literal; HAProxy's router takes it for a regular expression here", REWRITE),
    Difference("`rewrite-target: /a\\\\1` of path `/app`, a request for `/app/x`",
               rewritten("groups.example.com", "/app/x"), "`/a/x/x`", "`/app/x`",
               "a target is no pattern; the Route's status reports it", REWRITE),
    Difference("a Service that `oc idle` has put to sleep", answer("idled.example.com"), "`idled`", "503",
               "a BIG-IP does not reach cluster IPs, whose proxy would wake the pods", PODS),
    Difference("all pods of a Service are ending, and still serve", answer("ending.example.com"), "503",
               "`ending`", "they serve until they are gone, as with kube-proxy", PODS),
    Difference("a pod that speaks HTTP/2 only, `appProtocol: h2c`", answer("grpc.example.com"), "200",
               "connection reset", "pods get HTTP/1.1; the Route gets a Warning Event", PODS),
    Difference("`rate-limit-connections.rate-tcp: 2`, connections of an IPv6 client",
               new_connections("limited"), "2 answers", "1 answer",
               "HAProxy's table of clients has IPv4 addresses only", IPV6),
)
