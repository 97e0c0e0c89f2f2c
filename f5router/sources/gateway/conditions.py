"""Conditions in statuses of the Gateway API, their types and reasons, and their form in JSON.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gatewayclass_types.go, gateway_types.go and
shared_types.go (constants of types and reasons); k8s.io/apimachinery, meta/v1 Condition: lastTransitionTime
changes with the status alone, and observedGeneration is the generation that the condition is about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from f5router.model.json_types import JSON
from f5router.model.texts import Problem, printable

ACCEPTED, PROGRAMMED, RESOLVED, CONFLICTED = "Accepted", "Programmed", "ResolvedRefs", "Conflicted"

PENDING, INVALID = "Pending", "Invalid"
UNSUPPORTED_VALUE, INCOMPATIBLE_FILTERS = "UnsupportedValue", "IncompatibleFilters"
NOT_ALLOWED, NO_HOSTNAME = "NotAllowedByListeners", "NoMatchingListenerHostname"
NO_PARENT = "NoMatchingParent"
NOT_PERMITTED, INVALID_KIND, BACKEND_NOT_FOUND = "RefNotPermitted", "InvalidKind", "BackendNotFound"
UNSUPPORTED_PROTOCOL = "UnsupportedProtocol"
LISTENERS_NOT_VALID, UNSUPPORTED_ADDRESS = "ListenersNotValid", "UnsupportedAddress"
INVALID_PARAMETERS = "InvalidParameters"
ADDRESS_NOT_ASSIGNED, ADDRESS_NOT_USABLE = "AddressNotAssigned", "AddressNotUsable"
PORT_UNAVAILABLE, HOSTNAME_CONFLICT, PROTOCOL_CONFLICT = (
    "PortUnavailable", "HostnameConflict", "ProtocolConflict")
NO_CONFLICTS = "NoConflicts"
INVALID_CA_KIND = "InvalidCACertificateKind"
INSECURE_VALIDATION, CONFIGURATION_CHANGED = "InsecureFrontendValidationMode", "ConfigurationChanged"
OVERLAPPING, OVERLAPPING_HOSTNAMES = "OverlappingTLSConfig", "OverlappingHostnames"
NO_CA, INVALID_CA, CONFLICTED_POLICY = "NoValidCACertificate", "InvalidCACertificateRef", "Conflicted"
INVALID_CERTIFICATE, INVALID_KINDS = "InvalidCertificateRef", "InvalidRouteKinds"

MOST_MESSAGE = 32768
"""Characters of a message. Source: meta/v1 Condition, MaxLength."""


class StatusCondition(NamedTuple):
    """A condition without what its history adds."""

    type: str
    status: bool | None
    """None for Unknown."""
    reason: str
    message: str = ""

    @property
    def holds(self) -> bool:
        """True if its status is True."""
        return self.status is True


def true(kind: str, reason: str = "", message: str = "") -> StatusCondition:
    """Return a condition that holds; its reason is the type where there is no other."""
    return StatusCondition(kind, True, reason or kind, message)


def false(kind: str, reason: str, message: str) -> StatusCondition:
    """Return a condition that does not hold."""
    return StatusCondition(kind, False, reason, message)


BAD_IF_TRUE = frozenset({CONFLICTED, "PartiallyInvalid"})
"""Types of conditions that tell of something wrong while they hold."""


def problems(*given: StatusCondition) -> tuple[Problem, ...]:
    """Return what conditions tell to be wrong, each once."""
    return tuple(dict.fromkeys(Problem(each.reason, each.message) for each in given
                               if each.holds == (each.type in BAD_IF_TRUE)))


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of one object, or of one part of it, by their type."""

    by_type: Mapping[str, StatusCondition] = field(default_factory=dict)

    @classmethod
    def of(cls, *conditions: StatusCondition) -> "Conditions":
        """Return these conditions."""
        return cls({each.type: each for each in conditions})

    def __getitem__(self, kind: str) -> StatusCondition:
        return self.by_type[kind]

    def and_(self, condition: StatusCondition) -> "Conditions":
        """Return these conditions, one of them replaced or added."""
        return Conditions({**self.by_type, condition.type: condition})


def render(conditions: Conditions, generation: int, known: object, now: str) -> list[JSON]:
    """Return conditions in JSON.

    Args:
        generation: of the object that was evaluated.
        known: the conditions as the API server has them, whatever they are.
        now: time of a transition, RFC 3339.
    """
    listed = known if isinstance(known, list) else []
    before = {each.get("type"): each for each in listed if isinstance(each, dict)}
    return [_rendered(each, generation, before.get(each.type, {}), now)
            for each in conditions.by_type.values()]


def _rendered(condition: StatusCondition, generation: int, before: Mapping[str, Any], now: str) -> JSON:
    status = "Unknown" if condition.status is None else str(condition.status)
    same = before.get("status") == status and isinstance(before.get("lastTransitionTime"), str)
    return {"type": condition.type, "status": status, "reason": condition.reason,
            "message": printable(condition.message)[:MOST_MESSAGE], "observedGeneration": generation,
            "lastTransitionTime": before["lastTransitionTime"] if same else now}
