"""The clients people use: the kubernetes Python package, kubectl, the command line."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import kubernetes
import pytest
import requests
import yaml

from mocks.kube.__main__ import main
from mocks.kube.services import node_object, service_objects
from tests.signals import command_line
from tests.waiting import DEADLINE_S

from .objects import admitted, route

ROUTE_API = ("route.openshift.io", "v1")
ROOT = Path(__file__).parents[3]


class TestPython:
    """The kubernetes package."""

    def test_core(self, kube, api_client):
        kube.apply([*service_objects("shop", "web", [80], ["10.1.0.1"]), node_object("n1", "10.0.0.1")])
        core = kubernetes.client.CoreV1Api(api_client)
        assert [node.metadata.name for node in core.list_node().items] == ["n1"]
        assert core.read_namespaced_endpoints("web", "shop").subsets[0].addresses[0].ip == "10.1.0.1"
        slices = kubernetes.client.DiscoveryV1Api(api_client).list_endpoint_slice_for_all_namespaces().items
        assert slices[0].endpoints[0].addresses == ["10.1.0.1"]
        with pytest.raises(kubernetes.client.ApiException) as caught:
            core.read_namespaced_secret("none", "shop")
        assert (caught.value.status, json.loads(caught.value.body)["reason"]) == (404, "NotFound")

    def test_custom_objects(self, kube, api_client):
        """Create, patch of the status, replace, delete of a Route."""
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        custom = kubernetes.client.CustomObjectsApi(api_client)
        where = (*ROUTE_API, "shop", "routes")
        custom.create_namespaced_custom_object(*where, route())
        custom.patch_namespaced_custom_object_status(*where, "web", {"status": admitted("web.example.com")})
        read = custom.get_namespaced_custom_object(*where, "web")
        assert read["status"]["ingress"][0]["routerName"] == "f5"
        read["spec"]["path"] = "/x"
        custom.replace_namespaced_custom_object(*where, "web", read)
        with pytest.raises(kubernetes.client.ApiException, match="modified"):
            custom.replace_namespaced_custom_object(*where, "web", read | {"spec": {}})
        custom.delete_namespaced_custom_object(*where, "web")
        assert kube.list("Route") == []

    def test_watch(self, kube, api_client):
        """Watch resumes where its list ended and sees each change."""
        kube.apply(route("a"))
        custom = kubernetes.client.CustomObjectsApi(api_client)
        watch, seen = kubernetes.watch.Watch(), []
        kube.apply(route("b"))
        for event in watch.stream(
            custom.list_cluster_custom_object, *ROUTE_API, "routes", timeout_seconds=10,
            _request_timeout=DEADLINE_S,
        ):
            seen.append((event["type"], event["object"]["metadata"]["name"]))
            if len(seen) == 2:
                kube.delete("Route", "shop", "a")
            if len(seen) == 3:
                watch.stop()
        assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]

    def test_watch_expired(self, kube, api_client):
        """A forgotten resourceVersion is an ApiException with 410."""
        kube.apply([route("a"), route("b")])
        kube.compact()
        core = kubernetes.client.CustomObjectsApi(api_client)
        stream = kubernetes.watch.Watch().stream(
            core.list_cluster_custom_object, *ROUTE_API, "routes", resource_version="2", timeout_seconds=5
        )
        with pytest.raises(kubernetes.client.ApiException) as caught:
            list(stream)
        assert caught.value.status == 410

    def test_lease(self, kube, api_client):
        """Leases refuse the loser of a race, as leader election needs."""
        leases = kubernetes.client.CoordinationV1Api(api_client)
        body = {"metadata": {"name": "router"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}
        leases.create_namespaced_lease("default", body)
        mine, other = (leases.read_namespaced_lease("router", "default") for _ in range(2))
        mine.spec.holder_identity, other.spec.holder_identity = "a2", "b"
        leases.replace_namespaced_lease("router", "default", mine)
        with pytest.raises(kubernetes.client.ApiException, match="Conflict"):
            leases.replace_namespaced_lease("router", "default", other)

    def test_events(self, kube, api_client):
        """An event is found by the object it is about."""
        about = {"kind": "Route", "namespace": "default", "name": "web", "uid": "u"}
        body = {
            "metadata": {"generateName": "web."},
            "involvedObject": about,
            "reason": "Admitted",
            "type": "Normal",
        }
        core = kubernetes.client.CoreV1Api(api_client)
        core.create_namespaced_event("default", body)
        chosen = core.list_namespaced_event("default", field_selector="involvedObject.name=web,type=Normal")
        assert [event.reason for event in chosen.items] == ["Admitted"]


class TestKubectl:
    """kubectl, whichever version is installed."""

    @pytest.fixture
    def cluster(self, kube):
        kube.apply(
            [*service_objects("shop", "web", [80], ["10.1.0.1", "10.1.0.2"]), node_object("n1", "10.0.0.1")]
        )
        kube.apply(route() | {"status": admitted("web.example.com")})
        return kube

    def test_get_routes(self, cluster, kubectl):
        """The columns of oc."""
        lines = kubectl("get", "routes", "-A", check=True).stdout.splitlines()
        assert lines[0].split() == [
            "NAMESPACE", "NAME", "HOST/PORT", "PATH", "SERVICES", "PORT", "TERMINATION", "WILDCARD",
        ]  # fmt: skip
        assert lines[1].split() == ["shop", "web", "web.example.com", "web", "<all>", "None"]

    def test_get_several_kinds(self, cluster, kubectl):
        text = kubectl("get", "svc,endpoints,nodes", "-A", check=True).stdout
        assert "service/web" in text
        assert "10.1.0.1:80,10.1.0.2:80" in text
        assert ["node/n1", "Ready", "<none>"] in [line.split()[:3] for line in text.splitlines()]

    def test_get_yaml(self, cluster, kubectl):
        """Its output can be loaded again."""
        document = yaml.safe_load(kubectl("get", "routes", "-n", "shop", "-o", "yaml", check=True).stdout)
        assert document["items"][0]["kind"] == "Route"
        assert document["items"][0]["spec"] == cluster.get("Route", "shop", "web")["spec"]

    def test_apply_change_delete(self, cluster, kubectl):
        """Create, an apply without a difference, a change of one port, delete; a Service and a Route."""
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "new", "namespace": "shop"},
            "spec": {"ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]},
        }
        text = yaml.safe_dump_all([service, route("new")])
        assert kubectl("apply", "-f", "-", input=text, check=True).stdout.split()[1::2] == ["created"] * 2
        assert kubectl("apply", "-f", "-", input=text, check=True).stdout.split()[1::2] == ["unchanged"] * 2
        text = text.replace("port: 443", "port: 444").replace("new.example.com", "other.example.com")
        assert kubectl("apply", "-f", "-", input=text, check=True).stdout.split()[1::2] == ["configured"] * 2
        assert [p["port"] for p in cluster.get("Service", "shop", "new")["spec"]["ports"]] == [80, 444]
        assert cluster.get("Route", "shop", "new")["spec"]["host"] == "other.example.com"
        kubectl("delete", "-f", "-", input=text, check=True)
        assert cluster.get("Route", "shop", "new") is None

    def test_refused(self, cluster, kubectl):
        """The server's message reaches the person."""
        reply = kubectl("apply", "-f", "-", input=yaml.safe_dump(route("bad", host="A_B")))
        assert reply.returncode != 0
        assert 'The Route "bad" is invalid: \n* spec.host: Invalid value: "A_B"' in reply.stderr

    def test_patch_label_annotate(self, cluster, kubectl):
        kubectl("label", "route/web", "-n", "shop", "tier=front", check=True)
        kubectl("annotate", "service/web", "-n", "shop", "a=b", check=True)
        patch = '{"spec":{"path":"/x"}}'
        kubectl("patch", "route/web", "-n", "shop", "--type=merge", "-p", patch, check=True)
        stored = cluster.get("Route", "shop", "web")
        assert (stored["metadata"]["labels"], stored["spec"]["path"]) == ({"tier": "front"}, "/x")
        assert cluster.get("Service", "shop", "web")["metadata"]["annotations"] == {"a": "b"}

    def test_describe(self, cluster, kubectl):
        """With the events about the Route."""
        about = {"kind": "Route", "namespace": "shop", "name": "web"}
        about["uid"] = cluster.get("Route", "shop", "web")["metadata"]["uid"]
        metadata = {"name": "web.1", "namespace": "shop"}
        cluster.apply({"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about,
                       "reason": "HostClaimed", "type": "Normal", "message": "admitted"})  # fmt: skip
        text = kubectl("describe", "route", "web", "-n", "shop", check=True).stdout
        assert "web.example.com" in text
        assert "HostClaimed" in text

    def test_watch(self, cluster, kubectl):
        """get -w prints a line per change."""
        command = [*kubectl.command, "get", "routes", "-n", "shop", "-w"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
            try:
                assert read_line(process).split()[0] == "NAME"
                assert read_line(process).split()[0] == "web"
                assert cluster.wait_for(lambda: cluster.watches)
                cluster.apply(route("next"))
                assert read_line(process).split()[0] == "next"
            finally:
                process.kill()

    def test_server_side_apply(self, cluster, kubectl):
        kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(route("ssa")), check=True)
        assert cluster.get("Route", "shop", "ssa")


