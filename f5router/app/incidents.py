"""Findings about the installation as a whole, by the check of readiness that shows them.

Readiness, the status page and metrics ask for the findings when they are asked; the loop logs them, once when
they begin and once when they have ended.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from f5router.app.device_watch import DeviceWatch
from f5router.app.route_troubles import RouteTroubles
from f5router.app.server_watch import ServerWatch
from f5router.app.settling import Settling
from f5router.kube.api.counts import Outages
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.model import findings
from f5router.model.clock_offset import ClockOffset
from f5router.model.findings import Finding, named
from f5router.model.texts import CERTIFICATE_EXPIRED, SECRET_NOT_READ
from f5router.reconcile.reconciler import Reconciler
from f5router.views import incidents

log = logging.getLogger(__name__)

CODES = (
    findings.SERVER_MISSING, findings.SERVER_DISABLED, findings.BIGIP_SILENT, findings.NOT_SAVED,
    findings.API_UNREACHABLE, findings.API_ERRORS, findings.KIND_NOT_READABLE, SECRET_NOT_READ,
    findings.ROUTES_WITHOUT_PODS, findings.REJECTIONS_RISE,
    findings.TOKEN_LIMIT, findings.LOGIN_REFUSED, findings.NODE_DISABLED, findings.LICENCE_EXPIRED,
    findings.LICENCE_ENDS, findings.CLOCK_DIFFERS, CERTIFICATE_EXPIRED, findings.CERTIFICATE_ENDS)
"""All codes that there may be."""

SECRETS = "secrets"
SUBJECTS = {
    "ltm-nodes": "LTM nodes of pool members are disabled",
    "licence": "licence of the BIG-IP",
    "clocks": "clocks differ",
    "certificates": "certificates end",
    "routes": "many Routes are not served",
}
"""Messages of the log by check; other checks have a log of their own."""


class IncidentLog:
    """Findings of one check that were logged and still hold."""

    def __init__(self, subject: str):
        """Args: subject: a constant, the log's message."""
        self._subject = subject
        self._logged: dict[tuple[str, str], Finding] = {}
        """By code and object: the text may have a number that changes all the time."""

    def update(self, now: Iterable[Finding]) -> None:
        """Log findings that are new, and those that hold no more."""
        current = {(each.code, each.at): each for each in now}
        for key, each in current.items():
            if key not in self._logged:
                level = logging.ERROR if each.loses else logging.WARNING
                log.log(level, self._subject, extra={"problem": named([each])})
        for key, each in self._logged.items():
            if key not in current:
                log.info("problem resolved", extra={"subject": self._subject, "problem": named([each])})
        self._logged = current


class Incidents:
    """All findings about the installation. The loop's thread calls `look`; any may call the others."""

    def __init__(self, reconciler: Reconciler, settling: Settling, servers: ServerWatch, device: DeviceWatch,
                 *, api_clock: ClockOffset, cluster: ClusterWatcher, outages: Outages,
                 clock: Callable[[], float], wall: Callable[[], float] = time.time):
        """Args:
        api_clock: of the API server.
        wall: seconds since the epoch.
        """
        self.routes = RouteTroubles(reconciler.engine, clock)
        self._engine, self._units = reconciler.engine, reconciler.device.pair.units
        self._settling, self.servers, self.device = settling, servers, device
        self._api_clock, self._cluster, self._outages, self._wall = api_clock, cluster, outages, wall
        self._logs = {check: IncidentLog(subject) for check, subject in SUBJECTS.items()}

    def by_check(self) -> Mapping[str, list[Finding]]:
        """Return the findings by the name of their check; a check without any is well."""
        default = self._engine.tls_files.default_certificate
        ends = default.validity.end if default is not None and default.validity is not None else None
        offsets = {f"the BIG-IP {unit.name}": unit.client.clock_offset.ahead_s for unit in self._units}
        offsets["the API server"] = self._api_clock.ahead_s
        silence, licence, unsaved = self.servers.silence(), self.device.licence(), self._settling.unsaved
        return {
            "api-server": self._outages.findings(),
            "bigip-answers": _known(silence),
            "virtual-servers": self.servers.findings(),
            "config-saved": _known(unsaved),
            "ltm-nodes": self.device.nodes(),
            "licence": _known(licence),
            "clocks": incidents.of_clocks(offsets),
            "routes": self.routes.findings(),
            "certificates": incidents.of_certificates(
                [*self._engine.routes().items()], ends, datetime.fromtimestamp(self._wall(), UTC)),
        }

    def counts(self, error: Exception | None) -> dict[str, int]:
        """Return the number of findings by code, with 0 for a code without any.

        Args: error: that cut the last pass short.
        """
        counts = dict.fromkeys(CODES, 0)
        for group in (*self.by_check().values(), _known(incidents.of_error(error))):
            for each in group:
                counts[each.code] += 1
        for kind, count in self._cluster.unreadable().items():
            counts[SECRET_NOT_READ if kind == SECRETS else findings.KIND_NOT_READABLE] += count
        return counts

    def look(self, *, leads: bool, rejected: int | None) -> None:
        """Begin to look at the BIG-IP, and log what was found so far.

        Args:
            leads: False for a follower.
            rejected: number of Routes that are rejected; None before the first load has ended.
        """
        if rejected is not None:
            self.routes.record_rejections(rejected)
        for watch in (self.servers, self.device):
            if leads:
                watch.look()
            else:
                watch.start_over()
        for check, group in self.by_check().items():
            if check in self._logs:
                self._logs[check].update(group)


def _known(each: Finding | None) -> list[Finding]:
    return [] if each is None else [each]
