"""Get, lists, pages, selectors."""

import pytest

from mocks.kube import FakeKube

from .conftest import Http
from .objects import ROUTES, SHOP, admitted, names, route


def test_get(kube, http):
    """An object with what the server adds; 404 with a Status if there is none."""
    kube.apply(route())
    read = http.get(f"{SHOP}/web").json()
    assert read == kube.get("Route", "shop", "web")
    assert read["kind"] == "Route"
    assert read["metadata"]["uid"]
    assert read["metadata"]["creationTimestamp"].endswith("Z")
    missing = http.get(f"{SHOP}/none")
    assert missing.status_code == 404
    assert missing.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'routes.route.openshift.io "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "group": "route.openshift.io", "kind": "routes"},
        "code": 404,
    }


@pytest.mark.parametrize(("path", "text"), [
    pytest.param("/apis/nothing.io/v1/things", "404 page not found\n", id="no such group"),
    pytest.param("/apis/nothing.io", "404 page not found\n", id="no such group, discovery"),
    pytest.param("/nothing", "404 page not found\n", id="no such path"),
    pytest.param("/apis/route.openshift.io/v1/things", "the server could not find", id="no such resource"),
    pytest.param("/api/v1/namespaces/shop/nodes", "the server could not find", id="cluster kind"),
    pytest.param("/api/v1/namespaces/shop/secrets/a/status", "the server could not find", id="no status"),
])  # fmt: skip
def test_unknown_path(http, path, text):
    reply = http.get(path)
    assert reply.status_code == 404
    assert text in reply.text


def test_list(kube, http):
    """By namespace and name; built-in items come without kind, as from a real server, custom ones with."""
    kube.apply([route("b"), route("a"), route("z", namespace="other")])
    listed = http.get(ROUTES).json()
    assert (listed["kind"], listed["apiVersion"]) == ("RouteList", "route.openshift.io/v1")
    assert names(listed) == ["z", "a", "b"]
    assert "kind" not in listed["items"][0]
    assert names(http.get(SHOP).json()) == ["a", "b"]
    subnet = {"apiVersion": "network.openshift.io/v1", "kind": "HostSubnet", "metadata": {"name": "n"}}
    kube.apply(subnet)
    assert http.get("/apis/network.openshift.io/v1/hostsubnets").json()["items"][0]["kind"] == "HostSubnet"


def test_list_revision(kube, http):
    """The list's resourceVersion is the newest of all kinds; one not reached yet answers 504."""
    kube.apply(route())
    secret = kube.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    newest = int(secret["metadata"]["resourceVersion"])
    assert http.get(ROUTES).json()["metadata"]["resourceVersion"] == str(newest)
    assert http.get(ROUTES, resourceVersion="0").status_code == 200
    ahead = http.get(ROUTES, resourceVersion=newest + 1)
    assert (ahead.status_code, ahead.json()["reason"]) == (504, "Timeout")
    assert ahead.json()["message"] == f"Too large resource version: {newest + 1}, current: {newest}"


def test_list_exact(kube, http):
    """resourceVersionMatch=Exact is the collection as it was."""
    kube.apply(route("a", host="first.example.com"))
    then = kube.get("Route", "shop", "a")["metadata"]["resourceVersion"]
    kube.apply([route("a", host="second.example.com"), route("b")])
    old = http.get(ROUTES, resourceVersion=then, resourceVersionMatch="Exact").json()
    assert [item["spec"]["host"] for item in old["items"]] == ["first.example.com"]
    assert (
        len(http.get(ROUTES, resourceVersion=then, resourceVersionMatch="NotOlderThan").json()["items"]) == 2
    )
    kube.compact()
    assert http.get(ROUTES, resourceVersion=then, resourceVersionMatch="Exact").status_code == 410


