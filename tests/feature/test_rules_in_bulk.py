"""Many Rules of a policy in one request: the same result as one by one, whatever the device does with it."""

import json
from contextlib import ExitStack

import pytest

from mocks.bigip import refusals, replies
from mocks.bigip.listener import Outcome
from tests import manifests
from tests.feature.conftest import Lab

pytestmark = pytest.mark.bare

POLICY = "ltm/policy/~Common~openshift_insecure_routes"
DRAFT = "ltm/policy/~Common~Drafts~openshift_insecure_routes$"
COUNT = 16
REFUSED = refusals.Refusal(400, "01070734:3: Configuration error: not like this")
TOO_LONG = refusals.Refusal(413, "Request Entity Too Large")


def route(number: int, **fields) -> dict:
    return manifests.route(f"r{number}", **{"host": f"h{number}.com", **fields})


def shop() -> list[dict]:
    """Routes of Hosts, of their paths, and of a Host with two labels more."""
    return [*(route(n) for n in range(COUNT - 4)), route(COUNT - 4, host="h0.com", path="/a"),
            route(COUNT - 3, host="h0.com", path="/a/b"), route(COUNT - 2, host="x.w.h1.com"),
            route(COUNT - 1, host="h1.com", path="/a", service="other")]


def fill(lab) -> None:
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              *manifests.service("shop", "other", pods=("10.1.1.2",)))


def rules(lab) -> dict[str, object]:
    """The Rules in force, without what the device numbers."""
    def plain(obj):
        if isinstance(obj, dict):
            return {key: plain(value) for key, value in obj.items()
                    if key not in ("generation", "selfLink", "fullPath", "link")}
        return [plain(item) for item in obj] if isinstance(obj, list) else obj

    return {item["name"]: plain(item) for item in lab.bigip.get(POLICY)["rulesReference"]["items"]}


def lists(lab) -> int:
    """Number of requests with all Rules of the policy since the last `clear`."""
    return sum(entry.method == "PATCH" and entry.path.endswith("Drafts~openshift_insecure_routes")
               for entry in lab.bigip.writes())


def singles(lab) -> int:
    return sum("/rules" in entry.path for entry in lab.bigip.writes())


def is_settled(lab) -> bool:
    """True if another router finds nothing to do, and no draft is left."""
    lab.clear()
    return lab.converge() == [] and lab.writes() == [] and not [
        path for path in lab.paths("ltm/policy") if "Drafts" in path]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The Rules of `shop` as they are when they are written one by one."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("alone"))
        fill(lab)
        for at in range(0, COUNT, 4):
            lab.apply(*shop()[at:at + 4])
            assert lab.converge() == []
        assert (lists(lab), singles(lab)) == (0, COUNT)
        return rules(lab)


@pytest.mark.parametrize(("version", "quirk", "in_lists"), [
    ("14.1.2.1", "", True), ("14.1.2.1", "rules-merged", True), ("12.1.0", "draft-in-root", True),
    ("12.0.0", "", False),
])
def test_the_same_as_one_by_one(make_lab, alone, version, quirk, in_lists):
    """Created, changed, and deleted; a policy without drafts is never replaced while it serves."""
    lab = make_lab(tmos_version=version, quirks=frozenset({quirk} - {""}), ssh=True)
    fill(lab)
    flags = lab.ssh_flags()
    lab.apply(*shop())
    assert lab.converge(**flags) == []
    assert (lists(lab), singles(lab)) == ((1, 0) if in_lists else (0, COUNT))
    if version != "12.0.0":  # whose Rules set no variables
        assert rules(lab) == alone
    lab.clear()
    lab.apply(*(route(number, service="other") for number in range(10)))
    assert lab.converge(**flags) == []
    assert (lists(lab), singles(lab)) == ((1, 0) if in_lists else (0, 10))
    lab.clear()
    for number in range(10):
        lab.kube.delete("Route", "shop", f"r{number}")
    assert lab.converge(**flags) == []
    assert lists(lab) == int(in_lists)
    assert singles(lab) == (0 if in_lists and quirk != "rules-merged" else 10)
    kept = {f"openshift_route_shop_r{number}" for number in range(10, COUNT)}
    assert rules(lab).keys() == {*kept, "default_noop"}
    assert lab.bigip.errors == []


