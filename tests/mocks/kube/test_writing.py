"""Create, update, patch, delete.

Longer than other modules: each verb has a class, on the same objects.
"""

import json

import pytest

from .objects import ROUTES, SERVICES, SHOP, admitted, route

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"podCIDR": "10.0.0.0/24"}}


@pytest.fixture(autouse=True)
def shop(kube):
    """The namespace the tests write to."""
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})


def without_status(kube):
    kube.apply(route())
    return kube.get("Route", "shop", "web")


class TestCreate:
    """POST."""

    def test_server_fields(self, kube, http):
        """The server sets uid, creationTimestamp, resourceVersion and drops a client's status."""
        body = route(uid="mine", creationTimestamp="2001-01-01T00:00:00Z") | {"status": admitted("x")}
        reply = http("POST", SHOP, json=body)
        assert reply.status_code == 201
        stored = kube.get("Route", "shop", "web")
        assert reply.json() == stored
        assert stored["metadata"]["uid"] != "mine"
        assert not stored["metadata"]["creationTimestamp"].startswith("2001")
        assert "status" not in stored

    def test_a_node_brings_its_status(self, kube, http):
        """As the kubelet registers it; a later update leaves it alone."""
        status = {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}
        assert http("POST", "/api/v1/nodes", json={**NODE, "status": status}).status_code == 201
        assert kube.get("Node", None, "n1")["status"] == status
        assert http("PUT", "/api/v1/nodes/n1", json=NODE).status_code == 200
        assert kube.get("Node", None, "n1")["status"] == status

    def test_route_defaults(self, kube, http):
        """Defaults of openshift-apiserver for a Route."""
        body = {"metadata": {"name": "web"}, "spec": {"to": {"name": "web"}, "tls": {"termination": "Edge"}}}
        http("POST", SHOP, json=body)
        stored = kube.get("Route", "shop", "web")
        assert stored["spec"] == {
            "host": "web-shop.router.default.svc.cluster.local",
            "to": {"kind": "Service", "name": "web", "weight": 100},
            "tls": {"termination": "edge"},
            "wildcardPolicy": "None",
        }
        assert stored["metadata"]["annotations"] == {"openshift.io/host.generated": "true"}

    def test_service_defaults(self, kube, http):
        """A Service gets a free address, node ports and port defaults."""
        for name in ("a", "b"):
            body = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
            assert http("POST", SERVICES, json=body).status_code == 201
        specs = [kube.get("Service", "shop", name)["spec"] for name in ("a", "b")]
        assert len({spec["clusterIP"] for spec in specs}) == 2
        assert specs[0]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30000}]
        assert specs[1]["ports"][0]["nodePort"] == 30001

    def test_node_ports(self, kube, http):
        """Kept in an update, given back with the type, refused where they are taken or out of range."""
        def body(kind: str, port: int = 80, **spec) -> dict:
            return {"metadata": {"name": "a"}, "spec": {"type": kind, "ports": [{"port": port}], **spec}}

        http("POST", SERVICES, json=body("NodePort"))
        first = kube.get("Service", "shop", "a")["spec"]
        assert first["externalTrafficPolicy"] == "Cluster"
        for kind, port, expected in (
            ("LoadBalancer", 80, 30000), ("NodePort", 81, 30000), ("ClusterIP", 81, None),
            ("NodePort", 81, 30000),
        ):
            assert http("PUT", f"{SERVICES}/a", json=body(kind, port)).status_code == 200
            created = kube.get("Service", "shop", "a")["spec"]
            assert created["ports"][0].get("nodePort") == expected
            assert created["clusterIP"] == first["clusterIP"]
        other = {"metadata": {"name": "b"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
        for wrong in (30000, 80, 32768):
            other["spec"]["ports"][0]["nodePort"] = wrong
            assert http("POST", SERVICES, json=other).status_code == 422
        other["spec"] = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False,
                         "ports": [{"port": 80}]}
        assert http("POST", SERVICES, json=other).status_code == 201
        assert "nodePort" not in kube.get("Service", "shop", "b")["spec"]["ports"][0]

    def test_generate_name(self, http):
        body = route() | {"metadata": {"generateName": "web-"}}
        generated = {http("POST", SHOP, json=body).json()["metadata"]["name"] for _ in range(3)}
        assert len(generated) == 3
        assert all(name.startswith("web-") and len(name) == 9 for name in generated)

    def test_dry_run(self, kube, http):
        assert http("POST", SHOP, params={"dryRun": "All"}, json=route()).status_code == 201
        assert kube.list("Route") == []

    @pytest.mark.parametrize(("change", "code", "reason", "message"), [
        pytest.param({"metadata": {}}, 422, "Invalid", "metadata.name: Required value", id="no name"),
        pytest.param({"metadata": {"name": "A_b"}}, 422, "Invalid", "RFC 1123", id="bad name"),
        pytest.param({"metadata": {"name": "a", "namespace": "other"}}, 400, "BadRequest", "does not match",
                     id="other namespace"),
        pytest.param({"metadata": {"name": "a", "resourceVersion": "1"}}, 400, "BadRequest",
                     "resourceVersion should not be set", id="with resourceVersion"),
        pytest.param({"kind": "Service"}, 400, "BadRequest", "cannot be handled as a Route", id="other kind"),
        pytest.param({"spec": {"host": "A_B", "to": {"name": "x"}}}, 422, "Invalid", "spec.host", id="host"),
        pytest.param({"spec": {"host": "a", "path": "x", "to": {"name": "x"}}}, 422, "Invalid", "spec.path",
                     id="path"),
        pytest.param({"spec": {"host": "a", "to": {"name": "x", "weight": 257}}}, 422, "Invalid",
                     "spec.to.weight", id="weight"),
        pytest.param({"spec": {"host": "a", "to": {}}}, 422, "Invalid", "spec.to.name", id="no service"),
    ])  # fmt: skip
    def test_refused(self, http, change, code, reason, message):
        reply = http("POST", SHOP, json=route() | change)
        assert (reply.status_code, reply.json()["reason"]) == (code, reason)
        assert message in reply.json()["message"]

    def test_exists(self, kube, http):
        kube.apply(route())
        reply = http("POST", SHOP, json=route())
        assert (reply.status_code, reply.json()["reason"]) == (409, "AlreadyExists")
        assert reply.json()["message"] == 'routes.route.openshift.io "web" already exists'

    def test_no_namespace(self, http):
        reply = http("POST", SHOP.replace("shop", "none"), json=route(namespace="none"))
        assert (reply.status_code, reply.json()["message"]) == (404, 'namespaces "none" not found')

    def test_unreadable(self, http):
        headers = {"Content-Type": "application/json"}
        assert http("POST", SHOP, data="{", headers=headers).status_code == 400
        assert http("POST", SHOP, data="[]", headers=headers).status_code == 400
        protobuf = {"Content-Type": "application/vnd.kubernetes.protobuf"}
        assert http("POST", SHOP, data=b"k8s", headers=protobuf).status_code == 415

    def test_yaml(self, kube, http):
        text = "metadata: {name: cm}\ndata: {a: b}\n"
        headers = {"Content-Type": "application/yaml"}
        assert (
            http("POST", "/api/v1/namespaces/shop/configmaps", data=text, headers=headers).status_code == 201
        )
        assert kube.get("ConfigMap", "shop", "cm")["data"] == {"a": "b"}


class TestUpdate:
    """PUT."""

    def test_conflict(self, kube, http):
        """A stale resourceVersion answers 409; the current one is taken."""
        stale = without_status(kube)
        kube.apply(route(host="b.example.com"))
        reply = http("PUT", f"{SHOP}/web", json=stale)
        assert (reply.status_code, reply.json()["reason"]) == (409, "Conflict")
        assert reply.json()["message"] == (
            'Operation cannot be fulfilled on routes.route.openshift.io "web": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )
        fresh = kube.get("Route", "shop", "web")
        fresh["spec"]["path"] = "/x"
        assert http("PUT", f"{SHOP}/web", json=fresh).json()["spec"]["path"] == "/x"

    def test_revision_required(self, kube, http):
        """A Route needs a resourceVersion, a Service does not."""
        kube.apply(route())
        reply = http("PUT", f"{SHOP}/web", json=route())
        assert reply.status_code == 422
        assert "must be specified for an update" in reply.json()["message"]
        service = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"ports": [{"port": 80}]}}
        assert http("PUT", f"{SERVICES}/web", json=service).status_code == 201
        assert http("PUT", f"{SERVICES}/web", json=service).status_code == 200

    def test_keeps_identity_and_status(self, kube, http):
        """uid, creationTimestamp and status are not a client's to change here."""
        kube.apply(route() | {"status": admitted("web.example.com")})
        before = kube.get("Route", "shop", "web")
        changed = json.loads(json.dumps(before)) | {"status": {}}
        changed["metadata"] |= {"labels": {"a": "b"}, "creationTimestamp": "2001-01-01T00:00:00Z"}
        after = http("PUT", f"{SHOP}/web", json=changed).json()
        assert after["status"] == before["status"]
        assert after["metadata"]["creationTimestamp"] == before["metadata"]["creationTimestamp"]
        assert after["metadata"]["labels"] == {"a": "b"}

    def test_other_uid(self, kube, http):
        changed = without_status(kube)
        changed["metadata"]["uid"] = "other"
        assert http("PUT", f"{SHOP}/web", json=changed).json()["reason"] == "Conflict"

    def test_nothing_changes(self, kube, http):
        """An update without a difference gets no new resourceVersion and no event."""
        same = without_status(kube)
        stream = http.watch(ROUTES, resourceVersion=same["metadata"]["resourceVersion"])
        assert http("PUT", f"{SHOP}/web", json=same).json() == same
        kube.apply(route("next"))
        assert stream.next() == ("ADDED", "next")

    def test_host_is_not_cleared(self, kube, http):
        changed = without_status(kube)
        changed["spec"]["host"] = ""
        assert http("PUT", f"{SHOP}/web", json=changed).json()["spec"]["host"] == "web.example.com"

    def test_missing(self, http):
        assert http("PUT", f"{SHOP}/web", json=route(resourceVersion="1")).status_code == 404

    def test_other_name(self, kube, http):
        kube.apply(route())
        assert http("PUT", f"{SHOP}/web", json=route("other")).status_code == 400

    def test_generation(self, kube, http):
        """Ingresses count changes of spec; OpenShift Routes have no generation."""
        path = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses"
        http("POST", path, json={"metadata": {"name": "i"}, "spec": {"rules": []}})
        http.patch(f"{path}/i", {"metadata": {"labels": {"a": "b"}}})
        http.patch(f"{path}/i/status", {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}})
        assert kube.get("Ingress", "shop", "i")["metadata"]["generation"] == 1
        http.patch(f"{path}/i", {"spec": {"rules": [{"host": "a"}]}})
        assert kube.get("Ingress", "shop", "i")["metadata"]["generation"] == 2
        http("POST", SHOP, json=route())
        assert "generation" not in kube.get("Route", "shop", "web")["metadata"]


