"""takeover.py: what was read of single pools before the reading of everything."""

from types import SimpleNamespace

import pytest

from f5router.app.takeover import Takeover
from f5router.icontrol.dispatcher import Dispatcher, Job, Lane
from f5router.model.cluster import Key
from f5router.model.ltm import Pool

SERVICE, POOL = Key("shop", "web"), Pool("/P/web")
READING = SimpleNamespace(service="service", slices=frozenset())


class Site:
    """A Takeover whose reading of one Service and pool ends when the test says so."""

    def __init__(self) -> None:
        self.taken, self.thens = [], []
        self.unit = SimpleNamespace(dispatcher=SimpleNamespace(send=self._send, member_room=lambda: 1))
        device = SimpleNamespace(unit=self.unit, dispatcher=self.unit.dispatcher,
                                 record_object=lambda ref, pool: self.taken.append(pool))
        engine = SimpleNamespace(
            has_changed_pools=False, followers=lambda service: {POOL.ref: {SERVICE}},
            cluster=SimpleNamespace(services={SERVICE: "service"}, slices={}))
        self.reconciler = SimpleNamespace(
            engine=engine, device=device, has_read=False, table=SimpleNamespace(is_sent=lambda ref: False),
            members=SimpleNamespace(take_read=lambda pools, room: ([], pools)))
        self.takeover = Takeover(SimpleNamespace(), self.reconciler, of_pods=True)

    def _send(self, work, then, lane) -> None:
        assert lane is Lane.BESIDE
        self.thens.append(then)

    def end(self) -> None:
        job = Job(Dispatcher(1), lambda: None, lambda job: None, Lane.BESIDE)
        job.result = {SERVICE: READING}, {POOL.ref: POOL}
        self.thens.pop()(job)


def read_everything(site: Site) -> None:
    site.reconciler.has_read = True


def lose_the_lease(site: Site) -> None:
    site.takeover.forget()


def turn_to_another_unit(site: Site) -> None:
    site.reconciler.device.unit = SimpleNamespace(dispatcher=site.unit.dispatcher)


@pytest.mark.parametrize("meanwhile", [None, read_everything, lose_the_lease, turn_to_another_unit])
def test_pools_are_taken_unless_something_newer_is_known(meanwhile):
    site = Site()
    site.takeover.record([SERVICE])
    site.takeover.program()
    if meanwhile:
        meanwhile(site)
    site.end()
    assert site.taken == ([] if meanwhile else [POOL])
