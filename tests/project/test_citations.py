"""Whoever reads a citation can follow it: the reference page has the heading, the world has the source."""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "docs", "f5router", "ghost_hostsubnet", "mocks", "tests", "tools")
KINDS = {".cfg", ".md", ".py", ".tcl", ".toml", ".yaml"}
PAGE = ROOT / "docs/reference/bigip-behaviour.md"
CODE = r"[AB]\d{1,2}(?:\.\d{1,2})?"
# "bigip-behaviour.md B4", "bigip-behaviour.md A2.3, B1"; a Markdown page links: [B4](...#b4-local-traffic).
CITED = re.compile(rf"bigip-behaviour\.md ({CODE}(?:(?:, | and | to ){CODE}\b(?!\.\d))*)")
LINK = re.compile(rf"\[({CODE})\]\([\w./]*bigip-behaviour\.md#([\w-]+)\)")
BARE = re.compile(rf"(?<![%\w.\\-]){CODE}(?!\w)")
HEADING = re.compile(rf"^#+ (({CODE}) .*)$", re.MULTILINE)
UNKNOWN = re.compile(r"haproxy[-]parity|f5[-]router\.md|bigip[-]rest\.md|\bshared/[\w-]+\.md")
"""Notes of the authors, which readers do not have."""


@functools.cache
def texts() -> dict[str, str]:
    """Path and text of what the project keeps; recordings are texts of others."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(errors="replace")
        for path in (*ROOT.glob("*"), *below)
        if path.is_file() and (path.suffix in KINDS or path.name in ("Makefile", "Containerfile"))
        and not path.is_relative_to(ROOT / "tests/recordings")
    }


def flat(text: str) -> str:
    """One line, without the marks of comments, so that a citation may be broken between two lines."""
    return re.sub(r"\s*\n\s*(?:# )?", " ", text)


def headings() -> dict[str, str]:
    """Code and anchor of each heading, by GitHub's rule for anchors."""
    return {
        code: re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title, code in HEADING.findall(PAGE.read_text())
    }


def cited(text: str) -> set[str]:
    return {code for match in CITED.findall(flat(text)) for code in re.findall(CODE, match)}


@pytest.mark.parametrize(("text", "codes"), [
    ("Source: bigip-behaviour.md B4.", {"B4"}),
    ("(bigip-behaviour.md B4; ID795261)", {"B4"}),
    ("# bigip-behaviour.md A2.3,\n    # B12.14 and B5: x", {"A2.3", "B12.14", "B5"}),
    ("[bigip-behaviour.md](reference/bigip-behaviour.md)", set()),
    ("see B4", set()),
])
def test_forms_of_citations(text, codes):
    assert cited(text) == codes


def test_only_sources_that_a_reader_has():
    assert [(name, line) for name, text in texts().items()
            for line in text.splitlines() if UNKNOWN.search(line)] == []


def test_a_code_says_where_its_heading_is():
    """B4 alone says nothing to a reader."""
    own = {PAGE.relative_to(ROOT).as_posix(), Path(__file__).relative_to(ROOT).as_posix()}
    bare = []
    for name in texts().keys() - own:
        left = LINK.sub("", CITED.sub("", flat(texts()[name])))
        bare += [(name, left[max(0, match.start() - 40):match.end()]) for match in BARE.finditer(left)]
    assert bare == []


def test_every_citation_has_a_heading():
    here = Path(__file__).relative_to(ROOT).as_posix()
    known = headings()
    for name in texts().keys() - {here}:
        assert cited(texts()[name]) <= known.keys(), name
        for code, anchor in LINK.findall(texts()[name]):
            assert known.get(code) == anchor, (name, code)


def test_every_heading_is_cited():
    """The page holds what the code relies on, and nothing else."""
    own = (PAGE.relative_to(ROOT).as_posix(), Path(__file__).relative_to(ROOT).as_posix())
    codes: set[str] = set()
    for name in texts().keys() - set(own):
        codes |= cited(texts()[name]) | {code for code, _ in LINK.findall(texts()[name])}
    assert headings().keys() - codes == set()


def test_the_contents_of_the_page_are_its_headings():
    listed = re.findall(rf"^ *- \[(({CODE}) .*)\]\(#([\w-]+)\)$", PAGE.read_text(), re.MULTILINE)
    assert [(title, code) for title, code, _ in listed] == HEADING.findall(PAGE.read_text())
    assert {code: anchor for _, code, anchor in listed} == headings()


def test_the_page_names_recordings_that_exist():
    names = re.findall(r"`((?:errors|exchanges|auth|cm|ltm|net|sys)/[\w./-]*\.json)`", PAGE.read_text())
    assert len(names) > 20
    for name in names:
        assert (ROOT / "tests/recordings" / name).is_file(), name


def test_every_fact_has_a_source():
    """A paragraph below a code ends with `Source: ...`, or says that there is none."""
    for section in re.split(r"^#+ ", PAGE.read_text(), flags=re.MULTILINE):
        if re.match(CODE, section):
            assert re.search(r"^- Sources?: \S", section, re.MULTILINE), section.splitlines()[0]
