"""connection.py and replies.py: settings, credentials, replies and streams over HTTPS."""

import io
import json
import logging
import threading

import pytest
from urllib3 import HTTPResponse

from f5router.kube.api.api_errors import error_for, error_in_stream
from f5router.kube.api.connection import LineStream, Page, connect
from f5router.kube.settings import KubeSettings
from f5router.model.errors import (
    KubeConflict,
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeNotLeader,
    KubeUnreachable,
    ResourceExpired,
    ResourceUnavailable,
)
from f5router.model.limits import WritePermit
from tests.unit.kube import objects
from tests.unit.kube.conftest import watching
from tests.waiting import DEADLINE_S

ROUTES = "/apis/route.openshift.io/v1/routes"
SECRET_LIKE = "fake-kube-token"


# -- replies

@pytest.mark.parametrize(("status", "kind"), [
    pytest.param("400", KubeInvalid, id="400"),
    pytest.param("403", KubeForbidden, id="403"),
    pytest.param("404", ResourceUnavailable, id="404 without a name"),
    pytest.param("409", KubeConflict, id="409"),
    pytest.param("422", KubeInvalid, id="422"),
    pytest.param("429", KubeUnreachable, id="429"),
    pytest.param("500", KubeUnreachable, id="500"),
    pytest.param("503", KubeUnreachable, id="503"),
    pytest.param("drop", KubeUnreachable, id="no reply"),
])
def test_refusals(connection, kube, status, kind):
    kube.inject(status)
    with pytest.raises(KubeError) as caught:
        connection.request("GET", ROUTES)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"GET {ROUTES}: ")


