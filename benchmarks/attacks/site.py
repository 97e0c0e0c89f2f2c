"""Both fakes with the attacked cluster, the router as a process between them, and clients that ask."""

import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import requests

from benchmarks.attacks import administrator, cluster, contents, marks
from benchmarks.attacks.cluster import Answer, Asked, Material, Objects
from mocks.bigip import FakeBigIP
from mocks.demo.certificates import ssh_key_pair
from mocks.demo.processes import clean_environment
from mocks.kube import FakeKube
from tests.traffic.load import Load, Target

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"
ROUTER = "public"
STOP_S = 30.0
ADDRESS = re.compile(rb"serving metrics and health address=(\S+)")
WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""A process that it starts ends with the one that started it, whatever ends that: setpriv(1)."""
POLL_S = 0.05
CONDITION = ("type", "status", "reason", "message")


class AttackError(Exception):
    """Something does not hold; the message says what."""


class Site:
    """A context manager. It ends the router, the clients and the fakes.

    Args: ssh: certificates go over SSH instead of REST. flags: more of the router's.
    """

    def __init__(self, material: Material, *, ssh: bool = False, flags: Mapping[str, str] | None = None):
        self.material, self.ssh = material, ssh
        self.objects: Objects = {}
        self.flags = dict(flags or {})
        self._stack = ExitStack()
        self.router: subprocess.Popen | None = None
        self.killed = False
        """True: a router was killed, and perhaps left LTM nodes that nobody needs."""
        self.load: Load | None = None

    def __enter__(self) -> "Site":
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="f5router-attack-")))
            self.kube = stack.enter_context(FakeKube())
            self.bigip = stack.enter_context(FakeBigIP(ssh=self.ssh, dataplane=True))
            self._administrate()
            self._start_pods()
            self.kube.write_kubeconfig(self.folder / "kubeconfig")
            self.log = self.folder / "router.log"
            self._environment = clean_environment() | self._settings()
            with self.bigip.store.lock:
                self.bigip.store.save()
            self.foreign = self.state(ours=False)
            self.disk = dict(self.bigip.store.disk)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            self.kill()
            if self.load is not None:
                self.load.stop()
        finally:
            self._stack.close()

    # -- what an administrator made --------------------------------------------------------------

    def _administrate(self) -> None:
        """The virtual servers of the guide, and objects of others that nobody may touch."""
        big, default = self.bigip, self.material.default
        for ending, text in (("crt", default.certificate), ("key", default.key)):
            big.install(f"/Common/site.{ending}", text.encode())
        big.put_object(
            "ltm/profile/client-ssl",
            {
                "name": "site",
                "partition": "Common",
                "defaultsFrom": "/Common/clientssl",
                "sniDefault": "true",
                "cert": "/Common/site.crt",
                "key": "/Common/site.key",
            },
        )
        big.put_object("ltm/pool", {"name": "mine", "partition": "Common", "monitor": "/Common/tcp"})
        big.put_object("ltm/pool/~Common~mine/members", {"name": "10.9.9.9:80", "partition": "Common"})
        big.put_object("ltm/pool", {"name": "openshift", "partition": "Common"})
        big.put_object(
            "ltm/rule", {"name": "mine", "partition": "Common", "apiAnonymous": "when CLIENT_ACCEPTED {\n}"}
        )
        big.add_virtual(HTTP, "10.0.0.1:80", rules=("/Common/mine",))
        big.add_virtual(HTTPS, "10.0.0.1:443", profiles=("/Common/tcp", "/Common/http", "/Common/site"))
        big.add_virtual("/Common/mine", "10.0.0.2:80", pool="/Common/mine")

    def _start_pods(self) -> None:
        """Also the spare ones, so that a pod answers as soon as it is an endpoint."""
        pair = self.material.pods.certificate.encode(), self.material.pods.key.encode()
        for (namespace, service), (addresses, (name, port)) in cluster.PODS.items():
            for address in (*addresses, *cluster.SPARE.get((namespace, service), ())):
                self.start_pod(namespace, service, address, port, pair if name == "https" else None)

    def start_pod(
        self, namespace: str, service: str, address: str, port: int, tls: tuple[bytes, bytes] | None
    ) -> None:
        """A pod that answers with the name of its Service."""
        self.bigip.pods.start(address, port, f"{service}-{address}", namespace=namespace, tls=tls)

    def _settings(self) -> dict[str, str]:
        files = {"ca.crt": Path(self.bigip.ca_file).read_text()}
        settings = {
            "ROUTER_EXTERNAL_HOST_HOSTNAME": self.bigip.url,
            "ROUTER_EXTERNAL_HOST_USERNAME": self.bigip.username,
            "ROUTER_EXTERNAL_HOST_PASSWORD": self.bigip.password,
            "ROUTER_EXTERNAL_HOST_CA_BUNDLE": str(self.folder / "ca.crt"),
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "ROUTER_ALLOW_WILDCARD_ROUTES": "true",
            "ROUTER_LISTEN_ADDR": "127.0.0.1:0",
            "ROUTER_F5_CONNECT_TIMEOUT": "2",
            "ROUTER_F5_TIMEOUT": "2",
        }
        if self.ssh:
            private, public = ssh_key_pair()
            self.bigip.ssh_server.authorize(public)
            files |= {"key": private, "known_hosts": f"{self.bigip.ssh_server.host_key_line}\n"}
            settings |= {
                "ROUTER_EXTERNAL_HOST_PRIVKEY": str(self.folder / "key"),
                "ROUTER_EXTERNAL_HOST_SSH_PORT": str(self.bigip.ssh_port),
                "ROUTER_EXTERNAL_HOST_SSH_KNOWN_HOSTS": str(self.folder / "known_hosts"),
            }
        for name, text in files.items():
            (self.folder / name).touch(mode=0o600)
            (self.folder / name).write_text(text)
        return settings | administrator.settings(self.folder, self.material) | self.flags

    # -- the cluster -----------------------------------------------------------------------------

    def change(self, change: cluster.Change) -> None:
        for obj in change.apply:
            self.kube.apply(obj)
        for kind, namespace, name in change.delete:
            self.kube.delete(kind, namespace, name)
        self.objects = change.to(self.objects)

    def statuses(self) -> dict[str, list]:
        """Return for each of our Routes: Host, condition, reason and message of the router's entries."""
        routes = {key: self.kube.get(*key) for key in self.objects if key[0] == "Route"}
        return {f"{namespace}/{name}": _entries(route) for (_, namespace, name), route in routes.items()}

    # -- the device ------------------------------------------------------------------------------

    def state(self, *, ours: bool = True) -> dict[str, str]:
        """Return what is on the device; see contents.state."""
        return contents.state(self.bigip, ours=ours)

    def leftovers(self) -> list[str]:
        """Files on the device's disk that were not there at the beginning, drafts, errors of the fake."""
        return contents.leftovers(self.bigip, self.disk)

    # -- the router ------------------------------------------------------------------------------

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._log_begin = log.tell()
            self.router = subprocess.Popen(
                [*WITH_US, sys.executable, "-m", "f5router", "run"],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        """End the router at once, if it runs."""
        if self.router is not None and self.router.returncode is None:
            self.killed = True
            self.router.send_signal(signal.SIGKILL)
            self.router.wait()

    def stop(self) -> None:
        """End the router as a pod is ended. Raises: AttackError: it does not end, or fails."""
        self.router.terminate()
        try:
            status = self.router.wait(STOP_S)
        except subprocess.TimeoutExpired:
            raise AttackError(f"SIGTERM does not end the router in {STOP_S:g} s") from None
        if status:
            raise AttackError(f"the router ended with exit status {status}:\n{self.tail()}")

    def ready(self) -> bool:
        """Return what the router that runs says of itself at /readyz; False before it listens."""
        with self.log.open("rb") as log:
            log.seek(self._log_begin)
            match = ADDRESS.search(log.read())
        if match is None:
            return False
        with requests.Session() as session:
            session.trust_env = False
            return session.get(f"http://{match[1].decode()}/readyz", timeout=STOP_S).ok

    def tail(self, lines: int = 15) -> str:
        """The end of the router's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def crashed(self) -> bool:
        return self.router is not None and self.router.poll() is not None

    # -- clients ---------------------------------------------------------------------------------

    def address(self, asked: Asked) -> tuple[str, int]:
        return self.bigip.endpoint(HTTPS if asked.tls else HTTP)

    def targets(self, *stages: Objects, steady: bool) -> list[Target]:
        """Return what clients ask for while one of the stages becomes the next.

        Args: steady: only what has one answer in all stages; else the rest, which may also be refused.
        """
        targets = []
        for asked in cluster.requests(*stages):
            answers = [cluster.answer(asked, stage, self.material) for stage in stages]
            if steady == (len(set(answers)) == 1):
                targets.append(self._target(asked, answers, is_served=all(stages)))
        return targets

    def _target(self, asked: Asked, answers: list[Answer], *, is_served: bool) -> Target:
        services = frozenset().union(*(answer.services for answer in answers))
        shown = {answer.certificate for answer in answers if answer.certificate}
        if (
            len(answers) > 1
            and asked.tls
            and any(not answer.services or len(shown) > 1 for answer in answers)
        ):
            shown.add(self.material.site.certificate)
            if not is_served:
                shown.add(self.material.default.certificate)
        return Target(
            str(asked),
            self.address(asked),
            asked.host,
            asked.path,
            asked.tls,
            right=lambda pod: (pod["namespace"], pod["pod"].rpartition("-")[0]) in services,
            certificates={ssl.PEM_cert_to_DER_cert(text) for text in shown},
            alone=asked.tls,
            check=lambda status, headers, pod: judge(answers, status, headers, pod, is_served=is_served),
            status=answers[0].status if len(set(answers)) == 1 else 200,
        )

    def ask(self, targets: Iterable[Target], *, seed: int, clients: int = 2, pause_s: float = 0.02) -> None:
        """Go on asking for these from now on."""
        self.load = Load(*targets, clients=clients, seed=seed, kept=4, pause_s=pause_s)
        self.load.__enter__()

    def until(self, condition: Callable[[], object], limit_s: float, problem: Callable[[], str]) -> None:
        """Raises: AttackError: with the problem, after limit_s or when the router has ended by itself."""
        deadline = time.monotonic() + limit_s
        while True:
            begin = time.monotonic()
            if condition():
                return
            if self.crashed():
                raise AttackError(
                    f"the router ended with exit status {self.router.returncode}:\n{self.tail()}"
                )
            if time.monotonic() > deadline:
                raise AttackError(f"{problem()} after {limit_s:g} s")
            # A condition that takes long to look at would leave the router too little of the machine.
            time.sleep(max(POLL_S, 4 * (time.monotonic() - begin)))


def judge(answers: Iterable[Answer], status: int, headers: Mapping[str, str], pod: Mapping | None, *,
          is_served: bool = True) -> str:
    """Return what is wrong with an answer: a mark of another Route, a redirect elsewhere, another error page.

    Args: is_served: the router had attached all its objects before.
    """
    if pod is not None:
        allowed = {answer.marks for answer in answers if answer.marks}
        return marks.problem(allowed, headers, pod) if is_served and allowed else ""
    if status == 302 and headers.get("location") not in {answer.location for answer in answers}:
        return f"redirected to {headers.get('location')}"
    return "another page" if is_served and status == 503 and headers.get("x-page") != marks.PAGE else ""


def _entries(route: dict) -> list[tuple]:
    """Return what the router wrote into a status, without times."""
    ingress = (route.get("status") or {}).get("ingress") or ()
    return [
        (entry["host"], *(
            tuple(condition.get(name, "") for name in CONDITION) for condition in entry["conditions"]))
        for entry in ingress
        if entry["routerName"] == ROUTER
    ]


def process_memory(pid: int) -> tuple[float, int, int]:
    """Resident MiB, threads and open descriptors of a process."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return (
        int(fields["VmRSS"].split()[0]) / 1024,
        int(fields["Threads"]),
        len(os.listdir(f"/proc/{pid}/fd")),
    )
