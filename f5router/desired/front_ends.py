"""Virtual servers that the router creates, and what is attached to those on further addresses.

The virtual servers on a further address have the attachments of those on the first: a client meets the same
Routes on each. Rules wait for the attachments to the first alone, so that an address which the BIG-IP refuses
stops no other. Attachments that Rules may need beyond the baseline are there from the beginning
(`baseline.build`), before the virtual server answers clients.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from f5router.model import names, tls_names
from f5router.model.access_log import POOL, PROFILE, RequestLog
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import FrontEndPlace, base_name, named, own_path
from f5router.model.ltm import Attachment, HTTPCompression, Object, Pool, PoolMember
from f5router.model.objects import Ref, shared
from f5router.model.placement import FloatingAddress, References
from f5router.model.virtual_server import (
    FACTORY,
    FrontEnd,
    FrontEndLimits,
    FrontEndServer,
    Listening,
    VirtualServer,
    listeners,
    listening_ref,
    profiles,
    used_profiles,
)


class LimitSettings(Protocol):
    """The part of config.Config that has limits."""

    @property
    def front_ends(self) -> tuple[FrontEnd, ...]:
        """Front ends that the router creates; () where an administrator has made the virtual servers."""


class FrontEndSettings(FrontEndPlace, LimitSettings, Protocol):
    """The part of config.Config that is used here."""


def tcp_virtual(config: LimitSettings) -> str | None:
    """Return the full path of the virtual server that carries TCP of any kind, if that is all there is."""
    return config.front_ends[0].tcp if config.front_ends else None


def limits(config: LimitSettings) -> FrontEndLimits:
    """Return the limits of the virtual servers that the router creates; those of a BIG-IP without any."""
    return config.front_ends[0].limits if config.front_ends else FACTORY


def complete(objects: Mapping[Ref, Object], config: FrontEndSettings,
             facts: DeviceFacts) -> dict[Ref, Object]:
    """Return the baseline with the virtual servers and what is attached to each."""
    if not config.front_ends:
        return dict(objects)
    logged = {obj.ref: obj for obj in access_log(config, facts)}
    wanted = with_attachments({**objects, **logged}, config, facts)
    used = used_profiles(config.folder, config.front_ends[0].placement.transport, config.front_end,
                         has_http=tcp_virtual(config) is None)
    own: list[Object] = [
        profile for profile, context in profiles(config.folder, limits(config), config.front_end)
        if (profile.path, context) in used]
    for listener in listeners(config.front_ends):
        references = References(listener.virtual, listener.placement.references)
        more: list[Object] = [references] if references.entries else []
        if listener.placement.traffic_group:
            more.append(FloatingAddress(listener.virtual, listener.address,
                                        listener.placement.traffic_group))
        needed = frozenset(ref for ref, obj in wanted.items() if isinstance(obj, Attachment)
                           and obj.virtual == listener.virtual and not _is_optional(obj))
        own += [VirtualServer(listener.virtual, listener.address, listener.port,
                              used, listener.translation, listener.connection_limit,
                              listener.placement.reach),
                *more, Listening(listener.virtual, needed.union(obj.ref for obj in more))]
    return {**wanted, **{obj.ref: obj for obj in own}}


def access_log(config: FrontEndSettings, facts: DeviceFacts) -> list[Object]:
    """Build what sends a line for each response, and the attachments to the virtual servers of the first
    addresses; [] if no line is wanted. One that an administrator has prepared gets none."""
    objects: list[Object] = []
    for front_end in config.front_ends:
        if (log := front_end.placement.access_log) is None or front_end.tcp:
            continue
        pool = Pool(own_path(config, POOL), members=frozenset(
            PoolMember(address, port) for address, port in log.servers))
        profile = RequestLog(own_path(config, PROFILE), pool.path, log.template, log.over_tcp)
        objects += [pool, profile, *(
            Attachment(virtual, "profiles", profile.path, RequestLog.KIND, "all")
            for virtual in (front_end.http, front_end.https) if virtual and virtual not in facts.foreign)]
    return objects


def _is_optional(obj: Attachment) -> bool:
    """True for an attachment without which clients may be answered: it protects no pod and no client."""
    return obj.target_kind in (HTTPCompression.KIND, RequestLog.KIND) or base_name(obj.target) in (
        names.UNAVAILABLE_IRULE, names.NOT_FOUND_IRULE, names.TIMEOUT_IRULE)


def with_attachments(objects: Mapping[Ref, Object], config: FrontEndSettings,
                     facts: DeviceFacts) -> Mapping[Ref, Object]:
    """Return objects in which attachments need their virtual server, with those to further addresses.

    One that an administrator has prepared is used as it is, as without the setting: its Routes are served.
    """
    if not config.front_ends:
        return objects
    by_first, others = _by_first(config), _of_others(facts)
    wanted, further = dict(objects), {each.virtual for each in listeners(config.front_ends) if each.is_copy}
    for obj in objects.values():
        if isinstance(obj, Attachment):
            for listener in by_first.get(obj.virtual, ()):
                if listener.virtual not in facts.prepared and not (
                        listener.is_copy and base_name(obj.target) in _OF_ITS_OWN):
                    attached = _attached(obj, listener, others)
                    wanted[attached.ref] = attached
            if obj.virtual in further:
                wanted[obj.ref] = _needing(obj, obj.virtual, others)
    return wanted


_OF_ITS_OWN = (names.REENCRYPT_IRULE, tls_names.DEFAULT_SERVERSSL)
"""Targets that each virtual server on a further address has from the beginning, with its own record."""


def _by_first(config: FrontEndSettings) -> dict[str, list[FrontEndServer]]:
    """Return the virtual servers of all addresses by that of the first."""
    by_first: dict[str, list[FrontEndServer]] = {}
    for listener in listeners(config.front_ends):
        by_first.setdefault(listener.first, []).append(listener)
    return by_first


Others = Mapping[str, frozenset[str]]


def _of_others(facts: DeviceFacts) -> Others:
    """Return the client SSL profiles by virtual server that are not the router's."""
    return {each.path: frozenset((*each.client_ssl, *(path for _, path in each.original_client_ssl)))
            for each in (facts.http, facts.https, *facts.further) if each}


