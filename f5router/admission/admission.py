"""Evaluation of a single Route: may it be served? host_claims.py resolves competing claims to its Host.

Sources: openshift/router, pkg/router/controller: host_admitter.go, unique_host.go and
extended_validator.go; for the chain of the original router
openshift/origin v3.11.0, pkg/cmd/infra/router/f5.go: F5RouterOptions.Run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from f5router.admission import certificates, route_options, validation
from f5router.model import hostnames
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import (
    OPAQUE,
    TLS_SECRET,
    Key,
    PodAuthority,
    Route,
    Secret,
    is_object_name,
)
from f5router.model.findings import EXTERNAL, INVALID, INVALID_HOST, NO_HOST, NOT_ADMITTED
from f5router.model.hostnames import expanded, quote, within
from f5router.model.secret_keys import referent


@dataclass(frozen=True, slots=True)
class Naming:
    """How a Route without a host, or every Route, gets its Host."""

    domain: str = ""
    """Domain of Routes with spec.subdomain; "" for none."""
    template: str = ""
    """Valid template for `expanded`; "" for none."""
    override: bool = False
    """True if the template overrides spec.host."""
    override_domains: frozenset[str] = frozenset()
    """Domains in which the template overrides spec.host in any case."""

    def host(self, route: Route) -> tuple[str, str]:
        """Return the Host of a Route, "" for none, and its source: a field or the setting.

        A template has the name of the object that claims the Host: of a virtual Route never its own.
        """
        host, source = route.host, "spec.host"
        if not host and route.subdomain and self.domain:
            host, source = f"{route.subdomain}.{self.domain}", "spec.subdomain"
        if self.template and (self.override or not host or within(host, self.override_domains)):
            claimant = route.claimant
            return expanded(self.template, claimant.name, claimant.namespace), "--hostname-template"
        return host, source


LISTED_CLIENTS = 10_000
"""Entries of all lists of clients in a namespace; further Routes are refused. See namespace_limits.py."""
HTTP_OPTIONS = 200_000
"""Likewise, characters of their options for requests and responses: 25 times the most of one Route."""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """Rules of admission, set by the administrator; docs/configuration.md."""

    ownership: bool = True
    """A host belongs to the namespace of its oldest Route, with all paths."""
    naming: Naming = field(default_factory=Naming)
    allowed: frozenset[str] = frozenset()
    """Domains that are admitted; empty for all."""
    denied: frozenset[str] = frozenset()
    """Domains that are refused, even if `allowed` has them."""
    wildcards: bool = False
    """Admit Routes with wildcardPolicy Subdomain."""
    extended: bool = True
    """Apply the rules of upstream's validator."""
    external: bool = True
    """Use certificates from the Secrets that Routes name."""
    waf_policies: route_options.Allowed = field(default_factory=dict, hash=False)
    """WAF policies that the virtual servers enforce, and which Routes may name them."""
    listed_clients: int = LISTED_CLIENTS
    """Entries of all lists of clients in a namespace."""
    http_options: int = HTTP_OPTIONS
    """Characters of all options for requests and responses in a namespace."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Reason why a Route is not admitted: an upstream reason, or a reason of docs/route-status.md."""

    reason: str
    message: str
    """Text for the tenant."""
    holder: Key | None = field(default=None, compare=False)
    """The Route that holds the Host, not for the tenant, who sees names of his namespace only."""
    claimant_message: str = ""
    """Text for the tenant of the object that claims the Host, where it is another one's; "" if both are
    alike."""
    protects: bool = False
    """True if it asks for a protection that it cannot have: no other Route may get its requests."""
    of_owner: bool = field(default=False, compare=False)
    """True if it is about the object that has the entry alone, not about the one that claims the Host."""