class TestStatus:
    """PUT and PATCH of /status."""

    def test_put(self, kube, http):
        """Only status changes; wildcardPolicy is filled in by the server."""
        body = without_status(kube) | {"status": admitted("web.example.com")}
        body["spec"]["host"] = "changed.example.com"
        body["metadata"]["labels"] = {"a": "b"}
        reply = http("PUT", f"{SHOP}/web/status", json=body)
        assert reply.status_code == 200
        stored = kube.get("Route", "shop", "web")
        assert stored["spec"]["host"] == "web.example.com"
        assert "labels" not in stored["metadata"]
        assert stored["status"]["ingress"] == [
            {"wildcardPolicy": "None", **admitted("web.example.com")["ingress"][0]}
        ]

    def test_conflict(self, kube, http):
        stale = without_status(kube)
        kube.apply(route())
        assert http("PUT", f"{SHOP}/web/status", json=stale | {"status": {}}).status_code == 409

    def test_patch(self, kube, http):
        """A merge patch replaces the whole ingress list."""
        kube.apply(route() | {"status": {"ingress": [{"routerName": "other"}]}})
        patch = {"status": admitted("web.example.com"), "spec": {"host": "no"}}
        http.patch(f"{SHOP}/web/status", patch)
        stored = kube.get("Route", "shop", "web")
        assert [ingress["routerName"] for ingress in stored["status"]["ingress"]] == ["f5"]
        assert stored["spec"]["host"] == "web.example.com"

    def test_patch_with_stale_revision(self, kube, http):
        """A patch that names a resourceVersion is refused when it is no longer the current one."""
        stale = without_status(kube)["metadata"]["resourceVersion"]
        kube.apply(route())
        patch = {"metadata": {"resourceVersion": stale}, "status": admitted("x")}
        assert http.patch(f"{SHOP}/web/status", patch).status_code == 409

    def test_unvalidated_route(self, kube, http):
        """A Route an older server let in can have its status written; its spec stays as it is."""
        odd = route(host="Not_A host")
        del odd["spec"]["wildcardPolicy"]
        kube.apply(odd)
        assert http.patch(f"{SHOP}/web/status", {"status": admitted("x")}).status_code == 200
        assert kube.get("Route", "shop", "web")["spec"] == odd["spec"]

    def test_main_resource_ignores_status(self, kube, http):
        kube.apply(NODE)
        http.patch("/api/v1/nodes/n1", {"status": {"phase": "x"}, "metadata": {"labels": {"a": "b"}}})
        node = kube.get("Node", None, "n1")
        assert "status" not in node
        assert node["metadata"]["labels"] == {"a": "b"}

    def test_no_status_verb(self, http):
        assert http("DELETE", f"{SHOP}/web/status").status_code == 405


