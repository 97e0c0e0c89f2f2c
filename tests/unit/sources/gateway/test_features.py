"""Features that the status of a GatewayClass names: those with tests of conformance here."""

from f5router.model import address_range
from f5router.model.cluster import Key
from f5router.model.gateway import GatewayClass
from f5router.sources.gateway import features, reports
from f5router.sources.settings import GatewaySettings
from tests.conformance import suite

KINDS = {"Gateway", "HTTPRoute", "ReferenceGrant", "TLSRoute"}
UNNAMED = {"BackendTLSPolicy"}
"""Served, but not as its tests want it with every setting."""


CLIENTS = ("GatewayFrontendClientCertificateValidation",
           "GatewayFrontendClientCertificateValidationInsecureFallback")
ENDED = ("TLSRouteModeMixed", "TLSRouteModeTerminate")


def test_features_are_those_that_are_tested():
    named = features.served(GatewaySettings(ranges=address_range.parse("10.0.0.0/24")))
    tested = {name for tests in (*suite.EXTENDED.values(), suite.PROVISIONAL)
              for names in tests.values() for name in names.split()}
    assert set(named) == tested - UNNAMED | KINDS
    assert list(named) == sorted(named)
    assert set(named) - set(features.served(GatewaySettings())) == {
        "GatewayAddressEmpty", "GatewayPort8080", "GatewayStaticAddresses", *CLIENTS, *ENDED}


def test_the_status_of_a_class():
    """A CRD that may not have the field is left without it."""
    own = GatewayClass(Key("", "f5"))
    assert "supportedFeatures" not in reports.class_status(own).merged({}, "now")
    assert reports.class_status(own, ("A", "B")).merged({}, "now")["supportedFeatures"] == [
        {"name": "A"}, {"name": "B"}]


def test_a_router_that_asks_clients_itself_leaves_it_to_no_gateway():
    ranges = address_range.parse("10.0.0.0/24")
    asking, usual = (set(features.served(GatewaySettings(ranges=ranges, asks_clients=asks)))
                     for asks in (True, False))
    assert usual - asking == {*CLIENTS, *ENDED}
