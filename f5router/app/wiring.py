"""Builds the parts of a router of a Config: the BIG-IP, the watches, the writers."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from f5router.app import file_watch
from f5router.app.config_sync import ConfigSyncer
from f5router.app.file_watch import SharedFiles
from f5router.app.gateway_reporter import GatewayReporter, GatewayStatuses
from f5router.app.gateway_servers import GatewayServers
from f5router.app.ingress_reporter import IngressRouteReporter, load_balancer_status
from f5router.app.reports import Reports
from f5router.app.timing import DEFAULT, SyncTiming, Timing
from f5router.config.config import Config
from f5router.icontrol.config_sync import ConfigSync
from f5router.icontrol.device import Device
from f5router.icontrol.failover import Failover
from f5router.icontrol.own_servers import OwnServers
from f5router.icontrol.pair import Pair
from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import Login, Renewable, SSHSettings
from f5router.icontrol.unit import Unit
from f5router.icontrol.uploads.leftovers import UploadOrigin
from f5router.icontrol.writers.files import FileWriter
from f5router.kube.api.connection import Connection, connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.lease.campaign import Campaign, lease_connection
from f5router.kube.settings import StatusSettings, WatchTiming
from f5router.kube.status.entry_cleanup import EntryCleanup
from f5router.kube.status.events import EventWriter
from f5router.kube.status.front_end_statuses import FrontEndCleanup, FrontEndStatuses
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.status.status_writer import StatusWriter
from f5router.kube.watch import gateway_demand
from f5router.kube.watch.sources import (
    BACKEND_POLICIES,
    GATEWAY_CLASSES,
    GATEWAY_ROUTES,
    GATEWAYS,
    INGRESS_ROUTES,
    INGRESSES,
    Source,
)
from f5router.model.cluster import Key
from f5router.model.errors import BigIPError, KubeError, Standby
from f5router.model.gateway import BACKEND_TLS_POLICY, GATEWAY, GATEWAY_CLASS
from f5router.model.known_status import KnownStatus
from f5router.model.limits import ALWAYS, WritePermit
from f5router.model.ownership import describer
from f5router.reconcile.reconciler import Reconciler
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, SourceSettings

if TYPE_CHECKING:
    from f5router.icontrol.uploads.ssh_upload import SSHUploader

CONTENTION_PART = 10
"""A contended Route is left alone for this part of --resync-interval. Source:
openshift/router, pkg/router/controller/contention.go and pkg/cmd/infra/router/template.go."""

DELIVERY_S = 10.0
"""Time after which a write to a unit of a pair is not delivered any more: it may be a standby by then."""

FIRST_LOOK_S = 2.0
"""How long a start waits to learn whether a GatewayClass names the router, before anything runs."""

STATUS_WORKERS = 8
"""Status writes under way at once: at up to 0.08 s each, --status-rate's default is reached. An API server
that takes longer gets fewer writes, and never has more than these in its queues."""


def build_device(
    config: Config, stack: ExitStack, *, timing: Timing = DEFAULT,
    clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] | None = None,
    permit: WritePermit = ALWAYS, everything: bool = False,
) -> Device:
    """Build the device of a Config; the stack closes it.

    Args:
        sleep: None for waits that give_up ends.
        everything: read also what only other settings ask for: an earlier router may have left it.
    """
    login = SharedFiles("changed login for the BIG-IP", file_watch.login(config.bigip_paths),
                        config.bigip.login, period_s=timing.files_s, clock=clock)
    authorities = SharedFiles(
        "changed CA bundle for the BIG-IP", file_watch.authorities(config.bigip_paths.ca_bundle), "",
        period_s=timing.files_s, clock=clock)
    own_servers = OwnServers(config.listeners, everything, config.repair_disabled)
    pair = Pair([_unit(config, number, stack, timing=timing, clock=clock, sleep=sleep, permit=permit,
                        login=login, authorities=authorities, own_servers=own_servers)
                 for number in range(len(config.hosts))], period_s=timing.failover_s,
                look_s=timing.look_s, refused_s=timing.refused_login_s)
    stack.callback(pair.close)
    return Device(
        pair, folder=config.folder, http_virtual=config.http_virtual, https_virtual=config.https_virtual,
        vxlan=everything or bool(config.vxlan), static_routes=everything or config.static_routes,
        profiles=config.allowed_profiles.keys(), drain_s=timing.drain_s,
        own_servers=own_servers, checks_tls=config.tls_checks,
    )


def _unit(config: Config, number: int, stack: ExitStack, *, timing: Timing, clock: Callable[[], float],
          sleep: Callable[[float], object] | None, permit: WritePermit, login: Renewable[Login],
          authorities: Renewable[str], own_servers: OwnServers) -> Unit:
    """Build the unit of one management address; the stack closes it."""
    settings, ssh = config.unit_settings(number)
    several = len(config.hosts) > 1
    failovers: list[Failover] = []
    if several:
        permit = while_active(permit, lambda: failovers[0])
    client = stack.enter_context(
        Client(settings, login_pause_s=timing.login_pause_s, clock=clock, sleep=sleep, permit=permit,
               login=login, authorities=authorities))
    failovers.append(Failover(
        client, fresh_s=timing.failover_fresh_s, alone_s=timing.failover_alone_s,
        look_s=timing.look_s if several else None, clock=clock))
    client.before_write = failovers[0].require_active
    uploader = _uploader(config, ssh, permit, client.before_write, login, timing, clock)
    files = FileWriter(client, uploader, origin=UploadOrigin(config.folder), sleep=time.sleep)
    unit = Unit(settings.host, client, files, failovers[0], folder=config.folder,
                number=number, node_partition=config.node_partition,
                max_in_flight=settings.max_in_flight,
                describe=describer(config.status.router_name, config.status.canonical_hostname or "",
                                   config.folder), own_servers=own_servers)
    client.on_written = unit.replies.note
    stack.callback(unit.close)
    return unit


def while_active(permit: WritePermit, failover: Callable[[], Failover]) -> WritePermit:
    """Return a permission for one unit of a pair, which ends when that unit is not active any more."""
    def obstacle() -> str:
        return failover().obstacle() or failover().rival()

    def refusal(method: str, path: str) -> BigIPError:
        text = obstacle()
        return Standby(method, path, text) if text and permit.is_given() else permit.refusal(method, path)

    return WritePermit(lambda: 0.0 if obstacle() else permit.left_s(),
                       min(permit.delivery_s, DELIVERY_S), refusal, cleanup=permit)


def _uploader(config: Config, ssh: SSHSettings, permit: WritePermit,
              before_write: Callable[[], None], login: Renewable[Login], timing: Timing,
              clock: Callable[[], float]) -> "SSHUploader | None":
    """Return the uploader over SSH; paramiko (8 MB, 0.1 s) is imported only if the Config asks for it."""
    if config.cert_upload != "ssh":
        return None
    from f5router.icontrol.uploads.ssh_upload import SSHUploader

    key = SharedFiles("changed private key for SSH", file_watch.ssh_key(config.ssh.private_key or ""), "",
                      period_s=timing.files_s, clock=clock)

    def newest(settings: SSHSettings) -> SSHSettings:
        return replace(settings, username=login.get().username, private_key=None,
                       private_key_text=key.get(now=True) or None)

    return SSHUploader(ssh, permit=permit, newest=newest, before_write=before_write)


def build_campaign(config: Config, stack: ExitStack) -> Campaign | None:
    """Build and start the candidate of a Config; None without leader election.

    The stack ends it: last of all if this is the first thing that is built, when nothing writes any more.
    """
    if config.lease is None:
        return None
    campaign = Campaign(lease_connection(config.kube, config.lease.timing), config.lease)
    stack.callback(campaign.stop)
    campaign.start()
    return campaign


def write_permit(config: Config, campaign: Campaign | None) -> WritePermit:
    """Return the permission to write: forever, or as long as the Lease is held."""
    if campaign is None or config.lease is None:
        return ALWAYS
    timing = config.lease.timing
    return WritePermit(campaign.left_s, timing.duration_s - timing.renew_deadline_s)


def build_syncer(config: Config, device: Device, *, timing: SyncTiming,
                 clock: Callable[[], float]) -> ConfigSyncer:
    """Build what follows the config sync of the device after changes."""
    return ConfigSyncer(
        ConfigSync(lambda: device.client), mode=config.config_sync,
        require_active=lambda: device.failover.require_active(),
        folder=lambda: device.folder, timing=timing, clock=clock,
    )


def with_sources(config: Config, sources: SourceSettings) -> Config:
    """Return the settings with others of the kinds that are served."""
    return replace(config, watch=replace(config.watch, sources=sources))


def asks_for_gateways(config: Config) -> bool:
    """True if a GatewayClass asks for Gateways now, where the settings leave that to GatewayClasses.

    An API server that is slow to answer is not waited for: nobody could ask the router why it waits, or end
    it. It looks again when it runs. Raises: ConfigError: the kubeconfig or a CA bundle is unusable.
    """
    sources = config.watch.sources
    if not sources.on_demand:
        return False
    connection, named = connect(config.kube), threading.Event()

    def look() -> None:
        with suppress(KubeError):
            if gateway_demand.look(connection, sources.gateways.controller) is gateway_demand.ClassLook.ASKED:
                named.set()
        connection.close()

    looking = threading.Thread(target=look, name="first-look", daemon=True)
    looking.start()
    looking.join(FIRST_LOOK_S)
    return named.is_set()


def settled(config: Config, connection: Connection, timing: WatchTiming | None = None) -> Config:
    """Return the settings of a command that ends. See gateway_demand.settled."""
    return with_sources(config, gateway_demand.settled(connection, config.watch.sources, timing))


def build_cluster(config: Config, connection: Connection, on_change: Callable[[], None], *,
                  timing: Timing = DEFAULT) -> ClusterWatcher:
    """Build the watches of a Config, not yet started."""
    return ClusterWatcher(
        connection, config.watch, timing=replace(timing.watch, resync_s=config.resync_s),
        secret_pace=timing.secret_pace, on_change=on_change)


def status_writer(config: Config, connection: Connection, cluster: ClusterWatcher,
                  settings: StatusSettings, *, timing: Timing = DEFAULT) -> StatusWriter:
    """Build the writer of the statuses of one front end."""
    return StatusWriter(
        connection, cluster, settings, selection=config.watch.selection, workers=STATUS_WORKERS,
        timing=replace(timing.statuses, contention_s=config.resync_s / CONTENTION_PART))


def build_statuses(config: Config, connection: Connection, cluster: ClusterWatcher, *,
                   timing: Timing = DEFAULT) -> FrontEndStatuses:
    """Build the writers of statuses, which are called for every Route that the watch stores."""
    statuses = FrontEndStatuses({
        name: status_writer(config, connection, cluster, settings, timing=timing)
        for name, settings in config.route_statuses.items()})
    cluster.watch_routes(statuses.route_updated)
    return statuses


def build_load_balancers(config: Config, connection: Connection, cluster: ClusterWatcher, *,
                         timing: Timing = DEFAULT) -> ObjectStatusWriter:
    """Build the writer of status.loadBalancer of Ingresses."""
    def known(key: Key) -> KnownStatus | None:
        if (ingress := cluster.ingress(key)) is None:
            return None
        return KnownStatus.read(ingress.uid, ingress.resource_version,
                                load_balancer_status(ingress.load_balancer))

    return ObjectStatusWriter(connection, INGRESSES, INGRESS, config.status, known, timing=timing.statuses,
                              subresource="/status", served=cluster.ingress_source)


def build_ingress_routes(config: Config, connection: Connection, cluster: ClusterWatcher,
                         reconciler: Reconciler, events: EventWriter, reports: Reports, stack: ExitStack, *,
                         timing: Timing = DEFAULT) -> IngressRouteReporter | None:
    """Build what reports on IngressRoutes; None if they are not served. The stack stops it."""
    if (source := cluster.ingress_routes) is None:
        return None
    writer = ObjectStatusWriter(connection, INGRESS_ROUTES, INGRESS_ROUTE, config.status,
                                partial(cluster.known_status, "ingress_routes"), timing=timing.statuses)
    stack.callback(writer.stop)
    return IngressRouteReporter(source, reconciler.engine, writer, events, reports,
                                later=reconciler.background.add, selects=cluster.selects)


def build_gateways(config: Config, connection: Connection, cluster: ClusterWatcher, reconciler: Reconciler,
                   events: EventWriter, reports: Reports, stack: ExitStack, *,
                   timing: Timing = DEFAULT) -> GatewayReporter | None:
    """Build what reports on Gateways and their routes; None if they are not served. The stack stops it."""
    if not isinstance(source := cluster.objects(GATEWAY), Gateways):
        return None

    def writer(kind: str, served: Source) -> ObjectStatusWriter:
        return ObjectStatusWriter(
            connection, served, kind, config.status, partial(cluster.known_status, served.field),
            timing=timing.statuses, subresource="/status", served=partial(cluster.source_of, served))

    statuses = GatewayStatuses(writer(GATEWAY_CLASS, GATEWAY_CLASSES), writer(GATEWAY, GATEWAYS),
                               writer(BACKEND_TLS_POLICY, BACKEND_POLICIES),
                               {kind: writer(kind, served) for kind, served in GATEWAY_ROUTES.items()})
    stack.callback(statuses.stop)
    servers = GatewayServers(reconciler.engine, reconciler.device, lambda: reconciler.failures)
    return GatewayReporter(source, cluster, reconciler.engine, servers, statuses, events, reports,
                           later=reconciler.background.add)


def build_cleanup(config: Config, connection: Connection, statuses: FrontEndStatuses) -> FrontEndCleanup:
    """Build what removes entries that were left behind; it does nothing before it is started."""
    return FrontEndCleanup({name: EntryCleanup(
        connection, statuses.of(name), router_name=settings.router_name,
        namespace=config.watch.selection.namespace) for name, settings in config.route_statuses.items()})
