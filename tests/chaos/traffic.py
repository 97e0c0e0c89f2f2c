"""Destinations of requests after each write, by the fake's own evaluation of its configuration."""

import ipaddress
import threading
from collections.abc import Callable, Iterable, Mapping

from f5router.model.ltm import BigIPState, ClientSSL, Policy, Pool
from f5router.model.objects import Ref
from mocks.bigip import FakeBigIP, LoggedRequest, traffic
from tests import serving
from tests.chaos.expected import Expected
from tests.chaos.script import HOSTS, NAMESPACES, PATHS

PROBES = tuple(serving.Request(host, f"{path}/" if path else "/", tls)
               for host in (*HOSTS, "y.wild.example.com") for path in PATHS for tls in (False, True))
LEADING = ("ltm/virtual", "ltm/policy", "ltm/data-group", "ltm/rule")
"""What decides which pool gets a request."""
SERVED = ("pool", "passthrough")
NAMES = tuple(dict.fromkeys(probe.host for probe in PROBES))
REDIRECT = "redirect"
NONE = ("", "")
"""In place of a profile and its certificate: it is nobody's."""


class Witness:
    """Knows which answers are right by now, and looks at the device after each write."""

    def __init__(self, bigip: Callable[[], FakeBigIP], mixtures: Callable[[], Iterable[Expected]], *,
                 node_ports: bool, is_spoiled: Callable[[Ref], bool]):
        """Args:
        bigip: returns the device that clients reach.
        mixtures: what the router may take for the cluster, as each kind has a watch of its own.
        node_ports: pool members are Nodes at the node ports of Services.
        is_spoiled: True if a write of an object has met a fault.
        """
        self._bigip, self._mixtures, self._node_ports = bigip, mixtures, node_ports
        self._is_spoiled = is_spoiled
        self._lock = threading.Lock()
        self._stages: list[Expected] = []
        self._all: list[Expected] = []
        self._answers: dict[serving.Request, set[str]] = {probe: set() for probe in PROBES}
        self._addresses: dict[str, set[str]] = {}
        self._certificates: dict[str, set[tuple[str, str]]] = {host: set() for host in NAMES}
        """By host: client SSL profiles with their certificate files."""
        self._owners: dict[serving.Request, set[str]] = {}
        """Rules that lead a request, in any stage, each with its namespace; "" if nobody gets it."""
        self._is_in_place = False
        """Everything was in place, and nobody else has changed the device since."""
        self._is_held = False
        """Deletes are held back."""
        self.wrong: list[str] = []

    def add(self, stage: Expected) -> None:
        """The cluster is about to change to this: from now on its answers are right, too."""
        with self._lock:
            self._stages.append(stage)
            self._all.append(stage)
            self._permit(stage)

    def settled(self, *, is_in_place: bool) -> None:
        """The device has the last stage: answers of earlier ones are wrong from now on.

        Args: is_in_place: all of it, so that what is served goes on being served.
        """
        with self._lock:
            self._stages, self._is_in_place, self._is_held = self._stages[-1:], is_in_place, False
            self._recompute()

    def permit_all(self) -> None:
        """The device has lost its configuration: it may be of any stage."""
        with self._lock:
            self._stages, self._is_in_place = list(self._all), False
            self._recompute()

    def permit_present(self, bigip: FakeBigIP | None = None) -> None:
        """Somebody else has changed a device: what it does now is not the router's fault.

        Args: bigip: None for the one that clients reach.
        """
        with self._lock:
            self._is_in_place = False
            for probe in PROBES:
                decision = self._decide(probe, bigip)
                self._answers[probe].add(_name(decision))
                self._certificates[probe.host].add(_certificate(decision))
                for member in decision.members if decision.kind in SERVED else ():
                    self._addresses.setdefault(_namespace(decision.pool), set()).add(self._address(member))

    def permit_held(self) -> None:
        """Deletes are held back until a list confirms them: what a namespace has deleted may serve it.

        One of its Rules may be for another Host meanwhile, and leave its requests to such a Rule.
        """
        with self._lock:
            self._is_held = True

    def on_write(self, entry: LoggedRequest) -> None:
        """Look at the device after a write."""
        kind = entry.path.removeprefix("/mgmt/tm/")
        if "Drafts" in kind or not kind.startswith((*LEADING, "ltm/pool")):
            return
        with self._lock:
            if problems := self._judge(entry):
                for stage in self._mixtures():
                    self._permit(stage)
                    if not (problems := self._judge(entry)):
                        break
            self.wrong += problems

    def _judge(self, entry: LoggedRequest) -> list[str]:
        return [f"{probe} after {entry.method} {entry.path}: {problem}"
                for probe in PROBES if (problem := self._problem(probe))]

    def _problem(self, probe: serving.Request) -> str:
        decision = self._decide(probe)
        if self._is_in_place and len(self._owners[probe]) == 1 and "" not in self._owners[probe] and (
                not _is_served(decision)):
            return f"{decision.kind} {decision.pool}: it is served no more"
        if not _name(decision):
            return ""  # no pod gets it
        if _certificate(decision) not in self._certificates[probe.host]:
            return (f"the certificate {_certificate(decision)}, not one of "
                    f"{sorted(self._certificates[probe.host])}")
        if (_name(decision) not in self._answers[probe] and not self._is_without(probe, _name(decision))
                and not self._is_previous(probe, _name(decision)) and not self._is_of_held(probe, decision)):
            return f"{_name(decision)}, not one of {sorted(self._answers[probe])}"
        if decision.kind == REDIRECT:
            return ""
        strange = {self._address(each) for each in decision.members} - self._addresses.get(
            _namespace(decision.pool), set())
        return f"{decision.pool} has members of others: {sorted(strange)}" if strange else ""

    def _is_without(self, probe: serving.Request, name: str) -> bool:
        """True if a request goes where it does without Rules that a fault has kept away from the device.

        A Route that the device refuses is not there: its requests go to a less specific one of its host.
        """
        for stage in self._stages:
            state = dict(stage.state)
            while (rule := serving.leading_rule(state, probe)) is not None:
                if serving.answer(state, probe) == name:
                    return True
                if self._bigip().store.get("ltm/policy/rules", rule.policy, rule.name) or not any(
                        map(self._is_spoiled, _needs(stage.state, rule.ref))):
                    break
                del state[rule.ref]
        return False

    def _is_previous(self, probe: serving.Request, name: str) -> bool:
        """True if a request goes where its Rule led before, while the Rule waits for a certificate.

        What a team deletes goes at once (docs/architecture.md, Deletes), so that the Rule has more requests.
        """
        for number, stage in enumerate(self._stages):
            rule = serving.leading_rule(stage.state, probe)
            if rule is None or not any(need.kind == ClientSSL.KIND for need in _needs(stage.state, rule.ref)):
                continue
            forms = (before.state.get(rule.ref) for before in self._stages[:number])
            if any(form is not None and serving.answer({**stage.state, rule.ref: form}, probe) == name
                   for form in forms):
                return True
        return False

    def _is_of_held(self, probe: serving.Request, decision: traffic.Decision) -> bool:
        """True if a request may go to what its namespace has deleted."""
        return self._is_held and _namespace(decision.pool) in map(_namespace, self._answers[probe])

    def differences(self) -> list[str]:
        """Return requests that do not get exactly what the last stage has for them."""
        state, lines = self._stages[-1].state, []
        for probe in PROBES:
            decision, wanted = self._decide(probe), serving.answer(state, probe)
            got = _name(decision) if decision.kind in (*SERVED, REDIRECT) else ""
            pool, members = wanted.removeprefix("passthrough "), _members(state, wanted)
            if got != wanted and (got or members):
                lines.append(f"{probe}: {got or decision.kind!r} instead of {wanted!r}")
            elif got and pool != REDIRECT and {_member(each) for each in decision.members} - members:
                lines.append(f"{probe}: members {decision.members} instead of {sorted(members)}")
        return lines

    def stale_members(self) -> list[str]:
        """Return addresses in pools that no pod of their namespace has any more, as the cluster is now."""
        pods = _pods(self._stages[-1])
        return [f"{item.key[0]} still has {item.key[1]}" for item in self._bigip().items("ltm/pool/members")
                if (namespace := _namespace(item.key[0])) and not self._node_ports
                and self._address(item.key[1]) not in pods.get(namespace, ())]

    def _decide(self, probe: serving.Request, bigip: FakeBigIP | None = None) -> traffic.Decision:
        request = traffic.Request(probe.host, probe.path, sni=probe.host if probe.tls else None,
                                  tls=probe.tls)
        virtual = serving.HTTPS if probe.tls else serving.HTTP
        return traffic.decide((bigip or self._bigip()).store, virtual, request)

    def _address(self, member: str) -> str:
        """Return what shows whose member it is: the address of a pod, or that of a Node and the node port."""
        text = _member(member)
        return text if self._node_ports else text.rpartition(":")[0]

    def _recompute(self) -> None:
        for answers in self._answers.values():
            answers.clear()
        self._addresses.clear()
        self._owners.clear()
        for certificates in self._certificates.values():
            certificates.clear()
        for stage in self._stages:
            self._permit(stage)

    def _permit(self, stage: Expected) -> None:
        for probe, answers in self._answers.items():
            answer = serving.answer(stage.state, probe)
            answers.add(answer)
            self._owners.setdefault(probe, set()).add(_owner(stage.state, probe, answer))
        profiles = {obj.server_name: obj for obj in stage.state.values() if isinstance(obj, ClientSSL)}
        for host, certificates in self._certificates.items():
            profile = profiles.get(host) or profiles.get(f"*.{host.partition('.')[2]}")
            certificates |= {NONE} if profile is None else {NONE, (profile.path, profile.cert)}
        pods = _published(stage) if self._node_ports else _pods(stage)
        for namespace, addresses in pods.items():
            self._addresses.setdefault(namespace, set()).update(addresses)


