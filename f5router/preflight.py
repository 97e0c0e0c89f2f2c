"""The command `f5router plan`: the checks of a pass, and what it would write; nothing is written."""

import time
from collections.abc import Iterable
from contextlib import ExitStack

from f5router import listing, oldforms
from f5router.assembly import build_cluster, build_connection, build_device
from f5router.cluster import Key
from f5router.config import Config
from f5router.controller import REFUSED_S, SYNC_S
from f5router.errors import BigIPError
from f5router.findings import Findings
from f5router.icontrol import rights
from f5router.icontrol.device import Device
from f5router.incremental import Engine
from f5router.kube.watch import Cluster
from f5router.preview import Preview, RejectedRoute
from f5router.problems import Problem
from f5router.reconcile import Reconciler
from f5router.status import DEVICE_PENDING


def plan(config: Config, *, output: str, detailed: bool = False, refused_s: float = REFUSED_S) -> int:
    """Print what `run` would write and what would keep it from serving; returns the exit status.

    Args: detailed: see Preview.exit_status.
    """
    with ExitStack() as stack:
        preview, _ = look(config, stack, refused_s=refused_s)
    print(listing.as_json(preview) if output == "json" else listing.as_table(preview))
    return preview.exit_status(detailed=detailed)


def look(config: Config, stack: ExitStack, *, refused_s: float = REFUSED_S) -> tuple[Preview, Device]:
    """Read cluster and BIG-IP, and plan; what cannot be read is a problem of the Preview."""
    cluster = build_cluster(config, build_connection(config), lambda: None)
    cluster.start()
    stack.callback(cluster.stop)
    device = build_device(config, stack)
    problems: list[str] = []
    if not cluster.wait_synced(SYNC_S, refused_s=refused_s):
        problems += cluster.missing()
    try:
        device.observe(create_folder=False)
        device.failover.check()
    except BigIPError as exc:
        problems.append(f"BIG-IP {config.bigip.host}: {exc}")
    if problems:
        return Preview(None, tuple(Problem(text) for text in problems)), device
    reconciler = Reconciler(Engine(config), device, folder=config.folder, clock=time.monotonic)
    reconciler.apply(cluster.drain())
    return _preview(config, cluster, reconciler, device), device


def _preview(config: Config, cluster: Cluster, reconciler: Reconciler, device: Device) -> Preview:
    found = reconciler.plan(full=True)
    findings = _findings(config, cluster, reconciler, device)
    reconciler.foresee(found)
    refused = reconciler.problems(written=False)
    return Preview(
        found, (*(Problem(text) for text in findings.problems), *refused),
        tuple(_rejected(reconciler, refused)), oldforms.lost(reconciler.engine, device.observed),
        findings.warnings)


def _findings(config: Config, cluster: Cluster, reconciler: Reconciler, device: Device) -> Findings:
    """What is wrong whatever the Routes are."""
    network, remarks = reconciler.network_findings(), device.failover.remarks()
    nodes = cluster.nodes_problem()
    standby = device.failover.obstacle()
    return (
        Findings(remarks if standby else (), () if standby else remarks)
        + rights.check(device.client, config.bigip.username, config.folder)
        + Findings(tuple(f"way to the pods: {text}" for text in (*((nodes,) if nodes else ()),
                                                                 *network.problems)),
                   tuple(f"way to the pods: {text}" for text in network.warnings))
        + Findings(warnings=cluster.warnings()))


def _rejected(reconciler: Reconciler, refused: Iterable[Problem]) -> Iterable[RejectedRoute]:
    """Routes that would not be served: for what is in them, or because of a problem."""
    texts: dict[Key, str] = {key: problem.text for problem in refused for key in problem.routes}
    for key in sorted(reconciler.engine.routes()):
        verdict = reconciler.verdict(key)
        if verdict is not None and verdict.admitted is False:
            yield RejectedRoute(key, verdict.reason, texts.get(key, verdict.message))
        elif key in texts:
            yield RejectedRoute(key, DEVICE_PENDING, texts[key])