@pytest.mark.parametrize(("body", "kind"), [
    pytest.param({"message": 'routes "a" is forbidden: User "u" cannot patch resource "routes/status"'},
                 KubeForbidden, id="a right"),
    pytest.param({"message": 'User "u" cannot update routes/status in project "p"'},
                 KubeForbidden, id="a right, OpenShift 3"),
    pytest.param({"message": f'routes "{"a" * 253}" is forbidden: User "u" cannot patch'},
                 KubeForbidden, id="a right, long name"),
    pytest.param({"message": 'admission webhook "w.example.com" denied the request: no'},
                 KubeInvalid, id="a webhook"),
    pytest.param({"message": 'routes "a" is forbidden: exceeded quota: q'}, KubeInvalid, id="a quota"),
    pytest.param("<html>go away</html>", KubeForbidden, id="something in between"),
])
def test_what_is_forbidden(body, kind):
    """A right that somebody can grant, or this one object."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    error = error_for("PATCH", ROUTES, 403, raw)
    assert type(error) is kind
    assert ("grant it with" in str(error)) is (kind is KubeForbidden)


def test_missing_object(connection):
    """A 404 that names the object is about the object, another about the kind."""
    with pytest.raises(KubeNotFound, match='"nobody" not found'):
        connection.request("GET", "/apis/route.openshift.io/v1/namespaces/shop/routes/nobody")
    with pytest.raises(ResourceUnavailable, match="page not found"):
        connection.request("GET", "/apis/nothing.example.com/v1/things")


def test_expired(connection, kube):
    kube.apply([objects.route("a"), objects.route("b")])
    token = connection.request("GET", ROUTES, query={"limit": "1"})["metadata"]["continue"]
    kube.compact()
    kube.apply(objects.route("c"))
    kube.compact()
    with pytest.raises(ResourceExpired):
        connection.request("GET", ROUTES, query={"limit": "1", "continue": token})


@pytest.mark.parametrize(("headers", "body", "seconds"), [
    pytest.param({"Retry-After": "7"}, b"", 7, id="header"),
    pytest.param({}, b'{"details": {"retryAfterSeconds": 3}}', 3, id="Status"),
    pytest.param({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"", None, id="date"),
    pytest.param({"Retry-After": "-1"}, b"", None, id="negative"),
    pytest.param({}, b'{"details": []}', None, id="odd details"),
    pytest.param({}, b'{"details": {"retryAfterSeconds": 1%s}}' % (b"0" * 400), None, id="no float"),
])
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after(status, headers, body, seconds):
    assert error_for("GET", ROUTES, status, body, headers).retry_after_s == seconds


@pytest.mark.parametrize(("status", "body", "expected"), [
    pytest.param(503, b"<html><h1>Service\nUnavailable</h1></html>",
                 "503 <html><h1>Service Unavailable</h1></html>", id="page of a proxy"),
    pytest.param(500, b"", "500", id="empty"),
    pytest.param(500, b"[]", "500 []", id="odd JSON"),
    pytest.param(500, b'{"message": 5}', '500 {"message": 5}', id="odd message"),
    pytest.param(500, b"\xff" + b"x" * 1000, "500 \ufffd" + "x" * 255, id="long and not text"),
    pytest.param(422, b'{"message": "spec.tls.key: Invalid value: -----BEGIN RSA PRIVATE KEY-----abc"}',
                 "422 spec.tls.key: Invalid value:", id="a key is not repeated"),
    pytest.param(302, b"log in", "302 log in", id="redirect of a proxy"),
])
def test_message(status, body, expected):
    assert str(error_for("GET", "/x", status, body)) == f"GET /x: {expected}"


def refusal(user, resource="routes"):
    return json.dumps({"message": f'{resource} is forbidden: User "{user}" cannot list'}).encode()


ACCOUNT = "system:serviceaccount:infra:f5"


@pytest.mark.parametrize(("path", "user", "words"), [
    pytest.param(ROUTES, ACCOUNT, "oc adm policy add-cluster-role-to-user system:router -z f5 -n infra",
                 id="routes"),
    pytest.param("/apis/route.openshift.io/v1/namespaces/shop/routes/a/status", ACCOUNT,
                 "add-cluster-role-to-user system:router -z f5 -n infra", id="status"),
    pytest.param("/api/v1/nodes", ACCOUNT,
                 f"add-cluster-role-to-user system:sdn-reader {ACCOUNT}", id="nodes"),
    pytest.param("/apis/network.openshift.io/v1/hostsubnets", ACCOUNT,
                 f"add-cluster-role-to-user system:sdn-reader {ACCOUNT}", id="hostsubnets"),
    pytest.param("/oapi/v1/clusternetworks/default", ACCOUNT,
                 f"add-cluster-role-to-user system:sdn-reader {ACCOUNT}", id="oapi"),
    pytest.param(ROUTES, "alice", "add-cluster-role-to-user system:router alice", id="a person"),
    pytest.param(ROUTES, "al; reboot", "add-cluster-role-to-user system:router 'al; reboot'",
                 id="a name that a shell would run"),
    pytest.param("/api/v1/namespaces", ACCOUNT, "oc create clusterrole f5router-namespaces "
                 "--verb=get,list,watch --resource=namespaces and ", id="namespaces"),
    pytest.param("/oapi/v1/routes", ACCOUNT, "add-cluster-role-to-user system:router -z f5 -n infra",
                 id="legacy routes"),
])
def test_forbidden_message(path, user, words):
    """The server's own text, and what an administrator can type."""
    text = str(error_for("GET", path, 403, refusal(user)))
    assert f'User "{user}" cannot list' in text
    assert words in text


STATUS = "/apis/route.openshift.io/v1/namespaces/shop/routes/a/status"
APPLY = "oc apply -f docs/deploy/10-account.yaml"
BIND = "oc adm policy add-cluster-role-to-user"
OWN = "system:serviceaccount:f5router:f5router"


