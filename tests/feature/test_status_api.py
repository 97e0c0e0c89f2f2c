"""The API of the status page over HTTP, of a router that runs between the fakes."""

from contextlib import ExitStack

import pytest
import requests

from tests import manifests
from tests.feature.status_site import LOGIN, MANY, StatusSite
from tests.waiting import DEADLINE_S, until


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        yield StatusSite(stack, tmp_path_factory.mktemp("status"), f5_statistics_interval="1s")


def test_routes_in_pages(site):
    first, second = (site.json("routes", per_page=40, page=page) for page in (1, 2))
    assert first["total"] == second["total"] == MANY + 7
    assert [len(page["items"]) for page in (first, second)] == [40, MANY + 7 - 40]
    names = [(item["namespace"], item["id"]) for page in (first, second) for item in page["items"]]
    assert len(set(names)) == MANY + 7
    assert site.json("routes", page=99)["items"] == []


def test_routes_by_search_status_and_namespace(site):
    assert site.json("routes", search="TEAM-00")["total"] == 10
    assert site.json("routes", search="old.example")["items"][0]["name"] == "old"
    rejected = site.json("routes", status="rejected")
    assert [(item["name"], item["reason"]) for item in rejected["items"]] == [("thief", "HostAlreadyClaimed")]
    warned = site.json("routes", warned="true")
    assert [(item["name"], item["state"]) for item in warned["items"]] == [
        ("empty", "unanswered"), ("old", "failing"), ("wrong-name", "failing"), ("thief", "rejected")]
    assert [item["name"] for item in site.json("routes", per_page=4)["items"]] == [
        "empty", "old", "wrong-name", "thief"], "trouble first"
    assert site.json("routes", state="failed")["total"] == 4
    assert site.json("routes")["states"] == {
        "unanswered": 1, "failing": 2, "rejected": 1, "device_rejected": 0, "pending": 0, "warned": 0,
        "served": MANY + 3}
    assert (warned["total"], warned["warned"], rejected["warned"]) == (4, 4, 4)
    assert rejected["counts"] == {
        "admitted": MANY + 6, "rejected": 1, "device_rejected": 0, "pending": 0}
    assert site.json("routes", namespace="teams")["total"] == MANY
    assert site.json("routes", namespace="team")["total"] == 0


@pytest.mark.parametrize("parameters", [
    {"page": "0"}, {"page": "x"}, {"per_page": "201"}, {"per_page": "-1"}, {"status": "good"},
    {"search": "x" * 300}, {"page": "9" * 20}, {"warned": "yes"}, {"page": "\u0663"}, {"sort": "size"},
    {"state": "odd"}])
def test_wrong_parameters_have_a_reason(site, parameters):
    reply = site.get("api/v1/routes", params=parameters)
    assert reply.status_code == 400
    assert next(iter(parameters)) in reply.json()["error"]


def test_a_route_from_its_host_to_the_nodes(site):
    route = site.json("routes/shop/web")
    assert route["problems"] == []
    assert {rule["action"] for rule in route["rules"]} == {
        "pool /Common/openshift_shop_web", "redirect 302 to https"}
    until(lambda: {member["health"] for member in site.json("routes/shop/web")["pool"]["members"]} == {"up"})
    members = route["pool"]["members"]
    assert [(member["address"], member["node"], member["vtep"]) for member in members] == [
        ("10.128.0.11", "n1", "10.3.89.1"), ("10.128.0.12", "n1", "10.3.89.1"),
        ("10.128.2.13", "n2", "10.3.89.2")]
    assert route["certificate"]["names"] == ["www.example.com"]


@pytest.mark.parametrize(("name", "link"), [
    ("shop/old", "certificate"), ("shop/wrong-name", "certificate"), ("shop/empty", "pool"),
    ("other/thief", "route")])
def test_broken_routes_have_their_first_problem(site, name, link):
    assert site.json(f"routes/{name}")["problems"][0]["link"] == link


def test_events_of_a_route(site):
    """They are those that the cluster has of this router."""
    def events(name: str) -> set[tuple[str, ...]]:
        return {tuple(event[field] for field in ("reason", "message", "type", "count", "at"))
                for event in site.json(f"routes/{name}")["events"]}

    def written() -> set[tuple[str, ...]]:
        return {tuple(event[field] for field in ("reason", "message", "type", "count", "lastTimestamp"))
                for event in site.lab.kube.list("Event", "other")
                if event["involvedObject"]["name"] == "thief"}

    until(lambda: {event[0] for event in events("other/thief")} == {"HostAlreadyClaimed", "ServiceNotFound"})
    assert events("other/thief") == written()
    assert events("teams/team-001") == set()


