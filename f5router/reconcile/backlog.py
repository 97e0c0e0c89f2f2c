"""The backlog: objects that may have to be written, by Host and by namespace.

A Plan of everything may take minutes. A portion is a part of the backlog that is right by itself:

- All objects that route requests for a Host go together, and with them the wildcards of the backlog that
  cover the Host. Nothing else decides about these requests, so Hosts can be written one after the other.
- With an object go its dependencies, and those of the object as it is on the device.
- An object that something outside of the portion still needs is not deleted.
- What checks the certificates of clients comes after all profiles that ask for them, and goes before.

Namespaces take turns. The network objects through which pods are reached are in every portion.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice

from f5router.model import names, ownership, sni_records, tls_names
from f5router.model.front_end_names import base_name
from f5router.model.ltm import Attachment, BigIPState, ClientSSL, Object, Policy, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.model.small import Groups
from f5router.plan.change import NETWORK_KINDS, asks_clients, checks_clients, ends_check


class Backlog:
    """Refs whose objects may differ between Desired and Observed."""

    def __init__(self) -> None:
        self._queues: dict[str, dict[Ref, None]] = {}
        """By namespace, "" for none: first the namespace whose turn it is, with its oldest object first."""
        self._namespace: dict[Ref, str] = {}
        self._hosts: dict[Ref, frozenset[str]] = {}
        """Hosts of objects that route requests, or show a certificate."""
        self._refs = Groups[str, Ref]()
        """Objects of the backlog by Host."""
        self._kinds = Counter[str]()
        """Number of objects by kind."""
        self._urgent: dict[Ref, None] = {}
        """Network objects through which pods are reached."""
        self._asking: dict[Ref, None] = {}
        """Objects that may ask clients for certificates."""
        self._checking: dict[Ref, None] = {}
        """Objects that check them."""
        self.going: dict[Ref, None] = {}
        """Objects that are not wanted."""
        self._needs: dict[Ref, set[Ref]] = {}
        """Objects that must stay as long as an object of the backlog that is on the device."""
        self._needed = Counter[Ref]()
        """By object: how many of these need it."""
        self._unneeded: dict[Ref, None] = {}
        """Objects that are not wanted, route no requests, and are needed by none of these."""

    def __len__(self) -> int:
        return len(self._namespace)

    def __iter__(self) -> Iterator[Ref]:
        return iter(self._namespace)

    def __contains__(self, ref: object) -> bool:
        return ref in self._namespace

    def isdisjoint(self, refs: set[Ref]) -> bool:
        """True if none of these is in the backlog."""
        return self._namespace.keys().isdisjoint(refs)

    def add(self, refs: Iterable[Ref], desired: BigIPState, observed: BigIPState) -> None:
        """Put objects at the end of their namespaces' queues; an object that is queued keeps its place."""
        for ref in refs:
            versions = [state[ref] for state in (desired, observed) if ref in state]
            hosts = self.hosts(ref, desired, observed)
            if ref not in self._namespace:
                namespace = next(filter(None, map(_namespace, versions)), "")
                self._namespace[ref] = namespace
                self._queues.setdefault(namespace, {})[ref] = None
                self._kinds[ref.kind] += 1
                for index, belongs in ((self._urgent, ref.kind in NETWORK_KINDS),
                                       (self._asking, any(map(asks_clients, versions))),
                                       (self._checking, any(map(checks_clients, versions)))):
                    if belongs:
                        index[ref] = None
            is_going = ref not in desired
            for index, belongs in ((self.going, is_going),
                                   (self._unneeded, is_going and not (hosts or self._needed[ref]))):
                if belongs:
                    index[ref] = None
                else:
                    index.pop(ref, None)
            self._set_needs(ref, ownership.needs(observed[ref], observed) if ref in observed else set())
            if hosts:
                self._hosts[ref] = hosts
                for host in hosts:
                    self._refs.add(host, ref)

    def remove(self, refs: Iterable[Ref]) -> None:
        """Take objects out."""
        for ref in refs:
            namespace = self._namespace.pop(ref, None)
            if namespace is None:
                continue
            self._kinds[ref.kind] -= 1
            for index in (self._urgent, self._asking, self._checking, self.going, self._unneeded):
                index.pop(ref, None)
            self._set_needs(ref, set())
            queue = self._queues[namespace]
            del queue[ref]
            if not queue:
                del self._queues[namespace]
            for host in self._hosts.pop(ref, ()):
                self._refs.discard(host, ref)

    def clear(self) -> None:
        """Take everything out."""
        for index in (self._queues, self._namespace, self._hosts, self._kinds, self._urgent, self._asking,
                      self._checking, self.going, self._needs, self._needed, self._unneeded):
            index.clear()
        self._refs = Groups()

    # --- portions ------------------------------------------------------------------------

    def portion(self, desired: BigIPState, observed: BigIPState, most: int | None = None,
                also: Iterable[Ref] = ()) -> set[Ref]:
        """Choose the objects to be compared and written next; they stay in the backlog.

        Args:
            most: about so many objects; None for all. Objects that must go together do so even if they are
                more: then alone.
            also: objects that are not in the backlog, and are compared too.
        """
        if most is None:
            return {*self._namespace, *also}
        chosen = _Portion(self, desired, observed)
        for ref in also:
            chosen.refs |= chosen.group(ref)
        self._take_turns(chosen, most)
        refs = chosen.refs | {ref for ref in self._urgent if ref in desired or ref in observed}
        inside = self._leave_needed(refs, desired, observed)
        refs.update(ref for ref in self._checking
                    if ref in self.going and ends_check(observed.get(ref), desired))
        idle = (ref for ref in chain(inside, self._unneeded) if ref in self.going and ref not in refs
                and ref not in self._hosts and not self._is_needed(ref, inside, observed))
        refs.update(islice(idle, most))
        if self._kinds[Rule.KIND] > sum(ref.kind == Rule.KIND and ref in self._namespace for ref in refs):
            # A strategy is changed when all Rules are in place under either.
            refs -= {ref for ref in refs if ref.kind == Policy.KIND and ref in desired and ref in observed}
        if not self._asking.keys() <= refs:
            refs -= {ref for ref in self._checking if ref not in self.going}
        return refs

    def _leave_needed(self, refs: set[Ref], desired: BigIPState, observed: BigIPState) -> Counter[Ref]:
        """Leave out of a portion what something outside of it needs.

        Returns: for each object, how many of the portion need it.
        """
        going = {ref for ref in refs if ref not in desired}
        inside = Counter(need for ref in refs for need in self._needs.get(ref, ())) if (
            going or self.going) else Counter[Ref]()
        beside = set[Ref]()
        while staying := {ref for ref in going if ref in beside or self._is_needed(ref, inside, observed)}:
            refs -= staying
            going -= staying
            for ref in staying:
                inside.subtract(self._needs.get(ref, ()))
            beside |= ownership.stays_with((ref for ref in staying if ref not in self._namespace), observed)
        return inside

    def _is_needed(self, ref: Ref, inside: Mapping[Ref, int], observed: BigIPState) -> bool:
        """True if an object of the backlog outside of a portion needs an object.

        Args: inside: for each object, how many of the portion need it.
        """
        stands = ownership.attachments_of(observed[ref]) if ref in observed else None
        return any(self._needed[each] > inside.get(each, 0) for each in (ref, stands) if each is not None)

    def _set_needs(self, ref: Ref, needs: set[Ref]) -> None:
        """Record what must stay as long as an object."""
        before = self._needs.pop(ref, set())
        if needs:
            self._needs[ref] = needs
        for need in before - needs:
            self._needed[need] -= 1
            if not self._needed[need]:
                del self._needed[need]
                if need in self.going and need not in self._hosts:
                    self._unneeded[need] = None
        for need in needs - before:
            self._needed[need] += 1
            self._unneeded.pop(need, None)

    def _take_turns(self, chosen: "_Portion", most: int) -> None:
        """Choose the oldest of each namespace in turn; the next portion begins where this one ended."""
        before = len(chosen.refs)
        waiting = {namespace: self._turns(queue, chosen.desired)
                   for namespace, queue in self._queues.items()}
        while waiting:
            for namespace, refs in list(waiting.items()):
                ref = next((ref for ref in refs if ref not in chosen.refs), None)
                if ref is None:
                    del waiting[namespace]
                    continue
                group = chosen.group(ref)
                count = len(chosen.refs) - before
                if count and count + len(group) > most:
                    self._begin_with(namespace)
                    return
                chosen.refs |= group
                if count + len(group) >= most:
                    self._begin_after(namespace)
                    return

    def _begin_with(self, namespace: str) -> None:
        order = list(self._queues)
        at = order.index(namespace)
        self._queues = {name: self._queues[name] for name in (*order[at:], *order[:at])}

    def _begin_after(self, namespace: str) -> None:
        order = list(self._queues)
        self._begin_with(order[(order.index(namespace) + 1) % len(order)])

    def _turns(self, queue: Collection[Ref], desired: BigIPState) -> Iterator[Ref]:
        """Yield objects that have a turn of their own; their dependencies come with them, and are last."""
        yield from (ref for ref in queue if ref in self._hosts)
        yield from (ref for ref in queue if ref in desired and ref not in self._hosts)

    def together(self, hosts: Iterable[str]) -> Iterator[Ref]:
        """Yield the objects that decide about requests for these Hosts."""
        for own in hosts:
            for host in (own, *self._relatives(own)):
                yield from self._refs.get(host)

    def hosts(self, ref: Ref, desired: BigIPState, observed: BigIPState) -> frozenset[str]:
        """Return the Hosts that an object decides about, or did, whether it is in the backlog or not."""
        known = [self._hosts.get(ref, frozenset()), *(
            hosts_of(obj, state) for state in (desired, observed) if (obj := state.get(ref)) is not None)]
        first = max(known, key=len)  # mostly the only ones, so that no other set stays in memory
        return first if all(each <= first for each in known) else first.union(*known)

    def _relatives(self, host: str) -> Iterator[str]:
        """Yield Hosts of the backlog that a wildcard covers at any depth, and wildcards that cover a Host."""
        if host.startswith("*."):
            yield from (other for other in self._refs if other.endswith(host[1:]))
        rest = host.removeprefix("*.")
        while "." in rest:
            rest = rest.partition(".")[2]
            if f"*.{rest}" in self._refs:
                yield f"*.{rest}"


