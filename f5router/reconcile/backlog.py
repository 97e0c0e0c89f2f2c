"""The backlog: objects that may have to be written, by Host and by namespace.

A Plan of everything may take minutes. A portion is a part of the backlog that is right by itself:

- All objects that route requests for a Host go together, and with them the wildcards of the backlog that
  cover the Host. Nothing else decides about these requests, so Hosts can be written one after the other.
- With an object go its dependencies, and those of the object as it is on the device.
- An object that something outside of the portion still needs is not deleted.

Namespaces take turns. The network objects through which pods are reached are in every portion.
"""

from collections.abc import Iterable, Iterator

from f5router.model import names, ownership, tls_names
from f5router.model.front_end_names import base_name
from f5router.model.ltm import Attachment, BigIPState, ClientSSL, Object, Policy, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.model.small import Groups
from f5router.plan.change import NETWORK_KINDS


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
            if hosts:
                self._hosts[ref] = hosts
                for host in hosts:
                    self._refs.add(host, ref)

    def put_back(self, refs: Iterable[Ref], desired: BigIPState, observed: BigIPState) -> None:
        """Put objects of an unfinished portion before everything else of their namespaces."""
        before = self._queues
        known, self._queues = set(self._namespace), {}
        refs = [ref for ref in refs if ref not in known]
        self.add(refs, desired, observed)
        first, self._queues = self._queues, before
        for namespace, queue in first.items():
            self._queues[namespace] = {**queue, **self._queues.get(namespace, {})}

    def remove(self, refs: Iterable[Ref]) -> None:
        """Take objects out."""
        for ref in refs:
            namespace = self._namespace.pop(ref, None)
            if namespace is None:
                continue
            queue = self._queues[namespace]
            del queue[ref]
            if not queue:
                del self._queues[namespace]
            for host in self._hosts.pop(ref, ()):
                self._refs.discard(host, ref)

    def clear(self) -> None:
        """Take everything out."""
        for index in (self._queues, self._namespace, self._hosts):
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
        refs = chosen.refs | {ref for ref in self._namespace if _is_urgent(ref, desired, observed)}
        held = ownership.stays_with((ref for ref in self._namespace if ref not in refs), observed)
        while staying := {ref for ref in refs if ref not in desired and ref in held}:
            refs -= staying
            held |= ownership.stays_with(staying, observed)
        idle = [ref for ref in self._namespace
                if ref not in refs and ref not in held and not self._has_turn(ref, desired)]
        refs.update(idle[:most])
        if any(ref.kind == Rule.KIND and ref not in refs for ref in self._namespace):
            # A strategy is changed when all Rules are in place under either.
            refs -= {ref for ref in refs if ref.kind == Policy.KIND and ref in desired and ref in observed}
        return refs

    def _take_turns(self, chosen: "_Portion", most: int) -> None:
        """Choose the oldest of each namespace in turn; the next portion begins where this one ended."""
        before = len(chosen.refs)
        waiting = {namespace: self._turns(list(queue), chosen.desired)
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

    def _turns(self, queue: list[Ref], desired: BigIPState) -> Iterator[Ref]:
        """Yield objects that have a turn of their own; their dependencies come with them, and are last."""
        yield from (ref for ref in queue if ref in self._hosts)
        yield from (ref for ref in queue if ref in desired and ref not in self._hosts)

    def _has_turn(self, ref: Ref, desired: BigIPState) -> bool:
        """True if an object has a turn of its own: the delete of a dependency comes with its users."""
        return ref in desired or ref in self._hosts

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


def _is_urgent(ref: Ref, desired: BigIPState, observed: BigIPState) -> bool:
    """True for the network objects through which pods are reached."""
    return ref.kind in NETWORK_KINDS and (ref in desired or ref in observed)


def hosts_of(obj: Object, state: BigIPState) -> frozenset[str]:
    """Return the Hosts about whose requests, or certificate, an object decides."""
    if isinstance(obj, Rule):
        return obj.hosts
    if isinstance(obj, Record) and obj.name != names.OWNERS_KNOWN and base_name(obj.group) in (
            names.PASSTHROUGH_GROUP, names.OWNER_GROUP):
        return frozenset({names.passthrough_host(obj.name)})
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
