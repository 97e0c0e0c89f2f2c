"""An engine and a device, of which records are taken as of a running router."""

from types import SimpleNamespace

from f5router.desired.engine import Engine
from f5router.model.cluster import Key
from f5router.model.ltm import Rule
from f5router.model.objects import Ref
from f5router.reconcile.certificate_warnings import CertificateWarnings
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.reconcile.verdicts import Verdicts
from tests.builders import FACTS, Settings
from tests.unit.desired.test_engine import delta


class Bench:
    """A router that has everything on the device that is wanted."""

    def __init__(self, *objects, config: Settings | None = None):
        self.engine = Engine(config or Settings())
        self.engine.set_facts(FACTS)
        self.engine.apply(delta(*((obj, True) for obj in objects)))
        self.device = SimpleNamespace(observed=dict(self.engine.objects), facts=FACTS)
        self.table = Table(lambda: (self.engine.objects, self.device.observed), Timers(), lambda: 0.0)
        self.verdicts = Verdicts(
            self.engine, self.device, self.table,
            certificates=CertificateWarnings(self.engine))
        self.reports = SimpleNamespace(warnings=self.engine.warnings)
        self.failures = self.table.failures

    def refuse(self, ref: Ref, error) -> None:
        self.table.refuse(ref, error)

    def rule(self, key: Key) -> Ref:
        return min(ref for ref in self.engine.uses(key) if ref.kind == Rule.KIND)

    def ref(self, kind: str) -> Ref:
        """The only object of a kind."""
        (ref,) = (ref for ref in self.engine.objects if ref.kind == kind)
        return ref
