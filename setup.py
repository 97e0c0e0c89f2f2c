"""What setup.cfg cannot state: files that are there only for a release, and the text for a package index."""

import os
import re
from collections import defaultdict
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
FILES = os.environ.get("FILES", "").rstrip("/")
"""Public address of the files of this release; "" if there is none."""
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mocks/README.md",
          "tests/recordings/README.md")
"""Pages that those in docs/ lead to."""
LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")


def description() -> str:
    """Return README.md with absolute links to files, or without these links if the files have no address.

    Relative ones would lead nowhere on the page of a package index. The files come with the package.
    """
    def plain(match: re.Match[str]) -> str:
        if FILES:
            return f"[{match[1]}]({FILES}/{match[2]})"
        text, target = match[1], match[2].partition("#")[0]
        return text if text in (target, f"`{target}`") else f"{text} ({target})"

    return LINK.sub(plain, (ROOT / "README.md").read_text())


def data_files() -> list[tuple[str, list[str]]]:
    """Return what is installed outside of the packages, by folder: manual pages (`make dist`) and docs/."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "man").glob("*.1")):
        folders["share/man/man1"].append(str(path.relative_to(ROOT)))
    for path in sorted((*(ROOT / "docs").rglob("*"), *map(ROOT.joinpath, BESIDE))):
        if path.is_file():
            name = path.relative_to(ROOT)
            folders[f"share/doc/f5router/{name.parent}"].append(str(name))
    return sorted(folders.items())


setup(long_description=description(), long_description_content_type="text/markdown", data_files=data_files(),
      project_urls={"Documentation": f"{FILES}/docs/index.md"} if FILES else {})
