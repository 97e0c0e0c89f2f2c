"""The virtual Routes of one Ingress: one for each path of a host; and warnings about its annotations.

Sources: Kubernetes, Ingress, "The Ingress resource", "Path types", "Hostname wildcards" and "TLS"; where
these leave it open, openshift/route-controller-manager, pkg/route/ingress/ingress.go, which makes Routes of
Ingresses on OpenShift, and OpenShift's documentation, "Creating a route through an Ingress object".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from f5router.admission import annotations, host_claims
from f5router.admission.annotations import AnnotatedOptions
from f5router.admission.foreign import translation
from f5router.admission.foreign.translation import Translation
from f5router.model import hostnames, names
from f5router.model.cluster import TLS_CRT, Key, Origin, PathMatch, PodAuthority, Route, Service
from f5router.model.findings import DUPLICATE_PATH as DUPLICATE
from f5router.model.findings import INVALID_INGRESS as INVALID
from f5router.model.findings import NOT_SUPPORTED as UNSUPPORTED
from f5router.model.findings import RULE_WITHOUT_HOST as NO_HOST
from f5router.model.findings import SERVED_BY_ROUTE as OWNED
from f5router.model.hostnames import quote
from f5router.model.ingress import (
    DESTINATION_CA,
    READ_ANNOTATIONS,
    TERMINATION,
    Ingress,
    IngressBackend,
    IngressPath,
)
from f5router.model.texts import (
    OPTION_WITHOUT_EFFECT,
    PATH_IS_TEXT,
    PORT_NOT_FOUND,
    SERVICE_NOT_FOUND,
    TRANSLATED,
    UNSUPPORTED_ANNOTATION,
    UNUSED_ANNOTATION,
    UNUSED_TLS_HOST,
    Problem,
)
from f5router.sources import contour_entries
from f5router.sources.ingress_tls import IngressTLSChoice
from f5router.sources.settings import IngressPolicy

_FIELD = "metadata.annotations: "


def foreign_warnings(translation: Translation, encrypted: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the warnings. Args: encrypted: hosts without spec.tls, and the annotation that asks for TLS."""
    if (translated := translation.translated) and not translation.refusals:
        verb = "are" if len(translated) > 1 else "is"
        yield Problem(TRANSLATED, f"{_FIELD}{annotations.listed(translated)} of another controller {verb} in "
                                  "effect, as docs/ingress.md says")
    if without := translation.without_effect:
        hints = dict.fromkeys(filter(None, map(annotations.hint, without[:annotations.MOST_KEYS])))
        verb = "have" if len(without) > 1 else "has"
        yield Problem(UNSUPPORTED_ANNOTATION, f"{_FIELD}{annotations.listed(without)} {verb} no effect: this "
                                              f"router does not carry them out{''.join(hints)[:300]}")
    if ignored := translation.ignored:
        verb = "are" if len(ignored) > 1 else "is"
        yield Problem(UNSUPPORTED_ANNOTATION, f"{_FIELD}{annotations.listed(ignored)} {verb} ignored, as "
                                              "the administrator has set it; nothing of it is enforced")
    if encrypted:
        host, key = next(iter(encrypted.items()))
        more = f" and {len(encrypted) - 1} more" if len(encrypted) > 1 else ""
        yield Problem(OPTION_WITHOUT_EFFECT, (
            f"{_FIELD}{key} asks for TLS and spec.tls has no entry for {quote(host)}{more}: the certificate "
            "is that of the virtual server"))


KIND = "Ingress"

TERMINATIONS = ("edge", "reencrypt", "passthrough")
_POLICY = IngressPolicy()
REDIRECT = 302
"""Status of a redirect to https for which an Ingress asks for no other."""


@dataclass(slots=True)
class Converted:
    """Result of a conversion."""

    routes: dict[Key, Route] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    """Why parts are not served."""


def services(ingress: Ingress) -> set[Key]:
    """Return the Services that an Ingress names."""
    backends = [path.backend for rule in ingress.rules for path in rule.paths or ()]
    if ingress.default_backend is not None:
        backends.append(ingress.default_backend)
    return {Key(ingress.key.namespace, backend.service) for backend in backends if backend.service}


