"""`f5router doctor` where somebody has stopped the traffic by hand, or a team's Route is wrong."""

import json
import re
from contextlib import ExitStack, contextmanager

import pytest
from click.testing import CliRunner

from f5router.cli.main import main
from f5router.model import findings
from tests import manifests
from tests.feature import tmsh
from tests.feature.conftest import Lab
from tests.feature.test_doctor import doctor
from tests.feature.test_preflight import document
from tests.rows import rows

HTTP, HTTPS = "~Common~ose-vserver", "~Common~https-ose-vserver"
ADDRESS = "ltm/virtual-address/~Common~10.0.0.1"


def node(address: str) -> str:
    return f"ltm/node/~Common~{address}"



@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site whose Routes are served, by two pods each; each test leaves it as it was."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("site"))
        lab.virtuals(sourceAddressTranslation={"type": "automap"})
        for name, pods in (("web", ("10.1.1.1", "10.1.1.2")), ("api", ("10.1.2.1",))):
            lab.apply(*manifests.service("shop", name, pods=pods),
                      manifests.route(name, host=f"{name}.example.com", service=name))
        assert lab.converge() == []
        yield lab


def wrong(lab, **flags: str) -> list[dict[str, str]]:
    """Return each check that is not well."""
    return [check for check in json.loads(doctor(lab, "-o", "json", **flags).stdout)["checks"]
            if check["state"] in ("warning", "failure")]


@contextmanager
def changed(lab, path: str, body: dict, back: dict):
    """Change an object of the BIG-IP by hand for a while."""
    lab.change("PATCH", path, body)
    try:
        yield
    finally:
        lab.change("PATCH", path, back)


OFF, ON = {"session": "user-disabled"}, {"session": "user-enabled", "state": "user-up"}
DOWN = {**OFF, "state": "user-down"}


@rows(("path", "body", "back", "state", "code", "text"), [
    (f"ltm/virtual/{HTTP}", {"disabled": True}, {"enabled": True}, "failure", findings.SERVER_DISABLED,
     "virtual server /Common/ose-vserver is disabled: nobody answers there"),
    (f"ltm/virtual/{HTTPS}", {"disabled": True}, {"enabled": True}, "failure", findings.SERVER_DISABLED,
     "virtual server /Common/https-ose-vserver is disabled: nobody answers there"),
    (ADDRESS, {"enabled": "no"}, {"enabled": "yes"}, "failure", findings.ADDRESS_DISABLED,
     "virtual address /Common/10.0.0.1 of /Common/https-ose-vserver is disabled: nobody answers there"),
    (node("10.1.1.1"), OFF, ON, "warning", findings.NODE_DISABLED,
     "1 LTM node of pool members is disabled or forced offline and gets no new clients: "
     "/Common/10.1.1.1 (10.1.1.1)"),
    (node("10.1.2.1"), DOWN, ON, "warning", findings.NODE_DISABLED,
     "1 LTM node of pool members is disabled or forced offline and gets no new clients: "
     "/Common/10.1.2.1 (10.1.2.1); 1 pool without another member: /Common/openshift_shop_api"),
])
def test_what_somebody_has_disabled(site, path, body, back, state, code, text):
    """It is found, and the command that is shown ends it."""
    with changed(site, path, body, back):
        (shown,) = [check for check in wrong(site) if check["code"] == code]
        assert (shown["state"], shown["message"]) == (state, text)
        tmsh.run(site, shown["fix"].partition(": ")[2])
        assert code not in [check["code"] for check in wrong(site)]


def test_all_nodes_of_all_members_are_disabled(site):
    """Then no request is answered at all."""
    with changed(site, node("10.1.1.1"), OFF, ON), changed(site, node("10.1.1.2"), OFF, ON), \
            changed(site, node("10.1.2.1"), OFF, ON):
        (shown,) = [check for check in wrong(site) if check["code"] == findings.NODE_DISABLED]
        assert shown["state"] == "failure"
        assert doctor(site).exit_code == 1
        assert "3 LTM nodes" in json.dumps(document(site)["problems"])


def test_the_page_of_a_finding(site):
    with changed(site, ADDRESS, {"enabled": "no"}, {"enabled": "yes"}):
        assert "  see      docs/findings.md#virtualaddressdisabled\n" in doctor(site).stdout


