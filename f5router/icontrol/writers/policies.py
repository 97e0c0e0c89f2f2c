"""Writer of LTM policies and their Rules, in the way that the device's policy model requires.

plain   below 12.1: every write takes effect at once.
draft   from 12.1 on: a published policy refuses edits; a draft is a copy that is edited and then
        published in one step. All Changes of a policy in one stage of the Plan share a draft.
legacy  12.1 and newer, policies with the property `legacy`: edited in place like plain ones.

The model follows from the device's version for a new policy, and from the policy's own status for an
existing one. Source: bigip-behaviour.md B4.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from f5router.icontrol.codec import ltm_codec, policy_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client, delete_if_there, get_if_there
from f5router.icontrol.rest.readiness import blames_object
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers import rule_list
from f5router.icontrol.writers.rule_list import KnownRules, Pace, RuleList
from f5router.icontrol.writers.writer import Result, Results, bisect
from f5router.model import names, ownership, tmos
from f5router.model.errors import BigIPError, Conflict, Forbidden, NotFound, NotReady, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import Policy, Rule
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, UPDATE, Change, of_kind

log = logging.getLogger(__name__)

PLAIN, DRAFT, LEGACY = "plain", "draft", "legacy"

Attempt = Callable[[Change[Rule], Callable[[], object]], Exception | None]
"""Carries out the write of a Rule; returns the error, which names who is to blame."""
Contents = Callable[[str], tuple[Policy | None, Collection[Rule] | None]]
"""Returns a policy and its Rules, as far as is known; None for Rules that are not all ours."""

REFUSED_MOST = 10_000
"""Most Rules that are remembered as refused: tenants choose their number."""


class PolicyWriter:
    """Writes policies alone, and the Rules of one policy at a time."""

    kinds = (Policy.KIND, Rule.KIND)

    def __init__(
        self, client: Client, *, checkpoint: Callable[[], None], enough: Callable[[], bool],
        attempt: Attempt, obstacle: Callable[[Change[Rule]], BigIPError | None], contents: Contents,
        describe: ownership.Describe, on_opened: Callable[[str, JSON], None] = lambda policy, reply: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        """Args:
        checkpoint: called before each write of a Rule; what it raises ends the writing.
        enough: True if no more is to be written, and the Rules so far are to be published.
        obstacle: returns why a Rule may not be written now; `attempt` looks by itself.
        on_opened: called with a policy and the reply to the request for a draft of it.
        clock: monotonic seconds.
        """
        self._client, self._on_opened = client, on_opened
        self._enough, self._attempt, self._obstacle = enough, attempt, obstacle
        self._checkpoint, self._contents, self._clock = checkpoint, contents, clock
        self._describe, self._pace = describe, Pace()
        self._version: tuple[int, ...] = ()
        self._legacy: set[str] = set()
        self._drafts: set[str] = set()
        self._refused: set[Ref] = set()
        """Rules that were refused alone: they go alone again, so that no list is refused for them."""
        self._strange: set[str] = set()
        """Those that this process did not create: of an administrator, or of a router that was killed."""

    def update_from(self, observation: Observation) -> None:
        """Adapt to the device's version, to legacy policies, and to drafts that were left behind."""
        self._version = observation.facts.version
        created = self._drafts - self._strange
        self._legacy, self._drafts = set(observation.legacy), set(observation.drafts)
        self._strange = self._drafts - created

    @property
    def strange_drafts(self) -> list[str]:
        """Full paths of the drafts that this process did not create and would delete."""
        return sorted(self._strange)

    def model(self, policy: str) -> str:
        """Return how a policy is edited."""
        if self._version < tmos.DRAFTS_SINCE:
            return PLAIN
        return LEGACY if policy in self._legacy else DRAFT

    def group(self, obj: Policy | Rule) -> str:
        """Return the policy of a Rule; "" for a policy."""
        return obj.policy if isinstance(obj, Rule) else ""

    def write(self, changes: Sequence[Change[Policy | Rule]]) -> Results:
        """Write one policy, or Changes of one policy's Rules. Raises: BigIPError."""
        rules = of_kind(changes, Rule)
        if rules:
            return self._write_rules(rules)
        results: Results = []
        for change in of_kind(changes, Policy):
            self._write_policy(change)
            results.append((change, None))
        return results

    # --- policies ------------------------------------------------------------------------

    def _write_policy(self, change: Change[Policy]) -> None:
        policy = change.obj
        if change.verb == DELETE:
            delete_if_there(self._client, item_path(Policy.KIND, policy.path))
        elif change.verb == CREATE:
            self._create(policy)
        else:
            self._repair(policy)

    def _create(self, policy: Policy) -> None:
        body = {**policy_codec.encode_policy(policy),
                **ownership.description_properties(self._describe, policy)}
        model = self.model(policy.path)
        if model == DRAFT and not self._drafted(policy, body):
            # No draft can be created in this folder; such policies are edited in place.
            model = LEGACY
        if model == DRAFT:
            return
        extra = {"legacy": True} if model == LEGACY else {}
        try:
            self._client.post(Policy.KIND, {**body, **extra})
        except Conflict:
            self._repair(policy)
        if model == LEGACY:
            self._legacy.add(policy.path)

    def _drafted(self, policy: Policy, body: dict[str, Any]) -> bool:
        """Create a policy as a draft and publish it; False if the device has no folder for the draft.

        The place of drafts of nested folders is not recorded, see names.draft_paths.
        """
        self._drop_drafts(policy.path)
        sub_path = "/".join(filter(None, (body.get("subPath"), "Drafts")))
        try:
            reply = self._client.post(Policy.KIND, {**body, "subPath": sub_path})
        except Refused as exc:
            if self._exists(policy.path):
                self._repair(policy)
                return True
            if "subPath" not in body or isinstance(exc, Conflict):
                raise
            log.info("no draft in this folder", extra={"policy": policy.path, "error": str(exc)})
            return False
        draft = ltm_codec.path_of(reply)
        if draft.rpartition("/")[2] != policy.path.rpartition("/")[2]:
            raise NotReady("POST", Policy.KIND, "the reply names no draft", may_have_applied=True)
        self._publish(draft)
        return True

    def _repair(self, policy: Policy) -> None:
        """Set the policy's properties, and put default_noop last before a strategy relies on it."""
        base = self._open(policy.path)
        try:
            self._put_noop(base, policy)
            body = {**policy_codec.policy_changes(policy),
                    **ownership.description_properties(self._describe, policy)}
            self._client.patch(item_path(Policy.KIND, base), body)
        except BigIPError:
            self._abandon(policy.path, base)
            raise
        self._close(policy.path, base)

    def _put_noop(self, base: str, policy: Policy) -> None:
        rules = item_path(Policy.KIND, base, "rules")
        try:
            self._client.post(rules, policy_codec.encode_noop(policy))
        except Conflict:
            noop = item_path(Policy.KIND, base, "rules", names.NOOP_RULE)
            self._client.patch(noop, policy_codec.noop_changes(policy))

    # --- rules ---------------------------------------------------------------------------

    def _write_rules(self, changes: Sequence[Change[Rule]]) -> Results:
        """Write Changes of one policy's Rules; each is confirmed or refused by itself.

        Changes that were not written, because it was `enough`, are not in the result.
        """
        path = changes[0].obj.policy
        policy = rules = bodies = None
        if self.model(path) == DRAFT and len(changes) >= rule_list.LEAST:
            policy, rules = self._contents(path)
        if policy is not None and policy.noop and rules is not None:
            bodies = rule_list.encoded(rules)
        if policy is None or bodies is None:
            return self._write_draft(changes, None)
        return self._write_draft(changes, KnownRules(policy, bodies))

    def _write_draft(self, changes: Sequence[Change[Rule]], known: KnownRules | None) -> Results:
        """Write Changes and publish them. Args: known: updated with what is published."""
        policy = changes[0].obj.policy
        try:
            base = self._open(policy)
        except Refused as exc:
            return [(change, exc) for change in changes]
        rules = RuleList(known, self._pace, len(changes)) if known and base != policy else None
        results: dict[Ref, Result] = {}
        try:
            whole = self._fill(base, rules, changes, results)
        except BigIPError:
            self._abandon(policy, base)
            raise
        good = [change for change in changes if change.ref in results and results[change.ref][1] is None]
        bad: Results = [result for result in results.values() if result[1] is not None]
        if not whole and base == policy:
            return list(results.values())  # the Rules before took effect
        if not whole or not good:
            self._abandon(policy, base)
            return bad
        try:
            self._close(policy, base)
        except Refused as exc:
            self._abandon(policy, base)
            return bad + bisect([[change] for change in good], exc, partial(self._write_draft, known=known))
        if known and rules:
            known.bodies = rules.bodies
        self._pace.lost.discard(policy)
        return list(results.values())

    def _fill(self, base: str, rules: RuleList | None, changes: Sequence[Change[Rule]],
              results: dict[Ref, Result]) -> bool:
        """Write Changes into a draft; return False if the device is in trouble, as the last result shows."""
        policy, waiting = changes[0].obj.policy, deque(changes)
        in_lists = (rules is not None and policy not in self._pace.lost
                    and rules.is_worthwhile(len(changes)) and rules.is_complete(self._shown(base)))
        while waiting and not (results and self._enough()):
            if rules and in_lists and (count := rules.next(self._unsuspicious(waiting))):
                if not self._list(base, rules, [waiting.popleft() for _ in range(count)], waiting, results):
                    return False
            elif not self._alone(base, rules, waiting.popleft(), results):
                return False
        if (rules is None or not rules.sent) and policy not in self._pace.lost:
            return True
        written = [change for change in changes if change.ref in results and results[change.ref][1] is None]
        return all(self._alone(base, rules, change, results)
                   for change in rule_list.missing(written, self._shown(base)))

    def _unsuspicious(self, waiting: Iterable[Change[Rule]]) -> int:
        """Return how many of the next Changes were not refused before."""
        return sum(1 for _ in takewhile(lambda change: change.ref not in self._refused, waiting))

    def _alone(self, base: str, rules: RuleList | None, change: Change[Rule],
               results: dict[Ref, Result]) -> bool:
        """Write one Change; return False if the device is in trouble."""
        error = self._attempt(change, partial(self._rule, base, change))
        results[change.ref] = change, error
        if error is None:
            self._refused.discard(change.ref)
        elif blames_object(error) and len(self._refused) < REFUSED_MOST:
            self._refused.add(change.ref)
        if rules:
            rules.wrote_alone(change, error)
        return error is None or blames_object(error)

    def _list(self, base: str, rules: RuleList, changes: list[Change[Rule]], waiting: deque[Change[Rule]],
              results: dict[Ref, Result]) -> bool:
        """Write several Changes with the list of all Rules; return False if the device is in trouble.

        Args: waiting: gets them back if the list is refused.
        """
        obstacles = {change.ref: self._obstacle(change) for change in changes}
        free = [change for change in changes if obstacles[change.ref] is None]
        try:
            self._checkpoint()
            begin = self._clock()
            self._client.patch(item_path(Policy.KIND, base), rules.body(free))
        except Exception as exc:
            if isinstance(exc, BigIPError) and not blames_object(exc) and not isinstance(exc, Forbidden):
                if exc.may_have_applied:
                    self._pace.lose(changes[0].obj.policy, rules.length + len(free))
                results[changes[0].ref] = changes[0], exc
                return False
            log.info("batch of rules refused, splitting it", extra={
                "policy": base, "changes": len(changes), "error": str(exc)})
            rules.refused(len(changes))
            waiting.extendleft(reversed(changes))
            return True
        rules.took(free, self._clock() - begin)
        results.update((change.ref, (change, obstacles[change.ref])) for change in changes)
        return True

    def _rule(self, base: str, change: Change[Rule]) -> None:
        self._checkpoint()
        rule = change.obj
        item = item_path(Policy.KIND, base, "rules", rule.name)
        if change.verb == DELETE:
            # A Rule that stays would go on leading requests to its pool.
            delete_if_there(self._client, item, lambda: rule.name in self._rule_names(base))
        elif change.verb == UPDATE:
            self._client.patch(item, policy_codec.rule_changes(rule))
        else:
            try:
                self._client.post(item_path(Policy.KIND, base, "rules"), policy_codec.encode_rule(rule))
            except Conflict:
                self._client.patch(item, policy_codec.rule_changes(rule))
            except NotFound:
                # Some versions answer so although it was done (bigip-behaviour.md A6).
                if rule.name not in self._rule_names(base):
                    raise

    def _rule_names(self, base: str) -> set[str]:
        return {str(item.get("name")) for item in self._shown(base)}

    def _shown(self, base: str) -> list[JSON]:
        """Read the Rules of a policy, without what is in them."""
        return self._client.get(item_path(Policy.KIND, base, "rules")).get("items") or []

    # --- drafts --------------------------------------------------------------------------

    def _open(self, policy: str) -> str:
        """Return the path under which the policy can be edited now."""
        if self.model(policy) != DRAFT:
            return policy
        self._drop_drafts(policy)
        item = item_path(Policy.KIND, policy)
        try:
            reply = self._client.patch(item, {"createDraft": True})
        except Refused:
            # A draft that this process does not know of: made since the reading.
            strange = {path for path in names.draft_paths(policy) if self._exists(path)}
            self._drafts |= strange
            self._strange |= strange
            self._drop_drafts(policy)
            reply = self._client.patch(item, {"createDraft": True})
        self._on_opened(policy, reply)
        candidates = names.draft_paths(policy)
        self._drafts |= set(candidates)
        if len(candidates) == 1:
            return candidates[0]
        return next((path for path in candidates if self._exists(path)), candidates[0])

    def _close(self, policy: str, base: str) -> None:
        if base != policy:
            self._publish(base)
            self._drafts -= set(names.draft_paths(policy))

    def _publish(self, draft: str) -> None:
        self._client.post(Policy.KIND, {"command": "publish", "name": draft})

    def _abandon(self, policy: str, base: str) -> None:
        if base == policy:
            return
        try:
            self._drop_drafts(policy)
        except BigIPError as exc:
            log.info("draft left behind", extra={"draft": base, "error": str(exc)})

    def _drop_drafts(self, policy: str) -> None:
        for draft in names.draft_paths(policy):
            if draft in self._drafts:
                self._drop_draft(draft)

    def _drop_draft(self, draft: str) -> None:
        if draft in self._strange:
            log.warning("deleting a policy draft that this process did not create",
                        extra={"draft": draft})
        delete_if_there(self._client, item_path(Policy.KIND, draft))
        self._drafts.discard(draft)
        self._strange.discard(draft)

    @property
    def has_drafts(self) -> bool:
        """True if there may be drafts, which a failure has left if no policy is being written."""
        return bool(self._drafts)

    def remove_drafts(self, require_active: Callable[[], object]) -> None:
        """Delete drafts that a failure has left, while no policy is being written; refusals are logged.

        Somebody who publishes one by hand would bring old Rules back.

        Args: require_active: raises a BigIPError if nothing may be deleted.
        """
        for draft in sorted(self._drafts):
            try:
                require_active()
                self._drop_draft(draft)
            except BigIPError as exc:
                log.info("draft left behind", extra={"draft": draft, "error": str(exc)})

    def _exists(self, path: str) -> bool:
        return get_if_there(self._client, item_path(Policy.KIND, path)) is not None
