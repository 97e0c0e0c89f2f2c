"""A short version of each attack of benchmarks/attacks, so that none of them rots; see `make attack`."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.attacks import cluster, drill, soak, workers
from benchmarks.attacks.cluster import Asked
from benchmarks.attacks.contents import difference
from benchmarks.attacks.drill import Point
from benchmarks.attacks.phases import PHASES
from benchmarks.attacks.site import Site, judge
from mocks.bigip.store import DiskFile
from tests.waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[2]
PHASE = "deletions"
MARKED, EDGE, ROOT_PATH, NOBODY = (
    Asked(f"{name}.example.com", "/", False) for name in ("marked", "edge", "root", "nobody"))


@pytest.fixture(scope="module")
def material():
    return cluster.make_material()


@pytest.fixture(scope="module")
def references(material):
    return {phase: drill.undisturbed(material, phase, ssh=False) for phase in ("load", PHASE)}


@pytest.mark.parametrize(("attack", "kind", "number"), [
    ("kills", "before", 3), ("kills", "after", 6), ("faults", "restart", 5), ("api", "history gone", 1),
    ("hostile", "hostile objects", 60),
])
def test_points(material, references, attack, kind, number):
    """Routes of all kinds are deleted meanwhile."""
    point = Point(attack, PHASE, False, kind, number, 1)
    result = drill.run(point, material, references["load"], references[PHASE], workers.ATTACKS[attack])
    assert result.problems == [], result.log
    assert result.reached
    assert result.asked > 0
    assert (result.wrong, result.failed) == (0, 0)


def test_what_does_not_hold_is_found(material, references):
    """A key on the disk, and a pod of another tenant behind an address."""
    def spoil(running: drill.Drill) -> None:
        site = running.site
        running.change()
        site.bigip.store.disk["/var/tmp/left.key"] = DiskFile(b"")
        site.start_pod("rival", "web", "10.1.1.1", 8080, None)
        site.until(lambda: site.load.report.wrong, DEADLINE_S, lambda: "nobody asks")

    point = Point("kills", PHASE, False, "after", 1, 1)
    result = drill.run(point, material, references["load"], references[PHASE], spoil, left_s=0.1)
    assert "file /var/tmp/left.key" in result.problems
    assert result.wrong > 0
    assert "'namespace': 'rival'" in result.problems[0]


def test_command_line(tmp_path):
    """Two points in two processes, and what a program reads of them."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.attacks", "api", "--points", "2", "--phase", PHASE,
         "--output", "json"], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S)
    results = json.loads(done.stdout)
    assert len(results) == 2, done.stderr
    assert done.returncode == any(result["problems"] for result in results), done.stderr
    assert "undisturbed runs: 2" in done.stderr


def test_interrupted(tmp_path):
    """Neither a router nor a folder is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.attacks", "kills", "--points", "1", "--phase", PHASE], cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True)
    until(lambda: any(tmp_path.glob("f5router-attack-*/router.log")) or process.poll() is not None)
    assert process.poll() is None, process.stderr.read()
    process.terminate()
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert said.endswith("interrupted; nothing goes on running\n")
    assert not [*tmp_path.glob("f5router-attack-*")]
    # The server of worker processes ends by itself, as soon as it notices.
    until(lambda: not running(str(tmp_path)), lambda: running(str(tmp_path)))


def running(text: str) -> list[str]:
    """Processes with this in their environment."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if text in path.read_text(errors="replace"):
                pids.append(path.parent.name)
    return pids


def test_soak(material):
    outcome = soak.run(material, seed=1, minutes=0.1, ssh=False)
    assert outcome.problems == []
    assert outcome.changes > 0
    assert outcome.asked > 0


