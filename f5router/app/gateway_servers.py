"""Virtual servers of Gateways, as the BIG-IP has them."""

from collections.abc import Callable, Mapping

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.model.objects import Ref
from f5router.model.virtual_server import FrontEnd, VirtualServer, listening_ref, numbered
from f5router.reconcile.row import ObjectRow
from f5router.sources.gateway.evaluation import EvaluatedGateway
from f5router.sources.gateway.listeners import SECURE, CheckedListener


class GatewayServers:
    """Shows what is there, and what is refused. The loop's thread uses it."""

    def __init__(self, engine: Engine, device: Device, failures: Callable[[], Mapping[Ref, ObjectRow]]):
        """Args: failures: returns the objects that the BIG-IP refuses."""
        self._engine, self._device, self._failures = engine, device, failures

    def lacks(self, listener: CheckedListener) -> bool:
        """True if a virtual server of a listener is not in service."""
        if not listener.front_end:
            facts = self._device.facts
            return (facts.https if listener.listener.protocol in SECURE else facts.http) is None
        front_end = self._front_end(listener.front_end)
        return front_end is None or not all(
            self._serves(each.virtual, each.address) for each in front_end.listeners())

    def refusal(self, listener: CheckedListener) -> str:
        """Return why the BIG-IP refuses a virtual server of a listener; "" if it does not."""
        front_end = self._front_end(listener.front_end) if listener.front_end else None
        failures = self._failures() if front_end else {}
        refused = (failures.get(Ref(VirtualServer.KIND, each.virtual))
                   for each in (front_end.listeners() if front_end else ()))
        return next((row.error.text for row in refused if row is not None and row.error is not None), "")

    def addresses(self, gateway: EvaluatedGateway) -> tuple[str, ...]:
        """Return the addresses on which a Gateway is served: on all of its ports."""
        served = gateway.verdict.served
        if served.ports is not None:
            return served.addresses
        names = {each.front_end for each in gateway.verdict.served_listeners}
        front_ends = [each for name in names if (each := self._front_end(name)) is not None]
        return tuple(address for number, address in enumerate(served.addresses, start=1)
                     if front_ends and len(front_ends) == len(names)
                     and all(self._serves(numbered(each.first, number), address)
                             for each in front_ends))

    def _serves(self, path: str, address: str) -> bool:
        """True if a virtual server is in service on an address, and no more on one that it had before."""
        there = self._device.observed.get(Ref(VirtualServer.KIND, path))
        return (isinstance(there, VirtualServer) and there.address == address
                and listening_ref(path) in self._device.observed)

    def state(self, gateway: EvaluatedGateway) -> object:
        """Return all of this, to compare."""
        return self.addresses(gateway), *(
            (self.lacks(each), self.refusal(each)) for each in gateway.verdict.served_listeners)

    def _front_end(self, name: str) -> FrontEnd | None:
        view = self._engine.front_ends.get(name)
        return next(iter(view[0].front_ends), None) if view else None
