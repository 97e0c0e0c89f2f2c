"""TLS of Routes: the client SSL profile of a Host, and the server SSL profile towards pods.

Source of secure-serverssl: F5Networks/k8s-bigip-ctlr, pkg/appmanager: setServerSslProfile.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from f5router.admission.admission import AdmissionPolicy, EvaluatedRoute
from f5router.admission.route_options import PROFILE, SECURE, Allowed, is_allowed
from f5router.desired import baseline, pools
from f5router.desired.pools import PoolSettings
from f5router.model import names, tls_names
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import CertFile, ClientSSL, KeyFile, Object, Record, ServerSSL
from f5router.model.objects import Ref
from f5router.model.texts import (
    CERTIFICATE_NOT_USED,
    OPTION_WITHOUT_EFFECT,
    SECRET_NOT_READ,
    UNVERIFIED_PODS,
    Problem,
)


class PodTLSSettings(baseline.BaselineSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def admission(self) -> AdmissionPolicy: ...

    @property
    def default_destination_ca(self) -> str: ...

    @property
    def allowed_profiles(self) -> Allowed:
        """Server SSL profiles of the administrator that Routes may name."""

    @property
    def unverified_pods(self) -> bool:
        """True if pods of Routes without any CA may be anybody."""


def client_ssl(config: PodTLSSettings, path: str, host: str, key: Key, key_pair: TLSKeyPair,
               parent: str) -> list[Object]:
    """Build the client SSL profile of a Host with its files.

    Args:
        path: full path of the profile.
        key: what the names of the files begin with, see tls_names.certificate_key.
        parent: full path of the profile from which it has everything else.
    """
    folder = config.folder
    # The chain is part of the name: all three files are one generation.
    cert = CertFile(tls_names.cert_file(folder, key, key_pair.certificate), key_pair.certificate)
    private = KeyFile(tls_names.key_file(folder, key, key_pair.public), key_pair.key)
    chain = CertFile(tls_names.chain_file(folder, key, key_pair.chain), key_pair.chain)
    profile = ClientSSL(path, host, cert.path, private.path, chain.path if key_pair.chain else "",
                        parent, own_parent=tls_names.is_parent(parent))
    return [cert, private, *((chain,) if key_pair.chain else ()), profile]


def named_profile(evaluated: EvaluatedRoute, config: PodTLSSettings) -> str:
    """Return the administrator's server SSL profile that a Route names and may use; "" for none."""
    route = evaluated.route
    path = route.options.server_profile if evaluated.termination == "reencrypt" else ""
    return path if path and is_allowed(config.allowed_profiles, path, route.key.namespace) else ""


def opts_out(evaluated: EvaluatedRoute, config: PodTLSSettings) -> bool:
    """True if a Route wants its pods unverified, and the administrator allows that."""
    return config.unverified_pods and evaluated.route.options.verify_pods is False


def pods_fault(evaluated: EvaluatedRoute, config: PodTLSSettings) -> str:
    """Return why the pods of a Route cannot be verified; "" if they can, or need not be."""
    if (not evaluated.needs_default_ca or opts_out(evaluated, config)
            or named_profile(evaluated, config)):
        return ""
    if not config.default_destination_ca:
        if config.unverified_pods and evaluated.route.options.verify_pods:
            return (f"metadata.annotations: {SECURE} is true, but there is no CA to verify the pods with; "
                    "set spec.tls.destinationCACertificate")
        # an Ingress or IngressRoute names its CA in a field or annotation of its own
        missing = "no CA is named" if evaluated.route.origin else "not set"
        return "" if config.unverified_pods else (
            f"spec.tls.destinationCACertificate: {missing}, and this router has no default destination "
            "CA: nothing would verify the pods")
    return ""


