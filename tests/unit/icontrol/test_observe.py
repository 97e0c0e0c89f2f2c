"""Links that observed objects get, so that previous objects are kept complete."""

import pytest

from f5router.icontrol import observe
from f5router.model.ltm import DataGroup, Record

POOL = "/Common/openshift_shop_web___0123456789abcdef__limited"


def test_a_list_goes_with_the_record_that_names_it():
    addresses = DataGroup("/Common/openshift_addresses_00_dg", "ip", frozenset({"10.0.0.0/8"}))
    record = Record("/Common/openshift_limits_dg", POOL, "openshift_addresses_00_dg")
    (linked,) = observe.linked({obj.ref: obj for obj in (addresses, record)}, "/Common")
    assert addresses.ref in linked.dependencies


@pytest.mark.parametrize(("path", "missing"), [
    pytest.param("/Common/admins", False, id="there"), pytest.param("/Common/gone", True, id="gone"),
    pytest.param("/Team/sub/gone", True, id="in a folder of a partition that is seen"),
    pytest.param("/P/gone", True, id="in our own partition"),
    pytest.param("/Hidden/x", False, id="in a partition that may not be seen"),
])
def test_profiles_that_are_certainly_missing(path, missing):
    there = ["/Common/admins", "/Team/x"]
    assert observe.missing_profiles([path], there, "/P/zone") == ({path} if missing else set())
