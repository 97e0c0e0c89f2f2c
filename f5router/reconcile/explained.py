"""Names and generations of the device that the router's own readings and writes explain.

Somebody else has changed an object that differs from them.
"""

from collections.abc import Callable, Iterable

from f5router.icontrol import generations
from f5router.icontrol.generations import Extent, Generations, Look, Replies
from f5router.model.ltm import DataGroup, Policy
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, AnyChange

_HOLDERS = (Policy.KIND, DataGroup.KIND)
"""Kinds that several Routes share: what others changed in one is not seen in the generation that the router's
own write has given it. So their Rules and records are compared by name too."""


class Explained:
    """The loop's thread calls its methods."""

    def __init__(self, is_writing: Callable[[Ref], bool], observed: Callable[[], Iterable[Ref]],
                 replies: Callable[[], Replies]):
        """Args:
            is_writing: True for a REST object while a write of it, or of a part of it, is under way.
            observed: returns the objects of the device, as far as is known.
            replies: returns those of the unit in use.
        """
        self._is_writing, self._observed, self._replies = is_writing, observed, replies
        self._known: dict[Ref, int] = {}
        self._is_known = False
        """True if the device was read since the start, or since the router turned to another unit."""
        self._unknown: set[Ref] = set()
        """REST objects whose generation after the last own write no reply has shown."""
        self._by_reply: set[Ref] = set()
        """Those whose generation is known from a reply alone."""
        self._trusts_replies = True
        self._opens_agree: bool | None = None
        """True once a reply to a request for a draft has shown the generation that was known; False if that
        proved wrong."""
        self._opened_changed: set[Ref] = set()
        """Policies that somebody else had changed before the router opened a draft of them."""
        self._unchecked: set[Ref] = set()
        """Policies and data-groups that were written since their parts were compared."""
        self._since_look: set[Ref] = set()
        """REST objects and parts that were written since the look under way began."""
        self._since_reading: set[Ref] = set()

    def start_over(self) -> None:
        """Forget everything: another unit of a pair has generations of its own."""
        self._known, self._is_known = {}, False
        for books in (self._unknown, self._by_reply, self._unchecked, self._opened_changed):
            books.clear()

    # --- the router's own readings and writes ------------------------------------------------

    def begin_reading(self) -> None:
        """Record that a reading of the whole device begins."""
        self._since_reading = set()

    def take_reading(self, read: Generations) -> None:
        """Record the generations of a reading of the whole device."""
        newer = self._since_reading | set(filter(self._is_writing, read))
        kept = {ref: self._known[ref] for ref in newer & self._known.keys()}
        self._known = {ref: generation for ref, generation in read.items() if ref not in newer} | kept
        self._is_known = True
        for books in (self._unknown, self._by_reply, self._unchecked, self._opened_changed):
            books &= newer
        self._unknown |= (newer & read.keys()) - kept.keys()

    def record(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        holder = generations.holder(change.obj)
        if holder.kind not in generations.KINDS:
            return
        for since in (self._since_look, self._since_reading):
            since |= {holder, change.ref}
        self._by_reply.discard(holder)
        self._judge_opened(holder)
        replied = self._replies().newest(holder)
        if holder.kind in _HOLDERS:
            self._unchecked.add(holder)
        if holder == change.ref and change.verb == DELETE:
            self._known.pop(holder, None)
            for books in (self._unknown, self._unchecked):
                books.discard(holder)
        elif replied is None or not self._trusts_replies:
            self._unknown.add(holder)
        else:
            self._known[holder] = replied
            self._unknown.discard(holder)
            self._by_reply.add(holder)

    def _judge_opened(self, policy: Ref) -> None:
        """Compare the generations in the reply to a request for a draft, unless own writes came before it."""
        opened = self._replies().take_opened(policy)
        if opened is None or policy in self._unknown or policy not in self._known:
            return
        if opened == self._known[policy]:
            self._opens_agree = self._opens_agree is not False
        elif self._opens_agree:
            self._opened_changed.add(policy)

    def take_opened_changed(self) -> set[Ref]:
        """Return policies that somebody else changed between a look and an own write, once."""
        changed, self._opened_changed = self._opened_changed, set()
        return changed

    @property
    def has_opened_changed(self) -> bool:
        """True if `take_opened_changed` would return something."""
        return bool(self._opened_changed)

    def distrust_replies(self) -> None:
        """Record that the generations in replies differ from the generations in readings."""
        self._trusts_replies = self._opens_agree = False
        self._unknown |= self._by_reply
        self._by_reply.clear()

    # --- looks ------------------------------------------------------------------------------

    @property
    def has_unknown(self) -> bool:
        """True if a look may learn the generations that own writes have given."""
        return bool(self._unknown)

    def begin_look(self, *, whole: bool) -> Extent:
        """Return the kinds to read. Args: whole: all kinds, not only kinds with unknown generations."""
        self._replies().forget(self._since_look)
        self._since_look = set()
        kinds = generations.KINDS if whole else frozenset(ref.kind for ref in self._unknown)
        return Extent(kinds, sorted(self._unchecked))

    def compare(self, extent: Extent, look: Look) -> tuple[set[Ref], bool]:
        """Return the REST objects that somebody else has changed; True if only replies have told so.

        Those that the router has written since the look began are not compared, and are compared next time.
        """
        was_known, self._is_known = self._is_known, True
        differing: set[Ref] = set()
        kinds = frozenset(extent.kinds)
        for ref in look.generations.keys() | {
                ref for refs in (self._known, self._unknown) for ref in refs if ref.kind in kinds}:
            if ref in self._since_look or self._is_writing(ref):
                continue
            there = look.generations.get(ref)
            if there is None if ref in self._unknown else there != self._known.get(ref) and was_known:
                differing.add(ref)
            self._unknown.discard(ref)
            self._replies().take_opened(ref)
            if there is None:
                self._known.pop(ref, None)
            else:
                self._known[ref] = there
        by_replies = bool(differing) and differing <= self._by_reply
        self._by_reply -= {ref for ref in self._by_reply if ref.kind in kinds} - self._since_look
        others = self._compare_parts(look)
        return differing | others, by_replies and not others

    def _compare_parts(self, look: Look) -> set[Ref]:
        """Return the policies and data-groups that have lost or got Rules or records by somebody else."""
        compared = {holder for holder in look.parts if not self._is_writing(holder)}
        expected = generations.parts(self._observed(), compared)
        differing = {holder for holder in compared
                     if (look.parts[holder] ^ expected[holder]) - self._since_look}
        self._unchecked -= compared - self._since_look
        return differing
