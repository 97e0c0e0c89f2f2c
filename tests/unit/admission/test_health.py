"""The annotation `health`: what it may ask for, and what would cost others their checks."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission.health import InvalidCheck, of_thresholds, parse
from f5router.admission.route_options import HEALTH, ROUTER
from f5router.admission.route_options import parse as parse_options
from f5router.model.route_options import HealthCheck, check_of_path
from tests.rows import rows
from tests.unit.admission.test_route_options import HOSTILE

GOOD = {"path": "shop.example.com/", "interval": 5, "timeout": 10}


def checked(**fields: object) -> HealthCheck:
    (check,) = parse(json.dumps([{**GOOD, **fields}]))
    return check


@pytest.mark.parametrize(("fields", "expected"), [
    ({}, HealthCheck("/", "http", 5, 10, r"GET /\r\n\r\n")),
    ({"send": "HTTP GET /"}, HealthCheck("/", "http", 5, 10, r"GET /\r\n\r\n")),
    ({"send": r"GET /health HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n"},
     HealthCheck("/", "http", 5, 10,
                 r"GET /health HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n")),
    ({"send": "HEAD / HTTP/1.0\r\nHost: a\r\n\r\n", "recv": "HTTP/1.[01] (200|301)"},
     HealthCheck("/", "http", 5, 10, r"HEAD / HTTP/1.0\r\nHost: a\r\n\r\n", "HTTP/1.[01] (200|301)")),
    ({"type": "https", "recv": "200 OK"}, HealthCheck("/", "https", 5, 10, r"GET /\r\n\r\n", "200 OK")),
    ({"type": "tcp"}, HealthCheck("/", "tcp", 5, 10)),
    ({"path": "svc/foo/bar"}, HealthCheck("/foo/bar", "http", 5, 10, r"GET /\r\n\r\n")),
    ({"other": [{}], "recv": None}, HealthCheck("/", "http", 5, 10, r"GET /\r\n\r\n")),
])
def test_valid_checks(fields, expected):
    assert checked(**fields) == expected


@pytest.mark.parametrize("entry", [{}, {"path": None}])
@pytest.mark.parametrize("path", ["", "/foo"])
def test_an_entry_without_a_path_is_for_every_route(entry, path):
    """As CIS has them in its NextGen mode, where the monitor is that of the Route that has the annotation."""
    entry = {"send": "GET /healthz", "recv": "", "interval": 2, "timeout": 7, "type": "http"} | entry
    check = HealthCheck("/", "http", 2, 7, r"GET /healthz\r\n\r\n")
    assert check_of_path(parse(json.dumps([entry])), path) == check


def test_times_that_are_missing():
    assert parse('[{"path": "a/"}]')[0][2:4] == (5, 16)
    assert parse('[{"path": "a/", "interval": 60}]')[0][2:4] == (60, 181)


@rows("fields", [
    {"path": "shop.example.com"}, {"path": ""}, {"path": 5}, {"type": "icmp"}, {"type": ["http"]},
    {"interval": 0}, {"interval": 28800}, {"interval": "5"}, {"interval": True}, {"interval": 2.5},
    {"timeout": 5}, {"timeout": 86401}, {"timeout": -1}, {"sslProfile": "/Common/serverssl"},
    {"targetPort": 8080}, {"type": "tcp", "send": "x"}, {"type": "tcp", "recv": "x"},
    {"send": "POST / HTTP/1.1"}, {"send": "DELETE /"}, {"send": "GET http://other/"}, {"send": "GET"},
    {"send": "GET / HTTP/2"}, {"send": "GET /\r\nHost: a"},
    {"send": "GET / HTTP/1.1\r\n\r\nGET /b HTTP/1.1"},
    {"send": "GET / HTTP/1.1\r\nHost : a"}, {"send": "GET / HTTP/1.1\r\n folded"},
    {"send": "GET / HTTP/1.1\r\nX: \x00"}, {"send": "GET / HTTP/1.1\r\nX: ü"}, {"send": "GET /" + "a" * 1020},
    {"send": "GET /\\x41"}, {"send": "GET / HTTP/1.1\rX: a"},
    *({"send": f"GET /{text} HTTP/1.1"}
      for text in ['"', "{", "}", "[exec]", "$x", "\\", " ", "\t", "|", "`"]),
    *({"send": f"GET / HTTP/1.1\r\nX: {text}"} for text in ['"', "{", "}", "[exec]", "$x", "\\"]),
    *({"recv": text} for text in [
        "(a+)+b", ".*", "a*", "a?", "a{9}", "(a", "a)", "[a", "a]", "(a|b)(a|b)(a|b)", "((a|b)|c)", "()",
        "(|a)", "[9-0]", "[^a]", "[a-]", "\\1", "\\d", "$", "a$", '"', "a" * 129, "a^", "\n", "|a", "a|b",
        "(a|b|c|d|e|f|g|h|i)"]),
], ids=lambda fields: ascii(next(iter(fields.items())))[:40])
def test_what_is_refused(fields):
    with pytest.raises(InvalidCheck) as refused:
        checked(**fields)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400


@rows("text", [
    *HOSTILE, "{}", "[]", "null", "[1]", '["a"]', "[" * 10_000, '[{"path": "a/"}]' * 2,
    json.dumps([GOOD] * 21), json.dumps([GOOD | {"x": "y" * 20_000}]), "[NaN]",
], ids=lambda text: ascii(text[:20]))
def test_what_is_no_list(text):
    options, problems = parse_options({HEALTH: text}, "edge")
    assert options.health == ()
    assert problems[0].startswith(f"metadata.annotations: {HEALTH} is ")
    assert problems[0].endswith("; the default applies")


def test_one_bad_entry_leaves_the_default_to_all():
    options, problems = parse_options({HEALTH: json.dumps([GOOD, GOOD | {"recv": "a*"}])}, "edge")
    assert options.health == ()
    assert "recv is 'a*'" in problems[0]


def test_openshifts_annotation_goes_first():
    options, problems = parse_options(
        {HEALTH: json.dumps([GOOD]), f"{ROUTER}haproxy.health.check.interval": "5s"}, "edge")
    assert (options.health, options.check_interval_ms, len(problems)) == ((), 5000, 1)


@pytest.mark.parametrize(("paths", "path", "place"), [
    (["a/"], "", 0), (["a/"], "/foo", 0), (["a/foo"], "/foo", 0), (["a/", "a/foo"], "/foo", 1),
    (["a/foo", "a/"], "/foo", 0), (["a/", "b/"], "", 1), (["a/foo"], "", None), (["a/foo"], "/bar", None),
])
def test_which_entry_is_that_of_a_route(paths, path, place):
    checks = parse(json.dumps([GOOD | {"path": text, "interval": n + 1} for n, text in enumerate(paths)]))
    assert check_of_path(checks, path) == (None if place is None else checks[place])


def thresholds(path="/healthy", **more):
    values = {"host": "a.b", "interval_s": 5, "timeout_s": 2, "unhealthy": 3, "healthy": 2} | more
    return of_thresholds("/api", path, **values)


@pytest.mark.parametrize(("more", "down_s", "until_up_s"), [
    ({}, 16, 5), ({"timeout_s": 9}, 19, 5), ({"unhealthy": 1, "healthy": 1}, 6, 0),
    ({"unhealthy": 1, "timeout_s": 60}, 60, 5)])
def test_thresholds_become_times(more, down_s, until_up_s):
    """A time-out covers all checks of a series, and is longer than the interval."""
    assert thresholds(**more) == HealthCheck(
        "/api", "http", 5, down_s, r"GET /healthy HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n",
        r"^HTTP/1\.[01] 200", until_up_s)


@pytest.mark.parametrize("more", [
    {"unhealthy": 0}, {"healthy": 101}, {"interval_s": 0}, {"timeout_s": -1}, {"interval_s": 28_000,
     "unhealthy": 4}, {"host": "a\r\nB: c"}, {"host": ""}, {"path": "a"}, {"path": "/ HTTP/1.1\r\nA: b"}],
    ids=repr)
def test_thresholds_that_no_monitor_has_are_refused(more):
    with pytest.raises(InvalidCheck):
        thresholds(**more)


@given(st.text(max_size=60))
def test_any_text_is_a_request_without_meaning_to_a_configuration(text):
    try:
        sent = checked(send=text).send if text else ""
    except InvalidCheck:
        return
    assert not set('"{}[]$\r\n') & set(sent)
    assert set(re.findall(r"\\(.)", sent)) <= {"r", "n"}
    assert sent.count(r"\r\n\r\n") <= 1


@given(st.text("ab.1-9 \\^()[]|*+?{}$", max_size=12) | st.text(max_size=60))
def test_patterns_are_regular_expressions_without_repetition(text):
    try:
        pattern = checked(recv=text).recv
    except InvalidCheck:
        return
    re.compile(pattern)
    assert not re.search(r"[*+?{}$\"]", pattern)
