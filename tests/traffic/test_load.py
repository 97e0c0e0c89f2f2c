"""Changes under load: no request fails, none is answered by a wrong pod.

Pods go on serving for some time after they have left the endpoints, as terminating pods do. A changed
host counts from its Admitted status.
"""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests import manifests
from tests.builders import identity
from tests.conftest import UNDER_LOAD
from tests.traffic.conftest import PODS
from tests.traffic.load import REFUSED, Load, Target
from tests.waiting import until

ALLOWLIST = "haproxy.router.openshift.io/ip_allowlist"
ENOUGH = 8
"""Requests to each target between two changes. What is wrong then stays so until the next change: the first
request to its pod shows it, of which a Service has two, or the first that follows another target's on a
connection, as every second one does."""
QUIET = 25
"""Requests to each target, in which a router that has not finished makes its next write."""
ONE, TWO = identity("edge.example.com", serial=1), identity("edge.example.com", serial=2)


@pytest.fixture
def loaded(site):
    """Routes of every kind, of two namespaces, and a running router."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("api", "10.1.2.1", "10.1.2.2")
    site.serve("tls", "10.1.3.1", "10.1.3.2", port=8443, tls=PODS)
    site.serve("web", "10.2.1.1", namespace="rival")
    closed = manifests.route("closed", host="closed.example.com")
    closed["metadata"]["annotations"] = {ALLOWLIST: "192.0.2.0/24"}
    site.apply(
        manifests.route("plain", host="plain.example.com"),
        manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect",
                        certificate=ONE.certificate, key=ONE.key),
        manifests.route("path", host="edge.example.com", path="/api", service="api", kind="edge"),
        manifests.route("again", host="again.example.com", service="tls", kind="reencrypt",
                        destinationCACertificate=PODS.issuer),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"),
        manifests.route("other", namespace="rival", host="other.example.com"),
        closed,
    )
    router = site.run()
    until(lambda: all(site.admitted(*route).get("status") == "True" for route in (
        ("shop", "plain"), ("shop", "edge"), ("shop", "path"), ("shop", "again"), ("shop", "through"),
        ("shop", "closed"), ("rival", "other"))))
    yield router
    router.stop()


@pytest.fixture
def targets(site):
    web, api, tls = site.right("web"), site.right("api"), site.right("tls")
    return {target.name: target for target in (
        Target("plain", site.http, "plain.example.com", right=web),
        Target("edge", site.https, "edge.example.com", tls=True, right=web),
        Target("path", site.https, "edge.example.com", "/api/x", tls=True, right=api),
        Target("again", site.https, "again.example.com", tls=True, right=tls),
        Target("through", site.https, "through.example.com", tls=True, right=tls, alone=True),
        Target("other", site.http, "other.example.com", right=site.right("web", namespace="rival")),
        Target("nobody", site.http, "nobody.example.com", status=503),
        Target("redirected", site.http, "edge.example.com", status=302),
        Target("closed", site.http, "closed.example.com", status=REFUSED, alone=True),
    )}


class Drill:
    """Load on all targets while a test changes things."""

    def __init__(self, site, load: Load, tell: Callable[[str, str], None]):
        self.site, self.load, self._tell = site, load, tell
        self._retired: list[tuple[str, int]] = []

    def some(self, count: int = ENOUGH) -> None:
        """Wait until each target has been asked so often."""
        until(self.load.more(count))

    @contextmanager
    def written(self) -> Iterator[None]:
        """Leave when the router has written what a change asks for, and nothing any more for a while."""
        writes = self.site.bigip.writes
        count = len(writes())
        yield
        until(lambda: len(writes()) > count)
        while count < len(writes()):
            count = len(writes())
            self.some(QUIET)

    def retire(self, address: str, port: int) -> None:
        """A pod that is terminating: it serves until the end of the test, or its last connection."""
        self._retired.append((address, port))

    def end(self) -> None:
        """Let what is terminating end, ask once more, and count."""
        for address, port in self._retired:
            until(lambda: not self.site.pods[address, port].connections)  # noqa: B023
            self.site.pods.stop(address, port)
        self.some()
        report = self.load.stop()
        self._tell(UNDER_LOAD, str(report))
        assert (report.failed, report.wrong) == ([], [])
        assert report.sent.total() >= len(self.load.targets) * ENOUGH


@pytest.fixture
def drill(record_property, site, loaded, targets):
    with Load(*targets.values(), device=site.bigip) as load:
        new_drill = Drill(site, load, record_property)
        new_drill.some()
        yield new_drill
        new_drill.end()


def members(site, pool: str) -> set[str]:
    """Names of a pool's members."""
    fields = site.bigip.get(f"ltm/pool/~Common~{pool}")
    return {item["name"] for item in fields["membersReference"].get("items", [])} if fields else set()


def test_rolling_update(site, drill):
    """Every pod of two Services is replaced, one after the other."""
    for service, base, port, ports, tls in (
            ("web", "10.1.1", 8080, (("http", 8080),), None),
            ("tls", "10.1.3", 8443, (("https", 8443),), (PODS.certificate.encode(), PODS.key.encode()))):
        now = [f"{base}.1", f"{base}.2"]
        for number in (1, 2):
            new = f"{base}.{number + 10}"
            site.pod(new, service, port=port, tls=tls)
            now = [*(address for address in now if address != f"{base}.{number}"), new]
            site.apply(manifests.endpoints("shop", service, tuple(now), ports=ports))
            drill.retire(f"{base}.{number}", port)
            until(lambda: members(site, f"openshift_shop_{service}")  # noqa: B023
                  == {f"{address}:{port}" for address in now})  # noqa: B023
            drill.some()