def test_served_and_nothing_answers(site):
    """An administrator forces the only pod's LTM node offline: its Routes are on top, and come back."""
    def states(name: str) -> dict[str, str]:
        return {item["id"]: item["state"] for item in site.json("routes", search=name)["items"]}

    (node,) = (node["name"] for node in site.lab.bigip.get("ltm/node")["items"]
               if node["address"] == "10.128.2.21")
    path = f"ltm/node/~Common~{node}"
    assert site.lab.bigip.request("PATCH", path, {}, {"session": "user-disabled", "state": "user-down"})
    until(lambda: states("shop/api") == {"api": "unanswered"})
    first = site.json("routes")["items"][0]
    assert (first["id"], first["problem"]["code"]) == ("api", "NoMemberUp")
    assert site.lab.bigip.request("PATCH", path, {}, {"session": "user-enabled", "state": "user-up"})
    until(lambda: states("shop/api") == {"api": "served"})


def test_a_virtual_server_that_somebody_disables(site):
    path = "ltm/virtual/~Common~ose-vserver"
    assert site.lab.bigip.request("PATCH", path, {}, {"disabled": True})
    until(lambda: site.json("routes")["states"]["unanswered"] > MANY)
    assert site.json("routes/teams/team-001")["problems"][0]["code"] == "VirtualServerDisabled"
    assert site.lab.bigip.request("PATCH", path, {}, {"enabled": True})
    until(lambda: site.json("routes")["states"]["unanswered"] == 1)


def test_nodes_device_and_changes(site):
    nodes = site.json("nodes")["items"]
    assert [(node["name"], node["vtep"], node["networks"]) for node in nodes] == [
        ("n1", "10.3.89.1", ["10.128.0.0/23"]), ("n2", "10.3.89.2", ["10.128.2.0/23"])]
    assert {way["state"] for node in nodes for way in node["ways"]} == {"in place"}
    device = site.json("device")
    assert device["active"] is True
    assert device["tmos"]
    assert device["last_reading"]
    assert {check["name"] for check in device["checks"]} >= {"bigip-reached", "has-synced"}
    until(lambda: site.json("changes")["items"])
    changes = site.json("changes")["items"]
    assert changes[-1]["causes"] == ["first load"], "its first Routes are not its cause"
    assert changes[-1]["calls"]
    assert changes[-1]["seconds"]
    assert all(change["objects"] for change in changes if change["writes"])


def test_what_doctor_knows_of_the_device(site):
    known = {"ltm": "nominal", "role": "admin in partition Common", "has_group": False, "sync": "",
             "save": "saved"}
    until(lambda: {name: site.json("device")[name] for name in known} == known)
    device = site.json("device")
    assert device["licence"]["exists"]
    assert abs(device["clock_ahead_s"]) < 30
    assert device["last_save"]


def test_events_follow_changes(site):
    with requests.Session() as session:
        session.trust_env, session.auth = False, LOGIN
        reply = session.get(site.url + "api/v1/events", stream=True, timeout=DEADLINE_S)
        assert reply.headers["Content-Type"].startswith("text/event-stream")
        lines = (line for line in reply.iter_lines(chunk_size=1) if line.startswith(b"data:"))
        before = int(next(lines).split()[1])
        site.lab.apply(manifests.route("late", namespace="teams", host="late.apps.example.com"))
        assert int(next(lines).split()[1]) > before
        reply.close()
    until(lambda: site.json("routes", search="late.apps")["counts"]["admitted"] == 1)
    until(lambda: ["Route teams/late"] in [change["causes"] for change in site.json("changes")["items"]])
    site.lab.kube.delete("Route", "teams", "late")
    until(lambda: site.json("routes", search="late.apps")["total"] == 0)


def test_headers_and_files(site):
    for path in ("", "page.css", "page.js", "api/v1/device", "api/v1/none"):
        reply = site.get(path)
        assert reply.status_code == (404 if path.endswith("none") else 200)
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert "unsafe" not in reply.headers["Content-Security-Policy"]
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert site.get("secret.txt").status_code == 404
    assert site.get("api/v1/routes/shop/none").status_code == 404


@pytest.mark.parametrize("path", ["", "page.js", "api/v1/routes", "api/v1/events", "api/v1/routes/shop/web"])
def test_without_the_login_nothing_is_shown(site, path):
    for login in (None, (LOGIN[0], "wrong")):
        with requests.Session() as session:
            session.trust_env = False
            reply = session.get(site.url + path, auth=login, timeout=DEADLINE_S)
            assert (reply.status_code, reply.text) == (401, "Unauthorized\n")


def test_keys_and_passwords_are_nowhere(site):
    for path in ("routes", "routes/shop/web", "nodes", "changes", "device"):
        text = site.get(f"api/v1/{path}").text
        assert "PRIVATE" not in text
        assert site.lab.bigip.password not in text
