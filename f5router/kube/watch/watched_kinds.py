"""The kinds that settings ask to watch, and with which selectors."""

from f5router.kube.settings import WatchSettings
from f5router.kube.watch.kind_states import OF_SDN
from f5router.kube.watch.sources import (
    ENDPOINTS,
    INGRESS_ROUTES,
    INGRESSES,
    LOCATED_ENDPOINTS,
    LOCATED_SLICES,
    NAMESPACES,
    NODES,
    PLACED_ENDPOINTS,
    PLACED_SLICES,
    POD_NETWORKS,
    PROJECTS,
    ROUTES,
    SERVED,
    SERVICES,
    SLICES,
    Source,
)
from f5router.model.selection import EVERYTHING
from f5router.sources.translator import ROUTE


def slices(settings: WatchSettings) -> Source:
    """Return the kind that endpoints are read of."""
    of_slices, listed = (
        (PLACED_SLICES, PLACED_ENDPOINTS) if settings.nodeport else
        (LOCATED_SLICES, LOCATED_ENDPOINTS) if settings.nodes else (SLICES, ENDPOINTS))
    return listed if settings.use_endpoints else of_slices


def sources(settings: WatchSettings) -> list[Source]:
    """Return all kinds to watch, without Secrets."""
    selection = settings.selection
    served = [source for kind in settings.sources.kinds for source in SERVED[kind]]
    watched = [*served, SERVICES, slices(settings)]
    if selection.by_namespace:
        watched.append(PROJECTS if selection.project_labels else NAMESPACES)
    if settings.nodes or settings.nodeport:
        watched.append(NODES)
    of_pods = OF_SDN if settings.sdn else POD_NETWORKS if settings.nodes else ()
    return [*watched, *of_pods]


def absentable(settings: WatchSettings) -> set[Source]:
    """Return the kinds that the API server need not serve; Routes, if another kind of object is served."""
    kinds = settings.sources.kinds
    served = {source for kind in kinds if kind != ROUTE or len(kinds) > 1 for source in SERVED[kind]}
    return served | set(POD_NETWORKS)


def selectors(settings: WatchSettings, source: Source) -> dict[str, str]:
    """Return labelSelector and fieldSelector of a kind; empty for everything."""
    selection = settings.selection
    projects = selection.project_labels
    labels = {**dict.fromkeys((ROUTES, INGRESSES, INGRESS_ROUTES), selection.labels),
              NAMESPACES: selection.namespace_labels,
              PROJECTS: projects if projects != EVERYTHING else "", NODES: settings.node_selector}
    texts = {"labelSelector": labels.get(source, ""),
             "fieldSelector": selection.fields if source is ROUTES else ""}
    return {name: text for name, text in texts.items() if text}
