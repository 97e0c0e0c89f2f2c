"""TLS, token, RBAC refusals, reviews."""

import pytest
import requests

from tests.waiting import DEADLINE_S

from .objects import ROUTES, SHOP, route

USER = "system:serviceaccount:default:router"


def test_certificate_is_verified(kube):
    """The server's certificate is signed by its own authority, which no client knows by itself."""
    session = requests.Session()
    session.trust_env = False
    with pytest.raises(requests.exceptions.SSLError):
        session.get(kube.url + "/version", timeout=DEADLINE_S)
    assert session.get(kube.url + "/version", timeout=DEADLINE_S, verify=kube.ca_file).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer "}, {"Authorization": "Basic Zm9v"}])
def test_anonymous(kube, http, headers):
    """Without a token a request is system:anonymous's, who has no rights: 403, not 401."""
    http.session.headers.pop("Authorization")
    for path, words in ((ROUTES, "cannot list resource"), ("/apis", 'cannot get path "/apis"')):
        reply = http("GET", path, headers=headers)
        assert (reply.status_code, reply.json()["reason"]) == (403, "Forbidden")
        assert f'User "system:anonymous" {words}' in reply.json()["message"]
    assert http("GET", "/version", headers=headers).status_code == 200


@pytest.mark.parametrize("headers", [
    pytest.param({}, id="none"),
    pytest.param({"Authorization": "Bearer wrong"}, id="wrong"),
    pytest.param({"Authorization": "Basic Zm9v"}, id="not a bearer"),
])  # fmt: skip
def test_token(kube, http, headers):
    """Without the token every API path answers 401 with a Status; health and version are public."""
    kube.anonymous = False
    http.session.headers.pop("Authorization")
    for path in (ROUTES, "/apis", "/api/v1/nodes"):
        reply = http("GET", path, headers=headers)
        assert (reply.status_code, reply.json()["reason"], reply.json()["kind"]) == (
            401,
            "Unauthorized",
            "Status",
        )
    assert http("GET", "/healthz", headers=headers).text == "ok"
    assert http("GET", "/version", headers=headers).json()["major"] == "1"


def test_changed_token(kube, http):
    """A new token makes the old one wrong."""
    kube.token = "other"
    assert http.get(ROUTES).status_code == 401


@pytest.mark.parametrize(("method", "path", "forbidden", "message"), [
    pytest.param("GET", ROUTES, ("routes", ("list",)),
                 f'routes.route.openshift.io is forbidden: User "{USER}" cannot list resource "routes" '
                 'in API group "route.openshift.io" at the cluster scope', id="list"),
    pytest.param("GET", f"{SHOP}?watch=1", ("routes", ("watch",)),
                 f'routes.route.openshift.io is forbidden: User "{USER}" cannot watch resource "routes" '
                 'in API group "route.openshift.io" in the namespace "shop"', id="watch"),
    pytest.param("PATCH", f"{SHOP}/web/status", ("routes/status", ("patch",)),
                 f'routes.route.openshift.io "web" is forbidden: User "{USER}" cannot patch resource '
                 '"routes/status" in API group "route.openshift.io" in the namespace "shop"', id="status"),
    pytest.param("GET", "/api/v1/nodes", ("nodes", "*"),
                 f'nodes is forbidden: User "{USER}" cannot list resource "nodes" in API group "" '
                 "at the cluster scope", id="core group"),
])  # fmt: skip
def test_forbid(kube, http, method, path, forbidden, message):
    """A forbidden verb answers 403 in the API server's words; allow takes it back."""
    kube.apply(route())
    kube.forbid(*forbidden)
    reply = http(method, path)
    assert (reply.status_code, reply.json()["message"]) == (403, message)
    kube.allow(forbidden[0])
    assert http(method, path, stream=True).status_code != 403


def test_forbid_in_one_namespace(kube, http):
    kube.forbid("routes", namespace="shop")
    assert http.get(SHOP).status_code == 403
    assert http.get(ROUTES).status_code == 200


def test_access_review(kube, http):
    """SelfSubjectAccessReview tells what was forbidden."""
    kube.forbid("routes/status", verbs=("patch",))
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    def ask(**attributes):
        return http("POST", path, json={"spec": {"resourceAttributes": attributes}}).json()["status"][
            "allowed"
        ]

    assert ask(verb="list", resource="routes")
    assert not ask(verb="patch", resource="routes", subresource="status", namespace="shop")


@pytest.mark.parametrize(("token", "status"), [
    pytest.param("fake-kube-token", True, id="right"),
    pytest.param("other", None, id="wrong"),
])  # fmt: skip
def test_token_review(http, token, status):
    reply = http("POST", "/apis/authentication.k8s.io/v1/tokenreviews", json={"spec": {"token": token}})
    assert reply.status_code == 201
    assert reply.json()["status"].get("authenticated") is status