class _Portion:
    """The objects chosen so far, and all objects that were looked at."""

    def __init__(self, backlog: Backlog, desired: BigIPState, observed: BigIPState):
        self._backlog, self.desired, self.observed = backlog, desired, observed
        self.refs: set[Ref] = set()
        self._seen: tuple[set[Ref], set[Ref]] = (set(), set())
        self._seen_hosts: set[str] = set()

    def group(self, ref: Ref) -> set[Ref]:
        """Return the objects that must go together with an object, without those chosen before."""
        group: set[Ref] = set()
        stack = [ref]
        while stack:
            ref = stack.pop()
            if ref in group or ref in self.refs:
                continue
            group.add(ref)
            hosts = self._backlog.hosts(ref, self.desired, self.observed) - self._seen_hosts
            self._seen_hosts |= hosts
            stack += self._backlog.together(hosts)
            for state, seen in zip((self.desired, self.observed), self._seen, strict=True):
                stack += [need for need in _closure(ref, state, seen) if need in self._backlog]
        return group


def _closure(ref: Ref, state: BigIPState, seen: set[Ref]) -> list[Ref]:
    """Return all dependencies of an object in turn, and its options, without those seen before."""
    closure, stack = [], [ref]
    while stack:
        obj = state.get(stack.pop())
        for need in (*obj.dependencies, *ownership.option_records(obj)) if obj is not None else ():
            if need not in seen:
                seen.add(need)
                closure.append(need)
                stack.append(need)
    return closure


