"""Reading of the virtual servers that the router has created, and the facts about them.

They are found by their mark, whatever their name: one whose address is not wanted any more is removed. The
facts about one that is not there yet are those that it will have, so everything on it is planned at once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from f5router.icontrol import pages, virtual_addresses
from f5router.icontrol.codec import ltm_codec, reference_codec, virtual_codec
from f5router.icontrol.rest.client import Client
from f5router.model import names, tls_names
from f5router.model.client_tls import TLSProperties
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.front_end_names import base_name, carries_tcp, front_end_of, is_of_gateway, named
from f5router.model.json_types import JSON
from f5router.model.ltm import Attachment, ClientSSL, Object
from f5router.model.objects import Ref
from f5router.model.placement import UNPLACED, FloatingAddress, Placement, References
from f5router.model.virtual_server import DefaultPool, FrontEndServer, Listening, VirtualServer

Place = tuple[str, int]
"""Address and port."""
MARKED = {"$select": "fullPath,destination,description,metadata"}
"""Properties that tell whose a virtual server is, and its place."""


@dataclass(frozen=True, slots=True)
class OwnServers:
    """Settings of the router's own virtual servers."""

    listeners: tuple[FrontEndServer, ...] = ()
    is_read: bool = False
    """True to look for them also without listeners: an earlier router may have left some."""
    repairs_disabled: bool = False
    """True to enable those that an administrator has disabled."""

    are_left: bool = False
    """True if an earlier router has left those of a front end that is not there any more."""

    @property
    def are_read(self) -> bool:
        """True if the BIG-IP is searched for them."""
        return self.is_read or self.are_left or bool(self.listeners)

    def besides(self, virtuals: Collection[str | None]) -> list[str]:
        """Return the full paths of all others than these: of further addresses and further front ends."""
        return [listener.virtual for listener in self.listeners if listener.virtual not in virtuals]

    def of_others(self, servers: Mapping[str, JSON | None],
                  objects: Iterable[Object]) -> dict[str, Any]:
        """Return the facts about virtual servers of somebody else, by the names of DeviceFacts.

        Args: servers: as read, by path; objects: with what is attached to them.
        """
        foreign = frozenset(listener.virtual for listener in self.listeners
                            if (raw := servers.get(listener.virtual)) is not None
                            and virtual_codec.state(raw) is None)
        used = {obj.virtual for obj in objects if isinstance(obj, Attachment)}
        return {"foreign": foreign, "prepared": foreign & used}

    def expected(self, path: str) -> JSON | None:
        """Return what decides source address translation, as it will be read; None if it is not wanted."""
        return next(({"sourceAddressTranslation": virtual_codec.translation(each.translation)}
                     for each in self.listeners if each.virtual == path), None)

    def facts(self, facts: VirtualFacts, raw: JSON | None, root: TLSProperties,
              profiles: Mapping[str, JSON]) -> VirtualFacts:
        """Return the facts about a virtual server, which may be one of the router's.

        Args:
            facts: as read.
            root: properties of the device's own client SSL profile.
            profiles: client SSL profiles by full path.
        """
        listener = next((each for each in self.listeners if each.virtual == facts.path), None)
        if listener is None if raw is None else virtual_codec.state(raw) is None:
            return facts
        adopted = raw is not None and virtual_codec.is_adopted(raw)
        is_usual = root.is_factory and not adopted and not _has_suites_of(
            root, facts.path, listener.front_end if listener else "", profiles)
        if listener is None:  # as an earlier run with other settings has left it
            return replace(facts, is_own=True, usual_suites=is_usual)
        facts = _as_set(facts, listener)
        if raw is None:
            facts = replace(facts, address=listener.address)
        elif virtual_codec.state(raw) is False:  # nobody has disabled it: the router has not enabled it yet
            facts = replace(facts, enabled=True)
        if not listener.secure or (adopted and facts.default_client_ssl):
            return facts  # the profile whose certificate clients know stays the parent of the router's own
        return replace(facts, replaced_client_ssl=ClientSSL.PARENT, default_properties=root,
                       usual_suites=is_usual)

    def completed(self, facts: DeviceFacts, virtuals: Collection[str | None]) -> DeviceFacts:
        """Return facts with those about all virtual servers of the router, also of settings that came later.

        One that was not read is described as it will be: a reading that does not find it says the same.
        Those that are not wanted any more are left out.

        Args: virtuals: full paths of the HTTP and the HTTPS virtual server of the settings.
        """
        known = {each.path: each for each in facts.further}
        return replace(
            facts, http=facts.http and self._as_wanted(facts.http),
            https=facts.https and self._as_wanted(facts.https),
            further=tuple(
                self._as_wanted(known[path]) if path in known else
                self.facts(VirtualFacts(path, exists=False, http=False), None, facts.client_ssl, {})
                for path in self.besides(virtuals)),
            own_addresses=facts.own_addresses.union(each.address for each in self.listeners))

    def _as_wanted(self, known: VirtualFacts) -> VirtualFacts:
        listener = next((each for each in self.listeners if each.virtual == known.path), None)
        return _as_set(known, listener) if known.is_own and listener else known

    def front_end(self, path: str) -> str:
        """Return the name of the front end of a virtual server; "" if it has none."""
        return next((each.front_end for each in self.listeners if each.virtual == path), "")

    def placement(self, path: str) -> Placement:
        """Return what is set of a virtual server."""
        return next((each.placement for each in self.listeners if each.virtual == path), UNPLACED)

    def left(self, client: Client, folder: str, known: Collection[str]) -> list[str]:
        """Return the full paths of others with a mark, which are not wanted any more.

        Args: known: those that are read anyway. Raises: BigIPError.
        """
        if not self.are_read:
            return []
        listed = pages.items(client, VirtualServer.KIND, {**pages.filtered(folder), **MARKED})
        return [path for raw in listed if (path := ltm_codec.path_of(raw)).rpartition("/")[0] == folder
                and path not in known and virtual_codec.state(raw) is not None]

    def addresses(self, client: Client, servers: Iterable[JSON]) -> Iterator[FloatingAddress]:
        """Read the traffic groups of the addresses for which one is set, each once.

        Args: servers: as read. Raises: BigIPError.
        """
        groups: dict[str, str] = {}
        for raw in servers:
            virtual, address = ltm_codec.path_of(raw), virtual_codec.address_path(raw)
            if virtual_codec.state(raw) is None or not self.placement(virtual).traffic_group:
                continue
            if address not in groups:
                there = virtual_addresses.of_server(client, raw)
                groups[address] = str(there.get("trafficGroup", "")) if there else ""
            if groups[address]:
                yield FloatingAddress(virtual, virtual_codec.destination_address(raw), groups[address])

    def successor(self, path: str, raw: JSON) -> str:
        """Return which other virtual server of its front end is to have the place of one; "" for none.

        Until it has, clients are served by the one that is there. A Gateway's has none, and nor has one of
        another front end: its clients are no concern of these Routes.
        """
        if self.is_read or is_of_gateway(front_end_of(path)):
            return ""
        own = self.front_end_as_read(path, raw)
        return next((each.virtual for each in self.listeners if (
            each.address, each.port) == virtual_codec.place(raw) and each.virtual != path
            and each.front_end == own), "")

    def moves(self, raw: JSON, wanted: Place, holder: JSON | None,
              holder_of: Callable[[Place], JSON | None]) -> list[tuple[JSON, Place]]:
        """Return which virtual servers go to their places with one, each as the one before needs its place.

        Args: wanted: place of the first; holder: the virtual server that has it; holder_of: reads another.
        Returns: [] if one of them has no place of its own, and is deleted.
        """
        moves = [(raw, wanted)]
        while holder is not None:
            path = ltm_codec.path_of(holder)
            place = next(((each.address, each.port) for each in self.listeners if each.virtual == path), None)
            if place is None or len(moves) > len(self.listeners):
                return []
            moves.append((holder, place))
            holder = None if place == virtual_codec.place(raw) else holder_of(place)
        return moves

    def front_end_as_read(self, path: str, raw: JSON) -> str | None:
        """Return the front end of a virtual server, by what is on one without; None if that shows none."""
        for each in self.listeners:
            if each.virtual == path:
                return each.front_end
        folder = path.rpartition("/")[0]
        return next((front_end_of(rule) for rule in map(str, raw.get("rules") or ())
                     if rule == f"{folder}/{named(names.REQUEST_IRULE, front_end_of(rule))}"), None)

    def objects(self, servers: Iterable[JSON], attached: Iterable[Attachment]) -> Iterator[Object]:
        """Yield the virtual servers with a mark, and that they answer clients.

        Args: servers: as read; attached: what is attached to them.
        """
        needed: dict[str, set[Ref]] = {}
        acting: dict[str, set[Ref]] = {}
        """Attachments of iRules that act on the connections to a pool."""
        for attachment in attached:
            if base_name(attachment.target) == names.SHARE_IRULE:
                acting.setdefault(attachment.virtual, set()).add(attachment.ref)
            is_default = base_name(attachment.target) == tls_names.DEFAULT_CLIENTSSL
            if attachment.target_kind != ClientSSL.KIND or is_default:  # those of Hosts come and go
                needed.setdefault(attachment.virtual, set()).add(attachment.ref)
        for raw in servers if self.are_read else ():
            if (is_listening := virtual_codec.state(raw)) is None:
                continue
            placement = self.placement(ltm_codec.path_of(raw))
            server = virtual_codec.decode(raw, placement.reach, placement.transport.paths())
            yield server
            if carries_tcp(server.path) and (pool := str(raw.get("pool") or "")):
                yield DefaultPool(server.path, pool, frozenset(acting.get(server.path, ())))
            if references := reference_codec.decode(raw, placement.references):
                yield References(server.path, references)
            if is_listening and not (self.repairs_disabled and raw.get("disabled") is True):
                yield Listening(server.path, frozenset(needed.get(server.path, ())))


def _has_suites_of(root: TLSProperties, virtual: str, front_end: str, profiles: Mapping[str, JSON]) -> bool:
    """True if the router's default profile of a front end is there and has the cipher suites of the BIG-IP.

    An earlier release made it: no client may lose its suites by an upgrade.
    """
    folder = virtual.rpartition("/")[0]
    raw = profiles.get(f"{folder}/{named(tls_names.DEFAULT_CLIENTSSL, front_end)}")
    return raw is not None and ltm_codec.decode_tls_properties(raw).suites == root.suites


def _as_set(facts: VirtualFacts, listener: FrontEndServer) -> VirtualFacts:
    """Return facts about a virtual server of the router with what its settings ask for."""
    source = virtual_codec.translation(listener.translation)
    return replace(facts, exists=True, is_own=True, http=listener.has_http, port=listener.port,
                   snat=source["type"], snat_pool=source.get("pool", ""))


NONE = OwnServers()

