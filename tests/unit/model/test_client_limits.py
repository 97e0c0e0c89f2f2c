"""Records of limits of clients, also as earlier releases wrote them."""

import pytest

from f5router.model import route_options


@pytest.mark.parametrize(("addresses", "limits", "data"), [
    ("/P/sub/a_dg", (), "a_dg"), ("/P/sub/a_dg", (2, 0, 100), "a_dg/2/0/100"), ("", (0, 3, 0), "-/0/3/0")])
def test_data(addresses, limits, data):
    assert route_options.encode_limits(addresses, limits) == data
    assert route_options.list_of_limits(data) == addresses.rsplit("/", 1)[-1]


@pytest.mark.parametrize(("data", "name"), [("", ""), ("/", ""), ("a b", "a b"), ("-", ""), ("x/y", "x")])
def test_data_of_others(data, name):
    assert route_options.list_of_limits(data) == name
