"""The list of pages in README.md, from docs/index.md.

`python -m tools.page_list` writes it. tests/project/test_page_list.py compares it with the index, and the
index with the files and the navigation of the site.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INDEX, README = ROOT / "docs" / "index.md", ROOT / "README.md"
BEGIN, END = "## Pages\n\n", "\n## "
_ROW = re.compile(r"^\| \[[^\]]+\]\(([^)]+)\) \| (.+) \|$", re.MULTILINE)


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of the index by section: path of the page in the repository, and its content."""
    return {section.partition("\n")[0]: [(os.path.normpath(f"docs/{path}"), content)
                                      for path, content in _ROW.findall(section)]
            for section in text.split("\n## ")[1:]}


def listed(index: str) -> str:
    """Return the list for README.md."""
    return "\n".join(f"{title}:\n\n" + "".join(f"- [{path}]({path}): {content}\n" for path, content in rows)
                     for title, rows in sections(index).items())


def updated(readme: str, index: str) -> str:
    """Return README.md with the list of an index. Raises: ValueError: it has no section for the list."""
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README.name} has no section {BEGIN.strip()!r}, or none after it")
    return head + begin + listed(index) + end + tail


if __name__ == "__main__":
    README.write_text(updated(README.read_text(), INDEX.read_text()))