def read_line(process: subprocess.Popen, timeout_s: float = DEADLINE_S) -> str:
    """Next line of a running program, unbuffered; fails the test after timeout_s."""
    ready, _, _ = select.select([process.stdout], [], [], timeout_s)
    assert ready, "the program printed nothing"
    return process.stdout.readline().decode()


class TestCommandLine:
    """``python -m mocks.kube``."""

    def start(self, *arguments: str) -> subprocess.Popen:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "mocks.kube", *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
    def test_serves_until_stopped(self, tmp_path, number):
        """One line when ready; a running watch does not hold it up."""
        objects, config = tmp_path / "objects.yaml", tmp_path / "config"
        objects.write_text(yaml.safe_dump(route()))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        arguments = (
            "--port",
            str(port),
            "--load",
            str(objects),
            "--write-kubeconfig",
            str(config),
            "--token",
            "t",
        )
        with self.start(*arguments) as process:
            assert read_line(process) == f"ready: https://127.0.0.1:{port} kubeconfig={config}\n"
            with kubernetes.config.new_client_from_config(str(config)) as client:
                custom = kubernetes.client.CustomObjectsApi(client)
                assert (
                    custom.list_cluster_custom_object(*ROUTE_API, "routes")["items"][0]["spec"]
                    == route()["spec"]
                )
                url, headers = f"https://127.0.0.1:{port}/api/v1/nodes?watch=1", {"Authorization": "Bearer t"}
                authority = client.configuration.ssl_ca_cert
                with requests.get(url, headers=headers, stream=True, verify=authority, timeout=DEADLINE_S):
                    process.send_signal(number)
                    rest, errors = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, rest, errors) == (0, b"", b"")

    def test_without_openshift(self, tmp_path):
        config = tmp_path / "config"
        with self.start("--no-openshift", "--no-slices", "--write-kubeconfig", str(config)) as process:
            read_line(process)
            with kubernetes.config.new_client_from_config(str(config)) as client:
                groups = {group.name for group in kubernetes.client.ApisApi(client).get_api_versions().groups}
            process.terminate()
        assert groups.isdisjoint({"route.openshift.io", "network.openshift.io", "discovery.k8s.io"})

    def test_bad_file(self, tmp_path):
        """A clear error, no traceback."""
        path = tmp_path / "bad.yaml"
        path.write_text("kind: [")
        result = command_line(main, "--load", str(path))
        assert result.exit_code == 1
        assert result.stderr.startswith(f"Error: {path}: document 1: ")
        assert "Traceback" not in result.stderr
