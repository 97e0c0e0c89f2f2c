"""f5router adopt --virtual-servers and --release: what is shown, what is kept, and each crash.

Longer than other modules: there and back are tested on virtual servers as an administrator made them.
"""

import itertools
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from f5router.cli import adopt, adopted_servers
from f5router.model.errors import ConfigError
from mocks.bigip import FakeBigIP
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_adopt import state
from tests.feature.test_front_end import DEFAULT, is_complete, listening, profiles, virtual
from tests.feature.test_front_end_life import remove
from tests.feature.test_pair import PairLab
from tests.feature.test_preflight import plan
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.bare

ADDRESS = "10.0.0.1"
FLAGS = {"f5_vserver_address": ADDRESS}
BOTH = (HTTP, HTTPS)
THEIRS = {"/Common/tcp-theirs", "/Common/http-theirs"}


def prepare(lab: Lab) -> None:
    """Give both virtual servers what an administrator may have on them."""
    post = lab.bigip.put_object
    post("ltm/profile/tcp", {"name": "tcp-theirs", "partition": "Common", "defaultsFrom": "/Common/tcp",
                             "idleTimeout": 1800})
    post("ltm/profile/http", {"name": "http-theirs", "partition": "Common", "defaultsFrom": "/Common/http",
                              "insertXforwardedFor": "enabled", "enforcement": {"maxHeaderCount": 99}})
    post("ltm/rule", {"name": "theirs", "partition": "Common", "apiAnonymous": "when CLIENT_ACCEPTED { }"})
    post("net/vlan", {"name": "outside", "partition": "Common"})
    for name in BOTH:
        secure = ["/Common/clientssl-default"] if name == HTTPS else []
        lab.change("PATCH", f"ltm/virtual/~Common~{name}", {
            "profiles": [*sorted(THEIRS), *secure], "rules": ["/Common/theirs"], "connectionLimit": 500,
            "vlansEnabled": True, "vlans": ["/Common/outside"], "description": "made by hand",
            "metadata": [{"name": "owner", "value": "team"}]})


@pytest.fixture
def prepared(lab) -> Lab:
    """Routes that a router serves on virtual servers of an administrator."""
    prepare(lab)
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    assert lab.converge() == []
    lab.clear()
    return lab


def take(lab: Lab, *, dry_run: bool = False, stop: threading.Event | None = None, **flags: str) -> int:
    return adopt.adopt(lab.config(**FLAGS | flags), dry_run=dry_run, stop=stop or threading.Event(),
                       virtual_servers=True, drain_s=0.0, timing=lab.timing)


def release(lab: Lab, *, dry_run: bool = False, **flags: str) -> int:
    return adopted_servers.release(lab.config(f5_save_config="false", **flags), dry_run=dry_run,
                                   timing=lab.timing)


def rows(printed: str) -> set[tuple[str, ...]]:
    """Return the rows of a printed table, without what is below it."""
    lines = printed.partition("\n\n")[0].splitlines()[1:]
    return {tuple(cell.strip() for cell in line.strip().split("  ") if cell.strip()) for line in lines}


def kept(lab: Lab, name: str) -> None:
    """Check what is an administrator's, and that clients are answered with the same certificate."""
    raw = virtual(lab, name)
    assert (raw["enabled"], raw["destination"]) == (True, f"/Common/{ADDRESS}:{80 if name == HTTP else 443}")
    assert (raw["vlans"], raw["rules"][0]) == (["/Common/outside"], "/Common/theirs")
    assert {"owner": "team"}.items() <= {item["name"]: item["value"] for item in raw["metadata"]}.items()
    assert is_complete(lab, name) or name == HTTPS
    if name == HTTPS:
        default = {path for path, _ in profiles(raw)} & {DEFAULT[0], "/Common/clientssl-default"}
        assert len(default) == 1
        if default == {DEFAULT[0]}:
            own = lab.bigip.get("ltm/profile/client-ssl/~Common~openshift_default-client-ssl-profile")
            assert own["defaultsFrom"] == "/Common/clientssl-default"