class TestPages:
    """Lists with a limit."""

    def test_snapshot(self, kube, http):
        """Later pages show the collection as it was at the first, whatever happened since."""
        kube.apply([route(f"r{n}") for n in range(5)])
        first = http.get(ROUTES, limit=2).json()
        assert names(first) == ["r0", "r1"]
        assert first["metadata"]["remainingItemCount"] == 3
        kube.delete("Route", "shop", "r3")
        kube.apply([route("r2", host="changed.example.com"), route("r9")])
        second = http.get(ROUTES, limit=2, **{"continue": first["metadata"]["continue"]}).json()
        assert names(second) == ["r2", "r3"]
        assert second["items"][0]["spec"]["host"] == "r2.example.com"
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        third = http.get(ROUTES, limit=2, **{"continue": second["metadata"]["continue"]}).json()
        assert names(third) == ["r4"]
        assert "continue" not in third["metadata"]

    def test_expired(self, kube, http):
        """A lost snapshot answers 410 with a token that goes on from where it was, inconsistently."""
        kube.apply([route(f"r{n}") for n in range(4)])
        token = http.get(ROUTES, limit=2).json()["metadata"]["continue"]
        kube.delete("Route", "shop", "r2")
        kube.compact()
        expired = http.get(ROUTES, limit=2, **{"continue": token})
        assert (expired.status_code, expired.json()["reason"]) == (410, "Expired")
        again = http.get(ROUTES, limit=2, **{"continue": expired.json()["metadata"]["continue"]})
        assert names(again.json()) == ["r3"]

    def test_with_selector(self, kube, http):
        """A selector hides how many remain."""
        kube.apply([route(f"r{n}", labels={"a": "b"}) for n in range(3)])
        page = http.get(ROUTES, limit=2, labelSelector="a=b").json()
        assert "remainingItemCount" not in page["metadata"]
        rest = http.get(ROUTES, limit=2, labelSelector="a=b", **{"continue": page["metadata"]["continue"]})
        assert names(rest.json()) == ["r2"]

    def test_watch_cache_does_not_page(self, kube, http):
        kube.apply([route(f"r{n}") for n in range(3)])
        assert len(http.get(ROUTES, limit=2, resourceVersion="0").json()["items"]) == 3

    @pytest.mark.parametrize("token", ["xxx", "e30"])
    def test_bad_token(self, http, token):
        assert http.get(ROUTES, limit=2, **{"continue": token}).status_code == 400


@pytest.mark.parametrize(("selector", "chosen"), [
    pytest.param("tier=front", "a", id="equal"),
    pytest.param("tier==front", "a", id="double equal"),
    pytest.param("tier!=front", "bc", id="unequal takes objects without the label"),
    pytest.param("tier in (front, back)", "ab", id="in"),
    pytest.param("tier notin (front,mid)", "bc", id="notin"),
    pytest.param("tier", "ab", id="exists"),
    pytest.param("!tier", "c", id="absent"),
    pytest.param("tier in (front,back),x!=1", "b", id="both"),
    pytest.param("example.com/key=v_1.0", "c", id="prefixed key"),
    pytest.param("empty=", "c", id="empty value"),
    pytest.param("x>1", "b", id="above"),
    pytest.param("x<2", "a", id="below"),
    pytest.param("", "abc", id="everything"),
])  # fmt: skip
def test_label_selector(kube, http, selector, chosen):
    kube.apply(route("a", labels={"tier": "front", "x": "1"}))
    kube.apply(route("b", labels={"tier": "back", "x": "2"}))
    kube.apply(route("c", labels={"example.com/key": "v_1.0", "empty": ""}))
    assert "".join(names(http.get(ROUTES, labelSelector=selector).json())) == chosen


def test_bad_label_selector(http):
    """More of them in test_requirements.py."""
    reply = http.get(ROUTES, labelSelector="a b")
    assert (reply.status_code, reply.json()["reason"]) == (400, "BadRequest")
    assert reply.json()["message"] == (
        "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt")
    assert http("GET", ROUTES, params={"watch": "true", "labelSelector": "a b"}).status_code == 400


