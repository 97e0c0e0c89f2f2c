"""Writer of objects that are one REST object each: monitors, pools, data-groups, iRules, SSL profiles."""

import logging
from collections.abc import Mapping

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.codec.ltm_codec import Single
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.writers.ltm_nodes import NodeWriter
from f5router.icontrol.writers.writer import SingleWriter, delete
from f5router.model import ownership
from f5router.model.errors import Conflict
from f5router.model.ltm import Pool
from f5router.plan.change import CREATE, DELETE, UPDATE, Change, concerns

log = logging.getLogger(__name__)


class ObjectWriter(SingleWriter[Single]):
    """Keeps no state."""

    kinds = tuple(ltm_codec.CHANGES)

    def __init__(self, client: Client, nodes: NodeWriter, describe: ownership.Describe):
        self._client, self._nodes, self._describe = client, nodes, describe

    def write_single(self, change: Change[Single]) -> None:
        """Write one Change.

        A create that finds the object there changes it to the desired one, and a delete that finds
        nothing succeeds: the reply to an earlier attempt may have been lost. Raises: BigIPError.
        """
        verb = change.verb
        if verb == DELETE:
            delete(self._client, change.ref)
        elif concerns(change, Pool):
            self._nodes.write(change.obj, change.old, self._put_pool)
        else:
            self._put(verb, change.obj)

    def _put_pool(self, pool: Pool, nodes: Mapping[str, str], exists: bool) -> None:
        self._put(UPDATE if exists else CREATE, pool, nodes)

    def _put(self, verb: str, obj: Single, *more: Mapping[str, str]) -> None:
        """Args: more: further arguments of the kind's encoder."""
        description = ownership.description_properties(self._describe, obj)
        if verb == CREATE:
            try:
                self._client.post(obj.KIND, {**ltm_codec.encode(obj, *more), **description})
                return
            except Conflict:
                log.info("object already exists, updating it", extra={"object": str(obj.ref)})
        body = {**ltm_codec.CHANGES[obj.KIND](obj, *more), **description}
        self._client.patch(item_path(obj.KIND, obj.path), body)
