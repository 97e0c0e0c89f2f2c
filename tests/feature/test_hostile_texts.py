"""Names, hosts, paths and annotations that nobody sane writes, ten thousand of them, wherever they are shown.

Each text has a mark, so that the tests see where it gets to: as a name on the BIG-IP, in Tcl, on a terminal,
in the log, and on the status page in a browser. JSON is in tests/unit/monitoring/test_status_api.py, the
subjects of certificates in tests/unit/views/test_certificates.py.
"""

import dataclasses
import io
import itertools
import json
import logging
import random
import re
from collections.abc import Iterator

import pytest

from f5router.admission.annotations import READ
from f5router.cli import explain_objects, terminal
from f5router.config.parsers import Address
from f5router.kube.api import decode, documents
from f5router.kube.api.fields import DecodeError
from f5router.logs import log_output
from f5router.model import findings
from f5router.model.cluster import Key
from f5router.model.errors import Unanswered
from f5router.model.findings import Link, finding
from f5router.model.ltm import DataGroup, IRule, Record, Rule
from f5router.model.texts import NO_ENDPOINTS
from f5router.monitoring.connections import Listeners
from f5router.monitoring.http_server import Pages, Server
from f5router.monitoring.status_api import StatusAPI
from f5router.plan import changes
from f5router.plan.changes import Preview, RejectedRoute
from f5router.views import chain, listings, route_view, routes
from f5router.views.certificates import CertificateView, OptionView
from tests import manifests
from tests.feature.browser import chromium
from tests.hostile import TEXTS
from tests.unit.monitoring.test_status_api import Stub
from tests.unit.views.bench import Bench
from tests.unit.views.test_chain import ROUTE

MANY = 10_000
ROWS = 1000
"""Lines with ten texts or more each."""
MARK = "zq9x"
MARKUP = (
    "<script>document.title='taken'</script>", "</script>", "<img src=x onerror=\"document.title='taken'\">",
    "javascript:document.title='taken'", "'\"`", "<!--", "]]>", "&lt;b&gt;", "[color(red)]", "[/]",
    "[link=x]", "[exit]", "$x", "${x}", "{", "}", "\\", ";", "[HTTP::respond 200]", "%0d%0a", "?a=b#c")
LONE = re.compile("[\ud800-\udfff]")
SAFE = re.compile(r"[A-Za-z0-9_./:%~-]+")
VALUES = ("roundrobin", "source", "append", "true", "10", "5s", "10.0.0.0/8 192.168.1.7", "max-age=1", "/a")
"""Values that options take: a hostile text often stands behind one, not alone."""


def texts(count: int, seed: int = 1) -> list[str]:
    """Return that many texts, each with the mark."""
    draw = random.Random(seed)
    parts = [*(text[:300] for text in TEXTS), *MARKUP]
    return ["".join((*draw.choices(parts, k=2), MARK, draw.choice(parts))) for _ in range(count)]


def whole(count: int, seed: int = 1) -> Iterator[str]:
    """Texts without a lone surrogate, with which documents are refused (tests/unit/kube/api)."""
    return (text for text in texts(count, seed) if not LONE.search(text))


def hostile_routes() -> list[dict]:
    """Ten thousand objects: some with a host or a path alone that is hostile, so that they are admitted."""
    draw = random.Random(2)
    given = whole(10 * MANY, seed=3)
    objects = []
    for number in range(MANY):
        route = manifests.route(f"r{number}", host=f"h{number}.example.com", path="/")
        metadata, spec = route["metadata"], route["spec"]
        for name in draw.sample(sorted(READ), 3):
            metadata.setdefault("annotations", {})[name] = draw.choice((*VALUES, "")) + next(given)
        places = draw.sample(("name", "namespace", "host", "path", "service"), draw.choice((0, 1, 1, 2)))
        if "name" in places:
            metadata["name"] = f"{next(given)}{number}"
        if "namespace" in places:
            metadata["namespace"] = next(given)
        if "host" in places:
            spec["host"] = draw.choice((next(given), f"{MARK}{number}.example.com", "*." + next(given)))
        if "path" in places:
            spec["path"] = draw.choice(("/", "")) + next(given)
        if "service" in places:
            spec["to"]["name"] = draw.choice((next(given), f"{MARK}-{number}"))
        objects.append(route)
    return objects


@pytest.fixture(scope="module")
def bench() -> Bench:
    """An engine that has read all of them."""
    read = []
    for obj in hostile_routes():
        try:
            read.append(decode.route(documents.loads(json.dumps(obj).encode())))
        except (DecodeError, documents.UnreadableDocument):
            continue
    assert len(read) > MANY // 2
    return Bench(*read)


def test_names_and_addresses_on_the_device(bench):
    """Nothing of a text gets into a name that could be read otherwise, nor into an address of a request."""
    assert len([ref for ref in bench.engine.objects if ref.kind == Rule.KIND]) > MANY // 10
    assert [ref.path for ref in bench.engine.objects
            if not isinstance(bench.engine.objects[ref], Record) and not SAFE.fullmatch(ref.path)] == []


def test_nothing_becomes_tcl(bench):
    """iRules are the same whatever Routes have; what is looked up by them is a value, and never run."""
    rules = [obj for obj in bench.engine.objects.values() if isinstance(obj, IRule)]
    assert len(rules) > 3
    assert not any(MARK in rule.text for rule in rules)
    marked = [obj for obj in bench.engine.objects.values() if MARK in repr(obj)]
    assert {type(obj).KIND for obj in marked} >= {Rule.KIND}
    evaluating = re.compile(r"\b(eval|subst|uplevel|expr\s+[^{\s]|source|exec|open|interp)\b")
    for rule in rules:
        code = "\n".join(line.split("#")[0] for line in rule.text.splitlines())
        assert not evaluating.search(re.sub(r'"[^"]*"', '""', code)), rule.name
    assert not any(isinstance(obj, DataGroup) and MARK in obj.path for obj in bench.engine.objects.values())


