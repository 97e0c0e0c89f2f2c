"""Meanings of findings: their form, and those of the Gateway API, whose codes are reasons of its conditions.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go and shared_types.go.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Effect(StrEnum):
    """Effect of a finding on requests."""

    LOST = "requests get no answer from a pod, or the wrong one"
    FEWER = "requests are answered, by fewer pods than there are"
    NONE = "requests are answered"
    UNKNOWN = "nobody knows whether requests are answered"


class Fixer(StrEnum):
    """Person or program that can fix it."""

    TEAM = "the team of the object"
    CLUSTER = "an administrator of the cluster"
    BIGIP = "an administrator of the BIG-IP"
    ROUTER = "the router, by itself"


class Meaning(NamedTuple):
    """The meaning of a code."""

    means: str
    effect: Effect
    fixer: Fixer
    to_do: str
    """How to fix it, with {namespace}, {name}, {host} of the Route."""
    command: str = ""
    """A command of a shell that does so, or shows more; NAME stands for the object that is named."""


_L, _T, _C, _R = Effect.LOST, Fixer.TEAM, Fixer.CLUSTER, Fixer.ROUTER

GATEWAY_MEANINGS: Mapping[str, Meaning] = {
    "NotAllowedByListeners": Meaning("no listener of the Gateway allows routes of this namespace or kind", _L,
                                     _T, "have a listener of the Gateway allow it in allowedRoutes, or name "
                                     "another Gateway in spec.parentRefs"),
    "NoMatchingListenerHostname": Meaning("no hostname of the route is one of a listener", _L, _T,
                                          "name a host in spec.hostnames that a listener has"),
    "NoMatchingParent": Meaning("the Gateway has no listener of the name or port that the route asks for", _L,
                                _T, "correct sectionName or port in spec.parentRefs"),
    "UnsupportedValue": Meaning("a field asks for what this router does not do, so nothing of the route or "
                                "listener is served", _L, _T, "change the field that the message names; "
                                "docs/gateway-api.md has what is supported"),
    "IncompatibleFilters": Meaning("filters of a rule exclude each other", _L, _T, "remove one of them"),
    "RefNotPermitted": Meaning("an object of another namespace is named, and no ReferenceGrant there permits "
                               "it", _L, _T, "have a ReferenceGrant made in the namespace that the message "
                               "names"),
    "InvalidKind": Meaning("a backend is of a kind that is not supported", _L, _T, "name a Service"),
    "BackendNotFound": Meaning("a Service of the route is missing, or has no such port; its share of the "
                               "requests gets 500", _L, _T,
                               "create the Service, or correct backendRefs"),
    "ListenersNotValid": Meaning("listeners of the Gateway are not valid", _L, _T,
                                 "correct the listener that the message names"),
    "UnsupportedAddress": Meaning("the Gateway asks for an address of a type that is not supported", _L, _T,
                                  "use the type IPAddress in spec.addresses, or no address"),
    "InvalidParameters": Meaning("a parametersRef names parameters, and there are none for this router", _L,
                                 _C, "remove parametersRef"),
    "AddressNotAssigned": Meaning("the Gateway has no address of its own: another one has it, its namespace "
                                  "has as many as it may have, or the router has none", _L, _C,
                                  "give the router more addresses by --gateway-addresses, or the namespace "
                                  "by --gateway-addresses-per-namespace, or remove the Gateway that has "
                                  "this one"),
    "AddressNotUsable": Meaning("the router cannot serve an address of the Gateway", _L, _T,
                                "ask for an address that the message names, or for none"),
    "PortUnavailable": Meaning("the router does not serve the port of a listener", _L, _T,
                               "use a port that the message names"),
    "HostnameConflict": Meaning("listeners of one port have the same hostname, so none of them is served", _L,
                                _T, "give each listener of a port a hostname of its own"),
    "ProtocolConflict": Meaning("listeners of one port have protocols that exclude each other, so none of "
                                "them is served", _L, _T, "give the listeners ports of their own"),
    "InvalidCertificateRef": Meaning("a listener has no certificate that can be used", _L, _T,
                                     "create or correct the Secret that the message names"),
    "InvalidCACertificateRef": Meaning("certificates of authorities that verify pods or clients cannot be "
                                       "used", _L, _T, "create or correct the object that the message names"),
    "InvalidCACertificateKind": Meaning("a Gateway names an object of another kind than ConfigMap for the "
                                        "authorities that verify clients", _L, _T, "name a ConfigMap"),
    "NoValidCACertificate": Meaning("there is no certificate of an authority that verifies pods or clients, "
                                    "so requests get no pod", _L, _T,
                                    "create or correct the object that the message names"),
    "InvalidRouteKinds": Meaning("a listener allows a kind of routes that its protocol, or this router, does "
                                 "not have", _L, _T, "correct allowedRoutes.kinds of the listener"),
    "Invalid": Meaning("a field of the Gateway cannot be read, or has no effect here", _L, _T,
                       "change the field that the message names"),
    "Pending": Meaning("something that the Gateway needs is not known yet", _L, _R,
                       "wait a moment; if it stays, read the message"),
}
"""Meanings by reason of a condition that is not as it should be."""
