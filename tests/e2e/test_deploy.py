"""docs/deploy works as it is written: with its rights, files, variables and probes, and nothing else."""

import re
import signal
import time
from contextlib import ExitStack

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from tests import manifests
from tests.builders import identity
from tests.e2e import deployment, image
from tests.e2e.deployment import FOLDER
from tests.e2e.nursery import Forked
from tests.e2e.pages import blocks
from tests.e2e.site import Site
from tests.waiting import DEADLINE_S


@pytest.fixture
def site(tmp_path):
    with ExitStack() as stack:
        yield Site(stack, tmp_path)


def test_the_deployment_from_start_to_end(site):
    """Served, told, probed, measured, ended; no request is refused, no file is written."""
    site.load()
    pod = site.start(copied=False)
    box = deployment.container()
    pod.until(lambda: pod.get(box["readinessProbe"]).status_code == 200)
    assert pod.get(box["livenessProbe"]).text == "ok"
    assert site.pool("www.example.com") == "/Common/openshift_shop_web"
    assert site.pool("edge.example.com", tls=True) == "/Common/openshift_shop_web"
    pod.until(lambda: site.status("plain") == site.status("edge") == "True")
    site.warn_again(pod)
    pod.until(lambda: ("spec.to.name: there is no Service none", 2) in site.events("lost"))
    families = {family.name: family for family in text_string_to_metric_families(pod.get("/metrics").text)}
    admitted = {sample.labels["verdict"]: sample.value for sample in families["f5router_routes"].samples}
    assert admitted == {"admitted": 3, "rejected": 0, "device_rejected": 0, "pending": 0}
    assert families["f5router_last_success_timestamp_seconds"].samples[0].value > time.time() - DEADLINE_S
    grace_s = deployment.pod_spec()["terminationGracePeriodSeconds"]
    pod.process.send_signal(signal.SIGTERM)
    assert pod.process.wait(min(grace_s, DEADLINE_S)) == 0, pod.log
    assert {line["level"] for line in pod.lines()} <= {"info", "warning"}
    assert "READ-ONLY" not in pod.log
    assert "ssh" in pod.log
    assert {entry.status for entry in site.kube.log} <= {200, 201}
    assert site.bigip.errors == []


@pytest.mark.parametrize("right", deployment.rights(), ids=lambda right: " ".join(reversed(right)).strip())
def test_every_right_is_needed(site, right):
    """Without any one of them something does not work, and the log says which right that takes."""
    group, resource, verb = right
    if resource == "endpoints":
        site.without_slices()
    if group == "extensions":
        site.older_ingresses()
    if resource == "gatewayclasses":
        site.with_gateway_api()
    site.load()
    more = {}
    if resource == "gatewayclasses":  # listed to see whether to serve Gateways, which takes the other role
        site.kube.delete("ClusterRoleBinding", None, "f5router-gateway-api")
        more["ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS"] = "203.0.113.10"
    if resource == "ingresses/status":
        site.apply(manifests.ingress("site", ("i.example.com", "/", "web", 8080), annotations={
            "kubernetes.io/ingress.class": "f5router"}) | (
                {"apiVersion": "extensions/v1beta1"} if group == "extensions" else {}))
    site.apply(deployment.role([other for other in deployment.rights() if other != right]))
    pod = site.start(more=more)
    if (resource, verb) == ("events", "patch"):
        site.warn_again(pod)
    words = f'cannot {verb} resource "{resource}" in API group "{group}"'
    pod.until(lambda: any(words in line.get("error", "") for line in pod.lines()))
    told = next(line for line in pod.lines() if words in line.get("error", ""))
    assert told["level"] in ("warning", "error", "info")
    assert "f5router" in told["error"]
    if resource in ("routes", "services", "endpoints", "endpointslices"):
        pod.until(lambda: words[:20] in pod.get("/readyz").text)
        assert pod.get("/healthz").text == "ok"
    if resource == "routes/status":
        assert site.status("plain") == ""


