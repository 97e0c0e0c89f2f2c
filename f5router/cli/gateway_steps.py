"""Gateways and their routes as steps of a chain: each listener and parent, with what is wrong there.

The conditions are those that their statuses show, without what only a router that runs knows of the BIG-IP:
that is in the chains of the virtual Routes, which follow.
"""

from collections.abc import Iterator
from typing import NamedTuple

from f5router.cli.survey import Survey
from f5router.model.cluster import Key, Subject
from f5router.model.findings import Finding
from f5router.model.gateway import GATEWAY
from f5router.model.meanings import Effect
from f5router.model.texts import number_of
from f5router.sources.gateway import conditions
from f5router.sources.gateway.evaluation import EvaluatedGateway
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.gateway.listeners import CheckedListener
from f5router.views import findings
from f5router.views.chain import Step

MOST_ROUTES = 50
"""Routes of a Gateway that are shown; the others are counted."""
ALL_HOSTS = "all hosts"


class GatewayObject(NamedTuple):
    """A Gateway, or a route on Gateways, as the router sees it."""

    hosts: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """All that is wrong with it, outside of its virtual Routes."""
        return tuple(problem for step in self.steps for problem in step.problems)


def keys(survey: Survey, kind: str) -> list[Key]:
    """Return the Gateways of the router's classes, or the routes of a kind on them."""
    gateways = _gateways(survey)
    if gateways is None:
        return []
    if kind == GATEWAY:
        return sorted(gateways.evaluated)
    return sorted({subject.key for evaluated in gateways.evaluated.values() for subject in evaluated.attached
                   if subject.kind == kind})


def find(survey: Survey, kind: str, key: Key) -> GatewayObject | None:
    """Return a Gateway, or a route of a kind; None if it is not the router's."""
    gateways = _gateways(survey)
    if gateways is None:
        return None
    if kind != GATEWAY:
        steps = tuple(_parents(gateways, Subject(kind, key), None))
        return GatewayObject(gateways.routes[Subject(kind, key)].hostnames, steps) if steps else None
    if (evaluated := gateways.evaluated.get(key)) is None:
        return None
    hosts = dict.fromkeys(each.hostname or "*" for each in evaluated.gateway.listeners)
    return GatewayObject(tuple(hosts), tuple(_of_gateway(gateways, evaluated)))


def _gateways(survey: Survey) -> Gateways | None:
    source = survey.cluster.objects(GATEWAY)
    return source if isinstance(source, Gateways) else None


def _parents(gateways: Gateways, subject: Subject, effect: Effect | None) -> Iterator[Step]:
    """Yield a step for each reference of a route to a Gateway of the router. Args: effect: see of_object."""
    for gateway, attachment in gateways.attachments(subject):
        names = gateways.evaluated[gateway].verdict.listeners
        shown = [f"listener {names[number].listener.name} with {', '.join(filter(None, hosts)) or ALL_HOSTS}"
                 for number, hosts in attachment.hosts]
        problems = conditions.problems(*attachment.conditions.by_type.values())
        yield Step("parent", f"Gateway {gateway}: {'; '.join(shown) or 'no listener'}",
                   findings.of_object(problems, effect=effect))


def _of_gateway(gateways: Gateways, evaluated: EvaluatedGateway) -> Iterator[Step]:
    gateway, verdict = evaluated.gateway, evaluated.verdict
    own = [each for each in (verdict.accepted, verdict.unprogrammed) if each is not None and not each.holds]
    yield Step("class", gateway.class_name, findings.of_object(conditions.problems(*own)))
    counts = evaluated.attached_routes()
    for checked in verdict.listeners:
        yield Step(f"listener {checked.listener.name}", _listener(checked, counts[checked.number]),
                   findings.of_object(conditions.problems(*checked.conditions.by_type.values())))
    routes = [(subject, tuple(problem for step in _parents(gateways, subject, Effect.NONE)
                              for problem in step.problems)) for subject in sorted(evaluated.attached)]
    routes.sort(key=lambda each: not each[1])
    for subject, problems in routes[:MOST_ROUTES]:
        yield Step(subject.kind, str(subject.key), problems)
    if (more := len(routes) - MOST_ROUTES) > 0:
        yield Step("routes", f"{number_of(more, 'route')} more")


def _listener(checked: CheckedListener, routes: int) -> str:
    listener = checked.listener
    return (f"{listener.protocol} port {listener.port}, {listener.hostname or ALL_HOSTS}: "
            f"{number_of(routes, 'route')}")
