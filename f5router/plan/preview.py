"""The preview of a pass: what it would do, and why it would not serve everything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from f5router.model.cluster import Key
from f5router.model.objects import Ref
from f5router.plan.change import Plan
from f5router.plan.problems import GroupedProblem

IN_STEP, FAILED, CHANGES = 0, 1, 2
"""Exit statuses."""


@dataclass(frozen=True, slots=True)
class RejectedRoute:
    """A Route that would not be served, with the reason and message of its status."""

    key: Key
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of `f5router plan`."""

    plan: Plan | None
    """None where the cluster or the BIG-IP could not be read."""
    problems: tuple[GroupedProblem, ...] = ()
    """Reasons for which `run --once` would fail, as far as they are known before anything is written."""
    rejected: tuple[RejectedRoute, ...] = ()
    lost: Mapping[Key, str] = field(default_factory=lambda: MappingProxyType({}))
    """Routes that are served now and would not be any more, with the reason."""
    warnings: tuple[str, ...] = ()
    causes: Mapping[Ref, str] = field(default_factory=lambda: MappingProxyType({}))
    """The Route that needs an object which is to change, in words; none for one that several need."""

    def exit_status(self, *, detailed: bool = False) -> int:
        """Return the exit status of the command.

        A Route that is rejected for what is in it does not count: a team's mistake must not make the
        administrator's check fail.

        Args: detailed: return CHANGES if there are any, as `terraform plan -detailed-exitcode` does.
        Source: https://www.terraform.io/docs/commands/plan.html: 0 succeeded with empty diff, 1 error,
            2 succeeded with non-empty diff.
        """
        if self.problems:
            return FAILED
        return CHANGES if detailed and self.plan else IN_STEP
