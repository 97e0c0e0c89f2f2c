"""Texts by which an administrator of the BIG-IP sees whose an object is."""

from f5router.model import names, ownership, tls_names
from f5router.model.cluster import Key
from f5router.model.ltm import ClientSSL, DataGroup, IRule, Policy, Pool
from f5router.model.net import SelfIP, StaticRoute
from tests.rows import rows

SHOP = Key("shop", "web")
LONG = Key("n" * 63, "s" * 100)
DESCRIBE = ownership.describer("public", "router.example.com", "/P")
OWNER = "managed by f5router public (router.example.com)"


@rows("obj, text", [
    (Pool(names.pool("/P", SHOP)), f"{OWNER}: Service shop/web"),
    (Pool(names.pool("/P", SHOP, "8080", tls_names.UNVERIFIED)), f"{OWNER}: Service shop/web"),
    (Pool(names.pool("/P", SHOP, route="a", ending=names.LIMITED)), f"{OWNER}: Service shop/web"),
    (Pool(names.pool("/P", LONG)), f"{OWNER}: a Service in {'n' * 63}"),
    (Pool(names.full_path("/P", names.NOWHERE_POOL)), OWNER),
    (ClientSSL("/P/x", "*.example.com", "", ""), f"{OWNER}: host *.example.com"),
    (ClientSSL("/P/x", "", "", ""), OWNER),
    (ClientSSL("/P/x", "a" * 300, "", ""), f"{OWNER}: host {'a' * 300}"[:ownership.LONGEST_DESCRIPTION]),
    (ClientSSL("/P/x", "a[exec b]\"\n{};\\", "", ""), f"{OWNER}: host a_exec b_"),
    (Policy("/P/x"), OWNER),
    (DataGroup("/P/x"), OWNER),
    (StaticRoute("/P/x", "10.128.0.0/23", "10.1.1.1"), OWNER),
    (IRule("/P/x"), ""),
    (SelfIP("/P/x", "10.1.1.1/24", "/P/t"), ""),
])
def test_descriptions(obj, text):
    assert DESCRIBE(obj) == text


def test_without_a_name_for_clients():
    assert ownership.describer("public")(DataGroup("/Common/x")) == "managed by f5router public"
    assert ownership.describer("")(DataGroup("/Common/x")) == "managed by f5router"