@pytest.mark.parametrize(("selector", "chosen"), [
    pytest.param("metadata.name=a", ["a"], id="name"),
    pytest.param("metadata.namespace!=shop", ["c"], id="namespace"),
    pytest.param("spec.host=b.example.com", ["b"], id="host"),
    pytest.param("spec.to.name=web,metadata.name!=b", ["c", "a"], id="service and name"),
    pytest.param("spec.path=", ["c", "a", "b"], id="empty"),
])  # fmt: skip
def test_field_selector(kube, http, selector, chosen):
    kube.apply([route("a"), route("b"), route("c", namespace="other")])
    assert names(http.get(ROUTES, fieldSelector=selector).json()) == chosen


def test_unsupported_field(http):
    """Each kind has its own few fields; others are refused, as in a real server."""
    reply = http.get(ROUTES, fieldSelector="spec.port=1")
    assert reply.status_code == 400
    assert (reply.json()["reason"], reply.json()["message"]) == (
        "BadRequest", "field label not supported: spec.port")


def test_pods_of_a_node(kube, http):
    for name, node in (("a", "n1"), ("b", "n2")):
        metadata = {"name": name, "namespace": "shop"}
        kube.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}})
    assert names(http.get("/api/v1/pods", fieldSelector="spec.nodeName=n2").json()) == ["b"]


def partial(kind: str) -> dict[str, str]:
    return {"Accept": f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"}


def test_metadata_alone(kube, http):
    """As a client asks for it that has no business with what objects hold."""
    kube.apply(route("a"))
    read = http("GET", ROUTES, headers=partial("PartialObjectMetadataList")).json()
    assert (read["kind"], read["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert read["metadata"]["resourceVersion"]
    path = ROUTES.replace("/routes", "/namespaces/shop/routes/a")
    single = http("GET", path, headers=partial("PartialObjectMetadata")).json()
    assert read["items"] == [single]
    assert single.keys() == {"kind", "apiVersion", "metadata"}
    assert single["metadata"]["name"] == "a"


class TestTables:
    """Lists as kubectl asks for them."""

    ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

    def table(self, http, path, **query):
        return http("GET", path, params=query, headers={"Accept": self.ACCEPT}).json()

    def test_routes(self, kube, http):
        rejected = {"type": "Admitted", "status": "False", "reason": "HostAlreadyClaimed"}
        kube.apply(route("a"))
        kube.apply(
            route("b") | {"status": {"ingress": [{"host": "b.example.com", "conditions": [rejected]}]}}
        )
        both = admitted("c.example.com")["ingress"] * 2
        kube.apply(route("c") | {"status": {"ingress": both}})
        kube.apply(route("d") | {"status": {"ingress": []}})
        table = self.table(http, ROUTES)
        assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        assert [column["name"] for column in table["columnDefinitions"]] == [
            "Name", "Host/Port", "Path", "Services", "Port", "Termination", "Wildcard",
        ]  # fmt: skip
        assert [row["cells"][1] for row in table["rows"]] == [
            "a.example.com", "HostAlreadyClaimed", "c.example.com ... 1 more", "Pending",
        ]  # fmt: skip
        assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
        assert table["rows"][0]["object"]["metadata"]["name"] == "a"

    @pytest.mark.parametrize(("spec", "cells"), [
        pytest.param({"path": "/x", "port": {"targetPort": 8080}}, ["/x", "web", "8080", ""], id="port"),
        pytest.param({"tls": {"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect"}},
                     ["", "web", "<all>", "edge/Redirect"], id="edge"),
        pytest.param({"to": {"name": "web", "weight": 3},
                      "alternateBackends": [{"name": "new", "weight": 1}]},
                     ["", "web(75%),new(25%)", "<all>", ""], id="weights"),
        pytest.param({"to": {"name": "web", "weight": 0}}, ["", "web(0%)", "<all>", ""], id="weight 0"),
        pytest.param({"to": {"name": "web"}}, ["", "web", "<all>", ""], id="no weight"),
    ])  # fmt: skip
    def test_route_cells(self, kube, http, spec, cells):
        obj = route()
        obj["spec"] |= spec
        kube.apply(obj)
        assert self.table(http, ROUTES)["rows"][0]["cells"][2:6] == cells

    def test_generic_kind(self, kube, http):
        kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}})
        table = self.table(http, "/api/v1/serviceaccounts")
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]
        name, age = table["rows"][0]["cells"]
        assert (name, age[-1]) == ("sa", "s")

    def test_pages_and_objects(self, kube, http):
        kube.apply([route("a"), route("b")])
        table = self.table(http, ROUTES, limit=1, includeObject="Object")
        assert table["metadata"]["continue"]
        assert table["rows"][0]["object"]["spec"]["host"] == "a.example.com"


