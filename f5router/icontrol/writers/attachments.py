"""Attachments of our objects to virtual servers; everything else on them is the administrator's and stays.

A list is read just before it is written, and only lists that change are sent.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from f5router.icontrol import virtual_addresses
from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client, delete_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.writer import Results, bisect
from f5router.model import names, tls_names
from f5router.model.access_log import RequestLog
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.errors import BigIPError, Conflict, NotFound, Refused
from f5router.model.front_end_names import base_name
from f5router.model.json_types import JSON
from f5router.model.ltm import Attachment, ClientSSL, HTTPCompression, Policy, ServerSSL
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, Change, Plan, of_kind

log = logging.getLogger(__name__)


class AttachmentWriter:
    """Writes the Attachments of one virtual server at a time."""

    kinds = (Attachment.KIND,)

    def __init__(self, client: Client, folder: str):
        self._client = client
        self._folder = folder
        self._facts: dict[str, VirtualFacts] = {}

    def update_from(self, observation: Observation) -> None:
        """Remember the attachments of the virtual servers."""
        self.take_facts(observation.facts)

    def take_facts(self, facts: DeviceFacts) -> None:
        """Remember what is known of the virtual servers."""
        self._facts = {v.path: v for v in (facts.http, facts.https, *facts.further) if v is not None}

    def group(self, obj: Attachment) -> str:
        """Return the virtual server of an Attachment."""
        return obj.virtual

    def write(self, changes: Sequence[Change[Attachment]]) -> Results:
        """Attach or detach; refuse what cannot work, with what the administrator can do."""
        results: Results = []
        possible = []
        self._expect_default(changes)
        for change in changes:
            if refusal := self._refusal(change):
                results.append((change, refusal))
            else:
                possible.append(change)
        return results + (self._send(possible) if possible else [])

    def foresee(self, plan: Plan) -> dict[Ref, BigIPError]:
        """Return the Attachments of a Plan that `write` would refuse."""
        changes = of_kind(plan, Attachment)
        self._expect_default(changes)
        return {change.ref: refusal for change in changes if (refusal := self._refusal(change))}

    def _expect_default(self, changes: Iterable[Change[Attachment]]) -> None:
        """Remember that a default SNI profile will be attached, which Host profiles require."""
        for change in changes:
            if _is_default(change.obj) and change.verb != DELETE and self._refusal(change) is None:
                facts = self._facts.get(change.obj.virtual, VirtualFacts(change.obj.virtual))
                self._facts[facts.path] = replace(
                    facts, replaced_client_ssl=change.obj.replaces or facts.replaced_client_ssl)

    def _refusal(self, change: Change[Attachment]) -> Refused | None:
        """Return why an Attachment cannot work; None if nothing prevents it."""
        path = change.obj.virtual
        facts = self._facts.get(path, VirtualFacts(path))
        problem = "" if change.verb == DELETE else attachment_problem(change.obj, facts)
        return Refused("PATCH", f"ltm/virtual {path}", problem) if problem else None

    def _send(self, changes: list[Change[Attachment]]) -> Results:
        path = changes[0].obj.virtual
        try:
            if len(changes) == 1 and changes[0].obj.kind == "profiles" and not changes[0].obj.replaces:
                self._single(path, changes[0])
            else:
                self._lists(path, changes)
        except Refused as exc:
            return bisect(units(changes), exc, self._send)
        except BigIPError as exc:
            return [(change, exc) for change in changes]
        return [(change, None) for change in changes]

    def _single(self, path: str, change: Change[Attachment]) -> None:
        """Attach or detach one profile, without sending the list of all."""
        target = change.obj.target
        collection = item_path("ltm/virtual", path, "profiles")
        if change.verb == DELETE:
            delete_if_there(self._client, item_path("ltm/virtual", path, "profiles", target),
                            lambda: self._has_profile(path, target))
            return
        try:
            self._client.post(collection, {"name": target, "context": change.obj.context})
        except Conflict:
            log.debug("already attached", extra={"virtual": path, "profile": target})
        except NotFound:
            # Some versions answer so although it was done (bigip-behaviour.md B1).
            if not self._has_profile(path, target):
                raise

    def _lists(self, path: str, changes: list[Change[Attachment]]) -> None:
        raw = self._read(path)
        body = {}
        for kind in {change.obj.kind for change in changes}:
            old = listed(raw, kind)
            new = _merged(old, [c for c in changes if c.obj.kind == kind])
            if kind == "rules":
                new = self._ordered(new)
            if new != old:
                body[kind] = [_item(kind, *entry) for entry in new]
        if body:
            self._client.patch(item_path("ltm/virtual", path), body)

    def _ordered(self, entries: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Sort iRules: the administrator's in their order, then ours in the order of names.IRULE_ORDER."""
        places = {name: at for at, name in enumerate(names.IRULE_ORDER)}

        def place(path: str) -> int:
            ours = path.rpartition("/")[0] == self._folder
            return places.get(base_name(path), -1) if ours else -1

        return sorted(entries, key=lambda entry: place(entry[0]))

    def _has_profile(self, path: str, profile: str) -> bool:
        return profile in {name for name, _ in listed(self._read(path), "profiles")}

    def _read(self, path: str) -> JSON:
        raw = virtual(self._client, path)
        if raw is None:
            raise NotFound("GET", f"ltm/virtual {path}", missing(path), status=404)
        return raw