@pytest.mark.parametrize(("method", "path", "user", "advice"), [
    pytest.param("GET", "/apis/discovery.k8s.io/v1/endpointslices", OWN, APPLY, id="slices"),
    pytest.param("POST", "/api/v1/namespaces/shop/events", OWN, APPLY, id="events"),
    pytest.param("PATCH", STATUS, OWN, APPLY, id="patch of a status"),
    pytest.param("PUT", STATUS, OWN, f"{BIND} system:router -z f5router -n f5router, or with: {APPLY}",
                 id="update of a status"),
    pytest.param("GET", ROUTES, OWN, f"{BIND} system:router -z f5router -n f5router, or with: {APPLY}",
                 id="routes"),
    pytest.param("POST", "/api/v1/namespaces/shop/events", ACCOUNT,
                 f"{APPLY} and {BIND} f5router -z f5 -n infra", id="another account"),
    pytest.param("POST", "/api/v1/namespaces/shop/events", "alice", f"{APPLY} and {BIND} f5router alice",
                 id="a person"),
    pytest.param("GET", "/oapi/v1/routes", OWN, f"{BIND} system:router -z f5router -n f5router",
                 id="legacy routes"),
])
def test_advice_fits_the_roles(method, path, user, advice):
    """The shipped role has what system:router has not; it is bound to the account that it is shipped with."""
    text = str(error_for(method, path, 403, refusal(user)))
    assert text.endswith(f"; grant it with: {advice}")


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_forbidden_write(method):
    """The role for reading HostSubnets cannot write them."""
    text = str(error_for(method, "/apis/network.openshift.io/v1/hostsubnets", 403, refusal("alice")))
    assert text.endswith("oc adm policy add-cluster-role-to-user system:sdn-manager alice")


@pytest.mark.parametrize(("status", "kind"), [
    pytest.param({"code": 410, "message": "too old"}, ResourceExpired, id="410"),
    pytest.param({"code": 500, "message": "boom"}, KubeUnreachable, id="500"),
    pytest.param({}, KubeUnreachable, id="empty"),
    pytest.param("odd", KubeUnreachable, id="odd"),
])
def test_error_in_stream(status, kind):
    assert type(error_in_stream(ROUTES, status)) is kind


def test_token_is_tried_twice(connection, kube):
    kube.inject("401")
    assert connection.request("GET", ROUTES)
    assert [entry.status for entry in kube.log] == [401, 200]


def test_a_repetition_needs_permission(kube, kubeconfig):
    """The leadership may end while the token is read again."""
    left = [1.0]
    connection = connect(KubeSettings(kubeconfig=kubeconfig),
                         WritePermit(lambda: left.pop() if left else 0.0))
    kube.inject("401")
    with pytest.raises(KubeNotLeader):
        connection.request("POST", "/api/v1/namespaces/shop/events", body={})
    assert [entry.status for entry in kube.log] == [401]


def test_wrong_token(connection, kube, caplog):
    """Refused twice is refused; the token is nowhere."""
    caplog.set_level(logging.DEBUG)
    kube.token = "another one"
    with pytest.raises(KubeForbidden, match="credentials are missing, expired") as caught:
        connection.request("GET", ROUTES)
    assert [entry.status for entry in kube.log] == [401, 401]
    assert SECRET_LIKE not in str(caught.value) + caplog.text


def test_slow_reply(connection, kube):
    """The answer does not come while the test runs."""
    kube.inject("delay", seconds=3600)
    with pytest.raises(KubeUnreachable, match="no reply within the time-out"):
        connection.request("GET", ROUTES, timeout_s=0.1)


def test_write(connection, kube):
    """A body, a content type, and the object that comes back."""
    kube.apply(objects.route("a"))
    path = "/apis/route.openshift.io/v1/namespaces/shop/routes/a"
    written = connection.request("PATCH", path, body={"metadata": {"labels": {"x": "\u00e9"}}},
                               content_type="application/merge-patch+json")
    assert written["metadata"]["labels"] == {"x": "\u00e9"}
    with pytest.raises(KubeConflict):
        connection.request("PATCH", path, body={"metadata": {"resourceVersion": "1"}},
                           content_type="application/merge-patch+json")


# -- streams

def stream_of(connection, timeout_s=DEADLINE_S):
    return connection.request("GET", ROUTES, stream=True, timeout_s=timeout_s,
                              query={"watch": "true", "resourceVersion": "0", "timeoutSeconds": "60"})


