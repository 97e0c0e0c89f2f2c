"""A reader of the pages: a shell between the fakes, where a router runs all the time.

Programs of the project run in this process, the others, as kubectl, curl and jq, are the real ones, except oc
and dot, which are not there.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import requests
from click.testing import CliRunner

from f5router.app import launch, status_source
from f5router.cli.main import main as f5router
from f5router.config import config
from f5router.monitoring.http_server import Server
from ghost_hostsubnet.__main__ import main as ghost_hostsubnet
from mocks.kube import FakeKube
from tests import manifests
from tests.e2e.deployment import FILES
from tests.e2e.nursery import Forked
from tests.e2e.pages import DOCS
from tests.feature.conftest import START, Lab
from tests.waiting import DEADLINE_S, until

PROGRAMS = {"f5router": f5router, "ghost-hostsubnet": ghost_hostsubnet}
LOGIN = ("operator", "password")
NODES = {"node-1": "10.128.0.0/23", "node-2": "10.129.0.0/23", "node-3": "10.130.0.0/23",
         "ramp1.example.com": "10.128.2.0/23", "ramp2.example.com": "10.129.2.0/23"}
SETTING = re.compile(r"([A-Z_0-9]+)(?:=|: )(.*)")
OC = """#!/bin/sh
# What OpenShift has besides Kubernetes, whose objects are not here, is only logged.
case "$1 $2" in "adm "*) echo "$@" >>oc.log ;; *) exec kubectl "$@" ;; esac
"""
DOT = "#!/bin/sh\nread -r first; case $first in digraph*) cat >/dev/null ;; *) exit 1 ;; esac\n"


def operated(kind: str, name: str, **metadata: str) -> dict:
    """Return the object that an operator of OpenShift 4 follows."""
    return {"apiVersion": "operator.openshift.io/v1", "kind": kind, "metadata": {"name": name, **metadata},
            "spec": {}}


def lines_of(text: str) -> Iterator[str]:
    """Commands, each with its lines joined."""
    command = ""
    for line in text.splitlines():
        command += f"{line}\n"
        try:
            shlex.split(command, comments=True)
        except ValueError:  # a quote is open
            continue
        if not line.endswith(("\\", "|")):
            yield command.replace("\\\n", " ").strip()
            command = ""
    assert not command, command


class Reader:
    """A user of all pages: fakes with docs/deploy, a running router with a status page, and a shell."""

    def __init__(self, stack: ExitStack, folder: Path):
        self.folder = folder
        self.lab = lab = Lab(stack, folder)
        lab.kube = stack.enter_context(FakeKube(sdn=True, sdn_delay_s=0.02))
        lab.kube.write_kubeconfig(str(lab.kubeconfig))
        self._fill()
        (folder / "docs").symlink_to(DOCS)
        self._write("bin/oc", OC, 0o755)
        self._write("bin/dot", DOT, 0o755)
        for name, text in (("url", lab.bigip.url), ("username", lab.bigip.username),
                           ("password", lab.bigip.password)):
            self._write(f"login/{name}", text)
        self.environment = {
            "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder), "KUBECONFIG": str(lab.kubeconfig), "ROUTER_LISTEN_ADDR": "127.0.0.1:0",
            "ROUTER_EXTERNAL_HOST_CREDENTIALS_DIR": str(folder / "login"),
            "ROUTER_EXTERNAL_HOST_CA_BUNDLE": str(lab.bigip.ca_file), "ROUTER_LOG_FORMAT": "json",
            "DEFAULT_DESTINATION_CA_PATH": "none"}
        server = self._run_all_the_time(stack)
        self.replaced = {
            "bigip.example.com": lab.bigip.address, "192.0.2.10": lab.bigip.address,
            "/etc/bigip-login": str(folder / "login"), "bigip-ca.crt": str(lab.bigip.ca_file),
            "localhost:1936": server.where, "NAMESPACE/NAME": "bank/late", "route NAME": "route late -n bank",
            "$HOME/.kube/config": str(lab.kubeconfig)}
        until(lambda: self.admitted("web") == self.admitted("hello") == "True")
        until(lambda: self.admitted("late", "bank") == "False")
        until(lambda: any(event["type"] == "Warning" for event in lab.kube.list("Event", "shop")))

    def _fill(self) -> None:
        """Apply what an administrator of both has prepared, and Routes of teams."""
        lab = self.lab
        lab.virtuals()
        for path in FILES:
            if path.name not in ("15-sdn-reader.yaml", "17-nodes-reader.yaml"):
                lab.kube.load(path)
        lab.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (
            "shop", "bank", "platform", "payments", "default")))
        lab.apply(operated("Network", "cluster"),
                  operated("IngressController", "default", namespace="openshift-ingress-operator"))
        for number, (name, subnet) in enumerate(NODES.items(), 1):
            address = f"10.3.89.{number}"
            lab.apply(manifests.node(name, address), manifests.host_subnet(name, address, subnet))
        old = manifests.route("web", kind="edge", insecure="Allow")
        old["status"] = {"ingress": [
            {"routerName": name, "host": "www.example.com", "conditions": [
                {"type": "Admitted", "status": "True", "lastTransitionTime": "2020-01-02T03:04:05Z"}]}
            for name in ("default", "old")]}
        lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")),
                  *manifests.service("shop", "hello", pods=()), old,
                  manifests.route("hello", host="hello.example.com", service="hello"),
                  manifests.route("late", namespace="bank", created="2026-02-01T00:00:00Z"))

    def _run_all_the_time(self, stack: ExitStack) -> Server:
        """Start a router whose loop runs in a thread."""
        lab = self.lab
        settings = lab.config(listen_addr="127.0.0.1:0", stats_user=LOGIN[0], stats_password=LOGIN[1],
                              sources="routes,ingress,ingressroutes", allow_wildcard_routes="true")
        controller = launch.build_controller(settings, stack, timing=lab.timing)
        stop = threading.Event()
        loop = threading.Thread(target=controller.run, args=(stop,))
        server = stack.enter_context(status_source.serve(settings, controller, stop))
        stack.callback(loop.join, DEADLINE_S)
        stack.callback(stop.set)
        loop.start()
        return server

    def _write(self, name: str, text: str, mode: int = 0o600) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def admitted(self, name: str, namespace: str = "shop") -> str:
        """The status of a Route's condition, by the running router."""
        ingress = (self.lab.kube.get("Route", namespace, name).get("status") or {}).get("ingress") or ()
        return next((entry["conditions"][0]["status"] for entry in ingress
                     if entry["routerName"] == "public"), "")

    def type(self, text: str, **more: str) -> tuple[str, int]:
        """Type commands; returns what they print and the last exit status, others than which are 0."""
        for words, fake in self.replaced.items():
            text = text.replace(words, fake)
        said, status = "", 0
        for command in lines_of(text):
            assert status == 0, said
            if setting := SETTING.fullmatch(command):
                config.load(self.lab.flags(), {setting[1]: setting[2]}, config.read_text)
            elif command.startswith("--"):
                given = dict(word.removeprefix("--").split("=", 1) for word in shlex.split(command))
                config.load(self.lab.flags() | given, {}, config.read_text)
            elif not command.startswith("#"):
                printed, status = self._command(command, self.environment | more)
                said += printed
        return said, status

    def _command(self, command: str, environment: dict[str, str]) -> tuple[str, int]:
        if command.split()[0] not in PROGRAMS:
            return self._shell(command, environment, "")
        first, _, rest = command.partition(" | ")
        words = shlex.split(first, comments=True)
        if words[:2] == ["f5router", "run"] and "--once" not in words:
            return self._run(words[1:], environment)
        result = CliRunner().invoke(PROGRAMS[words[0]], words[1:], env=environment)
        assert isinstance(result.exception, SystemExit | None), result.exc_info
        if rest:
            return self._shell(rest, environment, result.stdout)
        # The log of a command is mixed with that of the router which runs in this process, too.
        return result.stdout if words[0] == "f5router" else result.output, result.exit_code

    def _shell(self, command: str, environment: dict[str, str], text: str) -> tuple[str, int]:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=environment,
                              input=text, capture_output=True, text=True, timeout=DEADLINE_S)
        return done.stdout + done.stderr, done.returncode

    def _run(self, words: list[str], environment: dict[str, str]) -> tuple[str, int]:
        """Run a router of its own until it is ready."""
        log = self.folder / "run.log"
        with log.open("wb") as output:
            first = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
            process = Forked(START, words, first=first, environment=environment, output=output)
        lines = until(lambda: [json.loads(line) for line in log.read_text().splitlines(keepends=True)
                               if '"address": "' in line and line.endswith("\n")]
                      or process.poll() is not None, log.read_text)
        assert process.poll() is None, log.read_text()
        address = lines[0]["address"]
        with requests.Session() as session:
            session.trust_env = False
            until(lambda: session.get(f"http://{address}/readyz", timeout=DEADLINE_S).ok, log.read_text)
        process.send_signal(signal.SIGTERM)
        return log.read_text(), process.wait(DEADLINE_S)

    def served(self, *objects: dict) -> None:
        """Apply Routes, and wait until each is admitted."""
        self.lab.apply(*objects)
        for obj in objects:
            key = obj["metadata"]["name"], obj["metadata"]["namespace"]
            until(lambda key=key: self.admitted(*key) == "True",
                  lambda key=key: self.lab.kube.get("Route", key[1], key[0]))

    def remove(self, *objects: dict) -> None:
        for obj in objects:
            self.lab.kube.delete(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