def test_addresses_that_are_not_shown(site):
    """Nothing is claimed of them."""
    site.bigip.inject("refuse", times=None, path="ltm/virtual-address", status=403, message="no")
    try:
        (shown,) = [check for check in wrong(site) if check["check"] == "virtual servers"]
    finally:
        site.bigip.clear_faults()
    assert shown["message"].startswith("virtual addresses cannot be read: ")


@rows(("monitor", "missing"), [
    ("/Common/none", ["/Common/none"]),
    ("/Common/http and /Common/lost", ["/Common/lost"]),
    ("min 1 of { /Common/http /Common/gateway_icmp }", []),
    ("/Common/tcp", []),
    ("none", []),
])
def test_the_monitor_of_the_settings(site, monitor, missing):
    """A monitor may be of any type, and one that pools have is known without a request."""
    missed = [check for check in wrong(site, f5_pool_monitor=monitor)
             if check["code"] == findings.MONITOR_MISSING]
    assert [check["message"].split()[0] for check in missed] == missing
    assert {check["state"] for check in missed} <= {"failure"}
    asked = [entry for entry in site.bigip.log if re.fullmatch(r"/mgmt/tm/ltm/monitor/\S+/~Common~\S+",
                                                               entry.path)]
    assert bool(asked) == (monitor not in ("/Common/tcp", "none"))


def test_plan_with_a_monitor_that_is_missing(site):
    """The BIG-IP would refuse every pool: a problem, before `run` meets it."""
    planned = document(site, f5_pool_monitor="/Common/none")
    assert "/Common/none of --f5-pool-monitor does not exist: the BIG-IP refuses every pool" in (
        json.dumps(planned["problems"]))


def test_routes_that_are_rejected_are_counted(site):
    """One team's mistake is a warning, and the exit status stays 0."""
    bad = [manifests.route(f"bad-{n}", host=host) for n, host in enumerate(("a..b", "web.example.com"))]
    site.apply(*bad)
    try:
        result = doctor(site)
        faulty = wrong(site)
    finally:
        for n in range(len(bad)):
            site.kube.delete("Route", "shop", f"bad-{n}")
    (warned,) = [check for check in faulty if check["code"] == findings.ROUTES_REJECTED]
    assert warned["message"].startswith(
        "2 Routes are rejected because of their content (InvalidHost 1, HostAlreadyClaimed 1): "
        "Route shop/bad-0: ")
    assert (warned["state"], result.exit_code) == ("warning", 0)


API_SERVER = "a Kubernetes API server answers at this address, not a BIG-IP; see --f5-host"
STRANGER = 'forbidden: User "system:anonymous" cannot post path "/mgmt/shared/authn/login"'


@rows(("fault", "options", "text"), [
    ("html-404", {}, "404 Not Found: no iControl REST at this address; TMOS 11.4 or later is needed"),
    ("redirect", {}, "redirected to another path: no iControl REST at this address; TMOS 11.4 or later is "
                     "needed"),
    ("html-200", {}, "another server answers there, not a BIG-IP: to /mgmt/shared/authn/login with 200, and "
                     "the reply to the login holds no token"),
    ("api-server", {}, f"{API_SERVER}: {STRANGER}"),
    ("api-server", {"status": 401}, f"{API_SERVER}: Unauthorized"),
])
def test_a_server_that_is_no_bigip(site, fault, options, text):
    site.bigip.inject(fault, times=None, **options)
    try:
        (shown,) = [check for check in wrong(site) if check["check"] == "version"]
    finally:
        site.bigip.clear_faults()
    assert (shown["state"], shown["code"], shown["message"]) == ("failure", findings.NOT_A_BIGIP, text)


def test_paths_of_own_files_are_not_redacted(site, tmp_path):
    """They may look like a part of a key."""
    login = tmp_path / "AbcDefGhiJklMnoPqrStuVwx"
    login.mkdir()
    (login / "username").write_text("admin")
    (login / "password").write_text("wrong-word")
    arguments = [f"--{name}={value}" for name, value in site.flags(f5_credentials_dir=str(login)).items()
                 if name not in ("f5-username", "f5-password")]
    result = CliRunner().invoke(main, ["doctor", "-o", "json", *arguments])
    (shown,) = [check for check in json.loads(result.stdout)["checks"] if check["check"] == "login"
                and check["state"] == "failure"]
    assert f"see {login}/username and {login}/password: " in shown["message"]