def hosts_of(obj: Object, state: BigIPState) -> frozenset[str]:
    """Return the Hosts about whose requests, or certificate, an object decides."""
    if isinstance(obj, Rule):
        return obj.hosts
    if isinstance(obj, Record) and obj.name != names.OWNERS_KNOWN and base_name(obj.group) in (
            names.PASSTHROUGH_GROUP, names.OWNER_GROUP):
        return frozenset({sni_records.host_of(obj.name)})
    profile = state.get(Ref(ClientSSL.KIND, obj.target)) if isinstance(obj, Attachment) else obj
    return frozenset({profile.server_name}) if isinstance(profile, ClientSSL) else frozenset()


def _namespace(obj: Object) -> str:
    """Return the namespace of the Route or Service of an object; "" if it has none."""
    if isinstance(obj, Rule):
        return names.rule_namespace(obj.name)
    if isinstance(obj, ClientSSL):
        return tls_names.file_namespace(obj.cert)
    path = obj.path if isinstance(obj, Pool) else _pool(obj) if isinstance(obj, Record) else ""
    if path.rsplit("/", 1)[-1].startswith("openshift_"):
        return names.pool_namespace(path)
    return tls_names.file_namespace(getattr(obj, "path", ""))


def _pool(record: Record) -> str:
    """Return the pool of a record: that which it is named by, or to which TLS of a Host is passed through."""
    return record.name if record.name.startswith("/") else record.data