NAMESPACES = deployment.rights("f5router-namespaces")


@pytest.mark.parametrize("right", [right for right in NAMESPACES if right[2] != "get"],
                         ids=lambda right: right[2])
def test_every_right_for_labelled_namespaces_is_needed(site, right):
    """Each right of the file that only they need is missed in the log. `get` is for --namespace."""
    site.load()
    for other in ("f5router-sdn-reader", "f5router-gateway-api"):  # these roles allow this too
        site.kube.delete("ClusterRoleBinding", None, other)
    site.apply({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "shop", "labels": {"zone": "west"}}},
               deployment.role([other for other in NAMESPACES if other != right], "f5router-namespaces"))
    pod = site.start(more={"NAMESPACE_LABELS": "zone=west"})
    words = f'cannot {right[2]} resource "namespaces" in API group ""'
    pod.until(lambda: any(words in line.get("error", "") for line in pod.lines()))
    if right[2] == "list":
        assert site.bigip.writes() == []
    site.apply(deployment.role(NAMESPACES, "f5router-namespaces"))
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    assert site.pool("www.example.com") == "/Common/openshift_shop_web"


def test_endpoints_are_enough(site):
    """A cluster without EndpointSlices, as OpenShift 3 is."""
    site.without_slices()
    site.load()
    pod = site.start()
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    assert site.pool("www.example.com") == "/Common/openshift_shop_web"
    assert {entry.status for entry in site.kube.log} <= {200, 201, 404}


COPY = """
import os, sys, time
print(os.getcwd(), sys.argv[1:], dict(os.environ), flush=True)
print("error", file=sys.stderr, flush=True)
time.sleep(float(sys.argv[1]))
sys.exit(3)
"""


def test_a_copy_is_a_process_of_its_own(tmp_path):
    """With arguments and environment, an exit status, and an end by signals; another one is not disturbed."""
    def start(name: str, *arguments: str) -> Forked:
        with (tmp_path / name).open("wb") as output:
            return Forked(COPY, arguments, first=image.variables(), environment={"A": "b"}, output=output)

    hanging, ending = start("hanging", "1e6"), start("ending", "0", "x")
    assert ending.wait(DEADLINE_S) == 3
    assert (tmp_path / "ending").read_text() == "/ ['0', 'x'] {'A': 'b'}\nerror\n"
    ending.kill()
    assert hanging.poll() is None
    hanging.send_signal(signal.SIGTERM)
    assert hanging.wait(DEADLINE_S) == -signal.SIGTERM


def test_the_bindings(site):
    """Nodes by system:sdn-reader, and nothing that is not needed."""
    site.load()
    token = site.kube.token_for("f5router", "f5router")

    def status(path: str) -> int:
        return requests.get(f"{site.kube.url}{path}", headers={"Authorization": f"Bearer {token}"},
                            verify=site.kube.ca_file, timeout=DEADLINE_S).status_code

    assert [status(f"/api/v1/{kind}") for kind in ("nodes", "secrets", "configmaps", "pods")] == [
        200, 403, 403, 403]
    site.kube.delete("ClusterRoleBinding", None, "f5router-sdn-reader")
    assert status("/api/v1/nodes") == 403
    assert status("/apis/route.openshift.io/v1/routes") == 200


