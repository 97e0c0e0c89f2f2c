"""Names of passthrough records, and which record decides about a server name."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.model import hostnames, sni_records
from f5router.model.ltm import Record
from tests import strategies
from tests.rows import rows

HOSTS = strategies.HOST_NAMES
ANY_HOST = HOSTS | HOSTS.map("*.{}".format) | st.just(hostnames.ANY)


@given(ANY_HOST, st.booleans())
def test_a_name_says_its_host(host, any_depth):
    assert sni_records.host_of(sni_records.name_of(host, any_depth=any_depth)) == host


@given(ANY_HOST, ANY_HOST)
def test_names_are_distinct(first, second):
    names = {sni_records.name_of(host, any_depth=deep) for host in {first, second} for deep in (False, True)}
    assert len(names) == sum(1 + host.startswith("*.") for host in {first, second})


@rows(("name", "covering"), [
    ("a.example.com", [".example.com", "..example.com", "..com", ".._"]),
    (".example.com", ["..example.com", "..com", ".._"]),
    ("..example.com", ["..com", ".._"]),
    ("com", [".._"]), ("..com", [".._"]), (".._", []),
])
def test_what_covers_a_record(name, covering):
    assert list(sni_records.covering(name)) == covering
    broader = [sni_records.breadth(each) for each in (name, *covering)]
    assert broader == sorted(set(broader))


@rows(("others", "passed"), [
    ({}, False), ({"..com": "/p"}, True), ({"..example.com": "terminate", "..com": "/p"}, False),
    ({".example.com": "/p", "..com": "terminate"}, True), ({".._": "/p"}, True), ({"..org": "/p"}, False),
])
def test_the_nearest_one_decides(others, passed):
    records = [Record("/Common/dg", name, data) for name, data in others.items()]
    state = {each.ref: each for each in records}
    assert sni_records.is_passed_around(Record("/Common/dg", "a.example.com", "terminate"), state) == passed
