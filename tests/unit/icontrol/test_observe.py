"""Links that observed objects get, so that previous objects are kept complete."""

from f5router.icontrol import observe
from f5router.model.ltm import DataGroup, Record

POOL = "/Common/openshift_shop_web___0123456789abcdef__limited"


def test_a_list_goes_with_the_record_that_names_it():
    addresses = DataGroup("/Common/openshift_addresses_00_dg", "ip", frozenset({"10.0.0.0/8"}))
    record = Record("/Common/openshift_limits_dg", POOL, "openshift_addresses_00_dg")
    (linked,) = observe.linked({obj.ref: obj for obj in (addresses, record)}, "/Common")
    assert addresses.ref in linked.dependencies
