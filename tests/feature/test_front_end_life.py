"""Virtual servers of the router over time: every version, removal, each crash, plan, a router that runs."""

import contextlib
import itertools
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from f5router.cli import uninstall
from mocks.bigip import FakeBigIP
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_adopt import state
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_front_end import (
    ADDRESS,
    DEFAULT,
    FLAGS,
    ON_TWO,
    TWO,
    empty,
    is_complete,
    listening,
    serve,
    virtual,
)
from tests.feature.test_pair import PairLab
from tests.feature.test_preflight import plan
from tests.feature.test_server_watch import seen
from tests.waiting import DEADLINE_S, until

__all__ = ["empty"]


def test_prepared_virtual_servers_serve_on(lab):
    """With the setting by mistake, or before they are deleted, Routes are served, and a line tells it."""
    lab.apply(manifests.route("a"))
    assert lab.converge() == []
    before = {name: virtual(lab, name) for name in (HTTP, HTTPS)}
    reasons = serve(lab, f5_vserver_address="10.0.0.1")
    assert {name for name in (HTTP, HTTPS) if any(
        f"virtual server /Common/{name} exists, and this router did not create it" in reason
        for reason in reasons)} == {HTTP, HTTPS}
    assert [lab.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]
    for name, raw in before.items():
        assert {key: value for key, value in virtual(lab, name).items() if key in (
            "destination", "description", "metadata", "rules", "profilesReference")} == {
            key: value for key, value in raw.items() if key in (
                "destination", "description", "metadata", "rules", "profilesReference")}
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_one_without_its_marks_serves_on(empty):
    """Somebody has removed both marks: it counts as an administrator's from then on."""
    assert serve(empty) == []
    empty.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"metadata": [], "description": "mine"})
    assert any("this router did not create it" in reason for reason in empty.converge(**FLAGS))
    assert empty.admitted("shop", "b")["status"] == "True"
    assert listening(empty) == {HTTP, HTTPS}
    assert virtual(empty, HTTPS)["description"] == "mine"
    policies = virtual(empty, HTTPS)["policiesReference"]["items"]
    assert [item["fullPath"] for item in policies] == ["/Common/openshift_secure_routes"]


def test_what_is_optional_keeps_nobody_waiting(empty):
    """The page for 503 is refused; clients are answered all the same."""
    path = "openshift_unavailable_irule"
    empty.bigip.put_object("ltm/rule", {"name": path, "partition": "Common",
                                        "apiAnonymous": "when CLIENT_ACCEPTED { }"})
    empty.bigip.inject("refuse", times=None, method="PATCH", path=f"/mgmt/tm/ltm/rule/~Common~{path}",
                       message="01070734:3: not this one")
    assert any("not this one" in reason for reason in serve(empty))
    assert listening(empty) == {HTTP, HTTPS}
    assert [empty.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]


# --- versions ----------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "quirks"), [
    *((version, ()) for version in ("11.6.0", "12.0.0", "12.1.2", "13.1.1", "14.1.2.1", "15.1.0", "16.1.2",
                                    "17.1.0")),
    ("11.6.0", ("metadata-unknown",)), ("14.1.2.1", ("metadata-unknown",)),
])
def test_versions(make_lab, version, quirks):
    """Created, kept and removed, with a description alone where there is no metadata."""
    lab = make_lab(tmos_version=version, quirks=frozenset(quirks), ssh=True)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    flags = {**lab.ssh_flags(), "f5_auth": "basic"} if version < "12" else {}
    assert serve(lab, f5_vserver_address=TWO, **flags) == []
    assert listening(lab) == ON_TWO
    lab.clear()
    assert lab.converge(f5_vserver_address=TWO, **flags) == []
    assert lab.writes() == []
    assert lab.converge(f5_vserver_address=B, **flags) == []
    assert places(lab) == wanted(B)


@pytest.mark.parametrize("folder", ["/tenants", "/tenants/zone1"])
@pytest.mark.parametrize("domain", [0, 6])
@pytest.mark.parametrize("quirks", [(), ("filter-excludes-subfolders",)])
def test_folders_and_route_domains(make_lab, folder, domain, quirks):
    lab = make_lab(partition=folder, partitions=("Common", "tenants"), quirks=frozenset(quirks))
    if domain:
        lab.bigip.put_object("net/route-domain", {"name": "6", "id": 6})
        lab.change("PATCH", "auth/partition/tenants", {"defaultRouteDomain": 6})
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    assert serve(lab, f5_vserver_address=TWO) == []
    assert listening(lab) == ON_TWO
    assert lab.converge(f5_vserver_address=B) == []
    assert listening(lab) == {HTTP, HTTPS}
    lab.clear()
    assert lab.converge(f5_vserver_address=B) == []
    assert lab.writes() == []
    assert remove(lab, f5_vserver_address=B) == 0
    assert lab.paths("ltm/virtual") == set()


