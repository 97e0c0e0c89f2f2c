"""How each Route of the example cluster has to be served: written down, not computed."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from mocks.demo.serving import (
    ADMITTED,
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
_PAYMENTS = ("openshift_shop_payments__*", ("10.128.0.51:8443", "10.129.0.52:8443"))

AT_START: Mapping[str, Serving] = {
    "docs/host-route": Serving(ADMITTED, RULE, "", *_HELLO),
    "docs/no-route-hostname": Serving("NoHostValue"),
    "docs/route-alternate-service": Serving("ExtendedValidationFailed"),
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
    "shop/api": Serving(
        ADMITTED, "", RULE, "openshift_shop_api_http", ("10.128.0.41:9000",), "that of web"),
    "shop/images": Serving(ADMITTED, RULE, "", *_WEB),
    "shop/ledger": Serving(ADMITTED, REDIRECT, RECORD, "openshift_shop_ledger", ("10.128.0.61:8443",)),
    "shop/newsletter": Serving("ExtendedValidationFailed"),
    "shop/payments": Serving(ADMITTED, REDIRECT, RULE, *_PAYMENTS, OWN, CHECKED),
    "shop/payments-test": Serving(ADMITTED, RULE, RULE, *_PAYMENTS, DEFAULT, UNCHECKED),
    "shop/web": Serving(ADMITTED, REDIRECT, RULE, *_WEB, OWN),
}

_SCALED = (*_WEB[1], "10.130.0.33:8080", "10.130.0.34:8080")

SCALED = {
    **AT_START,
    "shop/images": replace(AT_START["shop/images"], members=_SCALED),
    "shop/web": replace(AT_START["shop/web"], members=_SCALED),
}
"""Two more pods of Service shop/web."""

ADDED = {**SCALED, "shop/sale": Serving(ADMITTED, RULE, "", _WEB[0], _SCALED)}
"""One more Route."""

MENDED = {**ADDED, "shop/newsletter": Serving(ADMITTED, "", RULE, _WEB[0], _SCALED, OWN)}
"""The Route with a wrong key has the right one."""


def differences(rows: Iterable[Row], expected: Mapping[str, Serving]) -> list[str]:
    """What is not as expected, a line each."""
    found = {row.name: row.serving for row in rows}
    lines = [f"{name}: there is no such Route" for name in expected.keys() - found.keys()]
    for name, serving in found.items():
        if name not in expected:
            lines.append(f"{name}: nobody expects this Route")
            continue
        for field in fields(Serving):
            is_, should = getattr(serving, field.name), getattr(expected[name], field.name)
            if is_ != should:
                lines.append(f"{name}: {field.name} is {is_ or 'nothing'!r}, not {should or 'nothing'!r}")
    return sorted(lines)
