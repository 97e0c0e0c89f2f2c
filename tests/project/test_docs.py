"""The pages say what the code does; configuration.md is in test_settings and feature/test_rights."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from f5router.admission.annotations import READ
from f5router.model import names, texts, tls_names
from f5router.model.cluster import Key
from f5router.model.findings import CATALOGUE
from f5router.model.ltm import (
    CertFile,
    ClientSSL,
    DataGroup,
    HTTPCompression,
    IRule,
    KeyFile,
    Policy,
    Pool,
    ServerSSL,
)
from f5router.model.route_options import MONITOR_TYPES, TCPMonitor
from tests.project import scraped

ROOT = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mocks/README.md")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in TOP)])
WITH_REASON = {"Rejection": 0, "Verdict": 1}
"""What the code says of a Route, and which argument is the reason."""


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    """Pages, headings and folders."""
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", path.read_text()):
        assert not target or target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_the_text_exist(path):
    """Files and folders of this repository that a page names."""
    for name in re.findall(r"`((?:f5router|mocks|tests|docs|benchmarks|tools)/[\w./-]*)`", path.read_text()):
        assert (ROOT / name).exists(), name


def test_the_first_screen_has_both_commands():
    lines = (ROOT / "README.md").read_text().splitlines()[:24]
    assert [line.split("#")[0].strip() for line in lines if line.startswith("make ")] == [
        "make demo", "make test"]
    for text in ("**Status: not yet run on hardware", "(docs/guide.md)", "(docs/team-guide.md)",
                 "(docs/images/demo.png)"):
        assert text in "".join(lines)


def test_every_debian_package_is_listed():
    """README.md names what tests/system-packages installs, and CONTRIBUTING.md leads there."""
    listing = (ROOT / "tests/system-packages").read_text().split("wanted=(")[1].split("\n)")[0]
    rows = re.findall(r'"[\w-]+: ([^"]+)"', listing)
    text = (ROOT / "README.md").read_text()
    sentence = re.findall(r"Debian packages[^:.]*:([^.]*)\.", text)
    assert len(sentence) == 1
    assert re.findall(r"`([\w-]+)`", sentence[0]) == " ".join(rows).split()
    assert "(README.md)" in (ROOT / "CONTRIBUTING.md").read_text()


def reasons() -> set[str]:
    """Every reason that a module of the router gives; they are constants of that module, or passed on."""
    names = set()
    for path in (ROOT / "f5router").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            place = WITH_REASON.get(getattr(call.func, "id", ""))
            if place is None or len(call.args) <= place or isinstance(call.args[place], ast.Attribute):
                continue
            assert isinstance(call.args[place], ast.Name), f"{path}:{call.lineno}: the reason has no name"
            names.add(getattr(importlib.import_module(module), call.args[place].id))
    return names


def test_every_reason_is_explained():
    """The page has the reasons of a Route's status and no others, each with its meaning and a remedy."""
    text, warnings = page("route-status.md").split("## Reasons")[1].split("## Warnings")
    row = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
    rows = row.findall(text)
    assert len(reasons()) == 8
    assert {reason for reason, *_ in rows} == reasons()
    assert all(len(cell.split()) > 1 for cells in rows for cell in cells[1:])
    assert sorted(reason for reason, *_ in row.findall(warnings)) == sorted(texts.WARNINGS)


def test_every_reason_is_a_finding():
    """And the page for teams has more of it, at a heading of its own."""
    assert reasons() <= CATALOGUE.keys()
    headings = {title.lower() for title in re.findall(r"^#+ (\w+)$", page("route-status.md"), re.MULTILINE)}
    assert {reason.lower() for reason in reasons()} - headings == set()


def test_the_page_for_teams_has_every_reason():
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", page("team-guide.md"), re.MULTILINE)
    assert sorted(rows) == sorted(reasons())


def test_every_annotation_that_is_read_is_explained():
    """By its name without the prefix, which several share."""
    assert [key for key in sorted(READ) if f"{key.rpartition('/')[2]}`" not in page("annotations.md")] == []


def test_every_metric_is_explained():
    """By the texts of the modules that make them; the page may shorten some that begin as others do."""
    metrics = set()
    for path in (ROOT / "f5router" / "monitoring").glob("*.py"):
        metrics |= set(re.findall(r'"((?:f5router|template_router|contour)_[a-z_]+)"', path.read_text()))
    text = page("monitoring.md").split("## Metrics")[1]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(metrics) > 40
    assert [name for name in sorted(metrics) if not any(
        each in (name, f"{name}_total") or (each.startswith("_") and f"{name}_total".endswith(each))
        for each in named)] == []


def test_help_of_metrics_is_a_sentence_in_the_words_of_the_pages():
    """A word that no page has is a slip: a search and replace once made "nunit" of "none" in one of them."""
    known = {"epoch", *re.findall(r"[a-z]+", "\n".join(path.read_text() for path in PAGES).lower())}
    texts = [text for name, text in re.findall(r"^# HELP (\w+) (.*)$", scraped.page().decode(), re.MULTILINE)
             if name.startswith(("f5router_", "template_router_"))]
    assert len(texts) > 40
    assert [text for text in texts if not re.fullmatch(r"[A-Z0-9].*\.", text)
            or not known.issuperset(re.findall(r"[a-z]+", text.lower()))] == []


NS = Key("<ns>", "<svc>")


@pytest.mark.parametrize(("kind", "name"), [
    (Policy.KIND, names.INSECURE_POLICY), (Policy.KIND, names.SECURE_POLICY),
    (DataGroup.KIND, names.PASSTHROUGH_GROUP), (DataGroup.KIND, names.REENCRYPT_GROUP),
    (DataGroup.KIND, names.PERSISTENCE_GROUP),
    (IRule.KIND, names.PASSTHROUGH_IRULE), (IRule.KIND, names.REENCRYPT_IRULE),
    (IRule.KIND, names.UNAVAILABLE_IRULE),
    (IRule.KIND, names.HEADERS_IRULE), (DataGroup.KIND, names.HTTP_GROUP),
    (IRule.KIND, names.TIMEOUT_IRULE), (DataGroup.KIND, names.TIMEOUT_GROUP),
    (TCPMonitor.KIND, f"{TCPMonitor.STEM}<seconds>"),
    *((kind, f"{cls.STEM}<hash>") for kind, cls in MONITOR_TYPES.items()),
    (ServerSSL.KIND, tls_names.DEFAULT_SERVERSSL),
    (HTTPCompression.KIND, names.COMPRESSION_PROFILE),
    (Pool.KIND, names.pool("P", NS)),
    (ClientSSL.KIND, tls_names.client_ssl("P", "<host>")),
    (ServerSSL.KIND, tls_names.server_ssl("P", "<hash>")),
    (CertFile.KIND, names.route(Key("<ns>", "<route>")) + "-https-cert-<hash>.crt"),
    (KeyFile.KIND, "-https-key-<hash>.key"),
    (CertFile.KIND, "-https-chain-<hash>.crt"),
    (CertFile.KIND, "openshift_tls-https-cabundle-<hash>.crt"),
])
def test_every_object_is_listed(kind, name):
    """docs/bigip-objects.md has each name that names.py makes."""
    assert name.removeprefix("P/") in page("bigip-objects.md").replace("`..", "`"), kind
