"""openshift_headers_irule: the ID of a request, where a data plane has no such clients and TMMs."""

import pytest

from f5router.desired import irules
from f5router.model import names
from f5router.model.http_edge import DEFAULT_ID_FORMAT, UniqueID, parse_id_format
from tests.unit.desired.irules.tmm import Tmm

GROUP = f"/Common/{names.HTTP_GROUP}"
TOLD = {"f5router_route": "1"}
NOW = 0x6B03E62E


def ids(tmm: Tmm, text: str, *, requests: int = 1, variables: dict[str, str] = TOLD, **how) -> list[str]:
    """Return the IDs of the requests of a connection."""
    rule = irules.headers_irule("/Common", forwarded="append",
                                with_id=UniqueID("X-ID", parse_id_format(text)))
    connection = tmm.run([rule], groups={GROUP: {}}, requests=[("a.com", variables)] * requests, now=NOW,
                         **how)
    return [action[3] for action in connection.actions if action[:3] == ("HTTP::header", "insert", "X-ID")]


@pytest.mark.parametrize(("text", "client", "wanted"), [
    (DEFAULT_ID_FORMAT, "192.0.2.1", "C0000201:9C40_C0000250:0050_6B03E62E_0003:0003"),
    ("%{+X}o%ci-%fi", "2001:db8::1%5", "20010DB8000000000000000000000001-C0000250"),
    ("%{+X}ci", "::1", "00000000000000000000000000000001"),
    ("%{+X}ci", "2001:db8::", "20010DB8000000000000000000000000"),
    ("%{+X}ci", "1:2:3:4:5:6:7:abcd", "0001000200030004000500060007ABCD"),
    ("%{+X}ci", "::", "0" * 32),
    ("%ci/%cp/%fi/%fp/%Ts", "2001:db8::1%5", "2001:db8::1/40000/192.0.2.80/80/1795417646"),
    ("%{+Q}o%ci/%cp/%H", "192.0.2.1", '"192.0.2.1"/40000/"bigip.example.com"'),
    ("'{$x} [exit]'", "192.0.2.1", "{$x} [exit]"),
    ("a" * 1000, "192.0.2.1", "a" * 127),
])
def test_values(tmm, text, client, wanted):
    assert ids(tmm, text, client=client, unit=3) == [wanted]


def test_each_request_has_its_own(tmm):
    """The number of its TMM is a part of an ID."""
    assert ids(tmm, "%rt-%pid", requests=3, unit=5) == ["5-5", "1029-5", "2053-5"]
    assert not set(ids(tmm, "%rt", requests=20, unit=0)) & set(ids(tmm, "%rt", requests=20, unit=1))


def test_only_requests_of_routes(tmm):
    assert ids(tmm, "%rt", variables={"f5router_route": "0"}) == []


@pytest.mark.parametrize("fault", ["TMM::cmp_unit", "IP::local_addr", "HTTP::header insert X-ID 0"])
def test_a_fault_ends_no_request(tmm, fault):
    text = "%rt" if "insert" in fault else DEFAULT_ID_FORMAT
    assert ids(tmm, text, faults=[fault]) == []


def test_without_the_setting():
    """The text is as it was before there were IDs: an upgrade writes nothing."""
    text = irules.headers_irule("/Common", forwarded="append")
    assert "unit" not in text
    assert "f5r_request\n        foreach f5r_words $f5r_actions {" in text
