"""Checks of the Gateway API: its CRDs, a GatewayClass of this router, and the setting that serves it.

They warn of a GatewayClass that nobody serves: see docs/gateway-api.md for the settings that serve it.
"""

import json
from collections.abc import Iterator

from f5router.cli.doctor.report import Check, Fix, warning
from f5router.config.config import Config
from f5router.kube.api.connection import Connection
from f5router.kube.status.entry_cleanup import list_values
from f5router.kube.watch.sources import GATEWAY_CLASSES, choose_served
from f5router.model.errors import KubeError
from f5router.model.gateway import GATEWAY
from f5router.model.texts import printable

CHECK = "Gateway API"
_INSTALL = Fix("install them", "kubectl apply -f https://github.com/kubernetes-sigs/gateway-api/releases/"
               "download/v1.4.1/standard-install.yaml")
_NO_ADDRESS = Fix("set --gateway-addresses or --f5-vserver-address, or remove gateway from --sources")
_GRANT = "kubectl apply -f docs/deploy/22-gateway-api.yaml"
_NOT_NAMED = Fix("name gateway in --sources, and grant the rights", _GRANT)
_NOT_ASKED = Fix("set one of them, name gateway in --sources if that is set, and grant the rights", _GRANT)


def check(connection: Connection, config: Config, area: str) -> Iterator[Check]:
    """Yield warnings; nothing where all is well, or nobody asks for Gateways. One list at most."""
    sources = config.watch.sources
    asked, controller = GATEWAY in sources.kinds, sources.gateways.controller
    has_address = bool(sources.gateways.served.addresses or sources.gateways.ranges)
    try:
        served = choose_served(connection, GATEWAY_CLASSES)
        classes = [] if served is None else [each.key.name for each in list_values(connection, served)
                                             if each.controller == controller]
    except KubeError:
        return  # another check tells of the API server, or of the right that is missing
    if asked and served is None:
        yield warning(area, CHECK, "--sources names gateway, and the cluster lacks the CRDs: no Gateway is "
                                   "served; the router picks them up once they are there", _INSTALL)
    elif asked and not classes:
        yield warning(area, CHECK, f"no GatewayClass has spec.controllerName {controller}: no Gateway is "
                                   "served", _class(controller))
    elif classes and not asked:
        reason, fix = ("--sources does not name gateway", _NOT_NAMED) if has_address else (
            "neither --gateway-addresses nor --f5-vserver-address is set", _NOT_ASKED)
        yield warning(area, CHECK, f"GatewayClass {printable(', '.join(classes))} names this router's "
                                   f"controller, and {reason}: no Gateway is served", fix)
    if asked and not has_address:
        yield warning(area, CHECK, "neither --gateway-addresses nor --f5-vserver-address is set, so no "
                                   "Gateway has an address", _NO_ADDRESS)


def _class(controller: str) -> Fix:
    manifest = json.dumps({"apiVersion": GATEWAY_CLASSES.api_version, "kind": "GatewayClass",
                           "metadata": {"name": "f5"}, "spec": {"controllerName": controller}})
    return Fix("create one", f"echo '{manifest}' | kubectl apply -f -")

