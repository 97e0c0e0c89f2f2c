"""Looks for a GatewayClass of this router, where its settings leave it to that whether Gateways are served.

The CRDs of the Gateway API are on many clusters, and cost nothing until then: no kind of it is watched, and
no Rule and no iRule has what only Gateways need. Settings that serve Gateways from the start do not look.

Nothing is written before the first answer, as objects of Gateways may be on the BIG-IP since an earlier
start. An API server that starts may answer 404 for kinds that it serves a moment later, and 403 for all; so
these answers count when they are repeated. Where the right is missing, nobody knows what was served with it:
Gateways are served then, so that what is on the BIG-IP stays, until somebody grants the right or names the
kinds.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from f5router.kube.api.connection import Connection
from f5router.kube.api.requests import Collection
from f5router.kube.settings import WatchTiming
from f5router.kube.watch.kind_states import ABSENT_LOOKS
from f5router.kube.watch.reflector import decode_document
from f5router.kube.watch.sources import GATEWAY_CLASSES, choose_served, is_absent
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import (
    KubeError,
    KubeForbidden,
    KubeUnauthorized,
    KubeUnreachable,
    ResourceUnavailable,
)
from f5router.sources.settings import SourceSettings

log = logging.getLogger(__name__)

USER = GATEWAY_CLASSES.resource
"""Name in outages."""


class ClassLook(Enum):
    """Result of a look at the GatewayClasses."""

    ASKED = "a GatewayClass names the controller"
    NOT_ASKED = "none does"
    ABSENT = "the kind is not served"
    FORBIDDEN = "the account may not list them"
    NONE = "it does not answer, or has an error"


def look(connection: Connection, controller: str) -> ClassLook:
    """Return what GatewayClasses say of a controller.

    Raises: KubeError: the API server does not answer, or not these credentials.
    """
    served = choose_served(connection, GATEWAY_CLASSES)
    if served is None:
        return ClassLook.ABSENT
    try:
        classes = [value for document in Collection(connection, served.path(None), {}).documents()
                   for value in decode_document(served, document)[1]]
    except KubeUnauthorized:  # which says nothing of the right
        raise
    except KubeForbidden:
        return ClassLook.FORBIDDEN
    except ResourceUnavailable:  # discovery is forbidden, or older
        return ClassLook.ABSENT
    return ClassLook.ASKED if any(each.controller == controller for each in classes) else ClassLook.NOT_ASKED


def settled(connection: Connection, sources: SourceSettings,
            timing: WatchTiming | None = None) -> SourceSettings:
    """Return the settings of a command that ends: with or without Gateways, as they are asked for now.

    They are unchanged if the API server does not say: then it shows nothing else either.

    Args: timing: of a command that writes: it looks again for a kind, or a right, that is missing.
    """
    if not sources.on_demand:
        return sources
    try:
        answer, left = look(connection, sources.gateways.controller), ABSENT_LOOKS - 1 if timing else 0
        while timing and left and answer in (ClassLook.ABSENT, ClassLook.FORBIDDEN):
            time.sleep(timing.absent_soon_s)
            answer, left = look(connection, sources.gateways.controller), left - 1
    except KubeError as exc:
        if isinstance(exc, KubeUnreachable):  # who waits for lists need not wait for as long again
            connection.outages.failed(USER, exc)
        return sources
    if answer in (ClassLook.ASKED, ClassLook.FORBIDDEN):
        return sources.with_gateways()
    return replace(sources, on_demand=False)


class GatewayDemand:
    """Looks in a thread of its own until a GatewayClass asks for Gateways, or stop()."""

    def __init__(self, connection: Connection, sources: SourceSettings, timing: WatchTiming, *,
                 on_settled: Callable[[], object]):
        """Args: on_settled: called once it is known that nobody asks for them yet."""
        self._connection, self._controller, self._timing = connection, sources.gateways.controller, timing
        self._on_settled = on_settled
        self.on_found: Callable[[], bool] = lambda: True
        """Called once Gateways are to be served; returns False if it is to be called again later."""
        self._is_needed, self._problem = sources.on_demand, ""
        self._log = PersistentLog("GatewayClasses not listed")
        self._settled, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="gateway-class", daemon=True)

    @property
    def is_settled(self) -> bool:
        """True if the settings do not leave it open, or it is known that nobody asks for Gateways yet."""
        return not self._is_needed or self._settled.is_set()

    def missing(self) -> tuple[str, ...]:
        """Return what is not known yet, and why."""
        why = f": {problem}" if (problem := self._problem) else ""
        return () if self.is_settled else (f"{GATEWAY_CLASSES.resource} are not listed yet{why}",)

    def start(self) -> None:
        """Start the thread, if there is anything to look for."""
        if self._is_needed:
            self._thread.start()

    def stop(self) -> None:
        """End the thread soon; a request in flight may outlive it."""
        self._stopped.set()

    def _run(self) -> None:
        before, times = ClassLook.NONE, 0
        while not self._stopped.is_set():
            answer, wait_s = self._look(times if before is ClassLook.NONE else 0)
            before, times = answer, times + 1 if answer is before else 1
            if answer is ClassLook.ASKED or (
                    answer is ClassLook.FORBIDDEN and times >= ABSENT_LOOKS and not self.is_settled):
                log.info("Gateways are to be served", extra={"reason": answer.value})
                if self.on_found():
                    return
                wait_s = self._timing.absent_s
            if answer is ClassLook.NOT_ASKED or (
                    answer is ClassLook.ABSENT and (times >= ABSENT_LOOKS or self._is_surely_absent())):
                self._settle()
            self._stopped.wait(wait_s or (
                self._timing.absent_s if self.is_settled else self._timing.absent_soon_s))

    def _look(self, failures: int) -> tuple[ClassLook, float]:
        """Return the answer, and how long to wait because of a failure. Args: failures: before this look."""
        error = None
        try:
            answer = look(self._connection, self._controller)
        except KubeError as exc:
            answer, error = ClassLook.NONE, exc
        except Exception as exc:  # a bug here must not keep the router from its start for good
            log.exception("look at GatewayClasses failed")
            answer, error = ClassLook.NONE, KubeError(str(exc))
        self._problem = str(error or "")
        if isinstance(error, KubeUnreachable):
            self._connection.outages.failed(USER, error)
        else:
            self._connection.outages.answered(USER)
            self._log.update((), [self._problem] if error else ())
        wait_s = self._timing.backoff.jittered_s(failures + 1, error.retry_after_s) if error else 0.0
        return answer, wait_s

    def _settle(self) -> None:
        if not self.is_settled and not self._stopped.is_set():
            self._settled.set()
            self._on_settled()

    def _is_surely_absent(self) -> bool:
        try:
            return is_absent(self._connection, GATEWAY_CLASSES)
        except KubeError:
            return False