def test_a_dry_run_shows_everything_and_writes_nothing(prepared, capsys):
    assert take(prepared, dry_run=True) == 0
    assert prepared.writes() == []
    shown = rows(capsys.readouterr().out)
    for name, port in ((HTTP, 80), (HTTPS, 443)):
        path = f"/Common/{name}"
        assert {
            ("taken over", "ltm/virtual", path, f"it answers at {ADDRESS} port {port} all the time"),
            ("changed", "ltm/virtual", path, "connectionLimit: 500 becomes 0; --max-connections decides"),
            ("changed", "ltm/virtual", path,
             "sourceAddressTranslation: none becomes automap; --f5-vserver-snat decides"),
            ("replaced", "ltm/profile/tcp", "/Common/tcp-theirs",
             f"on {path} by /Common/openshift_client-tcp-profile and /Common/openshift_server-tcp-profile; "
             "it sets idleTimeout 1800"),
            ("replaced", "ltm/profile/http", "/Common/http-theirs",
             f"on {path} by /Common/openshift_http-profile; "
             "it sets enforcement.maxHeaderCount 99, insertXforwardedFor enabled"),
            ("kept", "ltm/rule", "/Common/theirs", f"it stays on {path}"),
            ("kept", "net/vlan", "/Common/outside", f"it stays on {path}"),
        } <= shown
    assert ("replaced", "ltm/profile/client-ssl", "/Common/clientssl-default",
            f"on /Common/{HTTPS} by {DEFAULT[0]}, which has everything from it") in shown
    assert not any("openshift_" in row[2] and row[0] == "kept" for row in shown)


def test_they_are_the_routers_from_then_on(prepared):
    assert take(prepared) == 0
    for name in BOTH:
        kept(prepared, name)
        raw = virtual(prepared, name)
        assert is_complete(prepared, name)
        assert raw["sourceAddressTranslation"] == {"type": "automap"}
        assert {path for path, _ in profiles(raw)}.isdisjoint(THEIRS)
        assert raw["description"].endswith("; adopted; in service")
    prepared.clear()
    assert take(prepared) == 0
    assert prepared.converge(**FLAGS) == []
    assert prepared.writes() == []
    assert [prepared.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]
    prepared.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"policies": [], "connectionLimit": 7})
    assert prepared.converge(**FLAGS) == []
    assert is_complete(prepared, HTTPS)
    kept(prepared, HTTPS)


def test_settings_keep_what_is_there(prepared, capsys):
    flags = {"max_connections": "500", "f5_vserver_snat": "none"}
    assert take(prepared, dry_run=True, **flags) == 0
    assert not any(row[0] == "changed" for row in rows(capsys.readouterr().out))
    assert take(prepared, **flags) == 0
    assert virtual(prepared, HTTP)["connectionLimit"] == 500


def test_without_a_router_before(lab):
    """Nothing of the router is on them yet."""
    prepare(lab)
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    assert take(lab) == 0
    for name in BOTH:
        kept(lab, name)
        assert is_complete(lab, name)
    assert [lab.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]


@pytest.mark.parametrize("go_on", ["adopt", "run"])
def test_each_end_of_the_takeover(prepared, go_on):
    """After any write both serve with what is the administrator's; the next start completes it."""
    routes, ends = prepared.routes(), []
    prepared.bigip.on_write = lambda _: ends.append(prepared.bigip.state())
    assert take(prepared) == 0
    prepared.bigip.on_write = None
    right = state(prepared)
    assert len(ends) >= 8
    for end in ends:
        prepared.apply(*routes)
        prepared.bigip.put_back(end)
        assert listening(prepared) == set(BOTH)
        for name in BOTH:
            kept(prepared, name)
            assert is_complete(prepared, name) or name == HTTPS
        if go_on == "run":
            prepared.converge(**FLAGS)
            assert [prepared.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]
        assert take(prepared) == 0
        assert state(prepared) == right