def test_stream(connection, kube):
    """One value per line, as they come, whatever their size."""
    kube.apply(objects.route("a", path="/" + "x" * 300_000))
    stream = iter(stream_of(connection))
    assert len(next(stream)["object"]["spec"]["path"]) == 300_001
    kube.apply(objects.route("b"))
    assert next(stream)["object"]["metadata"]["name"] == "b"
    kube.inject("drop-watch")
    assert list(stream) == []


@pytest.mark.parametrize(("fault", "options"), [
    pytest.param("drop-watch", {"abrupt": True}, id="cut"),
    pytest.param("truncated", {}, id="in the middle of a line"),
    pytest.param("silent-drop", {}, id="silent"),
])
def test_broken_stream(connection, kube, fault, options):
    stream = stream_of(connection, timeout_s=0.3)
    assert kube.wait_for(lambda: watching(kube))
    kube.inject(fault, **options)
    kube.apply(objects.route("a"))
    with pytest.raises(KubeUnreachable, match=f"GET {ROUTES}: "):
        list(stream)


@pytest.mark.parametrize(("body", "values"), [
    pytest.param(b'{"a": 1}\n\n{"b": 2}', [{"a": 1}, {"b": 2}], id="no line break at the end"),
    pytest.param(b"", [], id="empty"),
])
def test_end_of_stream(body, values):
    """A proxy that speaks HTTP/1.0 ends a reply by closing the connection, not by a last chunk."""
    assert list(LineStream(HTTPResponse(io.BytesIO(body), preload_content=False), "GET /")) == values


def test_stream_cut_without_notice():
    stream = iter(LineStream(HTTPResponse(io.BytesIO(b'{"a": 1}\n{"b"'), preload_content=False), "GET /"))
    assert next(stream) == {"a": 1}
    with pytest.raises(KubeUnreachable, match="cut off"):
        next(stream)


@pytest.mark.parametrize(("body", "message"), [
    pytest.param(b"[]", "is no list", id="no object"),
    pytest.param(b"<html>", "is not JSON", id="a page of a proxy"),
    pytest.param(b'{"items":[{"a":1},{"a"', "is not JSON", id="cut off"),
    pytest.param(b'{"items":[]', "is not JSON", id="cut off behind the items"),
    pytest.param(b"", "is not JSON", id="empty"),
])
def test_a_reply_that_is_no_list(body, message):
    page = Page(HTTPResponse(io.BytesIO(body), preload_content=False), "GET /")
    with pytest.raises(KubeUnreachable, match=f"GET /: the reply {message}"):
        list(page.documents())


def test_page():
    body = b'{"items":[{"a":1}],"metadata":{"resourceVersion":"7","continue":"more"}}'
    page = Page(HTTPResponse(io.BytesIO(body), preload_content=False), "GET /")
    assert [document.load() for document in page.documents()] == [{"a": 1}]
    assert (page.version, page.token) == ("7", "more")


def test_a_reply_that_is_too_large(connection, kube):
    """A reply that is read as a whole must not fill the memory."""
    kube.apply([objects.route(f"a{number}", note="x" * (1 << 20)) for number in range(33)])
    with pytest.raises(KubeInvalid, match=f"GET {ROUTES}: the reply is larger than 32 MiB"):
        connection.request("GET", ROUTES)


def test_refused_stream(connection, kube):
    kube.forbid("routes", ["watch"])
    with pytest.raises(KubeForbidden, match="cannot watch"):
        stream_of(connection)


def test_closed_stream(connection, kube):
    """A reader that waits is woken by another thread, and the server sees it leave."""
    stream = stream_of(connection, timeout_s=3600)
    reader = threading.Thread(target=list, args=(stream,))
    reader.start()
    assert kube.wait_for(lambda: watching(kube))
    stream.close()
    reader.join(DEADLINE_S)
    assert not reader.is_alive()
    assert kube.wait_for(lambda: not watching(kube))
    stream.close()
