"""The commands as a user types them: real processes of the router between real processes of the fakes."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests
import yaml

from f5router import __version__
from tests import manifests
from tests.builders import identity
from tests.waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[2]
ONE = identity("edge.example.com")
PASSWORD = "fake-bigip-admin"
UID = "0b5cd9a2-0000-4000-8000-000000000001"
OLD_STATUS = {"ingress": [{"routerName": "haproxy", "host": "old.example.com", "conditions": [
    {"type": "Admitted", "status": "True", "lastTransitionTime": "2020-01-02T03:04:05Z"}]}]}


class Site:
    """A BIG-IP and a cluster, each in a process of its own, and a user in front of them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.kubeconfig, self.ca = folder / "kubeconfig", folder / "ca.pem"
        self.login = folder / "bigip-login"
        self._processes: list[subprocess.Popen] = []

    def start(self, *command: str) -> tuple[subprocess.Popen, str]:
        """A fake; returns it with the line that says that it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self._processes.append(process)
        return process, process.stdout.readline()

    def serve(self, objects: list[dict]) -> None:
        """Start both fakes, with these objects and a BIG-IP made ready for the router."""
        file = self.folder / "cluster.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        self.kube = self.start("mocks.kube", "--load", str(file), "--write-kubeconfig", str(self.kubeconfig))
        self.bigip, ready = self.start(
            "mocks.bigip", "--virtual", "/Common/ose-vserver=10.0.0.1:80",
            "--virtual", "/Common/https-ose-vserver=10.0.0.1:443", "--ca-out", str(self.ca))
        self.url = re.match(r"url=(\S+) user=admin ", ready).group(1)
        self.rest("POST", "ltm/profile/client-ssl", {
            "name": "clientssl-default", "partition": "Common", "defaultsFrom": "/Common/clientssl",
            "sniDefault": "true"})
        self.rest("POST", "ltm/virtual/~Common~https-ose-vserver/profiles", {
            "name": "/Common/clientssl-default", "context": "clientside"})
        self.write_login(PASSWORD)

    def write_login(self, password: str) -> None:
        """The mounted Secret."""
        self.login.mkdir(exist_ok=True)
        for name, text in (("username", "admin"), ("password", password), ("url", self.url)):
            (self.login / name).write_text(f"{text}\n")

    def rest(self, method: str, path: str, body: dict | None = None) -> dict:
        """Do what an administrator does to the BIG-IP."""
        reply = requests.request(method, f"{self.url}/mgmt/tm/{path}", json=body, auth=("admin", PASSWORD),
                                 verify=str(self.ca), timeout=DEADLINE_S)
        assert reply.ok, reply.text
        return reply.json()

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """A command line of the router and its environment: nothing but the settings of a pod."""
        return [sys.executable, "-m", "f5router", *arguments], {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig),
            "ROUTER_EXTERNAL_HOST_CREDENTIALS_DIR": str(self.login),
            "ROUTER_EXTERNAL_HOST_CA_BUNDLE": str(self.ca),
            "ROUTER_EXTERNAL_HOST_PRIVKEY": "", "ROUTER_EXTERNAL_HOST_INSECURE": "",
            "STATS_PORT": "0",
        }

    def f5router(self, *arguments: str) -> subprocess.CompletedProcess:
        """The router, from start to end."""
        command, environment = self.command(*arguments)
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True,
                              timeout=DEADLINE_S)

    def kubectl(self, *arguments: str) -> str:
        return subprocess.run(["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments], check=True,
                              capture_output=True, text=True, timeout=DEADLINE_S).stdout

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Four good Routes, one broken, one that another router admitted."""
    new_site = Site(tmp_path_factory.mktemp("site"))
    old = manifests.route("old", host="Old.example.com", created="2019-05-06T07:08:09Z")
    old["metadata"]["uid"], old["status"] = UID, OLD_STATUS
    try:
        new_site.serve([
            *manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")),
            manifests.route("plain"),
            manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect",
                            certificate=ONE.certificate, key=ONE.key),
            manifests.route("re", host="re.example.com", kind="reencrypt",
                            destinationCACertificate=ONE.issuer),
            manifests.route("pass", host="pass.example.com", kind="passthrough"),
            manifests.route("broken", host="broken.example.com", kind="Edge"),
            old,
        ])
        yield new_site
    finally:
        new_site.end()


def test_version(site):
    assert site.f5router("version").stdout.startswith(f"f5router {__version__}\nPython ")


def test_loaded_objects_are_as_the_file_has_them(site):
    """uid, time and status; a Route that no API server of today would take."""
    route = json.loads(site.kubectl("get", "route", "old", "-n", "shop", "-o", "json"))
    assert route["metadata"]["uid"] == UID
    assert route["metadata"]["creationTimestamp"] == "2019-05-06T07:08:09Z"
    assert route["spec"]["host"] == "Old.example.com"
    assert route["status"]["ingress"][0] == OLD_STATUS["ingress"][0]


