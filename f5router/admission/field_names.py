"""Fields in messages about a virtual Route: the fields of the object that it stands for."""

from f5router.model.cluster import Route

_SECRET = "spec.tls.externalCertificate"
_OF_HOST = ("spec.host", "spec.subdomain", "spec.wildcardPolicy")


def of_origin(route: Route, text: str) -> str:
    """Return a message that begins with a field of a Route, with the field that its author has written.

    Annotations are those of the object itself.
    """
    field, colon, rest = text.partition(": ")
    if route.origin is None or not colon or not field.startswith("spec"):
        return text
    origin = route.origin
    names = {**dict.fromkeys(_OF_HOST, origin.host_field), _SECRET: origin.tls_field}
    name = names.get(field) or origin.field
    return f"{name}: {rest}" if name else rest
