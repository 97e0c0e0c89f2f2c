"""Fields in messages about a virtual Route: those of the object that it stands for."""

from f5router.model.cluster import Route

_OF_HOST = ("spec.host", "spec.subdomain", "spec.wildcardPolicy")


def of_origin(route: Route, text: str) -> str:
    """Return a message that begins with a field of a Route, with the field that its author has written.

    Annotations are those of the object itself.
    """
    field, colon, rest = text.partition(": ")
    if route.origin is None or not colon or not field.startswith("spec"):
        return text
    name = route.origin.host_field if field in _OF_HOST else route.origin.field
    return f"{name}: {rest}" if name else rest
