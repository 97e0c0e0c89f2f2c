"""The folder of the router's objects, created below an existing partition."""

import logging

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.model.errors import BigIPError, Conflict, NotFound, NotReady, PartitionMissing
from f5router.model.json_types import JSON

log = logging.getLogger(__name__)

KIND = "sys/folder"


def ensure(client: Client, folder: str, *, create: bool) -> JSON | None:
    """Read a folder, and create missing ones below its partition.

    A partition is never created: the virtual servers must be in it, so its path must be misspelt.

    Args: create: False to create nothing.
    Returns: its properties; None if it is not there.
    Raises:
        PartitionMissing: with the partitions that exist.
        BigIPError: the device does not answer, or refuses.
    """
    properties: JSON = {}
    path, levels = "", folder.strip("/").split("/")
    for level in levels:
        path += f"/{level}"
        try:
            properties = client.get(item_path(KIND, path))
        except NotFound as exc:
            if not client.ready():
                raise NotReady("GET", "/mgmt/tm/sys/ready", "the device is starting") from None
            if level is levels[0]:
                text = _missing_text(client, level)
                raise PartitionMissing(exc.method, exc.path, text, status=exc.status) from None
            if not create:
                return None
            properties = _create(client, path)
            log.info("folder created", extra={"path": path})
    return properties


def traffic_group(client: Client, folder: str) -> str:
    """Read the traffic group of a folder; "" if it is not there. Raises: BigIPError."""
    return str((ensure(client, folder, create=False) or {}).get("trafficGroup") or "")


def _missing_text(client: Client, partition: str) -> str:
    """Write the message about a missing partition, with the names of others if they can be read."""
    text = f"partition {partition} does not exist; see --f5-partition-path"
    try:
        items = client.get("auth/partition").get("items") or ()
    except BigIPError:
        return text
    names = sorted(item["name"] for item in items if isinstance(item.get("name"), str))
    return f"{text}. Partitions of this BIG-IP: {', '.join(names)}" if names else text


def _create(client: Client, path: str) -> JSON:
    try:
        return client.post(KIND, {"name": path})
    except Conflict:
        log.debug("folder exists", extra={"path": path})
        return client.get(item_path(KIND, path))
