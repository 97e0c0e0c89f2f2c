"""Options of a Route that act on its requests and responses, written as the data of a record.

Rules name the record, not the Route: Routes with equal options share one. A text of a tenant is written in
hexadecimal digits, so that nothing in it has a meaning to tmsh or Tcl.
"""

from f5router.model import names
from f5router.model.route_options import RouteOptions


def encode(options: RouteOptions, *, secure: bool, forwarded: str, path: str = "") -> str:
    """Return the data of a record in names.HTTP_GROUP; "" if a Route needs none.

    A slash stands between options, a dot between the words of one.
    Args:
        secure: True for requests over TLS.
        forwarded: the router's own policy for forwarded headers.
        path: spec.path.
    """
    parts = []
    if options.forwarded not in ("", forwarded):
        parts.append(f"forwarded.{options.forwarded}")
    parts += [f"request.{action}" for action in options.request_actions]
    parts += [f"response.{action}" for action in options.response_actions]
    if secure and options.hsts:
        parts.append(f"hsts.{options.hsts.encode().hex()}")
    if (rewrite := options.rewrite) and (path or not rewrite.needs_path):
        words = ["rewrite", path.encode().hex(), rewrite.target.encode().hex()]
        words += ["rest"] if rewrite.keeps_rest else []
        words += ["slash"] if rewrite.drops_slash else []
        parts.append(".".join(words))
    return "/".join(parts)


def record_name(data: str) -> str:
    """Return the name of the record with these data."""
    return names.digest(data, 32)
