"""The core tests of the official conformance suite by their short names, and a report in its form.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests (ShortName, Features) and
conformance/apis/v1/conformancereport.go.
"""

import fcntl
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

VERSION = "v1.6.1"

GATEWAY = (
    "GatewayClassObservedGenerationBump", "GatewayInvalidParametersRef", "GatewayInvalidRouteKind",
    "GatewayInvalidTLSConfiguration", "GatewayListenerUnsupportedProtocol", "GatewayModifyListeners",
    "GatewayObservedGenerationBump", "GatewaySecretInvalidReferenceGrant",
    "GatewaySecretMissingReferenceGrant", "GatewaySecretReferenceGrantAllInNamespace",
    "GatewaySecretReferenceGrantSpecific", "GatewayWithAttachedRoutes",
)
HTTP_ROUTE = (
    "HTTPRouteCrossNamespace", "HTTPRouteDisallowedKind", "HTTPRouteExactPathMatching",
    "HTTPRouteHTTPSListener", "HTTPRouteHeaderMatching", "HTTPRouteHostnameIntersection",
    "HTTPRouteInvalidBackendRefUnknownKind", "HTTPRouteInvalidCrossNamespaceBackendRef",
    "HTTPRouteInvalidCrossNamespaceParentRef", "HTTPRouteInvalidNonExistentBackendRef",
    "HTTPRouteInvalidParentRefNotMatchingSectionName", "HTTPRouteInvalidReferenceGrant",
    "HTTPRouteListenerHostnameMatching", "HTTPRouteMatching", "HTTPRouteMatchingAcrossRoutes",
    "HTTPRouteMultipleGateways", "HTTPRouteNoBackendRefs", "HTTPRouteObservedGenerationBump",
    "HTTPRoutePartiallyInvalidViaInvalidReferenceGrant", "HTTPRoutePathMatchOrder",
    "HTTPRouteRedirectHostAndStatus", "HTTPRouteReferenceGrant", "HTTPRouteRequestHeaderModifier",
    "HTTPRouteServiceTypes", "HTTPRouteSimpleSameNamespace", "HTTPRouteWeight",
)
TLS_ROUTE = (
    "TLSRouteHostnameIntersection", "TLSRouteInvalidBackendRefNonexistent",
    "TLSRouteInvalidBackendRefUnknownKind", "TLSRouteInvalidNoMatchingListener",
    "TLSRouteInvalidNoMatchingListenerHostname", "TLSRouteInvalidReferenceGrant",
    "TLSRouteListenerPassthroughSupportedKinds", "TLSRouteListenerTerminateNotSupported",
    "TLSRouteSimpleSameNamespace",
)
CLIENTS = "GatewayFrontendClientCertificateValidation"
EXTENDED: Mapping[str, Mapping[str, str]] = {"GATEWAY-HTTP": {
    "BackendTLSPolicy": "BackendTLSPolicy",
    "BackendTLSPolicyConflictResolution": "BackendTLSPolicy",
    "BackendTLSPolicyInvalidCACertificateRef": "BackendTLSPolicy",
    "BackendTLSPolicyInvalidKind": "BackendTLSPolicy",
    "BackendTLSPolicyObservedGenerationBump": "BackendTLSPolicy",
    "GatewayHTTPListenerIsolation": "GatewayHTTPListenerIsolation",
    "GatewayOptionalAddressValue": "GatewayAddressEmpty",
    "GatewayStaticAddresses": "GatewayStaticAddresses",
    "GatewayFrontendClientCertificateValidation": CLIENTS,
    "GatewayFrontendClientCertificateValidationInsecureFallback": f"{CLIENTS}InsecureFallback",
    "GatewayFrontendInvalidDefaultClientCertificateValidation": CLIENTS,
    "GatewayInvalidFrontendClientCertificateValidation": CLIENTS,
    "HTTPRoute303Redirect": "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307Redirect": "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308Redirect": "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolWebSocket": "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteInvalidParentRefNotMatchingListenerPort": "HTTPRouteDestinationPortMatching",
    "HTTPRouteInvalidParentRefSectionNameNotMatchingPort": "HTTPRouteParentRefPort",
    "HTTPRouteListenerPortMatching": "HTTPRouteParentRefPort",
    "HTTPRouteMethodMatching": "HTTPRouteMethodMatching",
    "HTTPRouteNamedRule": "HTTPRouteNamedRouteRule",
    "HTTPRouteQueryParamMatching": "HTTPRouteQueryParamMatching",
    "HTTPRouteRedirectPath": "HTTPRoutePathRedirect",
    "HTTPRouteRedirectPort": "HTTPRoutePortRedirect",
    "HTTPRouteRedirectPortAndScheme": "GatewayPort8080 HTTPRoutePortRedirect",
    "HTTPRouteRedirectScheme": "HTTPRouteSchemeRedirect",
    "HTTPRouteResponseHeaderModifier": "HTTPRouteResponseHeaderModification",
    "HTTPRouteRewriteHost": "HTTPRouteHostRewrite",
    "HTTPRouteRewritePath": "HTTPRoutePathRewrite",
}, "GATEWAY-TLS": {"TLSRouteListenerTerminateSupportedKinds": "TLSRouteModeTerminate"}}
"""Tests of extended features of each profile, with their features, a space between two."""
PROVISIONAL: Mapping[str, str] = {
    "TLSRouteMixedTerminationSameNamespace": "TLSRouteModeMixed TLSRouteModeTerminate",
    "TLSRouteTerminateSimpleSameNamespace": "TLSRouteModeTerminate",
    **dict.fromkeys((
        "TCPRouteInvalidBackendRefNonexistent", "TCPRouteInvalidCrossNamespaceBackendRef",
        "TCPRouteInvalidNonTCPListener", "TCPRouteMultipleRoutesAttachment", "TCPRouteParentRefAttachAll",
        "TCPRouteParentRefPortAndSectionName", "TCPRouteReferenceGrant", "TCPRouteWeightedRouting"), ""),
}
"""Tests of no profile here, with their extended features."""
PROFILES: Mapping[str, tuple[str, ...]] = {
    "GATEWAY-HTTP": (*GATEWAY, *HTTP_ROUTE), "GATEWAY-TLS": (*GATEWAY, *TLS_ROUTE)}
