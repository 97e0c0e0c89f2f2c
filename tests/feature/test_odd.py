"""Events that nobody expects: replies of unknown forms, faults of our own, a stop in the middle."""

import json
import logging
import threading
from dataclasses import fields, replace

import pytest

from f5router.icontrol.observation import LARGE, expect
from f5router.icontrol.observe import DeviceReading
from f5router.model.ltm import Pool, Rule
from tests import manifests
from tests.builders import identity
from tests.feature.test_loop import admitted, pool

pytestmark = pytest.mark.bare

ONE = identity()
CERT = {"certificate": ONE.certificate, "key": ONE.key}


class Replies:
    """Replies of a device, as often as asked, with one thing in them changed."""

    def __init__(self, client):
        self._client = client
        self._seen: dict[str, str] = {}
        self.change = lambda reply: None

    def ready(self) -> bool:
        return True

    def version(self) -> tuple[int, ...]:
        return (14, 1, 2)

    def get(self, path, params=None):
        if path not in self._seen:
            self._seen[path] = json.dumps(self._client.get(path, params))
        reply = json.loads(self._seen[path])  # a copy
        self.change((path, reply))
        return reply


def places(value, path=()) -> list[tuple]:
    """Where something can be wrong in a reply."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(*path, key), *places(inner, (*path, key))]]


def put(value, where: tuple, odd) -> None:
    for key in where[:-1]:
        value = value[key]
    value[where[-1]] = odd


VIRTUALS = ("/Common/ose-vserver", "/Common/https-ose-vserver")


ODD = (None, 7, "x", [], {}, ["x"], [None], {"items": 7}, True)


@pytest.mark.parametrize(
    "kind", ["pool", "policy", "data-group/internal", "rule", "profile/client-ssl", "profile/server-ssl"])
def test_every_property_of_an_unknown_form(lab, kind):
    """One of ours that is odd is as good as absent; nothing else is, and nothing ends."""
    lab.apply(
        manifests.route("b", host="b.com", kind="reencrypt", insecure="Redirect", **CERT),
        manifests.route("c", host="c.com", kind="passthrough"),
    )
    router = lab.router()
    lab.converge(router)
    client = router.reconciler.device.client
    replies = Replies(client)
    whole = DeviceReading(replies, "/Common", VIRTUALS).read()
    path = f"ltm/{kind}"
    first = next(
        number for number, item in enumerate(client.get(path)["items"])
        if "openshift" in item["name"] or item["name"].endswith("_dg"))
    for where in places(replies.get(path)["items"][first], ("items", first)):
        for odd in ODD:
            replies.change = lambda said, where=where, odd=odd: said[0] == path and put(said[1], where, odd)
            seen = DeviceReading(replies, "/Common", VIRTUALS).read()
            assert len(whole.objects.keys() - seen.objects.keys()) <= 8, (where, odd)


class Unexpanded:
    """Rules that are read by themselves come without what is in them."""

    def __init__(self, client):
        self._client = client
        self.ready, self.version = client.ready, client.version

    def get(self, path, params=None):
        reply = self._client.get(path, params)
        for item in reply.get("items", ()) if path.endswith("/rules") else ():
            item.pop("conditionsReference", None)
            item.pop("actionsReference", None)
        return reply


def _fields(obj) -> dict[str, object]:
    """All that a reading finds out: content of files is not."""
    return {field.name: getattr(obj, field.name) for field in fields(obj) if field.repr}


@pytest.mark.parametrize("client", [lambda client: client, Unexpanded], ids=["expanded", "not expanded"])
@pytest.mark.parametrize("quirk", [(), ("top-skip-ignored",)], ids=str)
def test_a_large_device_is_read_in_pages(make_lab, client, quirk):
    """It shows the same, and what is equal to a desired object takes no memory of its own."""
    lab = make_lab(quirks=frozenset(quirk), ssh=True)
    lab.virtuals()
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com", kind="reencrypt", **CERT),
              manifests.route("c", host="c.com", kind="passthrough"),
              *manifests.service("shop", "web", pods=("10.1.1.1",)))
    router = lab.router(**lab.ssh_flags())
    lab.converge(router)
    reconciler = router.reconciler
    desired, reader = reconciler.engine.objects, client(reconciler.device.client)
    small = DeviceReading(reader, "/Common", VIRTUALS).read()
    expected = expect(desired, small.objects)
    large = DeviceReading(reader, "/Common", VIRTUALS, expected=replace(
        expected, counts=dict.fromkeys(expected.counts, LARGE + 1))).read()
    assert large == small
    # Fields that do not count for equality are the same too.
    assert {ref: _fields(obj) for ref, obj in large.objects.items()} == {
        ref: _fields(obj) for ref, obj in small.objects.items()}
    pools = [(large.objects[ref], obj) for ref, obj in desired.items() if isinstance(obj, Pool)]
    assert pools
    assert all(read is wanted for read, wanted in pools)
    rules = [(large.objects[ref], obj) for ref, obj in desired.items() if isinstance(obj, Rule)]
    assert rules
    assert all(read.conditions is wanted.conditions for read, wanted in rules)


def test_an_odd_rule_is_written_anew(lab):
    lab.apply(manifests.route("a"), manifests.route("b", path="/b"))
    router = lab.router()
    lab.converge(router)
    device = router.reconciler.device
    replies = Replies(device.client)

    def spoil(said):
        if said[0] == "ltm/policy":
            for policy in said[1]["items"]:
                for rule in policy["rulesReference"].get("items", ()):
                    if rule["name"].endswith("shop_b"):
                        rule["ordinal"] = "first"

    replies.change = spoil
    device.observed = DeviceReading(replies, "/Common", VIRTUALS).read().objects
    lab.clear()
    router.reconciler.compare_all()
    router.reconciler.run_until_idle()
    rules = [path.rsplit("/", 1)[1] for _, path in lab.writes() if "/rules/" in path]
    assert rules == ["openshift_route_shop_b"]


@pytest.mark.parametrize(
    "change",
    [
        {"defaultsFrom": "/Common/clientssl-default"},
        {"serverName": "other.com"},
        {"cert": "/Common/default.crt", "key": "/Common/default.key"},
    ],
    ids=str,
)
def test_a_profile_that_somebody_changed(lab, change):
    lab.apply(manifests.route("b", host="b.com", kind="edge", **CERT))
    lab.converge()
    lab.change("PATCH", "ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile", change)
    assert lab.converge() == []
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_a_fault_of_ours_ends_one_pass(lab, running, caplog):
    """It is logged with its traceback; the next pass reads the device and goes on."""
    lab.apply(manifests.route("a"))
    router = running()
    router.wait(lambda: admitted(lab, "a") == "True")
    device = router.router.reconciler.device
    faults, writer = iter([ValueError("not thought of")]), device.unit.sender.writers[Pool.KIND]

    class Broken:
        group = staticmethod(writer.group)

        def write(self, changes):
            for error in faults:
                raise error
            return writer.write(changes)

    device.unit.sender.writers[Pool.KIND] = Broken()
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})
    assert any(r.exc_info and "not thought of" in str(r.exc_info[1]) for r in caplog.records)


def test_what_may_have_been_written_is_saved(lab, running):
    """The reply is lost: the next pass finds all in step, and still it is to be saved."""
    lab.timing = replace(lab.timing, settle_s=0.2)
    lab.apply(manifests.route("a"))
    router = running()
    saves = lambda: sum(entry.path.endswith("sys/config") for entry in list(lab.bigip.log))  # noqa: E731
    router.wait(lambda: admitted(lab, "a") == "True" and saves() == 1)
    lab.bigip.inject("drop-reply", method="PATCH", path="ltm/pool")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: saves() == 2)
    assert pool(lab) == {"10.1.1.9:8080"}


def test_a_new_router_saves_what_the_old_one_wrote(lab, running):
    """That one was killed before it did; a restart of the device would lose it."""
    lab.timing = replace(lab.timing, settle_s=0.2)
    lab.apply(manifests.route("a"))
    lab.converge(f5_save_config="false")
    lab.clear()
    router = running()
    router.wait(lambda: any(entry.path.endswith("sys/config") for entry in list(lab.bigip.log)))
    assert lab.writes() == []


@pytest.mark.parametrize("kind", ["", "edge"])
def test_a_stop_in_the_middle_of_a_pass(lab, running, kind):
    """After the requests under way, whatever is left to write; the next router goes on from there."""
    lab.apply(*(manifests.route(f"r{n}", host=f"r{n}.com", kind=kind, path=f"/{n}") for n in range(60)))
    lab.bigip.inject("delay", times=None, method="POST", path="ltm/(pool|policy)", seconds=0.2)
    router = running()
    router.wait(lambda: len(lab.bigip.writes()) > 5)
    begun = len(lab.bigip.writes())
    router.stop()
    assert len(lab.bigip.writes()) < begun + 30
    policy = "insecure" if not kind else "secure"
    assert "r59" not in str(lab.bigip.get(f"ltm/policy/~Common~openshift_{policy}_routes"))
    lab.bigip.clear_faults()
    assert lab.converge() == []
    assert "r59" in str(lab.bigip.get(f"ltm/policy/~Common~openshift_{policy}_routes"))
    assert not [path for path in lab.paths("ltm/policy") if "Drafts" in path]


def test_the_end_does_not_wait_for_a_device_that_hangs(lab, running, caplog):
    lab.timing = replace(lab.timing, exit_s=0.5)
    lab.apply(manifests.route("a"))
    router = running()
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.bigip.inject("hold", times=None, path="sys/config")
    router.stop()
    try:
        assert any("perhaps not saved" in record.getMessage() for record in caplog.records)
    finally:
        lab.bigip.release()


def test_no_thread_is_left(lab, running, caplog):
    """No thread of a router that ended goes on writing."""
    caplog.set_level(logging.WARNING)
    before = set(threading.enumerate())
    router = running()
    lab.apply(manifests.route("a"))
    router.wait(lambda: admitted(lab, "a") == "True")
    router.stop()
    left = set(threading.enumerate()) - before
    assert not [thread.name for thread in left if thread.name in ("settle", "stop")]
