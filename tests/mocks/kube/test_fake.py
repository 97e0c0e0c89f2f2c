"""The Python interface: objects, files, log, stop and start."""

import json
import threading

import pytest
import requests
import yaml

from mocks.kube import FakeKube, InvalidObject, ManifestError, UnknownKind
from mocks.kube.kinds import INGRESS_APIS
from mocks.kube.services import node_object, service_objects

from .conftest import Http
from .objects import ROUTES, SHOP, names, route


class TestApply:
    """Create or replace, as given."""

    def test_creates(self, kube):
        stored = kube.apply(route())
        assert stored == kube.get("Route", "shop", "web")
        assert stored["spec"] == route()["spec"]
        assert kube.list("Route", "shop") == [stored]
        assert kube.list("Route", "other") == []

    def test_keeps_what_is_given(self, kube):
        given = {"uid": "u-1", "creationTimestamp": "2020-01-02T03:04:05Z"}
        kube.apply(route(**given) | {"status": {"ingress": []}})
        stored = kube.get("Route", "shop", "web")
        assert {name: stored["metadata"][name] for name in given} == given
        assert stored["status"] == {"ingress": []}

    def test_replaces(self, kube):
        """The identity and, unless given, the status stay; the rest is what the caller says."""
        first = kube.apply(route(labels={"a": "b"}) | {"status": {"ingress": []}})
        second = kube.apply(route(host="b.example.com"))
        assert second["metadata"]["uid"] == first["metadata"]["uid"]
        assert second["status"] == {"ingress": []}
        assert "labels" not in second["metadata"]
        assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
        assert kube.apply(route(uid="u-2"))["metadata"]["uid"] == "u-2"

    def test_always_an_event(self, kube, http):
        """Even an equal object gets a new resourceVersion, so a test can provoke an event."""
        stream = http.watch(ROUTES)
        for _ in range(2):
            kube.apply(route())
        assert [stream.next()[0] for _ in range(2)] == ["ADDED", "MODIFIED"]

    def test_generation(self, kube):
        ingress = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "i"},
            "spec": {},
        }
        assert kube.apply(ingress)["metadata"]["generation"] == 1
        assert kube.apply(ingress | {"spec": {"rules": []}})["metadata"]["generation"] == 2
        assert kube.apply(ingress | {"status": {}, "spec": {"rules": []}})["metadata"]["generation"] == 2

    def test_is_a_copy(self, kube, http):
        """Later changes by the caller do not reach the store."""
        obj = route()
        kube.apply(obj)["spec"]["host"] = "no"
        obj["spec"]["host"] = "no"
        kube.get("Route", "shop", "web")["spec"]["host"] = "no"
        http.patch(f"{SHOP}/web", {"metadata": {"labels": {"a": "b"}}})
        assert kube.get("Route", "shop", "web")["spec"]["host"] == "web.example.com"

    def test_namespace_is_made(self, kube):
        kube.apply(route(namespace="new"))
        assert kube.get("Namespace", None, "new")["metadata"]["labels"] == {
            "kubernetes.io/metadata.name": "new"
        }
        kube.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": {"a": "b"}}}
        )
        assert kube.get("Namespace", None, "new")["metadata"]["labels"]["a"] == "b"
        assert kube.get("Namespace", None, "new")["status"] == {"phase": "Active"}

    def test_several(self, kube):
        kube.apply([route("a"), route("b")])
        kube.apply({"apiVersion": "v1", "kind": "List", "items": [route("c")]})
        assert [obj["metadata"]["name"] for obj in kube.list("Route")] == ["a", "b", "c"]

    @pytest.mark.parametrize(("obj", "error"), [
        pytest.param(route() | {"kind": "Thing"}, UnknownKind, id="kind"),
        pytest.param({"apiVersion": "v1", "kind": "Node", "metadata": {}}, InvalidObject, id="no name"),
        pytest.param(route(created=object()), InvalidObject, id="not JSON"),
    ])  # fmt: skip
    def test_refused(self, kube, obj, error):
        with pytest.raises(error):
            kube.apply(obj)

    def test_events_of_both_groups(self, kube):
        """Two kinds are called Event; the group tells them apart."""
        kube.apply(
            {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "note": "n"}
        )
        assert kube.get("Event.events.k8s.io", None, "e")["note"] == "n"


