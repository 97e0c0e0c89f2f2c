"""Rights of the router's user by its role in our partition, checked before anything is written.

Only local users are listed there; the role of a user of a directory server is not known beforehand.
Sources: `auth/user` with `partitionAccess` (clouddocs.f5.com, tmsh reference, auth user); a user with the
role Operator cannot create, modify or delete, one with Guest cannot manage any resource (techdocs.f5.com,
BIG-IP user account administration, user roles); uploads are for the role Administrator
(github.com/F5Networks/f5-ansible issues 1611 and 2298).
"""

import logging
from collections.abc import Mapping

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.model.errors import BigIPError
from f5router.model.texts import Findings

log = logging.getLogger(__name__)

ADMIN = "admin"
NOTHING_WRONG = Findings()

READERS = frozenset({"guest", "operator", "auditor", "no-access"})
"""Roles that may not write."""
_EVERYWHERE = ("all-partitions", "all")
"""Names of all partitions; the second up to TMOS 11.5."""


def check(client: Client, username: str, folder: str) -> Findings:
    """Look up the user; return no findings if the lookup fails."""
    try:
        access = read(client, username)
    except BigIPError as exc:
        log.debug("role of the user not read", extra={"user": username, "error": str(exc)})
        return Findings()
    return evaluate(username, folder.split("/")[1], access)


def read(client: Client, username: str) -> object:
    """Read the roles of a user by partition. Raises: BigIPError: it is no local user, or is not shown."""
    return client.get_once(item_path("auth/user", username)).get("partitionAccess")


def evaluate(username: str, partition: str, access: object) -> Findings:
    """Compare the roles of a user with what the router does. Args: access: partitionAccess, as read."""
    entries = [item for item in access if isinstance(item, Mapping)] if isinstance(access, list) else []
    roles = sorted({str(item.get("role")) for item in entries
                    if item.get("name") in (*_EVERYWHERE, partition)})
    if not entries or ADMIN in roles:
        return Findings()
    if not roles:
        return Findings((f"user {username} has no role in partition {partition}: the router writes nothing "
                         f"to the BIG-IP; give it the role {ADMIN}",))
    text = f"user {username} has the role {', '.join(roles)} in partition {partition}"
    if READERS.issuperset(roles):
        return Findings((f"{text}, which may not write; give it the role {ADMIN}",))
    return Findings(warnings=(f"{text}: the BIG-IP takes certificate files of the role {ADMIN} only",))
