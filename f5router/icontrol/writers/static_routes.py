"""Writer of static routes to pods: one request for each that changes.

REST cannot write many routes at once: a transaction is one request for each command, and one more
(bigip-behaviour.md A5). Independent writes are sent in parallel, see sender.py.
"""

import logging

from f5router.icontrol.codec import net_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.writers.writer import SingleWriter, delete
from f5router.model import ownership
from f5router.model.errors import Conflict, NotFound, Refused
from f5router.model.net import StaticRoute
from f5router.plan.change import Change

log = logging.getLogger(__name__)


class StaticRouteWriter(SingleWriter[StaticRoute]):
    """Keeps no state."""

    kinds = (StaticRoute.KIND,)

    def __init__(self, client: Client, folder: str, describe: ownership.Describe):
        self._client, self._folder, self._describe = client, folder, describe

    def write_single(self, change: Change[StaticRoute]) -> None:
        """Write one Change.

        A create that finds the route there changes it to the desired one, and a delete that finds
        nothing succeeds: the reply to an earlier attempt may have been lost. Raises: BigIPError.
        """
        if change.new is None:
            delete(self._client, change.ref)
        elif change.old is None:
            self._create(change.new)
        else:
            self._change(change.old, change.new)

    def _create(self, route: StaticRoute) -> None:
        try:
            self._client.post(StaticRoute.KIND, self._body(route))
        except Conflict as exc:
            self._take_over(route, exc)

    def _take_over(self, route: StaticRoute, conflict: Conflict) -> None:
        """Update a route created since the last reading; one to another network is somebody else's."""
        try:
            present = net_codec.decode_route(self._client.get(item_path(StaticRoute.KIND, route.path)))
        except NotFound:
            raise conflict from None  # the network has another route
        if not ownership.owns(self._folder, present):
            text = f"route {route.path} exists, leads to {present.network} and is not the router's"
            raise Refused("POST", StaticRoute.KIND, f"{text}; remove it")
        if present != route:
            self._change(present, route)

    def _change(self, old: StaticRoute, new: StaticRoute) -> None:
        """Change the gateway in place; `network` is fixed, and part of the name.

        Source: f5-ansible bigip_static_route, which updates all but `network` by PATCH.
        """
        if old.gateway:
            body = {"gw": new.gateway, **ownership.description_properties(self._describe, new)}
            self._client.patch(item_path(StaticRoute.KIND, new.path), body)
            return
        # Somebody gave it a pool, an interface or no target; a route has only one of them.
        delete(self._client, old.ref)
        self._client.post(StaticRoute.KIND, self._body(new))

    def _body(self, route: StaticRoute) -> dict[str, str]:
        return {**net_codec.encode_route(route), **ownership.description_properties(self._describe, route)}