def _members(state: BigIPState, answer: str) -> set[str]:
    """Return address and port of the members of the pool of an answer."""
    pool = answer.removeprefix("passthrough ")
    return {f"{member.address}:{member.port}" for obj in state.values()
            if isinstance(obj, Pool) and obj.path == pool for member in obj.members}


def _owner(state: BigIPState, probe: serving.Request, answer: str) -> str:
    """Return the Rule that leads a request, with the namespace of its pods; "" if nobody gets it."""
    if not answer or (answer != REDIRECT and not _members(state, answer)):
        return ""
    if answer.startswith("passthrough "):
        return answer
    rule = serving.leading_rule(state, probe)
    return f"{rule.ref} {REDIRECT if answer == REDIRECT else _namespace(answer)}" if rule else ""


def _is_served(decision: traffic.Decision) -> bool:
    """True if a pod gets a request, or it is redirected."""
    return bool(_name(decision)) and (decision.kind == REDIRECT or bool(decision.members))


def _certificate(decision: traffic.Decision) -> tuple[str, str]:
    """Return the client SSL profile of a Route, and its certificate file; NONE if it is nobody's."""
    profile = decision.client_ssl_profile or ""
    return (profile, decision.certificate_file or "") if "/openshift_" in profile else NONE


def _needs(state: BigIPState, ref: Ref) -> set[Ref]:
    """Return an object and everything that it needs, but for the policy."""
    needs, left = set(), [ref]
    while left:
        each = left.pop()
        if each not in needs and each in state and each.kind != Policy.KIND:
            needs.add(each)
            left.extend(state[each].dependencies)
    return needs


