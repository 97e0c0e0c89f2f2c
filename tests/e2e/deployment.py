"""docs/deploy as a cluster would run it: the pod of its Deployment as a process between the fakes.

What a cluster does for a pod is done here: Secrets become files, the service account's token becomes
one, variables of the image and of the container are the whole environment. Paths of mounts are replaced
by folders, the BIG-IP's address and the ports by those of the fakes; nothing else is changed.
"""

import base64
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import requests
import yaml

from mocks.bigip import FakeBigIP
from mocks.kube import FakeKube

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "deploy"
FILES = sorted(FOLDER.glob("*.yaml"))
LIMIT_S = 30

START = """
import os, sys
from kubernetes.config import incluster_config as pod
account = sys.argv.pop(1)
pod.SERVICE_TOKEN_FILENAME, pod.SERVICE_CERT_FILENAME = f"{account}/token", f"{account}/ca.crt"
CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "tempfile.mkstemp")

def audit(event, args):
    write = event == "open" and args[2] and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if (write and args[0] != os.devnull) or event in CHANGES:
        os.write(2, f"READ-ONLY {event} {args[0]}\\n".encode())

sys.addaudithook(audit)
from f5router.__main__ import main
main(prog_name="f5router")
"""
"""The entry point, with the account's folder elsewhere than in /var/run, and every write told."""


def documents() -> list[dict]:
    """Every object of docs/deploy."""
    return [obj for path in FILES for obj in yaml.safe_load_all(path.read_text())]


def document(kind: str, name: str) -> dict:
    (found,) = (obj for obj in documents() if (obj["kind"], obj["metadata"]["name"]) == (kind, name))
    return found


def container() -> dict:
    (found,) = document("Deployment", "f5router")["spec"]["template"]["spec"]["containers"]
    return found


def image() -> dict[str, list[str]]:
    """Instructions of the Containerfile's last stage, by name."""
    text = (FOLDER / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    last = max(number for number, (name, _) in enumerate(lines) if name == "FROM")
    found: dict[str, list[str]] = {}
    for name, rest in lines[last:]:
        found.setdefault(name, []).append(rest)
    return found


def rights() -> list[tuple[str, str, str]]:
    """API group, resource and verb, one by one, of the ClusterRole."""
    return [(group, resource, verb) for rule in document("ClusterRole", "f5router")["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]]


def role(granted: list[tuple[str, str, str]]) -> dict:
    """The ClusterRole with these rights."""
    rules = [{"apiGroups": [g], "resources": [r], "verbs": [v]} for g, r, v in granted]
    return document("ClusterRole", "f5router") | {"rules": rules}


class Pod:
    """The container of the Deployment, started; its log is in a file."""

    def __init__(self, folder: Path, kube: FakeKube, bigip: FakeBigIP, private_key: str):
        self._log = folder / "log"
        self._folder = folder
        secrets = {
            "bigip-login": {"url": bigip.url, "username": bigip.username, "password": bigip.password},
            "bigip-files": {"router.pem": private_key, "known_hosts": bigip.ssh_server.host_key_line,
                            "ca.crt": Path(bigip.ca_file).read_text()},
        }
        self._mounts = self._mounted(secrets)
        replaced = {"ROUTER_EXTERNAL_HOST_SSH_PORT": ("22", str(bigip.ssh_port)),
                    "ROUTER_LISTEN_ADDR": (":1936", "127.0.0.1:0")}
        environment = self._environment(replaced) | {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": kube.url.rpartition(":")[2]}
        command = [sys.executable, "-c", START, str(self._account(kube)), *container()["args"]]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, cwd="/", stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL)

    def _mounted(self, values: dict[str, dict[str, str]]) -> dict[str, str]:
        """Lay out the Secrets; mount path to folder. The keys must be those of the YAML."""
        pod = document("Deployment", "f5router")["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume["secret"]["secretName"] for volume in pod["volumes"]}
        mounts = {}
        for mount in container()["volumeMounts"]:
            secret = volumes.pop(mount["name"])
            assert values[secret].keys() == document("Secret", secret)["stringData"].keys()
            assert mount["readOnly"]
            place = self._folder / secret
            place.mkdir()
            for name, text in values[secret].items():
                (place / name).write_text(text)
            mounts[mount["mountPath"]] = str(place)
        assert not volumes
        return mounts

    def _environment(self, replaced: dict[str, tuple[str, str]]) -> dict[str, str]:
        made = {}
        for line in image()["ENV"]:
            made |= dict(item.split("=", 1) for item in shlex.split(line))
        for item in container()["env"]:
            name, text = item["name"], item["value"]
            if name in replaced:
                before, text = replaced[name]
                assert item["value"] == before
            for path, place in self._mounts.items():
                text = re.sub(rf"^{re.escape(path)}(?=/|$)", place, text)
            made[name] = text
        return made

    def _account(self, kube: FakeKube) -> Path:
        """The mounted token, with the rights that the loaded objects give."""
        metadata = document("Deployment", "f5router")["metadata"]
        name = document("Deployment", "f5router")["spec"]["template"]["spec"]["serviceAccountName"]
        place = self._folder / "account"
        place.mkdir()
        (place / "token").write_text(kube.token_for(metadata["namespace"], name))
        (place / "ca.crt").write_text(Path(kube.ca_file).read_text())
        return place

    # --- what it says ----------------------------------------------------------------------

    @property
    def log(self) -> str:
        return self._log.read_text()

    def lines(self) -> list[dict]:
        """Whole lines of the log, which is JSON."""
        return [json.loads(line) for line in self.log.splitlines(keepends=True)
                if line.startswith("{") and line.endswith("\n")]

    def get(self, probe: str | dict) -> requests.Response:
        """Ask for a path, or as a probe of the YAML does."""
        if not isinstance(probe, str):
            (port,) = container()["ports"]
            assert probe["httpGet"]["port"] == port["name"]
            probe = probe["httpGet"]["path"]
        self.until(lambda: any("address" in line for line in self.lines()))
        address = next(line["address"] for line in self.lines() if "address" in line)
        with requests.Session() as session:
            session.trust_env = False
            return session.get(f"http://{address}{probe}", timeout=LIMIT_S)

    def until(self, condition: Callable[[], object]) -> None:
        """Fails with the log when that takes too long, or the process ends before."""
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.05)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def decoded(secret: dict) -> dict[str, str]:
    """Texts of a Secret as it is stored."""
    return {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
