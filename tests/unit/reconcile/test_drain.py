"""Pauses of a Plan, so that requests which were just led somewhere still get there."""

from f5router.plan.change import Stage
from f5router.reconcile.rollout import Drain


def test_clients_who_were_redirected_reach_the_rule_before_it_goes():
    pauses: list[str] = []
    drain = Drain()
    for stage in (Stage.PASSTHROUGH, Stage.ENDED_REDIRECT, Stage.SECURE_RULE, Stage.INSECURE_RULE):
        pauses += ["pause"] if drain.before(stage, [stage], deleting=False) else []
        pauses.append(stage.name)
    assert pauses == ["PASSTHROUGH", "ENDED_REDIRECT", "pause", "SECURE_RULE", "INSECURE_RULE"]
