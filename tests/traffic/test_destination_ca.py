"""Re-encrypt Routes without a CA of their own: the default one verifies their pods, by the Service's name."""

from collections import Counter

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.waiting import until

OWN, STRANGER = (identity(f"{name}.svc", ca="Service CA") for name in ("web.shop", "web.bank"))
RENEWED = identity("web.shop.svc", ca="Renewed CA")
HOST = "re.example.com"


@pytest.fixture
def flags(tmp_path) -> dict[str, str]:
    path = tmp_path / "service-ca.crt"
    path.write_text(OWN.issuer)
    return {"default_destination_ca_path": str(path)}


def serve(site: Site, pair, address: str = "10.1.1.1") -> None:
    site.serve("web", address, port=8443, tls=pair)
    site.apply(manifests.route("re", host=HOST, kind="reencrypt"))


def ask(site: Site) -> str:
    """Name of the pod that answers; "" for none."""
    seen = clients.python(site.https, HOST)
    return seen.pod["pod"] if seen.status == 200 else ""


def test_the_pod_of_the_service(site, flags):
    serve(site, OWN)
    assert site.converge(**flags) == []
    assert ask(site) == "web-10.1.1.1"


@pytest.mark.parametrize("pair", [
    pytest.param(STRANGER, id="another tenant's Service"), pytest.param(RENEWED, id="another authority"),
])
def test_a_pod_of_nobody_here(site, flags, pair):
    """The service CA signs Services of every namespace: the name keeps them apart."""
    serve(site, pair)
    assert site.converge(**flags) == []
    assert ask(site) == ""
    assert site.converge() == []  # the administrator wants no verification
    assert ask(site) == "web-10.1.1.1"


def test_renewed_authority(site, flags, tmp_path):
    """The bundle has both authorities while pods change, and nobody is refused meanwhile."""
    serve(site, OWN)
    running = site.run(**flags)
    try:
        running.wait(lambda: site.admitted("shop", "re").get("status") == "True")
        assert ask(site) == "web-10.1.1.1"
        (tmp_path / "service-ca.crt").write_text(OWN.issuer + RENEWED.issuer)
        running.later()
        running.wait(lambda: any(RENEWED.issuer in site.content(path)
                                 for path in site.paths("sys/file/ssl-cert")))
        assert ask(site) == "web-10.1.1.1"
        serve(site, RENEWED, "10.1.1.2")
        until(lambda: ask(site) == "web-10.1.1.2")
    finally:
        running.stop()


SERVICES = {name: identity(f"{name}.shop.svc", ca="Service CA") for name in ("web", "canary", "docs")}


def shared_out(site: Site, requests: int) -> Counter:
    """How many of so many requests each Service got; "" for no answer."""
    return Counter(ask(site).rpartition("-")[0] for _ in range(requests))


def weigh(site: Site, **weights: int) -> None:
    """Give the Route these Services."""
    targets = [{"kind": "Service", "name": name, "weight": weight} for name, weight in weights.items()]
    obj = manifests.route("re", host=HOST, kind="reencrypt", service=targets[0]["name"])
    obj["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": "roundrobin",
                                      "haproxy.router.openshift.io/disable_cookies": "true"}
    obj["spec"]["to"]["weight"] = targets[0]["weight"]
    obj["spec"]["alternateBackends"] = targets[1:]
    site.apply(obj)


@pytest.mark.parametrize(("canary", "expected"), [
    pytest.param(SERVICES["canary"], {"web": 10, "canary": 10}, id="each has its own"),
    pytest.param(SERVICES["web"], {"web": 10, "": 10}, id="the canary has that of the other"),
    pytest.param(STRANGER, {"web": 10, "": 10}, id="the canary has a stranger's"),
])
def test_each_service_by_its_own_name(site, flags, canary, expected):
    """Only the part of a Service whose pods show another name gets no answer."""
    for name, pair in (("web", SERVICES["web"]), ("canary", canary)):
        site.serve(name, f"10.1.{len(name)}.1", port=8443, tls=pair)
    weigh(site, web=50, canary=50)
    assert site.converge(**flags) == []
    assert shared_out(site, 20) == expected
    site.clear()
    assert site.converge(**flags) == []
    assert site.writes() == []


def test_weights_services_and_pods_change(site, flags):
    """After every write each request is answered, by a pod that has shown the name of its Service."""
    for number, (name, pair) in enumerate(SERVICES.items()):
        site.serve(name, f"10.1.{number}.1", port=8443, tls=pair)
    weigh(site, web=100, canary=0)
    router = site.router(**flags)
    site.settle(router)
    seen: list[Counter] = []
    site.bigip.on_write = lambda _: seen.append(shared_out(site, 3))
    steps = [{"web": 90, "canary": 10}, {"web": 50, "canary": 50, "docs": 0},
             {"web": 1, "canary": 1, "docs": 1}, {"docs": 1, "canary": 1}, {"canary": 100},
             {"canary": 1, "web": 1}]
    for step in steps:
        weigh(site, **step)
        site.settle(router)
        parts = {name: weight * 20 // sum(step.values()) for name, weight in step.items()}
        assert all(abs(parts.get(name, 0) - count) < 2 for name, count in shared_out(site, 20).items())
    site.serve("web", "10.1.7.1", port=8443, tls=SERVICES["web"])
    site.settle(router)
    assert shared_out(site, 4) == {"web": 2, "canary": 2}
    site.bigip.on_write = None
    assert seen
    assert not any("" in counter for counter in seen)
    router.close()


def test_an_address_that_another_service_gets(site, flags):
    """It is verified by the new name with the write that makes it a pod of that Service."""
    for number, (name, pair) in enumerate(SERVICES.items()):
        site.serve(name, f"10.1.{number}.1", port=8443, tls=pair)
    weigh(site, web=1, canary=1)
    router = site.router(**flags)
    site.settle(router)
    site.apply(*manifests.service("shop", "canary", pods=("10.1.2.1",), ports=(("https", 8443),)))
    site.settle(router)
    assert shared_out(site, 4) == {"web": 2, "": 2}  # the pod of docs
    for number, name in enumerate(("canary", "web")):
        site.apply(*manifests.service("shop", name, pods=(f"10.1.{number}.1",), ports=(("https", 8443),)))
    site.settle(router)
    assert shared_out(site, 4) == {"": 4}  # each has the other's pod
    router.close()