def virtual(client: Client, path: str | None) -> JSON | None:
    """Read a virtual server with its profiles and policies; None if it does not exist."""
    return None if path is None else virtual_addresses.read_server(client, path)


def listed(raw: JSON, kind: str) -> list[tuple[str, str]]:
    """Return full paths, with the context of profiles, in the device's order."""
    if kind == "rules":
        return [(str(name), "") for name in raw.get("rules") or ()]
    context = "context" if kind == "profiles" else ""
    return [(ltm_codec.path_of(item), str(item.get(context, ""))) for item in ltm_codec.items(raw, kind)]


def missing(path: str) -> str:
    """Return the message about a missing virtual server."""
    return (f"virtual server {path} does not exist; create it, let the router create it with "
            "--f5-vserver-address, or name another with --f5-http-vserver, --f5-https-vserver and "
            "--f5-partition-path")


_ON_HTTP = (Policy.KIND, HTTPCompression.KIND, RequestLog.KIND)
"""Kinds of attached objects that need an http profile."""


def attachment_problem(attachment: Attachment, facts: VirtualFacts) -> str:
    """Return why an Attachment cannot act on this virtual server; "" if nothing prevents it.

    Sources: bigip-behaviour.md B4, B5 and B7, for the profiles that a policy needs, those that an iRule
    needs, and SNI.
    """
    path, target = attachment.virtual, base_name(attachment.target)
    if not facts.exists:
        return missing(path)
    speaks_http = attachment.target_kind in _ON_HTTP or target in (
        names.PASSTHROUGH_IRULE, names.UNAVAILABLE_IRULE, names.NOT_FOUND_IRULE, names.REQUEST_IRULE,
        names.COOKIE_IRULE, names.HEADERS_IRULE, names.CLIENT_CERTIFICATE_IRULE)
    if speaks_http and not facts.http:
        return (f"virtual server {path}, profiles: an http profile is missing; "
                f"tmsh modify ltm virtual {path} profiles add {{ /Common/http }}")
    terminates = target in (
        names.SECURE_POLICY, names.PASSTHROUGH_IRULE, names.CLIENT_CERTIFICATE_IRULE)
    clientside = attachment.target_kind == ClientSSL.KIND
    if (terminates or clientside) and not (facts.client_ssl or facts.replaced_client_ssl):
        return (f"virtual server {path}, profiles: a client SSL profile is missing; add one with "
                "sni-default true, it serves Routes without a certificate of their own")
    has_default = facts.default_client_ssl if _is_default(attachment) else (
        facts.replaced_client_ssl or len(facts.sni_defaults) == 1)
    if clientside and not has_default:
        return (f"virtual server {path}, profiles: exactly one client SSL profile must have sni-default "
                f"true, {len(facts.sni_defaults)} have ({', '.join(facts.client_ssl) or 'there is none'})")
    return ""


def _is_default(attachment: Attachment) -> bool:
    """True for the client SSL profile with the default certificate."""
    return base_name(attachment.target) == tls_names.DEFAULT_CLIENTSSL


def units(changes: list[Change[Attachment]]) -> list[list[Change[Attachment]]]:
    """Divide Changes into those that may be written apart.

    All may but the server SSL profile and the iRules that switch its TLS on and off, which are written
    together: such an iRule without the profile is refused, the profile without them encrypts towards every
    pod.
    """
    pod_tls = [c for c in changes if c.obj.target_kind == ServerSSL.KIND
               or base_name(c.obj.target) in (names.PASSTHROUGH_IRULE, names.REENCRYPT_IRULE)]
    rest = [[c] for c in changes if c not in pod_tls]
    return ([pod_tls] if pod_tls else []) + rest


def _merged(old: list[tuple[str, str]], changes: list[Change[Attachment]]) -> list[tuple[str, str]]:
    """Return foreign entries in their order, without the replaced ones, and then ours.

    An entry that one of ours has replaced comes back when ours is detached.
    """
    leaving = {c.obj.target if c.verb == DELETE else c.obj.replaces for c in changes}
    kept = [entry for entry in old if entry[0] not in leaving]
    names_kept = {name for name, _ in kept}
    kept += [(c.obj.replaces, c.obj.context) for c in changes
             if c.verb == DELETE and c.obj.replaces and c.obj.replaces not in names_kept]
    return kept + [(c.obj.target, c.obj.context) for c in changes
                   if c.verb != DELETE and c.obj.target not in names_kept]


def _item(kind: str, name: str, context: str) -> str | dict[str, Any]:
    if kind == "rules":
        return name
    return {"name": name, "context": context} if context else {"name": name}
