"""A check of iRule text: enough Tcl syntax to refuse what TMM's compiler refuses.

TMM has the core of Tcl 8.4 without the commands in `ABSENT` (`bigip-rest.md` B5). Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ABSENT = frozenset(
    (
        "dict",
        "lassign",
        "lreverse",
        "apply",
        "try",
        "lrepeat",
        "throw",
        "chan",
        "coroutine",
        "tailcall",
        "yield",
        "puts",
        "exec",
        "open",
        "socket",
        "source",
        "namespace",
        "interp",
        "load",
        "package",
        "file",
        "glob",
        "vwait",
        "fconfigure",
        "fileevent",
        "exit",
        "cd",
        "pwd",
    )
)
"""Commands of newer Tcl, and ones that TMM disables."""

_SCRIPTS_OF = {
    "when": (-1,),
    "while": (2,),
    "catch": (1,),
    "foreach": (-1,),
    "for": (1, 3, 4),
    "proc": (3,),
    "after": (-1,),
    "if": (),
}
_EVENT = re.compile(r"^[A-Z][A-Z0-9_]*$")


class SyntaxRefusal(Exception):
    """line: 1-based line of the rule. reason: text in brackets of the device's message."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


@dataclass(frozen=True, slots=True)
class Word:
    """text: without the outer braces or quotes. braced: nothing in it is substituted."""

    text: str
    line: int
    braced: bool


@dataclass(frozen=True)
class Facts:
    """What an iRule needs of its virtual server: its events and the commands it calls."""

    events: tuple[str, ...]
    commands: frozenset[str]
    literals: frozenset[str]
    """Words after `pool`, `call` and `class ... equals` that are plain names."""


def check(text: str) -> Facts:
    """Raises: SyntaxRefusal: the first thing that does not compile."""
    events, used, literals = [], set(), set()
    for words in commands(text):
        name = words[0].text
        if name in ("when", "proc"):
            _check_definition(words)
            if name == "when":
                events.append(words[1].text)
            for called in _calls(words[-1].text, words[-1].line):
                used.add(called[0].text)
                if (
                    called[0].text in ("pool", "snatpool")
                    and len(called) > 1
                    and called[1].text[:1] not in "$["
                ):
                    literals.add(called[1].text)
        elif name not in ("timing", "priority"):
            raise SyntaxRefusal(words[0].line, f"undefined procedure: {name}")
    return Facts(tuple(events), frozenset(used), frozenset(literals))


def _check_definition(words: list[Word]) -> None:
    least = 3 if words[0].text == "when" else 4
    if len(words) < least or not words[-1].braced:
        raise SyntaxRefusal(words[0].line, f'wrong # args: should be "{words[0].text}"')
    if words[0].text == "when" and not _EVENT.match(words[1].text):
        raise SyntaxRefusal(words[0].line, f"unknown event ({words[1].text})")


def _calls(text: str, line: int) -> Iterator[list[Word]]:
    """Every command of a script and of the scripts inside it."""
    for words in commands(text, line):
        _check_command(words)
        yield words
        for word in words:
            if not word.braced:
                for inner, at in _substitutions(word.text, word.line):
                    yield from _calls(inner, at)
        for script in _scripts(words):
            yield from _calls(script.text, script.line)


def _check_command(words: list[Word]) -> None:
    name = words[0].text
    if name in ABSENT:
        raise SyntaxRefusal(words[0].line, f"undefined procedure: {name}")
    for word in words:
        if word.text.startswith("{*}") and not word.braced:
            raise SyntaxRefusal(word.line, "parse error: extra characters after close-brace")
    texts = [word.text for word in words]
    if name == "binary" and texts[1:2] == ["scan"] and len(texts) > 3 and re.search(r"[csiwt]u", texts[3]):
        raise SyntaxRefusal(words[3].line, f'bad field specifier "u" in "{texts[3]}"')
    if name == "else" or name == "elseif":
        raise SyntaxRefusal(words[0].line, f"undefined procedure: {name}")