# --- removal -----------------------------------------------------------------------------


def remove(lab: Lab, stop: threading.Event | None = None, **flags: str) -> int:
    return uninstall.uninstall(
        lab.config(update_status="false", f5_save_config="false", **flags), dry_run=False,
        confirm=lambda question: True, timing=lab.timing,
        stopping=lambda: contextlib.nullcontext(stop or threading.Event()))


OTHER = {"name": "another", "partition": "Common", "destination": "/Common/203.0.113.10:8080",
         "ipProtocol": "tcp", "profiles": ["/Common/tcp", "/Common/http"], "description": "another team"}


@pytest.mark.parametrize("flags", [{}, {"f5_vserver_address": TWO}], ids=["without", "with the setting"])
def test_uninstall_removes_what_the_router_made(empty, flags):
    empty.bigip.put_object("ltm/virtual", OTHER)
    before = state(empty)
    assert serve(empty, f5_vserver_address=TWO) == []
    assert remove(empty, **flags) == 0
    assert state(empty) == before
    assert empty.paths("ltm/virtual") == {"/Common/another"}
    assert empty.paths("ltm/virtual-address") == {f"/Common/{ADDRESS}"}


def test_each_end_of_the_removal(empty):
    before = state(empty)
    assert serve(empty, f5_vserver_address=TWO) == []
    for number in range(200):
        stop, written = threading.Event(), len(empty.writes())
        left = itertools.count(number // 3, -1)
        incomplete: list[str] = []

        def look(entry, stop=stop, left=left, incomplete=incomplete) -> None:
            incomplete += [name for name in listening(empty) if not is_complete(empty, name)]
            if next(left) <= 0:
                stop.set()

        empty.bigip.on_write = look
        remove(empty, stop, f5_vserver_address=TWO)
        empty.bigip.on_write = None
        assert incomplete == []
        assert empty.bigip.errors == []
        if len(empty.writes()) == written:
            break
    assert state(empty) == before


@pytest.mark.parametrize("changed", [
    {"f5_vserver_address": "203.0.113.77"}, {"service_http_port": "8080", "service_https_port": "8443"},
    {"f5_vserver_address": TWO}, {"f5_vserver_address": "2001:db8::1"},
], ids=["another address", "other ports", "a further address", "the other family"])
def test_each_end_of_a_change(empty, changed):
    """At each moment something serves, and what serves is complete."""
    assert serve(empty) == []
    start = empty.bigip.state()
    for _ in empty.each_end(2, **FLAGS | changed):
        assert listening(empty) >= {HTTP, HTTPS}
        assert all(is_complete(empty, name) for name in listening(empty))
        assert empty.converge(**FLAGS | changed) == []
        empty.clear()
        assert empty.converge(**FLAGS | changed) == []
        assert empty.writes() == []
        empty.bigip.put_back(start)


# --- plan and doctor ---------------------------------------------------------------------


def test_plan_shows_what_is_created(empty):
    result = plan(empty, **FLAGS)
    assert result.exit_code == 0, result.stdout
    for line in (f"ltm/virtual            /Common/{HTTP}", f"ltm/virtual/listening  /Common/{HTTPS}"):
        kind, path = line.split()
        assert any(words[-2:] == [kind, path] for words in map(str.split, result.stdout.splitlines()))


@pytest.mark.parametrize(("foreign", "text"), [
    ({**OTHER, "destination": f"/Common/{ADDRESS}:443"},
     f"Virtual Server /Common/{HTTPS} illegally shares destination address, source address, service port, "
     "ip-protocol, and vlan with Virtual Server /Common/another"),
    ({**OTHER, "partition": "tenants"}, f"the IP address {ADDRESS} already exists: it is in /tenants"),
    ({**OTHER, "name": HTTPS, "destination": "10.0.0.1:443"},
     f"virtual server /Common/{HTTPS} exists, and this router did not create it"),
], ids=["the place", "another partition", "the name"])
@pytest.mark.parametrize("command", ["plan", "doctor"])
def test_a_refusal_is_foretold(make_lab, foreign, text, command):
    lab = make_lab(partitions=("Common", "tenants"))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    lab.apply(manifests.route("b", host="b.example.com", kind="edge"))
    if foreign["partition"] == "tenants":
        foreign = {**foreign, "destination": f"/tenants/{ADDRESS}:8080"}
    lab.bigip.put_object("ltm/virtual", foreign)
    if command == "plan":
        result = plan(lab, **FLAGS)
        assert result.exit_code == 1
        assert text in " ".join(result.stdout.split())
    else:
        result = doctor(lab, "-o", "json", **FLAGS)
        assert any(text in message for _, _, message in checks(result, "failure"))


def test_doctor_before_and_after(empty):
    before = doctor(empty, "-o", "json", **FLAGS)
    assert checks(before, "failure") == []
    texts = [text for _, check, text in checks(before, "ok") if check == "virtual servers"]
    assert [text.partition(":")[0] for text in texts] == [
        f"/Common/{HTTP} at {ADDRESS} port 80", f"/Common/{HTTPS} at {ADDRESS} port 443"]
    assert all("`f5router run` creates it" in text for text in texts)
    assert serve(empty) == []
    after = doctor(empty, "-o", "json", **FLAGS)
    assert checks(after, "failure") == []
    assert not any("creates it" in text for _, _, text in checks(after, "ok"))


# --- a router that runs ------------------------------------------------------------------


def test_a_router_that_runs_repairs(empty, running_on):
    """It is deleted while the router runs, which creates it again, complete."""
    empty.apply(manifests.route("b", host="b.example.com", kind="edge"))
    router = running_on(empty, f5_drift_interval="1s", **FLAGS)
    router.wait(lambda: empty.admitted("shop", "b").get("status") == "True")
    assert listening(empty) == {HTTP, HTTPS}
    empty.change("DELETE", f"ltm/virtual/~Common~{HTTPS}")
    empty.later(20)
    router.router.inbox.wake()
    router.wait(lambda: listening(empty) == {HTTP, HTTPS} and is_complete(empty, HTTPS))


def test_status_waits_until_it_answers(empty):
    """A Route is not admitted while the BIG-IP refuses to enable its virtual server."""
    path = f"/mgmt/tm/ltm/virtual/~Common~{HTTPS}"

    def refuse(entry) -> None:
        if (entry.method, entry.path) == ("PATCH", path):  # everything is attached
            empty.bigip.inject("refuse", times=None, method="PATCH", path=path, message="01070734:3: not now")

    empty.bigip.on_write = refuse
    assert any("not now" in reason for reason in serve(empty))
    empty.bigip.on_write = None
    assert listening(empty) == {HTTP}
    assert is_complete(empty, HTTPS)
    assert [empty.admitted("shop", name)["status"] for name in "ab"] == ["True", "False"]
    assert "not now" in empty.admitted("shop", "b")["message"]
    assert not any("disabled" in text for _, _, text in checks(
        doctor(empty, "-o", "json", **FLAGS), "failure", "warning"))
    assert seen(empty, HTTPS) == f"/Common/{HTTPS} is not in service yet: the router prepares it"
    empty.bigip.clear_faults()
    assert empty.converge(**FLAGS) == []
    assert listening(empty) == {HTTP, HTTPS}
    assert empty.admitted("shop", "b")["status"] == "True"


@pytest.mark.parametrize(("kind", "path"), [
    ("ltm/rule", "openshift_passthrough_irule"), ("ltm/profile/client-ssl", DEFAULT[0].rpartition("/")[2]),
])
def test_none_answers_without_what_protects_pods(empty, kind, path):
    """The HTTP virtual server answers, the HTTPS virtual server waits for what the BIG-IP refuses."""
    empty.bigip.put_object(kind, {"name": path, "partition": "Common", **(
        {"apiAnonymous": "when CLIENT_ACCEPTED { }"} if kind == "ltm/rule" else {})})
    empty.bigip.inject("refuse", times=None, method="PATCH", path=f"/mgmt/tm/{kind}/~Common~{path}",
                       message="01070734:3: not this one")
    assert any("not this one" in reason for reason in serve(empty))
    assert HTTPS not in listening(empty)
    empty.bigip.clear_faults()
    assert empty.converge(**FLAGS) == []
    assert listening(empty) == {HTTP, HTTPS}


@pytest.fixture
def running_on():
    """Start a router on a lab; stopped at the end."""
    from tests.feature.running import Running

    routers: list[Running] = []

    def start(lab: Lab, **flags: str) -> Running:
        routers.append(Running(lab, **flags))
        return routers[-1]

    yield start
    for router in routers:
        router.lab.bigip.clear_faults()
        router.stop()


# --- addresses that come and go ----------------------------------------------------------

A, B, C = ADDRESS, "2001:db8::1", "203.0.113.12"


def places(lab: Lab) -> set[str]:
    """Addresses and ports on which clients are answered."""
    return {item.fields["destination"].removeprefix("/Common/") for item in lab.bigip.items("ltm/virtual")
            if item.fields.get("enabled")}


def wanted(*addresses: str) -> set[str]:
    return {f"{address}{'.' if ':' in address else ':'}{port}" for address in addresses
            for port in (80, 443)}


@pytest.mark.parametrize(("before", "after"), [
    ((A, B), (B,)), ((A, B), (B, A)), ((A, B, C), (A, C)), ((A, B, C), (C, A, B)), ((A, B), (C, A)),
    ((A, C), (B,)), ((A, B, C), (B, C)),
])
def test_addresses_that_stay_are_always_served(empty, before, after):
    """Also if the router ends after any write."""
    assert serve(empty, f5_vserver_address=",".join(before)) == []
    assert places(empty) == wanted(*before)
    staying, start = wanted(*(set(before) & set(after))), empty.bigip.state()
    flags = {"f5_vserver_address": ",".join(after)}
    for _ in empty.each_end(2, **flags):
        assert places(empty) >= staying
        assert all(is_complete(empty, name) for name in listening(empty))
        assert empty.converge(**flags) == []
        assert places(empty) == wanted(*after)
        empty.clear()
        assert empty.converge(**flags) == []
        assert empty.writes() == []
        empty.bigip.put_back(start)


@pytest.mark.parametrize("quirks", [(), ("move-leaves-address",)])
@pytest.mark.parametrize("kept", ["", "administrator", "in use"])
def test_the_old_address_goes(make_lab, quirks, kept):
    """Nothing answers for it any more, unless it is somebody else's, or somebody else's server is on it."""
    lab = make_lab(quirks=frozenset(quirks))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    assert serve(lab) == []
    if kept == "administrator":
        lab.change("PATCH", f"ltm/virtual-address/~Common~{A}", {"autoDelete": "false"})
    elif kept:
        lab.bigip.put_object("ltm/virtual", OTHER)
    assert lab.converge(f5_vserver_address=C) == []
    assert lab.paths("ltm/virtual-address") == {f"/Common/{C}", *([f"/Common/{A}"] if kept else [])}


def test_a_new_address_before_the_others_waits(empty):
    """The virtual server for it would have to take the name of one that serves."""
    assert serve(empty) == []
    flags = {"f5_vserver_address": f"{B},{A}"}
    assert "illegally shares" in plan(empty, **flags).stdout
    reasons = empty.converge(**flags)
    assert any("name new addresses of --f5-vserver-address behind those" in reason for reason in reasons)
    assert places(empty) == wanted(A)
    assert empty.converge(f5_vserver_address=f"{A},{B}") == []
    assert places(empty) == wanted(A, B)


def test_another_name_takes_nothing(empty):
    """A virtual server of an earlier name serves on, and the BIG-IP's words name it."""
    assert serve(empty) == []
    reasons = empty.converge(**FLAGS, f5_https_vserver="renamed")
    assert any(f"with Virtual Server /Common/{HTTPS}" in reason for reason in reasons)
    assert listening(empty) == {HTTP, HTTPS}
    assert is_complete(empty, HTTPS)


# --- pairs -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, 36, 2))
def test_a_failover_during_the_creation(empty, tmp_path, number):
    """The other unit has no half of a virtual server that answers, and gets what it lacks."""
    empty.timing = replace(empty.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    with FakeBigIP() as second:
        joined = PairLab(empty, second, tmp_path / "both.crt")
        empty.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
        router = empty.router(f5_max_in_flight="1", retry_s=0.0, **FLAGS, **joined.flags)
        joined.on_write(number, joined.pair.fail_over)
        until(lambda: empty.converge(router) == [])
        for big in joined.pair.units:
            unit = SimpleNamespace(bigip=big)
            assert all(is_complete(unit, name) for name in listening(unit))
        assert listening(SimpleNamespace(bigip=joined.pair.active)) == {HTTP, HTTPS}
        assert [*empty.bigip.errors, *second.errors] == []