def filled(given: Iterator[str], more: int = 1) -> route_view.RouteView:
    """A view with a text of its own in every field. Args: more: number of them in lists."""
    own = {field.name: next(given) for field in dataclasses.fields(ROUTE)
           if getattr(ROUTE, field.name) == "" or field.name in ("namespace", "id", "name", "host")}
    first, second, *others = itertools.islice(given, more + 2)
    return dataclasses.replace(
        ROUTE, **own, warnings=tuple(others),
        services=(route_view.ServiceView(first, second, 1),), options=(OptionView(first, second),),
        virtual_servers=(route_view.VirtualServerView(first, second, 80, exists=True),),
        rules=(dataclasses.replace(ROUTE.rules[0], name=first, conditions=second, action=first),),
        pool=dataclasses.replace(ROUTE.pool, path=second, members=(
            dataclasses.replace(ROUTE.pool.members[0], address=first, node=second),)),
        certificate=CertificateView(first, second, tuple(others), first, second, 1, first),
        requests=(route_view.RequestView(first, served=True, outcome=second),),
        problems=(finding(Link.ROUTE, findings.CLAIMED, first), finding(Link.POOL, NO_ENDPOINTS, second)))


def test_on_a_terminal(monkeypatch):
    """A line for each Route of `get`, whole ones for `explain`, and all of it can be printed."""
    given, stream = iter(texts(3 * MANY)), io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    headers = (*listings.ROUTES.shown, *listings.ROUTES.more)
    terminal.TextTable(headers).show([
        (*row.cells, *row.more) for row in (listings.route(filled(given)) for _ in range(ROWS))])
    listed = stream.getvalue().splitlines()
    assert len(listed) == ROWS + 1
    assert all(line.count(MARK) > 7 for line in listed[1:])
    for _ in range(ROWS // 5):
        view = filled(given, 20)
        explain_objects.print_chain(terminal.console(), view.name, chain.steps(view), chain.to_do(view))
    explained = stream.getvalue().split("\n")[ROWS + 1:]
    assert sum(line.count(MARK) for line in explained) > ROWS
    assert [line for line in (*listed, *explained) if not line.isprintable()] == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_in_the_log(form):
    """A line each, in its fields and in its message."""
    stream = io.StringIO()
    log_output.setup("info", form, (), stream)
    for text in itertools.islice(whole(MANY), MANY // 2):
        logging.getLogger("f5router.test").info("host %s", text, extra={"route": text, "host": [text]})
        logging.getLogger("f5router.test").warning(text)
    lines = stream.getvalue().rstrip("\n").split("\n")
    assert len(lines) == MANY
    assert [line for line in lines if not line.isprintable() or MARK not in line] == []
    if form == "json":
        assert {json.loads(line)["level"] for line in lines} == {"info", "warning"}


def test_in_a_plan():
    """Each rejected Route has one line."""
    rejected = tuple(RejectedRoute(Key(text, text), text, text) for text in texts(2000))
    shown = changes.as_text(Preview((), (), rejected, {}, ())).plain
    assert [line for line in shown.splitlines() if not line.isprintable()] == []
    assert shown.count("\n") < 2000 + 20


class Hostile(Stub):
    """The source of a status page, of which every text is hostile."""

    def __init__(self):
        super().__init__([])
        given = whole(5 * MANY)
        self._views = [filled(given) for _ in range(ROWS)]
        self._details = [filled(given, MANY // DETAILS) for _ in range(DETAILS)]
        self._routes = [dataclasses.replace(routes.summary(view), key=Key(f"n{number}", view.id))
                        for number, view in enumerate(self._views)]

    def route(self, key, front_end):
        return self._details[int(key.name)]

    def device(self):
        raise Unanswered("busy")


DETAILS = 20
FOREIGN = """
return [...document.querySelectorAll('#view *')].map((each) => each.localName)
    .filter((name) => !arguments[0].includes(name))"""
ELEMENTS = [
    "a", "button", "circle", "code", "dd", "div", "dl", "dt", "g", "h1", "h2", "h3", "input", "label", "li",
    "line", "option", "p", "path", "rect", "section", "select", "span", "strong", "svg", "table", "tbody",
    "td", "text", "th", "thead", "time", "title", "tr", "tspan", "ul"]


def test_in_a_browser(tmp_path):
    """All of them in a list, and 10,000 in the views of some Routes: they stay text, and nothing runs."""
    status = StatusAPI(Hostile(), Listeners(lambda: 1))
    pages = Pages(list, list, lambda accept: (b"", ""), None, status, True)
    with Server(Address("127.0.0.1", 0), pages) as server, chromium(tmp_path) as browser:
        browser.open(f"http://{server.where}/#/routes")
        browser.wait_text(f"{ROWS:,} Routes")
        last = int(re.search(r"page 1 of ([\d,]+)", browser.text())[1])
        shown = {f"routes?page={number}": f"page {number} of" for number in range(1, last + 1)}
        shown |= {f"routes/n/{number}": "Certificate" for number in range(DETAILS)}
        for address, words in shown.items():
            browser.driver.execute_script("location.hash = `#/${arguments[0]}`", address)
            browser.wait_text(words)
            assert browser.text().count(MARK) > 100
            assert browser.driver.execute_script(FOREIGN, ELEMENTS) == []
        assert browser.driver.title != "taken"
        assert browser.problems() == []
