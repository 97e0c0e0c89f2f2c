"""The pages as a site: `make docs`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_S
from tools import sequence, site_pages

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]*)"|<link\b[^>]*\bhref="([^"]*)"')
BROKEN_LIST = re.compile(r"<p>(?:(?!</p>).)*?\n *(?:- |\d+\. )", re.DOTALL)
GROUPS = ["Start", "Administrators", "Teams", "Moving here", "Operations", "Reference", "Developers"]


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder), *options], cwd=ROOT,
        env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages and style sheets of the site, by path."""
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*")
            if path.suffix in (".html", ".css")}


def test_every_page_is_there(site):
    """Also those from outside docs/; mkdocs itself compares the tree of pages with the files."""
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix(".html")
        assert str(name.with_name("index.html") if name.stem == "README" else name) in site
    assert "project/CHANGELOG.html" in site
    groups = re.findall(r'<span class="md-ellipsis">\s*(\w[\w ]*?)\s*</span>', site["guide.html"])
    assert list(dict.fromkeys(group for group in groups if group in GROUPS)) == GROUPS


def test_nothing_is_loaded_from_elsewhere(site):
    for name, text in site.items():
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", text), name
        if name.endswith(".css"):
            continue
        loaded = [source or target for source, target in LOADED.findall(text)]
        assert loaded
        assert [address for address in loaded if "//" in address or address.startswith("data:")] == [], name


def test_lists_are_lists(site):
    """The files are written for other readers of Markdown, which want less indentation."""
    for name, text in site.items():
        assert BROKEN_LIST.findall(re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)) == [], name


def test_diagrams_are_pictures(site):
    assert site["architecture.html"].count("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"") == 3
    assert "sequenceDiagram" not in site["architecture.html"]


def test_a_broken_link_is_an_error(tmp_path):
    """A link to a heading that is not there; links between the files are in test_docs."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# A\n\n[b](#b)\n")
    config = tmp_path / "mkdocs.yml"
    text = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[0]
    config.write_text(text.replace("docs_dir: docs", f"docs_dir: {docs}").split("\nhooks:")[0]
                      + text[text.index("\nvalidation:"):])
    done = build(tmp_path / "site", "--config-file", str(config))
    assert done.returncode == 1
    assert "Aborted with 1 warnings in strict mode" in done.stdout + done.stderr
    assert "'#b'" in done.stderr


@pytest.mark.parametrize(("text", "expected"), [
    ("- a\n  - b\n    c\n\nd", "- a\n    - b\n        c\n\nd"),
    ("1. a\n\n   b\n2. c", "1. a\n\n    b\n\n2. c"),
    ("1. a\n\n   ```\n   - x\n     y\n   ```\n\nb", "1. a\n\n    ```\n    - x\n      y\n    ```\n\nb"),
    ("- a\nb\n```\n- c\n```", "- a\n  b\n```\n- c\n```"),
], ids=str)
def test_indentation(text, expected):
    assert site_pages.indented(text) == f"{expected}\n"


def test_a_diagram():
    drawn = sequence.draw("sequenceDiagram\n participant A as a & b\n participant B as c\n A->>B: x <y>\n"
                          " B-->>A: z\n A->>A: self\n Note over B: n")
    for text in ("a &amp; b", "x &lt;y&gt;", 'class="reply"', ">self<", 'class="note"'):
        assert text in drawn
    for wrong in ("graph TD", "sequenceDiagram\n loop x"):
        with pytest.raises(ValueError, match=wrong.split()[-1]):
            sequence.draw(wrong)