def test_version_and_groups(kube, http):
    """Discovery names each group, version, resource, verb."""
    assert http.get("/api").json()["versions"] == ["v1"]
    groups = {group["name"] for group in http.get("/apis").json()["groups"]}
    assert {"route.openshift.io", "network.openshift.io", "discovery.k8s.io", "contour.heptio.com"} <= groups
    resources = {row["name"]: row for row in http.get("/apis/route.openshift.io/v1").json()["resources"]}
    assert resources.keys() == {"routes", "routes/status"}
    assert resources["routes"]["namespaced"]
    assert {"list", "watch", "patch"} <= set(resources["routes"]["verbs"])
    assert http.get("/apis/route.openshift.io").json()["preferredVersion"]["version"] == "v1"
    assert http.get("/openapi/v3/apis/route.openshift.io/v1").json()["paths"]


@pytest.mark.parametrize(("option", "path"), [
    pytest.param("openshift", ROUTES, id="routes"),
    pytest.param("openshift", "/apis/network.openshift.io/v1/hostsubnets", id="host subnets"),
    pytest.param("slices", "/apis/discovery.k8s.io/v1/endpointslices", id="slices"),
])  # fmt: skip
def test_absent_groups(option, path):
    """Without OpenShift or slices their groups answer as any unknown path; stored objects do not show."""
    with FakeKube(**{option: False}) as kube:
        kube.apply(route())
        http = Http(kube)
        assert (http.get(path).status_code, http.get(path).text) == (404, "404 page not found\n")
        group = path.split("/")[2]
        assert group not in {group["name"] for group in http.get("/apis").json()["groups"]}


class TestProjects:
    """Namespaces, for who may get them (openshift-apiserver, pkg/project)."""

    PROJECTS = "/apis/project.openshift.io/v1/projects"

    @pytest.fixture(autouse=True)
    def _namespaces(self, kube):
        for name, labels in (("shop", {"zone": "a"}), ("bank", {"zone": "b"})):
            kube.apply({"apiVersion": "v1", "kind": "Namespace",
                        "metadata": {"name": name, "labels": labels}})

    def test_all_of_them(self, kube, http):
        listed = http.get(self.PROJECTS).json()
        assert listed["kind"] == "ProjectList"
        assert {"shop", "bank", "default"} <= set(names(listed))
        assert names(http.get(self.PROJECTS, labelSelector="zone=b").json()) == ["bank"]
        assert http.get(f"{self.PROJECTS}/shop").json()["metadata"]["labels"]["zone"] == "a"
        assert http.get(f"{self.PROJECTS}/none").status_code == 404
        assert http.get(self.PROJECTS, labelSelector="a b").status_code == 400

    def test_those_of_an_account(self, kube):
        """Without a right of its own on projects, and not those of others."""
        kube.apply([
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "default", "name": "r"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
             "metadata": {"namespace": "shop", "name": "view"},
             "rules": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
             "metadata": {"namespace": "shop", "name": "view"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "view"},
             "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "r"}]},
        ])
        http = Http(kube)
        http.session.headers["Authorization"] = f"Bearer {kube.token_for('default', 'r')}"
        assert names(http.get(self.PROJECTS).json()) == ["shop"]
        assert http.get("/api/v1/namespaces").status_code == 403
