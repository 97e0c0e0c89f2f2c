"""Rights of ServiceAccounts, as stored Roles, ClusterRoles and their bindings grant them."""

import base64
import json

import pytest

from .objects import ROUTES, SHOP, route

RBAC = "rbac.authorization.k8s.io"
ACCOUNT = {"kind": "ServiceAccount", "namespace": "ops", "name": "router"}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def rule(resources="routes", verbs="list", groups="route.openshift.io", names=()) -> dict:
    """A rule; texts are lists of one, separated by blanks."""
    fields = {"apiGroups": [groups], "resources": resources.split(), "verbs": verbs.split()}
    return fields | ({"resourceNames": list(names)} if names else {})


def role(*rules: dict, namespace: str = "") -> dict:
    metadata = {"name": "system:reader"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role" if namespace else "ClusterRole", "metadata": metadata,
            "rules": list(rules)}  # fmt: skip


def binding(kind: str = "ClusterRole", namespace: str = "", subject: dict = ACCOUNT) -> dict:
    metadata = {"name": "router"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
            "metadata": metadata, "subjects": [subject],
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": "system:reader"}}  # fmt: skip


@pytest.fixture
def account(kube, http):
    """The client, as ServiceAccount ops/router; the server holds a Route and that account."""
    kube.apply([route(), {"apiVersion": "v1", "kind": "ServiceAccount",
                          "metadata": {"namespace": "ops", "name": "router"}}])  # fmt: skip
    http.session.headers["Authorization"] = f"Bearer {kube.token_for('ops', 'router')}"
    return http


def test_nothing_is_allowed_without_a_role(kube, account):
    """403 in the API server's words. Discovery is open, and the holder of the own token is not bound."""
    reply = account.get(ROUTES)
    assert (reply.status_code, reply.json()["message"]) == (
        403, 'routes.route.openshift.io is forbidden: User "system:serviceaccount:ops:router" cannot list '
        'resource "routes" in API group "route.openshift.io" at the cluster scope')  # fmt: skip
    assert account.get("/apis/route.openshift.io/v1").status_code == 200
    assert account("GET", ROUTES, headers={"Authorization": f"Bearer {kube.token}"}).status_code == 200


@pytest.mark.parametrize(("given", "expected"), [
    pytest.param(rule(), {"list"}, id="one verb"),
    pytest.param(rule(verbs="*"), {"list", "get", "delete"}, id="every verb"),
    pytest.param(rule(groups="*"), {"list"}, id="every group"),
    pytest.param(rule(groups=""), set(), id="another group"),
    pytest.param(rule(resources="services"), set(), id="another resource"),
    pytest.param(rule(resources="*", verbs="*"), {"list", "get", "status", "delete"}, id="every resource"),
    pytest.param(rule(resources="routes/status", verbs="patch"), {"status"}, id="sub-resource"),
    pytest.param(rule(resources="*/status", verbs="patch"), {"status"}, id="sub-resource of all"),
    pytest.param(rule(resources="*/scale", verbs="patch"), set(), id="another sub-resource of all"),
    pytest.param(rule(verbs="patch"), set(), id="a resource is not its sub-resource"),
    pytest.param(rule(verbs="get delete", names=["web"]), {"get", "delete"}, id="this name"),
    pytest.param(rule(verbs="get delete", names=["other"]), set(), id="another name"),
    pytest.param(rule(names=["web"]), set(), id="a list has no name"),
])  # fmt: skip
def test_rules(kube, account, given, expected):
    """Verb, group, resource and name must all fit."""
    kube.apply([role(given), binding()])
    web = f"{SHOP}/web"
    requests = {"list": ("GET", ROUTES), "get": ("GET", web), "status": ("PATCH", f"{web}/status"),
                "delete": ("DELETE", web)}  # fmt: skip
    merge = {"Content-Type": "application/merge-patch+json"}
    done = {name for name, (method, path) in requests.items()
            if account(method, path, **({"data": "{}", "headers": merge} if name == "status" else {})
                       ).status_code != 403}  # fmt: skip
    assert done == expected


def test_a_list_of_one_name(kube, account):
    """resourceNames fit a list whose field selector asks for that name (requestinfo.go)."""
    kube.apply([role(rule(names=["web"])), binding()])
    assert account.get(SHOP, fieldSelector="metadata.name=web").status_code == 200
    assert account.get(SHOP, fieldSelector="metadata.name=other").status_code == 403


@pytest.mark.parametrize(("kind", "where", "role_in", "allowed"), [
    pytest.param("ClusterRole", "", "", {ROUTES, SHOP}, id="for the cluster"),
    pytest.param("ClusterRole", "shop", "", {SHOP}, id="a ClusterRole in one namespace"),
    pytest.param("Role", "shop", "shop", {SHOP}, id="a Role in its namespace"),
    pytest.param("Role", "shop", "ops", set(), id="a Role of another namespace"),
    pytest.param("ClusterRole", "ops", "", set(), id="in another namespace"),
    pytest.param("Role", "", "shop", set(), id="a Role cannot be bound for the cluster"),
])  # fmt: skip
def test_bindings(kube, account, kind, where, role_in, allowed):
    """A binding counts where it is; a Role where both are."""
    kube.apply([role(rule(), namespace=role_in), binding(kind, where)])
    assert {path for path in (ROUTES, SHOP) if account.get(path).status_code == 200} == allowed


@pytest.mark.parametrize(("subject", "allowed"), [
    pytest.param(ACCOUNT, True, id="account"),
    pytest.param(ACCOUNT | {"name": "other"}, False, id="another account"),
    pytest.param(ACCOUNT | {"namespace": "shop"}, False, id="account of another namespace"),
    pytest.param({"kind": "User", "name": "system:serviceaccount:ops:router"}, True, id="user"),
    pytest.param({"kind": "Group", "name": "system:serviceaccounts:ops"}, True, id="group"),
    pytest.param({"kind": "Group", "name": "system:masters"}, False, id="another group"),
])  # fmt: skip
def test_subjects(kube, account, subject, allowed):
    kube.apply([role(rule()), binding(subject=subject)])
    assert (account.get(ROUTES).status_code == 200) is allowed


def test_rights_end_with_their_objects(kube, account):
    """A missing role grants nothing; forbid goes before a right; a token ends with its account."""
    kube.apply([role(rule()), binding()])
    assert account.get(ROUTES).status_code == 200
    kube.forbid("routes")
    assert account.get(ROUTES).status_code == 403
    kube.allow("routes")
    kube.delete("ClusterRole", None, "system:reader")
    assert account.get(ROUTES).status_code == 403
    kube.delete("ServiceAccount", "ops", "router")
    assert account.get(ROUTES).status_code == 401
    with pytest.raises(KeyError, match="ops/router"):
        kube.token_for("ops", "router")


def test_reviews(kube, account):
    """An account may ask what it may do; whose token it is tells a TokenReview."""
    kube.apply([role(rule()), binding()])
    asked = {"verb": "list", "group": "route.openshift.io", "resource": "routes"}
    answers = [account("POST", REVIEWS, json={"spec": {"resourceAttributes": attributes}}).json()["status"]
               for attributes in (asked, asked | {"verb": "watch"})]  # fmt: skip
    assert [answer["allowed"] for answer in answers] == [True, False]
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    spec = {"spec": {"token": kube.token_for("ops", "router")}}
    assert account("POST", reviews, json=spec).status_code == 403
    owner = {"Authorization": f"Bearer {kube.token}"}
    user = account("POST", reviews, json=spec, headers=owner).json()["status"]["user"]
    assert user["username"] == "system:serviceaccount:ops:router"


def test_kubectl_makes_roles_deployments_and_secrets(kube, kubectl):
    """apply twice, with names that only RBAC allows; stringData becomes data, and so differs each time."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
              "stringData": {"username": "admin"}, "data": {"username": "eA==", "more": "eQ=="}}  # fmt: skip
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "router"},
                  "spec": {"replicas": 1}}  # fmt: skip
    items = [role(rule()), binding(), secret, deployment]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    for verb, count in (("created", 4), ("unchanged", 3)):
        done = kubectl("apply", "-f", "-", input=text)
        assert done.stdout.count(verb) == count, done.stdout + done.stderr
    held = kube.get("Secret", "default", "login")
    assert "stringData" not in held
    assert {name: base64.b64decode(value) for name, value in held["data"].items()} == {
        "username": b"admin", "more": b"y"}  # fmt: skip
    assert kube.get("ClusterRole", None, "system:reader")["rules"] == [rule()]
