"""Several front ends in one router: two entries of a file, from an upgrade to the removal of one."""

import json
import re
from pathlib import Path

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_front_end import ADDRESS, FLAGS, empty, listening
from tests.feature.test_front_end_life import remove

__all__ = ["empty"]

INSIDE = "10.0.0.10"
DEFAULT = {"name": "default", "f5-vserver-address": [ADDRESS]}
INTERNAL = {"name": "internal", "f5-vserver-address": INSIDE, "labels": "zone=internal"}
IN_HTTP, IN_HTTPS = "openshift_http__internal", "openshift_https__internal"


@pytest.fixture
def flags(tmp_path):
    """Write a file with these entries; return the flags with it."""
    def write(*entries: dict) -> dict[str, str]:
        path = tmp_path / "front-ends.json"
        path.write_text(json.dumps(entries))
        return {"front_ends": str(path)}

    return write


def labelled(obj: dict, **labels: str) -> dict:
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


def objects(lab) -> dict:
    """Objects of the BIG-IP by kind and path, without those that are always there."""
    return {(kind, item.path): item.fields for kind in (
        "ltm/virtual", "ltm/policy", "ltm/data-group/internal", "ltm/rule", "ltm/pool",
        "ltm/profile/client-ssl",
        "ltm/profile/server-ssl", "ltm/profile/tcp", "ltm/profile/http", "ltm/virtual-address")
        for item in lab.bigip.items(kind)}


def entries(lab, name: str, namespace: str = "shop") -> dict[str, tuple[str, str]]:
    """Router names of a Route's status, each with the Admitted condition and the canonical host name."""
    status = lab.kube.get("Route", namespace, name).get("status") or {}
    return {entry["routerName"]: (entry["conditions"][0]["status"], entry.get("routerCanonicalHostname", ""))
            for entry in status.get("ingress") or ()}


def hosts(lab, policy: str) -> set[str]:
    """Hosts that a policy has Rules for."""
    rules = lab.bigip.get(f"ltm/policy/~Common~{policy}/rules") or {}
    return {value for rule in rules.get("items", ()) for condition in (
        lab.bigip.get(f"ltm/policy/~Common~{policy}/rules/{rule['name']}/conditions") or {}).get("items", ())
        for value in condition.get("values", ()) if value.endswith(".com")}


def test_an_upgrade_to_a_file_writes_nothing(empty, flags):
    empty.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    assert empty.converge(**FLAGS) == []
    empty.clear()
    assert empty.converge(**flags(DEFAULT)) == []
    assert empty.writes() == []


