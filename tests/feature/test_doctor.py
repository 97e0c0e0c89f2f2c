"""`f5router doctor` on both fakes: each check finds what is wrong, whatever else is wrong meanwhile."""

import dataclasses
import json
import time
from contextlib import ExitStack, contextmanager

import pytest
from click.testing import CliRunner, Result

from f5router.app.timing import DEFAULT
from f5router.cli.doctor import command
from f5router.cli.main import main
from mocks.bigip import FakeBigIP
from mocks.bigip.store import Licence
from tests import manifests
from tests.builders import identity
from tests.feature import tmsh
from tests.feature.conftest import Lab
from tests.feature.test_pair import PairLab
from tests.waiting import DEADLINE_S

VXLAN = {"f5_internal_address": "10.3.89.213", "f5_vxlan_gateway_cidr": "10.131.0.5/14"}
DAY_S = 86_400.0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """One pair of fakes for all tests, each of which leaves them as they were."""
    with ExitStack() as stack:
        ahead = [0.0]
        lab = Lab(stack, tmp_path_factory.mktemp("site"), ssh=True, clock=lambda: time.time() + ahead[0])
        lab.ahead = ahead
        lab.virtuals(sourceAddressTranslation={"type": "automap"})
        lab.bigip.add_virtual("/Common/snat", "10.0.0.4:80", sourceAddressTranslation={"type": "automap"})
        for name, profiles in (("bare", ["/Common/tcp"]), ("plain", ["/Common/tcp", "/Common/http"])):
            lab.bigip.add_virtual(f"/Common/{name}", f"10.0.0.2:{80 + len(profiles)}", profiles=profiles)
        lab.bigip.put_object("net/self", {"name": "near", "partition": "Common", "address": "10.1.0.213/16",
                                          "vlan": "/Common/internal"})
        lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
        yield lab


def doctor(lab, *arguments: str, **flags: str) -> Result:
    """Run the command; it writes nothing to the BIG-IP, and shows no password."""
    lab.clear()
    flags = {"default_destination_ca_path": lab.kube.ca_file, "f5_connect_timeout": "60", "stats_port": "0",
             **flags}
    given = [f"--{name}={value}" for name, value in lab.flags(**flags).items()]
    result = CliRunner().invoke(main, ["doctor", *arguments, *given])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert lab.writes() == []
    assert lab.bigip.password not in result.output
    return result


def checks(result: Result, *states: str) -> list[tuple[str, str, str]]:
    """Area, check and text of the results in some states."""
    return [(check["area"].split(" ")[0], check["check"], f"{check['message']}; {check['fix']}")
            for check in json.loads(result.stdout)["checks"] if check["state"] in states]


def test_all_is_well(site):
    result = doctor(site, "-o", "json", **site.ssh_flags())
    assert checks(result, "warning", "failure", "skipped") == []
    assert result.exit_code == 0
    names = [check[:2] for check in checks(result, "ok")]
    assert names == [
        ("settings", "settings"), *(("cluster", name) for name in ("API server", "clock", "kinds", "rights")),
        *(("BIG-IP", name) for name in ("address", "TLS", "login", "role", "version", "licence", "modules",
                                        "clock", "failover", "SSH")),
        *(("service", name) for name in ("partition", "config sync", "limits", "virtual servers",
                                         "virtual servers", "monitor", "way to the pods"))]


def test_table(site):
    result = doctor(site)
    assert "  ok       login            user admin, token authentication\n" in result.stdout
    assert result.stdout.endswith("\n\n21 ok, 0 warnings, 0 failures\n")
    assert result.stderr == ""


def test_a_wrong_password_is_one_message(site):
    """And one login: accounts are locked after a few."""
    result = doctor(site, "-o", "json", f5_password="wrong-word")
    assert checks(result, "warning", "failure") == [
        ("BIG-IP", "login", "user 'admin' or its password is refused, see --f5-username and --f5-password: "
                            "Authentication failed.; give the router the right one, or set it again on "
                            "the BIG-IP: tmsh modify auth user admin prompt-for-password")]
    assert result.exit_code == 1
    assert "wrong-word" not in result.output
    assert [entry.path for entry in site.bigip.log] == ["/mgmt/shared/authn/login"]


