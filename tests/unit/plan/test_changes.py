"""Changes by their cause, with what differs."""

from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.ltm import IRule, KeyFile, Pool, PoolMember, Record, Rule
from f5router.model.objects import Ref
from f5router.plan import changes
from f5router.plan.change import Change
from f5router.plan.changes import Preview
from tests.rows import rows

OLD = Pool("/Common/a", "/Common/tcp", frozenset({PoolMember("10.1.1.1", 80), PoolMember("10.1.1.2", 80)}))
NEW = Pool("/Common/a", "", frozenset({PoolMember("10.1.1.2", 80), PoolMember("10.1.1.3", 80)}))
RULE = Rule("/Common/p", names.rule(Key("shop", "a")), 1, frozenset(), None)
PLAN = (Change("create", None, Pool("/Common/b")), Change("update", OLD, NEW), Change("delete", RULE, None))
HTTP = f"/Common/{names.HTTP_GROUP}"

TEXT = """\
Objects of no single Route
  + create  ltm/pool         /Common/b

Route shop/a
  ~ update  ltm/pool         /Common/a
      monitor: /Common/tcp -> ""
      members: + ["10.1.1.3", 80, 1, 0, "enabled", 0], - ["10.1.1.1", 80, 1, 0, "enabled", 0]
  - delete  ltm/policy/rule  /Common/p/rules/openshift_route_shop_a"""


def test_groups():
    """In the order of writing within each."""
    causes = {OLD.ref: "Route shop/a", RULE.ref: "Route shop/a"}
    assert changes.changes_as_text(Preview(PLAN, causes=causes)).plain == TEXT


@rows(("path", "shown"), [
    ("/Common/v/rules//Common/r", "/Common/v/rules /Common/r"),
    ("/Common/dg/records//a//b", "/Common/dg/records /a//b"),
    ("/Common/p", "/Common/p"),
])
def test_paths(path, shown):
    assert changes.shown_path(Ref("k", path)) == shown


@rows(("old", "new", "line"), [
    (Pool("/Common/a", queue_ms=1), Pool("/Common/a", queue_ms=2), "queue_ms: 1 -> 2"),
    (Pool("/Common/a", "x" * 200), Pool("/Common/a", "y"), f"monitor: {'x' * 100}... -> y"),
    (IRule("/Common/i", "secret one"), IRule("/Common/i", "secret two"), "its content, which is not shown"),
    (KeyFile("/Common/k", "secret"), KeyFile("/Common/k", "other secret"), "its content, which is not shown"),
    (Record(HTTP, "r", "secret"), Record(HTTP, "r", "other secret"), "its content, which is not shown"),
    (Record("/Common/g", "r", "/Common/a"), Record("/Common/g", "r", "/Common/b"),
     "data: /Common/a -> /Common/b"),
])
def test_differences(old, new, line):
    text = changes.changes_as_text(Preview((Change("update", old, new),))).plain
    assert text.splitlines()[2].strip() == line
    assert "secret" not in text


def test_many_members():
    many = Pool("/Common/a", members=frozenset(PoolMember(f"10.1.1.{n}", 80) for n in range(1, 31)))
    text = changes.changes_as_text(Preview((Change("update", Pool("/Common/a"), many),))).plain
    assert text.endswith(", + 20 more")


def test_colours():
    """They are styles of the text, which a terminal shows and a pipe does not."""
    styles = {span.style for span in changes.as_text(Preview(PLAN)).spans}
    assert {"green", "yellow", "red"} <= styles
