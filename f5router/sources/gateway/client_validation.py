"""Validation of client certificates by HTTPS listeners: spec.tls.frontend of a Gateway.

A port whose authorities cannot be resolved serves no HTTPS; some of several are enough. Source:
kubernetes-sigs/gateway-api v1.6.1, apis/v1/gateway_types.go: FrontendTLSConfig, FrontendTLSValidation.
"""

from collections.abc import Mapping
from typing import NamedTuple

from f5router.admission import pem
from f5router.model.client_tls import ClientValidation
from f5router.model.cluster import is_object_name
from f5router.model.gateway import CONFIG_MAP, GATEWAY, FrontendValidation, Gateway, ObjectRef
from f5router.model.hostnames import quote
from f5router.model.secret_keys import config_map_key
from f5router.sources.gateway import conditions
from f5router.sources.gateway.conditions import StatusCondition, false
from f5router.sources.gateway.references import GatewayView, permits

VALID_ONLY, FALLBACK = "AllowValidOnly", "AllowInsecureFallback"


class CheckedValidation(NamedTuple):
    """Validation of a port, with what is wrong with it."""

    validation: ClientValidation
    accepted: StatusCondition | None = None
    resolved: StatusCondition | None = None


def check(gateway: Gateway, view: GatewayView) -> Mapping[int, CheckedValidation]:
    """Check the validation of each port of a Gateway that has one. Equal authorities are in memory once."""
    wanted = {port: each for port in {each.port for each in gateway.listeners}
              if (each := gateway.validation(port)) is not None}
    texts: dict[str, str] = {}
    checked = {each: _check(gateway, each, view, texts) for each in dict.fromkeys(wanted.values())}
    return {port: checked[each] for port, each in wanted.items()}


def _check(gateway: Gateway, wanted: FrontendValidation, view: GatewayView,
           shared: dict[str, str]) -> CheckedValidation:
    """Check a validation. Args: shared: the authorities that other ones have, and gets those of this one."""
    texts: dict[str, None] = {}
    problems: list[StatusCondition] = []
    for number, ref in enumerate(wanted.authorities):
        field = f"{wanted.field}.caCertificateRefs[{number}]"
        known = _authorities(gateway, field, ref, view)
        if isinstance(known, StatusCondition):
            problems.append(known)
        elif known not in texts and sum(map(len, texts)) + len(known) > pem.MAX_TEXT:
            problems.append(false(
                conditions.RESOLVED, conditions.INVALID_CA,
                f"{field}: the authorities of a port have more than {pem.MAX_TEXT} characters together"))
        else:
            texts[known] = None
    unread, text = any(each.status is None for each in problems), "".join(texts)
    validation = ClientValidation(
        wanted.mode != FALLBACK, None if unread or not texts else shared.setdefault(text, text))
    problem = min(problems, key=lambda each: each.status is None, default=None)
    return CheckedValidation(validation, _refusal(wanted, problem, usable=unread or bool(texts)), problem)


def _refusal(wanted: FrontendValidation, problem: StatusCondition | None, *,
             usable: bool) -> StatusCondition | None:
    """Return why no listener of the port is served; None if one may be."""
    if wanted.mode not in (VALID_ONLY, FALLBACK):
        return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                     f"{wanted.field}.mode: {quote(wanted.mode)} is not supported")
    text = problem.message if problem else f"{wanted.field}.caCertificateRefs: it is empty"
    return None if usable else false(conditions.ACCEPTED, conditions.NO_CA, text)


def _authorities(gateway: Gateway, field: str, ref: ObjectRef, view: GatewayView) -> str | StatusCondition:
    """Return the certificates of a ConfigMap in PEM, or why there are none."""
    if ref[:2] != ("", CONFIG_MAP):
        return false(conditions.RESOLVED, conditions.INVALID_CA_KIND,
                     f"{field}: {quote(ref.kind)} of group {quote(ref.group)} is not supported, only "
                     "ConfigMaps")
    key = ref.key(gateway.key.namespace)
    if not permits(view, gateway.key, GATEWAY, ref):
        return false(conditions.RESOLVED, conditions.NOT_PERMITTED,
                     f"{field}: no ReferenceGrant in namespace {key.namespace} permits Gateways of namespace "
                     f"{gateway.key.namespace} to refer to ConfigMap {quote(key.name)}")
    if not is_object_name(key.name):
        return false(conditions.RESOLVED, conditions.INVALID_CA,
                     f"{field}: ConfigMap {quote(key.name)} not found")
    known = view.secret(config_map_key(key))
    if known is None or known.not_loaded:
        text = (known.problem if known else "") or "it is not read yet"
        return StatusCondition(conditions.RESOLVED, None, conditions.PENDING, f"{field}: {text}")
    text, problem = view.certificates.authorities(known)
    return false(conditions.RESOLVED, conditions.INVALID_CA, f"{field}: {problem}") if problem else text


def insecure(gateway: Gateway) -> StatusCondition | None:
    """Return that clients without a valid certificate are served, although they are asked for one."""
    wanted = (gateway.default_validation, *(each for _, each in gateway.port_validations))
    first = next((each for each in wanted if each and each.mode == FALLBACK), None)
    return None if first is None else StatusCondition(
        conditions.INSECURE_VALIDATION, True, conditions.CONFIGURATION_CHANGED,
        f"{first.field}.mode: {FALLBACK} serves clients without a valid certificate, too")
