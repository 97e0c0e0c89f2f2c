"""Objects of the BIG-IP that are ours, those that are not, and every version and quirk of it."""

import re

import pytest

from mocks.bigip.traffic import Request, decide
from tests import legacy_policies, manifests
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.waiting import until

pytestmark = pytest.mark.bare

ONE, TWO = identity(algorithm="rsa"), identity(serial=2)
CERT = {"certificate": ONE.certificate, "key": ONE.key, "caCertificate": ONE.issuer}
ALL_KINDS = (
    manifests.route("plain"),
    manifests.route("path", path="/a//b"),
    manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect", **CERT),
    manifests.route(
        "re", host="re.example.com", kind="reencrypt", insecure="Allow", destinationCACertificate=ONE.issuer
    ),
    manifests.route("pass", host="pass.example.com", kind="passthrough", insecure="Redirect"),
)
NAMES = ("plain", "path", "edge", "re", "pass")


def serve(lab, **flags) -> list[str]:
    """Let a router serve Routes of all kinds, and end; returns what was not done."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")), *ALL_KINDS)
    router = lab.router(**flags)
    reasons = lab.converge(router)
    router.close()
    return reasons


def everything(lab) -> dict[str, set[str]]:
    kinds = (
        "ltm/pool",
        "ltm/policy",
        "ltm/data-group/internal",
        "ltm/rule",
        "ltm/profile/client-ssl",
        "ltm/profile/server-ssl",
        "sys/file/ssl-cert",
        "sys/file/ssl-key",
    )
    return {
        kind: {path for path in lab.paths(kind) if re.search(r"/(openshift_|ssl_)[^/]*$", path)}
        for kind in kinds
    }


@pytest.mark.parametrize(
    "version",
    ["11.5.4", "11.6.0", "12.0.0", "12.1.2", "13.0.0", "13.1.1", "14.1.2.1", "15.1.5", "16.1.0", "17.1.2.1"],
)
def test_every_version(make_lab, version):
    """All kinds of Route converge, and the second pass writes nothing."""
    lab = make_lab(tmos_version=version, ssh=True)
    lab.virtuals()
    assert serve(lab, **lab.ssh_flags()) == []
    assert [lab.admitted("shop", name).get("status") for name in NAMES] == ["True"] * len(NAMES)
    lab.clear()
    assert lab.converge(**lab.ssh_flags()) == []
    assert lab.writes() == []


@pytest.mark.parametrize(
    "quirk",
    [
        "sub-post-404",
        "profiles-post-404",
        "absent-sub-200",
        "nested-policies-reference",
        "draft-in-root",
        "filter-excludes-subfolders",
        "condition-post-upsert",
        "install-async",
        "members-need-partition",
        "top-skip-ignored",
    ],
)
@pytest.mark.parametrize("partition", ["/Common", "/OpenShift/zone1"])
def test_every_quirk(make_lab, quirk, partition):
    """Where real devices are known or feared to differ, the router is right either way."""
    lab = make_lab(quirks=frozenset({quirk}), partition=partition, ssh=True)
    lab.virtuals()
    assert serve(lab, **lab.ssh_flags()) == []
    lab.apply(
        manifests.route(
            "edge",
            host="edge.example.com",
            path="/new",
            kind="edge",
            insecure="Allow",
            certificate=TWO.certificate,
            key=TWO.key,
        )
    )
    assert lab.converge(**lab.ssh_flags()) == []
    lab.clear()
    assert lab.converge(**lab.ssh_flags()) == []
    assert lab.writes() == []


def test_what_is_no_longer_wanted_goes(lab):
    """Also what went while no router was running; nothing of ours is left but what is always there."""
    lab.converge()
    empty = everything(lab)
    serve(lab)
    assert everything(lab) != empty
    for name in NAMES:
        lab.kube.delete("Route", "shop", name)
    assert lab.converge() == []
    assert everything(lab) == empty


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("14.1.2.1", "published"),
        ("14.1.2.1", "legacy"),
        ("12.1.0", "published"),
        ("12.0.0", None),
        ("11.6.0", None),
    ],
)
def test_policy_models(make_lab, version, status):
    lab = make_lab(tmos_version=version, ssh=True)
    lab.virtuals()
    if status == "legacy":
        legacy_policies.create(lab.bigip)
    assert serve(lab, **lab.ssh_flags()) == []
    assert lab.bigip.get("ltm/policy/~Common~openshift_secure_routes").get("status") == status
    # Found as it is, it is edited in its own way.
    lab.apply(manifests.route("more", host="more.example.com"))
    assert lab.converge(**lab.ssh_flags()) == []
    assert lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes").get("status") == status


def test_several_rules_share_one_publish(lab):
    router = lab.router()
    lab.converge(router)
    lab.clear()
    lab.apply(*(manifests.route(f"r{n}", host=f"h{n}.example.com") for n in range(5)))
    lab.settle(router)
    bodies = [entry.body for entry in lab.bigip.writes() if isinstance(entry.body, dict)]
    assert len([b for b in bodies if b.get("createDraft")]) <= 2
    assert [b for b in bodies if b.get("command") == "publish"] != []
    assert len([b for b in bodies if b.get("command") == "publish"]) == len(
        [b for b in bodies if b.get("createDraft")]
    )


def test_a_draft_left_behind_is_dropped(lab):
    lab.apply(manifests.route("plain"))
    lab.converge()
    lab.change("PATCH", "ltm/policy/~Common~openshift_insecure_routes", {"createDraft": True})
    lab.bigip.put_object(
        "ltm/policy/~Common~Drafts~openshift_insecure_routes/rules", {"name": "stale", "ordinal": 3}
    )
    lab.apply(manifests.route("other", host="other.com"))
    assert lab.converge() == []
    policy = lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")
    assert "stale" not in [item["name"] for item in policy["rulesReference"]["items"]]
    assert lab.bigip.get("ltm/policy/~Common~Drafts~openshift_insecure_routes") is None


def test_a_draft_left_behind_is_dropped_where_no_rule_changes(lab):
    """Somebody who publishes it by hand would bring old Rules back."""
    lab.apply(manifests.route("secure", kind="edge"))
    lab.converge()
    lab.change("PATCH", "ltm/policy/~Common~openshift_secure_routes", {"createDraft": True})
    lab.clear()
    assert lab.converge() == []
    assert ("DELETE", "/mgmt/tm/ltm/policy/~Common~Drafts~openshift_secure_routes") in lab.writes()
    assert lab.bigip.get("ltm/policy/~Common~Drafts~openshift_secure_routes") is None


def test_a_rule_that_cannot_be_published_costs_only_itself(lab):
    """The device refuses the draft as a whole; the culprit is found by halves."""
    lab.converge()

    def refuse(request):
        if request.method == "POST" and "'openshift_route_shop_r3'" in str(request.body):
            lab.bigip.inject(
                "refuse", times=1, method="POST", path="/ltm/policy$", status=400, message="010716e2:3: no"
            )

    lab.bigip.on_write = refuse
    lab.apply(*(manifests.route(f"r{n}", host=f"h{n}.example.com") for n in range(6)))
    reasons = lab.converge()
    assert [reason.split(":")[0] for reason in reasons] == ["Route shop/r3"]
    names = {
        item["name"]
        for item in lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")["rulesReference"]["items"]
    }
    assert names == {"default_noop", *(f"openshift_route_shop_r{n}" for n in (0, 1, 2, 4, 5))}


def test_orphaned_nodes_are_removed(lab):
    """LTM nodes that our members made and nobody uses; a node of somebody else stays."""
    lab.bigip.put_object("ltm/node", {"name": "10.9.9.9", "partition": "Common", "address": "10.9.9.9"})
    lab.bigip.put_object("ltm/pool", {"name": "web_pool", "partition": "Common", "members": ["10.1.1.2:80"]})
    lab.apply(manifests.route("plain"))
    router = lab.router()
    lab.converge(router)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.3",)))
    lab.settle(router)
    lab.converge(router)
    assert lab.paths("ltm/node") == {"/Common/10.1.1.2", "/Common/10.1.1.3", "/Common/10.9.9.9"}


@pytest.mark.parametrize("change", ["members", "pool"])
def test_nodes_whose_members_left_in_a_call_without_a_reply(lab, change):
    """The device is read again then, and shows that they have left; what was written is saved."""
    lab.apply(manifests.route("a"))
    router = lab.router()
    lab.converge(router)
    assert "/Common/10.1.1.1" in lab.paths("ltm/node")
    method = "PATCH" if change == "members" else "DELETE"
    lab.bigip.inject("drop-reply", path="openshift_shop_web", method=method)
    if change == "members":
        lab.apply(manifests.endpoints("shop", "web", ("10.1.1.2",)))
        left = {"/Common/10.1.1.2"}
    else:
        lab.kube.delete("Route", "shop", "a")
        left = set()
    until(lambda: lab.converge(router) == [] and lab.paths("ltm/node") == left)
    assert lab.bigip.faults.waiting == 0
    lab.bigip.restart(lose_unsaved=True)
    assert lab.paths("ltm/node") == left


@pytest.mark.parametrize("version", ["11.6.0", "14.1.2.1"])
def test_a_rule_that_is_said_to_be_gone(make_lab, version):
    """A 404 to its DELETE is not believed: it would go on leading requests to its pool."""
    lab = make_lab(tmos_version=version)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
    router = lab.router()
    assert lab.converge(router) == []
    lab.bigip.inject("404-bogus", method="DELETE", path="/rules/openshift_route_shop_a")
    lab.kube.delete("Route", "shop", "a")
    until(lambda: lab.converge(router) == [] and not router.reconciler.engine.routes())
    assert lab.bigip.faults.waiting == 0
    policy = lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")
    assert [item["name"] for item in policy["rulesReference"]["items"]] == ["default_noop"]
    assert "/Common/openshift_shop_web" not in lab.paths("ltm/pool")


@pytest.mark.parametrize("path", ["/sys/file/ssl-key", "/ltm/pool", "/ltm/profile/client-ssl"])
def test_an_object_that_is_said_to_be_gone(lab, path):
    """A 404 to the DELETE of what is there, a private key for instance: it is deleted all the same."""
    serve(lab)
    router = lab.router()
    assert lab.converge(router) == []
    lab.bigip.inject("404-bogus", method="DELETE", path=path)
    for name in ("edge", "re", "plain", "path", "pass"):
        lab.kube.delete("Route", "shop", name)
    until(lambda: lab.converge(router) == [] and not router.reconciler.engine.routes())
    assert lab.bigip.faults.waiting == 0
    assert not [name for kind in ("sys/file/ssl-key", "ltm/pool", "ltm/profile/client-ssl")
                for name in everything(lab)[kind] if "_shop_" in name or "_host_" in name]


def test_a_profile_that_is_said_to_be_detached(lab):
    """A 404 to its DELETE on the virtual server: the next pass detaches it, before any periodic reading."""
    serve(lab)
    router = lab.router()
    assert lab.converge(router) == []
    lab.bigip.inject("404-bogus", method="DELETE", path=f"{HTTPS}/profiles/")
    lab.kube.delete("Route", "shop", "edge")
    until(lambda: lab.converge(router) == [] and lab.bigip.faults.waiting == 0)
    lab.converge(router)
    assert not [path for path in lab.paths("ltm/profile/client-ssl") if "_host_edge" in path]


def test_the_configuration_is_saved(lab):
    """So that it is there after the device restarts, without a router."""
    lab.apply(manifests.route("plain"))
    lab.converge()
    lab.bigip.restart(lose_unsaved=True)
    assert lab.bigip.get("ltm/pool/~Common~openshift_shop_web")


def test_the_configuration_is_not_saved_when_switched_off(lab):
    lab.apply(manifests.route("plain"))
    lab.converge(f5_save_config="false")
    assert [e for e in lab.bigip.log if e.path.endswith("sys/config")] == []


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_a_lost_reply_anywhere(make_lab, at):
    """The connection breaks after any write, done or not: the next passes converge to the same."""
    lab = make_lab()
    lab.virtuals()
    seen = []

    def count(request):
        seen.append(request)
        if len(seen) == at:
            lab.bigip.inject("drop-reply", times=1)

    lab.bigip.on_write = count
    assert serve(lab) == []
    lab.bigip.on_write = None
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


@pytest.mark.parametrize(("kind", "times"), [("ltm/profile/server-ssl", 2), ("ltm/rule", 4)])
def test_tls_towards_pods_is_attached_whole(lab, kind, times):
    """Lost replies: no virtual server ever has the profile without the iRule, or the reverse."""
    apart = []

    def look(request):
        for path in ("ltm/virtual/~Common~ose-vserver", "ltm/virtual/~Common~https-ose-vserver"):
            virtual = lab.bigip.get(path)
            profiles = {item["name"] for item in virtual["profilesReference"]["items"]}
            encrypts = "openshift_default-server-ssl-profile" in profiles
            if encrypts != ("/Common/openshift_reencrypt_irule" in virtual.get("rules", [])):
                apart.append((path, request.path, virtual.get("rules"), profiles))

    lab.bigip.on_write = look
    lab.bigip.inject("drop-reply", times=times, method="POST", path=f"/mgmt/tm/{kind}")
    assert serve(lab) == []
    assert lab.bigip.faults.waiting == 0
    assert lab.bigip.errors == [] == apart
    assert [e for e in lab.bigip.log if e.status >= 400] == []


def test_policies_of_the_original_router_are_taken_over(lab):
    """Its legacy best-match policies become ours in place, without a moment in which a Route is unserved."""
    lab.bigip.put_object(
        "ltm/pool", {"name": "openshift_shop_web", "partition": "Common", "members": ["10.1.1.1:8080"]}
    )
    lab.bigip.put_object(
        "ltm/policy",
        {
            "name": "openshift_insecure_routes",
            "partition": "Common",
            "legacy": True,
            "controls": ["forwarding"],
            "requires": ["http"],
            "strategy": "/Common/best-match",
            "rules": [{"name": "default_noop"}],
        },
    )
    rules = "ltm/policy/~Common~openshift_insecure_routes/rules"
    lab.bigip.put_object(
        rules,
        {
            "name": "openshift_route_shop_plain",
            "conditions": [
                {
                    "name": "0",
                    "caseInsensitive": True,
                    "httpHost": True,
                    "host": True,
                    "equals": True,
                    "request": True,
                    "values": ["www.example.com"],
                }
            ],
            "actions": [
                {
                    "name": "0",
                    "forward": True,
                    "select": True,
                    "request": True,
                    "pool": "/Common/openshift_shop_web",
                }
            ],
        },
    )
    lab.bigip.put_object(
        f"ltm/virtual/~Common~{HTTP}/policies", {"name": "/Common/openshift_insecure_routes"}
    )
    lab.apply(manifests.route("plain"))
    request = Request("www.example.com", "/")
    seen = [decide(lab.bigip.store, f"/Common/{HTTP}", request)]
    lab.bigip.on_write = lambda _: seen.append(decide(lab.bigip.store, f"/Common/{HTTP}", request))
    assert lab.converge() == []
    assert {decision.pool for decision in seen} == {"/Common/openshift_shop_web"}
    policy = lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")
    assert (policy["strategy"], policy["status"]) == ("/Common/first-match", "legacy")
