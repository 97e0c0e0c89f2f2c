"""TLS of Routes: the client SSL profile of a Host, and the server SSL profile towards pods.

Source of secure-serverssl: F5Networks/k8s-bigip-ctlr, pkg/appmanager: setServerSslProfile.
"""

from typing import Protocol

from f5router.admission.admission import EvaluatedRoute
from f5router.admission.allowed_objects import Allowed, allows
from f5router.admission.route_options import PROFILE, SECURE
from f5router.desired import baseline, client_tls, pools
from f5router.model import file_names, names
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key
from f5router.model.ltm import CertFile, ClientSSL, KeyFile, Object, ServerSSL


class PodTLSSettings(baseline.BaselineSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def default_destination_ca(self) -> str: ...

    @property
    def allowed_profiles(self) -> Allowed:
        """Server SSL profiles of the administrator that Routes may name."""

    @property
    def unverified_pods(self) -> bool:
        """True if pods of Routes without any CA may be anybody."""


def client_ssl(config: PodTLSSettings, path: str, host: str, key: Key, key_pair: TLSKeyPair) -> list[Object]:
    """Build the client SSL profile of a Host with its files.

    Args:
        path: full path of the profile.
        key: the Route that brings the certificate.
    """
    folder, parent = config.folder, client_tls.parent(config)
    # The chain is part of the name: all three files are one generation.
    cert = CertFile(file_names.cert_file(folder, key, key_pair.certificate), key_pair.certificate)
    private = KeyFile(file_names.key_file(folder, key, key_pair.public), key_pair.key)
    chain = CertFile(file_names.chain_file(folder, key, key_pair.chain), key_pair.chain)
    profile = ClientSSL(path, host, cert.path, private.path, chain.path if key_pair.chain else "",
                        parent, own_parent=names.is_parent(parent))
    return [cert, private, *((chain,) if key_pair.chain else ()), profile]


def named_profile(evaluated: EvaluatedRoute, config: PodTLSSettings) -> str:
    """Return the administrator's server SSL profile that a Route names and may use; "" for none."""
    route = evaluated.route
    path = route.options.server_profile if evaluated.termination == "reencrypt" else ""
    return path if path and allows(config.allowed_profiles, path, route.key.namespace) else ""


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
        return "" if config.unverified_pods else (
            "spec.tls.destinationCACertificate: there is none, and this router has no default destination "
            "CA: nothing would verify the pods")
    if pools.is_divided(evaluated.route):
        return ("spec.alternateBackends: the default destination CA verifies the name of one Service only; "
                "set spec.tls.destinationCACertificate")
    return ""


def pods_warning(evaluated: EvaluatedRoute, config: PodTLSSettings) -> str:
    """Return what the team of a Route should know about the verification of its pods; "" for nothing."""
    options = evaluated.route.options
    if named_profile(evaluated, config):
        return "" if options.verify_pods is None else (
            f"metadata.annotations: {SECURE} has no effect beside {PROFILE}, whose profile decides")
    if options.server_profile:
        return (f"metadata.annotations: {PROFILE} is {options.server_profile}, which the administrator has "
                f"not allowed for namespace {evaluated.route.key.namespace}; the default applies")
    if evaluated.termination == "reencrypt" and options.verify_pods is False:
        return (f"metadata.annotations: {SECURE} is false; the pods' certificates are not verified"
                if config.unverified_pods else
                f"metadata.annotations: {SECURE} false has no effect: this router has pods verified")
    if not evaluated.needs_default_ca or config.default_destination_ca:
        return ""
    return ("spec.tls.destinationCACertificate: there is none, and this router is configured to do without; "
            "the pods' certificates are not verified")


def verifies_name(evaluated: EvaluatedRoute, config: PodTLSSettings) -> bool:
    """True if pods of a Route must carry the name of their Service.

    The default CA signs Services of every namespace: the name keeps tenants apart. Source: openshift/router,
    haproxy-config.template (verifyhost).
    """
    return bool(evaluated.needs_default_ca and config.default_destination_ca
                and not opts_out(evaluated, config) and not named_profile(evaluated, config))


def towards_pods(evaluated: EvaluatedRoute, service: str, config: PodTLSSettings) -> tuple[str, list[Object]]:
    """Return the digest of the TLS towards the pods of a Service, and its server SSL profile with its CA."""
    if named := named_profile(evaluated, config):
        return names.named_tls(named), []
    namespace, name = evaluated.route.key.namespace, ""
    ca = "" if opts_out(evaluated, config) else evaluated.destination_ca
    tls = names.pod_tls(ca)
    if verifies_name(evaluated, config):
        tls, name = names.pod_tls("", service, namespace), names.server_name(service, namespace)
        ca = config.default_destination_ca
    path = names.server_ssl(config.folder, tls)
    if not ca:
        return tls, [ServerSSL(path)]
    file = CertFile(file_names.destination_ca_file(config.folder, ca), ca)
    return tls, [file, ServerSSL(path, file.path, name)]
