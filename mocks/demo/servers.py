"""The two fakes and the router, started in a directory of their own and stopped together."""

import base64
import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import yaml

from mocks.bigip import FakeBigIP
from mocks.demo.api import Api
from mocks.demo.certificates import Authority, fill, ssh_key_pair
from mocks.demo.pods import PodKeeper
from mocks.demo.processes import START_LIMIT_S, DemoError, Program, clean_environment, wait_until
from mocks.kube.manifests import read_manifests

MANIFESTS = Path(__file__).parent / "cluster"
EXAMPLES = ("nodes.yaml", "docs.yaml", "shop.yaml", "sources.yaml")
ADDED, JOINING = "added.yaml", "joining.yaml"
"""The Route and the Node that are added later."""

TMOS = "14.1.2.1"
HTTP_VIRTUAL, HTTPS_VIRTUAL = "/Common/ose-vserver", "/Common/https-ose-vserver"
ADDRESS = "192.0.2.80"
"""Address of the virtual servers, which the router creates."""
GATEWAY_ADDRESSES = "192.0.2.96/28"
"""Addresses that Gateways get."""
MOST_LINES = 60
"""Lines of `explain` that are shown: those of the example, and more."""

GHOST, INTERNAL = "openshift-f5-node", "10.3.89.213"
"""HostSubnet of the BIG-IP, and its address in the Nodes' network."""


