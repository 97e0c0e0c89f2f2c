"""Services, refusals and news of the cluster's API: clear words, no crash loop, recovery by itself."""

import logging
import threading

import pytest

from f5router.app import once
from f5router.cli import preflight
from mocks.kube import FakeKube
from tests import manifests
from tests.feature.test_loop import admitted, pool

NOT_SERVED = "does not serve routes of route.openshift.io/v1"
GRANT = "grant it with: oc adm policy add-cluster-role-to-user system:router "


@pytest.fixture
def other_kube(lab, request):
    """Another API server behind the lab's kubeconfig, with the options of the parameter."""
    with FakeKube(**request.param) as kube:
        kube.write_kubeconfig(lab.kubeconfig)
        yield kube


def errors(caplog, level: int = logging.ERROR) -> list[str]:
    """Return what was logged at a level or above, fields included."""
    return [str(vars(r)) for r in caplog.records if r.levelno >= level]


@pytest.mark.parametrize("other_kube", [{"openshift": False}], indirect=True)
def test_a_cluster_without_routes(lab, other_kube, running, caplog):
    """Told once, nothing is written, and the router lives on."""
    router = running()
    router.wait(lambda: errors(caplog))
    router.wait(lambda: sum("/routes" in entry.path for entry in other_kube.log) >= 3)
    (told,) = errors(caplog)
    assert NOT_SERVED in told
    assert router.thread.is_alive()
    assert lab.writes() == []


@pytest.mark.parametrize("other_kube", [{"openshift": False}], indirect=True)
def test_one_pass_on_a_cluster_without_routes(lab, other_kube):
    """`run --once` ends with the reason, as soon as it is sure of it."""
    (reason,) = once.converge(lab.router(), threading.Event(), refused_s=0.5)
    assert NOT_SERVED in reason
    assert lab.writes() == []


def test_routes_that_are_forbidden(lab, running, caplog):
    """One message with the command that grants the right; once it is granted all goes its way."""
    lab.apply(manifests.route("a"))
    lab.kube.forbid("routes")
    router = running()
    router.wait(lambda: errors(caplog))
    router.wait(lambda: sum(entry.status == 403 for entry in lab.kube.log) >= 3)
    (told,) = errors(caplog)
    assert GRANT in told
    assert lab.writes() == []
    lab.kube.allow("routes")
    router.wait(lambda: admitted(lab, "a") == "True")


def test_one_pass_with_routes_forbidden(lab):
    """`run --once` ends, and names the right and how to grant it."""
    lab.kube.forbid("routes")
    (reason,) = once.converge(lab.router(), threading.Event(), refused_s=0.5)
    assert GRANT in reason
    assert lab.writes() == []


def test_a_plan_with_routes_forbidden(lab, capsys):
    """The same, and exit status 1."""
    lab.kube.forbid("routes")
    assert preflight.plan(lab.config(), output="table", refused_s=0.5) == 1
    assert GRANT in capsys.readouterr().out


def test_one_pass_waits_for_a_right_that_is_granted_a_moment_ago(lab):
    """The API server may learn of a new binding after it has refused a request."""
    lab.apply(manifests.route("a"))
    lab.kube.inject("403", times=2, path="/routes")
    assert lab.converge() == []
    assert admitted(lab, "a") == "True"


def test_one_pass_waits_for_a_server_that_is_away(lab):
    """No answer is no refusal."""
    lab.apply(manifests.route("a"))
    lab.kube.inject("503", times=2, path="/routes")
    assert once.converge(lab.router(), threading.Event(), refused_s=0) == []


def test_statuses_that_are_forbidden(lab, caplog):
    """Routes are served; the log has the missing right with its command, and so has `run --once`."""
    lab.apply(manifests.route("a"))
    lab.kube.forbid("routes/status", ["patch", "update"])
    (reason,) = once.converge(lab.router(), threading.Event())
    assert reason.startswith("not every Route status could be written: ")
    assert GRANT in reason
    assert pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"}
    told = [text for text in errors(caplog, logging.WARNING) if "routes/status" in text]
    assert len(told) == 1


def test_events_that_are_forbidden(lab):
    """A loss, but no failure."""
    lab.apply(manifests.route("a"), manifests.route("broken", path="no-slash"))
    lab.kube.forbid("events", ["create"])
    assert lab.converge() == []
    assert admitted(lab, "a") == "True"


def test_one_pass_writes_its_events(lab):
    """All of them, though they go at a bounded rate."""
    names = [f"broken-{number}" for number in range(15)]
    lab.apply(*(manifests.route(name, host=f"{name}.example.com", path="no-slash") for name in names))
    assert lab.converge() == []
    assert {event["involvedObject"]["name"] for event in lab.kube.list("Event")} == set(names)


@pytest.mark.parametrize(
    ("other_kube", "flags"),
    [
        pytest.param({"slices": False}, {}, id="slices not served"),
        pytest.param({}, {"watch_endpoints": "true"}, id="asked for"),
    ],
    indirect=["other_kube"],
)
def test_endpoints_instead_of_slices(lab, other_kube, flags):
    """Ready TCP addresses of every subset, IPv4 and IPv6."""
    web, _ = manifests.service("shop", "web")
    other_kube.apply([web, manifests.route("a"), {
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "web"},
        "subsets": [
            {"addresses": [{"ip": "10.1.1.1"}], "notReadyAddresses": [{"ip": "10.1.1.2"}],
             "ports": [{"name": "http", "port": 8080, "protocol": "TCP"},
                       {"name": "dns", "port": 53, "protocol": "UDP"}]},
            {"addresses": [{"ip": "fd00:10::1"}], "ports": [{"name": "http", "port": 8080}]},
        ],
    }])
    assert lab.converge(**flags) == []
    assert pool(lab) == {"10.1.1.1:8080", "fd00:10::1.8080"}


def test_slices_of_both_families(lab):
    """A Service with IPv4 and IPv6 has a slice for each; what is not ready or not TCP is no member."""
    six = manifests.endpoints("shop", "web", ("fd00:10::1", "fd00:10::2"))
    six["metadata"]["name"], six["addressType"] = "web-6", "IPv6"
    six["endpoints"][1]["conditions"]["ready"] = False
    six["ports"].append({"name": "dns", "port": 53, "protocol": "UDP"})
    lab.apply(six, manifests.route("a"))
    assert lab.converge() == []
    assert pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080", "fd00:10::1.8080"}
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []
