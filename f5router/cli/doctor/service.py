"""Checks that need both cluster and BIG-IP: what the settings name, pools, and the way to the pods."""

import ipaddress
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from f5router.app import config_sync
from f5router.cli import survey as topics
from f5router.cli.doctor import fixes, obstacles
from f5router.cli.doctor.report import Check, Fix, failure, ok, skipped, warning
from f5router.cli.survey import Survey, find_empty_pools
from f5router.config.config import Config
from f5router.icontrol import statistics, surroundings
from f5router.icontrol.config_sync import ConfigSync
from f5router.kube.watch import single_reads
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.errors import BigIPError, PartitionMissing, Standby
from f5router.model.findings import NO_MEMBER_UP
from f5router.model.ltm import Attachment, ClientSSL, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.model.texts import SECRET_NOT_READ, Findings
from f5router.model.virtual_server import VirtualServer
from f5router.network import node_ports, static_routes
from f5router.network.node_ports import Network
from f5router.plan.changes import GroupedProblem

AREA = "service"
POOLS = "pools"
WAY = "way to the pods"
PODS_SHOWN = 3
"""Addresses of pods that a message names."""
LOOKED_AT = 10_000
"""Pods whose addresses are compared with the routes of the BIG-IP."""


def check_pools(survey: Survey) -> Iterator[Check]:
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
        yield warning(AREA, POOLS, f"the state of their members cannot be read: {exc.text}",
                      fixes.MEMBERS)
    if checked:
        yield _up(checked, down)
    if not (config.vxlan or config.static_routes or config.nodeport):
        yield _pods_way(survey, is_up=bool(checked - down))


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
    fix = fixes.of(NO_MEMBER_UP, first)
    if down == checked:
        return failure(AREA, POOLS,
                       f"no member of any pool is up: {count}, the first {first}; the BIG-IP "
                                    "does not reach them, or nothing listens there", fix, NO_MEMBER_UP)
    return warning(AREA, POOLS, f"no member is up in {count} of {len(checked)}, the first {first}",
                   fix, NO_MEMBER_UP)


def _pods_way(survey: Survey, *, is_up: bool) -> Check:
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
        return ok(AREA, WAY,
                  "the settings make none, and the BIG-IP has self IPs or routes towards all pods")
    more = f" and {len(far) - PODS_SHOWN} more" if len(far) > PODS_SHOWN else ""
    return warning(
        AREA, WAY,
        "it is probably missing: the settings make none, and the BIG-IP has neither a self IP nor a route, "
        f"except the default one, towards the pods {', '.join(far[:PODS_SHOWN])}{more}",
        fixes.missing_way(single_reads.network_plugin(survey.connection)))


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


LTM_NODES = "LTM nodes"
NEAR = 0.8
"""Part of a limit from which on there is a warning."""

SHOWN = 3
"""Static routes that are named."""

_OF_DEVICE, _OF_BOTH = ("partition", "config sync", "limits"), ("virtual servers", "way to the pods")


def check(survey: Survey, *, units_well: bool, cluster_well: bool) -> Iterator[Check]:
    """Check everything that needs both cluster and BIG-IP; the survey has been read.

    Args: units_well, cluster_well: False if a failure was reported that explains what could not be read.
    """
    missing = []
    if not survey.knows_device:
        if units_well and survey.error is not None:
            yield _unreadable(survey.error, survey.config.partition)
        missing.append("the BIG-IP")
    if not survey.knows_cluster:
        if cluster_well:
            for text in survey.cluster.missing():
                yield failure(AREA, "cluster", *fixes.split(text, fixes.not_listed(text)))
        missing.append("the cluster")
    elif texts := survey.cluster.unread_secrets():
        yield from (warning(AREA, "Secrets", text, fixes.SECRETS, SECRET_NOT_READ) for text in texts)
    if missing:
        others = (*(() if survey.knows_device else _OF_DEVICE), *_OF_BOTH)
        yield skipped(AREA, others, f"{' and '.join(missing)} must be readable first")
    if survey.knows_device:
        yield from _partition(survey)
        yield from _sync(survey)
        yield from _limits(survey)
    if survey.is_complete:
        survey.plan()
        if held := survey.reconciler.retention.unread_problem:
            yield warning(AREA, "kinds", held, fixes.not_listed("; ".join(survey.cluster.problems())))
        yield from _virtual_servers(survey)
        yield from obstacles.check(survey)
        yield from _topics(survey)
        yield from check_pools(survey)


