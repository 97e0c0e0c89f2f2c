"""The Route by which an object without a served part on a Host keeps the Host.

As with Routes, a mistake never gives a Host to another tenant.
"""

from f5router.model import names
from f5router.model.cluster import Key, Origin, PathMatch, Route

REFUSAL = "no part of it can be served; the host stays reserved for it"
"""Why such a Route is not admitted; the reasons are those of its object."""

_PATH = "?"
"""No request has it, and no other Route can claim it: the Host is held, but no path of it."""


def hold(claimant: Key, kind: str, uid: str, created: str, host: str, field: str, *,
         wildcard: bool = False) -> Route:
    """Return the Route of a claimant. Args: field: the field that has the Host."""
    return Route(
        key=Key(claimant.namespace, names.virtual_route(kind, claimant.name, f"{host} {_PATH}")),
        uid=uid, created=created, host=host, wildcard_policy="Subdomain" if wildcard else "None",
        path=_PATH, path_match=PathMatch.EXACT, option_refusal=REFUSAL,
        origin=Origin(kind, claimant, field, field))
