"""Objects of sources that are not known: Routes, Ingresses or IngressRoutes not listed yet, or forbidden.

Objects that serve them stay as they are, and so does all that Gateways have on addresses of their own; what
serves an object that is known to be gone does not. If another namespace has got a Host meanwhile, its Route
takes the Host nevertheless: previous_objects.foreign_objects.

Names show whose a Rule, a file or a profile is. The record that passes TLS of a Host through has its owner in
names.OWNER_GROUP.
"""

from collections.abc import Collection, Iterable

from f5router.desired.engine import Engine
from f5router.model import names, sni_records, tls_names
from f5router.model.cluster import Key
from f5router.model.front_end_names import base_name, front_end_of, is_of_gateway
from f5router.model.gateway import GATEWAY, TCP_ROUTE
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    Forward,
    KeyFile,
    Object,
    Record,
    Rule,
    record_ref,
)
from f5router.model.objects import NamedObject, Ref
from f5router.model.ownership import is_passthrough
from f5router.model.placement import References
from f5router.model.virtual_server import DefaultPool, Listening, VirtualServer
from f5router.plan.change import Plan

ROUTE = "Route"


class UnreadSources:
    """Knows which objects of the device may serve for an object of the cluster that is not known."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._known = record_ref(names.full_path(engine.folder, names.OWNER_GROUP), names.OWNERS_KNOWN)
        self._ownerless: set[Ref] | None = None
        """Passthrough records of an earlier release that were there at first and that no Route has had since:
        nothing shows whose they are. None before the first look."""

    def held(self, observed: BigIPState, refs: Iterable[Ref]) -> frozenset[Ref]:
        """Return the unused objects that an unknown object may need."""
        cluster, wanted = self._engine.cluster, self._engine.objects
        if not cluster.sources_unread and not cluster.undecided:
            return frozenset()
        if self._known not in observed:
            self._look(observed)
        unwanted = [ref for ref in refs if ref in observed and ref not in wanted]
        return _Held(self._engine, observed, self._ownerless or ()).of(unwanted) if unwanted else frozenset()

    def lacks_owners(self, observed: BigIPState, plan: Plan) -> frozenset[Ref]:
        """Return the record that says that every owner is recorded, if a Plan would write it too early."""
        created = {change.ref for change in plan if change.old is None}
        if self._known not in created:
            return frozenset()
        wanted, unread = self._engine.objects, self._engine.cluster.sources_unread
        for obj in observed.values():
            if not is_passthrough(obj):
                continue
            if (owner := sni_records.owner_ref(obj)) in observed or owner in created:
                continue
            if owner in wanted or (unread and obj.ref not in wanted):
                return frozenset({self._known})
        return frozenset()

    def _look(self, observed: BigIPState) -> None:
        """Find records without an owner, and drop those that a Route of this router's time has, or had."""
        if self._ownerless is None:
            self._ownerless = {obj.ref for obj in observed.values()
                               if is_passthrough(obj) and sni_records.owner_ref(obj) not in observed}
        self._ownerless -= self._engine.objects.keys()


class _Held:
    """The objects of one reading that serve, or may serve, for objects that are not known."""

    def __init__(self, engine: Engine, observed: BigIPState, ownerless: Collection[Ref]):
        self._engine, self._observed, self._ownerless = engine, observed, ownerless
        self._kinds, self._undecided = engine.cluster.sources_unread, engine.cluster.undecided
        self._places = {(kind, key.namespace) for kind, key in self._undecided}
        rules = [obj for obj in observed.values() if isinstance(obj, Rule) and self._may_serve(obj.name)]
        self._pools = {rule.action.pool for rule in rules if isinstance(rule.action, Forward)}
        """Pools that Rules lead to which stay."""
        self._secured = {host for rule in rules if base_name(rule.policy) == names.SECURE_POLICY
                         for host in rule.hosts}
        """Hosts of such Rules for decrypted requests."""

    def of(self, refs: Iterable[Ref]) -> frozenset[Ref]:
        """Return the objects that stay."""
        return frozenset(ref for ref in refs if self._stays(self._observed[ref]))

    def _may_serve(self, name: str) -> bool:
        """True if a name of a Rule, or a stem, is of an object that is not known, or not decided."""
        kind = names.route_kind(name)
        if kind in self._kinds:
            return True
        if not kind or not self._undecided:
            return False
        route = names.route_key(name.partition("__")[0])
        if route is None:  # the name was shortened
            return (kind, names.rule_namespace(name)) in self._places
        return (kind, Key(route.namespace, route.name.partition(".")[2])) in self._undecided

    def _may_show(self, path: str) -> bool:
        """True if a certificate file may be of an object that is not known; the name shows its Secret."""
        kind = names.route_kind(path)
        return kind in self._kinds or (kind, tls_names.file_namespace(path)) in self._places

    def _shows_certificate(self, profile: str) -> bool:
        obj = self._observed.get(Ref(ClientSSL.KIND, profile))
        return isinstance(obj, ClientSSL) and self._may_show(obj.cert)

    def _stays(self, obj: Object) -> bool:
        if GATEWAY in self._kinds and is_of_gateway(name := _front_end(obj)) and (
                self._engine.front_ends.get(name) is None):
            return True
        match obj:
            case Rule(name=name):
                return self._may_serve(name)
            case DefaultPool(virtual=path):
                return TCP_ROUTE in self._kinds and Ref(VirtualServer.KIND, path) in self._engine.objects
            case CertFile(path=path) | KeyFile(path=path):
                return self._may_show(path)
            case ClientSSL(cert=cert):
                return self._may_show(cert)
            case Attachment(target_kind=ClientSSL.KIND, target=target):
                return self._shows_certificate(target)
            case Record():
                return self._record_stays(obj)
            case _:
                return False

    def _record_stays(self, record: Record) -> bool:
        folder, group = record.group.rpartition("/")[0], base_name(record.group)
        if group == names.SERVER_NAME_GROUP:
            return self._shows_certificate(tls_names.client_ssl(
                folder, sni_records.host_of(record.name), front_end_of(record.group)))
        if group == names.REENCRYPT_GROUP:
            return record.name in self._pools or record.name.rpartition("/")[0] in self._pools
        if group == names.OWNER_GROUP:
            return self._may_serve(record.data) and not self._is_taken(record)
        if group != names.PASSTHROUGH_GROUP:
            return False
        if record.data == names.EXCLUSION:
            return sni_records.host_of(record.name) in self._secured
        return self._is_unclaimed(record) and not self._is_taken(record)

    def _is_unclaimed(self, record: Record) -> bool:
        """True if the owner of a passthrough record is not known."""
        owner = self._observed.get(sni_records.owner_ref(record))
        if isinstance(owner, Record):
            return self._may_serve(owner.data)
        return record.ref in self._ownerless or ROUTE in self._kinds

    def _is_taken(self, record: Record) -> bool:
        return bool(self._engine.host_routes(
            sni_records.host_of(record.name), front_end_of(record.group)))


def _front_end(obj: Object) -> str:
    """Return the front end that has an object, or that it is attached to; "" for none."""
    match obj:
        case (Rule(policy=path) | Record(group=path) | Attachment(virtual=path) | Listening(virtual=path)
              | DefaultPool(virtual=path) | References(virtual=path) | NamedObject(path=path)):
            return front_end_of(path)
    return ""
