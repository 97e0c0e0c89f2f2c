"""Statuses beside the programming of the BIG-IP: when they are written, and what does not wait for them."""

from tests import manifests


def test_a_status_that_takes_long(lab):
    """It holds up no other."""
    lab.kube.inject("delay", path="/slow/status", seconds=2)
    lab.apply(manifests.route("slow", host="slow.com"))
    router = lab.router()
    lab.converge_events(router)
    router.reconcile_once()
    lab.until(lambda: not router._statuses.pending())
    lab.apply(*(manifests.route(f"r{number}", host=f"h{number}.com") for number in range(5)))
    lab.until(lambda: router.reconcile_once() and all(
        lab.admitted("shop", f"r{number}") for number in range(5)))
    assert lab.admitted("shop", "slow") == {}
    assert router._statuses.flush(5.0)
    assert lab.admitted("shop", "slow")["status"] == "True"


def test_nothing_is_said_before_it_is_so(lab):
    """While the BIG-IP is written, no Route that waits for it has a status."""
    lab.apply(*(manifests.route(f"r{number}", host=f"h{number}.com", kind="edge") for number in range(3)))
    router = lab.router()
    lab.converge_events(router)
    router._take_events()
    assert set(router._reconciler.unserved().values()) == {"not yet programmed"}
    early = []
    lab.bigip.on_write = lambda _: early.extend(
        name for name in ("r0", "r1", "r2") if lab.admitted("shop", name))
    router._bring_in_step()
    lab.bigip.on_write = None
    assert early == []
    assert router._statuses.flush(5.0)
    assert all(lab.admitted("shop", f"r{number}")["status"] == "True" for number in range(3))
