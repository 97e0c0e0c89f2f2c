"""The page of all findings, docs/findings.md, from the table that all outputs are made of.

`python -m tools.findings_page` writes it; tests/project/test_findings_page.py compares.
"""

import re
import textwrap
from pathlib import Path

from f5router.model.findings import CATALOGUE
from f5router.model.meanings import Meaning

PAGE = Path(__file__).parent.parent / "docs/findings.md"

WIDTH = 110

HEAD = """# Findings

Each answer of the router names what is wrong by a code: the status and the Events of an object,
`f5router explain`, `get`, `plan` and `doctor`, and the status page. This page has every code, its meaning,
its effect on requests, and who can fix it. It is made from the code of the router.

`explain` marks a finding with `x` where requests are lost, and with `!` where they are answered all the same.
It ends with the exit status 0 only if a request for each port of the Route gets through to its pods.

| code | meaning |
|---|---|
"""

_NAMES = re.compile(r"\{(\w+)\}")


def page() -> str:
    """Return the page."""
    rows = "".join(f"| [`{code}`](#{code.lower()}) | {meaning.means} |\n"
                   for code, meaning in CATALOGUE.items())
    return HEAD + rows + "".join(
        _section(code, meaning) for code, meaning in CATALOGUE.items())


def _section(code: str, meaning: Meaning) -> str:
    to_do = f"{meaning.to_do}: `{meaning.command}`" if meaning.command else meaning.to_do
    to_do = _NAMES.sub(lambda match: match[1].upper(), to_do)
    lines = (f"Effect: {meaning.effect.value}.", f"Fixed by: {meaning.fixer.value}.",
             f"Remedy: {to_do}.")
    wrapped = (textwrap.fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                             break_on_hyphens=False) for line in lines)
    return "\n".join((f"\n### {code}\n\n{_sentence(meaning.means)}\n", *wrapped, ""))


def _sentence(text: str) -> str:
    return textwrap.fill(f"{text[0].upper()}{text[1:]}.", WIDTH)


if __name__ == "__main__":
    PAGE.write_text(page())