def test_delete(kube):
    """Deletion ignores finalizers; a missing object is the caller's mistake."""
    kube.apply([route(finalizers=["a/b"]), node_object("n1", "10.0.0.1")])
    kube.delete("Route", "shop", "web")
    kube.delete("Node", None, "n1")
    assert kube.list("Route") == kube.list("Node") == []
    with pytest.raises(KeyError):
        kube.delete("Route", "shop", "web")


class TestLoad:
    """YAML files."""

    def test_documents_and_lists(self, kube, tmp_path):
        """Several documents, Lists and typed lists; an unquoted timestamp stays text."""
        typed = {"apiVersion": "route.openshift.io/v1", "kind": "RouteList", "items": [route("c")]}
        del typed["items"][0]["kind"], typed["items"][0]["apiVersion"]
        both = {"apiVersion": "v1", "kind": "List", "items": [route("b"), node_object("n1", "10.0.0.1")]}
        documents = [yaml.safe_dump(document) for document in (route("a"), None, both, typed)]
        text = "---\n".join(documents).replace(
            "name: a", "name: a\n  creationTimestamp: 2020-01-01T00:00:00Z", 1
        )
        path = tmp_path / "cluster.yaml"
        path.write_text(text)
        kube.load(path)
        assert [obj["metadata"]["name"] for obj in kube.list("Route")] == ["a", "b", "c"]
        assert kube.get("Route", "shop", "a")["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
        assert kube.get("Node", None, "n1")

    def test_routes_are_not_validated(self, kube, tmp_path):
        odd = route(host="Not a_host") | {"status": {"ingress": []}}
        odd["spec"]["to"]["weight"] = 1000
        path = tmp_path / "odd.yaml"
        path.write_text(yaml.safe_dump(odd))
        kube.load(path)
        assert kube.get("Route", "shop", "web")["spec"] == odd["spec"]

    @pytest.mark.parametrize(("second", "message"), [
        pytest.param("a: [", "document 2: while parsing", id="not YAML"),
        pytest.param("a: b", "document 2: not an object", id="no kind"),
        pytest.param("[1]", "document 2: not an object", id="not a mapping"),
        pytest.param("{apiVersion: v1, kind: Thing, metadata: {name: a}}", "document 2: .*Thing", id="kind"),
        pytest.param("{apiVersion: v1, kind: Node}", "document 2: Node without metadata.name", id="no name"),
        pytest.param("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node}]}",
                     r"document 2, items\[0\]: Node without", id="item"),
    ])  # fmt: skip
    def test_bad_file(self, kube, tmp_path, second, message):
        """The message names file and document; nothing of the file is loaded."""
        path = tmp_path / "bad.yaml"
        path.write_text(yaml.safe_dump(route()) + "---\n" + second)
        with pytest.raises(ManifestError, match=f"bad.yaml: {message}"):
            kube.load(path)
        assert kube.list("Route") == []


def test_log(kube, http):
    """Requests with method, path, query and status, watches from their start."""
    kube.apply(route())
    http.get(ROUTES, limit=5)
    http.get(f"{SHOP}/none")
    http.watch(ROUTES, resourceVersion="0").next()
    method, path, query, status = kube.log[0]
    assert (method, path, query, status) == ("GET", ROUTES, {"limit": "5"}, 200)
    assert [entry.status for entry in kube.log] == [200, 404, 200]
    assert kube.log[2].query["watch"] == "true"
    kube.clear_log()
    assert kube.log == []


def test_wait_for(kube):
    """Woken by a change of another thread; gives up after its time."""
    other = threading.Thread(target=kube.apply, args=(route(),))

    def applied():
        if not other.ident:
            other.start()  # waits for the lock that wait_for gives up while it waits
        return kube.list("Route")

    assert kube.wait_for(applied, timeout_s=10_000)
    other.join()
    assert not kube.wait_for(lambda: False, timeout_s=0.01)


class TestStop:
    """Stop and start."""

    def test_same_port_and_state(self, kube, http):
        kube.apply(route())
        stream, url = http.watch(ROUTES), kube.url
        assert stream.next() == ("ADDED", "web")
        kube.stop()
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            next(stream)
        with pytest.raises(requests.ConnectionError):
            http.get(ROUTES)
        assert kube.watches == []
        kube.apply(route("while-down"))
        kube.start()
        assert kube.url == url
        assert names(http.get(ROUTES).json()) == ["web", "while-down"]

    @pytest.mark.parametrize(("new_history", "first"), [(True, "ERROR"), (False, "ADDED")])
    def test_restart(self, kube, http, new_history, first):
        """A restart that loses the history makes older resourceVersions too old."""
        version = http.get(ROUTES).json()["metadata"]["resourceVersion"]
        kube.apply(route())
        kube.restart(new_history=new_history)
        assert next(http.watch(ROUTES, resourceVersion=version))["type"] == first

    def test_twice(self, kube):
        kube.start()
        kube.stop()
        kube.stop()

    def test_port_in_use(self, kube):
        port = int(kube.url.rpartition(":")[2])
        with pytest.raises(OSError, match="address already in use"):
            FakeKube(port=port).start()


def test_service_objects(kube, http):
    """A Service, its slices per address family and its Endpoints agree."""
    ports = [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "https", "port": 443}]
    ips = ["10.1.0.1", "fd00::1"]
    kube.apply(service_objects("shop", "web", ports, ips, not_ready=["10.1.0.2"], node="n1"))
    assert [port["targetPort"] for port in kube.get("Service", "shop", "web")["spec"]["ports"]] == [8080, 443]
    path = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
    slices = http.get(path, labelSelector="kubernetes.io/service-name=web").json()["items"]
    assert [(slice_["addressType"], [p["port"] for p in slice_["ports"]]) for slice_ in slices] == [
        ("IPv4", [8080, 443]), ("IPv6", [8080, 443]),
    ]  # fmt: skip
    assert [(e["addresses"], e["conditions"]["ready"], e["nodeName"]) for e in slices[0]["endpoints"]] == [
        (["10.1.0.1"], True, "n1"), (["10.1.0.2"], False, "n1"),
    ]  # fmt: skip
    subset = kube.get("Endpoints", "shop", "web")["subsets"][0]
    assert [address["ip"] for address in subset["addresses"]] == ips
    assert [address["ip"] for address in subset["notReadyAddresses"]] == ["10.1.0.2"]