def _unreadable(error: BigIPError, partition: str) -> Check:
    if isinstance(error, PartitionMissing):
        return failure(AREA, "partition", error.text, fixes.partition(partition))
    if isinstance(error, Standby):
        return failure(AREA, "failover", error.text, fixes.NO_ACTIVE)
    return failure(AREA, "reading", str(error), fixes.READING)


def _partition(survey: Survey) -> Iterator[Check]:
    config = survey.config
    if not survey.device.folder:
        yield ok(AREA, "partition", f"{config.partition} exists; `f5router run` creates {config.folder}")
    else:
        yield ok(AREA, "partition", f"{config.folder} exists")


# --- virtual servers ---------------------------------------------------------------------


def _virtual_servers(survey: Survey) -> Iterator[Check]:
    facts = survey.device.facts
    problems = survey.reconciler.verdicts.problems(written=False)
    secure = {survey.config.https_virtual, *(each.virtual for each in survey.config.listeners if each.secure)}
    for virtual in facts.virtuals:
        mine = [problem for problem in problems if problem.text.startswith(
            (f"virtual server {virtual.path} ", f"virtual server {virtual.path},"))]
        problems = [problem for problem in problems if problem not in mine]
        for problem in mine:
            yield failure(AREA, "virtual servers", _text(problem),
                          fixes.virtual(virtual, problem.text, https=virtual.path in secure))
        if virtual.exists and not virtual.enabled:
            yield obstacles.disabled(virtual)
        elif not mine:
            yield ok(AREA, "virtual servers", _described(survey, virtual))
        yield from _translation(survey.config, virtual)
    for problem in problems:
        yield failure(AREA, "objects", str(problem), fixes.objects(problem.routes))
    yield from _missing_profiles(facts)
    for text in survey.findings()[topics.VIRTUALS].warnings:
        yield warning(AREA, "virtual servers", text,
                      fixes.without_effect(text, facts.virtuals))


def _text(problem: GroupedProblem) -> str:
    """Return a problem of a virtual server without the remedy, and the number of Routes."""
    count, text = len(problem.routes), problem.text.partition("; ")[0]
    return f"{text} ({count} Route{'' if count == 1 else 's'} not served)" if count else text


def _described(survey: Survey, virtual: VirtualFacts) -> str:
    attached = sum(isinstance(obj, Attachment) and obj.virtual == virtual.path
                   for obj in survey.device.observed.values())
    profiles = [f"client SSL {', '.join(virtual.client_ssl)}" if virtual.client_ssl else "",
                f"server SSL {', '.join(virtual.server_ssl)}" if virtual.server_ssl else "",
                f"SNAT {virtual.snat}{f' {virtual.snat_pool}' if virtual.snat_pool else ''}",
                f"{attached} policies, profiles and iRules of the router are attached" if attached
                else "`f5router run` attaches its policies" if _is_there(survey, virtual)
                else "`f5router run` creates it"]
    return f"{virtual.path} at {virtual.address or '*'} port {virtual.port or '*'}: " + "; ".join(
        filter(None, profiles))


def _is_there(survey: Survey, virtual: VirtualFacts) -> bool:
    """True unless it is one that the router creates, and is not there yet."""
    return not virtual.is_own or Ref(VirtualServer.KIND, virtual.path) in survey.device.observed


def _translation(config: Config, virtual: VirtualFacts) -> Iterator[Check]:
    """Check source address translation: without it, pods answer past a BIG-IP that is not their gateway."""
    if virtual.exists and virtual.snat == "none" and (config.static_routes or config.nodeport):
        yield warning(AREA, "virtual servers", f"{virtual.path} translates no source addresses: pods answer "
                                               "to clients past the BIG-IP, unless it is their gateway",
                      fixes.translation(virtual.path))


def _missing_profiles(facts: DeviceFacts) -> Iterator[Check]:
    for path in sorted(facts.missing_profiles):
        yield warning(AREA, "profiles", f"server SSL profile {path} of --allowed-profiles does not exist",
                      fixes.server_ssl(path))


# --- pair, network, limits ---------------------------------------------------------------


