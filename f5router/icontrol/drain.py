"""Pauses between deletes, so that requests which were just routed have connected to pool members."""

from collections.abc import Sized

from f5router.plan.change import Stage


class Drain:
    """Decides where a rollout pauses."""

    def __init__(self) -> None:
        self._routed = False
        """Rules or records were written since the last pause."""
        self._excluded = False
        """Exclusion records were deleted since the last pause."""
        self._redirected = False
        """Rules have ceased to redirect since the last pause."""

    def before(self, stage: Stage, changes: Sized, *, deleting: bool) -> bool:
        """Return True to pause, if these Changes, which are written next, could cut off requests."""
        pauses = False
        if deleting:
            pauses = self._before_delete(stage, changes)
        elif self._redirected and changes:
            # Clients who were just redirected still reach the Rule that goes.
            pauses, self._redirected = True, False
        self._redirected = self._redirected or (stage == Stage.ENDED_REDIRECT and bool(changes))
        self._routed = self._routed or (stage.is_routing and bool(changes))
        return pauses

    def _before_delete(self, stage: Stage, changes: Sized) -> bool:
        pauses = False
        if self._routed and changes and not stage.is_routing:
            pauses, self._routed = True, False
        if stage == Stage.EXCLUSION:
            # Connections whose TLS has just started to be terminated here still reach the Rules.
            self._excluded = True
        elif self._excluded and changes:
            pauses, self._excluded = True, False
        return pauses
