"""The running router: events in, writes out, until told to stop."""

import json
import threading
import time
from dataclasses import replace

import pytest

from f5router.app import debounce, launch
from f5router.cli import preflight
from tests import bombs, manifests
from tests.builders import identity

ONE = identity()


def pool(lab) -> set[str]:
    fields = lab.bigip.get("ltm/pool/~Common~openshift_shop_web")
    return {item["name"] for item in fields["membersReference"].get("items", [])} if fields else set()


def admitted(lab, name: str) -> str:
    return lab.admitted("shop", name).get("status", "")


def test_certificates_are_checked_beside_the_loop(lab, running):
    """Bombs of one namespace are refused by and by; others are served, each with what is right for it."""
    bomb = bombs.one_name(150, "p256")
    bomb = {"certificate": bomb["certificate"], "key": bomb["key"], "caCertificate": bomb["ca_certificate"]}
    for number in range(30):
        host = f"{number}.evil.test"
        lab.apply(manifests.route(f"bomb{number}", namespace="evil", host=host, kind="edge", **bomb))
    lab.apply(manifests.route("a", kind="edge", certificate=ONE.certificate, key=ONE.key))
    router = running()
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.apply(manifests.route("b", host="b.com", kind="edge", certificate=ONE.certificate, key=ONE.key))
    router.wait(lambda: admitted(lab, "b") == "True")
    router.wait(lambda: all(lab.admitted("evil", f"bomb{n}").get("reason") == "ExtendedValidationFailed"
                            for n in range(30)))
    assert "100 signature checks" in lab.admitted("evil", "bomb7")["message"]


def test_events_become_writes(lab, running):
    router = running()
    lab.apply(manifests.route("a"))
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})
    lab.kube.delete("Route", "shop", "a")
    router.wait(lambda: not pool(lab))
    # Nothing is left to do: the next router finds everything in step.
    router.stop()
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_changes_of_endpoints_are_collected(lab, running):
    """A rolling update is at most one write of its pool in a hold-off."""
    router = running(hold_off="2s", hold_off_limit="2s")
    lab.apply(manifests.route("a"))
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.clear()
    began = time.monotonic()
    for number in range(20):
        lab.apply(manifests.endpoints("shop", "web", (f"10.1.1.{number}",)))
        time.sleep(0.02)
    router.wait(lambda: pool(lab) == {"10.1.1.19:8080"})
    writes = [path for _, path in lab.writes() if "openshift_shop_web" in path]
    assert len(writes) <= 2 + (time.monotonic() - began) / 2


def test_nothing_is_deleted_before_every_list_is_complete(lab, running):
    """A partial view would take every Route off the BIG-IP."""
    lab.apply(manifests.route("a"))
    lab.converge()
    lab.clear()
    lab.kube.inject("503", times=3, path="endpointslices")
    router = running()
    lab.apply(manifests.route("b", host="b.com"))
    router.wait(lambda: admitted(lab, "b") == "True")
    assert not [path for method, path in lab.writes() if method == "DELETE"]
    assert pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"}


def test_the_device_restarts_half_way(lab, running):
    """Replies lost, then a starting device: the router recovers by itself, and statuses follow."""
    router = running(retry_s=0)
    lab.bigip.inject("drop-reply", times=2, method="POST")
    lab.bigip.inject("503-html", times=3)
    lab.apply(
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge", certificate=ONE.certificate, key=ONE.key),
    )
    router.wait(lambda: admitted(lab, "a") == admitted(lab, "b") == "True")


def test_the_cluster_goes_away_and_comes_back(lab, running):
    """Programmed objects stay; a deletion meanwhile is found."""
    router = running()
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com"))
    router.wait(lambda: admitted(lab, "b") == "True")
    lab.kube.stop()
    lab.clear()
    lab.kube.delete("Route", "shop", "a")
    lab.kube.compact()
    lab.kube.start()
    rules = "ltm/policy/~Common~openshift_insecure_routes"
    router.wait(lambda: "openshift_route_shop_a" not in json.dumps(lab.bigip.get(rules)))
    assert "openshift_route_shop_b" in json.dumps(lab.bigip.get(rules))


def test_a_token_that_expires_is_no_event(lab, running):
    router = running()
    lab.apply(manifests.route("a"))
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.bigip.expire_tokens()
    lab.apply(manifests.route("b", host="b.com"))
    router.wait(lambda: admitted(lab, "b") == "True")


def test_drift_is_found_on_the_period(lab, running):
    router = running(f5_resync_interval="1s")
    lab.apply(manifests.route("a"))
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.change("PATCH", "ltm/pool/~Common~openshift_shop_web", {"members": []})
    router.wait(lambda: pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"})


@pytest.mark.parametrize(
    ("first", "last", "expected"), [(0.0, 0.0, 0.1), (0.0, 1.95, 2.0), (1.0, 1.05, 1.15)]
)
def test_wake_at(first, last, expected):
    assert debounce.wake_at(first, last, hold_off_s=0.1, limit_s=2.0) == pytest.approx(expected)


def test_it_ends_promptly_when_nothing_is_to_do(lab, running, caplog):
    """A pod is killed when it does not: it waits for nothing."""
    lab.timing = replace(lab.timing, settle_s=0.1)
    router = running()
    lab.apply(manifests.route("a"))
    router.wait(lambda: admitted(lab, "a") == "True")
    router.wait(lambda: any(entry.path.endswith("sys/config") for entry in list(lab.bigip.log)))
    router.stop()
    assert not [record for record in caplog.records if "not saved" in record.getMessage()]


def test_wake_at_refuses_a_limit_below_the_hold_off():
    with pytest.raises(ValueError, match="limit_s"):
        debounce.wake_at(0.0, 0.0, hold_off_s=2.0, limit_s=1.0)


def test_plan_prints_what_run_would_write_and_writes_nothing(lab, capsys):
    lab.apply(
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge", certificate=ONE.certificate, key=ONE.key),
    )
    assert preflight.plan(lab.config(), output="json") == 0
    text = capsys.readouterr().out
    changes = json.loads(text)["changes"]
    assert {change["change"] for change in changes} == {"create"}
    assert "PRIVATE KEY" not in text
    assert set(changes[0]["new"]) == {"path", "monitor", "members", "load_balancing", "queue_ms",
                                      "reselect_tries"}
    assert lab.writes() == []
    lab.converge()
    planned = {path for kind in ("ltm/pool", "sys/file/ssl-key", "ltm/rule") for path in lab.paths(kind)}
    assert {c["path"] for c in changes if c["kind"] in ("ltm/pool", "sys/file/ssl-key")} <= planned
    assert preflight.plan(lab.config(), output="table") == 0
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_partition_that_does_not_exist(make_lab, caplog, capsys, command):
    """A misspelt path is refused with the names that exist; no empty partition is made and filled."""
    lab = make_lab(partition="/Shpo/zone", partitions=("Shop",))
    lab.apply(manifests.route("a"))
    config, stop = lab.config(), threading.Event()
    status = (preflight.plan(config, output="table") if command == "plan"
              else launch.run(config, once=True, stop=stop, timing=lab.timing))
    assert status == 1
    assert lab.writes() == []
    told = "partition Shpo does not exist; see --f5-partition-path. Partitions of this BIG-IP: Common, Shop"
    shown = [capsys.readouterr().out, *(str(vars(record)) for record in caplog.records)]
    assert any(told in text for text in shown)
