"""One seed from beginning to end: the router between both fakes, on a clock that jumps over idle time.

Longer than other modules: the Site is all that a seed has, and its course reads from top to bottom.
"""

import logging
import math
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from pathlib import Path

from benchmarks.attacks import contents
from f5router.app import launch, wiring
from f5router.app.controller import Controller
from f5router.app.timing import Timing
from f5router.config.config import Config
from f5router.kube.settings import SecretPace, StatusTiming, WatchTiming
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import Unconfirmed
from f5router.model.limits import Backoff
from f5router.model.objects import Ref
from f5router.model.ownership import owns
from f5router.plan.diff import diff
from mocks.bigip import FakeBigIP
from mocks.bigip.pair import Pair
from tests import pump
from tests.chaos import expected, faults, invariants, script, statuses
from tests.chaos.amid_writes import AmidWrites
from tests.chaos.disturbances import RULES_OF_OTHERS, Disturbances
from tests.chaos.script import Act, Change
from tests.chaos.traffic import Witness
from tests.feature.conftest import Lab
from tests.reference.full_build import snapshot_of

NEAR = {"name": "near", "address": "10.3.89.212/24", "vlan": "/Common/internal", "partition": "Common"}
OLD = "11.6.0"
SHORT = Backoff(first_s=0.01, limit_s=0.05)
TIMING = Timing(
    drain_s=0.0, passthrough_drain_s=30.0, failover_s=60.0, failover_fresh_s=3600.0, confirm_s=5.0,
    statuses=StatusTiming(first_per_s=1000, forbidden_s=0.1, repair_s=0.05, contention_s=0.2),
    secret_pace=SecretPace(refresh_s=0.3, hasten_s=0.05, absent=SHORT, failed=SHORT, probe=SHORT,
                           timeout_s=1.0, patience_s=0.5, start_s=1.0),
    watch=WatchTiming(backoff=SHORT, confirm_s=0.05, absent_s=0.1, grace_s=0.5, watch_s=(1.0, 2.0)))
"""Waits of the router's own threads for the API server, which run in real time, are short."""
OF_PAIR = replace(TIMING, failover_fresh_s=0.0, refused_login_s=0.05)
"""Of a pair: the units' own threads, which run in real time, ask again soon after a refused login."""
ELECTION = {"leader_elect": "true", "leader_elect_lease_duration": "2s",
            "leader_elect_renew_deadline": "1500ms", "leader_elect_retry_period": "100ms",
            "leader_elect_resource_namespace": "default"}
"""Of a router with a Lease, in real time."""
REPLIES_S = 1.0
"""Longest wait for the replies to what a turn has sent."""
SYNC = "/tm/cm"
"""End of the path of a request for config sync, which the next router makes if the one before had not."""
LOOK_S = 0.002
"""How long the loop waits, really, for events of other threads before its clock jumps."""
PATIENT, MORE_PATIENT = 10, 100
"""How often it looks before that while there is nothing to do but to wait, and while watches are late."""
LATE = 20
"""After so many looks in vain watches begin again, if the API server has listed nothing in between."""
LIMIT_S = 120.0
"""Longest recovery, in real time."""
FEW = 4
"""Longest change that is taken apart."""
MIXTURES = 2000
"""How many of them are looked at before an answer is wrong."""
CALLS_EACH, CALLS_MORE = 8, 300
"""Bound on the calls of a recovery: for each object, and for readings."""


@dataclass
class Result:
    """Result of a seed: what does not hold, with the course of events so far."""

    seed: int
    problems: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    writes: int = 0
    calls: int = 0
    faults: int = 0
    cpu_s: float = 0.0

    def __str__(self) -> str:
        lines = [f"seed {self.seed} fails:", *(f"  ! {problem}" for problem in self.problems),
                 "  script so far:", *(f"    {line}" for line in self.history),
                 f"  to repeat it: python -m tests.chaos --seeds 1 --seed {self.seed}"]
        return "\n".join(lines)


def quiet() -> None:
    """Log nothing."""
    logging.disable(logging.CRITICAL)


class Failed(Exception):
    """Something does not hold; the message says what."""


def _add_new(versions: list[Sequence[dict]], version: Sequence[dict]) -> None:
    """Add a version of a kind's objects, unless it is there: each makes more mixtures."""
    if version not in versions:
        versions.append(version)


def run(seed: int) -> Result:
    """Run a seed."""
    begin, result = time.process_time(), Result(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="f5router-chaos-")))
        try:
            site = Site(stack, folder, script.draw(seed), result)
            site.run()
        except Failed as failure:
            result.problems.append(str(failure))
        except Exception:
            result.problems.append(traceback.format_exc())
    result.cpu_s = time.process_time() - begin
    return result