def test_service_without_pods(kube):
    objects = service_objects("shop", "web", [80], [])
    assert [obj["kind"] for obj in objects] == ["Service", "EndpointSlice", "Endpoints"]
    assert objects[1]["endpoints"] == []
    assert "subsets" not in objects[2]


def test_ten_thousand_routes():
    """A big cluster is listed, paged and watched; bytes of the pages are those of the list."""
    with FakeKube(history=20_000) as kube:
        http = Http(kube)
        kube.apply([route(f"r{n:05}") for n in range(10_000)])
        whole = http.get(ROUTES).json()["items"]
        assert len(whole) == 10_000
        paged, token = [], ""
        while True:
            page = http.get(ROUTES, limit=2_500, **({"continue": token} if token else {})).json()
            paged += page["items"]
            if not (token := page["metadata"].get("continue", "")):
                break
        assert json.dumps(paged) == json.dumps(whole)
        stream = http.watch(ROUTES)
        assert sum(1 for _ in zip(range(10_000), stream, strict=False)) == 10_000


@pytest.mark.parametrize("served", INGRESS_APIS)
@pytest.mark.parametrize("version", INGRESS_APIS)
def test_ingresses_of_any_version(served, version):
    """Whichever version is served, the Python interface finds what was applied."""
    kube = FakeKube(ingress_api=served)
    kube.apply({"apiVersion": version, "kind": "Ingress", "metadata": {"name": "a", "namespace": "shop"}})
    assert kube.get("Ingress", "shop", "a")["apiVersion"] == version
    kube.delete("Ingress", "shop", "a")
    assert kube.get("Ingress", "shop", "a") is None
    with pytest.raises(KeyError):
        kube.delete("Ingress", "shop", "a")
