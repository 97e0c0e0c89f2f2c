"""A whole router between a fake Kubernetes API and a fake BIG-IP, over real HTTPS and SSH."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from f5router import config, controller
from mocks.bigip import FakeBigIP
from mocks.kube import FakeKube
from tests import manifests

HTTP, HTTPS = "ose-vserver", "https-ose-vserver"


class Lab:
    """Both fakes and, as often as wanted, a router on them."""

    def __init__(self, stack: ExitStack, folder: Path, *, partition: str = "/Common", **bigip):
        self._stack, self._folder, self.partition = stack, folder, partition
        self.kube = stack.enter_context(FakeKube())
        self.bigip = stack.enter_context(FakeBigIP(**bigip))
        self.kubeconfig = folder / "kubeconfig"
        self.kube.write_kubeconfig(str(self.kubeconfig))

    def virtuals(self, *, http: bool = True, https: bool = True, **https_fields) -> None:
        """Create the virtual servers as docs/configuration.md asks for."""
        if http:
            self.bigip.add_virtual(f"{self.partition}/{HTTP}", "10.0.0.1:80")
        if https:
            profiles = https_fields.pop("profiles", ("/Common/tcp", "/Common/http", "/Common/clientssl-default"))
            self.bigip.put_object("ltm/profile/client-ssl", {
                "name": "clientssl-default", "partition": "Common", "defaultsFrom": "/Common/clientssl",
                "sniDefault": "true",
            })
            self.bigip.add_virtual(f"{self.partition}/{HTTPS}", "10.0.0.1:443", profiles=profiles, **https_fields)

    def config(self, **flags: str) -> config.Config:
        """A Config for these fakes; flags by their names, with _ for -."""
        given = {
            "f5-host": self.bigip.address, "f5-username": self.bigip.username,
            "f5-password": self.bigip.password, "f5-ca-bundle": str(self.bigip.ca_file),
            "f5-partition-path": self.partition, "config": str(self.kubeconfig), "hold-off": "10ms",
            **{name.replace("_", "-"): value for name, value in flags.items()},
        }
        return config.load(given, {})

    def router(self, **flags: str) -> controller.Controller:
        """A running router: watchers started, nothing written yet."""
        stack = self._stack.enter_context(ExitStack())
        started = controller.build_controller(self.config(**flags), stack)
        started.close = stack.close
        return started

    def converge(self, router: controller.Controller | None = None, **flags: str) -> list[str]:
        """Run a pass as `f5router run --once` does; returns its reasons."""
        import threading

        router = router or self.router(**flags)
        return router.once(threading.Event(), sync_timeout_s=10)

    def apply(self, *objects: dict) -> None:
        """Create or replace objects in the cluster."""
        for obj in objects:
            self.kube.apply(obj)

    def admitted(self, namespace: str, name: str) -> dict:
        """The Admitted condition that the router wrote, {} for none."""
        route = self.kube.get("Route", namespace, name)
        entries = (route.get("status") or {}).get("ingress") or []
        own = [entry for entry in entries if entry["routerName"] == "public"]
        return own[0]["conditions"][0] if own else {}

    def writes(self) -> list[tuple[str, str]]:
        """Method and path of each configuration write since the last `clear`."""
        return [(entry.method, entry.path) for entry in self.bigip.writes()]

    def clear(self) -> None:
        self.bigip.clear_log()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Fakes with both virtual servers and one Service with two pods."""
    with ExitStack() as stack:
        made = Lab(stack, tmp_path)
        made.virtuals()
        made.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")))
        yield made


@pytest.fixture
def make_lab(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Fakes without anything, of any version and with any quirks."""
    with ExitStack() as stack:
        yield lambda **options: Lab(stack, tmp_path, **options)
