"""`f5router explain` where more than the Route decides: the virtual address, statistics, other Routes."""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.feature.commands import invoke
from tests.feature.conftest import Lab

ADDRESS = "ltm/virtual-address/~Common~10.0.0.1"
STATIC = {"sources": "routes", "f5_static_routes": "false"}
INGRESSES = {"sources": "ingress", "f5_static_routes": "false"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with a Route; each test leaves it as it was."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("site"))
        lab.virtuals()
        lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
                  manifests.route("a", host="a.com"))
        assert lab.converge(sources="routes") == []
        yield lab


COMMANDS = (("route", "shop/a"), ("request", "http://a.com/"))


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_virtual_address_that_is_disabled(site, arguments):
    """The BIG-IP answers for none of its virtual servers; nothing that the router writes differs."""
    assert invoke(site, "explain", *arguments, **STATIC).exit_code == 0
    site.change("PATCH", ADDRESS, {"enabled": "no"})
    try:
        result = invoke(site, "explain", *arguments, **STATIC)
    finally:
        site.change("PATCH", ADDRESS, {"enabled": "yes"})
    assert (result.exit_code, "/Common/10.0.0.1" in result.stdout) == (1, True), result.stdout


@pytest.mark.parametrize("arguments", COMMANDS)
def test_statistics_that_are_refused(site, arguments):
    """Nobody knows whether a member is up: that is said, and it is not success."""
    site.bigip.inject("refuse", times=None, path="members/stats", status=403, message="no")
    try:
        result = invoke(site, "explain", *arguments, **STATIC)
    finally:
        site.bigip.clear_faults()
    assert (result.exit_code, "health of members not read" in result.stdout) == (1, True), result.stdout


def test_without_a_virtual_server_for_http(lab):
    """No setting asks for one: a Route that is served with TLS is served."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              manifests.route("a", host="a.com", kind="edge", insecure="Allow"))
    flags = {"f5_http_vserver": "", **STATIC}
    print(lab.converge(f5_http_vserver="", sources="routes"))
    result = invoke(lab, "explain", "route", "shop/a", **flags)
    assert (result.exit_code, "http://a.com" in result.stdout) == (0, False), result.stdout


def test_two_types_of_one_path(lab):
    """The Exact one leads the path itself; a path below shows that the Prefix one is served."""
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              *manifests.service("shop", "other", pods=("10.1.1.2",)),
              manifests.ingress_class(), manifests.ingress(
                  "both", ("a.com", "/p", "web", 8080, "Prefix"), ("a.com", "/p", "other", 8080, "Exact")))
    assert lab.converge(sources="ingress") == []
    result = invoke(lab, "explain", "ingress", "shop/both", **INGRESSES)
    assert result.exit_code == 0, result.stdout
    assert "http://a.com/p/f5router-probe" in result.stdout
