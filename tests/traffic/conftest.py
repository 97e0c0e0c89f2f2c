"""A router between both fakes, with real traffic through the BIG-IP's virtual servers to pods."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from f5router.app.timing import Timing
from mocks.bigip import FakeBigIP
from mocks.bigip.dataplane.pods import Pod
from tests import manifests
from tests.builders import Identity, identity
from tests.feature.conftest import Lab
from tests.feature.running import Running
from tests.feature.test_pair import PairLab

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"
FIRST, SECOND = "/Common/traffic-group-1", "/Common/traffic-group-2"
"""The traffic groups of `pair`."""
DEFAULT = identity("default.example.com", ca="Default CA", algorithm="rsa")
"""Of the client SSL profile that the administrator made."""
PODS = identity("pods.example.com", ca="Pod CA")
"""Of all pods that speak TLS."""


class Site(Lab):
    """Both fakes, pods, and routers as they are started."""

    def __init__(self, stack: ExitStack, folder: Path, *, address: str = "10.0.0.1", **options):
        """Args: address: of the virtual servers; "" for none; options: of the fake BIG-IP."""
        super().__init__(stack, folder, dataplane=True, **options)
        # Requests are under way, in a data plane that may take longer to connect than a BIG-IP.
        self.timing = Timing(drain_s=1.0)
        self.pods = self.bigip.dataplane.pods
        if not address:
            return
        self.virtuals(address=address)
        self._certificate("default", DEFAULT)
        self.change("PATCH", "ltm/profile/client-ssl/~Common~clientssl-default",
                    {"cert": "/Common/default-site.crt", "key": "/Common/default-site.key"})

    def _certificate(self, name: str, pair: Identity) -> None:
        """Install a pair as an administrator does."""
        for kind, text in (("cert", pair.certificate), ("key", pair.key)):
            self.install(kind, f"{name}-site", text)

    @property
    def http(self) -> tuple[str, int]:
        """Where the virtual server for port 80 listens."""
        return self.bigip.endpoint(f"{self.partition}/ose-vserver")

    @property
    def https(self) -> tuple[str, int]:
        return self.bigip.endpoint(f"{self.partition}/https-ose-vserver")

    def pod(self, address: str, service: str, *, namespace: str = "shop", port: int = 8080, **how) -> Pod:
        """Start a pod; its name is that of its Service and its address."""
        return self.pods.start(address, port, f"{service}-{address}", namespace=namespace, **how)

    def serve(self, service: str, *addresses: str, namespace: str = "shop", port: int = 8080,
              tls: Identity | None = None) -> None:
        """A Service with its pods."""
        pair = (tls.certificate.encode(), tls.key.encode()) if tls else None
        for address in addresses:
            self.pod(address, service, namespace=namespace, port=port, tls=pair)
        name = "https" if tls else "http"
        self.apply(*manifests.service(namespace, service, pods=addresses, ports=((name, port),)))

    def run(self, **flags: str) -> Running:
        """Start the running router."""
        return Running(self, **flags)

    def right(self, *services: str, namespace: str = "shop"):
        """Return a check for load.Target: True if a pod is one of these Services'."""
        return lambda pod: pod["namespace"] == namespace and pod["pod"].rsplit("-", 1)[0] in services

    def faults(self) -> list:
        """Return what the fake did not know, and what iRules did wrong."""
        return self.bigip.errors


@contextmanager
def sites(folder: Path) -> Iterator[Callable[..., Site]]:
    """A function that makes a Site; its options are those of the fake BIG-IP. None may have had faults."""
    with ExitStack() as stack:
        started: list[Site] = []

        def make(**options: object) -> Site:
            own = folder / str(len(started))
            own.mkdir()
            started.append(Site(stack, own, **options))
            return started[-1]

        yield make
        assert [site.faults() for site in started] == [[]] * len(started)


@pytest.fixture
def site_of(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes a Site; options are those of the fake BIG-IP."""
    with sites(tmp_path) as make:
        yield make


@pytest.fixture(scope="module")
def shared_site_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Makes a Site for all tests of a module that send requests and change nothing."""
    with sites(tmp_path_factory.mktemp("sites")) as make:
        yield make


@pytest.fixture
def site(site_of: Callable[..., Site]) -> Site:
    return site_of()


@pytest.fixture
def pair(site: Site, tmp_path: Path) -> Iterator[PairLab]:
    """Units that are synced as soon as something is written, with a second traffic group; the same pods."""
    with FakeBigIP(dataplane={"pods": site.pods}) as second:
        joined = PairLab(site, second, tmp_path / "both.crt", auto_sync=True)
        joined.pair.add_traffic_group(SECOND)
        yield joined
        assert second.errors == []
