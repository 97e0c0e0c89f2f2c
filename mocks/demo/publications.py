"""Hosts and paths that the cluster publishes, in Routes, Ingresses and IngressRoutes."""

from collections.abc import Iterator
from dataclasses import dataclass

from mocks.demo.api import Api

ADMITTED = "Admitted"
ROUTER = "public"
"""Name of the router in the status of Routes."""
KINDS = {"": "unsecured", "edge": "edge", "reencrypt": "re-encrypt", "passthrough": "passthrough"}

ROUTES = "/apis/route.openshift.io/v1/routes"
INGRESSES = "/apis/networking.k8s.io/v1/ingresses"
INGRESS_ROUTES = "/apis/contour.heptio.com/v1beta1/ingressroutes"


@dataclass(frozen=True, slots=True)
class Publication:
    """A host and path, and where its requests should go."""

    namespace: str
    name: str
    host: str
    path: str
    kind: str
    """As the table shows it."""
    service: str
    """Name of the Service, in the same namespace."""
    stem: str
    """Regular expression for the name of its Rules, without what follows `__`."""
    status: str
    """ADMITTED, or the reason why not; "" when there is no status."""
    message: str
    secret: str = ""
    """Name of the Secret with the certificate, if the object names one."""
    redirect: int = 302
    """Status of a redirect to port 443."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


def read(cluster: Api) -> list[Publication]:
    """Every host and path, by the name of its object. Raises: requests.RequestException."""
    items = (*map(_route, cluster.get(ROUTES)["items"]),
             *(each for obj in cluster.get(INGRESSES)["items"] for each in _ingress(obj)),
             *_ingress_routes(cluster.get(INGRESS_ROUTES)["items"]))
    return sorted(items, key=lambda item: item.full_name)


def _route(route: dict) -> Publication:
    spec, tls = route["spec"], route["spec"].get("tls", {})
    policy = tls.get("insecureEdgeTerminationPolicy", "")
    kind = KINDS.get(tls.get("termination", ""), "?")
    namespace, name = route["metadata"]["namespace"], route["metadata"]["name"]
    return Publication(
        namespace, name, spec.get("host", ""), spec.get("path", ""), f"{kind}, {policy}" if policy else kind,
        spec["to"]["name"], f"openshift_route_{namespace}_{name}", *_condition(route))


def _condition(route: dict) -> tuple[str, str]:
    """Return what the router says of a Route, and its message."""
    for entry in route.get("status", {}).get("ingress", []):
        for condition in entry.get("conditions", []):
            if entry.get("routerName") == ROUTER and condition["type"] == ADMITTED:
                admitted = condition["status"] == "True"
                return (ADMITTED if admitted else condition["reason"]), condition.get("message", "")
    return "", ""


def _ingress(ingress: dict) -> Iterator[Publication]:
    namespace, name = ingress["metadata"]["namespace"], ingress["metadata"]["name"]
    served = ingress.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    secrets = {host: tls["secretName"] for tls in ingress["spec"].get("tls", []) for host in tls["hosts"]}
    for rule in ingress["spec"]["rules"]:
        for path in rule["http"]["paths"]:
            yield Publication(
                namespace, name, rule["host"], path["path"],
                "Ingress, TLS" if rule["host"] in secrets else "Ingress", path["backend"]["service"]["name"],
                _stem(namespace, "i", name), ADMITTED if served else "", "", secrets.get(rule["host"], ""))


def _ingress_routes(objects: list[dict]) -> Iterator[Publication]:
    """Yield what each root publishes, and what the objects that it delegates to do."""
    by_name = {(obj["metadata"]["namespace"], obj["metadata"]["name"]): obj for obj in objects}
    for root in objects:
        if host := root["spec"].get("virtualhost"):
            yield from _entries(root, host, by_name)


def _entries(obj: dict, host: dict, by_name: dict[tuple[str, str], dict]) -> Iterator[Publication]:
    namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
    status = obj.get("status", {})
    state = ADMITTED if status.get("currentStatus") == "valid" else status.get("currentStatus", "")
    for entry in obj["spec"]["routes"]:
        if delegate := entry.get("delegate"):
            target = by_name[delegate.get("namespace", namespace), delegate["name"]]
            yield from _entries(target, host, by_name)
            continue
        yield Publication(
            namespace, name, host["fqdn"], entry["match"].rstrip("/"),
            "IngressRoute, TLS" if "tls" in host else "IngressRoute", entry["services"][0]["name"],
            _stem(namespace, "c", name), state, status.get("description", ""),
            host.get("tls", {}).get("secretName", "") if "virtualhost" in obj["spec"] else "", redirect=301)


def _stem(namespace: str, kind: str, name: str) -> str:
    return rf"openshift_route_{namespace}_-{kind}-[0-9a-f]{{16}}\.{name}"
