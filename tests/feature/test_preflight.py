"""`f5router plan` before anything is written: whatever is missing is named, and the exit status tells."""

import json
import re

import pytest
from click.testing import CliRunner, Result

from f5router.cli import preflight
from f5router.cli.main import main
from f5router.logs import log_output
from tests import manifests
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.terminal import own_log, pseudo_terminal

pytestmark = pytest.mark.bare

ONE = identity()
CERT = {"certificate": ONE.certificate, "key": ONE.key}


def plan(lab, *arguments: str, **flags: str) -> Result:
    """Run `f5router plan`; it writes nothing to the BIG-IP."""
    lab.clear()
    given = [f"--{name}={value}" for name, value in lab.flags(**flags).items()]
    result = CliRunner().invoke(main, ["plan", *arguments, *given])
    assert lab.writes() == []
    return result


def document(lab, *arguments: str, **flags: str) -> dict:
    """The plan as JSON."""
    return json.loads(plan(lab, "--output=json", *arguments, **flags).stdout)


def summary(result: Result) -> str:
    """The last line."""
    return result.stdout.splitlines()[-1]


def routes(lab) -> None:
    """A Service, and a Route of each kind."""
    lab.apply(
        *manifests.service("shop", "web", pods=("10.1.1.1",)),
        manifests.route("a"),
        manifests.route("b", host="b.com", kind="edge"),
        manifests.route("c", host="c.com", kind="edge", **CERT),
        manifests.route("d", host="d.com", kind="passthrough"),
    )


def as_run_once(lab) -> tuple[list[str], set[str]]:
    """Reasons of `run --once` afterwards, and the Routes that it refuses."""
    reasons = lab.converge()
    return reasons, {f"shop/{name}" for name in "abcd" if lab.admitted("shop", name)["status"] != "True"}


@pytest.mark.parametrize(("virtuals", "words", "lost"), [
    pytest.param({"https": False}, f"virtual server /Common/{HTTPS} does not exist", "bcd",
                 id="https virtual server"),
    pytest.param({"http": False}, f"virtual server /Common/{HTTP} does not exist", "a",
                 id="http virtual server"),
    pytest.param({"profiles": ("/Common/tcp", "/Common/clientssl-default")},
                 f"virtual server /Common/{HTTPS}, profiles: an http profile is missing", "bcd",
                 id="http profile"),
    pytest.param({"profiles": ("/Common/tcp", "/Common/http")},
                 f"virtual server /Common/{HTTPS}, profiles: a client SSL profile is missing", "bcd",
                 id="client SSL profile"),
    pytest.param({"profiles": ("/Common/tcp", "/Common/http", "/Common/clientssl")},
                 "must have sni-default true, 0 have (/Common/clientssl)", "c", id="sni default"),
])
def test_what_a_virtual_server_lacks(make_lab, virtuals, words, lost):
    """One line for the cause, each Route that it costs, exit status 1; `run --once` says the same then."""
    lab = make_lab()
    lab.virtuals(**virtuals)
    routes(lab)
    result = plan(lab)
    assert result.exit_code == 1
    assert result.stdout.count(words) == 1
    named = {f"shop/{name}" for name in lost}
    shown = [line.split() for line in result.stdout.splitlines() if "DeviceRejected" in line]
    assert {line[0] for line in shown} == named
    plural = "s" if len(lost) > 1 else ""
    assert summary(result).endswith(f"; {len(lost)} Route{plural} rejected; 1 problem.")
    report = document(lab)
    assert {route["route"] for route in report["rejected"]} == named
    assert all(words in route["message"] for route in report["rejected"])
    (problem,) = report["problems"]
    assert (words in problem["text"], set(problem["routes"])) == (True, named)
    assert plan(lab, "--detailed-exitcode").exit_code == 1
    reasons, refused = as_run_once(lab)
    assert refused == named
    assert len(reasons) == 1
    assert words in reasons[0]


def test_a_virtual_server_that_no_route_needs(make_lab):
    """It is a problem before the first Route comes."""
    lab = make_lab()
    lab.virtuals(https=False)
    result = plan(lab)
    assert result.exit_code == 1
    assert f"virtual server /Common/{HTTPS} does not exist" in result.stdout
    assert summary(result).endswith("; 0 Routes rejected; 1 problem.")