def test_one_at_a_time_and_without_privileges():
    """The Pod Security Standard "restricted", and one replica with strategy Recreate."""
    spec = deployment.document("Deployment", "f5router")["spec"]
    pod, box = spec["template"]["spec"], deployment.container()
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert box["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                      "capabilities": {"drop": ["ALL"]}}
    labels = spec["template"]["metadata"]["labels"].items()
    service = deployment.document("Service", "f5router-metrics")["spec"]
    assert spec["selector"]["matchLabels"].items() <= labels
    assert service["selector"].items() <= labels
    assert [port["targetPort"] for port in service["ports"]] == [port["name"] for port in box["ports"]]
    listen = next(item["value"] for item in box["env"] if item["name"] == "ROUTER_LISTEN_ADDR")
    assert listen == f":{box['ports'][0]['containerPort']}"


def test_metrics_over_https(site, tmp_path):
    """As migrated deployments ask for them: probes stay HTTP, the password goes over TLS, and the cluster
    replaces the certificate."""
    first, two = (identity("127.0.0.1", ca=name) for name in ("One", "Two"))
    mounted = deployment.folder(tmp_path / "metrics", {"tls.crt": first.certificate, "tls.key": first.key})
    trusted = deployment.folder(tmp_path / "trusted", {"one": first.issuer, "two": two.issuer})
    site.load()
    pod = site.start(more={
        "ROUTER_METRICS_TLS_CERT_FILE": f"{mounted}/tls.crt",
        "ROUTER_METRICS_TLS_KEY_FILE": f"{mounted}/tls.key",
        "STATS_USERNAME": "prometheus", "STATS_PASSWORD": "gauge-word"})
    login = ("prometheus", "gauge-word")
    box = deployment.container()
    pod.until(lambda: pod.get(box["readinessProbe"]).status_code == 200)
    assert pod.get(box["livenessProbe"]).text == "ok"
    assert pod.get("/metrics", auth=login).status_code == 403
    page = pod.get("/metrics", "https", verify=f"{trusted}/one", auth=login)
    assert "f5router_routes" in page.text
    with pytest.raises(requests.exceptions.SSLError):
        pod.get("/metrics", "https", verify=f"{trusted}/two", auth=login)
    for name, text in (("tls.crt", two.certificate), ("tls.key", two.key)):
        (mounted / name).write_text(text)
    assert pod.get("/metrics", "https", verify=f"{trusted}/two", auth=login).status_code == 200
    assert "Traceback" not in pod.log
    assert "gauge-word" not in pod.log
    assert {line["level"] for line in pod.lines()} <= {"info", "warning"}


def test_the_lines_for_https_go_together():
    """Variables, mount, volume and the Secret that OpenShift makes."""
    manifest, service = deployment.with_lines_of("ROUTER_METRICS_TLS", "metrics-tls")
    pod = manifest["spec"]["template"]["spec"]
    (box,) = pod["containers"]
    paths = [item["value"] for item in box["env"] if item["name"].startswith("ROUTER_METRICS_TLS")]
    (mount,) = (mount for mount in box["volumeMounts"] if mount["name"] == "metrics-tls")
    (volume,) = (volume for volume in pod["volumes"] if volume["name"] == "metrics-tls")
    assert paths == [f"{mount['mountPath']}/tls.crt", f"{mount['mountPath']}/tls.key"]
    assert list(service["metadata"]["annotations"].values()) == [volume["secret"]["secretName"]]


def test_the_lines_for_the_login_go_together(site):
    """They read the Secret that docs/status-page.md makes: the page is shown to this login alone."""
    (command,) = (block.text for block in blocks("status-page.md") if "create secret" in block.text)
    name = command.removeprefix("kubectl create secret generic ").split()[0]
    secret = dict(re.findall(r"--from-literal=(\w+)=(\S+)", command))
    site.load()
    manifest, _ = deployment.with_lines_of("STATS_", "metrics-login")
    pod = site.start(workload=manifest, secrets={name: secret})
    pod.until(lambda: pod.get(pod.box["readinessProbe"]).status_code == 200)
    for path in ("/", "/metrics"):
        assert [pod.get(path, auth=login).status_code for login in (
            (secret["username"], secret["password"]), ("operator", "wrong"), None)] == [200, 401, 401]


def test_secrets_of_yaml_have_the_same_keys(site):
    """The Secrets of the commands are those of 20-secrets.yaml."""
    text = (FOLDER.parent / "guide.md").read_text()
    for name in ("bigip-login", "bigip-files"):
        for key in deployment.document("Secret", name)["stringData"]:
            assert f"`{key}`" in text
