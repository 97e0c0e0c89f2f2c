"""Refusals of TMM's compiler when a rule is written, and the needs of a rule of its virtual server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mocks.bigip import expressions, language, tcl
from mocks.bigip.tcl import SyntaxRefusal, Word

PRIORITIES = range(1001)


@dataclass(frozen=True)
class Facts:
    """Needs of an iRule at its virtual server: its events and the commands it calls."""

    events: tuple[str, ...]
    commands: frozenset[str]


def check(text: str) -> Facts:
    """Raises: SyntaxRefusal: the first thing that does not compile."""
    events: dict[tuple[str, str], None] = {}
    called: set[str] = set()
    priority = ""
    for words in tcl.commands(text):
        name = words[0].text
        if name == "when":
            declared = _event(words, priority)
            if declared in events:
                raise SyntaxRefusal(words[0].line, f"Duplicate event ({declared[0]})")
            events[declared] = None
        elif name == "proc":
            if len(words) != 4 or not words[-1].braced:
                raise SyntaxRefusal(words[0].line, 'wrong # args: should be "proc name args body"')
        elif name == "priority":
            priority = _priority(words[0].line, words[1].text if len(words) == 2 else "")
        elif name != "timing":
            # on the device the refusal is that of the layer above: "set" unknown property
            raise SyntaxRefusal(words[0].line, f"undefined procedure: {name}")
        if name in ("when", "proc"):
            event = words[1].text if name == "when" else ""
            for command in _calls(words[-1].text, words[-1].line, event):
                called.add(command[0].text)
    return Facts(tuple(event for event, _ in events), frozenset(called))


def _event(words: list[Word], priority: str) -> tuple[str, str]:
    """Event and priority of `when EVENT ?priority N? ?timing on|off? {script}`; texts were measured (m21)."""
    line = words[0].line
    if len(words) < 3:
        raise SyntaxRefusal(line, 'wrong # args: should be "when"')
    event = words[1].text
    if event not in language.EVENTS:
        raise SyntaxRefusal(line, f"unknown event ({event})")
    options = [word.text for word in words[2:-1]]
    if not words[-1].braced or len(options) % 2:
        raise SyntaxRefusal(line, f'unexpected extra argument "{words[-1].text}"')
    for option, value in zip(options[::2], options[1::2], strict=True):
        if option == "priority":
            priority = _priority(line, value)
        elif option != "timing":
            raise SyntaxRefusal(line, f'unexpected extra argument "{option}"')
    return event, priority


def _priority(line: int, text: str) -> str:
    if not text.isdecimal() or int(text) not in PRIORITIES:
        raise SyntaxRefusal(line, f'unexpected extra argument "{text}"')
    return text


def _calls(text: str, line: int, event: str) -> Iterator[list[Word]]:
    """Every command of a script and of the scripts inside it, checked."""
    for words in tcl.commands(text, line):
        _check_command(words, event)
        yield words
        roles = tcl.roles(words)
        for number, word in enumerate(words):
            yield from _calls_in(word, roles.get(number, ""), event)


def _calls_in(word: Word, role: str, event: str) -> Iterator[list[Word]]:
    if role == tcl.SCRIPT:
        yield from _calls(word.text, word.line, event)
    elif role == tcl.PAIRS:
        for pair in list(tcl.list_words(word.text, word.line))[1::2]:
            if pair.text != "-":
                yield from _calls(pair.text, pair.line, event)
    elif role == tcl.EXPRESSION or not word.braced:
        if role:
            expressions.check(word.text, word.line)
        for start, end, at in tcl.substitutions(word.text, word.line):
            yield from _calls(word.text[start:end], at, event)


def _check_command(words: list[Word], event: str) -> None:
    name, line = words[0].text, words[0].line
    if "$" in name or "[" in name:
        return
    if name in language.DISABLED:
        raise SyntaxRefusal(line, f'command is disabled: "{name}"')
    if name in ("when", "priority", "timing", "proc"):
        raise SyntaxRefusal(line, "command is not valid in the current scope")
    if not is_known(name):
        raise SyntaxRefusal(line, f"undefined procedure: {name}")
    if event in language.NOT_IN.get(name, ()):
        raise SyntaxRefusal(line, f"command is not valid in current event context ({event})")
    _check_words(name, words)


def is_known(name: str) -> bool:
    space, colons, rest = name.partition("::")
    if not colons:
        return name in language.TCL or name in language.TMM
    listed = language.NAMESPACES.get(space)
    return rest in listed if listed is not None else space in language.OTHER_NAMESPACES


def _check_words(name: str, words: list[Word]) -> None:
    """Numbers of arguments, which were measured (m21); subcommands, options and fields of Tcl 8.5 and later,
    for which the device's texts are not known (inferred)."""
    texts = [word.text for word in words]
    line = words[0].line
    form, least, most = language.ARGUMENTS.get(name, ("", 0, None))
    if not least <= len(words) - 1 <= (most or len(words)):
        raise SyntaxRefusal(line, f'wrong # args: should be "{form}"')
    if name == "log" and len(words) > 3 and texts[1] != "-noname":
        raise SyntaxRefusal(line, f"invalid '{texts[1]}'; expected:-noname")
    first = texts[1] if len(texts) > 1 else ""
    if first in language.NEWER_SUBCOMMANDS.get(name, ()):
        raise SyntaxRefusal(line, f'bad option "{first}"')
    if texts[:2] == ["string", "is"] and set(texts[2:3]) & language.NEWER_SUBCOMMANDS["string is"]:
        raise SyntaxRefusal(line, f'bad class "{texts[2]}"')
    for option in texts[1:]:
        if not option.startswith("-"):
            break
        if option in language.NEWER_OPTIONS.get(name, ()):
            raise SyntaxRefusal(line, f'bad option "{option}"')
    if name == "table" and first and not set(first) & set("$["):
        _check_table(line, first, texts[2:])
    if name == "binary" and first in ("scan", "format"):
        at = 3 if first == "scan" else 2
        if len(words) > at:
            _check_fields(words[at])
    if name == "expr" and len(words) > 2:
        expressions.check(" ".join(texts[1:]), line)


def _check_table(line: int, verb: str, words: list[str]) -> None:
    """Subcommand and literal options of `table`; the device's texts are not known (inferred)."""
    if verb not in language.TABLE:
        raise SyntaxRefusal(line, f'bad option "{verb}"')
    words = list(words)
    subtable = False
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if option not in language.TABLE[verb] and (option != "-subtable" or not words):
            raise SyntaxRefusal(line, f'bad option "{option}"')
        if option == "-subtable":
            subtable = True
            del words[0]
    if verb == "keys" and not subtable:
        raise SyntaxRefusal(line, 'wrong # args: should be "table keys -subtable <name> ?-count|-notouch?"')


def _check_fields(word: Word) -> None:
    """Field types of `binary scan`; what is made at run time is not looked at."""
    fields = re.sub(r"\$\{[^}]*\}|\$[A-Za-z0-9_:]+|\[[^]]*\]|[\s\d*]", "", word.text)
    for field in fields:
        if field not in language.SCAN_TYPES:
            raise SyntaxRefusal(word.line, f'bad field specifier "{field}" in "{word.text}"')
