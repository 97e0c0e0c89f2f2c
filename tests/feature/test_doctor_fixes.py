"""Commands that `f5router doctor` gives fix the fault: they are typed on the fakes as they stand."""

import json
from collections.abc import Callable

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature import tmsh
from tests.feature.conftest import Lab
from tests.feature.test_doctor import VXLAN, broken, doctor, licensed, provision, site, unlicensed, until

__all__ = ["site"]

TCP, HTTP, SSL = "/Common/tcp", "/Common/http", "/Common/clientssl"
POOLED = {"sourceAddressTranslation": {"type": "snat", "pool": "/Common/few"}}


def faults(lab: Lab, check: str, **flags: str) -> list[tuple[str, str]]:
    """Message and fix of the warnings and failures of a check; each has a fix, whatever the check."""
    document = json.loads(doctor(lab, "-o", "json", **flags).stdout)["checks"]
    wrong = [result for result in document if result["state"] in ("warning", "failure")]
    assert all(result["fix"] for result in wrong)
    return [(result["message"], result["fix"]) for result in wrong if result["check"] == check]


def commands(lab: Lab, check: str, flags: dict[str, str]) -> list[str]:
    """Return what is to be typed on the BIG-IP for a check."""
    return [fix[fix.index("tmsh "):] for _, fix in faults(lab, check, **flags) if "tmsh " in fix]


def virtual(name: str, number: int, *profiles: str, **fields) -> Callable[[Lab], object]:
    """Return what creates a virtual server. Args: number: of its address."""
    return lambda lab: lab.bigip.add_virtual(f"/Common/{name}", f"10.0.1.{number}:80", profiles=profiles,
                                             **fields)


def pool(lab: Lab) -> None:
    lab.bigip.put_object(
        "ltm/snatpool", {"name": "few", "partition": "Common", "members": ["/Common/10.9.9.9"]})
    virtual("pooled", 6, TCP, HTTP, **POOLED)(lab)


def floating(lab: Lab) -> None:
    """Add a self IP that automap prefers to the gateway."""
    lab.bigip.put_object("net/self", {
        "name": "floats", "partition": "Common", "address": "10.3.89.220/24", "vlan": "/Common/internal",
        "trafficGroup": "/Common/traffic-group-1", "floating": "enabled"})
    virtual("auto", 7, TCP, HTTP, sourceAddressTranslation={"type": "automap"})(lab)


def without_sni(lab: Lab) -> None:
    """Add a Route with a certificate, and a virtual server without a default for SNI."""
    virtual("no-sni", 3, TCP, HTTP, SSL)(lab)
    who = identity()
    lab.apply(manifests.route(
        "certified", host="b.com", kind="edge", certificate=who.certificate, key=who.key))


def pending(lab: Lab) -> None:
    lab.bigip.join_group("pair")
    lab.bigip.set_sync("pending")


@pytest.mark.parametrize(("break_it", "check", "flags"), [
    pytest.param(virtual("no-http", 1, TCP), "virtual servers", {"f5_http_vserver": "no-http"},
                 id="http profile"),
    pytest.param(virtual("no-ssl", 2, TCP, HTTP), "virtual servers", {"f5_https_vserver": "no-ssl"},
                 id="client SSL profile"),
    pytest.param(without_sni, "virtual servers", {"f5_https_vserver": "no-sni"},
                 id="default for SNI"),
    pytest.param(None, "virtual servers", {"f5_http_vserver": "new"}, id="virtual server for HTTP"),
    pytest.param(None, "virtual servers", {"f5_https_vserver": "new-s"}, id="virtual server for HTTPS"),
    pytest.param(virtual("no-snat", 4, TCP, HTTP), "virtual servers",
                 {"f5_http_vserver": "no-snat", "f5_static_routes": "true"}, id="source address translation"),
    pytest.param(pool, "way to the pods", {"f5_http_vserver": "pooled", **VXLAN}, id="SNAT pool"),
    pytest.param(floating, "way to the pods", {"f5_http_vserver": "auto", "f5_https_vserver": "", **VXLAN},
                 id="floating self IP"),
    pytest.param(virtual("own-zip", 5, TCP, HTTP, "/Common/httpcompression"), "virtual servers",
                 {"f5_http_vserver": "own-zip", "enable_compression": "true"}, id="compression"),
    pytest.param(None, "virtual servers", {"tls_health_checks": "true"}, id="monitors in TMM"),
    pytest.param(None, "profiles", {"allowed_profiles": "/Common/reencrypt=shop"}, id="server SSL profile"),
    pytest.param(None, "partition", {"f5_partition_path": "/Shop"}, id="partition"),
    pytest.param(lambda lab: lab.bigip.add_user("visitor", "visitor-word", "guest"), "role",
                 {"f5_username": "visitor", "f5_password": "visitor-word"}, id="role"),
    pytest.param(provision("none"), "modules", {}, id="LTM"),
    pytest.param(pending, "config sync", {}, id="config sync"),
])
def test_the_command_fixes_it(site, break_it, check, flags):
    """The check is well after the command alone."""
    with broken(site, break_it or (lambda lab: None)):
        (fix,) = commands(site, check, flags)
        tmsh.run(site, fix.replace("ADDRESS", "10.0.2.1"))
        assert commands(site, check, flags) == []


def refuse(path: str, **options) -> Callable[[Lab], None]:
    return lambda lab: lab.bigip.inject("refuse", times=None, path=path, **{"message": "no", **options})


