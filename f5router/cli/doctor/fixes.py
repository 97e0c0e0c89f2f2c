"""Steps and commands that fix what doctor finds. No I/O.

A step is in words; a command is to be copied, after a word in capitals, such as NTP_SERVER, was replaced.
Names of objects are quoted for a shell.

Sources: F5's tmsh reference (https://clouddocs.f5.com/cli/tmsh-reference/latest/modules/), auth user
(`prompt-for-password`, `partition-access`), auth remote-role, cm config-sync, cm failover-status, ltm
virtual, ltm profile client-ssl, ltm snatpool, sys license, sys ntp, sys provision, sys failover; Kubernetes'
documentation (https://kubernetes.io/docs/reference/access-authn-authz/rbac/), discovery roles:
`system:basic-user` may make SelfSubjectAccessReviews.
"""

import re
import shlex
from collections.abc import Iterable, Sequence

from f5router.cli.doctor.report import Fix
from f5router.icontrol import surroundings, tls_checks
from f5router.icontrol.settings import SSHSettings
from f5router.kube.api.api_errors import SHIPPED, SHIPPED_ACCOUNT
from f5router.kube.watch import single_reads
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.device_facts import VirtualFacts
from f5router.model.findings import CATALOGUE, command_of
from f5router.model.texts import printable
from f5router.network import node_ports, static_routes
from f5router.network.vxlan import RAMP, VxlanConfig

_ONE_PARTITION_ACCESS = (11, 6)
"""First TMOS version whose users have a role for each partition."""
PAIRS = "docs/bigip-pairs.md"
_DEFAULT_CLIENT_SSL = "/Common/clientssl-default"
_OF_F5 = frozenset(f"/Common/{name}" for name in (
    "clientssl", "clientssl-insecure-compatible", "clientssl-secure", "crypto-server-default-clientssl",
    "splitsession-default-clientssl", "wom-default-clientssl"))
"""Profiles that every BIG-IP has, from which others inherit: they stay as they are."""
_REMEDY = re.compile(r"; ((?:set|create|take|leave out|grant it with:) .*)$", re.DOTALL)
"""End of a sentence that has what is to be done."""


def quoted(text: str) -> str:
    """Return a word of a shell command; unprintable characters become escapes."""
    return shlex.quote(printable(text))


def split(text: str, fix: Fix) -> tuple[str, Fix]:
    """Return a message without the remedy at its end, which becomes the step of the fix."""
    remedy = _REMEDY.search(text)
    return (text[: remedy.start()], Fix(remedy[1], fix.command)) if remedy else (text, fix)


def of(code: str, name: str = "") -> Fix:
    """Return the remedy of a code of findings.CATALOGUE. Args: name: of the object that it is about."""
    return Fix(CATALOGUE[code].to_do, command_of(code, name))


SETTINGS = Fix("correct the setting that is named, or leave it out; all settings are listed by",
               "f5router run --help-all")
_DESTINATION_CA = Fix("set it to a copy of service-ca.crt, or to none to serve these Routes without "
                      "verification")


def setting(text: str) -> Fix:
    """Return how to fix a setting. Args: text: the problem, which begins with its name."""
    is_unset = text.startswith("--default-destination-ca-path ") and ": not set" in text
    return _DESTINATION_CA if is_unset else SETTINGS


# --- the cluster -------------------------------------------------------------------------

API_CLOCK = Fix("let both follow the same time servers; on the machine of the API server",
                "timedatectl set-ntp true")
API_CLOCK_HIDDEN = Fix("compare it with that of the machine of the API server", "date --utc")
KINDS = Fix("see what the API server serves, and what it answers", "kubectl api-resources")
REVIEWS = Fix(
    "let the account of the router ask; that of the shipped files gets it with",
    "kubectl create clusterrolebinding f5router-reviews --clusterrole=system:basic-user "
    f"--serviceaccount={':'.join(SHIPPED_ACCOUNT)}")

_NOT_SERVED = {
    "routes": Fix("choose others with --sources if the cluster has no Routes; on OpenShift see why not",
                  "kubectl get apiservice v1.route.openshift.io"),
    "ingressroutes": Fix(command="kubectl apply -f docs/deploy/40-ingressroutes.yaml"),
}


def kube_login(server: str) -> Fix:
    return Fix(f"in a pod, apply {SHIPPED} if its service account is gone; elsewhere renew the login",
               f"oc login {quoted(server)}")


def no_api_server(server: str) -> Fix:
    return Fix("check --config, --context and --master, and the network to it",
               f"curl --insecure {quoted(server + '/version')}")


def not_served(resource: str) -> Fix:
    return _NOT_SERVED.get(resource, KINDS)


def not_listed(text: str) -> Fix:
    """Return the fix for an incomplete list of the cluster."""
    if missing := re.search(r"the namespace '([^']+)' does not exist", text):
        return Fix("correct --namespace, or create it", f"kubectl create namespace {quoted(missing[1])}")
    return Fix("see the rights of the account, and if the API server is well", "kubectl get --raw /healthz")


# --- one BIG-IP --------------------------------------------------------------------------

RESTART = Fix("wait until the BIG-IP has started; if that does not help, restart its REST service on it",
              "bigstart restart restjavad")
NOT_LOADED = Fix("wait until its phase is `running`; else see what keeps it", "tmsh show sys mcp-state")
REMOTE_ROLE = Fix(f"see that its directory group has the role {surroundings.ADMIN} in all partitions",
                  "tmsh list auth remote-role")
LICENCE_HIDDEN = Fix("read it on the BIG-IP", "tmsh show sys license")
NO_LICENCE = Fix(command="tmsh install sys license registration-key KEY")
RENEWAL = Fix("renew it with F5, then install it", NO_LICENCE.command)
NO_SDN = Fix(f"add SDN Services to it; {RAMP}",
             "tmsh install sys license registration-key KEY add-on-keys { ADD_ON_KEY }")
MODULES_HIDDEN = Fix("read them on the BIG-IP", "tmsh list sys provision")
NO_LTM = Fix(command="tmsh modify sys provision ltm level nominal")
CLOCK = Fix("let both follow the same time servers", "tmsh modify sys ntp servers add { NTP_SERVER }")
CLOCK_HIDDEN = Fix("compare it by hand", "tmsh show sys clock")
HOST_KEY = Fix("compare the fingerprint with that of the BIG-IP's own files, then put the key into "
               "--f5-ssh-known-hosts, or the fingerprint into --f5-ssh-host-key; on the BIG-IP",
               "for key in /config/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $key; done")
TUNNELS = Fix(f"exclude them on each unit ({PAIRS})",
              "tmsh modify sys db iptunnel.configsync value disable")
TUNNELS_HIDDEN = Fix("read it on the unit", "tmsh list sys db iptunnel.configsync value")
FAILOVER_HIDDEN = Fix("read it on the unit", "tmsh show cm failover-status")
NOT_ACTIVE = Fix("give both units of the pair with --f5-host, or the address of the active one; each shows "
                 "its state with", FAILOVER_HIDDEN.command)
OFFLINE = Fix("if it is meant to serve, release it", "tmsh run sys failover online")
NO_ACTIVE = Fix("see on each unit why not exactly one of them is active", FAILOVER_HIDDEN.command)


def no_address(name: str) -> Fix:
    return Fix(f"check --f5-host {printable(name)}, its name in DNS, and the network to it",
               f"curl --insecure {quoted(f'https://{name}/mgmt/tm/sys/version')}")


def certificate(name: str, step: str = "give the file of its CA with --f5-ca-bundle") -> Fix:
    """Args: step: what is to be done; the command shows what the BIG-IP presents."""
    server = name if re.search(r":\d+$", name) else f"{name}:443"
    return Fix(f"{step}; it presents", f"openssl s_client -showcerts -connect {quoted(server)} </dev/null")


def login(user: str, text: str) -> tuple[str, Fix]:
    """Return the message of a refused login, and what helps."""
    tokens, _, command = text.partition(", or free all: ")
    if command:
        return tokens, Fix(f"wait, or free all as user {printable(user)}", command)
    return text, Fix("give the router the right one, or set it again on the BIG-IP",
                     f"tmsh modify auth user {quoted(user)} prompt-for-password")


def role(user: str, version: tuple[int, ...]) -> Fix:
    access = ("replace-all-with { all-partitions { role admin } }" if version >= _ONE_PARTITION_ACCESS
              else "all role admin")
    return Fix(command=f"tmsh modify auth user {quoted(user)} partition-access {access}")


