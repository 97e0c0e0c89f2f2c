"""Requests for one host on two front ends of one router: each gets to the pods of its own Route."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

HOST = "www.example.com"
OUTSIDE, WITHIN = identity(HOST, serial=1), identity(HOST, serial=2)
ENTRIES = [{"name": "default", "f5-vserver-address": "203.0.113.10", "labels": "!zone"},
           {"name": "internal", "f5-vserver-address": "10.0.0.10", "labels": "zone=internal"}]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    """Two namespaces, each with Routes of the same hosts on one of the front ends."""
    with ExitStack() as stack:
        path = tmp_path_factory.mktemp("site")
        (path / "front-ends.json").write_text(json.dumps(ENTRIES))
        whole = Site(stack, path, address="")
        for namespace, labels, pair, pod in (
                ("shop", {}, OUTSIDE, "1"), ("other", {"zone": "internal"}, WITHIN, "2")):
            whole.serve(f"web-{namespace}", f"10.1.1.{pod}", namespace=namespace)
            whole.serve(f"tls-{namespace}", f"10.1.2.{pod}", namespace=namespace, port=8443, tls=PODS)
            routes = (
                manifests.route("edge", namespace=namespace, host=HOST, service=f"web-{namespace}",
                                kind="edge", insecure="Allow", certificate=pair.certificate, key=pair.key),
                manifests.route("through", namespace=namespace, host="through.example.com",
                                service=f"tls-{namespace}", kind="passthrough"),
                manifests.route("again", namespace=namespace, host="again.example.com",
                                service=f"tls-{namespace}", kind="reencrypt",
                                destinationCACertificate=PODS.issuer))
            whole.apply(*({**route, "metadata": {**route["metadata"], "labels": labels}} for route in routes))
        assert whole.converge(front_ends=str(path / "front-ends.json")) == []
        yield whole
        assert whole.faults() == []


@rows(("virtual", "namespace"), [("https-ose-vserver", "shop"), ("openshift_https__internal", "other")])
@rows(("host", "service"), [(HOST, "web"), ("through.example.com", "tls"), ("again.example.com", "tls")])
def test_https(site, virtual, namespace, host, service):
    reply = clients.python(site.bigip.endpoint(f"/Common/{virtual}"), host)
    assert (reply.status, reply.pod.get("pod", "").rpartition("-")[0]) == (200, f"{service}-{namespace}")


@rows(("virtual", "namespace"), [("ose-vserver", "shop"), ("openshift_http__internal", "other")])
def test_http(site, virtual, namespace):
    reply = clients.plain(site.bigip.endpoint(f"/Common/{virtual}"), HOST)
    assert (reply.status, reply.pod.get("pod", "").rpartition("-")[0]) == (200, f"web-{namespace}")