class TestPatch:
    """PATCH."""

    def test_merge(self, kube, http):
        kube.apply(route(annotations={"a": "1", "b": "2"}))
        reply = http.patch(f"{SHOP}/web", {"metadata": {"annotations": {"a": None, "c": "3"}}})
        assert reply.json()["metadata"]["annotations"] == {"b": "2", "c": "3"}

    def test_json(self, kube, http):
        kube.apply(route())
        operations = [
            {"op": "test", "path": "/spec/host", "value": "web.example.com"},
            {"op": "add", "path": "/spec/path", "value": "/x"},
        ]
        assert http.patch(f"{SHOP}/web", operations, form="json").json()["spec"]["path"] == "/x"
        operations[0]["value"] = "other"
        assert http.patch(f"{SHOP}/web", operations, form="json").status_code == 422
        assert http.patch(f"{SHOP}/web", [{"op": "jump"}], form="json").status_code == 400

    def test_strategic(self, kube, http):
        """Lists with a merge key are merged element by element, with kubectl's directives."""
        ports = [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]
        http("POST", SERVICES, json={"metadata": {"name": "web"}, "spec": {"ports": ports}})
        patch = {
            "spec": {
                "$setElementOrder/ports": [{"port": 80}, {"port": 81}],
                "ports": [
                    {"port": 81, "name": "new"},
                    {"port": 443, "$patch": "delete"},
                    {"port": 80, "name": "x"},
                ],
            }
        }
        merged = http.patch(f"{SERVICES}/web", patch, form="strategic-merge").json()["spec"]["ports"]
        assert [(port["port"], port["name"]) for port in merged] == [(80, "x"), (81, "new")]

    def test_strategic_not_for_custom_kinds(self, kube, http):
        space = {"apiVersion": "network.openshift.io/v1", "kind": "NetNamespace", "metadata": {"name": "n"}}
        kube.apply(space)
        path = "/apis/network.openshift.io/v1/netnamespaces/n"
        assert http.patch(path, {"netname": "n"}, form="strategic-merge").status_code == 415
        assert http.patch(path, {"netname": "n"}).status_code == 200

    def test_apply(self, kube, http):
        """Server-side apply creates, then merges; it needs a fieldManager."""
        headers = {"Content-Type": "application/apply-patch+yaml"}
        body = json.dumps(route())
        assert http("PATCH", f"{SHOP}/web", data=body, headers=headers).status_code == 400
        query = {"fieldManager": "test"}
        assert http("PATCH", f"{SHOP}/web", data=body, headers=headers, params=query).status_code == 201
        body = json.dumps(route(labels={"a": "b"}))
        assert http("PATCH", f"{SHOP}/web", data=body, headers=headers, params=query).status_code == 200
        assert kube.get("Route", "shop", "web")["metadata"]["labels"] == {"a": "b"}

    @pytest.mark.parametrize("patch", [
        pytest.param({"metadata": {"name": "other"}}, id="name"),
        pytest.param({"metadata": {"namespace": "other"}}, id="namespace"),
        pytest.param({"kind": "Service"}, id="kind"),
        pytest.param({"metadata": None}, id="no metadata"),
    ])  # fmt: skip
    def test_refused(self, kube, http, patch):
        before = without_status(kube)
        assert http.patch(f"{SHOP}/web", patch).status_code == 400
        assert kube.get("Route", "shop", "web") == before

    def test_validated(self, kube, http):
        kube.apply(route())
        assert http.patch(f"{SHOP}/web", {"spec": {"host": "A_B"}}).status_code == 422

    def test_missing(self, http):
        assert http.patch(f"{SHOP}/web", {}).status_code == 404

    def test_unknown_type(self, kube, http):
        kube.apply(route())
        assert http.patch(f"{SHOP}/web", {}, form="other").status_code == 415


