"""Version and readiness of a device, as it reports them.

Pure: decodes replies, sends nothing.
"""

import re
from collections.abc import Mapping

from f5router.model import tmos
from f5router.model.errors import NotReady, Unsupported
from f5router.model.json_types import JSON

VERSION = "/mgmt/tm/sys/version"
READY = "/mgmt/tm/sys/ready"
MCP_STATE = "/mgmt/tm/sys/mcp-state"


def descriptions(reply: JSON) -> dict[str, str]:
    """Return the texts of a statistics reply by name.

    {"entries": {"<url>": {"nestedStats": {"entries": {"phase": {"description": "running"}}}}}}
    gives {"phase": "running"}. The URLs vary by version and are ignored; entries of another form are
    left out. Source: bigip-behaviour.md A3.
    """
    return dict(texts(reply))


def texts(reply: JSON) -> list[tuple[str, str]]:
    """Return the mapping as pairs: a reply may have several texts of one name, such as "details"."""
    pairs: list[tuple[str, str]] = []
    for name, value in _entries(reply).items():
        if not isinstance(value, Mapping):
            continue
        if "nestedStats" in value and isinstance(value["nestedStats"], Mapping):
            pairs += texts(value["nestedStats"])
        elif isinstance(value.get("description"), str):
            pairs.append((name, value["description"]))
    return pairs


def _entries(reply: JSON) -> JSON:
    entries = reply.get("entries")
    return entries if isinstance(entries, Mapping) else {}


def version_of(reply: JSON) -> tuple[int, ...]:
    """Return a version such as (14, 1, 2, 1) from a reply of sys/version.

    Raises:
        NotReady: the reply holds no version.
        Unsupported: TMOS is too old.
    """
    text = descriptions(reply).get("Version", "")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})+", text):
        raise NotReady("GET", VERSION, "the reply holds no version")
    version = tuple(int(number) for number in text.split("."))
    if version < tmos.OLDEST:
        needed = tmos.dotted(tmos.OLDEST)
        raise Unsupported("GET", VERSION, f"TMOS {text} is too old; {needed} or later is needed")
    return version


def readiness_path(version: tuple[int, ...]) -> str:
    """Return the path at which a device of this version reports its readiness."""
    return READY if version >= tmos.READY_SINCE else MCP_STATE


def is_ready(reply: JSON) -> bool:
    """True if a reply of sys/ready or sys/mcp-state reports that configuration may be read and written."""
    states = descriptions(reply)
    if "phase" in states:
        return states["phase"] == "running"
    return all(states.get(name) == "yes" for name in ("configReady", "licenseReady", "provisionReady"))
