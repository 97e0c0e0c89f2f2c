"""Sources convert in steps: each is about a bounded part of a change, and a change costs what it is about."""

from f5router.model.limits import finish
from f5router.sources import delegation_graph
from tests.unit.sources.contour_objects import delta, entry, ingress_route, root, service, source

ROOTS = 30


def below(*matches):
    """Many roots that delegate to one object, and the object."""
    roots = [root(entry("/", to="child"), name=f"r{at}", fqdn=f"h{at}.example.com") for at in range(ROOTS)]
    return roots, ingress_route("child", *(entry(match, "web") for match in matches))


def steps(work):
    """The number of steps before the last one, and the result."""
    number = 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            return number, end.value
        number += 1


def test_each_root_is_a_step():
    roots, child = below("/a")
    loaded, _ = source(service(), *roots, child)
    _, changed = below("/a", "/b")
    number, changes = steps(loaded.apply_in_steps(delta(changed)))
    assert number >= ROOTS
    assert len(changes) == ROOTS


def test_routes_that_are_as_before_are_not_made_again():
    """One entry of an object below many roots has changed."""
    roots, child = below(*(f"/{at}" for at in range(20)))
    loaded, _ = source(service(), *roots, child)
    before = {key: route for graph in loaded.graphs.values() for key, route in graph.routes.items()}
    _, changed = below(*(f"/{at}" for at in range(19)), "/new")
    changes = loaded.apply(delta(changed))
    assert sum(route is None for route in changes.values()) == ROOTS == len(changes) / 2
    after = {key: route for graph in loaded.graphs.values() for key, route in graph.routes.items()}
    assert sum(after[key] is before[key] for key in before.keys() & after.keys()) == 19 * ROOTS


def test_a_large_root_takes_many_steps():
    most = delegation_graph.ENTRIES_OF_A_STEP
    large = [ingress_route(f"c{at}", *(entry(f"/{at}/{number}", "web") for number in range(4 * most)))
             for at in range(3)]
    whole = root(*(entry(f"/{at}", to=f"c{at}") for at in range(3)))
    loaded, _ = source(service())
    number, changes = steps(loaded.apply_in_steps(delta(whole, *large)))
    assert number >= 12
    assert len(changes) == 12 * most


def test_a_change_that_is_taken_back_is_none():
    """Compared with the Routes before, although objects were decoded anew."""
    roots, child = below("/a", "/b")
    loaded, _ = source(service(), *roots, child)
    _, same = below("/a", "/b")
    assert finish(loaded.apply_in_steps(delta(same))) == {}
