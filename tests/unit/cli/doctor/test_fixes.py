"""Steps and commands that fix faults name the right object, in words that a shell takes as they are."""

import shlex

from f5router.cli.doctor import fixes
from f5router.cli.doctor.report import Fix
from f5router.model.cluster import Key
from f5router.model.device_facts import VirtualFacts
from f5router.network.vxlan import VxlanConfig
from tests.rows import rows

PAIR = VxlanConfig("10.3.89.213", "10.131.0.5/14"), VxlanConfig("10.3.89.214", "10.130.2.5/14")
ROLE = Fix("role")
WEB = VirtualFacts("/Common/web", snat="snat", snat_pool="/Common/few")
PROFILES = ("/Common/a", "/Common/b")
PLAIN = VirtualFacts("/Common/plain")
HOSTILE = "/Common/x';reboot\x1b[31m"


@rows(("fix", "words"), [
    (fixes.virtual(VirtualFacts(HOSTILE, http=False), "an http profile is missing", https=False), 10),
    (fixes.translation(HOSTILE), 10), (fixes.server_ssl(HOSTILE), 6), (fixes.partition(HOSTILE), 5),
    (fixes.role(HOSTILE, (14, 1)), 14), (fixes.no_group(HOSTILE), 7),
    (fixes.sync(HOSTILE, waits=False, mine=True), 6),
    (fixes.ssh_login(fixes.SSHSettings(host="h", port=22, username=HOSTILE)), 7),
])
def test_names_are_one_word_of_the_shell(fix, words):
    """No name ends the command, or changes the terminal."""
    assert len(shlex.split(fix.command)) == words
    assert "/Common/x';reboot\\x1b[31m" in shlex.split(fix.command)
    assert fix.command.isprintable()


@rows(("text", "message", "words"), [
    ("--f5-internal-address 10.3.89.213: no HostSubnet has this hostIP; create a HostSubnet with hostIP "
     "10.3.89.213",
     "--f5-internal-address 10.3.89.213: no HostSubnet has this hostIP",
     "create a HostSubnet with hostIP 10.3.89.213: "
     "ghost-hostsubnet create --name openshift-f5-node --host-ip 10.3.89.213"),
    ("--f5-internal-address 10.3.89.214: no HostSubnet has this hostIP; create a HostSubnet with hostIP "
     "10.3.89.214, annotated x",
     "--f5-internal-address 10.3.89.214: no HostSubnet has this hostIP",
     "ghost-hostsubnet create --name openshift-f5-node-2 --host-ip 10.3.89.214"),
    ("--f5-vxlan-gateway-cidr 10.1.0.1/14: it is no host address in 10.131.0.0/23, the subnet of HostSubnet "
     "f5; set for example 10.131.0.1/14",
     "--f5-vxlan-gateway-cidr 10.1.0.1/14: it is no host address in 10.131.0.0/23, the subnet of HostSubnet "
     "f5",
     "set for example 10.131.0.1/14: ghost-hostsubnet gateway --name f5"),
    ("--f5-vxlan-gateway-cidr 10.1.0.1/14: it is not in the cluster network 10.2.0.0/16", None,
     "compare it with the network of the cluster: ghost-hostsubnet show"),
    ("--f5-internal-address 10.3.89.213: the BIG-IP is in the cluster network already, by tunnel "
     "/Common/t; take VxLAN from one of the routers",
     "--f5-internal-address 10.3.89.213: the BIG-IP is in the cluster network already, by tunnel "
     "/Common/t",
     "take VxLAN from one of the routers: tmsh list net tunnels tunnel"),
    ("TMOS 11.4 cannot join the cluster network by VxLAN", None, "tmsh show sys version"),
    ("VxLAN profile vxlan5000: port 4790 stays as it is", None, "oc apply -f docs/deploy/15-sdn-reader.yaml"),
    ("Node n-1: no usable IPv4 address", None, "kubectl get node n-1 -o yaml"),
    ("Nodes n-1, n-2 have the same address 10.0.0.1", None, "kubectl get node n-1 -o yaml"),
    ("no Node is there: every pool is empty", None, "kubectl get nodes --show-labels"),
    ("self IPs of the BIG-IP cannot be read (GET: 403)", None, "role"),
    ("virtual server /Common/web, source address translation: snat /Common/few does not hold "
     "10.131.0.5; set automap",
     "virtual server /Common/web, source address translation: snat /Common/few does not hold 10.131.0.5",
     "tmsh modify ltm snatpool /Common/few members add { 10.131.0.5 }"),
    ("virtual server /Common/web, source address translation: lsn /Common/few does not hold "
     "10.130.2.5, so what pods answer may not come back; set automap",
     "virtual server /Common/web, source address translation: lsn /Common/few does not hold 10.130.2.5, so "
     "what pods answer may not come back",
     "tmsh modify ltm snatpool /Common/few members add { 10.130.2.5 }"),
    ("virtual server /Common/plain, source address translation: none; set automap",
     "virtual server /Common/plain, source address translation: none",
     "tmsh modify ltm virtual /Common/plain source-address-translation { type automap }"),
])
def test_the_way_to_the_pods(text, message, words):
    shown, fix = fixes.way(text, PAIR, (WEB, PLAIN), ROLE)
    assert shown == (message or text)
    assert str(fix).endswith(words)


