"""A reading of the device beside the control loop."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from f5router.icontrol.observation import Observation
from f5router.model.ltm import Attachment, Object, Policy, Rule
from f5router.model.objects import Ref

_OF_VIRTUALS = frozenset({Attachment.KIND, Policy.KIND, Rule.KIND})
"""Kinds on whose writes the facts of an observation depend, and its drafts."""


Result = TypeVar("Result")


class Reading(Future[Result]):
    """Result of a thread that reads."""

    cpu_s = 0.0
    """Seconds of CPU that it took, once it has ended."""


def begin(read: Callable[[], Result], ended: Callable[[], None]) -> Reading[Result]:
    """Read in a thread that nobody waits for, also at the end. Args: ended: called from it."""
    future: Reading[Result] = Reading()
    future.add_done_callback(lambda _: ended())

    def run() -> None:
        try:
            result = read()
        except BaseException as exc:
            future.cpu_s = time.thread_time()
            future.set_exception(exc)
        else:
            future.cpu_s = time.thread_time()
            future.set_result(result)

    threading.Thread(target=run, daemon=True, name="reading").start()
    return future


@dataclass(slots=True)
class BesideReading:
    """A reading that a thread makes, and what the loop has written meanwhile: the reading may be older."""

    future: Reading[Observation]
    written: dict[Ref, Object | None] = field(default_factory=dict)
    """Objects whose write was confirmed since the reading began; None for deleted ones."""

    @property
    def shows_facts(self) -> bool:
        """True if nothing was written on which its facts depend."""
        return all(ref.kind not in _OF_VIRTUALS for ref in self.written)
