"""The command `f5router plan`: the checks of a pass, and what it would write; nothing is written."""

from collections.abc import Iterable
from contextlib import ExitStack

from f5router.app.first_load import REFUSED_S
from f5router.cli import gateway_steps, survey, terminal
from f5router.cli.survey import Survey, begin
from f5router.config.config import Config
from f5router.icontrol.device import Device
from f5router.kube.api import requests
from f5router.kube.api.api_errors import SHIPPED
from f5router.kube.api.connection import Connection
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.model import names, ownership
from f5router.model.cluster import Key, Subject
from f5router.model.findings import DEVICE_PENDING, worst
from f5router.model.gateway import GATEWAY, ROUTE_KINDS
from f5router.model.ltm import Attachment, DataGroup, IRule, Object, Policy, Pool, Rule
from f5router.model.objects import Ref
from f5router.model.texts import Findings
from f5router.network import node_ports
from f5router.plan import changes
from f5router.plan.change import Plan
from f5router.plan.changes import GroupedProblem, Preview, RejectedRoute
from f5router.reconcile import previous_objects
from f5router.reconcile.reconciler import Reconciler

LEFT_OVER = "No longer needed"
"""Cause of the delete of an object whose owner is not known."""


def plan(config: Config, *, output: str, detailed: bool = False, refused_s: float = REFUSED_S) -> int:
    """Print what `run` would write, and what would prevent it from serving; returns the exit status.

    Args: detailed: see Preview.exit_status.
    """
    with ExitStack() as stack:
        preview, _ = look(config, stack, refused_s=refused_s)
    if output == "json":
        print(changes.as_json(preview))
    else:
        terminal.show(changes.as_text(preview))
    return preview.exit_status(detailed=detailed)


def look(config: Config, stack: ExitStack, *, refused_s: float = REFUSED_S) -> tuple[Preview, Device]:
    """Read cluster and BIG-IP, and plan; the Preview has what cannot be read as a problem."""
    survey = begin(config, stack)
    survey.read_cluster(refused_s)
    survey.read_device()
    problems: list[str] = []
    if survey.knows_cluster:
        problems += _status_problem(config, survey.connection, survey.cluster)
        problems += survey.cluster.unread_secrets()
    else:
        problems += survey.unread_cluster()
    if survey.error is not None:
        problems.append(f"BIG-IP {config.bigip_names}: {survey.error}")
    reconciler, device = survey.reconciler, survey.device
    plan = survey.plan() if survey.is_complete else None
    findings = sum(survey.findings().values(), Findings()) if survey.is_complete else Findings()
    if not config.allow_mass_delete:
        findings += Findings(warnings=_mass(*reconciler.guard.figures))
    findings += Findings(warnings=tuple(
        f"policy draft {draft}: `run` deletes it, whoever made it: it edits policies in drafts of its own. "
        "Keep a copy of what is needed" for draft in device.unit.policies.strange_drafts))
    if survey.is_complete:
        problems, findings = _with_empty_pools(reconciler, config, problems, findings)
    if survey.is_complete:
        held = reconciler.retention.unread_problem
        problems += [held] if held else []
        findings += Findings(warnings=survey.cluster.problems())
    refused = reconciler.verdicts.problems(written=False)
    return Preview(
        plan, (*(GroupedProblem(text) for text in (*problems, *findings.problems)), *refused),
        (*_rejected(reconciler, refused), *(_refused(survey) if survey.is_complete else ())),
        previous_objects.lost_routes(reconciler.engine, device.observed), findings.warnings,
        _causes(reconciler, plan or ())), device


def _with_empty_pools(reconciler: Reconciler, config: Config, problems: list[str],
                      findings: Findings) -> tuple[list[str], Findings]:
    """Add the pools that would have no member: as problems if the settings take away what is served."""
    empty = list(survey.find_empty_pools(reconciler))
    kept = "" if config.allow_mass_delete else "; `run` lets them keep their pods until one has"
    texts = [f"{each}{kept if each.is_loss and each.cause == node_ports.UNPUBLISHED else ''}"
             for each in empty if each.is_problem]
    return [*problems, *texts], findings + Findings(
        warnings=tuple(str(each) for each in empty if not each.is_problem and each.is_loss))


