"""Moves from other routers under load, with the commands of their pages and the old Deployment's variables.

Sources of the variables: openshift/cluster-ingress-operator, desiredRouterDeployment in deployment.go and
pkg/manifests/assets/router/deployment.yaml; openshift/origin release-3.11, pkg/oc/cli/admin/router/router.go.
"""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from f5router.cli import adopt
from f5router.config import config
from tests import manifests
from tests.builders import identity
from tests.conftest import UNDER_LOAD
from tests.e2e.nursery import Forked
from tests.e2e.pages import DOCS, blocks
from tests.feature.conftest import START
from tests.traffic.conftest import PODS, Site
from tests.traffic.load import Load, Target
from tests.traffic.test_takeover import ENOUGH, leave, left, targets
from tests.waiting import DEADLINE_S, until

METRICS, LOGIN = "/etc/pki/tls/metrics-certs", "/var/lib/haproxy/conf/metrics-auth"
OPERATOR = {
    "DEFAULT_CERTIFICATE_DIR": "/etc/pki/tls/private",
    "DEFAULT_DESTINATION_CA_PATH": "/var/run/configmaps/service-ca/service-ca.crt",
    "RELOAD_INTERVAL": "5s",
    "ROUTER_ALLOW_WILDCARD_ROUTES": "false",
    "ROUTER_CANONICAL_HOSTNAME": "router-default.apps.example.com",
    "ROUTER_CIPHERS": "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                      "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                      "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
                      "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384",
    "ROUTER_CIPHERSUITES": "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
    "ROUTER_DISABLE_HTTP2": "true",
    "ROUTER_DISABLE_NAMESPACE_OWNERSHIP_CHECK": "false",
    "ROUTER_DOMAIN": "apps.example.com",
    "ROUTER_LOAD_BALANCE_ALGORITHM": "random",
    "ROUTER_METRICS_TLS_CERT_FILE": f"{METRICS}/tls.crt",
    "ROUTER_METRICS_TLS_KEY_FILE": f"{METRICS}/tls.key",
    "ROUTER_METRICS_TYPE": "haproxy",
    "ROUTER_SERVICE_NAME": "default",
    "ROUTER_SERVICE_NAMESPACE": "openshift-ingress",
    "ROUTER_SET_FORWARDED_HEADERS": "append",
    "ROUTER_TCP_BALANCE_SCHEME": "source",
    "ROUTER_THREADS": "4",
    "ROUTER_USE_PROXY_PROTOCOL": "true",
    "SSL_MIN_VERSION": "TLSv1.2",
    "STATS_PASSWORD_FILE": f"{LOGIN}/statsPassword",
    "STATS_PORT": "1936",
    "STATS_USERNAME_FILE": f"{LOGIN}/statsUsername",
}
"""Variables of router-default in OpenShift 4 on a cloud with the PROXY protocol."""

PLUG_IN = {
    "DEFAULT_CERTIFICATE_DIR": "/etc/pki/tls/private",
    "ROUTER_EXTERNAL_HOST_HOSTNAME": "bigip.example.com",
    "ROUTER_EXTERNAL_HOST_HTTPS_VSERVER": "https-ose-vserver",
    "ROUTER_EXTERNAL_HOST_HTTP_VSERVER": "ose-vserver",
    "ROUTER_EXTERNAL_HOST_INSECURE": "false",
    "ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS": "",
    "ROUTER_EXTERNAL_HOST_PARTITION_PATH": "/Common",
    "ROUTER_EXTERNAL_HOST_PASSWORD": "secret",
    "ROUTER_EXTERNAL_HOST_PRIVKEY": "/etc/secret-volume/router.pem",
    "ROUTER_EXTERNAL_HOST_USERNAME": "admin",
    "ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR": "",
    "ROUTER_CIPHERS": "",
    "ROUTER_SERVICE_HTTPS_PORT": "443",
    "ROUTER_SERVICE_HTTP_PORT": "80",
    "ROUTER_SERVICE_NAME": "router",
    "ROUTER_SERVICE_NAMESPACE": "default",
    "ROUTER_SUBDOMAIN": "",
    "ROUTER_THREADS": "0",
    "STATS_PASSWORD": "metrics-word",
    "STATS_PORT": "1936",
    "STATS_USERNAME": "admin",
}
"""Variables that `oc adm router --type=f5-router` of OpenShift 3.11 sets."""