def _attached(obj: Attachment, listener: FrontEndServer, others: Others) -> Attachment:
    """Return an attachment to the virtual server of an address."""
    moved = {_moved(ref, listener) for ref in obj.extra_dependencies}
    return _needing(replace(obj, virtual=listener.virtual, extra_dependencies=frozenset(moved)),
                    listener.virtual, others)


def _needing(obj: Attachment, virtual: str, others: Others) -> Attachment:
    """Return an attachment that needs its virtual server.

    It replaces what it shall replace only where that is: on a virtual server that an administrator made.
    """
    needs = obj.extra_dependencies | {Ref(VirtualServer.KIND, virtual)}
    there = obj.replaces in others.get(virtual, ())
    return replace(obj, extra_dependencies=shared(needs), replaces=obj.replaces if there else "")


def _moved(ref: Ref, listener: FrontEndServer) -> Ref:
    """Return the attachment to the virtual server of an address in the place of that to the first."""
    if ref.kind != Attachment.KIND or not ref.path.startswith(f"{listener.first}/"):
        return ref
    return Ref(ref.kind, listener.virtual + ref.path.removeprefix(listener.first))


def on_all(refs: frozenset[Ref], config: FrontEndSettings) -> frozenset[Ref]:
    """Return Refs with those of the attachments to further addresses."""
    further = [listener for listener in listeners(config.front_ends) if listener.is_copy]
    if not further:
        return refs
    return refs.union(*({_moved(ref, listener) for ref in refs} for listener in further))


def answering(used: Collection[Ref], config: FrontEndSettings, facts: DeviceFacts) -> frozenset[Ref]:
    """Return what must be enabled before requests come to the objects that a Route uses."""
    if not config.front_ends or not used:
        return frozenset()
    secure = any(f"/{named(holder, config.front_end)}/" in ref.path for ref in used
                 for holder in (names.SECURE_POLICY, names.PASSTHROUGH_GROUP))
    plain = any(f"/{named(names.INSECURE_POLICY, config.front_end)}/" in ref.path for ref in used)
    plain |= tcp_virtual(config) is not None
    return frozenset(listening_ref(listener.virtual) for listener in listeners(config.front_ends)
                     if not listener.is_copy and listener.virtual not in facts.prepared
                     and (secure if listener.secure else plain))