def _causes(reconciler: Reconciler, plan: Plan) -> dict[Ref, str]:
    """Return the Route that asks for each object, if only one does, or that did before it was gone."""
    changing, engine = {change.ref for change in plan}, reconciler.engine
    users: dict[Ref, set[Key]] = {}
    for key in engine.routes():
        for ref in changing & engine.closure(engine.uses(key)):
            users.setdefault(ref, set()).add(key)
    shared = {change.ref for change in plan if _is_shared(change.obj)}
    causes = {ref: names.label(min(keys), "Route") if len(keys) == 1 else "Several Routes"
              for ref, keys in users.items() if ref not in shared}
    for change in plan:
        if change.new is None and change.ref not in causes and change.ref not in shared & users.keys():
            gone = names.route_key(change.old.name) if isinstance(change.old, Rule) else None
            causes[change.ref] = f"{names.label(gone, 'Route')}, no longer served" if gone else LEFT_OVER
    return causes


def _is_shared(obj: Object) -> bool:
    """True for an object that all Routes have in common, even where only one needs it now."""
    kind = obj.target_kind if isinstance(obj, Attachment) else obj.ref.kind
    return kind in (Policy.KIND, DataGroup.KIND, IRule.KIND) or (
        isinstance(obj, Pool) and not ownership.is_of_service(obj.path))


def _mass(deletes: int, total: int) -> tuple[str, ...]:
    return (f"{deletes} of {total} serving objects would be removed: `run` holds such deletes until a second "
            "list of the cluster confirms them",) if deletes else ()


def _status_problem(config: Config, connection: Connection, cluster: ClusterWatcher) -> Iterable[str]:
    """Yield why no status can be written, where the API server says so. Either of the verbs is enough."""
    group = cluster.route_source().api_version.rpartition("/")[0]
    namespace = config.watch.selection.namespace or ""
    if config.status.enabled and all(
            requests.may(connection, verb, "routes", subresource="status", group=group,
                         namespace=namespace) is False for verb in ("patch", "update")):
        yield ("no status of a Route can be written: the right to patch or update routes/status is missing; "
               f"grant it with: oc apply -f {SHIPPED}")


def _refused(survey: Survey) -> Iterable[RejectedRoute]:
    """Yield Gateways and their routes that are refused, or lack something, outside of their Routes."""
    for kind in (GATEWAY, *ROUTE_KINDS):
        for key in gateway_steps.keys(survey, kind):
            obj = gateway_steps.find(survey, kind, key)
            broken = next((step for step in obj.steps if step.is_broken), None) if obj else None
            if broken is not None and (first := worst(broken.problems)) is not None:
                where = f"{broken.name}: " if kind == GATEWAY else ""
                yield RejectedRoute(key, first.code, f"{where}{first.text}", Subject(kind, key))


def _rejected(reconciler: Reconciler, refused: Iterable[GroupedProblem]) -> Iterable[RejectedRoute]:
    """Routes that would not be served: for what is in them, or because of a problem."""
    texts: dict[Key, str] = {key: problem.text for problem in refused for key in problem.routes}
    for key in sorted(reconciler.engine.routes()):
        verdict = reconciler.verdicts.verdict(key)
        if verdict is not None and verdict.admitted is False:
            yield RejectedRoute(key, verdict.reason, texts.get(key, verdict.message),
                                _origin(reconciler, key))
        elif key in texts:
            yield RejectedRoute(key, DEVICE_PENDING, texts[key], _origin(reconciler, key))


def _origin(reconciler: Reconciler, key: Key) -> Subject | None:
    """Return the object of a virtual Route that is in another namespace than its Services."""
    route = reconciler.engine.routes()[key].route
    return route.subject if route.subject.key.namespace != key.namespace else None
