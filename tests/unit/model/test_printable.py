"""texts.py, and that whatever is shown passes through it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import condition
from f5router.admission.condition import Verdict
from f5router.model.cluster import Key, Route
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.model.texts import bounded, printable
from f5router.monitoring import health
from f5router.plan import changes
from f5router.plan.change import Change
from f5router.plan.changes import GroupedProblem, Preview, RejectedRoute
from ghost_hostsubnet import manifest, output

HOSTILE = "a\x1b]0;title\x07\x9b2J\u202eb\u2028c\r\n\t\x00\x7f\ud800d\u200b"
SHOWN = r"a\x1b]0;title\x07\x9b2J\u202eb\u2028c\r\n\t\x00\x7f\ud800d\u200b"


@given(st.text(st.characters(), max_size=50))
def test_any_text(text):
    """One printable line; what is printed as itself stays."""
    shown = printable(text)
    assert shown.isprintable()
    assert shown.encode().decode() == shown
    assert shown == text or not text.isprintable()


@pytest.mark.parametrize(("text", "shown"), [
    pytest.param(HOSTILE, SHOWN, id="hostile"),
    pytest.param("Größe 中 -1 \\x1b", "Größe 中 -1 \\x1b", id="printable"),
    pytest.param(["a"], "['a']", id="no text"),
])
def test_texts(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(), max_size=50), st.integers(3, 60))
def test_any_text_within_bounds(text, most):
    """The bytes of what is shown have a bound; a text that fits is shown whole."""
    shown, whole = bounded(text, most), printable(text)
    assert shown.isprintable()
    assert len(shown.encode()) <= most
    assert shown == whole or (len(whole.encode()) > most and whole.startswith(shown.removesuffix("...")))


def test_plan():
    """Changes, Routes, problems and warnings; in JSON with escapes."""
    path, key = f"/Common/{HOSTILE}", Key("shop", HOSTILE)
    preview = Preview(
        (Change("create", None, Pool(path)),), (GroupedProblem(HOSTILE, (Ref("ltm/pool", path),), (key,)),),
        (RejectedRoute(key, HOSTILE, HOSTILE), RejectedRoute(Key("a", "b"), "Why", HOSTILE)), {key: HOSTILE},
        (HOSTILE,))
    table = changes.as_text(preview).plain
    assert table.count(SHOWN) == 10
    assert all(line.isprintable() for line in table.splitlines())
    assert changes.as_json(preview).replace("\n", "").isprintable()


def test_health():
    assert health.excerpt("a\nb\x1b[2J") == r"a b\x1b[2J"


def test_status():
    """`oc describe route` prints it."""
    (entry,) = condition.entries(
        Route(Key("a", "b")), Verdict(False, "Why", HOSTILE), host="h", router_name="r",
        canonical_hostname="", now="now")
    assert entry["conditions"][0]["message"] == SHOWN


def test_hostsubnets():
    obj = {"metadata": {"name": HOSTILE}, "hostIP": HOSTILE, "subnet": HOSTILE}
    table = output.hostsubnets([obj], manifest.SDNFacts(), "table")
    assert table.count(SHOWN) == 3
    assert len(table.splitlines()) == 2
    assert output.checks([manifest.CheckResult("a", True, HOSTILE)], "table") == f"ok     {SHOWN}"
    for form in ("yaml", "json"):
        text = output.hostsubnets([obj], manifest.SDNFacts(), form)
        assert all(line.replace("\x7f", "").isprintable() and line.isascii() for line in text.split("\n"))
