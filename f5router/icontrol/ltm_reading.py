"""Reading of LTM objects and certificate files: each item is decoded, and its JSON dropped, as it comes."""

import contextlib
import logging
from collections.abc import Mapping

from f5router.icontrol import generations, pages
from f5router.icontrol.codec import ltm_codec, policy_codec
from f5router.icontrol.observation import Expected, rules_path
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers import ltm_nodes
from f5router.model import access_log, names, ownership, route_options, tls_names
from f5router.model.access_log import RequestLog
from f5router.model.errors import DeviceTimeout
from f5router.model.front_end_names import base_name, front_end_of
from f5router.model.json_types import JSON
from f5router.model.ltm import (
    CertFile,
    ClientSSL,
    CRLFile,
    DataGroup,
    HTTPCompression,
    IRule,
    KeyFile,
    Object,
    Policy,
    Pool,
    Rule,
    ServerSSL,
)
from f5router.model.objects import Ref
from f5router.model.virtual_server import HTTPProfile, TCPProfile

log = logging.getLogger(__name__)

PARTITIONED = (*route_options.MONITOR_TYPES, Pool.KIND, Policy.KIND, DataGroup.KIND, IRule.KIND,
               CertFile.KIND,
               KeyFile.KIND)
PROFILES = (ClientSSL.KIND, ServerSSL.KIND, HTTPCompression.KIND)
HTTP = HTTPProfile.KIND

_EXPAND = {"expandSubcollections": "true"}
_KEPT = ("serverName", "sniDefault", "defaultsFrom", "ciphers", "cipherGroup", "tmOptions", "peerCertMode",
         "authenticate", "caFile", "clientCertCa", "crlFile")
"""Properties of profiles from which facts are taken."""