def test_two_front_ends(empty, flags):
    """Each serves what it selects; a Route on both is served by both, and has an entry for each."""
    empty.apply(manifests.route("a"),
                labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    both = flags(DEFAULT, {**INTERNAL, "router-canonical-hostname": "in.example.com"})
    assert empty.converge(**both) == []
    assert listening(empty) == {HTTP, HTTPS, IN_HTTP, IN_HTTPS}
    destinations = {item.path.rpartition("/")[2]: item.fields["destination"]
                    for item in empty.bigip.items("ltm/virtual")}
    assert destinations[IN_HTTPS] == f"/Common/{INSIDE}:443"
    assert hosts(empty, "openshift_insecure_routes__internal") == set()
    assert hosts(empty, "openshift_secure_routes__internal") == {"b.example.com"}
    assert hosts(empty, "openshift_insecure_routes") == {"www.example.com"}
    assert entries(empty, "a") == {"public": ("True", "")}
    assert entries(empty, "b") == {"public": ("True", ""), "public-internal": ("True", "in.example.com")}
    empty.clear()
    assert empty.converge(**both) == []
    assert empty.writes() == []


def test_removal_deletes_what_it_made(empty, flags):
    empty.apply(manifests.route("a"),
                labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    assert empty.converge(**flags(DEFAULT)) == []
    before = objects(empty)
    assert empty.converge(**flags(DEFAULT, INTERNAL)) == []
    assert objects(empty) != before
    assert empty.converge(**flags(DEFAULT)) == []
    assert objects(empty) == before


def test_each_end_of_adding_one(empty, flags):
    """Nothing answers before it is complete, others serve on, and the next start completes the rest."""
    empty.apply(manifests.route("a"),
                labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    assert empty.converge(**flags(DEFAULT)) == []
    both = flags(DEFAULT, INTERNAL)
    for _ in empty.each_end(20, **both):
        assert {HTTP, HTTPS} <= listening(empty)
        if IN_HTTPS in listening(empty):
            attached = {item["fullPath"] for item in empty.bigip.get(
                f"ltm/virtual/~Common~{IN_HTTPS}")["policiesReference"]["items"]}
            assert attached == {"/Common/openshift_secure_routes__internal"}
        assert empty.converge(**both) == []
        assert listening(empty) == {HTTP, HTTPS, IN_HTTP, IN_HTTPS}
        assert hosts(empty, "openshift_secure_routes__internal") == {"b.example.com"}


@pytest.mark.parametrize("prepared", [False, True])
def test_each_end_of_removing_one(make_lab, flags, prepared):
    """Also where nothing but the front end that goes was made by the router."""
    lab = make_lab()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"),
              labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    if prepared:
        lab.virtuals()
    default = {"name": "default"} if prepared else DEFAULT
    last = {} if prepared else FLAGS
    assert lab.converge(**last) == []
    before = objects(lab)
    assert lab.converge(**flags(default, INTERNAL)) == []
    for _ in lab.each_end(10, **last):
        assert {HTTP, HTTPS} <= listening(lab)
        assert lab.converge(**last) == []
        assert objects(lab) == before


def test_claims_of_hosts_are_those_of_a_front_end(empty, flags):
    """Another namespace has a host inside that it lost outside."""
    empty.apply(*manifests.service("other", "web", pods=("10.1.2.1",)), manifests.route("a"),
                labelled(manifests.route("late", namespace="other", created="2026-01-02T00:00:00Z"),
                         zone="internal"))
    empty.converge(**flags(DEFAULT, INTERNAL))
    late = entries(empty, "late", "other")
    assert {name: admitted for name, (admitted, _) in late.items()} == {
        "public": "False", "public-internal": "True"}
    assert hosts(empty, "openshift_insecure_routes__internal") == {"www.example.com"}


def test_a_change_costs_nothing_on_front_ends_that_do_not_serve_it(empty, flags):
    """The calls of a Route's creation and change are those with one front end."""
    others = [{"name": f"n{number}", "f5-vserver-address": f"10.0.1.{number}", "labels": "zone=none"}
              for number in range(1, 6)]
    counts = []
    for number, further in enumerate(([], [], others)):
        settings = flags(DEFAULT, *further)
        assert empty.converge(**settings) == []
        empty.clear()
        empty.apply(manifests.route(f"c{number}", host=f"c{number}.example.com", kind="edge"))
        assert empty.converge(**settings) == []
        counts.append(sorted(method for method, _ in empty.writes()))
    assert counts[1] == counts[2] != []


REUSE, OTHER_REUSE = "/Common/oneconnect", "/Common/reuse"


@pytest.mark.parametrize(("profiles", "on_both", "shared"), [
    ((REUSE, ""), False, []), (("", REUSE), False, [(REUSE, "internal", "internal")]),
    ((REUSE, REUSE), True, [(REUSE, "", "")]),
    ((OTHER_REUSE, REUSE), False, [(REUSE, "internal", "internal")]),
    ((OTHER_REUSE, REUSE), True, [(OTHER_REUSE, "", ""), (REUSE, "internal", "internal")]),
    ((REUSE, REUSE), False, [(REUSE, "", "internal")]),
])
def test_connections_are_shared_on_the_front_end_with_the_profile(empty, flags, caplog, profiles, on_both,
                                                                  shared):
    """Two Routes of different TLS with a pod: on the front end inside alone, or on both."""
    empty.bigip.put_object("ltm/profile/one-connect", {"name": OTHER_REUSE})
    first = labelled(manifests.route("a", host="a.com", kind="reencrypt"), zone="internal")
    second = labelled(manifests.route("b", host="b.com", kind="edge"), zone="internal", inside="only")
    empty.apply(first, second)
    names = dict(zip(("", "internal"), profiles, strict=True))
    settings = flags({**DEFAULT, "labels": "" if on_both else "inside!=only",
                      "f5-oneconnect-profile": names[""]},
                     {**INTERNAL, "f5-oneconnect-profile": names["internal"]})
    assert empty.converge(**settings) == []
    logged = {str(getattr(record, "problem", "")).partition(",")[0] for record in caplog.records}
    ends = [[f" on front end {name}" if name else "" for name in pair] for _, *pair in shared]
    routes = [f"Route shop/a{a} and Route shop/b{b} have a pod in common" for a, b in ends]
    assert {text for text in logged if "in common" in text} == {
        f"{profile}: {text}" for (profile, *_), text in zip(shared, routes, strict=True)}
    told = [text for _, _, text in checks(doctor(empty, "-o", "json", **settings), "failure")]
    assert [text.partition(": ")[2].partition(",")[0] for text in told if "in common" in text] == routes


@pytest.mark.parametrize("tls", [
    {"ciphers": "modern"}, {"ssl_min_version": "TLSv1.2", "strict_sni": "true"}], ids=["ciphers", "versions"])
def test_settings_of_tls(empty, flags, tls):
    """Each has profiles with them, which a restart does not write again."""
    empty.apply(labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    both = {**flags(DEFAULT, INTERNAL), **tls}
    assert empty.converge(**both) == []
    for end in ("", "__internal"):
        parent = f"/Common/openshift_default-parent-client-ssl-profile{end}"
        profile = empty.bigip.get(f"ltm/profile/client-ssl/~Common~openshift_default-client-ssl-profile{end}")
        assert profile["defaultsFrom"] == parent
    empty.clear()
    assert empty.converge(**both) == []
    assert empty.writes() == []
    assert empty.converge(**flags(DEFAULT)) == []
    assert not [path for _, path in objects(empty) if path.endswith("__internal")]


def test_what_it_costs(empty, flags):
    """The numbers are those of the page."""
    page = (Path(__file__).parents[2] / "docs" / "front-ends.md").read_text()
    counts = [int(count) for count in re.findall(r"\| (\d+) \|$", page, re.MULTILINE)]
    two, written = {**DEFAULT, "f5-vserver-address": [ADDRESS, "2001:db8::1"]}, []
    for of_file in ([DEFAULT], [two], [DEFAULT], [DEFAULT, INTERNAL], [DEFAULT]):
        empty.clear()
        assert empty.converge(**flags(*of_file)) == []
        written.append(len(empty.writes()))
    empty.clear()
    assert remove(empty, **FLAGS) == 0
    assert written.pop(2) == written[1]
    assert [*written, len(empty.writes())] == counts


def test_another_name_is_another_front_end(empty, flags):
    """It has the address once the old one is gone."""
    empty.apply(manifests.route("a"),
                labelled(manifests.route("b", host="b.example.com", kind="edge"), zone="internal"))
    assert empty.converge(**flags(DEFAULT, INTERNAL)) == []
    assert empty.converge(**flags(DEFAULT)) == []
    assert empty.converge(**flags(DEFAULT, {**INTERNAL, "name": "inside"})) == []
    assert listening(empty) == {HTTP, HTTPS, "openshift_http__inside", "openshift_https__inside"}
    assert not [path for _, path in objects(empty) if path.endswith("__internal")]


def test_namespaces_and_classes(empty, flags):
    """A namespace that gets a label, and Ingresses of two classes; a status has the addresses that serve."""
    inside = {"name": "internal", "f5-vserver-address": INSIDE, "namespace-labels": "zone=internal",
              "sources": "routes"}
    classes = {"name": "classes", "f5-vserver-address": "10.0.0.11", "ingress-classes": "inner",
               "sources": "ingress"}
    empty.apply(manifests.route("a"), manifests.ingress_class("f5router"), manifests.ingress_class("inner"),
                manifests.ingress("one", ("one.example.com", "/", "web", 8080)),
                manifests.ingress("two", ("two.example.com", "/", "web", 8080), ingress_class="inner"))
    three = {**flags({**DEFAULT, "ingress-classes": "f5router"}, inside, classes),
             "sources": "routes,ingress"}
    assert empty.converge(**three) == []
    assert entries(empty, "a") == {"public": ("True", "")}
    assert hosts(empty, "openshift_insecure_routes__classes") == {"two.example.com"}
    assert hosts(empty, "openshift_insecure_routes") == {"www.example.com", "one.example.com"}
    addresses = {name: [entry["ip"] for entry in empty.kube.get("Ingress", "shop", name)["status"][
        "loadBalancer"]["ingress"]] for name in ("one", "two")}
    assert addresses == {"one": [ADDRESS], "two": ["10.0.0.11"]}
    empty.kube.apply({"apiVersion": "v1", "kind": "Namespace",
                      "metadata": {"name": "shop", "labels": {"zone": "internal"}}})
    assert empty.converge(**three) == []
    assert entries(empty, "a") == {"public": ("True", ""), "public-internal": ("True", "")}
    assert hosts(empty, "openshift_insecure_routes__internal") == {"www.example.com"}


@pytest.mark.parametrize("trouble", ["server", "address", "missing"])
def test_doctor_looks_at_each_virtual_server(empty, flags, trouble):
    both = flags({**DEFAULT, "f5-vserver-address": [ADDRESS, "2001:db8::1"]}, INTERNAL)
    assert empty.converge(**both) == []
    paths = {item.path for item in empty.bigip.items("ltm/virtual")}
    told = [text for _, _, text in checks(doctor(empty, "-o", "json", **both), "ok")]
    assert {path for path in paths if any(text.startswith(f"{path} at ") for text in told)} == paths
    if trouble == "server":
        empty.change("PATCH", f"ltm/virtual/~Common~{IN_HTTPS}", {"disabled": True})
        wanted = f"virtual server /Common/{IN_HTTPS} is disabled: nobody answers there"
    elif trouble == "address":
        empty.change("PATCH", "ltm/virtual-address/~Common~2001:db8::1", {"enabled": "no"})
        wanted = "virtual address /Common/2001:db8::1 of /Common/"
    else:
        empty.change("DELETE", f"ltm/virtual/~Common~{IN_HTTP}")
        told = [text for _, _, text in checks(doctor(empty, "-o", "json", **both), "ok")]
        assert any(text.startswith(f"/Common/{IN_HTTP} at {INSIDE} port 80") and "creates it" in text
                   for text in told)
        return
    assert [text for _, _, text in checks(doctor(empty, "-o", "json", **both), "failure")
            if text.startswith(wanted)]
