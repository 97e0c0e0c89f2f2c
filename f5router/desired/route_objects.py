"""BIG-IP objects that serve the admitted Routes of one Host."""

from collections.abc import Iterable
from dataclasses import replace

from f5router.admission import validation
from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.host_claims import ClaimResult
from f5router.desired import (
    baseline,
    client_tls,
    connections,
    default_backend,
    default_certificate,
    edge,
    front_ends,
    option_objects,
    pools,
    protection,
    route_tls,
    rules,
    tcp_objects,
)
from f5router.desired.contributions import HostObjects
from f5router.desired.default_certificate import NO_DEFAULT
from f5router.desired.pools import PoolKey, PoolSettings
from f5router.desired.settings import DesiredSettings
from f5router.model import hostnames, names, request_match, sni_records, tls_names
from f5router.model.cluster import Key, PathMatch, Route
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.findings import DEVICE_REJECTED, NOT_ADMITTED
from f5router.model.front_end_names import named
from f5router.model.limits import Steps
from f5router.model.ltm import (
    Attachment,
    CheckedRedirect,
    ClientSSL,
    Forward,
    Object,
    Record,
    Redirect,
    Rule,
    record_ref,
    rule_ref,
)
from f5router.model.objects import Ref, common_path, shared
from f5router.model.small import compact
from f5router.model.texts import OPTION_WITHOUT_EFFECT, Problem

Action = Forward | Redirect | CheckedRedirect
ROUTES_OF_A_STEP = 20
"""Routes of a Host whose objects are made in one step."""


def host_objects(host: str, checked: Iterable[EvaluatedRoute], claims: ClaimResult, config: DesiredSettings,
                 facts: DeviceFacts) -> Steps[HostObjects]:
    """Build the objects of one Host's Routes in steps of some Routes each.

    A rejected Route adds its reason, and where it lacks a protection what keeps its requests from others.
    """
    checked = [default_backend.on_existing_ports(each, config) for each in checked]
    verdicts = {c.route.key: claims.verdicts[c.route.key] for c in checked}
    admitted = [c for c in checked if verdicts[c.route.key] is None]
    admitted.sort(key=lambda c: (c.route.age, c.route.key))
    builder = _HostBuilder(host, admitted, claims, config, facts, sni_records.name_of(
        host, any_depth=any(c.is_for_any_depth for c in checked)))
    builder.add_certificate()
    for evaluated in (c for c in checked if (refused := verdicts[c.route.key]) and refused.protects):
        builder.closing[evaluated.route.key] = builder.close(evaluated)
    for number, evaluated in enumerate(admitted, start=1):
        builder.add_pending(evaluated) if evaluated.waits else builder.add_route(evaluated)
        if number % ROUTES_OF_A_STEP == 0:
            yield
    builder.add_last(checked)
    closing = {rule.ref: rule for rule in default_backend.closing_rules(
        host, checked, claims, builder.objects.values(), config, facts)}
    builder.objects |= closing
    builder.undetermined |= default_backend.awaiting(closing.values(), checked)
    uses = builder.uses if not config.front_ends else {
        key: used | front_ends.answering(used, config, facts) for key, used in builder.uses.items()}
    return HostObjects(
        compact(front_ends.with_attachments(builder.objects, config, facts)), compact(builder.pools),
        compact(uses),
        compact({key: rejection for key, rejection in verdicts.items() if rejection is not None}),
        compact(builder.faults), compact(builder.warnings), compact(builder.pool_of),
        front_ends.on_all(builder.undetermined, config), compact(builder.closing), builder.default,
    )


