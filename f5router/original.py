"""Names that the original F5 router gives, by which its objects are told from an administrator's.

It lays certificates, profiles and data-groups into /Common, whatever its partition is, and names those of
a Route openshift_route_<namespace>_<name>-client-ssl-profile, -server-ssl-profile, -https-cert.crt,
-https-key.key and -https-chain.crt. Names of ours never end so (names.py). Source: openshift/router,
pkg/router/f5/f5.go (release-3.11).
"""

import re

COMMON = "/Common"
REENCRYPT_GROUP = f"{COMMON}/ssl_reencrypt_servername_dg"
"""Data-group: Host to bare name of the pool, for Routes whose pods get TLS."""
PASSTHROUGH_GROUP = f"{COMMON}/ssl_passthrough_servername_dg"
"""Data-group: Host to bare name of the pool; the router's own where its folder is /Common."""

_ROUTE = r"openshift_route_[a-z0-9](?:[-a-z0-9]*[a-z0-9])?_[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_PROFILE = re.compile(rf"{COMMON}/{_ROUTE}-(client|server)-ssl-profile")


def is_client_ssl(path: str) -> bool:
    """True if a client SSL profile has a name of the original router."""
    found = _PROFILE.fullmatch(path)
    return found is not None and found[1] == "client"


def is_server_ssl(path: str) -> bool:
    """True if a server SSL profile has a name of the original router."""
    found = _PROFILE.fullmatch(path)
    return found is not None and found[1] == "server"


def pool(folder: str, data: str) -> str:
    """Full path of the pool that a record of its data-groups names."""
    return data if data.startswith("/") else f"{folder}/{data}"
