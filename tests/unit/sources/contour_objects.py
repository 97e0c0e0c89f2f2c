"""Short ways to make IngressRoutes and what they refer to."""

from f5router.admission import host_claims
from f5router.kube.api import decode_contour
from f5router.model.cluster import TLS_SECRET, Key, Secret, Service, ServicePort
from f5router.model.delta import Delta
from f5router.model.ingress import CertificateDelegation, IngressRoute
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.settings import IngressRoutePolicy


def entry(match="/", *services, to=None, **more):
    """An entry of spec.routes. Args: services: "name:port", or objects; to: "name" or "namespace/name"."""
    given = [service_of(each) if isinstance(each, str) else each for each in services]
    delegate = {}
    if to is not None:
        namespace, _, name = to.rpartition("/")
        delegate = {"delegate": {"name": name, **({"namespace": namespace} if namespace else {})}}
    return {"match": match, **({"services": given} if given else {}), **delegate, **more}


def service_of(text, **more):
    """An entry of services: "name:port"."""
    name, _, port = text.partition(":")
    return {"name": name, "port": int(port or 80), **more}


def ingress_route(name, *routes, fqdn=None, tls=None, annotations=None, created="2026-01-01T00:00:00Z",
                  **spec):
    """An IngressRoute: "name" or "namespace/name"; a root with an fqdn."""
    namespace, _, name = name.rpartition("/")
    host = {} if fqdn is None else {"virtualhost": {"fqdn": fqdn, **({"tls": tls} if tls else {})}}
    return decode_contour.ingress_route({
        "metadata": {"namespace": namespace or "shop", "name": name, "uid": f"uid-{name}",
                     "creationTimestamp": created, "annotations": annotations or {}},
        "spec": {**host, "routes": list(routes), **spec}})


HOST, LATER = "www.example.com", "2026-01-02T00:00:00Z"
OK = ("valid", "valid IngressRoute")


def root(*routes, name="root", fqdn=HOST, **more):
    """A root."""
    return ingress_route(name, *routes, fqdn=fqdn, **more)


def bad(text):
    """Status of an object with an error."""
    return "invalid", text


def service(name="shop/web", *ports, **more):
    """A Service with TCP ports by number, the first one's name is http, that of others pNUMBER."""
    key = Key(*name.split("/"))
    return Service(key, tuple(
        ServicePort("http" if not at else f"p{port}", port, **more)
        for at, port in enumerate(ports or (80,))))


def secret(name="shop/tls", type_=TLS_SECRET, certificate="C", private_key="K", **more):
    """A Secret."""
    return Secret(Key(*name.split("/")), type_, certificate, private_key, **more)


def delegation(namespace, secret_name, *targets):
    """A TLSCertificateDelegation."""
    return CertificateDelegation(Key(namespace, secret_name), ((secret_name, targets),))


FIELDS = {IngressRoute: "ingress_routes", Service: "services", Secret: "secrets",
          CertificateDelegation: "delegations"}


def delta(*objects, gone=()):
    """A Delta. Args: gone: objects that are deleted."""
    changes = {name: {} for name in FIELDS.values()}
    for obj in objects:
        changes[FIELDS[type(obj)]][obj.key] = obj
    for obj in gone:
        changes[FIELDS[type(obj)]][obj.key] = None
    return Delta(**changes)


class Source(IngressRoutes):
    """The source with Services of its own."""

    def __init__(self, **policy):
        self.services, self.holding = {}, {}
        """Holding: Routes that hold a Host, which apply() leaves out."""
        super().__init__(self.services, IngressRoutePolicy(**policy))

    def apply(self, delta):
        for key, service in delta.services.items():
            self.services.pop(key, None)
            if service is not None:
                self.services[key] = service
        changes = super().apply(delta)
        for key, route in list(changes.items()):
            holds = route is not None and route.option_refusal == host_claims.REFUSAL
            if holds or key in self.holding:
                self.holding[key] = changes.pop(key)
        return changes


def source(*objects, **policy):
    """The source with objects, and its Routes by host and path."""
    loaded = Source(**policy)
    changes = loaded.apply(delta(*objects))
    return loaded, {(route.host, route.path): route for route in changes.values()}


def statuses(loaded):
    """Status and description by object, in short."""
    return {f"{key}": tuple(loaded.status(key)[:2]) for key in loaded.objects}
