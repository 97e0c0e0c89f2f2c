"""The annotation `health` of Container Ingress Services: which pods get requests, and which are checked."""

import json

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_cis import CIS, annotated, ask, serve
from tests.traffic.test_health_checks import SPEED, states
from tests.waiting import until

SEND = "GET /health HTTP/1.1\r\nHost: pods\r\nConnection: close\r\n\r\n"


def checked(kind: str = "", *, name: str = "a", path: str = "", **fields: object) -> dict:
    entry = {"path": f"shop.example.com{path or '/'}", "interval": 1, "timeout": 4, "send": SEND, **fields}
    return annotated(kind, name=name, path=path, health=json.dumps([entry]))


def monitored(site: Site, *routes: dict) -> None:
    site.apply(*routes)
    assert site.converge() == []
    site.bigip.dataplane.clock.speed = SPEED


@pytest.mark.parametrize(("kind", "fields"), [
    ("", {"recv": '^HTTP/1.[01] 200'}), ("edge", {}), ("edge", {"type": "tcp", "send": ""}),
    ("reencrypt", {"type": "https", "recv": "(200|301) OK"}), ("passthrough", {"type": "https"}),
])
def test_a_pod_that_does_not_answer_gets_no_requests(site, kind, fields):
    serve(site, kind, "10.1.1.1", "10.1.1.2")
    monitored(site, checked(kind, **fields))
    until(lambda: set(states(site).values()) == {"up"})
    site.pods.silence("10.1.1.1", 8443 if kind in ("reencrypt", "passthrough") else 8080)
    until(lambda: states(site)["10.1.1.1"] == "down")
    assert {ask(site, kind).pod["pod"] for _ in range(4)} == {"web-10.1.1.2"}


def test_a_pod_whose_answer_does_not_match_gets_no_requests(site):
    """Also a single one, unlike with OpenShift's annotation."""
    serve(site, "", "10.1.1.1")
    monitored(site, checked(recv="HTTP/1.1 204"))
    until(lambda: states(site) == {"10.1.1.1": "down"})
    assert ask(site, "").status == 503


def test_a_check_in_clear_text_of_pods_that_speak_tls(site):
    serve(site, "reencrypt", "10.1.1.1")
    monitored(site, checked("reencrypt", type="http", recv="HTTP/1.1 200"))
    until(lambda: states(site) == {"10.1.1.1": "down"})


def test_a_check_of_one_route_is_none_of_another(site):
    serve(site, "", "10.1.1.1")
    other = manifests.route("other", host="other.example.com", service="web")
    monitored(site, checked(recv="HTTP/1.1 204"), other)
    until(lambda: ask(site, "").status == 503)
    assert clients.plain(site.http, "other.example.com").status == 200


def test_what_is_not_valid_is_told_and_the_default_applies(site):
    serve(site, "", "10.1.1.1")
    monitored(site, checked(recv="(a+)+$"))
    condition = site.admitted("shop", "a")
    assert condition["status"] == "True"
    assert f"{CIS}health: recv is" in condition["message"]
    assert {item.fields.get("monitor") for item in site.bigip.items("ltm/pool")
            if "nowhere" not in item.path} == {"/Common/tcp"}
    assert ask(site, "").status == 200
