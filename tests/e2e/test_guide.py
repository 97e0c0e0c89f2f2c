"""docs/guide.md, from an empty cluster and an empty BIG-IP: each command as it stands there, in its order."""

import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from f5router.app import launch, once
from f5router.config import config
from ghost_hostsubnet.__main__ import main as ghost_hostsubnet
from mocks.bigip import FakeBigIP
from mocks.bigip.traffic import Request, decide
from mocks.kube import FakeKube
from tests import manifests
from tests.builders import identity
from tests.e2e import deployment
from tests.e2e.deployment import Pod
from tests.e2e.pages import DOCS, Block, Shell, blocks
from tests.feature.conftest import QUICK
from tests.waiting import DEADLINE_S

GUIDE, AFTERWARDS = "guide.md", "deploy/README.md"
NODES = {"node-1": ("10.3.89.1", "10.128.0.0/23"), "node-2": ("10.3.89.2", "10.129.0.0/23"),
         "node-3": ("10.3.89.3", "10.130.0.0/23")}
EDGE = identity("edge.example.com")
PODS = ("10.128.0.7", "10.129.0.7")
HOST = "bigip.example.com"
"""The one that has to be replaced."""
WORDS = {
    "tmsh", "create", "sys", "config", "ltm", "virtual", "profile", "client-ssl", "net", "self", "auth",
    "user", "partition", "password", "partition-access", "add", "role", "shell", "defaults-from",
    "sni-default", "destination", "ip-protocol", "profiles", "source-address-translation", "type", "context",
    "address", "vlan", "traffic-group", "allow-service", "replace-all-with", "{", "}",
}
"""Of tmsh's language; all others are names and values."""

KEYGEN = """\
case "$*" in *"-f router.pem") ;; *) exec {program} "$@" ;; esac
kept="{keys}/$*"
test -d "$kept" || (mkdir "$kept" && cd "$kept" && {program} "$@") || exit 1
cp -p "$kept"/router.pem* ."""
"""ssh-keygen, which makes a key once for all tests: it takes a second."""


class Guide:
    """An empty cluster, an empty BIG-IP, and an administrator of both at a shell."""

    def __init__(self, stack: ExitStack, folder: Path, keys: Path, **bigip):
        """Args: keys: folder of the private keys that were made for other tests."""
        self._stack, self.folder = stack, folder
        self.kube = stack.enter_context(FakeKube(sdn=True, sdn_delay_s=0.02))
        self.bigip = stack.enter_context(FakeBigIP(ssh=True, **bigip))
        self.kube.apply([manifests.sdn_reader(), manifests.sdn_manager()])
        for name, (address, subnet) in NODES.items():
            self.kube.apply([manifests.node(name, address), manifests.host_subnet(name, address, subnet)])
        self.kubeconfig = folder / "kubeconfig"
        self.kube.write_kubeconfig(self.kubeconfig)
        shutil.copytree(DOCS, folder / "docs")
        (folder / "files").mkdir()
        shutil.copy(self.bigip.ca_file, folder / "files" / "ca.crt")
        self._shim("podman", f'test -f "$3" && echo "$@" >> {folder}/podman.log')
        self._shim("ssh-keygen", KEYGEN.format(keys=keys, program=shutil.which("ssh-keygen")))
        self.shell = Shell(folder, KUBECONFIG=str(self.kubeconfig), PASSWORD=self.bigip.password)
        stack.callback(self.shell.end)
        self.pod: Pod | None = None
        self.said: dict[str, str] = {}

    def _shim(self, name: str, text: str) -> None:
        """Write what goes before a command of this name.

        podman, which is not there, takes any arguments, if the files that they name exist.
        """
        program = self.folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def type(self, block: Block) -> str:
        """A block with the fake's address in it."""
        text = block.text.replace(f"ssh-keyscan {HOST}", f"ssh-keyscan -p {self.bigip.ssh_port} 127.0.0.1")
        if text.startswith("curl "):
            client = "{}:{}".format(*self.bigip.endpoint("/Common/ose-vserver"))
            text = text.replace("203.0.113.10:80", client)
        said = self.shell.run(text.replace(HOST, self.bigip.address))
        if "ssh-keygen" in text:
            self.bigip.ssh_server.authorize((self.folder / "router.pem.pub").read_text())
        if "apply -f docs/deploy/30-deployment.yaml" in text:
            self.start()
        if "example.yaml" in text:
            self.apply_pods()
            self.pod.until(self.admitted)
        return said

    def start(self) -> None:
        """Do what the cluster does with the Deployment."""
        workload = self.kube.get("Deployment", "f5router", "f5router")
        secrets = {name: {key: text.rstrip("\n") for key, text in deployment.decoded(
            self.kube.get("Secret", "f5router", name)).items()} for name in ("bigip-login", "bigip-files")}
        self.pod = Pod(self.folder, self.kube, workload, secrets, self.bigip.ssh_port)
        self._stack.callback(self.pod.end)
        self.pod.until(lambda: self.pod.get("/readyz").status_code == 200)

    def apply_pods(self) -> None:
        """Do what it does with the Service of the example."""
        spec = self.kube.get("Service", "hello", "hello")["spec"]
        assert spec["selector"] == {"app": "hello"}
        assert spec["ports"][0]["targetPort"] == 8080
        self.kube.apply(manifests.endpoints("hello", "hello", PODS))
        for number, address in enumerate(PODS):
            self.bigip.pods.start(address, 8080, f"hello-{number}", namespace="hello")

    def admitted(self) -> bool:
        return "True" in str(self.kube.get("Route", "hello", "hello").get("status"))


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture
def make_guide(tmp_path, keys):
    with ExitStack() as stack:
        yield lambda **options: Guide(stack, tmp_path, keys, **options)


