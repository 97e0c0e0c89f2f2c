"""Writer of the router's own virtual servers.

A virtual server is created disabled. One without the router's mark is never written to, nor deleted, whatever
its name: each is read just before it is changed.
"""

import logging
from collections.abc import Callable, Sequence

from f5router.icontrol import taken_places
from f5router.icontrol.codec import virtual_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client, delete_if_there, get_if_there
from f5router.icontrol.rest.readiness import blames_object
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.writer import Results
from f5router.model.errors import BigIPError, Conflict, Refused
from f5router.model.json_types import JSON
from f5router.model.objects import Ref
from f5router.model.ownership import Describe
from f5router.model.virtual_server import Listening, VirtualServer
from f5router.plan.change import CREATE, DELETE, Change, Plan, of_kind

log = logging.getLogger(__name__)

Written = VirtualServer | Listening


class VirtualServerWriter:
    """Writes virtual servers one after another, as one may take the address that another leaves."""

    kinds = (VirtualServer.KIND, Listening.KIND)

    def __init__(self, client: Client, describe: Describe):
        self._client, self._describe = client, describe
        self._foreign: frozenset[str] = frozenset()
        self._has_metadata = True

    def update_from(self, observation: Observation) -> None:
        """Remember where somebody else's virtual servers are."""
        self._foreign = observation.facts.foreign

    def group(self, obj: Written) -> str:
        """Return one group for all virtual servers."""
        return "virtual servers" if isinstance(obj, VirtualServer) else ""

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

        Two requests, if there are any; only commands that look ask for it. Raises: BigIPError.
        """
        refusals: dict[Ref, BigIPError] = {}
        wanted = [change for change in of_kind(plan, VirtualServer) if change.new is not None]
        taken = taken_places.read(self._client) if wanted else taken_places.NONE
        for change in wanted:
            server = change.obj
            if change.verb == CREATE and server.path in self._foreign:
                refusals[change.ref] = foreign(server.path)
            elif text := taken.refusal(server):
                refusals[change.ref] = Refused("POST", f"ltm/virtual {server.path}", text)
        return refusals

    def _write(self, change: Change[Written]) -> None:
        """Write one Change. Raises: BigIPError."""
        obj, verb = change.obj, change.verb
        if isinstance(obj, Listening):
            self._turn(obj.virtual, listening=verb != DELETE)
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
        try:
            self._with_marks({}, server, listening=False,
                             send=lambda marks: self._client.post(server.KIND, {**body, **marks}))
        except Conflict:
            log.info("virtual server already exists", extra={"virtual": server.path})
            self._change(server)

    def _change(self, server: VirtualServer) -> None:
        """Change what differs; attachments stay, and so does whether it is enabled."""
        path = item_path(server.KIND, server.path)
        raw = self._client.get(path, {"expandSubcollections": "true"})
        listening = _is_listening(raw, server.path)
        present, body = virtual_codec.decode(raw), virtual_codec.changes(server)
        if present.profiles != server.profiles:
            body["profiles"] = virtual_codec.with_profiles(raw, server)
        self._with_marks(raw, server, listening=listening,
                         send=lambda marks: self._client.patch(path, {**body, **marks}))

    def _delete(self, path: str) -> None:
        if (raw := get_if_there(self._client, item_path(VirtualServer.KIND, path))) is None:
            return
        _is_listening(raw, path)
        delete_if_there(self._client, item_path(VirtualServer.KIND, path))

    def _turn(self, virtual: str, *, listening: bool) -> None:
        """Enable or disable a virtual server, and record that in its marks, in one request.

        Connections that are open go on when it is disabled. Source: clouddocs.f5.com, F5 certification labs,
        class 4, module 5.
        """
        path = item_path(VirtualServer.KIND, virtual)
        raw = self._client.get(path) if listening else get_if_there(self._client, path)
        if raw is None:
            return
        _is_listening(raw, virtual)
        body = {"enabled": True} if listening else {"disabled": True}
        self._with_marks(raw, virtual_codec.decode(raw), listening=listening,
                         send=lambda marks: self._client.patch(path, {**body, **marks}))

    def _with_marks(self, raw: JSON, server: VirtualServer, *, listening: bool,
                    send: Callable[[JSON], object]) -> None:
        """Send a body with both marks; with the description alone if the device knows no metadata."""
        def marks() -> JSON:
            return virtual_codec.marks(raw, self._describe(server), listening=listening,
                                       metadata=self._has_metadata)

        try:
            send(marks())
        except Refused as exc:
            if not self._has_metadata or "metadata" not in exc.text:
                raise
            log.info("virtual servers have no metadata on this BIG-IP", extra={"error": exc.text})
            self._has_metadata = False
            send(marks())


def _is_listening(raw: JSON, path: str) -> bool:
    """True if the router has enabled a virtual server. Raises: Refused: it is not one of the router's."""
    state = virtual_codec.state(raw)
    if state is None:
        raise foreign(path)
    return state


def foreign(path: str) -> Refused:
    """Return the refusal to touch a virtual server of somebody else."""
    return Refused("POST", f"ltm/virtual {path}",
                   f"virtual server {path} exists, and this router did not create it; delete or rename it, "
                   "name another with --f5-http-vserver and --f5-https-vserver, or leave out "
                   "--f5-vserver-address to use it as it is")
