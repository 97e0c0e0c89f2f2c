"""`f5router status clear`, as it is typed, on the fake API server."""

import logging
from dataclasses import replace

import pytest
from click.testing import CliRunner

from f5router.cli import clear_status
from f5router.cli.main import main
from f5router.kube.api.connection import connect
from f5router.kube.status import status_request
from f5router.kube.status.status_request import OwnedEntry, RouteStatus
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from f5router.model.limits import Backoff
from f5router.model.selection import Selection
from mocks.kube import FakeKube
from tests import manifests
from tests.unit.kube import objects
from tests.unit.kube.status.test_owned_entries import OTHER, OURS

SUMMARY = ("router public: {} Routes had its entry, {} are cleared, {} had none left, {} are left; "
           "{} conflicts\n")



@pytest.fixture
def kube():
    """Five Routes with our entry, in two namespaces; one of them also with another router's, one without."""
    with FakeKube() as server:
        server.apply([objects.route(name, ingress=[OURS]) for name in "abc"])
        server.apply(objects.route("both", ingress=[OTHER, OURS]))
        server.apply(objects.route("other", ingress=[OTHER]))
        till = objects.route("till", namespace="bank", ingress=[OURS | {"conditions": []}], host="till.com")
        till["metadata"]["labels"] = {"shard": "blue"}
        server.apply(till)
        yield server


@pytest.fixture
def kubeconfig(kube, tmp_path):
    path = tmp_path / "kubeconfig"
    kube.write_kubeconfig(path)
    return str(path)


@pytest.fixture
def clear(kubeconfig):
    """Types the command, with a name and a high rate."""

    def invoke(*args, name="public", **env):
        flags = [f"--config={kubeconfig}", "--status-rate=1000", *([f"--router-name={name}"] if name else [])]
        command = ["status", "clear", *flags, *args]
        return CliRunner().invoke(main, command, env={"ROUTER_SERVICE_NAME": "", **env})

    return invoke


@pytest.fixture
def impatient(kubeconfig, capsys):
    """The same without its waits; returns exit status and output."""

    def run():
        settings = clear_status.load(
            "public", Selection(), {"config": kubeconfig, "status-rate": "1000"}, {})
        status = clear_status.run(replace(settings, backoff=Backoff(0.001, 0.01)), dry_run=False)
        return status, capsys.readouterr().out

    return run


def left(kube) -> set[str]:
    return {obj["metadata"]["name"] for obj in kube.list("Route")
            for entry in (obj.get("status") or {}).get("ingress") or [] if entry["routerName"] == "public"}


def writes(kube) -> int:
    return sum(entry.method != "GET" for entry in kube.log)


def test_all(kube, clear):
    """Every entry of the name and no other; no BIG-IP is asked for."""
    result = clear()
    assert (result.exit_code, result.stdout) == (0, SUMMARY.format(5, 5, 0, 0, 0))
    assert left(kube) == set()
    assert kube.get("Route", "shop", "both")["status"]["ingress"] == [OTHER]
    assert kube.get("Route", "shop", "other")["status"]["ingress"] == [OTHER]
    again = clear()
    assert (again.exit_code, again.stdout) == (0, SUMMARY.format(0, 0, 0, 0, 0))


def test_dry_run_of_a_host_that_forges_lines(kube, clear):
    """Whatever a status holds, a Route is one line, and the terminal is sent no control characters."""
    host = "a\x1b]0;title\x07\r\nshop/forged\t\u202ex\x9b2J\u2028"
    condition = {"type": "Admitted", "status": "True\n", "reason": ["odd\x1b"]}
    kube.apply(objects.route("evil", ingress=[OURS | {"host": host, "conditions": [condition]}]))
    result = clear("--dry-run")
    (line,) = (line for line in result.output.split("\n") if "evil" in line)
    assert line == ("shop/evil\t" r"a\x1b]0;title\x07\r\nshop/forged\t\u202ex\x9b2J\u2028" "\t"
                    r"True\n" "\t" r"['odd\x1b']")
    assert "\x1b" not in result.output


def test_dry_run(kube, clear):
    """The Routes with host and condition; nothing is written."""
    result = clear("--dry-run")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "bank/till\twww.example.com\t-\t-",
        *(f"shop/{name}\twww.example.com\tTrue\t-" for name in ("a", "b", "both", "c")),
        "router public: 5 Routes have its entry; nothing is changed"]
    assert writes(kube) == 0