def test_a_partition_that_does_not_exist(make_lab):
    lab = make_lab(partition="/Shpo/zone", partitions=("Shop",))
    routes(lab)
    result = plan(lab)
    assert result.exit_code == 1
    assert "partition Shpo does not exist; see --f5-partition-path" in result.stdout
    assert summary(result) == "No plan; 1 problem."
    assert document(lab)["changes"] is None


def test_a_folder_that_does_not_exist(make_lab):
    """It counts as empty, and is not made; the virtual servers would be in it."""
    lab = make_lab(partition="/Shop/zone", partitions=("Shop",))
    routes(lab)
    result = plan(lab)
    assert result.exit_code == 1
    for name in (HTTP, HTTPS):
        assert result.stdout.count(f"virtual server /Shop/zone/{name} does not exist") == 1
    assert "/Shop/zone/openshift_shop_web" in result.stdout
    assert summary(result).endswith("; 4 Routes rejected; 2 problems.")


def test_a_wrong_password(lab):
    result = plan(lab, f5_password="wrong")
    assert result.exit_code == 1
    assert "401" in result.stdout
    assert summary(result) == "No plan; 1 problem."
    assert "wrong" not in result.output


@pytest.mark.parametrize(("role", "status"), [
    ("guest", 1), ("operator", 1), ("auditor", 1), ("manager", 0), ("admin", 0)])
def test_the_role_of_the_user(lab, role, status):
    """One that may read only is a problem; one that may not send files, a warning."""
    lab.bigip.add_user("robot", "robot-password", role)
    lab.apply(manifests.route("a"))
    result = plan(lab, f5_username="robot", f5_password="robot-password")
    assert result.exit_code == status
    assert (f"the role {role}" in result.stdout) is (role != "admin")


def test_a_role_that_cannot_be_read(lab):
    """A user of a RADIUS server is no object of the BIG-IP; nobody knows its role beforehand."""
    lab.bigip.inject("404-bogus", times=None, method="GET", path="auth/user")
    lab.apply(manifests.route("a"))
    assert plan(lab).exit_code == 0


def test_missing_rights_in_the_cluster(lab):
    """They are told together with what is wrong with the BIG-IP."""
    lab.kube.forbid("routes")
    result = plan(lab, f5_password="wrong")
    assert result.exit_code == 1
    assert "oc adm policy" in result.stdout
    assert "401" in result.stdout
    assert summary(result) == "No plan; 2 problems."


@pytest.mark.parametrize(("verbs", "status"), [(("patch", "update"), 1), (("patch",), 0), (("update",), 0)])
def test_the_right_to_write_a_status(lab, verbs, status):
    """Either verb is enough."""
    lab.apply(manifests.route("a"))
    lab.kube.forbid("routes/status", verbs)
    result = plan(lab)
    assert result.exit_code == status
    assert ("routes/status" in result.stdout) is bool(status)
    assert plan(lab, update_status="false").exit_code == 0
    assert bool(lab.converge()) is bool(status)


def test_a_wrong_password_and_a_rejected_route(lab):
    """The verdicts on the Routes are printed all the same."""
    lab.apply(manifests.route("a"), manifests.route("bad", host="bad.com", kind="edge", certificate="no PEM"))
    result = plan(lab, f5_password="wrong")
    assert "ExtendedValidationFailed" in result.stdout
    assert summary(result) == "No plan; 1 Route rejected; 1 problem."


def test_a_standby(lab):
    """The plan can be shown, and `run` would write nothing of it."""
    lab.apply(manifests.route("a"))
    lab.bigip.set_failover("STANDBY")
    result = plan(lab)
    assert result.exit_code == 1
    assert "/Common/openshift_shop_web" in result.stdout
    assert "the unit is STANDBY" in result.stdout


def test_rejected_routes_are_listed_and_no_problem(lab):
    """A team's mistake is its own: the administrator's preflight succeeds."""
    lab.apply(
        manifests.route("a", created="2026-01-01T00:00:00Z"),
        manifests.route("late", namespace="bank", created="2026-02-01T00:00:00Z"),
        manifests.route("bad", host="bad.com", kind="edge", certificate="no PEM", key="x\x1b[2J\u202e"),
    )
    result = plan(lab)
    assert result.exit_code == 0
    shown = [line.split()[:2] for line in result.stdout.splitlines()]
    assert ["bank/late", "HostAlreadyClaimed"] in shown
    assert ["shop/bad", "ExtendedValidationFailed"] in shown
    assert "2 Routes rejected; 0 problems." in summary(result)
    assert {(route["route"], route["reason"]) for route in document(lab)["rejected"]} == {
        ("bank/late", "HostAlreadyClaimed"), ("shop/bad", "ExtendedValidationFailed")}