"""Core tests of each profile."""


def core(short_name: str) -> Callable[[Callable], Callable]:
    """Name the test of the suite that a test here stands for."""
    assert short_name in {name for names in PROFILES.values() for name in names}, short_name
    return partial(_named, short_name)


def extended(short_name: str) -> Callable[[Callable], Callable]:
    """Name the test of an extended feature that a test here stands for."""
    assert short_name in {name for features in EXTENDED.values() for name in features}, short_name
    return partial(_named, short_name)


def provisional(short_name: str) -> Callable[[Callable], Callable]:
    """Name the provisional test that a test here stands for."""
    assert short_name in PROVISIONAL, short_name
    return partial(_named, short_name)


def _named(short_name: str, test: Callable) -> Callable:
    test.short_name = short_name  # type: ignore[attr-defined]
    return test


def report(outcomes: Mapping[str, bool], channel: str) -> dict:
    """Return a report. Args: outcomes: True for a test that passed; a test that did not run is skipped."""
    return {
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "ConformanceReport",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gatewayAPIVersion": VERSION, "gatewayAPIChannel": channel, "mode": "default",
        "implementation": {"organization": "f5router", "project": "f5router", "url": "", "version": "",
                           "contact": []},
        "profiles": [_profile(name, tests, outcomes) for name, tests in PROFILES.items()],
        "succeededProvisionalTests": [test for test in PROVISIONAL if outcomes.get(test)],
    }


def _profile(name: str, tests: tuple[str, ...], outcomes: Mapping[str, bool]) -> dict:
    core_tests, features = _result(tests, outcomes), EXTENDED[name]
    more = {"extended": _result(tuple(features), outcomes) | {
        "supportedFeatures": sorted({name for each in features.values() for name in each.split()})}} if (
            features) else {}
    passed = core_tests["statistics"]["Passed"]
    return {"name": name, "core": core_tests, **more,
            "summary": f"{passed} of {len(tests)} core tests, on fakes of both sides."}


def _result(tests: tuple[str, ...], outcomes: Mapping[str, bool]) -> dict:
    failed = [test for test in tests if outcomes.get(test) is False]
    skipped = [test for test in tests if test not in outcomes]
    passed = len(tests) - len(failed) - len(skipped)
    return {
        "result": "failure" if failed else "partial" if skipped else "success",
        "statistics": {"Passed": passed, "Failed": len(failed), "Skipped": len(skipped)},
        **({"skippedTests": skipped} if skipped else {}), **({"failedTests": failed} if failed else {})}


def record(run: str, outcomes: Mapping[str, bool], path: Path) -> None:
    """Write a report with the outcomes of a run so far, whichever process has them; JSON is YAML, too.

    A test that has failed once in the run has failed.

    Args: run: name of the run, of which other processes may have outcomes.
    """
    path.parent.mkdir(exist_ok=True)
    with path.with_suffix(".json").open("a+") as known:
        fcntl.flock(known, fcntl.LOCK_EX)
        known.seek(0)
        name, before = json.loads(known.read() or '["", {}]')
        known_before = before if name == run else {}
        merged = known_before | {test: passed and known_before.get(test, True)
                                 for test, passed in outcomes.items()}
        known.truncate(0)
        known.write(json.dumps([run, merged]))
        known.flush()
        path.write_text(json.dumps(report(merged, "standard"), indent=1) + "\n")