def test_the_guide_from_start_to_end(make_guide):
    """The Route is served, the BIG-IP is a host of the pod network, and what each block prints is right."""
    guide = make_guide(dataplane=True)
    said = [(block, guide.type(block)) for block in blocks(GUIDE) if block.language == "sh"]
    printed = {block.heading: text for block, text in said}
    assert re.search(r"^10\.131\.0\.5/14$", printed["VxLAN: a subnet of the pod network"], re.MULTILINE)
    planned = next(text for block, text in said if "f5router plan" in block.text)
    assert "/Common/vxlan5000" in planned
    assert "ERROR" not in planned
    assert printed["3. The first Route"].startswith("HTTP/1.1 200")
    assert '"hello-' in printed["3. The first Route"]
    conditions = json.loads(next(text for block, text in said if "jsonpath=" in block.text))
    assert [(condition["type"], condition["status"]) for condition in conditions] == [("Admitted", "True")]
    seen = printed["How to see that it works"]
    for words in ("hello.example.com", *(f"{address}:8080" for address in PODS), "0a:0a:0a:03:59:01",
                  "10.3.89.3%0"):
        assert words in seen
    assert (guide.folder / "podman.log").read_text().startswith("build -f docs/deploy/Containerfile")
    again = guide.shell.run(next(block.text for block, _ in said if "f5router plan" in block.text))
    assert "Nothing to do" in again
    alarming = [line for line in guide.pod.lines() if line["level"] != "info" and not is_early(line)]
    assert alarming == [], guide.pod.log
    # The login and the key for SSH are nobody else's.
    assert {(guide.folder / name).stat().st_mode & 0o777 for name in ("files", "login")} == {0o700}
    afterwards(guide)


def is_early(line: dict) -> bool:
    """True for what is said of a Route that comes before its Service, or the pods of it, as on a cluster:
    each kind has a watch of its own."""
    return (line["level"], line.get("route")) == ("warning", "hello/hello") and line.get("reason") in (
        "NoEndpoints", "ServiceNotFound")


def afterwards(guide: Guide) -> None:
    """Changes and removal, of the other page: nothing is left in the cluster, all on the BIG-IP."""
    for block in blocks(AFTERWARDS):
        if block.language == "sh":
            guide.type(block)
    for kind in ("Deployment", "Secret", "ServiceAccount", "ClusterRoleBinding"):
        assert guide.kube.list(kind) == [], kind
    assert guide.kube.get("Namespace", None, "f5router") is None
    assert decide(guide.bigip.store, "/Common/ose-vserver", Request("hello.example.com", "/")).pool


@pytest.mark.parametrize("version", [
    "11.5.4", "11.6.1", "12.0.0", "12.1.2", "13.0.0", "13.1.1", "14.1.2.1", "16.1.0"])
