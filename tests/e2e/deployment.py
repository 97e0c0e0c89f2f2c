"""docs/deploy as a cluster would run it: the pod of its Deployment between the fakes.

What a cluster does for a pod is done here: Secrets become files, the service account's token becomes
one, variables of the image and of the container are the whole environment. The BIG-IP's address and the
ports are replaced by those of the fakes. With an Image nothing else is changed; without one the pod is a
process of these tests' own environment, and paths of mounts are replaced by folders. Such a pod may also
begin as a copy of a process that has imported the router.
"""

import base64
import copy
import functools
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import requests
import yaml

from mocks.bigip import FakeBigIP
from mocks.kube import FakeKube
from tests.e2e import image, nursery
from tests.e2e.image import Image
from tests.waiting import DEADLINE_S, until

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "deploy"
FILES = sorted(FOLDER.glob("[0-9]*.yaml"))
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
USERS = range(1_000_000_000, 2_000_000_000)
"""IDs of the sort that OpenShift gives to a namespace."""
COMMENTED = re.compile(r"^( *)# (- \{name: ROUTER_EXTERNAL_HOST_(?:INTERNAL|VXLAN).*)$", re.MULTILINE)
"""Lines of the Deployment that are for VxLAN."""

START = """
import os, sys
from kubernetes.config import incluster_config as pod
account = sys.argv.pop(1)
pod.SERVICE_TOKEN_FILENAME, pod.SERVICE_CERT_FILENAME = f"{account}/token", f"{account}/ca.crt"
CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "tempfile.mkstemp")

def audit(event, args):
    write = event == "open" and args[2] and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    in_memory = isinstance(args[0], int) if write else False  # an open descriptor: memfd_create
    if (write and not in_memory and args[0] != os.devnull) or event in CHANGES:
        os.write(2, f"READ-ONLY {event} {args[0]}\\n".encode())

sys.addaudithook(audit)
from f5router.__main__ import main
from f5router.config import files
files.SERVICE_CA = f"{account}/service-ca.crt"
main(prog_name="f5router")
"""
"""The entry point, with the account's folder elsewhere than in /var/run, and every write told."""


def documents(*, vxlan: bool = False) -> list[dict]:
    """Every object of docs/deploy; with vxlan the lines that are for it are no comments."""
    return copy.deepcopy(_parsed(vxlan))


@functools.cache
def _parsed(vxlan: bool) -> list[dict]:
    texts = [path.read_text() for path in FILES]
    if vxlan:
        texts = [COMMENTED.sub(r"\1\2", text) for text in texts]
    return [obj for text in texts for obj in yaml.safe_load_all(text)]


def document(kind: str, name: str, *, vxlan: bool = False) -> dict:
    (chosen,) = (obj for obj in documents(vxlan=vxlan)
                 if (obj["kind"], obj["metadata"]["name"]) == (kind, name))
    return chosen


def pod_spec(*, vxlan: bool = False) -> dict:
    return document("Deployment", "f5router", vxlan=vxlan)["spec"]["template"]["spec"]


def container(*, vxlan: bool = False) -> dict:
    return box_of(document("Deployment", "f5router", vxlan=vxlan))


def box_of(workload: dict) -> dict:
    """The container of a Deployment."""
    (box,) = workload["spec"]["template"]["spec"]["containers"]
    return box


def with_lines_of(*names: str) -> tuple[dict, dict]:
    """Deployment and Service with commented lines. Args: names: how the names of the items begin."""
    text = (FOLDER / "30-deployment.yaml").read_text()
    text = re.sub(rf"^( *)# (- \{{name: (?:{'|'.join(names)}).*|annotations: .*)$", r"\1\2", text,
                  flags=re.MULTILINE)
    deployment, service = yaml.safe_load_all(text)
    return deployment, service


def commented(name: str) -> dict[str, str]:
    """The variable that a commented line of the Deployment sets."""
    text = (FOLDER / "30-deployment.yaml").read_text()
    (line,) = re.findall(rf"^ *# - (\{{name: {name}, .*)$", text, re.MULTILINE)
    item = yaml.safe_load(line)
    return {item["name"]: item["value"]}


