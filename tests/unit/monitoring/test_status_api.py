"""The API of the status page without HTTP: hostile texts, bounds, and who may see it."""

import json
import random

import pytest

from f5router.model.cluster import Key
from f5router.model.errors import Unanswered
from f5router.model.findings import NO_MEMBERS, Link, finding
from f5router.monitoring import connections
from f5router.monitoring.connections import Listeners
from f5router.monitoring.http_server import Pages
from f5router.monitoring.status_api import StatusAPI
from f5router.views.records import ChangeView
from f5router.views.route_view import RouteState, RouteSummary, Status
from tests.hostile import TEXTS
from tests.rows import rows

MANY = 10_000


class Stub:
    """Routes with hostile texts everywhere."""

    revision = 1

    def __init__(self, texts: list[str]):
        self._changes = tuple(ChangeView(0.0, (text,), False, (text,), 1, problem=text) for text in texts)
        self._routes = [RouteSummary(
            Key(text, text), *[text] * 5, Status.PENDING, RouteState.PENDING, text, text, (text,), 1, 0,
            finding(Link.POOL, NO_MEMBERS, text), text, 1, text) for text in texts]

    def summaries(self):
        return self._routes

    def route(self, key):
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
