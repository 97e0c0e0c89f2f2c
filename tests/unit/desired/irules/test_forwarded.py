"""openshift_headers_irule: headers by which pods know the client, where a data plane has no such clients."""

import pytest

from f5router.desired import irules
from f5router.model import names
from tests.unit.desired.irules.tmm import Tmm

GROUP = f"/Common/{names.HTTP_GROUP}"
TOLD = {"f5router_route": "1"}


def inserted(tmm: Tmm, variables: dict[str, str], *, sets_variables: bool = True, **how) -> dict[str, str]:
    """Return the headers that the iRule adds to a request."""
    rule = irules.headers_irule("/Common", forwarded="append", sets_variables=sets_variables)
    connection = tmm.run([rule], groups={GROUP: {"aa": "forwarded.never"}}, requests=[("a.com", variables)],
                         **how)
    return {action[2]: action[3] for action in connection.actions
            if action[:2] == ("HTTP::header", "insert")}


@pytest.mark.parametrize(("client", "address", "parameter"), [
    ("192.0.2.1", "192.0.2.1", "192.0.2.1"), ("192.0.2.1%5", "192.0.2.1", "192.0.2.1"),
    ("2001:db8::1", "2001:db8::1", '"[2001:db8::1]"'), ("2001:db8::1%5", "2001:db8::1", '"[2001:db8::1]"')])
def test_addresses(tmm, client, address, parameter):
    """An IPv6 address stands in brackets and quotes (RFC 7239, 6); a route domain is nobody's business."""
    headers = inserted(tmm, TOLD, client=client)
    assert headers["X-Forwarded-For"] == address
    assert headers["Forwarded"] == f"for={parameter};host=a.com;proto=http"


@pytest.mark.parametrize(("variables", "sets_variables", "added"), [
    ({}, True, False), ({"f5router_route": "0"}, True, False), (TOLD, True, True), ({}, False, True),
    ({**TOLD, "f5router_http": "aa"}, True, False), ({**TOLD, "f5router_http": "bb"}, True, True)])
def test_whose_requests(tmm, variables, sets_variables, added):
    """A record that is not there changes nothing of the router's default."""
    assert bool(inserted(tmm, variables, sets_variables=sets_variables)) == added


def test_a_fault_ends_no_request(tmm):
    assert "X-Forwarded-For" not in inserted(tmm, TOLD, faults=["IP::client_addr"])
