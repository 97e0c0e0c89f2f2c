"""The API of the status page without HTTP: hostile texts, bounds, and who may see it."""

import json
import random
from collections import Counter
from html.parser import HTMLParser
from importlib import resources
from urllib.parse import parse_qs

import pytest

from f5router.model.cluster import Key
from f5router.model.errors import Unanswered
from f5router.model.findings import NO_MEMBERS, Link, finding
from f5router.monitoring import connections, plain_page
from f5router.monitoring.connections import Listeners
from f5router.monitoring.http_server import Pages
from f5router.monitoring.status_api import SECURITY, StatusAPI
from f5router.views.records import ChangeView
from f5router.views.route_view import RouteState, RouteSummary, Status, Summaries
from tests.hostile import TEXTS
from tests.rows import rows

MANY = 10_000


class Stub:
    """Routes with hostile texts everywhere."""

    revision, is_current = 1, True

    def __init__(self, texts: list[str]):
        self._changes = tuple(ChangeView(0.0, (text,), False, (text,), 1, problem=text) for text in texts)
        self._routes = [RouteSummary(
            Key(text, text), *[text] * 5, Status.PENDING, RouteState.PENDING, text, text, (text,), 1, 0,
            finding(Link.POOL, NO_MEMBERS, text), text, 1, text, text) for text in texts]

    def summaries(self):
        return Summaries(self._routes, self.is_current)

    def route(self, key, front_end):
        return None

    def nodes(self):
        raise Unanswered("busy")

    def changes(self):
        return self._changes


def hostile(count: int) -> list[str]:
    """That many texts: those that are known to be bad, joined with markup and others at random."""
    draw = random.Random(1)
    parts = [*(text[:300] for text in TEXTS), "<script>alert(1)</script>", "</script>", "<!--", "]]>", "&lt;",
             "javascript:alert(1)", "\u2028", "'\"`", "<img src=x onerror=alert(1)>", "\x00", "\x7f"]
    return ["".join(draw.choices(parts, k=3)) for _ in range(count)]


def test_ten_thousand_hostile_texts_come_back_as_they_were():
    """No reply has a character that a browser could take for markup, and JSON gives each text back."""
    texts = hostile(MANY)
    api = StatusAPI(Stub(texts), Listeners(int))
    answer = api.answer(["api", "v1", "changes"], {})
    assert answer.content_type == "application/json"
    assert not set(b"<>&\x7f").intersection(answer.body)
    assert all(0x20 <= byte < 0x7f for byte in answer.body)
    assert [item["problem"] for item in json.loads(answer.body)["items"]] == texts
    for text in texts[:300]:
        reply = api.answer(["api", "v1", "routes"], {"search": [text], "namespace": [text], "page": ["1"]})
        assert reply.status in (200, 400)
        assert not set(b"<>&").intersection(reply.body)
        assert api.answer(["api", "v1", "routes", text, text], {}).status == 404


def test_a_list_that_leaves_out_a_change_says_so():
    source = Stub(["a"])
    api = StatusAPI(source, Listeners(int))
    assert json.loads(api.answer(["api", "v1", "routes"], {}).body)["is_current"] is True
    source.is_current = False
    assert json.loads(api.answer(["api", "v1", "routes"], {}).body)["is_current"] is False


def test_a_loop_that_does_not_answer():
    answer = StatusAPI(Stub([]), Listeners(int)).answer(["api", "v1", "nodes"], {})
    assert (answer.status, json.loads(answer.body)) == (503, {"error": "busy"})


@rows(("login", "local", "host", "status"), [
    (None, False, "127.0.0.1:1936", 403),
    (None, True, "127.0.0.1:1936", 200),
    (None, True, "localhost", 200),
    (None, True, "[::1]:1936", 200),
    (None, True, "attacker.example.com", 403),
    (None, True, "127.0.0.1.attacker.example.com", 403),
    (None, True, "", 403),
    (None, True, "[", 403),
    (("a", "b"), True, "127.0.0.1", 401),
    (("a", "b"), False, "10.0.0.1", 401),
])
def test_who_may_see_it(login, local, host, status):
    pages = Pages(list, list, lambda accept: (b"", ""), login, StatusAPI(Stub([]), Listeners(int)), local)
    for target in ("/", "/page.js", "/api/v1/changes", "/api/v1/none"):
        got = pages.answer(target, "", "", host=host).status
        assert got == (404 if status == 200 and target.endswith("none") else status)


