"""Objects that nobody sane writes, of every kind that the router reads; the same for the same seed."""

import copy
import random
from collections.abc import Iterator

from tests import gateways, manifests

RAW = {
    "@deep": b"[" * 3000 + b"]" * 3000,
    "@deep-object": b'{"metadata":' * 2000 + b"1" + b"}" * 2000,
    "@digits": b"1" * 100_000,
    "@infinite": b"-1e999999",
    "@nan": b"NaN",
    "@surrogate": b'"\\udc00\\ud800"',
    "@bytes": b'"\xed\xa0\x80\xff"',
    "@twice": b'1,"name":"twice","name":"a/../../b","spec":7,"metadata":[[]],"host":"\\u001b"',
    "@empty-key": b'{"":{"":[{}]},"\\u0000":null}',
}
"""Strings of objects, and what the API server sends in their place: see FakeKube.spell."""

TEXTS = (
    "", " ", "a b", "A", "ä", "a_b", "a..b", ".", "..", "-a", "a.", "a/b", "../../mgmt", "%2e%2e%2f", "a%00b",
    "~", "a\0b", "\x1b[2J\x1b]0;title\x07", "\x9b31m", "\u202egpj", "\u2028x", "\u2066", "\u200b", "\ud800",
    "a\udfff", "a\r\nX-Header: 1", "a\n2026-01-01T00:00:00.000Z ERROR f5router forged", "'; drop",
    '"}{"', "[exit]", "$x", "{a}", "`id`", "\\", "*", "*.example.com", "openshift_route_shop_good0",
    "openshift_shop_web", "__proto__", "${name}", "%s%n", "{0}", "null", "0x10", "1e9",
    "10.1.1.1%0", "::ffff:127.0.0.1", "10.128.0.0/0",
    "x" * 64, "x" * 254, "x." * 126 + "x", "-----BEGIN CERTIFICATE-----\n" + "A" * 2000, "x" * 5000,
    "x" * 20_000,
)
VALUES = (
    None, True, False, 0, -1, 1, 65536, 1 << 63, -(1 << 63), 1.5, [], {}, [[]], [None], [{}], {"": ""},
    {"name": {}}, ["x"] * 50, [{"name": "x" * 300}] * 20, {"a": {"b": {"c": [1]}}}, *RAW,
)
FIELDS = ("spec", "status", "metadata", "name", "labels", "annotations", "unknown", "data", "subsets",
          "endpoints")


def _whole() -> tuple[dict, ...]:
    """A good object of every kind; Routes more often, as most of what can go wrong is theirs."""
    tls = {"kind": "edge", "certificate": "x", "key": "y", "caCertificate": "z"}
    route = manifests.route("a", path="/a", port="http", insecure="Redirect", **tls)
    route["spec"]["alternateBackends"] = []
    entry = {"routerName": "public", "host": "h", "conditions": [{"type": "Admitted"}]}
    route["status"] = {"ingress": [entry]}
    external = manifests.route("a", kind="edge")
    external["spec"]["tls"]["externalCertificate"] = {"name": "tls"}
    plain, slice_ = manifests.published("shop", "a", pods={"10.1.1.7": "n1"})
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "a"},
                 "subsets": [{"addresses": [{"ip": "10.1.1.8", "nodeName": "n1"}],
                              "ports": [{"name": "http", "port": 8080}]}]}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": "tls"},
              "type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": "eA=="}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"zone": "west"}}}
    return (route, route, external, plain, slice_, endpoints, secret, space,
            manifests.node("a", "10.3.89.9", cidrs=("10.130.0.0/23",), subnets="{}"),
            manifests.host_subnet("a", "10.3.89.9", "10.130.2.0/23"))


