"""Passthrough records with wildcards of any depth: whose pods have a name between two writes of a Plan."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from f5router.model import names, sni_records
from f5router.model.ltm import Record
from f5router.plan.change import DELETE
from f5router.plan.diff import diff
from tests.examples import examples

GROUP = f"/Common/{names.PASSTHROUGH_GROUP}"
HOSTS = ("com", "a.com", "b.a.com", "c.b.a.com", "b.com")
RECORDS = (*HOSTS, *(f"..{host}" for host in HOSTS[:4]), sni_records.EVERY)
DATA = st.sampled_from(["/Common/p1", "/Common/p2", names.EXCLUSION])
STATES = st.dictionaries(st.sampled_from(RECORDS), DATA, max_size=6)


def state(records: dict[str, str]) -> dict:
    return {(record := Record(GROUP, name, data)).ref: record for name, data in records.items()}


def decided(objects: dict) -> dict[str, str]:
    """Where TLS of each name goes; "" if it ends on the BIG-IP."""
    records = {each.name: each.data.removeprefix(names.EXCLUSION) for each in objects.values()}
    return {host: next((records[each] for each in sni_records.deciding(host) if each in records), "")
            for host in (*HOSTS, "x.com", "x.a.com", "x.b.a.com", "org")}


@settings(max_examples=examples(300))
@given(STATES, STATES)
@example({}, {"..com": "/Common/p1", "a.com": "terminate", "b.a.com": "/Common/p2"})
@example({"..com": "/Common/p1"}, {"..com": "/Common/p1", "..a.com": "/Common/p2", "b.a.com": "terminate"})
@example({"..a.com": "/Common/p1", "b.a.com": "terminate"}, {sni_records.EVERY: "/Common/p2"})
@example({"..com": "/Common/p1", "..a.com": "terminate"}, {"..a.com": "/Common/p2", "b.a.com": "terminate"})
def test_each_name_has_what_it_had_or_will_have(before, after):
    """Or its TLS ends on the BIG-IP for a moment: never the pods of a third one."""
    observed, desired = state(before), state(after)
    was, will = decided(observed), decided(desired)
    for change in diff(desired, dict(observed), lambda obj: True):
        assert change.verb == DELETE or set(change.obj.extra_dependencies) <= observed.keys()
        if change.new is None:
            del observed[change.ref]
        else:
            observed[change.ref] = change.new
        for host, pool in decided(observed).items():
            assert pool in (was[host], will[host], ""), (str(change), host)
    assert observed == desired
