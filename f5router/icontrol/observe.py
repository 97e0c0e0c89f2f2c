"""Reading of the device, collection by collection, and only while the device is ready.

A device whose daemons are starting answers 404 for objects that exist (bigip-behaviour.md A2.3), so an
Observation counts only when the device was ready before and after it was made.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from f5router.desired import irules
from f5router.icontrol import generations, own_addresses, pages, tls_checks
from f5router.icontrol.codec import ltm_codec, net_codec, virtual_codec
from f5router.icontrol.generations import VIRTUAL
from f5router.icontrol.ltm_reading import HTTP, PROFILES, LTMReading
from f5router.icontrol.observation import NOTHING, Expected, Observation
from f5router.icontrol.own_addresses import Peer
from f5router.icontrol.own_servers import NONE as NO_SERVERS
from f5router.icontrol.own_servers import OwnServers
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers import tunnels
from f5router.icontrol.writers.attachments import listed, virtual
from f5router.model import names, original_names, ownership, route_options, sni_records, tls_names, tmos
from f5router.model.access_log import RequestLog
from f5router.model.client_tls import TLSProperties
from f5router.model.device_facts import DeviceFacts, OriginalFacts, VirtualFacts
from f5router.model.errors import NotFound, NotReady
from f5router.model.front_end_names import base_name, beside, front_end_of, named
from f5router.model.json_types import JSON
from f5router.model.ltm import (
    Attachment,
    ClientSSL,
    DataGroup,
    Forward,
    HTTPCompression,
    IRule,
    Object,
    Policy,
    Pool,
    Record,
    Redirect,
    Rule,
    ServerSSL,
    record_ref,
)
from f5router.model.net import StaticRoute, VxlanProfile
from f5router.model.objects import Ref, changed, shared

log = logging.getLogger(__name__)


class DeviceReading:
    """Reads the facts first, then the objects."""

    def __init__(
        self, client: Client, folder: str, virtuals: tuple[str | None, str | None], *, vxlan: bool = False,
        static_routes: bool = False, profiles: Collection[str] = (),
        own_servers: OwnServers = NO_SERVERS, checks_tls: bool = False, expected: Expected = NOTHING,
        unit: int = 0, peers: Sequence[Peer] = (),
    ):
        """Args:
        virtuals: full paths of the HTTP and HTTPS virtual server, None where there is none.
        vxlan: read net objects too, if the version supports VxLAN.
        static_routes: read static routes too.
        profiles: full paths of the server SSL profiles that Routes may name.
        own_servers: virtual servers that the router creates.
        checks_tls: find out if monitors can verify pods.
        expected: what it will probably show; may be known better when the facts are known.
        unit: number of the unit that is read.
        peers: the other units of the settings.
        """
        self._client, self._folder, self._virtuals = client, folder, virtuals
        self._vxlan, self._static_routes, self._profiles = vxlan, static_routes, profiles
        self._own_servers, self._checks_tls, self.expected = own_servers, checks_tls, expected
        self._ltm = LTMReading(client, folder, expected, own_servers=own_servers.are_read)
        self._unit, self._peers, self._has_folder = unit, peers, True
        self._rest: list[Object] = []
        """Objects that were read with the facts, besides profiles."""
        self.folder: JSON = {}
        """Properties of our folder; {} if it is not there. Whoever begins the reading sets them."""
        self.facts = DeviceFacts()
        """Without those about what the original router left, until the objects are read."""
        self._stands_alone = False

    def read(self) -> Observation:
        """Read facts and objects. Raises: NotReady, BigIPError."""
        self.read_facts()
        return self.read_objects()

    def read_facts(self) -> None:
        """Read the facts that decide how objects may be written. Raises: NotReady, BigIPError."""
        client, folder, read = self._client, self._folder, self._ltm.profiles
        _require_ready(client)
        version = client.version()
        self._ltm.read_profiles()
        self._own_servers = replace(self._own_servers, are_left=self._ltm.has_front_ends)
        own, paths = self._own_servers, (*self._virtuals, *self._own_servers.besides(self._virtuals))
        servers = [virtual(client, path) for path in paths]
        by_path = {path: raw for path, raw in zip(paths, servers, strict=True) if path}
        self._ltm.generations.update(
            (Ref(VIRTUAL, path), generations.of(raw)) for path, raw in by_path.items() if raw)
        vxlan = self._vxlan and version >= tmos.VXLAN_SINCE
        network, around = tunnels.observe(client, folder) if vxlan else ([], {})
        sources = [tunnels.translation_facts(client, path, there, members=vxlan)
                   if path and (there := raw or own.expected(path)) else {}
                   for path, raw in zip(paths, servers, strict=True)]
        addresses = own_addresses.read(client, folder, filter(None, servers), self._peers)
        self._stands_alone = addresses.stands_alone

        root = _root(read[ClientSSL.KIND])
        facts = [own.facts(replace(virtual_facts(path, raw, read, folder, own.front_end(path)), **source),
                           raw, root, read[ClientSSL.KIND]) if path else None
                 for path, raw, source in zip(paths, servers, sources, strict=True)]
        self._rest += [*network, *self._of_servers(facts, by_path)]
        self._rest += tunnels.translations(facts) if vxlan else []
        port = max((obj.port for obj in network if isinstance(obj, VxlanProfile)), default=0)
        http, https, *further = facts
        missing = missing_profiles(self._profiles, read[ServerSSL.KIND], folder)
        self.facts = DeviceFacts(
            version, http, https, max(port, 0), further=tuple(filter(None, further)),
            own_addresses=addresses.own.union(listener.address for listener in own.listeners),
            unread_addresses=addresses.unread, networks=addresses.networks, doubt=addresses.doubt, **around,
            unit=self._unit, client_ssl=root, missing_profiles=missing,
            tls_check_problem=tls_checks.problem(client, version) if self._checks_tls else "",
            **own.of_others(by_path, self._rest))

    def _of_servers(self, facts: Iterable[VirtualFacts | None],
                    servers: Mapping[str, JSON | None]) -> Iterator[Object]:
        """Yield what is attached to virtual servers, and those of the router; reads those that are to go."""
        left = self._own_servers.left(self._client, self._folder, servers)
        servers = {**servers, **{path: virtual(self._client, path) for path in left}}
        there = {path: raw for path, raw in servers.items() if raw}
        known = {each.path: each for each in facts if each}
        known |= {path: virtual_facts(path, raw, self._ltm.profiles, self._folder, None)
                  for path, raw in there.items() if path in left and virtual_codec.is_adopted(raw)}
        attached = [obj for path, raw in there.items()
                    for obj in attachments(known.get(path) or VirtualFacts(path), raw, self._folder)]
        yield from attached
        yield from self._own_servers.objects(there.values(), attached)
        yield from self._own_servers.addresses(self._client, there.values())

    def lack_folder(self) -> None:
        """Record that our folder, the one of the virtual servers, does not exist. Raises: BigIPError."""
        http, https = (self._own_servers.facts(VirtualFacts(path, exists=False), None, TLSProperties(), {})
                       if path else None for path in self._virtuals)
        self.facts = self._own_servers.completed(
            DeviceFacts(self._client.version(), http, https, unit=self._unit), self._virtuals)
        self._has_folder = False

    def read_objects(self) -> Observation:
        """Read our objects; the facts are known. Returns: the whole reading.

        Raises:
            NotReady: the device is not ready any more.
            BigIPError: a read failed.
        """
        if not self._has_folder:
            return Observation(facts=self.facts)
        client, folder, ltm = self._client, self._folder, self._ltm
        ltm.read_others(self.expected)
        network = pod_routes(client, folder) if self._static_routes else []
        _require_ready(client)
        objects = ltm.objects
        objects.update((obj.ref, obj) for obj in (*network, *self._rest))
        objects.update((obj.ref, obj) for obj in linked(objects, folder))
        left = original_facts(client, objects, (self.facts.http, self.facts.https), folder)
        facts = replace(self.facts, original=left,
                        doubt=own_addresses.kept(self.facts.doubt, objects.values()))
        return Observation(objects, facts, *ltm.policy_state(), ltm.nodes, self._stands_alone,
                           ltm.generations)


_ALWAYS = (names.PASSTHROUGH_IRULE, names.PROXY_IRULE, names.CLIENT_CERTIFICATE_IRULE)
_TOWARDS_PODS = (names.REQUEST_IRULE, names.HEADERS_IRULE, names.COOKIE_IRULE)
"""iRules that act on each request, and on those that pods get; see desired/protection.py."""


def linked(objects: Mapping[Ref, Object], folder: str) -> list[Object]:
    """Return the objects that get the `extra_dependencies`, or the `protection`, which desired objects have.

    The device knows no such links: without the record that gives its pool TLS a Rule works, in clear text.
    With them, previous objects that have to stay are kept complete; their options: see model/option_records.
    """
    links = _Links(objects, folder)
    completed: list[Object] = []
    for obj in objects.values():
        if isinstance(obj, Rule | Record | Attachment):
            needs = {"extra_dependencies": shared(frozenset(links.of(obj)))}
            if isinstance(obj, Rule):
                needs["protection"] = links.protection(obj)
            # An object that a reading shares with Desired has them already, and stays shared.
            if missing := {name: refs for name, refs in needs.items() if refs and refs != getattr(obj, name)}:
                completed.append(changed(obj, **missing))
    return completed


class _Links:
    """Finds the dependencies of an observed object that it does not name."""

    def __init__(self, objects: Mapping[Ref, Object], folder: str):
        self._objects, self._folder = objects, folder
        self._protection: dict[tuple[str, bool], frozenset[Ref]] = {}
        """By policy, and whether the Rule redirects."""
        self._attached: dict[str, set[Ref]] = {}  # by target
        self._of_services: dict[tuple[str, str], set[Ref]] = {}
        """Records of Services that have TLS of their own in a pool, by the paths of data-group and pool."""
        for obj in objects.values():
            if isinstance(obj, Attachment):
                self._attached.setdefault(obj.target, set()).add(obj.ref)
            elif isinstance(obj, Record) and base_name(obj.group) == names.REENCRYPT_GROUP:
                pool = obj.name.rpartition("/")[0]
                self._of_services.setdefault((obj.group, pool), set()).add(obj.ref)

    def of(self, obj: Rule | Record | Attachment) -> set[Ref]:
        """Return the objects that one needs; none if it is complete by itself."""
        if isinstance(obj, Rule):
            return self._of_rule(obj) if isinstance(obj.action, Forward) else set()
        if isinstance(obj, Attachment):
            switches = base_name(obj.target) in (names.REENCRYPT_IRULE, tls_names.DEFAULT_SERVERSSL)
            return self._record(beside(obj.target, names.REENCRYPT_GROUP), obj.virtual) if switches else set()
        if obj.data == names.EXCLUSION:
            return set()
        if base_name(obj.group) == names.PASSTHROUGH_GROUP:
            pool = Ref(Pool.KIND, original_names.pool(self._folder, obj.data))
            return {pool} | self._attachments(obj.group, names.PASSTHROUGH_IRULE)
        if base_name(obj.group) == names.LIMITS_GROUP:
            addresses = route_options.list_of_limits(obj.data)
            return {Ref(DataGroup.KIND, f"{self._folder}/{addresses}")} & self._objects.keys()
        return {Ref(ServerSSL.KIND, obj.data)} & self._objects.keys()

    def protection(self, rule: Rule) -> frozenset[Ref]:
        """Return the attachments of our policy and iRules that act on the requests of a Rule."""
        key = rule.policy, isinstance(rule.action, Redirect)
        if key not in self._protection:
            attachments = [obj for obj in self._objects.values() if isinstance(obj, Attachment)]
            virtuals = {obj.virtual for obj in attachments if obj.target == rule.policy}
            acting = (*_ALWAYS, *(() if key[1] else _TOWARDS_PODS))
            self._protection[key] = shared(frozenset(
                obj.ref for obj in attachments if obj.virtual in virtuals and (
                    obj.target == rule.policy or base_name(obj.target) in acting)))
        return self._protection[key]

    def _of_rule(self, rule: Rule) -> set[Ref]:
        assert isinstance(rule.action, Forward), "only a pool has TLS towards pods"
        groups = beside(rule.policy, names.REENCRYPT_GROUP), beside(rule.policy, names.SERVER_NAME_GROUP)
        record = self._record(groups[0], rule.action.pool)
        if record:
            record |= self._of_services.get((groups[0], rule.action.pool), set())
            for name in (names.REENCRYPT_IRULE, tls_names.DEFAULT_SERVERSSL):
                record |= self._attachments(rule.policy, name)
        front_end = front_end_of(rule.policy)
        profiles = (tls_names.client_ssl(self._folder, host, front_end) for host in rule.hosts)
        shown = (self._record(groups[1], sni_records.name_of(host)) for host in rule.hosts)
        return record.union(*(self._attached.get(path, set()) for path in profiles), *shown)

    def _record(self, group: str, name: str) -> set[Ref]:
        return {record_ref(group, name)} & self._objects.keys()

    def _attachments(self, path: str, name: str) -> set[Ref]:
        """Return the attachments of a named object of the front end that another object belongs to."""
        return self._attached.get(beside(path, name), set())


def pod_routes(client: Client, folder: str) -> list[StaticRoute]:
    """Read our static routes."""
    routes = []
    for item in pages.items(client, StaticRoute.KIND, pages.filtered(folder)):
        try:
            route = net_codec.decode_route(item)
        except ltm_codec.ODD as exc:
            log.warning("object not understood", extra={"kind": StaticRoute.KIND, "error": repr(exc)})
            continue
        if ownership.owns(folder, route):
            routes.append(route)
    return routes


def virtual_facts(path: str, raw: JSON | None, read: Mapping[str, Mapping[str, JSON]],
                  folder: str, front_end: str | None) -> VirtualFacts:
    """Return the administrator's settings of a virtual server.

    Args: read: profiles by kind and path; front_end: name of its front end, None if it has none any more.
    """
    if raw is None:
        return VirtualFacts(path, exists=False, http=False)
    attached = [ltm_codec.path_of(item) for item in ltm_codec.items(raw, "profiles")]
    foreign = {name for name in attached if not _ours(folder, "profiles", name)}
    own = next((name for name in attached if name not in foreign
                and base_name(name) == tls_names.DEFAULT_CLIENTSSL),
               "" if front_end is None else names.full_path(folder, named(
                   tls_names.DEFAULT_CLIENTSSL, front_end)))
    profiles = read[ClientSSL.KIND]
    originals = {name for name in foreign & profiles.keys() if original_names.is_client_ssl(name)}
    client_ssl = sorted((foreign & profiles.keys()) - originals)
    server_ssl = sorted(foreign & read[ServerSSL.KIND].keys())
    facts = VirtualFacts(
        path,
        port=virtual_codec.destination_port(raw),
        address=virtual_codec.destination_address(raw),
        enabled=raw.get("disabled") is not True,
        http=not read[HTTP].keys().isdisjoint(attached),
        client_ssl=tuple(client_ssl),
        sni_defaults=tuple(p for p in client_ssl if str(profiles[p].get("sniDefault")) == "true"),
        server_names=frozenset(name for p in client_ssl if (
            name := str(profiles[p].get("serverName") or "none").lower()) != "none"),
        replaced_client_ssl=_replaced(own, profiles) if (
            own in attached or virtual_codec.is_adopted(raw)) else "",
        compression=tuple(sorted(foreign & read[HTTPCompression.KIND].keys())),
        server_ssl=tuple(name for name in server_ssl if not original_names.is_server_ssl(name)),
        original_client_ssl=tuple(sorted(
            (str(profiles[name].get("serverName", "")).lower(), name) for name in originals)),
        original_server_ssl=tuple(name for name in server_ssl if original_names.is_server_ssl(name)),
    )
    default = profiles.get(facts.default_client_ssl, {})
    return replace(facts, default_properties=ltm_codec.decode_tls_properties(default))


def _root(profiles: Mapping[str, JSON]) -> TLSProperties:
    """Return the properties of the device's own client SSL profile, the parent of the Hosts' profiles."""
    root = profiles.get(ClientSSL.PARENT)
    return ltm_codec.decode_tls_properties(root) if root else TLSProperties()


def missing_profiles(paths: Collection[str], there: Collection[str], folder: str) -> frozenset[str]:
    """Return the profiles that certainly do not exist.

    The router's account may not see every partition: those in which it sees no profile count as unknown.
    """
    seen = {path.split("/")[1] for path in {folder, *there}}
    return frozenset(path for path in paths if path not in there and path.split("/")[1] in seen)


def _replaced(own: str, profiles: Mapping[str, JSON]) -> str:
    """Return the administrator's profile whose place our default one has: it is its parent, or the next."""
    parent = str(profiles[own].get("defaultsFrom", "")) if own in profiles else ""
    return str(profiles.get(parent, {}).get("defaultsFrom", "")) if tls_names.is_parent(parent) else parent


