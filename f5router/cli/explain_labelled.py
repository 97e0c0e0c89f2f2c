"""The command `explain KIND -l SELECTOR`: the Routes of all objects with some labels, as `kubectl describe`.

The BIG-IP is asked for the statistics of all pools with one call, and about each pool of which not every
member is active with one more. The cluster is asked for one list of the kind.
"""

from collections.abc import Collection, Mapping, Sequence

from f5router.app.first_load import REFUSED_S
from f5router.cli import look
from f5router.cli.explain_objects import (
    DOT,
    is_well,
    parts_of,
    print_lack,
    print_missing,
    print_object,
    print_routes,
)
from f5router.cli.look import BROKEN, WELL, Unreadable, Views, looked, refused
from f5router.cli.pool_states import PoolReader
from f5router.cli.survey import Survey
from f5router.config.config import Config
from f5router.kube.watch.sources import OBJECTS, SERVICES
from f5router.model.cluster import Key, Subject
from f5router.model.gateway import SERVICE
from f5router.model.texts import number_of
from f5router.views import chain
from f5router.views.chain import Step
from f5router.views.route_view import RouteView

MOST_OBJECTS = 50
"""Objects that are explained at a time."""


def explain(config: Config, kind: str, labels: str, namespace: str, *, output: str,
            most: int = MOST_OBJECTS, refused_s: float = REFUSED_S) -> int:
    """Print the chains of the Routes of all objects with these labels; returns the exit status.

    It is BROKEN also if an object has no Route, or there are more objects than are explained.

    Args: kind: such as "Route"; namespace: "" for all; output: as that of explain_routes;
        most: objects that are explained.
    """
    source = SERVICES if kind == SERVICE else OBJECTS[kind]
    try:
        with looked(config, refused_s) as survey:
            labelled = sorted(look.labelled(survey, source, labels, namespace))
            keys = labelled[:most]
            shown = _views(survey, kind, keys)
            parts = {key: parts_of(survey, Subject(kind, key)) for key in keys}
    except Unreadable as exc:
        return refused(exc)
    if not labelled:
        return print_lack(f"no {kind} has these labels{f' in namespace {namespace}' if namespace else ''}")
    if output == DOT:
        print(chain.dot([view for views in shown.values() for view in views]))
    else:
        _print(kind, shown, parts)
    if more := len(labelled) - len(keys):
        print_lack(f"{number_of(more, kind)} more: choose fewer by other labels, or with -n")
    all_served = all((views or parts[key]) and is_well(views, parts[key]) for key, views in shown.items())
    return WELL if all_served and not more else BROKEN


def _views(survey: Survey, kind: str, keys: Collection[Key]) -> dict[Key, list[RouteView]]:
    """Return the views of the Routes of each object."""
    shown: dict[Key, list[RouteView]] = {key: [] for key in keys}
    for view in Views(survey, PoolReader(survey.device, all_at_once=True)).routes(
            lambda view: not shown.keys().isdisjoint(_objects(kind, view))):
        for key in _objects(kind, view):
            if key in shown:
                shown[key].append(view)
    return shown


def _objects(kind: str, view: RouteView) -> set[Key]:
    """Return the objects of a kind that a Route comes from, or names."""
    if kind == SERVICE:
        return {Key(view.namespace, service.name) for service in view.services}
    return {view.source} if view.kind == kind else set()


def _print(kind: str, shown: Mapping[Key, Sequence[RouteView]],
           parts: Mapping[Key, Sequence[Step]]) -> None:
    for number, (key, views) in enumerate(shown.items()):
        if number:
            print()
        if views or parts[key]:
            print_object(Subject(kind, key), parts[key], is_followed=bool(views))
            print_routes(views)
        else:
            print_missing(kind, key)
