"""Converts the objects of the cluster to the Routes that this router serves.

All sources, the selection by namespaces and the front ends keep the changes of each Delta: one thread at a
time converts.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from f5router.kube.settings import WatchSettings
from f5router.kube.watch import kind_states
from f5router.kube.watch.kind_states import KindStates
from f5router.model.cluster import Key, Route
from f5router.model.containment import FailureLog
from f5router.model.delta import Delta
from f5router.model.gateway import GATEWAY
from f5router.model.limits import Steps, finish
from f5router.model.selection import NamespaceFilter, ObjectFilter
from f5router.model.virtual_server import FrontEndSet
from f5router.sources.front_ends import FrontEndRoutes, FrontEndSelection
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.translator import ObjectSource, Translator


class Conversion:
    """Not thread-safe."""

    def __init__(self, settings: WatchSettings, kinds: KindStates):
        self._selection, self._may_follow, self._kinds = settings.selection, settings.secrets, kinds
        self._under_way: Steps[Delta] | None = None
        self.follow: Callable[[Mapping[Key, Route | None]], None] = lambda users: None
        """Called with what names Secrets, Routes or what stands for them, as it changes."""
        self._translator = Translator(settings.sources, on_failure=FailureLog())
        self._filter, self._secret_filter = NamespaceFilter(), NamespaceFilter()
        self._object_filter = ObjectFilter()
        self._front_ends = FrontEndRoutes(settings.front_ends)
        self._wanted = self._shown = settings.front_end_set
        """Front ends of the settings, and those that a conversion has shown."""

    @property
    def sources(self) -> Mapping[str, ObjectSource]:
        """The converters to Routes, by kind of object; Routes need none."""
        return self._translator.sources

    @property
    def selects_nothing(self) -> bool:
        """True if namespaces are selected, and none is."""
        return self._selection.by_namespace and not self._filter.namespaces

    def selects(self, namespace: str) -> bool:
        """True if Routes of a namespace are served."""
        return not self._selection.by_namespace or namespace in self._filter.namespaces

    def set_front_ends(self, front_ends: FrontEndSet, selections: Iterable[FrontEndSelection]) -> None:
        """Replace the front ends of the settings, which have some; the next conversion shows them."""
        self._wanted = front_ends
        if isinstance(gateways := self.sources.get(GATEWAY), Gateways):
            gateways.set_front_ends(front_ends)
        self._front_ends.set_front_ends(selections)

    def assign_anew(self) -> None:
        """Assign addresses to Gateways by their statuses in the next conversion."""
        if isinstance(gateways := self.sources.get(GATEWAY), Gateways):
            gateways.assign_anew()

    def begin(self, objects: Delta, before: Delta) -> Steps[Delta]:
        """Begin to convert what has changed. Between two steps nothing else may be asked of this object.

        Args: before: Routes that were converted earlier, and are returned too.
        """
        self._under_way = self._converted(objects, before)
        return self._under_way

    def end(self) -> Delta:
        """Do what is left of a conversion, and return its Routes; nothing without one."""
        return finish(self._under_way) if self._under_way is not None else Delta()

    def _converted(self, objects: Delta, before: Delta) -> Steps[Delta]:
        try:
            chosen = yield from self.convert(objects)
            front_ends = before.front_ends if chosen.front_ends is None else chosen.front_ends
            return replace(before, routes={**before.routes, **chosen.routes}, front_ends=front_ends,
                           statuses_due=chosen.statuses_due,
                           undecided=kind_states.undecided(self.sources, self._kinds))
        finally:
            self._under_way = None

    def convert(self, objects: Delta) -> Steps[Delta]:
        """Return the Delta with the Routes that are served; their Secrets are followed from then on."""
        if self._selection.by_namespace:
            objects = self._object_filter.apply(objects)
        delta = yield from self._translator.apply_in_steps(objects)
        if self._selection.by_namespace:
            delta = self._filter.apply(delta)
        chosen = self._front_ends.apply(objects, delta)
        self._follow_secrets(chosen)
        gateways = self.sources.get(GATEWAY)
        further = gateways.front_ends if isinstance(gateways, Gateways) else ()
        front_ends = self._wanted._replace(further=(*self._wanted.further, *further))
        if self._shown != front_ends:
            self._shown = front_ends
            chosen = replace(chosen, front_ends=front_ends)
        return chosen

    def _follow_secrets(self, chosen: Delta) -> None:
        """Follow the Secrets of changed Routes; Secrets of spec.tls.externalCertificate only if allowed.

        Virtual Routes name none there.
        """
        others: Mapping[Key, Route | None] = self._translator.take_secret_users()
        if self._selection.by_namespace:
            others = self._secret_filter.apply(replace(chosen, routes=others)).routes
        users = {**chosen.routes, **others}
        if not self._may_follow:
            users = {key: route if route and (route.tls_secret or route.pod_authority) else None
                     for key, route in users.items()}
        self.follow(users)