def failover(status: str, user: str, version: tuple[int, ...]) -> Fix:
    """Return the fix for a unit that may not be written to. Args: status: "" if it cannot be read."""
    return role(user, version) if not status else OFFLINE if "OFFLINE" in status else NOT_ACTIVE


def ssh_keys(settings: SSHSettings) -> Fix:
    return Fix("fetch the host key, compare its fingerprint with that on the BIG-IP's console, and name the "
               "file with --f5-ssh-known-hosts", f"{no_ssh(settings).command} >known_hosts")


def ssh_login(settings: SSHSettings) -> Fix:
    return Fix("see --f5-private-key and the authorized_keys of this user, who needs the shell bash",
               f"tmsh modify auth user {quoted(settings.username)} shell bash")


def no_ssh(settings: SSHSettings) -> Fix:
    return Fix("check --f5-ssh-port and the network to it",
               f"ssh-keyscan -p {settings.port} {quoted(settings.host)}")


# --- what the settings name --------------------------------------------------------------

READING = Fix("see the end of this file on the BIG-IP", "tail -n 50 /var/log/restjavad.0.log")
PLAN = Fix("see all of them, with the Routes that need them", "f5router plan")


def partition(name: str) -> Fix:
    return Fix("correct --f5-partition-path, or create it", f"tmsh create auth partition {quoted(name)}")


def virtual(facts: VirtualFacts, text: str, *, https: bool) -> Fix:
    """Return the fix for a virtual server. Args: text: the problem."""
    path = quoted(facts.path)
    if not facts.exists:
        return _no_virtual(path, https=https)
    if "this router did not create it" in text:
        return Fix("hand it to the router, or leave out --f5-vserver-address",
                   "f5router adopt --virtual-servers --dry-run")
    if "an http profile is missing" in text:
        return Fix(command=f"tmsh modify ltm virtual {path} profiles add {{ /Common/http }}")
    of_f5 = _OF_F5.issuperset(facts.client_ssl) and not facts.sni_defaults
    if "a client SSL profile is missing" in text or ("sni-default" in text and of_f5):
        return Fix("add one with sni-default true, which serves Routes without a certificate of their own",
                   f"{_NEW_CLIENT_SSL}; tmsh modify ltm virtual {path} profiles add "
                   f"{{ {_DEFAULT_CLIENT_SSL} {{ context clientside }} }}")
    if "sni-default" in text and (profiles := facts.sni_defaults[1:] or facts.client_ssl[:1]):
        wanted = "false" if facts.sni_defaults else "true"
        return Fix(command=" && ".join(
            f"tmsh modify ltm profile client-ssl {quoted(profile)} sni-default {wanted}"
            for profile in profiles))
    return PLAN


_NEW_CLIENT_SSL = (f"tmsh create ltm profile client-ssl {_DEFAULT_CLIENT_SSL} defaults-from clientssl "
                   "sni-default true")
"""If there is one already, only this command fails."""


def _no_virtual(path: str, *, https: bool) -> Fix:
    flag, port, profile = ("--f5-http-vserver", 80, "")
    if https:
        flag, port = "--f5-https-vserver", 443
        profile = f" {_DEFAULT_CLIENT_SSL} {{ context clientside }}"
    create = (f"tmsh create ltm virtual {path} destination ADDRESS:{port} ip-protocol tcp profiles add "
              f"{{ tcp http{profile} }} source-address-translation {{ type automap }}")
    return Fix(f"correct {flag} and --f5-partition-path, or create it",
               f"{_NEW_CLIENT_SSL}; {create}" if https else create)


def translation(path: str) -> Fix:
    return Fix(
        command=f"tmsh modify ltm virtual {quoted(path)} source-address-translation {{ type automap }}")


def server_ssl(path: str) -> Fix:
    return Fix("leave it out, or create it", f"tmsh create ltm profile server-ssl {quoted(path)}")


def objects(routes: tuple[Key, ...]) -> Fix:
    """Return the command that shows more about a refused object. Args: routes: the Routes that need it."""
    if routes and names.label(routes[0]) == str(routes[0]):
        return Fix("see the links of its chain", f"f5router explain route {quoted(str(routes[0]))}")
    return PLAN