def test_one_failure_does_not_hide_another(site):
    """The cluster, REST and SSH are apart."""
    site.kube.forbid("routes", ("watch",))
    flags = {**site.ssh_flags(), "f5_password": "wrong-word", "f5_ssh_host_key": f"SHA256:{'A' * 43}"}
    try:
        result = doctor(site, "-o", "json", **flags)
    finally:
        site.kube.allow("routes")
    assert [check[:2] for check in checks(result, "failure")] == [
        ("cluster", "rights"), ("BIG-IP", "login"), ("BIG-IP", "SSH")]
    assert [check[0] for check in checks(result, "skipped")] == ["BIG-IP", "service"]


@pytest.mark.parametrize(("flags", "expected"), [
    pytest.param({"f5_host": "127.0.0.1:1"}, ("BIG-IP", "address", "check --f5-host 127.0.0.1:1"),
                 id="no BIG-IP there"),
    pytest.param({"f5_partition_path": "/Shop"}, ("service", "partition", "partition Shop does not exist"),
                 id="no such partition"),
    pytest.param({"f5_http_vserver": "none"}, ("service", "virtual servers", "/Common/none does not exist"),
                 id="no such virtual server"),
    pytest.param({"f5_http_vserver": "bare"}, ("service", "virtual servers", "profiles add { /Common/http }"),
                 id="no http profile"),
    pytest.param({"f5_https_vserver": "plain"},
                 ("service", "virtual servers", "a client SSL profile is missing"), id="no client SSL"),
    pytest.param({"f5_ssh_host_key": f"SHA256:{'A' * 43}"}, ("BIG-IP", "SSH", "host key"),
                 id="another host key"),
    pytest.param({"pool_member_type": "nodeport"}, ("service", "way to the pods", "no Node is there"),
                 id="no Node"),
    pytest.param({"namespace": "shpo"}, ("service", "cluster", "the namespace 'shpo' does not exist"),
                 id="no such namespace"),
])
def test_what_the_settings_name(site, flags, expected):
    if "f5_ssh_host_key" in flags:
        flags = {**site.ssh_flags(), **flags}
    result = doctor(site, "-o", "json", **flags)
    (failed,) = checks(result, "failure")
    assert failed[:2] == expected[:2]
    assert expected[2] in failed[2]
    assert result.exit_code == 1


def test_a_certificate_of_another_authority(site, tmp_path):
    bundle = tmp_path / "ca.crt"
    bundle.write_text(identity().issuer)
    result = doctor(site, "-o", "json", f5_ca_bundle=str(bundle))
    (failed,) = checks(result, "failure")
    assert failed[:2] == ("BIG-IP", "TLS")
    assert "give the file of its CA with --f5-ca-bundle" in failed[2]


def licensed(**changes):
    """Return a change of the licence of the BIG-IP."""
    def change(lab) -> None:
        lab.bigip.store.licence = dataclasses.replace(Licence(), **changes)

    return change


def until(days: float) -> dict:
    end = time.strftime("%Y/%m/%d", time.gmtime(time.time() + days * DAY_S))
    return {"dates": {"registrationKey": "x", "licenseEndDate": end}}


def unlicensed(lab) -> None:
    lab.bigip.store.licence = None


def provision(level: str):
    return lambda lab: lab.change("PATCH", "sys/provision/ltm", {"level": level})


def ahead(lab) -> None:
    lab.ahead[0] = 3600.0


@contextmanager
def broken(lab, break_it):
    """Break something, and fix it again."""
    try:
        break_it(lab)
        yield
    finally:
        lab.bigip.store.licence, lab.ahead[0] = Licence(), 0.0
        lab.kube.set_ahead(0.0)
        lab.kube.clear_faults()
        lab.kube.serve("route.openshift.io")
        for resource in ("routes", "routes/status", "events", "hostsubnets"):
            lab.kube.allow(resource)
        lab.bigip.clear_faults()
        lab.bigip.set_ready(True)
        lab.bigip.set_failover("ACTIVE")
        lab.bigip.unit.set(group="")
        provision("nominal")(lab)


