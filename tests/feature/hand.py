"""A router whose clock is moved by hand, and which restarts; it is given objects without an API server."""

from contextlib import ExitStack
from typing import ClassVar

from f5router.admission.certificates import CheckQueue
from f5router.app import wiring
from f5router.desired.engine import Engine
from f5router.reconcile.reconciler import Reconciler
from tests.feature.test_traffic import Direct

HOST = "www.example.com"


class Hand:
    """A Direct with a clock that is moved by hand, and restarts."""

    flags: ClassVar[dict[str, str]] = {}
    checks: ClassVar[dict[str, float]] = {}
    """Arguments of the CheckQueue."""

    def __init__(self, lab, stack: ExitStack, *, drain_s: float = 0.0, on_pause=None, **flags: str):
        """Args: drain_s: of passthrough Routes; on_pause: called for each pause of a rollout."""
        self.lab, self.now, self._stack, self._drain_s = lab, 100.0, stack, drain_s
        self._on_pause = on_pause
        self._flags = {**self.flags, **flags}
        self.objects: dict = {}
        self.direct: Direct
        self.restart()

    def restart(self) -> None:
        """Start a new router, which knows everything at once; makes no pass."""
        config = self.lab.config(**self._flags)
        device = wiring.build_device(config, self._stack)
        reconciler = Reconciler(Engine(config, CheckQueue(**self.checks)), device, folder=config.folder,
                                clock=lambda: self.now, drain_s=self._drain_s)
        self.direct = Direct(self.lab, reconciler, clock=lambda: self.now, advance=self._advance)

    def change(self, *objects, gone=()) -> None:
        self.objects.update((obj.key, obj) for obj in objects)
        for obj in gone:
            del self.objects[obj.key]
        self.direct.change(*objects, gone=gone)

    def again(self) -> None:
        """The new router's first pass."""
        self.restart()
        self.direct.change(*self.objects.values())

    def later(self, seconds: float) -> None:
        """Let time pass, then as many passes as are due."""
        self.now += seconds
        self.direct.change()

    def _advance(self, seconds: float) -> None:
        """Let a pause of a rollout pass."""
        if self._on_pause is not None and seconds:
            self._on_pause()
        self.now += seconds

    def read(self) -> None:
        """The period is over: a full pass."""
        self.direct.reconciler.must_read("of the test")
        self.direct.change()

    def refuse(self, method: str, path: str) -> None:
        self.lab.bigip.inject("refuse", times=None, method=method, path=path, status=400, message="no")

    def ask(self, host: str = HOST, path: str = "/", *, tls: bool = True):
        return self.direct.ask(host, path, tls=tls)