@dataclass(frozen=True, slots=True)
class EvaluatedRoute:
    """A Route with the result of its evaluation: its claim and, when it is valid, its TLS key pair."""

    route: Route
    """The Route with its Host, given or made by the router."""
    rejection: Rejection | None = None
    """Why it is invalid by itself; it may still hold its host."""
    claims: bool = True
    """True if it claims its host."""
    key_pair: TLSKeyPair | None = field(default=None, repr=False)
    destination_ca: str = ""
    """PEM, re-encoded; "" without one."""
    source: str = "spec.host"
    """Field or setting that its Host comes from."""
    pending_secret: Secret | None = None
    """The Secret with its certificate, while the content is not known."""
    pending_authority: Secret | None = None
    """The Secret with the authorities for its pods, while the content is not known; then `pending` too."""
    pending: bool = False
    """True while its certificates are not checked: its validity is not known."""
    unread_certificate: str = ""
    """Why the Secret with its certificate cannot be read, which may be in use; "" if it can."""
    unread_authority: str = ""
    """The same for the Secret with the authorities for its pods."""

    @property
    def wildcard(self) -> bool:
        """True if it claims all hosts of one label below its domain, or all that there are below it."""
        return self.route.wildcard_policy in ("Subdomain", hostnames.ANY_DEPTH)

    @property
    def is_for_any_depth(self) -> bool:
        """True if it claims all hosts below its domain at any depth, or all hosts."""
        return self.route.wildcard_policy == hostnames.ANY_DEPTH or self.route.host == hostnames.ANY

    @property
    def host(self) -> str:
        """Host that it claims; "*.example.com" for a wildcard Route."""
        return hostnames.wildcard(self.route.host) if self.wildcard else self.route.host

    @property
    def subdomain(self) -> str:
        """Domain whose Routes compete for its Hosts."""
        return hostnames.parent(self.route.host)

    @property
    def termination(self) -> str:
        """"", edge, reencrypt or passthrough."""
        return validation.terminates(self.route)

    @property
    def is_ended(self) -> bool:
        """True if its TLS ends on the BIG-IP, and its pods get what is in the connections, whatever that is.

        It is one of passthrough otherwise: of a Host, and without requests.
        """
        return self.termination == "passthrough" and self.route.tls_secret is not None

    @property
    def waits(self) -> bool:
        """True if what may serve it stays as it is, until its certificates are read and checked."""
        return self.pending or (self.is_ended and self.pending_secret is not None)

    @property
    def needs_default_ca(self) -> bool:
        """True if nothing but the administrator's authorities can verify its pods."""
        return self.asks_over_tls and not self.destination_ca and not self.pending

    @property
    def asks_over_tls(self) -> bool:
        """True if its pods are asked over TLS by the BIG-IP, whatever clients speak."""
        return self.termination == "reencrypt" or (self.route.pods_speak_tls and not self.termination)

    @property
    def awaits_certificate(self) -> bool:
        """True if it is not known yet which certificate it brings, if any."""
        own = self.route.secret or (self.route.tls and self.route.tls.certificate)
        return self.pending_secret is not None or (self.pending and bool(own))

    @property
    def insecure(self) -> str:
        """Policy of port 80: None, Allow or Redirect; Allow for a Route without TLS."""
        if not self.termination or self.route.tls is None:
            return "Allow"
        policy = self.route.tls.insecure_policy
        return policy if policy in validation.INSECURE.get(self.termination, ()) else "None"


_IN_SECRET = "spec.tls.externalCertificate"
"""Field at which problems of a certificate in a Secret begin."""
_NO_SECRETS: Mapping[Key, Secret] = {}
_PLAIN = validation.ValidationResult()
"""Result for a Route that is valid and brings no certificates."""


def check(route: Route, settings: AdmissionPolicy, secrets: Mapping[Key, Secret] = _NO_SECRETS,
          checker: certificates.CertificateChecker = certificates.check, *,
          refusal: str = "") -> EvaluatedRoute:
    """Evaluate one Route by itself, including a check of its certificates.

    A bug in the evaluation of one Route neither stops the evaluation of others nor gives its host away.

    Args:
        secrets: those that are known.
        checker: checks its certificates, or returns None while the result is not known.
        refusal: why its options cannot be applied, for reasons outside of the Route; "" if they can be.
    """
    evaluated = _check(route, settings, secrets, checker, refusal)
    if (rejection := evaluated.rejection) is None or route.origin is None:
        return evaluated
    message, of_claimant = ("; ".join(validation.field_of_origin(route, problem)
                                      for problem in text.split("; "))
                            for text in (rejection.message, rejection.claimant_message))
    return replace(evaluated, rejection=replace(rejection, message=message, claimant_message=of_claimant))