def _whole_gateways() -> tuple[dict, ...]:
    """A good object of every kind of the Gateway API that is read for Gateways; routes more often."""
    to_web = (gateways.parent("web", namespace="infra"), gateways.parent("a"))
    changes = {"set": [{"name": "X-A", "value": "b"}], "remove": ["X-B"]}
    rule = gateways.rule(
        gateways.backend("a", weight=2, filters=[gateways.headers(**changes)]),
        gateways.backend("b", namespace="infra"),
        matches=[{"path": {"type": "PathPrefix", "value": "/a"}, "method": "GET",
                  "headers": [{"type": "Exact", "name": "a", "value": "b"}],
                  "queryParams": [{"type": "Exact", "name": "c", "value": "d"}]}],
        filters=(gateways.rewrite(hostname="h.test", path=gateways.path_modifier(prefix="/x")),))
    redirects = gateways.rule(filters=(gateways.redirect(
        scheme="https", hostname="h.test", port=8443, path=gateways.path_modifier(full="/y")),))
    of = {"namespace": "shop", "created": "2027-01-01T00:00:00Z"}
    route = gateways.http_route("a", rule, redirects, parents=to_web, hostnames=("h",), **of)
    route["status"] = {"parents": [{"parentRef": {"name": "a"}, "controllerName": gateways.CONTROLLER,
                                    "conditions": [{"type": "Accepted"}]}]}
    passed = gateways.tls_route("a", gateways.backend("a", weight=1), parents=to_web, hostnames=("h",), **of)
    own = gateways.gateway(
        "a", gateways.listener(hostname="h.test", namespaces={
            "from": "Selector", "selector": {"matchLabels": {"a": "b"}}}),
        gateways.listener("s", 443, "HTTPS", hostname="s.test", secret="shop/tls"),
        addresses=[{"type": "IPAddress", "value": "10.9.0.9"}], **of)
    own["status"] = {"addresses": [{"type": "IPAddress", "value": "10.9.0.9"}], "listeners": [
        {"name": "http", "conditions": [{"type": "Accepted"}]}], "conditions": [{"type": "Accepted"}]}
    return (route, route, route, passed, own,
            gateways.grant("a", "shop", ("HTTPRoute", "infra"), ("", "Service", "a")),
            gateways.backend_policy("a", "a", {"group": "", "kind": "ConfigMap", "name": "ca"}, **of),
            gateways.gateway_class("a", "example.com/other"))


def objects(seed: int, count: int, *, of_gateways: bool = False) -> Iterator[dict]:
    """Objects with one to three hostile places each. A few are as large as an API server takes them.

    Args: of_gateways: True for objects of the Gateway API alone.
    """
    dice = random.Random(seed)
    kinds = _whole_gateways() if of_gateways else _whole()
    for number in range(count):
        obj = copy.deepcopy(kinds[number % len(kinds)])
        obj["metadata"]["name"] = f"bad{number}-{seed}"
        if "host" in obj.get("spec", {}):
            obj["spec"]["host"] = f"bad{number}-{seed}.example.com"
        if "hostnames" in obj.get("spec", {}):
            obj["spec"]["hostnames"] = [f"bad{number}-{seed}.example.com"]
        for _ in range(dice.randint(1, 3)):
            _spoil(obj, dice)
        if number % 97 == 0:
            _inflate(obj, dice)
        yield _storable(obj, kinds[number % len(kinds)], number)


def _spoil(obj: dict, dice: random.Random) -> None:
    place = dice.choice(list(_places(obj)))
    value = dice.choice(dice.choice((TEXTS, VALUES)))
    if isinstance(place, dict) and dice.random() < 0.2:
        place[dice.choice((*FIELDS, *(text for text in TEXTS if text)))] = value
    else:
        if value == "@twice" and isinstance(place, list):
            value = "@deep"  # a list has no keys that could come twice
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        place[dice.choice(keys)] = copy.deepcopy(value)


def _inflate(obj: dict, dice: random.Random) -> None:
    """More than a megabyte, or very many labels."""
    metadata = obj["metadata"] if isinstance(obj.get("metadata"), dict) else {}
    if dice.random() < 0.5:
        metadata["labels"] = {f"k{number}": "v" for number in range(100_000)}
    else:
        large = "x" * 1_500_000
        obj[dice.choice(("spec", "unknown", "status"))] = dice.choice(([large], {"host": large}))


def _places(value: object) -> Iterator[dict | list]:
    """Objects and lists that hold something."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _places(inner)


def _storable(obj: dict, whole: dict, number: int) -> dict:
    """With what the fake API server needs to file it: kind, version, texts for name and namespace."""
    obj |= {"apiVersion": whole["apiVersion"], "kind": whole["kind"]}
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {"name": f"bad{number}", "spoilt": obj.get("metadata")}
    for field in ("name", "namespace"):
        if field in whole["metadata"]:
            text = obj["metadata"].get(field)
            obj["metadata"][field] = text if isinstance(text, str) and text else f"bad{number}"
    return obj
