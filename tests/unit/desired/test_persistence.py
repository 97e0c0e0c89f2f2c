"""f5router.desired.pool_options: how clients stay with a pod, and what has no effect."""

from dataclasses import replace

import pytest

from f5router.desired import pool_options
from f5router.model import names
from f5router.model.ltm import Attachment, IRule
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions
from tests.builders import FACTS, route
from tests.unit.desired.test_route_objects import build, of

NAME, SITE = RouteOptions(cookie_name="c"), RouteOptions(same_site="Lax")
BOTH, OFF = RouteOptions(cookie_name="c", same_site="Lax"), RouteOptions(disable_cookies=True)
ASKS = RouteOptions(session_cookie=True, same_site="Lax")
ALL = RouteOptions(disable_cookies=True, cookie_name="c", same_site="Lax")


@pytest.mark.parametrize(("options", "source", "data"), [
    (RouteOptions(), False, "cookie"), (RouteOptions(), True, "source"), (NAME, False, "cookie/c"),
    (SITE, False, "cookie//Lax"), (BOTH, False, "cookie/c/Lax"), (OFF, False, "off"), (ALL, False, "off"),
    (ALL, True, "source"),
])
def test_the_data_of_a_record(options, source, data):
    assert pool_options.persistence_data(options, source=source) == data


@pytest.mark.parametrize(("options", "data"), [
    (RouteOptions(), "off"), (SITE, "off"), (OFF, "off"), (NAME, "cookie/c"), (BOTH, "cookie/c/Lax"),
    (ASKS, "cookie//Lax"), (replace(ASKS, disable_cookies=True), "off"),
])
def test_the_data_of_a_record_of_a_router_without_cookies(options, data):
    """A Route that names a cookie, or asks for one without a name, has it."""
    assert pool_options.persistence_data(options, source=False, cookies=False) == data
    assert pool_options.persistence_data(options, source=True, cookies=False) == "source"


@pytest.mark.parametrize(("options", "how", "keys", "reason"), [
    pytest.param(SITE, {"cookies": False}, ["same-site"], "sets no session cookies", id="a router without"),
    pytest.param(BOTH, {"cookies": False}, [], "", id="a router without, but for a Route"),
    pytest.param(ASKS, {"cookies": False}, [], "", id="a router without, but for a Route without a name"),
    pytest.param(BOTH, {}, [], "", id="all has an effect"),
    pytest.param(BOTH, {"insecure": "Allow"}, ["same-site"], "Allow", id="port 80 too"),
    pytest.param(NAME, {"insecure": "Allow"}, [], "", id="a name on port 80 too"),
    pytest.param(OFF, {}, [], "", id="no cookie"),
    pytest.param(ALL, {}, ["cookie_name", "same-site"], "disable_cookies", id="no cookie, but a name"),
    pytest.param(BOTH, {"source": True}, ["cookie_name", "same-site"], "balance source", id="source"),
    pytest.param(OFF, {"source": True}, [], "", id="source and no cookie"),
    pytest.param(BOTH, {"works": False}, ["cookie_name", "same-site"], "TMOS 12.1", id="an old device"),
    pytest.param(OFF, {"works": False}, [], "", id="an old device, no cookie"),
    pytest.param(RouteOptions(), {"works": False}, [], "", id="an old device, nothing asked"),
    pytest.param(RouteOptions(), {"works": False, "source": True}, ["balance source"], "TMOS 12.1",
                 id="an old device, source"),
])
def test_warnings(options, how, keys, reason):
    """Annotations without effect are reported with the reason."""
    texts = list(pool_options.persistence_warnings(options,
                                                   **{"source": False, "insecure": "", "works": True, **how}))
    assert len(texts) == len(keys)
    for key, text in zip(keys, texts, strict=True):
        assert f"{key} has no effect" in text
        assert reason in text


@pytest.mark.parametrize(("version", "there"), [((11, 5, 1), False), ((12, 0), False), ((12, 1), True)])
def test_the_irule_of_cookies(version, there):
    """It is on both virtual servers, after the iRule that recognises TLS."""
    built = build(route("a"), facts=replace(FACTS, version=version))
    attached = [obj for obj in of(built, Attachment) if obj.target.endswith(names.COOKIE_IRULE)]
    assert len(attached) == (2 if there else 0)
    recognises = f"/Common/{names.PASSTHROUGH_IRULE}"
    assert all(Ref(IRule.KIND, recognises) in obj.dependencies for obj in attached)
