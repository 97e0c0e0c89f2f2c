"""Views of settings and device, one for each front end: for its objects the others do not exist."""

from collections.abc import Iterable, Iterator, Mapping

from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.host_claims import ClaimResult
from f5router.desired import client_tls
from f5router.desired.contributions import HostObjects
from f5router.desired.default_certificate import DefaultCertificates, profile_ref
from f5router.desired.settings import DesiredSettings
from f5router.model import tls_names
from f5router.model.client_tls import TLSFiles
from f5router.model.cluster import Key
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.findings import NOT_ADMITTED
from f5router.model.front_end_names import front_end_of
from f5router.model.ltm import ClientSSL
from f5router.model.objects import Ref
from f5router.model.small import compact
from f5router.model.virtual_server import FrontEnd, listeners

View = tuple[DesiredSettings, DeviceFacts]


class FrontEndViews:
    """Not thread-safe."""

    def __init__(self, config: DesiredSettings):
        self._config, self._facts = config, DeviceFacts()
        self._further: dict[str, FrontEnd] = {}
        """All but the one without a name."""
        self._own_defaults: list[str] = []
        """Those among them whose default certificate is a Gateway's."""
        self._awaiting_clients: list[str] = []
        """Those among them whose authorities for clients are not known."""
        self.unread: dict[str, tuple[Key, ...]] = {}
        """See FrontEnd.unread, where there are any."""
        self.defaults = DefaultCertificates()
        self._views: dict[str, View] = {}
        """Those that were asked for, by front end."""
        self._set_further(config.further_front_ends)

    def __iter__(self) -> Iterator[str]:
        """Return the names of all front ends."""
        return iter(("", *self._further))

    def get(self, name: str) -> View | None:
        """Return the settings and the facts of a front end; None if there is none of this name."""
        if name not in self._views:
            if not name:
                self._views[name] = self._config, self._facts
            elif (front_end := self._further.get(name)) is not None:
                view = self._config.of_front_end(front_end)
                self._views[name] = view, self._facts.of_front_end(front_end.http, front_end.https)
        return self._views.get(name)

    def virtuals(self, name: str) -> list[VirtualFacts]:
        """Return the virtual servers of a front end, as far as they are known."""
        if (view := self.get(name)) is None:
            return []
        config, facts = view
        paths = {config.http_virtual, config.https_virtual, *(
            each.virtual for each in listeners(config.front_ends))}
        return [each for each in (facts.http, facts.https, *facts.further) if each and each.path in paths]

    def files(self, name: str, files: TLSFiles) -> TLSFiles:
        """Return the files for TLS towards clients of a front end. Args: files: the administrator's."""
        further = self._further.get(name)
        return self.defaults.files(further, files.with_clients(further.validation if further else None))

    def awaited_profiles(self) -> frozenset[Ref]:
        """Return the profiles whose default certificates, or authorities for clients, are not known yet."""
        views = filter(None, map(self.get, self.defaults.awaited(self._own_defaults)))
        defaults = [profile_ref(view[0]) for view in views]
        asking = filter(None, map(self.get, self._awaiting_clients))
        return frozenset(defaults).union(*(
            (Ref(ClientSSL.KIND, path) for path in client_tls.parent_paths(*view)) for view in asking))

    def facts(self, name: str, facts: DeviceFacts) -> DeviceFacts:
        """Return facts about the device as a front end has them."""
        further = self._further.get(name)
        return facts.of_front_end(further.http, further.https) if further else facts

    def pair(self, name: str, facts: DeviceFacts) -> tuple[VirtualFacts | None, VirtualFacts | None]:
        """Return the HTTP and the HTTPS virtual server of the first address of a front end.

        One that carries TCP of any kind stands in place of the latter.
        """
        further = self._further.get(name)
        own = facts.of_front_end(further.http, further.https or further.tcp) if further else facts
        return own.http, own.https

    def _set_further(self, front_ends: Iterable[FrontEnd]) -> None:
        self._further = {each.name: each for each in front_ends}
        self._own_defaults = [name for name, each in self._further.items() if each.own_default]
        self._awaiting_clients = [name for name, each in self._further.items()
                                  if each.validation and each.validation.authorities is None]
        self.unread = {name: each.unread for name, each in self._further.items() if each.unread}

    def may_be_shown(self, obj: ClientSSL) -> bool:
        """True for a profile that may be wanted: the names of its certificate are not known yet."""
        return any(tls_names.is_certificate_of(obj.cert, owner)
                   for owner in self.unread.get(front_end_of(obj.path), ()))

    def set_facts(self, facts: DeviceFacts) -> None:
        """Apply new facts about the device."""
        self._facts = facts
        self._views.clear()

    def set_config(self, config: DesiredSettings) -> set[str]:
        """Apply other settings of the router; returns the names of the front ends that differ."""
        before = self._further
        self._set_further(config.further_front_ends)
        names = before.keys() | self._further.keys()
        different = {name for name in names if before.get(name) != self._further.get(name)}
        if config.front_ends != self._config.front_ends:
            different.add("")
        self._config = config
        self._views.clear()
        return different


def unserved(front_end: str, checked: Mapping[Key, EvaluatedRoute], claims: ClaimResult) -> HostObjects:
    """Return what becomes of the Routes of a Host while their front end does not exist."""
    fault = Rejection(NOT_ADMITTED, f"this router has no front end {front_end}")
    verdicts = claims.verdicts
    return HostObjects(
        uses=compact({key: frozenset() for key in checked if verdicts[key] is None}),
        rejections=compact({key: verdict for key in checked if (verdict := verdicts[key]) is not None}),
        faults=compact({key: fault for key in checked if verdicts[key] is None}))