def without_effect(text: str, virtuals: Iterable[VirtualFacts]) -> Fix:
    """Return the fix for a setting that has no effect. Args: text: the warning."""
    if text.startswith("--tls-health-checks "):
        command = f"tmsh modify sys db {tls_checks.VARIABLE} value enable"
        step = "leave out --tls-health-checks"
        return Fix(f"{step}, or let all monitors run in TMM", command) if command in text else Fix(step)
    step = "leave out ROUTER_ENABLE_COMPRESSION, or take the profile from the virtual server"
    for facts in virtuals:
        if text.startswith(f"virtual server {facts.path} "):
            path, profiles = quoted(facts.path), " ".join(map(quoted, facts.compression))
            return Fix(step, f"tmsh modify ltm virtual {path} profiles delete {{ {profiles} }}")
    return Fix(step)


# --- pair, network, limits ---------------------------------------------------------------


def no_group(folder: str) -> Fix:
    return Fix(f"add the folder to the device group of the pair ({PAIRS})",
               f"tmsh modify sys folder {quoted(folder)} device-group GROUP")


def sync(group: str, *, waits: bool, mine: bool) -> Fix:
    """Args: waits: the status may change by itself; mine: the changes are those of this unit alone."""
    if waits:
        return Fix("see if it ends by itself", "tmsh show cm sync-status")
    step = ("set --f5-config-sync=push, or" if mine
            else "on the unit whose configuration is to count, which replaces that of the others")
    return Fix(step, f"tmsh run cm config-sync to-group {quoted(group)}")


SYNC_HIDDEN = Fix("read it on the unit", "tmsh show cm sync-status")
SHARDS = Fix("give some of the Routes to another shard (docs/sharding.md)")
NAMESPACES = Fix("correct the setting, or label one", "kubectl get namespaces --show-labels")


NODES = Fix("a pool may use nodes of its own partition and of /Common: let controllers that share pods put "
            "theirs there (--f5-node-partition; CIS: --share-nodes); see all nodes", "tmsh list ltm node")


SECRETS = Fix("grant the router's account get, list and watch on these Secrets; to see what it may do",
              "kubectl auth can-i list secrets -A --as=system:serviceaccount:f5router:f5router")


def more_secrets(flag: str, limit: int) -> Fix:
    return Fix("raise it, as far as the memory of the router allows", f"f5router run {flag}={2 * limit}")


NO_NETWORK_KIND = Fix("let the account read them, if the cluster has some (a cluster of openshift-sdn)",
                      "oc apply -f docs/deploy/15-sdn-reader.yaml")


NO_PODS = Fix("see the pods of the Services; `f5router get routes` shows which Routes lack pods",
              "f5router get routes")
EMPTY = {
    node_ports.UNPUBLISHED: Fix(
        "set --pool-member-type=cluster, or let the Services have node ports",
        """kubectl patch service NAME -n NAMESPACE -p '{"spec":{"type":"NodePort"}}'"""),
    node_ports.UNSELECTED: Fix("label some, or correct --node-label-selector",
                               "kubectl get nodes --show-labels"),
}
"""Remedies where a setting leaves pools no member, by the setting."""
ASTRAY = Fix("compare the networks of the Nodes with the addresses of the pods",
             "kubectl get pods --all-namespaces -o wide")
ADDRESSES = Fix("read them on the BIG-IP", "tmsh list ltm virtual-address")
PROFILES = Fix("read them on the BIG-IP", "tmsh list ltm virtual")
MONITORS = Fix("see that it is among them", "tmsh list ltm monitor")
MEMBERS = Fix("read it on the BIG-IP", "tmsh show ltm pool")
SELF_IPS = Fix("compare it with them", "tmsh list net self")
ROUTES = Fix("compare them with the networks of the pods", "tmsh list net route")

_STATIC = ("set --f5-static-routes: the BIG-IP needs a self IP in the Nodes' network "
           "(docs/pod-network.md#static-routes)")
