"""What setup.cfg cannot state: files of a release alone, text for a package index, the name of the fakes."""

import os
import re
import shutil
from collections import defaultdict
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

ROOT = Path(__file__).resolve().parent
FILES = os.environ.get("FILES", "").rstrip("/")
"""Public address of the files of this release; "" if there is none."""
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mocks/README.md",
          "tests/recordings/README.md")
"""Pages that those in docs/ lead to."""
FAKES = "f5router_fakes"
"""Name of the package mocks/ where it is installed: other projects have packages and modules called mocks."""
MOCKS = re.compile(r"\bmocks(?=\.[a-z]| import )")
LINK = re.compile(r"!?\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")


def description() -> str:
    """Return README.md with absolute links to files, or without links and pictures if these have no address.

    Relative ones would lead nowhere on the page of a package index. The files come with the package.
    """
    def plain(match: re.Match[str]) -> str:
        if FILES:
            return f"{match[0].partition('(')[0]}({FILES}/{match[2]})"
        if match[0].startswith("!"):
            return ""
        text, target = match[1], match[2].partition("#")[0]
        return text if text in (target, f"`{target}`") else f"{text} ({target})"

    return LINK.sub(plain, (ROOT / "README.md").read_text())


class BuildPackages(build_py):
    """Gives the fakes their name, in the folder of the build as in what they import."""

    def run(self) -> None:
        super().run()
        built, named = Path(self.build_lib) / "mocks", Path(self.build_lib) / FAKES
        if self.editable_mode or not built.is_dir():
            return
        shutil.rmtree(named, ignore_errors=True)
        built.rename(named)
        for path in (*named.rglob("*.py"), *named.rglob("*.md")):
            path.write_text(MOCKS.sub(FAKES, path.read_text()))


class Metadata(egg_info):
    """Lists the fakes by that name among the packages."""

    def run(self) -> None:
        super().run()
        listed = Path(self.egg_info) / "top_level.txt"
        listed.write_text(re.sub("^mocks$", FAKES, listed.read_text(), flags=re.MULTILINE))


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
      cmdclass={"build_py": BuildPackages, "egg_info": Metadata},
      project_urls={"Documentation": f"{FILES}/docs/index.md"} if FILES else {})
