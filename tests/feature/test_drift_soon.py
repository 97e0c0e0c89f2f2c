"""Changes of others are found within a minute, also where the router itself writes."""

from functools import partial

import pytest

from f5router.icontrol.generations import KINDS
from f5router.model import names
from tests import manifests
from tests.waiting import until

FOUND_S = 60
STEP_S = 5
POLICY, POOL, NEW_POOL = "openshift_insecure_routes", "openshift_shop_web", "openshift_shop_new"


class Site:
    """A router that looks at generations, and time that passes for it."""

    def __init__(self, lab, serving):
        self.lab = lab
        self.running = serving(f5_drift_interval="45s")
        self.router = self.running.router
        self.pass_time(0)

    def pass_time(self, seconds: float) -> None:
        """Let time pass in steps, with all that is due meanwhile."""
        for step in [STEP_S] * int(seconds // STEP_S) + [seconds % STEP_S]:
            self.lab.later(step)
            self.router.inbox.wake()
            until(self._is_idle)

    def _is_idle(self) -> bool:
        router = self.router
        return (router.next_turn_at() > self.lab.clock() and not router.upkeep.drift.is_active
                and not router.upkeep.hint.is_looking and not router.reconciler.reader.reason)

    def add(self, name: str, **kind) -> None:
        self.lab.apply(manifests.route(name, host=f"{name}.example.com", **kind))
        self.running.wait(lambda: self.lab.admitted("shop", name).get("status") == "True")
        self.pass_time(0)

    def edit(self, method: str, path: str, body: dict | None = None) -> None:
        """Change our HTTP policy by hand."""
        self.lab.change("PATCH", f"ltm/policy/~Common~{POLICY}", {"createDraft": True})
        self.lab.change(method, f"ltm/policy/~Common~Drafts~{POLICY}/{path}", body)
        self.lab.change("POST", "ltm/policy", {"command": "publish", "name": f"/Common/Drafts/{POLICY}"})

    def has_looked(self) -> bool:
        """True if the router has read the names of our Rules since its newest write of an object."""
        newest = next(entry for entry in reversed(self.lab.bigip.log) if "/tm/ltm/" in entry.path
                      and (entry.method != "GET" or entry.path.endswith(f"~{POLICY}/rules")))
        return newest.method == "GET"

    def gets(self) -> list:
        return [entry for entry in self.lab.bigip.log if entry.method == "GET"
                and "failover" not in entry.path]


@pytest.fixture
def site(lab, serving):
    return Site(lab, serving)


def rule(name: str) -> str:
    return f"openshift_route_shop_{name}"


def shown(lab) -> dict:
    """Return the objects of the BIG-IP that the tests change."""
    def parts(kind: str) -> dict:
        return {item.key: item.fields for item in lab.bigip.items(kind)}

    rules = {key: fields for kind in ("", "/actions", "/conditions")
             for key, fields in parts(f"ltm/policy/rules{kind}").items() if "Drafts" not in key[0]}
    members = dict.fromkeys(parts("ltm/pool/members"))
    virtual = {key: fields.get("rules") for key, fields in parts("ltm/virtual").items()}
    groups = {key: fields.get("records") for key, fields in parts("ltm/data-group/internal").items()}
    return {"rules": rules, "members": members, "virtual": virtual, "groups": groups}


EDIT = "rule edited"
FOREIGN = {
    "rule deleted": lambda site: site.edit("DELETE", f"rules/{rule('new')}"),
    "rule of another Route deleted": lambda site: site.edit("DELETE", f"rules/{rule('a')}"),
    EDIT: lambda site: site.edit("PATCH", f"rules/{rule('a')}", {"ordinal": 7}),
    "rule added": lambda site: site.edit("POST", "rules", {"name": rule("theirs"), "ordinal": 7, "actions": [
        {"name": "0", "forward": True, "select": True, "pool": f"/Common/{POOL}"}]}),
    "pool emptied": lambda site: site.lab.change("PATCH", f"ltm/pool/~Common~{NEW_POOL}", {"members": []}),
    "records deleted": lambda site: site.lab.change(
        "PATCH", f"ltm/data-group/internal/~Common~{names.PASSTHROUGH_GROUP}", {"records": []}),
    "iRules detached": lambda site: site.lab.change(
        "PATCH", "ltm/virtual/~Common~ose-vserver", {"rules": []}),
}


def add_new(lab, site) -> None:
    """Write all objects that the tests change."""
    lab.apply(*manifests.service("shop", "new", pods=("10.1.1.9",)))
    site.add("new", service="new")
    site.add("tls", kind="passthrough")


def remove_new(lab, site) -> None:
    lab.kube.delete("Route", "shop", "new")
    lab.kube.delete("Route", "shop", "tls")
    site.running.wait(lambda: f"/Common/{NEW_POOL}" not in lab.paths("ltm/pool"))
    site.pass_time(100)


@pytest.mark.parametrize("after_s", [0, 2.5, 10])
def test_change_of_what_was_just_written(lab, site, after_s):
    """Only an edit in place that follows an own publish at once has to wait for the next whole reading."""
    for name, change in FOREIGN.items():
        if after_s == 0 and name == EDIT:
            continue
        add_new(lab, site)
        site.pass_time(after_s)
        if after_s:
            until(site.has_looked)
        before = shown(lab)
        change(site)
        assert shown(lab) != before
        site.pass_time(FOUND_S)
        assert shown(lab) == before, name
        remove_new(lab, site)


def test_change_just_before_an_own_write(lab, site):
    """The router's write of another part of the same object does not hide it."""
    for change in FOREIGN.values():
        add_new(lab, site)
        site.pass_time(100)
        before = shown(lab)
        change(site)
        site.add("more")
        site.add("more-tls", kind="passthrough")
        site.pass_time(FOUND_S)
        lab.kube.delete("Route", "shop", "more")
        lab.kube.delete("Route", "shop", "more-tls")
        site.running.wait(partial(lambda wanted: shown(lab) == wanted, before))
        remove_new(lab, site)


def test_change_just_after_the_start(lab, serving):
    """The first look is compared with the first reading."""
    site = Site(lab, serving)
    before = shown(lab)
    site.lab.change("PATCH", f"ltm/pool/~Common~{POOL}", {"members": []})
    site.lab.change("PATCH", "ltm/virtual/~Common~https-ose-vserver", {"rules": []})
    site.pass_time(FOUND_S)
    assert shown(lab) == before


def test_calls_at_rest_and_after_a_write(lab, site):
    """At rest a look every 45 s, as many requests as there are kinds; after a publish a few more, once."""
    site.pass_time(200)
    lab.clear()
    site.pass_time(90)
    assert len(site.gets()) == 2 * len(KINDS)
    site.add("new")
    site.pass_time(20)
    lab.clear()
    site.pass_time(90)
    assert len(site.gets()) == 2 * len(KINDS)


def test_own_writes_are_no_hint(lab, site):
    """Whatever they are: nothing but names and generations is read."""
    site.pass_time(100)
    lab.clear()
    for number, kind in enumerate(({}, {"kind": "edge"}, {"kind": "passthrough"}, {"kind": "reencrypt"})):
        lab.apply(*manifests.service("shop", f"s{number}", pods=("10.1.1.9",)))
        site.add(f"r{number}", service=f"s{number}", **kind)
        site.pass_time(3)
        lab.apply(manifests.endpoints("shop", f"s{number}", ("10.1.1.10",)))
        site.pass_time(20)
        lab.kube.delete("Route", "shop", f"r{number}")
        site.pass_time(20)
    assert not [entry.path for entry in site.gets() if "sys/ready" in entry.path]


def test_change_in_a_cluster_that_changes_every_minute(lab, site):
    """Both Routes share a policy, which the router publishes in the same minute."""
    for offset_s in (1, 25, 48, 59):
        site.add(f"r{offset_s}")
        site.pass_time(offset_s)
        before = shown(lab)["rules"]
        site.edit("DELETE", f"rules/{rule('a')}")
        site.pass_time(FOUND_S - offset_s)
        site.add(f"s{offset_s}")
        site.pass_time(offset_s)
        assert before.keys() <= shown(lab)["rules"].keys(), offset_s
        site.pass_time(FOUND_S - offset_s)


def test_change_after_a_publish_without_a_reply(lab, site):
    lab.bigip.inject("drop-reply", method="POST", path="ltm/policy$")
    lab.apply(manifests.route("new", host="new.example.com"))
    site.running.wait(lambda: rule("new") in {key[1] for key in shown(lab)["rules"]})
    site.pass_time(STEP_S)
    before = shown(lab)
    site.edit("DELETE", f"rules/{rule('new')}")
    site.pass_time(FOUND_S)
    assert shown(lab) == before
