"""rewrite-target: records that Routes share, and what a change of them costs."""

from f5router.admission.route_options import HAPROXY
from f5router.model import names
from tests import manifests
from tests.feature.conftest import Lab

GROUP = f"/Common/{names.HTTP_GROUP}"


def rewritten(name: str, target: str = "", path: str = "/app") -> dict:
    """A Route. Args: target: its annotation; "" for none."""
    obj = manifests.route(name, host=f"{name}.example.com", path=path)
    obj["metadata"]["annotations"] = {f"{HAPROXY}rewrite-target": target} if target else {}
    return obj


def records(lab: Lab) -> list[str]:
    group = lab.bigip.store.get("ltm/data-group/internal", GROUP)
    return sorted(group.fields.get("records", {}).values()) if group else []


def test_routes_with_equal_paths_and_targets_share_a_record(lab):
    lab.apply(rewritten("a", "/"), rewritten("b", "/"), rewritten("c", "/", "/other"),
              rewritten("d", "/new#"), rewritten("e"))
    assert lab.converge() == []
    assert records(lab) == sorted([
        f"rewrite.{b'/app'.hex()}.2f.rest.slash", f"rewrite.{b'/other'.hex()}.2f.rest.slash",
        f"rewrite.{b'/app'.hex()}.{b'/new'.hex()}"])
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_a_change_costs_the_same_whatever_there_is(lab):
    """Records come before the Rule and go after it; a new path of a Route needs another record."""
    lab.apply(rewritten("a", "/1"), *(rewritten(f"r{number}", "/2") for number in range(20)))
    router = lab.router()
    lab.settle(router)
    for target, path, left in (("/3", "/app", 2), ("/3", "/new", 2), ("/2", "/app", 1), ("", "/app", 1),
                               ("/2", "/app", 1)):
        lab.apply(rewritten("a", target, path))
        lab.clear()
        lab.settle(router)
        assert len(lab.writes()) <= 5, lab.writes()
        assert len(records(lab)) == left


def test_hostile_targets_are_digits_on_the_device(lab):
    """Nothing that a team writes is read by tmsh or Tcl."""
    texts = ("/[exit]", "/$x", "/{", "/}", "/;", "/\"\\\"", "/`", "/%[src]", "/a|b&c")
    lab.apply(*(rewritten(f"r{number}", text) for number, text in enumerate(texts)))
    assert lab.converge() == []
    assert len(records(lab)) == len(texts)
    assert all(set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789./") for text in records(lab))
    assert all(lab.admitted("shop", f"r{number}")["status"] == "True" for number in range(len(texts)))