class Site:
    """Both fakes, the router, and what happens to them."""

    def __init__(self, stack: ExitStack, folder: Path, plan: script.Script, result: Result):
        self._plan, self._result = plan, result
        self._lab = lab = Lab(stack, folder, ssh=plan.ssh, **{"tmos_version": OLD} if plan.old else {})
        self.kube = lab.kube
        self.pair: Pair | None = None
        self.front = 0
        """Number of the unit of a pair that clients reach."""
        self.amid_writes = AmidWrites()
        self._administrate()
        if plan.pair:
            self._join(folder, stack.enter_context(FakeBigIP()))
        self.units = self.pair.units if self.pair else (lab.bigip,)
        self._flags = self._settings()
        self._config, self._patient = self._load(faults.TIMEOUT_S), self._load(LIMIT_S)
        self.weather = faults.Weather(plan.seed, self.restart_device, self._api_lost, self._was_empty)
        self.witness = Witness(lambda: self.bigip, self._mixtures, node_ports=plan.node_ports,
                               is_spoiled=self._is_spoiled)
        for unit in self.units:
            unit.on_write = self.witness.on_write
            unit.intercept = self.amid_writes.intercept
            unit.faults.draw = self.weather.on_device
        if plan.ssh:
            self.bigip.ssh_server.draw = self.weather.on_ssh
        self.kube.faults.pass_on = self.weather.on_events
        self.kube.faults.draw = self.weather.on_api
        self._facts = self._read_facts()
        self.foreign = contents.state(self.bigip, ours=False)
        self._disk = set(self.bigip.store.disk)
        self._versions: dict[str, list[Sequence[dict]]] = {}
        """By kind: its objects after each change since everything was in place."""
        self._present = expected.stored(self.kube)
        self._missed: dict[str, list[Sequence[dict]]] = {}
        """By kind: its objects at each time when the API server seemed to have none. Watches go on there."""
        self._stack: ExitStack | None = None
        self._router: Controller
        self._disturbances = Disturbances(self)

    def _is_spoiled(self, ref: Ref) -> bool:
        """True if a write of an object has met a fault, or had no reply in time on a busy machine."""
        row = self._router.reconciler.table.failures.get(ref)
        return self.weather.has_spoiled(ref) or (row is not None and isinstance(row.error, Unconfirmed))

    @property
    def bigip(self) -> FakeBigIP:
        """The BIG-IP that clients reach: of a pair, the unit that is active."""
        return self.pair.units[self.front] if self.pair else self._lab.bigip

    def turn_clients_to(self, number: int) -> None:
        """One unit of the pair is active, and no other one; clients reach it. Args: number: from 0."""
        assert self.pair is not None
        self.witness.permit_all()
        self.witness.permit_present(self.units[number])
        self.front, states = number, ["STANDBY", "STANDBY"]
        states[number] = "ACTIVE"
        self.pair.set(*states)

    def _join(self, folder: Path, second: FakeBigIP) -> None:
        """Make a pair; the other unit has the configuration of now, until it is active itself."""
        second.put_object("net/self", NEAR)
        self.pair = Pair(self._lab.bigip, second, auto_sync=self._plan.sync == "auto")
        (folder / "both.crt").write_text("".join(Path(big.ca_file).read_text() for big in self.pair.units))
        self._pair_flags = {"f5_host": ",".join(big.address for big in self.pair.units),
                            "f5_ca_bundle": str(folder / "both.crt")}

    @property
    def _calls(self) -> int:
        """Requests to all units."""
        return sum(len(unit.log) for unit in self.units)

    def _administrate(self) -> None:
        """The virtual servers, and objects of others that nobody may touch."""
        big, text = self.bigip, "when CLIENT_ACCEPTED {\n}"
        big.put_object("ltm/rule", {"name": "mine", "partition": "Common", "apiAnonymous": text})
        snat = {"sourceAddressTranslation": {"type": "automap"}} if self._plan.vxlan else {}
        self._lab.virtuals(rules=RULES_OF_OTHERS, **snat)
        if snat:
            big.request("PATCH", "ltm/virtual/~Common~ose-vserver", {}, snat)
        big.put_object("ltm/pool", {"name": "mine", "partition": "Common", "monitor": "/Common/tcp"})
        big.put_object("ltm/pool/~Common~mine/members", {"name": "10.1.1.1:80", "partition": "Common"})
        big.put_object("ltm/pool", {"name": "openshift", "partition": "Common"})
        big.put_object("net/self", NEAR)
        with big.store.lock:
            big.store.save()

    def _settings(self) -> dict[str, str]:
        flags = {"sources": "routes,ingress,ingressroutes", "allow_wildcard_routes": "true"}
        if self._plan.static_routes:
            flags["f5_static_routes"] = "true"
        if self._plan.vxlan:
            count = len(self.units)
            flags |= {"f5_internal_address": ",".join(script.ADDRESSES[:count]),
                      "f5_vxlan_gateway_cidr": ",".join(script.GATEWAYS[:count])}
        if self._plan.node_ports:
            flags["pool_member_type"] = "nodeport"
        if self.pair:
            flags |= self._pair_flags | ({"f5_config_sync": "push"} if self._plan.sync == "push" else {})
        if self._plan.lease:
            self._lab.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                             "metadata": {"name": faults.LEASE, "namespace": "default"}})
            flags |= ELECTION
        return flags | (self._lab.ssh_flags() if self._plan.ssh else {})

    def _load(self, timeout_s: float) -> Config:
        loaded = self._lab.config(**self._flags)
        ssh = replace(loaded.ssh, connect_timeout_s=faults.SSH_S, io_timeout_s=faults.SSH_S)
        return replace(loaded, bigip=replace(loaded.bigip, retry_s=5.0, timeout_s=timeout_s), ssh=ssh)

    def _read_facts(self) -> DeviceFacts:
        with ExitStack() as stack:
            device = wiring.build_device(self._patient, stack)
            device.observe()
            return device.facts

    # -- the router --------------------------------------------------------------------------------

    def start(self) -> None:
        """Start a router."""
        self._stack = ExitStack()
        self.weather.begin()
        self._router = launch.build_controller(
            self._config, self._stack, timing=OF_PAIR if self.pair else TIMING, clock=self._lab.clock,
            sleep=self._lab.later)

    def kill(self) -> None:
        """End the router between two of its requests; nothing of it reaches the BIG-IP any more."""
        if self._stack is not None:
            self.weather.is_cut = True
            self._stack.close()
            self._stack = None

    def stop(self) -> None:
        """End the router as SIGTERM does, but for its last save."""
        if self._stack is not None:
            self._router.replica.hand_over(LIMIT_S)
            self._stack.close()
            self._stack = None

    def turn(self, looks: int = 1) -> None:
        """Let the loop do what is due, or its clock jump to what is due next.

        Args: looks: how often it is looked whether other threads have something for it before.
        """
        router = self._router
        if not router.cluster.synced():
            time.sleep(LOOK_S)
            return
        if not router.replica.leads:  # it may lead after a while, in real time
            time.sleep(LOOK_S)
            self._turn()
            return
        for _ in range(looks):
            if router.next_turn_at() <= self._lab.clock():
                break
            time.sleep(LOOK_S)
        ahead_s = router.next_turn_at() - self._lab.clock()
        if 0 < ahead_s < math.inf:
            self._lab.later(ahead_s)
        self._turn()

    def _turn(self) -> None:
        """Let the loop do what is due, and wait a moment for the replies."""
        router, end = self._router, time.monotonic() + REPLIES_S
        router.turn()
        while pump.is_under_way(router) and time.monotonic() < end:
            router.turn(LOOK_S)
        self._require(invariants.asleep(router, self._lab.clock()))

    def pass_time(self, seconds: float) -> None:
        """Let the router's clock jump."""
        self._lab.later(seconds)

    # -- the course --------------------------------------------------------------------------------

    def run(self) -> None:
        """Raises: Failed."""
        self.note(next(self._plan.lines()))
        self.change(self._plan.base)
        self._settled(is_in_place=False)  # the router's first lists have all of this
        self.start()
        try:
            for each in self._plan.rounds:
                self.note(str(each))
                self.weather.rate, self.weather.api_rate = each.rate, each.api_rate
                for step, turns in each.steps:
                    self.note(f"  {step}")
                    self._step(step, turns)
                    if each.strict and turns > 1:
                        self._catch_up()
                        self._require(self.witness.stale_members())
                self._calm()
                self._recover(strict=each.strict)
            self._start_again()
        finally:
            self._result.calls = self._calls
            self._result.writes = sum(len(unit.writes()) for unit in self.units)
            self._result.faults = len(self.weather.happened)
            self.stop()

    def note(self, text: str) -> None:
        """Add a line to the course of events."""
        self._result.history.append(text)

    def _step(self, step: Change | Act, turns: int) -> None:
        before = len(self.weather.happened)
        if isinstance(step, Change):
            self.change(step)
        else:
            getattr(self._disturbances, step.what)(step.number)
        for _ in range(turns):
            self.turn()
        self._result.history += [f"    fault: {text}" for text in self.weather.happened[before:]]
        self._require(self.witness.wrong)

    def change(self, change: Change) -> None:
        """Change the cluster."""
        with self.kube.lock:
            for obj in change.apply:
                self.kube.apply(obj)
                if len(change.apply) <= FEW:  # the router may see them one after the other
                    _add_new(self._versions.setdefault(obj["kind"], []), self.kube.list(obj["kind"]))
            for kind, namespace, name in change.delete:
                if self.kube.get(kind, namespace, name) is not None:  # else all have gone at once
                    self.kube.delete(kind, namespace, name)
            before, self._present = self._present, expected.stored(self.kube)
            for kind in {name[0] for name in change.delete} | {obj["kind"] for obj in change.apply}:
                for version in (before[kind], self._present[kind], *(
                        [obj for obj in self._present[kind] if obj not in lost]
                        for lost in self._missed.get(kind, ()))):
                    _add_new(self._versions.setdefault(kind, []), version)
            self.witness.add(self._expected())

    def _expected(self) -> expected.Expected:
        facts = replace(self._facts, unit=self.units.index(self.bigip))
        return expected.of(expected.stored(self.kube), self._config, facts)

    def _mixtures(self) -> Iterator[expected.Expected]:
        """Clusters as the router may see them: some kinds as they are, others as they were."""
        kinds = sorted(self._versions)
        for versions in islice(product(*(self._versions[kind] for kind in kinds)), MIXTURES // 2):
            objects = self._present | dict(zip(kinds, versions, strict=True))
            for unread in (False, True):
                yield expected.of(objects, self._config, self._facts, unread=unread)

    def _api_lost(self, path: str) -> None:
        """The router may go on as if there were nothing of a kind: that is right, too."""
        for kind in expected.kinds_below(path):
            for version in (self._present[kind], []):
                _add_new(self._versions.setdefault(kind, []), version)
            _add_new(self._missed.setdefault(kind, []), self._present[kind])

    def _was_empty(self, path: str) -> bool:
        return any(not version for kind in expected.kinds_below(path)
                   for version in (self._present[kind], *self._versions.get(kind, ())))

    def _settled(self, *, is_in_place: bool) -> None:
        """The router knows everything, and has done all."""
        self._present = expected.stored(self.kube)
        self._versions.clear()
        self._missed.clear()
        self.witness.settled(is_in_place=is_in_place)

    def restart_device(self) -> None:
        self.bigip.restart()
        for kind in faults.STARTING:
            self.bigip.inject(kind)

    def _catch_up(self) -> None:
        """Turn until the router has done what it can about all changes of the cluster. Raises: Failed."""
        end, wanted = time.monotonic() + LIMIT_S, self._expected()
        while behind := self._is_behind(wanted):
            self._require([behind] if time.monotonic() > end else [])
            self.turn()
        for _ in range(2):
            self.turn()

    def _calm(self) -> None:
        """The faults are over."""
        self.weather.clear()
        for unit in self.units:
            unit.clear_faults()
        if self._missed:  # a watch that began behind an empty list would never show what is there
            self._disturbances.forget_history(0)
        self.kube.clear_faults()
        for unit in self.units:
            unit.deliver_late()
        time.sleep(max(0.0, self.weather.slow_until - time.monotonic()))  # likewise what was slow
        self._disturbances.calm()

    def _recover(self, *, strict: bool) -> None:
        """Turn until all is as it is to be. Raises: Failed.

        Args: strict: the router knows by itself what is wrong.
        """
        wanted = self._expected()
        calls, end = self._calls, time.monotonic() + LIMIT_S
        bound = CALLS_EACH * len(wanted.built.objects) + CALLS_MORE
        if not strict:
            self.pass_time(self._config.observe_interval_s)  # what somebody else has changed is found then
        quiet, late, problems = 0, 0, ["no turn yet"]
        while problems:
            if time.monotonic() > end or self._calls - calls > bound:
                raise Failed(f"no recovery after {self._calls - calls} calls (bound {bound}), "
                             f"{len(self.witness.wrong)} wrong answers: {problems[:4]}; "
                             f"{invariants.account(self._router, self._lab.clock())}")
            log, behind = self._calls, self._is_behind(wanted)
            if quiet and not behind:
                behind = "".join(statuses.problems(self._lab, wanted)[:1])
            self.turn(1 if not quiet else MORE_PATIENT if behind else PATIENT)
            if behind:  # it waits for the API server: on a busy machine for long, with readings meanwhile
                calls += self._calls - log
                late += 1
                if self._missed and late % LATE == 0:  # an empty list was on its way when the faults ended
                    self._disturbances.forget_history(0)
            self._require(self.witness.wrong)
            quiet = quiet + 1 if self._calls - log < (4 if self.pair else 2) and self._has_read() else 0
            problems = self._cheap_problems(wanted) or invariants.at_rest(self._router) or (
                [] if quiet else ["the router goes on writing"])
            if not problems and (problems := self._problems(wanted)) and strict and not self._is_busy():
                raise Failed(f"left to the periodic reading: {problems[:4]}")
        self._settled(is_in_place=True)
        self._require(self.witness.differences())
        self._require(self._outside())

    def _start_again(self) -> None:
        """No LTM node is left, and another router finds nothing to write. Raises: Failed."""
        if not self._plan.hides_nodes:
            self._tidy_up()
        self.stop()
        before = [len(unit.writes()) for unit in self.units]
        self.start()
        self._recover(strict=True)
        self._require([f"the next router writes {entry.method} {entry.path} {entry.body}"
                       for unit, count in zip(self.units, before, strict=True)
                       for entry in unit.writes()[count:] if not entry.path.endswith(SYNC)])

    def _tidy_up(self) -> None:
        """Turn until the router has removed all LTM nodes that it knows of. Raises: Failed."""
        router, end = self._router, time.monotonic() + LIMIT_S
        while (router.settling.settles_at() is not None or router.device.orphans) and time.monotonic() < end:
            self.turn()
        used = {item.key[1].rpartition(":")[0] for item in self.bigip.items("ltm/pool/members")}
        self._require([f"LTM node {item.path} is left" for item in self.bigip.items("ltm/node")
                       if item.path not in used])

    def _has_read(self) -> bool:
        """True if no reading is due or under way: at its end, what a failure has left goes."""
        router = self._router
        return router.next_turn_at() > self._lab.clock() and router.device.beside is None

    def _is_busy(self) -> bool:
        """True if the router knows that something is left to do."""
        reconciler = self._router.reconciler
        return pump.next_retry(reconciler) is not None or reconciler.reader.reason

    def _cheap_problems(self, wanted: expected.Expected) -> list[str]:
        """Return what is wrong, by a look that costs little."""
        behind = self._is_behind(wanted)
        return [behind] if behind else statuses.problems(self._lab, wanted)

    def _is_behind(self, wanted: expected.Expected) -> str:
        """Return what the router does not know of the cluster; "" if it knows all."""
        if not self._router.cluster.synced():
            return "the cluster is not listed"
        if not self._router.replica.leads:
            return "the router does not lead"
        known = snapshot_of(self._router.reconciler.engine)
        for name in ("routes", "services", "slices", "nodes"):
            have, want = getattr(known, name), getattr(wanted.cluster, name)
            have, want = ({key: value for key, value in each.items() if value} for each in (have, want))
            if name == "slices" and self._router.config.nodeport:  # it may have forgotten the addresses
                have, want = ({service: {key: each.without_addresses() for key, each in slices.items()}
                               for service, slices in known_slices.items()} for known_slices in (have, want))
            if have != want:
                keys = sorted(str(key) for key in have.keys() ^ want.keys())
                return f"the router knows other {name}: {keys or 'of other content'}"
        return ""

    def _problems(self, wanted: expected.Expected) -> list[str]:
        """Return what is wrong on the device, as somebody else reads it."""
        with ExitStack() as stack:
            device = wiring.build_device(self._patient, stack)
            device.observe()
        changes = diff(wanted.built.objects, device.observed, partial(owns, self._config.folder))
        return [f"{change.verb} {change.ref} is left to do" for change in changes]

    def _outside(self) -> list[str]:
        """Return what is not the router's and not as before, and what it has left."""
        problems = contents.difference(self._foreign_now(), contents.state(self.bigip, ours=False))
        virtual = self.bigip.store.get("ltm/virtual", "/Common/https-ose-vserver")
        present = [rule for rule in virtual.fields.get("rules", ()) if "openshift" not in rule]
        if present != list(RULES_OF_OTHERS):
            problems.append(f"rules of others on the virtual server: {present}")
        return problems + contents.leftovers(self.bigip, self._disk)

    def _foreign_now(self) -> dict[str, str]:
        return self.foreign | self._disturbances.foreign

    def _require(self, problems: list[str]) -> None:
        if problems:
            raise Failed("; ".join(problems[:4]))
