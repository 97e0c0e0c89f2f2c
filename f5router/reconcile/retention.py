"""Old forms of Routes: what still serves on the BIG-IP while the new form is refused, or taken up.

They stay, so that a refusal takes nothing away, and so that clients whose TLS the BIG-IP has ended
already are served when their Route becomes passthrough: that is for new connections only. But they
must not outlive what they stand for: their pools follow the pods, whose addresses other tenants' pods
get next; and they end where their Host is another namespace's, or where a team took the Route away.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from f5router.desired.engine import Engine
from f5router.model import hostnames, names
from f5router.model.cluster import Key, Route
from f5router.model.ltm import Attachment, BigIPState, ClientSSL, Object, Pool, Record, Rule
from f5router.model.net import SelfIP
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Change, Plan


def keeper(engine: Engine, observed: BigIPState, failed: set[Ref],
           lingering: Collection[Key] = ()) -> Callable[[Object], bool]:
    """Tells of an object that is to be deleted whether it must stay as an old form.

    Args: lingering: Routes that have just become passthrough.
    """
    if not failed and not lingering:
        return lambda obj: False
    no_gateway = any(ref.kind == SelfIP.KIND for ref in failed)
    stems = {names.route(key) for key in lingering}

    def stays(obj: Object) -> bool:
        return (_serves_on(obj, stems) or _is_old_form(engine, obj, failed)) and not _trespasses(engine, obj)

    @functools.cache
    def rules() -> Mapping[str, list[Rule]]:
        return _secure_rules(observed)

    return lambda obj: (no_gateway and isinstance(obj, SelfIP)) or stays(obj) or (
        _excepts(obj, observed) and any(
            rule.ref in engine.objects or stays(rule) for rule in rules().get(obj.name, ())))


def _excepts(obj: Object, observed: BigIPState) -> TypeGuard[Record]:
    """Whether a record excepts its Host from a wildcard that passes TLS through at the moment."""
    return (isinstance(obj, Record) and obj.data == names.EXCLUSION
            and names.covering_record(obj) in observed)


def _secure_rules(observed: BigIPState) -> Mapping[str, list[Rule]]:
    """Rules for decrypted requests, by Host."""
    found: dict[str, list[Rule]] = {}
    for obj in observed.values():
        if isinstance(obj, Rule) and obj.policy.endswith(f"/{names.SECURE_POLICY}"):
            for host in obj.hosts:
                found.setdefault(host, []).append(obj)
    return found


def becomes_passthrough(old: Route, new: Route) -> bool:
    """Whether connections on which the BIG-IP ended TLS for a Route outlive the form that served them."""
    terminations = [route.tls.termination if route.tls else "" for route in (old, new)]
    return terminations[0] in ("edge", "reencrypt") and terminations[1] == "passthrough" and (
        same_host(old, new) and old.uid == new.uid)


def same_host(old: Route, new: Route) -> bool:
    """Whether two forms of a Route are for the same requests, or all names of the same domain."""
    return (old.host, old.wildcard_policy) == (new.host, new.wildcard_policy)


def _serves_on(obj: Object, stems: Collection[str]) -> bool:
    """Whether an object serves decrypted requests of these Routes."""
    return (isinstance(obj, Rule) and obj.policy.endswith(f"/{names.SECURE_POLICY}")
            and names.rule_stem(obj.name) in stems)


def foreign(engine: Engine, observed: BigIPState, refs: Collection[Ref]) -> frozenset[Ref]:
    """Of these objects those that would show the certificate of another namespace, or lead to its pods.

    They were for a Host that has changed hands since, and whose new Route waits for its own.
    """
    found = set()
    for ref in observed.keys() & refs:
        obj = observed[ref]
        profile = observed.get(Ref(ClientSSL.KIND, obj.target)) if isinstance(obj, Attachment) else obj
        if isinstance(profile, ClientSSL):
            namespace, owners = names.file_namespace(profile.cert), _owners(engine, profile.server_name)
            if namespace and owners and namespace not in owners:
                found.add(ref)
        elif _trespasses(engine, obj):
            found.add(ref)
    return frozenset(found)


def lost(engine: Engine, observed: BigIPState) -> Mapping[Key, str]:
    """Routes to which requests come now and would not come any more, although they exist; with the reason.

    Another router, or an earlier release, may have served what this one rejects.
    """
    stems = {names.rule_stem(obj.name) for obj in observed.values() if isinstance(obj, Rule)}
    passed = {(names.passthrough_host(obj.name), names.pool_namespace(obj.data))
              for obj in observed.values() if _is_passthrough(obj)}
    found = {}
    for key, checked in engine.routes().items():
        rejection = engine.rejection(key)
        why = rejection.message if rejection else engine.fault(key)
        if why and (names.route(key) in stems or (
                checked.termination == "passthrough" and (checked.host, key.namespace) in passed)):
            found[key] = why
    return found


def amends(engine: Engine, observed: BigIPState, staying: set[Ref]) -> Plan:
    """What must not wait for the end of a refusal.

    Args:
        staying: objects that were refused, or whose delete waits.
    """
    old = [observed[ref] for ref in staying if ref in observed]
    pools = {need.path for obj in old for need in obj.dependencies if need.kind == Pool.KIND}
    pools |= {obj.path for obj in old if isinstance(obj, Pool) and obj.ref in engine.objects}
    changes: list[AnyChange] = []
    addresses = functools.cache(engine.addresses)
    for path in sorted(pools):
        ref = Ref(Pool.KIND, path)
        there = observed.get(ref)
        # What is wanted is written by the Plan; refused, it may at least lose what left.
        if not isinstance(there, Pool) or (ref in engine.objects and ref not in staying):
            continue
        if (found := engine.pool(path)) is not None:
            members = found.members
        else:
            known = addresses(names.pool_namespace(path))
            members = frozenset(member for member in there.members if member.address in known)
        members = members & there.members if ref in engine.objects else members
        if members != there.members:
            changes.append(Change(UPDATE, there, replace(there, members=members)))
    changes += [Change(DELETE, obj, None) for obj in old if _trespasses(engine, obj)]
    changes += [Change(CREATE, None, record) for record in _exceptions(engine, observed, old)]
    return Plan(tuple(sorted(changes, key=lambda change: (change.verb == DELETE, -change.stage, change.ref))))


def _exceptions(engine: Engine, observed: BigIPState, old: Iterable[Object]) -> Iterator[Record]:
    """Records that are missing to except Hosts from wildcards whose old form passes TLS through.

    Nobody wants them, as the wildcard is to end TLS here too, or to go; `keeper` has them stay as long as it.
    """
    groups = {names.passthrough_host(obj.name): obj.group for obj in old if _is_passthrough(obj)
              and obj.ref not in engine.objects and not _trespasses(engine, obj)}
    for host, rules in _secure_rules(observed).items() if groups else ():
        group = groups.get(hostnames.wildcard(host))
        if group and any(rule.ref in engine.objects for rule in rules):
            record = Record(group, host, names.EXCLUSION)
            if not host.startswith("*.") and record.ref not in observed:
                yield record


def _is_old_form(engine: Engine, obj: Object, failed: set[Ref]) -> bool:
    """Whether the Route of an object, or the one that takes its place, is not all there."""
    if not failed:
        return False
    if isinstance(obj, Rule):
        return any(not failed.isdisjoint(engine.closure(engine.uses(key))) for key in _heirs(engine, obj))
    if not _is_passthrough(obj):
        return False
    namespace = names.pool_namespace(obj.data)
    return any(
        key.namespace == namespace and (route := engine.route(key)) and route.tls
        and not failed.isdisjoint(engine.closure(uses))
        for key, uses in engine.host_routes(names.passthrough_host(obj.name)).items()
    )


def _heirs(engine: Engine, rule: Rule) -> set[Key]:
    """The Rule's own Route, and those of its namespace that want the same requests."""
    stem, namespace = names.rule_stem(rule.name), names.rule_namespace(rule.name)
    own = names.route_key(stem)
    keys = {own} if own else {key for key in engine.routes() if names.route(key) == stem}
    for host in rule.hosts:
        for key, uses in engine.host_routes(host).items():
            wanted = (engine.objects.get(ref) for ref in uses)
            if key.namespace == namespace and (engine.pending(key) or any(
                isinstance(new, Rule) and new.conditions == rule.conditions for new in wanted
            )):
                keys.add(key)
    return keys


def _trespasses(engine: Engine, obj: Object) -> bool:
    """Whether an object leads requests for a Host that only other namespaces hold to its own pods."""
    if isinstance(obj, Rule):
        namespace, own = names.rule_namespace(obj.name), obj.hosts
    elif _is_passthrough(obj):
        namespace, own = names.pool_namespace(obj.data), frozenset({names.passthrough_host(obj.name)})
    else:
        return False
    owners = [_owners(engine, host) for one in own for host in engine.covered_hosts(one)]
    return any(spaces and namespace not in spaces for spaces in owners)


def _owners(engine: Engine, host: str) -> set[str]:
    """Namespaces that hold a Host; without its own Routes it is the wildcard's."""
    found = engine.host_routes(host) or engine.host_routes(hostnames.wildcard(host))
    return {key.namespace for key in found}


def _is_passthrough(obj: Object) -> TypeGuard[Record]:
    return (isinstance(obj, Record) and obj.group.endswith(names.PASSTHROUGH_GROUP)
            and obj.data != names.EXCLUSION)
