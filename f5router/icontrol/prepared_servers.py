"""Virtual servers that an administrator has prepared: what happens to them when the router takes them over.

They are taken over by one write each, of the marks alone: they answer clients before it and after it, by the
same objects. Their settings follow in a pass, as anything that somebody has changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from f5router.icontrol.codec import adoption_codec, virtual_codec
from f5router.icontrol.codec.ltm_codec import path_of
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.attachments import listed, virtual
from f5router.model import ownership, tls_names, tmos
from f5router.model.device_facts import VirtualFacts
from f5router.model.errors import Refused
from f5router.model.front_end_names import base_name, beside
from f5router.model.json_types import JSON
from f5router.model.ltm import IRule, Policy, Pool
from f5router.model.objects import Ref
from f5router.model.ownership import Describe
from f5router.model.virtual_server import OWN_PROFILES, FrontEndServer, VirtualServer
from f5router.plan.adoption import CHANGED, KEPT, REPLACED, TAKEN_OVER, Leftover

KEEPING = {
    "sourceAddressTranslation": "--f5-vserver-snat",
    "connectionLimit": "--max-connections",
    "mirror": "--f5-vserver-mirroring",
    **dict.fromkeys(("vlans", "vlansEnabled", "vlansDisabled"), "--f5-vserver-vlans"),
}
"""Settings by which a property stays as it is."""

VLAN = "net/vlan"
_LISTED = {"vlans": VLAN, "persist": "ltm/persistence"}
"""Kinds of what else may be on a virtual server, by the list's name."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A virtual server of an administrator where the settings ask for one of the router's."""

    raw: JSON
    """As read, with its profiles and policies."""
    wanted: VirtualServer
    facts: VirtualFacts
    place: FrontEndServer
    first: VirtualFacts
    """Facts about the virtual server of the first address, perhaps itself."""
    lost: Mapping[str, str]
    """Properties that each replaced profile of an administrator sets, in words, by its full path."""

    def refusal(self, version: tuple[int, ...]) -> str:
        """Return why it cannot be taken over without harm; "" if it can."""
        raw, wanted, path = self.raw, self.wanted, self.wanted.path
        if version < tmos.REFERENCES_SINCE:
            return (f"virtual server {path} stays as it is: before TMOS 12.0 a BIG-IP does not tell the "
                    "types of its profiles, and the router's cannot take their places")
        if virtual_codec.place(raw) != (wanted.address, wanted.port):
            return (f"virtual server {path} answers at {raw.get('destination')}, not at {wanted.address} "
                    f"port {wanted.port}, and its clients would lose it; give its address in "
                    "--f5-vserver-address, and the ports in --service-http-port and --service-https-port")
        if not virtual_codec.takes_all(raw):
            return (f"virtual server {path} is for clients of {raw.get('source')} alone, mask "
                    f"{raw.get('mask')}: the router's are for all; change that first if all may connect")
        others = {kind for kind, *_ in adoption_codec.leaving(raw, wanted)} - {"tcp", "http"}
        if others:
            return (f"virtual server {path}, profiles: it has one of type {', '.join(sorted(others))}, and "
                    "so serves no HTTP; give it /Common/tcp and /Common/http first")
        return self._default_problem() if self.place.secure else ""

    def _default_problem(self) -> str:
        """Return what is wrong with its client SSL profiles."""
        path, mine, others = self.wanted.path, self.facts.default_client_ssl, self.first.default_client_ssl
        if not mine:
            there = ", ".join(self.facts.client_ssl) or "there is none"
            return (f"virtual server {path}, profiles: exactly one client SSL profile must have sni-default "
                    f"true, {len(self.facts.sni_defaults)} have ({there})")
        if others and mine != others:
            return (f"virtual server {path} has the default client SSL profile {mine}, that of the first "
                    f"address has {others}: the router has one for both; give both the same first")
        return ""

    def rows(self, folder: str) -> Iterator[Leftover]:
        """Yield what happens to it and to everything on it."""
        raw, path = self.raw, self.wanted.path
        yield Leftover(Ref(VirtualServer.KIND, path), TAKEN_OVER,
                       f"it answers at {self.wanted.address} port {self.wanted.port} all the time")
        for name, before, after in adoption_codec.differences(raw, self.wanted):
            text = f"{name}: {before} becomes {after}"
            text += f"; {flag} decides" if (flag := KEEPING.get(name)) else ""
            yield Leftover(Ref(VirtualServer.KIND, path), CHANGED, text)
        leaving = adoption_codec.leaving(raw, self.wanted)
        default = self.facts.default_client_ssl
        for kind, profile, context in adoption_codec.attached(raw):
            ref = Ref(f"ltm/profile/{kind}", profile)
            if (kind, profile, context) in leaving:
                by = sorted(each for each, _ in self.wanted.profiles
                            if self._is_http(each) == (kind == "http"))
                lost = f"; it sets {self.lost[profile]}" if self.lost.get(profile) else ""
                yield Leftover(ref, REPLACED, f"on {path} by {' and '.join(by)}{lost}")
            elif profile == default:
                first = min((each for each, _ in self.wanted.profiles
                             if virtual_codec.is_own_profile(folder, each)), default=f"{folder}/-")
                own = beside(first, tls_names.DEFAULT_CLIENTSSL)
                yield Leftover(ref, REPLACED, f"on {path} by {own}, which has everything from it")
            elif not ownership.owns_path(folder, ref.kind, profile):
                yield Leftover(ref, KEPT, f"it stays on {path}")
        vlans = self.wanted.reach.vlans
        for ref in _others(raw):
            stays = ref.kind != VLAN or vlans is None or ref.path in vlans
            if stays and not ownership.owns_path(folder, ref.kind, ref.path):
                yield Leftover(ref, KEPT, f"it stays on {path}")

    def _is_http(self, path: str) -> bool:
        return path == self.place.placement.transport.http or base_name(path) == OWN_PROFILES[2]


def _others(raw: JSON) -> Iterator[Ref]:
    """Yield what is on a virtual server besides profiles."""
    yield from (Ref(IRule.KIND, target) for target, _ in listed(raw, "rules"))
    yield from (Ref(Policy.KIND, target) for target, _ in listed(raw, "policies"))
    if pool := raw.get("pool"):
        yield Ref(Pool.KIND, str(pool))
    for name, kind in _LISTED.items():
        for item in raw.get(name) or ():
            yield Ref(kind, path_of(item) if isinstance(item, dict) else str(item))


def read(client: Client, wanted: Iterable[VirtualServer], places: Mapping[str, FrontEndServer],
         facts: Mapping[str, VirtualFacts]) -> list[Prepared]:
    """Read virtual servers that somebody else has made. Args: places, facts: by path. Raises: BigIPError."""
    def of(path: str) -> VirtualFacts:
        return facts.get(path, VirtualFacts(path))

    there = [(server, places[server.path], raw) for server in wanted
             if (raw := virtual(client, server.path)) is not None and virtual_codec.state(raw) is None]
    replaced = {(kind, path) for server, _, raw in there
                for kind, path, _ in adoption_codec.leaving(raw, server)}
    lost = {path: _settings_of(client, kind, path) for kind, path in sorted(replaced)}
    return [Prepared(raw, server, of(server.path), place, of(place.first), lost)
            for server, place, raw in there]


MOST_SETTINGS = 8
"""Properties of a profile that are shown."""


def _settings_of(client: Client, kind: str, path: str) -> str:
    """Return in words the properties that a profile sets and the BIG-IP's own of its type does not.

    Two requests at most. Raises: BigIPError.
    """
    if (own := f"/Common/{kind}") == path:
        return ""
    profile, parent = (adoption_codec.properties(get_if_there(
        client, item_path(f"ltm/profile/{kind}", each)) or {}) for each in (path, own))
    texts = [f"{name} {value}" for name, value in sorted(profile.items()) if value != parent.get(name)]
    more = [f"{len(texts) - MOST_SETTINGS} more"] if len(texts) > MOST_SETTINGS else []
    return ", ".join(texts[:MOST_SETTINGS] + more)


def again(client: Client, prepared: Iterable[Prepared]) -> list[Prepared]:
    """Return them as they are now, without those that are the router's by now. Raises: BigIPError."""
    return [replace(each, raw=raw) for each in prepared
            if (raw := virtual(client, each.wanted.path)) is not None and virtual_codec.state(raw) is None]


def take(client: Client, prepared: Prepared, describe: Describe) -> None:
    """Make a virtual server the router's, with a description alone if the device knows no metadata.

    Raises: BigIPError
    """
    path = item_path(VirtualServer.KIND, prepared.wanted.path)
    text = describe(prepared.wanted)

    def send(*, metadata: bool) -> None:
        client.patch(path, adoption_codec.taking(
            prepared.raw, prepared.wanted, text, metadata=metadata,
            references=prepared.place.placement.references))

    try:
        send(metadata=True)
    except Refused as exc:
        if "metadata" not in exc.text:
            raise
        send(metadata=False)


def restored(client: Client, path: str) -> list[str]:
    """Read which profiles an adopted virtual server gets back. Raises: BigIPError."""
    raw = virtual(client, path)
    return adoption_codec.restored(raw) if raw else []
