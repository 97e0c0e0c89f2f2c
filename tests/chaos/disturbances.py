"""Disturbances besides changes of the cluster and faults at calls."""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.attacks import contents
from mocks.bigip import Refusal
from mocks.bigip.store import Item
from tests.chaos import faults
from tests.chaos.script import Change

if TYPE_CHECKING:
    from tests.chaos.run import Site

RULES_OF_OTHERS = ("/Common/mine",)
"""iRules that somebody else has attached to the virtual server for HTTPS."""


class Disturbances:
    """A method for each `Act`, which takes a drawn number."""

    def __init__(self, site: "Site"):
        self._site = site
        self.foreign: dict[str, str] = {}
        """Objects that another router has made, as they are to be."""
        self._newer = 0
        """Number of changes made so that history has something to forget."""
        self._after: list[Callable[[], None]] = []

    def calm(self) -> None:
        """Undo what lasts."""
        while self._after:
            self._after.pop()()

    def restart_device(self, number: int) -> None:
        self._site.restart_device()

    def lose_unsaved(self, number: int) -> None:
        """The device restarts with its last saved configuration."""
        self._site.witness.permit_all()
        self._site.bigip.restart(lose_unsaved=True)
        self._note_foreign()
        for kind in faults.STARTING:
            self._site.bigip.inject(kind)

    def _note_foreign(self) -> None:
        self.foreign = {name: text for name, text in contents.state(self._site.bigip, ours=False).items()
                        if name not in self._site.foreign}

    def fail_over(self, number: int) -> None:
        """The other unit takes over, with the configuration that it has had for a while."""
        if self._site.pair is None:
            return
        self._site.witness.permit_all()
        self._site.witness.permit_present(self._site.pair.standby)
        self._site.pair.fail_over()
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

    def pass_time(self, number: int) -> None:
        self._site.pass_time(number)
