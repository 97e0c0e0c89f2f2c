"""Limits of the router's virtual servers: set, changed and given up, each by the objects that have them."""

import pytest

from tests import manifests
from tests.feature.test_front_end import FLAGS, HTTP, HTTPS, empty, listening, serve, virtual

__all__ = ["empty"]

PROFILES = ("ltm/profile/tcp/~Common~openshift_{}-tcp-profile",
            "ltm/profile/http/~Common~openshift_http-profile")
TCP = ("finWaitTimeout", "finWait_2Timeout", "closeWaitTimeout", "idleTimeout", "synRtoBase", "synMaxRetrans")


def shown(lab) -> tuple:
    """Connection limits, times of connections to clients and to pods, bytes and number of headers."""
    tcp = (lab.bigip.get(PROFILES[0].format(side)) for side in ("client", "server"))
    headers = lab.bigip.get(PROFILES[1])["enforcement"]
    return ([virtual(lab, name)["connectionLimit"] for name in (HTTP, HTTPS)],
            *([profile[name] for name in TCP] for profile in tcp),
            headers["maxHeaderSize"], headers["maxHeaderCount"])


LIMITS = {"max_connections": "50000", "client_fin_timeout": "1s", "default_server_fin_timeout": "2s",
          "default_client_timeout": "30s", "default_connect_timeout": "5s", "buf_size": "32768",
          "max_header_count": "100"}
FACTORY = ([0, 0], *([5, 300, 5, 300, 3000, 3],) * 2, 32768, 64)
SET = ([50000, 50000], [1, 1, 1, 30, 3000, 3], [2, 2, 2, 300, 1667, 1], 24576, 100)


def test_limits_come_and_go(empty):
    """One write for each object, and none that detaches anything."""
    assert serve(empty) == []
    assert shown(empty) == FACTORY
    for flags, wanted in ((LIMITS, SET), ({}, FACTORY)):
        empty.clear()
        assert empty.converge(**FLAGS, **flags) == []
        assert shown(empty) == wanted
        assert {method for method, path in empty.writes() if "/ltm/" in path} == {"PATCH"}
        assert len([path for _, path in empty.writes() if "/ltm/" in path]) == 5
        assert listening(empty) == {HTTP, HTTPS}
        empty.clear()
        assert empty.converge(**FLAGS, **flags) == []
        assert empty.writes() == []


@pytest.mark.parametrize(("path", "body"), [
    (f"ltm/virtual/~Common~{HTTPS}", {"connectionLimit": 7}),
    (PROFILES[0].format("client"), {"finWait_2Timeout": 77}),
    (PROFILES[0].format("server"), {"defaultsFrom": "/Common/tcp-lan-optimized"}),
    (PROFILES[0].format("client"), {"idleTimeout": "indefinite"}),
    (PROFILES[0].format("server"), {"synRtoBase": 1, "synMaxRetrans": 0}),
    (PROFILES[1], {"enforcement": {"maxHeaderSize": 777}}),
    (PROFILES[1], {"enforcement": {"maxHeaderCount": 777}}),
])
def test_limits_are_repaired(empty, path, body):
    assert serve(empty, **LIMITS) == []
    empty.change("PATCH", path, body)
    assert empty.converge(**FLAGS, **LIMITS) == []
    assert shown(empty) == SET
    assert empty.bigip.get(PROFILES[0].format("server"))["defaultsFrom"] == "/Common/tcp"


def test_source_address_translation(empty):
    """In place, for both; also back to automap, before the SNAT pool goes."""
    empty.bigip.put_object("ltm/snatpool", {"name": "/Common/clients", "members": ["10.0.0.9"]})
    wanted_of = {"/Common/clients": {"type": "snat", "pool": "/Common/clients"}, "none": {"type": "none"},
                 "automap": {"type": "automap"}}
    for text, wanted in wanted_of.items():
        assert serve(empty, f5_vserver_snat=text) == []
        for name in (HTTP, HTTPS):
            source = virtual(empty, name)["sourceAddressTranslation"]
            assert {key: source[key] for key in ("type", "pool") if key in source} == wanted
        empty.clear()
        assert serve(empty, f5_vserver_snat=text) == []
        assert empty.writes() == []
    empty.change("DELETE", "ltm/snatpool/~Common~clients")


