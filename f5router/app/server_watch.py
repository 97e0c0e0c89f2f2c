"""The virtual servers, looked at while nothing is written: whether they serve, and the BIG-IP answers.

Nothing is served any more once somebody disables or deletes a virtual server, and a BIG-IP that takes
connections and never answers holds up a reading for minutes: neither can wait for the next reading. A look is
one small request for each virtual server, beside the requests under way. One that the router is about to
create, or to delete, is not missing.
"""

import logging
from collections.abc import Callable, Collection, Mapping

from f5router.icontrol.codec import virtual_codec
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job
from f5router.icontrol.pair import LOOK_S
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.logs.log_output import PersistentLog
from f5router.model import findings
from f5router.model.errors import BigIPError, DeviceTimeout, NotFound, Unreachable
from f5router.model.findings import Finding, Link, finding, named
from f5router.model.objects import Ref
from f5router.model.virtual_server import VirtualServer, listening_ref

log = logging.getLogger(__name__)

SILENT_S = 4.0
"""Time without an answer to a look after which the BIG-IP counts as silent."""


class ServerWatch:
    """Looks at the virtual servers. The loop's thread uses it; any may read `findings` and `up`."""

    def __init__(self, device: Device, failures: Callable[[], Collection[Ref]], *,
                 clock: Callable[[], float]):
        """Args: failures: returns the objects that the BIG-IP refuses."""
        self._device, self._failures, self._clock = device, failures, clock
        self._asked_at: float | None = None
        """When the look under way began, or the first of those without an answer."""
        self._is_looking = False
        self._troubles: Mapping[str, Finding | None] = {}
        """The finding about each virtual server that was looked at, None for one that is well."""
        self._log = PersistentLog("virtual server answers no request")
        self._silence = PersistentLog("the BIG-IP does not answer")

    def findings(self) -> list[Finding]:
        """Return what is wrong with the virtual servers, by the last look that was answered."""
        return [trouble for trouble in self._troubles.values() if trouble is not None]

    def up(self) -> dict[str, bool]:
        """Return by path whether a virtual server is there and enabled; none that was not looked at."""
        return {path: trouble is None for path, trouble in self._troubles.items()}

    def silence(self) -> Finding | None:
        """Return that the BIG-IP has not answered the last look; None if it has, or may still do so."""
        asked_at = self._asked_at
        if asked_at is None or (waited_s := self._clock() - asked_at) < SILENT_S:
            return None
        return finding(Link.DEVICE, findings.BIGIP_SILENT,
                       f"{self._device.unit.name} has given no answer for {waited_s:.0f} s")

    def look(self) -> None:
        """Begin a look, unless one goes on."""
        self._record_silence()
        if self._is_looking or not (paths := self._device.virtual_servers):
            return
        self._is_looking = True
        if self._asked_at is None:
            self._asked_at = self._clock()
        client, unfinished = self._device.client, self._unfinished()
        self._device.dispatcher.send(lambda: {path: look_at(client, path) for path in paths},
                                     lambda job: self._looked(job, unfinished))

    def start_over(self) -> None:
        """Forget what was found: another replica looks."""
        self._troubles = {}

    def _unfinished(self) -> set[str]:
        """Return the virtual servers that the router has not put into service yet, unless it cannot."""
        observed, failures = self._device.observed, self._failures()
        parts = {each.virtual: (Ref(VirtualServer.KIND, each.virtual), listening_ref(each.virtual))
                 for each in self._device.own_servers.listeners}
        return {path for path, refs in parts.items()
                if any(ref not in observed for ref in refs) and not any(ref in failures for ref in refs)}

    def _looked(self, job: Job, unfinished: set[str]) -> None:
        """Take the end of a look; after another error than silence the state before stays.

        Args: unfinished: those that were so when the look began.
        """
        self._is_looking = False
        if isinstance(job.error, DeviceTimeout | Unreachable):
            return self._record_silence()
        self._asked_at = None
        self._record_silence()
        if job.error is None:
            current = set(self._device.virtual_servers) - unfinished - self._unfinished()
            self._troubles = {path: trouble for path, trouble in job.result.items()
                              if trouble is None or path in current}
            self._log.update((named([each]) for each in self.findings()), ())
        elif isinstance(job.error, BigIPError):
            log.debug("virtual servers not read", extra={"error": str(job.error)})
        else:
            log.error("virtual servers not read", exc_info=job.error)

    def _record_silence(self) -> None:
        """Log that the BIG-IP does not answer, once, and that it does again."""
        is_silent = self.silence() is not None
        self._silence.update((f"{findings.BIGIP_SILENT}: {self._device.unit.name}",) if is_silent else (), ())


def look_at(client: Client, path: str) -> Finding | None:
    """Return what is wrong with a virtual server. Raises: BigIPError: it cannot be read."""
    try:
        raw = client.look(f"/mgmt/tm/{item_path('ltm/virtual', path)}", timeout_s=LOOK_S)
    except NotFound:
        return finding(Link.VIRTUAL_SERVER, findings.SERVER_MISSING, f"{path} is not there", at=path)
    if raw.get("disabled") is True and virtual_codec.state(raw) is False:
        return finding(Link.VIRTUAL_SERVER, findings.SERVER_MISSING,
                       f"{path} is not in service yet: the router prepares it", at=path)
    if raw.get("disabled") is True:
        return finding(Link.VIRTUAL_SERVER, findings.SERVER_DISABLED, f"{path} is disabled", at=path)
    return None