class Lab:
    """Everything that the demo starts; use as a context manager.

    Attributes: folder: holds all files, removed at the end unless `keep` is set. cluster, device: the
    two servers as a client sees them. bigip: the fake itself, for its log. public, pods: authorities of
    the certificates that clients and the BIG-IP are shown.
    """

    folder: Path
    cluster: Api
    device: Api
    bigip: FakeBigIP

    def __init__(self) -> None:
        self.keep = False
        self.public, self.pods = Authority("demo authority"), Authority("demo authority of the pods")
        self.router: Program | None = None
        self._gateway = ""
        self._stack = ExitStack()
        self._programs: list[Program] = []

    def __enter__(self) -> "Lab":
        self._temporary = tempfile.TemporaryDirectory(prefix="f5router-demo-")
        self.folder = Path(self._temporary.name)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()
        if self.keep:
            self._temporary._finalizer.detach()
        else:
            self._temporary.cleanup()

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def authorities_file(self) -> Path:
        """Authorities that a client has to trust: the BIG-IP ends TLS or, for passthrough, a pod."""
        return self.folder / "ca.crt"

    @property
    def environment_file(self) -> Path:
        """Settings of the router, for a shell."""
        return self.folder / "router.env"

    def start_servers(self) -> None:
        """Both fakes, with what they hold at the start. Raises: DemoError."""
        program = self._start_cluster()
        self._start_bigip()
        program.wait_for_line("ready")
        config = yaml.safe_load(self.kubeconfig.read_text())
        server = config["clusters"][0]["cluster"]
        authority = self.folder / "cluster-ca.crt"
        authority.write_bytes(base64.b64decode(server["certificate-authority-data"]))
        token = config["users"][0]["user"]["token"]
        self.cluster, watched = (Api(server["server"], str(authority), token=token) for _ in range(2))
        self._stack.enter_context(PodKeeper(watched, self.bigip.dataplane.pods, self.pods))

    def _start_cluster(self) -> Program:
        """Make the example objects and serve them: `python -m mocks.kube --load ...`."""
        objects = [obj for name in EXAMPLES for _, obj in read_manifests(MANIFESTS / name)]
        fill(objects, self.public, self.pods)
        self.authorities_file.write_text(self.public.pem + self.pods.pem)
        manifest = self.folder / "cluster.yaml"
        manifest.touch(mode=0o600)
        manifest.write_text(yaml.safe_dump_all(objects, sort_keys=False))
        return self._run("fake cluster", [
            sys.executable, "-m", "mocks.kube", "--load", str(manifest), "--sdn",
            "--write-kubeconfig", str(self.kubeconfig), "--gateway-api", "v1.4",
        ], environment=clean_environment())

    def _start_bigip(self) -> None:
        """Serve a BIG-IP without virtual servers in this process, so that its log of calls is at hand."""
        self.bigip = self._stack.enter_context(FakeBigIP(tmos_version=TMOS, ssh=True, dataplane=True))
        self.device = Api(self.bigip.url, self.bigip.ca_file,
                          auth=(self.bigip.username, self.bigip.password))

    def join_network(self) -> list[tuple[str, str]]:
        """Give the BIG-IP a HostSubnet, as an administrator does; commands and what they printed.

        Raises: DemoError.
        """
        said = []
        for arguments in (("create", f"--name={GHOST}", f"--host-ip={INTERNAL}"),
                          ("gateway", f"--name={GHOST}")):
            program = self._program(
                f"ghost-hostsubnet {arguments[0]}", [sys.executable, "-m", "ghost_hostsubnet", *arguments],
                environment=clean_environment() | {"KUBECONFIG": str(self.kubeconfig)})
            program.wait_for_end()
            said.append((f"ghost-hostsubnet {' '.join(arguments)}", program.tail()))
        self._gateway = said[-1][1].strip()
        return said

    def start_router(self) -> None:
        """`f5router run`, configured by variables and files as in a pod."""
        settings = self._settings()
        lines = [f"export {name}='{value}'\n" for name, value in settings.items()]
        self.environment_file.write_text("".join(lines))
        self.router = self._run(
            "f5router run", [sys.executable, "-m", "f5router", "run"],
            environment=clean_environment() | settings,
        )

    def status_page(self) -> str:
        """URL of the router's status page, which it logs when it serves it. Raises: DemoError."""
        def url() -> str:
            self.router.check()
            log = self.router.log.read_text(errors="replace")
            served = re.search(r"serving metrics and health address=(\S+:\d+) ", log)
            return f"http://{served[1]}/" if served else ""
        return wait_until(url, START_LIMIT_S, "The router does not serve its status page")

    def stop_router(self) -> None:
        """SIGTERM; what is on the BIG-IP stays. Raises: DemoError: it did not end well."""
        status = self.router.stop()
        if status:
            raise DemoError(f"{self.router.name} ended with exit status {status} after SIGTERM.")
        if " ERROR " in self.router.log.read_text():
            raise DemoError(f"{self.router.name} logged errors.")

    def plan(self) -> str:
        """Return what `f5router plan` prints. Raises: DemoError."""
        return self._ask_router("plan", "--log-level=warning")

    def explain(self, ingress_route: str) -> str:
        """Return what `f5router explain` prints about an IngressRoute. Raises: DemoError."""
        return self._ask_router("explain", "ingressroute", ingress_route, lines=MOST_LINES)

    def http_routes(self) -> str:
        """Return what `f5router get` prints about HTTPRoutes. Raises: DemoError."""
        return self._ask_router("get", "httproutes")

    def _ask_router(self, command: str, *arguments: str, lines: int = 25) -> str:
        program = self._program(
            f"f5router {command}", [sys.executable, "-m", "f5router", command, *arguments],
            environment=clean_environment() | self._settings(),
        )
        program.wait_for_end()
        return program.tail(lines)

    def faults(self) -> list[BaseException]:
        """Return the faults of the fake BIG-IP itself; there should be none."""
        return self.bigip.errors if hasattr(self, "bigip") else []

    def check(self) -> None:
        """Raises: DemoError: a program has ended, or a fake has a fault."""
        for program in self._programs:
            program.check()
        if self.faults():
            raise DemoError("The fake BIG-IP has a fault.")

    def _run(self, name: str, command: list[str], *, environment: dict[str, str]) -> Program:
        """Start what is to run until the end."""
        program = self._program(name, command, environment=environment)
        self._programs.append(program)
        return program

    def _program(self, name: str, command: list[str], *, environment: dict[str, str]) -> Program:
        log = self.folder / f"{name.replace(' ', '-')}.log"
        return self._stack.enter_context(Program(name, command, log=log, environment=environment))

    def _settings(self) -> dict[str, str]:
        """Variables of the router; see docs/configuration.md."""
        login = self.folder / "bigip-login"
        key, hosts = self.folder / "ssh-privatekey", self.folder / "known_hosts"
        if not login.exists():
            private, public = ssh_key_pair()
            self.bigip.ssh_server.authorize(public)
            login.mkdir(mode=0o700)
            texts = {
                login / "url": self.bigip.url, login / "username": self.bigip.username,
                login / "password": self.bigip.password, key: private,
                hosts: f"{self.bigip.ssh_server.host_key_line}\n",
                self.folder / "bigip-ca.crt": Path(self.bigip.ca_file).read_text(),
                self.folder / "default.pem": "".join(self.public.issue("*.example.com")),
            }
            for path, text in texts.items():
                path.touch(mode=0o600)
                path.write_text(text)
        return {
            "KUBECONFIG": str(self.kubeconfig),
            "ROUTER_EXTERNAL_HOST_CREDENTIALS_DIR": str(login),
            "ROUTER_EXTERNAL_HOST_CA_BUNDLE": str(self.folder / "bigip-ca.crt"),
            "ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS": ADDRESS,
            "ROUTER_SOURCES": "routes,ingress,ingressroutes,gateway",
            "ROUTER_GATEWAY_ADDRESSES": GATEWAY_ADDRESSES,
            "ROUTER_EXTERNAL_HOST_PRIVKEY": str(key),
            "ROUTER_EXTERNAL_HOST_SSH_PORT": str(self.bigip.ssh_port),
            "ROUTER_EXTERNAL_HOST_SSH_KNOWN_HOSTS": str(hosts),
            "ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS": INTERNAL,
            "ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR": self._gateway,
            "ROUTER_CANONICAL_HOSTNAME": "router.example.com",
            "DEFAULT_CERTIFICATE_PATH": str(self.folder / "default.pem"),
            "DEFAULT_DESTINATION_CA_PATH": "none",
            "ROUTER_LISTEN_ADDR": "127.0.0.1:0",
        }