class LTMReading:
    """Result of one reading, as far as it has come."""

    def __init__(self, client: Client, folder: str, expected: Expected, *, own_servers: bool = False):
        """Args: own_servers: take the profiles of the router's own virtual servers too."""
        self._own_servers = own_servers
        self._client, self._folder, self._expected = client, folder, expected
        self.objects: dict[Ref, Object] = {}
        """Our objects, and other people's Rules in our policies."""
        self.nodes: dict[str, str] = {}
        """Full path of the LTM node, by the address of a member of our pools."""
        self.generations: dict[Ref, int] = {}
        """Generations of our objects, each as old as what was read of the object, or older."""
        self.policies: dict[str, object] = {}
        """Status of each policy, by path."""
        self.profiles: dict[str, dict[str, JSON]] = {kind: {} for kind in (*PROFILES, HTTP)}
        """All profiles by kind and path: of those that are not for one Host, what facts are taken from."""

    def read_profiles(self) -> None:
        """Read the profiles, from which facts are taken. Raises: BigIPError."""
        for kind in (*PROFILES, HTTP):
            self._collection(kind, {})

    @property
    def has_front_ends(self) -> bool:
        """True if there is a profile of a further front end."""
        return any(front_end_of(path) and ownership.owns_path(self._folder, kind, path)
                   for kind, profiles in self.profiles.items() for path in profiles)

    def read_others(self, expected: Expected) -> None:
        """Read everything else. Raises: BigIPError."""
        self._expected = expected
        self.objects = {ref: expected.shared(ref, obj) for ref, obj in self.objects.items()}
        for kind in PARTITIONED:
            self._policies() if kind == Policy.KIND else self._collection(kind, pages.filtered(self._folder))
        if self._own_servers or self.has_front_ends:
            self._collection(TCPProfile.KIND, pages.filtered(self._folder))
        if any(ref.kind == Pool.KIND and base_name(ref.path) == access_log.POOL for ref in self.objects):
            # Profiles name such a pool, so there is none without it.
            self._collection(RequestLog.KIND, pages.filtered(self._folder))
        if any(map(tls_names.is_parent, self.profiles[ClientSSL.KIND])):
            self._collection(CRLFile.KIND, pages.filtered(self._folder))

    def _collection(self, kind: str, params: Mapping[str, str]) -> None:
        for item in pages.items(self._client, kind, params, expand=kind == Pool.KIND,
                                large=self._expected.is_large(kind)):
            path = pages.name_of(item)
            if kind in self.profiles:
                kept = kind == ClientSSL.KIND and not ownership.is_host_profile(self._folder, path)
                self.profiles[kind][path] = {
                    name: item[name] for name in _KEPT if name in item} if kept else {}
            is_read = kind != HTTP or self._own_servers or front_end_of(path)
            if ownership.owns_path(self._folder, kind, path) and is_read:
                self._take(kind, path, item)
                if kind == Pool.KIND:
                    with contextlib.suppress(*ltm_codec.ODD):
                        self.nodes.update(ltm_nodes.nodes_of(ltm_codec.items(item, "members")))

    def _policies(self) -> None:
        """Read the policies; the Rules of a large one by themselves, in pages."""
        params, whole = pages.filtered(self._folder), None
        if not any(map(self._expected.is_large, self._expected.policies())):
            try:
                whole = self._client.get(Policy.KIND, {**params, **_EXPAND})
            except DeviceTimeout:
                log.info("policies take too long, reading their rules in pages")
        reply = self._client.get(Policy.KIND, params) if whole is None else whole
        for item in reply.get("items") or []:
            if path := pages.name_of(item):
                self.policies[path] = item.get("status")
            if ownership.owns_path(self._folder, Policy.KIND, path):
                self._take(Policy.KIND, path, item, rules=self._rules(path) if whole is None else None)

    def _rules(self, policy: str) -> list[Rule]:
        """Read the Rules of a policy in pages, or as a whole if the device gives their names only.

        Each Rule that we write has an action.
        """
        rules = []
        for item in pages.items(self._client, rules_path(policy), {}, expand=True, large=True):
            if ownership.rule_stem(pages.name_of(item)) and not ltm_codec.items(item, "actions"):
                log.info("rules without actions, reading the whole policy", extra={"path": policy})
                whole = get_if_there(self._client, item_path(Policy.KIND, policy), _EXPAND) or {}
                return [self._rule(policy, item) for item in ltm_codec.items(whole, "rules")]
            rules.append(self._rule(policy, item))
        return rules

    def _rule(self, policy: str, item: JSON) -> Rule:
        rule = policy_codec.decode_rule(policy, item)
        shared = self._expected.shared(rule.ref, rule)
        return shared if isinstance(shared, Rule) else rule

    def _take(self, kind: str, path: str, item: JSON, *, rules: list[Rule] | None = None) -> None:
        """Decode one of our items; an undecodable item counts as absent, and is overwritten.

        Args: rules: those of a policy, if they were read by themselves.
        """
        try:
            self.generations[Ref(kind, path)] = generations.of(item)
            nested = decoded(kind, item) if rules is None else _joined(item, rules)
        except ltm_codec.ODD as exc:
            log.warning("object not understood", extra={"kind": kind, "path": path, "error": repr(exc)})
            return
        # Other people's Rules are kept for their ordinals; plan.diff leaves them alone.
        for obj in nested:
            if isinstance(obj, Rule) and rules is not None:
                self.objects[obj.ref] = obj  # as `_rule` has made it
            elif isinstance(obj, Rule) or ownership.owns(self._folder, obj):
                known = self._expected.shared(obj.ref, obj)
                self.objects[known.ref] = known

    def policy_state(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return our legacy policies, and drafts of our policies that were left behind."""
        ours = {path for each in self.policies if ownership.owns_path(
            self._folder, Policy.KIND, path := f"{self._folder}/{each.rpartition('/')[2]}")}
        drafts = {draft for path in ours for draft in names.draft_paths(path)}
        return (frozenset(path for path in ours if self.policies.get(path) == "legacy"),
                tuple(sorted(drafts & self.policies.keys())))


def decoded(kind: str, item: JSON) -> list[Object]:
    """Decode one item and its nested objects, owned or not. Raises: codec.ODD."""
    if kind == Policy.KIND:
        return _joined(item, None)
    if kind == DataGroup.KIND:
        group, records = ltm_codec.decode_data_group(item)
        return [group, *records]
    return [ltm_codec.DECODERS[kind](item)]


def _joined(item: JSON, rules: list[Rule] | None) -> list[Object]:
    policy, rules = policy_codec.decode_policy(item, rules)
    return [policy, *rules]
