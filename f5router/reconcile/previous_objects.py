"""Previous objects of Routes: what still serves on the BIG-IP until the new objects are in place.

They stay so that a refusal takes nothing away, and so that clients whose TLS the BIG-IP has ended already
are served when their Route becomes passthrough, which is for new connections only. While one of a root
IngressRoute stays for another root's, so do those of longer paths, whose requests it would get. But their
pools follow the pods, whose addresses other tenants' pods get next, and they go as soon as their Host is
another namespace's, or a team takes the Route away.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeGuard

from f5router.desired.engine import Engine
from f5router.model import names, ownership, sni_records, tls_names
from f5router.model.cluster import Key, Route
from f5router.model.front_end_names import base_name
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    ClientSSL,
    Object,
    Record,
    Rule,
)
from f5router.model.net import SelfIP
from f5router.model.objects import Ref
from f5router.model.ownership import is_passthrough
from f5router.plan.change import CREATE, DELETE, AnyChange, Change, Plan
from f5router.reconcile.host_owners import HostOwners
from f5router.reconcile.row import HoldReason
from f5router.reconcile.successors import Successors


def should_retain(engine: Engine, observed: BigIPState, failed: set[Ref],
                  draining: Collection[Key] = ()) -> Callable[[Object], HoldReason | None]:
    """Return a function that returns why a delete must be postponed; None if it may be made.

    Args:
        failed: objects that were refused.
        draining: Routes that have just become passthrough.
    """
    if not failed and not draining:
        return lambda obj: None
    no_gateway = any(ref.kind == SelfIP.KIND for ref in failed)
    stems = {(names.route(key), key.front_end) for key in draining}
    successors, owners = Successors(engine, observed, failed), HostOwners(engine)

    def serves(obj: Object) -> HoldReason | None:
        if _is_draining(obj, stems):
            reason = HoldReason.DRAINING
        elif successors.are_awaited(obj) or successors.cover(obj):
            reason = HoldReason.SUCCESSOR
        else:
            return None
        return None if owners.serves_foreign_namespace(obj) else reason

    @functools.cache
    def rules() -> Mapping[tuple[str, str], list[Rule]]:
        return _secure_rules(observed)

    def reason(obj: Object) -> HoldReason | None:
        if no_gateway and isinstance(obj, SelfIP):
            return HoldReason.SUCCESSOR
        if _is_active_exclusion(obj, observed) and any(
                rule.ref in engine.objects or serves(rule)
                for rule in rules().get((ownership.front_end(obj), sni_records.host_of(obj.name)), ())):
            return HoldReason.NEEDED
        return serves(obj)

    return reason


def _is_active_exclusion(obj: Object, observed: BigIPState) -> TypeGuard[Record]:
    """True for a record that excepts its Host from a wildcard which currently passes TLS through."""
    return (isinstance(obj, Record) and obj.data == names.EXCLUSION
            and sni_records.is_passed_around(obj, observed))


def _secure_rules(observed: BigIPState) -> Mapping[tuple[str, str], list[Rule]]:
    """Return the Rules for decrypted requests, by front end and Host."""
    rules: dict[tuple[str, str], list[Rule]] = {}
    for obj in observed.values():
        if isinstance(obj, Rule) and base_name(obj.policy) == names.SECURE_POLICY:
            for host in obj.hosts:
                rules.setdefault((ownership.front_end(obj), host), []).append(obj)
    return rules


def becomes_passthrough(old: Route, new: Route) -> bool:
    """True if connections on which the BIG-IP ended TLS for a Route outlive the objects that served them."""
    terminations = [route.tls.termination if route.tls else "" for route in (old, new)]
    return terminations[0] in ("edge", "reencrypt") and terminations[1] == "passthrough" and (
        same_host(old, new) and old.uid == new.uid)


def same_host(old: Route, new: Route) -> bool:
    """True if two versions of a Route match equal requests, or all names of one domain."""
    return (old.host, old.wildcard_policy) == (new.host, new.wildcard_policy)


def _is_draining(obj: Object, stems: Collection[tuple[str, str]]) -> bool:
    """True for a Rule that serves decrypted requests of these Routes."""
    return (isinstance(obj, Rule) and base_name(obj.policy) == names.SECURE_POLICY
            and (ownership.rule_stem(obj.name), ownership.front_end(obj)) in stems)


def foreign_objects(engine: Engine, observed: BigIPState, refs: Collection[Ref]) -> frozenset[Ref]:
    """Return the objects that show another namespace's certificate, or lead to its pods.

    Their Host has changed hands, and its new Route waits for objects of its own.
    """
    owners, foreign = HostOwners(engine), set[Ref]()
    for ref in observed.keys() & refs:
        obj = observed[ref]
        profile = observed.get(Ref(ClientSSL.KIND, obj.target)) if isinstance(obj, Attachment) else obj
        if isinstance(profile, ClientSSL):
            namespace = tls_names.file_namespace(profile.cert)
            claimants = owners.claimants(profile.server_name, ownership.front_end(obj))
            if namespace and claimants and namespace not in claimants:
                foreign.add(ref)
        elif owners.serves_foreign_namespace(obj):
            foreign.add(ref)
    return frozenset(foreign)


def lost_routes(engine: Engine, observed: BigIPState) -> Mapping[Key, str]:
    """Return existing Routes that get requests now and would no longer get any, with the reason.

    Another router, or an earlier release, may have served what this one rejects.
    """
    stems = {(ownership.rule_stem(obj.name), ownership.front_end(obj))
             for obj in observed.values() if isinstance(obj, Rule)}
    passed = {(sni_records.host_of(obj.name), names.pool_namespace(obj.data), ownership.front_end(obj))
              for obj in observed.values() if is_passthrough(obj)}
    reasons = {}
    for key, route in engine.routes().items():
        rejection = engine.rejection(key)
        reason = rejection.message if rejection else engine.fault(key)
        if reason and ((names.route(key), key.front_end) in stems or (
                route.termination == "passthrough"
                and (route.host, key.namespace, key.front_end) in passed)):
            reasons[key] = reason
    return reasons


def corrections(engine: Engine, observed: BigIPState, staying: set[Ref]) -> Plan:
    """Return the Changes of objects that stay which must not wait for the end of a refusal.

    Args:
        staying: objects that were refused, or whose delete waits.
    """
    old, owners = [observed[ref] for ref in staying if ref in observed], HostOwners(engine)
    changes: list[AnyChange] = [
        Change(DELETE, obj, None) for obj in old if owners.serves_foreign_namespace(obj)]
    changes += [Change(CREATE, None, record) for record in _missing_exclusions(engine, observed, old, owners)]
    return tuple(sorted(changes, key=lambda change: (change.verb == DELETE, -change.stage, change.ref)))


def _missing_exclusions(engine: Engine, observed: BigIPState, old: Iterable[Object],
                        owners: HostOwners) -> Iterator[Record]:
    """Yield missing records that except Hosts from previous wildcards which pass TLS through.

    Such a record is not desired, as the wildcard is to end TLS here too, or to go; `should_retain` keeps it
    as long as the wildcard.
    """
    groups = {(ownership.front_end(obj), obj.name): obj.group for obj in old
              if is_passthrough(obj) and obj.ref not in engine.objects
              and not owners.serves_foreign_namespace(obj)}
    for (front_end, host), rules in _secure_rules(observed).items() if groups else ():
        name = sni_records.name_of(host, any_depth=not any(rule.suffix for rule in rules))
        group = next(filter(None, (groups.get((front_end, each)) for each in sni_records.covering(name))), "")
        if group and any(rule.ref in engine.objects for rule in rules):
            record = Record(group, name, names.EXCLUSION)
            if record.ref not in observed:
                yield record