@pytest.mark.parametrize(("args", "expected"), [
    pytest.param(["-n", "bank"], {"till"}, id="namespace"),
    pytest.param(["--namespace=bank"], {"till"}, id="the same in full"),
    pytest.param(["--labels=shard in (blue,red)"], {"till"}, id="labels"),
    pytest.param(["--fields=spec.host=till.com"], {"till"}, id="fields"),
    pytest.param(["--labels=shard=green"], set(), id="none"),
])
def test_a_part(kube, clear, args, expected):
    before = left(kube)
    assert clear(*args).exit_code == 0
    assert before - left(kube) == expected


def test_the_selection_of_the_router_is_not_that_of_the_command(kube, clear):
    """Its variables are set where the command runs in its pod."""
    assert clear(name="", ROUTER_SERVICE_NAME="public", ROUTE_LABELS="shard=blue").exit_code == 0
    assert left(kube) == set()


def test_another_name(kube, clear):
    result = clear(name="haproxy")
    assert result.stdout.startswith("router haproxy: 2 Routes had its entry, 2 are cleared")
    assert left(kube) == {"a", "b", "c", "both", "till"}


def test_conflicts_and_lost_routes(kube, impatient):
    """Read again and tried again; one that is deleted meanwhile is no failure."""
    kube.inject("409", method="PATCH", path="/a/status", times=3)
    kube.inject("503", method="PATCH", path="/b/status", times=2)
    kube.inject("404", method="PATCH", path="/c/status", text='{"details": {"name": "c"}}')
    assert impatient() == (0, SUMMARY.format(5, 4, 1, 0, 3))
    assert left(kube) == {"c"}


def test_an_entry_that_was_changed_since_it_was_found(kube, kubeconfig):
    """It goes too."""
    settings = clear_status.load("public", Selection(), {"config": kubeconfig}, {})
    uid = kube.get("Route", "shop", "a")["metadata"]["uid"]
    entry = OwnedEntry(Key("shop", "a"), uid, OURS | {"host": "old.com"})
    routes = RouteStatus(connect(settings.kube), lambda: ROUTES)
    clearing = clear_status.Clearing("Route", settings, lambda owned: status_request.remove_entry(
        routes, owned, "public", unchanged=False))
    assert clearing.run([entry]) == {"cleared": 1}
    assert "a" not in left(kube)


@pytest.mark.parametrize("fault", ["409", "503", "422"])
def test_one_that_cannot_be_cleared(kube, impatient, fault, caplog):
    """Named, and the exit status is 1; the others are cleared."""
    kube.inject(fault, method="PATCH", path="/a/status", times=None)
    conflicts = clear_status.TRIES if fault == "409" else 0
    assert impatient() == (1, SUMMARY.format(5, 4, 0, 1, conflicts))
    assert [(record.kind, record.object) for record in caplog.records
            if record.levelno == logging.ERROR] == [("Route", "shop/a")]
    assert left(kube) == {"a"}


def test_no_right_to_write(kube, clear):
    """It ends at the first refusal, with the right that is missing."""
    kube.forbid("routes/status", ["patch", "update"])
    result = clear()
    assert (result.exit_code, result.stdout) == (1, SUMMARY.format(5, 0, 0, 5, 0))
    assert "grant it with" in result.stderr
    assert writes(kube) == 2