def test_rules_of_others(lab):
    """They stay as they are, byte for byte, also those that came after the reading."""
    lab.apply(*shop()[:4])
    router = lab.router()
    assert lab.converge(router) == []
    lab.change("PATCH", POLICY, {"createDraft": True})
    lab.change("POST", f"{DRAFT[:-1]}/rules", {
        "name": "mine", "ordinal": 7, "description": "by hand", "actions": [
            {"name": "0", "forward": True, "reset": True, "request": True}]})
    draft = "/Common/Drafts/openshift_insecure_routes"
    lab.change("POST", "ltm/policy", {"command": "publish", "name": draft})
    before = rules(lab)["mine"]
    lab.clear()
    lab.apply(*manifests.service("shop", "other", pods=("10.1.1.2",)), *shop()[4:])
    lab.settle(router)
    assert rules(lab)["mine"] == before
    router.close()
    for number in range(COUNT - 4):
        lab.kube.delete("Route", "shop", f"r{number}")
    assert lab.converge() == []
    assert rules(lab)["mine"] == before
    assert lists(lab) == 0


@pytest.mark.parametrize(("refusal", "lost"), [
    (lambda names, size: REFUSED if "openshift_route_shop_r5" in names else None, {"r5"}),
    (lambda names, size: TOO_LONG if size > 6000 else None, set()),
    (lambda names, size: REFUSED if len(names) > 10 else None, set()),
], ids=["one bad rule", "a long body", "many rules"])
def test_a_list_that_is_refused(lab, alone, refusal, lost):
    """The bad Rule is found; all others are served, whatever the device minds."""
    def intercept(request, perform):
        if "Drafts" in request.path and request.method in ("POST", "PATCH"):
            body = json.loads(request.raw)
            sent = [] if "createDraft" in body else body.get("rules", [body])
            names = {rule["name"] for rule in sent}
            if error := refusal(names, len(request.raw)):
                return Outcome(replies.refused(error, version=(14, 1), sender=""))
        return perform()

    lab.bigip.intercept = intercept
    lab.apply(*manifests.service("shop", "other", pods=("10.1.1.2",)), *shop())
    lab.converge()
    assert rules(lab).keys() == alone.keys() - {f"openshift_route_shop_{name}" for name in lost}
    for number in range(COUNT):
        status = lab.admitted("shop", f"r{number}")
        assert (status["status"], status.get("reason")) == (
            ("False", "DeviceRejected") if f"r{number}" in lost else ("True", None))
    assert singles(lab) < COUNT
    lab.bigip.intercept = None
    assert lab.converge() == []
    assert rules(lab) == alone
    assert is_settled(lab)


def test_a_rule_that_was_refused_spoils_no_further_list(lab):
    """It is sent alone from then on, until the device takes it."""
    refused = []

    def intercept(request, perform):
        if "Drafts" in request.path and b"openshift_route_shop_r5" in request.raw:
            refused.append(request.method)
            return Outcome(replies.refused(REFUSED, version=(14, 1), sender=""))
        return perform()

    lab.bigip.intercept = intercept
    router = lab.router()
    lab.apply(*manifests.service("shop", "other", pods=("10.1.1.2",)), *shop())
    lab.converge(router)
    assert refused.count("PATCH") > 0
    refused.clear()
    lab.apply(*(route(number, path="/new") for number in range(COUNT)))
    lab.settle(router)
    assert refused == ["POST"]
    lab.bigip.intercept = None
    lab.apply(route(5, path="/newer"))
    lab.settle(router)
    assert "openshift_route_shop_r5" in rules(lab)


@pytest.mark.parametrize("kind", [
    "drop-reply", "timeout-html", "drop-request", "500-mcpd", "late", "html-200"])
def test_a_list_without_a_usable_reply(lab, alone, kind):
    """The next pass writes the Rules one by one, as one of them may be the cause; nothing is left."""
    lab.apply(*manifests.service("shop", "other", pods=("10.1.1.2",)), *shop())
    before = []

    def look(request):
        if entry := lab.bigip.get(POLICY):
            before.append({item["name"] for item in entry["rulesReference"].get("items", ())})

    lab.bigip.on_write = look
    lab.bigip.inject(kind, method="PATCH", path=DRAFT)
    router = lab.router(retry_s=0.0)
    for _ in range(3):
        lab.converge(router)
        lab.later()
    assert lab.bigip.faults.waiting == 0
    assert rules(lab) == alone
    # A draft is published as a whole.
    assert {len(names) for names in before} <= {1, COUNT + 1}
    lab.bigip.on_write = None
    assert is_settled(lab)


def test_killed_at_each_write(lab, alone):
    """Whatever was sent last: what is published is whole, and the next router fixes the rest."""
    lab.apply(*manifests.service("shop", "other", pods=("10.1.1.2",)), *shop())
    assert lab.converge() == []
    for obj in shop():
        lab.kube.delete("Route", "shop", obj["metadata"]["name"])
    assert lab.converge() == []
    lab.apply(*shop())
    at = 1
    while lab.break_off(at):
        assert len(rules(lab)) in (1, COUNT + 1)
        at += 1
    assert at > 4
    assert lab.converge() == []
    assert rules(lab) == alone
    assert is_settled(lab)
