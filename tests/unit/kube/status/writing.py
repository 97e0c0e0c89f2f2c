"""Routes, verdicts and entries of the tests of the StatusWriter."""

from f5router.admission.condition import PENDING, Verdict
from f5router.kube.api import decode
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key

A = Key("shop", "a")
HOST = "www.example.com"
YES = Verdict(True)
NO = Verdict(False, "HostAlreadyClaimed", "route shop/b has this host")
OTHER = {"host": HOST, "routerName": "haproxy", "conditions": [], "wildcardPolicy": "None"}
AT_S = 1_770_000_000.9


class Known:
    """Routes that a ClusterWatcher knows; without observing, its watch is far behind."""

    def __init__(self, kube, *, observing=True):
        self._kube, self._observing = kube, observing
        self.routes = {}
        self.read()

    def read(self):
        for obj in self._kube.list("Route"):
            self.observe(decode.route(obj), always=True)

    def route(self, key):
        return self.routes.get(key)

    def route_source(self):
        return ROUTES

    def observe(self, route, *, always=False):
        if self._observing or always:
            old, self.routes[route.key] = self.routes.get(route.key), route
            if old and old.uid == route.uid:
                self.heard(old, route)

    heard = staticmethod(lambda old, new: None)


def ingress(kube, name="a"):
    return kube.get("Route", "shop", name).get("status", {}).get("ingress", [])


def verdicts(kube, name="a"):
    """Router name and Admitted status of each entry."""
    return [(entry["routerName"], *(item["status"] for item in entry["conditions"]))
            for entry in ingress(kube, name)]


def writes(kube):
    return [(entry.method, entry.status) for entry in kube.log if entry.method != "GET"]


DENIED = 'admission webhook "policy.example.com" denied the request: no owner'

UNKNOWN = {"host": HOST, "routerName": "public", "wildcardPolicy": "None", "conditions": [
    {"type": "Admitted", "status": "Unknown", "reason": PENDING.reason, "message": PENDING.message,
     "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
SERVED = UNKNOWN | {"conditions": [
    {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
