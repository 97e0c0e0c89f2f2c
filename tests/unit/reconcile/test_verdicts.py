"""Verdicts on Routes, and what keeps them from being served."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from f5router.admission.condition import PENDING, Verdict
from f5router.desired.engine import Engine
from f5router.model.cluster import Key
from f5router.model.errors import NO_RIGHT, AuthFailed, InUse, Refused, Unconfirmed
from f5router.model.findings import DEVICE_REJECTED, NOT_ADMITTED
from f5router.model.ltm import Pool, Rule
from f5router.model.ltm_nodes import Incomplete
from f5router.model.net import StaticRoute, Tunnel
from f5router.model.objects import Ref
from f5router.reconcile.certificate_warnings import CertificateWarnings
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.reconcile.verdicts import Verdicts
from tests.builders import FACTS, Settings, endpoints, route, secret, service
from tests.rows import rows
from tests.unit.desired.test_engine import delta

REFUSED, UNCONFIRMED = Refused(text="no", status=400), Unconfirmed(text="time-out")
A, B = Key("shop", "a"), Key("shop", "b")


class Bench:
    """Verdicts of Routes that are all in place on the device."""

    def __init__(self, *objects, config: Settings | None = None):
        self.engine = Engine(config or Settings())
        self.engine.set_facts(FACTS)
        objects = objects or (route("a"), route("b", path="/b"), service(), endpoints("10.1.1.1"))
        self.engine.apply(delta(*((obj, True) for obj in objects)))
        self.device = SimpleNamespace(observed=dict(self.engine.objects), facts=FACTS)
        self.table = Table(lambda: (self.engine.objects, self.device.observed), Timers(), lambda: 0.0)
        self.verdicts = Verdicts(
            self.engine, self.device, self.table,
            certificates=CertificateWarnings(self.engine))

    def rule(self, key: Key) -> Ref:
        (ref,) = (ref for ref in self.engine.uses(key) if ref.kind == Rule.KIND)
        return ref

    def pool(self) -> Ref:
        return Ref(Pool.KIND, "/Common/openshift_shop_web")

    def doubt(self, ref: Ref) -> None:
        self.table.refuse(ref, REFUSED)
        self.table.doubt(ref, 1)

    def refuse(self, ref: Ref, error=REFUSED, *, blocked=False) -> None:
        if blocked:
            self.table.block(ref, error, self.pool())
        else:
            self.table.refuse(ref, error)


@pytest.mark.parametrize(("prepare", "verdict"), [
    pytest.param(lambda b: None, Verdict(True), id="served"),
    pytest.param(lambda b: b.device.observed.pop(b.rule(A)), None, id="not there yet"),
    pytest.param(lambda b: b.device.observed.pop(b.pool()), None, id="its pool is not there yet"),
    pytest.param(lambda b: b.table.queue_up([b.pool()]), None, id="to be written"),
    pytest.param(lambda b: b.table.send(b.rule(A)), None, id="being written"),
    pytest.param(lambda b: b.doubt(b.pool()), PENDING, id="the last write is uncertain"),
    pytest.param(lambda b: b.refuse(b.pool(), UNCONFIRMED), PENDING, id="no usable reply"),
    pytest.param(lambda b: b.refuse(b.rule(A)), "ltm/policy/rule", id="refused"),
    pytest.param(lambda b: (b.refuse(b.rule(A), blocked=True), b.refuse(b.pool())), "ltm/pool",
                 id="the cause, not what needs it"),
    pytest.param(lambda b: b.refuse(b.rule(B)), Verdict(True), id="another Route's"),
    pytest.param(lambda b: b.refuse(b.pool(), Incomplete(REFUSED, Pool(b.pool().path))), Verdict(
        True, message="ltm/pool /Common/openshift_shop_web: 1 of 1 pods are not in the pool: no"),
        id="without its members"),
    pytest.param(lambda b: (b.refuse(b.pool(), Incomplete(REFUSED, Pool(b.pool().path))),
                            b.refuse(b.rule(A), Incomplete(REFUSED, Pool(b.pool().path)), blocked=True)),
                 "ltm/policy/rule", id="previous objects stay, as the new pool has no members"),
])
def test_verdict(prepare, verdict):
    bench = Bench()
    prepare(bench)
    got = bench.verdicts.verdict(A)
    if isinstance(verdict, str):
        assert (got.admitted, got.reason) == (False, DEVICE_REJECTED)
        assert got.message.startswith(verdict)
        assert got.message.endswith(": no")
    else:
        assert got == verdict


def test_a_rejected_route_and_one_that_this_router_cannot_serve():
    bench = Bench(route("a"), route("b", age=9), service(), config=Settings(http_virtual=None))
    assert bench.verdicts.verdict(B).reason == "HostAlreadyClaimed"
    fault = bench.verdicts.verdict(A)
    assert (fault.reason, "--f5-http-vserver" in fault.message) == (DEVICE_REJECTED, True)
    assert bench.verdicts.unserved() == {A: fault.message}


def test_a_rejected_route_whose_path_stays_open():
    """Its text also says that nothing keeps its requests from a less specific Route, while that is so."""
    refused = replace(route("b", path="/b"), option_refusal="no list of clients")
    bench = Bench(route("a"), refused, service(), endpoints("10.1.1.1"))
    (closing,) = bench.engine.closing(B)
    assert bench.verdicts.verdict(B).message == "no list of clients"
    bench.refuse(closing, UNCONFIRMED)
    assert bench.verdicts.verdict(B).message == "no list of clients"
    bench.refuse(closing)
    assert bench.verdicts.verdict(B) == Verdict(False, NOT_ADMITTED, (
        f"no list of clients; others may get its requests, as the BIG-IP refuses {closing}: no"))
    assert bench.verdicts.verdict(A) == Verdict(True)
    assert bench.verdicts.unserved() == {}


def test_a_path_that_no_other_route_gets_is_not_closed():
    bench = Bench(replace(route("b", path="/b"), option_refusal="no list of clients"), service())
    assert bench.engine.closing(B) == frozenset()


def test_unserved_before_a_pass():
    """A Route that only waits for the pass is left out; a refused one is not."""
    bench = Bench()
    bench.device.observed.clear()
    assert bench.verdicts.unserved() == {A: "not yet programmed", B: "not yet programmed"}
    assert bench.verdicts.unserved(written=False) == {}
    bench.refuse(bench.rule(A))
    assert list(bench.verdicts.unserved(written=False)) == [A]


def test_a_secret_that_is_not_read_yet():
    wanted = route("a", kind="edge", external_certificate="tls")
    bench = Bench(wanted, service(), secret(not_loaded=True),
                  config=Settings(admission=Settings().admission.__class__(external=True)))
    assert bench.verdicts.verdict(A) is None
    assert bench.verdicts.unserved() == {A: "Secret tls is not read yet"}


def test_problems_name_each_cause_once():
    bench = Bench()
    bench.refuse(bench.pool())
    for key in (A, B):
        bench.refuse(bench.rule(key), blocked=True)
    (problem,) = bench.verdicts.problems()
    assert (problem.text, problem.objects, problem.routes) == ("no", (bench.pool(),), (A, B))


def test_objects_that_no_route_needs_are_problems_too():
    bench = Bench()
    gone, used = Ref(Pool.KIND, "/Common/openshift_shop_gone"), Ref(Pool.KIND, "/Common/openshift_shop_used")
    bench.refuse(gone)
    bench.refuse(used, InUse(text="in use", status=400))
    assert [(problem.text, problem.objects) for problem in bench.verdicts.problems()] == [
        ("not deleted: in use", (used,)), ("not deleted: no", (gone,))]


def test_a_missing_right_is_one_cause():
    bench = Bench()
    for ref, name in ((bench.pool(), "pool"), (bench.rule(A), "rule")):
        bench.refuse(ref, AuthFailed(text=f"{NO_RIGHT}:3: no right on {name}", status=400))
    (problem,) = bench.verdicts.problems()
    assert (problem.text, problem.routes) == (f"{NO_RIGHT}:3: no right on pool", (A, B))


def test_network_objects_are_network_findings():
    """They are no problems of Routes; what needs a refused object is not named again."""
    bench = Bench()
    tunnel, static = Ref(Tunnel.KIND, "/Common/t"), Ref(StaticRoute.KIND, "/Common/r")
    self_ip = Ref("net/self", "/Common/s")
    error = Refused(text="no tunnel", status=400)
    bench.refuse(tunnel, error)
    bench.refuse(self_ip, error, blocked=True)
    bench.refuse(static, Refused(text="no route", status=400))
    assert bench.verdicts.problems() == []
    texts = bench.verdicts.network_findings().problems
    assert sum("no tunnel" in text for text in texts) == 1
    assert sum("no route" in text for text in texts) == 1


@rows(("objects", "message"), [
    ((service(), endpoints("10.1.1.1")), ""),
    ((service(),), "spec.to.name: Service web has no ready endpoints, and no others: it selects no pod that "
                   "runs"),
    ((), "spec.to.name: there is no Service web"),
])
def test_the_status_names_the_cause_of_an_empty_pool(objects, message):
    """The Route stays admitted, as with a certificate that has expired."""
    assert Bench(route("a"), *objects).verdicts.verdict(A) == Verdict(True, message=message)


def test_no_weight_above_0():
    idle = replace(route("a"), weight=0)
    assert Bench(idle, service(), endpoints("10.1.1.1")).verdicts.verdict(A) == Verdict(
        True, message="spec.to.weight: no Service has a weight above 0: clients get 503")
