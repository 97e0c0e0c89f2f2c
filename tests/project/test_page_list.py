"""One list of pages: docs/index.md, the same in README.md and in the navigation of the site."""

import re
from pathlib import Path

import yaml

from tools import page_list
from tools.site_pages import PROJECT

ROOT = Path(__file__).resolve().parents[2]
HOME = {"docs/index.md", "README.md"}
"""Pages with the list."""
NOT_LISTED = {"CHANGELOG.md", "SECURITY.md", "tests/recordings/README.md"}
"""Pages of the site to which the end of README.md, and other pages, lead."""


class Loader(yaml.SafeLoader):
    """Leaves out the tags of Python that mkdocs.yml has."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def navigation() -> dict[str, list[str]]:
    """Paths in the repository of the site's pages, by group and in its order."""
    def paths(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry.removeprefix(f"{PROJECT}/") if entry.startswith(f"{PROJECT}/") else f"docs/{entry}"]
        inner = entry.values() if isinstance(entry, dict) else entry
        return [path for each in inner for path in paths(each)]  # type: ignore[union-attr]

    config = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)
    return {title: paths(entries) for group in config["nav"] for title, entries in group.items()}


def test_readme_is_up_to_date():
    """If it is not: python -m tools.page_list."""
    assert page_list.README.read_text() == page_list.updated(
        page_list.README.read_text(), page_list.INDEX.read_text())


def test_every_page_is_listed_once():
    rows = [path for rows in page_list.sections(page_list.INDEX.read_text()).values() for path, _ in rows]
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert len(rows) == len(set(rows))
    assert pages - set(rows) - HOME == {path for path in pages if re.match(r"docs/adr/\d", path)}


def test_the_navigation_has_the_same_groups_and_pages():
    listed = {title: {path for path, _ in rows}
              for title, rows in page_list.sections(page_list.INDEX.read_text()).items()}
    shown = {title: {path for path in paths if not re.match(r"docs/adr/\d", path)} - HOME - NOT_LISTED
             for title, paths in navigation().items()}
    assert listed == shown
