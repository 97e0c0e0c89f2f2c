"""Checks of what keeps requests from pods now: disabled objects, a missing monitor, Routes that are rejected.

A plan shows none of these: an administrator's changes differ from nothing that the router writes.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator

from f5router.admission import condition
from f5router.cli import survey as topics
from f5router.cli.doctor import fixes
from f5router.cli.doctor.report import Check, failure, ok, warning
from f5router.cli.survey import Survey
from f5router.desired.shared_pods import differing_routes
from f5router.icontrol import surroundings
from f5router.model import findings, names
from f5router.model.device_facts import VirtualFacts
from f5router.model.errors import BigIPError
from f5router.model.texts import Findings

AREA = "service"
VIRTUALS = "virtual servers"
NODES = "LTM nodes"
MONITOR = "monitor"
ROUTES = "Routes"

_PATH = re.compile(r"/[^\s{},]+")
ONE_CONNECT = "OneConnect"
MOST_REASONS = 3
"""Reasons of rejected Routes that are named."""


def check(survey: Survey) -> Iterator[Check]:
    """Check what is there besides our objects; cluster and BIG-IP have been read, and a plan was made."""
    yield from _addresses(survey)
    yield from _far_addresses(survey)
    yield from _disabled_nodes(survey)
    yield from _monitor(survey)
    yield from _rejected(survey)
    yield from _refused(survey)
    yield from _one_connect(survey)


def disabled(facts: VirtualFacts) -> Check:
    """Return the failure of a virtual server that somebody has disabled."""
    return failure(AREA, VIRTUALS, f"virtual server {facts.path} is disabled: nobody answers there",
                   fixes.of(findings.SERVER_DISABLED, facts.path), findings.SERVER_DISABLED)


def _addresses(survey: Survey) -> Iterator[Check]:
    """Check the virtual addresses of our virtual servers."""
    if problem := survey.read_addresses():
        yield warning(AREA, VIRTUALS, problem, fixes.ADDRESSES)
    facts = survey.device.facts
    servers = {each.disabled_address: each.path for each in facts.virtuals if each.disabled_address}
    for path, virtual in sorted(servers.items()):
        yield failure(AREA, VIRTUALS, f"virtual address {path} of {virtual} is disabled: nobody answers "
                                       "there",
                      fixes.of(findings.ADDRESS_DISABLED, path), findings.ADDRESS_DISABLED)


def _far_addresses(survey: Survey) -> Iterator[Check]:
    """Check that the addresses of the router's virtual servers are in networks of self IPs.

    They are of use where a router in front leads to them by a self IP, so none is a failure.
    """
    networks = [ipaddress.ip_network(text) for text in survey.device.facts.networks or ()]
    addresses = dict.fromkeys(each.address for each in survey.config.listeners)
    for address in addresses if networks else ():
        if not any(ipaddress.ip_address(address) in network for network in networks):
            yield warning(AREA, VIRTUALS,
                          f"{address} is in no network of a self IP: clients reach it only if a router in "
                          "front has a route to it by way of a self IP", fixes.SELF_IPS)


def _disabled_nodes(survey: Survey) -> Iterator[Check]:
    nodes = survey.findings()[topics.DISABLED_NODES]
    for make, texts in ((failure, nodes.problems), (warning, nodes.warnings)):
        for text in texts:
            first = _PATH.search(text)
            yield make(AREA, NODES, text, fixes.of(findings.NODE_DISABLED, first[0] if first else ""),
                       findings.NODE_DISABLED)


def _monitor(survey: Survey) -> Iterator[Check]:
    """Check that the monitors of the settings exist, if no pool on the BIG-IP proves it."""
    of_monitors = survey.findings()[topics.MONITOR]
    for text in of_monitors.warnings:
        yield warning(AREA, MONITOR, text, fixes.MONITORS)
    for text in of_monitors.problems:
        yield failure(AREA, MONITOR, text, fixes.of(findings.MONITOR_MISSING), findings.MONITOR_MISSING)
    if survey.unproved_monitors and of_monitors == Findings():
        yield ok(AREA, MONITOR, f"{', '.join(survey.unproved_monitors)} of --f5-pool-monitor exists")


def _rejected(survey: Survey) -> Iterator[Check]:
    """Count Routes that are not served for what is in them: each is its team's, whatever their number."""
    engine = survey.reconciler.engine
    rejected = {key: rejection for key in engine.routes()
                if (rejection := engine.rejection(key) or engine.fault_status(key)) is not None}
    if not rejected:
        return
    reasons = Counter(rejection.reason for rejection in rejected.values()).most_common()
    shown = [f"{reason} {count}" for reason, count in reasons[:MOST_REASONS]]
    more = [f"others {sum(count for _, count in reasons[MOST_REASONS:])}"] * (len(reasons) > MOST_REASONS)
    first = min(rejected)
    which = f"{len(rejected)} Route{'s are' if len(rejected) > 1 else ' is'} rejected because of "
    yield warning(
        AREA, ROUTES,
        f"{which}{'their' if len(rejected) > 1 else 'its'} content ({', '.join(shown + more)}): "
        f"{names.label(first, 'Route')}: {rejected[first].message}",
        fixes.of(findings.ROUTES_REJECTED), findings.ROUTES_REJECTED)


def _refused(survey: Survey) -> Iterator[Check]:
    """Count Routes whose status says that the BIG-IP refuses them: a plan foresees few refusals."""
    refused = {key: verdict.message for key in survey.reconciler.engine.routes()
               if (route := survey.cluster.route(key)) is not None and (verdict := condition.refusal(
                   route.status_ingress, survey.config.status.router_name)) is not None}
    if refused:
        first, are = min(refused), "Route is" if len(refused) == 1 else "Routes are"
        yield warning(AREA, ROUTES, f"{len(refused)} {are} refused by the BIG-IP: "
                                    f"{names.label(first, 'Route')}: {refused[first]}",
                      fixes.of(findings.WRITES_REFUSED), findings.WRITES_REFUSED)


def _one_connect(survey: Survey) -> Iterator[Check]:
    """Check that no OneConnect profile shares connections to pods which Routes verify differently.

    Connections are reused by pool member and source mask, whatever the pool (docs/limits.md): a request of
    one Route would go over a connection for which another Route has chosen the certificate authority.
    """
    engine, by_profile = survey.reconciler.engine, dict[str, list[tuple[str, str]]]()
    differing = differing_routes(engine, tuple(engine.front_ends))
    for name in engine.front_ends if differing else ():
        server = engine.front_ends.pair(name, survey.device.facts)[1]
        if server is None or not server.exists:
            continue
        placement = survey.device.own_servers.placement(server.path)
        try:
            profile = placement.one_connect or surroundings.one_connect(survey.device.client, server.path)
        except BigIPError as exc:
            yield warning(AREA, ONE_CONNECT, f"the profiles of {server.path} cannot be read: {exc.text}",
                          fixes.PROFILES)
            return
        if profile:
            by_profile.setdefault(profile, []).append((name, server.path))
    for profile, servers in by_profile.items():
        if (shared := differing_routes(engine, [name for name, _ in servers])) is None:
            continue
        first, second = (names.label(key, "Route") for key in shared)
        on = " and ".join(path for _, path in servers)
        yield failure(AREA, ONE_CONNECT, f"{profile} on {on}: {first} and {second} have a pod in common, and "
                                         "different TLS towards it",
                      fixes.of(findings.CONNECTIONS_SHARED, servers[0][1]), findings.CONNECTIONS_SHARED)