def _scripts(words: list[Word]) -> Iterator[Word]:
    """The arguments of a command that are scripts."""
    name = words[0].text
    if name == "if":
        yield from _if_scripts(words)
    elif name == "switch":
        if words[-1].braced:
            pairs = list(_words(words[-1].text, words[-1].line))
            yield from (pair for pair in pairs[1::2] if pair.text != "-")
    elif name in _SCRIPTS_OF:
        for index in _SCRIPTS_OF[name]:
            if (index < 0 or index < len(words)) and words[index].braced:
                yield words[index]
    if name in ("if", "while", "expr", "for"):
        for word in words[1:3]:
            for inner, at in _substitutions(word.text, word.line) if word.braced else ():
                yield Word(inner, at, True)


def _if_scripts(words: list[Word]) -> Iterator[Word]:
    """`if c body ?elseif c body ...? ?else body?`; `else if` is refused (B5)."""
    index = 1
    while index < len(words):
        index += 1  # the condition
        if index < len(words) and words[index].text == "then":
            index += 1
        if index >= len(words):
            raise SyntaxRefusal(words[0].line, "wrong # args: no script following condition")
        yield words[index]
        index += 1
        if index >= len(words):
            return
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
        yield words[index]
        return


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


def _words(text: str, line: int) -> Iterator[Word]:
    """The words of a list, over line ends."""
    yield from (word for word in _scan(text, line, comments=False) if word is not None)


def _scan(text: str, line: int, *, comments: bool) -> Iterator[Word | None]:
    """Words of a script; None at the end of each command."""
    position, size, fresh = 0, len(text), True
    while position < size:
        char = text[position]
        if char == "\\" and position + 1 < size and text[position + 1] == "\n":
            line += 1
            position += 2
        elif char in " \t\r":
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
            fresh = False
            word, end = _word(text, position, line)
            yield word
            line += text.count("\n", position, end)
            position = end


def _word(text: str, start: int, line: int) -> tuple[Word, int]:
    if text.startswith("{*}", start) and start + 3 < len(text) and not text[start + 3].isspace():
        raise SyntaxRefusal(line, "parse error: extra characters after close-brace")
    if text[start] == "{":
        end = _close_brace(text, start, line)
        _check_after(text, end, line, "close-brace")
        return Word(text[start + 1 : end - 1], line, True), end
    if text[start] == '"':
        end = _close_quote(text, start + 1, line)
        _check_after(text, end, line, "close-quote")
        return Word(text[start + 1 : end - 1], line, False), end
    position = start
    while position < len(text) and text[position] not in " \t\r\n;":
        if text[position] == "\\":
            position += 2
        elif text[position] == "[":
            position = _close_bracket(text, position, line)
        elif text[position] == "}" and position == start:
            raise SyntaxRefusal(line, "parse error: extra characters after close-brace")
        else:
            position += 1
    return Word(text[start:position], line, False), min(position, len(text))


def _check_after(text: str, end: int, line: int, what: str) -> None:
    if end < len(text) and text[end] not in " \t\r\n;]" and not text.startswith("\\\n", end):
        raise SyntaxRefusal(line, f"parse error: extra characters after {what}")


def _close_brace(text: str, start: int, line: int) -> int:
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


def _close_quote(text: str, position: int, line: int) -> int:
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 2
        elif char == "[":
            position = _close_bracket(text, position, line)
        elif char == '"':
            return position + 1
        else:
            position += 1
    raise SyntaxRefusal(line, 'parse error: missing "')


def _close_bracket(text: str, position: int, line: int) -> int:
    """Position behind the `]` of a command substitution, which holds whole words."""
    position += 1
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 2
        elif char == "]":
            return position + 1
        elif char == "[":
            position = _close_bracket(text, position, line)
        elif char == "{":
            position = _close_brace(text, position, line)
        elif char == '"':
            position = _close_quote(text, position + 1, line)
        else:
            position += 1
    raise SyntaxRefusal(line, "parse error: missing close-bracket")


def _substitutions(text: str, line: int) -> Iterator[tuple[str, int]]:
    """(script, line) of each `[...]` at the outer level of a word."""
    position = 0
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == "[":
            end = _close_bracket(text, position, line)
            yield text[position + 1 : end - 1], line + text.count("\n", 0, position)
            position = end
        else:
            position += 1