def test_an_address_that_another_tenant_gets(site, drill):
    """A pod ends, and the address is a pod's of another namespace at once."""
    site.apply(manifests.endpoints("shop", "web", ("10.1.1.1",)))
    until(lambda: members(site, "openshift_shop_web") == {"10.1.1.1:8080"})
    drill.some(5)
    site.pod("10.1.1.2", "web", namespace="rival")
    site.apply(manifests.endpoints("rival", "web", ("10.2.1.1", "10.1.1.2")))
    until(lambda: members(site, "openshift_rival_web") == {"10.2.1.1:8080", "10.1.1.2:8080"})
    drill.some()


def test_paths(site, drill, targets):
    """A path is taken away, given back, moved to another Service."""
    both = site.right("web", "api")
    path = targets["path"]
    path.right = both
    site.kube.delete("Route", "shop", "path")
    until(lambda: "openshift_shop_api" not in str(site.bigip.items("ltm/pool")))
    drill.some()
    site.apply(manifests.route("path", host="edge.example.com", path="/api", service="api", kind="edge"))
    until(lambda: site.admitted("shop", "path").get("status") == "True")
    path.right = site.right("api")
    drill.some()
    path.right = both
    site.apply(manifests.route("path", host="edge.example.com", path="/api/x", service="web", kind="edge"))
    until(lambda: "openshift_shop_api" not in str(site.bigip.items("ltm/pool")))
    path.right = site.right("web")
    drill.some()


def test_a_host_moves(site, drill, targets):
    """The new host is asked from its Admitted status on, the old one until the change."""
    targets["plain"].asleep = True
    drill.some(5)
    site.apply(manifests.route("plain", host="moved.example.com"))
    until(lambda: any(
        entry["host"] == "moved.example.com" and entry["conditions"][0]["status"] == "True"
        for entry in site.kube.get("Route", "shop", "plain")["status"]["ingress"]))
    targets["plain"].host, targets["plain"].asleep = "moved.example.com", False
    drill.some()


def test_a_certificate_is_renewed(site, drill, targets):
    """Old or new while it changes, then only the new one; no handshake fails."""
    der = {name: _der(pair) for name, pair in (("one", ONE), ("two", TWO))}
    targets["edge"].certificates = set(der.values())
    site.apply(manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect",
                               certificate=TWO.certificate, key=TWO.key))
    until(lambda: TWO.certificate.strip() in _contents(site))
    until(lambda: ONE.certificate.strip() not in _contents(site))
    drill.some(2 * ENOUGH)
    targets["edge"].certificates = {der["two"]}
    drill.some()


def _der(pair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.certificate)


def _contents(site) -> str:
    """Return what is in all installed certificate files."""
    return "\n".join(item.hidden["data"].decode() for item in site.bigip.items("sys/file/ssl-cert"))


@pytest.mark.parametrize(("kind", "service"), [("reencrypt", "tls"), ("passthrough", "tls"), ("edge", "web")])
def test_a_kind_changes(site, drill, targets, kind, service):
    """From edge or re-encrypt to another kind of termination on the same host."""
    name = "again" if kind != "reencrypt" else "edge"
    target = targets[name]
    target.right, target.alone = site.right("web", "tls"), kind == "passthrough"
    tls = {"destinationCACertificate": PODS.issuer} if kind == "reencrypt" else {}
    if name == "edge":
        targets["path"].asleep = targets["redirected"].asleep = True
        site.kube.delete("Route", "shop", "path")
    with drill.written():
        site.apply(manifests.route(name, host=target.host, service=service, kind=kind, **tls))
    target.right = site.right(service)
    drill.some()


def test_the_router_restarts(site, drill, loaded):
    """It ends and another one starts; what changed meanwhile follows."""
    loaded.stop()
    drill.some()
    site.pod("10.1.2.9", "api")
    site.apply(manifests.endpoints("shop", "api", ("10.1.2.2", "10.1.2.9")))
    drill.retire("10.1.2.1", 8080)
    router = site.run()
    try:
        until(lambda: members(site, "openshift_shop_api") == {"10.1.2.2:8080", "10.1.2.9:8080"})
        drill.some(2 * ENOUGH)
    finally:
        router.stop()


def test_drift_is_repaired(site, drill, loaded):
    """A change by hand is undone, where it does not break traffic by itself."""
    loaded.stop()
    for method, path, body in (
            ("POST", "ltm/pool/~Common~openshift_shop_web/members", {"name": "10.1.1.1:8081"}),
            ("PATCH", "ltm/pool/~Common~openshift_shop_tls", {"description": "mine"}),
            ("PATCH", "ltm/pool/~Common~openshift_shop_api/members/~Common~10.1.2.1:8080",
             {"session": "user-disabled"})):
        if path.endswith("members"):
            site.pod("10.1.1.1", "web", port=8081)
        site.change(method, path, body)
    router = site.run()
    try:
        until(lambda: members(site, "openshift_shop_web") == {"10.1.1.1:8080", "10.1.1.2:8080"})
        drill.some(2 * ENOUGH)
    finally:
        router.stop()