@pytest.mark.parametrize(("args", "forbidden", "said"), [
    pytest.param([], ["list"], "grant it with", id="no right to list"),
    pytest.param(["--labels=a b"], [], "unable to parse", id="selector"),
    pytest.param(["--fields=spec.nothing=a"], [], "field label not supported", id="field"),
])
def test_routes_cannot_be_listed(kube, clear, args, forbidden, said):
    kube.forbid("routes", forbidden)
    result = clear(*args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr


@pytest.mark.parametrize(("args", "said"), [
    pytest.param(["--router-name="], "--router-name / ROUTER_SERVICE_NAME: a name must be specified",
                 id="name"),
    pytest.param(["-n=Shop"], "--namespace: 'Shop' is not the name of a namespace", id="namespace"),
    pytest.param(["--status-rate=0"], "--status-rate / ROUTER_STATUS_RATE", id="rate"),
    pytest.param(["--config=/nowhere"], "--config: cannot read '/nowhere'", id="kubeconfig"),
    pytest.param(["--sources=pods"], "--sources: 'pods': 'pods' is not one of routes, ingress, ",
                 id="sources"),
    pytest.param(["--sources=ingress"], "--router-canonical-hostname / ROUTER_CANONICAL_HOSTNAME: the",
                 id="no canonical name"),
    pytest.param(["--sources=ingressroutes", "--fields=spec.host=a.com"], "--fields: it selects Routes alone",
                 id="fields of other kinds"),
    pytest.param(["--log-level=loud"], "--log-level / ROUTER_LOG_LEVEL", id="log level"),
])
def test_bad_settings(kube, clear, args, said):
    """One line each, exit status 2, nothing sent."""
    result = clear(*args)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(said)
    assert kube.log == []


def test_settings():
    """From flags and variables, with the defaults of the router."""
    flags, environ = {"master": "api:6443"}, {"ROUTER_STATUS_RATE": "5"}
    settings = clear_status.load("public", Selection(), flags, environ)
    assert (settings.kube.master, settings.rate_per_s, settings.log_level) == ("https://api:6443", 5, "info")


OTHERS = ("--sources=routes,ingress,ingressroutes", "--router-canonical-hostname=router.example.com")


@pytest.fixture
def others(kube):
    """Ingresses and IngressRoutes of ours, beside one of each that others have written."""
    valid = {"currentStatus": "valid", "description": "valid IngressRoute"}
    theirs = manifests.ingress_route("theirs") | {"status": valid}
    theirs["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "other"}
    kube.apply([manifests.ingress_class(), manifests.ingress_route("ours") | {"status": valid}, theirs,
                ingress("ours", "router.example.com"), ingress("theirs", "b.com")])
    return kube


def ingress(name: str, hostname: str) -> dict:
    status = {"loadBalancer": {"ingress": [{"hostname": hostname}]}}
    return manifests.ingress(name, ("a.com", "/", "web", 80)) | {"status": status}


def statuses(kube) -> list[str]:
    """Kind and name of what has a status."""
    ingresses = [f"Ingress {obj['metadata']['name']}" for obj in kube.list("Ingress")
                 if obj["status"]["loadBalancer"].get("ingress")]
    return [*ingresses, *(f"IngressRoute {obj['metadata']['name']}" for obj in kube.list("IngressRoute")
                          if obj.get("status"))]


def test_other_kinds_that_are_asked_for(others, clear):
    """First listed, then cleared; without the flag they stay."""
    everything = ["Ingress ours", "Ingress theirs", "IngressRoute ours", "IngressRoute theirs"]
    assert clear("--dry-run", *OTHERS).stdout.splitlines()[-5:] == [
        "router public: 5 Routes have its entry; nothing is changed",
        "Ingress\tshop/ours\trouter.example.com",
        "Ingress: 1 have a status of this router; nothing is changed",
        "IngressRoute\tshop/ours\tvalid", "IngressRoute: 1 have a status of this router; nothing is changed"]
    assert clear("-n=bank", *OTHERS).exit_code == clear().exit_code == 0
    assert statuses(others) == everything
    result = clear(*OTHERS)
    assert (result.exit_code, left(others)) == (0, set())
    assert statuses(others) == ["Ingress theirs", "IngressRoute theirs"]
    assert clear(*OTHERS).stdout.splitlines()[1].startswith("Ingress: 0 had a status of this router")


def test_one_kind_alone(others, clear):
    """Routes keep theirs; IngressRoutes need no name of the router in the DNS."""
    before = left(others)
    result = clear("--sources=ingressroutes")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1)
    assert statuses(others) == ["Ingress ours", "Ingress theirs", "IngressRoute theirs"]
    assert left(others) == before


def test_a_kind_that_was_asked_for_and_may_not_be_read(others, clear):
    others.forbid("ingressroutes", ["list"])
    result = clear(*OTHERS)
    assert result.exit_code == 1
    assert "grant it with" in result.stderr
    assert statuses(others) == ["Ingress theirs", "IngressRoute ours", "IngressRoute theirs"]
