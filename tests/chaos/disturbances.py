"""Disturbances besides changes of the cluster and faults at calls."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.attacks import contents
from f5router.model.limits import LEAST
from mocks.bigip import FakeBigIP, Refusal
from mocks.bigip.store import Item
from tests import manifests
from tests.chaos import faults
from tests.chaos.script import Change
from tests.waiting import until

if TYPE_CHECKING:
    from tests.chaos.run import Site

RULES_OF_OTHERS = ("/Common/mine",)
"""iRules that somebody else has attached to the virtual server for HTTPS."""


ODD_KINDS: tuple[tuple[str, dict], ...] = (
    ("redirect", {}), ("deep-json", {}), ("html-200", {}), ("html-404", {}), ("404-not-registered", {}))
"""Replies that say nothing of what was asked."""


class Disturbances:
    """A method for each `Act`, which takes a drawn number."""

    def __init__(self, site: "Site"):
        self._site = site
        self.foreign: dict[str, str] = {}
        """Objects that another router has made, as they are to be."""
        self._newer = 0
        """Number of changes made so that history has something to forget."""
        self._after: list[Callable[[], None]] = []
        self._released: Counter[FakeBigIP] = Counter()
        """Number of requests of a unit that hung, and were carried out."""

    def calm(self) -> None:
        """Undo what lasts."""
        self._site.amid_writes.clear()
        while self._after:
            self._after.pop()()
        for unit in self._site.units:
            self._let_go(unit)

    def _let_go(self, unit: FakeBigIP) -> None:
        """Carry out the requests that hang."""
        count, logged = unit.held - self._released[unit], len(unit.log)
        self._released[unit] = unit.held
        if count:
            unit.release()
            until(lambda: len(unit.log) >= logged + count, "requests that hung are not carried out")

    def restart_device(self, number: int) -> None:
        self._site.restart_device()

    def lose_unsaved(self, number: int) -> None:
        """The device restarts with its last saved configuration."""
        self._site.witness.permit_all()
        self._site.bigip.restart(lose_unsaved=True)
        self._site.witness.permit_present()  # it may have been saved between two writes
        self._note_foreign()
        for kind in faults.STARTING:
            self._site.bigip.inject(kind)

    def _note_foreign(self) -> None:
        self.foreign = {name: text for name, text in contents.state(self._site.bigip, ours=False).items()
                        if name not in self._site.foreign}

    def fail_over(self, number: int) -> None:
        """The other unit takes over, with the configuration that it has had for a while."""
        if self._site.pair is not None:
            self._site.turn_clients_to(1 - self._site.front)
            self._note_foreign()

    def fail_over_amid_writes(self, number: int) -> None:
        """Likewise, just before or just after one of the next writes is carried out."""
        self._site.amid_writes.at(1 + number % 12, partial(self.fail_over, 0), is_before=number % 2 == 0)

    def bring_over(self, number: int) -> None:
        """An administrator copies the configuration to the other unit."""
        if self._site.pair is not None:
            self._site.pair.copy(self._site.front)

    def both_active(self, number: int) -> None:
        """The units do not hear each other: both are active until the faults end, then one of them is."""
        if self._site.pair is None:
            return
        self._site.pair.set("ACTIVE", "ACTIVE")
        self._after.append(partial(self._end_of_both, number % 2))

    def _end_of_both(self, number: int) -> None:
        self._site.turn_clients_to(number)
        self._note_foreign()

    def edit(self, number: int) -> None:
        """An administrator changes or deletes an object of ours."""
        big, chance = self._site.bigip, random.Random(number)
        kinds = ("ltm/pool", "ltm/pool/members", "ltm/policy/rules", "ltm/data-group/internal", "ltm/virtual",
                 "ltm/profile/client-ssl", "ltm/rule", "ltm/policy")
        items = [item for kind in kinds for item in big.items(kind)
                 if kind == "ltm/virtual" or contents.is_ours(kind, item.key[0])]
        if not items:
            return
        item = chance.choice(items)
        try:
            self._edit(item, chance)
        except Refusal:
            return
        self._site.note(f"    edited: {item.kind} {' '.join(item.key)}")
        self._site.witness.permit_present()

    def _edit(self, item: Item, chance: random.Random) -> None:
        big, path = self._site.bigip, item.path.replace("/", "~")
        if item.kind == "ltm/virtual":
            body = chance.choice(({"rules": list(RULES_OF_OTHERS) if "https" in item.path else []},
                                  {"policies": []}))
            big.request("PATCH", f"ltm/virtual/{path}", {}, body)
        elif item.kind == "ltm/data-group/internal" and chance.random() < 0.6:
            big.request("PATCH", f"ltm/data-group/internal/{path}", {}, {"records": []})
        elif item.kind == "ltm/pool" and chance.random() < 0.7:
            big.request("PATCH", f"ltm/pool/{path}", {}, {"members": [{"name": "/Common/10.9.9.9:80"}]})
        elif item.kind in ("ltm/pool", "ltm/data-group/internal", "ltm/profile/client-ssl", "ltm/rule"):
            big.request("DELETE", f"{item.kind}/{path}", {})

    def other_router(self, number: int) -> None:
        """Another router makes or deletes a pool of its own, whose members may have our LTM nodes."""
        big, name = self._site.bigip, f"other-{number % 3}"
        title = f"ltm/pool /Common/{name}"
        if title in self.foreign:
            big.request("DELETE", f"ltm/pool/~Common~{name}", {})
            del self.foreign[title]
            return
        members = [{"name": f"/Common/10.1.{1 + number % 6}.{1 + number % 4}:8080"}]
        big.put_object("ltm/pool", {"name": name, "partition": "Common", "members": members})
        self.foreign[title] = contents.state(big, ours=False)[title]

    def kill(self, number: int) -> None:
        self._site.kill()
        self._site.start()

    def new_leader(self, number: int) -> None:
        """Another router takes over; the one before has stopped writing."""
        self._site.stop()
        self._site.start()

    def depose(self, number: int) -> None:
        """Somebody else holds the Lease, or nobody: the router may write again after a while."""
        lease = self._site.kube.get("Lease", "default", faults.LEASE)
        spec = {"holderIdentity": ("somebody", "")[number], "leaseDurationSeconds": 1}
        self._site.kube.apply(lease | {"spec": lease.get("spec", {}) | spec})

    def drop_watches(self, number: int) -> None:
        kinds = ("", "routes", "services", "endpointslices", "ingresses")
        self._site.kube.inject("drop-watch", path=kinds[number % len(kinds)] or None, abrupt=number % 2 == 0)

    def forget_history(self, number: int) -> None:
        """Watches from before are answered with 410."""
        kube = self._site.kube
        with kube.lock:
            name = f"newer-{self._newer}"
            self._newer += 1
            kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            kube.compact()
            kube.inject("drop-watch")

    def restart_api(self, number: int) -> None:
        self._site.kube.restart()

    def empty_lists(self, number: int) -> None:
        """The API server lists nothing, once, and is itself again."""
        self._site.weather.empty_lists = 1 + number % 3
        self.forget_history(number)

    def repeat_events(self, number: int) -> None:
        """Events come again, in another order, and change nothing: also no status written meanwhile.

        A status from before would be that of another router of the same name, which this one leaves alone
        for minutes once it has come back twice.
        """
        kube = self._site.kube
        objects = [obj for kind in ("EndpointSlice", "Service", "Route", "Secret") for obj in kube.list(kind)]
        random.Random(number).shuffle(objects)
        for obj in objects[:10]:  # a router that was shown an empty list gets to know one after the other
            with kube.lock:
                metadata = obj["metadata"]
                present = kube.get(obj["kind"], metadata.get("namespace"), metadata["name"])
                self._site.change(Change("", (present,)))

    def persist(self, number: int) -> None:
        """The device does the same to all writes of some kind, until the faults end."""
        self._site.weather.persistent = faults.PERSISTENT[number]

    def hang(self, number: int) -> None:
        """One request, or three at once, get no reply; they are carried out when the faults end."""
        self._site.weather.hangs = ("", "GET", "PATCH", "POST", "DELETE")[number % 5], 1 if number % 2 else 3

    def odd_login(self, number: int) -> None:
        """Tokens end, and some logins get a reply that says nothing of the password."""
        kind, options = (*ODD_KINDS, ("refuse", {"status": 403, "message": "Forbidden"}))[number % 6]
        for unit in self._site.units:
            unit.expire_tokens()
            unit.inject(kind, times=1 + number % 3, path="authn/login", **options)

    def odd_state(self, number: int) -> None:
        """The failover state cannot be read for a while."""
        kind, options = (*ODD_KINDS, ("refuse", {"status": 400, "message": "not now"}))[number % 6]
        for unit in self._site.units:
            unit.inject(kind, times=1 + number % 4, path="failover-status", **options)

    def forbid(self, number: int) -> None:
        """The router loses the right to read some kind, until the faults end."""
        words = ("/routes", "/secrets", "/ingresses", "/ingressroutes", "/endpointslices", "/services")
        self._site.weather.forbidden = words[number % len(words)]
        self._site.kube.inject("drop-watch", path=words[number % len(words)])

    def break_ssh(self, number: int) -> None:
        """All that comes over SSH meets the same fault, until the faults end."""
        self._site.weather.ssh_lasts = faults.SSH[number % len(faults.SSH)]

    def bulk(self, number: int) -> None:
        """A team adds many Routes at once."""
        self._site.change(Change("", tuple(
            manifests.route(f"bulk-{count}", host=f"bulk-{count}.example.com") for count in range(LEAST))))

    def mass_delete(self, number: int) -> None:
        """All Routes go at once; a list that is complete has to confirm it."""
        routes = self._site.kube.list("Route")
        self._site.witness.permit_held()
        self._site.change(Change("", delete=tuple(
            ("Route", obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in routes)))

    def pass_time(self, number: int) -> None:
        self._site.pass_time(number)
