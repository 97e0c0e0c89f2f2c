"""The command `f5router run`: a router built of its parts, and run."""

import gc
import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from f5router.app import once as single
from f5router.app.controller import Controller
from f5router.app.debounce import EventSignal
from f5router.app.device_watch import DeviceWatch
from f5router.app.front_end_file import FrontEndFile
from f5router.app.incidents import Incidents
from f5router.app.ingress_reporter import IngressReporter
from f5router.app.monitor import build_monitor
from f5router.app.reports import Reports
from f5router.app.server_watch import ServerWatch
from f5router.app.settling import Settling
from f5router.app.status_reporter import StatusReporter
from f5router.app.status_source import serve
from f5router.app.timing import DEFAULT, Timing
from f5router.app.wiring import (
    asks_for_gateways,
    build_campaign,
    build_cleanup,
    build_cluster,
    build_device,
    build_gateways,
    build_ingress_routes,
    build_load_balancers,
    build_statuses,
    build_syncer,
    status_writer,
    with_sources,
    write_permit,
)
from f5router.config.config import Config
from f5router.desired.engine import Engine
from f5router.kube.api.connection import connect
from f5router.kube.status.events import EventWriter
from f5router.kube.watch.api_look import APILook
from f5router.model.containment import FailureLog
from f5router.model.errors import ConfigError
from f5router.reconcile.inbox import Inbox
from f5router.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)


def build_controller(
    config: Config, stack: ExitStack, *, timing: Timing = DEFAULT,
    clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] | None = None,
    on_gateways: Callable[[], bool] = lambda: True,
) -> Controller:
    """Build everything that runs, and start it; the stack stops it.

    Args:
        sleep: of the device; None for waits that give_up ends.
        on_gateways: called from a thread when Gateways are to be served that the settings leave out so far;
            returns False if it is to be called again later.
    """
    signal, inbox = EventSignal(clock), Inbox()
    campaign = build_campaign(config, stack)
    permit = write_permit(config, campaign)
    connection = connect(config.kube, permit)
    cluster = build_cluster(config, connection, signal.notify, timing=timing)
    device = build_device(config, stack, timing=timing, clock=clock, sleep=sleep, permit=permit)
    reconciler = Reconciler(
        Engine(config, on_failure=FailureLog()), device, folder=config.folder, clock=clock,
        drain_s=timing.passthrough_drain_s, allow_mass_delete=config.allow_mass_delete, facts_first=True,
        inbox=inbox, slice_s=timing.slice_s)
    statuses = build_statuses(config, connection, cluster, timing=timing)
    events = EventWriter(
        connection, router_name=config.status.router_name, route_source=cluster.route_source)
    reports = Reports()
    load_balancers = build_load_balancers(config, connection, cluster, timing=timing)
    ingresses = IngressReporter(
        cluster, reconciler.engine, load_balancers, events, reports,
        hostnames={name: each.canonical_hostname for name, each in config.route_statuses.items()})
    ingress_routes = build_ingress_routes(
        config, connection, cluster, reconciler, events, reports, stack, timing=timing)
    gateways = build_gateways(
        config, connection, cluster, reconciler, events, reports, stack, timing=timing)
    syncer = build_syncer(config, device, timing=timing.sync, clock=clock)
    settling = Settling(device, syncer, save=config.save_config, timing=timing, clock=clock)
    servers = ServerWatch(device, lambda: reconciler.failures, clock=clock)
    incidents = Incidents(
        reconciler, settling, servers,
        DeviceWatch(device, user=config.bigip.username, partition=config.partition, periods=timing.device,
                    clock=clock),
        api_clock=connection.clock_offset,
        cluster=cluster, outages=connection.outages, clock=clock)
    controller = Controller(
        config, cluster, reconciler, signal,
        build_monitor(config, cluster, reconciler, statuses, events, settling, servers, incidents,
                      ingress_routes=ingress_routes.counts if ingress_routes else None,
                      gateways=gateways.counts if gateways else None, campaign=campaign),
        StatusReporter(cluster, reconciler, statuses, events, reports, clean=config.cleans,
                       ingresses=ingresses, ingress_routes=ingress_routes, gateways=gateways),
        settling,
        campaign=campaign, timing=timing, clock=clock)
    controller.upkeep.front_ends = FrontEndFile(
        config, cluster, reconciler, statuses, ingresses, timers=controller.timers, clock=clock,
        new_writer=lambda settings: status_writer(config, connection, cluster, settings, timing=timing))
    cleanup = build_cleanup(config, connection, statuses)
    if config.cleans:
        controller.on_loaded = cleanup.start
    look = APILook(connection, cluster.reads, on_result=cluster.record_look, at_secret=cluster.look_at_secret,
                   period_s=timing.api_look_s)
    for worker in (statuses, load_balancers, events, cluster, cleanup, look):
        stack.callback(worker.stop)
    cluster.demand.on_found = on_gateways
    cluster.start()
    look.start()
    return controller


def require_alone(config: Config, what: str) -> None:
    """Refuse what writes without an election. Raises: ConfigError: the settings ask for one."""
    if config.lease is not None:
        raise ConfigError([f"--leader-elect / ROUTER_LEADER_ELECT: {what} does not take part in an election; "
                           "stop all routers, and set it to false"])


def run(config: Config, *, once: bool, stop: threading.Event, timing: Timing = DEFAULT) -> int:
    """Run a router, for one pass or until the event is set; returns the exit status.

    It starts anew, in the same process, when a GatewayClass asks for Gateways: desired objects, watches and
    statuses all depend on it, and like any restart this reads all files, and writes only what is new.

    Raises: ConfigError: see require_alone; the address for metrics cannot be used.
    """
    if once:
        require_alone(config, "--once")
    if asks_for_gateways(config):  # otherwise each start would be two
        config = with_sources(config, config.watch.sources.with_gateways())
    while True:
        ending, successors = _follower(stop) if config.watch.sources.on_demand else stop, list[Config]()
        status = _run(config, once=once, stop=ending, timing=timing,
                      on_gateways=partial(_start_anew, config, successors, ending))
        if stop.is_set() or not successors:
            return status
        log.info("starting anew, to serve Gateways")
        config = successors[0]
        gc.collect()  # what has ended has cycles, and as much is to come


def _start_anew(config: Config, successors: list[Config], ending: threading.Event) -> bool:
    """Add the settings to go on with, and end the router; False if a file cannot be used at the moment."""
    try:
        again = config.again() if config.again else config
    except ConfigError as exc:
        log.error("Gateways not served: the router cannot start anew, trying again later", extra={
            "problem": str(exc)})
        return False
    sources = again.watch.sources
    successors.append(with_sources(again, sources.with_gateways()) if sources.on_demand else again)
    ending.set()
    return True


def _follower(event: threading.Event) -> threading.Event:
    """Return an event that is set with another one, or alone."""
    follower = threading.Event()

    def wait() -> None:
        event.wait()
        follower.set()

    threading.Thread(target=wait, daemon=True, name="ending").start()
    return follower


def _run(config: Config, *, once: bool, stop: threading.Event, timing: Timing,
         on_gateways: Callable[[], bool]) -> int:
    with ExitStack() as stack:
        controller = build_controller(config, stack, timing=timing, on_gateways=on_gateways)
        if not once:
            stack.enter_context(serve(config, controller, stop))
            controller.run(stop)
            return 0
        controller.device.watch_stop(stop, controller.inbox.wake)
        reasons = single.converge(controller, stop, timing=timing)
        for reason in reasons:
            log.error("not converged", extra={"reason": reason})
        return 1 if reasons else 0
