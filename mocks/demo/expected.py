"""How each Route of the example cluster has to be served, and the network: written down, not computed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from mocks.demo.network import Network
from mocks.demo.publications import ADMITTED
from mocks.demo.serving import (
    CHECKED,
    DEFAULT,
    OWN,
    RECORD,
    REDIRECT,
    RULE,
    UNCHECKED,
    Row,
    Serving,
)

_HELLO = ("openshift_docs_service-name", ("10.128.0.11:8080", "10.129.0.12:8080"))
_HELLO_TLS = ("10.128.0.21:8443", "10.129.0.22:8443")
_WEB = ("openshift_shop_web", ("10.128.0.31:8080", "10.129.0.32:8080"))
_PRESS = ("10.128.0.71:8080", "10.129.0.72:8080")
_PAYMENTS = ("openshift_shop_payments__*", ("10.128.0.51:8443", "10.129.0.52:8443"))

_ROUTES: Mapping[str, Serving] = {
    "docs/host-route": Serving(ADMITTED, RULE, "", *_HELLO),
    "docs/no-route-hostname": Serving("NoHostValue"),
    "docs/portal-docs": Serving(
        ADMITTED, REDIRECT, RULE, "openshift_docs_service-name_http__*", _HELLO[1], "that of portal-tls"),
    "docs/route-alternate-service": Serving(
        ADMITTED, RULE, "", "openshift_docs_service-name___*",
        ("10.128.0.11:8080", "10.128.0.14:8080", "10.129.0.12:8080", "10.129.0.15:8080")),
    "docs/route-edge-secured": Serving(ADMITTED, "", RULE, *_HELLO, OWN),
    "docs/route-edge-secured-allow-insecure": Serving(ADMITTED, RULE, RULE, *_HELLO, DEFAULT),
    "docs/route-edge-secured-redirect-insecure": Serving(ADMITTED, REDIRECT, RULE, *_HELLO, DEFAULT),
    "docs/route-passthrough-secured": Serving(
        ADMITTED, "", RECORD, "openshift_docs_service-tls", _HELLO_TLS),
    "docs/route-pt-secured": Serving(
        ADMITTED, "", RULE, "openshift_docs_service-tls__*", _HELLO_TLS, OWN, CHECKED),
    "docs/route-unsecured": Serving(ADMITTED, RULE, "", *_HELLO),
    "docs/route-unsecured-path": Serving(ADMITTED, RULE, "", *_HELLO),
    "docs/route-wildcard": Serving("RouteNotAdmitted"),
    "news/magazine": Serving(ADMITTED, REDIRECT, RULE, "openshift_news_press_http", _PRESS, OWN),
    "news/portal": Serving(ADMITTED, REDIRECT, RULE, "openshift_news_press_http__*", _PRESS, OWN),
    "shop/api": Serving(
        ADMITTED, "", RULE, "openshift_shop_api_http", ("10.128.0.41:9000",), "that of web"),
    "shop/images": Serving(ADMITTED, RULE, "", *_WEB),
    "shop/ledger": Serving(ADMITTED, REDIRECT, RECORD, "openshift_shop_ledger", ("10.128.0.61:8443",)),
    "shop/newsletter": Serving("ExtendedValidationFailed"),
    "shop/payments": Serving(ADMITTED, REDIRECT, RULE, *_PAYMENTS, OWN, CHECKED),
    "shop/payments-test": Serving(ADMITTED, RULE, RULE, *_PAYMENTS, DEFAULT, UNCHECKED),
    "shop/web": Serving(ADMITTED, REDIRECT, RULE, *_WEB, OWN),
}

_NODES = {"0a:0a:0a:03:59:01": "10.3.89.1 node-1", "0a:0a:0a:03:59:02": "10.3.89.2 node-2"}
_JOINED = {**_NODES, "0a:0a:0a:03:59:03": "10.3.89.3 node-3"}
_MORE = (*_WEB[1], "10.131.0.33:8080", "10.131.0.34:8080")


@dataclass(frozen=True, slots=True)
class State:
    """State of everything."""

    routes: Mapping[str, Serving]
    network: Network


AT_START = State(_ROUTES, Network(
    "multipoint, UDP port 4789", "VNID 0, from 10.3.89.213", "10.130.0.5/14", _NODES))

JOINED = replace(AT_START, network=replace(AT_START.network, nodes=_JOINED))
"""One more Node."""

SCALED = replace(JOINED, routes={
    **_ROUTES,
    "shop/images": replace(_ROUTES["shop/images"], members=_MORE),
    "shop/web": replace(_ROUTES["shop/web"], members=_MORE),
})
"""Two more pods of Service shop/web."""

ADDED = replace(SCALED, routes={
    **SCALED.routes, "shop/sale": Serving(ADMITTED, RULE, "", _WEB[0], _MORE)})
"""One more Route."""

FIXED = replace(ADDED, routes={
    **ADDED.routes, "shop/newsletter": Serving(ADMITTED, "", RULE, _WEB[0], _MORE, OWN)})
"""The Route with a wrong key has the right one."""


def differences(rows: Iterable[Row], network: Network, expected: State) -> list[str]:
    """Return what is not as expected, a line each."""
    return sorted(_of_routes(rows, expected.routes)) + [
        _line("pod network", field.name, network, expected.network) for field in fields(Network)
        if getattr(network, field.name) != getattr(expected.network, field.name)]


def _line(name: str, field: str, actual: object, expected: object) -> str:
    is_, should = getattr(actual, field), getattr(expected, field)
    return f"{name}: {field} is {is_ or 'nothing'!r}, not {should or 'nothing'!r}"


def _of_routes(rows: Iterable[Row], expected: Mapping[str, Serving]) -> list[str]:
    actual = {row.name: row.serving for row in rows}
    lines = [f"{name}: there is no such Route" for name in expected.keys() - actual.keys()]
    for name, serving in actual.items():
        if name not in expected:
            lines.append(f"{name}: nobody expects this Route")
            continue
        lines += [_line(name, field.name, serving, expected[name]) for field in fields(Serving)
                  if getattr(serving, field.name) != getattr(expected[name], field.name)]
    return lines
