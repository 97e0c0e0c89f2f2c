"""Looks at the API server: one object of each kind in turn, to notice at once what a watch notices late.

A watch that runs is not ended when the right to it is taken away, nor by an API server that answers 500 to
all new requests, and a server that is gone without a word ends it after minutes. A list of one object passes
authorization and storage like any other list, and costs the API server next to nothing.
Sources: Kubernetes API concepts, "Retrieving large results sets in chunks"; k8s.io/apiserver, watches are
authorized when they begin.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from f5router.kube.api.connection import PLAIN, Connection
from f5router.kube.watch.reflector import METADATA_LIST
from f5router.kube.watch.sources import Source
from f5router.model.errors import KubeError, KubeForbidden, KubeUnreachable

log = logging.getLogger(__name__)

ROUND_S = 9.0
"""Time in which each kind is asked for once, if there are many."""
TIMEOUT_S = 4.0
"""Silence after which the API server counts as one that does not answer."""
USER = "single objects"
"""Name in outages."""


class KindRead(NamedTuple):
    """The read of one kind."""

    kind: Source
    """The kind as the settings ask for it."""
    source: Source
    """The API by which it is read."""
    namespace: str | None


class APILook:
    """Looks in a thread of its own until stop()."""

    def __init__(self, connection: Connection, reads: Callable[[], Iterable[KindRead]], *,
                 on_result: Callable[[Source, str], object], at_secret: Callable[[], None], period_s: float):
        """Args:
        reads: returns the kinds that were listed.
        on_result: takes a kind, and why it is forbidden; "" if it can be read.
        at_secret: begins to read one of the Secrets, once in a round.
        period_s: longest time between two looks.
        """
        self._connection, self._reads, self._period_s = connection, reads, period_s
        self._on_result, self._at_secret = on_result, at_secret
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="api-look", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread soon; a request in flight may outlive it."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._period_s):
            reads = list(self._reads())
            for read in reads:
                self._look(read)
                if self._stopped.wait(min(self._period_s, ROUND_S / len(reads))):
                    return
            self._at_secret()

    def _look(self, read: KindRead) -> None:
        problem = ""
        try:
            self._connection.request(
                "GET", _path(read), query={} if read.source.name else {"limit": "1"}, timeout_s=TIMEOUT_S,
                accept=METADATA_LIST if read.source.metadata_only else PLAIN)
        except KubeForbidden as exc:
            problem = str(exc)
        except KubeUnreachable as exc:
            self._connection.outages.failed(USER, exc)
            return
        except KubeError as exc:  # not served any more, or something that its watch meets, too
            log.debug("look failed", extra={"kind": read.kind.resource, "error": str(exc)})
        except Exception:  # a bug here must not end the looks for good
            log.exception("look failed", extra={"kind": read.kind.resource})
        self._connection.outages.answered(USER)
        self._on_result(read.kind, problem)


def _path(read: KindRead) -> str:
    path = read.source.path(read.namespace)
    return f"{path}/{read.source.name}" if read.source.name else path
