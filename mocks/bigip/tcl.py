"""Tcl as text: its commands and words, with their lines and places. Nothing is executed.

TMM's parser differs from that of stock Tcl 8.4 in three points, measured on a BIG-IP 21.1.0.1
(bitwisecook/tcl-lsp, "BIG-IP iRule parser measurements", rules R1 to R7 and N1 to N5):

- Behind a word in braces or quotes a new word begins, whatever follows: `{a}{b}` and `{a}b` are two words,
  and so is `{*}$x`. Words that begin otherwise are as in stock Tcl: `a{b}` is one.
- A line end does not end a command if the next line begins with `{`.
- Nor does it end an `if` whose next line begins with `else` or `elseif`.

A blank line or a comment in between ends the command in both cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SCRIPT, EXPRESSION, PAIRS = "script", "expression", "pairs"
"""Roles of words: see `roles`."""

_SCRIPTS_OF = {
    "when": (-1,),
    "while": (2,),
    "catch": (1,),
    "foreach": (-1,),
    "for": (1, 3, 4),
    "proc": (3,),
    "after": (-1,),
    "eval": (-1,),
    "uplevel": (-1,),
    "clientside": (-1,),
    "serverside": (-1,),
    "peer": (-1,),
}
_EXPRESSION_OF = {"while": 1, "for": 2, "expr": 1}
_BRACE = re.compile(r"[ \t\r\f\v]*\{")
_BRACE_OR_ELSE = re.compile(r"[ \t\r\f\v]*(\{|else(if)?(?![^\s;]))")
"""Beginning of a line that belongs to the command, or to the `if`, before it."""


class SyntaxRefusal(Exception):
    """line: 1-based line of the rule. reason: text in brackets of the device's message."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


@dataclass(frozen=True, slots=True)
class Word:
    """text: without the outer braces or quotes. braced: nothing in it is substituted. start, end: of all of
    it, with braces or quotes, in the text that was taken apart."""

    text: str
    line: int
    braced: bool
    start: int
    end: int


def commands(text: str, line: int = 1) -> Iterator[list[Word]]:
    """The commands of a script, each as its words; nothing inside them is looked at."""
    words: list[Word] = []
    for word in _scan(text, line, comments=True):
        if word is not None:
            words.append(word)
        elif words:
            yield words
            words = []
    if words:
        yield words


def list_words(text: str, line: int) -> Iterator[Word]:
    """The words of a list, over line ends. Raises: SyntaxRefusal: a list is read as in stock Tcl, in which
    nothing may follow a word in braces or quotes (that TMM does so too is inferred)."""
    for word in _scan(text, line, comments=False):
        if word is None:
            continue
        quoted = word.braced or text[word.start] == '"'
        if quoted and word.end < len(text) and text[word.end] not in " \t\r\n;" and text[word.end] != "\\":
            what = "close-brace" if word.braced else "close-quote"
            raise SyntaxRefusal(word.line, f"parse error: extra characters after {what}")
        yield word