@pytest.mark.parametrize(("break_it", "check", "flags", "fix"), [
    pytest.param(None, "settings", {"hold_off": "x"}, "f5router run --help-all", id="settings"),
    pytest.param(lambda lab: lab.kube.set_ahead(-400.0), "clock", {}, "timedatectl set-ntp true",
                 id="clock of the API server"),
    pytest.param(lambda lab: lab.kube.inject("403", times=None, path="selfsubjectaccessreviews"), "rights",
                 {},
                 "--clusterrole=system:basic-user --serviceaccount=f5router:f5router", id="reviews"),
    pytest.param(lambda lab: lab.kube.forbid("routes", ("list",)), "rights", {},
                 "oc apply -f docs/deploy/10-account.yaml", id="rights"),
    pytest.param(lambda lab: lab.kube.withdraw("route.openshift.io"), "kinds", {},
                 "kubectl get apiservice v1.route.openshift.io", id="kinds"),
    pytest.param(lambda lab: lab.kube.inject("500", times=None, path="/apis/route"), "kinds", {},
                 "kubectl api-resources", id="discovery"),
    pytest.param(lambda lab: lab.kube.inject("401", times=None), "login", {}, "oc login https://127.0.0.1:",
                 id="login to the cluster"),
    pytest.param(None, "API server", {"master": "https://127.0.0.1:1"},
                 "curl --insecure https://127.0.0.1:1/version",
                 id="API server"),
    pytest.param(None, "virtual servers", {"f5_vserver_address": "10.0.0.1"},
                 "f5router adopt --virtual-servers --dry-run", id="a prepared virtual server"),
    pytest.param(None, "cluster", {"namespace": "shpo"}, "kubectl create namespace shpo", id="namespace"),
    pytest.param(None, "address", {"f5_host": "127.0.0.1:1"},
                 "curl --insecure https://127.0.0.1:1/mgmt/tm/sys/version", id="address"),
    pytest.param(None, "TLS", {"f5_insecure": "true", "f5_ca_bundle": ""},
                 "openssl s_client -showcerts -connect 127.0.0.1:", id="TLS"),
    pytest.param(None, "login", {"f5_password": "wrong-word"},
                 "tmsh modify auth user admin prompt-for-password",
                 id="login"),
    pytest.param(refuse("sys/version", status=404, message="<html></html>"), "version", {},
                 "tmsh show sys version",
                 id="no REST"),
    pytest.param(refuse("sys/version"), "ready", {}, "bigstart restart restjavad", id="no version"),
    pytest.param(lambda lab: lab.bigip.set_ready(False), "ready", {}, "tmsh show sys mcp-state",
                 id="not ready"),
    pytest.param(refuse("auth/user"), "role", {}, "tmsh list auth remote-role", id="user of a directory"),
    pytest.param(refuse("sys/license"), "licence", {}, "tmsh show sys license", id="licence not shown"),
    pytest.param(unlicensed, "licence", {}, "tmsh install sys license registration-key KEY", id="no licence"),
    pytest.param(licensed(**until(7)), "licence", {}, "tmsh install sys license registration-key KEY",
                 id="licence that ends"),
    pytest.param(licensed(features=("SSL, VE",)), "licence", VXLAN, "add-on-keys { ADD_ON_KEY }",
                 id="no SDN Services"),
    pytest.param(refuse("sys/provision"), "modules", {}, "tmsh list sys provision", id="modules not shown"),
    pytest.param(refuse("sys/clock"), "clock", {}, "tmsh show sys clock", id="clock not shown"),
    pytest.param(lambda lab: lab.ahead.__setitem__(0, 3600.0), "clock", {},
                 "tmsh modify sys ntp servers add { NTP_SERVER }", id="clock of the BIG-IP"),
    pytest.param(refuse("cm/failover-status", status=403), "failover", {},
                 "partition-access replace-all-with { all-partitions { role admin } }",
                 id="failover state not shown"),
    pytest.param(lambda lab: lab.bigip.set_failover("STANDBY"), "failover", {},
                 "tmsh show cm failover-status",
                 id="standby"),
    pytest.param(lambda lab: lab.bigip.set_failover("FORCED OFFLINE"), "failover", {},
                 "tmsh run sys failover online", id="offline"),
    pytest.param(None, "SSH", {"f5_ssh_host_key": f"SHA256:{'A' * 43}"}, "ssh-keygen -lf $key",
                 id="host key"),
    pytest.param(None, "SSH", {"f5_ssh_host_key": "", "f5_ssh_insecure": "true"}, ">known_hosts",
                 id="any host key"),
    pytest.param(None, "SSH", {"f5_ssh_insecure": "false", "f5_username": "robot",
                 "f5_password": "robot-password"},
                 "tmsh modify auth user robot shell bash", id="no shell"),
    pytest.param(None, "SSH", {"f5_ssh_port": "1"}, "ssh-keyscan -p 1 127.0.0.1", id="no SSH"),
    pytest.param(refuse("ltm/policy"), "reading", {}, "tail -n 50 /var/log/restjavad.0.log", id="reading"),
    pytest.param(lambda lab: (lab.bigip.join_group("pair"), refuse("cm/sync-status")(lab)), "config sync", {},
                 "tmsh show cm sync-status", id="sync not shown"),
    pytest.param(None, "way to the pods", VXLAN, "oc apply -f docs/deploy/15-sdn-reader.yaml",
                 id="no HostSubnets"),
    pytest.param(None, "way to the pods", {"pool_member_type": "nodeport"}, "kubectl get nodes --show-labels",
                 id="no Nodes"),
    pytest.param(None, "selection", {"namespace_labels": "a=b"}, "kubectl get namespaces --show-labels",
                 id="no namespace"),
])
def test_the_fix_of(site, break_it, check, flags, fix):
    site.bigip.add_user("robot", "robot-password", "admin")
    if any(name.startswith("f5_ssh") for name in flags):
        flags = {**site.ssh_flags(), **flags}
    with broken(site, break_it or (lambda lab: None)):
        assert fix in " ".join(given for _, given in faults(site, check, **flags))
