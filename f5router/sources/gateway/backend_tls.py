"""BackendTLSPolicies: Services whose pods are asked over TLS, and by what they are verified.

A Service with a policy that cannot be used is never asked in clear text: its share of the requests is
answered with 500. Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/backendtlspolicy_types.go (the older
policy of a target goes before, one for a port before one for all) and policy_types.go.
"""

import bisect
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from f5router.admission import pem
from f5router.model import hostnames, names
from f5router.model.cluster import CA_CRT, Key, PodAuthority, Route, Secret, is_object_name
from f5router.model.delta import Delta
from f5router.model.gateway import BACKEND_TLS_POLICY, CONFIG_MAP, SECRET, SERVICE, BackendTLSPolicy
from f5router.model.hostnames import quote
from f5router.model.limits import finish
from f5router.model.secret_keys import config_map_key
from f5router.sources.gateway import conditions
from f5router.sources.gateway.conditions import Conditions, StatusCondition, false, true

_KINDS = (("", CONFIG_MAP), ("", SECRET))
CA_FIELD = "spec.validation.caCertificateRefs[0]"


_Age = tuple[str, str, str]
"""BackendTLSPolicy.age, which names a policy, too."""
_Target = tuple[Key, str]
"""A Service, and the name of its port or "" for all."""


class BackendTLS(NamedTuple):
    """TLS towards the pods of a Service."""

    policy: Key
    authority: Key
    """The Secret or ConfigMap with the authorities, under CA_CRT; see secret_keys."""
    hostname: str
    """Name that is asked for, and that the certificates must carry."""


class BackendPolicies:
    """All policies. Not thread-safe."""

    def __init__(self, secrets: Mapping[Key, Secret]):
        """Args: secrets: those that are known; apply() is called after each change of it."""
        self._secrets = secrets
        self._policies: dict[Key, BackendTLSPolicy] = {}
        self._claims: dict[Key, dict[str, list[_Age]]] = {}
        """By Service, then by the name of a port or "": ages of policies, the oldest one first."""
        self._of_secret: dict[Key, set[Key]] = {}
        """Policies by Secret."""
        self._problems: dict[Key, tuple[Secret, str]] = {}
        """By Secret: what is wrong with its authorities."""
        self._users: dict[Key, Route | None] = {}
        self._is_running = False
        """True once the policies are known that were there before."""
        self._closing: set[Key] = set()
        """Policies that came later and whose authorities are not read yet: their Services, which may be asked
        in clear text so far, are asked by nobody until then."""
        self._opened: set[Key] = set()
        """Those that are no longer among these."""

    def __getitem__(self, key: Key) -> BackendTLSPolicy:
        return self._policies[key]

    def __contains__(self, key: Key) -> bool:
        return key in self._policies

    def __iter__(self) -> Iterator[Key]:
        return iter(self._policies)

    def apply(self, delta: Delta) -> tuple[set[Key], set[Key]]:
        """Apply changes; returns the Services, and the policies, for which something may differ."""
        services, touched = set[Key](), self._opened.union(delta.backend_policies)
        self._opened = set()
        for key, value in delta.backend_policies.items():
            before = self._policies.pop(key, None)
            for policy, is_new in ((before, False), (value, True)):
                if policy is not None:
                    services |= services_of(policy)
                    touched |= self._put(policy, is_new=is_new)
            if value is not None:
                self._policies[key] = value
            if self._is_running and value is not None and (before is None or _wish(before) != _wish(value)):
                self._closing.add(key)
            self._follow(before, value)
        for secret in delta.secrets.keys() & self._of_secret.keys():
            touched |= self._of_secret[secret]
        self._closing = {key for key in self._closing if (policy := self._policies.get(key)) is not None
                         and self._resolved(policy).status is None}
        self._is_running = True
        return services.union(*(services_of(self._policies.get(key)) for key in touched)), touched

    def begin_anew(self) -> None:
        """Treat all policies as those that were there before, with the next `apply`.

        Another replica has served them.
        """
        self._opened, self._closing = self._opened | self._closing, set()

    def _put(self, policy: BackendTLSPolicy, *, is_new: bool) -> set[Key]:
        """Add a policy to the indexes, or remove it; returns those that its targets had, and have."""
        first: set[Key] = set()
        for service, section in _targets(policy):
            claims = self._claims.setdefault(service, {}).setdefault(section, [])
            first |= {Key(*age[1:]) for age in claims[:1]}
            at = bisect.bisect_left(claims, policy.age)
            claims[at:at + (not is_new)] = [policy.age] if is_new else []
            first |= {Key(*age[1:]) for age in claims[:1]}
            if not claims:
                del self._claims[service][section]
            if not self._claims[service]:
                del self._claims[service]
        return first

    def _follow(self, before: BackendTLSPolicy | None, after: BackendTLSPolicy | None) -> None:
        """Follow the Secret of a policy by a stand-in that names it."""
        for policy, is_new in ((before, False), (after, True)):
            if policy is None or (secret := secret_of(policy)) is None:
                continue
            users = self._of_secret.setdefault(secret, set())
            (users.add if is_new else users.discard)(policy.key)
            if not users:
                del self._of_secret[secret]
                self._problems.pop(secret, None)
            name = Key(policy.key.namespace,
                       names.virtual_route(BACKEND_TLS_POLICY, policy.key.name, str(secret)))
            authority = PodAuthority(secret, CA_CRT, "")
            self._users[name] = Route(name, pod_authority=authority) if is_new else None

    def take_secret_users(self) -> dict[Key, Route | None]:
        """Return stand-ins that name Secrets, and have changed since the last call; None for removed ones."""
        users, self._users = self._users, {}
        return users

    def on(self, services: Iterable[Key]) -> set[Key]:
        """Return the policies of some Services."""
        return {Key(*age[1:]) for service in services
                for claims in self._claims.get(service, {}).values() for age in claims}

    def winner(self, service: Key, port: str) -> BackendTLSPolicy | None:
        """Return the policy that a port of a Service has. Args: port: its name."""
        claims = self._claims.get(service, {})
        ages = claims.get(port) or claims.get("")
        return self._policies[Key(*ages[0][1:])] if ages else None

    def tls(self, policy: BackendTLSPolicy) -> BackendTLS | None:
        """Return the TLS that a policy asks for, which has precedence; None if it cannot be used."""
        secret = secret_of(policy)
        if secret is None or _invalid(policy) or self._resolved(policy).status is False or (
                policy.key in self._closing):
            return None
        return BackendTLS(policy.key, secret, policy.hostname)

    def conditions(self, policy: BackendTLSPolicy) -> Conditions:
        """Return Accepted and ResolvedRefs."""
        resolved, accepted = self._resolved(policy), self._accepted(policy)
        if accepted.holds and resolved.status is False:
            accepted = false(conditions.ACCEPTED, conditions.NO_CA, resolved.message)
        return Conditions.of(accepted, resolved)

    def _accepted(self, policy: BackendTLSPolicy) -> StatusCondition:
        if text := _invalid(policy):
            return false(conditions.ACCEPTED, conditions.INVALID, text)
        for service, section in _targets(policy):
            first = self._claims[service][section][0]
            if first != policy.age:
                order = "is older" if first[0] != policy.created else "is as old, but comes first by its name"
                return false(conditions.ACCEPTED, conditions.CONFLICTED_POLICY,
                             f"spec.targetRefs: BackendTLSPolicy {first[2]} has the same target, Service "
                             f"{quote(service.name)}, and {order}")
        return true(conditions.ACCEPTED)

    def _resolved(self, policy: BackendTLSPolicy) -> StatusCondition:
        for number, ref in enumerate(policy.authorities):
            if ref[:2] not in _KINDS:
                return false(conditions.RESOLVED, conditions.INVALID_KIND,
                             f"spec.validation.caCertificateRefs[{number}]: {quote(ref.kind)} of group "
                             f"{quote(ref.group)} is not supported, only ConfigMaps and Secrets")
        if (key := secret_of(policy)) is None:
            return true(conditions.RESOLVED)
        if not is_object_name(policy.authorities[0].name):
            return false(conditions.RESOLVED, conditions.INVALID_CA, f"{CA_FIELD}: not found")
        secret = self._secrets.get(key)
        if secret is None or (secret.not_loaded and not secret.forbidden):
            return StatusCondition(conditions.RESOLVED, None, conditions.PENDING,
                                   f"{CA_FIELD}: it is not read yet")
        if text := self._problem(secret):
            return false(conditions.RESOLVED, conditions.INVALID_CA, f"{CA_FIELD}: {text}")
        return true(conditions.RESOLVED)

    def _problem(self, secret: Secret) -> str:
        """Return why a Secret has no authorities; "" if it has."""
        known, text = self._problems.get(secret.key, (None, ""))
        if known != secret:
            text = secret.problem or _authorities_problem(secret.authorities)
            self._problems[secret.key] = secret, text
        return text