def substitutions(text: str, line: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, line) of the script in each `[...]` at the outer level of a word."""
    position = 0
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == "[":
            end = close_bracket(text, position, line)
            yield position + 1, end - 1, line + text.count("\n", 0, position)
            position = end
        else:
            position += 1


def roles(words: list[Word]) -> dict[int, str]:
    """By number of a braced word of a command: SCRIPT, EXPRESSION, or PAIRS for the patterns and scripts of
    a switch. Raises: SyntaxRefusal: an `if` without script, or `else if` (bigip-behaviour.md B5)."""
    name = words[0].text
    by_index: dict[int, str] = {}
    if name == "if":
        by_index = _if_roles(words)
    elif name == "switch":
        by_index = _switch_roles(words)
    else:
        for index in _SCRIPTS_OF.get(name, ()):
            if index < len(words) and len(words) > 1:
                by_index[index % len(words)] = SCRIPT
        index = _EXPRESSION_OF.get(name)
        if index is not None and index < len(words):
            by_index[index] = EXPRESSION
    return {index: role for index, role in by_index.items() if words[index].braced}


def _if_roles(words: list[Word]) -> dict[int, str]:
    """`if c body ?elseif c body ...? ?else? ?body?`"""
    by_index: dict[int, str] = {}
    index = 1
    while index < len(words):
        by_index[index] = EXPRESSION
        index += 1
        if index < len(words) and words[index].text == "then":
            index += 1
        if index >= len(words):
            raise SyntaxRefusal(words[0].line, 'missing a script after "if"')
        by_index[index] = SCRIPT
        index += 1
        if index >= len(words):
            return by_index
        if words[index].text == "elseif" and not words[index].braced:
            index += 1
            continue
        if words[index].text == "else" and not words[index].braced:
            index += 1
        if index != len(words) - 1 or not (words[index].braced or words[index].text != "if"):
            raise SyntaxRefusal(
                words[min(index, len(words) - 1)].line,
                'wrong # args: extra words after "else" clause in "if" command',
            )
        by_index[index] = SCRIPT
        return by_index
    return by_index


def _switch_roles(words: list[Word]) -> dict[int, str]:
    index = 1
    while index < len(words) and words[index].text.startswith("-") and not words[index].braced:
        index += 1
        if words[index - 1].text == "--":
            break
    rest = len(words) - index - 1
    if rest == 1:
        return {len(words) - 1: PAIRS}
    return dict.fromkeys(range(index + 2, len(words), 2), SCRIPT)


def _scan(text: str, line: int, *, comments: bool) -> Iterator[Word | None]:
    """Words of a script; None at the end of each command."""
    position, size, fresh, goes_on = 0, len(text), True, _BRACE
    while position < size:
        char = text[position]
        if char == "\\" and position + 1 < size and text[position + 1] == "\n":
            line += 1
            position += 2
        elif char in " \t\r":
            position += 1
        elif char == "\n" and not fresh and comments and goes_on.match(text, position + 1):
            line += 1
            position += 1
        elif char in "\n;":
            line += char == "\n"
            position += 1
            fresh = True
            yield None
        elif char == "#" and fresh and comments:
            while position < size and text[position] != "\n":
                if text[position] == "\\" and position + 1 < size:
                    line += text[position + 1] == "\n"
                    position += 1
                position += 1
        else:
            word = _word(text, position, line)
            if fresh:
                goes_on = _BRACE_OR_ELSE if word.text == "if" else _BRACE
            fresh = False
            yield word
            line += text.count("\n", position, word.end)
            position = word.end


def _word(text: str, start: int, line: int) -> Word:
    if text[start] == "{":
        end = close_brace(text, start, line)
        return Word(text[start + 1 : end - 1], line, True, start, end)
    if text[start] == '"':
        end = close_quote(text, start + 1, line)
        return Word(text[start + 1 : end - 1], line, False, start, end)
    position = start
    while position < len(text) and text[position] not in " \t\r\n;" and not text.startswith("\\\n", position):
        if text[position] == "\\":
            position += 2
        elif text[position] == "[":
            position = close_bracket(text, position, line)
        elif text.startswith("${", position):
            position = close_brace(text, position + 1, line)
        else:
            position += 1
    end = min(position, len(text))
    return Word(text[start:end], line, False, start, end)


def close_brace(text: str, start: int, line: int) -> int:
    """Position behind the brace that closes the one at start."""
    depth, position = 0, start
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 1
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    raise SyntaxRefusal(line, "parse error: missing close-brace")


def close_quote(text: str, position: int, line: int) -> int:
    """Position behind the quote that ends the text at position."""
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 2
        elif char == "[":
            position = close_bracket(text, position, line)
        elif char == '"':
            return position + 1
        else:
            position += 1
    raise SyntaxRefusal(line, 'parse error: missing "')


def close_bracket(text: str, position: int, line: int) -> int:
    """Position behind the `]` of a command substitution, which holds whole words."""
    position += 1
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 2
        elif char == "]":
            return position + 1
        elif char == "[":
            position = close_bracket(text, position, line)
        elif char == "{":
            position = close_brace(text, position, line)
        elif char == '"':
            position = close_quote(text, position + 1, line)
        else:
            position += 1
    raise SyntaxRefusal(line, "parse error: missing close-bracket")
