"""Problems of an object of the cluster, with a reason each for programs.

The reasons below are those of warnings: they keep nothing from being served. Each is also the reason of an
Event; Kubernetes asks for a short UpperCamelCase word (API reference, Event v1, reason).
"""

from typing import NamedTuple

WARNING = "Warning"
"""A warning without a reason of its own."""
SERVICE_NOT_FOUND = "ServiceNotFound"
PORT_NOT_FOUND = "ServicePortNotFound"
NO_NODE_PORT = "NoNodePort"
NO_ENDPOINTS = "NoEndpoints"
SERVICE_IDLED = "ServiceIdled"
EXTERNAL_NAME = "ExternalNameService"
ADDRESSES_REFUSED = "AddressesRefused"
"""Addresses of a Service that may be no pool members."""
PODS_NOT_REACHED = "PodsNotReached"
"""Pods outside of every Node's network, or on another Node than the way of the BIG-IP leads to."""
TOO_MANY_ENDPOINTS = "TooManyEndpoints"
UNSUPPORTED_PROTOCOL = "UnsupportedProtocol"
UNSUPPORTED_ANNOTATION = "UnsupportedAnnotation"
TRANSLATED = "AnnotationTranslated"
"""An annotation of another controller that is in effect."""
INVALID_OPTION = "InvalidOption"
"""An option whose value cannot be used."""
OPTION_WITHOUT_EFFECT = "OptionWithoutEffect"
UNVERIFIED_PODS = "UnverifiedPods"
CERTIFICATE_NOT_USED = "CertificateNotUsed"
SECRET_NOT_READ = "SecretNotRead"
CERTIFICATE_EXPIRED = "CertificateExpired"
CERTIFICATE_NOT_YET_VALID = "CertificateNotYetValid"
CERTIFICATE_NAME_MISMATCH = "CertificateNameMismatch"
UNUSED_TLS_HOST = "UnusedTLSHost"
"""A host of an Ingress's spec.tls that no rule has."""
UNUSED_ANNOTATION = "UnusedAnnotation"
PATH_IS_TEXT = "PathIsText"
"""A path of an Ingress that looks like a regular expression."""

WARNINGS = frozenset({
    WARNING, SERVICE_NOT_FOUND, PORT_NOT_FOUND, NO_NODE_PORT, NO_ENDPOINTS, SERVICE_IDLED, EXTERNAL_NAME,
    ADDRESSES_REFUSED, PODS_NOT_REACHED, TOO_MANY_ENDPOINTS, UNSUPPORTED_PROTOCOL, UNSUPPORTED_ANNOTATION,
    TRANSLATED, INVALID_OPTION, OPTION_WITHOUT_EFFECT, UNVERIFIED_PODS, CERTIFICATE_NOT_USED, SECRET_NOT_READ,
    CERTIFICATE_EXPIRED, CERTIFICATE_NOT_YET_VALID, CERTIFICATE_NAME_MISMATCH,
    UNUSED_TLS_HOST, UNUSED_ANNOTATION, PATH_IS_TEXT,
})


class Problem(NamedTuple):
    """A reason, for the Events and the status of the object."""

    reason: str
    """UpperCamelCase word for programs."""
    message: str
    """Text for its team; it begins with the field."""