def certificate_warnings(
    evaluated: EvaluatedRoute, minimum: str, config: PodTLSSettings,
) -> Iterator[Problem]:
    """Yield the warnings about a Route's certificate and versions of TLS.

    Args: minimum: the lowest version that the Route asks for which brings the host's certificate.
    """
    route, decrypted = evaluated.route, evaluated.termination in ("edge", "reencrypt")
    if decrypted and route.tls and route.tls.key and not evaluated.key_pair:
        yield Problem(CERTIFICATE_NOT_USED, (
            "spec.tls.key: there is a key without a certificate; it is not used"))
    if route.secret and not config.admission.external:
        yield Problem(SECRET_NOT_READ, (
            "spec.tls.externalCertificate: this router reads no Secrets; the certificate of the virtual "
            "server answers"))
    if decrypted and route.minimum_tls != minimum:
        yield Problem(OPTION_WITHOUT_EFFECT, (
            "spec.tls: the host's oldest object with a certificate determines the minimum TLS version: "
            f"{minimum or 'the version of the router'}"))


def secret_warnings(evaluated: EvaluatedRoute) -> Iterator[Problem]:
    """Yield the warnings about Secrets of a Route that cannot be read."""
    route = evaluated.route
    if unread := evaluated.unread_certificate:
        own = route.claim_namespace == route.key.namespace
        yield Problem(SECRET_NOT_READ, f"spec.tls.externalCertificate: {unread}" if own else
                                       "spec.tls: the certificate of the host cannot be read")
    if evaluated.unread_authority and route.pod_authority:
        yield Problem(SECRET_NOT_READ, f"{route.pod_authority.field}: {evaluated.unread_authority}")


def pods_warnings(evaluated: EvaluatedRoute, config: PodTLSSettings) -> Iterator[Problem]:
    """Yield the warnings about the verification of a Route's pods."""
    options = evaluated.route.options
    if named_profile(evaluated, config):
        if options.verify_pods is not None:
            yield Problem(OPTION_WITHOUT_EFFECT, (
                f"metadata.annotations: {SECURE} has no effect beside {PROFILE}, whose profile decides"))
    elif options.server_profile:
        yield Problem(OPTION_WITHOUT_EFFECT, (
            f"metadata.annotations: {PROFILE} is {options.server_profile}, which the administrator has "
            f"not allowed for namespace {evaluated.route.key.namespace}; the default applies"))
    elif evaluated.termination == "reencrypt" and options.verify_pods is False:
        yield Problem(UNVERIFIED_PODS, (
            f"metadata.annotations: {SECURE} is false; the pods' certificates are not verified"
        )) if config.unverified_pods else Problem(OPTION_WITHOUT_EFFECT, (
            f"metadata.annotations: {SECURE} false has no effect: this router has pods verified"))
    elif evaluated.needs_default_ca and not config.default_destination_ca:
        yield Problem(UNVERIFIED_PODS, (
            "spec.tls.destinationCACertificate: not set, and this router is configured to work without it; "
            "the pods' certificates are not verified"))


def depends_on_service(evaluated: EvaluatedRoute, config: PodTLSSettings) -> bool:
    """True if a pod's Service may decide how it is verified."""
    return verifies_name(evaluated, config) or (
        _has_authority(evaluated, config) and pools.has_several_names(evaluated.route))


def _has_authority(evaluated: EvaluatedRoute, config: PodTLSSettings) -> bool:
    """True if a Secret of a virtual Route decides who verifies its pods."""
    return (evaluated.route.pod_authority is not None and not opts_out(evaluated, config)
            and not named_profile(evaluated, config))


def verifies_name(evaluated: EvaluatedRoute, config: PodTLSSettings) -> bool:
    """True if pods of a Route must carry the name of their Service.

    The default CA signs Services of every namespace: the name keeps tenants apart. Source: openshift/router,
    haproxy-config.template (verifyhost).
    """
    return bool(evaluated.needs_default_ca and config.default_destination_ca
                and not opts_out(evaluated, config) and not named_profile(evaluated, config))


