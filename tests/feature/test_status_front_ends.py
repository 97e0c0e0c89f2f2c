"""Status page, its API and metrics of a router with several front ends: a Route has a line for each."""

import json
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.feature.status_site import StatusSite
from tests.feature.test_front_ends import labelled
from tests.waiting import until

ENTRIES = [{"name": "default", "labels": "zone!=inner"},
           {"name": "internal", "f5-vserver-address": "10.0.0.10", "labels": "zone"}]
INNER_HTTP = "/Common/openshift_http__internal"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two Routes on both front ends, of which one loses its host inside, and one on the inner front end."""
    folder = tmp_path_factory.mktemp("front-ends")
    file = folder / "front-ends.json"
    file.write_text(json.dumps(ENTRIES))
    with ExitStack() as stack:
        site = StatusSite(stack, folder, front_ends=str(file), f5_statistics_interval="1s")
        site.lab.apply(
            labelled(manifests.route("both", host="both.example.com"), zone="both"),
            labelled(manifests.route("inner", host="inner.example.com"), zone="inner"),
            labelled(manifests.route("late", namespace="other", host="inner.example.com",
                                     created="2026-02-02T00:00:00Z"), zone="both"))
        until(lambda: {item["status"] for item in lines_of(site).values()} == {"admitted", "rejected"}
              and len(lines_of(site)) == 5)
        yield site


def lines_of(site) -> dict[tuple[str, str], dict]:
    """Lines of these Routes by name and front end."""
    return {(item["name"], item["front_end"]): item for search in ("both", "inner")
            for item in site.json("routes", search=search)["items"]}


def test_a_line_for_each_front_end(site):
    assert {key: item["status"] for key, item in lines_of(site).items()} == {
        ("both", ""): "admitted", ("both", "internal"): "admitted", ("inner", "internal"): "admitted",
        ("late", ""): "admitted", ("late", "internal"): "rejected"}
    assert {item["front_end"] for item in site.json("routes", search="on front end internal")["items"]} == {
        "internal"}


def test_a_route_on_each_front_end(site):
    """Without the parameter it is the first that serves it."""
    for given, name in (({}, ""), ({"front_end": ""}, ""), ({"front_end": "internal"}, "internal")):
        route = site.json("routes/shop/both", **given)
        assert (route["front_end"], route["is_served"]) == (name, True)
        servers = {server["path"] for server in route["virtual_servers"]}
        assert servers == {INNER_HTTP if name else "/Common/ose-vserver"}
    assert site.json("routes/shop/inner")["front_end"] == "internal"
    for given in ({"front_end": "none"}, {"front_end": "x" * 254}):
        assert site.get("api/v1/routes/shop/both", params=given).status_code in (400, 404)
    assert site.get("api/v1/routes/shop/inner", params={"front_end": ""}).status_code == 404


def test_the_list_without_scripts(site):
    page = site.get("plain", params={"search": "both.example.com"}).text
    assert 'href="api/v1/routes/shop/both"' in page
    assert 'href="api/v1/routes/shop/both?front_end=internal"' in page
    assert "Route shop/both on front end internal" in page


def test_metrics(site):
    """Series of the default front end have no value in their label: they are those of one front end alone."""
    until(lambda: INNER_HTTP in site.get("metrics").text)
    lines = site.get("metrics").text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values['f5router_routes{front_end="internal",verdict="admitted"}'] == "2.0"
    assert values['f5router_routes{front_end="internal",verdict="rejected"}'] == "1.0"
    assert float(values['f5router_routes{front_end="",verdict="admitted"}']) > 60
    assert values['f5router_route_rejections{front_end="internal",reason="HostAlreadyClaimed"}'] == "1.0"
    up = "f5router_virtual_server_up"
    assert values[f'{up}{{front_end="internal",virtual_server="{INNER_HTTP}"}}'] == "1.0"
    assert values[f'{up}{{front_end="",virtual_server="/Common/ose-vserver"}}'] == "1.0"
    until(lambda: any(line.startswith('f5router_virtual_server_current_connections{front_end="internal"')
                      for line in site.get("metrics").text.splitlines()))
