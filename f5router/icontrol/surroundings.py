"""Surroundings of our objects: the folder, the user's rights, the original router's objects.

Only local users are listed there; the role of a user of a directory server is not known beforehand.
Sources: `auth/user` with `partitionAccess` (clouddocs.f5.com, tmsh reference, auth user); a user with the
role Operator cannot create, modify or delete, one with Guest cannot manage any resource (techdocs.f5.com,
BIG-IP user account administration, user roles); uploads are for the role Administrator
(github.com/F5Networks/f5-ansible issues 1611 and 2298).

Sources: for `sys/license`, f5devcentral/f5-automation-labs, "BIG-IP Module Provisioning" (13.0.0), and F5
Stethoscope, which takes `apiRawValues` for a missing licence; for `sys/clock`, recordings of 14.1.2.1 and
16.0.0 (CiscoTestAutomation/genieparser); for iptunnel.configsync, F5's manual "BIG-IP TMOS: Tunneling and
IPsec", 14.1, Configuring Network Virtualization Tunnels.
"""

import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from f5router.icontrol.codec import ltm_codec, net_codec
from f5router.icontrol.own_addresses import default_route_domain
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.readiness import texts
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.attachments import listed, virtual
from f5router.model import original_names, ownership
from f5router.model.errors import BigIPError, Conflict, NotFound, NotReady, PartitionMissing
from f5router.model.json_types import JSON
from f5router.model.ltm import ClientSSL, DataGroup, IRule, ServerSSL
from f5router.model.ltm_nodes import LTMNode
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.texts import Findings
from f5router.plan.adoption import FILES, Inventory

log = logging.getLogger(__name__)

FOLDER = "sys/folder"


def ensure_folder(client: Client, folder: str, *, create: bool) -> JSON | None:
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
            properties = client.get(item_path(FOLDER, path))
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
    return str((ensure_folder(client, folder, create=False) or {}).get("trafficGroup") or "")


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
        return client.post(FOLDER, {"name": path})
    except Conflict:
        log.debug("folder exists", extra={"path": path})
        return client.get(item_path(FOLDER, path))


def original_inventory(client: Client, folder: str) -> Inventory:
    """Read the input of `adoption`. Raises: BigIPError."""
    profiles = {Ref(kind, ltm_codec.path_of(item)): item for kind in (ClientSSL.KIND, ServerSSL.KIND)
                for item in _items(client, kind)}
    files = {Ref(kind, path) for kind in FILES for item in _items(client, kind)
             if original_names.is_file(path := ltm_codec.path_of(item))}
    groups = {}
    for item in _items(client, DataGroup.KIND):
        path = ltm_codec.path_of(item)
        if path in original_names.groups(folder):
            group, records = ltm_codec.decode_data_group(item)
            groups[path] = (group.type, tuple(records))
    texts = {path: str(item.get("apiAnonymous", "")) for item in _items(client, IRule.KIND)
             if not ownership.owns_path(folder, IRule.KIND, path := ltm_codec.path_of(item))}
    carried = {
        ltm_codec.path_of(item): frozenset(name for name, _ in listed(item, "profiles"))
        for item in _items(client, "ltm/virtual", expandSubcollections="true")
    }
    return Inventory(profiles, frozenset(files), groups, texts, carried)


def _items(client: Client, kind: str, **params: str) -> list[JSON]:
    return client.get(kind, params).get("items") or []


def detach_original(client: Client, path: str, targets: Collection[str]) -> None:
    """Detach profiles from a virtual server in one write. Raises: BigIPError."""
    raw = virtual(client, path)
    there = listed(raw, "profiles") if raw else []
    kept = [{"name": name, "context": context} for name, context in there if name not in targets]
    if len(kept) < len(there):
        client.patch(item_path("ltm/virtual", path), {"profiles": kept})


ADMIN = "admin"
NOTHING_WRONG = Findings()

READERS = frozenset({"guest", "operator", "auditor", "no-access"})
"""Roles that may not write."""
_EVERYWHERE = ("all-partitions", "all")
"""Names of all partitions; the second up to TMOS 11.5."""


def check_rights(client: Client, username: str, folder: str) -> Findings:
    """Look up the user; return no findings if the lookup fails."""
    try:
        access = read_rights(client, username)
    except BigIPError as exc:
        log.debug("role of the user not read", extra={"user": username, "error": str(exc)})
        return Findings()
    return evaluate_rights(username, folder.split("/")[1], access)


def read_rights(client: Client, username: str) -> object:
    """Read the roles of a user by partition. Raises: BigIPError: it is no local user, or is not shown."""
    return client.get_once(item_path("auth/user", username)).get("partitionAccess")


def evaluate_rights(username: str, partition: str, access: object) -> Findings:
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


def role_text(client: Client, username: str, partition: str) -> str:
    """Read the role of a user, and return it in words. Raises: BigIPError: as read_rights."""
    findings = evaluate_rights(username, partition, read_rights(client, username))
    remarks = (*findings.problems, *findings.warnings)
    return remarks[0].partition("; give it")[0] if remarks else f"{ADMIN} in partition {partition}"