def rights(name: str = "f5router") -> list[tuple[str, str, str]]:
    """API group, resource and verb, one by one, of a ClusterRole."""
    return [(group, resource, verb) for rule in document("ClusterRole", name)["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]]


def role(granted: list[tuple[str, str, str]], name: str = "f5router") -> dict:
    """A ClusterRole with these rights."""
    rules = [{"apiGroups": [g], "resources": [r], "verbs": [v]} for g, r, v in granted]
    return document("ClusterRole", name) | {"rules": rules}


class Pod:
    """The container of a Deployment, started; its log is in a file."""

    def __init__(self, folder: Path, kube: FakeKube, workload: dict, secrets: dict[str, dict[str, str]],
                 ssh_port: int, *, built: Image | None = None, copied: bool = False,
                 more: Mapping[str, str] = MappingProxyType({})):
        """Arguments:
        workload: the Deployment, whose container, mounts and account are these.
        secrets: texts by name of the Secret and of the file.
        ssh_port: of the BIG-IP.
        more: variables that an administrator adds.
        copied: begin as a copy; the writes of its import are not noticed.
        """
        self._log, self._folder = folder / "log", folder
        self.box = box_of(workload)
        mounts = self._mounted(workload["spec"]["template"]["spec"]["volumes"], secrets)
        replaced = {"ROUTER_EXTERNAL_HOST_SSH_PORT": ("22", str(ssh_port)),
                    "ROUTER_LISTEN_ADDR": (":1936", "127.0.0.1:0")}
        variables = _variables(self.box, replaced) | more | {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": kube.url.rpartition(":")[2]}
        account = self._account(kube, workload)
        arguments = [str(account), *self.box["args"]]
        self.environment = image.variables() | {
            name: _elsewhere(text, mounts) for name, text in variables.items()}
        if built is None:
            command, environment = [sys.executable, "-c", START, *arguments], self.environment
        else:
            (entry,) = map(json.loads, image.instructions("ENTRYPOINT"))
            command, environment = built.command(
                [*entry, *self.box["args"]], user=random.choice(USERS), environment=variables,
                mounts={**mounts, ACCOUNT: account}), None
        with self._log.open("wb") as log:
            self.process = nursery.Forked(
                START, arguments, first=image.variables(), environment=environment, output=log,
            ) if copied else subprocess.Popen(
                command, env=environment, cwd="/", stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL)

    def _mounted(self, volumes: list[dict], values: dict[str, dict[str, str]]) -> dict[str, Path]:
        """Lay out the Secrets; folders by mount path. The keys must be those of the YAML, if it has them."""
        names = {volume["name"]: volume["secret"]["secretName"] for volume in volumes}
        documented = {obj["metadata"]["name"]: obj["stringData"] for obj in documents()
                      if obj["kind"] == "Secret"}
        mounts = {}
        for mount in self.box["volumeMounts"]:
            secret = names.pop(mount["name"])
            assert values[secret].keys() == documented.get(secret, values[secret]).keys()
            assert mount["readOnly"]
            mounts[mount["mountPath"]] = folder(self._folder / secret, values[secret])
        assert not names
        return mounts

    def _account(self, kube: FakeKube, workload: dict) -> Path:
        """The mounted token, with the rights that the loaded objects give."""
        return folder(self._folder / "account", account_files(
            kube, workload["metadata"]["namespace"],
            workload["spec"]["template"]["spec"]["serviceAccountName"]))

    # --- what it says ----------------------------------------------------------------------

    @property
    def log(self) -> str:
        return self._log.read_text()

    def lines(self) -> list[dict]:
        """Whole lines of the log, which is JSON."""
        return [json.loads(line) for line in self.log.splitlines(keepends=True)
                if line.startswith("{") and line.endswith("\n")]

    def get(self, probe: str | dict, scheme: str = "http", **options) -> requests.Response:
        """Ask for a path, or as a probe of the YAML does. Args: options: of requests."""
        if not isinstance(probe, str):
            (port,) = self.box["ports"]
            assert probe["httpGet"]["port"] == port["name"]
            probe = probe["httpGet"]["path"]
        self.until(lambda: any("address" in line for line in self.lines()))
        address = next(line["address"] for line in self.lines() if "address" in line)
        with requests.Session() as session:
            session.trust_env = False
            return session.get(f"{scheme}://{address}{probe}", timeout=DEADLINE_S, **options)

    def until(self, condition: Callable[[], object]) -> None:
        """Fails with the log when that takes too long, or the process ends before."""
        until(lambda: condition() or self.process.poll() is not None, lambda: self.log)
        assert self.process.poll() is None, self.log

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def secrets(bigip: FakeBigIP, private_key: str) -> dict[str, dict[str, str]]:
    """Return the Secrets of the YAML, for a fake."""
    return {
        "bigip-login": {"url": bigip.url, "username": bigip.username, "password": bigip.password},
        "bigip-files": {"router.pem": private_key, "known_hosts": bigip.ssh_server.host_key_line,
                        "ca.crt": Path(bigip.ca_file).read_text()},
    }


def account_files(kube: FakeKube, namespace: str, name: str) -> dict[str, str]:
    """Return what a pod of a ServiceAccount finds in its folder."""
    text = Path(kube.ca_file).read_text()
    return {"token": kube.token_for(namespace, name), "ca.crt": text, "service-ca.crt": text}


def folder(place: Path, texts: dict[str, str]) -> Path:
    """Make a folder of such files."""
    place.mkdir()
    for name, text in texts.items():
        (place / name).write_text(text)
    return place


def _variables(box: dict, replaced: dict[str, tuple[str, str]]) -> dict[str, str]:
    """A container's own; replaced: by name the text that must stand there, if any, and the one to take."""
    values = {item["name"]: item["value"] for item in box["env"]}
    for name, (before, text) in replaced.items():
        assert values.get(name, before) == before
        values[name] = text
    return values


def _elsewhere(text: str, mounts: dict[str, Path]) -> str:
    """A path below a mount as it is without one."""
    for path, place in mounts.items():
        text = re.sub(rf"^{re.escape(path)}(?=/|$)", str(place), text)
    return text


def decoded(secret: dict) -> dict[str, str]:
    """Texts of a Secret as it is stored."""
    return {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