def test_the_bigip_of_each_version(make_guide, version):
    """Section 1 makes it ready for a router that logs in as the new user: with VxLAN from 12.0 on, and with
    what the guide says of tokens and certificates before.

    The router and `ghost-hostsubnet` run in this process: their own processes are those of the whole guide.
    """
    old = version.startswith("11.")
    guide = make_guide(tmos_version=version)
    for block in blocks(GUIDE):
        skipped = old and block.heading.startswith("VxLAN")
        if block.language == "sh" and block.section == "1. The BIG-IP" and not skipped:
            guide.type(block)
    flags = {
        "f5-host": guide.bigip.address, "f5-username": "f5router", "f5-password": "Correct-Horse-7",
        "f5-ca-bundle": str(guide.folder / "files" / "ca.crt"), "f5-auth": "basic" if old else "token",
        "f5-private-key": str(guide.folder / "files" / "router.pem"),
        "f5-ssh-port": str(guide.bigip.ssh_port),
        "f5-ssh-host-key": guide.bigip.ssh_server.host_key_fingerprint, "config": str(guide.kubeconfig)}
    if not old:
        flags |= {"f5-internal-address": "10.3.89.213", "f5-vxlan-gateway-cidr": "10.131.0.5/14"}
        ghost = CliRunner().invoke(ghost_hostsubnet, [
            "create", "--name", "openshift-f5-node", "--host-ip", "10.3.89.213",
            "--kubeconfig", str(guide.kubeconfig)])
        assert ghost.exit_code == 0, ghost.output
    guide.kube.apply([*manifests.service("shop", "web", pods=("10.128.0.7",)), manifests.route(
        "edge", host="edge.example.com", kind="edge", certificate=EDGE.certificate, key=EDGE.key)])
    with ExitStack() as stack:
        router = launch.build_controller(config.load(flags, {}, config.read_text), stack, timing=QUICK)
        assert once.converge(router, threading.Event(), sync_timeout_s=DEADLINE_S, timing=QUICK) == []
    assert any(command.startswith("scp ") for command in guide.bigip.ssh_server.log)
    served = decide(guide.bigip.store, "/Common/https-ose-vserver",
                    Request("edge.example.com", "/", sni="edge.example.com", tls=True))
    assert served.pool == "/Common/openshift_shop_web"


def pairs() -> list:
    """Blocks of tmsh, each with the next block."""
    all_blocks = list(blocks(GUIDE))
    return [pytest.param(block, other, id=block.heading) for block, other in itertools.pairwise(all_blocks)
            if block.language == "tmsh"]


@pytest.mark.parametrize(("tmsh", "rest"), pairs())
def test_tmsh_says_the_same_as_rest(tmsh, rest):
    """As many commands, with the same names and values: those with tmsh cannot be run here."""
    commands = tmsh.text.splitlines()
    assert all(command.startswith("tmsh ") for command in commands)
    assert rest.language == "sh"
    calls = re.findall(r"^bigip (\S+) -d '(.*?)'$", rest.text, re.MULTILINE | re.DOTALL)
    assert len(commands) == len(calls)
    for command, (path, body) in zip(commands, calls, strict=True):
        kind = " ".join(path.split("/"))
        assert command.startswith((f"tmsh create {kind} ", f"tmsh save {kind}"))
        values = [word for word in command.split() if word not in WORDS]
        assert [word for word in values if word not in json.dumps(json.loads(body))] == []


def test_no_block_is_left_out():
    """Each is of tmsh, or run by these tests; the image is built by another one."""
    for page in (GUIDE, AFTERWARDS):
        for block in blocks(page):
            assert block.language in ("sh", "tmsh") or block.text.startswith("podman run "), block.text
            assert (block.language == "tmsh") == ("tmsh" in block.text)


def test_the_rest_calls_fail_as_they_should(make_guide):
    """A call that the BIG-IP refuses stops whoever types it."""
    guide = make_guide()
    guide.type(next(block for block in blocks(GUIDE) if "bigip() {" in block.text))
    with pytest.raises(AssertionError, match="409"):
        guide.shell.run("bigip auth/user -d '{\"name\": \"admin\"}'")


def test_the_shell_of_these_tests_stops_at_an_error(tmp_path):
    """Else nothing here would show anything."""
    shell = Shell(tmp_path)
    try:
        assert shell.run("echo a; echo b").split() == ["a", "b"]
        with pytest.raises(AssertionError, match="no-such-command"):
            shell.run("no-such-command; echo c")
    finally:
        shell.end()


def test_the_commands_come_with_the_package():
    """The guide types them without a path."""
    for name in ("f5router", "ghost-hostsubnet"):
        program = Path(sys.executable).with_name(name)
        assert subprocess.run([program, "--version"], capture_output=True, timeout=DEADLINE_S).returncode == 0
