"""The cluster as HAProxy's router hands it to its template: hosts, certificates and endpoints.

Sources: openshift/router, pkg/cmd/infra/router/router.go (RouteUpdate, AdmissionCheck);
pkg/router/controller/route_secret_manager.go (externalCertificate); pkg/router/template/plugin.go
(createRouterEndpoints, with the cluster IP of an idled Service); pkg/router/template/router.go
(writeDefaultCert, secretToPem).
"""

import base64
import copy
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.differential.haproxy_config import TRUE, Endpoint, matches

IDLED = "idling.alpha.openshift.io/idled-at"


def admitted(routes: Iterable[dict], secrets: Iterable[dict], variables: Mapping[str, str]) -> list[dict]:
    """Return the Routes that are served, each with its host and the certificate that its Secret holds."""
    by_place = {(secret["metadata"]["namespace"], secret["metadata"]["name"]): secret["data"]
                for secret in secrets}
    served = []
    for original in routes:
        route = copy.deepcopy(original)
        route["spec"]["host"] = host_of(route, variables)
        if not route["spec"]["host"] or not _allowed(route["spec"]["host"], variables):
            continue
        tls = route["spec"].get("tls") or {}
        if external := tls.get("externalCertificate"):
            data = by_place.get((route["metadata"]["namespace"], external["name"]))
            if data is None:
                continue
            tls["certificate"], tls["key"] = (base64.b64decode(data[key]).decode()
                                              for key in ("tls.crt", "tls.key"))
        served.append(route)
    return served


def host_of(route: Mapping, variables: Mapping[str, str]) -> str:
    """Return the host of a Route; "" for none."""
    host, subdomain = route["spec"].get("host", ""), route["spec"].get("subdomain", "")
    domain, template = variables.get("ROUTER_DOMAIN", ""), variables.get("ROUTER_SUBDOMAIN", "")
    if not host and subdomain and domain:
        host = f"{subdomain}.{domain}"
    overrides = (matches(TRUE, variables.get("ROUTER_OVERRIDE_HOSTNAME", ""))
                 or _within(host, variables.get("ROUTER_OVERRIDE_DOMAINS", "")))
    if not template or (host and not overrides):
        return host
    for key in ("name", "namespace"):
        template = template.replace(f"${{{key}}}", route["metadata"][key])
    return template.strip("\"'")


def _allowed(host: str, variables: Mapping[str, str]) -> bool:
    if _within(host, variables.get("ROUTER_DENIED_DOMAINS", "")):
        return False
    allowed = variables.get("ROUTER_ALLOWED_DOMAINS", "")
    return not allowed.strip(" ,") or _within(host, allowed)


def _within(host: str, domains: str) -> bool:
    """True if a host, or a domain that it is in, stands in a list with commas."""
    listed, labels = {item.strip() for item in domains.split(",")}, host.split(".")
    return bool(host) and any(".".join(labels[start:]) in listed for start in range(len(labels)))


def endpoints_of(
    services: Iterable[dict], slices: Iterable[dict]
) -> dict[tuple[str, str], tuple[Endpoint, ...]]:
    """Return the endpoints by namespace and name of the Service: those that are ready."""
    by_service: dict[tuple[str, str], tuple[Endpoint, ...]] = {}
    for slice_ in slices:
        key = slice_["metadata"]["namespace"], slice_["metadata"]["labels"]["kubernetes.io/service-name"]
        ready = [endpoint for endpoint in slice_["endpoints"] or () if endpoint["conditions"]["ready"]]
        by_service[key] = by_service.get(key, ()) + tuple(
            Endpoint(address, port["port"], port["name"], port.get("appProtocol", "")) for endpoint in ready
            for address in endpoint["addresses"] for port in slice_["ports"] or ())
    for service in services:
        metadata, spec = service["metadata"], service["spec"]
        key = metadata["namespace"], metadata["name"]
        if not by_service.get(key) and IDLED in metadata.get("annotations", {}):
            by_service[key] = tuple(Endpoint(spec["clusterIP"], port["port"], port["name"], is_checked=False)
                                    for port in spec["ports"])
    return by_service


def default_certificate(variables: Mapping[str, str]) -> str:
    """Return certificate and key for clients without SNI and of other hosts; "" without a setting."""
    if text := variables.get("DEFAULT_CERTIFICATE"):
        return text
    if path := variables.get("DEFAULT_CERTIFICATE_PATH"):
        return Path(path).read_text()
    if not (folder := variables.get("DEFAULT_CERTIFICATE_DIR")):
        return ""
    text = Path(folder, "tls.crt").read_text()
    return text if "PRIVATE KEY" in text else text + Path(folder, "tls.key").read_text()