@pytest.mark.parametrize(("break_it", "flags", "state", "expected"), [
    pytest.param(unlicensed, {}, "failure", ("BIG-IP", "licence", "tmsh install sys"), id="no licence"),
    pytest.param(licensed(**until(-2)), {}, "failure", ("BIG-IP", "licence", "it ended on"), id="ended"),
    pytest.param(licensed(**until(7)), {}, "warning", ("BIG-IP", "licence", "it ends on"),
                 id="licence ends"),
    pytest.param(licensed(features=("SSL, VE",)), VXLAN, "failure",
                 ("BIG-IP", "licence", "SDN Services is not"), id="no SDN Services"),
    pytest.param(lambda lab: lab.bigip.inject("refuse", path="sys/license", message="no"), {}, "warning",
                 ("BIG-IP", "licence", "cannot be read"), id="licence that is not shown"),
    pytest.param(provision("none"), {}, "failure",
                 ("BIG-IP", "modules", "tmsh modify sys provision ltm level nominal"), id="no LTM"),
    pytest.param(ahead, {}, "warning", ("BIG-IP", "clock", "or it shows the time of another zone"),
                 id="clock of the BIG-IP"),
    pytest.param(lambda lab: lab.bigip.set_ready(False), {}, "failure", ("BIG-IP", "ready", "mcp-state"),
                 id="not ready"),
    pytest.param(lambda lab: lab.bigip.set_failover("STANDBY"), {}, "failure",
                 ("BIG-IP", "failover", "the unit is STANDBY"), id="standby"),
    pytest.param(lambda lab: (lab.bigip.join_group("pair"), lab.bigip.set_sync("pending")), {}, "warning",
                 ("service", "config sync", "tmsh run cm config-sync to-group pair"), id="changes pending"),
    pytest.param(lambda lab: lab.kube.set_ahead(-400.0), {}, "warning",
                 ("cluster", "clock", "s behind this machine"), id="clock of the API server"),
    pytest.param(lambda lab: lab.kube.forbid("routes", ("list",)), {}, "failure",
                 ("cluster", "rights", "may not list routes.route.openshift.io: no Route is served; oc"),
                 id="right to list"),
    pytest.param(lambda lab: lab.kube.forbid("routes/status", ("patch", "update")), {}, "failure",
                 ("cluster", "rights", "patch routes/status"), id="right to write statuses"),
    pytest.param(lambda lab: lab.kube.forbid("events", ("create",)), {}, "warning",
                 ("cluster", "rights", "teams see no Events"), id="right to write Events"),
    pytest.param(lambda lab: lab.kube.withdraw("route.openshift.io"), {}, "failure",
                 ("cluster", "kinds", "routes are not served"), id="no Routes"),
    pytest.param(lambda lab: lab.kube.inject("403", times=None, path="selfsubjectaccessreviews"), {},
                 "warning", ("cluster", "rights", "no SelfSubjectAccessReview"), id="no reviews"),
])
def test_what_is_broken(site, break_it, flags, state, expected):
    with broken(site, break_it):
        result = doctor(site, "-o", "json", **flags)
    wrong = [check for check in checks(result, state) if check[:2] == expected[:2]]
    assert len(wrong) == 1, result.stdout
    assert expected[2] in wrong[0][2]
    assert result.exit_code == (1 if checks(result, "failure") else 0)


def test_either_verb_writes_statuses(site):
    with broken(site, lambda lab: lab.kube.forbid("routes/status", ("patch",))):
        assert checks(doctor(site, "-o", "json"), "failure", "warning") == []


@pytest.mark.parametrize("role", ["guest", "manager"])
def test_the_role_of_the_user(site, role):
    site.bigip.add_user("robot", "robot-password", role)
    result = doctor(site, "-o", "json", f5_username="robot", f5_password="robot-password")
    (wrong,) = checks(result, "failure" if role == "guest" else "warning")
    assert wrong[:2] == ("BIG-IP", "role")
    assert f"the role {role}" in wrong[2]


def test_source_addresses(site):
    """Pods that are reached by routes answer to clients; a virtual server that translates is well."""
    site.bigip.add_virtual("/Common/through", "10.0.0.3:80")
    result = doctor(site, "-o", "json", f5_http_vserver="through", f5_static_routes="true")
    (wrong,) = checks(result, "warning")
    assert wrong[2].startswith("/Common/through translates no source addresses")
    (other,) = [check for check in checks(result, "ok") if "https-ose-vserver" in check[2]]
    assert "SNAT automap" in other[2]