def _check(route: Route, settings: AdmissionPolicy, secrets: Mapping[Key, Secret],
           checker: certificates.CertificateChecker, refusal: str) -> EvaluatedRoute:
    try:
        claim = _claim(route, settings)
    except Exception as exc:
        return EvaluatedRoute(route, _fault(exc), claims=False)
    if not claim.claims:
        return claim
    try:
        refusal = _waf_refusal(claim, settings) or route.option_refusal or refusal
        rejection = Rejection(NOT_ADMITTED, refusal, protects=True,
                              of_owner=refusal == route.option_refusal)
        return replace(claim, rejection=rejection) if refusal else _valid(claim, settings, secrets, checker)
    except Exception as exc:
        return replace(claim, rejection=_fault(exc))


def _claim(route: Route, settings: AdmissionPolicy) -> EvaluatedRoute:
    """Assign the Host of a Route, with a rejection if the Route may not claim the Host."""
    if route.default_backend:  # by leave of the administrator, who has named its namespace
        return EvaluatedRoute(route, source="spec.defaultBackend")
    host, source = settings.naming.host(route)
    claim = EvaluatedRoute(replace(route, host=host) if host != route.host else route, source=source)
    refusal = _refusal(claim, settings)
    return replace(claim, rejection=refusal, claims=False) if refusal else claim


def _refusal(claim: EvaluatedRoute, settings: AdmissionPolicy) -> Rejection | None:
    """Return why a Route may not claim its Host; None if it may."""
    host, wildcard, policy = claim.route.host, claim.wildcard, claim.route.wildcard_policy
    if refusal := _domain_refusal(host, settings):
        return Rejection(NOT_ADMITTED, f"{claim.source}: {quote(host)}: {refusal}")
    if policy == "Subdomain" and not settings.wildcards:
        return Rejection(NOT_ADMITTED, "spec.wildcardPolicy: wildcard routes are not allowed")
    if not wildcard and policy != "None":
        return Rejection(NOT_ADMITTED, f"spec.wildcardPolicy: unknown wildcard policy {quote(policy)}")
    if not host:
        return Rejection(NO_HOST, "spec.host: no host value was defined for the route")
    name = host.removeprefix("*.") if policy == hostnames.ANY_DEPTH else host
    if problem := hostnames.problem(name) or (hostnames.wildcard_problem(host) if wildcard else ""):
        return Rejection(INVALID_HOST, f"{claim.source}: {quote(host)}: {problem}{_hint(claim, host)}")
    return None


def _hint(claim: EvaluatedRoute, host: str) -> str:
    """Return the right form of *.example.com, which a Route's host cannot be; "" for other hosts."""
    below = host.removeprefix("*.")
    if claim.source != "spec.host" or below == host or hostnames.problem(below):
        return ""
    return (f"; for all hosts of one label below {below} set spec.host to wildcard.{below} and "
            "spec.wildcardPolicy to Subdomain")