class _HostBuilder:
    """Collects the objects of one Host."""

    def __init__(self, host: str, admitted: list[EvaluatedRoute], claims: ClaimResult,
                 config: DesiredSettings, facts: DeviceFacts, record: str):
        """Args: admitted: Routes of the Host, oldest first. record: name of its passthrough record."""
        self.host, self.admitted, self.config, self.facts, self._hosts = (
            host, admitted, config, facts, frozenset({host}))
        self.wildcards = () if host.startswith("*.") else claims.on_port_80
        self.wildcard = host.startswith("*.")
        self._record, self._claims = record, claims
        self._passed_by_depth = host != hostnames.ANY and (
            claims.is_passed_around or (claims.passes_below and not self.wildcard))
        """True if a wildcard of any depth would pass the Host's TLS through."""
        self.needs_exclusion = (claims.passthrough and not self.wildcard) or self._passed_by_depth
        self._tls_around = (claims.on_port_443 or claims.passthrough) and not self.wildcard
        self.objects: dict[Ref, Object] = {}
        self.pools: dict[PoolKey, PoolSettings] = {}
        self.pool_of: dict[Key, PoolKey] = {}
        self._pod_tls: dict[str, route_tls.PodTLS] = {}
        """By digest."""
        self.uses: dict[Key, frozenset[Ref]] = {}
        self.closing: dict[Key, frozenset[Ref]] = {}
        self.faults: dict[Key, Rejection] = {}
        self.warnings: dict[Key, tuple[Problem, ...]] = {}
        self.undetermined = self._certificate = shared(frozenset())
        self.default = NO_DEFAULT
        self._minimum_tls = ""
        """Lowest version of TLS that the Route asks for which brings the certificate."""

    def add(self, obj: Object) -> Ref:
        ref = obj.ref
        self.objects[ref] = obj
        return ref

    def _add_all(self, objects: Iterable[Object]) -> set[Ref]:
        return {self.add(obj) for obj in objects}

    def add_certificate(self) -> None:
        """Add the client SSL profile of the Host, from its oldest Route that brings a certificate."""
        virtual = self.config.https_virtual
        bring = [c for c in self.admitted if c.key_pair or c.awaits_certificate]
        if not bring or virtual is None:
            return
        if self.host == hostnames.ANY:
            self.default = default_certificate.brought_by(bring)
            self._certificate = frozenset({default_certificate.profile_ref(self.config)})
            self.undetermined = self._certificate if bring[0].awaits_certificate else self.undetermined
            return
        path = tls_names.client_ssl(self.config.folder, self.host, self.config.front_end)
        originals = dict(self.facts.https.original_client_ssl) if self.facts.https else {}
        attachment = Attachment(virtual, "profiles", path, ClientSSL.KIND, "clientside",
                                replaces=originals.get(self.host, ""))
        self._certificate = frozenset({attachment.ref})
        if self.config.strict_sni:
            shown = baseline.server_name_record(self.config, self.host, attachment.ref)
            self._certificate |= {self.add(shown)}
        if bring[0].awaits_certificate:
            self.undetermined = frozenset({Ref(ClientSSL.KIND, path), attachment.ref})
        for evaluated in bring:
            if evaluated.key_pair is not None:
                self._minimum_tls = "" if self._fault(evaluated) else evaluated.route.minimum_tls
                parent, objects = client_tls.parent_with(self.config, self.facts, self._minimum_tls)
                self._add_all([attachment, *objects, *route_tls.client_ssl(
                    self.config, path, self.host, tls_names.certificate_key(evaluated.route),
                    evaluated.key_pair, parent)])
                break

    def add_route(self, evaluated: EvaluatedRoute) -> None:
        route, termination = evaluated.route, evaluated.termination
        if route.match == request_match.NO_REQUEST:
            self.uses[route.key] = self._certificate
            return
        if fault := self._fault(evaluated):
            self.faults[route.key] = fault
            self.uses[route.key] = self.close(evaluated) if route.exclusive else frozenset()
            return
        for reason, text in (
                *route_tls.certificate_warnings(evaluated, self._minimum_tls, self.config),
                *option_objects.warnings(evaluated, self.admitted, self.config, self.facts),
                *route_tls.secret_warnings(evaluated), *route_tls.pods_warnings(evaluated, self.config)):
            self._warn(route, reason, text)
        used: set[Ref] = set()
        tls, forward = self._towards_pods(evaluated)
        if termination == "passthrough":
            used |= self._passthrough(evaluated, forward.pool)
        elif termination:
            certificate = self._certificate if evaluated.key_pair else frozenset()
            used |= self._rules(evaluated, self.facts.https, names.SECURE_POLICY,
                                self._with_options(evaluated, forward, secure=True),
                                dependencies=certificate, tls=tls)
        used |= self._insecure(evaluated, forward, tls, after=frozenset(used))
        if route.exclusive:
            used |= self.close(evaluated, termination, evaluated.insecure)
        used |= self._add_all(option_objects.timeouts(evaluated, forward.pool, self.config))
        if self.needs_exclusion and termination not in ("", "passthrough"):
            used.add(self._exclusion(evaluated))
        self.uses[route.key] = frozenset(used)

    def add_pending(self, evaluated: EvaluatedRoute) -> None:
        """Mark as undetermined what may serve a Route, until its certificates are checked."""
        if self.config.https_virtual is None and evaluated.termination:
            self.add_route(evaluated)
            return
        for reason, text in route_tls.secret_warnings(evaluated):
            self._warn(evaluated.route, reason, text)
        key, group = evaluated.route.key, self._full(names.PASSTHROUGH_GROUP)
        if evaluated.route.match == request_match.NO_REQUEST:
            self.uses[key] = self._certificate
            return
        if evaluated.is_ended:
            self._await_ended(evaluated, record_ref(group, self._record))
            return
        secure = self._any_rules(evaluated, names.SECURE_POLICY)
        self.uses[key] = secure | self._any_rules(evaluated, names.INSECURE_POLICY)
        self.undetermined |= self.uses[key]
        if not self._passed_by_depth:
            self.undetermined |= {record_ref(group, self._record)}
        if self.needs_exclusion and evaluated.termination:
            self.add(Record(group, self._record, names.EXCLUSION, frozenset({min(secure)})))

    def _await_ended(self, evaluated: EvaluatedRoute, record: Ref) -> None:
        """Keep the record that is there for connections; without one they are reset, see `add_last`."""
        self.uses[evaluated.route.key] = self._certificate | {record}
        self.undetermined |= {record} if evaluated.route.service else set()
        self._add_all(connections.needed(evaluated.route, self._record, self.config))

    def _any_rules(self, evaluated: EvaluatedRoute, policy: str) -> frozenset[Ref]:
        """Return all Rules that a Route may have in a policy, whatever its path."""
        return frozenset(rule_ref(self._full(policy), names.rule(evaluated.route.key, number))
                         for number in range(rules.MOST_PATHS + 1))

    def _exclusion(self, evaluated: EvaluatedRoute) -> Ref:
        """Add the record that excepts the Host from a wildcard which passes TLS through."""
        needs = protection.taken_over(self.config, self.facts)
        needs |= self._certificate if evaluated.pending_secret else frozenset()
        record = Record(self._full(names.PASSTHROUGH_GROUP), self._record, names.EXCLUSION, needs)
        # It waits for a Secret only where all do.
        return record.ref if evaluated.pending_secret and record.ref in self.objects else self.add(record)

    def add_last(self, checked: Iterable[EvaluatedRoute]) -> None:
        """Add the passthrough record that the Host has whatever becomes of its Routes, if it needs one."""
        ref = record_ref(self._full(names.PASSTHROUGH_GROUP), self._record)
        if record := connections.last_record(checked, self._claims, self.objects.get(ref), self._record,
                                             self.config, self.facts, passed=self._passed_by_depth):
            self.add(record)

    def _insecure(self, evaluated: EvaluatedRoute, forward: Forward, tls: str, *,
                  after: frozenset[Ref]) -> set[Ref]:
        if evaluated.insecure == "None":
            answers = self.config.http_virtual and not (evaluated.route.exclusive or evaluated.route.port)
            return self._keep_silent(evaluated) if answers else set()
        if self.config.http_virtual is None:
            self._warn(evaluated.route, OPTION_WITHOUT_EFFECT,
                       "spec.tls.insecureEdgeTerminationPolicy: --f5-http-vserver is blank, port 80 is not "
                       "served")
            return set()
        if evaluated.insecure == "Redirect" and not evaluated.route.options.redirect_to:
            action, warning = rules.build_redirects(self.host, evaluated.route.redirect_status, self.facts)
            self._warn(evaluated.route, OPTION_WITHOUT_EFFECT, warning)
            return self._rules(evaluated, self.facts.http, names.INSECURE_POLICY, action, dependencies=after)
        return self._rules(evaluated, self.facts.http, names.INSECURE_POLICY,
                           self._with_options(evaluated, forward, secure=False), tls=tls)

    def _keep_silent(self, evaluated: EvaluatedRoute) -> set[Ref]:
        """Keep redirects of less specific Routes off a Route that wants nothing to answer on port 80."""
        route, covers = evaluated.route, rules.covers
        above = [c for c in self.admitted
                 if c.insecure != "None" and covers(c.route, route) and not self._fault(c)
                 and not (c.route.match or request_match.ANY_REQUEST).is_narrow]
        around = [c for c in self.wildcards if not self._fault(c) and (
                  covers(c.route, route) or covers(route, c.route))]
        if any(c.pending for c in (*above, *around)):
            self.undetermined |= self._any_rules(evaluated, names.INSECURE_POLICY)
            return set()
        redirected, serving = protection.in_clear_text(route, above, around)
        if not redirected:
            return set()
        tls, action = "", self._nowhere()
        if serving is not None:
            tls, forward = self._towards_pods(serving)
            action = self._with_options(serving, forward, secure=False)
        return self._rules(evaluated, self.facts.http, names.INSECURE_POLICY, action, tls=tls)

    def _nowhere(self) -> Action:
        return baseline.nowhere(self.config.folder, self.facts)

    def close(self, evaluated: EvaluatedRoute, served: str = "", insecure: str = "None") -> frozenset[Ref]:
        """Lead requests nowhere that another Route would get, on each port that this one does not serve."""
        secure, plain = protection.open_ports(evaluated, self.admitted, self.wildcards,
                                              secure=self._tls_around)
        action, refs = self._nowhere(), set[Ref]()
        if secure and not served and self.config.https_virtual is not None:
            refs |= self._rules(evaluated, self.facts.https, names.SECURE_POLICY, action)
            refs |= {self._exclusion(evaluated)} if self.needs_exclusion else set()
        if plain and insecure == "None" and self.config.http_virtual is not None:
            refs |= self._rules(evaluated, self.facts.http, names.INSECURE_POLICY, action)
        return frozenset(refs)

    def _rules(
        self, evaluated: EvaluatedRoute, virtual: VirtualFacts | None, policy: str,
        action: Action,
        *, dependencies: frozenset[Ref] = frozenset(), tls: str = "",
    ) -> set[Ref]:
        secure = policy == names.SECURE_POLICY
        path = self.config.https_virtual if secure else self.config.http_virtual
        assert path is not None, "Routes of a virtual server that is not configured have a fault"
        virtual = virtual or VirtualFacts(path)
        required = set(dependencies)
        if evaluated.pending_secret:
            required |= self._certificate
        suffix = self.host[1:] if evaluated.route.wildcard_policy == "Subdomain" else ""
        protected = protection.needs(
            self.config, self.facts, self.config.tls_files, policy, answers=isinstance(action, Redirect),
            certified=bool(self._certificate))
        if isinstance(action, Forward):
            required |= {record_ref(self._full(names.PERSISTENCE_GROUP), action.pool)} & self.objects.keys()
            if secure and evaluated.insecure == "Allow" and action.sets_pool_variable:
                action = replace(action, insecure=True)
        if tls and isinstance(action, Forward):
            required |= self._add_pod_tls(virtual, tls, action)
        elif virtual.encrypts:
            required |= {obj.ref for obj in baseline.pod_tls(self.config, virtual)}
        if isinstance(action, Forward):
            required |= self._add_client_limits(path, action.pool)
            if action.http:
                required |= self._add_all(edge.headers_irule(self.config, path, sets_variables=True))
                required.add(record_ref(self._full(names.HTTP_GROUP), action.http))
        ports = {443 if secure else 80, virtual.port} - {0}
        host = rules.match_host(self.host, ports)
        labels = self.host.count(".") if self.wildcard else 0
        route, refs = evaluated.route, set()
        band = names.priority_band(route.path, labels=labels, exact=route.path_match is PathMatch.EXACT,
                                   default=route.default_backend)
        narrow, slot = rules.match_request(route.match) | host, request_match.slot(route.match)
        for number, path_is in enumerate(rules.match_path(route.path, route.path_match)):
            refs.add(self.add(Rule(
                self._full(policy), names.rule(evaluated.route.key, number), band, path_is | narrow, action,
                extra_dependencies=shared(frozenset(required)), protection=protected, hosts=self._hosts,
                suffix=suffix, slot=slot)))
        if isinstance(action, Forward):
            refs |= self._add_all(option_objects.app_root(
                evaluated, self.admitted, self._full(policy), host, frozenset(required), protected))
        return refs

    def _passthrough(self, evaluated: EvaluatedRoute, target: str) -> set[Ref]:
        """Lead connections to a pool; returns what must be there."""
        if tcp := front_ends.tcp_virtual(self.config):
            return {tcp_objects.lead(evaluated.route, tcp, target, self.config, self.add)}
        own = self._certificate if evaluated.is_ended else frozenset()
        return {connections.lead(evaluated, self.host, target, self.config, self.add), *own}

    def _towards_pods(self, evaluated: EvaluatedRoute) -> tuple[str, Forward]:
        """Add a Route's pool with its TLS; returns the digest of that, "" for none, and the action for it."""
        tls = ""
        if not evaluated.route.service:  # the reply among its options is all that it has
            return tls, baseline.nowhere(self.config.folder, self.facts)
        if evaluated.asks_over_tls:
            if route_tls.depends_on_service(evaluated, self.config):
                evaluated = replace(evaluated, route=pools.with_one_service(evaluated.route))
            pod_tls = route_tls.towards_pods(evaluated, self.config)
            tls, self._pod_tls[pod_tls.digest] = pod_tls.digest, pod_tls
            self._add_all(pod_tls.objects)
        key, settings = pools.of_route(evaluated.route, evaluated.termination, tls, self.config.balancing)
        if tls:
            settings = route_tls.with_check(settings, self._pod_tls[tls], self.config, self.facts)
        self.pools[key], self.pool_of[evaluated.route.key] = settings, key
        pool = names.pool(self.config.folder, *key)
        self._add_all(option_objects.of_pool(evaluated, pool, settings, self.config))
        sets_variables = baseline.sets_pool_variable(self.facts)
        return tls, Forward(pool, sets_variables,
                            unbound=sets_variables and evaluated.route.options.unbound_by_rules)

    def _with_options(self, evaluated: EvaluatedRoute, forward: Forward, *, secure: bool) -> Action:
        """Add the record with what a Route does to its requests and responses; returns its action with it."""
        if (options := evaluated.route.options).redirect_to:
            return rules.elsewhere(options, self.facts)
        record = edge.header_record(self.config, evaluated.route, secure=secure)
        if record is None or not forward.sets_pool_variable:
            return forward
        self.add(record)
        return replace(forward, http=record.name)

    def _add_pod_tls(self, virtual: VirtualFacts, tls: str, forward: Forward) -> set[Ref]:
        """Add the record that gives a pool its TLS, and what the virtual server needs to act on it."""
        group, missing = self._full(names.REENCRYPT_GROUP), self.facts.missing_profiles
        records = self._pod_tls[tls].records(group, forward.pool, missing)
        return self._add_all([*records, *baseline.pod_tls(self.config, virtual)])

    def _add_client_limits(self, virtual: str, pool: str) -> frozenset[Ref]:
        """Add the objects that enforce a pool's limits; returns the dependencies of rules that lead there."""
        objects, required = option_objects.client_limits(self.config, virtual, pool)
        self._add_all(objects)
        return required

    def _full(self, name: str) -> str:
        return common_path(self.config.folder, named(name, self.config.front_end))

    def _fault(self, evaluated: EvaluatedRoute) -> Rejection | None:
        """Return why this router cannot serve an admitted Route; None if it can."""
        if text := protection.device_fault(evaluated, self.admitted, self.config, self.facts):
            return Rejection(DEVICE_REJECTED, validation.field_of_origin(evaluated.route, text))
        text = route_tls.pods_fault(evaluated, self.config)
        return Rejection(NOT_ADMITTED, validation.field_of_origin(evaluated.route, text)) if text else None

    def _warn(self, route: Route, reason: str, text: str) -> None:
        """Add a warning about a Route; none for an empty text."""
        if text:
            self.warnings[route.key] = (*self.warnings.get(route.key, ()), Problem(
                reason, validation.field_of_origin(route, text)))