def _invalid(policy: BackendTLSPolicy) -> str:
    """Return why a policy cannot be served, whatever the cluster has; "" if it can."""
    if policy.problem:
        return policy.problem
    if policy.unsupported:
        return f"{policy.unsupported}: it is not supported"
    if len(policy.authorities) != 1:
        return "spec.validation.caCertificateRefs: exactly one is supported"
    if problem := hostnames.problem(policy.hostname):
        return f"spec.validation.hostname: {quote(policy.hostname)}: {problem}"
    return ""


def _authorities_problem(text: str) -> str:
    if not text.strip():
        return "it has no ca.crt"
    try:
        finish(pem.certificates(text, "ca.crt"))
    except pem.PEMError as exc:
        return str(exc)
    return ""


def _targets(policy: BackendTLSPolicy | None) -> list[_Target]:
    return list(dict.fromkeys((Key(policy.key.namespace, each.name), each.section) for each in policy.targets
                              if (each.group, each.kind) == ("", SERVICE))) if policy else []


def _wish(policy: BackendTLSPolicy) -> tuple[object, ...]:
    return policy.targets, policy.authorities


def services_of(policy: BackendTLSPolicy | None) -> set[Key]:
    """Return the Services that a policy is for."""
    return {service for service, _ in _targets(policy)}


def secret_of(policy: BackendTLSPolicy) -> Key | None:
    """Return the key of the Secret or ConfigMap with the authorities of a policy; None without it."""
    refs = policy.authorities
    if len(refs) != 1 or refs[0][:2] not in _KINDS:
        return None
    key = refs[0].key(policy.key.namespace)
    return config_map_key(key) if refs[0].kind == CONFIG_MAP else key
