"""Writers of objects that are one REST object each: monitors, pools, iRules, static routes and others.

REST cannot write many routes at once: a transaction is one request for each command, and one more
(bigip-behaviour.md A5). Independent writes are sent in parallel, see sender.py.
"""

import logging
from collections.abc import Mapping

from f5router.icontrol.codec import ltm_codec, net_codec, transport_codec
from f5router.icontrol.codec.ltm_codec import Single
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.ltm_nodes import NodeWriter
from f5router.icontrol.writers.writer import SingleWriter, delete
from f5router.model import ownership, tmos
from f5router.model.errors import Conflict, NotFound, Refused
from f5router.model.ltm import BigIPState, Object, Policy, Pool, Record, Rule
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.ownership import Describe
from f5router.model.virtual_server import HTTPProfile, TCPProfile
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
            self._put(verb, change.obj, before=change.old)

    def _put_pool(self, pool: Pool, nodes: Mapping[str, str], exists: bool) -> None:
        self._put(UPDATE if exists else CREATE, pool, nodes)

    def _put(self, verb: str, obj: Single, *more: Mapping[str, str], before: Single | None = None) -> None:
        """Args: more: further arguments of the kind's encoder; before: the object as it is."""
        description = ownership.description_properties(self._describe, obj)
        if verb == CREATE:
            try:
                self._client.post(obj.KIND, {**ltm_codec.encode(obj, *more), **description})
                return
            except Conflict:
                log.info("object already exists, updating it", extra={"object": str(obj.ref)})
        body = ltm_codec.CHANGES[obj.KIND](obj, *more)
        if isinstance(obj, TCPProfile | HTTPProfile):
            body = transport_codec.without_inherited(
                body, ltm_codec.CHANGES[obj.KIND](before) if before else {})
        self._client.patch(item_path(obj.KIND, obj.path), {**body, **description})


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


class KnownDescriptions:
    """Writes descriptions as an observer of the device: where nothing shows that it has the property, none.

    A device that does not know it would refuse the object.
    """

    def __init__(self, describe: Describe):
        self._describe = describe
        self._version: tuple[int, ...] = ()

    def update_from(self, observation: Observation) -> None:
        """Adapt to the device's version."""
        self._version = observation.facts.version

    def __call__(self, obj: Object) -> str:
        """Return the description of an object; "" for none."""
        known = obj.KIND == Pool.KIND or self._version >= tmos.DESCRIPTIONS_SINCE
        return self._describe(obj) if known else ""


def known_policy(observed: BigIPState, folder: str, path: str) -> tuple[Policy | None, list[Rule] | None]:
    """Return a policy and its Rules; None if some of the Rules are not ours."""
    container = observed.get(Ref(Policy.KIND, path))
    rules = [obj for obj in tuple(observed.values()) if isinstance(obj, Rule) and obj.policy == path]
    ours = all(ownership.owns(folder, rule) for rule in rules)
    return container if isinstance(container, Policy) else None, rules if ours else None


def known_records(observed: BigIPState, group: str) -> list[Record]:
    """Return the records of a data-group."""
    return [obj for obj in tuple(observed.values()) if isinstance(obj, Record) and obj.group == group]
