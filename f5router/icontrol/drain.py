"""Pauses between deletes, so that requests which were just routed have connected to pool members."""

from collections.abc import Callable, Sized

from f5router.plan.change import Stage


class Drain:
    """Pauses of one Plan."""

    def __init__(self, pause: Callable[[], object]):
        self._pause = pause
        self._routed = False
        """Rules or records were written since the last pause."""
        self._excluded = False
        """Exclusion records were deleted since the last pause."""
        self._redirected = False
        """Rules have ceased to redirect since the last pause."""

    def before(self, stage: Stage, changes: Sized, *, deleting: bool) -> None:
        """Pause if these Changes, which are written next, could cut off requests."""
        if deleting:
            self._before_delete(stage, changes)
        elif self._redirected and changes:
            # Clients who were just redirected still reach the Rule that goes.
            self._pause()
            self._redirected = False
        self._redirected = self._redirected or (stage == Stage.ENDED_REDIRECT and bool(changes))
        self._routed = self._routed or (stage.is_routing and bool(changes))

    def _before_delete(self, stage: Stage, changes: Sized) -> None:
        if self._routed and changes and not stage.is_routing:
            self._pause()
            self._routed = False
        if stage == Stage.EXCLUSION:
            # Connections whose TLS has just started to be terminated here still reach the Rules.
            self._excluded = True
        elif self._excluded and changes:
            self._pause()
            self._excluded = False