LICENCE, CLOCK, PROVISION = "sys/license", "sys/clock", "sys/provision"
TUNNEL_SYNC = "sys/db/iptunnel.configsync"
"""Variable by which config sync copies tunnels to the other units."""
SDN_SERVICES = "SDN Services"
"""Feature that a tunnel into the pod network needs; its name may go on, as in "SDN Services, VE"."""


@dataclass(frozen=True, slots=True)
class Licence:
    """The licence of a device."""

    exists: bool
    ends: date | None = None
    """None for one without an end."""
    features: tuple[str, ...] = ()
    """Empty where the device does not list them."""

    @property
    def has_sdn(self) -> bool | None:
        """True if SDN Services are among the features; None if none are listed."""
        return any(feature.startswith(SDN_SERVICES) for feature in self.features) if self.features else None


def licence_of(reply: JSON) -> Licence:
    """Decode a reply of sys/license."""
    pairs = texts(reply)
    if not pairs:
        return Licence(exists=False)
    features = [name for key, text in pairs if key == "featureModules"
                for name in re.findall(r'"([^"]+)"', text)]
    ends = next((text for key, text in pairs if key == "licenseEndDate"), "")
    return Licence(True, _date(ends), tuple(features))


def _date(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y/%m/%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None


def time_of(reply: JSON) -> datetime | None:
    """Decode a reply of sys/clock; None if it has no such time."""
    text = dict(texts(reply)).get("fullDate", "")
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def read_licence(client: Client) -> Licence:
    """Read the licence. Raises: BigIPError."""
    return licence_of(client.get_once(LICENCE))


NODES = "ltm/node"
_NODE_FIELDS = "name,partition,fullPath,address,session,state,ephemeral"


def disabled_nodes(client: Client) -> list[LTMNode]:
    """Read the LTM nodes that an administrator has disabled or forced offline. Raises: BigIPError."""
    nodes = []
    for item in client.get_once(NODES, {"$select": _NODE_FIELDS}).get("items") or ():
        try:
            if ltm_codec.member_state(item) != "enabled":
                nodes.append(net_codec.decode_node(item))
        except ltm_codec.ODD as exc:
            log.debug("object not understood", extra={"kind": NODES, "error": repr(exc)})
    return nodes


def read_time(client: Client) -> datetime | None:
    """Read the clock; None if its form is not known. Raises: BigIPError."""
    return time_of(client.get_once(CLOCK))


def provisioned_level(client: Client, module: str) -> str:
    """Read the level of a module, "none" for a module that is not provisioned. Raises: BigIPError."""
    return str(client.get_once(item_path(PROVISION, module)).get("level") or "")


def copies_tunnels(client: Client) -> bool:
    """Return True if config sync includes tunnels. Raises: BigIPError."""
    return str(client.get_once(TUNNEL_SYNC).get("value") or "") != "disable"


def routed_networks(client: Client, folder: str) -> frozenset[str]:
    """Read the networks to which a route leads in our route domain, without the default route.

    Routes that the device has learnt, as by BGP, are not in this collection. Raises: BigIPError.
    """
    items = client.get(StaticRoute.KIND).get("items") or ()
    numbers = [str(item.get("network", "")).partition("/")[0].partition("%")[2] for item in items]
    domain = default_route_domain(client, folder) if any(numbers) else 0
    networks = (net_codec.decode_route(item).network for item, number in zip(items, numbers, strict=True)
                if (int(number) if number.isdigit() else 0) == domain)
    return frozenset(network for network in networks if "/" in network and not network.endswith("/0"))


def disabled_addresses(client: Client) -> frozenset[str]:
    """Read the disabled virtual addresses: partition and address without route domain, as "/P/10.0.0.1".

    An address that is disabled answers for none of its virtual servers. Source: tmsh reference, ltm
    virtual-address, `enabled [no | yes]`. Raises: BigIPError.
    """
    items = client.get("ltm/virtual-address").get("items") or ()
    return frozenset(f"/{item.get('partition')}/{str(item.get('address')).partition('%')[0]}"
                     for item in items if item.get("enabled") in ("no", False))


def one_connect(client: Client, path: str) -> str:
    """Return the full path of the OneConnect profile of a virtual server; "" for none. Raises: BigIPError."""
    raw = virtual(client, path)
    attached = {profile for profile, _ in listed(raw, "profiles")} if raw else set()
    items = client.get("ltm/profile/one-connect").get("items") or ()
    return next((known for item in items if (known := ltm_codec.path_of(item)) in attached), "")


MONITOR = "ltm/monitor"
_FREQUENT = ("http", "https", "tcp")


def has_monitor(client: Client, path: str) -> bool:
    """Return True if a monitor of any type has this full path.

    Each type is a collection of its own, which the collection of them all names; those that pools have
    most often are read first. Raises: BigIPError.
    """
    links = (item.get("reference") for item in client.get(MONITOR).get("items") or ())
    types = {str(link.get("link", "")).partition("?")[0].rsplit("/", 1)[1] for link in links
             if isinstance(link, Mapping) and "/" in str(link.get("link", ""))}
    ordered = sorted(types, key=lambda name: (name not in _FREQUENT, name))
    return any(get_if_there(client, item_path(f"{MONITOR}/{name}", path)) is not None for name in ordered)


def text_of_day(seconds: float) -> date:
    """Return the day of a time since the epoch, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date()
