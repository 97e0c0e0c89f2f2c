"""Kinds that Routes need besides their own: what is served stays served while one of them cannot be read."""

import pytest
from click.testing import CliRunner

from f5router.cli.main import main
from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.waiting import until

FLAGS = {"sources": "routes", "namespace_labels": "routed=yes", "allow_mass_delete": "true"}
HOSTS = {"plain": False, "edge": True, "passthrough": True}
"""Hosts, each with True if its clients speak TLS."""
PAIR = identity("pods.example.com", serial=91)


@pytest.fixture
def site(site):
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.1.2", port=8443, tls=PAIR)
    site.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"routed": "yes"}}},
        manifests.route("plain", host="plain.example.com"),
        manifests.route("edge", host="edge.example.com", kind="edge"),
        manifests.route("passthrough", host="passthrough.example.com", kind="passthrough", service="tls"))
    return site


def served(site) -> set[str]:
    replies = {name: clients.python(site.https, f"{name}.example.com") if secure
               else clients.plain(site.http, f"{name}.example.com") for name, secure in HOSTS.items()}
    return {name for name, reply in replies.items() if reply.pod}


@pytest.fixture
def start(site):
    """Starts a router; the one before has stopped."""
    started = []

    def begin():
        for running in started[-1:]:
            running.stop()
        started.append(site.run(**FLAGS))
        return started[-1]

    yield begin
    started[-1].stop()


@pytest.mark.parametrize("restarted", [False, True], ids=["later", "before a restart"])
@pytest.mark.parametrize("resource", ["routes", "services", "endpointslices", "namespaces"])
def test_a_kind_that_cannot_be_read(site, start, resource, restarted):
    """Nothing is deleted or emptied for it; it is named; what is read again is followed."""
    running = start()
    until(lambda: served(site) == {*HOSTS}, "not all are served")
    if not restarted:
        site.kube.forbid(resource)
        site.kube.restart()
    else:
        running.begin_stop()
        running.thread.join()
        site.kube.forbid(resource)
        running = start()
    until(lambda: any(resource in text for text in running.router.cluster.problems()))
    if not restarted:  # all others are followed
        site.kube.delete("Route", "shop", "plain")
        if resource != "routes":
            until(lambda: served(site) == {*HOSTS} - {"plain"})
        else:
            site.apply(manifests.endpoints("shop", "web", ("10.1.1.1", "10.1.1.9")))
            until(lambda: "10.1.1.9" in str([obj.fields for obj in site.bigip.items("ltm/pool/members")])
                  or any("10.1.1.9" in str(pool.fields) for pool in site.bigip.items("ltm/pool")))
            assert served(site) == {*HOSTS}
    else:
        assert served(site) == {*HOSTS}
    site.kube.allow(resource)
    until(lambda: not running.router.cluster.problems())
    until(lambda: served(site) == {*HOSTS} - (set() if restarted else {"plain"}))


def test_plan_and_doctor_name_what_stays(site):
    """Neither says that all is well: objects stay for Ingresses that cannot be read."""
    site.apply(manifests.ingress_class(), manifests.ingress("old", ("old.example.com", "/", "web", 8080)))
    flags = FLAGS | {"sources": "routes,ingress"}
    running = site.run(**flags)
    until(lambda: clients.plain(site.http, "old.example.com").pod)
    running.stop()
    site.kube.forbid("ingresses")
    given = [f"--{name}={value}" for name, value in site.flags(**flags).items()
             if name not in ("hold-off", "name")]
    plan, doctor = (CliRunner().invoke(main, [command, "-o", "json", *given])
                    for command in ("plan", "doctor"))
    words = "stay although nothing known wants them: they may serve Ingresses, which cannot be read"
    assert plan.exit_code == 1
    assert words in plan.output
    assert words in doctor.output
    assert clients.plain(site.http, "old.example.com").pod
