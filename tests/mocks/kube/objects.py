"""Objects and URLs the tests use."""

ROUTES = "/apis/route.openshift.io/v1/routes"
SHOP = "/apis/route.openshift.io/v1/namespaces/shop/routes"
SERVICES = "/api/v1/namespaces/shop/services"


def route(name: str = "web", *, namespace: str = "shop", host: str = "", **metadata: object) -> dict:
    """A Route to Service ``web`` with everything the API server fills in but its metadata."""
    return {
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {
            "host": host or f"{name}.example.com",
            "to": {"kind": "Service", "name": "web", "weight": 100},
            "wildcardPolicy": "None",
        },
    }


def admitted(host: str) -> dict:
    """A Route status as a router writes it."""
    condition = {"type": "Admitted", "status": "True"}
    return {"ingress": [{"routerName": "f5", "host": host, "conditions": [condition]}]}


def names(reply_list: dict) -> list[str]:
    return [item["metadata"]["name"] for item in reply_list["items"]]