@pytest.mark.parametrize(("asked", "status", "service"), [
    (Asked("plain.example.com", "/", False), 200, ("shop", "web")),
    (Asked("plain.example.com", "/api/x", False), 200, ("shop", "api")),
    (Asked("plain.example.com", "/api/v2/x", False), 200, ("shop", "web")),
    (Asked("plain.example.com", "/", True), 503, None),
    (Asked("edge.example.com", "/", False), 302, None),
    (Asked("taken.example.com", "/", False), 200, ("shop", "web")),
    (Asked("through.example.com", "/", True), 200, ("shop", "tls")),
    (Asked("x.wild.example.com", "/", True), 200, ("shop", "web")),
    (Asked("a.b.wild.example.com", "/", True), 503, None),
    (Asked("empty.example.com", "/", False), 503, None),
    (Asked("nobody.example.com", "/", False), 503, None),
], ids=str)
def test_expected_answers(material, asked, status, service):
    answer = cluster.answer(asked, cluster.base(material), material)
    assert (answer.status, answer.services) == (status, {service} - {None})


@pytest.mark.parametrize(("asked", "spoiled", "words"), [
    pytest.param(MARKED, {}, "", id="as it should be"),
    pytest.param(MARKED, {"x-answered": 'two "[$x]" {{ ;'}, "answered is", id="header of another Route"),
    pytest.param(MARKED, {"x-answered": None}, "answered is ''", id="no header"),
    pytest.param(MARKED, {"set-cookie": "cookie-two=x"}, "cookie is 'cookie-two'", id="another cookie"),
    pytest.param(MARKED, {"x-global": None}, "administrator is ''", id="not the administrator's"),
    pytest.param(MARKED, {"strict-transport-security": "max-age=1"}, "hsts is", id="a header without TLS"),
    pytest.param(MARKED, {"pod": {"target": "/new"}}, "target is '/new'", id="another path"),
    pytest.param(MARKED, {"pod": {"headers": []}}, "asked is ''", id="nothing for the pod"),
    pytest.param(EDGE, {"location": "https://edge.example.com/"}, "", id="redirect"),
    pytest.param(EDGE, {"location": "https://other.example.com/"}, "redirected to", id="another redirect"),
    pytest.param(ROOT_PATH, {"location": "/home"}, "", id="app root"),
    pytest.param(ROOT_PATH, {"location": "/"}, "redirected to", id="another app root"),
    pytest.param(NOBODY, {"x-page": "down"}, "", id="page"),
    pytest.param(NOBODY, {}, "another page", id="another page"),
])
def test_marks_of_other_routes_are_found(material, asked, spoiled, words):
    """An answer as it should be, and with one part that is not."""
    answer = cluster.answer(asked, cluster.base(material), material)
    headers, pod = {}, None
    if answer.marks:
        pod = {"target": "/", "headers": [("X-Asked", answer.marks.asked), ("Forwarded", "for=x")]}
        headers = {"x-answered": answer.marks.answered, "set-cookie": "cookie-one=x; path=/",
                   "x-global": "everywhere"}
        pod |= spoiled.get("pod", {})
    given = {name: text for name, text in (headers | spoiled).items() if text is not None and name != "pod"}
    problem = judge([answer], answer.status, given, pod)
    assert problem.startswith(words) if words else problem == ""


def test_a_host_that_is_given_up_goes_to_the_other_tenant(material):
    after = PHASES["takeover"](material).to(cluster.base(material))
    answer = cluster.answer(Asked("taken-tls.example.com", "/", True), after, material)
    assert answer.services == {("rival", "web")}
    assert answer.certificate == material["taken-tls-2"].certificate


def test_difference_names_where_it_begins():
    assert difference({"a": "1", "b": "xyz"}, {"b": "xYz", "c": "1"}) == [
        "missing: a", "too much: c", "differs: b: 'xYz' instead of 'xyz'"]


def test_nothing_is_left_of_a_site(material):
    """Neither the router nor its files."""
    with Site(material) as site:
        site.start()
        process, folder = site.router, site.folder
    assert process.returncode is not None
    assert not folder.exists()