def test_a_password_does_not_go_over_http_where_there_is_tls():
    pages = Pages(list, list, lambda accept: (b"", ""), ("a", "b"), StatusAPI(Stub([]), Listeners(int)))
    assert pages.answer("/", "", "Basic YTpi", clear=True).status == 403
    assert pages.answer("/", "", "Basic YTpi").status == 200


def test_one_listener_too_many_is_told_when_to_come_again():
    sent: list[bytes] = []
    listeners = Listeners(int, most=0)
    listeners.stream(sent.append)
    assert sent == [b"retry: %d\n\n" % connections.CROWDED_MS]
    assert len(listeners) == 0


def test_listeners_are_counted_out_when_they_leave_and_at_the_end():
    def leave(data: bytes) -> None:
        raise BrokenPipeError

    listeners = Listeners(int)
    with pytest.raises(BrokenPipeError):
        listeners.stream(leave)
    assert len(listeners) == 0
    sent: list[bytes] = []
    listeners = Listeners(lambda: len(sent), pause_s=0.0)
    listeners.stream(lambda data: (sent.append(data), len(sent) > 3 and listeners.close()))
    assert sent[1:3] == [b"event: change\ndata: 1\n\n", b"event: change\ndata: 2\n\n"]


class Text(HTMLParser):
    """The texts and elements of a page, as a browser takes them."""

    def __init__(self, page: str):
        super().__init__()
        self.texts, self.elements, self.targets = [], Counter(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements[tag] += 1
        self.targets += [value for name, value in attrs if name == "href"]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.texts.append(data)


def test_the_list_without_scripts_has_no_markup_of_anybody():
    """Each text comes back as it was, and the number of elements is that of harmless texts."""
    texts = hostile(200)

    def listed(names: list[str]) -> Text:
        answer = StatusAPI(Stub(names), Listeners(int)).answer(["plain"], {"per_page": ["200"]})
        assert answer.status == 200
        return Text(answer.body.decode("ascii"))

    page, harmless = listed(texts), listed([f"t{number}" for number in range(200)])
    assert page.elements == harmless.elements
    shown = "".join(page.texts)
    assert all(text.replace("\r", "\n") in shown.replace("\r", "\n") for text in texts if text.isprintable())
    assert all(target.startswith(("api/v1/", "plain", "page.css", "icon.svg")) for target in page.targets)


@rows(("query", "status", "text"), [
    ({}, 200, "3 Routes, page 1 of 1"),
    ({"per_page": ["2"], "search": ["<b>"]}, 200, "0 Routes, page 1 of 1"),
    ({"per_page": ["2"]}, 200, "3 Routes, page 1 of 2"),
    ({"state": ["failed"]}, 200, "0 Routes"),
    ({"sort": ["size"]}, 400, "sort must be one of"),
    ({"strange": ["<b>"]}, 200, "3 Routes"),
])
def test_the_parameters_of_the_list_without_scripts(query, status, text):
    answer = StatusAPI(Stub(["a", "b", "c"]), Listeners(int)).answer(["plain"], query)
    assert (answer.status, text in answer.body.decode()) == (status, True)
    assert b"<b>" not in answer.body
    assert b"strange" not in answer.body
    assert ("Content-Security-Policy", dict(answer.headers)["Content-Security-Policy"]) in SECURITY


def test_the_links_of_the_list_without_scripts():
    """They keep the parameters that were given, and lead to other pages."""
    answer = StatusAPI(Stub(["a&", "b&", "c&"]), Listeners(int)).answer(
        ["plain"], {"per_page": ["1"], "page": ["2"], "search": ["&"], "sort": ["-host"]})
    targets = [parse_qs(target.partition("?")[2]) for target in Text(answer.body.decode()).targets]
    kept = {"search": ["&"], "per_page": ["1"]}
    for other in ({"sort": ["-host"], "state": ["failed"]}, {"sort": ["host"]}, {"sort": ["-host"]},
                  {"sort": ["-host"], "page": ["1"]}, {"sort": ["-host"], "page": ["3"]}):
        assert {**kept, **other} in targets


def test_both_lists_have_the_same_words():
    """For each state, and in the same colour."""
    script = (resources.files("f5router.monitoring") / "page" / "page.js").read_text()
    assert [state for state, (text, kind) in plain_page.WORDS.items()
            if f'{state.value}: ["{text}", "{kind}"]' not in script] == []
    assert set(plain_page.WORDS) == set(RouteState)
