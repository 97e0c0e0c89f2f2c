"""The cluster and the BIG-IP as a router with the given settings finds them.

`plan`, `adopt`, `doctor` and `explain` look at them through this; nothing is written. Pools without members
are found for `plan` and `doctor`, with the Routes that answer 503 therefore.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property

from f5router.app import first_load
from f5router.app.wiring import build_cluster, build_device, settled
from f5router.config.config import Config
from f5router.desired.engine import Engine
from f5router.icontrol import surroundings
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job, Lane
from f5router.kube.api.connection import Connection, connect
from f5router.logs.progress import Figures, Progress
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.model.device_facts import VirtualFacts
from f5router.model.errors import AuthFailed, BigIPError, Refused
from f5router.model.findings import CAUSES_OF_EMPTY_POOLS
from f5router.model.gateway import GATEWAY
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.model.texts import Findings, number_of
from f5router.network import pool_members
from f5router.plan.change import Plan
from f5router.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)
POLL_S = 0.05

_PATH = re.compile(r"/[^\s{},]+")

FAILOVER, ROLE, NETWORK, VIRTUALS, SELECTION, NODES, DISABLED_NODES, MONITOR = (
    "failover", "role", "way to the pods", "virtual servers", "selection", "LTM nodes", "disabled LTM nodes",
    "monitor")
"""Topics of findings."""


def begin(config: Config, stack: ExitStack) -> "Survey":
    """Begin a Survey; the stack ends it. Raises: ConfigError: the kubeconfig or a CA bundle is unusable."""
    connection = connect(config.kube)
    survey = Survey(settled(config, connection), connection, build_device(config, stack), stack)
    survey.lacks_class = config.watch.sources.on_demand and GATEWAY not in survey.config.watch.sources.kinds
    return survey


class Survey:
    """Cluster and BIG-IP as a router with these settings finds them; nothing is written."""

    def __init__(self, config: Config, connection: Connection, device: Device, stack: ExitStack):
        """Start to read the cluster; the stack stops it."""
        self.config, self.connection, self.device = config, connection, device
        self.cluster = build_cluster(config, connection, lambda: None)
        self.cluster.start()
        stack.callback(self.cluster.stop)
        self._known = Delta()
        """Everything that the cluster has shown."""
        self.reconciler = self._new_reconciler()
        self.knows_cluster = self.knows_device = False
        """True if everything was listed, or read."""
        self.lacks_class = False
        """True if Gateways are not served because no GatewayClass asks for them."""
        self.error: BigIPError | None = None
        """Why the BIG-IP could not be read; None if it could, or was not asked."""

    def read_cluster(self, refused_s: float = first_load.REFUSED_S) -> None:
        """Wait for the cluster's lists.

        Args: refused_s: how long the API server may refuse them, or give no reply.
        """
        self.knows_cluster = first_load.wait_synced(self.cluster, first_load.SYNC_S, refused_s=refused_s,
                                                    silent_s=refused_s)
        if self.knows_cluster:
            self._known = self.cluster.drain().whole()
            self.reconciler.apply(self._known)

    def unread_cluster(self) -> tuple[str, ...]:
        """Return why the cluster is not known: the API server does not answer, or a kind is not listed."""
        if self.knows_cluster:
            return ()
        server = f"API server {self.connection.server} ({self.config.kube.source})"
        outages = tuple(f"{server}: {each.code}: {each.text}" for each in self.connection.outages.findings())
        return (*outages, *self.cluster.problems()) if outages else self.cluster.missing()

    def begin_again(self) -> None:
        """Forget the BIG-IP, and take the cluster as its watches show it now: then read_device is due."""
        self._known = self._known.then(self.cluster.drain().whole())
        self.reconciler, self.knows_device, self.error = self._new_reconciler(), False, None
        self.reconciler.apply(self._known)

    def _new_reconciler(self) -> Reconciler:
        return Reconciler(Engine(self.config), self.device, folder=self.config.folder, clock=time.monotonic,
                          allow_mass_delete=True)

    def read_device(self) -> None:
        """Read the BIG-IP."""
        try:
            self._observe()
            self.device.failover.check()
            self.knows_device = True
        except BigIPError as exc:
            self.error = exc

    def read_addresses(self) -> str:
        """Read which virtual addresses are disabled, into the facts; returns why they cannot be read.

        One call, which the controller does not make: nothing that it writes depends on it.
        """
        facts = self.device.facts
        if self.error is not None or not any(each.exists for each in facts.virtuals):
            return ""
        try:
            disabled = surroundings.disabled_addresses(self.device.client)
        except BigIPError as exc:
            return f"virtual addresses cannot be read: {exc.text}"
        self.device.facts = replace(
            facts, http=facts.http and _with_address(facts.http, disabled),
            https=facts.https and _with_address(facts.https, disabled),
            further=tuple(_with_address(each, disabled) for each in facts.further))
        return ""

    def _observe(self) -> None:
        """Read the BIG-IP, and show what is being read. Raises: BigIPError."""
        ended: list[Job] = []
        self.device.dispatcher.send(
            lambda: self.device.observe(create_folder=False), ended.append, Lane.BESIDE)
        with Progress.logged(log, "reading the BIG-IP") as progress:
            while not ended:
                for message in self.reconciler.inbox.take(POLL_S):
                    message()
                progress.update(self._reading)
        if (error := ended[0].error) is not None:
            raise error

    def _reading(self) -> Figures:
        return Figures(fields={"calls": self.device.counts.total(),
                               "path": self.device.client.newest.removeprefix("/mgmt/tm/")})

    @property
    def is_complete(self) -> bool:
        """True if both are known."""
        return self.knows_cluster and self.knows_device

    def plan(self) -> Plan:
        """Return the Plan of one pass, and record what the BIG-IP would refuse."""
        self.reconciler.compare_all()
        plan = self.reconciler.rollouts.plan(with_members=True)
        self.reconciler.rollouts.foresee(plan)
        return plan

    def findings(self) -> dict[str, Findings]:
        """Return problems that do not depend on Routes, by topic; both must be known."""
        network, remarks = self.reconciler.verdicts.network_findings(), self.device.pair.remarks()
        nodes, standby = self.cluster.nodes_problem(), self.device.pair.obstacle()
        problems = [*([nodes] if nodes else []), *network.problems]
        return {
            FAILOVER: Findings(remarks) if standby else Findings(warnings=remarks),
            ROLE: surroundings.check_rights(self.device.client, self.config.bigip.username,
                                            self.config.folder),
            NETWORK: Findings(_of_the_network(problems), _of_the_network(network.warnings)),
            VIRTUALS: self.reconciler.verdicts.virtual_server_findings(),
            SELECTION: Findings(warnings=self.cluster.warnings()),
            NODES: self._nodes[0],
            DISABLED_NODES: self._nodes[1],
            MONITOR: self._monitors,
        }

    @cached_property
    def unproved_monitors(self) -> tuple[str, ...]:
        """Monitors of --f5-pool-monitor that no pool on the BIG-IP has: nothing proves that they exist."""
        wanted = self.config.pool_monitor
        if not wanted or self.config.check_interval_s or any(
                isinstance(obj, Pool) and obj.monitor == wanted for obj in self.device.observed.values()):
            return ()
        return tuple(_PATH.findall(wanted))

    @cached_property
    def _monitors(self) -> Findings:
        """Findings about these monitors; some calls for each."""
        client = self.device.client
        try:
            missing = [path for path in self.unproved_monitors if not surroundings.has_monitor(client, path)]
        except BigIPError as exc:
            return Findings(warnings=(f"monitors cannot be read: {exc.text}",))
        return Findings(tuple(f"{path} of --f5-pool-monitor does not exist: the BIG-IP refuses every pool"
                              for path in missing))

    @cached_property
    def _nodes(self) -> tuple[Findings, Findings]:
        """Findings about LTM nodes of others, and about disabled ones; they are read once."""
        pools = [obj for obj in self.reconciler.engine.objects.values() if isinstance(obj, Pool)]
        try:
            nodes = self.device.unit.nodes.read()
        except (AuthFailed, Refused) as exc:
            return Findings(warnings=(f"LTM nodes cannot be read: {exc.text}",)), Findings()
        return (pool_members.foreign_node_findings(nodes, pools),
                pool_members.disabled_node_findings(nodes, pools))


def _with_address(server: VirtualFacts, disabled: Collection[str]) -> VirtualFacts:
    """Return facts with the virtual address if that is disabled: in the partition, or in /Common."""
    places = [f"/{partition}/{server.address}" for partition in (server.path.split("/")[1], "Common")]
    return replace(server, disabled_address=next((path for path in places if path in disabled), ""))


def _of_the_network(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"way to the pods: {text}" for text in texts)


MOST_CAUSES = 3
"""Causes of empty pools that are named."""


@dataclass(frozen=True, slots=True)
class EmptyPools:
    """Pools that have no member for one reason."""

    pools: int
    routes: int
    cause: str
    """The setting that leaves them no member, or what their Services lack."""
    is_setting: bool
    is_loss: bool
    """True if they have members on the BIG-IP now."""
    are_all: bool
    """True if no pool at all has a member."""

    @property
    def is_problem(self) -> bool:
        """True if the settings keep from serving what is served, or everything.

        One team's Service without pods, or without a node port, must not make the administrator's check fail.
        """
        return self.is_setting and (self.is_loss or self.are_all)

    def __str__(self) -> str:
        lose, have = ("loses its", "has") if self.pools == 1 else ("lose their", "have")
        lack = f"{lose} last member" if self.is_loss else f"{have} no member"
        routes = number_of(self.routes, "Route")
        return f"{number_of(self.pools, 'pool')} {lack}: {routes} would answer 503; {self.cause}"


def find_empty_pools(reconciler: Reconciler) -> Iterator[EmptyPools]:
    """Yield the empty pools of each cause: first those that are on the BIG-IP with members."""
    engine, observed = reconciler.engine, reconciler.device.observed
    empty = engine.empty_pools()
    if not empty:
        return
    users: dict[Ref, list[Key]] = {}
    for key in engine.routes():
        if (ref := engine.pool_of(key)) is not None:
            users.setdefault(ref, []).append(key)
    are_all = all(ref in empty for ref in users)
    for is_loss in (True, False):
        for setting in sorted({*empty.values()}, reverse=True):
            chosen = [ref for ref in users if empty.get(ref) == setting
                      and _has_members(observed.get(ref)) == is_loss]
            if chosen:
                routes = [key for ref in chosen for key in users[ref]]
                yield EmptyPools(len(chosen), len(routes), setting or _lack(engine, routes), bool(setting),
                                 is_loss, are_all)


def _lack(engine: Engine, routes: Collection[Key]) -> str:
    """Return what the Services of Routes lack: the first in its words, others by their codes."""
    causes = {key: problem for key in sorted(routes)
              if (problem := next((each for each in engine.warnings(key)
                                   if each.reason in CAUSES_OF_EMPTY_POOLS), None)) is not None}
    if not causes:
        return "their Services have no pod"
    key, problem = next(iter(causes.items()))
    counts = Counter(each.reason for each in causes.values()).most_common(MOST_CAUSES)
    codes = f" ({', '.join(f'{code} {count}' for code, count in counts)})" if len(causes) > 1 else ""
    return f"{names.label(key, 'Route')}: {problem.message}{codes}"


def _has_members(obj: object) -> bool:
    return isinstance(obj, Pool) and bool(obj.members)
