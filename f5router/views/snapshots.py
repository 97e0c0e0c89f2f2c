"""Takes records of Routes and Nodes from a Reconciler.

Only the thread that owns the Reconciler may do it: the control loop, or a command with a Reconciler of its
own. They collect references; `routes` and `nodes` yield between steps of a millisecond.
"""

from collections.abc import Iterable, Mapping

from f5router.admission.admission import EvaluatedRoute
from f5router.model import tls_names
from f5router.model.cluster import Key
from f5router.model.limits import Steps
from f5router.model.ltm import CertFile, ClientSSL
from f5router.model.ltm_nodes import Incomplete
from f5router.model.objects import Ref
from f5router.reconcile.reconciler import Reconciler
from f5router.views.records import Known, NodeRecord, RouteRecord
from f5router.views.requests import NeededObject

ROUTES_OF_A_STEP, NODES_OF_A_STEP = 10, 200


def route(reconciler: Reconciler, key: Key, known: Known | None = None) -> RouteRecord | None:
    """Return the record of a Route; None if there is no such Route.

    Args: known: the last verdict that was reported; without it the verdict is found anew.
    """
    engine = reconciler.engine
    if (evaluated := engine.routes().get(key)) is None:
        return None
    http, https = engine.front_ends.pair(key.front_end, reconciler.device.facts)
    return RouteRecord(
        evaluated, known or Known(reconciler.verdicts.verdict(key)), reconciler.verdicts.waits_for(key),
        reconciler.reports.warnings(key),
        _needed(reconciler, sorted(engine.closure(engine.uses(key)))),
        engine.pool_of(key), _certificate(reconciler, evaluated), http, https)


def routes(reconciler: Reconciler, keys: Iterable[Key],
           known: Mapping[Key, Known] | None = None) -> Steps[tuple[RouteRecord, ...]]:
    """Collect the records of Routes, without those that are gone.

    Args: known: by Route, the last verdicts that were reported; None to find all of them anew.
    """
    records = []
    for number, key in enumerate(keys, start=1):
        reported = None if known is None else known.get(key, Known(None))
        if (record := route(reconciler, key, reported)) is not None:
            records.append(record)
        if number % ROUTES_OF_A_STEP == 0:
            yield
    return tuple(records)


def nodes(reconciler: Reconciler) -> Steps[tuple[NodeRecord, ...]]:
    """Collect the records of all Nodes."""
    cluster, records = reconciler.engine.cluster, []
    for number, (key, node) in enumerate(sorted(cluster.nodes.items()), start=1):
        ways = _needed(reconciler, sorted(reconciler.engine.ways.of_node(key)))
        records.append(NodeRecord(
            node, cluster.host_subnets.get(key), ways, cluster.pod_networks(key.name),
            reconciler.engine.ways.problem(key)))
        if number % NODES_OF_A_STEP == 0:
            yield
    return tuple(records)


def _needed(reconciler: Reconciler, refs: Iterable[Ref]) -> tuple[NeededObject, ...]:
    desired, observed, failures = reconciler.engine.objects, reconciler.device.observed, reconciler.failures
    return tuple(
        NeededObject(ref, desired.get(ref), observed.get(ref),
                     reconciler.table.error(ref).text if ref in failures else "",
                     ref in failures and isinstance(reconciler.table.error(ref), Incomplete))
        for ref in refs)


def _certificate(reconciler: Reconciler, evaluated: EvaluatedRoute) -> str:
    """Return the certificate of the Host's client SSL profile, whichever of its Routes has brought it."""
    objects = reconciler.engine.objects
    if evaluated.termination not in ("edge", "reencrypt") and not evaluated.is_ended:
        return ""
    profile = objects.get(Ref(ClientSSL.KIND, tls_names.client_ssl(
        reconciler.engine.folder, evaluated.host, evaluated.route.key.front_end)))
    if not isinstance(profile, ClientSSL):
        return ""
    file = objects.get(Ref(CertFile.KIND, profile.cert))
    return file.pem if isinstance(file, CertFile) else ""