@dataclass(frozen=True, slots=True)
class PodTLS:
    """TLS towards the pods of a Route."""

    digest: str
    """Part of the name of the pool."""
    data: str
    """Data of the pool's record: full path of the server SSL profile, or names.BY_SERVICE."""
    by_number: Mapping[int, str]
    """Full path of the server SSL profile by number of the Service, with names.BY_SERVICE."""
    objects: tuple[Object, ...] = ()
    """The server SSL profiles with their CA; none if the profile is the administrator's."""

    def records(self, group: str, pool: str, missing: Collection[str]) -> list[Object]:
        """Build the records that give a pool its TLS.

        Args:
            group, pool: full paths.
            missing: profiles of the administrator that are not there; a record that needs one is not written.
        """
        paths = {pool: self.data, **{names.service_record(pool, number): path
                                     for number, path in self.by_number.items()}}
        needed = {obj.path for obj in self.objects if isinstance(obj, ServerSSL)}.union(missing)
        return [Record(group, name, data, frozenset({Ref(ServerSSL.KIND, data)} if data in needed else ()))
                for name, data in paths.items()]


def towards_pods(evaluated: EvaluatedRoute, config: PodTLSSettings) -> PodTLS:
    """Build the TLS towards the pods of a Route, by the Services that `pools.of_route` is given."""
    if named := named_profile(evaluated, config):
        return PodTLS(tls_names.named_tls(named), named, {})
    route, ca = evaluated.route, evaluated.destination_ca
    if verifies_name(evaluated, config):
        digests = {name: tls_names.pod_tls("", name, route.key.namespace) for name in pools.services(route)}
        return _by_name(
            config.folder, config.default_destination_ca,
            {name: names.server_name(name, route.key.namespace) for name in digests}, digests,
            tls_names.pod_tls_by_service(digests, route.key.namespace))
    if _has_authority(evaluated, config):
        wanted = pools.pod_names(route)
        return _by_name(config.folder, ca, wanted,
                        {name: pools.tls_by_authority(route, name) for name in wanted},
                        pools.tls_by_authority(route),
                        asks_for_name=route.pod_authority is not None and route.pod_authority.asks_for_name)
    ca = "" if opts_out(evaluated, config) else ca
    tls = tls_names.pod_tls(ca)
    path = tls_names.server_ssl(config.folder, tls)
    if not ca:
        return PodTLS(tls, path, {}, (ServerSSL(path),))
    file = CertFile(tls_names.destination_ca_file(config.folder, ca), ca)
    return PodTLS(tls, path, {}, (file, ServerSSL(path, file.path)))


def with_check(settings: PoolSettings, tls: PodTLS, config: PodTLSSettings,
               facts: DeviceFacts) -> PoolSettings:
    """Return the settings of a pool whose pods are verified in health checks, too, if that is wanted.

    Pods of several Services with names of their own are not: a pool has one monitor. Neither are those of an
    administrator's profile, which may verify nothing.
    """
    verifies = any(isinstance(obj, ServerSSL) and obj.ca_file and obj.path == tls.data for obj in tls.objects)
    works = config.tls_checks and not facts.tls_check_problem
    return replace(settings, tls_profile=tls.data) if works and verifies else settings


def _by_name(folder: str, ca: str, wanted: Mapping[str, str], digests: Mapping[str, str], of_all: str, *,
             asks_for_name: bool = False) -> PodTLS:
    """Build TLS that verifies each pod by a name of its Service; Routes share the profile of a Service.

    Source: openshift/router, haproxy-config.template: verifyhost of each server.

    Args:
        wanted, digests: by Service: the name, and the digest of its TLS; of_all: digest for all of them.
        asks_for_name: True if pods are asked for the name.
    """
    file = CertFile(tls_names.destination_ca_file(folder, ca), ca)
    profiles = {service: ServerSSL(
        tls_names.server_ssl(folder, digests[service], asks_for_name=asks_for_name), file.path, name,
        server_name=name if asks_for_name else "") for service, name in sorted(wanted.items())}
    objects: tuple[Object, ...] = (file, *dict.fromkeys(profiles.values()))
    if len(objects) == 2:
        service = min(profiles)
        return PodTLS(digests[service], profiles[service].path, {}, objects)
    by_number = {number: profiles[name].path for name, number in names.service_numbers(profiles).items()}
    return PodTLS(of_all, names.BY_SERVICE, by_number, objects)