def _published(stage: Expected) -> Mapping[str, Iterable[str]]:
    """Return Nodes at the node ports of Services."""
    addresses: dict[str, set[str]] = {}
    for key, service in stage.cluster.services.items():
        addresses.setdefault(key.namespace, set()).update(
            f"{address}:{port.node_port}" for node in stage.cluster.nodes.values()
            for address in node.internal_ips for port in service.ports)
    return addresses


def _pods(stage: Expected) -> Mapping[str, Iterable[str]]:
    addresses: dict[str, set[str]] = {}
    for slices in stage.cluster.slices.values():
        for key, slice_ in slices.items():
            addresses.setdefault(key.namespace, set()).update(slice_.addresses)
    return addresses


def _name(decision: traffic.Decision) -> str:
    if decision.kind == REDIRECT:
        return REDIRECT
    if decision.kind not in SERVED or (decision.pool or "").endswith("/openshift_nowhere"):
        return ""
    return f"passthrough {decision.pool}" if decision.kind == "passthrough" else str(decision.pool)


def _namespace(pool: str | None) -> str:
    """Namespace of the Services of a pool, by its name."""
    words = (pool or "").rsplit("/", 1)[-1].split("_")
    return next((word for word in words if word in NAMESPACES), "")


def _member(member: str) -> str:
    """Address and port of a member such as /Common/10.1.1.1%0:8080."""
    text, _, port = member.rsplit("/", 1)[-1].rpartition(":")
    return f"{ipaddress.ip_address(text.partition('%')[0])}:{port}"