def test_exit_status(lab):
    """0, 2 and 1 with --detailed-exitcode; without it changes are no failure."""
    lab.apply(manifests.route("a"))
    assert plan(lab).exit_code == 0
    assert plan(lab, "--detailed-exitcode").exit_code == 2
    assert lab.converge() == []
    result = plan(lab, "--detailed-exitcode")
    assert result.exit_code == 0
    assert "Nothing to do: the BIG-IP is in step with the cluster." in result.stdout
    assert summary(result) == "Plan: 0 to create, 0 to change, 0 to delete; 0 Routes rejected; 0 problems."
    lab.kube.delete("Route", "shop", "a")
    assert "0 to create, 0 to change, 2 to delete" in summary(plan(lab))


@pytest.mark.parametrize("arguments", [
    pytest.param(("--f5-hots=x",), id="a flag that does not exist"),
    pytest.param(("--f5-partition-path=a b",), id="a setting that cannot work"),
])
def test_wrong_settings_are_no_changes(lab, arguments):
    """Exit status 2 has another meaning with --detailed-exitcode."""
    flags = [f"--{name}={value}" for name, value in lab.flags().items()]
    assert CliRunner().invoke(main, ["plan", *flags, *arguments]).exit_code == 2
    assert CliRunner().invoke(main, ["plan", "--detailed-exitcode", *flags, *arguments]).exit_code == 1


@pytest.mark.parametrize(("arguments", "is_logged"), [((), False), (("--log-level=info",), True)])
def test_a_terminal_has_the_bar_and_no_log_of_the_steps(lab, monkeypatch, arguments, is_logged):
    """Unless a level is chosen; a pipe has no bar, and gets the log."""
    routes(lab)
    flags = [f"--{name}={value}" for name, value in lab.flags().items()]
    with own_log(), pseudo_terminal(monkeypatch) as screens, pytest.raises(SystemExit, match="0"):
        main.main(["plan", *flags, *arguments], prog_name="f5router")
    assert "reading the cluster" in screens[0].text
    assert any("cluster caches synced" in row for row in screens[0].rows) is is_logged


def test_a_bar_while_it_reads(lab, capsys, monkeypatch):
    """On a terminal, and only while it reads; what is printed stays JSON."""
    routes(lab)
    with own_log(), pseudo_terminal(monkeypatch) as screens:
        log_output.setup("info", "text")
        preflight.plan(lab.config(), output="json")
    assert json.loads(capsys.readouterr().out)["changes"]
    assert re.search(r"the cluster.*the BIG-IP .* calls \d+, path", screens[0].text, re.DOTALL)
    assert not any("reading" in row for row in screens[0].rows), screens[0].output


def test_a_draft_that_an_administrator_left(lab, caplog):
    """It is announced before it is deleted, by a warning of plan and log; the router's own drafts are not."""
    routes(lab)
    assert lab.converge() == []
    assert "draft" not in caplog.text
    policy, draft = "ltm/policy/~Common~openshift_insecure_routes", "/Common/Drafts/openshift_insecure_routes"
    lab.change("PATCH", policy, {"createDraft": True})
    result = plan(lab)
    assert result.exit_code == 0
    assert f"policy draft {draft}: `run` deletes it, whoever made it" in result.stdout
    assert draft in "".join(document(lab)["warnings"])
    assert lab.converge() == []
    assert [record.draft for record in caplog.records if record.levelname == "WARNING"
            and record.message.startswith("deleting a policy draft")] == [draft]
    assert draft not in plan(lab).stdout
    assert lab.admitted("shop", "a")["status"] == "True"


def test_shared_objects_stand_below_no_route(lab):
    """Even where one Route alone needs them."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
    sections = plan(lab).stdout.split("\n\n")
    (below,) = [section for section in sections if section.startswith("Route shop/a\n")]
    assert [line.split()[-1] for line in below.splitlines()[1:]] == [
        "/Common/openshift_shop_web", "/Common/openshift_insecure_routes/rules/openshift_route_shop_a"]
    (shared,) = [section for section in sections if section.startswith("Objects of no single Route\n")]
    assert "/Common/ose-vserver/policies /Common/openshift_insecure_routes" in shared
    assert "//" not in shared