TAKE, VOLUME = "take", "take with its volume"
ROW = re.compile(r"\| `([A-Z0-9_]+)` \| ([a-z ]+) \|")


class Operator:
    """An administrator who types the commands of a page, with the variables of f5router's Deployment."""

    def __init__(self, site: Site, folder: Path, page: str):
        self.site, self.folder = site, folder
        self.texts = [block.text for block in blocks(page)]
        self.table = dict(ROW.findall((DOCS / page).read_text()))
        (folder / "bin").mkdir()
        (folder / "bin/oc").write_text('#!/bin/sh\nexec kubectl "$@"\n')
        (folder / "bin/oc").chmod(0o755)
        self.environment = {
            "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder), "KUBECONFIG": str(site.kubeconfig), "ROUTER_LISTEN_ADDR": "127.0.0.1:0",
            "ROUTER_EXTERNAL_HOST_CA_BUNDLE": str(site.bigip.ca_file),
            "ROUTER_EXTERNAL_HOST_HOSTNAME": site.bigip.address,
            "ROUTER_EXTERNAL_HOST_USERNAME": site.bigip.username,
            "ROUTER_EXTERNAL_HOST_PASSWORD": site.bigip.password}

    def type(self, beginning: str, **more: str) -> tuple[str, int]:
        """Type the page's block that begins so; returns what it prints, and the exit status."""
        (text,) = (text for text in self.texts if text.startswith(beginning))
        done = subprocess.run(["bash", "-euc", text], env=self.environment | more, capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        return done.stdout + done.stderr, done.returncode

    def start(self) -> Forked:
        """Start f5router as its pod does."""
        first = {name: self.environment[name] for name in ("PATH", "HOME")}
        with (self.folder / "run.log").open("ab") as output:
            return Forked(START, ["run"], first=first, environment=self.environment, output=output)


def mount(folder: Path) -> None:
    """Make the files of the old router's volumes."""
    site = identity("*.example.com", algorithm="rsa")
    for path, text in ((OPERATOR["DEFAULT_CERTIFICATE_DIR"] + "/tls.crt", site.certificate),
                       (OPERATOR["DEFAULT_CERTIFICATE_DIR"] + "/tls.key", site.key),
                       (OPERATOR["DEFAULT_DESTINATION_CA_PATH"], PODS.issuer),
                       (f"{METRICS}/tls.crt", site.certificate), (f"{METRICS}/tls.key", site.key),
                       (f"{LOGIN}/statsUsername", "operator"), (f"{LOGIN}/statsPassword", "metrics-word")):
        file = folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def names_in_statuses(site: Site) -> set[str]:
    """Return the routers that have an entry in the status of a Route."""
    return {entry["routerName"] for route in site.kube.list("Route", "shop") for entry in entries(route)}


def is_served(site: Site, router: str) -> bool:
    """True if each Route is admitted by a router."""
    return all(any(entry["routerName"] == router and entry["conditions"][0]["status"] == "True"
                   for entry in entries(route)) for route in site.kube.list("Route", "shop"))


def entries(route: dict) -> list[dict]:
    return (route.get("status") or {}).get("ingress") or []


def shop(site: Site) -> list[Target]:
    """Routes that the old router serves, and a client for each."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    ours = []
    for name, service, kind, how in (
            ("plain", "web", "", {}), ("edge", "web", "edge", {}), ("through", "tls", "passthrough", {}),
            ("again", "tls", "reencrypt", {"destinationCACertificate": PODS.issuer})):
        route = manifests.route(name, host=f"{name}.example.com", service=service, kind=kind, **how)
        admitted = {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
        route["status"] = {"ingress": [
            {"routerName": "default", "host": route["spec"]["host"], "conditions": [admitted]}]}
        ours.append(route)
    site.apply(*ours)
    return [
        Target("plain", site.http, "plain.example.com", right=site.right("web")),
        Target("edge", site.https, "edge.example.com", tls=True, right=site.right("web")),
        Target("again", site.https, "again.example.com", tls=True, right=site.right("tls")),
        Target("through", site.https, "through.example.com", tls=True, right=site.right("tls"), alone=True),
    ]


def deployment() -> dict:
    """Return the Deployment of the old router."""
    env = [{"name": name, "value": value} for name, value in OPERATOR.items()]
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "router-default", "namespace": "openshift-ingress"},
            "spec": {"selector": {"matchLabels": {"app": "router"}}, "template": {
                "metadata": {"labels": {"app": "router"}},
                "spec": {"containers": [{"name": "router", "image": "router", "env": env}]}}}}


def test_from_haproxy(record_property, site, tmp_path):
    """Variables are taken over as the table says; no request to the BIG-IP fails from its first answer on."""
    clients = shop(site)
    site.apply(deployment())
    site.clear()
    operator = Operator(site, tmp_path, "from-haproxy.md")
    printed, status = operator.type("oc set env")
    listed = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", printed, re.MULTILINE))
    assert (listed, status) == (OPERATOR, 0)
    assert listed.keys() <= operator.table.keys()

    # All of them, without volumes: what protects is named, with what to do, and nothing is written.
    printed, status = operator.type("f5router doctor", **listed | {"ROUTER_SERVICE_NAME": "f5router"})
    assert status == 2
    protects = {"DEFAULT_DESTINATION_CA_PATH", "ROUTER_METRICS_TLS_CERT_FILE", "ROUTER_METRICS_TLS_KEY_FILE",
                "STATS_PASSWORD_FILE", "STATS_USERNAME_FILE"}
    for name in protects:
        (line,) = (line for line in printed.splitlines() if f"/ {name}:" in line)
        assert line.endswith("; mount the volume with it, or leave the variable out")
        assert operator.table[name] == VOLUME
    assert site.writes() == []

    mount(tmp_path)
    taken = {name: listed[name] for name, what in operator.table.items()
             if what == TAKE and name in listed}
    mounted = {name: f"{tmp_path}{listed[name]}" for name, what in operator.table.items()
               if what == VOLUME and name in listed}
    operator.environment |= taken | mounted | {"ROUTER_SERVICE_NAME": "f5router"}
    printed, status = operator.type("f5router doctor")
    assert status == 0, printed
    assert "has no effect" not in printed
    assert site.writes() == []
    router = operator.start()
    try:
        until(lambda: is_served(site, "f5router"), (tmp_path / "run.log").read_text)
        with Load(*clients, device=site.bigip) as load:
            until(load.more(ENOUGH))
            router.kill()
            router.wait(DEADLINE_S)
            router = operator.start()
            assert names_in_statuses(site) == {"default", "f5router"}
            printed, status = operator.type("f5router status clear")
            assert status == 0, printed
            until(load.more(ENOUGH))
        assert names_in_statuses(site) == {"f5router"}
    finally:
        router.kill()
        router.wait(DEADLINE_S)
    record_property(UNDER_LOAD, str(load.report))
    assert (load.report.failed, load.report.wrong) == ([], [])


def test_from_the_original(record_property, site, tmp_path):
    """Each variable of the plug-in's Deployment is known; no request fails from before adopt to a restart."""
    leave(site)
    operator = Operator(site, tmp_path, "from-original-router.md")
    assert operator.table.keys() == PLUG_IN.keys()
    taken = {name: PLUG_IN[name] for name, what in operator.table.items() if what == TAKE}
    operator.environment = taken | operator.environment | {"DEFAULT_DESTINATION_CA_PATH": "none"}
    site.clear()
    printed, status = operator.type("f5router adopt --dry-run", **PLUG_IN | operator.environment)
    assert status == 0, printed
    assert site.writes() == []
    with Load(*targets(site), device=site.bigip) as load:
        until(load.more(ENOUGH))
        settings = config.load({"config": str(site.kubeconfig)}, operator.environment, config.read_text)
        assert adopt.adopt(settings, dry_run=False, stop=threading.Event(), drain_s=3.0) == 0
        until(load.more(ENOUGH))
        router = operator.start()
        try:
            until(lambda: is_served(site, "router"), (tmp_path / "run.log").read_text)
            until(load.more(ENOUGH))
        finally:
            router.kill()
            router.wait(DEADLINE_S)
    record_property(UNDER_LOAD, str(load.report))
    assert (load.report.failed, load.report.wrong, left(site)) == ([], [], set())
