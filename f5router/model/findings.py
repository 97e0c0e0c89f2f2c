"""Findings: facts about an object, with their effect on requests and a remedy.

Each has a code, which is stable: the reason of a status and of an Event, and a row of docs/findings.md, which
is made of the table below. Kubernetes asks for UpperCamelCase words (API reference, Condition v1, reason).
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from f5router.model import texts
from f5router.model.meanings import GATEWAY_MEANINGS, Effect, Fixer, Meaning

PAGE = "docs/findings.md"


class Link(StrEnum):
    """A link of the chain from a client to a pod."""

    DEVICE = "BIG-IP"
    CLUSTER = "cluster"
    ROUTE = "route"
    VIRTUAL_SERVER = "virtual server"
    CERTIFICATE = "certificate"
    RULE = "rule"
    POOL = "pool"
    MEMBER = "member"
    NODE = "node"
    REQUEST = "request"


NO_HOST, INVALID_HOST, CLAIMED = "NoHostValue", "InvalidHost", "HostAlreadyClaimed"
NOT_ADMITTED, INVALID, EXTERNAL = (
    "RouteNotAdmitted", "ExtendedValidationFailed", "ExternalCertificateValidationFailed")
DEVICE_REJECTED, DEVICE_PENDING = "DeviceRejected", "DevicePending"
NOT_SELECTED, OBJECT_NOT_FOUND, NOT_YET_READ = "NotSelected", "ObjectNotFound", "NotYetRead"
RULE_WITHOUT_HOST, NOT_SUPPORTED, DUPLICATE_PATH, SERVED_BY_ROUTE = (
    "NoHost", "NotSupported", "DuplicatePath", "ServedByRoute")
INVALID_INGRESS, INVALID_INGRESS_ROUTE, ORPHANED = "InvalidIngress", "InvalidIngressRoute", "Orphaned"
SERVER_MISSING, SERVER_DISABLED = "VirtualServerMissing", "VirtualServerDisabled"
ADDRESS_DISABLED = "VirtualAddressDisabled"
NODE_DISABLED, NO_MEMBER_UP, MONITOR_MISSING, NOT_A_BIGIP = (
    "LTMNodeDisabled", "NoMemberUp", "MonitorMissing", "NotABigIP")
ROUTES_REJECTED = "RoutesRejected"
BIGIP_SILENT, NOT_SAVED = "BigIPSilent", "ConfigurationNotSaved"
TOKEN_LIMIT, LOGIN_REFUSED = "TokenLimitReached", "LoginRefused"
LICENCE_EXPIRED, LICENCE_ENDS = "LicenceExpired", "LicenceEndsSoon"
API_UNREACHABLE, API_ERRORS = "APIServerUnreachable", "APIServerErrors"
KIND_NOT_READABLE = "KindNotReadable"
ROUTES_WITHOUT_PODS, REJECTIONS_RISE = "RoutesWithoutPods", "RejectionsRise"
CLOCK_DIFFERS, CERTIFICATE_ENDS = "ClockDiffers", "CertificateEndsSoon"
RULE_NOT_IN_PLACE, POOL_NOT_IN_PLACE, OBJECT_NOT_IN_PLACE, MEMBER_NOT_IN_PLACE = (
    "RuleNotInPlace", "PoolNotInPlace", "ObjectNotInPlace", "MemberNotInPlace")
MEMBER_LEFT_OUT, MEMBER_DOWN, MEMBER_DISABLED = "MemberLeftOut", "MemberDown", "MemberDisabled"
NODE_NOT_REACHED = "NodeNotReached"
NO_MEMBERS, HEALTH_NOT_READ = "PoolWithoutMembers", "HealthNotRead"
CONNECTIONS_SHARED, WRITES_REFUSED, ROUTER_TROUBLE = "ConnectionsShared", "WritesRefused", "RouterTrouble"
NOT_ANSWERED = "NotAnswered"

_L, _F, _N = Effect.LOST, Effect.FEWER, Effect.NONE
_T, _C, _B, _R = Fixer.TEAM, Fixer.CLUSTER, Fixer.BIGIP, Fixer.ROUTER

CATALOGUE: Mapping[str, Meaning] = {
    # The Route itself.
    NO_HOST: Meaning("`spec.host` is empty, and no setting gives the Route one", _L, _T,
                     "set spec.host, or ask the administrator for --hostname-template"),
    INVALID_HOST: Meaning("the host is not a valid name, or not one for a wildcard", _L, _T,
                          "correct the host as the message says"),
    CLAIMED: Meaning("another object holds the host and path", _L, _T,
                          "use another host or path, or have the other object removed"),
    NOT_ADMITTED: Meaning("the administrator's settings, or an annotation, exclude the Route", _L, _T,
                          "change what the message names, or ask the administrator to allow it"),
    INVALID: Meaning("the content of a field is wrong", _L, _T, "correct the field that the message names"),
    EXTERNAL: Meaning("the Secret with the certificate cannot be used", _L, _T,
                      "create or correct the Secret that the message names"),
    DEVICE_REJECTED: Meaning("the BIG-IP refused an object of the Route", _L, _T,
                             "change what the BIG-IP refuses; `f5router doctor` checks everything outside "
                             "the Route. The router tries again by itself"),
    DEVICE_PENDING: Meaning("the object waits for the BIG-IP", _L, _R,
                            "wait: the router tries again by itself; if it keeps failing, `f5router doctor` "
                            "shows the cause"),
    NOT_SELECTED: Meaning("a setting of the router leaves the object out", _L, _C,
                          "change the object, or the setting that the message names"),
    OBJECT_NOT_FOUND: Meaning("there is no object of this kind and name", _L, _T,
                              "correct the namespace or the name, or create the object"),
    NOT_YET_READ: Meaning("the object is newer than the lists of the cluster that were read", _L, _R,
                          "run the command again; a running router serves the object within seconds"),
    # Ingresses and IngressRoutes.
    RULE_WITHOUT_HOST: Meaning("a rule of the Ingress, or its default backend, has no host and is not served",
                               _L, _T, "give the rule a host; for a default backend of all hosts, have the "
                               "administrator name the namespace in --default-backend-namespaces"),
    NOT_SUPPORTED: Meaning("a part of the Ingress asks for what the BIG-IP cannot do, and is not served",
                           _L, _T, "change what the message names"),
    DUPLICATE_PATH: Meaning("an earlier path of the Ingress is the same", _N, _T, "remove one of them"),
    SERVED_BY_ROUTE: Meaning("a Route that OpenShift has made of the Ingress serves it", _N, _T, "nothing"),
    INVALID_INGRESS: Meaning("a field of the Ingress is wrong", _L, _T,
                             "correct the field that the message names"),
    INVALID_INGRESS_ROUTE: Meaning("the IngressRoute, or one that it delegates to, is invalid", _L, _T,
                                   "correct what the message names; `f5router explain ingressroute` shows "
                                   "the tree"),
    ORPHANED: Meaning("no root IngressRoute delegates to the IngressRoute", _L, _T,
                      "delegate to it from a root, or make it one with spec.virtualhost"),
    # The BIG-IP.
    SERVER_MISSING: Meaning("the virtual server is not there", _L, _B,
                            "create it, or name another with --f5-http-vserver and --f5-https-vserver; with "
                            "--f5-vserver-address the router creates it again by itself"),
    SERVER_DISABLED: Meaning("somebody has disabled the virtual server", _L, _B,
                             "enable it", "tmsh modify ltm virtual NAME enabled"),
    ADDRESS_DISABLED: Meaning("somebody has disabled the virtual address", _L, _B,
                              "enable it", "tmsh modify ltm virtual-address NAME enabled yes"),
    NODE_DISABLED: Meaning("an administrator has disabled LTM nodes of pool members, or forced them offline",
                           _F, _B,
                           "enable them", "tmsh modify ltm node NAME session user-enabled state user-up"),
    NO_MEMBER_UP: Meaning("no member of a pool answers its monitor", _L, _C,
                          "see its members and their monitor; all pools at once are down if the way to the "
                          "pods is", "tmsh show ltm pool NAME members"),
    MONITOR_MISSING: Meaning("the monitor of --f5-pool-monitor does not exist, so pools are refused", _L, _B,
                             "correct --f5-pool-monitor, or create the monitor; see those that there are",
                             "tmsh list ltm monitor"),
    NOT_A_BIGIP: Meaning("the server at --f5-host is no BIG-IP that the router can use", _L, _C,
                         "name the management address of a BIG-IP with --f5-host; if it is one, it is too "
                         "old; see its version", "tmsh show sys version"),
    ROUTES_REJECTED: Meaning("Routes of some teams are rejected because of their content", _L, _T,
                             "see which, and why", "f5router get routes"),
    CONNECTIONS_SHARED: Meaning("a OneConnect profile shares connections to pods between Routes whose TLS "
                                "towards the pods differs, so that one uses what another has verified",
                                _N, _B,
                                "take the profile from the virtual server; see its profiles",
                                "tmsh list ltm virtual NAME profiles"),
    WRITES_REFUSED: Meaning("the BIG-IP refuses objects of some Routes", _L, _R,
                            "see which, and the BIG-IP's words", "f5router get routes"),
    ROUTER_TROUBLE: Meaning("a check of the router that runs is not well", Effect.UNKNOWN, _R,
                            "read the message, and the log of the router",
                            "kubectl logs deployment/f5router"),
    BIGIP_SILENT: Meaning("the BIG-IP takes connections and does not answer", _N, _B,
                          "restart its REST daemon", "bigstart restart restjavad"),
    NOT_SAVED: Meaning("the BIG-IP has not saved its configuration, and would lose changes in a restart",
                       _N, _B, "read its words in the message, and make room if its disk is full; the "
                       "router saves again by itself", "tmsh show sys disk"),
    TOKEN_LIMIT: Meaning("the BIG-IP refuses the login, as its user has all the tokens that it may have", _N,
                         _B, "free them as the message says, or wait: they end within 20 minutes. Give each "
                         "program that uses iControl REST a user of its own"),
    LOGIN_REFUSED: Meaning("the BIG-IP refuses the router's user or password", _N, _B,
                           "correct them where the message says, and see if the user is locked",
                           "tmsh show auth login-failures"),
    LICENCE_EXPIRED: Meaning("the BIG-IP has no licence, or an expired one: it may refuse changes, and serve "
                             "nothing after a restart", _L, _B, "renew it with F5, then install it",
                             "tmsh install sys license registration-key KEY"),
    LICENCE_ENDS: Meaning("the licence of the BIG-IP ends within two weeks", _N, _B,
                          "renew it with F5, then install it",
                          "tmsh install sys license registration-key KEY"),
    CLOCK_DIFFERS: Meaning("clocks differ: a certificate that is valid by one is not by another, and logs do "
                           "not agree", _N, _C,
                           "let all machines follow the same time servers; see those of the BIG-IP",
                           "tmsh list sys ntp"),
    API_UNREACHABLE: Meaning("the API server gives no reply, so changes of Routes and pods wait", _N, _C,
                             "check the API server, and the network between it and the router",
                             "kubectl get --raw /readyz?verbose"),
    API_ERRORS: Meaning("the API server answers with errors, so changes of Routes and pods may wait", _N, _C,
                        "check the API server and its storage", "kubectl get --raw /readyz?verbose"),
    KIND_NOT_READABLE: Meaning("the router may not read a kind of the cluster, or it is not served; what was "
                               "read stays", _N, _C, "grant the right that the message names"),
    ROUTES_WITHOUT_PODS: Meaning("Routes have no pod that takes requests; the code behind each name is the "
                                 "cause", _L, _T, "see their causes", "f5router get routes -A"),
    REJECTIONS_RISE: Meaning("more Routes are rejected than at some time within the last hour", _L, _C,
                             "see why; correct a setting or a certificate of the router that has changed",
                             "f5router get routes -A"),
    CERTIFICATE_ENDS: Meaning("certificates end within a week", _N, _T, "renew them; see where each is",
                              "f5router get routes -o wide"),
    RULE_NOT_IN_PLACE: Meaning("a rule that leads the requests is not on the BIG-IP as it should be", _L, _R,
                               "a running router writes it within a minute; if it does not, see its log",
                               "kubectl logs deployment/f5router"),
    POOL_NOT_IN_PLACE: Meaning("the pool is not on the BIG-IP as it should be", _L, _R,
                               "a running router writes it within a minute; if it does not, see its log",
                               "kubectl logs deployment/f5router"),
    OBJECT_NOT_IN_PLACE: Meaning("an object that requests need is not on the BIG-IP as it should be", _L, _R,
                                 "a running router writes it within a minute; if it does not, see its log",
                               "kubectl logs deployment/f5router"),
    MEMBER_NOT_IN_PLACE: Meaning("a pod is not yet a member of the pool", _F, _R,
                                 "a running router writes it at once; if it does not, see its log",
                               "kubectl logs deployment/f5router"),
    MEMBER_LEFT_OUT: Meaning("the BIG-IP refuses some of the pods as members", _F, _B,
                             "change what the message names; it is most often an LTM node of somebody else"),
    MEMBER_DOWN: Meaning("the monitor of the BIG-IP gets no answer from a pod", _F, _T,
                         "check the pod, its port, and what the monitor of the pool asks for"),
    MEMBER_DISABLED: Meaning("an administrator has disabled a member, or its LTM node", _F, _B,
                             "enable the member in its pool, or its LTM node if that is disabled"),
    NODE_NOT_REACHED: Meaning("the way to the pods of a Node is broken", _F, _C,
                              "see the way to the pods of the Node", "f5router explain node NAME"),
    NO_MEMBERS: Meaning("the pool has no member that takes requests, and the cause is not known", _L, _T,
                        "the Service needs pods that are ready",
                        "kubectl get endpointslices -n {namespace}"),
    HEALTH_NOT_READ: Meaning("it is not known whether the members of the pool are up", Effect.UNKNOWN, _B,
                             "let the account of the router read statistics; `f5router doctor` checks its "
                             "rights"),
    NOT_ANSWERED: Meaning("a request gets no answer from the pods of the Route; the link before it has the "
                          "cause, if that is known", _L, _C,
                          "see what the BIG-IP does with the request", "f5router explain request NAME"),
    # Services and pods.
    texts.SERVICE_NOT_FOUND: Meaning("there is no such Service", _L, _T,
                                     "create the Service, or correct its name in the Route"),
    texts.PORT_NOT_FOUND: Meaning("the Service, or its endpoints, have no such port", _L, _T,
                                  "name a port that the pods have, as the message says"),
    texts.NO_NODE_PORT: Meaning("the Service has no node port, which this router needs", _L, _T,
                                "give the Service the type NodePort or LoadBalancer"),
    texts.NO_ENDPOINTS: Meaning("no pod of the Service is ready; clients get 503", _L, _T,
                                "see why the pods are not ready",
                                "kubectl get endpointslices -n {namespace}"),
    texts.SERVICE_IDLED: Meaning("the Service is idled, and requests do not wake it", _L, _T,
                                 "scale its workload up, as with oc scale"),
    texts.EXTERNAL_NAME: Meaning("the Service stands for a name outside the cluster, which is not looked up",
                                 _L, _T, "use a Service with endpoints of its own"),
    texts.ALL_WEIGHTS_ZERO: Meaning("no Service of the Route has a weight above 0", _L, _T,
                                    "give one Service of the Route a weight above 0"),
    texts.ADDRESSES_REFUSED: Meaning("addresses of endpoints may be no pool members", _F, _T,
                                     "use addresses of pods in the endpoints of the Service"),
    texts.PODS_NOT_REACHED: Meaning("pods are outside of every Node's network, or on another Node than the "
                                    "BIG-IP sends their packets to", _F, _C,
                                    "`f5router doctor` checks the way to the pods"),
    texts.TOO_MANY_ENDPOINTS: Meaning("the Service has more endpoints than a pool may have members", _F, _C,
                                      "raise --max-pool-members, or use fewer pods"),
    texts.UNSUPPORTED_PROTOCOL: Meaning("the pods want a protocol that the BIG-IP does not speak to them", _N,
                                        _T, "let the pods accept HTTP/1.1"),
    # The Route's options and certificates.
    texts.UNSUPPORTED_ANNOTATION: Meaning("an annotation has no effect in this router", _N, _T,
                                          "remove it; docs/annotations.md has those that work"),
    texts.TRANSLATED: Meaning("an annotation of another controller is in effect", _N, _T, "nothing"),
    texts.INVALID_OPTION: Meaning("the value of an option cannot be used, and is left out", _N, _T,
                                  "correct the value as the message says"),
    texts.OPTION_WITHOUT_EFFECT: Meaning("an option has no effect here", _N, _T,
                                         "remove it, or change what the message names"),
    texts.UNVERIFIED_PODS: Meaning("nothing verifies the certificates of the pods", _N, _T,
                                   "set spec.tls.destinationCACertificate"),
    texts.CERTIFICATE_NOT_USED: Meaning("a certificate of the object is not the one that clients get", _N, _T,
                                        "correct what the message names"),
    texts.SECRET_NOT_READ: Meaning("a Secret cannot be read; what was served stays", _N, _C,
                                   "grant the right that the message names"),
    texts.CERTIFICATE_EXPIRED: Meaning("the certificate has expired", _L, _T, "renew the certificate"),
    texts.CERTIFICATE_NOT_YET_VALID: Meaning("the certificate is not valid yet", _L, _T,
                                             "use a certificate that is valid now"),
    texts.CERTIFICATE_NAME_MISMATCH: Meaning("the certificate is for other names", _L, _T,
                                             "use a certificate that has {host} among its names"),
    texts.UNUSED_TLS_HOST: Meaning("no rule of the Ingress has this host of spec.tls", _N, _T,
                                   "add a rule with the host, or remove it from spec.tls"),
    texts.UNUSED_ANNOTATION: Meaning("an annotation is not used by the object's kind", _N, _T, "remove it"),
    texts.PATH_IS_TEXT: Meaning("a path looks like a regular expression, and is compared as text", _N, _T,
                                "write the path as text"),
    **GATEWAY_MEANINGS,
    texts.WARNING: Meaning("something is perhaps not as intended", _N, _T, "read the message"),
}
"""Meaning of each code."""

LICENCE_ENDING, CERTIFICATE_ENDING = timedelta(days=14), timedelta(days=7)
"""Time before an end from which on there is a warning."""

CAUSES_OF_EMPTY_POOLS = frozenset({
    texts.SERVICE_NOT_FOUND, texts.PORT_NOT_FOUND, texts.NO_NODE_PORT, texts.NO_ENDPOINTS,
    texts.SERVICE_IDLED, texts.EXTERNAL_NAME, texts.ALL_WEIGHTS_ZERO, texts.ADDRESSES_REFUSED})
"""Codes of warnings that leave a Service without members; the Route may have others."""


def page_of(code: str) -> str:
    """Return where docs have more about a code."""
    return f"{PAGE}#{code.lower()}"


def command_of(code: str, name: str = "") -> str:
    """Return the command of a code; "" for none. Args: name: of the object; "" leaves NAME."""
    command = CATALOGUE[code].command
    return command.replace("NAME", shlex.quote(texts.printable(name))) if name else command


@dataclass(frozen=True, slots=True)
class Finding:
    """Fact about an object, or about a link of its chain."""

    link: Link
    text: str
    """Text that begins with the field, or the object, that it is about."""
    code: str
    """A key of CATALOGUE."""
    effect: Effect
    at: str = ""
    """The object of the link: "/Common/v", "10.1.1.1 port 80"; "" for the link as a whole."""

    @property
    def loses(self) -> bool:
        """True if requests are lost, or nobody knows whether they are."""
        return self.effect in (Effect.LOST, Effect.UNKNOWN)

    @property
    def fixer(self) -> Fixer:
        """Return the one who can fix it."""
        return CATALOGUE[self.code].fixer

    def to_do(self, *, namespace: str, name: str, host: str) -> str:
        """Return how to fix it, with the names of the Route and of the object."""
        text = CATALOGUE[self.code].to_do.format(namespace=namespace, name=name, host=host)
        command = command_of(self.code, self.at).replace("{namespace}", namespace)
        return f"{text}: {command}" if command else text

    @property
    def page(self) -> str:
        """Return where docs have more about it."""
        return page_of(self.code)


def finding(link: Link, code: str, text: str, *, at: str = "", effect: Effect | None = None) -> Finding:
    """Return a Finding. Args: effect: another than that of its code."""
    return Finding(link, text, code, effect or CATALOGUE[code].effect, at)


def named(findings: Iterable[Finding]) -> str:
    """Return findings in one line, each with its code, as health checks and logs have them; "" for none."""
    return "; ".join(f"{each.code}: {each.text}" for each in findings)


def worst(findings: Iterable[Finding]) -> Finding | None:
    """Return the first finding that loses requests, else the first of all; None if there is none."""
    listed = list(findings)
    return next((each for each in listed if each.loses), next(iter(listed), None))


def loses(findings: Iterable[Finding]) -> bool:
    """True if one of these loses requests."""
    return any(each.loses for each in findings)