class TestDelete:
    """DELETE."""

    def test_one(self, kube, http):
        uid = without_status(kube)["metadata"]["uid"]
        reply = http("DELETE", f"{SHOP}/web").json()
        assert (reply["status"], reply["details"]["uid"]) == ("Success", uid)
        assert kube.get("Route", "shop", "web") is None
        assert http("DELETE", f"{SHOP}/web").status_code == 404

    @pytest.mark.parametrize("condition", [{"uid": "other"}, {"resourceVersion": "1"}])
    def test_precondition(self, kube, http, condition):
        kube.apply(route())
        reply = http("DELETE", f"{SHOP}/web", json={"preconditions": condition})
        assert (reply.status_code, reply.json()["reason"]) == (409, "Conflict")
        assert kube.get("Route", "shop", "web")

    def test_collection(self, kube, http):
        kube.apply(
            [route("a", labels={"x": "y"}), route("b"), route("c", namespace="other", labels={"x": "y"})]
        )
        assert http("DELETE", SHOP, params={"labelSelector": "x=y"}).status_code == 200
        assert [obj["metadata"]["name"] for obj in kube.list("Route")] == ["c", "b"]

    def test_finalizers(self, kube, http):
        """The object stays, marked, until its last finalizer is gone."""
        kube.apply(route(finalizers=["example.com/f"]))
        stream = http.watch(ROUTES)
        assert http("DELETE", f"{SHOP}/web").json()["metadata"]["deletionTimestamp"]
        assert kube.get("Route", "shop", "web")
        http.patch(f"{SHOP}/web", {"metadata": {"finalizers": None}})
        assert kube.get("Route", "shop", "web") is None
        assert [stream.next()[0] for _ in range(3)] == ["ADDED", "MODIFIED", "DELETED"]

    def test_namespace(self, kube, http):
        """Deleting a Namespace deletes what it holds."""
        kube.apply([route(), route(namespace="other")])
        stream = http.watch("/api/v1/namespaces/shop")
        next(stream)
        assert http("DELETE", "/api/v1/namespaces/shop").status_code == 200
        assert [obj["metadata"]["namespace"] for obj in kube.list("Route")] == ["other"]
        marked, gone = next(stream), next(stream)
        assert (marked["type"], marked["object"]["status"]["phase"]) == ("MODIFIED", "Terminating")
        assert gone["type"] == "DELETED"

    def test_namespace_with_a_hostile_status(self, kube):
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "status": "x"})
        kube.delete("Namespace", "", "shop")
        assert kube.get("Namespace", "", "shop") is None

    def test_dry_run(self, kube, http):
        kube.apply(route())
        assert http("DELETE", f"{SHOP}/web", params={"dryRun": "All"}).status_code == 200
        assert kube.get("Route", "shop", "web")


