"""f5router.icontrol.rest.wire: paths and bodies as a device reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.icontrol.rest.wire import encode_body, encode_list, item_path
from tests.unit.icontrol.test_no_secrets import PEM, secrets_in


@pytest.mark.parametrize(("parts", "path"), [
    (["ltm/pool", "/Common/x"], "ltm/pool/~Common~x"),
    (["/mgmt/tm/ltm/pool/", "/Common/a/b"], "/mgmt/tm/ltm/pool/~Common~a~b"),
    (["ltm/pool", "/Common/x", "members"], "ltm/pool/~Common~x/members"),
    (["ltm/pool", "/p/x", "members", "/p/10.1.1.1:80"], "ltm/pool/~p~x/members/~p~10.1.1.1:80"),
    (["ltm/pool", "/p/x", "members", "/p/10.1.1.1%1:80"], "ltm/pool/~p~x/members/~p~10.1.1.1%251:80"),
    (["ltm/pool", "/p/x", "members", "/p/fd00::1.80"], "ltm/pool/~p~x/members/~p~fd00::1.80"),
    (["ltm/policy", "/p/x", "rules", '"match /buy"'], "ltm/policy/~p~x/rules/%22match%20~buy%22"),
    (["net/self", "/Common/10.131.0.5/14"], "net/self/~Common~10.131.0.5~14"),
    (["x", "/Common/a_b-c.d~e?f#g&h+ä"], "x/~Common~a_b-c.d~e%3Ff%23g%26h%2B%C3%A4"),
])
def test_item_path(parts, path):
    """As the recordings spell it."""
    assert item_path(*parts) == path


@pytest.mark.parametrize(
    "parts", [[""], ["/"], ["."], [".."], ["/Common/x", ""], ["/Common/x", "members", "/"]], ids=str)
def test_item_path_of_nothing(parts):
    """An empty name would address, and delete, the whole collection."""
    with pytest.raises(ValueError, match="no name of an object"):
        item_path("ltm/pool", *parts)


@given(st.text(min_size=1).filter(lambda name: name.strip("/") and name not in (".", "..")))
def test_item_path_is_one_segment(name):
    """No name leaves its segment, starts a query or a fragment."""
    name = name.encode(errors="ignore").decode() or "x"
    if not name.strip("/"):
        return
    segment = item_path("c", name).removeprefix("c/")
    assert not set(segment) & set("/?#& ")
    assert segment.isascii()


def test_encode():
    """UTF-8 with nothing escaped that need not be."""
    assert encode_body({"a": "<ä>&'\n"}) == '{"a": "<ä>&\'\\n"}'.encode()
    for bad in ({"key": PEM + "\ud800"}, {"a": float("nan")}):
        with pytest.raises(ValueError, match=r".") as caught:
            encode_body(bad)
        assert not secrets_in(caught.value)
        assert type(caught.value) is ValueError


def test_encode_a_list():
    """As if it were encoded as a whole."""
    items = [{"a": "ä"}, {"b": [1]}]
    assert encode_list("rules", map(encode_body, items)) == encode_body({"rules": items})
    assert encode_list("rules", []) == encode_body({"rules": []})
