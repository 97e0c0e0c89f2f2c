"""The log of a router at level info: a line per change of the BIG-IP, and one message for one cause."""

import io
import json
from collections import Counter

import pytest

from f5router.logs import log_output
from tests import manifests
from tests.builders import identity

pytestmark = pytest.mark.bare

MANY = 50
ONE = identity()
CHANGE = {"time", "level", "logger", "message", "object", "action", "cause", "seconds"}


class Lines:
    """Lines that the log has received since they were taken last."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        log_output.setup("info", "json", stream=self._stream)

    def take(self) -> list[dict]:
        text = self._stream.getvalue()
        self._stream.seek(0)
        self._stream.truncate()
        return [json.loads(line) for line in text.splitlines()]


def changed(lines: list[dict]) -> list[tuple[str, str, str]]:
    """Action, kind and cause of each change."""
    return [(line["action"], line["object"].partition(" ")[0], line["cause"]) for line in lines
            if line["message"] == "changed"]


def test_a_line_per_change(lab):
    """With the object, what was done with it, for whom, and how long that took; and little else."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              *(manifests.route(f"r{number}", host=f"r{number}.example.com") for number in range(MANY)))
    lines = Lines()
    router = lab.router()
    assert lab.converge(router) == []
    load = lines.take()
    assert all(set(line) == CHANGE and line["level"] == "info" and line["seconds"] > 0
               for line in load if line["message"] == "changed")
    done = changed(load)
    assert [f"Route shop/r{number}" for number in range(MANY)] == sorted(
        (cause for _, kind, cause in done if kind == "ltm/policy/rule"), key=lambda text: int(text[12:]))
    assert ("create", "ltm/pool", "Service shop/web") in done
    assert {action for action, *_ in done} <= {"create", "update"}
    assert len({line["object"] for line in load if line["message"] == "changed"}) >= MANY
    assert {line["seconds"] > 0 for line in load if line["message"] == "reconciled"} == {True}
    others = Counter(line["message"] for line in load if line["message"] != "changed")
    assert sum(others.values()) - others["listed"] <= 10, others

    lab.apply(manifests.route("tls", host="tls.example.com", kind="edge", certificate=ONE.certificate,
                              key=ONE.key), manifests.route("r0", host="r0.example.com", path="/a"))
    lab.kube.delete("Route", "shop", "r1")
    assert lab.converge() == []
    done = changed(lines.take())
    assert {("create", "sys/file/ssl-cert", "Route shop/tls"),
            ("create", "sys/file/ssl-key", "Route shop/tls"),
            ("create", "ltm/profile/client-ssl", "host tls.example.com"),
            ("create", "ltm/virtual/attachment", "host tls.example.com"),
            ("create", "ltm/policy/rule", "Route shop/tls"), ("update", "ltm/policy/rule", "Route shop/r0"),
            ("delete", "ltm/policy/rule", "Route shop/r1")} == {each for each in done if each[2] != "shared"}
    assert lab.converge() == []
    assert not changed(lines.take())


def test_a_missing_virtual_server_is_one_message(lab):
    """For all that would be attached to it, in one request."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("good"))
    lines = Lines()
    assert len(lab.converge(f5_https_vserver="none")) == 1
    told = [line for line in lines.take() if "virtual server /Common/none" in line.get("error", "")]
    assert [line["message"] for line in told] == ["change refused"]


def test_a_problem_is_one_message(lab):
    """A Route that cannot be served, and one that the BIG-IP refuses: not again with each pass."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("good"),
              manifests.route("bad", host="bad.example.com", kind="edge", certificate="x", key="y"))
    lab.bigip.inject("refuse", method="POST", path="ltm/pool", times=None, status=400,
                     message="01070000:3: no such thing")
    lines = Lines()
    router = lab.router()
    assert len(lab.converge(router)) == 1
    for _ in range(3):
        lab.later()
        router.reconcile_once()
    told = [(line["message"], line.get("route", line.get("object"))) for line in lines.take()
            if line["level"] != "info"]
    assert sorted(told) == [
        ("change refused", "ltm/pool /Common/openshift_nowhere"),
        ("change refused", "ltm/pool /Common/openshift_shop_web"),
        ("not served as asked for", "shop/bad"), ("not served as asked for", "shop/good")]
    lab.bigip.clear_faults()
    lab.later()
    assert lab.converge(router) == []
    done = changed(lines.take())
    assert ("create", "ltm/pool", "Service shop/web") in done
    assert ("create", "ltm/policy/rule", "Route shop/good") in done
