"""Pictures of sequence diagrams, from the text that pages have in blocks of `mermaid`.

Mermaid itself (https://mermaid.js.org/syntax/sequenceDiagram.html) draws in the browser, with a script that
pages would load from elsewhere; this draws the part of its language that the pages use.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

COLUMN, ROW, TOP, MARGIN = 150, 44, 46, 75
"""Pixels between lifelines, between messages, above the first one, and beside the outer lifelines."""
PARTICIPANT = re.compile(r"participant (\w+) as (.+)")
MESSAGE = re.compile(r"(\w+)(--?)>>(\w+): (.+)")
NOTE = re.compile(r"Note over (\w+): (.+)")
BREAK, CHARACTER = 26, 6
"""Characters of a line, unless there is more place, and the pixels of one."""


def fence(source: str, language: str, css_class: str, options: dict[str, str], md: Any,
          **kwargs: Any) -> str:
    """Draw a block, as pymdownx.superfences asks for it."""
    return f'<div class="{css_class}">{draw(source)}</div>'


def draw(source: str) -> str:
    """Draw a diagram as SVG. Raises: ValueError: a line is none that is drawn here."""
    head, *lines = [line.strip() for line in source.strip().splitlines()]
    if head != "sequenceDiagram":
        raise ValueError(f"no sequence diagram: {head}")
    names = {match[1]: match[2] for line in lines if (match := PARTICIPANT.fullmatch(line))}
    steps = [line for line in lines if not PARTICIPANT.fullmatch(line)]
    places = {key: MARGIN + COLUMN * number for number, key in enumerate(names)}
    width, height = 2 * MARGIN + COLUMN * (len(names) - 1), TOP + ROW * (len(steps) + 1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
             f'style="max-width: {width}px"><title>{escape(" ".join(steps))}</title>',
             '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
             'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>']
    for key, x in places.items():
        parts.append(f'<line class="life" x1="{x}" y1="30" x2="{x}" y2="{height}"/>')
        parts.append(f'<rect x="{x - 66}" y="4" width="132" height="26" rx="4"/>')
        parts.append(text(x, 21, names[key], "middle"))
    for number, step in enumerate(steps):
        parts += drawn(step, places, TOP + ROW * (number + 1))
    return "".join([*parts, "</svg>"])


def drawn(step: str, places: dict[str, int], y: int) -> Iterator[str]:
    """Yield the parts of one message or note."""
    if note := NOTE.fullmatch(step):
        x, lines = places[note[1]], broken(note[2])
        yield f'<rect class="note" x="{x - 72}" y="{y - 28}" width="144" height="{14 * len(lines) + 8}"/>'
        yield from (text(x, y - 14 + 14 * row, line, "middle") for row, line in enumerate(lines))
    elif message := MESSAGE.fullmatch(step):
        sender, receiver = places[message[1]], places[message[3]]
        style = "reply" if message[2] == "--" else "call"
        if sender == receiver:
            yield f'<path class="{style}" d="M{sender} {y - 22}h24v22h-22" marker-end="url(#arrow)"/>'
            lines = broken(message[4])
            yield from (text(sender + 30, y - 14 + 14 * row, line, "start")
                        for row, line in enumerate(lines))
        else:
            yield f'<path class="{style}" d="M{sender} {y}H{receiver}" marker-end="url(#arrow)"/>'
            lines = broken(message[4], max(BREAK, abs(sender - receiver) // CHARACTER))
            yield from (text((sender + receiver) // 2, y - 6 - 14 * row, line, "middle")
                        for row, line in enumerate(reversed(lines)))
    else:
        raise ValueError(f"not drawn: {step}")


def broken(words: str, length: int = BREAK) -> list[str]:
    """Break a text into lines."""
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + len(word) >= length:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def text(x: int, y: int, words: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'