REFUSALS = {
    "another address": ({"f5_vserver_address": "10.0.0.7"}, {},
                        "answers at /Common/10.0.0.1:80, not at 10.0.0.7 port 80"),
    "another port": ({"service_http_port": "8080"}, {}, "not at 10.0.0.1 port 8080"),
    "no HTTP": ({}, {"profiles": ["/Common/fastL4"], "rules": [], "policies": []}, "one of type fastl4"),
    "some clients": ({}, {"source": "10.9.0.0/16"}, "for clients of 10.9.0.0/16 alone"),
}


def test_https_needs_a_certificate(prepared, capsys):
    """Clients that have none today would meet one that the router chooses."""
    prepared.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {
        "profiles": sorted(THEIRS), "rules": [], "policies": []})
    prepared.clear()
    assert take(prepared) == 1
    assert prepared.writes() == []
    assert "must have sni-default true, 0 have (there is none)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_would_lose_requests_is_refused(prepared, capsys, case, dry_run):
    flags, change, text = REFUSALS[case]
    if change:
        prepared.change("PATCH", f"ltm/virtual/~Common~{HTTP}", change)
    prepared.clear()
    assert take(prepared, dry_run=dry_run, **flags) == 1
    assert prepared.writes() == []
    assert any(row[0] == "left" and text in row[3] for row in rows(capsys.readouterr().out))


def test_a_refusal_tells_the_command(prepared):
    assert "`f5router adopt --virtual-servers`" in " ".join(plan(prepared, **FLAGS).stdout.split())


def test_without_an_address_there_is_nothing_to_own(prepared):
    with pytest.raises(ConfigError, match="--f5-vserver-address"):
        take(prepared, f5_vserver_address="")


@pytest.mark.parametrize(("version", "quirks", "status"), [
    ("11.6.0", (), 1), ("12.1.2", (), 0), ("13.1.1", ("metadata-unknown",), 0), ("17.1.0", (), 0),
])
def test_versions(make_lab, capsys, version, quirks, status):
    lab = make_lab(tmos_version=version, quirks=frozenset(quirks), ssh=True)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    flags = {**lab.ssh_flags(), "f5_auth": "basic"} if version < "12" else {}
    assert take(lab, **flags) == status
    assert listening(lab) == set(BOTH)
    if status:
        assert "before TMOS 12.0" in capsys.readouterr().out
        return
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []
    assert release(lab) == 0
    assert {"/Common/tcp", "/Common/http"} <= {path for path, _ in profiles(virtual(lab, HTTPS))}
    assert remove(lab) == 0
    assert listening(lab) == set(BOTH)


# --- the way back ------------------------------------------------------------------------


@pytest.fixture
def adopted(prepared) -> Lab:
    assert take(prepared) == 0
    prepared.clear()
    return prepared


def test_release_shows_and_writes_nothing(adopted, capsys):
    capsys.readouterr()
    assert release(adopted, dry_run=True) == 0
    assert adopted.writes() == []
    shown = rows(capsys.readouterr().out)
    assert shown == {
        *(("given back", "ltm/virtual", f"/Common/{name}", "with /Common/http-theirs, /Common/tcp-theirs")
          for name in BOTH),
        *(("removed", f"ltm/profile/{kind}", f"/Common/openshift_{name}-profile",
           "no virtual server needs it any more")
          for kind, name in (("http", "http"), ("tcp", "client-tcp"), ("tcp", "server-tcp")))}


@pytest.mark.parametrize("flags", [{}, FLAGS], ids=["without", "with the setting"])
def test_each_end_of_the_release(adopted, flags):
    """Both serve after any write; a router without the setting serves on them, and release goes on."""
    routes, ends = adopted.routes(), [adopted.bigip.state()]
    adopted.bigip.on_write = lambda _: ends.append(adopted.bigip.state())
    assert release(adopted, **flags) == 0
    adopted.bigip.on_write = None
    for name in BOTH:
        raw = virtual(adopted, name)
        assert {path for path, _ in profiles(raw)} >= THEIRS
        assert (raw["description"], raw["metadata"]) == ("made by hand", [
            {"name": "owner", "value": "team", "persist": "true"}])
    for end in ends:
        adopted.apply(*routes)
        adopted.bigip.put_back(end)
        assert listening(adopted) == set(BOTH)
        for name in BOTH:
            kept(adopted, name)
            assert is_complete(adopted, name) or name == HTTPS
        assert release(adopted, **flags) == 0
        assert adopted.converge() == []
        for name in BOTH:
            kept(adopted, name)
            assert {path for path, _ in profiles(virtual(adopted, name))} >= THEIRS
        assert ("/Common/clientssl-default", "clientside") in profiles(virtual(adopted, HTTPS))
        assert not any("-tcp-profile" in path for path in adopted.paths("ltm/profile/tcp"))
        adopted.clear()
        assert adopted.converge() == []
        assert adopted.writes() == []


