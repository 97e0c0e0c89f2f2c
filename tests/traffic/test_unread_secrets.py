"""Secrets that the router may not read any more: 403 does not mean that they are gone.

A certificate that is in use stays in use, over a restart too, until its Secret is really gone or nobody names
it. (A right on one Secret that its team takes away: tests/feature/test_external_certificates.py.)
"""

import base64
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from f5router.cli import preflight
from f5router.cli.main import main
from f5router.kube.settings import SecretPace
from f5router.model.limits import Backoff
from tests import manifests
from tests.builders import Identity, identity
from tests.manifests import forward, ingress_route
from tests.traffic import clients
from tests.waiting import until

AT_ONCE = Backoff(0.01, 0.1)
PACE = SecretPace(again_per_s=500, refresh_s=0.1, hasten_s=0.0, absent=AT_ONCE, failed=AT_ONCE,
                  patience_s=0.3, start_s=0.5)
NAMES = ("ingress", "ingressroute", "route", "bank")
"""Each is the name of an object, of its Secret, and the first label of its host."""
PAIRS = {name: identity(f"{name}.example.com", serial=number, algorithm="ec")
         for number, name in enumerate((*NAMES, "later"), start=81)}


def secret(name: str, pair: Identity, namespace: str = "shop") -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": namespace, "name": name},
            "data": {f"tls.{kind}": base64.b64encode(text.encode()).decode()
                     for kind, text in (("crt", pair.certificate), ("key", pair.key))}}


def host(name: str) -> str:
    return f"{name}.example.com"


@pytest.fixture
def site(site):
    """An Ingress, an IngressRoute and two Routes, each with a certificate in a Secret."""
    site.timing = replace(site.timing, secret_pace=PACE)
    site.serve("web", "10.1.1.1")
    site.serve("pay", "10.1.1.2", namespace="bank")
    site.apply(
        manifests.ingress_class(), *(secret(name, PAIRS[name]) for name in NAMES[:3]),
        secret("bank", PAIRS["bank"], "bank"),
        manifests.ingress("ingress", (host("ingress"), "/", "web", 8080),
                          tls=(((host("ingress"),), "ingress"),)),
        ingress_route("ingressroute", forward("/", "web"), fqdn=host("ingressroute"),
                      tls={"secretName": "ingressroute"}),
        manifests.route("route", host=host("route"), kind="edge", externalCertificate={"name": "route"}),
        manifests.route("bank", host=host("bank"), kind="edge", namespace="bank", service="pay",
                        externalCertificate={"name": "bank"}))
    return site


@pytest.fixture
def run(site):
    """Starts routers, each instead of the one before."""
    started = []

    def start():
        for running in started[-1:]:
            running.stop()
        started.append(site.run(sources="routes,ingress,ingressroutes", allow_mass_delete="true"))
        return started[-1]

    yield start
    started[-1].stop()


def shown(site, *names: str) -> dict[str, str]:
    """Return which certificate is shown for the host of each, "" where no pod answers."""
    replies = {name: clients.python(site.https, host(name)) for name in names or NAMES}
    return {name: reply.certificate if reply.pod else "" for name, reply in replies.items()}


ALL = {name: host(name) for name in NAMES}


def lose(site, namespace: str | None = None) -> None:
    """Take the right to read Secrets away. Args: namespace: None for all."""
    site.kube.forbid("secrets", ("get", "list", "watch"), namespace)


def events(site, name: str) -> str:
    return " ".join(event["message"] for event in site.kube.list("Event")
                    if event["involvedObject"]["name"] == name)


@pytest.mark.parametrize("namespace", [None, "shop"], ids=["everywhere", "in one namespace"])
@pytest.mark.parametrize("restarted", [False, True], ids=["later", "before a restart"])
def test_a_right_that_is_lost(site, run, restarted, namespace):
    """All certificates stay; everybody hears of it; when a Secret is really gone, so is its certificate."""
    running = run()
    until(lambda: shown(site) == ALL, "not all are served")
    lose(site, namespace)
    if restarted:
        running = run()
    cluster, unread = running.router.cluster, NAMES[:3] if namespace else NAMES
    until(lambda: cluster.unreadable() == {"secrets": len(unread)})
    site.apply(manifests.ingress("marker", (host("marker"), "/", "web", 8080)))
    until(lambda: clients.plain(site.http, host("marker")).pod)
    assert shown(site) == ALL
    until(lambda: all("may not get, list and watch Secret" in events(site, name) for name in unread),
          lambda: str({name: events(site, name) for name in unread}))
    (text,) = cluster.degraded()
    assert text.startswith(f"SecretNotRead: {len(unread)} of the Secrets that Routes name cannot be read")
    until(lambda: "may not get, list and watch Secret" in site.admitted("shop", "route").get("message", ""))
    assert site.admitted("shop", "route")["status"] == "True"
    site.kube.delete("Secret", "shop", "ingress")
    site.kube.delete("Ingress", "shop", "marker")
    until(lambda: not clients.plain(site.http, host("marker")).pod)
    assert shown(site) == ALL
    site.kube.allow("secrets")
    until(lambda: shown(site) == {**ALL, "ingress": ""}, "not read again")
    until(lambda: cluster.unreadable() == {})


def test_nobody_names_it_any_more(site, run):
    """A certificate that nothing names goes, though no Secret can be read."""
    running = run()
    until(lambda: shown(site) == ALL, "not all are served")
    lose(site)
    until(lambda: running.router.cluster.unreadable() == {"secrets": len(NAMES)})
    site.kube.delete("Ingress", "shop", "ingress")
    until(lambda: shown(site) == {**ALL, "ingress": ""})


def test_plan_and_doctor(site, run, capsys):
    """Neither says that all is well."""
    run()
    until(lambda: shown(site) == ALL, "not all are served")
    lose(site)
    flags = site.flags(sources="routes,ingress,ingressroutes")
    assert preflight.plan(site.config(**flags), output="json") == 1
    told = json.loads(capsys.readouterr().out)
    assert "4 of the Secrets that Routes name cannot be read" in str(told["problems"])
    assert not [change for change in told["changes"] if change["verb"] == "delete"]
    given = [f"--{name}={value}" for name, value in flags.items() if name not in ("hold-off", "name")]
    result = CliRunner().invoke(main, ["doctor", "-o", "json", *given])
    (finding,) = [check for check in json.loads(result.output)["checks"] if check["check"] == "Secrets"]
    assert finding["state"] == "warning"
    assert "the first is bank/bank: " in finding["message"]
