"""Expressions of Tcl as text: their tokens, and what TMM refuses in them when a rule is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mocks.bigip import language, tcl

VALUE, WORD, OPERATOR = "value", "word", "operator"

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_:]*")
_VARIABLE = re.compile(r"\$(::)?[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*")
_OPERATOR = re.compile(r"\*\*|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%<>&|^~!?:(),]")
_BOOLEANS = frozenset(("true", "false", "yes", "no", "on", "off"))
_TCL_8_5 = frozenset(("in", "ni", "**"))


@dataclass(frozen=True, slots=True)
class Token:
    """kind: VALUE (a number, a variable, a command in brackets, a text), WORD (an operator, a function or a
    truth value in letters), OPERATOR (also parentheses and commas). start: place in the expression."""

    kind: str
    text: str
    line: int
    start: int


def tokens(text: str, line: int) -> Iterator[Token]:
    """Raises: tcl.SyntaxRefusal: a character that no expression has."""
    position = 0
    while position < len(text):
        if text[position].isspace() or text.startswith("\\\n", position):
            position += 1 + (text[position] == "\\")
            continue
        here = line + text.count("\n", 0, position)
        kind, end = _token(text, position, here)
        yield Token(kind, text[position:end], here, position)
        position = end


def _token(text: str, start: int, line: int) -> tuple[str, int]:
    char = text[start]
    if char == "$":
        return VALUE, _variable(text, start, line)
    if char == "[":
        return VALUE, tcl.close_bracket(text, start, line)
    if char == '"':
        return VALUE, tcl.close_quote(text, start + 1, line)
    if char == "{":
        return VALUE, tcl.close_brace(text, start, line)
    for kind, pattern in ((VALUE, _NUMBER), (WORD, _WORD), (OPERATOR, _OPERATOR)):
        match = pattern.match(text, start)
        if match:
            return kind, match.end()
    raise tcl.SyntaxRefusal(line, f'parse error: syntax error in expression "{text.strip()}"')


def _variable(text: str, start: int, line: int) -> int:
    if text.startswith("${", start):
        return tcl.close_brace(text, start + 1, line)
    match = _VARIABLE.match(text, start)
    if match is None:
        raise tcl.SyntaxRefusal(line, f'parse error: syntax error in expression "{text.strip()}"')
    end = match.end()
    if text.startswith("(", end):
        while end < len(text) and text[end] != ")":
            end = tcl.close_bracket(text, end, line) if text[end] == "[" else end + 1
        end += 1
    return end


def check(text: str, line: int) -> None:
    """Refuse operators and functions that TMM's 8.4 does not have; their texts are not known (inferred).

    Raises: tcl.SyntaxRefusal.
    """
    all_tokens = list(tokens(text, line))
    for number, token in enumerate(all_tokens):
        called = number + 1 < len(all_tokens) and all_tokens[number + 1].text == "("
        if token.text in _TCL_8_5 and token.kind != VALUE:
            refused = True
        elif token.kind != WORD or token.text in _BOOLEANS:
            refused = False
        elif called and token.text not in language.OPERATORS | {"eq", "ne"}:
            if token.text not in language.FUNCTIONS:
                raise tcl.SyntaxRefusal(token.line, f'unknown math function "{token.text}"')
            refused = False
        else:
            refused = token.text not in language.OPERATORS | {"eq", "ne"}
        if refused:
            raise tcl.SyntaxRefusal(
                token.line, f'parse error: syntax error in expression "{text.strip()}": {token.text}'
            )