def original_facts(client: Client, objects: Mapping[Ref, Object], facts: Iterable[VirtualFacts | None],
                   folder: str) -> OriginalFacts:
    """Read the objects that the original router left; its data-groups only if it left other objects."""
    irule = objects.get(Ref(IRule.KIND, f"{folder}/{names.PASSTHROUGH_IRULE}"))
    old = isinstance(irule, IRule) and not irules.is_ours(irule.text)
    if not old and not any(virtual and virtual.original_client_ssl for virtual in facts):
        return OriginalFacts()
    pools = {(record.name, original_names.pool(folder, record.data))
             for record in _records(client, original_names.REENCRYPT_GROUP)}
    beside = old and folder != original_names.COMMON
    hidden = _records(client, original_names.PASSTHROUGH_GROUP) if beside else []
    _require_ready(client)
    led = {(host, obj.action.pool) for obj in objects.values()
           if isinstance(obj, Rule) and isinstance(obj.action, Forward)
           and obj.policy == f"{folder}/{names.SECURE_POLICY}" for host in obj.hosts}
    return OriginalFacts(old, frozenset(pools & led),
                         tuple(sorted((record.name, record.data) for record in hidden)))


def _records(client: Client, group: str) -> list[Record]:
    """Read the records of a data-group; [] if it is missing or cannot be decoded."""
    try:
        return ltm_codec.decode_data_group(client.get(item_path(DataGroup.KIND, group)))[1]
    except NotFound:
        return []
    except ltm_codec.ODD as exc:
        log.warning("object not understood", extra={
            "kind": DataGroup.KIND, "path": group, "error": repr(exc)})
        return []


def attachments(facts: VirtualFacts, raw: JSON, folder: str) -> list[Attachment]:
    """Return our Attachments on a virtual server."""
    attached = []
    for kind in ("policies", "rules", "profiles"):
        for target, context in listed(raw, kind):
            if owner := _ours(folder, kind, target):
                is_default = base_name(target) == tls_names.DEFAULT_CLIENTSSL
                replaces = facts.replaced_client_ssl if is_default else ""
                attached.append(Attachment(facts.path, kind, target, owner, context, replaces=replaces))
    return attached


_TARGETS = {
    "policies": (Policy.KIND,),
    "rules": (IRule.KIND,),
    "profiles": (*PROFILES, RequestLog.KIND),
}


def _ours(folder: str, kind: str, target: str) -> str:
    """Return the kind of an object that is ours; "" if it is not."""
    return next((k for k in _TARGETS[kind] if ownership.owns_path(folder, k, target)), "")


def _require_ready(client: Client) -> None:
    if not client.ready():
        raise NotReady("GET", "/mgmt/tm/sys/ready", "the device is starting or loading its configuration")