def _valid(claim: EvaluatedRoute, settings: AdmissionPolicy, secrets: Mapping[Key, Secret],
           checker: certificates.CertificateChecker) -> EvaluatedRoute:
    """Evaluate the other fields of a Route that claims its Host."""
    route, used, pods = claim.route, None, None
    if route.secret is not None and (settings.external or route.tls_secret is not None):
        used = secrets.get(route.secret) or Secret(route.secret, not_loaded=True)
        if refusal := _secret_refusal(used):
            text = f"{_IN_SECRET}: {refusal}"
            return replace(claim, rejection=_for_team(route, Rejection(EXTERNAL, text), [text]))
    if (authority := route.pod_authority) is not None:
        pods = secrets.get(authority.secret) or Secret(authority.secret, not_loaded=True)
        if refusal := _authority_refusal(pods, authority):
            return replace(claim, rejection=Rejection(
                EXTERNAL, f"{authority.field}: {refusal}", of_owner=True))
    if used or pods:
        claim = replace(claim, pending_secret=used if used and used.not_loaded else None,
                        unread_certificate=(used.unread or used.problem) if used else "",
                        unread_authority=(pods.unread or pods.problem) if pods else "")
    if pods is not None and pods.not_loaded:
        return replace(claim, pending=True, pending_authority=pods)
    result = validation.check(route, extended=settings.extended, secret=used, pods=pods, checker=checker)
    if result == _PLAIN:
        return claim
    rejection = _for_team(
        route, Rejection(INVALID, "; ".join(result.problems)), result.problems) if result.problems else None
    return replace(claim, rejection=rejection, key_pair=result.certificates.key_pair,
                   destination_ca=result.certificates.destination_ca, pending=result.pending)


def _for_team(route: Route, rejection: Rejection, problems: Sequence[str]) -> Rejection:
    """Return a rejection as a Route's team may see it. Args: problems: the problems in its message.

    A team that serves a path of another namespace's Host learns nothing of the Secret of that.
    """
    of_secret = [problem for problem in problems if problem.startswith(_IN_SECRET)]
    rejection = replace(rejection, of_owner=not of_secret)
    if not of_secret or route.claim_namespace == route.key.namespace:
        return rejection
    own = [problem for problem in problems if problem not in of_secret]
    return replace(
        rejection, message="; ".join([*own, "spec.tls: the certificate of the host cannot be used"]),
        claimant_message="; ".join(of_secret))


def _waf_refusal(claim: EvaluatedRoute, settings: AdmissionPolicy) -> str:
    route = claim.route
    return route_options.waf_refusal(
        route.waf, route.key.namespace, claim.termination, settings.waf_policies)


def _fault(exc: Exception) -> Rejection:
    return Rejection(INVALID, f"spec: it cannot be evaluated ({type(exc).__name__})")


def _domain_refusal(host: str, settings: AdmissionPolicy) -> str:
    """Return why the domain lists refuse a Host; "" if they do not.

    Source: openshift/router, hostInDomainList.
    """
    if hostnames.within(host, settings.denied):
        return "host in list of denied domains"
    if host and settings.allowed and not hostnames.within(host, settings.allowed):
        return "host not in the allowed list of domains"
    return ""


def _secret_refusal(secret: Secret) -> str:
    """Return why a Secret cannot be used. Source: openshift/router, ValidateTLSExternalCertificate."""
    name = secret.key.name
    if not is_object_name(name):
        return f"Secret {quote(name)} not found"
    if secret.not_loaded:
        return ""
    if secret.problem:
        return secret.problem
    if secret.type != TLS_SECRET:
        return f"Secret {quote(name)} is of type {quote(secret.type)}; {TLS_SECRET} is required"
    return ""


def _authority_refusal(secret: Secret, authority: PodAuthority) -> str:
    """Return why a Secret cannot be used that is to have authorities for pods; "" if it can.

    Sources: openshift/route-controller-manager, pkg/route/ingress/ingress.go:
    destinationCACertificateForIngress, which then serves without; projectcontour/contour v1.5.1,
    internal/dag/secret.go: isValidSecret, and internal/dag/builder.go: lookupUpstreamValidation.
    """
    kind, name = referent(secret.key)
    if not is_object_name(name) or secret.problem == f"{kind} {quote(name)} not found":
        return f"{kind} not found"
    if secret.not_loaded or secret.problem:
        return "" if secret.not_loaded else secret.problem
    if secret.type not in (TLS_SECRET, OPAQUE):
        return f"Secret type is {quote(secret.type)}; {TLS_SECRET} and {OPAQUE} are possible"
    return "" if secret.text(authority.entry).strip() else f'empty "{authority.entry}" key'
