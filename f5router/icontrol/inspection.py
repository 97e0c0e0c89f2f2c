"""Licence, modules, clock and a variable of a BIG-IP, which only `f5router doctor` reads.

Sources: for `sys/license`, f5devcentral/f5-automation-labs, "BIG-IP Module Provisioning" (13.0.0), and F5
Stethoscope, which takes `apiRawValues` for a missing licence; for `sys/clock`, recordings of 14.1.2.1 and
16.0.0 (CiscoTestAutomation/genieparser); for iptunnel.configsync, F5's manual "BIG-IP TMOS: Tunneling and
IPsec", 14.1, Configuring Network Virtualization Tunnels.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from f5router.icontrol.codec import net_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.rest.readiness import texts
from f5router.icontrol.writers.tunnels import default_route_domain
from f5router.model.json_types import JSON
from f5router.model.net import StaticRoute

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


def licence(client: Client) -> Licence:
    """Read the licence. Raises: BigIPError."""
    return licence_of(client.get_once(LICENCE))


def time(client: Client) -> datetime | None:
    """Read the clock; None if its form is not known. Raises: BigIPError."""
    return time_of(client.get_once(CLOCK))


def level(client: Client, module: str) -> str:
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


def day(seconds: float) -> date:
    """Return the day of a time since the epoch, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date()
