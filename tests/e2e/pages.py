"""Commands of a page under docs, typed into a shell one block after the other, as a reader does."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import DEADLINE_S

DOCS = Path(__file__).resolve().parents[2] / "docs"
END = "__the block has ended__"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code."""

    section: str
    """The last heading of the second level before it."""
    heading: str
    """The last one of any level."""
    language: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """All of a page, in order, also those within lists."""
    section = heading = ""
    lines = iter((DOCS / page).read_text().splitlines())
    for line in lines:
        if line.startswith("#"):
            heading = line.lstrip("# ")
            section = heading if line.startswith("## ") else section
        elif fence := re.fullmatch(r"( *)```(\w*)", line):
            text: list[str] = []
            for inner in lines:
                if inner == f"{fence[1]}```":
                    break
                text.append(inner.removeprefix(fence[1]))
            yield Block(section, heading, fence[2], "\n".join(text))


class Shell:
    """One bash that ends at the first command that fails; it sees no settings but those given."""

    def __init__(self, folder: Path, **environment: str):
        (folder / "home").mkdir()
        given = {"PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                 "HOME": str(folder / "home"), "COLUMNS": "200"} | environment
        self._process = subprocess.Popen(
            ["bash", "-euo", "pipefail"], cwd=folder, env=given, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, text: str) -> str:
        """Run a block; return what it prints, and fail with that when one of its commands fails."""
        self._process.stdin.write(f"{text}\necho\necho '{END}'\n")
        self._process.stdin.flush()
        said = []
        for line in self._process.stdout:
            if line.strip() == END:
                return "".join(said)
            said.append(line)
        raise AssertionError(f"{text}\n{''.join(said)}")

    def end(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:  # a loop of the page waits for what does not come
            self._process.terminate()
            self._process.wait()
