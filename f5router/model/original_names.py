"""Names of the original F5 router, by which its objects are distinguished from an administrator's.

It puts certificates, profiles and data-groups into /Common, whatever its partition is, and names those of a
Route openshift_route_<namespace>_<name>-client-ssl-profile, -server-ssl-profile, -https-cert.crt,
-https-key.key and -https-chain.crt. Our names never end so (names.py). Source: openshift/router,
pkg/router/f5/f5.go (release-3.11).
"""

import re

from f5router.model import names
from f5router.model.cluster import Key

COMMON = "/Common"
REENCRYPT_GROUP = f"{COMMON}/ssl_reencrypt_servername_dg"
"""Data-group: Host to bare name of the pool, for Routes whose pods get TLS."""
PASSTHROUGH_GROUP = f"{COMMON}/ssl_passthrough_servername_dg"
"""Data-group: Host to bare name of the pool; the router's own where its folder is /Common."""
_ROUTES = "_route_dg"
"""End of the names of the data-groups from stem to Host."""

_NAMESPACE = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME = r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_ROUTE = rf"openshift_route_{_NAMESPACE}_{_NAME}"
_STEM, _HOST = re.compile(_ROUTE), re.compile(_NAME)
_POOL = re.compile(rf"openshift_{_NAMESPACE}_{_NAME}")
_PROFILE = re.compile(rf"{COMMON}/({_ROUTE})-(client|server)-ssl-profile")
_FILE = re.compile(rf"{COMMON}/({_ROUTE})-https-(?:cert\.crt|key\.key|chain\.crt)")


def is_client_ssl(path: str) -> bool:
    """True if a client SSL profile has a name of the original router."""
    match = _PROFILE.fullmatch(path)
    return match is not None and match[2] == "client"


def is_server_ssl(path: str) -> bool:
    """True if a server SSL profile has a name of the original router."""
    match = _PROFILE.fullmatch(path)
    return match is not None and match[2] == "server"


def is_file(path: str) -> bool:
    """True if a certificate or key file has a name of the original router."""
    return _FILE.fullmatch(path) is not None


def stem(path: str) -> str:
    """Return the stem of the Route whose profile or file has this name; "" for any other name."""
    match = _PROFILE.fullmatch(path) or _FILE.fullmatch(path)
    return match[1] if match else ""


def stem_of(key: Key) -> str:
    """Return the beginning of the names of a Route's objects."""
    return f"openshift_route_{key.namespace}_{key.name}"


def groups(folder: str) -> frozenset[str]:
    """Return the data-groups that only the original router uses. Args: folder: the folder of our objects."""
    paths = {REENCRYPT_GROUP, PASSTHROUGH_GROUP,
             *(f"{COMMON}/ssl_{kind}{_ROUTES}" for kind in ("reencrypt", "passthrough"))}
    return frozenset(paths - {PASSTHROUGH_GROUP} if folder == COMMON else paths)


def is_record(group: str, name: str, data: str) -> bool:
    """True if the original router writes such a record to this data-group."""
    if group.endswith(_ROUTES):
        return _STEM.fullmatch(name) is not None and _HOST.fullmatch(data) is not None
    return _HOST.fullmatch(name) is not None and _POOL.fullmatch(data) is not None


def pool(folder: str, data: str) -> str:
    """Return the full path of the pool in a record of its data-groups, or of the router's."""
    data = data.removeprefix(names.ENDED)
    return data if data.startswith("/") else f"{folder}/{data}"
