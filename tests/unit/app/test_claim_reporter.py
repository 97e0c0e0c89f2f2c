"""status_reporter.py: reports of Hosts that several objects claim."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from f5router.admission import admission, host_claims
from f5router.admission.admission import AdmissionPolicy
from f5router.app.reports import Reports
from f5router.app.status_reporter import CONTESTED, ClaimReporter
from f5router.kube.watch.sources import OLDER_INGRESSES
from f5router.model.cluster import Key
from tests.builders import route, virtual

HOST = "www.example.com"
TEXT = f"another object claims {HOST}, too; this one is older and holds it"


class World:
    """A ClaimReporter, and the claims of Routes as they are resolved."""

    def __init__(self, *routes):
        self.events, self.routes = [], {each.key: each for each in routes}
        checked = [admission.check(each, AdmissionPolicy(wildcards=True)) for each in routes]
        verdicts = host_claims.resolve(checked, ownership=True).verdicts
        engine = SimpleNamespace(rejection=verdicts.get, route=self.routes.get)
        events = SimpleNamespace(
            warn=lambda about, *texts: self.events.append(("Route", about.key, *texts)),
            warn_about=lambda about, *texts: self.events.append((about.kind, about.key, *texts)))
        self.reporter = ClaimReporter(engine, events, Reports(), lambda: OLDER_INGRESSES, lambda: 0.0)

    def judge(self, *names):
        """Make a pass. Args: names: the Routes that it judges; all without any."""
        for key in self.routes:
            if not names or key.name in names:
                self.reporter.evaluated(key)
        self.reporter.write()

    def texts(self):
        return [event[3] for event in self.events]


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


def contested(*hosts):
    """Return an Ingress with these Hosts and, for each, a Route of another namespace, named as the Host."""
    return World(*(replace(claim_of("Ingress", "a", host=host), key=Key("shop", f"-i-{host}"))
                   for host in hosts),
                 *(claim_of("Route", host, host=host, namespace="bank", age=1) for host in hosts))


def hosts(count, suffix=".example.com"):
    return [f"h{number:02}{suffix}" for number in range(count)]


@pytest.mark.parametrize(("hosts", "named"), [
    (hosts(2), "h00.example.com and h01.example.com"),
    (hosts(10), f"{', '.join(hosts(9))} and h09.example.com"),
    (hosts(13), f"{', '.join(hosts(10))} and 3 more"),
    pytest.param(hosts(5, f".{'.'.join(['x' * 60] * 4)}"[:250]),
                 f"{', '.join(hosts(3, '.' + '.'.join(['x' * 60] * 4)))} and 2 more", id="long names"),
])
def test_several_hosts(hosts, named):
    """One Event for all of a pass, which an Event's 1,024 characters have room for; nothing later."""
    world = contested(*reversed(hosts))
    world.judge()
    assert world.texts() == [f"other objects claim {named}, too; this one is older and holds them"]
    assert len(world.texts()[0]) < 1024
    world.judge()
    assert len(world.events) == 1


def test_hosts_that_are_contested_later():
    """An Event names those that none has named, until 10 are named: a tenant can make losers without end."""
    world = contested(*hosts(12))
    for name in hosts(12):
        world.judge(name)
    assert world.texts() == [f"another object claims {name}, too; this one is older and holds it"
                             for name in hosts(10)]
    world.reporter.removed(route for key, route in world.routes.items() if route.host == "h03.example.com")
    world.judge("h03.example.com")
    world.judge("h04.example.com")
    assert world.texts()[10:] == [world.texts()[3]]


def test_a_wildcard():
    world = World(claim_of("Ingress", "a", host="wildcard.example.com", wildcard=True),
                  claim_of("Route", "b", namespace="bank", age=1))
    world.judge()
    assert world.texts() == ["another object claims *.example.com, too; this one is older and holds it"]