def test_a_router_with_the_setting_leaves_released_ones_alone(adopted):
    assert release(adopted) == 0
    assert any("this router did not create it" in reason for reason in adopted.converge(**FLAGS))
    assert [adopted.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]
    for name in BOTH:
        assert {path for path, _ in profiles(virtual(adopted, name))} >= THEIRS


def test_those_of_the_router_are_not_given_back(make_lab, capsys):
    lab = make_lab()
    lab.apply(manifests.route("a"))
    assert lab.converge(**FLAGS) == []
    lab.clear()
    assert release(lab) == 0
    assert lab.writes() == []
    assert "the router created it, and leaves it as it is" in capsys.readouterr().out


def test_a_further_address_is_left_first(adopted, caplog):
    assert adopted.converge(f5_vserver_address=f"{ADDRESS},203.0.113.9") == []
    adopted.clear()
    assert release(adopted) == 1
    assert adopted.writes() == []
    assert any("run the router with the first address alone before" in getattr(record, "reason", "")
               for record in caplog.records)
    assert adopted.converge(**FLAGS) == []
    assert release(adopted) == 0


def untouched(lab: Lab) -> set[str]:
    return {text for text in state(lab) if "openshift_" not in text}


def test_uninstall_gives_them_back(lab, capsys):
    """Each end of the removal, too: what an administrator made serves on, and is not deleted."""
    prepare(lab)
    before = state(lab)
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    assert take(lab) == 0
    capsys.readouterr()
    for number in range(200):
        stop, written = threading.Event(), len(lab.writes())
        left = itertools.count(number // 3, -1)

        def look(entry, stop=stop, left=left) -> None:
            assert listening(lab) == set(BOTH)
            if next(left) <= 0:
                stop.set()

        lab.bigip.on_write = look
        remove(lab, stop, **FLAGS)
        lab.bigip.on_write = None
        assert listening(lab) == set(BOTH)
        assert lab.bigip.errors == []
        if len(lab.writes()) == written:
            break
    table = capsys.readouterr().out
    assert "given back    ltm/virtual" in table
    after = state(lab)
    changed = [text for text in after - before if '"description": "made by hand"' not in text]
    assert changed == []
    for name in BOTH:
        raw = virtual(lab, name)
        assert {path for path, _ in profiles(raw)} == {
            *THEIRS, *(["/Common/clientssl-default"] if name == HTTPS else [])}
        assert raw["rules"] == ["/Common/theirs"]


# --- what an administrator may have ------------------------------------------------------


def test_one_that_is_not_there_is_created(prepared, capsys):
    """On a further address, and where one of both is missing."""
    prepared.change("DELETE", f"ltm/virtual/~Common~{HTTP}")
    both = f"{ADDRESS},203.0.113.9"
    assert take(prepared, dry_run=True, f5_vserver_address=both) == 0
    shown = rows(capsys.readouterr().out)
    assert {row for row in shown if row[0] == "created"} == {
        ("created", "ltm/virtual", f"/Common/{name}", f"on {address} port {port}")
        for name, address, port in ((HTTP, ADDRESS, 80), (f"{HTTP}_2", "203.0.113.9", 80),
                                    (f"{HTTPS}_2", "203.0.113.9", 443))}
    assert take(prepared, f5_vserver_address=both) == 0
    assert listening(prepared) == {HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"}
    kept(prepared, HTTPS)


@pytest.mark.parametrize("place", ["/Common", "/tenants"])
@pytest.mark.parametrize("domain", [0, 6])
def test_folders_and_route_domains(make_lab, place, domain):
    """The virtual address may be in /Common; it stays there."""
    lab = make_lab(partition="/tenants/zone1", partitions=("Common", "tenants"))
    if domain:
        lab.bigip.put_object("net/route-domain", {"name": "6", "id": 6})
        lab.change("PATCH", "auth/partition/tenants", {"defaultRouteDomain": 6})
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    lab.bigip.put_object("sys/folder", {"name": "/tenants/zone1"})
    end = f"%{domain}" if domain else ""
    for name, port in ((HTTP, 80), (HTTPS, 443)):
        lab.bigip.put_object("ltm/virtual", {
            "name": f"/tenants/zone1/{name}", "destination": f"{place}/{ADDRESS}{end}:{port}",
            "ipProtocol": "tcp", "profiles": ["/Common/tcp", "/Common/http", *(
                [{"name": "/Common/clientssl", "context": "clientside"}] if port == 443 else ())]})
    before = {item.path: item.fields["destination"] for item in lab.bigip.items("ltm/virtual")}
    assert take(lab) == 0
    assert {item.path: item.fields["destination"] for item in lab.bigip.items("ltm/virtual")} == before
    assert listening(lab) == set(BOTH)
    assert [lab.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []
    assert release(lab) == 0
    assert lab.converge() == []


CLIENT = ("/Common/clientssl-default", "clientside")


@pytest.mark.parametrize("former", [
    {("/Common/tcp-theirs", "clientside"), ("/Common/tcp", "serverside"), ("/Common/http", "all"), CLIENT},
    {("/Common/tcp", "all"), ("/Common/http-theirs", "all"), ("/Common/oneconnect", "all"), CLIENT},
], ids=["one for each side", "OneConnect"])
def test_profiles_come_back_as_they_were(lab, former):
    prepare(lab)
    lab.apply(manifests.route("b", host="b.example.com", kind="edge"))
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"profiles": [
        {"name": name, "context": context} for name, context in sorted(former)], "rules": []})
    assert take(lab) == 0
    assert lab.admitted("shop", "b")["status"] == "True"
    assert {each for each in former if "oneconnect" in each[0]} <= profiles(virtual(lab, HTTPS))
    assert remove(lab, **FLAGS) == 0
    back = profiles(virtual(lab, HTTPS))
    assert former <= back
    assert {path for path, _ in back - former} <= {"/Common/clientssl"}


def test_a_disabled_one_stays_disabled(prepared):
    """It is adopted, and told as one that somebody has disabled; --repair-disabled enables it."""
    prepared.change("PATCH", f"ltm/virtual/~Common~{HTTP}", {"disabled": True})
    assert take(prepared) == 0
    assert listening(prepared) == {HTTPS}
    assert prepared.converge(**FLAGS, repair_disabled="true") == []
    assert listening(prepared) == set(BOTH)


@pytest.mark.parametrize("number", range(1, 10, 2))
def test_a_failover_meanwhile(lab, tmp_path, number):
    """The other unit takes over after a write; what is left is done there."""
    prepare(lab)
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    lab.timing = replace(lab.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    with FakeBigIP() as second:
        second.put_object("net/vlan", {"name": "outside", "partition": "Common"})  # as each unit has it
        joined = PairLab(lab, second, tmp_path / "both.crt")
        joined.on_write(number, joined.pair.fail_over)
        until(lambda: take(lab, **joined.flags) == 0)
        active = SimpleNamespace(bigip=joined.pair.active)
        assert listening(active) == set(BOTH)
        assert all(is_complete(active, name) for name in BOTH)
        assert all("adopted" in virtual(active, name)["description"] for name in BOTH)
        assert [*lab.bigip.errors, *second.errors] == []


@pytest.mark.parametrize("other", [False, True], ids=["the same certificate", "another"])
def test_two_addresses(prepared, capsys, other):
    """Both pairs are taken over if clients without a server name see one certificate on both."""
    profile = "another" if other else "clientssl-default"
    if other:
        prepared.bigip.put_object("ltm/profile/client-ssl", {
            "name": profile, "partition": "Common", "defaultsFrom": "/Common/clientssl",
            "sniDefault": "true"})
    for name, port, secure in ((HTTP, 80, []), (HTTPS, 443, [f"/Common/{profile}"])):
        prepared.bigip.add_virtual(f"/Common/{name}_2", f"10.0.0.2:{port}",
                                   profiles=("/Common/tcp", "/Common/http", *secure))
    both = f"{ADDRESS},10.0.0.2"
    prepared.clear()
    assert take(prepared, f5_vserver_address=both) == other
    printed = " ".join(capsys.readouterr().out.split())
    assert (f"has the default client SSL profile /Common/{profile}, that of the first" in printed) == other
    if other:
        assert prepared.writes() == []
        return
    for name in (HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"):
        assert is_complete(prepared, name)
        assert virtual(prepared, name)["description"].endswith("; adopted; in service")
    assert prepared.converge(**FLAGS) == []
    assert {path for path, _ in profiles(virtual(prepared, f"{HTTPS}_2"))} == {
        "/Common/tcp", "/Common/http", "/Common/clientssl-default"}
    assert listening(prepared) == {HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"}


NAMED = {"f5_irules": "/Common/theirs", "f5_http_profile": "/Common/http-theirs",
         "f5_vserver_vlans": "/Common/outside", "max_connections": "500", "f5_vserver_snat": "none"}


@pytest.mark.parametrize("sides", ["/Common/tcp-theirs", "/Common/tcp-theirs,/Common/tcp"])
@pytest.mark.parametrize("way", ["uninstall", "release"])
def test_what_settings_name_was_there_before(lab, capsys, sides, way):
    """It is used, and it stays when the virtual servers are given back."""
    prepare(lab)
    before = {name: virtual(lab, name) for name in BOTH}
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    flags = {**NAMED, "f5_tcp_profile": sides}
    assert take(lab, dry_run=True, **flags) == 0
    shown = rows(capsys.readouterr().out)
    assert not any(row[0] == "changed" for row in shown)
    assert not any(row[0] == "replaced" and "/http" in row[1] for row in shown)
    assert take(lab, **flags) == 0
    assert lab.converge(**FLAGS, **flags) == []
    lab.clear()
    assert lab.converge(**FLAGS, **flags) == []
    assert lab.writes() == []
    if way == "release":
        assert release(lab, **FLAGS, **flags) == 0
        assert lab.converge() == []
    assert remove(lab, **(FLAGS | flags if way == "uninstall" else {})) == 0
    for name in BOTH:
        raw = virtual(lab, name)
        assert profiles(raw) == profiles(before[name])
        for field in ("rules", "vlans", "metadata", "description", "enabled", "connectionLimit"):
            assert raw[field] == before[name][field]


def test_a_former_profile_that_is_gone(adopted):
    """Nobody could delete it while it was attached; now the BIG-IP's own takes its place."""
    adopted.change("DELETE", "ltm/profile/tcp/~Common~tcp-theirs")
    assert release(adopted) == 0
    for name in BOTH:
        assert {path for path, _ in profiles(virtual(adopted, name))} >= {"/Common/tcp", "/Common/http"}
    assert adopted.converge() == []
    assert listening(adopted) == set(BOTH)


def test_the_access_log_goes_with_the_router(prepared):
    flags = {"syslog_address": "192.0.2.7"}
    assert take(prepared, **flags) == 0
    assert any("request-log" in path for path, _ in profiles(virtual(prepared, HTTP)))
    assert release(prepared, **FLAGS, **flags) == 0
    assert not any("openshift_" in path for path, _ in profiles(virtual(prepared, HTTP)))
    assert not any("openshift_" in path for path in prepared.paths("ltm/profile/request-log"))
    assert prepared.converge() == []
    assert "/Common/openshift_syslog" not in prepared.paths("ltm/pool")
    assert listening(prepared) == set(BOTH)