def place(host: str, path: str) -> tuple[str, str]:
    """Return Host and path without the difference between what an Ingress and its Route have."""
    return host, path.rstrip("/")


def _route_host(host: str) -> tuple[str, bool]:
    """Return a Route's Host for the host of a rule, and whether it stands for a wildcard."""
    return (f"wildcard{host[1:]}", True) if host.startswith("*.") else (host, False)


def convert(ingress: Ingress, known: Mapping[Key, Service],
            owned: Mapping[tuple[str, str], Key] | None = None,
            policy: IngressPolicy = _POLICY) -> Converted:
    """Return the virtual Routes of an Ingress.

    Args:
        known: all Services.
        owned: by place: Routes that OpenShift's controller made of it, which serve it as long as they exist.
            It makes none for path type Exact, and for paths without Service or port.
    """
    return _Conversion(ingress, known, owned or {}, policy).run()


def _is_root(path: IngressPath) -> bool:
    """True if a path stands for all requests of its host."""
    return path.path_type != "Exact" and not path.path.strip("/")


class _Conversion:
    """The conversion of one Ingress."""

    def __init__(self, ingress: Ingress, known: Mapping[Key, Service],
                 owned: Mapping[tuple[str, str], Key], policy: IngressPolicy):
        self._ingress, self._services, self._owned = ingress, known, owned
        self._policy, self._annotations = policy, dict(ingress.annotations)
        self._termination = self._annotations.get(TERMINATION, "")
        self._translation = translation.translate(
            {key: text for key, text in ingress.annotations if key not in READ_ANNOTATIONS},
            policy.ignored_annotations)
        self._tls_of = IngressTLSChoice(
            ingress, self._termination, self._translation.draft, policy.insecure_policy)
        self._options: dict[str, AnnotatedOptions] = {}
        self._result = Converted()

    def run(self) -> Converted:
        """Convert all rules; a Host without a served rule is held."""
        self._convert()
        for reason, text in foreign_warnings(self._translation, self._tls_of.by_annotation):
            self._problem(reason, text)
        self._find_unused_tls()
        self._find_expressions()
        ingress, served = self._ingress, {route.host for route in self._result.routes.values()}
        for number, rule in enumerate(ingress.rules):
            host, wildcard = _route_host(rule.host)
            if host and host not in served and (rule.paths or ingress.default_backend or ingress.problem):
                served.add(host)
                held = host_claims.hold(ingress.key, KIND, ingress.uid, ingress.created, host,
                                        f"spec.rules[{number}].host", wildcard=wildcard)
                self._result.routes[held.key] = held
        return self._result

    def _convert(self) -> None:
        ingress = self._ingress
        if ingress.problem:
            self._problem(INVALID, ingress.problem)
            return
        if self._termination and self._termination not in TERMINATIONS:
            self._problem(INVALID, f"metadata.annotations: {TERMINATION} is {quote(self._termination)} but "
                                   f"must be one of {', '.join(TERMINATIONS)}; the Ingress is not served")
            return
        if self._termination != "reencrypt" and self._annotations.get(DESTINATION_CA):
            self._problem(UNUSED_ANNOTATION, f"metadata.annotations: {DESTINATION_CA} has no effect without "
                                            f"{TERMINATION} reencrypt")
        for number, rule in enumerate(ingress.rules):
            where = f"spec.rules[{number}]"
            if not rule.host:
                self._problem(NO_HOST, f"{where}.host: a rule without a host would get the requests of all "
                                       "hosts that nobody serves, of all teams; it is not served")
                continue
            for count, path in enumerate(rule.paths or ()):
                place_of_path = f"{where}.http.paths[{count}]"
                self._add(rule.host, path, where, place_of_path, f"{place_of_path}.backend")
        if ingress.default_backend is not None:
            self._add_default(ingress.default_backend)

    def _add_default(self, backend: IngressBackend) -> None:
        """Add the Routes for requests of the Ingress's hosts that none of its paths matches.

        Source: Kubernetes, Ingress, "DefaultBackend". Requests for hosts that no object names are not its
        own: they are those of all teams.
        """
        hosts: dict[str, str] = {}
        complete: set[str] = set()
        for number, rule in enumerate(self._ingress.rules):
            hosts.setdefault(rule.host, f"spec.rules[{number}]")
            if any(map(_is_root, rule.paths or ())):
                complete.add(rule.host)
        hosts.pop("", None)
        if not self._ingress.rules and self._policy.may_have_default_backend(self._ingress.key.namespace):
            self._add_for_all(backend)
        elif not hosts:
            self._problem(NO_HOST, "spec.defaultBackend: without a host it would get the requests of all "
                                   "hosts that nobody serves, of all teams; it is not served")
        for host, where in hosts.items():
            if host not in complete:
                path = IngressPath("", "Prefix", backend)
                self._add(host, path, where, "spec.defaultBackend", "spec.defaultBackend")

    def _add(self, host: str, path: IngressPath, rule: str, where: str, backend: str) -> None:
        """Add the Route of a path, or the reason why there is none.

        Args: rule, where, backend: fields of the Ingress, of the host, of the path and of what serves it.
        """
        matched = self._match(path, where)
        port = self._port(path.backend, backend)
        refused = bool(self._annotated("").option_refusal)
        if matched is None or (port is None and not refused):
            return
        match, text = matched
        route_host, wildcard = _route_host(host)
        secured = self._tls_of.host(host)
        if secured is not None and secured.tls.termination == "passthrough":
            if not _is_root(path):
                self._report_unseen(host, path.backend, where)
                return
            text = ""  # an Ingress cannot be without a path, a passthrough Route cannot have one
        key = Key(self._ingress.key.namespace, names.virtual_route(
            KIND, self._ingress.key.name, f"{host} {match} {text}"))
        if key in self._result.routes:
            self._problem(DUPLICATE, f"{where}: another path of the Ingress is the same on {quote(host)}; "
                                     "the first one is served")
            return
        if match is PathMatch.SEGMENTS and (owned := self._owned.get(place(route_host, text))):
            self._problem(OWNED, f"{where}: Route {owned.name}, which OpenShift's controller made of this "
                                 "Ingress, serves it; delete the Route to have it served without")
            return
        annotated = self._annotated(secured.tls.termination if secured else "")
        self._result.routes[key] = Route(
            key=key, uid=self._ingress.uid, created=self._ingress.created,
            host=route_host,
            wildcard_policy="Subdomain" if wildcard else "None",
            path=text, path_match=match, service=path.backend.service, target_port=port or "",
            tls=secured.tls if secured else None, tls_secret=secured.secret if secured else None,
            pod_authority=self._pod_authority(path.backend.service),
            redirect_status=self._translation.draft.redirect_status or REDIRECT,
            minimum_tls=self._translation.draft.minimum_tls if secured and secured.tls.termination in (
                "edge", "reencrypt") else "",
            exclusive=bool(annotated.options.sources or annotated.option_refusal)
            or (secured is not None and secured.tls.insecure_policy == "None"),
            origin=Origin(KIND, self._ingress.key, where, f"{rule}.host",
                          tls_field=secured.field if secured else ""), **annotated._asdict())

    def _add_for_all(self, backend: IngressBackend) -> None:
        """Add the Route for hosts that nobody claims; without its Service they stay with the Ingress."""
        ingress, field, tls = self._ingress, "spec.defaultBackend", self._tls_of.all_hosts()
        held = host_claims.hold(ingress.key, KIND, ingress.uid, ingress.created, hostnames.ANY, field)
        held = replace(held, default_backend=True)
        annotated, port = self._annotated(tls.termination), self._port(backend, field)
        if tls.termination == "passthrough":
            self._problem(UNSUPPORTED, f"{field}: passthrough termination needs a host")
        if tls.termination == "passthrough" or (port is None and not annotated.option_refusal):
            self._result.routes[held.key] = held
            return
        if tls.insecure_policy == "None":
            self._problem(OPTION_WITHOUT_EFFECT, f"{field}: requests without TLS are neither served nor "
                                                 "redirected: a redirect needs a host")
        key = Key(ingress.key.namespace, names.virtual_route(KIND, ingress.key.name, hostnames.ANY))
        self._result.routes[key] = replace(
            held, key=key, path="", path_match=PathMatch.SEGMENTS, service=backend.service,
            target_port=port or "", tls=tls, pod_authority=self._pod_authority(backend.service),
            minimum_tls=self._translation.draft.minimum_tls, **annotated._asdict())

    def _report_unseen(self, host: str, backend: IngressBackend, where: str) -> None:
        """Report a path of a passthrough host, unless its requests go to its backend anyway."""
        roots = [path.backend for rule in self._ingress.rules if rule.host == host
                 for path in rule.paths or () if _is_root(path)]
        root = next(iter(roots), self._ingress.default_backend)
        if backend != root:
            self._problem(UNSUPPORTED, (
                f"{where}: passthrough termination does not support paths: the BIG-IP cannot see them; "
                + ("path / of the host serves all its requests" if root else "the host needs a path /")))

    def _match(self, path: IngressPath, where: str) -> tuple[PathMatch, str] | None:
        """Return how a path matches; None if it cannot be served."""
        match path.path_type:
            case "Prefix":  # by elements; a trailing slash does not count
                return PathMatch.SEGMENTS, path.path.rstrip("/")
            case "Exact" if path.path:
                return PathMatch.EXACT, path.path
            case "ImplementationSpecific" | "":
                return PathMatch.SEGMENTS, path.path
        self._problem(INVALID, f"{where}.pathType: {quote(path.path_type)} with path {quote(path.path)}")
        return None

    def _port(self, backend: IngressBackend, field: str) -> str | None:
        """Return the port as Route.target_port; None if it is not there.

        Endpoints have the name of a Service's port, not its number: a Service may map 80 to 8080.
        """
        if backend.resource:
            self._problem(UNSUPPORTED, f"{field}.resource: only Services are supported")
            return None
        name = f"{field}.service"
        service = self._services.get(Key(self._ingress.key.namespace, backend.service))
        if service is None:
            self._problem(SERVICE_NOT_FOUND, f"{name}: Service {quote(backend.service)} does not exist")
            return None
        for port in service.ports:
            wanted = (port.name == backend.port_name if backend.port_name
                      else port.port == backend.port_number)
            if wanted and port.protocol == "TCP":
                return port.name
        shown = quote(backend.port_name) if backend.port_name else backend.port_number
        self._problem(PORT_NOT_FOUND, (
            f"{name}.port: Service {quote(backend.service)} has no TCP port {shown}"))
        return None

    def _pod_authority(self, service: str) -> PodAuthority | None:
        """Return the Secret by which the pods are verified; None without one.

        Source: openshift/route-controller-manager, pkg/route/ingress/ingress.go:
        destinationCACertificateForIngress.
        """
        name = self._annotations.get(DESTINATION_CA)
        if self._termination != "reencrypt" or not name:
            return self._tls_of.authority(service)
        return PodAuthority(Key(self._ingress.key.namespace, name), TLS_CRT,
                            f"metadata.annotations: {DESTINATION_CA} {quote(name)}")

    def _find_unused_tls(self) -> None:
        """Report hosts of spec.tls that no rule has: a host that is spelled wrong there would lack TLS."""
        hosts = {rule.host for rule in self._ingress.rules}
        hosts |= {hostnames.wildcard(host) for host in hosts}
        unused = [host for entry in self._ingress.tls for host in entry.hosts if host not in hosts]
        if unused:
            more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
            self._problem(
                UNUSED_TLS_HOST,
                f"spec.tls: no rule has the host {quote(unused[0])}{more}; it has no effect")

    def _find_expressions(self) -> None:
        """Report paths that look like regular expressions: those who wrote them expect other requests."""
        meant = [(f"spec.rules[{number}].http.paths[{count}].path", path.path)
                 for number, rule in enumerate(self._ingress.rules)
                 for count, path in enumerate(rule.paths or ())
                 if contour_entries.resembles_expression(path.path)]
        if meant:
            (field, first), *others = meant
            more = f"; so are {len(others)} more" if others else ""
            self._problem(PATH_IS_TEXT, f"{field}: {quote(first)} {contour_entries.EXPRESSION_WARNING}{more}")

    def _annotated(self, termination: str) -> AnnotatedOptions:
        if termination not in self._options:
            own = annotations.parse(self._annotations, termination)
            self._options[termination] = translation.merged(own, self._translation, termination)
        return self._options[termination]

    def _problem(self, reason: str, message: str) -> None:
        self._result.problems.append(Problem(reason, message))
