"""The router that starts anew for a GatewayClass: files that have changed, its end meanwhile, replicas."""

import gc
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from f5router.app import launch
from f5router.app.controller import Controller
from f5router.kube.settings import KubeSettings
from tests import manifests
from tests.builders import identity
from tests.feature.test_replicas import LEASE, holder
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.load import Load, Target
from tests.traffic.test_gateway_demand import CLASS, running, serves, settings, site
from tests.waiting import DEADLINE_S, until

__all__ = ["site"]

READ_S = 3.0
"""Period at which files are read: what starts anew has written much before the first time."""
STARTS_ANEW = "starting anew, to serve Gateways"


@contextmanager
def logged(message: str, action) -> Iterator[None]:
    """Do something in the thread that logs a message."""
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage() == message:
                action()

    handler, logger = Handler(), logging.getLogger("f5router")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def threads(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def started(site: Site, stop: threading.Event, **flags: str) -> threading.Thread:
    thread = threading.Thread(
        target=launch.run, args=(settings(site, listen_addr="none", **flags),),
        kwargs={"once": False, "stop": stop, "timing": site.timing})
    thread.start()
    return thread


def test_a_start_that_waits_for_the_classes_ends_at_once(site):
    site.kube.inject("hold", path="/gatewayclasses", times=None)
    stop = threading.Event()
    thread = started(site, stop)
    try:
        until(lambda: site.kube.held)
        stop.set()
        thread.join(KubeSettings().read_timeout_s / 2)
        assert not thread.is_alive()
    finally:
        site.kube.release()
        thread.join(DEADLINE_S)


def test_an_end_between_the_two_runs(site):
    stop = threading.Event()
    site.apply(manifests.route("b", host="b.example.com"))
    with logged(STARTS_ANEW, stop.set):
        thread = started(site, stop)
        until(lambda: serves(site, "b.example.com") == "shop")
        site.apply(CLASS)
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
    assert serves(site, "b.example.com") == "shop"


def test_what_has_ended_leaves_no_memory(site):
    gc.collect()
    before = sum(isinstance(each, Controller) for each in gc.get_objects())
    gc.disable()
    try:
        with running(site):
            until(lambda: serves(site, "a.example.com") == "shop")
            site.apply(CLASS)
            until(lambda: serves(site) == "infra")
            assert sum(isinstance(each, Controller) for each in gc.get_objects()) == before + 1
            assert (threads("watch-routes"), threads("api-look"), threads("gateway-class")) == (1, 1, 0)
    finally:
        gc.enable()


OWN = {"name": "default", "f5-vserver-address": "203.0.113.10"}
MORE = {"name": "more", "f5-vserver-address": "203.0.113.20"}


def test_front_ends_that_came_since_the_start(site, tmp_path):
    """Nothing of theirs goes, not even for the moment until the file is read again."""
    site.timing = replace(site.timing, files_s=READ_S)
    path = tmp_path / "front-ends.json"
    path.write_text(json.dumps([OWN]))
    with running(site, f5_vserver_address=None, front_ends=str(path)):
        until(lambda: serves(site, "a.example.com") == "shop")
        path.write_text(json.dumps([OWN, MORE]))
        until(lambda: more(site))
        seen = len(site.bigip.writes())
        site.apply(CLASS)
        until(lambda: serves(site) == "infra")
        deleted = [entry.path for entry in site.bigip.writes()[seen:] if entry.method == "DELETE"]
        assert (deleted, more(site)) == ([], True)


def more(site: Site) -> bool:
    """True if a pod answers for the Route on the front end that came."""
    address = site.bigip.listeners().get("203.0.113.20:80")
    return address is not None and clients.plain(address, "a.example.com").status == 200


def test_a_file_that_cannot_be_used_at_the_moment(site, tmp_path):
    """The router goes on until it can be: a process that ended would not come up again."""
    path = tmp_path / "front-ends.json"
    path.write_text(json.dumps([OWN]))
    with running(site, f5_vserver_address=None, front_ends=str(path)):
        until(lambda: serves(site, "a.example.com") == "shop")
        path.write_text("[")
        with logged("Gateways not served: the router cannot start anew, trying again later",
                    lambda: path.write_text(json.dumps([OWN]))):
            site.apply(CLASS)
            until(lambda: serves(site) == "infra")
        assert serves(site, "a.example.com") == "shop"


def test_a_certificate_that_was_renewed_since_the_start(site, tmp_path):
    """The one of before is not served again, not even for a moment."""
    site.timing = replace(site.timing, files_s=READ_S)
    path, shown = tmp_path / "default.pem", []
    old, new = identity("old.example.com"), identity("new.example.com")
    path.write_text(old.certificate + old.key)

    def certificate() -> str:
        try:
            return clients.python(site.https, "other.example.com").certificate
        except KeyError:
            return ""

    with running(site, default_certificate_path=str(path)):
        until(lambda: certificate() == "old.example.com")
        path.write_text(new.certificate + new.key)
        until(lambda: certificate() == "new.example.com")
        site.bigip.on_write = lambda entry: shown.append(certificate())
        site.apply(CLASS)
        until(lambda: serves(site) == "infra")
        site.bigip.on_write = None
    assert set(shown) == {"new.example.com"}


def test_replicas(site):
    """The one that leads starts anew under load, the other one takes over, and both come back."""
    site.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "f5router-public", "namespace": "default"}})
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(running(site, **LEASE))
        until(lambda: serves(site, "a.example.com") == "shop")
        target = Target("a", site.http, "a.example.com", right=site.right("web"))
        with Load(target, clients=2) as load:
            until(load.more(20))
            site.apply(CLASS)
            until(lambda: serves(site) == "infra")
            site.apply(manifests.route("b", host="b.example.com"))
            until(lambda: serves(site, "b.example.com") == "shop")
            until(load.more(20))
        assert (load.report.failed, load.report.wrong) == ([], [])
        assert holder(site)
        until(lambda: (threads("leader-election"), threads("gateway-class")) == (2, 0))