def test_vxlan(site):
    """Nothing is claimed that nobody has looked at."""
    network = manifests.cluster_network("10.128.0.0/14")
    ghosts = [manifests.host_subnet("node-1", "10.3.89.1", "10.128.0.0/23")]
    warnings = [check[2] for check in checks(doctor(site, "-o", "json", **VXLAN), "warning")]
    unknown = [text for text in warnings if "not checked" in text]
    assert [text.split(":")[0].split()[-1] for text in unknown] == ["HostSubnet", "ClusterNetwork"]
    assert all(text.endswith("oc apply -f docs/deploy/15-sdn-reader.yaml") for text in unknown)
    site.apply(network, *ghosts)
    (failed,) = checks(doctor(site, "-o", "json", **VXLAN), "failure")
    assert "no HostSubnet has this hostIP" in failed[2]
    site.apply(manifests.host_subnet("f5", "10.3.89.213", "10.131.0.0/23"))
    narrow = {**VXLAN, "f5_vxlan_gateway_cidr": "10.131.0.5/23"}
    (failed,) = checks(doctor(site, "-o", "json", **narrow), "failure")
    assert "set 10.131.0.5/14" in failed[2]
    well = checks(doctor(site, "-o", "json", **VXLAN, f5_http_vserver="snat"), "ok")[-1]
    assert "HostSubnet of 10.3.89.213, gateway 10.131.0.5/14 and its mask fit" in well[2]


def test_settings(site):
    """All of them are reported, with exit status 2."""
    result = doctor(site, "-o", "json", f5_ca_bundle="/nonexistent", name="", hold_off="x")
    assert result.exit_code == 2
    assert {check[0] for check in checks(result, "failure")} == {"settings"}
    assert len(checks(result, "failure")) == 3


def test_without_a_kubeconfig(site, tmp_path):
    """The BIG-IP is checked all the same."""
    empty = tmp_path / "config"
    empty.write_text("{}")
    result = doctor(site, "-o", "json", config=str(empty))
    assert result.exit_code == 2
    assert [check[0] for check in checks(result, "failure")] == ["settings"]
    assert ("BIG-IP", "role") in [check[:2] for check in checks(result, "ok")]



def test_a_pair(lab, tmp_path, capsys):
    """Each unit is checked; one of them has to be a standby, and both may not be."""
    def states(flags: dict[str, str]) -> list[tuple[str, str, str]]:
        patient = dataclasses.replace(DEFAULT, look_s=DEADLINE_S)
        command.doctor(lab.flags(**flags), {}, output="json", timing=patient)
        return [(check["check"], check["state"], check["message"])
                for check in json.loads(capsys.readouterr().out)["checks"]]

    with FakeBigIP() as second:
        pair = PairLab(lab, second, tmp_path / "both.crt")
        well = states(pair.flags)
        lab.bigip.set_failover("STANDBY")
        none_active = states(pair.flags)
    assert "failure" not in [state for _, state, _ in well]
    assert [check[1:] for check in well if check[0] == "failover"] == [
        ("ok", "the unit is ACTIVE"), ("ok", "the unit is STANDBY")]
    assert "config sync" in [check for check, _, _ in well]
    (failed,) = [check for check in none_active if check[1] == "failure"]
    assert (failed[0], failed[2].count("the unit is STANDBY")) == ("failover", 2)


def test_tunnels_of_a_pair(lab, tmp_path, capsys):
    """Each unit has its own, so config sync must not copy them; the command changes that."""
    def tunnels() -> list[tuple[str, str]]:
        patient = dataclasses.replace(DEFAULT, look_s=DEADLINE_S)
        command.doctor(lab.flags(**pair.flags, **addresses), {}, output="json", timing=patient)
        return [(check["state"], check["fix"]) for check in json.loads(capsys.readouterr().out)["checks"]
                if check["check"] == "tunnels"]

    addresses = {"f5_internal_address": "10.3.89.213,10.3.89.214",
                 "f5_vxlan_gateway_cidr": "10.131.0.5/14,10.130.2.5/14"}
    with FakeBigIP() as second:
        pair = PairLab(lab, second, tmp_path / "both.crt")
        (state, fix), other = tunnels()
        assert (state, other[0]) == ("warning", "warning")
        command_line = fix[fix.index("tmsh "):]
        tmsh.run(lab, command_line)
        second.request("PATCH", "sys/db/iptunnel.configsync", {}, {"value": "disable"})
        assert [state for state, _ in tunnels()] == ["ok", "ok"]
        second.inject("refuse", times=None, path="iptunnel", message="no")
        assert [state for state, _ in tunnels()] == ["ok", "warning"]