def _sync(survey: Survey) -> Iterator[Check]:
    device, config = survey.device, survey.config
    try:
        group, decision = config_sync.look(ConfigSync(lambda: device.client), device.folder,
                                           push=config.config_sync == config_sync.PUSH)
    except BigIPError as exc:
        yield warning(AREA, "config sync", f"its state cannot be read: {exc.text}", fixes.SYNC_HIDDEN)
        return
    if group is None and len(config.hosts) > 1:
        yield failure(AREA, "config sync", f"{config.folder} is in no device group: after a failover the "
                                           "other unit serves nothing", fixes.no_group(config.folder))
    elif group is None:
        yield ok(AREA, "config sync", "the BIG-IP shares its configuration with no other unit")
    elif decision.problem:
        text, _, command = decision.problem.partition(": tmsh ")
        yield warning(AREA, "config sync", text,
                      fixes.sync(group.name, waits=decision.wait, mine=bool(command)))
    else:
        state = "changes are pending, and `f5router run` syncs them" if decision.push else "in sync"
        yield ok(AREA, "config sync", f"device group {group.name}: {state}")


def _limits(survey: Survey) -> Iterator[Check]:
    kinds = Counter(type(obj) for obj in survey.device.observed.values())
    slow = survey.device.client.slow_requests.warnings()
    for text in slow:
        yield warning(AREA, "limits", text.partition(": give ")[0], fixes.SHARDS)
    near = list(_near_secrets(survey))
    yield from near
    if not slow and not near:
        secrets = sum(survey.cluster.secret_counts().values())
        yield ok(AREA, "limits", f"none is near; {kinds[Rule]} rules, {kinds[ClientSSL]} client SSL "
                                 f"profiles, {kinds[Record]} records, {secrets} Secrets")


def _near_secrets(survey: Survey) -> Iterator[Check]:
    counts, limits = survey.cluster.secret_counts(), survey.config.watch.secret_limits
    total = sum(counts.values())
    if total >= NEAR * limits.total:
        yield warning(AREA, "limits", f"{total} of {limits.total} Secrets are read",
                      fixes.more_secrets("--max-secrets", limits.total))
    for namespace, count in sorted(counts.items()):
        if count >= NEAR * limits.per_namespace:
            yield warning(AREA, "limits", f"{count} of {limits.per_namespace} Secrets are read of namespace "
                                          f"{namespace}",
                          fixes.more_secrets("--max-secrets-per-namespace", limits.per_namespace))


def _topics(survey: Survey) -> Iterator[Check]:
    findings, network = survey.findings(), survey.reconciler.engine.cluster
    known = {"HostSubnet": network.host_subnets, "ClusterNetwork": network.networks}
    unknown = [kind for kind, objects in known.items() if survey.config.vxlan and not objects]
    for kind in unknown:
        yield warning(AREA, "way to the pods", f"the settings of VxLAN are not checked against a {kind}: "
                                               "there is none, or it cannot be read",
                      fixes.NO_NETWORK_KIND)
    network_findings = findings[topics.NETWORK]
    for text in network_findings.problems:
        yield failure(AREA, "way to the pods", *_fixed(survey, text))
    for text in network_findings.warnings:
        yield warning(AREA, "way to the pods", *_fixed(survey, text))
    if not unknown and network_findings == Findings() and (way := _way(survey)):
        yield ok(AREA, "way to the pods", way)
    for text in findings[topics.NODES].problems:
        yield failure(AREA, LTM_NODES, text, fixes.NODES)
    for text in findings[topics.NODES].warnings:
        yield warning(AREA, LTM_NODES, text, fixes.NODES)
    for text in findings[topics.SELECTION].warnings:
        yield warning(AREA, "selection", text, fixes.NAMESPACES)


def _fixed(survey: Survey, text: str) -> tuple[str, Fix]:
    """Return a finding about the way to the pods without its remedy, and what fixes it."""
    config, facts = survey.config, survey.device.facts
    return fixes.way(
        text.removeprefix(f"{topics.NETWORK}: "), config.vxlan, facts.virtuals,
        fixes.role(config.bigip.username, facts.version))


def _way(survey: Survey) -> str:
    """Describe how pods are reached; "" if the settings make no way: see `pools`."""
    config = survey.config
    if config.vxlan:
        return "; ".join(f"VxLAN: HostSubnet of {unit.internal_address}, gateway {unit.gateway} and its mask "
                         "fit the cluster network" for unit in config.vxlan)
    if config.static_routes:
        routes = survey.reconciler.engine.ways.routes()
        shown = [f"{route.network} via {route.gateway} of Node {route.node}" for route in routes[:SHOWN]]
        more = [f"{len(routes) - SHOWN} more"] * (len(routes) > SHOWN)
        return f"static routes by way of the Nodes: {', '.join(shown + more) or 'none, as there is no Node'}"
    if config.nodeport is not None:
        return "node ports of the Nodes"
    return ""
