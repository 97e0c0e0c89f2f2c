"""claim_reporter.py: reports of Hosts that several objects claim."""

from types import SimpleNamespace

import pytest

from f5router.admission import admission, host_claims
from f5router.admission.admission import AdmissionPolicy
from f5router.app.claim_reporter import CONTESTED, ClaimReporter
from f5router.kube.watch.sources import OLDER_INGRESSES
from f5router.model.cluster import Key
from tests.builders import route, virtual

HOST = "www.example.com"
TEXT = f"another object claims {HOST}, too; this one is older and holds it"


class World:
    """A ClaimReporter, and the claims of Routes as they are resolved."""

    def __init__(self, *routes):
        self.events, self.routes = [], {each.key: each for each in routes}
        verdicts = host_claims.resolve(
            [admission.check(each, AdmissionPolicy()) for each in routes], ownership=True).verdicts
        engine = SimpleNamespace(rejection=verdicts.get, route=self.routes.get)
        events = SimpleNamespace(
            warn=lambda about, *texts: self.events.append(("Route", about.key, *texts)),
            warn_about=lambda about, *texts: self.events.append((about.kind, about.key, *texts)))
        self.reporter = ClaimReporter(engine, events, lambda: OLDER_INGRESSES, lambda: 0.0)

    def judge(self):
        for key in self.routes:
            self.reporter.judged(key)


def claim_of(kind, name, **more):
    plain = route(name, **more)
    return plain if kind == "Route" else virtual(
        plain, kind, root=Key(plain.key.namespace, "root") if kind == "IngressRoute" else None)


@pytest.mark.parametrize(("winner", "loser", "about"), [
    ("Route", "Ingress", Key("shop", "a")), ("Ingress", "Route", Key("shop", "a")),
    ("IngressRoute", "Route", Key("shop", "root")), ("Ingress", "IngressRoute", Key("shop", "a")),
    ("IngressRoute", "IngressRoute", Key("shop", "root")), ("Ingress", "Ingress", Key("shop", "a")),
    ("Route", "Route", None),
])
def test_the_winner(caplog, winner, loser, about):
    """One Event for any number of losers, which it does not name; each loser is in the log."""
    losers = (claim_of(loser, f"thief-{number}", namespace="bank", age=1) for number in range(3))
    world = World(claim_of(winner, "a"), *losers)
    world.judge()
    world.judge()
    assert world.events == ([(winner, about, CONTESTED, TEXT)] if about else [])
    assert len(caplog.records) == 3
    assert all(record.holder.endswith("shop/a") for record in caplog.records)


def test_parts_of_one_object_are_no_rivals():
    world = World(claim_of("IngressRoute", "a"), claim_of("IngressRoute", "b", age=1))
    world.judge()
    assert world.events == []


def test_news(caplog):
    """A loser that left and comes back is news, and so is one of a winner that comes back."""
    world = World(claim_of("Ingress", "a"), claim_of("Route", "b", age=1))
    world.judge()
    world.reporter.removed([world.routes[Key("shop", "b")]])
    world.judge()
    assert (len(world.events), len(caplog.records)) == (1, 2)
    world.reporter.removed(world.routes.values())
    world.judge()
    assert (len(world.events), len(caplog.records)) == (2, 3)