@pytest.mark.parametrize(("method", "path"), [
    pytest.param("POST", f"{SHOP}/web", id="create with a name"),
    pytest.param("PUT", SHOP, id="update without a name"),
    pytest.param("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", id="list of reviews"),
])  # fmt: skip
def test_method_not_allowed(http, method, path):
    reply = http(method, path, json={})
    assert (reply.status_code, reply.json()["reason"]) == (405, "MethodNotAllowed")


def test_too_large(http):
    """A body over 3 MiB is refused as in a real server."""
    assert http("POST", SHOP, data=b"x" * (3 * 1024 * 1024 + 1)).status_code == 413


LEASES = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"


def lease(**spec) -> dict:
    held = {"holderIdentity": "a", "leaseDurationSeconds": 15}
    return {"metadata": {"name": "router"}, "spec": held | spec}


class TestLeases:
    """Rules that leader election relies on."""

    def test_races(self, http):
        """One of two that create it, or write after one reading, gets 409; a deleted one does not return."""
        first = http("POST", LEASES, json=lease()).json()
        reply = http("POST", LEASES, json=lease())
        assert (reply.status_code, reply.json()["reason"]) == (409, "AlreadyExists")
        assert http("PUT", f"{LEASES}/router", json=lease()).status_code == 422, "without a resourceVersion"
        assert http("PUT", f"{LEASES}/router", json=first | {"spec": lease()["spec"]}).status_code == 200
        http("PUT", f"{LEASES}/router", json=first | {"spec": {"holderIdentity": "b"}})
        reply = http("PUT", f"{LEASES}/router", json=first)
        assert (reply.status_code, reply.json()["reason"]) == (409, "Conflict")
        http("DELETE", f"{LEASES}/router")
        assert http("PUT", f"{LEASES}/router", json=first).status_code == 409
        assert http.get(f"{LEASES}/router").status_code == 404

    @pytest.mark.parametrize(("spec", "status"), [
        ({"renewTime": "2026-01-01T00:00:00.000001Z"}, 201),
        ({"renewTime": "2026-01-01T00:00:00Z"}, 400),
        ({"acquireTime": "2026-01-01T00:00:00.001Z"}, 400),
        ({"leaseDurationSeconds": 0}, 422),
        ({"leaseTransitions": -1}, 422),
    ])
    def test_fields(self, http, spec, status):
        """Times have microseconds, durations at least a second."""
        assert http("POST", LEASES, json=lease(**spec)).status_code == status
