"""Settings that reach the BIG-IP or the cluster: each has its effect, and a second pass writes nothing."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.test_loop import pool

ONE = identity()


def steady(lab, **flags) -> None:
    """A pass that serves everything, and one that finds nothing to do."""
    assert lab.converge(**flags) == []
    lab.clear()
    assert lab.converge(**flags) == []
    assert lab.writes() == []


@pytest.mark.parametrize(("text", "shown"), [
    pytest.param("", "/Common/tcp", id="default"),
    pytest.param("/Common/http,/Common/https", "/Common/http and /Common/https", id="all of several"),
    pytest.param("min 1 of /Common/http /Common/https", "min 1 of { /Common/http /Common/https }",
                 id="one of several, as the original had it"),
    pytest.param("none", "", id="none"),
])
def test_pool_monitor(lab, text, shown):
    lab.apply(manifests.route("a"))
    steady(lab, **({"f5_pool_monitor": text} if text else {}))
    monitor = lab.bigip.get("ltm/pool/~Common~openshift_shop_web").get("monitor")
    assert (monitor or "").strip() == shown


def test_another_monitor_is_one_write_and_keeps_the_members(lab):
    lab.apply(manifests.route("a"))
    lab.converge()
    lab.clear()
    assert lab.converge(f5_pool_monitor="/Common/http") == []
    assert lab.writes() == [("PATCH", "/mgmt/tm/ltm/pool/~Common~openshift_shop_web")]
    assert pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"}


def test_default_destination_ca(lab, tmp_path):
    """Pods are verified by it, by the name of their Service, and nobody is warned."""
    (tmp_path / "ca.pem").write_text(ONE.issuer)
    lab.apply(manifests.route("a", kind="reencrypt"))
    steady(lab, default_destination_ca_path=str(tmp_path / "ca.pem"))
    (path,) = (path for path in lab.paths("ltm/profile/server-ssl") if "openshift_tls_" in path)
    profile = lab.bigip.get(f"ltm/profile/server-ssl/{path.replace('/', '~')}")
    assert (profile["peerCertMode"], profile["authenticateName"]) == ("require", "web.shop.svc")
    assert lab.content(profile["caFile"]) == ONE.issuer
    assert lab.kube.list("Event") == []


def test_namespace(lab):
    """Routes of others are as if they were not there, even when they hold the host."""
    lab.apply(manifests.route("a", created="2026-02-01T00:00:00Z"), manifests.route("a", namespace="older"))
    steady(lab, namespace="shop")
    assert lab.admitted("shop", "a")["status"] == "True"
    assert lab.admitted("older", "a") == {}


@pytest.mark.parametrize(("flag", "states"), [
    ({}, ("True", "False")), ({"disable_namespace_ownership_check": "true"}, ("True", "True"))])
def test_namespace_ownership(lab, flag, states):
    lab.apply(manifests.route("a"), *manifests.service("bank", "web", pods=("10.1.9.1",)),
              manifests.route("b", namespace="bank", path="/b", created="2026-02-01T00:00:00Z"))
    steady(lab, **flag)
    assert (lab.admitted("shop", "a")["status"], lab.admitted("bank", "b")["status"]) == states


def test_domains_and_template(lab):
    """A denied Host is not there; one that the router named has its name in the status and on the BIG-IP."""
    lab.apply(manifests.route("denied", host="a.block.it"), manifests.route("made", host=""),
              manifests.route("moved", host="a.old.test"))
    steady(lab, denied_domains="block.it", hostname_template="${name}-${namespace}.apps.test",
           override_domains="old.test")
    hosts = {value for item in lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes/rules")["items"]
             for value in (item.get("conditionsReference") or {}).get("items", [{}])[0].get("values", ())}
    entries = {name: lab.kube.get("Route", "shop", name)["status"]["ingress"][0] for name in
               ("denied", "made", "moved")}
    assert lab.admitted("shop", "denied")["reason"] == "RouteNotAdmitted"
    assert {name: entry["host"] for name, entry in entries.items()} == {
        "denied": "a.block.it", "made": "made-shop.apps.test", "moved": "moved-shop.apps.test"}
    assert {"made-shop.apps.test", "moved-shop.apps.test"} <= hosts
    assert not {"a.block.it", "a.old.test"} & hosts


@pytest.mark.parametrize(("flags", "status"), [({}, "False"), ({"extended_validation": "false"}, "True")])
def test_extended_validation(lab, flags, status):
    """Off, what does not go with the termination is left out; the rest is served."""
    lab.apply(manifests.route("a", kind="edge", destinationCACertificate=ONE.issuer, key=ONE.key))
    steady(lab, **flags)
    assert lab.admitted("shop", "a")["status"] == status
    assert bool(pool(lab)) == (status == "True")
    told = {event["message"] for event in lab.kube.list("Event")}
    assert any("spec.tls.destinationCACertificate: edge" in text for text in told) == (status == "False")
    assert any("spec.tls.key: there is a key without" in text for text in told) == (status == "True")


def test_status_under_a_name(lab):
    lab.apply(manifests.route("a"))
    steady(lab, name="edge-1", router_canonical_hostname="edge-1.example.com")
    (entry,) = lab.kube.get("Route", "shop", "a")["status"]["ingress"]
    assert (entry["routerName"], entry["routerCanonicalHostname"]) == ("edge-1", "edge-1.example.com")


def test_no_status(lab):
    """Served all the same, and nothing is written to the Route."""
    lab.apply(manifests.route("a"))
    steady(lab, update_status="false")
    assert "status" not in lab.kube.get("Route", "shop", "a")
    assert pool(lab)


def test_virtual_servers_of_other_names(make_lab):
    lab = make_lab()
    lab.bigip.add_virtual("/Common/web80", "10.0.0.1:8080")
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
    steady(lab, f5_http_vserver="web80", f5_https_vserver="")
    attached = lab.bigip.get("ltm/virtual/~Common~web80")["policiesReference"]["items"]
    assert [item["fullPath"] for item in attached] == ["/Common/openshift_insecure_routes"]
