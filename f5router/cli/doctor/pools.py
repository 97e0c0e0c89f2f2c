"""Checks of pools: members at all, members that are up, and a way to them where the router makes none."""

import ipaddress
from collections.abc import Collection, Iterator
from itertools import islice

from f5router.cli.doctor import fixes
from f5router.cli.doctor.report import Check, failure, ok, skipped, warning
from f5router.cli.survey import Survey, find_empty_pools
from f5router.icontrol import statistics, surroundings
from f5router.kube import network_plugin
from f5router.model.errors import BigIPError
from f5router.model.ltm import Pool
from f5router.network import node_ports, static_routes
from f5router.network.node_ports import Network

AREA = "service"
POOLS = "pools"
WAY = "way to the pods"
SHOWN = 3
"""Addresses of pods that a message names."""
LOOKED_AT = 10_000
"""Pods whose addresses are compared with the routes of the BIG-IP."""


def check(survey: Survey) -> Iterator[Check]:
    """Check pools; cluster and BIG-IP have been read."""
    for each in find_empty_pools(survey.reconciler):
        if each.cause != node_ports.UNSELECTED:  # the way to the pods has that already
            unpublished = each.cause == node_ports.UNPUBLISHED and each.are_all
            make = failure if each.is_problem else warning
            yield make(AREA, POOLS, f"{'no Service has a node port: ' if unpublished else ''}{each}",
                       fixes.EMPTY.get(each.cause, fixes.NO_PODS))
    if astray := survey.reconciler.engine.places.all_problems():
        problems = {text for texts in astray.values() for text in texts}
        yield warning(AREA, WAY, f"{len(problems)} pods of {len(astray)} Services may not be reached: "
                                 f"{static_routes.shown_pods(problems)}", fixes.ASTRAY)
    config, checked, down = survey.config, set[str](), set[str]()
    try:
        checked, down = _states(survey)
    except BigIPError as exc:
        yield warning(AREA, POOLS, f"the state of their members cannot be read: {exc.text}", fixes.MEMBERS)
    if checked:
        yield _up(checked, down)
    if not (config.vxlan or config.static_routes or config.nodeport):
        yield _way(survey, is_up=bool(checked - down))


def _states(survey: Survey) -> tuple[set[str], set[str]]:
    """Return the pools with monitored members, and the pools without a member up. Raises: BigIPError."""
    ours = {pool.path for pool in survey.device.observed.values() if isinstance(pool, Pool) and pool.members}
    if not ours:
        return set(), set()
    states = statistics.pools(survey.device.client)
    checked = {path for path in ours & states.keys() if states[path].is_checked}
    return checked, {path for path in checked if not states[path].active}


def _up(checked: set[str], down: set[str]) -> Check:
    count = f"{len(down)} pool{'' if len(down) == 1 else 's'}"
    if not down:
        return ok(AREA, POOLS, f"members are up in each of {len(checked)} that are checked")
    first = min(down)
    if down == checked:
        return failure(AREA, POOLS, f"no member of any pool is up: {count}, the first {first}; the BIG-IP "
                                    "does not reach them, or nothing listens there", fixes.members(first))
    return warning(AREA, POOLS, f"no member is up in {count} of {len(checked)}, the first {first}",
                   fixes.members(first))


def _way(survey: Survey, *, is_up: bool) -> Check:
    """Compare pods with the networks and routes of the BIG-IP, as the settings make no way to them.

    Args: is_up: True if a monitor of the BIG-IP reaches a pod.
    """
    device, pods = survey.device, sorted(islice(_pods(survey), LOOKED_AT))
    if is_up:
        return ok(AREA, WAY, "the settings make none, and the BIG-IP's monitors reach pods")
    if not pods:
        return skipped(AREA, (WAY,), "the settings make none, and there is no pod that needs one")
    try:
        routed = surroundings.routed_networks(device.client, survey.config.folder)
    except BigIPError as exc:
        return warning(AREA, WAY, f"the routes of the BIG-IP cannot be read: {exc.text}", fixes.ROUTES)
    networks = [ipaddress.ip_network(text) for text in (*(device.facts.networks or ()), *routed)]
    far = [address for address in pods if not _is_in(address, networks)]
    if not far:
        return ok(AREA, WAY, "the settings make none, and the BIG-IP has self IPs or routes towards all pods")
    more = f" and {len(far) - SHOWN} more" if len(far) > SHOWN else ""
    return warning(
        AREA, WAY, "it is probably missing: the settings make none, and the BIG-IP has neither a self IP nor "
                   f"a route, but for the default one, towards the pods {', '.join(far[:SHOWN])}{more}",
        fixes.missing_way(network_plugin.detect(survey.connection)))


def _pods(survey: Survey) -> Iterator[str]:
    """Yield the addresses of pods that are members, or shall be."""
    seen = set()
    for obj in survey.reconciler.engine.objects.values():
        for member in obj.members if isinstance(obj, Pool) else ():
            if member.address not in seen:
                seen.add(member.address)
                yield member.address


def _is_in(text: str, networks: Collection[Network]) -> bool:
    address = ipaddress.ip_address(text)
    return any(address in network for network in networks)
