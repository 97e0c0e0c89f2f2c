"""Writer of the router's own virtual servers.

A virtual server is created disabled. One without the router's mark is never written to, nor deleted, whatever
its name: each is read just before it is changed.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from f5router.icontrol import pages, taken_places, virtual_addresses
from f5router.icontrol.codec import adoption_codec, ltm_codec, reference_codec, virtual_codec
from f5router.icontrol.named_objects import NamedObjects
from f5router.icontrol.observation import Observation
from f5router.icontrol.own_servers import MARKED, OwnServers, Place
from f5router.icontrol.rest.client import Client, delete_if_there, get_if_there
from f5router.icontrol.rest.readiness import blames_object
from f5router.icontrol.rest.transaction import patch_together
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.writer import Results
from f5router.model.errors import BigIPError, Conflict, NotFound, Refused
from f5router.model.front_end_names import front_end_of, is_of_gateway
from f5router.model.json_types import JSON
from f5router.model.objects import Ref
from f5router.model.ownership import Describe
from f5router.model.placement import ADDRESS, FloatingAddress, Reference, References
from f5router.model.virtual_server import DefaultPool, HTTPProfile, Listening, TCPProfile, VirtualServer
from f5router.plan.change import CREATE, DELETE, Change, Plan, of_kind

log = logging.getLogger(__name__)

Written = VirtualServer | References | FloatingAddress | DefaultPool | Listening
_EXPAND = {"expandSubcollections": "true"}


class VirtualServerWriter:
    """Writes virtual servers one after another, as one may take the address that another leaves."""

    kinds = (VirtualServer.KIND, References.KIND, FloatingAddress.KIND, DefaultPool.KIND,
             Listening.KIND)

    def __init__(self, client: Client, folder: str, describe: Describe, own_servers: OwnServers):
        self._client, self._folder, self._describe, self.own_servers = client, folder, describe, own_servers
        self._foreign: frozenset[str] = frozenset()
        self._has_metadata = True

    def update_from(self, observation: Observation) -> None:
        """Remember where somebody else's virtual servers are."""
        self._foreign = observation.facts.foreign

    def group(self, obj: Written) -> str:
        """Return one group for all virtual servers, and one for the traffic groups of their addresses."""
        if isinstance(obj, VirtualServer):
            return "virtual servers"
        return "virtual addresses" if isinstance(obj, FloatingAddress) else ""

    def write(self, changes: Sequence[Change[Written]]) -> Results:
        """Write Changes one by one; a refusal of one does not keep the others."""
        results: Results = []
        for change in changes:
            try:
                self._write(change)
                results.append((change, None))
            except BigIPError as exc:
                results.append((change, exc))
                if not blames_object(exc):
                    break
        return results

    def foresee(self, plan: Plan) -> dict[Ref, BigIPError]:
        """Return the virtual servers of a Plan that `write` or the BIG-IP would refuse.

        A few requests, if there are any; only commands that look ask for it.
        """
        refusals: dict[Ref, BigIPError] = {}
        wanted = [change for change in of_kind(plan, VirtualServer) if change.new is not None]
        taken = taken_places.read(self._client) if wanted else taken_places.NONE
        named, placement = NamedObjects(self._client), self.own_servers.placement
        missing = {
            **{change.ref: named.of_server(change.obj, placement(change.obj.path).transport)
               for change in wanted},
            **{change.ref: named.of_references(change.obj, placement(change.obj.virtual))
               for change in of_kind(plan, References) if change.new is not None},
            **{change.ref: named.of_address(change.obj) for change in of_kind(plan, FloatingAddress)}}
        refusals.update((ref, Refused("POST", str(ref), text)) for ref, text in missing.items() if text)
        for change in wanted:
            server = change.obj
            if change.verb == CREATE and server.path in self._foreign:
                refusals[change.ref] = foreign(server.path)
            elif text := taken.refusal(server, is_new=change.verb == CREATE):
                refusals[change.ref] = Refused("POST", f"ltm/virtual {server.path}", text)
        return refusals

    def _write(self, change: Change[Written]) -> None:
        """Write one Change. Raises: BigIPError."""
        obj, verb = change.obj, change.verb
        if isinstance(obj, Listening):
            self._turn(obj.virtual, listening=verb != DELETE)
        elif isinstance(obj, FloatingAddress):
            self._float(obj)
        elif isinstance(obj, DefaultPool):
            self._lead(obj.virtual, obj.pool if verb != DELETE else "none")
        elif isinstance(obj, References):
            self._refer(obj.virtual, obj.entries if verb != DELETE else ())
        elif verb == CREATE:
            self._create(obj)
        elif verb == DELETE:
            self._delete(obj.path)
        else:
            self._change(obj)

    def _create(self, server: VirtualServer) -> None:
        if server.path in self._foreign:
            raise foreign(server.path)
        body = virtual_codec.creation(server)

        def post(marks: JSON) -> None:
            self._in_place(server, lambda: self._client.post(server.KIND, {**body, **marks}))

        try:
            self._with_marks({}, server, listening=False, send=post)
        except Conflict:
            log.info("virtual server already exists", extra={"virtual": server.path})
            self._change(server)

    def _change(self, server: VirtualServer) -> None:
        """Change what differs; attachments stay, and so does whether it is enabled."""
        path = item_path(server.KIND, server.path)
        raw = self._moved(self._read(server.path), server)
        listening = _is_listening(raw, server.path)
        named = {path for path, _ in server.profiles}
        present, body = virtual_codec.decode(raw, server.reach, named), virtual_codec.correction(raw, server)
        if present == server:
            return
        if present.profiles != server.profiles:
            body["profiles"] = virtual_codec.with_profiles(raw, server, self._excluded(raw))
        self._with_marks(raw, server, listening=listening, send=lambda marks: self._in_place(
            server, lambda: self._client.patch(path, {**body, **marks})))
        if present.address != server.address:
            self._drop_address(virtual_codec.address_path(raw))

    def _in_place(self, server: VirtualServer, send: Callable[[], object]) -> None:
        """Send a request that brings a virtual server to its place.

        An unwanted one of a Gateway or another front end is deleted before: its clients are not those of the
        new one, and what serves it may have to wait for the new one. Raises: BigIPError.
        """
        try:
            send()
        except Refused as exc:
            if isinstance(exc, Conflict) or not self._make_room(server):
                raise
            send()

    def _make_room(self, server: VirtualServer) -> bool:
        """Delete an unwanted virtual server of others in the place of this one, if there is one."""
        servers, wanted = self.own_servers, {each.virtual for each in self.own_servers.listeners}
        for raw in pages.items(self._client, server.KIND, pages.filtered(self._folder)):
            path = ltm_codec.path_of(raw)
            front_end = servers.front_end_as_read(path, raw)
            is_of_others = _is_gateways(path) or front_end != servers.front_end(server.path)
            if path not in wanted and is_of_others and virtual_codec.state(raw) is not None and (
                    not virtual_codec.is_adopted(raw) and virtual_codec.place(
                        virtual_addresses.with_address(self._client, raw)) == (server.address, server.port)):
                log.info("virtual server makes room", extra={"virtual": path, "for": server.path})
                delete_if_there(self._client, item_path(server.KIND, path))
                return True
        return False

    def _excluded(self, raw: JSON) -> list[str]:
        """Look up which profiles without a type in their reference are for TCP or HTTP: TMOS 11 has none."""
        kinds = TCPProfile.KIND, HTTPProfile.KIND
        return [path for path in virtual_codec.untyped(raw) if any(
            get_if_there(self._client, item_path(kind, path)) is not None for kind in kinds)]

    def _drop_address(self, path: str) -> None:
        """Delete a virtual address that nothing is on any more, as the BIG-IP mostly does itself.

        One that a virtual server has left may stay behind, and go on answering ARP (f5devcentral/f5-cccl#45).
        An administrator's own has autoDelete off.
        """
        address = get_if_there(self._client, item_path(ADDRESS, path))
        if address is None or str(address.get("autoDelete")) != "true":
            return
        try:
            delete_if_there(self._client, item_path(ADDRESS, path))
        except Refused as exc:
            log.debug("virtual address stays", extra={"path": path, "error": exc.text})

    def _read(self, path: str) -> JSON:
        return virtual_addresses.with_address(
            self._client, self._client.get(item_path(VirtualServer.KIND, path), _EXPAND))

    def _moved(self, raw: JSON, server: VirtualServer) -> JSON:
        """Let a virtual server exchange its place with others of the router, as long as that is of use.

        It leaves a place that another one is to have to that one, and takes its own from whatever has it. So
        clients of both are served all the time. Each exchange brings one of them to its place. Those of
        Gateways exchange nothing: clients of one would come to the pods of another. Nor does one get a place
        that is not its own, if another front end is concerned.

        Returns: the virtual server as it is then.
        """
        wanted, own = (server.address, server.port), self.own_servers.front_end(server.path)
        for _ in self.own_servers.listeners:
            if _is_gateways(server.path) or virtual_codec.place(raw) == wanted:
                break
            other = self._successor(server.path, raw) or self._holder(wanted)
            if other is None:
                break
            moves = [(raw, virtual_codec.place(other)), (other, virtual_codec.place(raw))]
            if self.own_servers.front_end_as_read(ltm_codec.path_of(other), other) != own:
                moves = self.own_servers.moves(raw, wanted, other, self._holder)
            if not moves:
                break
            self._move(moves)
            raw = self._read(server.path)
        return raw

    def _successor(self, path: str, raw: JSON) -> JSON | None:
        """Read which other virtual server is to have the place of one. Raises: Refused: it is not there."""
        if not (successor := self.own_servers.successor(path, raw)):
            return None
        other = virtual_addresses.read_server(self._client, successor)
        if other is None or virtual_codec.state(other) is None:
            raise _staying(path, successor)
        return other

    def _holder(self, wanted: Place) -> JSON | None:
        """Read which virtual server of the router has a place; None if there is none."""
        for raw in pages.items(self._client, VirtualServer.KIND, pages.filtered(self._folder)):
            is_own = virtual_codec.state(raw) is not None and not _is_gateways(ltm_codec.path_of(raw))
            there = virtual_addresses.with_address(self._client, raw) if is_own else raw
            if is_own and virtual_codec.place(there) == wanted:
                return there
        return None

    def _move(self, moves: Iterable[tuple[JSON, Place]]) -> None:
        """Bring virtual servers, as read, to places in one transaction."""
        bodies = {}
        for raw, (address, port) in moves:
            server = replace(virtual_codec.decode(raw), address=address, port=port)
            marks = virtual_codec.marks(raw, self._describe(server), metadata=bool(raw.get("metadata")),
                                        listening=_is_listening(raw, server.path))
            bodies[item_path(server.KIND, server.path)] = {**virtual_codec.changes(server), **marks}
        log.info("virtual servers change their places together", extra={"paths": list(bodies)})
        patch_together(self._client, bodies)

    def _delete(self, path: str) -> None:
        """Delete a virtual server that the router made; give back one that an administrator made."""
        if (raw := virtual_addresses.read_server(self._client, path)) is None:
            return
        _is_listening(raw, path)
        self._require_no_successor(path, raw)
        if virtual_codec.is_adopted(raw):
            return self.give_back(path)
        delete_if_there(self._client, item_path(VirtualServer.KIND, path))

    def _require_no_successor(self, path: str, raw: JSON) -> None:
        """Raises: Refused: it serves a place that another one is to have."""
        if successor := self.own_servers.successor(path, raw):
            raise _staying(path, successor)

    def give_back(self, path: str) -> None:
        """Make an adopted virtual server its administrator's again, in one write. Raises: BigIPError."""
        raw, item = self._read(path), item_path(VirtualServer.KIND, path)
        if reference_codec.marked(raw):
            self._refer(path, ())
            raw = self._read(path)
        if not virtual_codec.is_adopted(raw):
            return
        try:
            self._client.patch(item, adoption_codec.giving_back(raw))
        except Refused as exc:
            log.warning("former profiles of a virtual server are gone, it gets the BIG-IP's own",
                        extra={"virtual": path, "error": exc.text})
            self._client.patch(item, adoption_codec.giving_back(raw, is_former=False))

    def _turn(self, virtual: str, *, listening: bool) -> None:
        """Enable or disable a virtual server, and record that in its marks, in one request.

        Connections that are open go on when it is disabled. Source: clouddocs.f5.com, F5 certification labs,
        class 4, module 5. One that an administrator made is given back as it is, and not disabled.
        """
        path = item_path(VirtualServer.KIND, virtual)
        raw = self._client.get(path) if listening else get_if_there(self._client, path)
        if raw is None:
            return
        raw = virtual_addresses.with_address(self._client, raw)
        _is_listening(raw, virtual)
        if not listening:
            self._require_no_successor(virtual, raw)
            if virtual_codec.is_adopted(raw):
                return
        body = {"enabled": True} if listening else {"disabled": True}
        self._with_marks(raw, virtual_codec.decode(raw), listening=listening,
                         send=lambda marks: self._client.patch(path, {**body, **marks}))

    def _lead(self, virtual: str, pool: str) -> None:
        """Give a virtual server its pool, or none. New connections go there, open ones go on."""
        path = item_path(VirtualServer.KIND, virtual)
        raw = get_if_there(self._client, path)
        if raw is None and pool == "none":
            return
        _is_listening(raw if raw is not None else self._read(virtual), virtual)
        self._client.patch(path, {"pool": pool})

    def _refer(self, virtual: str, references: tuple[Reference, ...]) -> None:
        """Put references on a virtual server, and remove those of earlier settings, in one request."""
        path = item_path(VirtualServer.KIND, virtual)
        raw = self._read(virtual) if references else virtual_addresses.read_server(self._client, virtual)
        if raw is None:
            return
        listening = _is_listening(raw, virtual)
        body = reference_codec.changes(raw, references, adoption_codec.earlier(raw))
        self._with_marks(reference_codec.with_mark(raw, references), virtual_codec.decode(raw),
                         listening=listening, send=lambda marks: self._client.patch(path, {**body, **marks}))

    def _float(self, wanted: FloatingAddress) -> None:
        """Set the traffic group of the address of a virtual server, once for all on it.

        Raises: Refused: a virtual server of somebody else is on it, too; or that of the router is not on it.
        """
        raw = self._read(wanted.virtual)
        _is_listening(raw, wanted.virtual)
        if virtual_codec.destination_address(raw) != wanted.address:
            raise Refused("PATCH", f"{ADDRESS} {wanted.address}", (
                f"virtual server {wanted.virtual} is on {virtual_codec.address_path(raw)}"))
        if (there := virtual_addresses.of_server(self._client, raw)) is None:
            raise NotFound(
                "GET", ADDRESS, f"the virtual address of {wanted.virtual} is not found", status=404)
        if there.get("trafficGroup") == wanted.traffic_group:
            return
        address = ltm_codec.path_of(there)
        if other := self._other_on(there):
            raise Refused("PATCH", f"{ADDRESS} {address}", (
                f"virtual server {other} of somebody else is on virtual address {address}, too: if it may "
                f"move, run `tmsh modify ltm virtual-address {address} traffic-group "
                f"{wanted.traffic_group}`"))
        self._client.patch(item_path(ADDRESS, address), {
            "trafficGroup": wanted.traffic_group, "inheritedTrafficGroup": "false"})

    def _other_on(self, address: JSON) -> str:
        """Return a virtual server on an address that is not one of this router's; "" if there is none."""
        path = ltm_codec.path_of(address)
        written = {path, f"{path.rpartition('/')[0]}/{address.get('address')}"}
        return next((path for raw in pages.items(self._client, VirtualServer.KIND, MARKED)
                     if virtual_codec.address_path(raw) in written
                     and ((path := ltm_codec.path_of(raw)).rpartition("/")[0] != self._folder
                          or virtual_codec.state(raw) is None)), "")

    def _with_marks(self, raw: JSON, server: VirtualServer, *, listening: bool,
                    send: Callable[[JSON], object]) -> None:
        """Send a body with both marks; with the description alone if the device knows no metadata."""
        def marks(metadata: bool) -> JSON:
            return virtual_codec.marks(raw, self._describe(server), listening=listening, metadata=metadata)

        sent = self._has_metadata  # another thread may find out meanwhile
        try:
            send(marks(sent))
        except Refused as exc:
            if not sent or "metadata" not in exc.text:
                raise
            log.info("virtual servers have no metadata on this BIG-IP", extra={"error": exc.text})
            self._has_metadata = False
            send(marks(False))


def _is_gateways(path: str) -> bool:
    """True for a virtual server of a Gateway."""
    return is_of_gateway(front_end_of(path))


def _is_listening(raw: JSON, path: str) -> bool:
    """True if the router has enabled a virtual server. Raises: Refused: it is not one of the router's."""
    state = virtual_codec.state(raw)
    if state is None:
        raise foreign(path)
    return state


def _staying(path: str, successor: str) -> Refused:
    """Return the refusal to take clients from a virtual server before another one can answer them."""
    return Refused("PATCH", f"ltm/virtual {path}",
                   f"virtual server {path} stays where it is: it serves clients until {successor} does; name "
                   "new addresses of --f5-vserver-address behind those that are served already")


def foreign(path: str) -> Refused:
    """Return the refusal to touch a virtual server of somebody else."""
    return Refused("POST", f"ltm/virtual {path}",
                   f"virtual server {path} exists, and this router did not create it; take it over with "
                   "`f5router adopt --virtual-servers`, delete or rename it, name another with "
                   "--f5-http-vserver and --f5-https-vserver, or leave out --f5-vserver-address to use it as "
                   "it is")
