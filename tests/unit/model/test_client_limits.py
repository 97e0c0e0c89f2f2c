"""Records of limits of clients, also as earlier releases wrote them."""

import pytest

from f5router.model import client_limits


@pytest.mark.parametrize(("addresses", "limits", "data"), [
    ("/P/sub/a_dg", (), "a_dg"), ("/P/sub/a_dg", (2, 0, 100), "a_dg/2/0/100"), ("", (0, 3, 0), "-/0/3/0")])
def test_data(addresses, limits, data):
    assert client_limits.encode(addresses, limits) == data
    assert client_limits.list_name(data) == addresses.rsplit("/", 1)[-1]


@pytest.mark.parametrize(("data", "name"), [("", ""), ("/", ""), ("a b", "a b"), ("-", ""), ("x/y", "x")])
def test_data_of_others(data, name):
    assert client_limits.list_name(data) == name
