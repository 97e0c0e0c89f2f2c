"""Translation of what TMM's parser takes and stock Tcl does not, line by line.

`$a starts_with $b` becomes `tmm_starts_with($a, $b)`, a function that engine.tcl defines. Such operators bind
as `eq` does (inferred); `not` binds before them (bigip-behaviour.md B5). Words and commands end where
those of `tcl.py` end: two words without a blank between them get one, and a line end inside a command a
backslash. Text that a rule makes itself and gives to `eval` is run as it is.
"""

from __future__ import annotations

import re

from mocks.bigip import expressions, language, tcl
from mocks.bigip.expressions import OPERATOR, WORD, Token

_LINE_END = re.compile(r"(?<!\\)\n")
_SAME = {"and": "&&", "or": "||", "equals": "eq"}
_LEVELS = (
    ("||", "or"),
    ("&&", "and"),
    ("|",),
    ("^",),
    ("&",),
    ("eq", "ne", *sorted(language.OPERATORS - {"and", "or", "not"})),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators, those that bind least first (Tcl 8.4, expr)."""


def rewritten(script: str, line: int = 1) -> str:
    """A script as stock Tcl reads it, with as many lines; equal to the script when both read it alike.

    Raises: tcl.SyntaxRefusal: an expression with TMM's operators is not in braces, or cannot be read.
    """
    pieces: list[str] = []
    position = 0
    for words in tcl.commands(script, line):
        roles = tcl.roles(words)
        if words[0].text == "expr" and any(word.text in language.OPERATORS for word in words[1:]):
            raise tcl.SyntaxRefusal(words[0].line, "an expression with TMM's operators is not in braces")
        for number, word in enumerate(words):
            between = script[position : word.start]
            pieces += (_gap(between) if number else between, _word(script, word, roles.get(number, "")))
            position = word.end
    return "".join((*pieces, script[position:]))


def _gap(text: str) -> str:
    """Return what stands between two words of a command."""
    return _LINE_END.sub(r"\\\n", text) or " "


def _word(script: str, word: tcl.Word, role: str) -> str:
    if role == tcl.SCRIPT:
        return "{" + rewritten(word.text, word.line) + "}"
    if role == tcl.EXPRESSION:
        return "{" + expression(word.text, word.line) + "}"
    if role == tcl.PAIRS:
        return "{" + _pairs(word) + "}"
    text = script[word.start : word.end]
    return text if word.braced else _in_brackets(text, word.line)


def _in_brackets(text: str, line: int) -> str:
    """A text with the commands in its brackets rewritten."""
    pieces: list[str] = []
    position = 0
    for start, end, at in tcl.substitutions(text, line):
        pieces += (text[position:start], rewritten(text[start:end], at))
        position = end
    return "".join((*pieces, text[position:]))


def _pairs(word: tcl.Word) -> str:
    pieces: list[str] = []
    position = 0
    for number, pair in enumerate(tcl.list_words(word.text, word.line)):
        pieces.append(word.text[position : pair.start])
        scripted = number % 2 and pair.braced
        pieces.append(_word(word.text, pair, tcl.SCRIPT) if scripted else word.text[pair.start : pair.end])
        position = pair.end
    return "".join((*pieces, word.text[position:]))


def expression(text: str, line: int = 1) -> str:
    """An expression without such operators. Raises: tcl.SyntaxRefusal."""
    tokens = list(expressions.tokens(text, line))
    if not any(token.kind == WORD and token.text in language.OPERATORS for token in tokens):
        return _in_brackets(text, line)
    reader = _Reader(text, tokens, line)
    result = reader.ternary()
    if reader.left:
        raise reader.unreadable()
    return result


class _Reader:
    """Takes an expression apart by how its operators bind, and writes it again."""

    def __init__(self, text: str, tokens: list[Token], line: int) -> None:
        self.text, self.left, self.line = text, tokens, line

    def unreadable(self) -> tcl.SyntaxRefusal:
        return tcl.SyntaxRefusal(self.line, f"cannot read the expression {self.text.strip()}")

    def next_is(self, *texts: str) -> bool:
        return bool(self.left) and self.left[0].kind in (OPERATOR, WORD) and self.left[0].text in texts

    def take(self, *texts: str) -> Token:
        if not self.left or (texts and not self.next_is(*texts)):
            raise self.unreadable()
        return self.left.pop(0)

    def ternary(self) -> str:
        condition = self.binary(0)
        if not self.next_is("?"):
            return condition
        self.take("?")
        yes = self.ternary()
        self.take(":")
        return f"{condition} ? {yes} : {self.ternary()}"

    def binary(self, level: int) -> str:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next_is(*_LEVELS[level]):
            operator = self.take().text
            right = self.binary(level + 1)
            if operator in language.OPERATORS and operator not in _SAME:
                left = f"tmm_{operator}({left}, {right})"
            else:
                left = f"{left} {_SAME.get(operator, operator)} {right}"
        return left

    def unary(self) -> str:
        if self.next_is("!", "not", "-", "+", "~"):
            operator = self.take().text
            return ("!" if operator == "not" else operator) + self.unary()
        token = self.take()
        if token.text == "(":
            inner = self.ternary()
            self.take(")")
            return f"({inner})"
        if token.kind == OPERATOR:
            raise self.unreadable()
        if token.kind == WORD and self.next_is("("):
            return token.text + self.arguments()
        return _in_brackets(token.text, token.line) if token.text[0] in '["$' else token.text

    def arguments(self) -> str:
        self.take("(")
        arguments = []
        while not self.next_is(")"):
            arguments.append(self.ternary())
            if not self.next_is(")"):
                self.take(",")
        self.take(")")
        return f"({', '.join(arguments)})"
