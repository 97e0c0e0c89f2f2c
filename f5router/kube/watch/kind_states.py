"""The kinds that are watched, and the state of each."""

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from f5router.kube.settings import WatchSettings
from f5router.kube.watch.sources import (
    ALONE,
    CLUSTER_NETWORKS,
    ENDPOINTS,
    GATEWAY_ROUTES,
    HOST_SUBNETS,
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
from f5router.model.cluster import Key
from f5router.model.findings import KIND_NOT_READABLE
from f5router.model.gateway import GATEWAY
from f5router.model.selection import EVERYTHING
from f5router.sources.settings import ROUTE, origins
from f5router.sources.translator import ObjectSource

log = logging.getLogger(__name__)

OF_SDN = (HOST_SUBNETS, CLUSTER_NETWORKS)
"""Read to check settings."""
OPTIONAL = (*OF_SDN, *POD_NETWORKS)
"""It is no problem if they are forbidden or not served."""

ABSENT_LOOKS = 3
"""Looks in a row that must not find a kind before it counts as one without objects: an API server that starts
may answer 404 for kinds that it serves a moment later."""


class KindStates:
    """The states of all watched kinds; safe to use from several threads."""

    def __init__(self, sources: Iterable[Source], dispensable: Collection[Source],
                 clock: Callable[[], float] = time.monotonic):
        """Arguments:
        dispensable: kinds that are not awaited while they cannot be read.
        """
        self._lock, self._clock = threading.Lock(), clock
        self._awaited = set(sources)
        self._dispensable = frozenset(dispensable)
        self._listed: set[Source] = set()
        self._problems: dict[Source, str] = {}
        self._looked: dict[Source, str] = {}
        """Why a look found that kinds are forbidden, though a watch of them may go on."""
        self._absent: dict[Source, int] = {}
        """Kinds that the API server does not serve, with the number of looks in a row that showed it."""
        self._refused_at: dict[Source, float] = {}
        """When a kind could not be read for the first time."""
        self._absence, self._absent_at = "", math.inf
        """Why nothing can be read: the only namespace does not exist; and since when."""

    def record_list(self, source: Source) -> bool:
        """Record a complete list.

        Returns: True for the first list of a dispensable kind, and of one that was known to be absent.
        """
        with self._lock:
            is_first = source not in self._listed
            self._listed.add(source)
            self._awaited.discard(source)
            was_absent = self._absent.pop(source, 0) >= ABSENT_LOOKS
        return was_absent or (is_first and source in self._dispensable)

    def record_problem(self, source: Source, problem: str) -> bool:
        """Record why a kind cannot be read, "" if it can; returns True if the kind is no longer awaited."""
        with self._lock:
            known = self._problems.get(source) or self._looked.pop(source, "")
            if problem:
                self._problems[source] = problem
                self._refused_at.setdefault(source, self._clock())
            else:
                self._problems.pop(source, None)
                self._absent.pop(source, None)
            given_up = bool(problem) and source in self._dispensable
            if given_up:
                self._awaited.discard(source)
        _log_problem(source, known, problem)
        return given_up

    def record_look(self, source: Source, problem: str) -> None:
        """Record that a look found a kind forbidden, "" if it did not."""
        with self._lock:
            if source in self._problems:
                return
            known = self._looked.pop(source, "")
            if problem:
                self._looked[source] = problem
        _log_problem(source, known, problem)

    def record_absence(self, source: Source, *, sure: bool = False) -> bool:
        """Record that the API server does not serve a kind, which is no problem and not awaited.

        Args: sure: one look is enough.
        Returns: True if that is news: for the first time, and when it is settled.
        """
        with self._lock:
            before = self._absent.get(source, 0)
            looks = self._absent[source] = max(before + 1, ABSENT_LOOKS if sure else 0)
            self._awaited.discard(source)
            self._problems.pop(source, None)
        if not before:
            log.info("kind not served by the API server, checking again later",
                     extra={"kind": source.resource})
        return before == 0 or before < ABSENT_LOOKS <= looks

    def record_namespace(self, namespace: str, problem: str) -> None:
        """Record why the only namespace cannot be read, "" when it exists."""
        with self._lock:
            self._absence, self._absent_at = problem, self._clock() if problem else math.inf
        if problem:
            log.error("changing nothing until the namespace exists", extra={"problem": problem})
        else:
            log.info("namespace found", extra={"namespace": namespace})

    def is_complete(self) -> bool:
        """True if no kind is awaited."""
        with self._lock:
            return not self._awaited

    def is_listed(self, source: Source) -> bool:
        """True if a list of the kind was complete at some time."""
        with self._lock:
            return source in self._listed

    def unread(self, kinds: Collection[str]) -> frozenset[str]:
        """Return those of the kinds of objects to serve that are not known.

        Objects of the Gateway API say something together only: a Gateway without its HTTPRoutes would answer
        their requests with 404. Those of the kinds in ALONE say nothing of others.
        """
        needed = {kind: SERVED[kind] if kind == GATEWAY else SERVED[kind][:1] for kind in kinds}
        alone = (kind for source, kind in ALONE.items() if GATEWAY in kinds and not self.is_known(source))
        return frozenset((*alone, *(
            origin for kind, sources in needed.items() for origin in origins(kind)
            if not all(self.is_known(source, may_vanish=kind != ROUTE)
                       for source in sources if source not in ALONE))))

    def is_known(self, source: Source, *, may_vanish: bool = True) -> bool:
        """True if all objects of a kind are known: it was listed, or there can be none.

        Args: may_vanish: a kind that is not served for long has no objects.
        """
        with self._lock:
            return source in self._listed or (may_vanish and self._absent.get(source, 0) >= ABSENT_LOOKS)

    def absent(self, kinds: Collection[str]) -> frozenset[str]:
        """Return the kinds of routes of the Gateway API that the API server does not serve.

        Args: kinds: as of `unread`.
        """
        with self._lock:
            return frozenset(kind for kind, source in GATEWAY_ROUTES.items()
                             if GATEWAY in kinds and self._absent.get(source, 0) >= ABSENT_LOOKS)

    def problem(self, source: Source) -> str:
        """Return why a kind cannot be read; "" if it can, or is not watched."""
        with self._lock:
            return self._problems.get(source, "")

    def problems(self) -> tuple[str, ...]:
        """Return why kinds cannot be read, apart from optional ones."""
        with self._lock:
            return tuple(text for source, text in self._problems.items() if source not in OPTIONAL)

    def unreadable(self) -> set[str]:
        """Return the resources that cannot be read, apart from optional ones."""
        with self._lock:
            return {source.resource for source in self._current() if source not in OPTIONAL}

    def missing(self) -> tuple[str, ...]:
        """Return which kinds are not listed yet, and which cannot be read, apart from dispensable ones."""
        with self._lock:
            if self._absence:
                return (self._absence,)
            refused = [f"{KIND_NOT_READABLE}: {text}" for source, text in self._current().items()
                       if source not in self._dispensable]
            awaited = self._awaited - self._problems.keys()
        return (*(f"{source.resource} are not listed yet" for source in awaited), *refused)

    def degraded(self) -> tuple[str, ...]:
        """Return why dispensable kinds cannot be read, apart from optional ones."""
        with self._lock:
            return tuple(f"{KIND_NOT_READABLE}: {text}" for source, text in self._current().items()
                         if source in self._dispensable and source not in OPTIONAL)

    def _current(self) -> dict[Source, str]:
        """Return why kinds cannot be read, by their watches or by looks. Needs the lock."""
        return {**self._looked, **self._problems}

    def required(self, sources: Iterable[Source]) -> list[Source]:
        """Return the readable kinds that Routes and their pools need."""
        with self._lock:
            left_out = (self._dispensable & self._problems.keys()) | self._absent.keys()
        return [source for source in sources if source not in OPTIONAL and source not in left_out]

    def refused_since(self) -> float:
        """Return since when an awaited kind is refused, or the namespace absent; infinite if none is."""
        with self._lock:
            if self._absence:
                return self._absent_at
            return min((at for source, at in self._refused_at.items() if source in self._awaited),
                       default=math.inf)


def undecided(translated: Mapping[str, ObjectSource], kinds: KindStates) -> frozenset[tuple[str, Key]]:
    """Return the objects of kinds that are known, while a kind that decides about them is not."""
    return frozenset(
        (origin, key) for kind, source in translated.items()
        if not all(kinds.is_known(other) for other in SERVED[kind][1:] if other not in ALONE)
        for key in source.undecided() for origin in origins(kind))


def _log_problem(source: Source, known: str, problem: str) -> None:
    """Log that a kind cannot be read, or can be again. Args: known: the problem before."""
    if problem and not known:
        level = logging.INFO if source in OPTIONAL else logging.ERROR
        log.log(level, "kind not readable", extra={"kind": source.resource, "error": problem})
    elif known and not problem:
        log.info("kind readable again", extra={"kind": source.resource})


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
    if selection.by_namespace or any(each.namespace_labels for each in settings.front_ends):
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
