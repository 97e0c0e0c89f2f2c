"""Hooks of mkdocs: pages from outside docs/ in the site, and links that lead there.

https://www.mkdocs.org/user-guide/configuration/#hooks
"""

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "project"
"""Folder of the site for pages from outside docs/."""
OUTSIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mocks/README.md",
           "tests/recordings/README.md")
LINK = re.compile(r"(?P<text>!?\[(?P<name>[^\]]*)\])\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"( *)((?:-|\d+\.) +)\S")
INDENT = 4
"""Indent of the text below an item of a list: Python-Markdown wants exactly that, the files have less."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for name in OUTSIDE:
        files.append(File.generated(config, f"{PROJECT}/{name}", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between those of the site."""
    here = PurePosixPath(page.file.src_uri)
    source = source_of(here)

    def link(match: re.Match[str]) -> str:
        if "://" in match["target"]:
            return match[0]
        target = in_site(PurePosixPath(os.path.normpath(source.parent / match["target"])))
        if target is None:
            return match["name"]
        return f"{match['text']}({os.path.relpath(target, here.parent)}{match['anchor'] or ''})"

    outside_code, start = [], 0
    for fence in FENCE.finditer(markdown):
        outside_code += [LINK.sub(link, markdown[start:fence.start()]), fence[0]]
        start = fence.end()
    return indented("".join([*outside_code, LINK.sub(link, markdown[start:])]))


def source_of(page: PurePosixPath) -> PurePosixPath:
    """Return the place in the repository of a page of the site."""
    return page.relative_to(PROJECT) if page.parts[0] == PROJECT else "docs" / page


def in_site(path: PurePosixPath) -> PurePosixPath | None:
    """Return the place in the site of a file of the repository; None if the site has no such file."""
    if path.parts[0] == "docs":
        return path.relative_to("docs")
    return PROJECT / path if str(path) in OUTSIDE else None


def indented(markdown: str) -> str:
    """Return a page with the indentation of items and of what belongs to them as Python-Markdown wants it."""
    lines: list[str] = []
    inside: list[int] = []  # where the text of each open item begins
    began = 0  # line of the last item
    code = False
    for line in markdown.splitlines():
        indent = len(line) - len(line.lstrip())
        item = None if code else ITEM.match(line)
        in_list = bool(inside)
        fence = line.lstrip().startswith("```")
        if line and not code and (item or fence or not lines or not lines[-1]):  # others continue a paragraph
            while inside and indent < inside[-1]:
                inside.pop()
        if item:
            if in_list and lines[-1] and "" in lines[began:]:
                lines.append("")  # else the item would go on with the last paragraph of the one before
            began = len(lines)
        margin = " " * max(INDENT * len(inside) + indent - sum(inside[-1:]), 0)
        lines.append((margin + line.lstrip()).rstrip())
        if fence:
            code = not code
        if item:
            inside.append(len(item[0]) - 1)
    return "\n".join(lines) + "\n"