def test_a_site_from_start_to_end(site):
    """plan, run --once, plan again, run until SIGTERM; the steps of one story, in their order."""
    planned = site.f5router("plan", "--output", "json")
    assert planned.returncode == 0, planned.stderr
    changes = json.loads(planned.stdout)["changes"]
    pools = {change["path"] for change in changes if change["kind"] == "ltm/pool"}
    assert "/Common/openshift_shop_web" in pools
    assert "openshift" not in json.dumps(site.rest("GET", "ltm/pool"))

    once = site.f5router("run", "--once", "--log-format=json")
    assert (once.returncode, once.stdout) == (0, ""), once.stderr
    lines = [json.loads(line) for line in once.stderr.splitlines()]
    assert {line["level"] for line in lines} <= {"info", "warning"}
    assert PASSWORD not in once.stderr
    assert "PRIVATE KEY" not in once.stderr
    assert {item["fullPath"] for item in site.rest("GET", "ltm/pool")["items"]} == pools

    table = site.f5router("plan")
    assert table.stdout.startswith("Nothing to do: the BIG-IP is in step with the cluster.\n")
    assert table.stdout.endswith(
        "Plan: 0 to create, 0 to change, 0 to delete; 2 Routes rejected; 0 problems.\n")
    states = _states(site)
    assert states == {"plain": "True", "edge": "True", "re": "True", "pass": "True", "broken": "False",
                      "old": "False"}
    shown = site.kubectl("get", "routes", "-A")
    assert "edge.example.com" in shown
    assert "edge/Redirect" in shown
    assert "unknown" in site.kubectl("describe", "route", "broken", "-n", "shop")

    command, environment = site.command("run")
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        fixed = '{"spec":{"tls":{"termination":"edge"}}}'
        site.kubectl("patch", "route", "broken", "-n", "shop", "--type=merge", "-p", fixed)
        until(lambda: _states(site)["broken"] == "True")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, log
    assert "perhaps not saved" not in log  # its time for the end was enough
    assert "Traceback" not in log
    assert "configuration saved" in log
    # Stopping takes nothing off the device.
    assert {item["fullPath"] for item in site.rest("GET", "ltm/pool")["items"]} == pools


def test_the_statuses_of_a_router_that_is_gone(site):
    """status clear: looked at first, then removed; no other router's, and no BIG-IP is needed."""
    assert site.f5router("run", "--once").returncode == 0
    assert len(_states(site)) == 6
    shown = site.f5router("status", "clear", "--router-name=public", "--dry-run")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "shop/plain\twww.example.com\tTrue\t-" in shown.stdout
    assert len(_states(site)) == 6
    cleared = site.f5router("status", "clear", "--router-name=public")
    assert cleared.returncode == 0, cleared.stderr
    assert cleared.stdout.startswith("router public: 6 Routes had its entry, 6 are cleared")
    assert _states(site) == {}
    old = json.loads(site.kubectl("get", "route", "old", "-n", "shop", "-o", "json"))
    assert [entry["routerName"] for entry in old["status"]["ingress"]] == ["haproxy"]


def test_a_refused_password_ends_the_single_pass(site):
    """Exit status 1, the device's address and words, the password nowhere."""
    site.write_login("not-the-password")
    try:
        once = site.f5router("run", "--once")
    finally:
        site.write_login(PASSWORD)
    assert once.returncode == 1
    assert "not converged" in once.stderr
    assert "401" in once.stderr
    assert "not-the-password" not in once.stderr
    assert "Traceback" not in once.stderr


def test_what_cannot_start_says_so_at_once(site):
    """All problems, each by flag and variable; exit status 2; the device is not asked."""
    process = site.f5router(
        "run", "--f5-vxlan-gateway-cidr=10.1.2.3", "--labels=a b", "--f5-http-vserver=/a/b")
    assert process.returncode == 2
    assert process.stdout == ""
    for words in ("--f5-vxlan-gateway-cidr / ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR: ",
                  "For VxLAN setup, both internal-address and gateway-cidr must be specified",
                  "--labels / ROUTE_LABELS: 'a b' is none of key, !key, key=value",
                  "--f5-http-vserver / ROUTER_EXTERNAL_HOST_HTTP_VSERVER: "):
        assert words in process.stderr


@pytest.mark.parametrize("fake", [
    ("mocks.kube",), ("mocks.bigip",), ("mocks.bigip", "--ssh-port", "0", "--tmos-version", "11.6.0")])
def test_a_fake_says_one_line_and_stops_cleanly(tmp_path, fake):
    site = Site(tmp_path)
    try:
        process, ready = site.start(*fake)
        assert "https://127.0.0.1:" in ready
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=DEADLINE_S) == ("", "")
        assert process.returncode == 0
    finally:
        site.end()


def _states(site: Site) -> dict[str, str]:
    """Status of our Admitted condition, by Route."""
    items = json.loads(site.kubectl("get", "routes", "-n", "shop", "-o", "json"))["items"]
    return {item["metadata"]["name"]: entry["conditions"][0]["status"] for item in items
            for entry in item.get("status", {}).get("ingress", []) if entry["routerName"] == "public"}


