"""openshift_request_irule: headers that never come to a pod as a client sent them."""

import pytest

from f5router.desired import irules
from mocks.bigip.tmm import RuleError
from tests.unit.desired.irules.tmm import Tmm

RULE = irules.request_irule("/Common", page=True)


def removed(tmm: Tmm, *headers: str, count: int = 1) -> list[str]:
    """Return the headers that are removed from each of these requests."""
    connection = tmm.run([RULE], groups={}, requests=[("h", {})] * count, headers=headers)
    return [action[2] for action in connection.actions if action[:2] == ("HTTP::header", "remove")]


@pytest.mark.parametrize("name", irules.STRIPPED_HEADERS)
def test_every_spelling(tmm, name):
    """In any case, and with other punctuation, which CGI, WSGI and PHP turn into the same."""
    spellings = [name, name.upper(), name.title(), name.replace("-", "_"), name.replace("-", "."),
                 name.replace("-", "_", 1), f"{name} ", f"\t{name}"]
    assert removed(tmm, "Host", *spellings, "Accept") == spellings


def test_each_of_several_and_in_each_request(tmm):
    """A header that stands twice is listed twice; whether one command removes both does not matter."""
    assert removed(tmm, "X-SSL", "A", "x-ssl", "X-SSL", count=3) == ["X-SSL", "x-ssl", "X-SSL"] * 3


@pytest.mark.parametrize("name", [
    "X-SSL-", "X-SSLx", "X-SSL-Client", "X-SSL-Client-Verify-Depth", "XX-SSL", "SSL", "Proxy-Authorization",
    "Proxy_", "-Proxy", "My-Proxy", "X-Forwarded-For", "X-Forwarded-Client-Cert", "Forwarded", "", "*",
    "[exit]", "$x", ";",
])
def test_others_are_left_alone(tmm, name):
    assert removed(tmm, name) == []


def test_a_fault_lets_nothing_through(tmm):
    """An error in an event resets the connection."""
    with pytest.raises(RuleError):
        tmm.run([RULE], groups={}, requests=[("h", {})], headers=["X-SSL"],
                faults=["HTTP::header remove X-SSL"])