_WAYS = {
    single_reads.OPENSHIFT_SDN: "OpenShift SDN: set --f5-internal-address and --f5-vxlan-gateway-cidr for "
                                  "VxLAN (docs/guide.md), or set up a ramp node (docs/ramp-node.md)",
    single_reads.OVN: f"OVN-Kubernetes: {_STATIC}",
    single_reads.FLANNEL: f"flannel: {_STATIC}; with another backend than host-gw or vxlan take node ports",
    single_reads.CALICO: f"Calico: peer the BIG-IP with it by BGP, or {_STATIC}",
    single_reads.CILIUM: f"Cilium: {_STATIC}; if Nodes take packets for pods only by a tunnel, node ports",
}


def missing_way(plugin: str) -> Fix:
    """Return how to give the BIG-IP a way to the pods. Args: plugin: see single_reads.network_plugin."""
    step = _WAYS.get(plugin, "set --f5-static-routes, VxLAN or a ramp node, as the cluster's network needs")
    return Fix(f"{step}; --pool-member-type=nodeport works with every network. If the BIG-IP learns routes, "
               "as by BGP, nothing is missing", ROUTES.command)


def way(text: str, vxlan: Sequence[VxlanConfig], virtuals: Iterable[VirtualFacts],
        role_fix: Fix) -> tuple[str, Fix]:
    """Return a finding about the way to the pods without its remedy, and what fixes it.

    Args: vxlan: the settings of each unit; role_fix: gives the user the right to read.
    """
    for facts in virtuals:
        if text.startswith(f"virtual server {facts.path},"):
            return text.partition("; set ")[0], _return(text, facts)
    if near := re.match(r"Node ([^,: ]+): (?:none of its addresses|its address )", text):
        return text, Fix("give the BIG-IP a self IP in a network of the Nodes, or name the right one with "
                         f"{static_routes.NETWORKS}; the Node's addresses are shown by",
                         f"kubectl get node {quoted(near[1])} -o wide")
    if text.startswith("the BIG-IP has no self IP of IPv"):
        return text, Fix("create one in the Nodes' network",
                         "tmsh create net self NAME address ADDRESS/BITS vlan VLAN allow-service none")
    if node := re.match(r"Nodes? ([^,: ]+)", text):
        return text, Fix("correct its addresses and pod networks, which it shows with",
                         f"kubectl get node {quoted(node[1])} -o yaml")
    if text.startswith("no Node "):
        return text, Fix("label some, or correct --node-label-selector", "kubectl get nodes --show-labels")
    if " of the BIG-IP cannot be read (" in text:
        return text, role_fix
    return split(text, _of_vxlan(text, vxlan))


def _return(text: str, facts: VirtualFacts) -> Fix:
    if floating := re.search(r"automap takes floating self IPs before ([0-9.]+)", text):
        if PAIRS in text:
            return Fix(f"set up the pair without them ({PAIRS})", "tmsh list net self floating")
        return Fix("give it a SNAT pool with the gateway",
                   f"tmsh create ltm snatpool openshift-gateway members add {{ {floating[1]} }}; "
                   f"tmsh modify ltm virtual {quoted(facts.path)} source-address-translation "
                   "{ type snat pool openshift-gateway }")
    gateway = re.search(r"does not hold ([0-9.]+)", text)
    if gateway is None:
        return translation(facts.path)
    return Fix("take automap, or add the gateway",
               f"tmsh modify ltm snatpool {quoted(facts.snat_pool)} members add {{ {gateway[1]} }}")


def _of_vxlan(text: str, vxlan: Sequence[VxlanConfig]) -> Fix:
    if text.startswith("TMOS "):
        return Fix(f"upgrade it; {RAMP}", "tmsh show sys version")
    if text.startswith("VxLAN profile "):
        return NO_NETWORK_KIND
    if "by tunnel " in text:
        return Fix("let one router join the cluster network", "tmsh list net tunnels tunnel")
    if missing := re.search(r"; create a HostSubnet with hostIP ([0-9.]+)", text):
        number = [unit.internal_address for unit in vxlan].index(missing[1])
        name = f"openshift-f5-node-{number + 1}" if number else "openshift-f5-node"
        return Fix("create it", f"ghost-hostsubnet create --name {name} --host-ip {missing[1]}")
    if subnet := re.search(r"the subnet of HostSubnet ([^;, ]+)", text):
        return Fix("the right one is printed by", f"ghost-hostsubnet gateway --name {quoted(subnet[1])}")
    return Fix("compare it with the network of the cluster", "ghost-hostsubnet show")
