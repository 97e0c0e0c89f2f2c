"""Parts of a router, made of a Config: the BIG-IP, the API server, what is watched and written there."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from f5router.app.config_sync import ConfigSyncer
from f5router.config.config import Config
from f5router.icontrol.config_sync import ConfigSync
from f5router.icontrol.device import Device
from f5router.icontrol.rest.client import Client
from f5router.icontrol.uploads.leftovers import Origin
from f5router.icontrol.uploads.ssh_upload import SSHUploader
from f5router.icontrol.writers.files import FileWriter
from f5router.kube.api.connection import Connection
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.entry_cleanup import EntryCleanup
from f5router.kube.status.status_writer import StatusWriter

CONTENTION_PART = 10
"""A contended Route is left alone for this part of --resync-interval. Source:
openshift/router, pkg/router/controller/contention.go and pkg/cmd/infra/router/template.go."""

STATUS_WORKERS = 4
"""Status writes under way at once: at 0.2 s each, --status-rate's default is kept."""

DRAIN_S = 0.25
"""Time that a BIG-IP has to connect a request to the pod that was chosen for it."""


def build_device(config: Config, stack: ExitStack) -> Device:
    """The device of a Config; closed with the stack."""
    client = stack.enter_context(Client(config.bigip))
    uploader = SSHUploader(config.ssh) if config.cert_upload == "ssh" else None
    device = Device(
        client, FileWriter(client, uploader, origin=Origin(config.folder), sleep=time.sleep),
        folder=config.folder,
        http_virtual=config.http_virtual, https_virtual=config.https_virtual,
        policy_model=config.policy_model, node_partition=config.node_partition,
        vxlan=config.vxlan is not None, static_routes=config.static_routes,
        max_in_flight=config.bigip.max_in_flight, drain_s=DRAIN_S,
    )
    stack.callback(device.close)
    return device


def build_syncer(config: Config, device: Device) -> ConfigSyncer:
    """What follows the config sync of the device after changes."""
    return ConfigSyncer(
        ConfigSync(device.client), mode=config.config_sync, require_active=device.failover.require_active,
        folder=lambda: device.folder, clock=time.monotonic,
    )


def build_cluster(config: Config, connection: Connection, on_change: Callable[[], None]) -> ClusterWatcher:
    """The watches of a Config, not yet started; Nodes only where something on the BIG-IP follows them."""
    vxlan, nodeport = config.vxlan is not None, config.nodeport
    return ClusterWatcher(
        connection, selection=config.selection, use_endpoints=config.watch_endpoints,
        watch_nodes=vxlan or config.static_routes, watch_sdn=vxlan, nodeport=nodeport is not None,
        node_selector=nodeport.selector if nodeport else "", watch_secrets=config.admission.external,
        secret_limits=config.secret_limits,
        resync_s=config.resync_s, on_change=on_change,
    )


def build_statuses(config: Config, connection: Connection, cluster: ClusterWatcher) -> StatusWriter:
    """The writer of statuses, which hears of every status that the watch tells."""
    statuses = StatusWriter(
        connection, cluster, router_name=config.router_name, selection=config.selection,
        canonical_hostname=config.canonical_hostname, rate_per_s=config.status_rate,
        workers=STATUS_WORKERS, enabled=config.update_status, contention_s=config.resync_s / CONTENTION_PART,
    )
    cluster.watch_routes(statuses.route_updated)
    return statuses


def build_cleanup(config: Config, connection: Connection, statuses: StatusWriter) -> EntryCleanup:
    """Build what removes entries that were left behind; it does nothing before it is started."""
    return EntryCleanup(
        connection, statuses, router_name=config.router_name, namespace=config.selection.namespace)
