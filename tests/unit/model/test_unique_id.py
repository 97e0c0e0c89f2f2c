"""IDs of requests: what their header and their format may be.

Which ID a format makes is compared with HAProxy in tests/differential/test_unique_id.py.
"""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.http_edge import DEFAULT_ID_FORMAT, MOST_FORMAT, parse_id_format, parse_id_header
from tests.rows import rows

IDS = "ci_x t_3a cp_x t_5f fi_x t_3a fp_x t_5f Ts_x t_5f rt_x t_3a pid_x"
FORM = re.compile(r"t_([0-9a-f]{2})+|(ci|fi|cp|fp|Ts|rt|pid|H)(_[xq])?")


def t(text: str) -> str:
    return f"t_{text.encode().hex()}"


@pytest.mark.parametrize(("text", "pieces"), [
    (DEFAULT_ID_FORMAT, IDS), ('"%{+X}o %ci:%cp_%fi:%fp_%Ts_%rt:%pid"', IDS),
    ("'%{+X}o %ci:%cp_%fi:%fp_%Ts_%rt:%pid'", IDS),
    ("%rt", "rt"), ("a%rt", f"{t('a')} rt"), ("%H-%rt", f"H {t('-')} rt"), ("100%%", t("100%")),
    ("%{+Q}o%ci%cp%H", "ci_q cp H_q"), ("%{+Q,+X}o%ci%H", "ci_x H_q"), ("%{+Q}ci%ci", "ci_q ci"),
    ("%{+X}o%{-X}ci%ci%{-X}o%ci", "ci ci_x ci"), ("%{+E}o%ci%H", "ci H"), ("%ci%o%cp", "ci cp"),
    ("'  a   b %ci  '", f"{t('a b ')} ci {t(' ')}"), ("'a %o b'", f"{t('a ')} {t('b')}"),
    (r"a\ b\#c\\d", t(r"a b#c\d")), ("\"a\\\"b\\$c's\"", t("a\"b$c's")), ("$HOME{}[];", t("$HOME{}[];")),
    (r"'a\b$x[exit]'", t(r"a\b$x[exit]")),
])
def test_formats(text, pieces):
    assert parse_id_format(text) == tuple(pieces.split())


@rows("text", [
    "", '""', "%", "%ci%", "%{+X}o", "' '", "%ID", "%[uuid()]", "%[src]", "%{+X}[src]", "%ms", "%HM", "%b",
    "%cia",
    "%ci1", "%{X}ci", "%{+Z}ci", "%{+X+Q}ci", "%{}ci", "%{+X}%", "%{+X", "a b", "a#b", "'a", '"a', "a\\",
    r"a\x41", r"a\$b", '"$HOME"', "a\nb", "'a\nb'", "\u00e4", "\x7f", "\0", "x" * (MOST_FORMAT + 1)])
def test_bad_formats(text):
    with pytest.raises(ValueError, match=r"[a-z]"):
        parse_id_format(text)


@given(st.text(max_size=60) | st.text("%{}+-QXEciHTs [](),\\'\"$", max_size=40))
def test_nothing_has_a_meaning_to_tcl(text):
    with contextlib.suppress(ValueError):
        assert all(FORM.fullmatch(piece) for piece in parse_id_format(text))


@pytest.mark.parametrize("name", ["X-Unique-ID", "a", "x_1", "1", "a" * 255])
def test_names(name):
    assert parse_id_header(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a:", "\u00e4", "a\n", "-lws", "LWS", "host", "Proxy", "Cookie",
                                  "Content-Length", "a" * 256, "$x[exit]"])
def test_bad_names(name):
    with pytest.raises(ValueError, match=r"[a-z]"):
        parse_id_header(name)
