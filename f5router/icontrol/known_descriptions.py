"""Descriptions of objects, for the kinds that are known to have the property on the device's version."""

from f5router.icontrol.observation import Observation
from f5router.model import tmos
from f5router.model.ltm import Object, Pool
from f5router.model.ownership import Describe


class KnownDescriptions:
    """Writes descriptions as an observer of the device: where nothing shows that it has the property, none.

    A device that does not know it would refuse the object.
    """

    def __init__(self, describe: Describe):
        self._describe = describe
        self._version: tuple[int, ...] = ()

    def update_from(self, observation: Observation) -> None:
        """Adapt to the device's version."""
        self._version = observation.facts.version

    def __call__(self, obj: Object) -> str:
        """Return the description of an object; "" for none."""
        known = obj.KIND == Pool.KIND or self._version >= tmos.DESCRIPTIONS_SINCE
        return self._describe(obj) if known else ""
