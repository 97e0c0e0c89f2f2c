"""Gateways that a GatewayClass asks for, without a setting: from the start, later, and while nobody knows."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import requests
from click.testing import CliRunner

from f5router.app import launch
from f5router.cli.adopt import adopt
from f5router.cli.main import main
from f5router.config import config
from f5router.kube.settings import WatchTiming
from tests import manifests
from tests.gateways import backend, gateway, gateway_class, http_route, listener, rule
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.load import Load, Target
from tests.traffic.test_gateways import pod
from tests.waiting import DEADLINE_S, until

FLAGS = {"f5_vserver_address": "203.0.113.10"}
CLASS = gateway_class()
OBJECTS = (gateway("web", listener()),
           http_route("app", rule(backend("web")), hostnames=("app.example.com",)))
ROUTE = manifests.route("a", host="a.example.com")


@pytest.fixture
def site(site_of) -> Site:
    """A cluster with the CRDs, and a Gateway whose GatewayClass is missing."""
    site = site_of(address="", gateway_api="v1.6")
    site.timing = replace(site.timing, watch=WatchTiming(absent_s=0.2, absent_soon_s=0.05))
    site.serve("web", "10.1.1.1", namespace="infra")
    site.serve("web", "10.1.2.1")
    site.apply(ROUTE, *OBJECTS)
    return site


def settings(site: Site, **flags: str) -> config.Config:
    """Settings that name no kinds of objects."""
    given = site.flags(**FLAGS | {"listen_addr": "none"} | flags)
    if "sources" not in flags:
        del given["sources"]
    return config.load(given, {}, site.read_file)


def once(site: Site, **flags: str) -> int:
    return launch.run(settings(site, **flags), once=True, stop=threading.Event(), timing=site.timing)


@contextmanager
def running(site: Site, **flags: str) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=launch.run, args=(settings(site, **flags),),
                              kwargs={"once": False, "stop": stop, "timing": site.timing})
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()


def serves(site: Site, host: str = "app.example.com") -> str:
    """Namespace of the pod that answers for a host, or the status; "" while nothing listens."""
    try:
        return pod(site, host)
    except KeyError:
        return ""


def looks(site: Site) -> int:
    return sum("gatewayclasses" in entry.path for entry in site.kube.log)


def test_a_class_that_is_there(site):
    site.apply(CLASS)
    assert once(site) == 0
    assert (serves(site), serves(site, "a.example.com")) == ("infra", "shop")
    writes = len(site.bigip.writes())
    assert once(site) == 0
    assert len(site.bigip.writes()) == writes


def test_a_class_that_comes_under_load(site):
    """The router starts anew by itself, with its metrics: no request is lost, none comes to other pods."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running(site, listen_addr=f"127.0.0.1:{port}"):
        until(lambda: serves(site, "a.example.com") == "shop")
        target = Target("a", site.http, "a.example.com", right=site.right("web"))
        with Load(target, clients=2) as load:
            until(load.more(20))
            assert serves(site) == "503"
            site.apply(CLASS)
            until(lambda: serves(site) == "infra")
            until(load.more(20))
        assert (load.report.failed, load.report.wrong) == ([], [])
        site.apply(manifests.route("b", host="b.example.com"))
        until(lambda: serves(site, "b.example.com") == "shop")
        assert requests.get(f"http://127.0.0.1:{port}/readyz", timeout=DEADLINE_S).status_code == 200


def test_a_class_that_goes_while_no_router_runs(site):
    site.apply(CLASS)
    assert once(site) == 0
    site.kube.delete("GatewayClass", "", CLASS["metadata"]["name"])
    assert once(site) == 0
    assert (serves(site), serves(site, "a.example.com")) == ("503", "shop")


@pytest.mark.parametrize("fault", ["403", "404", "500"])
def test_what_is_served_stays_while_nobody_knows(site, fault):
    """A start without the right, and beside an API server that starts: it does not know its CRDs at once."""
    site.apply(CLASS)
    assert once(site) == 0
    writes = len(site.bigip.writes())
    if fault == "403":
        site.kube.forbid("gatewayclasses")
    else:
        site.kube.inject(fault, path="/apis/gateway.networking.k8s.io", times=6)
    with running(site):
        site.apply(manifests.route("b", host="b.example.com"))
        until(lambda: serves(site, "b.example.com") == "shop")
        assert serves(site) == "infra"
    deleted = [entry.path for entry in site.bigip.writes()[writes:] if entry.method == "DELETE"]
    assert deleted == []


@pytest.mark.parametrize("flags", [{"sources": "routes,ingress,ingressroutes"}, {"namespace": "shop"}])
def test_settings_that_leave_nothing_open(site, flags):
    """Kinds that somebody has named, also those of the default; a role of one namespace lists no classes."""
    site.apply(CLASS, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    assert once(site, **flags) == 0
    assert looks(site) == 0
    assert serves(site) == "503"


def test_a_cluster_without_the_gateway_api(site_of):
    site = site_of(address="")
    site.timing = replace(site.timing, watch=WatchTiming(absent_soon_s=0.05))
    site.serve("web", "10.1.2.1")
    site.apply(ROUTE)
    assert once(site) == 0
    assert serves(site, "a.example.com") == "shop"


def command(site: Site, *arguments: str) -> str:
    given = site.flags(**FLAGS)
    del given["sources"]
    flags = [f"--{name}={value}" for name, value in given.items()]
    result = CliRunner().invoke(main, [*arguments, *flags])
    return result.output


def test_commands_see_what_the_router_sees(site):
    """`plan` would delete what is served otherwise."""
    site.apply(CLASS)
    assert once(site) == 0
    assert "0 to create, 0 to change, 0 to delete" in command(site, "plan")
    assert "app.example.com" in command(site, "explain", "httproute", "app", "-n", "infra")
    assert "no Gateway is served" not in command(site, "doctor")
    assert clients.plain(site.http, "app.example.com").status == 200
    site.kube.delete("GatewayClass", "", CLASS["metadata"]["name"])
    assert "0 to delete" not in command(site, "plan")
    nobody = "no GatewayClass has spec.controllerName f5router.io/gateway, so no"
    assert f"{nobody} HTTPRoute is served" in command(site, "get", "httproutes")
    assert f"{nobody} Gateway is served" in command(site, "explain", "gateway", "web", "-n", "infra")


def test_adopt_beside_an_api_server_that_starts(site):
    """It does not know its CRDs at once: what is served stays."""
    site.apply(CLASS)
    assert once(site) == 0
    site.kube.inject("404", path="/apis/gateway.networking.k8s.io", times=2)  # one look at both versions
    assert adopt(settings(site), dry_run=False, stop=threading.Event(), drain_s=0.0, timing=site.timing) == 0
    assert serves(site) == "infra"