@rows(("text", "words"), [
    ("--default-destination-ca-path / DEFAULT_DESTINATION_CA_PATH: not set, and /x does not exist",
     "service-ca.crt"),
    ("--default-destination-ca-path / DEFAULT_DESTINATION_CA_PATH: pods are not verified", "--help-all"),
    ("--f5-insecure / X: not set", "--help-all"),
])
def test_a_setting(text, words):
    assert words in str(fixes.setting(text))


@rows(("facts", "text", "command"), [
    (VirtualFacts("/Common/v", client_ssl=PROFILES), "sni-default",
     "tmsh modify ltm profile client-ssl /Common/a sni-default true"),
    (VirtualFacts("/Common/v", client_ssl=PROFILES, sni_defaults=PROFILES),
     "sni-default", "tmsh modify ltm profile client-ssl /Common/b sni-default false"),
    (VirtualFacts("/Common/v"), "it is refused", "f5router plan"),
])
def test_a_virtual_server(facts, text, command):
    assert fixes.virtual(facts, text, https=True).command == command


def test_a_login():
    """The most tokens that a user may have is no wrong password."""
    text = ("the user has 100 live tokens; they end within 20 minutes, or free all: "
            "curl -u USER -X DELETE https://b")
    message, fix = fixes.login("admin", text)
    assert (message, fix.command) == (
        "the user has 100 live tokens; they end within 20 minutes", "curl -u USER -X DELETE https://b")


@rows(("version", "access"), [
    ((11, 5, 4), "partition-access all role admin"),
    ((11, 6), "partition-access replace-all-with { all-partitions { role admin } }"),
])
def test_a_role(version, access):
    assert fixes.role("robot", version).command == f"tmsh modify auth user robot {access}"


@rows(("routes", "command"), [
    ((Key("shop", "a"), Key("shop", "b")), "f5router explain route shop/a"),
    ((), "f5router plan"),
    ((Key("shop", "-i-1.site"),), "f5router plan"),
])
def test_objects(routes, command):
    assert fixes.objects(routes).command == command


@rows(("waits", "mine", "words"), [
    (True, False, "see if it ends by itself: tmsh show cm sync-status"),
    (False, True, "set --f5-config-sync=push, or: tmsh run cm config-sync to-group pair"),
    (False, False, "on the unit whose configuration is to count, which replaces that of the others: "
                   "tmsh run cm config-sync to-group pair"),
])
def test_sync(waits, mine, words):
    assert str(fixes.sync("pair", waits=waits, mine=mine)) == words


def test_other_fixes():
    """A limit names the next value; a folder without a group is added to one."""
    assert fixes.more_secrets("--max-secrets", 5000).command == "f5router run --max-secrets=10000"
    assert fixes.no_group("/Shop").command == "tmsh modify sys folder /Shop device-group GROUP"
    assert fixes.not_served("services") == fixes.KINDS