def test_a_snat_pool_that_is_not_there(empty):
    reasons = serve(empty, f5_vserver_snat="/Common/missing")
    assert any("/Common/missing" in reason for reason in reasons)
    assert listening(empty) == set()


@pytest.mark.parametrize(("flags", "path"), [
    ({"max_connections": "50000"}, None),
    ({"client_fin_timeout": "1s"}, PROFILES[0].format("client")),
    ({"default_client_timeout": "30s"}, PROFILES[0].format("client")),
    ({"default_server_fin_timeout": "1s"}, PROFILES[0].format("server")),
    ({"default_connect_timeout": "5s"}, PROFILES[0].format("server")),
    ({"buf_size": "65536"}, PROFILES[1]),
    ({"max_header_count": "100"}, PROFILES[1]),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_the_cost_of_a_setting(empty, flags, path):
    """One request for each object that has it, to set it and to give it up, and none that detaches."""
    assert serve(empty) == []
    paths = [path] if path else [f"ltm/virtual/~Common~{name}" for name in (HTTP, HTTPS)]
    for given in (flags, {}):
        empty.clear()
        assert empty.converge(**FLAGS, **given) == []
        writes = [(method, path) for method, path in empty.writes() if "/ltm/" in path]
        assert sorted(writes) == sorted(("PATCH", f"/mgmt/tm/{path}") for path in paths)
    assert shown(empty) == FACTORY


IRULE, GROUP = "openshift_timeout_irule", "openshift_timeouts_dg"


def ltm_writes(lab) -> list[str]:
    """Method and end of the path of each write, in their order."""
    return [f"{method} {path.rpartition('/ltm/')[2].replace('~Common~', '')}"
            for method, path in lab.writes() if "/ltm/" in path]


@pytest.mark.parametrize(("name", "text"), [
    ("default_server_timeout", "set f5r_wait 30"), ("default_tunnel_timeout", "set f5r_silent 30"),
    ("slowloris_http_keepalive", "set f5r_pause 30"), ("slowloris_timeout", "set f5r_head [after 30000 {"),
    ("inspect_delay", "set f5r_hello_timer [after 30000 {"),
])
def test_the_cost_of_a_time_out_in_an_irule(empty, name, text):
    """No record for any pool. The data-group is for those of Routes."""
    assert serve(empty) == []
    on_virtual_servers = [f"PATCH virtual/{virtual}" for virtual in sorted((HTTP, HTTPS))]
    empty.clear()
    assert empty.converge(**FLAGS, **{name: "30s"}) == []
    assert sorted(ltm_writes(empty)) == sorted(
        ["POST data-group/internal", "POST rule", *on_virtual_servers])
    assert text in empty.bigip.get(f"ltm/rule/~Common~{IRULE}")["apiAnonymous"]
    assert not empty.bigip.get(f"ltm/data-group/internal/~Common~{GROUP}").get("records")
    empty.clear()
    assert empty.converge(**FLAGS, **{name: "31s"}) == []
    assert ltm_writes(empty) == [f"PATCH rule/{IRULE}"]
    empty.clear()
    assert empty.converge(**FLAGS, **{name: "31s"}) == []
    assert ltm_writes(empty) == []
    assert empty.converge(**FLAGS) == []
    assert sorted(ltm_writes(empty)) == sorted(
        [*on_virtual_servers, f"DELETE rule/{IRULE}", f"DELETE data-group/internal/{GROUP}"])
    assert listening(empty) == {HTTP, HTTPS}


@pytest.mark.parametrize(("flags", "irule"), [
    ({"hsts_header": "max-age=1"}, "openshift_headers_irule"),
    ({"disable_cookies": "true"}, "openshift_request_irule"),
], ids=["HSTS", "cookies"])
def test_the_cost_of_a_setting_for_all_routes(empty, flags, irule):
    """One request, which changes an iRule that is there already."""
    assert serve(empty) == []
    for given in (flags, {}):
        empty.clear()
        assert empty.converge(**FLAGS, **given) == []
        assert ltm_writes(empty) == [f"PATCH rule/{irule}"]


def test_a_new_profile_follows_its_parent_in_what_is_not_set(empty):
    """As without these settings; those that are set are in the request that creates it."""
    empty.clear()
    assert serve(empty, default_client_timeout="30s") == []
    bodies = {entry.body["name"]: {*entry.body, *entry.body.get("enforcement", ())}
              for entry in empty.bigip.writes() if entry.method == "POST" and "/ltm/profile/" in entry.path}
    always, fin = {"name", "partition", "defaultsFrom", "description"}, set(TCP[:3])
    assert bodies["openshift_client-tcp-profile"] == always | fin | {"idleTimeout"}
    assert bodies["openshift_server-tcp-profile"] == always | fin
    assert bodies["openshift_http-profile"] == always | {"enforcement", "maxHeaderSize"}


TIMED = {"default_server_timeout": "30s", "default_tunnel_timeout": "1h", "slowloris_timeout": "10s",
         "slowloris_http_keepalive": "300s", "inspect_delay": "5s"}


def test_each_end_of_the_creation_with_settings(empty):
    """The next start completes what is there; nothing is left half set."""
    empty.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    for _ in empty.each_end(22, **FLAGS, **LIMITS, **TIMED):
        assert empty.converge(**FLAGS, **LIMITS, **TIMED) == []
        assert shown(empty) == SET
        assert listening(empty) == {HTTP, HTTPS}
        assert all(f"/Common/{IRULE}" in virtual(empty, name)["rules"] for name in (HTTP, HTTPS))
        assert "after 10000" in empty.bigip.get(f"ltm/rule/~Common~{IRULE}")["apiAnonymous"]


def test_prepared_virtual_servers_stay_as_they_are(lab):
    """Variables of OpenShift's router that had no effect have none after an upgrade: nothing is written."""
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    assert lab.converge() == []
    lab.clear()
    assert lab.converge(**LIMITS, **TIMED) == []
    assert lab.writes() == []


PARENTS = {"ltm/profile/tcp/~Common~tcp": {"idleTimeout": 3600, "synRtoBase": 2000},
           "ltm/profile/http/~Common~http": {"enforcement": {"maxHeaderCount": 200}}}


@pytest.mark.parametrize("flags", [{}, {"default_client_timeout": "30s", "max_header_count": "100"}],
                         ids=["no setting", "settings"])
def test_what_is_not_set_follows_the_parents_that_an_administrator_has_changed(empty, flags):
    """Also when something else of the same profile changes, and after a restart."""
    for path, body in PARENTS.items():
        empty.change("PATCH", path, body)
    idle_s, count = (30, 100) if flags else (3600, 200)
    wanted = ([0, 0], [5, 300, 5, idle_s, 2000, 3], [5, 300, 5, 3600, 2000, 3], 32768, count)
    assert serve(empty, **flags) == []
    assert shown(empty) == wanted
    empty.clear()
    assert empty.converge(**FLAGS, **flags) == []
    assert empty.writes() == []
    assert empty.converge(**FLAGS, **flags, client_fin_timeout="5s", buf_size="65536") == []
    assert shown(empty) == ([0, 0], [5, 5, 5, idle_s, 2000, 3], wanted[2], 57344, count)


def test_a_setting_that_is_given_up(empty):
    """The BIG-IP's own value comes, once: nothing lets a property follow its parent again."""
    empty.change("PATCH", "ltm/profile/tcp/~Common~tcp", {"idleTimeout": 3600})
    assert serve(empty, default_client_timeout="30s") == []
    path = PROFILES[0].format("client")
    assert empty.bigip.get(path)["description"].endswith(": sets idleTimeout")
    assert empty.converge(**FLAGS) == []
    assert empty.bigip.get(path)["idleTimeout"] == 300
    assert empty.bigip.get(path)["description"].endswith("managed by f5router public")
    empty.clear()
    assert empty.converge(**FLAGS) == []
    assert empty.writes() == []


def test_before_descriptions(make_lab):
    """Values alone say what is set."""
    lab = make_lab(tmos_version="11.6.1")
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    for flags, wanted in (({}, FACTORY), (LIMITS, SET), ({}, FACTORY)):
        assert serve(lab, **flags) == []
        assert shown(lab) == wanted
        lab.clear()
        assert serve(lab, **flags) == []
        assert lab.writes() == []
