"""Reads single pools, when there is no time for the whole device."""

import logging
from collections.abc import Iterable

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import get_if_there
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.unit import Unit
from f5router.model.errors import NotReady
from f5router.model.ltm import Pool
from f5router.model.objects import Ref

log = logging.getLogger(__name__)


def read(unit: Unit, refs: Iterable[Ref]) -> dict[Ref, Pool]:
    """Read pools beside the loop; missing and undecodable pools are left out.

    Raises: Standby: the unit is not active; NotReady: it is starting; BigIPError.
    """
    unit.failover.require_active()
    client, pools = unit.client.for_reading(), {}
    for ref in refs:
        item = get_if_there(client, item_path(Pool.KIND, ref.path), {"expandSubcollections": "true"})
        try:
            if item is not None:
                pools[ref] = ltm_codec.decode_pool(item)
        except ltm_codec.ODD as exc:
            log.warning("object not understood", extra={
                "kind": Pool.KIND, "path": ref.path, "error": repr(exc)})
    if not client.ready():  # while it starts, it has some of its configuration
        raise NotReady("GET", "/mgmt/tm/sys/ready", "the device is starting or loading its configuration")
    return pools
