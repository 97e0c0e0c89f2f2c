"""Links that observed objects get, so that previous objects are kept complete."""

from f5router.icontrol import observe
from f5router.model.ltm import Forward, Record, Rule

POOL, OTHER = "/Common/openshift_shop_web___0123456789abcdef", "/Common/openshift_shop_web"
SOURCE, PASSTHROUGH = "/Common/openshift_source_balance_dg", "/Common/ssl_passthrough_servername_dg"


def test_who_stays_with_a_pod_goes_with_rule_and_record():
    objects = [
        Rule("/Common/openshift_secure_routes", "a", 0, frozenset(), Forward(POOL)),
        Rule("/Common/openshift_secure_routes", "b", 0, frozenset(), Forward(OTHER)),
        Record(PASSTHROUGH, "a.example.com", POOL), Record(PASSTHROUGH, "b.example.com", OTHER),
        Record(SOURCE, POOL, "source"), Record(SOURCE, "a.example.com", "off"),
    ]
    linked = {obj.ref: obj for obj in observe.linked({obj.ref: obj for obj in objects}, "/Common")}
    by_pool, by_name = (obj.ref for obj in objects[4:])
    dependencies = [{by_pool, by_name} & set(linked[obj.ref].dependencies if obj.ref in linked else ())
                    for obj in objects[:4]]
    assert dependencies == [{by_pool}, set(), {by_name}, set()]
