"""openshift_passthrough_irule with wildcards of any depth, and with TLS that ends here, without HTTP."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f5router.desired import irules
from f5router.model import sni_records
from tests.examples import examples
from tests.rows import rows
from tests.unit.desired.irules import hello as h
from tests.unit.desired.irules.tmm import Tmm

GROUP = "/Common/ssl_passthrough_servername_dg"
RULE = irules.passthrough_irule("/Common", source=False, any_depth=True)
RECORDS = {"..example.com": "/p/deep", "..com": "/p/com", ".one.example.com": "/p/one",
           "a.example.com": "/p/a", "ended.example.com": "terminate", "..ended.com": "terminate",
           "in.ended.com": "/p/in"}


def pool(tmm: Tmm, data: bytes, records: dict[str, str], rule: str = RULE) -> str:
    """The pool of a connection; "" if its TLS is left to the BIG-IP."""
    connection = tmm.run([rule], segments=[data], groups={GROUP: records})
    assert not connection.logs
    return next((action[1] for action in connection.actions if action[0] == "pool"), "")


@rows(("name", "wanted"), [
    ("x.example.com", "/p/deep"), ("y.x.example.com", "/p/deep"), ("X.EXAMPLE.com.", "/p/deep"),
    ("a.example.com", "/p/a"), ("b.a.example.com", "/p/deep"), ("example.com", "/p/com"),
    ("x.one.example.com", "/p/one"), ("y.x.one.example.com", "/p/deep"), ("one.example.com", "/p/deep"),
    ("ended.example.com", ""), ("x.ended.example.com", "/p/deep"), ("x.ended.com", ""), ("y.x.ended.com", ""),
    ("ended.com", "/p/com"), ("in.ended.com", "/p/in"), ("com", ""), ("x.org", ""),
    ("an-example.com", "/p/com"), ("a" + "." * 200 + "com", ""),
    ("_x.example.com", "/p/deep"), ("10.0.0.1", ""), ("." * 300 + "com", ""), ("a." * 126 + "com", "/p/com"),
    ("a" + "." * 32000 + "com", ""),
])
def test_the_longest_domain_decides(tmm, name, wanted):
    assert pool(tmm, h.hello(name), RECORDS) == wanted


@rows(("data", "records", "wanted"), [
    (h.hello("x.org"), {".._": "/p/every"}, "/p/every"),
    (h.hello("-x.org"), {".._": "/p/every"}, "/p/every"),
    (h.client_hello(h.extension(10, b"\0\2\0\x1d")), {".._": "/p/every"}, "/p/every"),
    (h.records(h.message(None)), {".._": "/p/every"}, "/p/every"),
    (h.hello("x.org"), {".._": "/p/every", "x.org": "terminate"}, ""),
    (h.hello("x.org"), {".._": "/p/every", "..org": "/p/org"}, "/p/org"),
    (b"GET / HTTP/1.1\r\nHost: x.org\r\n\r\n", {".._": "/p/every"}, ""),
    (h.hello("x.org"), {}, ""),
])
def test_what_no_record_covers(tmm, data, records, wanted):
    assert pool(tmm, data, records) == wanted


@rows("name", ["x.example.com", "y.x.example.com", "x.org"])
def test_other_texts_pass_them_over(tmm, name):
    plain = irules.passthrough_irule("/Common", source=False)
    assert pool(tmm, h.hello(name), {**RECORDS, ".._": "/p/every"}, plain) == ""


@rows(("name", "strict", "wanted"), [
    ("db.test", None, [("pool", "/p/db"), ("HTTP::disable",)]),
    ("x.wild.test", None, [("pool", "/p/wild"), ("HTTP::disable",)]),
    ("p.test", None, [("pool", "/p/p"), ("SSL::disable",)]),
    ("db.test", {"db.test": "certificate", "/strict": "on"}, [("pool", "/p/db"), ("HTTP::disable",)]),
    ("x.wild.test", {"/strict": "on"}, []),
    ("p.test", {"/strict": "on"}, [("pool", "/p/p"), ("SSL::disable",)]),
])
def test_tls_of_a_name_ends_here_without_a_look_at_requests(tmm, name, strict, wanted):
    """With strict SNI a name without a certificate is refused all the same."""
    rule = irules.passthrough_irule("/Common", source=False, any_depth=True, strict=strict is not None)
    records = {"db.test": "terminate/p/db", "..wild.test": "terminate/p/wild", "p.test": "/p/p"}
    connection = tmm.run([rule], segments=[h.hello(name)], groups={
        GROUP: records, "/Common/openshift_server_names_dg": strict or {}})
    assert not connection.logs
    decisive = [tuple(each) for each in connection.actions if each[0] in ("pool", *{
        action[0] for action in wanted}) or each[:2] == ["SSL::disable"]]
    assert decisive[:2] == wanted


def test_a_text_that_does_not_know_such_records_rejects(tmm):
    """The pool that they name for it does not exist."""
    plain = irules.passthrough_irule("/Common", source=False)
    connection = tmm.run([plain], segments=[h.hello("db.test")], groups={GROUP: {
        "db.test": "terminate/p/db"}})
    assert [tuple(each) for each in connection.actions if each[0] == "pool"] == [("pool", "terminate/p/db")]


NAMES = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(".".join)
NAMES_OF_RECORDS = st.builds(lambda dots, name: dots + name, st.sampled_from(["", ".", ".."]), NAMES)


@given(NAMES, st.dictionaries(NAMES_OF_RECORDS | st.just(sni_records.EVERY),
                              st.sampled_from(["/p/1", "/p/2", "terminate"]), max_size=8))
@settings(max_examples=examples(100), deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_looks_up_what_the_names_of_records_mean(tmm, name, records):
    decided = next((records[each] for each in sni_records.deciding(name) if each in records), "")
    assert pool(tmm, h.hello(name), records) == decided.removeprefix("terminate")
